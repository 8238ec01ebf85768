/*
 * Entries of a replica: into the log and the window, out of the window into memtables, and committed
 * by word.  Applying is written so that it can be tried again: what may fail comes first, and what was
 * done before a failure is found done.
 */
#include "tabletserver/storage/copies/store_replica.h"

#include "common/base/assert.h"
#include "tabletserver/storage/copies/store_copies.h"
#include "tabletserver/storage/store/store_append.h"
#include "tabletserver/storage/store/store_internal.h"
#include "tabletserver/storage/store/store_replay.h"

/* --- applying ------------------------------------------------------------------------------------- */

/* While it is taught: what of an entry is in a slice (store_slice_write.c). */
static bool is_in_slice(const struct store_tablet *tablet,
                        const struct store_entry *of,
                        const struct record_entry *entry)
{
    return tablet->learn.begun && of->sequence <= tablet->hold_until &&
           bytes_compare(entry->row, buffer_bytes(&tablet->learn.below)) >= 0;
}

static void cancel_rows(struct store_tablet *tablet,
                        const struct store_entry *of,
                        const struct record_write *write,
                        size_t count)
{
    for (size_t i = count; i > 0; i--) {
        const struct record_entry *entry = &write->entries[i - 1];
        if (!is_in_slice(tablet, of, entry)) {
            memtable_cancel(tablet->layers[0]->memtable, entry->row, entry->changes,
                            entry->change_count);
        }
    }
}

static enum status reserve_rows(struct store_tablet *tablet,
                                const struct store_entry *of,
                                const struct record_write *write)
{
    struct memtable *memtable = tablet->layers[0]->memtable;
    for (size_t i = 0; i < write->entry_count; i++) {
        const struct record_entry *entry = &write->entries[i];
        if (is_in_slice(tablet, of, entry)) {
            continue;
        }
        enum status status = memtable_reserve(memtable, entry->row, entry->changes,
                                              entry->change_count);
        if (status != STATUS_OK) {
            cancel_rows(tablet, of, write, i);
            return status;
        }
    }
    return STATUS_OK;
}

/* Exactly-once records first: one that is there already stays as it is. */
static enum status apply_write(struct store_tablet *tablet,
                               const struct store_entry *of,
                               const struct record_write *write)
{
    if (of->sequence <= tablet->hold_until && !tablet->learn.begun) {
        return store_replay_write(tablet, of, write);
    }
    for (size_t i = 0; i < write->entry_count; i++) {
        const struct record_entry *entry = &write->entries[i];
        enum status status = dedupe_record(tablet->dedupe, &entry->request, of->sequence,
                                           of->stamp.clock, entry->result);
        if (status != STATUS_OK) {
            return status;
        }
    }
    struct memtable *memtable = tablet->layers[0]->memtable;
    enum status status = reserve_rows(tablet, of, write);
    if (status != STATUS_OK) {
        return status;
    }
    struct stamp stamp = of->stamp;
    for (size_t i = 0; i < write->entry_count; i++) {
        const struct record_entry *entry = &write->entries[i];
        if (!is_in_slice(tablet, of, entry)) {
            memtable_apply(memtable, of->sequence, stamp, entry->row, entry->changes,
                           entry->change_count);
        }
        stamp.index += (uint32_t)entry->change_count;
    }
    return STATUS_OK;
}

static enum status apply_drop_range(struct store_tablet *tablet, const struct store_entry *of)
{
    struct record_drop_range drop;
    enum status status = record_decode_drop_range(of->payload, &drop, NULL);
    ASSERT(status == STATUS_OK); /* it did when it came */
    if (tablet->learn.begun) {
        return STATUS_CORRUPT; /* its primary gives out none meanwhile */
    }
    status = dedupe_record(tablet->dedupe, &drop.request, of->sequence, of->stamp.clock,
                           BYTES_EMPTY);
    if (status == STATUS_OK) {
        status = store_freeze(tablet);
    }
    if (status != STATUS_OK) {
        return status;
    }
    struct range_delete delete = {drop.range, of->stamp, of->sequence};
    struct store_range_deletes *more = store_range_deletes_create(
        tablet->range_deletes->deletes, tablet->range_deletes->count, NULL, 0, &delete);
    if (more == NULL) {
        return STATUS_NO_MEMORY;
    }
    store_tablet_publish_range_deletes(tablet, more);
    return STATUS_OK;
}

