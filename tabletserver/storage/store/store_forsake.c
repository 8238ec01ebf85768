/*
 * The end of a tablet that was split, when all that came of it is being dropped.
 *
 * These wait for it, for what it has in memory is theirs, too.  As nobody wants that, it goes: its metadata, and with it
 * what the log has of it, as at a drop (store_job.c).  A process that ends then must not find the parts of it in the log
 * without what they began with: so the same transaction makes their graves.
 */
#include "tabletserver/storage/store/store_forsake.h"

#include "common/base/assert.h"
#include "tabletserver/storage/copies/store_grave.h"
#include "tabletserver/storage/flush/store_flush.h"
#include "tabletserver/storage/store/store_held.h"
#include "tabletserver/storage/store/store_line.h"
#include "tabletserver/storage/upkeep/store_upkeep.h"

/* Has it been split for good, with all of it committed? */
static bool has_ended(struct store_tablet *tablet)
{
    (void)pthread_mutex_lock(&tablet->mutex);
    const struct flush_progress *progress = &tablet->progress;
    bool ended = atomic_load(&tablet->state) == STORE_TABLET_SPLIT && tablet->split.may_end &&
                 progress->frozen_count > 0 &&
                 progress->last_sequences[progress->frozen_count - 1] <= progress->committed;
    (void)pthread_mutex_unlock(&tablet->mutex);
    return ended;
}

bool store_is_forsaken(struct store_tablet *parent)
{
    struct store_line line = {.count = 0};
    bool forsaken = has_ended(parent); /* one that is dropped itself ends so (store_job.c) */
    if (forsaken) {
        store_line_add_children(&line, parent);
    }
    while (forsaken && line.count > 0) {
        struct store_tablet *tablet = line.tablets[--line.count];
        bool dropped = atomic_load(&tablet->state) == STORE_TABLET_DROPPING;
        forsaken = dropped || has_ended(tablet);
        if (forsaken && !dropped) {
            store_line_add_children(&line, tablet);
        }
    }
    return forsaken;
}

/* Nothing is appended to any of them any more: up to where the log goes now it may be about them. */
static enum status bury_all(struct base_writer *writer,
                            struct store_tablet *parent,
                            uint64_t *ret_clock)
{
    struct store *store = parent->store;
    struct store_line line = {.count = 1, .tablets = {parent}};
    struct log_statistics numbers;
    enum status status = STATUS_OK;
    log_statistics(store->log, &numbers);
    while (status == STATUS_OK && line.count > 0) {
        struct store_tablet *tablet = line.tablets[--line.count];
        uint64_t clock = atomic_load(&tablet->clock);
        *ret_clock = clock > *ret_clock ? clock : *ret_clock;
        status = store_bury(writer, store, tablet->descriptor.tablet, numbers.next_position - 1);
        if (atomic_load(&tablet->state) == STORE_TABLET_SPLIT) {
            store_line_add_children(&line, tablet);
        }
    }
    return status;
}

static enum status write(struct base_writer *writer,
                         struct store_tablet *parent,
                         struct store_erasure **ret_erasures)
{
    uint64_t clock = 0;
    enum status status = store_note_erasures(writer, parent, ret_erasures);
    if (status == STATUS_OK) {
        status = store_delete_tablet_meta(writer, parent->descriptor.tablet,
                                          parent->dedupe_piece_count);
    }
    if (status == STATUS_OK) {
        status = bury_all(writer, parent, &clock);
    }
    return status == STATUS_OK ? store_put_store_meta(writer, parent->store, clock) : status;
}

/* The oldest of its frozen memtables, out of those that are to be flushed; NULL: there is none. */
static struct store_layer *take_oldest(struct store_tablet *parent)
{
    const struct flush_event event = {.kind = FLUSH_EVENT_FINISHED};
    struct store_layer *layer = NULL;
    (void)pthread_mutex_lock(&parent->mutex);
    struct flush_progress *progress = &parent->progress;
    for (uint32_t i = 1; i < parent->layer_count && progress->frozen_count > 0; i++) {
        if (parent->layers[i]->owner == parent->descriptor.tablet &&
            parent->layers[i]->last_sequence == progress->last_sequences[0]) {
            layer = parent->layers[i];
        }
    }
    if (layer != NULL) {
        (void)flush_progress_step(progress, &event);
        flush_progress_check(progress);
    }
    (void)pthread_mutex_unlock(&parent->mutex);
    return layer;
}

/* The loop lets go of what it has in memory, and then of the tablet. */
static void tell(struct store_tablet *parent)
{
    struct store *store = parent->store;
    struct store_layer *layer = take_oldest(parent);
    atomic_store(&parent->flush_stuck, false);
    store_held_forget(store, parent->descriptor.tablet);
    parent->applied_whole = true;
    while (layer != NULL) {
        layer->event = (struct store_event){.kind = STORE_EVENT_LAYER_FLUSHED, .subject = layer};
        store_tell(store, &layer->event);
        layer = take_oldest(parent);
    }
    ASSERT(parent->progress.frozen_count == 0); /* none is added: it was split */
    parent->split.event = (struct store_event){.kind = STORE_EVENT_SPLIT_FINISHED,
                                               .subject = parent};
    store_tell(store, &parent->split.event);
}

enum status store_forsake(struct store_tablet *parent)
{
    struct store *store = parent->store;
    struct base_writer *writer = NULL;
    struct store_erasure *erasures = NULL;
    enum status status = base_writer_begin(store->base, &writer);
    if (status != STATUS_OK) {
        return status;
    }
    status = write(writer, parent, &erasures);
    if (status == STATUS_OK) {
        status = base_writer_commit(writer);
    } else {
        base_writer_abort(writer);
    }
    store_keep_erasures(store, erasures, status == STATUS_OK);
    if (status == STATUS_OK) {
        tell(parent);
    }
    return status;
}
