/*
 * Merging two tablets with copies into one, by the catalog's word (docs/replication.md, section 7).
 *
 *   barriers    FROZEN in the right one, ABSORB in the left one, both committed: nothing is behind them
 *   flushed     both are brought wholly into the base; meanwhile they are read
 *   one         transaction of the base: the metadata of both go, that of the merged one comes: pieces of
 *               both, exactly-once records united, what is still to be erased
 *
 * So a crash finds both or the one, and the log need not say anything: a merge is of tablets that have
 * little to do, and waits for their flush; a split (store_convert.c) may not.
 *
 * The merged one's sequences begin STORE_MERGE_ROOM above the higher of both: above each, the same in every copy,
 * and with room to tell the range deletes of one from those of the other.
 */
#include <string.h>

#include "common/base/assert.h"
#include "common/base/memory.h"
#include "tabletserver/storage/copies/store_copies.h"
#include "tabletserver/storage/copies/store_grave.h"
#include "tabletserver/storage/copies/store_replica.h"
#include "tabletserver/storage/flush/store_flush.h"
#include "tabletserver/storage/record/record_replica.h"
#include "tabletserver/storage/store/store_append.h"
#include "tabletserver/storage/store/store_internal.h"
#include "tabletserver/storage/store/store_split.h"
#include "tabletserver/storage/upkeep/store_upkeep.h"

/* --- may they be merged? -------------------------------------------------------------------------- */

/* The last entry of that type, committed as far as is known here or not. */
static bool find_barrier(const struct store_tablet *tablet,
                         enum record_type type,
                         struct store_entry *ret_entry)
{
    const struct store_entry *last = store_barriers_last(tablet->barriers, type,
                                                         store_tablet_committed(tablet));
    bool found = last != NULL;
    if (found) {
        *ret_entry = *last;
    }
    for (uint32_t i = 0; i < tablet->window.count; i++) {
        const struct store_entry *entry = &store_window_at(&tablet->window, i)->entry;
        if (entry->type == type) {
            *ret_entry = *entry;
            found = true;
        }
    }
    return found;
}

bool store_tablet_last_absorb(const struct store_tablet *tablet,
                              struct store_entry *ret_entry,
                              struct record_absorb *ret_absorb)
{
    struct store_entry entry;
    if (!find_barrier(tablet, RECORD_ABSORB, &entry)) {
        return false;
    }
    enum status status = record_decode_absorb(entry.payload, ret_absorb, NULL);
    ASSERT(status == STATUS_OK); /* it did when it came */
    *ret_entry = entry;
    return true;
}

bool store_tablet_last_frozen(const struct store_tablet *tablet,
                              struct store_entry *ret_entry,
                              struct record_frozen *ret_frozen)
{
    struct store_entry entry;
    if (!find_barrier(tablet, RECORD_FROZEN, &entry)) {
        return false;
    }
    enum status status = record_decode_frozen(entry.payload, ret_frozen, NULL);
    ASSERT(status == STATUS_OK); /* it did when it came */
    *ret_entry = entry;
    return true;
}

bool store_tablet_is_merging(const struct store_tablet *tablet)
{
    return tablet->merging;
}

bool store_tablet_was_merged(const struct store_tablet *tablet)
{
    return tablet->was_merged;
}

void store_tablet_flush(struct store_tablet *tablet)
{
    store_flush_soon(tablet);
}

bool store_tablet_is_flushed(struct store_tablet *tablet)
{
    (void)pthread_mutex_lock(&tablet->mutex);
    bool flushed = tablet->layer_count == 1 && tablet->lineage_count == 0 &&
                   tablet->progress.frozen_count == 0 &&
                   atomic_load(&tablet->layers[0]->first_position) == STORE_POSITION_NONE;
    (void)pthread_mutex_unlock(&tablet->mutex);
    return flushed;
}

/* Is all of the tablet in the base?  If not, it is flushed soon. */
static bool bring_to_base(struct store_tablet *tablet)
{
    bool flushed = store_tablet_is_flushed(tablet);
    if (!flushed) {
        store_flush_soon(tablet);
    }
    return flushed && !atomic_load(&tablet->erase.told);
}

/* Commit the tablet up to its barrier, drop what lies behind it, and bring it to the base. */
static enum status bring_to(struct store_tablet *tablet, uint64_t sequence)
{
    if (sequence < store_tablet_committed(tablet)) {
        return STATUS_FAILED_PRECONDITION; /* it was lifted */
    }
    enum status status = store_stand_at(tablet, sequence);
    return status == STATUS_OK && !bring_to_base(tablet) ? STATUS_UNAVAILABLE : status;
}

