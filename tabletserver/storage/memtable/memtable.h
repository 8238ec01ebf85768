/*
 * The memtable: a tablet's changes since its last flush, ordered and versioned by sequence.
 *
 * One writer (the store's loop) inserts; any number of readers walk it at the same time without
 * blocking the writer.  A reader sees exactly the changes with a sequence up to its own.  Memory
 * comes from an arena that is freed whole when the last reference goes.
 *
 * FOLDING.  Adds to an aggregate cell are merged in place when no reader can tell: when the stored
 * one and the new one both lie at or below the fold floor = min(committed, oldest open reader).
 * So ten thousand adds to one cell cost one stored state.  Entries above the floor stay apart in
 * the cell's version chain and are folded by a later insert to the same cell.
 *
 * RANGE DELETES are not kept here.  Since a folded state has one stamp, adds from before and after
 * a range delete must not meet in one memtable: freeze it when a range delete is applied.
 *
 * Thread rules: what changes it on the writer's thread;
 * cursors on any thread, each on one at a time; ref and unref anywhere.
 */
#ifndef TABLETSERVER_STORAGE_MEMTABLE_MEMTABLE_H
#define TABLETSERVER_STORAGE_MEMTABLE_MEMTABLE_H

#include <stddef.h>
#include <stdint.h>

#include "common/base/buffer.h"
#include "common/base/stamp.h"
#include "common/model/mutation.h"
#include "common/model/row_set.h"
#include "tabletserver/storage/rows/entry.h"

struct memtable;

#define MEMTABLE_EXPECTED_BYTES_MAX 64
#define MEMTABLE_FORESEEN_MAX       24

/* With one reference, the caller's. */
enum status memtable_create(struct memtable **ret_memtable);

/* Rows are expected to begin with these bytes (MEMTABLE_EXPECTED_BYTES_MAX at most count); only
 * speed depends on it.  While the memtable is empty. */
void memtable_expect(struct memtable *memtable, struct bytes prefix);

/* What all rows of it begin with, as far as that can be expected of others; lives as it does. */
struct bytes memtable_shared_prefix(const struct memtable *memtable);

struct memtable *memtable_ref(struct memtable *memtable);
void memtable_unref(struct memtable *memtable); /* NULL is fine */

/* Make sure that applying these changes cannot fail.  Reservations add up, and are taken up by
 * memtable_apply() of the same rows and changes in the same order.  Errors: STATUS_NO_MEMORY. */
enum status memtable_reserve(struct memtable *memtable,
                             struct bytes row,
                             const struct change *changes,
                             size_t count);

/* Let a reservation go that will not be applied after all; the newest ones first. */
void memtable_cancel(struct memtable *memtable,
                     struct bytes row,
                     const struct change *changes,
                     size_t count);

/* This row will be applied soon, after those that were foreseen before it: what a search for it
 * will look at is brought closer meanwhile.  Only speed depends on it.  Of the rows that are not
 * applied yet the first MEMTABLE_FORESEEN_MAX count. */
void memtable_foresee(struct memtable *memtable, struct bytes row);

/*
 * Insert changes of one row.  Everything is copied.  sequence >= every earlier one (several rows
 * may share one), and stamps grow with sequences.  The i-th change has stamp.index + i; two entries
 * for one row under one clock must not share an index.  memtable_reserve() came before.
 */
void memtable_apply(struct memtable *memtable,
                    uint64_t sequence,
                    struct stamp stamp,
                    struct bytes row,
                    const struct change *changes,
                    size_t count);

/*
 * Take out again what lies above sequence, which is not below the floor: it was never committed.
 * Rows that it made are gone, and folds have what they had.  What is applied next may have sequences
 * and stamps of what was taken out; its memory is not used again.  Looks at every cell.  Returns the
 * highest stamp clock that is left; 0 = none.  Readers above sequence see it go.
 */
uint64_t memtable_drop_above(struct memtable *memtable, uint64_t sequence);

/* No reader at or below this sequence will be opened or is open below it any more. */
void memtable_raise_floor(struct memtable *memtable, uint64_t sequence);

/* Bytes of arena in use, and what sketches and series have beside it; 0 only when empty. */
size_t memtable_bytes(const struct memtable *memtable);
uint64_t memtable_row_count(const struct memtable *memtable);
uint64_t memtable_last_sequence(const struct memtable *memtable); /* 0 when empty */

/* A row of the range that about as many of the range's rows lie before as behind, to a few hundredths where there are
 * thousands, appended to row (reset first).  Rows count whatever their sequence: it is where to cut.  False: there are
 * fewer than two, or no memory.  Any thread, with a reference. */
bool memtable_middle_row(const struct memtable *memtable,
                         const struct row_range *range,
                         struct buffer *row);

/* A layer cursor at a sequence, not below the floor; holds a reference.  Rows, qualifiers and the
 * values of puts that it hands out live as long as it is open.  Errors: STATUS_NO_MEMORY. */
enum status memtable_cursor_open(struct memtable *memtable,
                                 uint64_t sequence,
                                 struct layer_cursor **ret_cursor);

#endif /* TABLETSERVER_STORAGE_MEMTABLE_MEMTABLE_H */
