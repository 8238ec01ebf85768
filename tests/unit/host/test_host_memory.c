/*
 * A tablet with three copies while one allocation after the other fails, whoever's it is: what is lost comes again, and
 * nothing waits for it for ever.
 */
#include "tests/support/host_trio.h"

#include "common/base/memory.h"

TestSuite(host_memory, .fini = finish);

#define FAILURES 400

/* A new row each time, taken or not. */
static void try_row(void)
{
    struct node *node = cluster_primary(&cluster);
    uint64_t sequence = 0;
    if (node != NULL && append_row(node, rows_written, &sequence)) {
        acknowledged[rows_written++] = false; /* it may be there */
    }
}

static void pump_with_failures(uint64_t step)
{
    for (uint64_t after = 0; after < FAILURES; after += step) {
        memory_fail_arm(after, false);
        try_row();
        for (int i = 0; i < 5; i++) {
            cluster_pump(&cluster);
        }
        memory_fail_disarm();
    }
}

Test(host_memory, writes_go_on_whichever_allocation_fails)
{
    begin_with(3);
    start_all(3);
    wish_for_all();
    write_rows(10);
    pump_with_failures(2);
    PUMP_UNTIL(&cluster, cluster.catalog.member_count == NODES);
    write_rows(10);
    expect_level();
}

Test(host_memory, a_member_that_was_away_is_taught_whichever_allocation_fails)
{
    begin_with(3);
    start_all(3);
    wish_for_all();
    write_rows(40);
    const struct node *primary = must_lead();
    struct node *away = &cluster.nodes[peer_of(primary)->self.server - 1];
    node_kill(away);
    PUMP_UNTIL(&cluster, !is_member(away));
    write_rows(40);
    node_start(away);
    pump_with_failures(4);
    PUMP_UNTIL(&cluster, is_member(away));
    write_rows(10);
    expect_level();
}
