/*
 * Tablets with copies that are split and merged by the catalog's word, against a list of what was asked of a
 * store.
 *
 * As test_store_model.c, but each tablet has a configuration: some are lone members, the others commit by
 * word.  A split is a barrier in the log, perhaps lifted again, and, at some time after it is durable,
 * store_tablet_convert(): what had been given out behind the barrier was never committed, and goes.  A
 * merge is barriers in both, and store_tablet_merge() until it is done.  A
 * child process does it at random, the parent kills it; the next one finds the tablet or its children,
 * and all that was committed.
 */
#include "tests/model/store_convert_lives.h"

/* --- operations ----------------------------------------------------------------------------------- */

static struct store_tablet *tablet_of_row(unsigned row)
{
    for (uint32_t i = 0; i < store_tablet_count(fixture.store); i++) {
        struct store_tablet *tablet = store_tablet_at(fixture.store, i);
        if (row_range_contains(&store_tablet_describe(tablet)->range, row_key(row))) {
            return tablet;
        }
    }
    cr_assert_fail("no tablet for row %u", row);
    return NULL;
}

static void mark_committed(void)
{
    for (uint32_t i = shared->count; i > 0; i--) {
        struct operation *operation = &shared->operations[i - 1];
        if (operation->committed) {
            continue;
        }
        struct store_tablet *tablet = store_tablet_find(fixture.store, operation->tablet);
        operation->committed = tablet == NULL ||
                               operation->sequence <= store_tablet_committed(tablet);
    }
}

static struct operation *note(enum kind kind, struct store_tablet *tablet)
{
    cr_assert_lt(shared->count, OPERATIONS_MAX);
    struct operation *operation = &shared->operations[shared->count];
    memset(operation, 0, sizeof *operation);
    operation->kind = kind;
    operation->tablet = store_tablet_describe(tablet)->tablet;
    operation->sequence = store_tablet_prepared(tablet) + 1;
    return operation;
}

/* Pushed back is fine, refused for good is not. */
static void take_back_if_refused(enum status status, const uint64_t *sequence)
{
    if (status != STATUS_OK) {
        cr_assert(status == STATUS_RESOURCE_EXHAUSTED || status == STATUS_UNAVAILABLE, "%s",
                  status_text(status));
        shared->count--;
        return;
    }
    cr_assert_eq(*sequence, shared->operations[shared->count - 1].sequence);
}

static void write_row(void)
{
    unsigned row = (unsigned)prng_below(&prng, ROW_COUNT);
    struct store_tablet *tablet = tablet_of_row(row);
    if (barrier_of(tablet) != NULL) {
        return;
    }
    struct operation *operation = note(WRITE, tablet);
    struct change changes[CHANGES_MAX];
    uint8_t operands[CHANGES_MAX][8];
    operation->row = (uint8_t)row;
    operation->change_count = (uint8_t)prng_below(&prng, CHANGES_MAX + 1);
    for (unsigned i = 0; i < operation->change_count; i++) {
        operation->changes[i] = random_change();
        changes[i] = to_change(&operation->changes[i], operands[i]);
    }
    struct record_entry entry = {
        .row = row_key(row), .changes = changes, .change_count = operation->change_count};
    if (prng_chance(&prng, 3)) {
        operation->request = ++shared->request_next;
        entry.request = (struct request_id){77, operation->request, 1, INT64_C(1700000000000000)};
    }
    struct record_write write = {&entry, 1};
    uint64_t sequence = 0;
    shared->count++;
    take_back_if_refused(
        store_append_write(tablet, &write, store_next_clock(fixture.store), &sequence), &sequence);
}

static void drop_range(void)
{
    unsigned row = (unsigned)prng_below(&prng, ROW_COUNT);
    struct store_tablet *tablet = tablet_of_row(row);
    unsigned end = row + 1;
    while (end < ROW_COUNT && prng_chance(&prng, 2) && tablet_of_row(end) == tablet) {
        end++;
    }
    if (barrier_of(tablet) != NULL) {
        return;
    }
    struct operation *operation = note(DROP, tablet);
    operation->row = (uint8_t)row;
    operation->row_end = (uint8_t)end;
    struct buffer after = BUFFER_INIT;
    buffer_append_bytes(&after, row_key(end - 1));
    buffer_append_u8(&after, 0);
    struct record_drop_range drop = {.range = {row_key(row), buffer_bytes(&after)}};
    uint64_t sequence = 0;
    shared->count++;
    take_back_if_refused(
        store_append_drop_range(tablet, &drop, store_next_clock(fixture.store), &sequence),
        &sequence);
    buffer_deinit(&after);
}

