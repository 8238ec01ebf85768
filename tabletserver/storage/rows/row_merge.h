/*
 * One row out of several layers: the part of the row reader that works inside a row.
 *
 * Each layer that has the row stands at its HEAD, the next entry of it that counts.  The lowest
 * head by entry_compare() is taken; deletes go into the cover, and because all deletes that can
 * cover a cell come before it in every layer, the cover is complete when the cell comes.  Heads at
 * one position are one cell: of puts the one with the largest stamp is it, folds are merged.
 * The heads behind a cell that was handed out move only at the next call, so bytes are borrowed
 * from the layers and nothing is copied but the current column's qualifier.
 *
 * When a single layer has the row, which is the common case, its stream is resolved already: there
 * is nothing to merge and its own deletes have done their work.
 *
 * RAW, without a table: every family, and what rules have expired, each cell with its stamp.
 *
 * Thread rule: as row_reader.h.  For the row reader only.
 */
#ifndef TABLETSERVER_STORAGE_ROWS_ROW_MERGE_H
#define TABLETSERVER_STORAGE_ROWS_ROW_MERGE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/buffer.h"
#include "tabletserver/storage/rows/delete_cover.h"
#include "tabletserver/storage/rows/row_reader.h"

/* One layer inside the current row. */
struct row_merge_layer {
    struct layer_cursor *cursor;
    const struct tablet_position *flushed; /* what of this row is in the base; NULL = nothing */
    bool has_head;
    bool is_taken; /* the head was handed out, or is part of what was */
    struct entry head;
};

struct row_merge {
    const struct table *table;
    int64_t now_us;
    struct row_merge_layer layers[ROW_READER_LAYERS_MAX]; /* that have the row; newest first */
    uint32_t layer_count;
    struct stamp row_covered; /* by range deletes */
    bool is_fresh;            /* not rewound yet: the first next does it */
    bool is_done;
    struct delete_cover cover;
    const struct family *family; /* of the last cell looked at; NULL = none yet */
    uint32_t column_family;      /* current column, where it matters; 0 = none */
    struct buffer column_qualifier;
    uint64_t column_cell_count; /* visible ones so far */
    struct entry shown;         /* raw: the cell handed out last, folds merged */
    struct buffer merged[2];
};

void row_merge_init(struct row_merge *merge);
void row_merge_deinit(struct row_merge *merge);

/* For the rows of one read; table NULL: raw.  Closing lets go of what a large value took; opening again is free. */
void row_merge_open(struct row_merge *merge, const struct table *table, int64_t now_us);
void row_merge_close(struct row_merge *merge);

/* A new row: none of its layers yet. */
void row_merge_begin(struct row_merge *merge, struct stamp row_covered);
void row_merge_add_layer(struct row_merge *merge,
                         struct layer_cursor *cursor,
                         const struct tablet_position *flushed);

/* As in struct cell_source; without a rewind a row begins at its start. */
enum status row_merge_rewind(struct row_merge *merge, uint32_t family, struct bytes qualifier);
enum status row_merge_next(struct row_merge *merge,
                           enum cell_demand demand,
                           struct cell *ret_cell,
                           bool *ret_found);

#endif /* TABLETSERVER_STORAGE_ROWS_ROW_MERGE_H */
