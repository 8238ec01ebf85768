/* Slices as they travel: what is written comes back, and damage is refused. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "common/base/prng.h"
#include "tabletserver/storage/copies/slice.h"

#define TABLET    9
#define CELLS_MAX 200

static struct prng prng;

/* Rows and cells that ascend; returns how many cells. */
static unsigned write_rows(struct slice_writer *writer, struct entry *cells, unsigned rows)
{
    static char names[CELLS_MAX][16];
    static uint8_t values[CELLS_MAX][40];
    unsigned count = 0;
    for (unsigned row = 0; row < rows; row++) {
        char name[16];
        (void)snprintf(name, sizeof name, "r%03u", row);
        slice_writer_row(writer, bytes_of_text(name));
        for (uint64_t i = prng_below(&prng, 4) + 1; i > 0; i--, count++) {
            (void)snprintf(names[count], sizeof names[count], "q%03u", count / 3);
            size_t size = prng_below(&prng, sizeof values[0]);
            memset(values[count], (int)count, size);
            bool fold = prng_chance(&prng, 2);
            cells[count] = (struct entry){
                .kind = fold ? ENTRY_FOLD : ENTRY_PUT,
                .family = row + 1,
                .qualifier = bytes_of_text(names[count]),
                .timestamp_us = 1000 - (int64_t)count,
                .stamp = {1 + prng_below(&prng, 3), (uint32_t)prng_below(&prng, 2), 0},
                .aggregate = fold ? AGGREGATE_INTSUM : AGGREGATE_NONE,
                .value = bytes_of(values[count], size)};
            slice_writer_cell(writer, &cells[count]);
        }
    }
    return count;
}

static void expect_same(const struct entry *a, const struct entry *b)
{
    cr_assert_eq(a->kind, b->kind);
    cr_assert_eq(a->family, b->family);
    cr_assert(bytes_equal(a->qualifier, b->qualifier));
    cr_assert_eq(a->timestamp_us, b->timestamp_us);
    cr_assert_eq(stamp_compare(a->stamp, b->stamp), 0);
    cr_assert_eq(a->aggregate, b->aggregate);
    cr_assert(bytes_equal(a->value, b->value));
}

static void encode(struct buffer *out, struct entry *cells, unsigned rows, unsigned *ret_count)
{
    static const struct tablet_position start;
    static const struct tablet_position end = {.everything = true};
    struct slice_writer writer;
    slice_writer_begin(&writer, TABLET, 77, &start, out);
    *ret_count = write_rows(&writer, cells, rows);
    slice_writer_end(&writer, &end);
    cr_assert_not(out->failed);
}

Test(slice, rows_come_back)
{
    static struct entry cells[CELLS_MAX];
    prng = prng_of_seed(3);
    for (unsigned round = 0; round < 200; round++) {
        struct buffer out = BUFFER_INIT;
        struct arena arena;
        struct slice slice;
        struct error error = {.status = STATUS_OK};
        unsigned count = 0;
        unsigned found = 0;
        arena_init(&arena, 1024, SIZE_MAX);
        encode(&out, cells, (unsigned)prng_below(&prng, 20), &count);
        cr_assert_eq(slice_decode(buffer_bytes(&out), TABLET, &arena, &slice, &error), STATUS_OK,
                     "%s", error.text);
        cr_assert_eq(slice.kind, SLICE_ROWS);
        cr_assert_eq(slice.sequence, 77);
        cr_assert(slice.to.everything);
        struct slice_reader reader = slice_reader_of(&slice);
        for (; slice_reader_next(&reader); found++) {
            cr_assert_lt(found, count);
            expect_same(&reader.cell, &cells[found]);
        }
        cr_assert_eq(found, count);
        cr_assert_eq(slice_decode(buffer_bytes(&out), TABLET + 1, &arena, &slice, &error),
                     STATUS_CORRUPT, "of another tablet");
        arena_deinit(&arena);
        buffer_deinit(&out);
    }
}

