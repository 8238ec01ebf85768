/*
 * A copy that is damaged heals by itself (docs/replication.md, section 9), on real stores, beacons and lanes.
 */
#include "tests/support/host_fixture.h"

#include "tabletserver/storage/copies/store_digest.h"
#include "tests/support/store_damage.h"

#define ROWS      40
#define TURNS_MAX 10

static struct cluster cluster;

static void finish(void)
{
    cluster_close(&cluster);
}

TestSuite(host_damage, .fini = finish);

/* --- rows --------------------------------------------------------------------------------------- */

/* Adds one to the counter of a row. */
static void add_to(const char *row)
{
    struct node *node = NULL;
    uint64_t sequence = 0;
    uint8_t operand[8];
    const struct change change = fixture_add(3, "n", 1, operand);
    do {
        PUMP_UNTIL(&cluster,
                   (node = cluster_primary(&cluster)) != NULL &&
                       fixture_append(node->tablet, row, &change, 1, NULL, &sequence) == STATUS_OK);
        PUMP_UNTIL(&cluster,
                   node->committed >= sequence || host_look(node->tablet).role != REPLICA_PRIMARY);
    } while (node->answered < sequence);
}

static void write_rows(uint32_t count)
{
    static uint32_t next;
    for (uint32_t i = 0; i < count; i++) {
        char row[16];
        (void)snprintf(row, sizeof row, "r%06u", next++);
        add_to(row);
    }
}

/* Everything in the base, of everyone. */
static void flush_all(void)
{
    for (int i = 0; i < NODES; i++) {
        if (cluster.nodes[i].up) {
            store_flush_all(cluster.nodes[i].fixture.store);
            PUMP_UNTIL(&cluster, fixture_flushes_pending(&cluster.nodes[i].fixture) == 0);
        }
    }
}

static enum status read_row(struct store_read *read, struct buffer *row, bool *ret_found)
{
    struct row_reader *reader = store_read_reader(read);
    struct cell_source source = row_reader_source(reader);
    struct bytes found_row;
    struct cell cell;
    bool more = false;
    enum status status = row_reader_seek(reader, ROW_AFTER, buffer_bytes(row), &found_row,
                                         ret_found);
    if (status != STATUS_OK || !*ret_found) {
        return status;
    }
    buffer_reset(row);
    buffer_append_bytes(row, found_row);
    do {
        status = source.next(source.context, CELL_NEXT, &cell, &more);
    } while (status == STATUS_OK && more);
    return status;
}

/* As a client's scan would. */
static enum status read_all(const struct node *node)
{
    struct store_read *read = NULL;
    struct buffer row = BUFFER_INIT;
    bool found = true;
    enum status status = store_read_begin(node->tablet, NULL, STORE_READ_COMMITTED, 0, &read);
    while (status == STATUS_OK && found) {
        status = read_row(read, &row, &found);
    }
    store_read_end(read);
    buffer_deinit(&row);
    return status;
}

/* What it shows, all of it. */
static struct store_digest digest_of(const struct node *node)
{
    struct store_digesting *digesting = NULL;
    struct store_digest digest;
    cr_assert_eq(
        store_digest_begin(node->tablet, store_digest_schema_version(node->tablet), 0, &digesting),
        STATUS_OK);
    cr_assert_eq(store_digest_run(digesting, BYTES_EMPTY, UINT64_MAX, &digest), STATUS_OK);
    store_digest_end(digesting);
    buffer_deinit(&digest.last);
    return digest;
}

/* --- the cluster -------------------------------------------------------------------------------- */

static bool is_member(const struct node *node)
{
    return replica_configuration_has(&cluster.catalog, node->self);
}

static bool is_level(const struct node *node)
{
    struct replica_view view = host_look(node->tablet);
    return is_member(node) && view.trouble == REPLICA_FINE &&
           view.appended == store_tablet_committed(node->tablet);
}

static bool all_are_level(void)
{
    bool level = true;
    for (int i = 0; i < NODES; i++) {
        level = level && cluster.nodes[i].up && is_level(&cluster.nodes[i]) &&
                store_tablet_committed(cluster.nodes[i].tablet) ==
                    store_tablet_committed(cluster.nodes[0].tablet);
    }
    return level;
}

