/*
 * Adopting a configuration, and dropping what its primary does not have (rule 4).
 *
 *   appended --- 81 82 83 | 84 85 86 --- 87 88 90      kept = 85: layer B and the window go whole,
 *               layer A     layer B      window         nothing of A; kept = 82: A is cut within
 *                (81, 83]    (83, 86]
 *
 * One log record says both, so a restart finds both or neither.  The base hears of the configuration
 * with the tablet's next flush, or, where nothing is written, when its record has held the log for
 * long (store_ask_metas()); until then the record holds the log as a memtable does.  Whether others have
 * the tablet, too, it hears at once: where the log is lost nothing else tells whether this copy may be
 * given up, or must not pass for whole (store_relearn.h).  Only what is
 * durable in the log may stand in the base: else it would be there without what was dropped for it.
 */
#include "common/base/assert.h"
#include "common/base/memory.h"
#include "tabletserver/storage/copies/store_copies.h"
#include "tabletserver/storage/copies/store_relearn.h"
#include "tabletserver/storage/copies/store_replica.h"
#include "tabletserver/storage/flush/store_flush.h"
#include "tabletserver/storage/record/record_replica.h"
#include "tabletserver/storage/store/store_append.h"
#include "tabletserver/storage/store/store_internal.h"

#define LOG_SHARE_OF_METAS 2 /* a record may hold back this part of what a memtable may */

/* --- dropping ------------------------------------------------------------------------------------- */

/* What it needs memory for.  Nothing, where only the window is concerned. */
struct cut {
    uint64_t sequence;
    bool of_memtables;
    struct store_layer *fresh;           /* where the active one goes whole */
    struct store_range_deletes *deletes; /* those that stay */
};

static void cut_cancel(struct store_tablet *tablet, struct cut *cut)
{
    if (cut->fresh != NULL) {
        store_layer_unref(tablet->store, cut->fresh);
    }
    store_range_deletes_unref(cut->deletes);
}

static enum status cut_prepare(struct store_tablet *tablet, uint64_t sequence, struct cut *cut)
{
    *cut = (struct cut){.sequence = sequence,
                        .of_memtables = sequence < store_tablet_prepared(tablet)};
    enum status status = STATUS_OK;
    if (!cut->of_memtables) {
        return STATUS_OK;
    }
    if (tablet->layers[0]->after_sequence >= sequence) {
        status = store_layer_create(tablet->descriptor.tablet, &cut->fresh);
    }
    if (status == STATUS_OK) {
        cut->deletes = store_range_deletes_up_to(tablet->range_deletes, sequence);
        status = cut->deletes == NULL ? STATUS_NO_MEMORY : STATUS_OK;
    }
    if (status != STATUS_OK) {
        cut_cancel(tablet, cut);
    }
    return status;
}

/* The newest layer that has anything at or below the cut; layer_count when none has. */
static uint32_t first_kept(const struct store_tablet *tablet, uint64_t sequence)
{
    uint32_t index = 0;
    while (index < tablet->layer_count && tablet->layers[index]->after_sequence >= sequence) {
        index++;
    }
    return index;
}

/* Layers above `kept` go, that one ends at the cut.  Returns those that went in `gone`. */
static uint32_t rearrange(struct store_tablet *tablet,
                          struct cut *cut,
                          uint32_t kept,
                          uint64_t clock,
                          struct store_layer *gone[STORE_LAYERS_MAX])
{
    uint32_t gone_frozen = kept > 0 ? kept - 1 : 0;
    if (kept > 0 && kept < tablet->layer_count &&
        tablet->layers[kept]->last_sequence > cut->sequence) {
        tablet->layers[kept]->last_sequence = cut->sequence;
        tablet->layers[kept]->clock = clock;
    }
    for (uint32_t i = 0; i < kept; i++) {
        gone[i] = tablet->layers[i];
    }
    if (kept > 0) {
        tablet->layer_count = tablet->layer_count - kept + 1;
        for (uint32_t i = 1; i < tablet->layer_count; i++) {
            tablet->layers[i] = tablet->layers[i + kept - 1];
        }
        cut->fresh->after_sequence = cut->sequence;
        tablet->layers[0] = cut->fresh;
        cut->fresh = NULL;
    }
    struct flush_event event = {.kind = FLUSH_EVENT_CUT,
                                .last_sequence = cut->sequence,
                                .frozen_count = tablet->progress.frozen_count - gone_frozen};
    (void)flush_progress_step(&tablet->progress, &event);
    tablet->freeze_count++; /* reads in the middle of their capture look again */
    return kept;
}

