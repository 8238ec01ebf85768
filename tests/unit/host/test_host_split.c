/*
 * A tablet with three copies is split while it is written to, on real stores, beacons and lanes, whoever
 * dies at which step: no write that was acknowledged is lost or doubled, and the children serve.
 */
#include "tabletserver/host/host_internal.h"
#include "tests/support/held_syncs.h"
#include "tests/support/host_rows.h"

#define TURNS_MAX 10

static struct record_split wish(void)
{
    return (struct record_split){bytes_of_text("m"), HEIR, HEIR + 1};
}

static struct record_split wished;

static void begin(void)
{
    cluster_open(&cluster, 3);
    rows_begin();
    wished = wish();
    cluster.goal.count = NODES;
    for (int i = 0; i < NODES; i++) {
        node_start(&cluster.nodes[i]);
        cluster.goal.members[i] = cluster.nodes[i].self;
    }
}

static void finish(void)
{
    cluster_close(&cluster);
}

TestSuite(host_split, .init = begin, .fini = finish);

static void expect_all(void)
{
    expect_rows(0);
    expect_rows(1);
}

/* All who count.  (Who was removed meanwhile, on a busy machine, keeps what it has until it may go.) */
static bool is_converted(void)
{
    for (int i = 0; i < NODES; i++) {
        const struct node *node = &cluster.nodes[i];
        if (node->tablet != NULL && (is_member(node, 0) || is_member(node, 1))) {
            return false;
        }
    }
    return cluster.is_split;
}

/* Who leads all three, by the newest configuration.  (Whoever was removed meanwhile, on a busy machine, comes back first.) */
static struct node *primary(void)
{
    struct node *found = NULL;
    PUMP_UNTIL(&cluster,
               (found = cluster_primary(&cluster)) != NULL &&
                   cluster.catalog.member_count == NODES &&
                   host_look(found->tablet).configuration.version == cluster.catalog.version);
    return found;
}

/* The children are served, and go on. */
static void expect_split(void)
{
    PUMP_UNTIL(&cluster, is_converted() && server_of(0) != NULL && server_of(1) != NULL);
    write_rows(20);
    expect_all();
}

/* --- nobody dies ---------------------------------------------------------------------------------- */

/* Do all three count for both, when nobody has died? */
static bool split_under_writes(void)
{
    write_rows(20);
    (void)primary();
    cluster.wish = &wished;
    for (int i = 0; i < 200 && !is_converted(); i++) {
        (void)try_row();
        cluster_pump(&cluster);
    }
    expect_split();
    return cluster.heirs[0].member_count == NODES && cluster.heirs[1].member_count == NODES;
}

/* One that the machine gave no processor for as long as a lease is removed: of several turns one tells. */
Test(host_split, under_writes_none_is_lost_or_doubled)
{
    bool all_count = split_under_writes();
    for (int turn = 1; turn < TURNS_MAX && !all_count; turn++) {
        finish();
        begin();
        all_count = split_under_writes();
    }
    cr_assert(all_count);
}

/* The others hear of it by what its primary opens. */
Test(host_split, a_member_that_hears_no_master_converts_when_it_is_opened)
{
    write_rows(10);
    const struct node *leads = primary();
    only_hears_master(leads);
    cluster.wish = &wished;
    PUMP_UNTIL(&cluster, is_converted());
    hear_master(true);
    expect_split();
}

Test(host_split, all_servers_die_and_find_what_they_had)
{
    write_rows(10);
    cluster.wish = &wished;
    expect_split();
    for (int turn = 0; turn < 2; turn++) {
        for (int i = 0; i < NODES; i++) {
            node_kill(&cluster.nodes[i]);
        }
        for (int i = 0; i < NODES; i++) {
            node_start(&cluster.nodes[i]);
        }
        expect_split();
    }
}

Test(host_split, while_the_barrier_stands_it_is_read_and_not_written)
{
    write_rows(10);
    struct node *node = primary();
    uint64_t sequence = 0;
    cluster.refuses = true;
    cluster.wish = &wished;
    PUMP_UNTIL(&cluster, host_look(node->tablet).barrier != 0 && node_serves(node));
    uint8_t operand[8];
    struct change change = fixture_add(3, "n", 1, operand);
    cr_assert_eq(fixture_append(node->tablet, "b", &change, 1, NULL, &sequence),
                 STATUS_UNAVAILABLE);
    cr_assert(host_is_changing(node->tablet), "whoever is refused should wait for a moment");
    cluster.refuses = false;
    expect_split();
    for (uint32_t row = 0; row < 2; row++) {
        PUMP_UNTIL(&cluster, (node = server_of(row)) != NULL);
        cr_assert(!host_is_changing(node->heirs[row].tablet), "it is over");
    }
}

