/*
 * Two neighbours with three copies each are merged while they are written to, on real stores, beacons and
 * lanes, whoever dies at which step: no write that was acknowledged is lost or doubled, nothing stands for
 * ever, and the merged one serves.
 */
#include "tests/support/host_rows.h"

#define TURNS_MAX 10

static const struct host_merge_wish wished = {HEIR, HEIR + 1, MERGED};

static void begin_with(uint32_t members)
{
    cluster_open_halves(&cluster, members);
    rows_begin();
    for (uint32_t i = 0; i < members; i++) {
        node_start(&cluster.nodes[i]);
    }
    write_rows(10);
}

static void begin(void)
{
    begin_with(3);
}

static void finish(void)
{
    cluster_close(&cluster);
}

TestSuite(host_merge, .init = begin, .fini = finish);

/* --- what is looked for --------------------------------------------------------------------------- */

/* Who leads both; NULL = nobody. */
static struct node *leader(void)
{
    struct node *node = server_of(0);
    return node != NULL && node == server_of(1) && node->heirs[2].tablet == NULL ? node : NULL;
}

/* All who live count, for both halves, and it knows. */
static bool has_all(const struct node *node)
{
    uint32_t up = 0;
    for (int i = 0; i < NODES; i++) {
        up += cluster.nodes[i].up ? 1 : 0;
    }
    for (int half = 0; half < 2; half++) {
        const struct replica_configuration *newest = &cluster.heirs[half];
        if (newest->member_count != up ||
            host_look(node->heirs[half].tablet).configuration.version != newest->version) {
            return false;
        }
    }
    return true;
}

/* Whoever was removed meanwhile, on a busy machine, is wished for, and comes back first: it may have to go on alone. */
static struct node *primary(void)
{
    struct node *found = NULL;
    PUMP_UNTIL(&cluster, (found = leader()) != NULL && has_all(found));
    return found;
}

static struct replica_standing standing_of(const struct node *node, int half)
{
    struct store_tablet *tablet = node->up ? node->heirs[half].tablet : NULL;
    return tablet == NULL ? (struct replica_standing){0} : host_look(tablet).standing;
}

/* A barrier stands there, and is committed. */
static bool stands(const struct node *node, int half, enum replica_barrier barrier)
{
    struct replica_standing standing = standing_of(node, half);
    return standing.sequence != 0 && standing.barrier == barrier &&
           host_look(node->heirs[half].tablet).committed >= standing.sequence;
}

static bool nothing_stands(void)
{
    for (int i = 0; i < NODES; i++) {
        for (int half = 0; half < 2; half++) {
            if (is_member(&cluster.nodes[i], half) &&
                standing_of(&cluster.nodes[i], half).sequence != 0) {
                return false;
            }
        }
    }
    return true;
}

/* All who count have the one, and neither half. */
static bool is_united(void)
{
    for (int i = 0; i < NODES; i++) {
        const struct node *node = &cluster.nodes[i];
        if (is_member(node, 2) && (node->heirs[2].tablet == NULL || node->heirs[0].tablet != NULL ||
                                   node->heirs[1].tablet != NULL)) {
            return false;
        }
    }
    return cluster.is_merged;
}

/* It is served, and goes on; its sequence is above both. */
static void expect_merged(void)
{
    const struct node *node = NULL;
    PUMP_UNTIL(&cluster, is_united() && (node = server_of(0)) != NULL && node == server_of(1));
    write_rows(20);
    expect_rows(2);
}

/* Both halves are as they were. */
static void expect_halves(void)
{
    cr_assert_not(cluster.is_merged);
    PUMP_UNTIL(&cluster, server_of(0) != NULL && server_of(1) != NULL && nothing_stands());
    write_rows(20);
    expect_rows(0);
    expect_rows(1);
}

/* --- nobody dies ---------------------------------------------------------------------------------- */

