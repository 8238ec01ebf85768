/*
 * What a tablet leaves to those that came of it by splits, and they to those that came of them: its memtables, and its
 * place among their ancestors, until it is in the base.
 *
 * Who has any of that is found from the tablet itself, down its line: to look through all tablets of a store for it, with
 * each memtable that is flushed, takes the loop most of its time where there are some thousands.
 */
#include "tabletserver/storage/store/store_line.h"

#include <string.h>

#include "common/base/assert.h"
#include "tabletserver/storage/store/store_append.h"
#include "tabletserver/storage/store/store_split.h"

void store_line_add_children(struct store_line *line, const struct store_tablet *tablet)
{
    for (int i = 0; i < 2; i++) {
        if (tablet->split.children[i] != NULL) {
            ASSERT(line->count < sizeof line->tablets / sizeof *line->tablets);
            line->tablets[line->count++] = tablet->split.children[i];
        }
    }
}

/* --- memtables ------------------------------------------------------------------------------------ */

static bool forget_in(struct store_tablet *tablet, struct store_layer *layer)
{
    bool found = false;
    atomic_fetch_add(&tablet->store->looked_at, 1);
    (void)pthread_mutex_lock(&tablet->mutex);
    for (uint32_t i = 1; i < tablet->layer_count && !found; i++) {
        if (tablet->layers[i] == layer) {
            tablet->layer_count--;
            memmove(&tablet->layers[i], &tablet->layers[i + 1],
                    (tablet->layer_count - i) * sizeof tablet->layers[0]);
            found = true;
        }
    }
    (void)pthread_mutex_unlock(&tablet->mutex);
    if (found) {
        store_layer_unref(tablet->store, layer);
    }
    return found;
}

void store_layer_forget(struct store *store, struct store_layer *layer)
{
    struct store_tablet *owner = store_tablet_find(store, layer->owner);
    struct store_line line = {0};
    owner = owner != NULL ? owner : store_tablets_find_hidden(store, layer->owner);
    if (owner == NULL) {
        return;
    }
    line.tablets[line.count++] = owner;
    while (line.count > 0) {
        struct store_tablet *tablet = line.tablets[--line.count];
        if (forget_in(tablet, layer)) { /* else none of its children has it */
            store_line_add_children(&line, tablet);
        }
    }
}

/* --- ancestors ------------------------------------------------------------------------------------ */

/* Cut the line of ancestors where the parent stands. */
static bool forget_ancestor(struct store_tablet *tablet, uint64_t parent)
{
    bool found = false;
    atomic_fetch_add(&tablet->store->looked_at, 1);
    (void)pthread_mutex_lock(&tablet->mutex);
    for (uint32_t i = 0; i < tablet->lineage_count; i++) {
        if (tablet->lineage[i] == parent) {
            tablet->lineage_count = i;
            found = true;
        }
    }
    if (tablet->progress.blocked && tablet->lineage_count == 0) {
        struct flush_event event = {.kind = FLUSH_EVENT_UNBLOCKED};
        atomic_store(&tablet->flush_stuck, false); /* if it was, then behind what it came of */
        (void)flush_progress_step(&tablet->progress, &event);
    }
    (void)pthread_mutex_unlock(&tablet->mutex);
    return found;
}

void store_split_forget(struct store_tablet *parent)
{
    struct store *store = parent->store;
    struct store_line line = {0};
    store_line_add_children(&line, parent);
    while (line.count > 0) {
        struct store_tablet *tablet = line.tablets[--line.count];
        if (forget_ancestor(tablet, parent->descriptor.tablet)) {
            store_line_add_children(&line, tablet);
        }
    }
    store_tablets_forget(store, parent);
    store_tablet_unref(parent);
    store_work_wake(store);
}