/* All three count, and have all of it in their base.  (Who was removed meanwhile, on a busy machine, is taught first.) */
static void settle(void)
{
    do {
        PUMP_UNTIL(&cluster, all_are_level());
        flush_all();
    } while (!all_are_level());
}

static const struct scrub_settings COMPARING = {
    .period_ns = 50 * MS, .range_bytes = 500, .patience_ns = 1000 * MS, .resend_ns = 100 * MS};

static void begin_with(struct scrub_settings comparing)
{
    cluster_open(&cluster, NODES);
    cluster.scrub = comparing;
    cluster.goal.count = NODES;
    for (int i = 0; i < NODES; i++) {
        node_start(&cluster.nodes[i]);
        cluster.goal.members[i] = cluster.nodes[i].self;
    }
    write_rows(ROWS);
    settle();
}

static void begin(void)
{
    begin_with((struct scrub_settings){0});
}

static struct node *a_secondary(void)
{
    struct node *primary = NULL;
    PUMP_UNTIL(&cluster, (primary = cluster_primary(&cluster)) != NULL);
    return primary == &cluster.nodes[0] ? &cluster.nodes[1] : &cluster.nodes[0];
}

static void expect_healed(const struct node *healed)
{
    PUMP_UNTIL(&cluster, all_are_level());
    cr_assert_eq(read_all(healed), STATUS_OK);
    struct store_digest first = digest_of(&cluster.nodes[0]);
    cr_assert_geq(first.rows, ROWS);
    for (int i = 1; i < NODES; i++) {
        struct store_digest here = digest_of(&cluster.nodes[i]);
        cr_assert_eq(first.halves[0], here.halves[0], "server %d differs", i + 1);
        cr_assert_eq(first.halves[1], here.halves[1], "server %d differs", i + 1);
    }
}

/* --- tests -------------------------------------------------------------------------------------- */

Test(host_damage, a_secondary_with_a_bad_chunk_is_removed_and_taught_anew)
{
    begin();
    struct node *bad = a_secondary();
    damage_chunk(bad->fixture.store);
    cr_assert_eq(read_all(bad), STATUS_CORRUPT);
    PUMP_UNTIL(&cluster, !is_member(bad));
    write_rows(ROWS);
    PUMP_UNTIL(&cluster, is_member(bad));
    expect_healed(bad);
}

/* As its primary would send it; but no store can take it. */
static void send_garbage(const struct node *primary, struct node *to)
{
    struct replica_view view = host_look(to->tablet);
    struct replica_item item = {.tablet = TABLET,
                                .message = {.type = REPLICA_PREPARE,
                                            .version = view.configuration.version,
                                            .incarnation = primary->incarnation,
                                            .opener = to->incarnation,
                                            .committed = view.committed,
                                            .entry = {.sequence = view.appended + 1,
                                                      .version = view.configuration.version,
                                                      .stamp = {.clock = UINT64_MAX / 2},
                                                      .type = RECORD_WRITE,
                                                      .payload = bytes_of_text("garbage")}}};
    const struct replica_batch batch = {.head = {.from = primary->self,
                                                 .incarnation = primary->incarnation,
                                                 .to_store = to->self.store},
                                        .items = &item,
                                        .item_count = 1};
    host_receive(to->host, &batch);
    cr_assert_eq(host_look(to->tablet).trouble, REPLICA_IS_DAMAGED);
}

/* Its host did nothing any more for it, so it was removed, and never answered when it was to be taught anew. */
Test(host_damage, a_copy_whose_store_refuses_an_entry_is_removed_and_taught_anew)
{
    begin();
    const struct node *primary = NULL;
    PUMP_UNTIL(&cluster, (primary = cluster_primary(&cluster)) != NULL && all_are_level());
    struct node *bad = &cluster.nodes[primary == &cluster.nodes[0] ? 1 : 0];
    send_garbage(primary, bad);
    PUMP_UNTIL(&cluster, !is_member(bad));
    write_rows(5);
    PUMP_UNTIL(&cluster, is_member(bad));
    expect_healed(bad);
}

