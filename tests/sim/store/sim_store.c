#include "tests/sim/store/sim_store.h"

#include <string.h>

#include "common/base/assert.h"
#include "common/base/memory.h"
#include "tabletserver/storage/record/replay_plan.h"

/* --- life ------------------------------------------------------------------------------------- */

void sim_store_disk_init(struct sim_store_disk *disk, uint64_t number)
{
    *disk = (struct sim_store_disk){.number = number};
    sim_log_disk_init(&disk->log, number);
}

void sim_store_disk_deinit(struct sim_store_disk *disk)
{
    sim_log_disk_deinit(&disk->log);
    sim_base_deinit(&disk->base);
}

struct sim_tablet *sim_tablet_create(uint64_t number,
                                     uint64_t table,
                                     uint64_t configuration,
                                     const struct row_range *range)
{
    const struct dedupe_limits limits = {64, 100000, 1 << 24};
    struct sim_tablet *tablet = memory_allocate_zeroed(1, sizeof *tablet);
    ASSERT(tablet != NULL && dedupe_create(&limits, &tablet->dedupe) == STATUS_OK);
    ASSERT(range->start.size_bytes <= SIM_KEY_BYTES_MAX);
    ASSERT(range->end.size_bytes <= SIM_KEY_BYTES_MAX);
    tablet->tablet = number;
    tablet->table = table;
    tablet->configuration = configuration;
    if (range->start.size_bytes > 0) {
        memcpy(tablet->bounds, range->start.data, range->start.size_bytes);
    }
    if (range->end.size_bytes > 0) {
        memcpy(tablet->bounds + SIM_KEY_BYTES_MAX, range->end.data, range->end.size_bytes);
    }
    tablet->range.start = bytes_of(tablet->bounds, range->start.size_bytes);
    tablet->range.end = bytes_of(tablet->bounds + SIM_KEY_BYTES_MAX, range->end.size_bytes);
    tablet->active_position = LOG_POSITION_NONE;
    tablet->copy.configuration_position = LOG_POSITION_NONE;
    return tablet;
}

static void tablet_destroy(struct sim_tablet *tablet)
{
    while (tablet->first != NULL) {
        struct sim_pending *next = tablet->first->next;
        buffer_deinit(&tablet->first->payload);
        memory_free(tablet->first);
        tablet->first = next;
    }
    for (uint32_t i = 0; i < tablet->frozen_count; i++) {
        sim_rows_deinit(&tablet->frozen[i].rows);
        buffer_deinit(&tablet->frozen[i].dedupe);
    }
    sim_rows_deinit(&tablet->prepared_rows);
    sim_rows_deinit(&tablet->committed_rows);
    buffer_deinit(&tablet->flushed_row);
    dedupe_destroy(tablet->dedupe);
    sim_copy_destroy(&tablet->copy);
    memory_free(tablet);
}

void sim_tablet_ref(struct sim_tablet *tablet)
{
    tablet->references++;
}

void sim_tablet_unref(struct sim_tablet *tablet)
{
    ASSERT(tablet->references > 0);
    if (--tablet->references == 0) {
        tablet_destroy(tablet);
    }
}

void sim_store_kill(struct sim_store *store, bool power_cut)
{
    struct sim_store_disk *disk = store->disk;
    for (uint32_t i = 0; i < store->queue_count; i++) {
        if (i == 0 && store->committing && prng_chance(&store->sim->prng, 2)) {
            (void)sim_base_apply(&disk->base, &store->queue[i]);
        }
        sim_base_transaction_discard(&store->queue[i]);
    }
    for (uint32_t i = 0; i < store->tablet_count; i++) {
        sim_tablet_unref(store->tablets[i]);
    }
    memory_free(store->told);
    arena_deinit(&store->collection.arena);
    sim_log_close(&store->log);
    arena_deinit(&store->arena);
    if (power_cut) {
        sim_log_disk_cut_power(&disk->log, &store->sim->prng);
    }
}

/* --- finding ---------------------------------------------------------------------------------- */

struct sim_tablet *sim_store_find_any(struct sim_store *store, uint64_t tablet)
{
    for (uint32_t i = 0; i < store->tablet_count; i++) {
        if (store->tablets[i]->tablet == tablet) {
            return store->tablets[i];
        }
    }
    return NULL;
}

