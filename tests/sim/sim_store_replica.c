#include <string.h>

#include "common/base/assert.h"
#include "common/base/memory.h"
#include "tabletserver/storage/record_replica.h"
#include "tests/sim/sim_store.h"

/*
 * The store's part of a tablet with several copies: entries come with their sequence and version,
 * wait in the window (the tablet's list of pending records) and are committed by word.
 */

static const struct row_range all_rows = {{NULL, 0}, {NULL, 0}};

static void pending_destroy(struct sim_pending *record)
{
    buffer_deinit(&record->payload);
    memory_free(record);
}

void sim_copy_destroy(struct sim_copy *copy)
{
    while (copy->kept_first != NULL) {
        struct sim_pending *next = copy->kept_first->next;
        pending_destroy(copy->kept_first);
        copy->kept_first = next;
    }
    replica_destroy(copy->replica);
}

/* --- what is told when it is synced ------------------------------------------------------------- */

void sim_store_note_told(struct sim_store *store,
                         const struct sim_tablet *tablet,
                         uint64_t sequence,
                         uint64_t position)
{
    if (store->told_count == store->told_capacity) {
        store->told_capacity = store->told_capacity * 2 + 64;
        store->told = memory_resize(store->told, store->told_capacity * sizeof *store->told);
        ASSERT(store->told != NULL);
    }
    store->told[store->told_count++] = (struct sim_told){position, tablet->tablet, tablet->life,
                                                         sequence};
}

static void tell(struct sim_store *store, const struct sim_told *told)
{
    struct sim_tablet *tablet = sim_store_find_any(store, told->tablet);
    if (tablet == NULL || tablet->life != told->life) {
        return; /* dropped meanwhile */
    }
    if (told->sequence != 0) {
        store->callbacks.on_synced(store->callbacks.context, tablet, told->sequence);
    } else {
        tablet->copy.configuring--;
        store->callbacks.on_configured(store->callbacks.context, tablet);
    }
}

/* In the log's order.  What is told may append. */
void sim_store_tell_synced(struct sim_store *store, uint64_t synced)
{
    uint32_t count = 0;
    while (count < store->told_count && store->told[count].position < synced) {
        struct sim_told told = store->told[count++];
        tell(store, &told);
    }
    if (count == 0) {
        return;
    }
    store->told_count -= count;
    memmove(store->told, store->told + count, store->told_count * sizeof *store->told);
}

/* --- entries ------------------------------------------------------------------------------------ */

static struct sim_pending *pending_of(
    uint64_t sequence, uint64_t version, uint64_t clock, uint8_t type, struct bytes payload)
{
    struct sim_pending *record = memory_allocate_zeroed(1, sizeof *record);
    ASSERT(record != NULL);
    record->sequence = sequence;
    record->version = version;
    record->clock = clock;
    record->type = (enum record_type)type;
    buffer_append_bytes(&record->payload, payload);
    ASSERT(!record->payload.failed);
    return record;
}

static void add_to_window(struct sim_tablet *tablet, struct sim_pending *record)
{
    if (tablet->last == NULL) {
        tablet->first = record;
    } else {
        tablet->last->next = record;
    }
    tablet->last = record;
    tablet->prepared = record->sequence;
    if (record->clock > tablet->prepared_clock) {
        tablet->prepared_clock = record->clock;
    }
    if (tablet->active_position == LOG_POSITION_NONE) {
        tablet->active_position = record->position;
    }
}

static void prepare(struct sim_store *store,
                    struct sim_tablet *tablet,
                    const struct sim_pending *record)
{
    struct error error = {.status = STATUS_OK};
    arena_reset(&store->arena);
    if (sim_store_apply(store, &tablet->prepared_rows, record, NULL, &error) != STATUS_OK) {
        sim_fail(store->sim, "a record does not decode: %s", error.text);
        return;
    }
    sim_store_record_requests(store, tablet, record);
}

