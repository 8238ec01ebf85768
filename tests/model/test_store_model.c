/*
 * The store against a list of what was asked of it.
 *
 * A child process does random operations on a store with tiny limits, noting each in shared memory
 * before it is appended and marking it when it is committed; the parent kills it at a random
 * moment.  The next child opens what is left: every operation that was committed must be there, of
 * the others a prefix per tablet, and nothing else.  Then it goes on.  The truth is the list of
 * operations, applied one after the other to an array of cells.
 */
#include <sys/mman.h>

#include "tests/model/store_lives.h"
#include "tests/model/store_operations.h"

/* --- after a crash -------------------------------------------------------------------------------- */

static bool has_survived(const struct operation *operation)
{
    struct store_tablet *tablet = store_tablet_find(fixture.store, operation->tablet);
    /* A tablet that is not there was split, which committed all that it had. */
    return tablet == NULL || operation->sequence <= store_tablet_prepared(tablet);
}

static void check_survivors(void)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < shared->count; i++) {
        struct operation *operation = &shared->operations[i];
        bool survived = has_survived(operation);
        cr_assert(survived || !operation->committed,
                  "tablet %d: sequence %d was committed and is lost", (int)operation->tablet,
                  (int)operation->sequence);
        if (survived) {
            operation->committed = true;
            shared->operations[kept++] = *operation;
        }
    }
    shared->count = kept;
    /* Nothing may be there that was never asked for. */
    for (uint32_t i = 0; i < store_tablet_count(fixture.store); i++) {
        struct store_tablet *tablet = store_tablet_at(fixture.store, i);
        cr_assert_eq(store_tablet_prepared(tablet), store_tablet_committed(tablet));
    }
    expect_all(STORE_READ_COMMITTED);
    expect_duplicates_known();
}

/* --- operations ----------------------------------------------------------------------------------- */

static void write_somewhere(void)
{
    unsigned row = (unsigned)prng_below(&prng, ROW_COUNT);
    write_row(tablet_of_row(row), row);
}

static void drop_somewhere(void)
{
    unsigned row = (unsigned)prng_below(&prng, ROW_COUNT);
    struct store_tablet *tablet = tablet_of_row(row);
    drop_rows(tablet, row, random_end(tablet, row));
}

static void split_tablet(void)
{
    unsigned row = 1 + (unsigned)prng_below(&prng, ROW_COUNT - 1);
    struct store_tablet *tablet = tablet_of_row(row);
    if (store_tablet_count(fixture.store) >= tablets_max ||
        bytes_equal(store_tablet_describe(tablet)->range.start, row_key(row))) {
        return;
    }
    struct operation *operation = note(SPLIT, tablet);
    operation->left = ++shared->tablet_next;
    operation->right = ++shared->tablet_next;
    struct record_split split = {row_key(row), operation->left, operation->right};
    uint64_t sequence = 0;
    shared->count++;
    take_back_if_refused(
        store_append_split(tablet, &split, store_next_clock(fixture.store), &sequence), &sequence);
}

/* --- steps ---------------------------------------------------------------------------------------- */

static void wait_for_commit(void)
{
    store_commit(fixture.store);
    for (uint32_t i = 0; i < store_tablet_count(fixture.store); i++) {
        struct store_tablet *tablet = store_tablet_at(fixture.store, i);
        uint64_t number = store_tablet_describe(tablet)->tablet;
        FIXTURE_PUMP_UNTIL(&fixture,
                           store_tablet_find(fixture.store, number) != tablet ||
                               store_tablet_committed(tablet) == store_tablet_prepared(tablet));
    }
    mark_committed();
}

static void step(void)
{
    uint64_t dice = prng_below(&prng, 100);
    if (dice < 70) {
        write_somewhere();
    } else if (dice < 85) {
        store_commit(fixture.store);
        store_poll(fixture.store);
        mark_committed();
    } else if (dice < 89) {
        hold_read();
    } else if (dice < 92) {
        release_read(&held[prng_below(&prng, HELD_MAX)]);
    } else if (dice < 94) {
        expect_tablet(tablet_of_row((unsigned)prng_below(&prng, ROW_COUNT)), STORE_READ_COMMITTED);
    } else if (dice < 96) {
        expect_tablet(tablet_of_row((unsigned)prng_below(&prng, ROW_COUNT)), STORE_READ_PREPARED);
    } else if (dice < 97) {
        wait_for_commit();
        expect_all(STORE_READ_COMMITTED);
    } else if (dice < 98) {
        drop_somewhere();
    } else if (dice < 99) {
        split_tablet();
    } else if (prng_chance(&prng, 2)) {
        store_flush_all(fixture.store);
    } else {
        wait_for_commit();
        release_reads();
        fixture_close(&fixture);
        fixture_open(&fixture);
        check_survivors();
    }
    shared->steps++;
}

/* --- lives ---------------------------------------------------------------------------------------- */

static void live(uint64_t seed, int life, uint32_t steps)
{
    prng = prng_of_seed(seed * 1000 + (uint64_t)life);
    atomic_fetch_add(&fixture.now_us, life * 1000000);
    fixture_open(&fixture);
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
        fprintf(stderr,
                "seed %d life %d: %u operations, %u tablets, %d flushes, %d transactions, "
                "%d recovered\n",
                (int)seed, life, shared->count, store_tablet_count(fixture.store),
                (int)numbers.flushes, (int)numbers.flush_transactions,
                (int)numbers.recovered_records);
    }
}

static void run_seed(uint64_t seed, int lives, uint32_t steps)
{
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    cr_assert_neq(shared, MAP_FAILED);
    fixture_init(&fixture);
    set_limits(seed);
    const struct store_lives of_this = {
        .fixture = &fixture, .live = live, .kill_after_us = 1000, .kill_within_us = 40000};
    store_lives_run(&of_this, seed, lives, steps);
    fixture_deinit(&fixture);
    munmap(shared, sizeof *shared);
}

Test(store_model, killed_and_reopened)
{
    const struct store_worlds worlds = {1, 12, .lives = 6, .steps = 400};
    const struct store_worlds alone = {.lives = 8, .steps = 600};
    store_worlds_run(run_seed, worlds, alone);
}

Test(store_model, long_lives)
{
    const struct store_worlds worlds = {100, 102, .lives = 1, .steps = 2500};
    store_worlds_run(run_seed, worlds, worlds);
}
