#include <string.h>

#include "common/base/assert.h"
#include "common/base/memory.h"
#include "tests/sim/store/sim_store.h"

/*
 * Recovery: the base first, then what the log adds to it, by production's rules: a record of a
 * tablet that nobody knows is passed over, sequences go on without a hole, the applied map decides
 * row by row, and exactly-once records are taken whatever the map says.
 */

static const struct row_range all_rows = {{NULL, 0}, {NULL, 0}};

/* Planted: the first register is gone, and counters are not.  Not where there are copies: they would differ. */
static void lose_a_register_row(struct sim_tablet *tablet, const struct sim_base_tablet *from)
{
    const struct sim_rows *rows = &tablet->committed_rows;
    uint32_t at = sim_rows_seek(rows, bytes_of_text("r"));
    if (from->replicated || at == rows->count || rows->rows[at].key[0] != 'r') {
        return;
    }
    uint8_t key[SIM_KEY_BYTES_MAX + 1] = {0}; /* with its 0 byte it is the key after it */
    size_t key_bytes = rows->rows[at].key_bytes;
    ASSERT(key_bytes <= SIM_KEY_BYTES_MAX);
    memcpy(key, rows->rows[at].key, key_bytes);
    const struct row_range row = {bytes_of(key, key_bytes), bytes_of(key, key_bytes + 1)};
    sim_rows_delete_range(&tablet->committed_rows, UINT64_MAX, &row);
}

static void load_copy(struct sim_tablet *tablet, const struct sim_base_tablet *from)
{
    struct sim_copy *copy = &tablet->copy;
    tablet->replicated = true;
    copy->held = from->held;
    copy->alone = sim_copy_is_alone(tablet);
    copy->shared = !copy->alone;
    copy->proven = from->proven;
    if (from->barrier_sequence != 0) {
        sim_copy_push_barrier(copy, &(struct store_entry){.sequence = from->barrier_sequence,
                                                          .version = from->barrier_version,
                                                          .type = from->barrier_type,
                                                          .payload = buffer_bytes(&from->barrier)});
    }
    if (from->half_taught) { /* an empty one, whatever is there */
        copy->learning.learning = true;
        copy->proven = 0;
        tablet->prepared = 0;
        tablet->committed = 0;
        tablet->horizons.count = 0;
        sim_rows_deinit(&tablet->committed_rows);
        dedupe_destroy(tablet->dedupe);
        const struct dedupe_limits limits = {64, 100000, 1 << 24};
        ASSERT(dedupe_create(&limits, &tablet->dedupe) == STATUS_OK);
        flush_progress_init(&tablet->progress, 0, false);
    }
}

static struct sim_tablet *load_tablet(struct sim_store *store, const struct sim_base_tablet *from)
{
    struct sim_tablet *tablet = sim_tablet_create(from->tablet, from->table, from->configuration,
                                                  &from->range);
    struct error error = {.status = STATUS_OK};
    sim_rows_copy(&tablet->committed_rows, &from->rows, &all_rows);
    if (store->sim->planted == SIM_PLANTED_LOSES_A_REGISTER_ROW) {
        lose_a_register_row(tablet, from);
    }
    tablet->prepared = from->flushed_sequence;
    tablet->committed = from->flushed_sequence;
    tablet->prepared_clock = from->clock;
    tablet->clock = from->clock;
    tablet->horizons = from->horizons;
    tablet->rotten = from->rotten;
    tablet->cut = from->cut;
    hlc_observe(&store->hlc, from->clock);
    flush_progress_init(&tablet->progress, from->flushed_sequence, false);
    if (from->dedupe.size_bytes > 0 && store->sim->planted != SIM_PLANTED_FORGET_DEDUPE &&
        dedupe_load(tablet->dedupe, buffer_bytes(&from->dedupe), &error) != STATUS_OK) {
        sim_fail(store->sim, "stored exactly-once records do not load: %s", error.text);
    }
    dedupe_commit(tablet->dedupe, from->flushed_sequence);
    sim_store_add(store, tablet);
    if (from->replicated) {
        load_copy(tablet, from);
    }
    return tablet;
}

