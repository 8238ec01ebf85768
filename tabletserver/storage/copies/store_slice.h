/*
 * A tablet taught to another store as slices (slice.h), when the log is not enough: reading them where it
 * is, writing them where it shall be (docs/replication.md, section 6).
 *
 *   teacher   store_slices_read() ... : RECORDS at a committed sequence, then ROWS from left to right, each
 *             at what is committed then; so sequences rise
 *   learner   store_learn() each, in the same order, then store_learn_end()
 *
 *        taught                   not yet taught
 *   |----------------------|- - - - - - - - - - - - -|
 *     entries are applied     entries up to the last slice's sequence are in the slices to come:
 *                             passed over; those above it wait in the window
 *
 * RECORDS begin it: what the learner had is dropped, in one transaction with a fresh extent and the sequence
 * from which its log goes on.  Each ROWS is one transaction with the applied map.  A cut lies between rows,
 * or, in a large one, between slices of one sequence: a chunk never has cells of two.
 *
 * Half taught, a tablet is no copy: it is not read, and commits no further than its slices say.  A store that
 * is opened finds it empty, at sequence 0, with its configuration: whatever the log has of it counts for
 * nothing.
 *
 * Thread rule: as said at each function.
 */
#ifndef TABLETSERVER_STORAGE_COPIES_STORE_SLICE_H
#define TABLETSERVER_STORAGE_COPIES_STORE_SLICE_H

#include "common/base/buffer.h"
#include "tabletserver/storage/copies/store_replica.h"

/* Are slices of it read and written as fast as they can be, as the load of a busy server goes with it?  Else,
 * as it begins, they are smaller, and rested after, so that requests keep their processors (flush_pace.h).
 * The loop. */
void store_tablet_hurry(struct store_tablet *tablet, bool hurried);

/* --- teaching --------------------------------------------------------------------------------------- */

struct store_slices;

/* From now on the log is kept for others, also for who is the only member.  The loop. */
void store_tablet_share(struct store_tablet *tablet);

/* What the log has of it so far is not to be given to others any more.  Tests.  The loop. */
void store_tablet_forget_log(struct store_tablet *tablet);

/* The log goes on behind this sequence, as far as is known: who has everything up to it needs no slices.
 * The loop. */
bool store_log_follows(struct store_tablet *tablet, uint64_t sequence);

/* A walk through the tablet begins: its exactly-once records and horizons at what is committed now, which is
 * *ret_sequence.  next_clock: the stamp clock of the entry after that; 0 = there is none.  The loop.
 * Errors: STATUS_NO_MEMORY, STATUS_UNAVAILABLE (it is not known, and there is one: come again). */
enum status store_slices_begin(struct store_tablet *tablet,
                               uint64_t next_clock,
                               struct store_slices **ret_slices,
                               uint64_t *ret_sequence);

/* Any thread that may wait for the disk, one at a time.  Appends the next slice; *ret_last: there is none
 * behind it.  In a row that takes several it keeps a read open from one to the next.  Errors, after which it
 * stands where it stood: STATUS_NO_MEMORY, STATUS_IO, STATUS_LIMIT, STATUS_CORRUPT, STATUS_NOT_OWNER; but
 * STATUS_ABORTED: one of them came inside a row, or its read was let go there, and another walk must begin. */
enum status store_slices_read(struct store_slices *slices,
                              struct buffer *out,
                              uint64_t *ret_sequence,
                              bool *ret_last);

/* Inside a row, let go of the read that is open: what it has seen of base and memory is not used again meanwhile.  By
 * whoever may read the next one. */
void store_slices_let_go(struct store_slices *slices);

/* By whoever has read the last one: for how long its thread's time is better left to others now; 0 = the
 * tablet is hurried. */
int64_t store_slices_rest_ns(const struct store_slices *slices);

void store_slices_end(struct store_slices *slices); /* NULL is fine */

/* --- learning: the loop ----------------------------------------------------------------------------- */

/*
 * Write the next slice; durable when on_taught comes.  One at a time.  Requires: the tablet follows, and has a
 * configuration in which it does not count.  Meanwhile, of the first, entries, configurations and commits are
 * refused (STATUS_RESOURCE_EXHAUSTED).
 * Errors: STATUS_UNAVAILABLE (not everything up to the slice before is committed, or one is being written:
 * come again), STATUS_FAILED_PRECONDITION (RECORDS below what its log has; not the next slice),
 * STATUS_CORRUPT, STATUS_VERSION, STATUS_NO_MEMORY.
 */
enum status store_learn(struct store_tablet *tablet, struct bytes slice, struct error *ret_error);

/* That was the last: it is a copy when on_taught comes.  Errors: STATUS_UNAVAILABLE, STATUS_NO_MEMORY,
 * STATUS_FAILED_PRECONDITION (it is not at its end). */
enum status store_learn_end(struct store_tablet *tablet);

/* Some of a walk's RECORDS have come, and not all: the tablet has not begun anew yet. */
bool store_learn_gathers(const struct store_tablet *tablet);

/* Is all up to the last slice's sequence committed, and nothing being written?  While RECORDS gather there
 * is nothing to commit. */
bool store_learn_is_level(const struct store_tablet *tablet);

/* Has it a part only, or is what it has about to go? */
bool store_tablet_is_half_taught(const struct store_tablet *tablet);

/* Has it begun a lesson, durably, so that nothing is left of what it had? */
bool store_tablet_began_anew(const struct store_tablet *tablet);

#endif /* TABLETSERVER_STORAGE_COPIES_STORE_SLICE_H */
