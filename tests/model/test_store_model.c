/*
 * The store against a list of what was asked of it.
 *
 * A child process does random operations on a store with tiny limits, noting each in shared memory
 * before it is appended and marking it when it is committed; the parent kills it at a random
 * moment.  The next child opens what is left: every operation that was committed must be there, of
 * the others a prefix per tablet, and nothing else.  Then it goes on.  The truth is the list of
 * operations, applied one after the other to an array of cells.
 */
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "tests/support/forked.h"

#include "common/base/prng.h"
#include "tests/support/store_fixture.h"

#define OPERATIONS_MAX 6000
#define CHANGES_MAX    4
#define TABLETS_MAX    12
#define CELLS_MAX      20000
#define ROW_COUNT      14
#define HELD_MAX       3
#define VALUE_MAX      (200 * 1024)

enum kind {
    WRITE,
    DROP,
    SPLIT
};

struct model_change {
    uint8_t kind;
    uint8_t family;
    uint8_t qualifier;
    int8_t timestamp;
    int8_t start;
    int8_t end;
    uint32_t value_seed;
    uint32_t value_size;
};

struct operation {
    enum kind kind;
    uint64_t tablet;
    uint64_t sequence;
    uint64_t request; /* 0 = none */
    uint8_t row;
    uint8_t row_end; /* DROP */
    uint8_t change_count;
    uint64_t left; /* SPLIT */
    uint64_t right;
    bool committed;
    struct model_change changes[CHANGES_MAX];
};

struct shared {
    struct operation operations[OPERATIONS_MAX];
    uint32_t count;
    uint64_t tablet_next;
    uint64_t request_next;
    uint64_t steps;
};

struct cell_model {
    uint8_t row;
    uint8_t family;
    uint8_t qualifier;
    int8_t timestamp;
    int64_t number; /* aggregates */
    uint32_t value_seed;
    uint32_t value_size;
};

struct held {
    struct store_read *read;
    uint32_t operations; /* that it must see, of those committed then */
    uint64_t sequence;
    struct store_tablet *tablet;
};

static struct shared *shared;
static struct fixture fixture;
static struct prng prng;
static struct cell_model cells[CELLS_MAX];
static size_t cell_count;
static uint32_t tablets_max;
static struct held held[HELD_MAX];

/* --- names ---------------------------------------------------------------------------------------- */

/* Rows ascend with their numbers; some are long, some share long prefixes. */
static struct bytes row_key(unsigned row)
{
    static uint8_t keys[ROW_COUNT][3000];
    static size_t sizes[ROW_COUNT];
    if (sizes[0] == 0) {
        for (unsigned i = 0; i < ROW_COUNT; i++) {
            size_t size = i % 3 == 2 ? 1200 : i % 3 == 1 ? 20 : 1;
            memset(keys[i], 'k', size);
            keys[i][0] = (uint8_t)('a' + i / 3);
            sizes[i] = size;
        }
    }
    return bytes_of(keys[row], sizes[row]);
}

static struct bytes qualifier_name(unsigned qualifier)
{
    static const char *names[] = {"", "a", "ab", "b"};
    return bytes_of_text(names[qualifier]);
}

static struct bytes value_of(uint32_t seed, uint32_t size)
{
    static uint8_t values[8][VALUE_MAX];
    static unsigned turn;
    uint8_t *value = values[turn++ % 8];
    struct prng bytes = prng_of_seed(seed);
    for (uint32_t i = 0; i < size; i += 8) {
        uint64_t random = prng_next(&bytes);
        memcpy(value + i, &random, size - i < 8 ? size - i : 8);
    }
    return bytes_of(value, size);
}

/* --- the truth ------------------------------------------------------------------------------------ */

static int cell_order(const struct cell_model *a, const struct cell_model *b)
{
    if (a->row != b->row) {
        return a->row < b->row ? -1 : 1;
    }
    if (a->family != b->family) {
        return a->family < b->family ? -1 : 1;
    }
    if (a->qualifier != b->qualifier) {
        return a->qualifier < b->qualifier ? -1 : 1;
    }
    return (a->timestamp < b->timestamp) - (a->timestamp > b->timestamp);
}

static bool is_covered(const struct cell_model *cell, unsigned row, const struct model_change *c)
{
    if (cell->row != row) {
        return false;
    }
    if (c->kind == CHANGE_DELETE_ROW) {
        return true;
    }
    if (cell->family != c->family) {
        return false;
    }
    return c->kind == CHANGE_DELETE_FAMILY ||
           (cell->qualifier == c->qualifier && cell->timestamp >= c->start &&
            cell->timestamp < c->end);
}

