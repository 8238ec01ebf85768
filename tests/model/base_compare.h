/*
 * What the base's cursors yield, compared with the truth: scans to either side, seeks to rows and
 * into rows.
 */
#ifndef TESTS_MODEL_BASE_COMPARE_H
#define TESTS_MODEL_BASE_COMPARE_H

#include <criterion/criterion.h>

#include "common/base/endian.h"
#include "common/base/prng.h"
#include "tabletserver/storage/base/base.h"
#include "tests/model/base_truth.h"

static void check_cell(const struct world *world,
                       const struct model_cell *cell,
                       const struct entry *entry)
{
    char text[16];
    cr_assert_eq(entry->kind, cell->aggregate != AGGREGATE_NONE ? ENTRY_FOLD : ENTRY_PUT);
    cr_assert_eq(entry->family, cell->family);
    cr_assert(bytes_equal(entry->qualifier, qualifier_bytes(world, cell->qualifier, text)));
    cr_assert_eq(entry->timestamp_us, cell->timestamp_us);
    cr_assert_geq(stamp_compare(entry->stamp, cell->stamp), 0);
    if (cell->aggregate != AGGREGATE_NONE) {
        cr_assert(bytes_equal(entry->value, bytes_of(cell->state, 8)));
    } else {
        cr_assert_eq(entry->value.size_bytes, cell->value_size);
        struct bytes value = value_bytes(cell->value_seed, cell->value_size, value_room);
        cr_assert(bytes_equal(entry->value, value));
    }
}

/* The cells of the row stood on, from (family, qualifier) on, are the model's from `at` on. */
static size_t check_row(struct world *world,
                        struct layer_cursor *cursor,
                        uint32_t row,
                        uint32_t family,
                        uint32_t qualifier,
                        bool columns_only)
{
    char text[16];
    struct model_cell from = {
        .row = row, .family = family, .qualifier = qualifier, .timestamp_us = INT64_MAX};
    size_t at = model_find(world, &from);
    struct bytes sought = family == 0 ? BYTES_EMPTY : qualifier_bytes(world, qualifier, text);
    if (family == 0) {
        while (at > 0 && world->cells[at - 1].row == row) {
            at--;
        }
    }
    struct entry entry = {0};
    bool found = true;
    cr_assert_eq(cursor->operations->seek_entry(cursor, family, sought), STATUS_OK);
    bool skip = false;
    while (found) {
        enum status status = skip ? cursor->operations->skip_column(cursor, &entry, &found)
                                  : cursor->operations->next_entry(cursor, &entry, &found);
        cr_assert_eq(status, STATUS_OK);
        if (!found || entry.kind <= ENTRY_COLUMN_DELETE) {
            tombstones_seen += found ? 1 : 0;
            skip = false;
            continue;
        }
        cr_assert_lt(at, world->count, "a cell too many");
        cr_assert_eq(world->cells[at].row, row, "a cell too many in its row");
        check_cell(world, &world->cells[at], &entry);
        at++;
        skip = columns_only;
        while (skip && at < world->count && world->cells[at].row == row &&
               world->cells[at].family == world->cells[at - 1].family &&
               world->cells[at].qualifier == world->cells[at - 1].qualifier) {
            at++;
        }
    }
    cr_assert(at == world->count || world->cells[at].row != row, "a cell is missing");
    return at;
}

static uint32_t row_of(const struct world *world, struct bytes row)
{
    for (uint32_t i = 0; i < ROWS; i++) {
        if (bytes_equal(key_bytes(&world->rows[i]), row)) {
            return i;
        }
    }
    cr_assert_fail("a row that nobody wrote");
    return 0;
}