void sim_store_append_entry(struct sim_store *store,
                            struct sim_tablet *tablet,
                            const struct replica_entry *entry)
{
    struct sim_pending *record = pending_of(entry->sequence, entry->version, entry->stamp.clock,
                                            entry->type, entry->payload);
    ASSERT(entry->sequence == tablet->prepared + 1);
    hlc_observe(&store->hlc, entry->stamp.clock);
    record->position = sim_log_append(
        &store->log, &(struct log_record){.type = entry->type,
                                          .tablet = tablet->tablet,
                                          .configuration = entry->version,
                                          .behind = entry->sequence - tablet->committed,
                                          .sequence = entry->sequence,
                                          .stamp = entry->stamp,
                                          .payload = entry->payload});
    add_to_window(tablet, record);
    sim_store_note_told(store, tablet, record->sequence, record->position);
    if (tablet->copy.leads) {
        prepare(store, tablet, record);
    }
}

/* What is above `kept` and not committed is forgotten. */
static void drop_above(struct sim_tablet *tablet, uint64_t kept)
{
    struct sim_pending **link = &tablet->first;
    kept = kept > tablet->committed ? kept : tablet->committed;
    tablet->last = NULL;
    while (*link != NULL && (*link)->sequence <= kept) {
        tablet->last = *link;
        link = &(*link)->next;
    }
    struct sim_pending *dropped = *link;
    *link = NULL;
    while (dropped != NULL) {
        struct sim_pending *next = dropped->next;
        pending_destroy(dropped);
        dropped = next;
    }
    tablet->prepared = tablet->last != NULL ? tablet->last->sequence : tablet->committed;
}

/* --- configurations ----------------------------------------------------------------------------- */

void sim_store_configure(struct sim_store *store,
                         struct sim_tablet *tablet,
                         const struct replica_effect *effect)
{
    struct sim_copy *copy = &tablet->copy;
    struct buffer payload = BUFFER_INIT;
    copy->configuration = effect->configuration;
    copy->role = effect->role;
    copy->flags = effect->flags;
    copy->configuring++;
    copy->generation++;
    tablet->configuration = effect->configuration.version;
    drop_above(tablet, effect->sequence);
    record_encode_configuration(
        &(struct record_configuration){.configuration = effect->configuration,
                                       .role = (uint8_t)effect->role,
                                       .flags = {effect->flags.opened, effect->flags.doubt_noted,
                                                 effect->flags.bound, effect->flags.damaged,
                                                 effect->flags.doubtful},
                                       .kept_sequence = effect->sequence},
        &payload);
    uint64_t position = sim_log_append(&store->log,
                                       &(struct log_record){.type = RECORD_CONFIGURATION,
                                                            .tablet = tablet->tablet,
                                                            .configuration = tablet->configuration,
                                                            .payload = buffer_bytes(&payload)});
    buffer_deinit(&payload);
    if (copy->configuration_position == LOG_POSITION_NONE) {
        copy->configuration_position = position;
    }
    sim_store_note_told(store, tablet, 0, position);
}

/* --- committing --------------------------------------------------------------------------------- */

void sim_store_commit(struct sim_store *store, struct sim_tablet *tablet, uint64_t sequence)
{
    while (tablet->committed < sequence) {
        ASSERT(tablet->first != NULL && tablet->first->sequence == tablet->committed + 1);
        sim_store_commit_first(store, tablet);
    }
}

void sim_copy_keep(struct sim_store *store, struct sim_tablet *tablet, struct sim_pending *record)
{
    struct sim_copy *copy = &tablet->copy;
    record->next = NULL;
    if (copy->kept_last == NULL) {
        copy->kept_first = record;
    } else {
        copy->kept_last->next = record;
    }
    copy->kept_last = record;
    copy->kept_count++;
    while (copy->kept_count > store->sim->settings.entries_kept) {
        struct sim_pending *oldest = copy->kept_first;
        copy->kept_first = oldest->next;
        copy->kept_last = copy->kept_first == NULL ? NULL : copy->kept_last;
        copy->kept_count--;
        pending_destroy(oldest);
    }
}

const struct sim_pending *sim_copy_find(const struct sim_tablet *tablet, uint64_t sequence)
{
    const struct sim_pending *record = tablet->copy.kept_first;
    while (record != NULL && record->sequence != sequence) {
        record = record->next;
    }
    return record;
}