static void put_model(const struct cell_model *cell, bool fold)
{
    size_t at = 0;
    while (at < cell_count && cell_order(&cells[at], cell) < 0) {
        at++;
    }
    if (at < cell_count && cell_order(&cells[at], cell) == 0) {
        int64_t before = cells[at].number;
        cells[at] = *cell;
        if (fold && cell->family == 3) {
            cells[at].number = before + cell->number;
        } else if (fold) {
            cells[at].number = before > cell->number ? before : cell->number;
        }
        return;
    }
    cr_assert_lt(cell_count, CELLS_MAX);
    memmove(&cells[at + 1], &cells[at], (cell_count - at) * sizeof cells[0]);
    cells[at] = *cell;
    cell_count++;
}

static void apply_change(unsigned row, const struct model_change *c)
{
    if (c->kind == CHANGE_PUT || c->kind == CHANGE_FOLD) {
        struct cell_model cell = {.row = (uint8_t)row,
                                  .family = c->family,
                                  .qualifier = c->qualifier,
                                  .timestamp = c->timestamp,
                                  .number = (int64_t)c->value_seed,
                                  .value_seed = c->value_seed,
                                  .value_size = c->value_size};
        put_model(&cell, c->kind == CHANGE_FOLD);
        return;
    }
    size_t kept = 0;
    for (size_t i = 0; i < cell_count; i++) {
        if (!is_covered(&cells[i], row, c)) {
            cells[kept++] = cells[i];
        }
    }
    cell_count = kept;
}

static void apply_operation(const struct operation *operation)
{
    if (operation->kind == WRITE) {
        for (unsigned i = 0; i < operation->change_count; i++) {
            apply_change(operation->row, &operation->changes[i]);
        }
    } else if (operation->kind == DROP) {
        struct model_change all = {.kind = CHANGE_DELETE_ROW};
        for (unsigned row = operation->row; row < operation->row_end; row++) {
            apply_change(row, &all);
        }
    }
}

/* --- comparing ------------------------------------------------------------------------------------ */

static const char *reading; /* what kind of read is being compared */

/* What happened to the row, for whoever has to find out. */
static void explain(unsigned row)
{
    fprintf(stderr, "%s read; row %u:\n", reading, row);
    for (uint32_t i = 0; i < shared->count; i++) {
        const struct operation *o = &shared->operations[i];
        if (o->kind == WRITE && o->row == row) {
            for (unsigned j = 0; j < o->change_count; j++) {
                const struct model_change *c = &o->changes[j];
                fprintf(stderr,
                        "  tablet %d sequence %d%s: kind %u family %u qualifier %u timestamp %d "
                        "[%d, %d) value %u size %u\n",
                        (int)o->tablet, (int)o->sequence, o->committed ? "" : " (prepared)",
                        c->kind, c->family, c->qualifier, c->timestamp, c->start, c->end,
                        c->value_seed, c->value_size);
            }
        } else if (o->kind == SPLIT || (o->row <= row && row < o->row_end)) {
            fprintf(stderr, "  tablet %d sequence %d: %s\n", (int)o->tablet, (int)o->sequence,
                    o->kind == SPLIT ? "split" : "range dropped");
        }
    }
}

static void expect_cell(const struct cell *cell, const struct cell_model *model)
{
    if (cell->family != model->family ||
        !bytes_equal(cell->qualifier, qualifier_name(model->qualifier)) ||
        cell->timestamp_us != model->timestamp) {
        explain(model->row);
        fprintf(stderr,
                "found family %u qualifier %.*s timestamp %d, expected family %u qualifier %u "
                "timestamp %d\n",
                cell->family, (int)cell->qualifier.size_bytes, (const char *)cell->qualifier.data,
                (int)cell->timestamp_us, model->family, model->qualifier, model->timestamp);
    }
    cr_assert_eq(cell->family, model->family);
    cr_assert(bytes_equal(cell->qualifier, qualifier_name(model->qualifier)));
    cr_assert_eq(cell->timestamp_us, model->timestamp);
    if (model->family >= 3) {
        cr_assert_eq(cell->value.size_bytes, 8);
        cr_assert_eq((int64_t)load_be64(cell->value.data), model->number,
                     "row %u family %u: %lld, not %lld", model->row, model->family,
                     (long long)load_be64(cell->value.data), (long long)model->number);
    } else {
        cr_assert(bytes_equal(cell->value, value_of(model->value_seed, model->value_size)));
    }
}