static void cut_memtables(struct store_tablet *tablet, struct cut *cut)
{
    struct store_layer *gone[STORE_LAYERS_MAX];
    uint32_t kept = first_kept(tablet, cut->sequence);
    uint64_t clock = 0;
    if (kept < tablet->layer_count) {
        struct store_layer *layer = tablet->layers[kept];
        bool cut_within = kept == 0 || layer->last_sequence > cut->sequence;
        clock = cut_within ? memtable_drop_above(layer->memtable, cut->sequence) : layer->clock;
        store_count_memory(tablet->store, layer);
    }
    for (uint32_t i = kept + 1; i < tablet->layer_count && clock == 0; i++) {
        clock = tablet->layers[i]->clock;
    }
    clock = clock > 0 ? clock : atomic_load(&tablet->flushed_clock); /* all that is left is there */
    (void)pthread_mutex_lock(&tablet->mutex);
    uint32_t gone_count = rearrange(tablet, cut, kept, clock, gone);
    horizon_forget_above(&tablet->horizons, cut->sequence);
    tablet->cut_count++;
    tablet->rules_said = 0;
    store_barriers_drop_above(&tablet->barriers, cut->sequence);
    atomic_store_explicit(&tablet->prepared, cut->sequence, memory_order_release);
    atomic_store_explicit(&tablet->clock, clock, memory_order_release);
    (void)pthread_mutex_unlock(&tablet->mutex);
    for (uint32_t i = 0; i < gone_count; i++) {
        store_layer_unref(tablet->store, gone[i]);
    }
    store_tablet_publish_range_deletes(tablet, cut->deletes);
    cut->deletes = NULL;
    dedupe_drop_above(tablet->dedupe, cut->sequence);
}

static void cut_perform(struct store_tablet *tablet, struct cut *cut)
{
    store_window_drop_above(&tablet->window, cut->sequence);
    store_cut_pending(tablet, cut->sequence);
    if (cut->of_memtables) {
        cut_memtables(tablet, cut);
    }
}

/* --- adopting ------------------------------------------------------------------------------------- */

bool store_is_alone(const struct store *store, const struct store_configuration *configuration)
{
    const struct replica_configuration *members = &configuration->members;
    return members->version == 0 ||
           (members->member_count == 1 && !configuration->flags.doubt_noted &&
            !configuration->flags.doubtful &&
            replica_configuration_is_leader(members, store->identity.store_number));
}

void store_set_configuration(struct store_tablet *tablet,
                             const struct store_configuration *configuration)
{
    tablet->configuration = *configuration;
    if (configuration->members.version != 0) {
        (void)pthread_mutex_lock(&tablet->mutex); /* the work thread encodes it */
        tablet->descriptor.configuration = configuration->members.version;
        (void)pthread_mutex_unlock(&tablet->mutex);
    }
    bool alone = store_is_alone(tablet->store, configuration);
    tablet->shared = tablet->shared || !alone;
    atomic_store(&tablet->alone, alone);
}

