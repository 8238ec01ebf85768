#include "common/base/assert.h"
#include "tabletserver/storage/record/record_replica.h"
#include "tests/sim/store/sim_store.h"

/*
 * Two tablets with copies that the catalog has replaced by one, as storage/store_merge.c does it: both stand at
 * their barriers and are brought wholly into the base, whose one transaction takes them out and puts the merged
 * one in.  The log says nothing of it: a crash finds both, or the one.
 *
 * Between that transaction and the next look of the host's at it nobody serves any of the three.
 */

static const struct row_range all_rows = {{NULL, 0}, {NULL, 0}};

bool sim_tablet_is_held(const struct sim_tablet *tablet)
{
    return tablet->merged || (!tablet->hidden && tablet->context != NULL);
}

/* --- may they be merged? ------------------------------------------------------------------------- */

/* Up to its barrier and nothing else, wholly in the base; if not, on its way there. */
static enum status bring_to(struct sim_store *store, struct sim_tablet *tablet, uint64_t sequence)
{
    if (sequence < tablet->committed) {
        return STATUS_FAILED_PRECONDITION; /* it was lifted */
    }
    enum status status = sim_store_stand_at(store, tablet, sequence);
    if (status == STATUS_OK && !sim_flush_is_done(tablet)) {
        sim_flush_soon(store, tablet);
        status = STATUS_UNAVAILABLE;
    }
    return status;
}

static enum status check_both(struct sim_store *store,
                              struct sim_tablet *left,
                              struct sim_tablet *right,
                              struct record_absorb *ret_absorb)
{
    struct store_entry absorb;
    struct store_entry frozen;
    if (!sim_copy_last_barrier(left, RECORD_ABSORB, &absorb) ||
        !sim_copy_last_barrier(right, RECORD_FROZEN, &frozen)) {
        return STATUS_FAILED_PRECONDITION;
    }
    ASSERT(record_decode_absorb(absorb.payload, ret_absorb, NULL) == STATUS_OK);
    if (frozen.sequence != ret_absorb->right_sequence ||
        ret_absorb->right_tablet != right->tablet ||
        sim_store_find(store, ret_absorb->merged_tablet) != NULL ||
        !bytes_equal(left->range.end, right->range.start)) {
        return STATUS_FAILED_PRECONDITION;
    }
    enum status status = sim_store_room(store);
    if (status == STATUS_OK) {
        status = bring_to(store, left, absorb.sequence);
    }
    return status == STATUS_OK ? bring_to(store, right, frozen.sequence) : status;
}

/* --- the one that comes of them ------------------------------------------------------------------ */

static struct store_configuration join_configurations(const struct sim_tablet *left,
                                                      const struct sim_tablet *right)
{
    const struct store_configuration *a = &left->copy.held;
    const struct store_configuration *b = &right->copy.held;
    struct store_configuration both = a->members.version >= b->members.version ? *a : *b;
    both.flags.doubt_noted = a->flags.doubt_noted || b->flags.doubt_noted;
    both.flags.bound = a->flags.bound || b->flags.bound;
    both.flags.damaged = a->flags.damaged || b->flags.damaged;
    both.flags.doubtful = a->flags.doubtful || b->flags.doubtful;
    return both;
}

static void join_dedupe(struct dedupe *merged, const struct sim_tablet *from)
{
    struct buffer image = BUFFER_INIT;
    dedupe_encode(from->dedupe, &image);
    ASSERT(!image.failed && dedupe_load(merged, buffer_bytes(&image), NULL) == STATUS_OK);
    buffer_deinit(&image);
}

static struct sim_base_tablet *create_merged(struct sim_store *store,
                                             const struct sim_tablet *left,
                                             const struct sim_tablet *right,
                                             uint64_t number)
{
    const struct row_range range = {left->range.start, right->range.end};
    struct store_configuration held = join_configurations(left, right);
    struct sim_base_tablet *put = sim_base_tablet_create(number, left->table, held.members.version,
                                                         &range);
    const struct dedupe_limits limits = {64, 100000, 1 << 24};
    struct dedupe *dedupe = NULL;
    struct applied_map map;
    ASSERT(dedupe_create(&limits, &dedupe) == STATUS_OK);
    join_dedupe(dedupe, left);
    if (store->sim->planted != SIM_PLANTED_MERGE_LOSES_DEDUPE) {
        join_dedupe(dedupe, right);
    }
    dedupe_encode(dedupe, &put->dedupe);
    dedupe_destroy(dedupe);
    sim_rows_copy(&put->rows, &left->committed_rows, &all_rows);
    sim_rows_copy(&put->rows, &right->committed_rows, &all_rows);
    put->flushed_sequence = left->committed; /* planted: and no more than that */
    if (store->sim->planted != SIM_PLANTED_MERGE_BELOW_RIGHT) {
        uint64_t right_ahead = right->committed > left->committed
                                   ? right->committed - left->committed
                                   : 0;
        put->flushed_sequence += right_ahead + STORE_MERGE_ROOM;
    }
    put->clock = left->clock > right->clock ? left->clock : right->clock;
    put->proven = put->flushed_sequence;
    put->replicated = true;
    put->held = held;
    sim_horizons_take(&put->horizons, left->horizons.items, left->horizons.count, UINT64_MAX);
    for (uint32_t i = 0; i < right->horizons.count; i++) {
        sim_horizons_raise(&put->horizons, &right->horizons.items[i]);
    }
    put->rotten = left->rotten || right->rotten;
    put->cut = left->cut || right->cut;
    arena_reset(&store->arena);
    ASSERT(applied_map_whole(&store->arena, put->flushed_sequence, &map) == STATUS_OK);
    applied_map_encode(&map, &put->applied);
    ASSERT(!put->applied.failed && !put->dedupe.failed);
    return put;
}

enum status sim_store_merge(struct sim_store *store,
                            struct sim_tablet *left,
                            struct sim_tablet *right)
{
    struct record_absorb absorb;
    if (left->merging || right->merging) {
        return STATUS_OK;
    }
    enum status status = check_both(store, left, right, &absorb);
    if (status != STATUS_OK) {
        return status;
    }
    left->merging = true;
    right->merging = true;
    sim_store_queue(store, &(struct sim_base_transaction){
                               .purpose = SIM_BASE_MERGED,
                               .tablet = absorb.merged_tablet,
                               .removed = {left->tablet, right->tablet},
                               .puts = {create_merged(store, left, right, absorb.merged_tablet)},
                               .put_count = 1});
    return STATUS_OK;
}

/* --- it is durable ------------------------------------------------------------------------------- */

void sim_store_merged(struct sim_store *store, const struct sim_base_transaction *done, bool stored)
{
    bool shared = false;
    for (int i = 0; i < 2; i++) {
        struct sim_tablet *parent = sim_store_find_any(store, done->removed[i]);
        ASSERT(parent != NULL && parent->merging);
        parent->merging = false; /* if it was not stored, to be tried again */
        parent->hidden = stored;
        parent->merged = stored;
        shared = shared || parent->copy.shared;
    }
    if (stored) {
        struct sim_tablet *merged = sim_store_load(store,
                                                   sim_base_find(&store->disk->base, done->tablet));
        merged->copy.shared = merged->copy.shared || shared;
        store->sim->statistics.merges++;
    }
}

void sim_store_forget_merged(struct sim_store *store, struct sim_tablet *const gone[2])
{
    for (int i = 0; i < 2; i++) {
        ASSERT(gone[i]->merged && gone[i]->context == NULL);
        sim_store_remove(store, gone[i]);
    }
}