/* So many members are left when nobody has died. */
static uint32_t merge_under_writes(void)
{
    cluster.merge = &wished;
    for (int i = 0; i < 600 && !is_united(); i++) {
        (void)try_row();
        cluster_pump(&cluster);
    }
    expect_merged();
    return cluster.heirs[2].member_count;
}

/* One that the machine gave no processor for as long as a lease is removed: of several turns the best tells. */
Test(host_merge, under_writes_none_is_lost_or_doubled)
{
    uint32_t members = merge_under_writes();
    for (int turn = 1; turn < TURNS_MAX && members < NODES; turn++) {
        finish();
        begin();
        members = merge_under_writes();
    }
    cr_assert_eq(members, NODES);
}

Test(host_merge, all_servers_die_and_find_what_they_had)
{
    cluster.merge = &wished;
    expect_merged();
    for (int turn = 0; turn < 2; turn++) {
        for (int i = 0; i < NODES; i++) {
            node_kill(&cluster.nodes[i]);
        }
        for (int i = 0; i < NODES; i++) {
            node_start(&cluster.nodes[i]);
        }
        expect_merged();
    }
}

/* That it was taken says how: it need not be told, and serves at once. */
Test(host_merge, the_one_serves_before_its_configuration_is_told)
{
    struct node *node = primary();
    cluster.refuses_merges = true;
    cluster.merge = &wished;
    PUMP_UNTIL(&cluster, stands(node, 0, REPLICA_BARRIER_ABSORB));
    cluster.tells_no_heirs = true;
    cluster.refuses_merges = false;
    PUMP_UNTIL(&cluster, is_united() && (node = server_of(0)) != NULL);
    struct replica_configuration known = host_look(node->heirs[2].tablet).configuration;
    cr_assert(replica_configuration_equal(&known, &cluster.heirs[2]));
    expect_merged();
}

/* They hear of it by what its primary opens. */
Test(host_merge, members_that_hear_no_master_convert_when_they_are_opened)
{
    const struct node *leads = primary();
    cluster.merge = &wished;
    cluster.refuses_merges = true;
    PUMP_UNTIL(&cluster, stands(leads, 0, REPLICA_BARRIER_ABSORB));
    only_hears_master(leads);
    cluster.refuses_merges = false;
    PUMP_UNTIL(&cluster, is_united());
    hear_master(true);
    expect_merged();
}

Test(host_merge, while_the_barriers_stand_both_are_read_and_not_written)
{
    struct node *node = primary();
    uint64_t sequence = 0;
    uint8_t operand[8];
    struct change change = fixture_add(3, "n", 1, operand);
    cluster.refuses_merges = true;
    cluster.merge = &wished;
    PUMP_UNTIL(&cluster, stands(node, 0, REPLICA_BARRIER_ABSORB) && leader() == node);
    for (uint32_t row = 0; row < 2; row++) {
        cr_assert_eq(
            fixture_append(node->heirs[row].tablet, name_of(row), &change, 1, NULL, &sequence),
            STATUS_UNAVAILABLE);
    }
    cluster.refuses_merges = false;
    expect_merged();
}

/* It was being made of another merge when this one was wished, and waited for the next flush. */
Test(host_merge, a_half_that_comes_later_is_flushed_then)
{
    (void)primary();
    for (int i = 0; i < NODES; i++) {
        host_remove(cluster.nodes[i].host, cluster.nodes[i].heirs[0].tablet);
    }
    cluster.merge = &wished;
    for (int i = 0; i < 50; i++) {
        cluster_pump(&cluster);
    }
    int64_t since_ns = clock_monotonic_ns();
    for (int i = 0; i < NODES; i++) {
        struct node *node = &cluster.nodes[i];
        cr_assert_eq(host_add(node->host, node->heirs[0].tablet, 1), STATUS_OK);
        node->heirs[0].wants_newest = true;
    }
    PUMP_UNTIL(&cluster, cluster.is_merged);
    cr_assert_lt(clock_monotonic_ns() - since_ns, 20000 * MS);
    expect_merged();
}

