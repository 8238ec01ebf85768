/*
 * The window: a replica's entries above its committed point, and those that the last step has
 * committed, until the next one.
 *
 *      first            committed            next = appended + 1
 *        |  committed by this step  |  above committed  |
 *
 * Invariant: it holds every sequence in [first, next), each once, ascending; versions do not fall.
 *
 * An entry may be held without its bytes: a lone primary sends them to nobody, so nothing is copied
 * and nothing is allocated (its log has them).
 *
 * Pure.  Thread rule: its replica's.
 */
#ifndef TABLETSERVER_REPLICA_REPLICA_WINDOW_H
#define TABLETSERVER_REPLICA_REPLICA_WINDOW_H

#include "tabletserver/replica/replica.h"

struct window_slot {
    struct replica_entry entry;
    uint8_t *bytes;      /* owned; NULL when none were kept */
    uint64_t size_bytes; /* what it counts for, kept or not */
    bool kept;
};

struct replica_window {
    struct window_slot *slots; /* a ring: sequence s lies at s modulo capacity */
    uint64_t capacity;         /* a power of two */
    uint64_t first;
    uint64_t next;
    uint64_t size_bytes;
    uint8_t *spare; /* set aside for the next entry; NULL when there is nothing */
    size_t spare_bytes;
};

/* Empty, to be gone on with behind `sequence`.  Errors: STATUS_NO_MEMORY. */
enum status replica_window_init(struct replica_window *window, uint64_t sequence);
void replica_window_deinit(struct replica_window *window);

/* Requires: entry->sequence == next.  keep: copy its bytes.  Errors, which change nothing:
 * STATUS_NO_MEMORY. */
enum status replica_window_append(struct replica_window *window,
                                  const struct replica_entry *entry,
                                  bool keep);

/* Set memory aside for an entry of that payload, kept or not: the append of it that comes next does not
 * fail.  Errors: STATUS_NO_MEMORY. */
enum status replica_window_reserve(struct replica_window *window, size_t payload_bytes, bool keep);

/* NULL when it is not there.  Good until the window changes. */
const struct window_slot *replica_window_slot(const struct replica_window *window,
                                              uint64_t sequence);

/* Forget what lies above `sequence`, at or below it. */
void replica_window_drop_above(struct replica_window *window, uint64_t sequence);
void replica_window_trim(struct replica_window *window, uint64_t sequence);

/* Forget everything, and go on behind `sequence`. */
void replica_window_restart(struct replica_window *window, uint64_t sequence);

#endif /* TABLETSERVER_REPLICA_REPLICA_WINDOW_H */
