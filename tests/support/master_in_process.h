/*
 * A master in this process, with real connections and a real folder, and a client of it.  There is
 * no tablet server.
 */
#ifndef TESTS_SUPPORT_MASTER_IN_PROCESS_H
#define TESTS_SUPPORT_MASTER_IN_PROCESS_H

#include <criterion/criterion.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "client/include/edubba.h"
#include "master/shell/master.h"
#include "tests/support/test_folder.h"

static char folder[256];
static char address[64];
static struct master_settings *settings;
static struct master *master;
static pthread_t loop;
static struct edubba_client *client;

static void *run_master(void *context)
{
    struct error error = {0};
    (void)context;
    cr_assert_eq(master_run(master, &error), STATUS_OK, "%s", error.text);
    return NULL;
}

static void open_master(void)
{
    char text[256];
    struct error error = {0};
    struct edubba_error trouble;
    struct edubba_options options = EDUBBA_OPTIONS_DEFAULT;
    cr_assert_eq(master_open(settings, &master, &error), STATUS_OK, "%s", error.text);
    master_describe(master, text, sizeof text);
    cr_assert_eq(sscanf(text, "address=%63s", address), 1);
    cr_assert_eq(pthread_create(&loop, NULL, run_master, NULL), 0);
    options.masters = address;
    cr_assert_eq(edubba_client_open(&options, &client, &trouble), EDUBBA_OK, "%s", trouble.text);
}

static void close_master(void)
{
    edubba_client_close(client);
    master_stop(master);
    pthread_join(loop, NULL);
    master_close(master);
}

__attribute__((unused)) static void start_master(void)
{
    struct config_reading reading;
    test_folder_make(folder, sizeof folder, "in_process");
    settings = settings_with_defaults();
    settings->address = "tcp://127.0.0.1:0";
    settings->http_address = "127.0.0.1:0";
    settings->folder = folder;
    config_reading_begin(&reading, NULL, 0, NULL);
    settings_check(settings, &reading);
    cr_assert_eq(reading.fault_count, 0);
    settings->log.level = LOG_LEVEL_ERROR;
    logger_init(&settings->log);
    open_master();
}

__attribute__((unused)) static void stop_master(void)
{
    char command[300];
    close_master();
    snprintf(command, sizeof command, "rm -rf %s", folder);
    cr_assert_eq(system(command), 0);
}

#endif /* TESTS_SUPPORT_MASTER_IN_PROCESS_H */