static void check_scan(struct world *world, struct layer_cursor *cursor, bool forward)
{
    struct bytes row = BYTES_EMPTY;
    bool found = false;
    uint32_t seen[ROWS] = {0};
    enum row_seek seek = forward ? ROW_AT_OR_AFTER : ROW_LAST;
    uint32_t last = forward ? 0 : ROWS;
    for (;;) {
        cr_assert_eq(cursor->operations->seek_row(cursor, seek, row, &row, &found), STATUS_OK);
        if (!found) {
            break;
        }
        uint32_t index = row_of(world, row);
        cr_assert(seek == ROW_AT_OR_AFTER || seek == ROW_LAST ||
                  (forward ? index > last : index < last));
        last = index;
        seen[index] = 1;
        if (!prng_chance(&world->prng, 5)) {
            check_row(world, cursor, index, 0, 0, prng_chance(&world->prng, 3));
        }
        seek = forward ? ROW_AFTER : ROW_BEFORE;
    }
    for (size_t i = 0; i < world->count; i++) {
        cr_assert(seen[world->cells[i].row], "a row was passed over");
    }
}

static bool model_has_row(const struct world *world, uint32_t row)
{
    for (size_t i = 0; i < world->count; i++) {
        if (world->cells[i].row == row) {
            return true;
        }
    }
    return false;
}

/* Random seeks; rows that hold nothing but tombstones may come up where the model has none. */
static void check_seeks(struct world *world, struct layer_cursor *cursor)
{
    for (int i = 0; i < 20; i++) {
        uint32_t target = (uint32_t)prng_below(&world->prng, ROWS);
        enum row_seek seek = (enum row_seek)prng_below(&world->prng, 4);
        bool forward = seek == ROW_AT_OR_AFTER || seek == ROW_AFTER;
        struct bytes row;
        bool found = false;
        cr_assert_eq(cursor->operations->seek_row(cursor, seek, key_bytes(&world->rows[target]),
                                                  &row, &found),
                     STATUS_OK);
        int64_t index = found ? (int64_t)row_of(world, row) : forward ? ROWS : -1;
        int64_t first = (int64_t)target;
        first += seek == ROW_AFTER ? 1 : seek == ROW_BEFORE ? -1 : 0;
        cr_assert(forward ? index >= first : index <= first);
        for (int64_t r = first; r != index && r >= 0 && r < ROWS; r += forward ? 1 : -1) {
            cr_assert(!model_has_row(world, (uint32_t)r), "a row was passed over");
        }
        if (found) {
            static const uint32_t families[] = {0, 1, 2, 3, 4, 300};
            uint32_t qualifier = (uint32_t)prng_below(&world->prng, QUALIFIERS);
            if (index == WIDE_ROW && prng_chance(&world->prng, 2)) {
                qualifier = WIDE_FIRST + (uint32_t)prng_below(&world->prng, 3000);
            }
            check_row(world, cursor, (uint32_t)index, families[prng_below(&world->prng, 6)],
                      qualifier, prng_chance(&world->prng, 3));
        }
    }
}

static void check(struct world *world)
{
    struct base_snapshot *snapshot = NULL;
    struct layer_cursor *cursor = NULL;
    /* The extent as one piece, or cut at a row. */
    struct bytes cut = key_bytes(&world->rows[prng_below(&world->prng, ROWS)]);
    const struct base_piece pieces[] = {{{BYTES_EMPTY, cut}, EXTENT}, {{cut, BYTES_EMPTY}, EXTENT}};
    const struct base_piece whole = {{BYTES_EMPTY, BYTES_EMPTY}, EXTENT};
    bool two = prng_chance(&world->prng, 2);

    cr_assert_eq(base_snapshot_begin(world->base, &snapshot), STATUS_OK);
    cr_assert_eq(base_cursor_open(snapshot, two ? pieces : &whole, two ? 2 : 1, &cursor),
                 STATUS_OK);
    check_scan(world, cursor, true);
    check_scan(world, cursor, false);
    check_seeks(world, cursor);
    cursor->operations->close(cursor);
    base_snapshot_end(snapshot);
}

#endif /* TESTS_MODEL_BASE_COMPARE_H */
