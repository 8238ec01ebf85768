#include "common/base/arena.h"

#include <stdalign.h>
#include <stdbool.h>
#include <string.h>

#include "common/base/assert.h"
#include "common/base/memory.h"

#define FIRST_BLOCK_BYTES 1024
#define GROWTH            4

struct arena_block {
    struct arena_block *next;
    size_t size_bytes;
    size_t used_bytes;
    bool is_lent;
    alignas(max_align_t) uint8_t data[];
};

void arena_init(struct arena *arena, size_t block_bytes, size_t limit_bytes)
{
    ASSERT(block_bytes > 0);
    *arena = (struct arena){.block_bytes = block_bytes, .limit_bytes = limit_bytes};
}

static void free_blocks(struct arena_block *block)
{
    while (block != NULL) {
        struct arena_block *next = block->next;
        if (!block->is_lent) {
            memory_free(block);
        }
        block = next;
    }
}

void arena_lend(struct arena *arena, void *memory, size_t size_bytes)
{
    ASSERT(arena->head == NULL);
    ASSERT((uintptr_t)memory % alignof(max_align_t) == 0);
    if (size_bytes > sizeof(struct arena_block)) {
        struct arena_block *block = memory;
        *block = (struct arena_block){.size_bytes = size_bytes - sizeof *block, .is_lent = true};
        arena->head = block;
    }
}

void arena_deinit(struct arena *arena)
{
    free_blocks(arena->head);
    arena->head = NULL;
    arena->used_bytes = 0;
}

void arena_reset(struct arena *arena)
{
    struct arena_block *keep = arena->head;
    if (keep != NULL) {
        free_blocks(keep->next);
        keep->next = NULL;
        keep->used_bytes = 0;
        if (keep->size_bytes > arena->block_bytes &&
            !keep->is_lent) { /* a giant: do not hold on to it */
            memory_free(keep);
            arena->head = NULL;
        }
    }
    arena->used_bytes = 0;
}

/* The first block is one that malloc hands out fast; they grow up to what they are to be. */
static size_t next_block_bytes(const struct arena *arena)
{
    size_t size = arena->head == NULL ? FIRST_BLOCK_BYTES - sizeof(struct arena_block)
                                      : arena->head->size_bytes * GROWTH;
    return size < arena->block_bytes ? size : arena->block_bytes;
}

static struct arena_block *add_block(struct arena *arena, size_t size_bytes)
{
    size_t next = next_block_bytes(arena);
    size_t size = size_bytes > next ? size_bytes : next;
    if (size > SIZE_MAX - sizeof(struct arena_block)) {
        return NULL;
    }
    struct arena_block *block = memory_allocate(sizeof *block + size);
    if (block == NULL) {
        return NULL;
    }
    block->size_bytes = size;
    block->used_bytes = 0;
    block->is_lent = false;
    block->next = arena->head;
    arena->head = block;
    return block;
}

void *arena_allocate(struct arena *arena, size_t size_bytes)
{
    const size_t alignment = alignof(max_align_t);
    if (size_bytes > SIZE_MAX - alignment) {
        return NULL;
    }
    size_t size = (size_bytes + alignment - 1) / alignment * alignment;
    size = size > 0 ? size : alignment;
    if (size > arena->limit_bytes || arena->used_bytes > arena->limit_bytes - size) {
        return NULL;
    }
    struct arena_block *block = arena->head;
    if (block == NULL || block->size_bytes - block->used_bytes < size) {
        block = add_block(arena, size);
        if (block == NULL) {
            return NULL;
        }
    }
    void *pointer = block->data + block->used_bytes;
    block->used_bytes += size;
    arena->used_bytes += size;
    return pointer;
}

void *arena_allocate_array(struct arena *arena, size_t count, size_t size_bytes)
{
    if (size_bytes != 0 && count > SIZE_MAX / size_bytes) {
        return NULL;
    }
    return arena_allocate(arena, count * size_bytes);
}

struct bytes arena_copy(struct arena *arena, struct bytes bytes)
{
    uint8_t *data = arena_allocate(arena, bytes.size_bytes);
    if (data == NULL) {
        return BYTES_EMPTY;
    }
    if (bytes.size_bytes > 0) {
        memcpy(data, bytes.data, bytes.size_bytes);
    }
    return (struct bytes){data, bytes.size_bytes};
}

char *arena_copy_text(struct arena *arena, struct bytes bytes)
{
    char *text = arena_allocate(arena, bytes.size_bytes + 1);
    if (text == NULL) {
        return NULL;
    }
    if (bytes.size_bytes > 0) {
        memcpy(text, bytes.data, bytes.size_bytes);
    }
    text[bytes.size_bytes] = '\0';
    return text;
}
