/*
 * Aggregate cells of a memtable: a folded state, and the adds that may not be folded yet.
 *
 *     cell->versions --> base --next--> add --next--> add     oldest first, by sequence and stamp
 *                        state          \___ pending _____/
 *
 * An add is always linked behind the last one.  Adds at or below the floor are then folded into the
 * base and unlinked, and their memory is used again, so a hot cell costs one state and as many adds
 * as lie between the floor and now.  Sketches are folded in batches, because one merge of a sparse
 * sketch costs as much as its size; their state moves to the heap, where it can grow and be freed.
 *
 * WHY NO ADD IS COUNTED TWICE OR MISSED.  Readers copy the base and the adds up to their sequence
 * under the cell's stripe lock; the writer folds, unlinks and recycles under the same lock.  So a
 * reader sees each add either in the base or in the chain.  Everything in the base lies at or below
 * the floor (or is the cell's first add, with a sequence of its own), and no reader's sequence is
 * below the floor, so the base holds nothing that a reader must not see.  The writer links new adds
 * without the lock, by a release store: a reader may or may not see them, but their sequences are
 * above those of all readers that are open, who pass them over.  A recycled add is not reachable
 * for a reader that takes the lock after it was unlinked, until it is linked again.
 *
 * The writer never waits for readers: when the lock is taken it folds later.
 *
 * TAKING OUT what was never committed cuts the chain behind the last add that was, under the lock.
 * That may be the base itself, where the cell is younger: then there is no chain until the next add.
 *
 * DELETES.  An add is folded into the base only if no delete at or below the floor lies between
 * their stamps; one that does kills the base for every reader there is or will be, and the add
 * starts a new one.  So a base as a whole is older or younger than any delete.
 *
 * For the memtable's own files only.
 */
#ifndef TABLETSERVER_STORAGE_MEMTABLE_MEMTABLE_FOLD_H
#define TABLETSERVER_STORAGE_MEMTABLE_MEMTABLE_FOLD_H

#include "common/base/buffer.h"
#include "common/model/mutation.h"
#include "tabletserver/storage/memtable/memtable_nodes.h"

/* A state that is on the heap because it grows.  Its memory is guarded by the stripe lock. */
struct memtable_sketch {
    uint32_t size_bytes;
    uint32_t capacity_bytes;
    uint8_t data[];
};

/* Part of a FOLD cell.  All of it is the writer's; `sketch` only changes under the stripe lock. */
struct memtable_fold {
    struct memtable_version *tail;  /* the newest add; the base when nothing is pending */
    struct memtable_sketch *sketch; /* NULL while the state lies in the base version */
    struct memtable_fold *next_owner;
    uint32_t pending_count;
    uint16_t batch_count; /* merge sketches when so many are pending */
    uint16_t aggregate;   /* enum aggregate_kind */
};

struct memtable_fold *memtable_cell_fold(const struct memtable_cell *cell);

/* Room that an add with this operand takes: a little more, so that it can be used again. */
size_t memtable_add_capacity_bytes(size_t operand_size_bytes);

/* Bytes that memtable_fold_add() takes at most. */
size_t memtable_fold_add_size_bytes(const struct change *change);

/* Start the fold part of a cell that has just been made with its first add. */
void memtable_fold_init(struct memtable_cell *cell, enum aggregate_kind aggregate);

/* One more add to an existing cell.  Cannot fail. */
void memtable_fold_add(struct memtable *memtable,
                       const struct memtable_row *row,
                       struct memtable_cell *cell,
                       const struct change *change,
                       uint64_t sequence,
                       struct stamp stamp);

/* Take the adds above sequence out again; it is not below the floor, so none of them is folded.
 * Returns the clock of the newest that is left; 0 = none: the next add starts anew. */
uint64_t memtable_fold_drop_above(struct memtable *memtable,
                                  struct memtable_cell *cell,
                                  uint64_t sequence);

/* What a reader keeps between reads of folds. */
struct memtable_fold_reader {
    struct buffer pieces; /* states as copied: 4 bytes of size, then the state */
    struct buffer merged[2];
};

void memtable_fold_reader_init(struct memtable_fold_reader *reader);
void memtable_fold_reader_deinit(struct memtable_fold_reader *reader);

/* The fold of all adds at or below sequence with stamps above `covered`.  *ret_stamp is that of the
 * newest of them; *ret_state lives until the next call.  Errors: STATUS_NO_MEMORY,
 * STATUS_CORRUPT (states that cannot be merged). */
enum status memtable_fold_read(struct memtable *memtable,
                               const struct memtable_cell *cell,
                               uint64_t sequence,
                               struct stamp covered,
                               struct memtable_fold_reader *reader,
                               struct bytes *ret_state,
                               struct stamp *ret_stamp,
                               bool *ret_found);

/* Free what folds hold on the heap. */
void memtable_fold_deinit_all(struct memtable *memtable);

#endif /* TABLETSERVER_STORAGE_MEMTABLE_MEMTABLE_FOLD_H */