static enum status check_both(struct store_tablet *left,
                              struct store_tablet *right,
                              struct record_absorb *ret_absorb)
{
    struct store_entry absorb;
    struct store_entry frozen;
    if (!store_tablet_last_absorb(left, &absorb, ret_absorb) ||
        !find_barrier(right, RECORD_FROZEN, &frozen) ||
        frozen.sequence != ret_absorb->right_sequence ||
        ret_absorb->right_tablet != right->descriptor.tablet ||
        store_tablet_find(left->store, ret_absorb->merged_tablet) != NULL ||
        !bytes_equal(left->descriptor.range.end, right->descriptor.range.start)) {
        return STATUS_FAILED_PRECONDITION;
    }
    enum status status = store_trouble_check(left->store, true);
    if (status == STATUS_OK) {
        status = bring_to(left, absorb.sequence);
    }
    if (status == STATUS_OK) {
        status = bring_to(right, frozen.sequence);
    }
    bool has_room = right->range_deletes->count < STORE_MERGE_ROOM; /* what is erased makes some */
    return status == STATUS_OK && !has_room ? STATUS_UNAVAILABLE : status;
}

/* --- the one that comes of them ------------------------------------------------------------------- */

static enum status join_pieces(struct store_tablet *merged,
                               const struct store_tablet *left,
                               const struct store_tablet *right)
{
    uint32_t count = left->pieces->count + right->pieces->count;
    struct base_piece *all = memory_allocate((count + 1U) * sizeof *all);
    if (all == NULL) {
        return STATUS_NO_MEMORY;
    }
    memcpy(all, left->pieces->pieces, left->pieces->count * sizeof *all);
    memcpy(all + left->pieces->count, right->pieces->pieces, right->pieces->count * sizeof *all);
    struct store_pieces *pieces = store_pieces_create(all, count, NULL);
    memory_free(all);
    if (pieces == NULL) {
        return STATUS_NO_MEMORY;
    }
    store_pieces_unref(merged->pieces);
    merged->pieces = pieces;
    return STATUS_OK;
}

static uint64_t higher_sequence(const struct store_tablet *left, const struct store_tablet *right)
{
    uint64_t a = store_tablet_committed(left);
    uint64_t b = store_tablet_committed(right);
    return a > b ? a : b;
}

/* Those of the right one behind those of the left one, with sequences that nothing else has: which of them are
 * erased is said by the last one's. */
static enum status join_range_deletes(struct store_tablet *merged,
                                      const struct store_tablet *left,
                                      const struct store_tablet *right)
{
    const struct store_range_deletes *a = left->range_deletes;
    const struct store_range_deletes *b = right->range_deletes;
    struct range_delete *all = memory_allocate((a->count + b->count + 1U) * sizeof *all);
    if (all == NULL) {
        return STATUS_NO_MEMORY;
    }
    for (uint32_t i = 0; i < a->count; i++) {
        all[i] = a->deletes[i];
    }
    for (uint32_t i = 0; i < b->count; i++) {
        all[a->count + i] = b->deletes[i];
        all[a->count + i].sequence = higher_sequence(left, right) + 1 + i;
    }
    struct store_range_deletes *deletes = store_range_deletes_create(all, a->count + b->count, NULL,
                                                                     0, NULL);
    memory_free(all);
    if (deletes == NULL) {
        return STATUS_NO_MEMORY;
    }
    store_range_deletes_unref(merged->range_deletes);
    merged->range_deletes = deletes;
    return STATUS_OK;
}

/* What age has expired for good in one of them has in the other, by the same rule. */
static enum status join_horizons(struct store_tablet *merged, const struct store_tablet *from)
{
    for (uint32_t i = 0; i < from->horizons.count; i++) {
        if (!store_tablet_raise_horizon(merged, &from->horizons.items[i])) {
            return STATUS_NO_MEMORY;
        }
    }
    return STATUS_OK;
}

