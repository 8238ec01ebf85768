#include "tabletserver/storage/flush/flush_choice.h"

#include "common/base/assert.h"
#include "common/io/clock.h"
#include "tabletserver/storage/store/store_append.h"
#include "tabletserver/storage/store/store_internal.h"
#include "tabletserver/storage/store/store_room.h"

#define LARGEST_LOOK_NS (INT64_C(200) * 1000 * 1000)

/* --- what writers leave alone --------------------------------------------------------------------- */

static void set_due(struct store *store, uint64_t bytes)
{
    uint64_t before = atomic_exchange(&store->due_bytes, bytes);
    if (bytes < before && atomic_load(&store->room_wanted)) {
        store->callbacks.wake(store->callbacks.context);
    }
}

static void note_due(struct store *store, const struct flush_choice *choice)
{
    const struct store_layer *layer = choice->layer;
    if (layer == NULL) {
        set_due(store, 0);
        return;
    }
    double rows = (double)memtable_row_count(layer->memtable);
    double flushed = rows > 0 ? (double)layer->rows_flushed / rows : 0;
    uint64_t flushed_bytes = (uint64_t)(flushed * (double)atomic_load(&layer->bytes));
    set_due(store,
            store_room_due_bytes(flushed_bytes, choice->largest_bytes, store_memory_limit(store)));
}

/* --- whose turn it is ----------------------------------------------------------------------------- */

/*
 * A heap of all that have frozen memtables, by where these begin in the log.  A key may be lower than that, never higher:
 * 0 at first, and that of a memtable which is in the base by now; it is put right when it is the lowest.
 */
void flush_list(struct store_tablet *tablet)
{
    struct store *store = tablet->store;
    (void)pthread_mutex_lock(&store->mutex);
    if (tablet->frozen.link == NULL) {
        pairing_heap_insert(&store->turns, &tablet->turn.node, 0);
    }
    store_queue_put(&store->frozen, &tablet->frozen);
    (void)pthread_mutex_unlock(&store->mutex);
}

void flush_unlist(struct store_tablet *tablet)
{
    struct store *store = tablet->store;
    if (tablet->frozen.link != NULL) {
        pairing_heap_remove(&store->turns, &tablet->turn.node);
    }
    store_queue_remove(&store->frozen, &tablet->frozen);
}

/* Its oldest frozen layer; those of a parent stand further back and are not its own. */
static struct store_layer *oldest_layer(struct store_tablet *tablet)
{
    for (uint32_t i = tablet->layer_count; i > 1; i--) {
        if (tablet->layers[i - 1]->owner == tablet->descriptor.tablet &&
            tablet->layers[i - 1]->last_sequence == tablet->progress.last_sequences[0]) {
            return tablet->layers[i - 1];
        }
    }
    UNREACHABLE();
}

/* The layer that may be flushed now; NULL: none.  *ret_any: something is frozen. */
static struct store_layer *ready_layer(struct store_tablet *tablet, bool *ret_any)
{
    struct store_layer *layer = NULL;
    (void)pthread_mutex_lock(&tablet->mutex);
    *ret_any = tablet->progress.frozen_count > 0;
    if (atomic_load(&tablet->state) != STORE_TABLET_DROPPING &&
        tablet->progress.state == FLUSH_RUNNING && !atomic_load(&tablet->learn.replaced)) {
        layer = oldest_layer(tablet);
        /* The last layer is ended together with the tablet, so not before the loop has made the
         * children, and their record is durable. */
        bool waits = layer->last_sequence == tablet->split.ending_sequence &&
                     !tablet->split.may_end;
        layer = waits ? NULL : layer;
    }
    (void)pthread_mutex_unlock(&tablet->mutex);
    return layer;
}

/* The lowest one, if it is ready and its key is right; else it is put where it belongs, or, if it cannot be flushed now,
 * among *passed. */
