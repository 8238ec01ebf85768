/*
 * The base as a layer: rows of several extents in order, their chunks and stored tombstones.
 *
 * Two walks go side by side, over chunks and over tombstones; a row is there when one of them has
 * it.  Nothing of a chunk is decoded before its entries are asked for.
 *
 *   base_cursor_row.c     seek_row: which row comes next
 *   base_cursor_chunk.c   the chunks of a row and their live cells
 *   base_cursor.c         entries, opening and closing
 */
#ifndef TABLETSERVER_STORAGE_BASE_BASE_CURSOR_H
#define TABLETSERVER_STORAGE_BASE_BASE_CURSOR_H

#include "tabletserver/storage/base/base_internal.h"

/* Where the walk over chunks stands, seen from the current row. */
enum base_place {
    BASE_PLACE_UNKNOWN,
    BASE_PLACE_ROW_START, /* on its first chunk */
    BASE_PLACE_IN_ROW,    /* on one of its chunks */
    BASE_PLACE_BEHIND,    /* on the first chunk behind it, or past the end */
};

struct base_cursor {
    struct layer_cursor layer;
    struct base_snapshot *snapshot;
    const struct base_piece *pieces;
    uint32_t piece_count;

    bool piece_open;
    uint32_t piece;
    bool with_tombstones;
    struct kv_cursor *value_cursor; /* opened when first needed */

    bool row_open;
    /* What of row and row_key comes from the path of the walk, and stays while that does
     * (layer_moves). */
    uint64_t path_layer_moves;
    size_t path_row_bytes;
    size_t path_row_key_bytes;
    bool row_has_data;
    bool row_has_tombstones;
    enum base_place place;

    bool tombstones_loaded;
    size_t tombstone_next;
    const struct entry *head_row; /* deletes that cover more than the position sought */
    const struct entry *head_family;

    bool chunk_open;
    bool cell_ready;
    struct chunk_cell cell;
    bool column_known; /* of the entry last handed out */
    uint32_t column_family;
    struct bytes column_qualifier;

    /* All above begins as zeros; what follows keeps its memory from one use to the next. */
    struct buffer piece_start; /* row' of its range; empty = open */
    struct buffer piece_end;
    struct buffer row;
    struct buffer row_key;
    struct buffer seek;
    struct buffer qualifier;
    struct buffer column;
    struct buffer value;
    struct base_tombstones tombstones;
    struct chunk_reader reader;
    struct base_walk data;
    struct base_tombstone_finder finder;
};

/* Note what is damaged, for base_snapshot_trouble(); other errors pass through. */
enum status base_cursor_trouble(struct base_cursor *cursor, enum status status, const char *what);

/* --- base_cursor.c ---------------------------------------------------------------------------- */

void base_spares_init(struct base_spares *spares);
void base_spares_deinit(struct base_spares *spares);

/* --- base_cursor_row.c ------------------------------------------------------------------------ */

enum status base_cursor_seek_row(struct layer_cursor *layer,
                                 enum row_seek seek,
                                 struct bytes row,
                                 struct bytes *ret_row,
                                 bool *ret_found);

/* --- base_cursor_chunk.c ---------------------------------------------------------------------- */

/* Stand before the first live cell at or after position. */
enum status base_cursor_go_to_cell(struct base_cursor *cursor,
                                   const struct base_position *position);
/* Make the next live cell of the row ready, if there is one. */
enum status base_cursor_pull_cell(struct base_cursor *cursor);
/* Pass over what is left of the column of the entry last handed out. */
enum status base_cursor_pass_column(struct base_cursor *cursor);

#endif /* TABLETSERVER_STORAGE_BASE_BASE_CURSOR_H */