static enum status join_dedupe(struct store_tablet *merged,
                               const struct store_tablet *left,
                               const struct store_tablet *right)
{
    const struct store_tablet *parents[2] = {left, right};
    struct buffer image = BUFFER_INIT;
    enum status status = STATUS_OK;
    for (int i = 0; i < 2 && status == STATUS_OK; i++) {
        buffer_reset(&image);
        dedupe_encode(parents[i]->dedupe, &image);
        status = image.failed ? STATUS_NO_MEMORY
                              : dedupe_load(merged->dedupe, buffer_bytes(&image), NULL);
    }
    buffer_deinit(&image);
    if (status == STATUS_OK) {
        buffer_reset(&merged->split.dedupe);
        dedupe_encode(merged->dedupe, &merged->split.dedupe);
        status = merged->split.dedupe.failed ? STATUS_NO_MEMORY : STATUS_OK;
    }
    return status;
}

/* As what this store knew last of either; of what is newer it hears.  What one of them has promised, or left in
 * doubt, is so of both. */
static void configure(struct store_tablet *merged,
                      const struct store_tablet *left,
                      const struct store_tablet *right)
{
    const struct store_configuration *a = &left->configuration;
    const struct store_configuration *b = &right->configuration;
    struct store_configuration both = a->members.version >= b->members.version ? *a : *b;
    both.flags.doubt_noted = a->flags.doubt_noted || b->flags.doubt_noted;
    both.flags.bound = a->flags.bound || b->flags.bound;
    both.flags.damaged = a->flags.damaged || b->flags.damaged; /* what came of it is no better */
    both.flags.doubtful = a->flags.doubtful || b->flags.doubtful;
    store_set_configuration(merged, &both);
    merged->durable = merged->configuration;
    merged->durable_number = 1;
    merged->shared = merged->shared || left->shared || right->shared;
    merged->leads = atomic_load(&merged->alone);
}

static void begin_at(struct store_tablet *merged,
                     const struct store_tablet *left,
                     const struct store_tablet *right)
{
    uint64_t sequence = higher_sequence(left, right) + STORE_MERGE_ROOM;
    uint64_t a = atomic_load(&left->clock);
    uint64_t b = atomic_load(&right->clock);
    atomic_store(&merged->prepared, sequence);
    atomic_store(&merged->committed, sequence);
    atomic_store(&merged->clock, a > b ? a : b);
    atomic_store(&merged->base_bytes,
                 atomic_load(&left->base_bytes) + atomic_load(&right->base_bytes));
    atomic_store(&merged->row_estimate,
                 atomic_load(&left->row_estimate) + atomic_load(&right->row_estimate));
    merged->synced = sequence;
    merged->layers[0]->after_sequence = sequence;
    flush_progress_init(&merged->progress, sequence, false);
}

static enum status create_merged(struct store_tablet *left,
                                 struct store_tablet *right,
                                 uint64_t number,
                                 struct store_tablet **ret_merged)
{
    struct store_tablet_descriptor descriptor = left->descriptor;
    struct store_tablet *merged = NULL;
    descriptor.tablet = number;
    descriptor.range.end = right->descriptor.range.end;
    enum status status = store_tablet_allocate(left->store, &descriptor, &merged);
    if (status != STATUS_OK) {
        return status;
    }
    status = join_pieces(merged, left, right);
    if (status == STATUS_OK) {
        status = join_range_deletes(merged, left, right);
    }
    if (status == STATUS_OK) {
        status = join_horizons(merged, left);
    }
    if (status == STATUS_OK) {
        status = join_horizons(merged, right);
    }
    if (status == STATUS_OK) {
        status = join_dedupe(merged, left, right);
    }
    if (status != STATUS_OK) {
        store_tablet_unref(merged);
        return status;
    }
    configure(merged, left, right);
    begin_at(merged, left, right);
    *ret_merged = merged;
    return STATUS_OK;
}

enum status store_tablet_merge(struct store_tablet *left, struct store_tablet *right)
{
    struct record_absorb absorb;
    struct store_tablet *merged = NULL;
    if (atomic_load(&left->state) != STORE_TABLET_LIVE ||
        atomic_load(&right->state) != STORE_TABLET_LIVE) {
        return left->merging && right->merging ? STATUS_OK : STATUS_NOT_OWNER;
    }
    enum status status = check_both(left, right, &absorb);
    struct store_job *job = status == STATUS_OK ? memory_allocate_zeroed(1, sizeof *job) : NULL;
    if (status != STATUS_OK) {
        return status;
    }
    status = job == NULL ? STATUS_NO_MEMORY
                         : create_merged(left, right, absorb.merged_tablet, &merged);
    if (status != STATUS_OK) {
        memory_free(job);
        return status;
    }
    left->merging = right->merging = true;
    atomic_store(&left->state, STORE_TABLET_BARRIER);
    atomic_store(&right->state, STORE_TABLET_BARRIER);
    store_tablet_ref(left);
    store_tablet_ref(right);
    job->tablet = merged;
    job->merged[0] = left;
    job->merged[1] = right;
    job->log_position = store_last_position(left->store);
    store_add_job(left->store, job);
    return STATUS_OK;
}

