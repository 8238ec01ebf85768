/*
 * Writes of rows: all of a record or nothing.
 *
 * Everything that can fail is done before the log takes the record (reserve), everything after it
 * cannot (apply).  No memory is allocated for a write once the buffers have grown to size.
 */
#include "common/base/assert.h"
#include "tabletserver/storage/store/store_append.h"

#define STUCK_LAYERS_MAX 2 /* the one that cannot be flushed, and an active one */

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

/* Too many records are no matter of memory or of the log, which are about to have room again. */
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
    enum status status = records > 0 ? dedupe_reserve(tablet->dedupe, records, result_bytes)
                                     : STATUS_OK;
    return status == STATUS_RESOURCE_EXHAUSTED ? STATUS_LIMIT : status;
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

/* What damage holds up stays in memory that all tablets share; deletes come in, which may free it. */
static enum status check_stuck(const struct store_tablet *tablet, bool only_deletes)
{
    bool is_stuck = !only_deletes && tablet->layer_count > STUCK_LAYERS_MAX &&
                    atomic_load_explicit(&tablet->flush_stuck, memory_order_relaxed);
    return is_stuck ? STATUS_CORRUPT : STATUS_OK;
}

enum status store_append_write(struct store_tablet *tablet,
                               const struct record_write *write,
                               uint64_t clock,
                               uint64_t *ret_sequence)
{
    struct store *store = tablet->store;
    bool only_deletes = deletes_only(write);
    enum status status = tablet->leads ? store_check_append(tablet, only_deletes)
                                       : STATUS_NOT_OWNER;
    if (status == STATUS_OK) {
        status = check_stuck(tablet, only_deletes);
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
    struct stamp stamp = {store_take_clock(tablet, clock), 0, 0};
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
