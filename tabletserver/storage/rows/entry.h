/*
 * Entries and layers: the one shape in which every part of storage speaks of data.
 *
 * A tablet's data is a stack of layers, newest first: the active memtable, frozen memtables, and
 * the base (LMDB).  Each layer yields, row by row, a stream of entries in POSITION order:
 *
 *     ROW_DELETE
 *     then for each family, ascending by number:
 *         FAMILY_DELETE
 *         then for each qualifier, ascending:
 *             COLUMN_DELETE ...   by start_us descending; may overlap
 *             PUT | FOLD ...      one per timestamp, descending
 *
 * The rule that joins layers, and that a three-line oracle can check: a cell is dead if and only
 * if a delete that covers it has a LARGER stamp; among live puts of one position the largest stamp
 * wins; folds of one position are merged, down to the first layer whose data a delete covers.
 * Within a layer the stream is already resolved that way, so at one position there is at most one
 * PUT or FOLD.
 *
 * Stamps in the base are kept per chunk: all cells of a chunk carry the chunk's largest stamp, and
 * whoever rewrites a chunk first applies every delete known with a stamp up to the new one.
 * So a cell's stamp is never lower than its own, and no delete that it survived can kill it.
 */
#ifndef TABLETSERVER_STORAGE_ROWS_ENTRY_H
#define TABLETSERVER_STORAGE_ROWS_ENTRY_H

#include <stdbool.h>
#include <stdint.h>

#include "common/aggregate/aggregate.h"
#include "common/base/bytes.h"
#include "common/base/stamp.h"
#include "common/base/status.h"

enum entry_kind {
    ENTRY_ROW_DELETE = 1,
    ENTRY_FAMILY_DELETE = 2,
    ENTRY_COLUMN_DELETE = 3, /* timestamps in [start_us, end_us) */
    ENTRY_PUT = 4,
    ENTRY_FOLD = 5,  /* value is a state to be merged; aggregate says how */
    ENTRY_ERASE = 6, /* to the base writer only: remove this very cell, leave no tombstone */
};

struct entry {
    enum entry_kind kind;
    uint32_t family; /* 0 for ROW_DELETE */
    struct bytes qualifier;
    int64_t timestamp_us; /* PUT, FOLD, ERASE */
    int64_t start_us;     /* COLUMN_DELETE */
    int64_t end_us;       /* COLUMN_DELETE; INT64_MAX = for ever */
    struct stamp stamp;
    enum aggregate_kind aggregate; /* of the family; NONE for plain */
    struct bytes value;
};

/* Position order of two entries of one row; kinds take part as drawn above. */
int entry_compare(const struct entry *a, const struct entry *b);

enum row_seek {
    ROW_AT_OR_AFTER,
    ROW_AFTER,
    ROW_AT_OR_BEFORE,
    ROW_BEFORE,
    ROW_LAST, /* the last row there is; row is not looked at */
};

/*
 * A cursor over one layer.  Bytes handed out live until the next call on the same cursor, except
 * that *ret_row of seek_row lives until the next seek_row.
 *
 *   seek_row    Stand on the nearest row that this layer has entries for.  Moving on from the row
 *               it stands on (ROW_AFTER, ROW_BEFORE with that row) must be cheap.
 *   seek_entry  In the row it stands on: go to the first entry at or after (family, qualifier), but
 *               yield first the row's ROW_DELETE and that family's FAMILY_DELETE, if any.
 *               family 0 = the row's start.  Needed before the first next_entry of a row.
 *   next_entry  *ret_found = false at the end of the row.
 *   skip_column As next_entry, but everything left of the current column is passed over first.
 *
 * Errors: STATUS_CORRUPT, STATUS_IO, STATUS_NO_MEMORY.
 */
struct layer_cursor;

struct layer_cursor_operations {
    enum status (*seek_row)(struct layer_cursor *cursor,
                            enum row_seek seek,
                            struct bytes row,
                            struct bytes *ret_row,
                            bool *ret_found);
    enum status (*seek_entry)(struct layer_cursor *cursor, uint32_t family, struct bytes qualifier);
    enum status (*next_entry)(struct layer_cursor *cursor,
                              struct entry *ret_entry,
                              bool *ret_found);
    enum status (*skip_column)(struct layer_cursor *cursor,
                               struct entry *ret_entry,
                               bool *ret_found);
    void (*close)(struct layer_cursor *cursor);
};

/* First member of every implementation's own cursor. */
struct layer_cursor {
    const struct layer_cursor_operations *operations;
};

#endif /* TABLETSERVER_STORAGE_ROWS_ENTRY_H */
