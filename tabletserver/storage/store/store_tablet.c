/* Tablets as objects, and the lists that a store keeps of them. */
#include <string.h>

#include "common/base/assert.h"
#include "common/base/memory.h"
#include "tabletserver/storage/flush/flush_choice.h"
#include "tabletserver/storage/store/store_internal.h"
#include "tabletserver/storage/upkeep/store_upkeep.h"

/* --- one tablet --------------------------------------------------------------------------------- */

static void destroy(struct store_tablet *tablet)
{
    ASSERT(tablet->reads == NULL);
    for (uint32_t i = 0; i < tablet->layer_count; i++) {
        store_layer_unref(tablet->store, tablet->layers[i]);
    }
    for (int i = 0; i < 2; i++) {
        if (tablet->split.children[i] != NULL) {
            store_tablet_unref(tablet->split.children[i]);
        }
    }
    store_pieces_unref(tablet->pieces);
    store_range_deletes_unref(tablet->range_deletes);
    dedupe_destroy(tablet->dedupe);
    store_window_deinit(&tablet->window);
    store_barriers_clear(&tablet->barriers);
    log_marks_deinit(&tablet->marks);
    buffer_deinit(&tablet->learn.image);
    buffer_deinit(&tablet->learn.below);
    buffer_deinit(&tablet->learn.at_row);
    buffer_deinit(&tablet->learn.at_qualifier);
    buffer_deinit(&tablet->split.dedupe);
    buffer_deinit(&tablet->applied);
    buffer_deinit(&tablet->sweep.resume);
    buffer_deinit(&tablet->erase.resume);
    buffer_deinit(&tablet->collect.row);
    buffer_deinit(&tablet->collect.qualifier);
    memory_free(tablet->horizons.items);
    memory_free(tablet->pending);
    memory_free(tablet->drop_job);
    (void)pthread_mutex_destroy(&tablet->mutex);
    memory_free(tablet);
}

static void copy_descriptor(struct store_tablet *tablet,
                            const struct store_tablet_descriptor *descriptor)
{
    uint8_t *at = (uint8_t *)(tablet + 1);
    struct bytes start = descriptor->range.start;
    struct bytes end = descriptor->range.end;
    tablet->descriptor = *descriptor;
    if (start.size_bytes > 0) {
        memcpy(at, start.data, start.size_bytes);
    }
    tablet->descriptor.range.start.data = at;
    if (end.size_bytes > 0) {
        memcpy(at + start.size_bytes, end.data, end.size_bytes);
    }
    tablet->descriptor.range.end.data = at + start.size_bytes;
}

enum status store_tablet_allocate(struct store *store,
                                  const struct store_tablet_descriptor *descriptor,
                                  struct store_tablet **ret_tablet)
{
    size_t bytes = descriptor->range.start.size_bytes + descriptor->range.end.size_bytes;
    struct store_tablet *tablet = memory_allocate_zeroed(1, sizeof *tablet + bytes);
    if (tablet == NULL) {
        return STATUS_NO_MEMORY;
    }
    atomic_init(&tablet->references, 1);
    tablet->store = store;
    tablet->frozen.tablet = tablet;
    tablet->turn.tablet = tablet;
    tablet->untidy.tablet = tablet;
    tablet->erasing.tablet = tablet;
    copy_descriptor(tablet, descriptor);
    (void)pthread_mutex_init(&tablet->mutex, NULL);
    flush_progress_init(&tablet->progress, 0, false);
    tablet->leads = true;
    atomic_init(&tablet->alone, true);
    tablet->configuring_position = STORE_POSITION_NONE;
    tablet->configured_position = STORE_POSITION_NONE;
    enum status status = store_layer_create(descriptor->tablet, &tablet->layers[0]);
    if (status == STATUS_OK) {
        tablet->layer_count = 1;
        status = dedupe_create(&store->settings.dedupe, &tablet->dedupe);
    }
    if (status == STATUS_OK) {
        tablet->pieces = store_pieces_create(NULL, 0, NULL);
        tablet->range_deletes = store_range_deletes_create(NULL, 0, NULL, 0, NULL);
        if (tablet->pieces == NULL || tablet->range_deletes == NULL) {
            status = STATUS_NO_MEMORY;
        }
    }
    if (status == STATUS_OK) {
        tablet->drop_job = memory_allocate_zeroed(1, sizeof *tablet->drop_job);
        status = tablet->drop_job == NULL ? STATUS_NO_MEMORY : STATUS_OK;
    }
    if (status != STATUS_OK) {
        destroy(tablet);
        return status;
    }
    *ret_tablet = tablet;
    return STATUS_OK;
}

void store_tablet_ref(struct store_tablet *tablet)
{
    atomic_fetch_add_explicit(&tablet->references, 1, memory_order_relaxed);
}

void store_tablet_unref(struct store_tablet *tablet)
{
    if (atomic_fetch_sub_explicit(&tablet->references, 1, memory_order_acq_rel) == 1) {
        destroy(tablet);
    }
}

struct load_counters *store_tablet_load(struct store_tablet *tablet)
{
    return &tablet->load;
}

const struct store_tablet_descriptor *store_tablet_describe(const struct store_tablet *tablet)
{
    return &tablet->descriptor;
}

struct store *store_tablet_store(const struct store_tablet *tablet)
{
    return tablet->store;
}

struct dedupe *store_tablet_dedupe(struct store_tablet *tablet)
{
    return tablet->dedupe;
}

void store_tablet_set_context(struct store_tablet *tablet, void *context)
{
    tablet->context = context;
}

void *store_tablet_context(const struct store_tablet *tablet)
{
    return tablet->context;
}

void store_tablet_set_replica(struct store_tablet *tablet, void *replica)
{
    tablet->replica = replica;
}

