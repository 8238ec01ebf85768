/*
 * The memtable's memory: chunks that only fill up, with room promised in advance.
 *
 * A promise (reserve) finds the chunk in which a batch of at most so many bytes will fit, or adds
 * one; begin takes the promise up, and the takes that follow it cannot fail as long as they stay
 * within it.  Promises are taken up in the order in which they were given.  Chunks start small and
 * double, so that the memtable of an idle tablet costs little.
 *
 *     chunk     4 KiB      8 KiB       16 KiB ... 2 MiB
 *             [########][#####.....][..........]
 *                         ^ current    ^ plan: where the last promise ends if all are used up
 *
 * Invariant: (current, its used_bytes) <= (plan, plan_used_bytes), as what is taken never exceeds what was
 * promised; so a batch always meets a chunk that holds it, at the latest the one planned for it.
 *
 * Thread rule: the memtable's writer only, except taken_bytes.
 */
#ifndef TABLETSERVER_STORAGE_MEMTABLE_MEMTABLE_ARENA_H
#define TABLETSERVER_STORAGE_MEMTABLE_MEMTABLE_ARENA_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/status.h"

struct memtable_chunk;

struct memtable_arena {
    struct memtable_chunk *first;
    struct memtable_chunk *current;
    struct memtable_chunk *plan;
    size_t plan_used_bytes;
    size_t promised_bytes;     /* given and not yet taken up or cancelled */
    size_t next_chunk_bytes;   /* size of the next ordinary chunk */
    atomic_size_t taken_bytes; /* with the ends of chunks that were left behind */
};

void memtable_arena_init(struct memtable_arena *arena);
void memtable_arena_deinit(struct memtable_arena *arena);

/* Promise.  Errors: STATUS_NO_MEMORY. */
enum status memtable_arena_reserve(struct memtable_arena *arena, size_t size_bytes);

/* Take up the oldest promise, which was for size_bytes; or let it go. */
void memtable_arena_begin(struct memtable_arena *arena, size_t size_bytes);
void memtable_arena_cancel(struct memtable_arena *arena, size_t size_bytes);

/* Memory aligned for 8 bytes, inside what the last begin took up. */
void *memtable_arena_take(struct memtable_arena *arena, size_t size_bytes);

#endif /* TABLETSERVER_STORAGE_MEMTABLE_MEMTABLE_ARENA_H */