enum status store_log_configuration(struct store_tablet *tablet,
                                    enum record_type type,
                                    const struct store_configuration *configuration,
                                    uint64_t kept_sequence)
{
    struct store *store = tablet->store;
    const struct record_configuration record = {.configuration = configuration->members,
                                                .role = configuration->role,
                                                .flags = configuration->flags,
                                                .kept_sequence = kept_sequence};
    buffer_reset(&store->payload);
    record_encode_configuration(&record, &store->payload);
    if (store->payload.failed) {
        return STATUS_NO_MEMORY;
    }
    const struct log_record own = {.type = (uint8_t)type,
                                   .tablet = tablet->descriptor.tablet,
                                   .configuration = configuration->members.version,
                                   .payload = buffer_bytes(&store->payload)};
    return store_log_record(store, &own);
}

enum status store_tablet_configure(struct store_tablet *tablet,
                                   const struct store_configuration *configuration,
                                   uint64_t kept_sequence)
{
    struct store *store = tablet->store;
    uint64_t appended = store_tablet_appended(tablet);
    uint64_t kept = kept_sequence < appended ? kept_sequence : appended;
    ASSERT(replica_configuration_is_sound(&configuration->members));
    ASSERT(kept >= store_tablet_committed(tablet));
    if (atomic_load(&tablet->state) != STORE_TABLET_LIVE) {
        return STATUS_NOT_OWNER;
    }
    if (tablet->learn.replaces) {
        return STATUS_RESOURCE_EXHAUSTED;
    }
    /* What a tablet without a configuration has in the log counts as committed at replay. */
    if (tablet->configuration.members.version == 0 &&
        store_tablet_committed(tablet) < store_tablet_prepared(tablet)) {
        return STATUS_UNAVAILABLE;
    }
    struct cut cut;
    enum status status = store_trouble_check(store, true);
    if (status == STATUS_OK) {
        status = cut_prepare(tablet, kept, &cut);
    }
    if (status != STATUS_OK) {
        return status;
    }
    status = store_log_configuration(tablet, RECORD_CONFIGURATION, configuration, kept);
    if (status != STATUS_OK) {
        cut_cancel(tablet, &cut);
        return status;
    }
    cut_perform(tablet, &cut);
    store_set_configuration(tablet, configuration);
    if (tablet->shared) {
        store_mark_drop(tablet, kept, store->log_position);
    }
    tablet->configuring_position = store->log_position;
    store_list_pending(tablet);
    return STATUS_OK;
}

const struct store_configuration *store_tablet_configuration(const struct store_tablet *tablet)
{
    return &tablet->configuration;
}

/* --- durable, and in the base --------------------------------------------------------------------- */

static bool is_in_base(const struct store_tablet *tablet)
{
    return tablet->lineage_count == 0; /* else its parent's end brings it there */
}

static void ask_meta(struct store_tablet *tablet)
{
    atomic_store(&tablet->meta_wanted, true);
    atomic_store(&tablet->store->metas_wanted, true);
}

void store_note_durable_configuration(struct store_tablet *tablet, uint64_t position)
{
    struct store *store = tablet->store;
    bool others_before = store_has_other_copies(store, &tablet->durable.members);
    (void)pthread_mutex_lock(&tablet->mutex);
    tablet->durable = tablet->configuration;
    tablet->durable_number++;
    (void)pthread_mutex_unlock(&tablet->mutex);
    tablet->configured_position = position;
    if (store_has_other_copies(store, &tablet->durable.members) != others_before &&
        is_in_base(tablet)) {
        ask_meta(tablet);
        store_work_wake(store);
    }
}

bool store_settle_configuration(struct store_tablet *tablet, uint64_t synced)
{
    uint64_t position = tablet->configuring_position;
    if (position == STORE_POSITION_NONE || position >= synced) {
        return false;
    }
    tablet->configuring_position = STORE_POSITION_NONE;
    store_note_durable_configuration(tablet, position);
    return true;
}