struct sim_tablet *sim_store_find(struct sim_store *store, uint64_t number)
{
    struct sim_tablet *tablet = sim_store_find_any(store, number);
    return tablet != NULL && !tablet->hidden ? tablet : NULL;
}

/* What two were merged into is when its host has taken that up. */
static bool is_served(const struct sim_tablet *tablet, uint64_t table)
{
    return !tablet->hidden && tablet->context != NULL && tablet->table == table;
}

/* Of two that overlap something else came of the one with the lower number. */
static bool is_over(const struct sim_store *store, const struct sim_tablet *tablet)
{
    bool older_last = store->sim->planted == SIM_PLANTED_OLDER_COPY_FOUND;
    for (uint32_t i = 0; i < store->tablet_count; i++) {
        const struct sim_tablet *other = store->tablets[i];
        struct row_range both;
        if (other != tablet && is_served(other, tablet->table) &&
            (other->tablet > tablet->tablet) != older_last &&
            row_range_intersect(&other->range, &tablet->range, &both)) {
            return true;
        }
    }
    return false;
}

/* As tabletserver/serve/sync/served_map.c. */
struct sim_tablet *sim_store_find_row(struct sim_store *store, uint64_t table, struct bytes row)
{
    for (uint32_t i = 0; i < store->tablet_count; i++) {
        struct sim_tablet *tablet = store->tablets[i];
        if (is_served(tablet, table) && row_range_contains(&tablet->range, row) &&
            !is_over(store, tablet)) {
            return tablet;
        }
    }
    return NULL;
}

struct sim_tablet *sim_store_find_before(struct sim_store *store, uint64_t table, struct bytes end)
{
    struct sim_tablet *found = NULL;
    for (uint32_t i = 0; i < store->tablet_count; i++) {
        struct sim_tablet *tablet = store->tablets[i];
        bool begins = end.size_bytes == 0 || bytes_compare(tablet->range.start, end) < 0;
        bool last = found == NULL || bytes_compare(found->range.start, tablet->range.start) < 0;
        if (is_served(tablet, table) && begins && last && !is_over(store, tablet)) {
            found = tablet;
        }
    }
    return found;
}

void sim_store_add(struct sim_store *store, struct sim_tablet *tablet)
{
    ASSERT(store->tablet_count < SIM_TABLETS_MAX);
    ASSERT(sim_store_find_any(store, tablet->tablet) == NULL);
    tablet->life = ++store->life_next;
    tablet->store = store;
    tablet->references = 1;
    store->tablets[store->tablet_count++] = tablet;
}

void sim_store_remove(struct sim_store *store, struct sim_tablet *tablet)
{
    uint32_t at = 0;
    while (store->tablets[at] != tablet) {
        at++;
    }
    memmove(&store->tablets[at], &store->tablets[at + 1],
            (--store->tablet_count - at) * sizeof(struct sim_tablet *));
    sim_tablet_unref(tablet);
}

/* --- creating and dropping -------------------------------------------------------------------- */

void sim_store_queue(struct sim_store *store, const struct sim_base_transaction *transaction)
{
    ASSERT(store->queue_count < SIM_QUEUE_MAX);
    store->queue[store->queue_count] = *transaction;
    store->queue[store->queue_count++].log_last = store->log.gathering_position;
}

void sim_store_create(struct sim_store *store,
                      uint64_t number,
                      uint64_t table,
                      uint64_t configuration,
                      const struct row_range *range,
                      bool replicated)
{
    struct applied_map map;
    uint64_t grave = sim_base_grave(&store->disk->base, number);
    if (sim_store_find_any(store, number) != NULL ||
        (grave != 0 && store->log.synced_position <= grave)) {
        return; /* asked for again */
    }
    for (uint32_t i = 0; i < store->queue_count; i++) {
        if (store->queue[i].purpose == SIM_BASE_CREATED && store->queue[i].tablet == number) {
            return; /* asked for again: it is on its way */
        }
    }
    struct sim_base_tablet *created = sim_base_tablet_create(number, table, configuration, range);
    created->replicated = replicated;
    arena_reset(&store->arena);
    ASSERT(applied_map_whole(&store->arena, 0, &map) == STATUS_OK);
    applied_map_encode(&map, &created->applied);
    sim_store_queue(store, &(struct sim_base_transaction){.purpose = SIM_BASE_CREATED,
                                                          .tablet = number,
                                                          .puts = {created},
                                                          .put_count = 1});
}

