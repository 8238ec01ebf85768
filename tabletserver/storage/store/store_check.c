/* What must hold between the parts of a store. */
#include "common/base/assert.h"
#include "tabletserver/storage/store/store_internal.h"

/* --- store_check ---------------------------------------------------------------------------------- */

static void check_layers(struct store_tablet *tablet)
{
    ASSERT(tablet->layer_count >= 1 && tablet->layer_count <= STORE_LAYERS_MAX);
    ASSERT(!tablet->layers[0]->frozen);
    uint32_t own = 0;
    for (uint32_t i = 1; i < tablet->layer_count; i++) {
        struct store_layer *layer = tablet->layers[i];
        ASSERT(layer->frozen);
        ASSERT(memtable_last_sequence(layer->memtable) <= layer->last_sequence);
        ASSERT(IMPLIES(i > 1, tablet->layers[i - 1]->last_sequence > layer->last_sequence));
        /* Nothing that may still be needed has been let go in the log. */
        ASSERT(atomic_load(&layer->first_position) >= tablet->store->log_released);
        own += layer->owner == tablet->descriptor.tablet ? 1 : 0;
    }
    /* One that is flushed may wait for the loop to forget it, but none may be missing. */
    ASSERT(own >= tablet->progress.frozen_count);
    flush_progress_check(&tablet->progress);
}

static void check_tablet(struct store_tablet *tablet)
{
    uint64_t prepared = store_tablet_prepared(tablet);
    uint64_t committed = store_tablet_committed(tablet);
    ASSERT(committed <= prepared);
    (void)pthread_mutex_lock(&tablet->mutex);
    check_layers(tablet);
    ASSERT(IMPLIES(tablet->progress.blocked, tablet->lineage_count > 0));
    for (struct store_read *read = tablet->reads; read != NULL; read = read->older) {
        ASSERT(read->sequence <= prepared);
    }
    for (uint32_t i = 0; i < tablet->range_deletes->count; i++) {
        ASSERT(tablet->range_deletes->deletes[i].sequence <= prepared);
    }
    (void)pthread_mutex_unlock(&tablet->mutex);
    ASSERT(IMPLIES(tablet->pending_count > 0, tablet->pending_listed));
    bool alone = atomic_load(&tablet->alone);
    ASSERT(IMPLIES(alone && !tablet->pending_listed, prepared == committed));
    ASSERT(IMPLIES(tablet->leads, tablet->window.count == 0));
    ASSERT(committed <= tablet->synced);
    ASSERT(tablet->synced <= store_tablet_appended(tablet));
    const struct store_window_entry *waiting = store_window_first(&tablet->window);
    ASSERT(IMPLIES(waiting != NULL, waiting->entry.sequence == prepared + 1));
    ASSERT(IMPLIES(waiting != NULL, waiting->position >= tablet->store->log_released));
}

void store_check(struct store *store)
{
    for (uint32_t i = 0; i < store->tablet_count; i++) {
        struct store_tablet *tablet = store->tablets[i];
        check_tablet(tablet);
        ASSERT(tablet->index == i && tablet->is_listed);
        ASSERT(store_tablet_find(store, tablet->descriptor.tablet) == tablet);
        enum store_tablet_state state = atomic_load(&tablet->state);
        ASSERT(state == STORE_TABLET_LIVE || state == STORE_TABLET_BARRIER);
    }
    ASSERT(store->by_number.count == store->tablet_count);
    uint32_t hidden = 0;
    for (struct store_tablet *t = store->hidden; t != NULL; t = t->hidden_next) {
        hidden++;
        ASSERT(!t->is_listed && (t->hidden_next == NULL || t->hidden_next->hidden_before == t));
        ASSERT(store_tablets_find_hidden(store, t->descriptor.tablet) != NULL);
        enum store_tablet_state state = atomic_load(&t->state);
        ASSERT(state == STORE_TABLET_SPLIT || state == STORE_TABLET_DROPPING);
        check_tablet(t);
    }
    ASSERT(store->hidden_by_number.count == hidden);
}
