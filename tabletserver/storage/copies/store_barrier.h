/*
 * The barriers of a tablet with copies (docs/replication.md, section 7): entries that say that it is to be
 * split or merged, and those that lift them.
 *
 *    81 SPLIT           ---.       kept: 81, and 82, which lifts it; from when 82 is in the base, nothing
 *    82 SPLIT_ABORTED      '---
 *
 * Kept is what stands where the base ends, and all beyond that.  So what may yet be dropped can be
 * forgotten, and what a flush says in the base is true of its sequence, however much is committed since.
 *
 * For the store's own files only.  Thread rule: changed by the loop, under the tablet's mutex.
 */
#ifndef TABLETSERVER_STORAGE_COPIES_STORE_BARRIER_H
#define TABLETSERVER_STORAGE_COPIES_STORE_BARRIER_H

#include <stdbool.h>

#include "tabletserver/storage/copies/store_replica.h"

struct store_barrier {
    struct store_barrier *next; /* of a higher sequence */
    struct store_entry entry;   /* its payload lies behind the struct */
};

/* Is it a barrier, or does it lift one? */
bool store_barrier_is_one(uint8_t type);
bool store_barrier_lifts(uint8_t type);

/* A copy; NULL without memory. */
struct store_barrier *store_barrier_create(const struct store_entry *entry);
void store_barriers_push(struct store_barrier **barriers, struct store_barrier *barrier);
void store_barriers_clear(struct store_barrier **barriers);

/* Everything up to sequence is in the base: forget what does not stand there any more. */
void store_barriers_forget(struct store_barrier **barriers, uint64_t sequence);
void store_barriers_drop_above(struct store_barrier **barriers, uint64_t sequence);

/* The one that stands at sequence, which is committed and not below the base's; NULL = none. */
const struct store_entry *store_barriers_standing(const struct store_barrier *barriers,
                                                  uint64_t sequence);

/* The last one of that type, unless what is committed has lifted it; NULL = none. */
const struct store_entry *store_barriers_last(const struct store_barrier *barriers,
                                              enum record_type type,
                                              uint64_t committed);

#endif /* TABLETSERVER_STORAGE_COPIES_STORE_BARRIER_H */