void sim_store_drop(struct sim_store *store, struct sim_tablet *tablet)
{
    sim_store_queue(store, &(struct sim_base_transaction){.purpose = SIM_BASE_DROPPED,
                                                          .tablet = tablet->tablet,
                                                          .removed = {tablet->tablet},
                                                          .log_from = sim_flush_log_from(tablet)});
    sim_store_remove(store, tablet);
}

static void on_created(struct sim_store *store, const struct sim_base_tablet *created)
{
    struct sim_tablet *tablet = sim_tablet_create(created->tablet, created->table,
                                                  created->configuration, &created->range);
    tablet->replicated = created->replicated;
    tablet->copy.alone = true;
    tablet->copy.leads = true;
    flush_progress_init(&tablet->progress, 0, false);
    sim_store_add(store, tablet);
    store->callbacks.on_created(store->callbacks.context, tablet);
}

enum status sim_store_room(const struct sim_store *store)
{
    struct sim *sim = store->sim;
    if (sim->nodes[store->node].full_until_ns <= sim->now_ns) {
        return sim_buggify(sim, SIM_SITE_NO_MEMORY) ? STATUS_RESOURCE_EXHAUSTED : STATUS_OK;
    }
    sim->statistics.refused++;
    return STATUS_NO_SPACE;
}

/* --- appending -------------------------------------------------------------------------------- */

uint64_t sim_store_next_clock(struct sim_store *store, int64_t wall_us)
{
    return hlc_next(&store->hlc, (uint64_t)wall_us);
}

/* The payload is in the record. */
static uint64_t append(struct sim_store *store,
                       struct sim_tablet *tablet,
                       struct sim_pending *record)
{
    struct error error = {.status = STATUS_OK};
    ASSERT(!tablet->splitting && !record->payload.failed);
    ASSERT(record->clock > tablet->prepared_clock);
    record->sequence = ++tablet->prepared;
    tablet->prepared_clock = record->clock;
    record->position = sim_log_append(&store->log, &(struct log_record){
                                                       .type = (uint8_t)record->type,
                                                       .tablet = tablet->tablet,
                                                       .configuration = tablet->configuration,
                                                       .sequence = record->sequence,
                                                       .stamp = {record->clock, 1, 0},
                                                       .payload = buffer_bytes(&record->payload),
                                                   });
    if (tablet->active_position == LOG_POSITION_NONE) {
        tablet->active_position = record->position;
    }
    if (tablet->last == NULL) {
        tablet->first = record;
    } else {
        tablet->last->next = record;
    }
    tablet->last = record;
    arena_reset(&store->arena);
    enum status status = sim_store_apply(store, &tablet->prepared_rows, record, NULL, &error);
    if (status != STATUS_OK) {
        sim_fail(store->sim, "a record does not decode: %s", error.text);
    }
    sim_collect_note(tablet, record);
    return record->sequence;
}

static struct sim_pending *pending_create(enum record_type type, uint64_t clock)
{
    struct sim_pending *record = memory_allocate_zeroed(1, sizeof *record);
    ASSERT(record != NULL);
    record->type = type;
    record->clock = clock;
    return record;
}

uint64_t sim_store_append_write(struct sim_store *store,
                                struct sim_tablet *tablet,
                                const struct record_write *write,
                                uint64_t clock)
{
    struct sim_pending *record = pending_create(RECORD_WRITE, clock);
    record_encode_write(write, &record->payload);
    uint64_t sequence = append(store, tablet, record);
    for (size_t i = 0; i < write->entry_count; i++) {
        const struct record_entry *entry = &write->entries[i];
        ASSERT(dedupe_record(tablet->dedupe, &entry->request, sequence, clock, entry->result) ==
               STATUS_OK);
    }
    return sequence;
}

