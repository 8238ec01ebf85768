/* libedubba on masters: who is one, of all that may stand in a list of them. */
#include <stdio.h>

#include "client/include/edubba_masters.h"
#include "tests/support/fake_cluster.h"

#include <criterion/criterion.h>

static struct fake_cluster *fake;
static struct edubba_master *masters;

static void go_away(int server)
{
    transport_listener_close(fake->servers[server].listener, 0);
    fake->servers[server].listener = NULL;
}

/* Asks all of the cluster, and an address where nobody is. */
static void list(void)
{
    struct edubba_options options = EDUBBA_OPTIONS_DEFAULT;
    struct edubba_error error;
    char text[400];
    size_t count = 0;
    (void)snprintf(text, sizeof text, "%s,%s,%s,tcp://127.0.0.1:1", fake->servers[0].address,
                   fake->servers[1].address, fake->servers[2].address);
    options.masters = text;
    cr_assert_eq(edubba_list_masters(&options, &masters, &count, &error), EDUBBA_OK, "%s",
                 error.text);
    cr_assert_eq(count, 4);
}

static void start(void)
{
    fake = fake_cluster_start();
}

static void stop(void)
{
    fake_cluster_stop(fake);
}

TestSuite(client_masters, .init = start, .fini = stop, .timeout = 600);

Test(client_masters, a_tablet_server_is_no_master_alive_or_not)
{
    go_away(2);
    list();
    cr_assert_str_eq(masters[0].state, "active");
    cr_assert_str_eq(masters[0].active, fake->servers[0].address);
    cr_assert_str_eq(masters[1].state, "no master");
    cr_assert_str_eq(masters[2].state, "no master", "the active master knows its address");
    cr_assert_str_eq(masters[2].error, "");
    cr_assert_str_eq(masters[3].state, "silent");
    cr_assert_neq(masters[3].error[0], '\0');
    edubba_free(masters);
}

Test(client_masters, without_an_active_master_nobody_knows_what_is_silent)
{
    go_away(0);
    go_away(2);
    list();
    cr_assert_str_eq(masters[0].state, "silent");
    cr_assert_str_eq(masters[1].state, "no master");
    cr_assert_str_eq(masters[2].state, "silent");
    cr_assert_str_eq(masters[3].state, "silent");
    edubba_free(masters);
}
