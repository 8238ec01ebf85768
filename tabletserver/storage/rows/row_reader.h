/*
 * The row reader: a tablet's layers merged into rows of visible cells, at one sequence and time.
 *
 * Applies the rule of entry.h across layers, range deletes, folding, dropped families (a family
 * number that the schema does not know is invisible) and GC rules: what a rule has expired at
 * now_us is never shown, whether or not it has been erased yet.
 *
 * A frozen memtable that is being flushed is in the base up to its `flushed` position and must not
 * count twice there: entries at positions below it are taken from the base alone.
 *
 * Without a table it is RAW: every family there is, and what rules have expired, too.  That is what another
 * copy of the tablet must have.
 *
 * Thread rule: one thread at a time.  Owns the cursors given to it.
 */
#ifndef TABLETSERVER_STORAGE_ROWS_ROW_READER_H
#define TABLETSERVER_STORAGE_ROWS_ROW_READER_H

#include <stdbool.h>
#include <stdint.h>

#include "common/model/cell.h"
#include "common/model/row_set.h"
#include "common/model/schema.h"
#include "tabletserver/storage/rows/entry.h"

#define ROW_READER_LAYERS_MAX 8

/* A position inside a tablet: rows below `row`, and of `row` what is before (family, qualifier,
 * timestamp), lie below it.  An empty row with family 0 = nothing lies below it. */
struct tablet_position {
    struct bytes row;
    uint32_t family; /* 0 = the row's start */
    struct bytes qualifier;
    int64_t timestamp_us; /* cells with a LARGER timestamp of that column lie below the position */
    bool everything;      /* all of the tablet lies below it */
};

struct row_reader_layer {
    struct layer_cursor *cursor;    /* taken over */
    struct tablet_position flushed; /* this layer's entries below it are skipped; borrowed */
};

/* Rows in [start, end) up to this stamp are dead. */
struct range_delete {
    struct row_range range;
    struct stamp stamp;
    uint64_t sequence;
};

struct row_reader_options {
    const struct table *table;                             /* borrowed; NULL: raw */
    struct row_reader_layer layers[ROW_READER_LAYERS_MAX]; /* newest first */
    uint32_t layer_count;
    const struct range_delete *range_deletes; /* borrowed; those visible at the read's sequence */
    uint32_t range_delete_count;
    int64_t now_us; /* for GC rules */
};

struct row_reader;

/* A closed one; NULL without memory.  It may be opened and closed any number of times and keeps its
 * memory meanwhile, but for what a large row or value took. */
struct row_reader *row_reader_create(void);
void row_reader_destroy(struct row_reader *reader); /* closed; NULL is fine */

/* Of whoever waits for what is read.  A row may have very many cells, of which a filter may leave none. */
struct row_patience {
    enum status (*look)(
        void *context); /* asked now and then: what is not STATUS_OK ends the reading */
    void *context;
};

/* Takes over the layers' cursors, and closes them with itself. */
void row_reader_open(struct row_reader *reader, const struct row_reader_options *options);
void row_reader_close(struct row_reader *reader);

/* From here on until it is closed.  Without, it reads on whatever comes. */
void row_reader_set_patience(struct row_reader *reader, const struct row_patience *patience);

/* Stand on the nearest row that some layer has entries for; it may turn out to have no visible
 * cell.  *ret_row lives until the next seek. */
enum status row_reader_seek(struct row_reader *reader,
                            enum row_seek seek,
                            struct bytes row,
                            struct bytes *ret_row,
                            bool *ret_found);

/* The visible cells of the row it stands on.  The source is good until the next seek or close. */
struct cell_source row_reader_source(struct row_reader *reader);

/* Of a raw reader: the cell that its source handed out last, with its stamp and, of a fold, its whole state.
 * Good as long as that cell is. */
const struct entry *row_reader_shown(const struct row_reader *reader);

#endif /* TABLETSERVER_STORAGE_ROWS_ROW_READER_H */
