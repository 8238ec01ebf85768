/*
 * Garbage collection against a list of what was asked of the store.
 *
 * A child writes, deletes, moves the clock, changes the families' rules, flushes and splits, while
 * the store collects as it likes; the parent kills it at a random moment and the next child goes on
 * with what is left.  Each operation is noted in shared memory before it is done.
 *
 * The truth is an array of cells that nothing collects.  What a rule in force has once dropped may
 * be gone for good, and is marked so; hence a read
 *   - shows nothing that was not written, and nothing that its rule drops now;
 *   - shows every cell that no rule has ever dropped and that this one keeps;
 *   - may show the others, which a laxer rule brings back to sight if they still are there.
 * The clock moves by whole seconds between which no cell expires, so that both sides judge alike.
 */
#include <sys/mman.h>

#include "tests/model/store_gc_compare.h"
#include "tests/model/store_gc_truth.h"
#include "tests/model/store_lives.h"

/* Returns how many cells are shown that the rules drop. */
static size_t expect_all(const struct table *table)
{
    size_t dropped = 0;
    mark_dropped();
    memset(seen, 0, sizeof seen);
    for (uint32_t i = 0; i < store_tablet_count(fixture.store); i++) {
        dropped += expect_tablet(store_tablet_at(fixture.store, i), table);
    }
    expect_seen(table == &bare_table ? "bare" : "by its rules");
    return dropped;
}

/* By the rules nothing expired is shown; without them what was never dropped is all there. */
static void expect_both(void)
{
    cr_assert_eq(expect_all(&fixture_table), 0, "an expired cell is shown");
    (void)expect_all(&bare_table);
    store_check(fixture.store);
}

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

static void move_clock(int64_t seconds)
{
    struct operation operation = {.kind = CLOCK, .now_us = clock_after(model_now_us, seconds)};
    note(&operation);
    atomic_store(&fixture.now_us, operation.now_us);
}

static void change_rules(void)
{
    note(&(struct operation){.kind = RULES, .rules_seed = prng_next(&prng)});
    cr_assert_eq(store_set_table(fixture.store, &fixture_table), STATUS_OK);
}

static void begin_pending(struct operation *operation, struct store_tablet *tablet)
{
    operation->tablet = store_tablet_describe(tablet)->tablet;
    operation->sequence = store_tablet_prepared(tablet) + 1;
    shared->pending = *operation;
    shared->is_pending = true;
}

/* It is committed, or was refused. */
static void end_pending(enum status status, const uint64_t *sequence)
{
    if (status == STATUS_OK) {
        uint64_t number = shared->pending.tablet;
        cr_assert_eq(*sequence, shared->pending.sequence);
        store_commit(fixture.store);
        FIXTURE_PUMP_UNTIL(&fixture, store_tablet_find(fixture.store, number) == NULL ||
                                         store_tablet_committed(store_tablet_find(
                                             fixture.store, number)) >= *sequence);
        note(&shared->pending);
    } else {
        cr_assert(status == STATUS_RESOURCE_EXHAUSTED || status == STATUS_UNAVAILABLE, "%s",
                  status_text(status));
    }
    shared->is_pending = false;
}

static void write_row(void)
{
    struct operation o = random_change();
    uint8_t operand[8];
    struct change change = to_change(&o, operand);
    struct record_entry entry = {.row = row_key(o.row), .changes = &change, .change_count = 1};
    struct record_write write = {&entry, 1};
    struct store_tablet *tablet = tablet_of_row(o.row);
    uint64_t sequence = 0;
    begin_pending(&o, tablet);
    enum status status = store_append_write(tablet, &write, store_next_clock(fixture.store),
                                            &sequence);
    end_pending(status, &sequence);
}

static void split_tablet(void)
{
    unsigned row = 1 + (unsigned)prng_below(&prng, ROW_COUNT - 1);
    struct store_tablet *tablet = tablet_of_row(row);
    if (store_tablet_count(fixture.store) >= TABLETS_MAX ||
        bytes_equal(store_tablet_describe(tablet)->range.start, row_key(row))) {
        return;
    }
    struct operation o = {.kind = SPLIT};
    struct record_split split = {row_key(row), shared->tablet_next + 1, shared->tablet_next + 2};
    shared->tablet_next += 2;
    uint64_t sequence = 0;
    begin_pending(&o, tablet);
    enum status status = store_append_split(tablet, &split, store_next_clock(fixture.store),
                                            &sequence);
    end_pending(status, &sequence);
}