/* What one tablet has given out, and not committed, is memory that its neighbour may not have too. */
Test(host_split, what_all_tablets_may_have_under_way_is_bounded)
{
    static char value[64 << 10];
    struct change change = {.family = 1,
                            .kind = CHANGE_PUT,
                            .timestamp_us = 1,
                            .qualifier = bytes_of_text("q"),
                            .value = bytes_of(value, sizeof value)};
    uint64_t sequence = 0;
    cluster.wish = &wished;
    expect_split();
    struct node *node = server_of(0);
    PUMP_UNTIL(&cluster, (node = server_of(0)) != NULL && node == server_of(1));
    enum status status = STATUS_OK;
    size_t taken_bytes = 0;
    for (; status == STATUS_OK;
         taken_bytes += sizeof value) { /* not pumped: nothing is committed */
        status = fixture_append(node->heirs[0].tablet, "b", &change, 1, NULL, &sequence);
    }
    cr_assert_eq(status, STATUS_RESOURCE_EXHAUSTED);
    cr_assert_gt(taken_bytes, WINDOWS_BYTES_MAX / 2);
    cr_assert_eq(fixture_append(node->heirs[1].tablet, "r", &change, 1, NULL, &sequence),
                 STATUS_RESOURCE_EXHAUSTED);
    /* What is committed is no more under way. */
    PUMP_UNTIL(&cluster,
               (node = server_of(1)) != NULL && fixture_append(node->heirs[1].tablet, "r", &change,
                                                               1, NULL, &sequence) == STATUS_OK);
}

/* --- its primary dies ----------------------------------------------------------------------------- */

static bool is_barred(const struct node *node)
{
    return node->tablet != NULL && host_look(node->tablet).barrier != 0;
}

static bool has_committed_barrier(const struct node *node)
{
    struct store_entry barrier;
    return node->tablet != NULL && store_tablet_barrier(node->tablet, &barrier);
}

static bool is_alone_in(const struct replica_configuration *configuration, const struct node *node)
{
    return configuration->member_count == 1 && replica_configuration_has(configuration, node->self);
}

/* On a machine where others have stood still for longer than a lease: then what is there dies with it, and comes back
 * with nobody else. */
static bool is_alone(const struct node *node)
{
    return cluster.is_split
               ? is_alone_in(&cluster.heirs[0], node) || is_alone_in(&cluster.heirs[1], node)
               : is_alone_in(&cluster.catalog, node);
}

static void kill_and_go_on(struct node *node)
{
    bool was_alone = is_alone(node);
    node_kill(node);
    if (was_alone) {
        node_start(node);
    }
    expect_split();
    if (!was_alone) {
        node_start(node);
    }
    write_rows(4);
    expect_all();
}

Test(host_split, the_primary_dies_when_the_barrier_is_given_out)
{
    write_rows(10);
    struct node *node = primary();
    cr_assert_eq(host_split(node->host, node->tablet, &wished), STATUS_OK);
    cr_assert(is_barred(node));
    cluster.wish = &wished;
    kill_and_go_on(node);
}

Test(host_split, the_primary_dies_when_the_barrier_is_committed)
{
    write_rows(10);
    struct node *node = primary();
    cluster.refuses = true;
    cluster.wish = &wished;
    PUMP_UNTIL(&cluster, has_committed_barrier(node));
    cluster.refuses = false;
    kill_and_go_on(node);
}

/* The master has it; nobody has heard. */
static void let_split_be_taken_unheard(void)
{
    write_rows(10);
    (void)primary();
    hear_master(false);
    cluster.wish = &wished;
    PUMP_UNTIL(&cluster, cluster.is_split);
}

/* It is taken, and whoever proposed it never hears. */
Test(host_split, the_primary_dies_when_the_split_is_taken)
{
    let_split_be_taken_unheard();
    hear_master(true);
    kill_and_go_on(cluster.proposer);
}

/* What it has converted may not be durable; nobody else has heard. */
Test(host_split, the_primary_dies_when_it_has_converted)
{
    let_split_be_taken_unheard();
    struct node *node = cluster.proposer;
    node->hears_no_master = false;
    PUMP_UNTIL(&cluster, node->tablet == NULL);
    hear_master(true);
    kill_and_go_on(node);
}

Test(host_split, the_primary_dies_when_the_children_serve)
{
    write_rows(10);
    cluster.wish = &wished;
    struct node *node = NULL;
    PUMP_UNTIL(&cluster, cluster.is_split && (node = server_of(0)) != NULL);
    kill_and_go_on(node);
}

/* It lives, and others answer its beacons; but it hears neither master nor members.  What they had promised it
 * for TABLET is over before one of them leads a child (rule 11). */
Test(host_split, a_primary_that_never_hears_does_not_serve_beside_the_children)
{
    let_split_be_taken_unheard();
    struct node *left_behind = cluster.proposer;
    atomic_store(&left_behind->deaf, true);
    hear_master(true);
    left_behind->hears_no_master = true;
    for (uint32_t row = 0; row < 2; row++) {
        struct node *node = NULL;
        PUMP_UNTIL(&cluster, (node = server_of(row)) != NULL && node != left_behind);
    }
    cr_assert_not_null(left_behind->tablet);
    cr_assert_not(node_serves(left_behind));
    node_kill(left_behind);
    expect_split();
}