/* The visible cells of the row that the reader stands on against cells[*at...]. */
static bool expect_row(struct row_reader *reader, struct bytes row, size_t *at)
{
    struct cell_source source = row_reader_source(reader);
    struct cell cell;
    bool found = false;
    bool any = false;
    cr_assert_eq(source.rewind(source.context, 0, BYTES_EMPTY), STATUS_OK);
    cr_assert_eq(source.next(source.context, CELL_NEXT, &cell, &found), STATUS_OK);
    while (found) {
        any = true;
        cr_assert_lt(*at, cell_count, "a cell too many in row %.10s", (const char *)row.data);
        cr_assert(bytes_equal(row, row_key(cells[*at].row)));
        expect_cell(&cell, &cells[*at]);
        (*at)++;
        cr_assert_eq(source.next(source.context, CELL_NEXT, &cell, &found), STATUS_OK);
    }
    return any;
}

/* All rows of the tablet, forward, then row keys backward. */
static void expect_read(struct store_read *read, const struct row_range *range)
{
    struct row_reader *reader = store_read_reader(read);
    size_t at = 0;
    while (at < cell_count && bytes_compare(row_key(cells[at].row), range->start) < 0) {
        at++;
    }
    uint8_t rows[ROW_COUNT] = {0};
    unsigned row_count = 0;
    struct buffer row = BUFFER_INIT;
    struct bytes found_row;
    bool found = false;
    cr_assert_eq(row_reader_seek(reader, ROW_AT_OR_AFTER, range->start, &found_row, &found),
                 STATUS_OK);
    while (found) {
        cr_assert(row_range_contains(range, found_row));
        buffer_reset(&row);
        buffer_append_bytes(&row, found_row);
        size_t before = at;
        if (expect_row(reader, buffer_bytes(&row), &at)) {
            rows[row_count++] = cells[before].row;
        }
        cr_assert_eq(row_reader_seek(reader, ROW_AFTER, buffer_bytes(&row), &found_row, &found),
                     STATUS_OK);
    }
    cr_assert(at == cell_count || !row_range_contains(range, row_key(cells[at].row)),
              "row %u is missing", cells[at].row);
    cr_assert_eq(row_reader_seek(reader, ROW_LAST, BYTES_EMPTY, &found_row, &found), STATUS_OK);
    while (found) {
        buffer_reset(&row);
        buffer_append_bytes(&row, found_row);
        size_t first = 0;
        while (first < cell_count && !bytes_equal(row_key(cells[first].row), buffer_bytes(&row))) {
            first++;
        }
        if (expect_row(reader, buffer_bytes(&row), &first)) {
            cr_assert_gt(row_count, 0);
            cr_assert(bytes_equal(row_key(rows[--row_count]), buffer_bytes(&row)));
        }
        cr_assert_eq(row_reader_seek(reader, ROW_BEFORE, buffer_bytes(&row), &found_row, &found),
                     STATUS_OK);
    }
    cr_assert_eq(row_count, 0);
    buffer_deinit(&row);
}

/* The truth after the first `count` operations, leaving out those of `tablet` above `sequence`. */
static void build_model(uint32_t count, uint64_t tablet, uint64_t sequence)
{
    cell_count = 0;
    for (uint32_t i = 0; i < count; i++) {
        const struct operation *operation = &shared->operations[i];
        if (operation->tablet != tablet || operation->sequence <= sequence) {
            apply_operation(operation);
        }
    }
}

static void expect_tablet(struct store_tablet *tablet, enum store_read_point point)
{
    struct store_read *read = NULL;
    uint64_t number = store_tablet_describe(tablet)->tablet;
    uint64_t sequence = point == STORE_READ_COMMITTED ? store_tablet_committed(tablet)
                                                      : store_tablet_prepared(tablet);
    cr_assert_eq(store_read_begin(tablet, &fixture_table, point, 0, &read), STATUS_OK);
    reading = point == STORE_READ_COMMITTED ? "committed" : "prepared";
    build_model(shared->count, number, sequence);
    expect_read(read, &store_tablet_describe(tablet)->range);
    store_read_end(read);
}

static void expect_all(enum store_read_point point)
{
    for (uint32_t i = 0; i < store_tablet_count(fixture.store); i++) {
        expect_tablet(store_tablet_at(fixture.store, i), point);
    }
    store_check(fixture.store);
}

/* --- after a crash -------------------------------------------------------------------------------- */