uint64_t store_configuration_holds(struct store_tablet *tablet)
{
    if (tablet->configured_position != STORE_POSITION_NONE &&
        atomic_load(&tablet->written_number) == tablet->durable_number) {
        tablet->configured_position = STORE_POSITION_NONE;
    }
    return tablet->configured_position < tablet->configuring_position
               ? tablet->configured_position
               : tablet->configuring_position;
}

void store_ask_metas(struct store *store, bool all)
{
    uint64_t share = store->settings.log_limit_bytes / LOG_SHARE_OF_METAS;
    bool any = false;
    for (uint32_t i = 0; i < store->tablet_count; i++) {
        struct store_tablet *tablet = store->tablets[i];
        uint64_t position = tablet->configured_position;
        if (position != STORE_POSITION_NONE && is_in_base(tablet) &&
            (all || store->log_position - position >= share)) {
            ask_meta(tablet);
            any = true;
        }
    }
    if (any) {
        store_work_wake(store);
    }
}

/* Those that are asked for, each with a reference, behind each other; NULL without memory. */
static struct store_tablet **take_wanted(struct store *store, uint32_t *ret_count)
{
    *ret_count = 0;
    (void)pthread_mutex_lock(&store->mutex);
    struct store_tablet **wanted = memory_allocate((store->tablet_count + 1U) * sizeof *wanted);
    for (uint32_t i = 0; wanted != NULL && i < store->tablet_count; i++) {
        struct store_tablet *tablet = store->tablets[i];
        /* One that is being merged may be in the base no more. */
        bool is_live = atomic_load(&tablet->state) == STORE_TABLET_LIVE;
        if (is_live && !atomic_load(&tablet->learn.replaced) &&
            atomic_exchange(&tablet->meta_wanted, false)) {
            store_tablet_ref(tablet);
            wanted[(*ret_count)++] = tablet;
        }
    }
    (void)pthread_mutex_unlock(&store->mutex);
    return wanted;
}

static enum status write_metas(struct store *store, struct store_tablet **tablets, uint32_t count)
{
    struct base_writer *writer = NULL;
    enum status status = base_writer_begin(store->base, &writer);
    if (status != STATUS_OK) {
        return status;
    }
    for (uint32_t i = 0; i < count && status == STATUS_OK; i++) {
        status = store_put_tablet_meta(writer, tablets[i], tablets[i]->flushed_sequence,
                                       atomic_load(&tablets[i]->flushed_clock),
                                       tablets[i]->dedupe_piece_count);
    }
    if (status != STATUS_OK) {
        base_writer_abort(writer);
        return status;
    }
    return base_writer_commit(writer);
}

static void give_wanted_back(struct store_tablet **tablets, uint32_t count, bool written)
{
    for (uint32_t i = 0; i < count; i++) {
        if (written) {
            store_note_meta_written(tablets[i]);
        } else {
            atomic_store(&tablets[i]->meta_wanted, true);
        }
        store_tablet_unref(tablets[i]);
    }
    memory_free(tablets);
}

void store_note_meta_written(struct store_tablet *tablet)
{
    atomic_store(&tablet->written_number, tablet->encoded_number);
}

enum status store_metas_step(struct store *store, bool *ret_worked)
{
    *ret_worked = false;
    if (!atomic_exchange(&store->metas_wanted, false)) {
        return STATUS_OK;
    }
    uint32_t count = 0;
    struct store_tablet **tablets = take_wanted(store, &count);
    enum status status = tablets == NULL ? STATUS_NO_MEMORY : STATUS_OK;
    if (status == STATUS_OK && count > 0) {
        status = write_metas(store, tablets, count);
    }
    give_wanted_back(tablets, count, status == STATUS_OK);
    if (status != STATUS_OK) {
        atomic_store(&store->metas_wanted, true);
        return status;
    }
    *ret_worked = count > 0;
    atomic_store(&store->metas_written, true); /* the loop may let the log go */
    if (!store->recovering) {
        store->callbacks.wake(store->callbacks.context);
    }
    return STATUS_OK;
}