static enum status apply_gc_horizon(struct store_tablet *tablet, const struct store_entry *of)
{
    struct record_gc_horizon decoded;
    enum status status = record_decode_gc_horizon(of->payload, &decoded, NULL);
    ASSERT(status == STATUS_OK);
    struct horizon horizon = {decoded.family, decoded.rule_version, decoded.horizon_us,
                              of->sequence};
    (void)pthread_mutex_lock(&tablet->mutex);
    bool raised = store_tablet_raise_horizon(tablet, &horizon);
    (void)pthread_mutex_unlock(&tablet->mutex);
    return raised ? STATUS_OK : STATUS_NO_MEMORY;
}

static enum status apply_barrier(struct store_tablet *tablet, const struct store_entry *of)
{
    struct store_barrier *barrier = store_barrier_create(of);
    if (barrier == NULL) {
        return STATUS_NO_MEMORY;
    }
    store_note_barrier(tablet, barrier);
    return STATUS_OK;
}

/* The first of the window, as prepared; it leaves the window. */
static enum status apply_first(struct store_tablet *tablet)
{
    const struct store_window_entry *first = store_window_at(&tablet->window, 0);
    const struct store_entry *entry = &first->entry;
    enum status status = STATUS_OK;
    ASSERT(entry->sequence == store_tablet_prepared(tablet) + 1);
    if (entry->type == RECORD_WRITE) {
        status = apply_write(tablet, entry, &first->write);
    } else if (entry->type == RECORD_DROP_RANGE) {
        status = apply_drop_range(tablet, entry);
    } else if (entry->type == RECORD_GC_HORIZON) {
        status = apply_gc_horizon(tablet, entry);
    } else {
        status = apply_barrier(tablet, entry);
    }
    if (status != STATUS_OK) {
        return status;
    }
    store_layer_hold_log(tablet->layers[0], first->position);
    store_count_memory(tablet->store, tablet->layers[0]);
    store_publish_prepared(tablet, entry->sequence, entry->stamp.clock);
    tablet->window_sequence = entry->sequence;
    tablet->window_version = entry->version;
    store_window_pop(&tablet->window);
    return STATUS_OK;
}

static enum status apply_up_to(struct store_tablet *tablet, uint64_t sequence)
{
    enum status status = STATUS_OK;
    while (status == STATUS_OK && tablet->window.count > 0 &&
           store_tablet_prepared(tablet) < sequence) {
        status = apply_first(tablet);
    }
    return status;
}

enum status store_commit_up_to(struct store_tablet *tablet, uint64_t sequence)
{
    if (tablet->learn.replaces) {
        return STATUS_RESOURCE_EXHAUSTED;
    }
    if (tablet->learn.begun && sequence > tablet->hold_until) {
        sequence = tablet->hold_until;
    }
    enum status status = apply_up_to(tablet, sequence);
    uint64_t prepared = store_tablet_prepared(tablet);
    uint64_t reached = prepared < sequence ? prepared : sequence;
    if (reached > store_tablet_committed(tablet) && !store_advance(tablet, reached)) {
        store_list_pending(tablet); /* an image is still to be taken: at the next poll */
    }
    return status;
}

/* --- entries from others -------------------------------------------------------------------------- */

static uint64_t appended_clock(const struct store_tablet *tablet)
{
    const struct store_window_entry *last = store_window_last(&tablet->window);
    return last != NULL ? last->entry.stamp.clock
                        : atomic_load_explicit(&tablet->clock, memory_order_relaxed);
}

static enum status check_entry(struct store_tablet *tablet,
                               const struct store_entry *entry,
                               struct error *ret_error)
{
    struct store *store = tablet->store;
    if (entry->stamp.clock <= appended_clock(tablet)) {
        return error_set(ret_error, STATUS_CORRUPT, "an entry older than the one before it");
    }
    bool follows_on_nothing = tablet->learn.begun && !tablet->learn.follows;
    enum status status = tablet->learn.replaces || follows_on_nothing
                             ? STATUS_RESOURCE_EXHAUSTED
                             : store_check_append(tablet, false);
    if (status == STATUS_OK && tablet->window.count > 0 &&
        tablet->window.bytes + entry->payload.size_bytes > store->settings.window_bytes_max) {
        status = STATUS_RESOURCE_EXHAUSTED;
    }
    return status == STATUS_OK ? status : error_set(ret_error, status, "%s", status_text(status));
}