Test(host_damage, the_scrub_finds_it_where_nobody_reads)
{
    cluster_open(&cluster, NODES);
    cluster.goal.count = NODES;
    for (int i = 0; i < NODES; i++) {
        cluster.nodes[i].fixture.settings.scrub_bytes_per_second = UINT64_C(1) << 30;
        node_start(&cluster.nodes[i]);
        cluster.goal.members[i] = cluster.nodes[i].self;
    }
    write_rows(ROWS);
    settle();
    struct node *bad = a_secondary();
    damage_chunk(bad->fixture.store);
    PUMP_UNTIL(&cluster, !is_member(bad));
    expect_healed(bad);
}

Test(host_damage, a_flush_that_cannot_go_on_there_heals_too)
{
    begin();
    struct node *bad = a_secondary();
    damage_chunk(bad->fixture.store);
    add_to("r000000"); /* to be merged into the bad chunk */
    PUMP_UNTIL(&cluster, all_are_level());
    store_flush_all(bad->fixture.store);
    PUMP_UNTIL(&cluster, !is_member(bad));
    expect_healed(bad);
    flush_all();
    expect_healed(bad);
}

Test(host_damage, a_primary_hands_over_and_is_taught_anew)
{
    begin();
    struct node *bad = NULL;
    PUMP_UNTIL(&cluster, (bad = cluster_primary(&cluster)) != NULL);
    damage_chunk(bad->fixture.store);
    cr_assert_eq(read_all(bad), STATUS_CORRUPT);
    PUMP_UNTIL(&cluster, cluster_primary(&cluster) != NULL && cluster_primary(&cluster) != bad);
    PUMP_UNTIL(&cluster, !is_member(bad));
    write_rows(ROWS);
    expect_healed(bad);
}

Test(host_damage, a_copy_that_was_found_damaged_is_no_better_after_a_restart)
{
    begin();
    struct node *bad = a_secondary();
    plant_cell(bad->tablet, "r000000x", "nobody wrote this"); /* no checksum tells: only the note */
    host_damaged(bad->host, bad->tablet);
    PUMP_UNTIL(&cluster, !is_member(bad));
    node_kill(bad);
    write_rows(1);
    node_start(bad);
    expect_healed(bad);
    cr_assert_gt(cluster.nodes[0].slices_read + cluster.nodes[1].slices_read +
                     cluster.nodes[2].slices_read,
                 0);
}

Test(host_damage, a_primary_that_was_found_damaged_and_restarts_does_not_lead)
{
    begin();
    struct node *bad = NULL;
    PUMP_UNTIL(&cluster, (bad = cluster_primary(&cluster)) != NULL);
    host_damaged(bad->host, bad->tablet);
    PUMP_UNTIL(&cluster, store_tablet_configuration(bad->tablet)->flags.damaged);
    store_commit(bad->fixture.store);
    node_kill(bad);
    node_start(bad);
    PUMP_UNTIL(&cluster, cluster_primary(&cluster) != NULL);
    cr_assert_neq(cluster_primary(&cluster), bad);
    expect_healed(bad);
}

/* --- copies that differ, though every checksum is right ----------------------------------------- */

static uint64_t passes(void)
{
    const struct node *primary = cluster_primary(&cluster);
    return primary == NULL ? 0 : host_scrub(primary->tablet)->passes;
}

static uint64_t differences(void)
{
    uint64_t sum = 0;
    for (int i = 0; i < NODES; i++) {
        sum += cluster.nodes[i].differences;
    }
    return sum;
}

Test(host_damage, copies_that_are_the_same_are_found_so_while_they_are_written_to)
{
    begin_with(COMPARING);
    PUMP_UNTIL(&cluster, passes() >= 2);
    while (passes() < 6) {
        write_rows(1);
    }
    cr_assert_eq(differences(), 0);
    PUMP_UNTIL(&cluster, all_are_level());
}

