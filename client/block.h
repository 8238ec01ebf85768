/*
 * Results in one piece of memory: measured first, then filled by the same code.
 *
 * A block without memory only counts.  So what makes a result runs twice: once to learn the size,
 * once to fill it.
 */
#ifndef CLIENT_BLOCK_H
#define CLIENT_BLOCK_H

#include <stdint.h>
#include <string.h>

#include "common/base/bytes.h"

struct block {
    uint8_t *memory; /* NULL = measuring */
    size_t used_bytes;
};

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

#endif /* CLIENT_BLOCK_H */
