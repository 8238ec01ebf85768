#include "tabletserver/storage/copies/store_barrier.h"

#include <string.h>

#include "common/base/assert.h"
#include "common/base/memory.h"

bool store_barrier_is_one(uint8_t type)
{
    return type == RECORD_SPLIT || type == RECORD_FROZEN || type == RECORD_ABSORB;
}

bool store_barrier_lifts(uint8_t type)
{
    return type == RECORD_SPLIT_ABORTED || type == RECORD_THAWED || type == RECORD_ABSORB_ABORTED;
}

struct store_barrier *store_barrier_create(const struct store_entry *entry)
{
    size_t size = entry->payload.size_bytes;
    struct store_barrier *barrier = memory_allocate(sizeof *barrier + size);
    if (barrier == NULL) {
        return NULL;
    }
    *barrier = (struct store_barrier){.entry = *entry};
    if (size > 0) {
        memcpy(barrier + 1, entry->payload.data, size);
    }
    barrier->entry.payload = bytes_of(barrier + 1, size);
    return barrier;
}

void store_barriers_push(struct store_barrier **barriers, struct store_barrier *barrier)
{
    struct store_barrier **end = barriers;
    while (*end != NULL) {
        ASSERT((*end)->entry.sequence < barrier->entry.sequence);
        end = &(*end)->next;
    }
    *end = barrier;
}

static void pop(struct store_barrier **barriers)
{
    struct store_barrier *first = *barriers;
    *barriers = first->next;
    memory_free(first);
}

void store_barriers_clear(struct store_barrier **barriers)
{
    while (*barriers != NULL) {
        pop(barriers);
    }
}

void store_barriers_forget(struct store_barrier **barriers, uint64_t sequence)
{
    while (*barriers != NULL && (*barriers)->next != NULL &&
           (*barriers)->next->entry.sequence <= sequence) {
        pop(barriers);
    }
    if (*barriers != NULL && (*barriers)->entry.sequence <= sequence &&
        store_barrier_lifts((*barriers)->entry.type)) {
        pop(barriers);
    }
}

void store_barriers_drop_above(struct store_barrier **barriers, uint64_t sequence)
{
    struct store_barrier **at = barriers;
    while (*at != NULL && (*at)->entry.sequence <= sequence) {
        at = &(*at)->next;
    }
    store_barriers_clear(at);
}

const struct store_entry *store_barriers_standing(const struct store_barrier *barriers,
                                                  uint64_t sequence)
{
    const struct store_barrier *last = NULL;
    for (const struct store_barrier *at = barriers; at != NULL && at->entry.sequence <= sequence;
         at = at->next) {
        last = at;
    }
    return last != NULL && store_barrier_is_one(last->entry.type) ? &last->entry : NULL;
}

const struct store_entry *store_barriers_last(const struct store_barrier *barriers,
                                              enum record_type type,
                                              uint64_t committed)
{
    const struct store_entry *last = NULL;
    for (const struct store_barrier *at = barriers; at != NULL; at = at->next) {
        bool lifts = store_barrier_lifts(at->entry.type) && at->entry.sequence <= committed;
        last = at->entry.type == type ? &at->entry : lifts ? NULL : last;
    }
    return last;
}
