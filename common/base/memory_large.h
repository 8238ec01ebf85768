/*
 * Memory in large pieces, for what is looked into at random: each a page of MEMORY_LARGE_BYTES where
 * the system has such pages, so that finding where an address lies costs little.
 *
 * Some of what was freed is kept for the next who allocates, as it is: to have the system take pages
 * back, and give and clear others, costs more than most of what is then done in them.
 *
 * Thread rule: any thread.
 */
#ifndef COMMON_BASE_MEMORY_LARGE_H
#define COMMON_BASE_MEMORY_LARGE_H

#include <stddef.h>

#define MEMORY_LARGE_BYTES ((size_t)2 << 20)

/* One piece, undefined; NULL when the system has no more. */
void *memory_large_allocate(void);
void memory_large_free(void *piece); /* NULL is fine */

/* From now on at most so many bytes are kept, over the whole process; at first none. */
void memory_large_keep(size_t bytes_max);

#endif /* COMMON_BASE_MEMORY_LARGE_H */
