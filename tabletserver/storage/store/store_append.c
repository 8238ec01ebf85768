/* Appending one record: may it be now, its sequence and stamp, the log, and with which batch it is durable. */
#include "tabletserver/storage/store/store_append.h"
#include "common/base/assert.h"
#include "common/base/memory.h"
#include "tabletserver/storage/copies/store_copies.h"

#define PENDING_CAPACITY_MIN 16
#define DELETES_EXTRA_SHARE  8 /* deletes may exceed the memory limit by one part in so many */

/* --- pending commits ---------------------------------------------------------------------------- */

enum status store_reserve_pending(struct store_tablet *tablet)
{
    if (tablet->pending_count < tablet->pending_capacity) {
        return STATUS_OK;
    }
    uint32_t capacity = tablet->pending_capacity == 0 ? PENDING_CAPACITY_MIN
                                                      : tablet->pending_capacity * 2;
    struct store_pending *ring = memory_allocate(capacity * sizeof *ring);
    if (ring == NULL) {
        return STATUS_NO_MEMORY;
    }
    for (uint32_t i = 0; i < tablet->pending_count; i++) {
        ring[i] = tablet->pending[(tablet->pending_head + i) & (tablet->pending_capacity - 1)];
    }
    memory_free(tablet->pending);
    tablet->pending = ring;
    tablet->pending_capacity = capacity;
    tablet->pending_head = 0;
    return STATUS_OK;
}

void store_list_pending(struct store_tablet *tablet)
{
    if (!tablet->pending_listed) {
        tablet->pending_listed = true;
        tablet->pending_next = tablet->store->pending_tablets;
        tablet->store->pending_tablets = tablet;
        store_tablet_ref(tablet);
    }
}

/* One item per batch of the log, not per record. */
void store_push_pending(struct store_tablet *tablet, uint64_t position, uint64_t sequence)
{
    uint32_t mask = tablet->pending_capacity - 1;
    if (tablet->pending_count > 0) {
        struct store_pending
            *last = &tablet->pending[(tablet->pending_head + tablet->pending_count - 1) & mask];
        if (last->position == position) {
            last->sequence = sequence;
            return;
        }
    }
    tablet->pending[(tablet->pending_head + tablet->pending_count) & mask] = (struct store_pending){
        position, sequence};
    tablet->pending_count++;
    if (tablet->shared) {
        store_mark(tablet, sequence, position);
    }
    store_list_pending(tablet);
}

void store_cut_pending(struct store_tablet *tablet, uint64_t sequence)
{
    uint32_t mask = tablet->pending_capacity - 1;
    while (tablet->pending_count > 0) {
        uint32_t last = tablet->pending_head + tablet->pending_count - 1;
        uint64_t before = tablet->pending_count > 1 ? tablet->pending[(last - 1) & mask].sequence
                                                    : tablet->synced;
        if (tablet->pending[last & mask].sequence <= sequence) {
            break;
        }
        if (before < sequence) {
            tablet->pending[last & mask].sequence = sequence;
            break;
        }
        tablet->pending_count--;
    }
    tablet->synced = tablet->synced < sequence ? tablet->synced : sequence;
}

/* --- one record --------------------------------------------------------------------------------- */

static enum status check_state(const struct store_tablet *tablet)
{
    switch (atomic_load_explicit(&tablet->state, memory_order_relaxed)) {
    case STORE_TABLET_LIVE:
        return STATUS_OK;
    case STORE_TABLET_BARRIER:
        return STATUS_UNAVAILABLE;
    case STORE_TABLET_SPLIT:
    case STORE_TABLET_DROPPING:
        return STATUS_NOT_OWNER;
    }
    UNREACHABLE();
}

enum status store_check_leads(const struct store_tablet *tablet)
{
    return tablet->leads ? check_state(tablet) : STATUS_NOT_OWNER;
}

static enum status check_memory(struct store *store, bool deletes_only)
{
    uint64_t limit = store_memory_limit(store);
    if (deletes_only) {
        limit = store->settings.memory_limit_bytes;
        limit += limit / DELETES_EXTRA_SHARE;
    }
    if (atomic_load_explicit(&store->memory_bytes, memory_order_relaxed) < limit) {
        return STATUS_OK;
    }
    store_freeze_full_tablets(store);
    return STATUS_RESOURCE_EXHAUSTED;
}

