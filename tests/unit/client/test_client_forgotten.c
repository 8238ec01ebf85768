/* A machine between the client and its master forgets their connection: nothing comes over it, and nobody is told. */
#include "tests/support/client_session.h"
#include "tests/support/lossy_relay.h"

enum {
    LONG_MS = 20000,
    SHORT_MS = 3000
};

/* The only master is reached through the relay. */
static struct session open_by_relay(void)
{
    struct fake_cluster *fake = fake_cluster_start();
    struct edubba_options options = default_options(fake);
    char address[64];
    relay_start(fake->servers[0].address, address, sizeof address);
    options.masters = address;
    return open_with(fake, &options);
}

Test(client_forgotten, what_may_be_asked_twice_is_asked_over_a_new_connection)
{
    struct session session = open_by_relay();
    struct edubba_error error;
    cr_assert_eq(list_servers(&session, &error), EDUBBA_OK, "%s", error.text);
    relay_forget();
    edubba_thread_deadline(LONG_MS);
    cr_assert_eq(list_servers(&session, &error), EDUBBA_OK, "%s", error.text);
    close_session(&session);
}

/* Whether it was received is not known: the one that met it ends with its deadline, and the next is heard. */
Test(client_forgotten, what_may_not_be_asked_twice_fails_once_only)
{
    struct session session = open_by_relay();
    struct edubba_error error;
    relay_forget();
    edubba_thread_deadline(SHORT_MS);
    cr_assert_eq(edubba_delete_table(session.client, "T", &error), EDUBBA_DEADLINE_EXCEEDED);
    edubba_thread_deadline(LONG_MS);
    cr_assert_eq(edubba_delete_table(session.client, "T", &error), EDUBBA_UNIMPLEMENTED, "%s",
                 error.text);
    close_session(&session);
}

Test(client_forgotten, rows_are_found_over_a_new_connection)
{
    struct session session = open_by_relay();
    struct edubba_error error;
    for (int server = 1; server < FAKE_SERVERS; server++) {
        SET(session, is_behind[server], true); /* only the master knows */
    }
    relay_forget();
    edubba_thread_deadline(LONG_MS);
    cr_assert_eq(add(&session, 1, &error), EDUBBA_OK, "%s", error.text);
    close_session(&session);
}
