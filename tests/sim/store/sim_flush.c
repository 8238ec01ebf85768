#include <string.h>

#include "common/base/assert.h"
#include "tests/sim/store/sim_store.h"

/*
 * Flushing, as the real store does it: a frozen state goes to the base in a series of transactions,
 * each of which also says, in the applied map, how far it came.
 */

static const struct tablet_position position_of_all = {.everything = true};

/* --- freezing --------------------------------------------------------------------------------- */

static void run(struct sim_store *store, struct sim_tablet *tablet, enum flush_effect effect);

/* It is committed to the very sequence: this is its state. */
static void take_state(struct sim_tablet *tablet, struct sim_frozen *frozen)
{
    static const struct row_range all = {{NULL, 0}, {NULL, 0}};
    ASSERT(tablet->hidden || tablet->committed == frozen->last_sequence);
    sim_rows_copy(&frozen->rows, &tablet->committed_rows, &all);
    dedupe_encode(tablet->dedupe, &frozen->dedupe);
    frozen->clock = tablet->clock;
    frozen->ready = true;
}

static uint64_t earlier(uint64_t a, uint64_t b)
{
    if (a == LOG_POSITION_NONE || b == LOG_POSITION_NONE) {
        return a == LOG_POSITION_NONE ? b : a;
    }
    return a < b ? a : b;
}

/* Only what is committed; the window goes on holding the log. */
static void freeze_copy(struct sim_tablet *tablet, struct sim_frozen *frozen)
{
    struct sim_copy *copy = &tablet->copy;
    frozen->first_position = earlier(frozen->first_position, copy->configuration_position);
    copy->configuration_position = LOG_POSITION_NONE;
    frozen->held = copy->held;
    tablet->active_position = tablet->first == NULL ? LOG_POSITION_NONE : tablet->first->position;
}

/* A configuration whose record is not synced must not reach the base before it. */
static bool may_freeze(const struct sim_tablet *tablet)
{
    const struct sim_copy *copy = &tablet->copy;
    bool holds_log = tablet->active_position != LOG_POSITION_NONE ||
                     copy->configuration_position != LOG_POSITION_NONE;
    bool is_new = !tablet->replicated || tablet->frozen_count == 0 ||
                  tablet->frozen[tablet->frozen_count - 1].last_sequence < tablet->committed;
    return holds_log && is_new && copy->configuring == 0 && !tablet->hidden && !tablet->splitting &&
           !copy->learning.learning && !copy->learning.first &&
           tablet->frozen_count + 1 < SIM_FROZEN_MAX;
}

void sim_flush_freeze(struct sim_store *store, struct sim_tablet *tablet)
{
    ASSERT(tablet->frozen_count < SIM_FROZEN_MAX);
    struct sim_frozen *frozen = &tablet->frozen[tablet->frozen_count++];
    uint64_t last_sequence = tablet->replicated ? tablet->committed : tablet->prepared;
    *frozen = (struct sim_frozen){.last_sequence = last_sequence,
                                  .first_position = tablet->active_position};
    tablet->active_position = LOG_POSITION_NONE;
    if (tablet->replicated) {
        freeze_copy(tablet, frozen);
    }
    if (tablet->committed == last_sequence) {
        take_state(tablet, frozen);
    }
    run(store, tablet,
        flush_progress_step(&tablet->progress,
                            &(struct flush_event){FLUSH_EVENT_FROZEN, last_sequence}));
}

/* What it has may be in the base already: this one is empty, above the barrier. */
void sim_flush_freeze_end(struct sim_store *store, struct sim_tablet *parent)
{
    struct sim_frozen *frozen = &parent->frozen[parent->frozen_count++];
    uint64_t last_sequence = parent->committed + 1;
    ASSERT(parent->frozen_count <= SIM_FROZEN_MAX);
    *frozen = (struct sim_frozen){.last_sequence = last_sequence,
                                  .first_position = parent->active_position};
    parent->active_position = LOG_POSITION_NONE;
    freeze_copy(parent, frozen);
    take_state(parent, frozen);
    run(store, parent,
        flush_progress_step(&parent->progress,
                            &(struct flush_event){FLUSH_EVENT_FROZEN, last_sequence}));
    run(store, parent,
        flush_progress_step(&parent->progress,
                            &(struct flush_event){FLUSH_EVENT_COMMITTED, last_sequence}));
}