static void begin_to_prepare(struct sim_tablet *tablet)
{
    sim_rows_deinit(&tablet->prepared_rows);
    sim_rows_copy(&tablet->prepared_rows, &tablet->committed_rows, &all_rows);
}

struct sim_tablet *sim_store_load(struct sim_store *store, const struct sim_base_tablet *from)
{
    struct sim_tablet *tablet = load_tablet(store, from);
    begin_to_prepare(tablet);
    tablet->copy.leads = tablet->copy.alone;
    tablet->copy.synced = tablet->prepared;
    return tablet;
}

void sim_store_record_requests(struct sim_store *store,
                               struct sim_tablet *tablet,
                               const struct sim_pending *record)
{
    struct bytes payload = buffer_bytes(&record->payload);
    struct record_write write = {0};
    struct record_drop_range drop;
    enum status status = STATUS_OK;

    if (store->sim->planted == SIM_PLANTED_FORGET_DEDUPE) {
        return;
    }
    arena_reset(&store->arena);
    if (record->type == RECORD_WRITE) {
        ASSERT(record_decode_write(payload, &store->arena, &write, NULL) == STATUS_OK);
    } else if (record->type == RECORD_DROP_RANGE) {
        ASSERT(record_decode_drop_range(payload, &drop, NULL) == STATUS_OK);
        status = dedupe_record(tablet->dedupe, &drop.request, record->sequence, record->clock,
                               BYTES_EMPTY);
    }
    for (size_t i = 0; i < write.entry_count && status == STATUS_OK; i++) {
        status = dedupe_record(tablet->dedupe, &write.entries[i].request, record->sequence,
                               record->clock, write.entries[i].result);
    }
    ASSERT(status == STATUS_OK);
}

/* The map as of the last flush: it stands in the base under the tablet's own name, or the tablet
 * is a child that the base does not know, and all of its log is new. */
enum status sim_replay_map(struct sim_store *store,
                           const struct sim_tablet *tablet,
                           struct applied_map *ret_map,
                           struct error *ret_error)
{
    const struct sim_base_tablet *base = sim_base_find(&store->disk->base, tablet->tablet);
    if (base == NULL || store->sim->planted == SIM_PLANTED_REPLAY_IGNORES_MAP) {
        return applied_map_whole(&store->arena, 0, ret_map);
    }
    return applied_map_decode(buffer_bytes(&base->applied), &store->arena, ret_map, ret_error);
}

static enum status replay_one(struct sim_store *store,
                              struct sim_tablet *tablet,
                              struct sim_pending *record,
                              struct error *ret_error)
{
    struct applied_map map;
    struct record_split split;

    if (record->sequence != tablet->prepared + 1) {
        return error_set(ret_error, STATUS_CORRUPT, "tablet %llu: sequence %llu where %llu is due",
                         (unsigned long long)tablet->tablet, (unsigned long long)record->sequence,
                         (unsigned long long)tablet->prepared + 1);
    }
    arena_reset(&store->arena);
    enum status status = sim_replay_map(store, tablet, &map, ret_error);
    if (status == STATUS_OK) {
        status = sim_store_apply(store, &tablet->committed_rows, record, &map, ret_error);
    }
    if (status != STATUS_OK) {
        return status;
    }
    sim_store_record_requests(store, tablet, record);
    sim_collect_note(tablet, record);
    if (tablet->active_position == LOG_POSITION_NONE) {
        tablet->active_position = record->position;
    }
    tablet->prepared = record->sequence;
    tablet->committed = record->sequence;
    tablet->prepared_clock = record->clock;
    tablet->clock = record->clock;
    dedupe_commit(tablet->dedupe, record->sequence);
    sim_flush_note_committed(store, tablet);
    if (record->type == RECORD_SPLIT) {
        status = record_decode_split(buffer_bytes(&record->payload), &split, ret_error);
        if (status == STATUS_OK) {
            sim_store_split(store, tablet, &split);
        }
    }
    return status;
}

