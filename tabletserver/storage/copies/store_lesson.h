/*
 * A slice on its way into a learner's store (store_slice.h): the job that the store's two threads hand to each other.
 *
 *   loop                         work thread                            loop
 *   store_learn(): what is to    store_run_lesson(): one transaction    store_on_lesson(): memory follows
 *   be written, as a job  -----> and what it knows of the base   -----> the base; on_taught
 *
 * RECORDS replace the tablet's pieces, map and metadata in the base at once; what the loop has of it in memory is
 * replaced when it hears that this is done.  In between nothing comes to the tablet (learn.replaces), and nothing of
 * it is flushed or tidied (learn.replaced).
 *
 * Entries whose sequences lie between those of two slices are about rows to the left of both: to the right, the later
 * slice has them, or one that is still to come.  So for all that is not taught yet the applied map may say what it
 * says of the last slice.  That those rows are not there is said by the metadata record (half_taught), by which the
 * tablet is an empty one if the store is opened before the lesson is over.
 */
#ifndef TABLETSERVER_STORAGE_COPIES_STORE_LESSON_H
#define TABLETSERVER_STORAGE_COPIES_STORE_LESSON_H

#include "tabletserver/storage/copies/slice.h"
#include "tabletserver/storage/copies/store_copies.h"
#include "tabletserver/storage/store/store_internal.h"

enum lesson_kind {
    LESSON_PIECE, /* a piece of the RECORDS, and not the last: nothing is written yet */
    LESSON_FIRST, /* the last piece: all RECORDS are written */
    LESSON_ROWS,  /* a slice of rows */
    LESSON_END,   /* there is no more: the copy is whole */
};

struct store_lesson {
    enum lesson_kind kind;
    struct buffer bytes;
    struct arena arena;
    struct slice slice; /* decoded; lies in bytes and arena */

    /* LESSON_FIRST: what takes the place of what the tablet has. */
    struct buffer image;
    struct store_layer *layer;
    struct store_pieces *pieces;
    struct store_range_deletes *deletes;
    struct horizon *horizons;
    struct dedupe *dedupe;

    bool flush_due; /* the applied map has many segments: a flush makes them one */
};

#endif /* TABLETSERVER_STORAGE_COPIES_STORE_LESSON_H */
