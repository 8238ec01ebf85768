/*
 * A reign ends because it is wished or its server leaves, and another begins in a moment (docs/replication.md, rule 14):
 * on real stores, beacons and lanes.
 */
#include "tests/support/host_trio.h"

#include "tests/support/told_metrics.h"

#define TURNS_MAX  20
#define AT_ONCE_NS (50 * MS)

TestSuite(host_cluster, .fini = finish);

/* Leases that ran out though nobody had ended: the machine was busy. */
static int64_t leases_lapsed(void)
{
    return told_metric("edubba_leases_lapsed_total");
}

/* --- a server leaves ------------------------------------------------------------------------------ */

/* How long it takes until another serves. */
static int64_t leave_ns(void)
{
    struct node *leaving = primary_of_three();
    int64_t begun_ns = clock_monotonic_ns();
    struct node *next = NULL;
    host_leave(leaving->host);
    PUMP_UNTIL(&cluster, (next = cluster_primary(&cluster)) != NULL && next != leaving);
    int64_t took_ns = clock_monotonic_ns() - begun_ns;
    cr_assert_eq(host_leads_count(leaving->host), 0);
    node_kill(leaving);
    write_rows(5);
    expect_level();
    return took_ns;
}

/* Without a lease that has to run out.  The machine may be busy for as long: of several the shortest tells. */
Test(host_cluster, a_server_that_leaves_is_followed_at_once)
{
    int64_t took_ns = leave_ns();
    for (int turn = 1; turn < TURNS_MAX && took_ns >= LEASES.lease_ns; turn++) {
        cluster_close(&cluster);
        took_ns = leave_ns();
    }
    cr_assert_lt(took_ns, LEASES.lease_ns, "not when a lease has lapsed");
}

/* Whom the catalog names has proposed itself, and may not have heard yet: it must not take itself for free to end
 * (simulator, seed 11163248). */
static bool another_leads(const struct node *than)
{
    uint64_t named = replica_configuration_leader(&cluster.catalog).server;
    const struct node *node = &cluster.nodes[named - 1];
    cr_assert_eq(host_leads_count(node->host), 1, "server %llu", (unsigned long long)named);
    return node != than && cluster_primary(&cluster) == node;
}

Test(host_cluster, whoever_is_about_to_lead_counts_as_leading)
{
    struct node *leaving = primary_of_three();
    host_leave(leaving->host);
    PUMP_UNTIL(&cluster, another_leads(leaving));
}

/* --- the master wishes for another ---------------------------------------------------------------- */

/* From when on nobody serves to when the successor does. */
static int64_t hand_over_ns(const struct node *from, const struct node *to)
{
    int64_t ceased_ns = 0;
    cluster.goal_leader = to->self.store;
    PUMP_UNTIL(&cluster, !node_serves(from));
    ceased_ns = clock_monotonic_ns();
    PUMP_UNTIL(&cluster, cluster_primary(&cluster) != NULL);
    return clock_monotonic_ns() - ceased_ns;
}

/* The machine may be busy with something else: of several the shortest tells what it waits for.  The word
 * was given to one successor: whoever of the others leads next within a grace waits for the rest of it
 * (rule 11), so they follow slowly upon each other here. */
Test(host_cluster, a_reign_is_handed_over_in_a_moment)
{
    int64_t shortest_ns = REPLICA_NEVER;
    begin_with(3);
    wish_for_all();
    start_all(3);
    for (int turn = 0; turn < 3 || (turn < TURNS_MAX && shortest_ns >= AT_ONCE_NS); turn++) {
        int64_t until_ns = clock_monotonic_ns() + LEASES.grace_ns;
        write_rows(5);
        PUMP_UNTIL(&cluster, clock_monotonic_ns() > until_ns);
        const struct node *from = must_lead();
        const struct node *to = &cluster.nodes[from->self.server % NODES];
        int64_t gap_ns = hand_over_ns(from, to);
        shortest_ns = gap_ns < shortest_ns ? gap_ns : shortest_ns;
        PUMP_UNTIL(&cluster, node_serves(to));
    }
    write_rows(5);
    PUMP_UNTIL(&cluster, cluster.catalog.member_count == NODES);
    expect_level();
    cr_assert_lt(shortest_ns, AT_ONCE_NS, "%lld us", (long long)(shortest_ns / 1000));
}

/* Has it made way, for one that reaches no master, within so long? */
static bool makes_way(const struct node *from, struct node *to)
{
    uint64_t version = cluster.catalog.version;
    bool yielded = false;
    cluster.goal_leader = 0;
    to->cut_off = true;
    int64_t until_ns = clock_monotonic_ns() + REPLICAS.open_timeout_ns + 200 * MS;
    PUMP_UNTIL(&cluster, clock_monotonic_ns() > until_ns); /* what it said before counts so long */
    cluster.goal_leader = to->self.store;
    until_ns = clock_monotonic_ns() + 1500 * MS;
    while (clock_monotonic_ns() < until_ns) {
        cluster_pump(&cluster);
        struct replica_view view = host_look(from->tablet);
        yielded = yielded || (view.configuration.version == version && !view.serving);
    }
    to->cut_off = false;
    return yielded;
}

/* It would propose itself to nobody, and whoever made way for it takes its reign back by a proposal of its own: again
 * and again, nobody would serve for a second.  A lease that ran out meanwhile looks the same: then it is tried again. */
Test(host_cluster, a_reign_is_not_handed_over_to_one_that_reaches_no_master)
{
    bool yielded = false;
    int64_t lapsed = 0;
    int turns = 0;
    begin_with(3);
    wish_for_all();
    start_all(3);
    do {
        write_rows(3);
        const struct node *from = must_lead();
        struct node *to = &cluster.nodes[from->self.server % NODES];
        lapsed = leases_lapsed();
        yielded = makes_way(from, to);
        PUMP_UNTIL(&cluster, cluster_primary(&cluster) == to);
    } while (leases_lapsed() > lapsed && ++turns < TURNS_MAX);
    cr_assert_not(yielded);
    write_rows(3);
    expect_level();
}
