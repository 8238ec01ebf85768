#include "tabletserver/storage/flush/flush_choice.h"

#include "common/base/assert.h"
#include "tabletserver/storage/store/store_append.h"
#include "tabletserver/storage/store/store_internal.h"
#include "tabletserver/storage/store/store_room.h"

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

static uint64_t largest_bytes(const struct store_tablet *tablet)
{
    uint64_t largest = 0;
    for (uint32_t i = 0; i < tablet->layer_count; i++) {
        uint64_t bytes = atomic_load_explicit(&tablet->layers[i]->bytes, memory_order_relaxed);
        largest = bytes > largest ? bytes : largest;
    }
    return largest;
}

static void consider(struct store_tablet *tablet, struct flush_choice *choice)
{
    (void)pthread_mutex_lock(&tablet->mutex);
    uint64_t largest = largest_bytes(tablet);
    choice->largest_bytes = largest > choice->largest_bytes ? largest : choice->largest_bytes;
    enum store_tablet_state state = atomic_load(&tablet->state);
    if (state != STORE_TABLET_DROPPING && tablet->progress.state == FLUSH_RUNNING &&
        !atomic_load(&tablet->learn.replaced)) {
        struct store_layer *layer = oldest_layer(tablet);
        uint64_t position = atomic_load(&layer->first_position);
        /* The last layer is ended together with the tablet, so not before the loop has made the
         * children, and their record is durable. */
        bool waits = layer->last_sequence == tablet->split.ending_sequence &&
                     !tablet->split.may_end;
        if (!waits && (choice->tablet == NULL || position < choice->position)) {
            choice->tablet = tablet;
            choice->layer = layer;
            choice->position = position;
        }
    }
    (void)pthread_mutex_unlock(&tablet->mutex);
}

struct flush_choice flush_choose(struct store *store)
{
    struct flush_choice choice = {0};
    (void)pthread_mutex_lock(&store->mutex);
    for (uint32_t i = 0; i < store->tablet_count; i++) {
        consider(store->tablets[i], &choice);
    }
    for (struct store_tablet *t = store->hidden; t != NULL; t = t->hidden_next) {
        consider(t, &choice);
    }
    if (choice.tablet != NULL) {
        store_tablet_ref(choice.tablet);
        store_layer_ref(choice.layer);
    }
    (void)pthread_mutex_unlock(&store->mutex);
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
