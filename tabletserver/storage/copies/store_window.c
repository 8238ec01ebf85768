#include "tabletserver/storage/copies/store_window.h"

#include <string.h>

#include "common/base/assert.h"
#include "common/base/memory.h"
#include "tabletserver/storage/record/record_replica.h"

#define CAPACITY_MIN      16
#define ARENA_BLOCK_BYTES 512

/* --- one entry ---------------------------------------------------------------------------------- */

static enum status check_rows(const struct record_write *write,
                              const struct row_range *range,
                              struct error *ret_error)
{
    for (size_t i = 0; i < write->entry_count; i++) {
        if (!row_range_contains(range, write->entries[i].row)) {
            return error_set(ret_error, STATUS_CORRUPT, "a row outside the tablet's range");
        }
    }
    return STATUS_OK;
}

static enum status check_drop_range(const struct record_drop_range *drop,
                                    const struct row_range *range,
                                    struct error *ret_error)
{
    struct row_range inside;
    bool within = row_range_intersect(&drop->range, range, &inside) &&
                  bytes_equal(inside.start, drop->range.start) &&
                  bytes_equal(inside.end, drop->range.end);
    return within ? STATUS_OK
                  : error_set(ret_error, STATUS_CORRUPT, "a range outside the tablet's");
}

/* Decode the entry, and refuse now whatever could not be applied when it is committed. */
static enum status decode(struct store_window_entry *entry,
                          const struct row_range *range,
                          struct error *ret_error)
{
    struct bytes payload = entry->entry.payload;
    struct record_drop_range drop;
    struct record_split split;
    struct record_gc_horizon horizon;
    struct record_frozen frozen;
    struct record_absorb absorb;
    enum status status = STATUS_OK;
    switch ((enum record_type)entry->entry.type) {
    case RECORD_WRITE:
        status = record_decode_write(payload, &entry->arena, &entry->write, ret_error);
        return status == STATUS_OK ? check_rows(&entry->write, range, ret_error) : status;
    case RECORD_DROP_RANGE:
        status = record_decode_drop_range(payload, &drop, ret_error);
        return status == STATUS_OK ? check_drop_range(&drop, range, ret_error) : status;
    case RECORD_SPLIT:
        return record_decode_split(payload, &split, ret_error);
    case RECORD_GC_HORIZON:
        return record_decode_gc_horizon(payload, &horizon, ret_error);
    case RECORD_SPLIT_ABORTED:
    case RECORD_THAWED:
    case RECORD_ABSORB_ABORTED:
        return record_decode_lift(payload, ret_error);
    case RECORD_FROZEN:
        return record_decode_frozen(payload, &frozen, ret_error);
    case RECORD_ABSORB:
        return record_decode_absorb(payload, &absorb, ret_error);
    case RECORD_CONFIGURATION:
    case RECORD_CONVERSION:
        break;
    }
    return error_set(ret_error, STATUS_VERSION, "an entry of type %u is a newer version's",
                     entry->entry.type);
}

static size_t decoded_bytes(const struct record_write *write)
{
    size_t bytes = write->entry_count * sizeof *write->entries;
    for (size_t i = 0; i < write->entry_count; i++) {
        bytes += write->entries[i].change_count * sizeof *write->entries[i].changes;
    }
    return bytes;
}

enum status store_window_entry_create(const struct store_entry *entry,
                                      const struct row_range *range,
                                      struct store_window_entry **ret_entry,
                                      struct error *ret_error)
{
    size_t size = entry->payload.size_bytes;
    struct store_window_entry *copy = memory_allocate(sizeof *copy + size);
    if (copy == NULL) {
        return error_set(ret_error, STATUS_NO_MEMORY, "no memory for an entry");
    }
    *copy = (struct store_window_entry){.entry = *entry};
    if (size > 0) {
        memcpy(copy + 1, entry->payload.data, size);
    }
    copy->entry.payload = bytes_of(copy + 1, size);
    arena_init(&copy->arena, ARENA_BLOCK_BYTES, SIZE_MAX);
    enum status status = decode(copy, range, ret_error);
    if (status != STATUS_OK) {
        store_window_entry_destroy(copy);
        return status;
    }
    copy->size_bytes = sizeof *copy + size + decoded_bytes(&copy->write);
    *ret_entry = copy;
    return STATUS_OK;
}

void store_window_entry_destroy(struct store_window_entry *entry)
{
    if (entry != NULL) {
        arena_deinit(&entry->arena);
        memory_free(entry);
    }
}

/* --- the ring ----------------------------------------------------------------------------------- */

enum status store_window_reserve(struct store_window *window)
{
    if (window->count < window->capacity) {
        return STATUS_OK;
    }
    uint32_t capacity = window->capacity == 0 ? CAPACITY_MIN : window->capacity * 2;
    struct store_window_entry **entries = memory_allocate(capacity * sizeof *entries);
    if (entries == NULL) {
        return STATUS_NO_MEMORY;
    }
    for (uint32_t i = 0; i < window->count; i++) {
        entries[i] = store_window_at(window, i);
    }
    memory_free(window->entries);
    window->entries = entries;
    window->capacity = capacity;
    window->head = 0;
    return STATUS_OK;
}

void store_window_push(struct store_window *window, struct store_window_entry *entry)
{
    const struct store_window_entry *last = store_window_last(window);
    ASSERT(window->count < window->capacity);
    ASSERT(IMPLIES(last != NULL, last->entry.sequence + 1 == entry->entry.sequence));
    window->entries[(window->head + window->count) & (window->capacity - 1)] = entry;
    window->count++;
    window->bytes += entry->size_bytes;
}

void store_window_pop(struct store_window *window)
{
    struct store_window_entry *entry = store_window_first(window);
    ASSERT(entry != NULL);
    window->head = (window->head + 1) & (window->capacity - 1);
    window->count--;
    window->bytes -= entry->size_bytes;
    store_window_entry_destroy(entry);
}

void store_window_drop_above(struct store_window *window, uint64_t sequence)
{
    struct store_window_entry *last = store_window_last(window);
    while (last != NULL && last->entry.sequence > sequence) {
        window->count--;
        window->bytes -= last->size_bytes;
        store_window_entry_destroy(last);
        last = store_window_last(window);
    }
}

void store_window_deinit(struct store_window *window)
{
    store_window_drop_above(window, 0);
    memory_free(window->entries);
    *window = (struct store_window){.count = 0};
}