enum status sim_replay_record(struct sim_store *store,
                              const struct log_record *from,
                              uint64_t position,
                              struct error *ret_error)
{
    struct sim_tablet *tablet = sim_store_find_any(store, from->tablet);
    struct sim_pending record = {.position = position,
                                 .sequence = from->sequence,
                                 .clock = from->stamp.clock,
                                 .type = (enum record_type)from->type};

    hlc_observe(&store->hlc, from->stamp.clock);
    if (store->sim->planted == SIM_PLANTED_REPLAY_DROPS_LAST &&
        ++store->replay_seen == store->replay_last) {
        return STATUS_OK;
    }
    if (position <= sim_base_grave(&store->disk->base, from->tablet)) {
        return STATUS_OK; /* of a life that is over */
    }
    if (tablet != NULL && tablet->replicated) {
        return sim_replay_copy(store, tablet, from, position, ret_error);
    }
    if (tablet == NULL || from->sequence <= tablet->committed) {
        return STATUS_OK; /* dropped, or wholly in the base */
    }
    buffer_append_bytes(&record.payload, from->payload);
    enum status status = replay_one(store, tablet, &record, ret_error);
    buffer_deinit(&record.payload);
    store->sim->statistics.replays++;
    return status;
}

static enum status on_replay(void *context,
                             const struct log_record *record,
                             uint64_t position,
                             struct error *ret_error)
{
    return sim_replay_record(context, record, position, ret_error);
}

/* Planted: how many records there are, to pass over the last. */
static enum status count_one(void *context,
                             const struct log_record *record,
                             uint64_t position,
                             struct error *ret_error)
{
    (void)record;
    (void)position;
    (void)ret_error;
    ++*(uint64_t *)context;
    return STATUS_OK;
}

static void count_records(struct sim_store *store)
{
    struct sim_log log;
    struct error error = {.status = STATUS_OK};
    struct sim_log_open_options options = {&store->replay_last, count_one, true};
    if (sim_log_open(&log, &store->disk->log, &options, &error) != STATUS_OK) {
        sim_fail(store->sim, "the log does not read back: %s", error.text);
    }
    sim_log_close(&log);
}

enum status sim_store_open(struct sim_store *store,
                           struct sim *sim,
                           uint32_t node,
                           uint32_t index,
                           struct sim_store_disk *disk,
                           const struct sim_store_callbacks *callbacks,
                           struct error *ret_error)
{
    *store = (struct sim_store){.sim = sim, .node = node, .index = index, .disk = disk};
    arena_init(&store->arena, 4096, SIZE_MAX);
    arena_init(&store->collection.arena, 1024, SIZE_MAX);
    for (uint32_t i = 0; i < disk->base.tablet_count; i++) {
        (void)load_tablet(store, disk->base.tablets[i]);
    }
    if (sim->planted == SIM_PLANTED_REPLAY_DROPS_LAST) {
        count_records(store);
    }
    struct sim_log_open_options options = {store, on_replay,
                                           sim->planted == SIM_PLANTED_NO_SECURE_END};
    enum status status = sim_store_open_log(store, &options, ret_error);
    sim_base_cut_graves(&disk->base, store->log.gathering_position - 1);
    if (status == STATUS_OK) {
        status = sim_replay_copies_end(store, ret_error);
    }
    store->callbacks = *callbacks;
    for (uint32_t i = 0; i < store->tablet_count; i++) {
        begin_to_prepare(store->tablets[i]);
    }
    if (status == STATUS_OK) {
        sim_store_relearn_mark(store);
    }
    return status;
}