void sim_store_lead(struct sim_store *store, struct sim_tablet *tablet)
{
    tablet->copy.leads = true;
    sim_rows_deinit(&tablet->prepared_rows);
    sim_rows_copy(&tablet->prepared_rows, &tablet->committed_rows, &all_rows);
    if (store->sim->planted == SIM_PLANTED_LEAD_WITHOUT_WINDOW) {
        return;
    }
    for (const struct sim_pending *record = tablet->first; record != NULL; record = record->next) {
        prepare(store, tablet, record);
    }
}

void sim_store_follow(struct sim_store *store, struct sim_tablet *tablet)
{
    tablet->copy.leads = false;
    if (store->sim->planted != SIM_PLANTED_DEPOSED_KEEPS_REQUESTS) {
        dedupe_drop_above(tablet->dedupe, tablet->committed);
    }
}

/* --- being taught ------------------------------------------------------------------------------- */

bool sim_copy_may_be_taught(const struct sim_tablet *tablet, uint64_t sequence)
{
    const struct sim_copy *copy = &tablet->copy;
    return tablet->replicated && copy->role == REPLICA_LEARNER && copy->configuring == 0 &&
           tablet->frozen_count == 0 && tablet->prepared < sequence;
}

void sim_store_teach(struct sim_store *store,
                     struct sim_tablet *tablet,
                     struct sim_base_tablet *content,
                     uint64_t lesson)
{
    content->replicated = true;
    content->members = tablet->copy.configuration;
    content->role = tablet->copy.role;
    content->flags = tablet->copy.flags;
    content->proven = content->flushed_sequence;
    sim_store_queue(store, &(struct sim_base_transaction){.purpose = SIM_BASE_TAUGHT,
                                                          .tablet = tablet->tablet,
                                                          .puts = {content},
                                                          .put_count = 1,
                                                          .lesson = lesson,
                                                          .life = tablet->life,
                                                          .generation = tablet->copy.generation});
}

static void take_content(struct sim_store *store,
                         struct sim_tablet *tablet,
                         const struct sim_base_tablet *content)
{
    const struct dedupe_limits limits = {64, 100000, 1 << 24};
    struct error error = {.status = STATUS_OK};
    tablet->committed = 0;
    drop_above(tablet, 0); /* the whole window: the content has all of it */
    tablet->committed = content->flushed_sequence;
    tablet->prepared = content->flushed_sequence;
    tablet->clock = content->clock;
    hlc_observe(&store->hlc, content->clock);
    tablet->prepared_clock = content->clock;
    tablet->active_position = LOG_POSITION_NONE;
    tablet->copy.configuration_position = LOG_POSITION_NONE;
    tablet->copy.committed_version = 0;
    tablet->copy.proven = content->flushed_sequence;
    sim_rows_deinit(&tablet->committed_rows);
    sim_rows_copy(&tablet->committed_rows, &content->rows, &all_rows);
    dedupe_destroy(tablet->dedupe);
    ASSERT(dedupe_create(&limits, &tablet->dedupe) == STATUS_OK);
    if (dedupe_load(tablet->dedupe, buffer_bytes(&content->dedupe), &error) != STATUS_OK) {
        sim_fail(store->sim, "taught exactly-once records do not load: %s", error.text);
    }
    dedupe_commit(tablet->dedupe, content->flushed_sequence);
    flush_progress_init(&tablet->progress, content->flushed_sequence, false);
    while (tablet->copy.kept_first != NULL) {
        struct sim_pending *next = tablet->copy.kept_first->next;
        pending_destroy(tablet->copy.kept_first);
        tablet->copy.kept_first = next;
    }
    tablet->copy.kept_last = NULL;
    tablet->copy.kept_count = 0;
}

void sim_store_taught(struct sim_store *store, const struct sim_base_transaction *done)
{
    struct sim_tablet *tablet = sim_store_find_any(store, done->tablet);
    struct sim_base_transaction transaction = *done;
    bool good = tablet != NULL && tablet->life == done->life &&
                tablet->copy.generation == done->generation &&
                sim_copy_may_be_taught(tablet, done->puts[0]->flushed_sequence);
    if (!good) {
        sim_base_transaction_discard(&transaction); /* it has moved on: as if aborted */
        return;
    }
    take_content(store, tablet, done->puts[0]);
    sim_base_apply(&store->disk->base, &transaction);
    store->callbacks.on_taught(store->callbacks.context, tablet, done->lesson);
}