void *store_tablet_replica(const struct store_tablet *tablet)
{
    return tablet->replica;
}

uint64_t store_tablet_prepared(const struct store_tablet *tablet)
{
    return atomic_load_explicit(&tablet->prepared, memory_order_acquire);
}

uint64_t store_tablet_committed(const struct store_tablet *tablet)
{
    return atomic_load_explicit(&tablet->committed, memory_order_acquire);
}

bool store_tablet_raise_horizon(struct store_tablet *tablet, const struct horizon *horizon)
{
    struct horizon_list *list = &tablet->horizons;
    if (horizon_raise(list, horizon)) {
        return true;
    }
    struct horizon *more = memory_resize(list->items, (list->count + 1U) * sizeof *more);
    if (more == NULL) {
        return false;
    }
    more[list->count++] = *horizon;
    list->items = more;
    return true;
}

void store_tablet_publish_range_deletes(struct store_tablet *tablet,
                                        struct store_range_deletes *deletes)
{
    (void)pthread_mutex_lock(&tablet->mutex);
    struct store_range_deletes *old = tablet->range_deletes;
    tablet->range_deletes = deletes;
    bool any = deletes->count > 0;
    (void)pthread_mutex_unlock(&tablet->mutex);
    store_range_deletes_unref(old);
    if (any) {
        store_note_erasing(tablet);
    }
}

/* --- the store's lists -------------------------------------------------------------------------- */

static uint32_t creating_count(const struct store *store)
{
    uint32_t count = 0;
    for (const struct store_job *job = store->creating; job != NULL; job = job->creating_next) {
        count++;
    }
    return count;
}

enum status store_tablets_reserve(struct store *store, uint32_t more)
{
    uint32_t needed = store->tablet_count + creating_count(store) + more;
    if (needed > store->tablet_capacity) {
        uint32_t capacity = needed * 2;
        struct store_tablet **tablets = memory_allocate(capacity * sizeof *tablets);
        if (tablets == NULL) {
            return STATUS_NO_MEMORY;
        }
        (void)pthread_mutex_lock(&store->mutex);
        if (store->tablet_count > 0) {
            memcpy(tablets, store->tablets, store->tablet_count * sizeof *tablets);
        }
        memory_free(store->tablets);
        store->tablets = tablets;
        store->tablet_capacity = capacity;
        (void)pthread_mutex_unlock(&store->mutex);
    }
    enum status status = store_tablet_map_reserve(&store->by_number, needed);
    (void)pthread_mutex_lock(&store->mutex);
    if (status == STATUS_OK) { /* each may have to end */
        status = store_tablet_map_reserve(&store->hidden_by_number,
                                          store->hidden_by_number.count + needed);
    }
    (void)pthread_mutex_unlock(&store->mutex);
    return status;
}

void store_tablets_add(struct store *store, struct store_tablet *tablet)
{
    ASSERT(store->tablet_count < store->tablet_capacity);
    ASSERT(store_tablet_find(store, tablet->descriptor.tablet) == NULL);
    tablet->index = store->tablet_count;
    (void)pthread_mutex_lock(&store->mutex);
    store->tablets[store->tablet_count++] = tablet;
    tablet->is_listed = true;
    store_queue_put(&store->untidy, &tablet->untidy);
    store_queue_put(&store->erasing, &tablet->erasing);
    store->collect_look_us = 0;
    (void)pthread_mutex_unlock(&store->mutex);
    store_tablet_map_put(&store->by_number, tablet);
}

void store_tablets_hide(struct store *store, struct store_tablet *tablet)
{
    ASSERT(tablet->index < store->tablet_count && store->tablets[tablet->index] == tablet);
    store_tablet_map_remove(&store->by_number, tablet);
    (void)pthread_mutex_lock(&store->mutex);
    struct store_tablet *last = store->tablets[--store->tablet_count];
    store->tablets[tablet->index] = last;
    last->index = tablet->index;
    tablet->is_listed = false;
    store_queue_remove(&store->untidy, &tablet->untidy);
    store_queue_remove(&store->erasing, &tablet->erasing);
    tablet->hidden_before = NULL;
    tablet->hidden_next = store->hidden;
    if (store->hidden != NULL) {
        store->hidden->hidden_before = tablet;
    }
    store->hidden = tablet;
    store_tablet_map_put(&store->hidden_by_number, tablet);
    (void)pthread_mutex_unlock(&store->mutex);
}

void store_tablets_forget(struct store *store, struct store_tablet *tablet)
{
    (void)pthread_mutex_lock(&store->mutex);
    store_tablet_map_remove(&store->hidden_by_number, tablet);
    if (tablet->hidden_before != NULL) {
        tablet->hidden_before->hidden_next = tablet->hidden_next;
    } else {
        store->hidden = tablet->hidden_next;
    }
    if (tablet->hidden_next != NULL) {
        tablet->hidden_next->hidden_before = tablet->hidden_before;
    }
    tablet->hidden_next = NULL;
    flush_unlist(tablet);
    (void)pthread_mutex_unlock(&store->mutex);
    store->log_holder = store->log_holder == tablet ? NULL : store->log_holder;
}

struct store_tablet *store_tablets_find_hidden(const struct store *store, uint64_t tablet)
{
    return store_tablet_map_find(&store->hidden_by_number, tablet);
}

struct store_tablet *store_tablet_find(struct store *store, uint64_t tablet)
{
    return store_tablet_map_find(&store->by_number, tablet);
}

uint32_t store_tablet_count(const struct store *store)
{
    return store->tablet_count;
}

struct store_tablet *store_tablet_at(const struct store *store, uint32_t index)
{
    ASSERT(index < store->tablet_count);
    return store->tablets[index];
}
