#include "tabletserver/storage/memtable/memtable_arena.h"

#include "common/base/assert.h"
#include "common/base/memory.h"
#include "common/base/memory_large.h"

#define CHUNK_BYTES_MIN (4 * 1024)
#define CHUNK_BYTES_MAX MEMORY_LARGE_BYTES
#define ALIGNMENT_BYTES 8

struct memtable_chunk {
    struct memtable_chunk *next;
    size_t size_bytes; /* of data */
    size_t used_bytes;
    uint64_t data[];
};

static size_t free_bytes(const struct memtable_chunk *chunk)
{
    return chunk->size_bytes - chunk->used_bytes;
}

/* Memory for a chunk: one large piece where it has just that size. */
static struct memtable_chunk *allocate_chunk(size_t all_bytes)
{
    return all_bytes == MEMORY_LARGE_BYTES ? memory_large_allocate() : memory_allocate(all_bytes);
}

static void free_chunk(struct memtable_chunk *chunk)
{
    if (sizeof *chunk + chunk->size_bytes == MEMORY_LARGE_BYTES) {
        memory_large_free(chunk);
    } else {
        memory_free(chunk);
    }
}

void memtable_arena_init(struct memtable_arena *arena)
{
    *arena = (struct memtable_arena){.next_chunk_bytes = CHUNK_BYTES_MIN};
}

void memtable_arena_deinit(struct memtable_arena *arena)
{
    struct memtable_chunk *chunk = arena->first;
    while (chunk != NULL) {
        struct memtable_chunk *next = chunk->next;
        free_chunk(chunk);
        chunk = next;
    }
    memtable_arena_init(arena);
}

/* A chunk for at least size_bytes behind `behind` (NULL: as the first). */
static struct memtable_chunk *add_chunk(struct memtable_arena *arena,
                                        struct memtable_chunk *behind,
                                        size_t size_bytes)
{
    size_t size = arena->next_chunk_bytes - sizeof(struct memtable_chunk);
    size = size_bytes > size ? (size_bytes + ALIGNMENT_BYTES - 1) & ~(size_t)7 : size;
    struct memtable_chunk *chunk = allocate_chunk(sizeof *chunk + size);
    if (chunk == NULL) {
        return NULL;
    }
    if (arena->next_chunk_bytes < CHUNK_BYTES_MAX) {
        arena->next_chunk_bytes *= 2;
    }
    *chunk = (struct memtable_chunk){.size_bytes = size};
    if (behind == NULL) {
        arena->first = chunk;
        arena->current = chunk;
    } else {
        ASSERT(behind->next == NULL);
        behind->next = chunk;
    }
    return chunk;
}

enum status memtable_arena_reserve(struct memtable_arena *arena, size_t size_bytes)
{
    if (arena->promised_bytes == 0) {
        arena->plan = arena->current;
        arena->plan_used_bytes = arena->current != NULL ? arena->current->used_bytes : 0;
    }
    struct memtable_chunk *plan = arena->plan;
    size_t used = arena->plan_used_bytes;
    while (plan == NULL || plan->size_bytes - used < size_bytes) {
        struct memtable_chunk *next = plan != NULL ? plan->next : NULL;
        if (next == NULL) {
            next = add_chunk(arena, plan, size_bytes);
        }
        if (next == NULL) {
            return STATUS_NO_MEMORY;
        }
        plan = next;
        used = 0;
    }
    arena->plan = plan;
    arena->plan_used_bytes = used + size_bytes;
    arena->promised_bytes += size_bytes;
    return STATUS_OK;
}

/* The writer alone counts; others only look. */
static void count_taken(struct memtable_arena *arena, size_t size_bytes)
{
    size_t taken = atomic_load_explicit(&arena->taken_bytes, memory_order_relaxed);
    atomic_store_explicit(&arena->taken_bytes, taken + size_bytes, memory_order_relaxed);
}

void memtable_arena_begin(struct memtable_arena *arena, size_t size_bytes)
{
    ASSERT(size_bytes <= arena->promised_bytes); /* applied without memtable_reserve() */
    arena->promised_bytes -= size_bytes;
    while (free_bytes(arena->current) < size_bytes) {
        count_taken(arena, free_bytes(arena->current));
        arena->current->used_bytes = arena->current->size_bytes;
        ASSERT(arena->current->next != NULL); /* promises taken up out of order */
        arena->current = arena->current->next;
    }
}

void memtable_arena_cancel(struct memtable_arena *arena, size_t size_bytes)
{
    ASSERT(size_bytes <= arena->promised_bytes);
    arena->promised_bytes -= size_bytes;
}

void *memtable_arena_take(struct memtable_arena *arena, size_t size_bytes)
{
    struct memtable_chunk *chunk = arena->current;
    size_t size = (size_bytes + ALIGNMENT_BYTES - 1) & ~(size_t)7;
    ASSERT(size <= free_bytes(chunk));
    void *memory = (uint8_t *)chunk->data + chunk->used_bytes;
    chunk->used_bytes += size;
    count_taken(arena, size);
    return memory;
}