static void give_barrier(struct store_tablet *tablet, enum record_type type, struct bytes payload)
{
    uint64_t sequence = 0;
    shared->count++;
    take_back_if_refused(
        store_append_barrier(tablet, type, payload, store_next_clock(fixture.store), &sequence),
        &sequence);
}

static void split_tablet(void)
{
    unsigned row = 1 + (unsigned)prng_below(&prng, ROW_COUNT - 1);
    struct store_tablet *tablet = tablet_of_row(row);
    if (store_tablet_count(fixture.store) >= tablets_max || barrier_of(tablet) != NULL ||
        bytes_equal(store_tablet_describe(tablet)->range.start, row_key(row)) ||
        shared->tablet_next + 3 > NUMBERS_MAX) {
        return;
    }
    struct operation *operation = note(SPLIT, tablet);
    operation->left = ++shared->tablet_next;
    operation->right = ++shared->tablet_next;
    struct buffer payload = BUFFER_INIT;
    record_encode_split(&(struct record_split){row_key(row), operation->left, operation->right},
                        &payload);
    give_barrier(tablet, RECORD_SPLIT, buffer_bytes(&payload));
    buffer_deinit(&payload);
}

static struct store_tablet *random_tablet(void)
{
    return store_tablet_at(fixture.store,
                           (uint32_t)prng_below(&prng, store_tablet_count(fixture.store)));
}

static void lift_barrier(void)
{
    struct store_tablet *tablet = random_tablet();
    if (barrier_of(tablet) != NULL) {
        (void)note(SPLIT, tablet);
        give_barrier(tablet, RECORD_SPLIT_ABORTED, BYTES_EMPTY);
    }
}

/* --- conversions ---------------------------------------------------------------------------------- */

/* The last barrier that is durable and not known to be lifted, whatever was given out behind it. */
static uint64_t convertible(struct store_tablet *tablet)
{
    uint64_t number = store_tablet_describe(tablet)->tablet;
    uint64_t durable = store_tablet_is_alone(tablet) ? store_tablet_committed(tablet)
                                                     : synced[number];
    uint64_t found = 0;
    for (uint32_t i = 0; i < shared->count; i++) {
        const struct operation *operation = &shared->operations[i];
        bool barrier = operation->kind == SPLIT && operation->tablet == number;
        if (barrier && operation->right != 0) {
            found = operation->sequence <= durable ? operation->sequence : 0;
        } else if (barrier && (operation->left != 0 ||
                               operation->sequence <= store_tablet_committed(tablet))) {
            found = 0;
        }
    }
    return found;
}

static void convert_tablet(void)
{
    struct store_tablet *tablet = random_tablet();
    struct store_tablet *children[2];
    uint64_t number = store_tablet_describe(tablet)->tablet;
    uint64_t kept = convertible(tablet);
    if (kept == 0) {
        return;
    }
    all->kept[number] = kept;
    configured[number] = 0;
    uint64_t appended = store_tablet_appended(tablet);
    store_tablet_ref(tablet);
    enum status status = store_tablet_convert(tablet, children);
    if (status == STATUS_OK) {
        wait_for_configuration(children[0]);
        forget_above(number, kept);
        cr_assert_eq(store_tablet_committed(tablet), kept);
        conversions++;
        for (int i = 0; i < 2; i++) {
            cr_assert_eq(store_tablet_committed(children[i]), kept);
            cr_assert_eq(store_tablet_appended(children[i]), kept);
            take_over(children[i]);
        }
    } else {
        cr_assert(status == STATUS_RESOURCE_EXHAUSTED || status == STATUS_UNAVAILABLE, "%s",
                  status_text(status));
        cr_assert_eq(store_tablet_find(fixture.store, number), tablet);
        if (store_tablet_appended(tablet) < appended) { /* it has dropped what lies behind */
            wait_for_configuration(tablet);
            forget_above(number, kept);
        }
        all->kept[number] = 0;
    }
    store_tablet_unref(tablet);
    expect_all(STORE_READ_COMMITTED);
}

/* --- reads held open ------------------------------------------------------------------------------ */

static void hold_read(void)
{
    struct held *slot = &held[prng_below(&prng, HELD_MAX)];
    if (slot->read == NULL) {
        slot->tablet = tablet_of_row((unsigned)prng_below(&prng, ROW_COUNT));
        slot->sequence = store_tablet_committed(slot->tablet);
        slot->operations = shared->count;
        cr_assert_eq(
            store_read_begin(slot->tablet, &fixture_table, STORE_READ_COMMITTED, 0, &slot->read),
            STATUS_OK);
        store_tablet_ref(slot->tablet);
    }
}

