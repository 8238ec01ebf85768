/*
 * Columns of the heat map, as they lie in the console's file and come from another master.  What is
 * accepted is rows in order, from the first key on; added to rows of ours and packed again it is
 * accepted, too.
 */
#include "common/base/assert.h"
#include "master/heat/heat_column.h"

#define ROWS_MAX 64

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes);

static void check_walk(const struct heat_column *column)
{
    struct heat_walk walk;
    uint8_t end[HEAT_KEY_BYTES_MAX];
    size_t end_bytes = 0;
    bool is_open = false;
    heat_walk_begin(&walk, bytes_of(column->packed, column->packed_bytes));
    while (heat_walk_next(&walk)) {
        ASSERT(!is_open); /* behind the last row there is none */
        ASSERT(bytes_equal(walk.range.start, bytes_of(end, end_bytes)));
        end_bytes = walk.range.end.size_bytes;
        is_open = end_bytes == 0;
        ASSERT(is_open || bytes_compare(walk.range.start, walk.range.end) < 0);
        for (size_t i = 0; i < end_bytes; i++) {
            end[i] = walk.range.end.data[i];
        }
    }
    ASSERT(is_open && !walk.broken);
}

static void add_and_pack(const struct heat_column *column)
{
    static const struct row_range all = {{NULL, 0}, {NULL, 0}};
    struct heat_rows rows;
    struct heat_column *again = NULL;
    ASSERT(heat_rows_init(&rows, &all, ROWS_MAX) == STATUS_OK);
    heat_column_add_to(column, &rows);
    heat_rows_join(&rows, ROWS_MAX);
    struct heat_column *packed = heat_column_pack(&rows, column->start_us, column->end_us);
    ASSERT(packed != NULL);
    ASSERT(heat_column_unpack(bytes_of(packed->packed, packed->packed_bytes), column->start_us,
                              column->end_us, &again) == STATUS_OK);
    check_walk(again);
    heat_column_destroy(again);
    heat_column_destroy(packed);
    heat_rows_deinit(&rows);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes)
{
    struct heat_column *column = NULL;
    if (heat_column_unpack(bytes_of(data, size_bytes), 1000, 2000, &column) == STATUS_OK) {
        check_walk(column);
        add_and_pack(column);
        heat_column_destroy(column);
    }
    return 0;
}
