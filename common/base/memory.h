/*
 * The one door to the heap.
 *
 * Everything of ours allocates here, so that tests can fail the n-th allocation and so that the
 * memory of a process can be read off one counter.  malloc, calloc, realloc and free are called
 * nowhere else (a test checks it).
 *
 * Thread rule: any thread.
 */
#ifndef COMMON_BASE_MEMORY_H
#define COMMON_BASE_MEMORY_H

#include <stddef.h>
#include <stdint.h>

#include "common/base/bytes.h"

/* NULL when the system has no more, or when the armed failure is due.  size_bytes 0 gives a
 * pointer that may be freed. Contents are undefined. */
void *memory_allocate(size_t size_bytes);

/* The same, zeroed; NULL also when count * size_bytes overflows. */
void *memory_allocate_zeroed(size_t count, size_t size_bytes);

/* As memory_allocate, at an address that is a multiple of alignment_bytes.  alignment_bytes is a
 * power of two, size_bytes a multiple of it. */
void *memory_allocate_aligned(size_t alignment_bytes, size_t size_bytes);

/* As realloc: on failure NULL, and pointer is still valid. */
void *memory_resize(void *pointer, size_t size_bytes);

/* NUL-terminated copy; NULL without memory. */
char *memory_copy_text(struct bytes text);

/* NULL is fine. */
void memory_free(void *pointer);

/* Tests only: let `after` more allocations succeed, then fail one (once) or all that follow.
 * memory_fail_disarm() ends it. */
void memory_fail_arm(uint64_t after, int all_that_follow);
void memory_fail_disarm(void);

#endif /* COMMON_BASE_MEMORY_H */
