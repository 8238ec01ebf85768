/*
 * A store's replicas performed, on real stores, beacons and lanes: what is acknowledged is everywhere and
 * stays, whoever dies; who may not answer does not.
 */
#include "tests/support/host_fixture.h"

#include "common/io/metrics.h"
#include "tabletserver/host/host_internal.h"
#include "tabletserver/storage/store_slice.h"

#define ROWS_MAX 400

static struct cluster cluster;
static bool acknowledged[ROWS_MAX];
static uint32_t rows_written;

static void begin_with(uint32_t members)
{
    cluster_open(&cluster, members);
    memset(acknowledged, 0, sizeof acknowledged);
    rows_written = 0;
}

static void start_all(uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        node_start(&cluster.nodes[i]);
    }
}

static void finish(void)
{
    cluster_close(&cluster);
}

TestSuite(host_cluster, .fini = finish);

/* Appends one to a row's counter.  False: refused. */
static bool append_row(struct node *node, uint32_t row, uint64_t *ret_sequence)
{
    char name[16];
    uint8_t operand[8];
    struct change change = fixture_add(3, "n", 1, operand);
    (void)snprintf(name, sizeof name, "r%04u", row);
    return fixture_append(node->tablet, name, &change, 1, NULL, ret_sequence) == STATUS_OK;
}

static bool is_settled(const struct node *node, uint64_t sequence)
{
    return node->committed >= sequence || host_look(node->tablet).role != REPLICA_PRIMARY;
}

/* A new row each time it is tried, so that one of which it is not known what became may be there. */
static void write_row(void)
{
    bool answered = false;
    while (!answered) {
        struct node *node = NULL;
        uint64_t sequence = 0;
        cr_assert_lt(rows_written, ROWS_MAX);
        PUMP_UNTIL(&cluster, (node = cluster_primary(&cluster)) != NULL &&
                                 append_row(node, rows_written, &sequence));
        PUMP_UNTIL(&cluster, is_settled(node, sequence));
        answered = node->answered >= sequence;
        acknowledged[rows_written++] = answered;
    }
}

static void write_rows(uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        write_row();
    }
}

/* Each acknowledged row once; of the others each once at most. */
static void expect_rows(const struct node *node)
{
    char *text = fixture_dump(node->tablet);
    for (uint32_t row = 0; row < rows_written; row++) {
        char name[16];
        (void)snprintf(name, sizeof name, "r%04u/", row);
        const char *found = strstr(text, name);
        cr_assert(found != NULL || !acknowledged[row], "row %u is lost", row);
        cr_assert(found == NULL || strncmp(strchr(found, '='), "=1\n", 3) == 0, "row %u: %.20s",
                  row, found);
    }
    free(text);
}

static bool is_member(const struct node *node)
{
    return replica_configuration_has(&cluster.catalog, node->self);
}

static bool all_are_level(void)
{
    const struct node *first = NULL;
    for (int i = 0; i < NODES; i++) {
        struct node *node = &cluster.nodes[i];
        if (!node->up || !is_member(node)) {
            continue;
        }
        first = first == NULL ? node : first;
        if (host_look(node->tablet).appended != store_tablet_committed(node->tablet) ||
            store_tablet_committed(node->tablet) != store_tablet_committed(first->tablet)) {
            return false;
        }
    }
    return true;
}

/* When they are level, they have the same. */
static void expect_level(void)
{
    PUMP_UNTIL(&cluster, all_are_level());
    char *text = NULL;
    for (int i = 0; i < NODES; i++) {
        struct node *node = &cluster.nodes[i];
        if (!node->up || !is_member(node)) {
            continue;
        }
        expect_rows(node);
        char *here = fixture_dump(node->tablet);
        cr_assert(text == NULL || strcmp(text, here) == 0, "server %d differs", i + 1);
        free(text);
        text = here;
    }
    free(text);
}