/* Step 3: whoever has acknowledged ABSORB knows what it has of the right half. */
Test(host_merge, who_has_absorbed_knows_the_right_half_to_be_frozen)
{
    struct node *node = primary();
    cluster.refuses_merges = true;
    cluster.merge = &wished;
    PUMP_UNTIL(&cluster, stands(node, 0, REPLICA_BARRIER_ABSORB));
    for (int i = 0; i < NODES; i++) {
        cr_assert(!is_member(&cluster.nodes[i], 0) ||
                      stands(&cluster.nodes[i], 1, REPLICA_BARRIER_FROZEN),
                  "server %d", i + 1);
    }
    cluster.refuses_merges = false;
    expect_merged();
}

/* Its next entry, as if its primary had given out ABSORB of the right half's entry `right_sequence`. */
static void absorb_at(struct node *node, const struct node *leads, uint64_t right_sequence)
{
    struct replica_view left = host_look(node->heirs[0].tablet);
    struct replica_view right = host_look(node->heirs[1].tablet);
    const struct record_absorb absorb = {.merged_tablet = MERGED,
                                         .right_tablet = HEIR + 1,
                                         .right_sequence = right_sequence,
                                         .right_version = right.configuration.version};
    struct buffer payload = BUFFER_INIT;
    record_encode_absorb(&absorb, &payload);
    struct replica_item item = {
        .tablet = HEIR,
        .message = {.type = REPLICA_PREPARE,
                    .version = left.configuration.version,
                    .incarnation = leads->incarnation,
                    .committed = left.committed,
                    .entry = {.sequence = left.appended + 1,
                              .version = left.configuration.version,
                              .stamp = {.clock = store_next_clock(node->fixture.store)},
                              .type = RECORD_ABSORB,
                              .barrier = REPLICA_BARRIER_ABSORB,
                              .payload = buffer_bytes(&payload)}}};
    const struct replica_batch batch = {.head = {.from = leads->self, .to_store = node->self.store},
                                        .items = &item,
                                        .item_count = 1};
    host_receive(node->host, &batch);
    buffer_deinit(&payload);
}

/* All who live: what their leader has, and by which configuration. */
static bool have_newest(const struct node *leads)
{
    for (int i = 0; i < NODES; i++) {
        if (!has_all(leads) || !has_all(&cluster.nodes[i])) {
            return false;
        }
    }
    return all_are_level(0) && all_are_level(1);
}

Test(host_merge, a_member_takes_absorb_when_it_knows_the_right_half_to_be_committed)
{
    const struct node *leads = NULL;
    PUMP_UNTIL(&cluster, (leads = leader()) != NULL && have_newest(leads));
    struct node *node = &cluster.nodes[leads == &cluster.nodes[0] ? 1 : 0];
    uint64_t before = host_look(node->heirs[0].tablet).appended;
    uint64_t committed = host_look(node->heirs[1].tablet).committed;
    absorb_at(node, leads, committed + 1);
    cr_assert_eq(host_look(node->heirs[0].tablet).appended, before, "it comes again");
    absorb_at(node, leads, committed);
    cr_assert_eq(host_look(node->heirs[0].tablet).appended, before + 1);
}

/* --- it comes to nothing -------------------------------------------------------------------------- */

Test(host_merge, what_is_not_wished_any_more_is_taken_back)
{
    struct node *node = primary();
    cluster.refuses_merges = true;
    cluster.merge = &wished;
    PUMP_UNTIL(&cluster, stands(node, 0, REPLICA_BARRIER_ABSORB));
    cluster.merge = NULL;
    expect_halves();
    cluster.refuses_merges = false;
    cluster.merge = &wished;
    expect_merged();
}

/* The catalog never takes it: after a while both are written to again, and it is tried later. */
Test(host_merge, what_is_refused_for_long_is_given_up_and_tried_again)
{
    struct node *node = primary();
    cluster.refuses_merges = true;
    cluster.merge = &wished;
    PUMP_UNTIL(&cluster, stands(node, 0, REPLICA_BARRIER_ABSORB));
    uint64_t before = cluster.heirs[1].version;
    PUMP_UNTIL(&cluster, cluster.heirs[1].version > before);
    PUMP_UNTIL(&cluster, nothing_stands());
    uint32_t written = rows_written;
    PUMP_UNTIL(&cluster, try_row());
    cr_assert_gt(rows_written, written);
    cluster.refuses_merges = false;
    expect_merged();
}

