#include "master/heat/heat_rows.h"

#include <string.h>

#include "common/base/assert.h"
#include "common/base/memory.h"
#include "master/heat/heat_rows_parts.h"

#define STANDS_OUT 400 /* a row of more than this part of all cost may always be cut */
#define NEAR       3

static struct heat_row *row_create(struct bytes key)
{
    struct heat_row *row = memory_allocate_zeroed(1, sizeof *row + key.size_bytes);
    if (row != NULL && key.size_bytes > 0) {
        memcpy(row->key, key.data, key.size_bytes);
    }
    if (row != NULL) {
        row->key_bytes = key.size_bytes;
    }
    return row;
}

/* --- life --------------------------------------------------------------------------------------- */

enum status heat_rows_init(struct heat_rows *rows, const struct row_range *range, size_t count_max)
{
    struct bytes end = heat_key_cut(range->end);
    struct bytes start = heat_key_cut(range->start);

    *rows = (struct heat_rows){
        .count_max = count_max < HEAT_ROWS_LEAST ? HEAT_ROWS_LEAST : count_max,
    };
    rows->rows = memory_allocate(sizeof(struct heat_row *));
    struct heat_row *first = row_create(start);
    if (rows->rows == NULL || first == NULL) {
        memory_free(first);
        memory_free(rows->rows);
        *rows = (struct heat_rows){0};
        return STATUS_NO_MEMORY;
    }
    rows->capacity = 1;
    rows->rows[0] = first;
    rows->count = 1;
    rows->size_bytes = sizeof *rows + sizeof *first + start.size_bytes;
    if (end.size_bytes > 0) {
        memcpy(rows->end_bytes, end.data, end.size_bytes);
    }
    rows->end_size = end.size_bytes;
    return STATUS_OK;
}

void heat_rows_deinit(struct heat_rows *rows)
{
    for (size_t i = 0; i < rows->count; i++) {
        memory_free(rows->rows[i]);
    }
    memory_free(rows->rows);
    *rows = (struct heat_rows){0};
}

/* --- finding ------------------------------------------------------------------------------------ */

struct row_range heat_rows_range(const struct heat_rows *rows, size_t index)
{
    return (struct row_range){
        .start = heat_row_key(rows->rows[index]),
        .end = index + 1 < rows->count ? heat_row_key(rows->rows[index + 1])
                                       : bytes_of(rows->end_bytes, rows->end_size),
    };
}

static bool is_at(const struct heat_rows *rows, size_t index, struct bytes key)
{
    return (index == 0 || bytes_compare(heat_row_key(rows->rows[index]), key) <= 0) &&
           (index + 1 == rows->count ||
            bytes_compare(heat_row_key(rows->rows[index + 1]), key) > 0);
}

size_t heat_rows_find(struct heat_rows *rows, struct bytes key)
{
    size_t low = 0;
    size_t high = rows->count;

    for (size_t i = rows->found; i < rows->count && i < rows->found + NEAR; i++) {
        if (is_at(rows, i, key)) {
            rows->found = i;
            return i;
        }
    }
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (bytes_compare(heat_row_key(rows->rows[middle]), key) <= 0) {
            low = middle;
        } else {
            high = middle;
        }
    }
    rows->found = low;
    return low;
}

double heat_rows_fraction(const struct heat_rows *rows,
                          const struct row_range *range,
                          struct bytes key)
{
    struct bytes low = range->start;
    struct bytes high = range->end;

    if (low.size_bytes == 0) {
        low = bytes_of(rows->low, rows->low_bytes);
        if (!rows->has_low || bytes_compare(key, low) <= 0) {
            return 0;
        }
    }
    if (high.size_bytes == 0) {
        high = bytes_of(rows->high, rows->high_bytes);
        if (!rows->has_low || bytes_compare(key, high) >= 0) {
            return 1;
        }
    }
    return heat_key_fraction(low, high, key);
}

void heat_rows_name(struct heat_rows *rows, struct bytes key)
{
    key = heat_key_cut(key);
    if (key.size_bytes == 0) {
        return;
    }
    if (!rows->has_low || bytes_compare(key, bytes_of(rows->low, rows->low_bytes)) < 0) {
        memcpy(rows->low, key.data, key.size_bytes);
        rows->low_bytes = key.size_bytes;
    }
    if (!rows->has_low || bytes_compare(key, bytes_of(rows->high, rows->high_bytes)) > 0) {
        memcpy(rows->high, key.data, key.size_bytes);
        rows->high_bytes = key.size_bytes;
    }
    rows->has_low = true;
}

/* --- cutting ------------------------------------------------------------------------------------ */

static void move_part(uint64_t *from, uint64_t *to, double share)
{
    uint64_t part = heat_part(*from, share);
    *from -= part;
    *to += part;
}

/* The right part of left's goes to right. */
static void share_out(struct heat_row *left, struct heat_row *right, double right_share)
{
    for (size_t i = 0; i < HEAT_VALUES; i++) {
        move_part(&left->values.of[i], &right->values.of[i], right_share);
    }
    move_part(&left->width, &right->width, right_share);
    move_part(&left->recent, &right->recent, right_share);
    move_part(&left->coming, &right->coming, right_share);
    move_part(&left->written, &right->written, right_share);
}

static bool has_room(struct heat_rows *rows)
{
    if (rows->count < rows->capacity) {
        return true;
    }
    size_t capacity = rows->capacity * 2;
    struct heat_row **grown = memory_resize(rows->rows, capacity * sizeof *grown);
    if (grown != NULL) {
        rows->rows = grown;
        rows->size_bytes += (capacity - rows->capacity) * sizeof *grown;
        rows->capacity = capacity;
    }
    return grown != NULL;
}

static bool may_cut(const struct heat_rows *rows, const struct heat_row *row)
{
    return rows->count <= rows->count_max / 2 || row->recent > rows->recent / STANDS_OUT;
}

void heat_rows_cut(struct heat_rows *rows, struct bytes key)
{
    key = heat_key_cut(key);
    size_t index = heat_rows_find(rows, key);
    struct row_range range = heat_rows_range(rows, index);

    if (bytes_compare(key, range.start) <= 0 ||
        (range.end.size_bytes > 0 && bytes_compare(key, range.end) >= 0)) {
        return;
    }
    heat_rows_name(rows, key);
    if (!may_cut(rows, rows->rows[index])) {
        return;
    }
    if (rows->count >= rows->count_max) {
        heat_rows_join(rows, rows->count_max / 4 * 3);
        index = heat_rows_find(rows, key);
        range = heat_rows_range(rows, index);
        if (bytes_equal(key, range.start)) {
            return;
        }
    }
    struct heat_row *right = has_room(rows) ? row_create(key) : NULL;
    if (right == NULL) {
        return;
    }
    share_out(rows->rows[index], right, 1 - heat_rows_fraction(rows, &range, key));
    memmove(&rows->rows[index + 2], &rows->rows[index + 1],
            (rows->count - index - 1) * sizeof(struct heat_row *));
    rows->rows[index + 1] = right;
    rows->count += 1;
    rows->size_bytes += sizeof *right + key.size_bytes;
}

void heat_rows_check(const struct heat_rows *rows)
{
    ASSERT(rows->count > 0 && rows->count <= rows->capacity && rows->count <= rows->count_max);
    for (size_t i = 1; i < rows->count; i++) {
        ASSERT(bytes_compare(heat_row_key(rows->rows[i - 1]), heat_row_key(rows->rows[i])) < 0);
    }
}
