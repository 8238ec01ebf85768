/*
 * Converting a tablet with copies into what the catalog has replaced it by (docs/replication.md,
 * section 7).
 *
 *   barrier     SPLIT in the replicated log, committed: nothing is given out behind it
 *   catalog     says that it was done; what a log has above the barrier was never committed, and goes
 *   CONVERSION  in the store's own log: children begin as in a split (store_split.c), under the
 *               configuration that this store knew of the parent; what is newer they hear as replicas do
 *   durable     on_configured of each child.  Only after both may the parent's last layer be flushed, with
 *               which the base hears of it: else the base would have children of which the log may know
 *               nothing, or one without its configuration, and a replay passes over the record of a parent
 *               that is gone
 *
 * What the barrier ends may be in the base already, so the layer that ends the parent is one of its own,
 * empty, above the barrier.
 */
#include "common/base/assert.h"
#include "tabletserver/storage/copies/store_copies.h"
#include "tabletserver/storage/copies/store_replica.h"
#include "tabletserver/storage/flush/flush_choice.h"
#include "tabletserver/storage/record/record_replica.h"
#include "tabletserver/storage/store/store_append.h"
#include "tabletserver/storage/store/store_internal.h"
#include "tabletserver/storage/store/store_replay.h"
#include "tabletserver/storage/store/store_split.h"

/* --- which barrier -------------------------------------------------------------------------------- */

/* The last one in the log, committed as far as is known here or not.  Behind it there may be what lifts
 * it, which then is not committed: another is given out only when that is. */
static bool find_split(const struct store_tablet *tablet, struct store_entry *ret_split)
{
    for (uint32_t i = tablet->window.count; i > 0; i--) {
        const struct store_entry *entry = &store_window_at(&tablet->window, i - 1)->entry;
        if (entry->type == RECORD_SPLIT) {
            *ret_split = *entry;
            return true;
        }
    }
    const struct store_entry *last = store_barriers_last(tablet->barriers, RECORD_SPLIT,
                                                         store_tablet_committed(tablet));
    if (last != NULL) {
        *ret_split = *last;
    }
    return last != NULL;
}

bool store_tablet_last_split(const struct store_tablet *tablet,
                             struct store_entry *ret_entry,
                             struct record_split *ret_split)
{
    struct store_entry entry;
    if (!find_split(tablet, &entry)) {
        return false;
    }
    enum status status = record_decode_split(entry.payload, ret_split, NULL);
    ASSERT(status == STATUS_OK); /* it did when it came */
    *ret_entry = entry;
    return true;
}

/* --- children ------------------------------------------------------------------------------------- */

static void configure_child(struct store_tablet *parent,
                            struct store_tablet *child,
                            const struct store_configuration *configuration)
{
    store_set_configuration(child, configuration);
    child->shared = child->shared || parent->shared;
    child->leads = atomic_load(&child->alone);
    child->window_sequence = parent->window_sequence;
    child->window_version = parent->window_version;
}

/* Give the parent an empty last layer: when that is "flushed", the parent ends in the base. */
static void push_ending(struct store_tablet *parent, struct store_layer *ending, uint64_t position)
{
    ending->last_sequence = parent->split.ending_sequence;
    ending->after_sequence = parent->split.sequence;
    ending->clock = atomic_load(&parent->clock);
    ending->frozen = true;
    store_layer_hold_log(ending, position);
    (void)pthread_mutex_lock(&parent->mutex);
    for (uint32_t i = parent->layer_count; i > 1; i--) {
        parent->layers[i] = parent->layers[i - 1];
    }
    parent->layers[1] = ending;
    parent->layer_count++;
    struct flush_event frozen = {.kind = FLUSH_EVENT_FROZEN,
                                 .last_sequence = ending->last_sequence};
    struct flush_event committed = {.kind = FLUSH_EVENT_COMMITTED,
                                    .last_sequence = ending->last_sequence};
    (void)flush_progress_step(&parent->progress, &frozen);
    (void)flush_progress_step(&parent->progress, &committed);
    (void)pthread_mutex_unlock(&parent->mutex);
    flush_list(parent);
}

/* All that may fail; after a failure nothing has changed, but that a memtable may be frozen. */
static enum status make_ready(struct store_tablet *parent,
                              const struct store_entry *barrier,
                              struct store_layer **ret_ending)
{
    struct record_split split;
    enum status status = record_decode_split(barrier->payload, &split, NULL);
    ASSERT(status == STATUS_OK); /* it did when it came */
    status = store_split_prepare(parent, &split, barrier->sequence, barrier->sequence + 1);
    if (status != STATUS_OK) {
        return status;
    }
    status = store_split_make_ready(parent);
    if (status == STATUS_OK && !store_advance(parent, barrier->sequence)) {
        status = STATUS_NO_MEMORY; /* an image is still to be taken */
    }
    if (status == STATUS_OK && parent->layer_count >= STORE_LAYERS_MAX) {
        status = STATUS_RESOURCE_EXHAUSTED;
    }
    if (status == STATUS_OK) {
        status = store_layer_create(parent->descriptor.tablet, ret_ending);
    }
    if (status != STATUS_OK) {
        store_split_cancel(parent);
    }
    return status;
}

static void begin(struct store_tablet *parent,
                  const struct store_configuration *configuration,
                  struct store_layer *ending,
                  uint64_t position)
{
    store_split_begin(parent);
    push_ending(parent, ending, position);
    for (int i = 0; i < 2; i++) {
        configure_child(parent, parent->split.children[i], configuration);
    }
}

/* --- in life -------------------------------------------------------------------------------------- */