static void release_read(struct held *slot)
{
    if (slot->read != NULL) {
        reading = "held";
        build_model(slot->operations, store_tablet_describe(slot->tablet)->tablet, slot->sequence);
        expect_read(slot->read, &store_tablet_describe(slot->tablet)->range);
        store_read_end(slot->read);
        store_tablet_unref(slot->tablet);
        slot->read = NULL;
    }
}

static void release_reads(void)
{
    for (int i = 0; i < HELD_MAX; i++) {
        release_read(&held[i]);
    }
}

static void wait_for_commit(void)
{
    store_commit(fixture.store);
    for (uint32_t i = 0; i < store_tablet_count(fixture.store); i++) {
        struct store_tablet *tablet = store_tablet_at(fixture.store, i);
        uint64_t number = store_tablet_describe(tablet)->tablet;
        FIXTURE_PUMP_UNTIL(&fixture, store_tablet_find(fixture.store, number) != tablet ||
                                         is_all_committed(tablet));
    }
    mark_committed();
}

static void look(void)
{
    store_commit(fixture.store);
    store_poll(fixture.store);
    struct store_tablet *tablet = random_tablet();
    uint64_t number = store_tablet_describe(tablet)->tablet;
    commit_by_word(tablet, synced[number] < store_tablet_appended(tablet)
                               ? synced[number]
                               : store_tablet_appended(tablet));
    mark_committed();
}

static struct store_tablet *left_of(const struct store_tablet *right)
{
    struct bytes start = store_tablet_describe(right)->range.start;
    for (uint32_t i = 0; i < store_tablet_count(fixture.store); i++) {
        struct store_tablet *tablet = store_tablet_at(fixture.store, i);
        if (start.size_bytes > 0 && bytes_equal(store_tablet_describe(tablet)->range.end, start)) {
            return tablet;
        }
    }
    return NULL;
}

/* False: it was pushed back. */
static bool bar(struct store_tablet *tablet,
                enum record_type type,
                struct buffer *payload,
                uint64_t merged)
{
    struct operation *operation = note(SPLIT, tablet);
    operation->left = merged;
    give_barrier(tablet, type, buffer_bytes(payload));
    buffer_deinit(payload);
    if (barrier_of(tablet) == NULL) {
        return false;
    }
    wait_for_commit();
    return true;
}

static bool bar_both(struct store_tablet *left, struct store_tablet *right, uint64_t merged)
{
    struct buffer payload = BUFFER_INIT;
    const struct record_frozen frozen = {merged, store_tablet_describe(left)->tablet};
    record_encode_frozen(&frozen, &payload);
    if (!bar(right, RECORD_FROZEN, &payload, merged)) {
        return false;
    }
    const struct record_absorb absorb = {.merged_tablet = merged,
                                         .right_tablet = store_tablet_describe(right)->tablet,
                                         .right_sequence = store_tablet_committed(right),
                                         .right_version = 1};
    buffer_init(&payload);
    record_encode_absorb(&absorb, &payload);
    return bar(left, RECORD_ABSORB, &payload, merged);
}

static bool is_merged(struct store_tablet *left, struct store_tablet *right, uint64_t merged)
{
    if (store_tablet_find(fixture.store, merged) != NULL) {
        return true;
    }
    enum status status = store_tablet_merge(left, right);
    cr_assert(status == STATUS_OK || status == STATUS_UNAVAILABLE ||
                  status == STATUS_RESOURCE_EXHAUSTED,
              "%s", status_text(status));
    return false;
}

static void merge_tablets(void)
{
    struct store_tablet *right = random_tablet();
    struct store_tablet *left = left_of(right);
    if (left == NULL || barrier_of(left) != NULL || barrier_of(right) != NULL ||
        shared->tablet_next + 3 > NUMBERS_MAX) {
        return;
    }
    uint64_t number = ++shared->tablet_next;
    store_tablet_ref(left);
    store_tablet_ref(right);
    if (bar_both(left, right, number)) {
        FIXTURE_PUMP_UNTIL(&fixture, is_merged(left, right, number));
        struct store_tablet *merged = store_tablet_find(fixture.store, number);
        uint64_t a = store_tablet_committed(left);
        uint64_t b = store_tablet_committed(right);
        cr_assert_eq(store_tablet_committed(merged), (a > b ? a : b) + STORE_MERGE_ROOM);
        take_over(merged);
        merges++;
        expect_all(STORE_READ_COMMITTED);
    }
    store_tablet_unref(left);
    store_tablet_unref(right);
}

static void change_tablets(void)
{
    uint64_t dice = prng_below(&prng, 23);
    if (dice >= 20) {
        merge_tablets();
    } else if (dice < 6) {
        split_tablet();
    } else if (dice < 8) {
        lift_barrier();
    } else if (dice < 17) {
        convert_tablet();
    } else {
        (void)configure_tablet(random_tablet(), prng_chance(&prng, 2)); /* or is refused */
    }
}