uint64_t sim_store_append_payload(struct sim_store *store,
                                  struct sim_tablet *tablet,
                                  enum record_type type,
                                  struct bytes payload,
                                  uint64_t clock)
{
    struct sim_pending *record = pending_create(type, clock);
    buffer_append_bytes(&record->payload, payload);
    return append(store, tablet, record);
}

uint64_t sim_store_append_drop_range(struct sim_store *store,
                                     struct sim_tablet *tablet,
                                     const struct record_drop_range *drop,
                                     uint64_t clock)
{
    struct sim_pending *record = pending_create(RECORD_DROP_RANGE, clock);
    record_encode_drop_range(drop, &record->payload);
    uint64_t sequence = append(store, tablet, record);
    ASSERT(dedupe_record(tablet->dedupe, &drop->request, sequence, clock, BYTES_EMPTY) ==
           STATUS_OK);
    return sequence;
}

uint64_t sim_store_append_split(struct sim_store *store,
                                struct sim_tablet *tablet,
                                const struct record_split *split,
                                uint64_t clock)
{
    struct sim_pending *record = pending_create(RECORD_SPLIT, clock);
    record_encode_split(split, &record->payload);
    uint64_t sequence = append(store, tablet, record);
    tablet->splitting = true;
    return sequence;
}

/* --- applying --------------------------------------------------------------------------------- */

static bool must_apply(const struct applied_map *map,
                       enum replay_verdict verdict,
                       const struct sim_pending *record,
                       struct bytes row,
                       const struct change *change)
{
    return map == NULL || verdict == REPLAY_ALL ||
           (verdict == REPLAY_SOME && replay_plan_change(map, record->sequence, row, change));
}

static void apply_entry(struct sim_rows *rows,
                        const struct sim_pending *record,
                        const struct record_entry *entry,
                        const struct applied_map *map)
{
    enum replay_verdict verdict = map == NULL ? REPLAY_ALL
                                              : replay_plan_row(map, record->sequence, entry->row);
    for (size_t i = 0; i < entry->change_count; i++) {
        if (must_apply(map, verdict, record, entry->row, &entry->changes[i])) {
            sim_rows_apply(rows, record->sequence, entry->row, &entry->changes[i]);
        }
    }
}

enum status sim_store_apply_to(struct sim_store *store,
                               struct sim_tablet *tablet,
                               const struct sim_pending *record,
                               struct error *ret_error)
{
    struct record_write write = {0};
    if (record->type != RECORD_WRITE || !tablet->copy.learning.learning) {
        return sim_store_apply(store, &tablet->committed_rows, record, NULL, ret_error);
    }
    enum status status = record_decode_write(buffer_bytes(&record->payload), &store->arena, &write,
                                             ret_error);
    for (size_t i = 0; i < write.entry_count && status == STATUS_OK; i++) {
        if (!sim_learning_has(tablet, record->sequence, write.entries[i].row)) {
            apply_entry(&tablet->committed_rows, record, &write.entries[i], NULL);
        }
    }
    return status;
}

enum status sim_store_apply(struct sim_store *store,
                            struct sim_rows *rows,
                            const struct sim_pending *record,
                            const struct applied_map *map,
                            struct error *ret_error)
{
    struct bytes payload = buffer_bytes(&record->payload);
    struct record_write write = {0};
    struct record_drop_range drop;
    enum status status = STATUS_OK;

    if (record->type == RECORD_WRITE) {
        status = record_decode_write(payload, &store->arena, &write, ret_error);
        for (size_t i = 0; i < write.entry_count && status == STATUS_OK; i++) {
            apply_entry(rows, record, &write.entries[i], map);
        }
    } else if (record->type == RECORD_DROP_RANGE) {
        status = record_decode_drop_range(payload, &drop, ret_error);
        if (status == STATUS_OK) {
            sim_rows_delete_range(rows, record->sequence, &drop.range);
        }
    }
    return status;
}

/* --- committing ------------------------------------------------------------------------------- */

/* What a slice has is passed over. */
static enum status apply_committed(struct sim_store *store,
                                   struct sim_tablet *tablet,
                                   const struct sim_pending *record)
{
    struct error error = {.status = STATUS_OK};
    if (record->type == RECORD_DROP_RANGE && tablet->copy.learning.learning) {
        return STATUS_CORRUPT; /* its primary gives out none meanwhile */
    }
    arena_reset(&store->arena);
    if (sim_store_apply_to(store, tablet, record, &error) != STATUS_OK) {
        sim_fail(store->sim, "a logged record does not decode: %s", error.text);
    }
    return STATUS_OK;
}