void sim_flush_note_committed(struct sim_store *store, struct sim_tablet *tablet)
{
    for (uint32_t i = 0; i < tablet->frozen_count; i++) {
        if (!tablet->frozen[i].ready && tablet->frozen[i].last_sequence == tablet->committed) {
            take_state(tablet, &tablet->frozen[i]);
        }
    }
    run(store, tablet,
        flush_progress_step(&tablet->progress,
                            &(struct flush_event){FLUSH_EVENT_COMMITTED, tablet->committed}));
}

void sim_flush_unblock(struct sim_store *store, struct sim_tablet *tablet)
{
    tablet->parent = 0;
    run(store, tablet,
        flush_progress_step(&tablet->progress,
                            &(struct flush_event){.kind = FLUSH_EVENT_UNBLOCKED}));
    sim_learning_go_on(store, tablet);
}

void sim_flush_soon(struct sim_store *store, struct sim_tablet *tablet)
{
    bool has_any = tablet->active_position != LOG_POSITION_NONE ||
                   tablet->copy.configuration_position != LOG_POSITION_NONE;
    bool may = may_freeze(tablet);
    tablet->flush_wanted = has_any && !may && !tablet->hidden;
    store->flush_wanted = store->flush_wanted || tablet->flush_wanted;
    if (may) {
        sim_flush_freeze(store, tablet);
    }
}

bool sim_flush_is_done(const struct sim_tablet *tablet)
{
    return tablet->frozen_count == 0 && tablet->parent == 0 &&
           tablet->active_position == LOG_POSITION_NONE &&
           tablet->copy.configuration_position == LOG_POSITION_NONE;
}

void sim_store_flush_some(struct sim_store *store)
{
    for (uint32_t i = 0; i < store->tablet_count; i++) {
        struct sim_tablet *tablet = store->tablets[i];
        if (may_freeze(tablet) && prng_chance(&store->sim->prng, 2)) {
            sim_flush_freeze(store, tablet);
        }
    }
}

/* --- one transaction -------------------------------------------------------------------------- */

/* Where this piece ends: at a row, or at a cell inside one. */
static struct tablet_position choose_end(struct sim_store *store, struct sim_tablet *tablet)
{
    const struct sim_rows *rows = &tablet->frozen[0].rows;
    uint32_t pieces = store->sim->settings.flush_pieces;
    uint32_t at = sim_rows_seek(rows, buffer_bytes(&tablet->flushed_row));
    uint32_t left = rows->count - at;

    bool by_row = left >= 2 && sim_buggify(store->sim, SIM_SITE_FLUSH_BY_ROW);
    if (!by_row && (pieces <= 1 || left < 2 || prng_chance(&store->sim->prng, pieces))) {
        return position_of_all;
    }
    uint64_t more = by_row ? 0 : prng_below(&store->sim->prng, left - 1);
    const struct sim_row *row = &rows->rows[at + 1 + more];
    struct tablet_position end = {.row = sim_row_key(row)};
    if (row->cell_count > 1 && prng_chance(&store->sim->prng, 2)) {
        const struct sim_cell
            *cell = &row->cells[1 + prng_below(&store->sim->prng, row->cell_count - 1)];
        end.family = cell->family;
        end.qualifier = bytes_of(cell->qualifier, cell->qualifier_bytes);
        end.timestamp_us = cell->timestamp_us;
    }
    return end;
}

/* Remember the end of the piece in the tablet's own memory. */
static void note_end(struct sim_tablet *tablet, const struct tablet_position *end)
{
    buffer_reset(&tablet->flushed_row);
    buffer_append_bytes(&tablet->flushed_row, end->row);
    ASSERT(!tablet->flushed_row.failed);
    tablet->flushed_to = *end;
    tablet->flushed_to.row = buffer_bytes(&tablet->flushed_row);
    if (end->qualifier.size_bytes > 0) {
        memcpy(tablet->flushed_qualifier.data, end->qualifier.data, end->qualifier.size_bytes);
    }
    tablet->flushed_to.qualifier = bytes_of(tablet->flushed_qualifier.data,
                                            end->qualifier.size_bytes);
}

