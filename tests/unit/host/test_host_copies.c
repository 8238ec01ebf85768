/*
 * Copies come and go: a lone member and the others that it gets, a replica that is made again, a copy that was let go and
 * is known as such.  On real stores, beacons and lanes.
 */
#include "tests/support/host_trio.h"

TestSuite(host_cluster, .fini = finish);

Test(host_cluster, a_lone_member_waits_for_nobody_and_wants_no_rounds)
{
    begin_with(1);
    start_all(1);
    struct node *node = &cluster.nodes[0];
    PUMP_UNTIL(&cluster, node_serves(node));
    write_rows(20);
    expect_level();
    cr_assert_eq(host_deadline_ns(node->host), REPLICA_NEVER);
    cr_assert_eq(lanes_look(node->lanes).batches_sent, 0);
    cr_assert_eq(cluster.proposals, 0);
    node_kill(node);
    node_start(node);
    PUMP_UNTIL(&cluster, node_serves(node));
    write_rows(5);
    expect_level();
    cr_assert_eq(cluster.catalog.version, 1);
}

/* The replica does not know of it: neither before its first configuration nor after may it be so. */
Test(host_cluster, what_is_not_committed_keeps_a_replica_from_being_made)
{
    begin_with(1);
    start_all(1);
    struct node *node = &cluster.nodes[0];
    uint64_t sequence = 0;
    cr_assert_not(append_row(node, 0, &sequence), "it has no configuration yet");
    host_remove(node->host, node->tablet);
    cr_assert(append_row(node, rows_written, &sequence));
    cr_assert_eq(host_add(node->host, node->tablet, 1), STATUS_UNAVAILABLE);
    store_commit(node->fixture.store);
    FIXTURE_PUMP_UNTIL(&node->fixture, store_tablet_committed(node->tablet) == sequence);
    acknowledged[rows_written++] = true;
    node->committed = sequence;
    cr_assert_eq(host_add(node->host, node->tablet, 1), STATUS_OK);
    write_rows(2);
    expect_level();
}

Test(host_cluster, a_lone_member_gets_others)
{
    begin_with(1);
    wish_for_all();
    start_all(3);
    PUMP_UNTIL(&cluster, cluster.catalog.member_count == NODES);
    write_rows(20);
    expect_level();
}

/* The answers to its predecessor's exceptions come late; there may be more of them than places. */
Test(host_cluster, a_replica_that_is_made_again_hears_only_what_it_asked)
{
    struct node *primary = primary_of_three();
    struct node *node = &cluster.nodes[peer_of(primary)->self.server - 1];
    host_remove(node->host, node->tablet);
    host_remove(node->host, node->tablet);
    node->committed = store_tablet_committed(node->tablet);
    cr_assert_eq(host_add(node->host, node->tablet, 1), STATUS_OK);
    for (uint64_t version = 1; version < 100; version++) {
        host_hear(node->host, &(struct lease_effect){.type = LEASE_EFFECT_EXCEPTED,
                                                     .peer = primary->self.server,
                                                     .tablet = TABLET,
                                                     .version = version});
    }
    write_rows(3);
    expect_level();
}

/* It does nothing from then on, and was reported as a copy of no version, which may be the one that is meant: so none was
 * made in another store of its server (simulator, seed 95000480). */
Test(host_cluster, a_copy_that_was_let_go_is_known_as_such_after_a_restart)
{
    begin_with(3);
    start_all(3);
    write_rows(3);
    struct node *gone = &cluster.nodes[2];
    node_kill(gone);
    PUMP_UNTIL(&cluster, !is_member(gone));
    node_start(gone);
    PUMP_UNTIL(&cluster, host_look(gone->tablet).role == REPLICA_OUTSIDER);
    node_kill(gone);
    node_start(gone);
    struct replica_view replica = host_look(gone->tablet);
    struct serving_view known = serving_look(host_serving(gone->tablet));
    cr_assert_eq(replica.role, REPLICA_OUTSIDER);
    cr_assert_gt(replica.configuration.version, 1);
    cr_assert_eq(known.version, replica.configuration.version);
    cr_assert_eq(known.role, REPLICA_OUTSIDER);
    cr_assert_not(known.empty);
}

/* A master's word that its copy may go, and a goal that brings it back, may cross (an audit). */
Test(host_cluster, an_old_word_that_a_copy_may_go_is_passed_over)
{
    struct node *primary = primary_of_three();
    const struct node *peer = peer_of(primary);
    uint64_t version = host_look(peer->tablet).configuration.version;
    cr_assert_not(host_may_remove(peer->tablet, version), "it counts");
    cr_assert(host_may_remove(peer->tablet, version + 1), "it has not heard that it is out");
    cr_assert(host_may_remove(peer->tablet, 0), "there is no such tablet any more");
}
