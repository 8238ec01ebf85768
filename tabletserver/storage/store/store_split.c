/*
 * Splitting: two tablets where there was one, and nothing moves.
 *
 *   append      RECORD_SPLIT in the parent's log: the last thing there
 *   committed   (of one with copies: and the catalog says so, store_convert.c) children begin: the parent's frozen memtables (shared, seen through a range), its
 *               pieces (clipped), its exactly-once records (both); sequences go on from there
 *   in base     the parent's memtables are flushed under the parent's applied map; the very
 *               transaction that ends the last one, the one with the split in it, writes both
 *               children's metadata and removes the parent's
 *
 * Until that transaction the base knows the parent only, and a crash finds its records and the
 * split in the log again.  After it the parent's records in the log belong to nobody.  A child's
 * own memtables wait for it, so a child that splits again waits as well: lineage.
 */
#include <string.h>

#include "common/base/assert.h"
#include "common/base/memory.h"
#include "tabletserver/storage/copies/store_copies.h"
#include "tabletserver/storage/copies/store_grave.h"
#include "tabletserver/storage/flush/store_flush.h"
#include "tabletserver/storage/store/store_append.h"
#include "tabletserver/storage/store/store_internal.h"
#include "tabletserver/storage/store/store_split.h"
#include "tabletserver/storage/upkeep/store_upkeep.h"

/* The work thread looks at it too: the layer that ends with it waits until the children are there. */
static void set_sequences(struct store_tablet *parent, uint64_t sequence, uint64_t ending)
{
    (void)pthread_mutex_lock(&parent->mutex);
    parent->split.sequence = sequence;
    parent->split.ending_sequence = ending;
    (void)pthread_mutex_unlock(&parent->mutex);
}

enum status store_split_prepare(struct store_tablet *parent,
                                const struct record_split *split,
                                uint64_t sequence,
                                uint64_t ending)
{
    struct store_tablet_descriptor left = parent->descriptor;
    struct store_tablet_descriptor right = parent->descriptor;
    left.tablet = split->left_tablet;
    left.range.end = split->key;
    right.tablet = split->right_tablet;
    right.range.start = split->key;
    enum status status = store_tablet_allocate(parent->store, &left, &parent->split.children[0]);
    if (status == STATUS_OK) {
        status = store_tablet_allocate(parent->store, &right, &parent->split.children[1]);
    }
    if (status != STATUS_OK) {
        store_split_cancel(parent);
        return status;
    }
    set_sequences(parent, sequence, ending);
    return STATUS_OK;
}

void store_split_cancel(struct store_tablet *parent)
{
    for (int i = 0; i < 2; i++) {
        if (parent->split.children[i] != NULL) {
            store_tablet_unref(parent->split.children[i]);
            parent->split.children[i] = NULL;
        }
    }
    set_sequences(parent, 0, 0);
}

/* A child has everything up to the split, and nothing of its own, in the base. */
enum status store_encode_whole(uint64_t sequence, struct buffer *out)
{
    struct arena arena;
    struct applied_map map;
    arena_init(&arena, 256, SIZE_MAX);
    enum status status = applied_map_whole(&arena, sequence, &map);
    if (status == STATUS_OK) {
        buffer_reset(out);
        applied_map_encode(&map, out);
        status = out->failed ? STATUS_NO_MEMORY : STATUS_OK;
    }
    arena_deinit(&arena);
    return status;
}

/* All that needs memory; may be done again after a failure. */
static enum status inherit(struct store_tablet *parent, struct store_tablet *child)
{
    const struct row_range *range = &child->descriptor.range;
    struct store_pieces *pieces = store_pieces_create(parent->pieces->pieces, parent->pieces->count,
                                                      range);
    struct store_range_deletes *deletes = store_range_deletes_create(
        parent->range_deletes->deletes, parent->range_deletes->count, range, 0, NULL);
    struct horizon *horizons = memory_allocate((parent->horizons.count + 1U) * sizeof *horizons);
    enum status status = pieces == NULL || deletes == NULL || horizons == NULL
                             ? STATUS_NO_MEMORY
                             : dedupe_load(child->dedupe, buffer_bytes(&parent->split.dedupe),
                                           NULL);
    if (status == STATUS_OK) {
        status = store_encode_whole(parent->split.sequence, &child->applied);
    }
    if (status != STATUS_OK) {
        store_pieces_unref(pieces);
        store_range_deletes_unref(deletes);
        memory_free(horizons);
        return status;
    }
    store_pieces_unref(child->pieces);
    child->pieces = pieces;
    store_range_deletes_unref(child->range_deletes);
    child->range_deletes = deletes;
    memory_free(child->horizons.items);
    child->horizons = (struct horizon_list){horizons, parent->horizons.count};
    if (parent->horizons.count > 0) {
        memcpy(horizons, parent->horizons.items, parent->horizons.count * sizeof *horizons);
    }
    return STATUS_OK;
}

