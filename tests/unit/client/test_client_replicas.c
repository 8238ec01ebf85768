/* libedubba on replicas: where they are, and what is ordered of them. */
#include "client/include/edubba_replicas.h"
#include "tests/support/client_session.h"

Test(client, replicas_are_listed_with_what_is_to_become_of_them)
{
    struct session session = open_filled(10);
    struct edubba_tablet_replicas *tablets = NULL;
    struct edubba_error error;
    size_t count = 0;
    SET(session, tablets[1].other, 1);
    cr_assert_eq(edubba_list_replicas(session.client, "T", &tablets, &count, &error), EDUBBA_OK,
                 "%s", error.text);
    cr_assert_eq(count, 3);
    cr_assert_eq(tablets[0].replica_count, 1);
    cr_assert(tablets[0].is_known && tablets[0].replicas[0].is_primary);
    const struct edubba_tablet_replicas *tablet = &tablets[1];
    cr_assert_eq(tablet->replica_count, 3);
    cr_assert_str_eq(tablet->state, "serving");
    cr_assert_gt(tablet->version, 1);
    cr_assert_eq(tablet->size_bytes, 4096);
    cr_assert_str_eq(tablet->wish, "split");
    cr_assert_eq(memcmp(tablet->split_row.data, "m", 1), 0);
    const struct edubba_replica *replicas = tablet->replicas;
    cr_assert_str_eq(replicas[0].address, session.fake->servers[2].address);
    cr_assert(replicas[0].is_member && replicas[0].in_sync && replicas[0].should_lead);
    cr_assert_str_eq(replicas[1].address, session.fake->servers[1].address);
    cr_assert(replicas[1].is_member && !replicas[1].in_sync && !replicas[1].is_wanted);
    cr_assert_eq(replicas[2].store, 33);
    cr_assert(!replicas[2].is_member && replicas[2].is_wanted);
    edubba_free(tablets);
    close_session(&session);
}

Test(client, without_a_master_the_primary_is_listed_alone)
{
    struct session session = open_filled(10);
    struct edubba_tablet_replicas *tablets = NULL;
    struct edubba_error error;
    size_t count = 0;
    transport_listener_close(session.fake->servers[0].listener, 0);
    session.fake->servers[0].listener = NULL;
    fake_move(session.fake, "row00600", 0);
    cr_assert_eq(edubba_list_replicas(session.client, "T", &tablets, &count, &error), EDUBBA_OK,
                 "%s", error.text);
    cr_assert_eq(count, 3);
    cr_assert(!tablets[0].is_known);
    cr_assert_eq(tablets[0].replica_count, 1);
    cr_assert_str_eq(tablets[0].replicas[0].address, session.fake->servers[1].address);
    cr_assert_eq(tablets[2].replica_count, 0, "not served now");
    edubba_free(tablets);
    close_session(&session);
}

Test(client, servers_are_drained_and_tablets_merged)
{
    struct session session = open_filled(10);
    struct edubba_drain_progress progress;
    struct edubba_error error;
    cr_assert_eq(edubba_drain_server(session.client, 17, true, &progress, &error), EDUBBA_OK, "%s",
                 error.text);
    cr_assert(progress.draining);
    cr_assert_eq(progress.replica_count, 5);
    cr_assert_eq(progress.waiting_count, 3);
    cr_assert_eq(edubba_drain_server(session.client, 17, false, &progress, &error), EDUBBA_OK);
    cr_assert(!progress.draining);
    cr_assert_eq(edubba_merge_tablets(session.client, "T", EDUBBA_TEXT("m"), &error), EDUBBA_OK,
                 "%s", error.text);
    cr_assert_eq(GET(session, merges), 1);
    close_session(&session);
}