static void wish_for_all(void)
{
    cluster.goal.count = NODES;
    for (int i = 0; i < NODES; i++) {
        cluster.goal.members[i] = cluster.nodes[i].self;
    }
}

Test(host_cluster, three_copies_have_what_was_acknowledged)
{
    begin_with(3);
    start_all(3);
    write_rows(40);
    expect_level();
    cr_assert_eq(cluster.catalog.member_count, 3);
}

Test(host_cluster, a_dead_primary_is_followed_by_another_and_comes_back)
{
    begin_with(3);
    wish_for_all();
    start_all(3);
    write_rows(20);
    struct node *dead = NULL;
    PUMP_UNTIL(&cluster, (dead = cluster_primary(&cluster)) != NULL);
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
    struct node *primary = NULL;
    PUMP_UNTIL(&cluster, (primary = cluster_primary(&cluster)) != NULL);
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

static struct node *primary_of_three(void)
{
    struct node *primary = NULL;
    begin_with(3);
    start_all(3);
    write_rows(3);
    PUMP_UNTIL(&cluster, (primary = cluster_primary(&cluster)) != NULL);
    return primary;
}

static const struct node *peer_of(const struct node *node)
{
    return node == &cluster.nodes[2] ? &cluster.nodes[1] : &cluster.nodes[2];
}

static bool has_text(const struct node *node, const char *text)
{
    char *there = fixture_dump(node->tablet);
    bool found = strstr(there, text) != NULL;
    free(there);
    return found;
}

/* Who was removed meanwhile, on a busy machine, is told of nothing any more.  The stores' clocks stand
 * still but for this: a pass that came before the flush is followed by another. */
static bool all_collected(void)
{
    for (int i = 0; i < NODES; i++) {
        struct node *node = &cluster.nodes[i];
        if (!is_member(node)) {
            continue;
        }
        atomic_fetch_add(&node->fixture.now_us, node->fixture.settings.gc_interval_us);
        store_flush_all(node->fixture.store);
        if (has_text(node, "@1=") || has_text(node, "@2=")) {
            return false;
        }
    }
    return true;
}

/* By age each erases what the log's horizon says; by versions the primary's deletes do.  (The tests' own
 * reads know of no rules.) */
Test(host_cluster, what_has_expired_goes_everywhere)
{
    struct family families[4];
    memcpy(families, fixture_families, sizeof families);
    families[0].gc = (struct gc_rule){.kind = GC_AGE, .age_us = 1000000};
    families[1].gc = (struct gc_rule){.kind = GC_VERSIONS, .versions = 1};
    struct table ruled = fixture_table;
    ruled.version = 2;
    ruled.families = families;
    begin_with(3);
    for (int i = 0; i < NODES; i++) {
        cluster.nodes[i].fixture.settings.gc_interval_us = 1000;
    }
    start_all(3);
    write_row();
    struct node *primary = NULL;
    PUMP_UNTIL(&cluster, (primary = cluster_primary(&cluster)) != NULL);
    const struct change changes[] = {fixture_put(1, "c", 1, "v"), fixture_put(2, "c", 2, "v"),
                                     fixture_put(2, "c", 3, "v")};
    uint64_t sequence = 0;
    cr_assert_eq(fixture_append(primary->tablet, "gc", changes, 3, NULL, &sequence), STATUS_OK);
    PUMP_UNTIL(&cluster, is_settled(primary, sequence));
    for (int i = 0; i < NODES; i++) {
        store_flush_all(cluster.nodes[i].fixture.store);
        cr_assert_eq(store_set_table(cluster.nodes[i].fixture.store, &ruled), STATUS_OK);
    }
    PUMP_UNTIL(&cluster, all_collected());
    cr_assert(has_text(primary, "gc/2:c@3=v"));
    PUMP_UNTIL(&cluster, all_are_level());
    expect_level();
}

/* Without a lease that has to run out. */
Test(host_cluster, a_server_that_leaves_is_followed_at_once)
{
    struct node *leaving = primary_of_three();
    int64_t begun_ns = clock_monotonic_ns();
    struct node *next = NULL;
    host_leave(leaving->host);
    PUMP_UNTIL(&cluster, (next = cluster_primary(&cluster)) != NULL && next != leaving);
    cr_assert_lt(clock_monotonic_ns() - begun_ns, LEASES.lease_ns / 2);
    cr_assert_eq(host_leads_count(leaving->host), 0);
    node_kill(leaving);
    write_rows(5);
    expect_level();
}

/* Nobody runs the primary's loop: the word alone must say it. */
Test(host_cluster, nothing_may_be_told_when_a_lease_is_over)
{
    struct node *primary = primary_of_three();
    struct serving *serving = host_serving(primary->tablet);
    serving_ref(serving);
    node_kill(&cluster.nodes[peer_of(primary)->self.server - 1]);
    int64_t over_ns = clock_monotonic_ns() + LEASES.lease_ns;
    cr_assert_not(serving_holds(serving, over_ns));
    cr_assert(host_look(primary->tablet).serving, "its replica has not heard");
    cluster_close(&cluster);
    cr_assert_not(serving_holds(serving, 0));
    serving_unref(serving);
    begin_with(1);
}

/* All members have it; whoever says so may have been followed by another. */
Test(host_cluster, what_is_committed_without_a_lease_is_not_answered)
{
    struct node *primary = primary_of_three();
    cluster.refuses = true;
    for (int i = 0; i < NODES; i++) {
        if (&cluster.nodes[i] != primary) {
            beacons_stop(cluster.nodes[i].beacons);
        }
    }
    clock_sleep_us(LEASES.lease_ns / 1000);
    uint64_t sequence = 0;
    cr_assert(append_row(primary, rows_written++, &sequence), "the replica has not heard");
    PUMP_UNTIL(&cluster, primary->committed >= sequence);
    cr_assert_lt(primary->answered, sequence);
    cr_assert_eq(primary->unknown, primary->committed);
}

/* The beacon thread raises the lease's end right after it has said so. */
Test(host_cluster, an_exception_closes_the_word_before_the_loop_hears)
{
    int64_t begun_ns = clock_monotonic_ns(); /* a lease that runs out later is not asked for */
    struct node *primary = primary_of_three();
    const struct serving *serving = host_serving(primary->tablet);
    struct lease_effect effect = {.type = LEASE_EFFECT_EXCEPTED_BY_PEER,
                                  .peer = peer_of(primary)->self.server,
                                  .tablet = TABLET,
                                  .version = cluster.catalog.version - 1};
    host_hear(primary->host, &effect);
    cr_assert(serving_holds(serving, begun_ns), "that version is over");
    effect.tablet++;
    effect.version++;
    host_hear(primary->host, &effect);
    cr_assert(serving_holds(serving, begun_ns), "that is another tablet");
    effect.tablet--;
    host_hear(primary->host, &effect);
    cr_assert_not(serving_holds(serving, begun_ns));
    cr_assert(host_look(primary->tablet).serving, "its replica has not heard");
    write_row(); /* it, or another, under a version that is not excepted */
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

Test(host_cluster, another_process_of_a_peer_has_promised_nothing)
{
    struct node *primary = primary_of_three();
    host_hear(primary->host, &(struct lease_effect){.type = LEASE_EFFECT_PEER_RESTARTED,
                                                    .peer = peer_of(primary)->self.server,
                                                    .incarnation = 1000});
    cr_assert_not(node_serves(primary));
    write_row();
    expect_level();
}

/* Who comes to reign then counts on the new process, which grants anew: so must the word.  It stayed closed
 * for as long as the version (edubba-sim, seed 1001428). */
Test(host_cluster, what_a_process_excepted_is_over_with_it)
{
    struct node *primary = primary_of_three();
    struct node *peer = &cluster.nodes[peer_of(primary)->self.server - 1];
    uint64_t version = cluster.catalog.version;
    host_hear(primary->host, &(struct lease_effect){.type = LEASE_EFFECT_EXCEPTED_BY_PEER,
                                                    .peer = peer->self.server,
                                                    .tablet = TABLET,
                                                    .version = version});
    cr_assert_not(node_serves(primary));
    node_kill(peer);
    node_start(peer);
    clock_sleep_us(3 * LEASES.beacon_ns /
                   1000); /* the new process is heard before the loop looks */
    PUMP_UNTIL(&cluster, node_serves(primary));
    cr_assert_eq(cluster.catalog.version, version);
}

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

/* A window for three entries or so: the rest is taken when those are committed. */
Test(host_cluster, what_a_store_has_no_room_for_is_taken_later)
{
    begin_with(3);
    cluster.nodes[1].fixture.settings.window_bytes_max = 128;
    cluster.nodes[2].fixture.settings.window_bytes_max = 128;
    start_all(3);
    write_row();
    struct node *primary = NULL;
    uint64_t sequence = 0;
    PUMP_UNTIL(&cluster, (primary = cluster_primary(&cluster)) != NULL);
    for (int i = 0; i < 50; i++) {
        (void)append_row(primary, rows_written++, &sequence);
    }
    PUMP_UNTIL(&cluster, is_settled(primary, sequence));
    expect_level();
}

/* --- hand-over (rule 14) -------------------------------------------------------------------------- */

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
    for (int turn = 0; turn < 3; turn++) {
        struct node *from = NULL;
        int64_t until_ns = clock_monotonic_ns() + LEASES.grace_ns;
        write_rows(5);
        PUMP_UNTIL(&cluster, clock_monotonic_ns() > until_ns);
        PUMP_UNTIL(&cluster, (from = cluster_primary(&cluster)) != NULL);
        const struct node *to = &cluster.nodes[from->self.server % NODES];
        int64_t gap_ns = hand_over_ns(from, to);
        shortest_ns = gap_ns < shortest_ns ? gap_ns : shortest_ns;
        PUMP_UNTIL(&cluster, node_serves(to));
    }
    write_rows(5);
    expect_level();
    cr_assert_eq(cluster.catalog.member_count, NODES);
    cr_assert_lt(shortest_ns, 50 * MS, "%lld us", (long long)(shortest_ns / 1000));
}

/* --- slices --------------------------------------------------------------------------------------- */

static void be_small(void)
{
    for (int i = 0; i < NODES; i++) {
        cluster.nodes[i].fixture.settings.slice_bytes = 200;
        cluster.nodes[i].fixture.settings.memtable_limit_bytes = 4000;
        cluster.nodes[i].fixture.settings.flush_pace_percent = 50; /* and rest after each slice */
    }
}

static uint64_t slices_read(void)
{
    uint64_t count = 0;
    for (int i = 0; i < NODES; i++) {
        count += cluster.nodes[i].slices_read;
    }
    return count;
}

/* Adds to counters all over, answered or not: what each comes to is compared. */
static void load(void)
{
    static uint32_t turn;
    uint64_t sequence = 0;
    struct node *node = cluster_primary(&cluster);
    if (node != NULL && rows_written < ROWS_MAX - 1 && turn++ % 4 == 0) {
        uint8_t operand[8];
        char name[16];
        struct change change = fixture_add(3, "load", (int64_t)(turn % 7), operand);
        (void)snprintf(name, sizeof name, "s%04u", turn % 97);
        (void)fixture_append(node->tablet, name, &change, 1, NULL, &sequence);
    }
}

#define PUMP_UNDER_LOAD_UNTIL(cluster, condition) PUMP_UNTIL(cluster, (load(), (condition)))

Test(host_cluster, a_lone_member_with_data_gets_others_by_slices)
{
    begin_with(1);
    be_small();
    start_all(1);
    write_rows(60);
    for (int i = 1; i < NODES; i++) {
        node_start(&cluster.nodes[i]);
    }
    wish_for_all();
    PUMP_UNDER_LOAD_UNTIL(&cluster, cluster.catalog.member_count == NODES);
    cr_assert_gt(slices_read(), 10);
    write_rows(20);
    expect_level();
}

/* What its store had is gone, and with it its data: another store number would be another member. */
static void wipe(struct node *node)
{
    struct store_settings settings = node->fixture.settings;
    fixture_deinit(&node->fixture);
    fixture_init(&node->fixture);
    node->fixture.settings = settings;
}

static struct node *dead_secondary_of_three(void)
{
    struct node *primary = NULL;
    begin_with(3);
    be_small();
    start_all(3);
    wish_for_all();
    write_rows(60);
    PUMP_UNTIL(&cluster, (primary = cluster_primary(&cluster)) != NULL);
    struct node *dead = &cluster.nodes[peer_of(primary)->self.server - 1];
    node_kill(dead);
    PUMP_UNTIL(&cluster, !is_member(dead));
    write_rows(10);
    return dead;
}

/* As operators are told. */
static int64_t slices_sent(void)
{
    struct buffer text = BUFFER_INIT;
    const char name[] = "\nedubba_slices_sent_total ";
    metrics_render(&text);
    buffer_append_u8(&text, '\0');
    const char *at = strstr((const char *)text.data, name);
    cr_assert(!text.failed && at != NULL);
    long long count = strtoll(at + sizeof name - 1, NULL, 10);
    buffer_deinit(&text);
    return count;
}

Test(host_cluster, a_learner_that_the_log_follows_on_is_sent_no_slice)
{
    struct node *dead = dead_secondary_of_three();
    node_start(dead);
    PUMP_UNDER_LOAD_UNTIL(&cluster, is_member(dead));
    cr_assert_eq(slices_sent(), 0);
    write_rows(5);
    expect_level();
}

/* The log that the others have begins behind what they have. */
static void lose_logs(void)
{
    for (int i = 0; i < NODES; i++) {
        struct node *node = &cluster.nodes[i];
        if (node->up) {
            fixture_flush(&node->fixture);
            store_tablet_forget_log(node->tablet);
        }
    }
}

Test(host_cluster, a_wiped_learner_is_taught_by_slices_under_load)
{
    struct node *dead = dead_secondary_of_three();
    wipe(dead);
    lose_logs();
    node_start(dead);
    PUMP_UNDER_LOAD_UNTIL(&cluster, is_member(dead));
    cr_assert_gt(slices_read(), 10);
    cr_assert_gt(slices_sent(), 10);
    write_rows(5);
    expect_level();
}

Test(host_cluster, a_learner_whose_log_is_gone_drops_what_it_has)
{
    struct node *dead = dead_secondary_of_three();
    lose_logs();
    node_start(dead);
    PUMP_UNDER_LOAD_UNTIL(&cluster, is_member(dead));
    cr_assert_gt(slices_read(), 10);
    write_rows(5);
    expect_level();
}

/* Nor does it hear what has come, and was not looked at yet. */
static void turn_deaf(struct node *node)
{
    (void)pthread_mutex_lock(&node->mutex);
    atomic_store(&node->deaf, true);
    for (unsigned i = 0; i < node->batch_count; i++) {
        lanes_batch_done(node->batches[i]);
    }
    node->batch_count = 0;
    (void)pthread_mutex_unlock(&node->mutex);
}

/* The learner's log follows on the walk: what it passed over would be the barrier.  (Simulator, seed 411637.) */
Test(host_cluster, a_walk_begins_behind_a_barrier_that_came_after_its_offer)
{
    struct node *dead = dead_secondary_of_three();
    struct node *primary = cluster_primary(&cluster);
    struct node *other = NULL;
    for (int i = 0; i < NODES; i++) {
        struct node *node = &cluster.nodes[i];
        other = node != primary && node != dead ? node : other;
    }
    const struct record_drop_range drop = {.range = {bytes_of_text("row"), bytes_of_text("row1")}};
    const struct hosted *hosted = store_tablet_replica(primary->tablet);
    uint64_t barrier = 0;
    lose_logs();
    node_start(dead);
    PUMP_UNTIL(&cluster, hosted->teachings != NULL);
    turn_deaf(dead); /* it has not heard of the offer yet */
    turn_deaf(other);
    uint64_t before = slices_read();
    cr_assert_eq(store_append_drop_range(primary->tablet, &drop,
                                         store_next_clock(primary->fixture.store), &barrier),
                 STATUS_OK);
    atomic_store(&dead->deaf, false);
    int64_t until_ns = clock_monotonic_ns() + 1000 * MS;
    PUMP_UNTIL(&cluster, slices_read() > before || clock_monotonic_ns() > until_ns);
    cr_assert(slices_read() == before || store_tablet_committed(primary->tablet) >= barrier);
    atomic_store(&other->deaf, false);
    PUMP_UNTIL(&cluster, is_member(dead));
    cr_assert_gt(slices_read(), before);
}

/* Incarnation and number may be alike when servers count alike: the version tells whose it is.  (Simulator, seed 4911669.) */
Test(host_cluster, a_lesson_is_not_asked_for_under_another_version)
{
    struct node *dead = dead_secondary_of_three();
    struct hosted *hosted = store_tablet_replica(cluster_primary(&cluster)->tablet);
    lose_logs();
    node_start(dead);
    PUMP_UNTIL(&cluster, hosted->teachings != NULL);
    turn_deaf(dead);
    const struct host_teaching *teaching = hosted->teachings;
    struct replica_message message = {.type = REPLICA_TEACH,
                                      .version = teaching->pupil.version - 1,
                                      .incarnation = teaching->pupil.incarnation,
                                      .opener = hosted->host->options.incarnation,
                                      .lesson = teaching->lesson,
                                      .number = teach_number(1, 1)};
    cr_assert_eq(teaching->teach.state, TEACH_OFFERED);
    cr_assert(hosted_hear_lesson(hosted, teaching->pupil.member, &message));
    cr_assert_eq(teaching->teach.state, TEACH_OFFERED);
    message.version++;
    cr_assert(hosted_hear_lesson(hosted, teaching->pupil.member, &message));
    cr_assert_eq(teaching->teach.state, TEACH_READING);
}

Test(host_cluster, a_learner_that_restarts_on_its_walk_begins_again)
{
    struct node *dead = dead_secondary_of_three();
    lose_logs();
    node_start(dead);
    for (uint64_t i = 1; i <= 3; i++) {
        uint64_t before = slices_read();
        PUMP_UNDER_LOAD_UNTIL(&cluster, slices_read() >= before + 3 * i || is_member(dead));
        node_kill(dead);
        node_start(dead);
    }
    PUMP_UNDER_LOAD_UNTIL(&cluster, is_member(dead));
    write_rows(5);
    expect_level();
}

Test(host_cluster, a_primary_that_restarts_on_the_walk_is_followed_by_another_lesson)
{
    struct node *dead = dead_secondary_of_three();
    struct node *primary = NULL;
    lose_logs();
    node_start(dead);
    uint64_t before = slices_read();
    PUMP_UNDER_LOAD_UNTIL(&cluster, slices_read() >= before + 4 || is_member(dead));
    PUMP_UNTIL(&cluster, (primary = cluster_primary(&cluster)) != NULL);
    node_kill(primary);
    node_start(primary);
    PUMP_UNDER_LOAD_UNTIL(&cluster, is_member(dead) && is_member(primary));
    write_rows(5);
    expect_level();
}
