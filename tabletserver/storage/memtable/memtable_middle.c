/* A row in the middle of many, without looking at each: of those of a level of the skip list, as each row has the same
 * chance to be on it, the one in the middle has about as many rows before it as behind it. */
#include "tabletserver/storage/memtable/memtable_rows.h"

#define ROWS_WANTED \
    1024 /* of the range, on the level: the middle one of so many is 2 % off, mostly */
#define ROWS_LOOKED \
    16384 /* of the level, in the range or not: to look at more takes milliseconds */

static const struct memtable_row *follow(const struct memtable_link *links, unsigned level)
{
    return atomic_load_explicit(&links[level].row, memory_order_acquire);
}

/* Walks the level up to the range's row of this index, counted from 0, or to its end.  How many of the range came before
 * that; *ret_row is that row, NULL = there are no more; *ret_looked how many of the level were looked at. */
static size_t walk(const struct memtable *memtable,
                   unsigned level,
                   const struct row_range *range,
                   size_t index,
                   const struct memtable_row **ret_row,
                   size_t *ret_looked)
{
    const struct memtable_row *row = follow(memtable->heads, level);
    size_t inside = 0;

    *ret_looked = 0;
    for (; row != NULL; row = follow(row->links, level)) {
        bool is_inside = row_range_contains(range, memtable_row_key(row));
        *ret_looked += 1;
        if (is_inside && inside == index) {
            break;
        }
        inside += is_inside ? 1 : 0;
        if (!is_inside && inside > 0) {
            row = NULL; /* behind the range */
            break;
        }
    }
    *ret_row = row;
    return inside;
}

bool memtable_middle_row(const struct memtable *memtable,
                         const struct row_range *range,
                         struct buffer *row)
{
    const struct memtable_row *middle = NULL;
    unsigned level = atomic_load_explicit(&memtable->height, memory_order_relaxed);
    size_t inside = 0;
    size_t looked = 0;

    while (level > 0 && inside < ROWS_WANTED && looked < ROWS_LOOKED) {
        level -= 1;
        inside = walk(memtable, level, range, SIZE_MAX, &middle, &looked);
    }
    buffer_reset(row);
    if (inside < 2) {
        return false;
    }
    (void)walk(memtable, level, range, inside / 2, &middle, &looked);
    if (middle != NULL) {
        buffer_append_bytes(row, memtable_row_key(middle));
    }
    return middle != NULL && !row->failed;
}
