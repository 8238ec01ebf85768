/*
 * Results in one piece of memory: measured first, then filled by the same code.
 *
 * A block without memory only counts.  So what makes a result runs twice: once to learn the size,
 * once to fill it.
 *
 *     struct block block = BLOCK_MEASURING;
 *     (void)write_names(&block, &response);
 *     if (block_allocate(&block)) {
 *         *ret_names = write_names(&block, &response);
 *     }
 *
 * What it takes first is where the memory begins: the caller frees that by memory_free().
 */
#ifndef CLIENT_LOOP_BLOCK_H
#define CLIENT_LOOP_BLOCK_H

#include <stdint.h>
#include <string.h>

#include "client/include/edubba.h"
#include "common/base/bytes.h"
#include "common/base/memory.h"

struct block {
    uint8_t *memory; /* NULL = measuring */
    size_t used_bytes;
};

#define BLOCK_MEASURING ((struct block){NULL, 0})

/* Memory for what was measured, to be filled from its beginning.  false without memory. */
static inline bool block_allocate(struct block *block)
{
    block->memory = memory_allocate(block->used_bytes);
    block->used_bytes = 0;
    return block->memory != NULL;
}

/* Room, aligned for anything; NULL while measuring. */
static inline void *block_take(struct block *block, size_t size_bytes)
{
    void *place = block->memory != NULL ? block->memory + block->used_bytes : NULL;
    block->used_bytes += (size_bytes + 15) & ~(size_t)15;
    return place;
}

/* A NUL-terminated copy; NULL while measuring. */
static inline char *block_text(struct block *block, struct bytes text)
{
    char *copy = block_take(block, text.size_bytes + 1);
    if (copy == NULL) {
        return NULL;
    }
    if (text.size_bytes > 0) {
        memcpy(copy, text.data, text.size_bytes);
    }
    copy[text.size_bytes] = '\0';
    return copy;
}

/* The same for what may hold a NUL; without data while measuring. */
static inline struct edubba_bytes block_bytes(struct block *block, struct bytes bytes)
{
    return edubba_bytes_of(block_text(block, bytes), bytes.size_bytes);
}

#endif /* CLIENT_LOOP_BLOCK_H */
