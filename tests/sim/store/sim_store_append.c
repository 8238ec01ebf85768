/* What is given out: into the log, and applied to the rows that are prepared; and to any others. */
#include "tests/sim/store/sim_store.h"

#include "common/base/assert.h"
#include "common/base/memory.h"
#include "tabletserver/storage/record/replay_plan.h"

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
                        uint32_t first_index,
                        const struct applied_map *map)
{
    enum replay_verdict verdict = map == NULL ? REPLAY_ALL
                                              : replay_plan_row(map, record->sequence, entry->row);
    for (size_t i = 0; i < entry->change_count; i++) {
        if (must_apply(map, verdict, record, entry->row, &entry->changes[i])) {
            sim_rows_apply(rows, record->sequence, first_index + (uint32_t)i, entry->row,
                           &entry->changes[i]);
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
    uint32_t index = 0;
    for (size_t i = 0; i < write.entry_count && status == STATUS_OK; i++) {
        if (!sim_learning_has(tablet, record->sequence, write.entries[i].row)) {
            apply_entry(&tablet->committed_rows, record, &write.entries[i], index, NULL);
        }
        index += (uint32_t)write.entries[i].change_count;
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
    uint32_t index = 0;

    if (record->type == RECORD_WRITE) {
        status = record_decode_write(payload, &store->arena, &write, ret_error);
        for (size_t i = 0; i < write.entry_count && status == STATUS_OK; i++) {
            apply_entry(rows, record, &write.entries[i], index, map);
            index += (uint32_t)write.entries[i].change_count;
        }
    } else if (record->type == RECORD_DROP_RANGE) {
        status = record_decode_drop_range(payload, &drop, ret_error);
        if (status == STATUS_OK) {
            sim_rows_delete_range(rows, record->sequence, &drop.range);
        }
    }
    return status;
}
