/*
 * Appending what changes a tablet as a whole: a range of rows dropped, a horizon raised, barriers of splits
 * and merges.  As a write (store_write.c): what can fail comes before the log.
 */
#include "common/base/assert.h"
#include "tabletserver/storage/store/store_append.h"
#include "tabletserver/storage/store/store_split.h"

static enum status check(const struct store_tablet *tablet)
{
    enum status status = store_check_leads(tablet);
    return status == STATUS_OK ? store_trouble_check(tablet->store, true) : status;
}

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
    enum status status = check(tablet);
    if (status == STATUS_OK && drop->request.client != 0) {
        status = dedupe_reserve(tablet->dedupe, 1, 0);
    }
    if (status == STATUS_OK) {
        status = store_freeze(tablet);
    }
    if (status != STATUS_OK) {
        return status;
    }
    struct stamp stamp = {store_take_clock(tablet, clock), 0, 0};
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
    enum status status = check(tablet);
    if (status == STATUS_OK &&
        (tablet->layer_count >= STORE_LAYERS_MAX || tablet->lineage_count >= STORE_LINEAGE_MAX)) {
        status = STATUS_RESOURCE_EXHAUSTED;
    }
    if (status == STATUS_OK && atomic_load(&tablet->flush_stuck)) {
        status =
            STATUS_RESOURCE_EXHAUSTED; /* the delete that frees it would come to a child, which is behind it */
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
    struct stamp stamp = {store_take_clock(tablet, clock), 0, 0};
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
    enum status status = check(tablet);
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
    struct stamp stamp = {store_take_clock(tablet, clock), 0, 0};
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
    enum status status = check(tablet);
    if (status == STATUS_OK && has_barrier_above(tablet, store_tablet_committed(tablet))) {
        status = STATUS_UNAVAILABLE;
    }
    if (status != STATUS_OK) {
        return status;
    }
    const struct store_entry entry = {.sequence = store_tablet_prepared(tablet) + 1,
                                      .version = tablet->descriptor.configuration,
                                      .stamp = {store_take_clock(tablet, clock), 0, 0},
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