/* What the child takes over from its parent without needing memory, so that it cannot fail. */
static void begin_child(struct store_tablet *parent, struct store_tablet *child)
{
    atomic_store(&child->prepared, parent->split.sequence);
    atomic_store(&child->committed, parent->split.sequence);
    atomic_store(&child->clock, atomic_load(&parent->clock));
    atomic_store(&child->flushed_clock, atomic_load(&parent->clock)); /* as of its first record */
    child->synced = parent->split.sequence;
    child->layers[0]->after_sequence = parent->split.sequence;
    for (uint32_t i = 1; i < parent->layer_count; i++) {
        child->layers[child->layer_count++] = store_layer_ref(parent->layers[i]);
    }
    child->lineage[child->lineage_count++] = parent->descriptor.tablet;
    for (uint32_t i = 0; i < parent->lineage_count; i++) {
        child->lineage[child->lineage_count++] = parent->lineage[i];
    }
    flush_progress_init(&child->progress, parent->split.sequence, true);
    atomic_store(&child->base_bytes, atomic_load(&parent->base_bytes) / 2);
    atomic_store(&child->row_estimate, atomic_load(&parent->row_estimate) / 2);
    store_raise_floor(child);
}

enum status store_split_make_ready(struct store_tablet *parent)
{
    struct store *store = parent->store;
    ASSERT(parent->split.children[0] != NULL);
    ASSERT(store_tablet_committed(parent) == parent->split.sequence);
    enum status status = store_tablets_reserve(store, 2);
    if (status == STATUS_OK) {
        status = store_freeze(parent);
    }
    if (status == STATUS_OK) {
        buffer_reset(&parent->split.dedupe);
        dedupe_encode(parent->dedupe, &parent->split.dedupe);
        status = parent->split.dedupe.failed ? STATUS_NO_MEMORY : STATUS_OK;
    }
    for (int i = 0; i < 2 && status == STATUS_OK; i++) {
        status = inherit(parent, parent->split.children[i]);
    }
    return status;
}

void store_split_begin(struct store_tablet *parent)
{
    struct store *store = parent->store;
    (void)pthread_mutex_lock(&parent->mutex);
    for (int i = 0; i < 2; i++) {
        begin_child(parent, parent->split.children[i]);
    }
    atomic_store(&parent->state, STORE_TABLET_SPLIT);
    parent->freeze_count++; /* reads in the middle of their capture look again */
    (void)pthread_mutex_unlock(&parent->mutex);
    store_tablets_hide(store, parent);
    for (int i = 0; i < 2; i++) {
        store_tablet_ref(parent->split.children[i]); /* one for the parent, one for the list */
        store_tablets_add(store, parent->split.children[i]);
    }
}

void store_split_let_end(struct store_tablet *parent)
{
    uint64_t position = store_last_position(parent->store);
    (void)pthread_mutex_lock(&parent->mutex);
    parent->split.may_end = true;
    parent->split.last_position = position;
    (void)pthread_mutex_unlock(&parent->mutex);
    store_work_wake(parent->store);
}

enum status store_split_apply(struct store_tablet *parent)
{
    enum status status = store_split_make_ready(parent);
    if (status == STATUS_OK) {
        store_split_begin(parent);
        store_split_let_end(parent);
    }
    return status;
}

/* --- the transaction that ends the parent --------------------------------------------------------- */

static enum status put_child(struct base_writer *writer,
                             struct store_tablet *parent,
                             struct store_tablet *child)
{
    uint32_t piece_count = 0;
    enum status status = store_encode_whole(parent->split.sequence, &child->applied);
    if (status == STATUS_OK) {
        status = store_put_dedupe(writer, child->descriptor.tablet,
                                  buffer_bytes(&parent->split.dedupe), 0, &piece_count);
    }
    if (status == STATUS_OK) {
        status = store_put_tablet_meta(writer, child, parent->split.sequence,
                                       atomic_load(&child->flushed_clock), piece_count);
    }
    if (status == STATUS_OK) {
        status = store_put_applied(writer, child->descriptor.tablet, &child->applied);
    }
    if (status == STATUS_OK) {
        child->dedupe_piece_count = piece_count;
    }
    return status;
}

enum status store_split_write(struct base_writer *writer, struct store_tablet *parent)
{
    enum status status = STATUS_OK;
    for (int i = 0; i < 2 && status == STATUS_OK; i++) {
        status = put_child(writer, parent, parent->split.children[i]);
    }
    if (status == STATUS_OK) {
        status = store_delete_tablet_meta(writer, parent->descriptor.tablet,
                                          parent->dedupe_piece_count);
    }
    return status == STATUS_OK ? store_bury(writer, parent->store, parent->descriptor.tablet,
                                            parent->split.last_position)
                               : status;
}

void store_split_note_written(struct store_tablet *parent)
{
    for (int i = 0; i < 2; i++) {
        struct store_tablet *child = parent->split.children[i];
        child->flushed_sequence = parent->split.sequence;
        store_note_meta_written(child);
        child->applied_whole = true;
        child->estimate_due = true;
        child->sweep.due = true;
        store_note_untidy(child);
    }
    parent->split.event = (struct store_event){.kind = STORE_EVENT_SPLIT_FINISHED,
                                               .subject = parent};
    store_tell(parent->store, &parent->split.event);
}
