#include "tabletserver/replica/replica_window.h"

#include <string.h>

#include "common/base/assert.h"
#include "common/base/memory.h"

#define CAPACITY_FIRST 16

/* --- slots -------------------------------------------------------------------------------------- */

static struct window_slot *slot_at(const struct replica_window *window, uint64_t sequence)
{
    return &window->slots[sequence & (window->capacity - 1)];
}

static void forget(struct replica_window *window, uint64_t sequence)
{
    struct window_slot *slot = slot_at(window, sequence);
    ASSERT(slot->entry.sequence == sequence);
    ASSERT(window->size_bytes >= slot->size_bytes);
    window->size_bytes -= slot->size_bytes;
    memory_free(slot->bytes);
    slot->bytes = NULL;
}

static enum status make_room(struct replica_window *window)
{
    if (window->next - window->first < window->capacity) {
        return STATUS_OK;
    }
    struct replica_window wider = *window;
    wider.capacity = window->capacity * 2;
    wider.slots = memory_allocate_zeroed(wider.capacity, sizeof *wider.slots);
    if (wider.slots == NULL) {
        return STATUS_NO_MEMORY;
    }
    for (uint64_t sequence = window->first; sequence < window->next; sequence++) {
        *slot_at(&wider, sequence) = *slot_at(window, sequence);
    }
    memory_free(window->slots);
    *window = wider;
    return STATUS_OK;
}

/* --- public ------------------------------------------------------------------------------------- */

enum status replica_window_init(struct replica_window *window, uint64_t sequence)
{
    struct window_slot *slots = memory_allocate_zeroed(CAPACITY_FIRST, sizeof *slots);
    if (slots == NULL) {
        return STATUS_NO_MEMORY;
    }
    *window = (struct replica_window){
        .slots = slots, .capacity = CAPACITY_FIRST, .first = sequence + 1, .next = sequence + 1};
    return STATUS_OK;
}

void replica_window_deinit(struct replica_window *window)
{
    replica_window_trim(window, window->next - 1);
    memory_free(window->spare);
    memory_free(window->slots);
    window->slots = NULL;
}

enum status replica_window_reserve(struct replica_window *window, size_t payload_bytes, bool keep)
{
    enum status status = make_room(window);
    if (status != STATUS_OK || !keep || payload_bytes == 0 ||
        (window->spare != NULL && window->spare_bytes == payload_bytes)) {
        return status;
    }
    memory_free(window->spare);
    window->spare = memory_allocate(payload_bytes);
    window->spare_bytes = payload_bytes;
    return window->spare != NULL ? STATUS_OK : STATUS_NO_MEMORY;
}

enum status replica_window_append(struct replica_window *window,
                                  const struct replica_entry *entry,
                                  bool keep)
{
    ASSERT(entry->sequence == window->next);
    size_t payload_bytes = entry->payload.size_bytes;
    enum status status = replica_window_reserve(window, payload_bytes, keep);
    if (status != STATUS_OK) {
        return status;
    }
    uint8_t *bytes = NULL;
    if (keep && payload_bytes > 0) {
        bytes = window->spare;
        window->spare = NULL;
        memcpy(bytes, entry->payload.data, payload_bytes);
    }
    struct window_slot *slot = slot_at(window, entry->sequence);
    *slot = (struct window_slot){
        .entry = *entry, .bytes = bytes, .size_bytes = payload_bytes + sizeof *slot, .kept = keep};
    slot->entry.payload = bytes == NULL ? BYTES_EMPTY : bytes_of(bytes, payload_bytes);
    window->next++;
    window->size_bytes += slot->size_bytes;
    return STATUS_OK;
}

const struct window_slot *replica_window_slot(const struct replica_window *window,
                                              uint64_t sequence)
{
    bool held = sequence >= window->first && sequence < window->next;
    return held ? slot_at(window, sequence) : NULL;
}

void replica_window_drop_above(struct replica_window *window, uint64_t sequence)
{
    ASSERT(sequence + 1 >= window->first);
    while (window->next > sequence + 1) {
        forget(window, --window->next);
    }
}

void replica_window_trim(struct replica_window *window, uint64_t sequence)
{
    ASSERT(sequence < window->next);
    while (window->first <= sequence) {
        forget(window, window->first++);
    }
}

void replica_window_restart(struct replica_window *window, uint64_t sequence)
{
    replica_window_trim(window, window->next - 1);
    ASSERT(window->size_bytes == 0);
    window->first = sequence + 1;
    window->next = sequence + 1;
}
