/*
 * What a store must hold: a list of operations in shared memory, applied one after the other to an
 * array of cells, and its comparison with what a read shows.  One test's own; after forked.h.
 */
#ifndef TESTS_MODEL_STORE_TRUTH_H
#define TESTS_MODEL_STORE_TRUTH_H

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
__attribute__((unused)) static uint32_t tablets_max;
__attribute__((unused)) static struct held held[HELD_MAX];

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

/* --- changes -------------------------------------------------------------------------------------- */

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

__attribute__((unused)) static void expect_all(enum store_read_point point)
{
    for (uint32_t i = 0; i < store_tablet_count(fixture.store); i++) {
        expect_tablet(store_tablet_at(fixture.store, i), point);
    }
    store_check(fixture.store);
}

#endif /* TESTS_MODEL_STORE_TRUTH_H */