enum status store_stand_at(struct store_tablet *tablet, uint64_t sequence)
{
    if (tablet->synced < sequence) {
        return STATUS_UNAVAILABLE;
    }
    enum status status = store_commit_up_to(tablet, sequence);
    if (status == STATUS_OK && store_tablet_appended(tablet) > sequence) {
        status = store_tablet_configure(tablet, &tablet->configuration, sequence);
    }
    return status;
}

static enum status check_child(struct store *store, uint64_t tablet)
{
    if (store_tablet_find(store, tablet) != NULL || store_is_creating(store, tablet)) {
        return STATUS_FAILED_PRECONDITION;
    }
    return store_is_ending(store, tablet) ? STATUS_UNAVAILABLE : STATUS_OK;
}

/* A child may be here already, or on its way, to be taught, if this store counted no more when the tablet was
 * split.  One that was and was dropped must have gone from the base before. */
static enum status check_children(const struct store_tablet *parent,
                                  const struct store_entry *barrier)
{
    struct record_split split;
    enum status status = record_decode_split(barrier->payload, &split, NULL);
    ASSERT(status == STATUS_OK); /* it did when it came */
    enum status left = check_child(parent->store, split.left_tablet);
    enum status right = check_child(parent->store, split.right_tablet);
    return left == STATUS_FAILED_PRECONDITION || right == STATUS_OK ? left : right;
}

static enum status check_parent(struct store_tablet *parent, struct store_entry *ret_barrier)
{
    if (atomic_load(&parent->state) != STORE_TABLET_LIVE) {
        return STATUS_NOT_OWNER;
    }
    if (!find_split(parent, ret_barrier) ||
        ret_barrier->sequence < store_tablet_committed(parent)) {
        return STATUS_FAILED_PRECONDITION;
    }
    enum status status = check_children(parent, ret_barrier);
    if (status != STATUS_OK) {
        return status;
    }
    if (parent->lineage_count >= STORE_LINEAGE_MAX) {
        return STATUS_RESOURCE_EXHAUSTED;
    }
    return store_trouble_check(parent->store, true);
}

static enum status log_conversion(struct store_tablet *parent, uint64_t sequence)
{
    return store_log_configuration(parent, RECORD_CONVERSION, &parent->configuration, sequence);
}

enum status store_tablet_convert(struct store_tablet *parent, struct store_tablet *ret_children[2])
{
    struct store_entry barrier;
    struct store_layer *ending = NULL;
    enum status status = check_parent(parent, &barrier);
    if (status == STATUS_OK) {
        status = store_stand_at(parent, barrier.sequence);
    }
    /* It may have left the window. */
    if (status == STATUS_OK) {
        bool found = store_tablet_barrier(parent, &barrier);
        ASSERT(found);
        status = make_ready(parent, &barrier, &ending);
    }
    if (status != STATUS_OK) {
        return status;
    }
    status = log_conversion(parent, barrier.sequence);
    if (status != STATUS_OK) {
        store_layer_unref(parent->store, ending);
        store_split_cancel(parent);
        return status;
    }
    uint64_t position = parent->store->log_position;
    begin(parent, &parent->configuration, ending, position);
    for (int i = 0; i < 2; i++) {
        parent->split.children[i]->configuring_position = position;
        store_list_pending(parent->split.children[i]);
        ret_children[i] = parent->split.children[i];
    }
    return STATUS_OK;
}

/* One record configured both, but each is noted by itself; and what the base is told of a child is what
 * has been noted. */
static bool are_both_durable(const struct store_tablet *parent)
{
    return parent->split.children[0]->durable_number > 0 &&
           parent->split.children[1]->durable_number > 0;
}

/* It is a first one that makes them both durable.  With a later one there is no parent to look for. */
void store_conversion_settle(struct store_tablet *child)
{
    if (child->durable_number > 1) {
        return;
    }
    (void)pthread_mutex_lock(&child->mutex);
    uint64_t nearest = child->lineage_count > 0 ? child->lineage[0] : 0;
    (void)pthread_mutex_unlock(&child->mutex);
    struct store_tablet *parent = store_tablets_find_hidden(child->store, nearest);
    if (parent != NULL && !parent->split.may_end && are_both_durable(parent)) {
        store_split_let_end(parent);
    }
}

/* --- at replay ------------------------------------------------------------------------------------ */

enum status store_conversion_replay(struct store_tablet *parent,
                                    const struct record_configuration *record,
                                    uint64_t position,
                                    struct error *ret_error)
{
    struct store_entry barrier;
    struct store_layer *ending = NULL;
    if (!store_tablet_barrier(parent, &barrier) || barrier.type != RECORD_SPLIT ||
        barrier.sequence != record->kept_sequence ||
        store_tablet_appended(parent) != barrier.sequence) {
        return error_set(ret_error, STATUS_CORRUPT, "a CONVERSION at %llu, where no SPLIT stands",
                         (unsigned long long)record->kept_sequence);
    }
    const struct store_configuration configuration = {record->configuration, record->role,
                                                      record->flags};
    enum status status = store_replay_make_room(parent);
    if (status == STATUS_OK) {
        status = make_ready(parent, &barrier, &ending);
    }
    if (status != STATUS_OK) {
        return status;
    }
    parent->synced = barrier.sequence;
    begin(parent, &configuration, ending, position);
    for (int i = 0; i < 2; i++) {
        store_note_durable_configuration(parent->split.children[i], position);
        parent->split.children[i]->leads = false; /* until all is replayed */
    }
    store_split_let_end(parent);
    return STATUS_OK;
}