/* --- the transaction (work thread) ---------------------------------------------------------------- */

static enum status write_merged(struct base_writer *writer, const struct store_job *job)
{
    struct store_tablet *merged = job->tablet;
    uint64_t sequence = store_tablet_committed(merged);
    uint64_t clock = atomic_load(&merged->clock);
    enum status status = store_encode_whole(sequence, &merged->applied);
    if (status == STATUS_OK) {
        status = store_put_dedupe(writer, merged->descriptor.tablet,
                                  buffer_bytes(&merged->split.dedupe), 0,
                                  &merged->dedupe_piece_count);
    }
    if (status == STATUS_OK) {
        status = store_put_tablet_meta(writer, merged, sequence, clock, merged->dedupe_piece_count);
    }
    if (status == STATUS_OK) {
        status = store_put_applied(writer, merged->descriptor.tablet, &merged->applied);
    }
    for (int i = 0; i < 2 && status == STATUS_OK; i++) {
        status = store_delete_tablet_meta(writer, job->merged[i]->descriptor.tablet,
                                          job->merged[i]->dedupe_piece_count);
        if (status == STATUS_OK) {
            status = store_bury(writer, merged->store, job->merged[i]->descriptor.tablet,
                                job->log_position);
        }
    }
    return status == STATUS_OK ? store_put_store_meta(writer, merged->store, clock) : status;
}

enum status store_merge_write(struct store_job *job)
{
    struct store_tablet *merged = job->tablet;
    struct base_writer *writer = NULL;
    bool stored = false;
    enum status status = store_is_in_base(merged->store, merged->descriptor.tablet, &stored);
    if (status == STATUS_OK && stored) { /* it was made while this waited its turn, to be taught */
        (void)error_set(&job->error, STATUS_FAILED_PRECONDITION, "tablet %llu is there already",
                        (unsigned long long)merged->descriptor.tablet);
        return STATUS_OK;
    }
    if (status == STATUS_OK) {
        status = base_writer_begin(merged->store->base, &writer);
    }
    if (status != STATUS_OK) {
        return status;
    }
    status = write_merged(writer, job);
    if (status != STATUS_OK) {
        base_writer_abort(writer);
        return status;
    }
    status = base_writer_commit(writer);
    if (status == STATUS_OK) {
        store_note_meta_written(merged);
        merged->flushed_sequence = store_tablet_committed(merged);
        atomic_store(&merged->flushed_clock, atomic_load(&merged->clock));
        merged->applied_whole = true;
        merged->estimate_due = true;
        merged->sweep.due = true;
    }
    return status;
}

/* --- it is durable (loop) ------------------------------------------------------------------------- */

static void end_parent(struct store_tablet *parent)
{
    (void)pthread_mutex_lock(&parent->mutex);
    atomic_store(&parent->state, STORE_TABLET_SPLIT);
    parent->freeze_count++; /* reads in the middle of their capture look again */
    (void)pthread_mutex_unlock(&parent->mutex);
    store_tablets_hide(parent->store, parent);
    store_tablets_forget(parent->store, parent);
    store_tablet_unref(parent); /* the list's */
}

void store_merge_finish(struct store_job *job)
{
    struct store *store = job->tablet->store;
    bool done = job->error.status == STATUS_OK;
    for (int i = 0; i < 2; i++) {
        if (done) {
            end_parent(job->merged[i]);
        } else {
            atomic_store(&job->merged[i]->state, STORE_TABLET_LIVE); /* to be tried again */
        }
        job->merged[i]->merging = false;
    }
    if (done) {
        job->tablet->was_merged = true;
        store_tablets_add(store, job->tablet); /* where two have just gone there is room */
        store_release_log(store);
    } else {
        store_tablet_unref(job->tablet);
    }
    store_tablet_unref(job->merged[0]);
    store_tablet_unref(job->merged[1]);
    memory_free(job);
}