enum status sim_store_commit_first(struct sim_store *store, struct sim_tablet *tablet)
{
    struct sim_pending *record = tablet->first;
    struct record_split split;
    struct error error = {.status = STATUS_OK};

    enum status status = apply_committed(store, tablet, record);
    if (status != STATUS_OK) {
        return status;
    }
    sim_collect_note(tablet, record);
    tablet->first = record->next;
    if (tablet->first == NULL) {
        tablet->last = NULL;
    }
    tablet->committed = record->sequence;
    tablet->clock = record->clock;
    if (tablet->replicated) {
        sim_store_record_requests(store, tablet, record);
    }
    dedupe_commit(tablet->dedupe, record->sequence);
    sim_flush_note_committed(store, tablet);
    if (tablet->replicated) {
        tablet->copy.committed_version = record->version;
        sim_copy_note_barrier(&tablet->copy, record);
        sim_copy_keep(store, tablet, record);
        return STATUS_OK;
    }
    if (record->type == RECORD_SPLIT) {
        ASSERT(record_decode_split(buffer_bytes(&record->payload), &split, &error) == STATUS_OK);
        sim_store_split(store, tablet, &split);
    }
    sim_pending_destroy(record);
    return STATUS_OK;
}

void sim_store_log_synced(struct sim_store *store)
{
    uint64_t synced = sim_log_synced(&store->log);
    for (uint32_t i = 0; i < store->tablet_count; i++) {
        struct sim_tablet *tablet = store->tablets[i];
        uint64_t before = tablet->committed;
        while (!tablet->replicated && tablet->first != NULL && tablet->first->position < synced) {
            if (tablet->first->type == RECORD_SPLIT && tablet->committed > before) {
                store->callbacks.on_committed(store->callbacks.context, tablet, tablet->committed);
                before = tablet->committed;
            }
            (void)sim_store_commit_first(store, tablet);
        }
        if (!tablet->hidden && tablet->committed > before) {
            store->callbacks.on_committed(store->callbacks.context, tablet, tablet->committed);
        }
    }
    sim_store_relearn_end(store, synced);
    sim_store_tell_synced(store, synced);
}

void sim_store_base_committed(struct sim_store *store)
{
    struct sim_base_transaction done = store->queue[0];

    ASSERT(store->committing && store->queue_count > 0);
    store->committing = false;
    store->queue_count--;
    memmove(&store->queue[0], &store->queue[1], store->queue_count * sizeof store->queue[0]);
    if (done.purpose == SIM_BASE_LEARNT) {
        sim_store_learnt(store, &done);
        return;
    }
    bool stored = sim_base_apply(&store->disk->base, &done);
    switch (done.purpose) {
    case SIM_BASE_CREATED:
        if (stored) {
            on_created(store, sim_base_find(&store->disk->base, done.tablet));
        }
        break;
    case SIM_BASE_DROPPED:
    case SIM_BASE_LEARNT:
        break;
    case SIM_BASE_MERGED:
        sim_store_merged(store, &done, stored);
        break;
    case SIM_BASE_FLUSH_ADVANCED:
    case SIM_BASE_FLUSH_FINISHED:
        sim_flush_done(store, &done);
        break;
    }
}

static void flush_wanted(struct sim_store *store)
{
    store->flush_wanted = false;
    for (uint32_t i = 0; i < store->tablet_count; i++) {
        if (store->tablets[i]->flush_wanted) {
            sim_flush_soon(store, store->tablets[i]);
        }
    }
}

void sim_store_want(struct sim_store *store, struct sim_effects *effects)
{
    if (store->flush_wanted) {
        flush_wanted(store);
    }
    if (sim_log_wants_write(&store->log)) {
        sim_effects_add(effects, &(struct sim_effect){.kind = SIM_EFFECT_LOG});
    }
    if (store->queue_count > 0 && !store->committing) {
        store->committing = true;
        sim_effects_add(effects, &(struct sim_effect){.kind = SIM_EFFECT_BASE});
    }
}