static void step(void)
{
    uint64_t dice = prng_below(&prng, 100);
    if (dice < 66) {
        write_row();
    } else if (dice < 81) {
        look();
    } else if (dice < 85) {
        hold_read();
    } else if (dice < 88) {
        release_read(&held[prng_below(&prng, HELD_MAX)]);
    } else if (dice < 90) {
        expect_tablet(tablet_of_row((unsigned)prng_below(&prng, ROW_COUNT)), STORE_READ_COMMITTED);
    } else if (dice < 92) {
        expect_tablet(tablet_of_row((unsigned)prng_below(&prng, ROW_COUNT)), STORE_READ_PREPARED);
    } else if (dice < 93) {
        wait_for_commit();
        expect_all(STORE_READ_COMMITTED);
    } else if (dice < 94) {
        drop_range();
    } else if (dice < 97) {
        change_tablets();
    } else if (prng_chance(&prng, 2)) {
        store_flush_all(fixture.store);
    } else {
        wait_for_commit();
        release_reads();
        fixture_close(&fixture);
        open_store();
        check_survivors();
    }
    shared->steps++;
}

/* --- lives ---------------------------------------------------------------------------------------- */

static void set_limits(uint64_t seed)
{
    struct prng limits = prng_of_seed(seed ^ 0x51);
    fixture.settings.memtable_limit_bytes = 2000 << prng_below(&limits, 8);
    fixture.settings.memory_limit_bytes = 4 * fixture.settings.memtable_limit_bytes + (1 << 20);
    fixture.settings.log_limit_bytes = 20000 << prng_below(&limits, 8);
    fixture.settings.log_segment_bytes = 256 * 1024;
    fixture.settings.flush_transaction_bytes = 4096 << prng_below(&limits, 6);
    fixture.settings.scrub_bytes_per_second = 1 << 20;
    /* Slow flushes are met half done by reads, kills and splits. */
    fixture.settings.flush_pace_percent = prng_chance(&limits, 2) ? 100 : 5;
    tablets_max = 1 + (uint32_t)prng_below(&limits, TABLETS_MAX);
}

static void live(uint64_t seed, int life, uint32_t steps)
{
    shared = &all->lists[all->current];
    prng = prng_of_seed(seed * 1000 + (uint64_t)life);
    atomic_fetch_add(&fixture.now_us, life * 1000000);
    open_store();
    if (store_tablet_count(fixture.store) == 0) {
        cr_assert_eq(shared->count, 0);
        (void)fixture_create(&fixture, ++shared->tablet_next, "", "");
    }
    check_survivors();
    for (uint32_t i = 0; i < steps && shared->count < OPERATIONS_MAX - 8; i++) {
        step();
    }
    wait_for_commit();
    release_reads();
    expect_all(STORE_READ_COMMITTED);
    if (getenv("EDUBBA_SEED") != NULL) {
        struct store_statistics numbers;
        store_statistics(fixture.store, &numbers);
        fprintf(
            stderr,
            "seed %d life %d: %u operations, %u tablets, %d conversions, %d merges, %d flushes, "
            "%d transactions, %d recovered\n",
            (int)seed, life, shared->count, store_tablet_count(fixture.store), (int)conversions,
            (int)merges, (int)numbers.flushes, (int)numbers.flush_transactions,
            (int)numbers.recovered_records);
    }
}

static void run_seed(uint64_t seed, int lives, uint32_t steps)
{
    all = mmap(NULL, sizeof *all, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    cr_assert_neq(all, MAP_FAILED);
    shared = &all->lists[0];
    fixture_init(&fixture);
    set_limits(seed);
    const struct store_lives of_this = {
        .fixture = &fixture, .live = live, .kill_after_us = 1000, .kill_within_us = 40000};
    store_lives_run(&of_this, seed, lives, steps);
    fixture_deinit(&fixture);
    munmap(all, sizeof *all);
}

Test(store_convert_model, killed_and_reopened)
{
    const char *text = getenv("EDUBBA_SEED");
    if (text != NULL) {
        run_seed(strtoull(text, NULL, 10), 8, 600);
        return;
    }
    for (uint64_t seed = 1; seed <= 12; seed++) {
        run_seed(seed, 6, 400);
    }
}

Test(store_convert_model, long_lives)
{
    if (getenv("EDUBBA_SEED") != NULL) {
        run_seed(strtoull(getenv("EDUBBA_SEED"), NULL, 10), 1, 2500);
        return;
    }
    for (uint64_t seed = 100; seed <= 102; seed++) {
        run_seed(seed, 1, 2500);
    }
}