static void encode_map(struct sim_store *store,
                       struct bytes before,
                       const struct tablet_position *from,
                       const struct tablet_position *to,
                       uint64_t sequence,
                       struct buffer *out)
{
    struct applied_map map;
    struct error error = {.status = STATUS_OK};
    arena_reset(&store->arena);
    ASSERT(applied_map_decode(before, &store->arena, &map, &error) == STATUS_OK);
    ASSERT(applied_map_raise(&store->arena, &map, from, to, sequence, &map) == STATUS_OK);
    applied_map_encode(&map, out);
    ASSERT(!out->failed);
}

static struct sim_base_tablet *make_child(struct sim_store *store,
                                          const struct sim_tablet *parent,
                                          const struct sim_tablet *child)
{
    const struct sim_frozen *frozen = &parent->frozen[0];
    struct sim_base_tablet *put = sim_base_tablet_create(child->tablet, child->table,
                                                         child->configuration, &child->range);
    struct applied_map map;
    sim_rows_copy(&put->rows, &frozen->rows, &child->range);
    arena_reset(&store->arena);
    ASSERT(applied_map_whole(&store->arena, parent->split_sequence, &map) == STATUS_OK);
    applied_map_encode(&map, &put->applied);
    buffer_append_bytes(&put->dedupe, buffer_bytes(&frozen->dedupe));
    put->flushed_sequence = parent->split_sequence;
    put->clock = frozen->clock;
    put->replicated = parent->replicated;
    put->held = frozen->held;
    put->proven = parent->split_sequence;
    sim_horizons_take(&put->horizons, parent->horizons.items, parent->horizons.count,
                      parent->split_sequence);
    put->rotten = child->rotten;
    put->cut = child->cut;
    return put;
}

/* The transaction that ends a split tablet: its children take its place. */
static void queue_split_end(struct sim_store *store, struct sim_tablet *parent)
{
    struct sim_base_transaction transaction = {
        .purpose = SIM_BASE_FLUSH_FINISHED, .tablet = parent->tablet, .removed = {parent->tablet}};
    for (int i = 0; i < 2; i++) {
        const struct sim_tablet *child = sim_store_find_any(store, parent->children[i]);
        if (child != NULL && child->parent == parent->tablet) { /* else it was dropped */
            transaction.puts[transaction.put_count++] = make_child(store, parent, child);
        }
    }
    sim_store_queue(store, &transaction);
}

static void release(struct sim_store *store);

/* Of what is in the base by then, or in the log behind it. */
static void put_barrier(const struct sim_tablet *tablet, struct sim_base_tablet *put)
{
    const struct store_entry *barrier = store_barriers_standing(tablet->copy.barriers,
                                                                put->flushed_sequence);
    if (barrier != NULL) {
        put->barrier_sequence = barrier->sequence;
        put->barrier_version = barrier->version;
        put->barrier_type = barrier->type;
        buffer_append_bytes(&put->barrier, barrier->payload);
    }
}

static void queue_piece(struct sim_store *store, struct sim_tablet *tablet)
{
    const struct sim_base_tablet *old = sim_base_find(&store->disk->base, tablet->tablet);
    const struct sim_frozen *frozen = &tablet->frozen[0];
    ASSERT(old != NULL && frozen->ready);
    struct tablet_position end = choose_end(store, tablet);
    bool last = end.everything;

    if (store->sim->planted == SIM_PLANTED_RELEASE_EARLY) {
        tablet->frozen[0].first_position = LOG_POSITION_NONE;
        release(store);
    }
    bool ends = frozen->last_sequence > tablet->split_sequence || !tablet->replicated;
    if (last && tablet->hidden && frozen->last_sequence >= tablet->split_sequence && ends) {
        queue_split_end(store, tablet);
        return;
    }
    struct sim_base_tablet *put = sim_base_tablet_create(tablet->tablet, tablet->table,
                                                         tablet->configuration, &tablet->range);
    sim_rows_stitch(&put->rows, &frozen->rows, &old->rows, &end);
    encode_map(store, buffer_bytes(&old->applied), &tablet->flushed_to, &end, frozen->last_sequence,
               &put->applied);
    put->flushed_sequence = last ? frozen->last_sequence : old->flushed_sequence;
    put->clock = frozen->clock;
    put->replicated = tablet->replicated;
    put->held = last ? frozen->held : old->held;
    put->proven = frozen->last_sequence;
    put->rotten = tablet->rotten;
    put->cut = tablet->cut;
    put_barrier(tablet, put);
    sim_horizons_take(&put->horizons, tablet->horizons.items, tablet->horizons.count,
                      put->flushed_sequence);
    buffer_append_bytes(&put->dedupe, buffer_bytes(last ? &frozen->dedupe : &old->dedupe));
    note_end(tablet, &end);
    sim_store_queue(store, &(struct sim_base_transaction){
                               .purpose = last ? SIM_BASE_FLUSH_FINISHED : SIM_BASE_FLUSH_ADVANCED,
                               .tablet = tablet->tablet,
                               .puts = {put},
                               .put_count = 1,
                           });
}

