/* Tablet servers among the addresses that a client is given for masters. */
#include "tests/support/client_session.h"

#define ATTEMPTS 8

static struct session open_with_masters(struct fake_cluster *fake,
                                        int first,
                                        int second,
                                        uint32_t unreachable_ms)
{
    static char masters[160];
    struct edubba_options options = default_options(fake);
    (void)snprintf(masters, sizeof masters, "%s,%s", fake->servers[first].address,
                   fake->servers[second].address);
    options.masters = masters;
    options.unreachable_ms = unreachable_ms;
    return open_with(fake, &options);
}

Test(client, a_tablet_server_that_is_asked_first_leads_to_the_master)
{
    struct session session = open_with_masters(fake_cluster_start(), 1, 0, 60000);
    struct edubba_server *servers = NULL;
    struct edubba_error error;
    size_t count = 0;
    cr_assert_eq(GET(session, locates[0]), 1);
    cr_assert_eq(add(&session, 1, &error), EDUBBA_OK, "%s", error.text);
    cr_assert_eq(GET(session, locates[1]), 0, "the master is known by then");
    cr_assert_eq(edubba_list_servers(session.client, &servers, &count, &error), EDUBBA_OK, "%s",
                 error.text);
    cr_assert_eq(count, FAKE_SERVERS - 1);
    edubba_free(servers);
    close_session(&session);
}

Test(client, a_new_client_needs_no_master_where_it_knows_a_tablet_server)
{
    struct fake_cluster *fake = fake_cluster_start();
    struct edubba_server *servers = NULL;
    struct edubba_error error;
    size_t count = 0;
    transport_listener_close(fake->servers[0].listener, 0);
    fake->servers[0].listener = NULL;
    struct session session = open_with_masters(fake, 0, 1, 1500);
    cr_assert_eq(add(&session, 1, &error), EDUBBA_OK, "%s", error.text);
    /* What only a master does is given up after unreachable_ms, and says which master is away.  (A machine that stands
     * still for two seconds makes it one that says nothing.) */
    enum edubba_code code = EDUBBA_DEADLINE_EXCEEDED;
    for (int i = 0; i < ATTEMPTS && code == EDUBBA_DEADLINE_EXCEEDED; i++) {
        code = edubba_list_servers(session.client, &servers, &count, &error);
    }
    cr_assert_eq(code, EDUBBA_UNAVAILABLE, "%s", error.text);
    cr_assert_not_null(strstr(error.text, fake->servers[0].address), "%s", error.text);
    close_session(&session);
}

Test(client, where_nobody_is_a_master_that_is_said_at_once)
{
    struct session session = open_with_masters(fake_cluster_start(), 1, 2, 60000);
    struct edubba_server *servers = NULL;
    struct edubba_error error;
    size_t count = 0;
    cr_assert_eq(add(&session, 1, &error), EDUBBA_OK, "%s", error.text);
    cr_assert_eq(edubba_list_servers(session.client, &servers, &count, &error),
                 EDUBBA_UNIMPLEMENTED, "%s", error.text);
    cr_assert_str_eq(error.text, "ask a master");
    close_session(&session);
}