static bool choose_lowest(struct store *store,
                          struct flush_turn **passed,
                          struct flush_choice *ret_choice)
{
    struct flush_turn *turn = (struct flush_turn *)store->turns.lowest;
    struct store_tablet *tablet = turn->tablet;
    bool any = false;
    struct store_layer *layer = ready_layer(tablet, &any);
    uint64_t position = layer != NULL ? atomic_load(&layer->first_position) : 0;
    if (!any) {
        flush_unlist(tablet);
        return false;
    }
    if (layer != NULL && position == turn->node.key) {
        ret_choice->tablet = tablet;
        ret_choice->layer = layer;
        ret_choice->position = position;
        return true;
    }
    pairing_heap_remove(&store->turns, &turn->node);
    if (layer != NULL) {
        pairing_heap_insert(&store->turns, &turn->node, position);
    } else {
        turn->next = *passed;
        *passed = turn;
    }
    return false;
}

static void choose(struct store *store, struct flush_choice *ret_choice)
{
    struct flush_turn *passed = NULL;
    bool chosen = false;
    while (!chosen && store->turns.lowest != NULL) {
        atomic_fetch_add(&store->looked_at, 1);
        chosen = choose_lowest(store, &passed, ret_choice);
    }
    for (; passed != NULL; passed = passed->next) {
        pairing_heap_insert(&store->turns, &passed->node, passed->node.key);
    }
}

static uint64_t largest_bytes(struct store_tablet *tablet)
{
    uint64_t largest = 0;
    (void)pthread_mutex_lock(&tablet->mutex);
    for (uint32_t i = 0; i < tablet->layer_count; i++) {
        uint64_t bytes = atomic_load_explicit(&tablet->layers[i]->bytes, memory_order_relaxed);
        largest = bytes > largest ? bytes : largest;
    }
    (void)pthread_mutex_unlock(&tablet->mutex);
    return largest;
}

/* It is raised as memtables grow (store_count_memory()).  That it has become less is found out now and then, for all
 * tablets have to be looked at; what is raised meanwhile is so again with the next write. */
static void look_for_largest(struct store *store)
{
    int64_t now_ns = clock_monotonic_ns();
    uint64_t largest = 0;
    if (now_ns < store->largest_look_ns) {
        return;
    }
    store->largest_look_ns = now_ns + LARGEST_LOOK_NS;
    atomic_fetch_add(&store->looked_at, store->tablet_count);
    for (uint32_t i = 0; i < store->tablet_count; i++) {
        uint64_t bytes = largest_bytes(store->tablets[i]);
        largest = bytes > largest ? bytes : largest;
    }
    for (struct store_tablet *t = store->hidden; t != NULL; t = t->hidden_next) {
        uint64_t bytes = largest_bytes(t);
        largest = bytes > largest ? bytes : largest;
    }
    atomic_store(&store->largest_bytes, largest);
}

struct flush_choice flush_choose(struct store *store)
{
    struct flush_choice choice = {0};
    (void)pthread_mutex_lock(&store->mutex);
    choose(store, &choice);
    if (choice.tablet != NULL) {
        store_tablet_ref(choice.tablet);
        store_layer_ref(choice.layer);
        look_for_largest(store);
    }
    (void)pthread_mutex_unlock(&store->mutex);
    choice.largest_bytes = atomic_load(&store->largest_bytes);
    note_due(store, &choice);
    return choice;
}

void flush_choice_release(struct store *store, struct flush_choice *choice)
{
    store_layer_unref(store, choice->layer);
    store_tablet_unref(choice->tablet);
}

/* Where a layer is done it is the next one's turn at once: before that begins there may be time for housekeeping,
 * in which writers would take all that has come free. */
void flush_note_progress(struct store *store, const struct flush_choice *choice)
{
    if (!choice->tablet->applied_whole) {
        note_due(store, choice);
        return;
    }
    struct flush_choice next = flush_choose(store);
    if (next.tablet != NULL) {
        flush_choice_release(store, &next);
    }
}
