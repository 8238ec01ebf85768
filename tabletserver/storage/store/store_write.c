/*
 * Appending: all of a record or nothing.
 *
 * Everything that can fail is done before the log takes the record (reserve), everything after it
 * cannot (apply).  No memory is allocated for a write once the buffers have grown to size.
 */
#include "common/base/assert.h"
#include "common/base/memory.h"
#include "tabletserver/storage/copies/store_copies.h"
#include "tabletserver/storage/store/store_append.h"
#include "tabletserver/storage/store/store_internal.h"
#include "tabletserver/storage/store/store_split.h"

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

/* For what this store gives out itself. */
static enum status check_tablet(const struct store_tablet *tablet)
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

/* Clocks of one tablet rise with its sequences, whatever the caller hands in. */
static uint64_t take_clock(struct store_tablet *tablet, uint64_t clock)
{
    uint64_t last = atomic_load_explicit(&tablet->clock, memory_order_relaxed);
    clock = clock > last ? clock : last + 1;
    hlc_observe(&tablet->store->hlc, clock);
    return clock;
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

/* --- writes ------------------------------------------------------------------------------------- */

static bool deletes_only(const struct record_write *write)
{
    for (size_t i = 0; i < write->entry_count; i++) {
        const struct record_entry *entry = &write->entries[i];
        for (size_t j = 0; j < entry->change_count; j++) {
            if (entry->changes[j].kind == CHANGE_PUT || entry->changes[j].kind == CHANGE_FOLD) {
                return false;
            }
        }
    }
    return true;
}

static enum status reserve_dedupe(struct store_tablet *tablet, const struct record_write *write)
{
    uint32_t records = 0;
    size_t result_bytes = 0;
    for (size_t i = 0; i < write->entry_count; i++) {
        if (write->entries[i].request.client != 0) {
            records++;
            result_bytes += write->entries[i].result.size_bytes;
        }
    }
    return records > 0 ? dedupe_reserve(tablet->dedupe, records, result_bytes) : STATUS_OK;
}

/* The next entry that changes anything, from this one on; NULL = there is none. */
static const struct record_entry *next_change(const struct record_write *write, size_t *index)
{
    while (*index < write->entry_count) {
        const struct record_entry *entry = &write->entries[(*index)++];
        if (entry->change_count > 0) {
            return entry;
        }
    }
    return NULL;
}

static void foresee_next(struct memtable *memtable, const struct record_write *write, size_t *index)
{
    const struct record_entry *entry = next_change(write, index);
    if (entry != NULL) {
        memtable_foresee(memtable, entry->row);
    }
}

static void apply(struct store_tablet *tablet,
                  const struct record_write *write,
                  uint64_t sequence,
                  struct stamp stamp)
{
    struct memtable *memtable = tablet->layers[0]->memtable;
    /* A lone one is there as soon as it is foreseen; and what is foreseen must be applied later. */
    size_t foreseen = write->entry_count > 1 ? 0 : write->entry_count;
    for (size_t i = 0; i < MEMTABLE_FORESEEN_MAX; i++) {
        foresee_next(memtable, write, &foreseen);
    }
    for (size_t i = 0; i < write->entry_count; i++) {
        const struct record_entry *entry = &write->entries[i];
        if (entry->change_count > 0) {
            memtable_apply(memtable, sequence, stamp, entry->row, entry->changes,
                           entry->change_count);
            stamp.index += (uint32_t)entry->change_count;
            foresee_next(memtable, write, &foreseen);
        }
        if (entry->request.client != 0) {
            enum status status = dedupe_record(tablet->dedupe, &entry->request, sequence,
                                               stamp.clock, entry->result);
            ASSERT(status == STATUS_OK); /* was reserved */
        }
    }
}

/* Give back what the first n entries have reserved, newest first. */
static void cancel_reserved(struct store_tablet *tablet, const struct record_write *write, size_t n)
{
    for (size_t i = n; i > 0; i--) {
        const struct record_entry *entry = &write->entries[i - 1];
        if (entry->change_count > 0) {
            memtable_cancel(tablet->layers[0]->memtable, entry->row, entry->changes,
                            entry->change_count);
        }
    }
}

static enum status reserve_memtable(struct store_tablet *tablet, const struct record_write *write)
{
    for (size_t i = 0; i < write->entry_count; i++) {
        const struct record_entry *entry = &write->entries[i];
        if (entry->change_count == 0) {
            continue;
        }
        enum status status = memtable_reserve(tablet->layers[0]->memtable, entry->row,
                                              entry->changes, entry->change_count);
        if (status != STATUS_OK) {
            cancel_reserved(tablet, write, i);
            return status;
        }
    }
    return STATUS_OK;
}

/* A copy that knows an older schema must not erase by a horizon of that what is written under this one. */
static enum status say_rules(struct store_tablet *tablet, uint64_t clock)
{
    struct store *store = tablet->store;
    if (tablet->rules_said == store->schema_count_ever ||
        tablet->configuration.members.version == 0) {
        return STATUS_OK;
    }
    struct store_schema *schema = store_schema_find(store, tablet->descriptor.table);
    uint32_t family_count = schema == NULL ? 0 : schema->table.family_count;
    enum status status = STATUS_OK;
    for (uint32_t i = 0; i < family_count && status == STATUS_OK; i++) {
        struct record_gc_horizon said;
        uint64_t sequence = 0;
        (void)pthread_mutex_lock(&tablet->mutex);
        bool must = horizon_must_say(&tablet->horizons, &schema->table, &schema->table.families[i],
                                     &said);
        (void)pthread_mutex_unlock(&tablet->mutex);
        status = must ? store_append_gc_horizon(tablet, &said, clock, &sequence) : STATUS_OK;
    }
    if (schema != NULL) {
        store_schema_unref(schema);
    }
    if (status == STATUS_OK) {
        tablet->rules_said = store->schema_count_ever;
    }
    return status;
}

enum status store_append_write(struct store_tablet *tablet,
                               const struct record_write *write,
                               uint64_t clock,
                               uint64_t *ret_sequence)
{
    struct store *store = tablet->store;
    bool only_deletes = deletes_only(write);
    enum status status = check_tablet(tablet);
    if (status == STATUS_OK) {
        status = check_store(store, only_deletes);
    }
    if (status == STATUS_OK) {
        status = say_rules(tablet, clock);
    }
    if (status == STATUS_OK) {
        status = reserve_dedupe(tablet, write);
    }
    if (status != STATUS_OK) {
        return status;
    }
    buffer_reset(&store->payload);
    record_encode_write(write, &store->payload);
    if (store->payload.failed) {
        return STATUS_NO_MEMORY;
    }
    status = reserve_memtable(tablet, write);
    if (status != STATUS_OK) {
        return status;
    }
    struct stamp stamp = {take_clock(tablet, clock), 0, 0};
    uint64_t sequence = 0;
    status = store_append_record(tablet, RECORD_WRITE, buffer_bytes(&store->payload), stamp,
                                 &sequence);
    if (status != STATUS_OK) {
        cancel_reserved(tablet, write, write->entry_count);
        return status;
    }
    apply(tablet, write, sequence, stamp);
    store_count_memory(store, tablet->layers[0]);
    *ret_sequence = sequence;
    store_finish_append(tablet);
    return STATUS_OK;
}

/* --- the other records -------------------------------------------------------------------------- */

/*
 * DropRowRange freezes first: then all that is older than it lies in older layers, none of which
 * holds a folded cell that is partly older and partly newer.
 */
enum status store_append_drop_range(struct store_tablet *tablet,
                                    const struct record_drop_range *drop,
                                    uint64_t clock,
                                    uint64_t *ret_sequence)
{
    struct store *store = tablet->store;
    enum status status = check_tablet(tablet);
    if (status == STATUS_OK) {
        status = store_trouble_check(store, true);
    }
    if (status == STATUS_OK && drop->request.client != 0) {
        status = dedupe_reserve(tablet->dedupe, 1, 0);
    }
    if (status == STATUS_OK) {
        status = store_freeze(tablet);
    }
    if (status != STATUS_OK) {
        return status;
    }
    struct stamp stamp = {take_clock(tablet, clock), 0, 0};
    struct range_delete delete = {
        .range = drop->range, .stamp = stamp, .sequence = store_tablet_prepared(tablet) + 1};
    (void)pthread_mutex_lock(&tablet->mutex);
    struct store_range_deletes *old = store_range_deletes_ref(tablet->range_deletes);
    (void)pthread_mutex_unlock(&tablet->mutex);
    struct store_range_deletes *more = store_range_deletes_create(old->deletes, old->count, NULL, 0,
                                                                  &delete);
    store_range_deletes_unref(old);
    buffer_reset(&store->payload);
    record_encode_drop_range(drop, &store->payload);
    uint64_t sequence = 0;
    status = more == NULL || store->payload.failed
                 ? STATUS_NO_MEMORY
                 : store_append_record(tablet, RECORD_DROP_RANGE, buffer_bytes(&store->payload),
                                       stamp, &sequence);
    if (status != STATUS_OK) {
        store_range_deletes_unref(more);
        return status;
    }
    ASSERT(sequence == delete.sequence);
    store_tablet_publish_range_deletes(tablet, more);
    if (drop->request.client != 0) {
        status = dedupe_record(tablet->dedupe, &drop->request, sequence, stamp.clock, BYTES_EMPTY);
        ASSERT(status == STATUS_OK); /* was reserved */
    }
    *ret_sequence = sequence;
    store_finish_append(tablet);
    return STATUS_OK;
}

enum status store_append_split(struct store_tablet *tablet,
                               const struct record_split *split,
                               uint64_t clock,
                               uint64_t *ret_sequence)
{
    struct store *store = tablet->store;
    ASSERT(bytes_compare(split->key, tablet->descriptor.range.start) > 0);
    ASSERT(row_range_contains(&tablet->descriptor.range, split->key));
    ASSERT(tablet->configuration.members.version == 0); /* else the catalog says when */
    enum status status = check_tablet(tablet);
    if (status == STATUS_OK) {
        status = store_trouble_check(store, true);
    }
    if (status == STATUS_OK &&
        (tablet->layer_count >= STORE_LAYERS_MAX || tablet->lineage_count >= STORE_LINEAGE_MAX)) {
        status = STATUS_RESOURCE_EXHAUSTED;
    }
    uint64_t expected = store_tablet_prepared(tablet) + 1;
    if (status == STATUS_OK) {
        status = store_split_prepare(tablet, split, expected, expected);
    }
    if (status != STATUS_OK) {
        return status;
    }
    buffer_reset(&store->payload);
    record_encode_split(split, &store->payload);
    struct stamp stamp = {take_clock(tablet, clock), 0, 0};
    uint64_t sequence = 0;
    status = store->payload.failed
                 ? STATUS_NO_MEMORY
                 : store_append_record(tablet, RECORD_SPLIT, buffer_bytes(&store->payload), stamp,
                                       &sequence);
    if (status != STATUS_OK) {
        store_split_cancel(tablet);
        return status;
    }
    ASSERT(sequence == expected);
    atomic_store(&tablet->state, STORE_TABLET_BARRIER);
    *ret_sequence = sequence;
    store_finish_append(tablet);
    return STATUS_OK;
}

enum status store_append_gc_horizon(struct store_tablet *tablet,
                                    const struct record_gc_horizon *horizon,
                                    uint64_t clock,
                                    uint64_t *ret_sequence)
{
    struct store *store = tablet->store;
    enum status status = check_tablet(tablet);
    if (status == STATUS_OK) {
        status = store_trouble_check(store, true);
    }
    if (status != STATUS_OK) {
        return status;
    }
    buffer_reset(&store->payload);
    record_encode_gc_horizon(horizon, &store->payload);
    struct horizon raised = {horizon->family, horizon->rule_version, horizon->horizon_us,
                             store_tablet_prepared(tablet) + 1};
    (void)pthread_mutex_lock(&tablet->mutex);
    /* Room first, with a horizon that changes nothing; the real one once it is in the log. */
    struct horizon nothing = {.family = horizon->family, .horizon_us = INT64_MIN, .sequence = 0};
    bool room = store_tablet_raise_horizon(tablet, &nothing);
    (void)pthread_mutex_unlock(&tablet->mutex);
    struct stamp stamp = {take_clock(tablet, clock), 0, 0};
    uint64_t sequence = 0;
    status = !room || store->payload.failed
                 ? STATUS_NO_MEMORY
                 : store_append_record(tablet, RECORD_GC_HORIZON, buffer_bytes(&store->payload),
                                       stamp, &sequence);
    if (status != STATUS_OK) {
        return status;
    }
    (void)pthread_mutex_lock(&tablet->mutex);
    (void)store_tablet_raise_horizon(tablet, &raised);
    (void)pthread_mutex_unlock(&tablet->mutex);
    *ret_sequence = sequence;
    store_finish_append(tablet);
    return STATUS_OK;
}

void store_note_barrier(struct store_tablet *tablet, struct store_barrier *barrier)
{
    (void)pthread_mutex_lock(&tablet->mutex);
    store_barriers_push(&tablet->barriers, barrier);
    (void)pthread_mutex_unlock(&tablet->mutex);
}

/* So of those that are not committed there is one at most, in whichever log: a split that is taken can be
 * told from one that was to be tried again. */
static bool has_barrier_above(const struct store_tablet *tablet, uint64_t sequence)
{
    const struct store_barrier *last = tablet->barriers;
    while (last != NULL && last->next != NULL) {
        last = last->next;
    }
    return last != NULL && last->entry.sequence > sequence;
}

enum status store_append_barrier(struct store_tablet *tablet,
                                 enum record_type type,
                                 struct bytes payload,
                                 uint64_t clock,
                                 uint64_t *ret_sequence)
{
    ASSERT(type == RECORD_SPLIT || (type >= RECORD_SPLIT_ABORTED && type <= RECORD_ABSORB_ABORTED));
    ASSERT(tablet->configuration.members.version != 0);
    enum status status = check_tablet(tablet);
    if (status == STATUS_OK) {
        status = store_trouble_check(tablet->store, true);
    }
    if (status == STATUS_OK && has_barrier_above(tablet, store_tablet_committed(tablet))) {
        status = STATUS_UNAVAILABLE;
    }
    if (status != STATUS_OK) {
        return status;
    }
    const struct store_entry entry = {.sequence = store_tablet_prepared(tablet) + 1,
                                      .version = tablet->descriptor.configuration,
                                      .stamp = {take_clock(tablet, clock), 0, 0},
                                      .type = (uint8_t)type,
                                      .payload = payload};
    struct store_barrier *barrier = store_barrier_create(&entry);
    if (barrier == NULL) {
        return STATUS_NO_MEMORY;
    }
    status = store_append_record(tablet, type, payload, entry.stamp, ret_sequence);
    if (status != STATUS_OK) {
        store_barriers_clear(&barrier);
        return status;
    }
    store_note_barrier(tablet, barrier);
    store_finish_append(tablet);
    return STATUS_OK;
}

uint64_t store_next_clock(struct store *store)
{
    int64_t now_us = store->callbacks.now_us(store->callbacks.context);
    return hlc_next(&store->hlc, now_us > 0 ? (uint64_t)now_us : 0);
}
