/*
 * A slice on its way into a learner's store (store_slice.h): the job that its threads hand to each other.
 *
 *   loop                         work thread                            loop
 *   store_learn(): what is to    store_run_lesson(): one transaction    store_on_lesson(): memory follows
 *   be written, as a job  -----> and what it knows of the base   -----> the base; on_taught
 *
 * RECORDS replace the tablet's pieces, map and metadata; what is in memory of it changes only when the loop
 * hears of that.  In between nothing of the tablet is flushed or tidied (learnt_first), and nothing comes to
 * it (learns_first).
 *
 * An entry between the sequences of two slices belongs to rows left of both: right of them it is in the
 * second, or in one to come.  So the map says of all that is not yet taught what it says of the last slice;
 * that this is not there is said by the metadata record (half_taught), which makes the tablet an empty one
 * at the next start.
 */
#ifndef TABLETSERVER_STORAGE_COPIES_STORE_LESSON_H
#define TABLETSERVER_STORAGE_COPIES_STORE_LESSON_H

#include "tabletserver/storage/copies/slice.h"
#include "tabletserver/storage/copies/store_copies.h"
#include "tabletserver/storage/store/store_internal.h"

enum lesson_kind {
    LESSON_PIECE, /* of RECORDS, not the last: nothing to write */
    LESSON_FIRST, /* all RECORDS */
    LESSON_ROWS,
    LESSON_END,
};

struct store_lesson {
    enum lesson_kind kind;
    struct buffer bytes;
    struct arena arena;
    struct slice slice; /* in those */

    /* FIRST: what takes the place of what was there. */
    struct buffer image;
    struct store_layer *layer;
    struct store_pieces *pieces;
    struct store_range_deletes *deletes;
    struct horizon *horizons;
    struct dedupe *dedupe;

    bool flush_due; /* the map has many segments */
};

#endif /* TABLETSERVER_STORAGE_COPIES_STORE_LESSON_H */
