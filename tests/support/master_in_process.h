/*
 * A master of a test's own (own_master.h), and a client of it over libedubba.
 */
#ifndef TESTS_SUPPORT_MASTER_IN_PROCESS_H
#define TESTS_SUPPORT_MASTER_IN_PROCESS_H

#include "client/include/edubba.h"
#include "tests/support/own_master.h"

static struct edubba_client *client;

static void open_master(void)
{
    struct edubba_error trouble;
    struct edubba_options options = EDUBBA_OPTIONS_DEFAULT;
    own_master_open();
    options.masters = address;
    cr_assert_eq(edubba_client_open(&options, &client, &trouble), EDUBBA_OK, "%s", trouble.text);
}

static void close_master(void)
{
    edubba_client_close(client);
    own_master_close();
}

__attribute__((unused)) static void start_master(void)
{
    own_master_prepare();
    open_master();
}

__attribute__((unused)) static void stop_master(void)
{
    close_master();
    own_master_forget();
}

#endif /* TESTS_SUPPORT_MASTER_IN_PROCESS_H */
