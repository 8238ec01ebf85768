/*
 * What a store that collects shows, beside store_gc_truth.h, and what it is asked to do at random.  One test's own.
 */
#ifndef TESTS_MODEL_STORE_GC_COMPARE_H
#define TESTS_MODEL_STORE_GC_COMPARE_H

#include "tests/model/store_gc_truth.h"

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

/* Every cell that no rule has ever dropped must have been seen. */
static void expect_seen(const char *which)
{
    for (size_t i = 0; i < cell_count; i++) {
        const struct cell_model *cell = &cells[i];
        if (!seen[i] && !cell->may_be_gone) {
            tell_history(cell);
        }
        cr_assert(seen[i] || cell->may_be_gone,
                  "row %u family %u qualifier %u timestamp %lld is missing (%s)", cell->row,
                  cell->family, cell->qualifier, (long long)cell->timestamp_us, which);
    }
}

/* --- asked at random ------------------------------------------------------------------------------ */

/* A second and a half: no timestamp and no age is a half, so nothing expires between two moves. */
static int64_t clock_after(int64_t now_us, int64_t seconds)
{
    return (now_us / SECOND_US + seconds) * SECOND_US + SECOND_US / 2;
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

/* As the store takes it; operand lives as long as the change. */
static struct change to_change(const struct operation *o, uint8_t operand[8])
{
    struct change change = {.kind = o->change,
                            .family = o->family,
                            .qualifier = qualifier_name(o->qualifier),
                            .timestamp_us = o->timestamp_us,
                            .start_us = o->timestamp_us,
                            .end_us = o->end_us};
    store_be64(operand, (uint64_t)o->number);
    if (o->change == CHANGE_PUT || o->change == CHANGE_FOLD) {
        change.value = bytes_of(operand, 8);
    }
    if (o->change == CHANGE_FOLD) {
        change.aggregate = o->family == FAMILY_SUM ? AGGREGATE_INTSUM : AGGREGATE_INTMAX;
    }
    return change;
}

#endif /* TESTS_MODEL_STORE_GC_COMPARE_H */