/* --- splitting -------------------------------------------------------------------------------- */

struct sim_tablet *sim_store_begin_child(struct sim_store *store,
                                         struct sim_tablet *parent,
                                         uint64_t number,
                                         const struct row_range *range,
                                         struct bytes dedupe)
{
    struct sim_tablet *child = sim_tablet_create(number, parent->table, parent->configuration + 1,
                                                 range);
    struct error error = {.status = STATUS_OK};
    sim_rows_copy(&child->committed_rows, &parent->committed_rows, range);
    sim_rows_copy(&child->prepared_rows, &parent->committed_rows, range);
    child->prepared = parent->committed;
    child->committed = parent->committed;
    child->prepared_clock = parent->prepared_clock;
    child->clock = parent->clock;
    child->horizons = parent->horizons;
    child->parent = parent->tablet;
    child->rotten = parent->rotten;
    child->cut = parent->cut;
    flush_progress_init(&child->progress, parent->committed, true);
    if (store->sim->planted != SIM_PLANTED_SPLIT_LOSES_DEDUPE &&
        dedupe_load(child->dedupe, dedupe, &error) != STATUS_OK) {
        sim_fail(store->sim, "exactly-once records do not load: %s", error.text);
    }
    dedupe_commit(child->dedupe, parent->committed);
    sim_store_add(store, child);
    return child;
}

void sim_store_split(struct sim_store *store,
                     struct sim_tablet *parent,
                     const struct record_split *split)
{
    struct buffer dedupe = BUFFER_INIT;
    const struct row_range left = {parent->range.start, split->key};
    const struct row_range right = {split->key, parent->range.end};

    ASSERT(parent->first == NULL && parent->committed == parent->prepared);
    dedupe_encode(parent->dedupe, &dedupe);
    parent->hidden = true;
    parent->split_sequence = parent->committed;
    parent->children[0] = split->left_tablet;
    parent->children[1] = split->right_tablet;
    struct sim_tablet *children[2] = {
        sim_store_begin_child(store, parent, split->left_tablet, &left, buffer_bytes(&dedupe)),
        sim_store_begin_child(store, parent, split->right_tablet, &right, buffer_bytes(&dedupe)),
    };
    buffer_deinit(&dedupe);
    store->sim->statistics.splits++;
    sim_flush_freeze(store, parent);
    if (store->callbacks.on_split != NULL) {
        store->callbacks.on_split(store->callbacks.context, parent, children[0], children[1]);
    }
}

struct bytes sim_tablet_middle(const struct sim_tablet *tablet)
{
    const struct sim_rows *rows = &tablet->committed_rows;
    if (rows->count < 2) {
        return BYTES_EMPTY;
    }
    return sim_row_key(&rows->rows[rows->count / 2]);
}

/* --- checking --------------------------------------------------------------------------------- */

void sim_store_check(struct sim_store *store)
{
    for (uint32_t i = 0; i < store->tablet_count; i++) {
        const struct sim_tablet *tablet = store->tablets[i];
        flush_progress_check(&tablet->progress);
        ASSERT(tablet->committed <= tablet->prepared);
        ASSERT(tablet->frozen_count == tablet->progress.frozen_count);
        if (tablet->committed == tablet->prepared && !tablet->hidden &&
            (!tablet->replicated || tablet->copy.leads) &&
            !sim_rows_equal(&tablet->committed_rows, &tablet->prepared_rows)) {
            sim_fail(store->sim, "tablet %llu: all is committed, yet prepared rows differ",
                     (unsigned long long)tablet->tablet);
        }
        for (uint32_t j = 0; j < i; j++) {
            const struct sim_tablet *other = store->tablets[j];
            struct row_range both;
            /* A child that is taught here may lie beside its parent's copy, an outsider's. */
            if (!tablet->replicated && !tablet->hidden && !other->hidden &&
                tablet->table == other->table &&
                row_range_intersect(&tablet->range, &other->range, &both)) {
                sim_fail(store->sim, "tablets %llu and %llu of one store overlap",
                         (unsigned long long)tablet->tablet, (unsigned long long)other->tablet);
            }
        }
    }
}