/* The right half has another version when the proposal comes; its left half stood still for ever. */
Test(host_merge, a_merge_that_became_void_lets_the_left_half_go)
{
    struct node *node = primary();
    cluster.refuses_merges = true;
    cluster.merge = &wished;
    PUMP_UNTIL(&cluster, stands(node, 0, REPLICA_BARRIER_ABSORB));
    cluster.heirs[1].version++; /* somebody else's doing, as far as the catalog says */
    cluster.merge = NULL;
    for (int i = 0; i < NODES; i++) {
        cluster.nodes[i].heirs[1].wants_newest = true;
    }
    expect_halves();
}

/* --- its primary dies ----------------------------------------------------------------------------- */

static void kill_and_go_on(struct node *node)
{
    node_kill(node);
    expect_merged();
    node_start(node);
    write_rows(4);
    expect_rows(2);
}

Test(host_merge, the_primary_dies_when_the_right_half_is_frozen)
{
    struct node *node = primary();
    cluster.merge = &wished;
    PUMP_UNTIL(&cluster, standing_of(node, 1).sequence != 0);
    kill_and_go_on(node);
}

Test(host_merge, the_primary_dies_when_that_is_committed)
{
    struct node *node = primary();
    cluster.merge = &wished;
    PUMP_UNTIL(&cluster, stands(node, 1, REPLICA_BARRIER_FROZEN));
    kill_and_go_on(node);
}

Test(host_merge, the_primary_dies_when_the_left_half_absorbs)
{
    struct node *node = primary();
    cluster.refuses_merges = true;
    cluster.merge = &wished;
    PUMP_UNTIL(&cluster, standing_of(node, 0).sequence != 0);
    cluster.refuses_merges = false;
    kill_and_go_on(node);
}

/* What is taken back is ordered again under the same number: who was away when that was done may have a barrier of the order
 * before, which nobody else has (simulator, seed 4221184). */
Test(host_merge, a_barrier_that_is_not_committed_here_converts_members_only)
{
    struct node *node = primary();
    cluster.refuses_merges = true;
    cluster.merge = &wished;
    PUMP_UNTIL(&cluster, standing_of(node, 0).sequence != 0);
    struct store_tablet *left = node->heirs[0].tablet;
    struct store_tablet *right = node->heirs[1].tablet;
    cr_assert_lt(host_look(left).committed, standing_of(node, 0).sequence);
    cr_assert_not(host_convert(node->host, left, MERGED, NULL));
    cr_assert_not(host_convert(node->host, right, MERGED, NULL));
    cr_assert_not(host_look(left).gone);
    PUMP_UNTIL(&cluster, stands(node, 0, REPLICA_BARRIER_ABSORB));
    cr_assert(host_convert(node->host, right, MERGED, NULL));
}

Test(host_merge, who_counts_among_the_merged_one_s_members_converts_what_is_not_committed_here)
{
    struct node *node = primary();
    cluster.refuses_merges = true;
    cluster.merge = &wished;
    PUMP_UNTIL(&cluster, standing_of(node, 0).sequence != 0);
    struct store_tablet *left = node->heirs[0].tablet;
    struct replica_configuration newest = host_look(left).configuration;
    newest.version++;
    cr_assert_lt(host_look(left).committed, standing_of(node, 0).sequence);
    cr_assert(host_convert(node->host, left, MERGED, &newest));
}

Test(host_merge, the_primary_dies_when_that_is_committed_too)
{
    struct node *node = primary();
    cluster.refuses_merges = true;
    cluster.merge = &wished;
    PUMP_UNTIL(&cluster, stands(node, 0, REPLICA_BARRIER_ABSORB));
    cluster.refuses_merges = false;
    kill_and_go_on(node);
}

