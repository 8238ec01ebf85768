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

#include "tests/model/store_gc_truth.h"
#include "tests/model/store_lives.h"

/* --- comparing ------------------------------------------------------------------------------------ */

static struct bytes row_key(unsigned row)
{
    static const char *keys[ROW_COUNT] = {"a", "b", "bb", "c", "d", "e"};
    return bytes_of_text(keys[row]);
}

static unsigned row_number(struct bytes key)
{
    unsigned row = 0;
    while (row < ROW_COUNT && !bytes_equal(row_key(row), key)) {
        row++;
    }
    cr_assert_lt(row, ROW_COUNT);
    return row;
}

static struct bytes qualifier_name(unsigned qualifier)
{
    static const char *names[] = {"", "a", "b"};
    return bytes_of_text(names[qualifier]);
}

static struct cell_model model_of(unsigned row, const struct cell *cell)
{
    struct cell_model found = {
        .row = (uint8_t)row, .family = (uint8_t)cell->family, .timestamp_us = cell->timestamp_us};
    while (!bytes_equal(qualifier_name(found.qualifier), cell->qualifier)) {
        found.qualifier++;
        cr_assert_lt(found.qualifier, 3);
    }
    return found;
}

static void expect_number(const struct cell_model *model, struct bytes value)
{
    cr_assert_eq(value.size_bytes, 8);
    int64_t number = (int64_t)load_be64(value.data);
    bool right = number == model->number || model->is_vague;
    if (!right) {
        tell_history(model);
    }
    cr_assert(right, "row %u family %u qualifier %u: %lld", model->row, model->family,
              model->qualifier, (long long)number);
}

/* Returns how many cells the row shows that its rules drop: none may be if they are applied. */
static size_t expect_row(struct row_reader *reader, unsigned row)
{
    struct cell_source source = row_reader_source(reader);
    struct cell_model last = {.row = UINT8_MAX};
    uint64_t index = 0;
    size_t dropped = 0;
    struct cell cell;
    bool found = false;
    cr_assert_eq(source.rewind(source.context, 0, BYTES_EMPTY), STATUS_OK);
    cr_assert_eq(source.next(source.context, CELL_NEXT, &cell, &found), STATUS_OK);
    while (found) {
        struct cell_model shown = model_of(row, &cell);
        bool known = false;
        size_t at = find_cell(&shown, &known);
        cr_assert(known, "row %u family %u qualifier %u timestamp %lld was never written", row,
                  shown.family, shown.qualifier, (long long)shown.timestamp_us);
        cr_assert_not(seen[at]);
        cr_assert(last.row == UINT8_MAX || cell_order(&last, &shown) < 0);
        expect_number(&cells[at], cell.value);
        seen[at] = true;
        index = is_same_column(&last, &shown) ? index + 1 : 0;
        dropped += is_dropped(&shown, index) ? 1 : 0;
        last = shown;
        cr_assert_eq(source.next(source.context, CELL_NEXT, &cell, &found), STATUS_OK);
    }
    return dropped;
}

static size_t expect_tablet(struct store_tablet *tablet, const struct table *table)
{
    struct store_read *read = NULL;
    struct bytes row = BYTES_EMPTY;
    uint8_t last[8];
    size_t dropped = 0;
    bool found = false;
    cr_assert_eq(store_read_begin(tablet, table, STORE_READ_COMMITTED, model_now_us, &read),
                 STATUS_OK);
    struct row_reader *reader = store_read_reader(read);
    cr_assert_eq(row_reader_seek(reader, ROW_AT_OR_AFTER, BYTES_EMPTY, &row, &found), STATUS_OK);
    while (found) {
        struct bytes key = bytes_of(last, row.size_bytes);
        cr_assert_leq(row.size_bytes, sizeof last);
        memcpy(last, row.data, row.size_bytes);
        dropped += expect_row(reader, row_number(key));
        cr_assert_eq(row_reader_seek(reader, ROW_AFTER, key, &row, &found), STATUS_OK);
    }
    store_read_end(read);
    return dropped;
}

/* Returns how many cells are shown that the rules drop. */
static size_t expect_all(const struct table *table)
{
    size_t dropped = 0;
    mark_dropped();
    memset(seen, 0, sizeof seen);
    for (uint32_t i = 0; i < store_tablet_count(fixture.store); i++) {
        dropped += expect_tablet(store_tablet_at(fixture.store, i), table);
    }
    for (size_t i = 0; i < cell_count; i++) {
        const struct cell_model *cell = &cells[i];
        if (!seen[i] && !cell->may_be_gone) {
            tell_history(cell);
        }
        cr_assert(seen[i] || cell->may_be_gone,
                  "row %u family %u qualifier %u timestamp %lld is missing (%s)", cell->row,
                  cell->family, cell->qualifier, (long long)cell->timestamp_us,
                  table == &bare_table ? "bare" : "by its rules");
    }
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

/* A second and a half: no timestamp and no age is a half, so nothing expires between two moves. */
static int64_t clock_after(int64_t now_us, int64_t seconds)
{
    return (now_us / SECOND_US + seconds) * SECOND_US + SECOND_US / 2;
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

static struct operation random_change(void)
{
    struct operation o = {.kind = CHANGE,
                          .row = (uint8_t)prng_below(&prng, ROW_COUNT),
                          .family = (uint8_t)(1 + prng_below(&prng, FAMILY_COUNT)),
                          .qualifier = (uint8_t)prng_below(&prng, 3),
                          .number = (int64_t)prng_below(&prng, 1000)};
    int64_t age_s = (int64_t)prng_below(&prng, 26) - 2;
    o.timestamp_us = clock_after(model_now_us, -age_s) - SECOND_US / 2;
    o.end_us = o.timestamp_us + SECOND_US * (int64_t)(1 + prng_below(&prng, 10));
    uint64_t dice = prng_below(&prng, 50);
    if (dice == 0) {
        o.change = CHANGE_DELETE_ROW;
    } else if (dice == 1) {
        o.change = CHANGE_DELETE_FAMILY;
    } else if (dice < 6) {
        o.change = CHANGE_DELETE_CELLS;
    } else {
        o.change = o.family >= FAMILY_SUM ? CHANGE_FOLD : CHANGE_PUT;
    }
    return o;
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
    store_be64(operand, (uint64_t)o.number);
    struct change change = {.kind = o.change,
                            .family = o.family,
                            .qualifier = qualifier_name(o.qualifier),
                            .timestamp_us = o.timestamp_us,
                            .start_us = o.timestamp_us,
                            .end_us = o.end_us};
    if (o.change == CHANGE_PUT || o.change == CHANGE_FOLD) {
        change.value = bytes_of(operand, sizeof operand);
    }
    if (o.change == CHANGE_FOLD) {
        change.aggregate = o.family == FAMILY_SUM ? AGGREGATE_INTSUM : AGGREGATE_INTMAX;
    }
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
    if (getenv("EDUBBA_SEED") != NULL) {
        run_seed(strtoull(getenv("EDUBBA_SEED"), NULL, 10), 6, 500);
        return;
    }
    for (uint64_t seed = 1; seed <= 6; seed++) {
        run_seed(seed, 5, 300);
    }
}
