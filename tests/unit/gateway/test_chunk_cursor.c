/* Random rows, cut with random room, put together again by the rules that a client goes by. */
#include <criterion/criterion.h>

#include <string.h>

#include "common/base/bytes.h"
#include "common/base/prng.h"
#include "gateway/core/chunk_cursor.h"

#define CELLS_MAX       12
#define VALUE_BYTES_MAX 400

static uint8_t bytes[4 * VALUE_BYTES_MAX];

static struct edubba_bytes random_bytes(struct prng *prng, size_t size_max)
{
    size_t size = prng_below(prng, size_max + 1);
    return edubba_bytes_of(bytes + prng_below(prng, sizeof bytes - size_max), size);
}

static bool is_equal(struct edubba_bytes a, struct edubba_bytes b)
{
    return bytes_equal(bytes_of(a.data, a.size), bytes_of(b.data, b.size));
}

/* Families and qualifiers repeat, and may be empty. */
static struct edubba_row random_row(struct prng *prng, struct edubba_cell cells[CELLS_MAX])
{
    static const char *const names[] = {"", "a", "b"};
    struct edubba_row row = {EDUBBA_TEXT("key"), cells, 1 + prng_below(prng, CELLS_MAX)};
    for (size_t i = 0; i < row.cell_count; i++) {
        cells[i] = (struct edubba_cell){
            .family = EDUBBA_TEXT(names[prng_below(prng, 3)]),
            .qualifier = EDUBBA_TEXT(names[prng_below(prng, 3)]),
            .timestamp_us = (int64_t)prng_below(prng, 5),
            .value = random_bytes(prng, prng_chance(prng, 3) ? VALUE_BYTES_MAX : 3),
            .label = prng_chance(prng, 4) ? EDUBBA_TEXT("label") : EDUBBA_NOTHING,
        };
    }
    return row;
}

/* What a client holds while a row comes in. */
struct reader {
    struct edubba_bytes family;
    struct edubba_bytes qualifier;
    struct edubba_cell cell; /* its value: as far as it came */
    uint8_t value[VALUE_BYTES_MAX];
    size_t value_size; /* awaited; 0 = no cell is open */
    size_t cell_count;
    bool is_committed;
};

static void read_start(struct reader *reader, const struct chunk *chunk)
{
    bool is_first = reader->cell_count == 0;
    cr_assert_eq(chunk->row_key.size > 0, is_first, "the key, once");
    cr_assert(!is_first || chunk->has_family);
    cr_assert(!chunk->has_family || chunk->has_qualifier, "a family brings its qualifier");
    reader->family = chunk->has_family ? chunk->family : reader->family;
    reader->qualifier = chunk->has_qualifier ? chunk->qualifier : reader->qualifier;
    reader->cell = (struct edubba_cell){.family = reader->family,
                                        .qualifier = reader->qualifier,
                                        .timestamp_us = chunk->timestamp_us,
                                        .label = chunk->label,
                                        .value = {reader->value, 0}};
}

static void read_chunk(struct reader *reader,
                       const struct chunk *chunk,
                       const struct edubba_row *row)
{
    cr_assert_not(reader->is_committed);
    bool goes_on = reader->value_size > 0;
    if (goes_on) {
        cr_assert(chunk->row_key.size == 0 && !chunk->has_family && !chunk->has_qualifier &&
                  chunk->timestamp_us == 0 && chunk->label.size == 0);
        cr_assert(chunk->value_size == 0 || chunk->value_size == reader->value_size);
        cr_assert_gt(chunk->value.size, 0);
    } else {
        read_start(reader, chunk);
    }
    if (chunk->value.size > 0) {
        memcpy(reader->value + reader->cell.value.size, chunk->value.data, chunk->value.size);
    }
    reader->cell.value.size += chunk->value.size;
    if (chunk->value_size > 0) {
        cr_assert_not(chunk->commit, "not inside a cell");
        cr_assert_lt(reader->cell.value.size, chunk->value_size);
        reader->value_size = chunk->value_size;
        return;
    }
    cr_assert(!goes_on || reader->cell.value.size == reader->value_size);
    reader->value_size = 0;
    const struct edubba_cell *expected = &row->cells[reader->cell_count];
    cr_assert(is_equal(reader->cell.family, expected->family));
    cr_assert(is_equal(reader->cell.qualifier, expected->qualifier));
    cr_assert(is_equal(reader->cell.value, expected->value));
    cr_assert(is_equal(reader->cell.label, expected->label));
    cr_assert_eq(reader->cell.timestamp_us, expected->timestamp_us);
    reader->cell_count++;
    reader->is_committed = chunk->commit;
    cr_assert_eq(chunk->commit, reader->cell_count == row->cell_count);
}

Test(chunk_cursor, what_is_cut_can_be_put_together)
{
    struct prng prng = prng_of_seed(11);
    for (size_t i = 0; i < sizeof bytes; i++) {
        bytes[i] = (uint8_t)prng_next(&prng);
    }
    uint64_t cuts = 0;
    for (int round = 0; round < 20000; round++) {
        struct edubba_cell cells[CELLS_MAX];
        struct edubba_row row = random_row(&prng, cells);
        struct reader reader = {0};
        struct chunk_cursor cursor;
        struct chunk chunk;
        chunk_cursor_begin(&cursor, &row);
        size_t room = 1 + prng_below(&prng, prng_chance(&prng, 2) ? VALUE_BYTES_MAX : 20);
        while (chunk_cursor_next(&cursor, room, &chunk)) {
            cr_assert_leq(chunk.value.size, room);
            cr_assert_geq(chunk_size_bytes(&chunk), chunk.value.size);
            read_chunk(&reader, &chunk, &row);
            cuts += chunk.value_size > 0 ? 1 : 0;
            room = 1 + prng_below(&prng, VALUE_BYTES_MAX);
        }
        cr_assert(reader.is_committed);
        cr_assert_eq(reader.cell_count, row.cell_count);
    }
    cr_assert_gt(cuts, 1000);
}

Test(chunk_cursor, a_value_that_just_fits_is_not_cut)
{
    struct edubba_cell cell = {.family = EDUBBA_TEXT("f"), .value = EDUBBA_TEXT("12345")};
    struct edubba_row row = {EDUBBA_TEXT("r"), &cell, 1};
    struct chunk_cursor cursor;
    struct chunk chunk;
    chunk_cursor_begin(&cursor, &row);
    cr_assert(chunk_cursor_next(&cursor, 5, &chunk));
    cr_assert(chunk.commit && chunk.value_size == 0 && chunk.value.size == 5);
    cr_assert_not(chunk_cursor_next(&cursor, 5, &chunk));
}