/* --- who does not count --------------------------------------------------------------------------- */

/* What it has of the barrier others may have dropped: the word that there was a split is not enough. */
Test(host_split, a_barrier_that_is_not_committed_here_converts_members_only)
{
    write_rows(10);
    const struct node *node = primary();
    cluster.refuses = true;
    cr_assert_eq(host_split(node->host, node->tablet, &wished), STATUS_OK);
    cr_assert_not(host_convert(node->host, node->tablet, HEIR, NULL));
    cr_assert_not(host_look(node->tablet).gone);
    PUMP_UNTIL(&cluster, has_committed_barrier(node));
    cr_assert(host_convert(node->host, node->tablet, HEIR, NULL));
}

/* This store was taught an heir's heir by others, of the left one.  told: whether it is said to count among the
 * members of the left heir. */
static struct store_tablet *teach_what_came_of_left(struct node *node, bool told)
{
    cluster.refuses = true;
    cr_assert_eq(host_split(node->host, node->tablet, &wished), STATUS_OK);
    PUMP_UNTIL(&cluster, has_committed_barrier(node));
    struct store_tablet *later = fixture_create(&node->fixture, HEIR + 10, "a", "c");
    cr_assert_eq(host_add(node->host, later, 1), STATUS_OK);
    struct replica_configuration newest = cluster.catalog;
    newest.version++;
    cr_assert(host_convert(node->host, node->tablet, HEIR, told ? &newest : NULL));
    PUMP_UNTIL(&cluster, host_look(node->tablet).gone);
    return later;
}

/* What it has of the parent is of before; and so is a word that has it count among the heir's members (simulator,
 * seed 923729: a tablet under a version that it had excepted). */
static void expect_nothing_becomes_the_heir(bool told)
{
    write_rows(10);
    struct node *node = primary();
    struct store_tablet *later = teach_what_came_of_left(node, told);
    for (int i = 0; i < 20; i++) {
        cluster_pump(&cluster);
    }
    cr_assert_null(store_tablet_find(node->fixture.store, HEIR));
    cr_assert_not_null(store_tablet_find(node->fixture.store, TABLET));
    host_remove(node->host, later);
}

Test(host_split, where_what_came_of_an_heir_is_nothing_becomes_the_heir)
{
    expect_nothing_becomes_the_heir(false);
}

Test(host_split, where_what_came_of_an_heir_is_an_old_word_makes_no_heir)
{
    expect_nothing_becomes_the_heir(true);
}

/* Of who leads: it gives a barrier out that nothing makes durable. */
static bool splits_unsynced(const struct node *node)
{
    if (cluster_primary(&cluster) != node) {
        return false;
    }
    atomic_store(&syncs_allowed, 0);
    if (host_split(node->host, node->tablet, &wished) != STATUS_OK) {
        atomic_store(&syncs_allowed, INT_MAX);
        return false;
    }
    return true;
}

/* Else the disk would pass for one that stands still, and its server would lead nothing for long (simulator, seed
 * 903450). */
Test(host_split, what_becomes_durable_of_a_tablet_that_is_gone_is_waited_for_no_more)
{
    write_rows(10);
    struct node *node = primary();
    struct store_tablet *later = fixture_create(&node->fixture, HEIR + 10, "a", "c");
    cr_assert_eq(host_add(node->host, later, 1), STATUS_OK);
    cluster.goal_leader = node->self.store; /* it may lose its lead meanwhile */
    PUMP_UNTIL(&cluster, splits_unsynced(node));
    struct replica_configuration newest = cluster.catalog;
    newest.version++;
    cluster.refuses = true;
    cr_assert(host_convert(node->host, node->tablet, HEIR, &newest));
    PUMP_UNTIL(&cluster, host_look(node->tablet).gone);
    cr_assert_gt(node->host->unsynced_count, 0);
    atomic_store(&syncs_allowed, INT_MAX);
    PUMP_UNTIL(&cluster, node->host->unsynced_count == 0);
    host_remove(node->host, later);
}

/* It has what the right heir has, and maybe nobody else. */
Test(host_split, who_counts_among_one_heir_converts_whatever_came_of_the_other)
{
    write_rows(10);
    struct node *node = primary();
    struct store_tablet *later = teach_what_came_of_left(node, false);
    struct replica_configuration newest = cluster.catalog;
    newest.version++;
    cr_assert(host_convert(node->host, node->tablet, HEIR + 1, &newest));
    PUMP_UNTIL(&cluster, store_tablet_find(node->fixture.store, HEIR + 1) != NULL);
    host_remove(node->host, later);
}
