/*
 * An arena: many small allocations, freed all at once.
 *
 * One per request, per decoded message, per parsed filter.  Memory comes in blocks, a small one first
 * and then larger ones up to block_bytes; a request larger than a block gets a block of its own.
 * arena_reset() keeps the newest block, so an arena that is reused settles at no heap traffic at all.
 * One that is for little may be lent its first block: memory on the stack of who uses it, or behind what
 * it is part of.
 *
 * Thread rule: one owner at a time.
 */
#ifndef COMMON_BASE_ARENA_H
#define COMMON_BASE_ARENA_H

#include <stddef.h>
#include <stdint.h>

#include "common/base/bytes.h"

struct arena_block;

struct arena {
    struct arena_block *head; /* newest first */
    size_t block_bytes;       /* size of the largest ordinary block */
    size_t used_bytes;        /* handed out since the last reset */
    size_t limit_bytes;       /* allocations beyond it fail; SIZE_MAX for none */
};

void arena_init(struct arena *arena, size_t block_bytes, size_t limit_bytes);
void arena_deinit(struct arena *arena);
void arena_reset(struct arena *arena);

/* The arena's first block lies in memory of the caller's, aligned for any type, for as long as the arena is in
 * use; arena_deinit() leaves it alone.  Of an arena that has handed out nothing.  Less than a block's header is
 * nothing lent. */
void arena_lend(struct arena *arena, void *memory, size_t size_bytes);

/* Aligned for any type; undefined contents; NULL without memory or over the limit. */
void *arena_allocate(struct arena *arena, size_t size_bytes);

/* The same for an array, NULL also on overflow of count * size_bytes. */
void *arena_allocate_array(struct arena *arena, size_t count, size_t size_bytes);

/* A copy of bytes in the arena.  On failure data is NULL and size_bytes 0 although bytes was not
 * empty; an empty input gives BYTES_EMPTY-like non-NULL data. */
struct bytes arena_copy(struct arena *arena, struct bytes bytes);

/* A NUL-terminated copy; NULL without memory. */
char *arena_copy_text(struct arena *arena, struct bytes bytes);

#endif /* COMMON_BASE_ARENA_H */
