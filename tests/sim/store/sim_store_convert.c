#include "common/base/assert.h"
#include "tabletserver/storage/record/record_replica.h"
#include "tests/sim/store/sim_store.h"

/*
 * A tablet with copies that the catalog has replaced by two, as storage/store_convert.c does it: committed
 * up to its barrier, what lies behind that dropped, one record CONVERSION, and the children begin under the
 * configuration that this store knew.  The base hears of it when that record is durable, with a last, empty
 * flush of the parent's above the barrier.
 */

enum status sim_store_stand_at(struct sim_store *store,
                               struct sim_tablet *tablet,
                               uint64_t sequence)
{
    const struct sim_learning *learning = &tablet->copy.learning;
    if (tablet->copy.synced < sequence) {
        return STATUS_UNAVAILABLE;
    }
    if (learning->first) {
        return STATUS_RESOURCE_EXHAUSTED;
    }
    bool held = learning->learning && sequence > learning->hold_until;
    enum status status = sim_store_commit(store, tablet, held ? learning->hold_until : sequence);
    if (status == STATUS_OK && tablet->prepared > sequence) {
        const struct store_configuration same = tablet->copy.held;
        sim_store_configure(store, tablet, &same, sequence);
    }
    return status;
}

static void log_conversion(struct sim_store *store,
                           const struct sim_tablet *parent,
                           uint64_t *ret_position)
{
    struct buffer payload = BUFFER_INIT;
    record_encode_configuration(
        &(struct record_configuration){.configuration = parent->copy.held.members,
                                       .role = parent->copy.held.role,
                                       .flags = parent->copy.held.flags,
                                       .kept_sequence = parent->committed},
        &payload);
    *ret_position = sim_log_append(&store->log,
                                   &(struct log_record){.type = RECORD_CONVERSION,
                                                        .tablet = parent->tablet,
                                                        .configuration = parent->configuration,
                                                        .payload = buffer_bytes(&payload)});
    buffer_deinit(&payload);
}

static struct sim_tablet *begin_heir(struct sim_store *store,
                                     struct sim_tablet *parent,
                                     uint64_t number,
                                     const struct row_range *range,
                                     struct bytes dedupe,
                                     uint64_t position)
{
    struct sim_tablet *child = sim_store_begin_child(store, parent, number, range, dedupe);
    struct sim_copy *copy = &child->copy;
    child->replicated = true;
    child->configuration = parent->copy.held.members.version;
    copy->held = parent->copy.held;
    copy->shared = true;
    copy->alone = sim_copy_is_alone(child);
    copy->leads = copy->alone;
    copy->synced = child->committed;
    copy->committed_version = parent->copy.committed_version;
    copy->configuration_position = position;
    return child;
}

/* Both are there when it returns, and the parent is hidden. */
static void begin(struct sim_store *store,
                  struct sim_tablet *parent,
                  uint64_t position,
                  struct sim_tablet *ret_children[2])
{
    struct buffer dedupe = BUFFER_INIT;
    struct record_split split;
    ASSERT(record_decode_split(sim_copy_standing(parent)->payload, &split, NULL) == STATUS_OK);
    const struct row_range ranges[2] = {{parent->range.start, split.key},
                                        {split.key, parent->range.end}};
    dedupe_encode(parent->dedupe, &dedupe);
    parent->hidden = true;
    parent->split_sequence = parent->committed;
    parent->children[0] = split.left_tablet;
    parent->children[1] = split.right_tablet;
    for (int i = 0; i < 2; i++) {
        ret_children[i] = begin_heir(store, parent, parent->children[i], &ranges[i],
                                     buffer_bytes(&dedupe), position);
    }
    buffer_deinit(&dedupe);
    store->sim->statistics.splits++;
}

static bool is_here(struct sim_store *store, uint64_t tablet)
{
    bool here = sim_store_find_any(store, tablet) != NULL;
    for (uint32_t i = 0; i < store->queue_count; i++) {
        here = here ||
               (store->queue[i].purpose == SIM_BASE_CREATED && store->queue[i].tablet == tablet);
    }
    return here;
}

/* A child may be here already, or on its way, to be taught, if this store counted no more when the tablet was
 * split. */
static bool has_child(struct sim_store *store, const struct store_entry *barrier)
{
    struct record_split split;
    ASSERT(record_decode_split(barrier->payload, &split, NULL) == STATUS_OK);
    return is_here(store, split.left_tablet) || is_here(store, split.right_tablet);
}

enum status sim_store_convert(struct sim_store *store,
                              struct sim_tablet *parent,
                              struct sim_tablet *ret_children[2])
{
    struct store_entry barrier;
    uint64_t position = 0;
    if (!sim_copy_last_barrier(parent, RECORD_SPLIT, &barrier) ||
        barrier.sequence < parent->committed || has_child(store, &barrier)) {
        return STATUS_FAILED_PRECONDITION;
    }
    enum status status = sim_store_stand_at(store, parent, barrier.sequence);
    if (status != STATUS_OK) {
        return status;
    }
    const struct store_entry *standing = sim_copy_standing(parent);
    ASSERT(standing != NULL && standing->type == RECORD_SPLIT);
    ASSERT(parent->committed == standing->sequence);
    ASSERT(parent->prepared == parent->committed);
    if (parent->frozen_count >= SIM_FROZEN_MAX) {
        return STATUS_RESOURCE_EXHAUSTED;
    }
    if (store->sim->planted != SIM_PLANTED_CONVERSION_NOT_LOGGED) {
        log_conversion(store, parent, &position);
    } else {
        position = store->log.gathering_position;
    }
    begin(store, parent, position, ret_children);
    for (int i = 0; i < 2; i++) {
        ret_children[i]->converted = true;
        ret_children[i]->copy.configuring = 1;
        sim_store_note_told(store, ret_children[i], 0, position);
    }
    return STATUS_OK;
}

void sim_store_converted(struct sim_store *store, const struct sim_tablet *child)
{
    struct sim_tablet *parent = sim_store_find_any(store, child->parent);
    if (parent != NULL && parent->frozen_count < SIM_FROZEN_MAX && !parent->converted_ends) {
        parent->converted_ends = true;
        sim_flush_freeze_end(store, parent);
    }
}

/* The catalog has replaced it, so it knew that the barrier was committed. */
enum status sim_replay_conversion(struct sim_store *store,
                                  struct sim_tablet *parent,
                                  const struct record_configuration *record,
                                  uint64_t position,
                                  struct error *ret_error)
{
    struct sim_tablet *children[2];
    enum status status = STATUS_OK;
    if (!parent->copy.gap) {
        status = sim_copy_commit_replayed(store, parent, record->kept_sequence, ret_error);
    }
    if (status != STATUS_OK) {
        return status;
    }
    const struct store_entry *standing = sim_copy_standing(parent);
    if (standing == NULL || standing->type != RECORD_SPLIT ||
        parent->committed != record->kept_sequence || parent->prepared != parent->committed) {
        return error_set(ret_error, STATUS_CORRUPT, "a CONVERSION at %llu, where no SPLIT stands",
                         (unsigned long long)record->kept_sequence);
    }
    parent->copy.held = (struct store_configuration){record->configuration, record->role,
                                                     record->flags};
    begin(store, parent, position, children);
    parent->converted_ends = true;
    sim_flush_freeze_end(store, parent);
    return STATUS_OK;
}
