/*
 * The key space (or a range of it) cut into rows of a heat map, and what was counted in each.
 *
 *   row 0          row 1       row 2                       last row
 *   [start ........ k1 ........ k2 ........................ end)
 *
 * Rows become finer where there is load: a boundary is put in as long as there is room, then only where the
 * row that it cuts stands out.  Where there are too many, neighbours of little load and size are joined.
 * What a row has counted is shared out when it is cut, by how far the cut is from its ends (heat_key.h);
 * nothing is ever lost or made: the sum of a value over all rows is what was added.
 *
 * Of memory that is missing nothing is said: there is one boundary less.
 *
 * Pure.  Thread rule: one owner.
 */
#ifndef MASTER_HEAT_HEAT_ROWS_H
#define MASTER_HEAT_HEAT_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/model/row_set.h"
#include "master/heat/heat_key.h"

/* What is counted of a row and a time.  Part of the stored format: only ever add at the end. */
enum heat_value {
    HEAT_READS,
    HEAT_READ_ROWS,
    HEAT_READ_BYTES,
    HEAT_READ_CPU_NS,
    HEAT_WRITES,
    HEAT_WRITE_CELLS,
    HEAT_WRITE_BYTES,
    HEAT_WRITE_CPU_NS,
    HEAT_SIZE_BYTES,   /* stored: not a count but as it was last */
    HEAT_READ_WAIT_NS, /* added up: of reads by key, and of scans until their first part */
    HEAT_READ_LATENCY_NS,
    HEAT_WRITE_WAIT_NS,
    HEAT_WRITE_LATENCY_NS,
};

/* Counts are kept in parts of one, so that one operation can be shared out over many rows. */
#define HEAT_UNIT UINT64_C(1024)

#define HEAT_VALUES ((size_t)HEAT_WRITE_LATENCY_NS + 1)

struct heat_values {
    uint64_t of[HEAT_VALUES];
};

struct heat_row {
    struct heat_values values;
    uint64_t width;   /* how much of the picture: about its size; what values are shared out by */
    uint64_t recent;  /* cost, of late */
    uint64_t coming;  /* size, of the sweep that is under way */
    uint64_t written; /* bytes since the last sweep: where what has grown has grown */
    size_t key_bytes;
    uint8_t key[];
};

struct heat_rows {
    struct heat_row **rows; /* ascending; the first one's key is the range's start */
    size_t count;           /* at least 1 */
    size_t capacity;
    size_t count_max;
    uint64_t recent; /* of all rows */
    uint64_t width;
    size_t found;      /* the row that was found last: the next one is often near */
    size_t size_bytes; /* of memory */
    size_t end_size;   /* of end_bytes, the range's end; 0 = to the last key */
    size_t low_bytes;  /* lowest and highest key inside that anybody named: where rows are, */
    size_t high_bytes; /* as far as we know */
    bool has_low;
    uint8_t end_bytes[HEAT_KEY_BYTES_MAX];
    uint8_t low[HEAT_KEY_BYTES_MAX];
    uint8_t high[HEAT_KEY_BYTES_MAX];
};

#define HEAT_ROWS_LEAST 8 /* of count_max */

/* One row: the whole range.  Errors: STATUS_NO_MEMORY; then there is nothing to deinit. */
enum status heat_rows_init(struct heat_rows *rows, const struct row_range *range, size_t count_max);
void heat_rows_deinit(struct heat_rows *rows);

struct row_range heat_rows_range(const struct heat_rows *rows, size_t index);

/* Index of the row that holds key; the first for keys before the range. */
size_t heat_rows_find(struct heat_rows *rows, struct bytes key);

/* There are rows at key: so far, at least, do those of a row that has no end go.  Of many keys name all, then
 * cut. */
void heat_rows_name(struct heat_rows *rows, struct bytes key);

/* Cut at key, if it is inside and there is room, or what it cuts stands out. */
void heat_rows_cut(struct heat_rows *rows, struct bytes key);

/* Of a range that has values, how much is here: values of the part outside are left away. */
struct heat_values heat_rows_clip(const struct heat_rows *rows,
                                  const struct row_range *range,
                                  const struct heat_values *values);

/* Add counts of a range, shared out over its rows; outside of ours nothing. */
void heat_rows_add(struct heat_rows *rows,
                   const struct row_range *range,
                   const struct heat_values *values);

/* Which rows a range lies in, and the share of each: ret_shares has room for all rows, and adds up to
 * 1.  Returns the first one's index; *ret_count 0 = none. */
size_t heat_rows_shares(struct heat_rows *rows,
                        const struct row_range *range,
                        double *ret_shares,
                        size_t *ret_count);

/* Join neighbours until there are at most so many. */
void heat_rows_join(struct heat_rows *rows, size_t count_max);

/* Join what has load, and no width, with its neighbour: else next to nothing would seem to be the hottest.
 * The first and the last row are given a width rather, like the one beside them.
 * Where nothing has a width all stay. */
void heat_rows_join_unsized(struct heat_rows *rows);

/* Let go of what was counted; sizes and widths stay, and what was of late fades. */
void heat_rows_rest(struct heat_rows *rows);

/* A sweep over the sizes of tablets: each once, in any order, then end it: rows have the sizes then. */
void heat_rows_sweep(struct heat_rows *rows, const struct row_range *range, uint64_t size_bytes);
void heat_rows_sweep_end(struct heat_rows *rows);

/* Abort unless rows are in order.  For tests. */
void heat_rows_check(const struct heat_rows *rows);

#endif /* MASTER_HEAT_HEAT_ROWS_H */