static bool has_survived(const struct operation *operation)
{
    struct store_tablet *tablet = store_tablet_find(fixture.store, operation->tablet);
    /* A tablet that is not there was split, which committed all that it had. */
    return tablet == NULL || operation->sequence <= store_tablet_prepared(tablet);
}

static void expect_duplicates_known(void)
{
    for (uint32_t i = 0; i < shared->count; i++) {
        const struct operation *operation = &shared->operations[i];
        if (operation->request == 0) {
            continue;
        }
        for (uint32_t j = 0; j < store_tablet_count(fixture.store); j++) {
            struct store_tablet *tablet = store_tablet_at(fixture.store, j);
            if (!row_range_contains(&store_tablet_describe(tablet)->range,
                                    row_key(operation->row))) {
                continue;
            }
            struct request_id request = {77, operation->request, 1, INT64_C(1700000000000000)};
            struct bytes result;
            uint64_t sequence;
            enum dedupe_verdict verdict = dedupe_check(store_tablet_dedupe(tablet), &request,
                                                       store_next_clock(fixture.store), &result,
                                                       &sequence);
            cr_assert_eq(verdict, DEDUPE_DONE, "request %d", (int)operation->request);
        }
    }
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

static struct model_change random_change(void)
{
    struct model_change c = {.family = (uint8_t)(1 + prng_below(&prng, 4)),
                             .qualifier = (uint8_t)prng_below(&prng, 4),
                             .timestamp = (int8_t)prng_below(&prng, 6)};
    uint64_t dice = prng_below(&prng, 40);
    if (dice == 0) {
        c.kind = CHANGE_DELETE_ROW;
    } else if (dice <= 2) {
        c.kind = CHANGE_DELETE_FAMILY;
    } else if (dice <= 6) {
        c.kind = CHANGE_DELETE_CELLS;
        c.start = (int8_t)prng_below(&prng, 5);
        c.end = (int8_t)(c.start + 1 + (int8_t)prng_below(&prng, 4));
    } else {
        c.kind = c.family >= 3 ? CHANGE_FOLD : CHANGE_PUT;
        c.value_seed = (uint32_t)prng_below(&prng, 1000);
        c.value_size = (uint32_t)prng_below(&prng, 30);
        if (prng_chance(&prng, 12)) {
            c.value_size = (uint32_t)prng_below(&prng, 5000);
        } else if (prng_chance(&prng, 60)) {
            c.value_size = (uint32_t)prng_below(&prng, VALUE_MAX);
        }
    }
    return c;
}

static struct change to_change(const struct model_change *c, uint8_t operand[8])
{
    struct change change = {.kind = (enum change_kind)c->kind,
                            .family = c->family,
                            .qualifier = qualifier_name(c->qualifier),
                            .timestamp_us = c->timestamp,
                            .start_us = c->start,
                            .end_us = c->end};
    if (c->kind == CHANGE_FOLD) {
        store_be64(operand, c->value_seed);
        change.value = bytes_of(operand, 8);
        change.aggregate = c->family == 3 ? AGGREGATE_INTSUM : AGGREGATE_INTMAX;
    } else if (c->kind == CHANGE_PUT) {
        change.value = value_of(c->value_seed, c->value_size);
    }
    return change;
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
        write_row();
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
        drop_range();
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
    struct prng killer = prng_of_seed(seed);
    for (int life = 0; life < lives; life++) {
        pid_t child = fork();
        if (child == 0) {
            live(seed, life, steps);
            fixture_close(&fixture);
            _exit(0);
        }
        bool kill_it = life + 1 < lives;
        if (kill_it) {
            usleep((useconds_t)(1000 + prng_below(&killer, 40000)));
            (void)kill(child, SIGKILL);
        }
        int result = 0;
        cr_assert_eq(waitpid(child, &result, 0), child);
        cr_assert((kill_it && WIFSIGNALED(result) && WTERMSIG(result) == SIGKILL) ||
                      (WIFEXITED(result) && WEXITSTATUS(result) == 0),
                  "seed %d, life %d: %x; folder %s", (int)seed, life, result, fixture.folder);
    }
    fixture_deinit(&fixture);
    munmap(shared, sizeof *shared);
}

Test(store_model, killed_and_reopened)
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

Test(store_model, long_lives)
{
    if (getenv("EDUBBA_SEED") != NULL) {
        run_seed(strtoull(getenv("EDUBBA_SEED"), NULL, 10), 1, 2500);
        return;
    }
    for (uint64_t seed = 100; seed <= 102; seed++) {
        run_seed(seed, 1, 2500);
    }
}