static enum status take_entry(struct store_tablet *tablet, const struct store_window_entry *entry)
{
    struct store *store = tablet->store;
    enum status status = store_window_reserve(&tablet->window);
    if (status == STATUS_OK) {
        status = store_reserve_pending(tablet);
    }
    struct log_record record = {
        .type = entry->entry.type,
        .tablet = tablet->descriptor.tablet,
        .configuration = entry->entry.version,
        .behind = entry->entry.sequence - store_tablet_committed(tablet),
        .sequence = entry->entry.sequence,
        .stamp = entry->entry.stamp,
        .payload = entry->entry.payload,
    };
    if (status == STATUS_OK) {
        status = store_log_record(store, &record);
    }
    if (status == STATUS_OK) {
        hlc_observe(&store->hlc, entry->entry.stamp.clock);
        store_push_pending(tablet, store->log_position, entry->entry.sequence);
    }
    return status;
}

enum status store_append_entry(struct store_tablet *tablet,
                               const struct store_entry *entry,
                               struct error *ret_error)
{
    ASSERT(!tablet->leads);
    ASSERT(entry->sequence == store_tablet_appended(tablet) + 1);
    struct store_window_entry *copy = NULL;
    enum status status = check_entry(tablet, entry, ret_error);
    if (status == STATUS_OK) {
        status = store_window_entry_create(entry, &tablet->descriptor.range, &copy, ret_error);
    }
    if (status != STATUS_OK) {
        return status;
    }
    status = take_entry(tablet, copy);
    if (status != STATUS_OK) {
        store_window_entry_destroy(copy);
        return error_set(ret_error, status, "%s", status_text(status));
    }
    copy->position = tablet->store->log_position;
    store_window_push(&tablet->window, copy);
    return STATUS_OK;
}

/* --- words ---------------------------------------------------------------------------------------- */

enum status store_tablet_commit(struct store_tablet *tablet, uint64_t sequence)
{
    ASSERT(!atomic_load_explicit(&tablet->alone, memory_order_relaxed));
    ASSERT(sequence <= tablet->synced);
    return store_commit_up_to(tablet, sequence);
}

uint64_t store_tablet_appended(const struct store_tablet *tablet)
{
    const struct store_window_entry *last = store_window_last(&tablet->window);
    return last != NULL ? last->entry.sequence : store_tablet_prepared(tablet);
}

uint64_t store_tablet_committed_version(const struct store_tablet *tablet)
{
    bool known = tablet->window_sequence == store_tablet_committed(tablet);
    return known ? tablet->window_version : 0;
}

bool store_tablet_barrier(const struct store_tablet *tablet, struct store_entry *ret_barrier)
{
    const struct store_entry *standing = store_barriers_standing(tablet->barriers,
                                                                 store_tablet_committed(tablet));
    if (standing != NULL) {
        *ret_barrier = *standing;
    }
    return standing != NULL;
}

bool store_tablet_is_alone(const struct store_tablet *tablet)
{
    return atomic_load_explicit(&tablet->alone, memory_order_relaxed);
}

uint32_t store_tablet_window_count(const struct store_tablet *tablet)
{
    return tablet->window.count;
}

struct store_entry store_tablet_window_at(const struct store_tablet *tablet, uint32_t index)
{
    ASSERT(index < tablet->window.count);
    return store_window_at(&tablet->window, index)->entry;
}

bool store_tablet_leads(const struct store_tablet *tablet)
{
    return tablet->leads;
}

enum status store_tablet_lead(struct store_tablet *tablet)
{
    if (tablet->learn.begun || tablet->learn.replaces) {
        return STATUS_RESOURCE_EXHAUSTED; /* a part of it leads nobody */
    }
    enum status status = apply_up_to(tablet, UINT64_MAX);
    tablet->leads = tablet->leads || status == STATUS_OK;
    tablet->rules_said = 0;
    return status;
}

void store_tablet_follow(struct store_tablet *tablet)
{
    tablet->leads = false;
}
