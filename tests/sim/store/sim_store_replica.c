#include <string.h>

#include "common/base/assert.h"
#include "common/base/memory.h"
#include "tabletserver/storage/record/record_replica.h"
#include "tests/sim/store/sim_store.h"

/*
 * The store's part of a tablet with several copies: entries come with their sequence and version,
 * wait in the window (the tablet's list of pending records) and are committed by word.
 */

static const struct row_range all_rows = {{NULL, 0}, {NULL, 0}};

void sim_pending_destroy(struct sim_pending *record)
{
    if (record != NULL) {
        buffer_deinit(&record->payload);
        memory_free(record);
    }
}

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

void sim_copy_forget_kept(struct sim_copy *copy)
{
    while (copy->kept_first != NULL) {
        struct sim_pending *next = copy->kept_first->next;
        sim_pending_destroy(copy->kept_first);
        copy->kept_first = next;
    }
    copy->kept_last = NULL;
    copy->kept_count = 0;
}

void sim_copy_destroy(struct sim_copy *copy)
{
    sim_copy_forget_kept(copy);
    store_barriers_clear(&copy->barriers);
    sim_learning_deinit(&copy->learning);
}

bool sim_copy_is_alone(const struct sim_tablet *tablet)
{
    const struct store_configuration *held = &tablet->copy.held;
    return held->members.version == 0 ||
           (held->members.member_count == 1 && !held->flags.doubt_noted &&
            replica_configuration_is_leader(&held->members, tablet->store->disk->number));
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

static void commit_alone(struct sim_store *store, struct sim_tablet *tablet)
{
    uint64_t synced = tablet->copy.synced;
    if (synced > tablet->committed) {
        (void)sim_store_commit(store, tablet, synced);
        store->callbacks.on_committed(store->callbacks.context, tablet, synced);
    }
}

/* Who is alone commits what is synced, who has others tells it. */
static void tell_entry(struct sim_store *store, struct sim_tablet *tablet, uint64_t sequence)
{
    const struct sim_store_callbacks *callbacks = &store->callbacks;
    if (sequence > tablet->prepared) {
        return; /* dropped meanwhile */
    }
    tablet->copy.synced = sequence > tablet->copy.synced ? sequence : tablet->copy.synced;
    if (!tablet->copy.alone) {
        callbacks->on_synced(callbacks->context, tablet, sequence);
    } else {
        commit_alone(store, tablet);
    }
}

/* Of several that are not synced only the last is told of. */
static void tell_configured(struct sim_store *store, struct sim_tablet *tablet)
{
    tablet->copy.configuring--;
    if (tablet->copy.configuring > 0) {
        return;
    }
    if (tablet->converted) {
        tablet->converted = false;
        sim_store_converted(store, tablet);
    }
    if (!tablet->hidden) {
        store->callbacks.on_configured(store->callbacks.context, tablet);
        if (tablet->copy.alone) {
            commit_alone(store, tablet);
        }
    }
}

static void tell(struct sim_store *store, const struct sim_told *told)
{
    struct sim_tablet *tablet = sim_store_find_any(store, told->tablet);
    if (tablet == NULL || tablet->life != told->life) {
        return; /* dropped meanwhile */
    }
    if (told->sequence == 0) {
        tell_configured(store, tablet);
    } else if (!tablet->hidden) {
        tell_entry(store, tablet, told->sequence);
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
    sim_collect_note(tablet, record);
}

void sim_store_append_entry(struct sim_store *store,
                            struct sim_tablet *tablet,
                            const struct store_entry *entry)
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

enum status sim_store_give_out(struct sim_store *store,
                               struct sim_tablet *tablet,
                               enum record_type type,
                               struct bytes payload,
                               uint64_t clock,
                               uint64_t *ret_sequence)
{
    const struct sim_store_callbacks *callbacks = &store->callbacks;
    if (type == RECORD_WRITE && tablet->copy.leads && store->sim->rules.on) {
        enum status said = sim_collect_say_rules(store, tablet, clock);
        if (said != STATUS_OK) {
            return said;
        }
        clock = sim_store_next_clock(store, hlc_to_us(clock));
    }
    const struct store_entry entry = {.sequence = tablet->prepared + 1,
                                      .version = tablet->copy.held.members.version,
                                      .stamp = {clock, 1, 0},
                                      .type = (uint8_t)type,
                                      .payload = payload};
    if (!tablet->copy.leads) {
        return STATUS_NOT_OWNER;
    }
    enum status status = sim_store_room(store);
    if (status == STATUS_OK) {
        status = callbacks->on_append(callbacks->context, tablet, &entry);
    }
    if (status == STATUS_OK) {
        sim_store_append_entry(store, tablet, &entry);
        *ret_sequence = entry.sequence;
        callbacks->on_appended(callbacks->context, tablet, &entry);
    }
    return status;
}

/* What is above `kept` and not committed is forgotten. */
void sim_copy_drop_above(struct sim_tablet *tablet, uint64_t kept)
{
    struct sim_pending **link = &tablet->first;
    kept = kept > tablet->committed ? kept : tablet->committed;
    tablet->last = NULL;
    while (*link != NULL && (*link)->sequence <= kept) {
        tablet->last = *link;
        link = &(*link)->next;
    }
    struct sim_pending *dropped = *link;
    tablet->copy.cuts += dropped != NULL ? 1 : 0;
    *link = NULL;
    while (dropped != NULL) {
        struct sim_pending *next = dropped->next;
        sim_pending_destroy(dropped);
        dropped = next;
    }
    tablet->prepared = tablet->last != NULL ? tablet->last->sequence : tablet->committed;
    if (tablet->copy.synced > tablet->prepared) {
        tablet->copy.synced = tablet->prepared;
    }
    sim_horizons_forget_above(&tablet->horizons, tablet->prepared);
}

/* --- configurations ----------------------------------------------------------------------------- */

/* Nothing is told any more of what was dropped. */
static void forget_told(struct sim_store *store, const struct sim_tablet *tablet)
{
    for (uint32_t i = 0; i < store->told_count; i++) {
        struct sim_told *told = &store->told[i];
        if (told->life == tablet->life && told->sequence > tablet->prepared) {
            told->tablet = 0;
        }
    }
}

void sim_store_configure(struct sim_store *store,
                         struct sim_tablet *tablet,
                         const struct store_configuration *configuration,
                         uint64_t kept)
{
    struct sim_copy *copy = &tablet->copy;
    struct buffer payload = BUFFER_INIT;
    copy->held = *configuration;
    copy->alone = sim_copy_is_alone(tablet);
    copy->shared = copy->shared || !copy->alone;
    copy->configuring++;
    tablet->configuration = configuration->members.version;
    sim_copy_drop_above(tablet, kept);
    forget_told(store, tablet);
    if (store->sim->planted != SIM_PLANTED_DEPOSED_KEEPS_REQUESTS) {
        dedupe_drop_above(tablet->dedupe, tablet->prepared);
    } else {
        dedupe_commit(tablet->dedupe, UINT64_MAX);
    }
    record_encode_configuration(
        &(struct record_configuration){.configuration = configuration->members,
                                       .role = configuration->role,
                                       .flags = configuration->flags,
                                       .kept_sequence = kept},
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

enum status sim_store_commit(struct sim_store *store, struct sim_tablet *tablet, uint64_t sequence)
{
    const struct sim_store_callbacks *callbacks = &store->callbacks;
    enum status status = STATUS_OK;
    if (tablet->committed < sequence) {
        callbacks->on_commits(callbacks->context, tablet, tablet->committed + 1, sequence);
    }
    while (status == STATUS_OK && tablet->committed < sequence) {
        ASSERT(tablet->first != NULL && tablet->first->sequence == tablet->committed + 1);
        status = sim_store_commit_first(store, tablet);
    }
    return status;
}

/* --- barriers ----------------------------------------------------------------------------------- */

struct store_entry sim_entry_of(const struct sim_pending *record)
{
    return (struct store_entry){.sequence = record->sequence,
                                .version = record->version,
                                .stamp = {record->clock, 1, 0},
                                .type = (uint8_t)record->type,
                                .payload = buffer_bytes(&record->payload)};
}

static bool is_barrier_or_lifts(uint8_t type)
{
    return store_barrier_is_one(type) || store_barrier_lifts(type);
}

void sim_copy_push_barrier(struct sim_copy *copy, const struct store_entry *entry)
{
    struct store_barrier *barrier = store_barrier_create(entry);
    ASSERT(barrier != NULL);
    store_barriers_push(&copy->barriers, barrier);
}

void sim_copy_note_barrier(struct sim_copy *copy, const struct sim_pending *record)
{
    if (is_barrier_or_lifts((uint8_t)record->type)) {
        const struct store_entry entry = sim_entry_of(record);
        sim_copy_push_barrier(copy, &entry);
    }
}

const struct store_entry *sim_copy_standing(const struct sim_tablet *tablet)
{
    return store_barriers_standing(tablet->copy.barriers, tablet->committed);
}

/* Behind it there may be what lifts it, which then is not committed. */
bool sim_copy_last_barrier(const struct sim_tablet *tablet,
                           enum record_type type,
                           struct store_entry *ret_entry)
{
    const struct store_entry *last = store_barriers_last(tablet->copy.barriers, type,
                                                         tablet->committed);
    bool found = last != NULL;
    if (found) {
        *ret_entry = *last;
    }
    for (const struct sim_pending *record = tablet->first; record != NULL; record = record->next) {
        if (record->type == type) {
            *ret_entry = sim_entry_of(record);
            found = true;
        }
    }
    return found;
}

bool sim_copy_has_open_barrier(const struct sim_tablet *tablet)
{
    bool found = false;
    for (const struct sim_pending *record = tablet->first; record != NULL; record = record->next) {
        found = found || is_barrier_or_lifts((uint8_t)record->type);
    }
    return found;
}

/* --- committed ---------------------------------------------------------------------------------- */

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
        sim_pending_destroy(oldest);
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
    copy->held = (struct store_configuration){record.configuration, record.role, record.flags};
    copy->alone = sim_copy_is_alone(tablet);
    copy->shared = copy->shared || !copy->alone;
    tablet->configuration = record.configuration.version;
    if (store->sim->planted != SIM_PLANTED_REPLAY_KEEPS_DROPPED) {
        sim_copy_drop_above(tablet, record.kept_sequence);
    }
    copy->gap = copy->gap && record.kept_sequence > tablet->prepared;
    if (copy->configuration_position == LOG_POSITION_NONE) {
        copy->configuration_position = position;
    }
    return STATUS_OK;
}

/* With the base's map, since some of it may be there. */
enum status sim_copy_commit_replayed(struct sim_store *store,
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
            sim_collect_note(tablet, record);
            dedupe_commit(tablet->dedupe, record->sequence);
            tablet->committed = record->sequence;
            tablet->clock = record->clock;
            tablet->copy.committed_version = record->version;
            sim_copy_note_barrier(&tablet->copy, record);
            tablet->first = record->next;
            tablet->last = tablet->first == NULL ? NULL : tablet->last;
            sim_flush_note_committed(store, tablet);
            sim_copy_keep(store, tablet, record);
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
    if (from->type == RECORD_CONVERSION) {
        struct record_configuration record;
        enum status status = record_decode_configuration(from->payload, &record, ret_error);
        return status == STATUS_OK
                   ? sim_replay_conversion(store, tablet, &record, position, ret_error)
                   : status;
    }
    if (copy->learning.learning) {
        return STATUS_OK; /* a part of it was taught: nothing of it counts */
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
    return sim_copy_commit_replayed(store, tablet, from->sequence - from->behind, ret_error);
}

/* What the base shows is committed, too.  Not before the end: an entry that a configuration drops later
 * in the log may have the sequence of one that the base shows. */
enum status sim_replay_copies_end(struct sim_store *store, struct error *ret_error)
{
    enum status status = STATUS_OK;
    for (uint32_t i = 0; i < store->tablet_count && status == STATUS_OK; i++) {
        struct sim_tablet *tablet = store->tablets[i];
        if (tablet->replicated && !tablet->hidden) {
            uint64_t proven = tablet->copy.alone ? UINT64_MAX : tablet->copy.proven;
            status = sim_copy_commit_replayed(store, tablet, proven, ret_error);
            tablet->copy.leads = tablet->copy.alone;
            tablet->copy.synced = tablet->prepared;
        }
        if (sim_store_relearns(tablet)) {
            tablet->copy.gap = false; /* what would have explained it is lost */
        } else if (status == STATUS_OK && !tablet->hidden &&
                   (tablet->copy.gap || tablet->committed < tablet->copy.proven)) {
            status = error_set(
                ret_error, STATUS_CORRUPT, "tablet %llu: the log has a hole behind sequence %llu",
                (unsigned long long)tablet->tablet, (unsigned long long)tablet->prepared);
        }
    }
    return status;
}
