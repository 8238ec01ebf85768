/*
 * A store's replicas performed, on real stores, beacons and lanes: what is acknowledged is everywhere and stays, whoever
 * dies.  Beside it: test_host_leases.c (who may answer), test_host_hand_over.c, test_host_copies.c (which come and go),
 * test_host_collect.c (what has expired).
 */
#include "tests/support/host_trio.h"

#define TURNS_MAX 20

TestSuite(host_cluster, .fini = finish);

/* So many members are left when nobody has ended. */
static uint32_t write_with_three(void)
{
    begin_with(3);
    start_all(3);
    write_rows(40);
    expect_level();
    return cluster.catalog.member_count;
}

/* One that the machine gave no processor for as long as a lease, or a disk's sync for longer, is removed: of several turns
 * the best tells. */
Test(host_cluster, three_copies_have_what_was_acknowledged)
{
    uint32_t members = write_with_three();
    for (int turn = 1; turn < TURNS_MAX && members < NODES; turn++) {
        cluster_close(&cluster);
        members = write_with_three();
    }
    cr_assert_eq(members, NODES);
}

Test(host_cluster, a_dead_primary_is_followed_by_another_and_comes_back)
{
    begin_with(3);
    wish_for_all();
    start_all(3);
    write_rows(20);
    struct node *dead = leader_of_all();
    uint64_t sequence = 0;
    (void)append_row(dead, rows_written++, &sequence); /* of which nobody hears */
    node_kill(dead);
    write_rows(20);
    expect_level();
    cr_assert_neq(replica_configuration_leader(&cluster.catalog).store, dead->self.store);
    node_start(dead);
    PUMP_UNTIL(&cluster, cluster.catalog.member_count == NODES &&
                             host_look(dead->tablet).role == REPLICA_SECONDARY);
    write_rows(10);
    expect_level();
}

Test(host_cluster, a_dead_secondary_is_removed_and_catches_up_from_the_log)
{
    begin_with(3);
    wish_for_all();
    start_all(3);
    write_rows(10);
    (void)leader_of_all();
    struct node *dead = &cluster.nodes[2];
    node_kill(dead);
    write_rows(30);
    PUMP_UNTIL(&cluster, !is_member(dead));
    expect_level();
    node_start(dead);
    PUMP_UNTIL(&cluster, is_member(dead));
    expect_level();
    write_rows(5);
    expect_level();
}

Test(host_cluster, a_secondary_that_hears_nothing_for_a_while_catches_up)
{
    begin_with(3);
    wish_for_all();
    start_all(3);
    write_rows(5);
    uint64_t sequence = 0;
    struct node *primary = must_lead();
    struct node *deaf = primary == &cluster.nodes[1] ? &cluster.nodes[2] : &cluster.nodes[1];
    atomic_store(&deaf->deaf, true);
    for (int i = 0; i < 20; i++) {
        (void)append_row(primary, rows_written++, &sequence);
    }
    int64_t until_ns = clock_monotonic_ns() + 300 * MS;
    PUMP_UNTIL(&cluster, clock_monotonic_ns() > until_ns);
    cr_assert(primary->committed < sequence || !is_member(deaf), "it was waited for");
    atomic_store(&deaf->deaf, false);
    write_rows(5);
    expect_level();
}

/* All of the servers start again at once, whoever led. */
Test(host_cluster, a_whole_cluster_that_died_serves_again)
{
    begin_with(3);
    start_all(3);
    write_rows(10);
    for (int i = 0; i < NODES; i++) {
        node_kill(&cluster.nodes[i]);
    }
    start_all(3);
    write_rows(10);
    expect_level();
}

/* A window for three entries or so: the rest is taken when those are committed. */
Test(host_cluster, what_a_store_has_no_room_for_is_taken_later)
{
    begin_with(3);
    cluster.nodes[1].fixture.settings.window_bytes_max = 128;
    cluster.nodes[2].fixture.settings.window_bytes_max = 128;
    start_all(3);
    write_row();
    struct node *primary = must_lead();
    uint64_t sequence = 0;
    for (int i = 0; i < 50; i++) {
        (void)append_row(primary, rows_written++, &sequence);
    }
    PUMP_UNTIL(&cluster, is_settled(primary, sequence));
    expect_level();
}