/* --- the end of one --------------------------------------------------------------------------- */

uint64_t sim_flush_log_from(const struct sim_tablet *tablet)
{
    uint64_t position = earlier(tablet->active_position, tablet->copy.configuration_position);
    for (uint32_t i = 0; i < tablet->frozen_count; i++) {
        position = earlier(position, tablet->frozen[i].first_position);
    }
    return position;
}

/* The log is needed from the first record on that is in no base. */
static void release(struct sim_store *store)
{
    uint64_t position = store->log.gathering_position;
    for (uint32_t i = 0; i < store->tablet_count; i++) {
        position = earlier(position, sim_flush_log_from(store->tablets[i]));
    }
    for (uint32_t i = 0; i < store->queue_count; i++) {
        position = earlier(position, store->queue[i].log_from);
    }
    sim_log_release(&store->log, position);
}

static void drop_oldest(struct sim_store *store, struct sim_tablet *tablet)
{
    store_barriers_forget(&tablet->copy.barriers, tablet->frozen[0].last_sequence);
    sim_rows_deinit(&tablet->frozen[0].rows);
    buffer_deinit(&tablet->frozen[0].dedupe);
    tablet->frozen_count--;
    memmove(&tablet->frozen[0], &tablet->frozen[1],
            tablet->frozen_count * sizeof tablet->frozen[0]);
    tablet->flushed_to = (struct tablet_position){0};
    buffer_reset(&tablet->flushed_row);
    store->sim->statistics.flushes++;
    tablet->flush_count++;
    release(store);
}

static void run(struct sim_store *store, struct sim_tablet *tablet, enum flush_effect effect)
{
    if (effect == FLUSH_DROP || effect == FLUSH_DROP_AND_RUN) {
        drop_oldest(store, tablet);
    }
    if (effect == FLUSH_RUN || effect == FLUSH_DROP_AND_RUN) {
        queue_piece(store, tablet);
    }
}

/* The parent is in the base: its children may follow. */
static void end_parent(struct sim_store *store, struct sim_tablet *parent)
{
    for (int i = 0; i < 2; i++) {
        struct sim_tablet *child = sim_store_find_any(store, parent->children[i]);
        if (child != NULL && child->parent == parent->tablet) {
            sim_flush_unblock(store, child);
        }
    }
    sim_store_remove(store, parent);
}

void sim_flush_done(struct sim_store *store, const struct sim_base_transaction *transaction)
{
    struct sim_tablet *tablet = sim_store_find_any(store, transaction->tablet);
    bool finished = transaction->purpose == SIM_BASE_FLUSH_FINISHED;
    if (tablet == NULL) {
        return; /* dropped meanwhile: the removal follows */
    }
    run(store, tablet,
        flush_progress_step(
            &tablet->progress,
            &(struct flush_event){.kind = finished ? FLUSH_EVENT_FINISHED : FLUSH_EVENT_ADVANCED}));
    if (tablet->hidden && tablet->frozen_count == 0 &&
        (!tablet->replicated || tablet->converted_ends)) {
        end_parent(store, tablet);
    } else {
        sim_learning_go_on(store, tablet);
    }
}
