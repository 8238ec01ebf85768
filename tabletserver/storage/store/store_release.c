/*
 * What the log may let go of: all below the lowest position that any tablet still holds.
 *
 * That is asked with each memtable that has reached the base, and whoever held the log back most was flushed just then.
 * But the log lets go of whole segments.  So of all tablets that hold the segment in which the lowest position lies one is
 * remembered, the one that does so longest, as memtables are flushed in order: until that holds it no more nothing can
 * go, and the others need not be looked at.
 */
#include "common/base/mix.h"
#include "tabletserver/storage/copies/store_copies.h"
#include "tabletserver/storage/store/store_append.h"
#include "tabletserver/storage/store/store_internal.h"

static uint64_t lower(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* What the tablet needs of the log begins there; STORE_POSITION_NONE: it needs nothing. */
static uint64_t held_from(struct store_tablet *tablet)
{
    const struct store_window_entry *waiting = store_window_first(&tablet->window);
    uint64_t position = store_configuration_holds(tablet);
    position = waiting != NULL ? lower(position, waiting->position) : position;
    (void)pthread_mutex_lock(&tablet->mutex);
    for (uint32_t i = 0; i < tablet->layer_count; i++) {
        position = lower(position, atomic_load_explicit(&tablet->layers[i]->first_position,
                                                        memory_order_relaxed));
    }
    (void)pthread_mutex_unlock(&tablet->mutex);
    return position;
}

static void count_looks(struct store *store)
{
    atomic_fetch_add(&store->looked_at, store->tablet_count + store->hidden_by_number.count);
}

/* The one that comes after it among all, the first after NULL. */
static struct store_tablet *after(const struct store *store, const struct store_tablet *tablet)
{
    if (tablet != NULL && !tablet->is_listed) {
        return tablet->hidden_next;
    }
    uint32_t index = tablet != NULL ? tablet->index + 1 : 0;
    return index < store->tablet_count ? store->tablets[index] : store->hidden;
}

static uint64_t lowest_held(struct store *store)
{
    uint64_t position = store->log_position;
    count_looks(store);
    for (struct store_tablet *t = after(store, NULL); t != NULL; t = after(store, t)) {
        position = lower(position, held_from(t));
    }
    return position;
}

/* The one that holds the log below `end` and will do so longest; NULL when none does.  Of those that began with one batch,
 * which may be all, any: the first or last of them might always be the next to be flushed. */
static struct store_tablet *find_holder(struct store *store, uint64_t end)
{
    struct store_tablet *holder = NULL;
    uint64_t highest = 0;
    uint64_t lot = 0;
    count_looks(store);
    for (struct store_tablet *t = after(store, NULL); t != NULL; t = after(store, t)) {
        uint64_t position = held_from(t);
        uint64_t own_lot = mix64(t->descriptor.tablet);
        if (position < end &&
            (holder == NULL || position > highest || (position == highest && own_lot > lot))) {
            holder = t;
            highest = position;
            lot = own_lot;
        }
    }
    return holder;
}

void store_release_log(struct store *store)
{
    if (store->log == NULL ||
        (store->log_holder != NULL && held_from(store->log_holder) < store->log_held_end)) {
        return;
    }
    uint64_t position = lowest_held(store);
    if (position > store->log_released) {
        store->log_released = position;
        log_release(store->log, position);
    }
    store->log_holder = NULL;
    /* What is not synced yet is not let go of: then it is tried again. */
    if (position <= atomic_load(&store->synced_position)) {
        store->log_held_end = log_segment_end_at(store->log, position);
        store->log_holder = find_holder(store, store->log_held_end);
    }
}
