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

static void write_somewhere(void)
{
    unsigned row = (unsigned)prng_below(&prng, ROW_COUNT);
    struct store_tablet *tablet = tablet_of_row(row);
    if (barrier_of(tablet) == NULL) {
        write_row(tablet, row);
    }
}

static void drop_somewhere(void)
{
    unsigned row = (unsigned)prng_below(&prng, ROW_COUNT);
    struct store_tablet *tablet = tablet_of_row(row);
    unsigned end = random_end(tablet, row);
    if (barrier_of(tablet) == NULL) {
        drop_rows(tablet, row, end);
    }
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

/* --- commits -------------------------------------------------------------------------------------- */

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
        write_somewhere();
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
        drop_somewhere();
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
    const struct store_worlds worlds = {1, 12, .lives = 6, .steps = 400};
    const struct store_worlds alone = {.lives = 8, .steps = 600};
    store_worlds_run(run_seed, worlds, alone);
}

Test(store_convert_model, long_lives)
{
    const struct store_worlds worlds = {100, 102, .lives = 1, .steps = 2500};
    store_worlds_run(run_seed, worlds, worlds);
}
