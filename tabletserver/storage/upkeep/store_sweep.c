/*
 * Sweeping stored tombstones, and estimating sizes: what a flush leaves to be done in peace.
 */
#include "common/base/assert.h"
#include "common/io/clock.h"
#include "tabletserver/storage/store/store_internal.h"
#include "tabletserver/storage/upkeep/store_upkeep.h"

#define SWEEP_BUDGET_BYTES (1024 * 1024)

bool store_may_keep_house(struct store_tablet *tablet)
{
    (void)pthread_mutex_lock(&tablet->mutex);
    bool child = tablet->lineage_count > 0;
    (void)pthread_mutex_unlock(&tablet->mutex);
    return !child && tablet->applied_whole && !tablet->half_taught &&
           atomic_load(&tablet->state) == STORE_TABLET_LIVE;
}

bool store_rests_damaged(const struct store_tablet *tablet, enum store_chore chore)
{
    int64_t from_ns = tablet->chore_from_ns[chore];
    return from_ns > 0 && clock_monotonic_ns() < from_ns;
}

void store_note_damage(struct store_tablet *tablet)
{
    (void)store_trouble_note(tablet->store, STATUS_CORRUPT, "base");
    store_trouble_mark_damaged(tablet);
}

enum status store_note_step(struct store_tablet *tablet, enum store_chore chore, enum status status)
{
    if (status != STATUS_CORRUPT) {
        return status;
    }
    tablet->chore_from_ns[chore] = clock_monotonic_ns() + STORE_DAMAGE_REST_NS;
    store_note_damage(tablet);
    return STATUS_OK;
}

static bool wants_sweep(struct store_tablet *tablet)
{
    return tablet->sweep.due && !store_rests_damaged(tablet, STORE_CHORE_SWEEP) &&
           store_may_keep_house(tablet);
}

static enum status sweep(struct store_tablet *tablet, const struct store_pieces *pieces)
{
    struct base_writer *writer = NULL;
    enum status status = base_writer_begin(tablet->store->base, &writer);
    if (status != STATUS_OK) {
        return status;
    }
    bool done = false;
    ASSERT(tablet->sweep.piece < pieces->count);
    const struct base_piece *piece = &pieces->pieces[tablet->sweep.piece];
    status = base_sweep_step(writer, piece->extent, &piece->range, &tablet->sweep.resume,
                             SWEEP_BUDGET_BYTES, &done);
    if (status != STATUS_OK || (done && base_writer_dirty_bytes(writer) == 0)) {
        base_writer_abort(writer); /* nothing to sweep: nothing to sync */
    } else {
        status = base_writer_commit(writer);
    }
    if (status != STATUS_OK) {
        buffer_reset(&tablet->sweep.resume);
        return status;
    }
    if (done) {
        buffer_reset(&tablet->sweep.resume);
        tablet->sweep.piece = (tablet->sweep.piece + 1) % pieces->count;
        tablet->sweep.due = tablet->sweep.piece != 0;
    }
    return STATUS_OK;
}

enum status store_sweep_step(struct store *store, bool *ret_worked)
{
    struct store_pieces *pieces = NULL;
    struct store_tablet *tablet = store_choose_untidy(store, STORE_CHORE_SWEEP, wants_sweep,
                                                      &pieces);
    *ret_worked = tablet != NULL;
    if (tablet == NULL) {
        return STATUS_OK;
    }
    enum status status = store_note_step(tablet, STORE_CHORE_SWEEP, sweep(tablet, pieces));
    store_pieces_unref(pieces);
    store_tablet_unref(tablet);
    return status;
}

static bool wants_estimate(struct store_tablet *tablet)
{
    return tablet->estimate_due && !store_rests_damaged(tablet, STORE_CHORE_ESTIMATE);
}

enum status store_estimate_step(struct store *store, bool *ret_worked)
{
    struct store_pieces *pieces = NULL;
    struct store_tablet *tablet = store_choose_untidy(store, STORE_CHORE_ESTIMATE, wants_estimate,
                                                      &pieces);
    *ret_worked = tablet != NULL;
    if (tablet == NULL) {
        return STATUS_OK;
    }
    struct base_snapshot *snapshot = NULL;
    uint64_t bytes = 0;
    enum status status = base_snapshot_begin(store->base, &snapshot);
    if (status == STATUS_OK) {
        status = base_estimate_bytes(snapshot, pieces->pieces, pieces->count, &bytes);
        base_snapshot_end(snapshot);
    }
    if (status == STATUS_OK) {
        atomic_store(&tablet->base_bytes, bytes);
        tablet->estimate_due = false;
    }
    status = store_note_step(tablet, STORE_CHORE_ESTIMATE, status);
    store_pieces_unref(pieces);
    store_tablet_unref(tablet);
    return status;
}