static bool has_absorbed(void)
{
    const struct node *node = leader();
    return node != NULL && has_all(node) && stands(node, 0, REPLICA_BARRIER_ABSORB);
}

/* It is taken, and whoever proposed it never hears.  (Where the machine takes so long over it that it is given up, nobody would
 * hear of the wish any more: then once more.) */
static struct node *take_unheard(void)
{
    (void)primary();
    cluster.merge = &wished;
    do {
        cluster.refuses_merges = true;
        hear_master(true);
        PUMP_UNTIL(&cluster, has_absorbed());
        cluster.refuses_merges = false;
        hear_master(false);
        PUMP_UNTIL(&cluster, cluster.is_merged || nothing_stands());
    } while (!cluster.is_merged);
    return cluster.proposer;
}

Test(host_merge, the_primary_dies_when_the_merge_is_taken)
{
    struct node *node = take_unheard();
    hear_master(true);
    kill_and_go_on(node);
}

/* Nobody else has heard. */
Test(host_merge, the_primary_dies_when_it_has_the_one)
{
    struct node *node = take_unheard();
    node->hears_no_master = false;
    PUMP_UNTIL(&cluster, node->heirs[2].tablet != NULL);
    hear_master(true);
    kill_and_go_on(node);
}

/* In the midst of it: a crash finds both, or the one. */
Test(host_merge, all_die_while_they_are_converted)
{
    (void)take_unheard();
    hear_master(true);
    cluster_pump(&cluster);
    cluster_pump(&cluster);
    for (int i = 0; i < NODES; i++) {
        node_kill(&cluster.nodes[i]);
    }
    for (int i = 0; i < NODES; i++) {
        node_start(&cluster.nodes[i]);
    }
    expect_merged();
}

Test(host_merge, the_primary_dies_when_the_one_serves)
{
    struct node *node = NULL;
    cluster.merge = &wished;
    PUMP_UNTIL(&cluster, cluster.is_merged && (node = server_of(0)) != NULL);
    kill_and_go_on(node);
}

/* It hears neither master nor members: what they had promised it is over before one of them leads the one. */
Test(host_merge, a_primary_that_never_hears_does_not_serve_beside_the_one)
{
    struct node *left_behind = take_unheard();
    atomic_store(&left_behind->deaf, true);
    hear_master(true);
    left_behind->hears_no_master = true;
    struct node *node = NULL;
    PUMP_UNTIL(&cluster,
               (node = server_of(0)) != NULL && node != left_behind && server_of(1) == node);
    cr_assert_not_null(left_behind->heirs[0].tablet);
    for (uint32_t row = 0; row < 2; row++) {
        cr_assert_not(copy_serves(left_behind, row));
    }
    node_kill(left_behind);
    expect_merged();
}

/* --- another member dies -------------------------------------------------------------------------- */

Test(host_merge, a_member_dies_while_the_barriers_stand)
{
    struct node *node = primary();
    struct node *other = &cluster.nodes[node == &cluster.nodes[0] ? 1 : 0];
    cluster.refuses_merges = true;
    cluster.merge = &wished;
    PUMP_UNTIL(&cluster, stands(node, 0, REPLICA_BARRIER_ABSORB));
    node_kill(other);
    cluster.refuses_merges = false;
    expect_merged();
}

/* --- one copy ------------------------------------------------------------------------------------- */

TestSuite(host_merge_alone, .fini = finish);

Test(host_merge_alone, two_with_one_copy_are_merged_and_survive_their_server)
{
    begin_with(1);
    struct node *node = &cluster.nodes[0];
    cluster.merge = &wished;
    cluster.refuses_merges = true;
    PUMP_UNTIL(&cluster, stands(node, 0, REPLICA_BARRIER_ABSORB));
    node_kill(node);
    cluster.refuses_merges = false;
    node_start(node);
    expect_merged();
    node_kill(node);
    node_start(node);
    expect_merged();
}