/* (Where it was removed before that was found, as the machine gave it no processor, it is planted once more.) */
Test(host_damage, the_one_copy_that_differs_is_found_and_taught_anew)
{
    struct node *bad = NULL;
    begin_with(COMPARING);
    for (int turn = 0; turn < TURNS_MAX && differences() == 0; turn++) {
        PUMP_UNTIL(&cluster, all_are_level());
        bad = a_secondary();
        plant_cell(bad->tablet, "r000010x", "nobody wrote this");
        PUMP_UNTIL(&cluster, !is_member(bad));
    }
    cr_assert_eq(differences(), 1);
    expect_healed(bad);
    write_rows(1);
    expect_healed(bad);
}

Test(host_damage, a_primary_that_differs_from_the_rest_is_the_damaged_one)
{
    begin_with(COMPARING);
    struct node *bad = NULL;
    PUMP_UNTIL(&cluster, (bad = cluster_primary(&cluster)) != NULL);
    plant_cell(bad->tablet, "r000010x", "nobody wrote this");
    PUMP_UNTIL(&cluster, bad->differences == 1);
    cr_assert_eq(bad->differed.store, bad->self.store);
    cr_assert(bad->differed.outvoted);
    PUMP_UNTIL(&cluster, !is_member(bad));
    expect_healed(bad);
}

Test(host_damage, of_two_that_differ_the_primarys_is_kept)
{
    cluster_open(&cluster, 2);
    cluster.scrub = COMPARING;
    cluster.goal = (struct replica_union){.count = 2};
    for (int i = 0; i < 2; i++) {
        node_start(&cluster.nodes[i]);
        cluster.goal.members[i] = cluster.nodes[i].self;
    }
    write_rows(ROWS);
    flush_all();
    struct node *bad = a_secondary();
    struct node *primary = cluster_primary(&cluster);
    plant_cell(primary->tablet, "r000010x", "who knows");
    PUMP_UNTIL(&cluster, primary->differences == 1);
    cr_assert_not(primary->differed.outvoted);
    cr_assert_eq(primary->differed.store, bad->self.store);
    PUMP_UNTIL(&cluster, !is_member(bad));
    PUMP_UNTIL(&cluster, is_level(bad));
    struct store_digest kept = digest_of(primary);
    struct store_digest here = digest_of(bad);
    cr_assert_eq(kept.halves[0], here.halves[0]);
    cr_assert_eq(kept.rows, ROWS + 1);
}

/* --- a log that is refused ------------------------------------------------------------------------ */

Test(host_damage, a_store_whose_log_is_damaged_opens_and_is_taught_anew)
{
    begin();
    struct node *bad = a_secondary();
    add_to("rx1");
    write_rows(ROWS);
    PUMP_UNTIL(&cluster, all_are_level());
    node_kill(bad);
    damage_log(bad->fixture.folder, "rx1");
    node_start(bad);
    cr_assert(store_tablet_configuration(bad->tablet)->flags.damaged);
    PUMP_UNTIL(&cluster, !is_member(bad));
    write_rows(ROWS);
    expect_healed(bad);
    node_kill(bad); /* and it is a good one again */
    node_start(bad);
    cr_assert_not(store_tablet_configuration(bad->tablet)->flags.damaged);
    expect_healed(bad);
}

Test(host_damage, it_is_not_cut_where_it_may_be_the_only_copy)
{
    struct error error = {.status = STATUS_OK};
    cluster_open(&cluster, 1);
    node_start(&cluster.nodes[0]);
    add_to("rx1");
    write_rows(ROWS);
    store_flush_all(cluster.nodes[0].fixture.store);
    add_to("rx2");
    write_rows(ROWS);
    node_kill(&cluster.nodes[0]);
    damage_log(cluster.nodes[0].fixture.folder, "rx2");
    for (int i = 0; i < 2; i++) { /* nothing has changed the first time */
        cr_assert_eq(fixture_try_open(&cluster.nodes[0].fixture, 0, &error), STATUS_CORRUPT);
        cr_assert_not_null(strstr(error.text, "may have no other copy"), "%s", error.text);
        cr_assert_not_null(strstr(error.text, "edubba-repair-log"), "%s", error.text);
    }
}
