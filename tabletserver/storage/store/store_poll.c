/* The loop's turn: what is synced is committed, and what the work thread has told is taken. */
#include "common/base/assert.h"
#include "tabletserver/storage/copies/store_copies.h"
#include "tabletserver/storage/copies/store_relearn.h"
#include "tabletserver/storage/store/store_append.h"
#include "tabletserver/storage/store/store_internal.h"
#include "tabletserver/storage/store/store_split.h"
#include "tabletserver/storage/upkeep/store_upkeep.h"

static void on_range_delete_done(struct store_tablet *tablet)
{
    struct store_range_deletes *less = store_range_deletes_create(
        tablet->range_deletes->deletes, tablet->range_deletes->count, NULL, tablet->erase.sequence,
        NULL);
    if (less != NULL) {
        store_tablet_publish_range_deletes(tablet, less);
    }
    /* Without memory it stays on the list, and is erased again, for nothing. */
    atomic_store(&tablet->erase.told, false);
    store_tablet_unref(tablet);
}

static void take_event(struct store *store, struct store_event *event)
{
    switch (event->kind) {
    case STORE_EVENT_LAYER_FLUSHED:
        store_collect_forget(store, event->subject);
        store_layer_forget(store, event->subject);
        store_release_log(store);
        return;
    case STORE_EVENT_SPLIT_FINISHED:
        store_split_forget(event->subject);
        store_release_log(store);
        return;
    case STORE_EVENT_CREATED:
        store_on_created(store, event->subject);
        return;
    case STORE_EVENT_DROPPED:
        store_on_dropped(store, event->subject);
        return;
    case STORE_EVENT_MERGED:
        store_merge_finish(event->subject);
        return;
    case STORE_EVENT_RANGE_DELETE_DONE:
        on_range_delete_done(event->subject);
        return;
    case STORE_EVENT_TAUGHT:
        store_on_lesson(store, event->subject);
        return;
    case STORE_EVENT_COLLECT:
        store_collect_append(store);
        return;
    }
    UNREACHABLE();
}

void store_take_events(struct store *store)
{
    (void)pthread_mutex_lock(&store->mutex);
    struct store_event *events = store->events;
    store->events = NULL;
    store->events_end = &store->events;
    (void)pthread_mutex_unlock(&store->mutex);
    while (events != NULL) {
        struct store_event *event = events;
        events = event->next;
        take_event(store, event);
    }
}

static void freeze_wanted(struct store *store)
{
    store->flush_wanted = false;
    atomic_fetch_add(&store->looked_at, store->tablet_count);
    for (uint32_t i = 0; i < store->tablet_count; i++) {
        if (store->tablets[i]->flush_wanted) {
            store_flush_soon(store->tablets[i]);
        }
    }
}

void store_poll(struct store *store)
{
    if (atomic_load(&store->condition) == STORE_FAILED) {
        if (!store->failure_told) {
            store->failure_told = true;
            (void)pthread_mutex_lock(&store->mutex);
            struct error error = store->trouble;
            (void)pthread_mutex_unlock(&store->mutex);
            store->callbacks.on_failed(store->callbacks.context, &error);
        }
        return;
    }
    store_commit_synced(store);
    store_take_events(store);
    store_trouble_tell_damage(store);
    store_relearn_end(store);
    if (atomic_exchange(&store->freeze_asked, false)) {
        store_freeze_for_room(store);
    }
    if (atomic_load_explicit(&store->metas_written, memory_order_relaxed)) {
        atomic_store(&store->metas_written, false);
        store_release_log(store);
    }
    if (store->flush_wanted) {
        freeze_wanted(store);
    }
}