Test(slice, records_come_back)
{
    const struct horizon horizons[] = {{1, 2, -3, 4}, {5, 6, 7, 8}};
    const struct slice given = {.tablet = TABLET,
                                .sequence = 50,
                                .records = {.clock = 99,
                                            .horizons = horizons,
                                            .horizon_count = 2,
                                            .image_bytes = 10,
                                            .offset_bytes = 4,
                                            .piece = {(const uint8_t *)"abcdef", 6}}};
    struct buffer out = BUFFER_INIT;
    struct arena arena;
    struct slice slice;
    arena_init(&arena, 1024, SIZE_MAX);
    slice_encode_records(&given, &out);
    cr_assert_eq(slice_decode(buffer_bytes(&out), TABLET, &arena, &slice, NULL), STATUS_OK);
    cr_assert_eq(slice.kind, SLICE_RECORDS);
    cr_assert_eq(slice.records.clock, 99);
    cr_assert_eq(slice.records.horizon_count, 2);
    for (int i = 0; i < 2; i++) {
        cr_assert_eq(slice.records.horizons[i].family, horizons[i].family);
        cr_assert_eq(slice.records.horizons[i].rule_version, horizons[i].rule_version);
        cr_assert_eq(slice.records.horizons[i].horizon_us, horizons[i].horizon_us);
        cr_assert_eq(slice.records.horizons[i].sequence, horizons[i].sequence);
    }
    cr_assert_eq(slice.records.offset_bytes, 4);
    cr_assert(bytes_equal(slice.records.piece, bytes_of_text("abcdef")));
    arena_deinit(&arena);
    buffer_deinit(&out);
}

/* Any bit, any end: refused, and nothing read outside (the address sanitizer looks). */
Test(slice, damage_is_refused)
{
    static struct entry cells[CELLS_MAX];
    struct buffer out = BUFFER_INIT;
    unsigned count = 0;
    prng = prng_of_seed(4);
    encode(&out, cells, 5, &count);
    for (size_t bit = 0; bit < out.size_bytes * 8; bit++) {
        struct arena arena;
        struct slice slice;
        arena_init(&arena, 1024, SIZE_MAX);
        out.data[bit / 8] ^= (uint8_t)(1U << bit % 8);
        cr_assert_eq(slice_decode(buffer_bytes(&out), TABLET, &arena, &slice, NULL),
                     STATUS_CORRUPT);
        out.data[bit / 8] ^= (uint8_t)(1U << bit % 8);
        cr_assert_eq(slice_decode(bytes_of(out.data, bit / 8), TABLET, &arena, &slice, NULL),
                     STATUS_CORRUPT);
        arena_deinit(&arena);
    }
    buffer_deinit(&out);
}

/* Sound by its checksum, and yet no slice: the order is checked. */
Test(slice, rows_that_do_not_ascend_are_refused)
{
    static const struct tablet_position start;
    static const struct tablet_position end = {.everything = true};
    const struct entry cell = {.kind = ENTRY_PUT, .family = 1, .timestamp_us = 5};
    const char *orders[][2] = {{"b", "a"}, {"a", "a"}};
    for (int i = 0; i < 2; i++) {
        struct buffer out = BUFFER_INIT;
        struct slice_writer writer;
        struct arena arena;
        struct slice slice;
        arena_init(&arena, 1024, SIZE_MAX);
        slice_writer_begin(&writer, TABLET, 1, &start, &out);
        for (int row = 0; row < 2; row++) {
            slice_writer_row(&writer, bytes_of_text(orders[i][row]));
            slice_writer_cell(&writer, &cell);
        }
        slice_writer_end(&writer, &end);
        cr_assert_eq(slice_decode(buffer_bytes(&out), TABLET, &arena, &slice, NULL),
                     STATUS_CORRUPT);
        arena_deinit(&arena);
        buffer_deinit(&out);
    }
}