/* --- replay ------------------------------------------------------------------------------------- */

static enum status replay_configuration(struct sim_store *store,
                                        struct sim_tablet *tablet,
                                        const struct log_record *from,
                                        uint64_t position,
                                        struct error *ret_error)
{
    struct record_configuration record;
    struct sim_copy *copy = &tablet->copy;
    enum status status = record_decode_configuration(from->payload, &record, ret_error);
    if (status != STATUS_OK) {
        return status;
    }
    copy->configuration = record.configuration;
    copy->role = (enum replica_role)record.role;
    copy->flags = (struct replica_flags){record.flags.opened, record.flags.doubt_noted,
                                         record.flags.bound, record.flags.damaged,
                                         record.flags.doubtful};
    tablet->configuration = record.configuration.version;
    if (store->sim->planted != SIM_PLANTED_REPLAY_KEEPS_DROPPED) {
        drop_above(tablet, record.kept_sequence);
    }
    copy->gap = copy->gap && record.kept_sequence > tablet->prepared;
    if (copy->configuration_position == LOG_POSITION_NONE) {
        copy->configuration_position = position;
    }
    return STATUS_OK;
}

/* With the base's map, since some of it may be there. */
static enum status commit_replayed(struct sim_store *store,
                                   struct sim_tablet *tablet,
                                   uint64_t proven,
                                   struct error *ret_error)
{
    enum status status = STATUS_OK;
    while (tablet->first != NULL && tablet->first->sequence <= proven && status == STATUS_OK) {
        struct applied_map map;
        struct sim_pending *record = tablet->first;
        arena_reset(&store->arena);
        status = sim_replay_map(store, tablet, &map, ret_error);
        if (status == STATUS_OK) {
            status = sim_store_apply(store, &tablet->committed_rows, record, &map, ret_error);
        }
        if (status == STATUS_OK) {
            sim_store_record_requests(store, tablet, record);
            dedupe_commit(tablet->dedupe, record->sequence);
            tablet->committed = record->sequence;
            tablet->clock = record->clock;
            tablet->copy.committed_version = record->version;
            tablet->first = record->next;
            tablet->last = tablet->first == NULL ? NULL : tablet->last;
            sim_flush_note_committed(store, tablet);
            pending_destroy(record);
        }
    }
    return status;
}

enum status sim_replay_copy(struct sim_store *store,
                            struct sim_tablet *tablet,
                            const struct log_record *from,
                            uint64_t position,
                            struct error *ret_error)
{
    struct sim_copy *copy = &tablet->copy;
    if (from->type == RECORD_CONFIGURATION) {
        return replay_configuration(store, tablet, from, position, ret_error);
    }
    if (from->sequence <= tablet->committed) {
        return STATUS_OK;
    }
    copy->gap = copy->gap || from->sequence != tablet->prepared + 1;
    if (copy->gap) {
        return STATUS_OK; /* a configuration to come drops it, or it is missed in the end */
    }
    struct sim_pending *record = pending_of(from->sequence, from->configuration, from->stamp.clock,
                                            from->type, from->payload);
    record->position = position;
    add_to_window(tablet, record);
    store->sim->statistics.replays++;
    return commit_replayed(store, tablet, from->sequence - from->behind, ret_error);
}

/* What the base shows is committed, too.  Not before the end: an entry that a configuration drops later
 * in the log may have the sequence of one that the base shows. */
enum status sim_replay_copies_end(struct sim_store *store, struct error *ret_error)
{
    enum status status = STATUS_OK;
    for (uint32_t i = 0; i < store->tablet_count && status == STATUS_OK; i++) {
        struct sim_tablet *tablet = store->tablets[i];
        if (tablet->replicated) {
            status = commit_replayed(store, tablet, tablet->copy.proven, ret_error);
        }
        if (status == STATUS_OK && (tablet->copy.gap || tablet->committed < tablet->copy.proven)) {
            status = error_set(
                ret_error, STATUS_CORRUPT, "tablet %llu: the log has a hole behind sequence %llu",
                (unsigned long long)tablet->tablet, (unsigned long long)tablet->prepared);
        }
    }
    return status;
}
