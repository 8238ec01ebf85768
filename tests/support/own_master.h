/*
 * A master of a test's own, in this process: real connections, real threads, a real folder.  There is no tablet server, and
 * only one master at a time.
 */
#ifndef TESTS_SUPPORT_OWN_MASTER_H
#define TESTS_SUPPORT_OWN_MASTER_H

#include <criterion/criterion.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "master/shell/master.h"
#include "tests/support/test_folder.h"

static char folder[256];
static char address[64]; /* where it listens */
static struct master_settings *settings;
static struct master *master; /* NULL: it is closed */
static pthread_t loop;

/* In a folder that is made, at ports of the system's choice; of its log only errors are seen. */
static void own_master_prepare(void)
{
    struct config_reading reading;
    test_folder_make(folder, sizeof folder, "master");
    settings = settings_with_defaults();
    settings->address = "tcp://127.0.0.1:0";
    settings->http_address = "127.0.0.1:0";
    settings->folder = folder;
    config_reading_begin(&reading, NULL, 0, NULL);
    settings_check(settings, &reading);
    cr_assert_eq(reading.fault_count, 0);
    settings->log.level = LOG_LEVEL_ERROR;
    logger_init(&settings->log);
}

static void *own_master_run(void *context)
{
    struct error error = {0};
    (void)context;
    cr_assert_eq(master_run(master, &error), STATUS_OK, "%s", error.text);
    return NULL;
}

/* By those settings. */
static void own_master_open(void)
{
    char text[256];
    struct error error = {0};
    cr_assert_eq(master_open(settings, &master, &error), STATUS_OK, "%s", error.text);
    master_describe(master, text, sizeof text);
    cr_assert_eq(sscanf(text, "address=%63s", address), 1);
    cr_assert_eq(pthread_create(&loop, NULL, own_master_run, NULL), 0);
}

static void own_master_close(void)
{
    master_stop(master);
    pthread_join(loop, NULL);
    master_close(master);
    master = NULL;
}

/* Its folder goes. */
static void own_master_forget(void)
{
    char command[300];
    (void)snprintf(command, sizeof command, "rm -rf %s", folder);
    cr_assert_eq(system(command), 0);
}

#endif /* TESTS_SUPPORT_OWN_MASTER_H */