/* Sooner or later what the rules drop is really gone. */
static void expect_collected(void)
{
    size_t left = SIZE_MAX;
    time_t end = time(NULL) + FIXTURE_TIMEOUT_S;
    fixture_flush(&fixture);
    while ((left = expect_all(&bare_table)) > 0) {
        cr_assert_lt(time(NULL), end, "%zu expired cells are never collected", left);
        usleep(200);
        store_poll(fixture.store);
    }
}

static void reopen(void)
{
    fixture_close(&fixture);
    fixture_open(&fixture);
    expect_both();
}

static void step(void)
{
    uint64_t dice = prng_below(&prng, 200);
    if (dice < 150) {
        write_row();
    } else if (dice < 160) {
        move_clock(1 + (int64_t)prng_below(&prng, 3));
    } else if (dice < 164) {
        change_rules();
    } else if (dice < 178) {
        expect_both();
    } else if (dice < 190) {
        store_flush_all(fixture.store);
    } else if (dice < 192) {
        split_tablet();
    } else if (dice < 193) {
        reopen();
    } else if (dice < 194) {
        expect_collected();
    } else {
        usleep(500);
        store_poll(fixture.store);
    }
}

/* --- lives ---------------------------------------------------------------------------------------- */

/* The truth as far as it was noted, and the clock beyond all that the last life may have seen. */
static void recall(void)
{
    cell_count = 0;
    fixture_table.version = 1;
    for (int i = 0; i < FAMILY_COUNT; i++) {
        fixture_families[i].gc = (struct gc_rule){.kind = GC_NONE};
    }
    model_now_us = clock_after(INT64_C(1700000000) * SECOND_US, 0);
    for (uint32_t i = 0; i < shared->count; i++) {
        apply_operation(&shared->operations[i]);
    }
    move_clock(1);
}

/* It may have been noted already, and the child killed just then; and any number of children after
 * it that had done no more than to move the clock. */
static bool is_noted(const struct operation *pending)
{
    uint32_t count = shared->count;
    while (count > 0 && shared->operations[count - 1].kind == CLOCK) {
        count--;
    }
    const struct operation *last = count > 0 ? &shared->operations[count - 1] : NULL;
    return last != NULL && last->tablet == pending->tablet && last->sequence == pending->sequence;
}

static void settle_pending(void)
{
    struct store_tablet *tablet = store_tablet_find(fixture.store, shared->pending.tablet);
    if (shared->is_pending && !is_noted(&shared->pending) &&
        (tablet == NULL || store_tablet_prepared(tablet) >= shared->pending.sequence)) {
        note(&shared->pending);
    }
    shared->is_pending = false;
}

static void live(uint64_t seed, int life, uint32_t steps)
{
    prng = prng_of_seed(seed * 1000 + (uint64_t)life);
    recall();
    fixture_open(&fixture);
    if (store_tablet_count(fixture.store) == 0) {
        (void)fixture_create(&fixture, ++shared->tablet_next, "", "");
    }
    settle_pending();
    expect_both();
    for (uint32_t i = 0; i < steps && shared->count < OPERATIONS_MAX - 8; i++) {
        step();
    }
    expect_both();
    expect_collected();
    reopen();
}

static void set_limits(uint64_t seed)
{
    struct prng limits = prng_of_seed(seed ^ 0x6c);
    fixture.settings.memtable_limit_bytes = 2000 << prng_below(&limits, 8);
    fixture.settings.memory_limit_bytes = 4 * fixture.settings.memtable_limit_bytes + (1 << 20);
    fixture.settings.log_segment_bytes = 256 * 1024;
    fixture.settings.flush_transaction_bytes = 4096 << prng_below(&limits, 6);
    fixture.look_pause_us = (uint32_t)prng_below(&limits, 3) * 400; /* what is found gets old */
    fixture.settings.gc_interval_us = 1 + (int64_t)prng_below(&limits, 4);
}

static void run_seed(uint64_t seed, int lives, uint32_t steps)
{
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    cr_assert_neq(shared, MAP_FAILED);
    bare_table = fixture_table;
    bare_table.families = bare_families;
    memcpy(bare_families, fixture_families, sizeof bare_families);
    fixture_init(&fixture);
    set_limits(seed);
    const struct store_lives of_this = {
        .fixture = &fixture, .live = live, .kill_after_us = 2000, .kill_within_us = 60000};
    store_lives_run(&of_this, seed, lives, steps);
    fixture_deinit(&fixture);
    munmap(shared, sizeof *shared);
}

Test(store_gc_model, random_rules_killed_and_reopened)
{
    const struct store_worlds worlds = {1, 6, .lives = 5, .steps = 300};
    const struct store_worlds alone = {.lives = 6, .steps = 500};
    store_worlds_run(run_seed, worlds, alone);
}