static enum status check_store(struct store *store, bool only_deletes)
{
    enum status status = store_trouble_check(store, only_deletes);
    return status == STATUS_OK ? check_memory(store, only_deletes) : status;
}

enum status store_check_append(struct store_tablet *tablet, bool only_deletes)
{
    enum status status = check_state(tablet);
    return status == STATUS_OK ? check_store(tablet->store, only_deletes) : status;
}

uint64_t store_take_clock(struct store_tablet *tablet, uint64_t clock)
{
    uint64_t last = atomic_load_explicit(&tablet->clock, memory_order_relaxed);
    clock = clock > last ? clock : last + 1;
    hlc_observe(&tablet->store->hlc, clock);
    return clock;
}

uint64_t store_next_clock(struct store *store)
{
    int64_t now_us = store->callbacks.now_us(store->callbacks.context);
    return hlc_next(&store->hlc, now_us > 0 ? (uint64_t)now_us : 0);
}

/* The log finds no room for a segment.  While memtables are on their way to the base, and find room
 * there, it will soon let segments go: then that is no full disk, only a writer that is too fast. */
static enum status note_full_log(struct store *store)
{
    bool flushing = atomic_load(&store->frozen_bytes) > 0;
    if (flushing && atomic_load(&store->condition) == STORE_HEALTHY) {
        return STATUS_RESOURCE_EXHAUSTED;
    }
    (void)store_trouble_note(store, STATUS_NO_SPACE, "log");
    return STATUS_NO_SPACE;
}

enum status store_log_record(struct store *store, const struct log_record *record)
{
    enum status status = log_append(store->log, record, &store->log_position);
    if (status == STATUS_OK) {
        atomic_fetch_add_explicit(&store->records, 1, memory_order_relaxed);
    }
    return status == STATUS_NO_SPACE ? note_full_log(store) : status;
}

void store_layer_hold_log(struct store_layer *layer, uint64_t position)
{
    if (atomic_load_explicit(&layer->first_position, memory_order_relaxed) == STORE_POSITION_NONE) {
        atomic_store_explicit(&layer->first_position, position, memory_order_relaxed);
    }
}

enum status store_append_record(struct store_tablet *tablet,
                                enum record_type type,
                                struct bytes payload,
                                struct stamp stamp,
                                uint64_t *ret_sequence)
{
    struct store *store = tablet->store;
    enum status status = store_reserve_pending(tablet);
    if (status != STATUS_OK) {
        return status;
    }
    uint64_t sequence = atomic_load_explicit(&tablet->prepared, memory_order_relaxed) + 1;
    struct log_record record = {
        .type = (uint8_t)type,
        .tablet = tablet->descriptor.tablet,
        .configuration = tablet->descriptor.configuration,
        .behind = sequence - atomic_load_explicit(&tablet->committed, memory_order_relaxed),
        .sequence = sequence,
        .stamp = stamp,
        .payload = payload};
    store->giving = (struct store_entry){.sequence = sequence,
                                         .version = record.configuration,
                                         .stamp = stamp,
                                         .type = record.type,
                                         .payload = payload};
    if (tablet->replica != NULL) {
        status = store->callbacks.on_append(store->callbacks.context, tablet, &store->giving);
    }
    if (status == STATUS_OK) {
        status = store_log_record(store, &record);
    }
    if (status != STATUS_OK) {
        return status;
    }
    store_layer_hold_log(tablet->layers[0], store->log_position);
    store_push_pending(tablet, store->log_position, sequence);
    *ret_sequence = sequence;
    return STATUS_OK;
}

/*
 * The record is in the log and in the memtable: reads of what is prepared may see it.  The clock
 * comes second, so that whoever reads the clock first and the sequence second knows that all
 * beyond that sequence is stamped later than that clock.
 */
void store_publish_prepared(struct store_tablet *tablet, uint64_t sequence, uint64_t clock)
{
    atomic_store_explicit(&tablet->prepared, sequence, memory_order_release);
    atomic_store_explicit(&tablet->clock, clock, memory_order_release);
}

void store_finish_append(struct store_tablet *tablet)
{
    struct store *store = tablet->store;
    store_publish_prepared(tablet, store->giving.sequence, store->giving.stamp.clock);
    if (tablet->replica != NULL) {
        store->callbacks.on_appended(store->callbacks.context, tablet, &store->giving);
    }
}
