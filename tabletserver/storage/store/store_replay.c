/*
 * Recovery, second half: what the log adds to the base.
 *
 * Of a tablet without a configuration everything replayed is committed: the log gave it out, so it is
 * whole and durable.  Of others (store_replay_replica.c) it is what later entries prove.  Memory stays
 * bounded: when replay fills it, memtables are flushed on the way, as in life.
 */
#include "tabletserver/storage/store/store_replay.h"
#include "common/base/assert.h"
#include "tabletserver/storage/copies/store_grave.h"
#include "tabletserver/storage/flush/store_flush.h"
#include "tabletserver/storage/record/replay_plan.h"
#include "tabletserver/storage/store/store_append.h"
#include "tabletserver/storage/store/store_internal.h"
#include "tabletserver/storage/store/store_split.h"

#define ARENA_BLOCK_BYTES 65536

struct replay {
    struct store_tablet *tablet;
    uint64_t sequence;
    struct stamp stamp;
    struct bytes payload;
    struct arena arena;
    struct applied_map map;
};

static enum status apply_changes(struct replay *replay,
                                 const struct record_entry *entry,
                                 struct stamp stamp,
                                 size_t first,
                                 size_t count)
{
    struct memtable *memtable = replay->tablet->layers[0]->memtable;
    enum status status = memtable_reserve(memtable, entry->row, entry->changes + first, count);
    if (status == STATUS_OK) {
        stamp.index += (uint32_t)first;
        memtable_apply(memtable, replay->sequence, stamp, entry->row, entry->changes + first,
                       count);
    }
    return status;
}

static enum status replay_entry(struct replay *replay,
                                const struct record_entry *entry,
                                struct stamp stamp)
{
    uint64_t sequence = replay->sequence;
    enum status status = STATUS_OK;
    if (entry->change_count > 0) {
        switch (replay_plan_row(&replay->map, sequence, entry->row)) {
        case REPLAY_NONE:
            break;
        case REPLAY_ALL:
            status = apply_changes(replay, entry, stamp, 0, entry->change_count);
            break;
        case REPLAY_SOME:
            for (size_t i = 0; i < entry->change_count && status == STATUS_OK; i++) {
                if (replay_plan_change(&replay->map, sequence, entry->row, &entry->changes[i])) {
                    status = apply_changes(replay, entry, stamp, i, 1);
                }
            }
            break;
        }
    }
    if (status == STATUS_OK && entry->request.client != 0) {
        status = dedupe_record(replay->tablet->dedupe, &entry->request, sequence, stamp.clock,
                               entry->result);
    }
    return status;
}

static enum status replay_entries(struct replay *replay,
                                  const struct record_write *write,
                                  struct error *ret_error)
{
    struct stamp stamp = replay->stamp;
    enum status status = applied_map_decode(buffer_bytes(&replay->tablet->applied), &replay->arena,
                                            &replay->map, ret_error);
    for (size_t i = 0; i < write->entry_count && status == STATUS_OK; i++) {
        status = replay_entry(replay, &write->entries[i], stamp);
        stamp.index += (uint32_t)write->entries[i].change_count;
    }
    return status;
}

static enum status replay_write(struct replay *replay, struct error *ret_error)
{
    struct record_write write;
    enum status status = record_decode_write(replay->payload, &replay->arena, &write, ret_error);
    return status == STATUS_OK ? replay_entries(replay, &write, ret_error) : status;
}

enum status store_replay_write(struct store_tablet *tablet,
                               const struct store_entry *entry,
                               const struct record_write *write)
{
    struct replay replay = {.tablet = tablet, .sequence = entry->sequence, .stamp = entry->stamp};
    arena_init(&replay.arena, ARENA_BLOCK_BYTES, SIZE_MAX);
    enum status status = replay_entries(&replay, write, NULL);
    arena_deinit(&replay.arena);
    return status;
}

/* Flush while there is anything to flush and `more` says so.  A tablet whose flush meets damage waits, as it does in
 * life, and the others have their turn: STATUS_CORRUPT where that is not enough. */
static enum status flush_while(struct store *store,
                               bool (*more)(struct store *store, void *with),
                               void *with)
{
    bool worked = true;
    while (worked && more(store, with)) {
        enum status status = store_flush_step(store, &worked);
        bool is_stuck = status == STATUS_CORRUPT && worked;
        if (status != STATUS_OK && !is_stuck) {
            return status;
        }
        store->tablet_failed = store->tablet_failed ||
                               is_stuck; /* tried again when all is replayed */
        store_take_events(store);
    }
    return store->tablet_failed && more(store, with) ? STATUS_CORRUPT : STATUS_OK;
}

static bool has_all_layers(struct store *store, void *with)
{
    (void)store;
    const struct store_tablet *tablet = with;
    return tablet->layer_count >= STORE_LAYERS_MAX;
}

/* A layer to freeze, and one that ends it. */
static bool has_no_room_to_split(struct store *store, void *with)
{
    const struct store_tablet *tablet = with;
    (void)store;
    return tablet->layer_count >= STORE_LAYERS_MAX - 1 ||
           tablet->lineage_count >= STORE_LINEAGE_MAX;
}

static bool is_pressed(struct store *store, void *with)
{
    (void)with;
    return store_memory_presses(store);
}

enum status store_replay_free_layer(struct store_tablet *tablet)
{
    return flush_while(tablet->store, has_all_layers, tablet);
}

static enum status freeze_surely(struct store_tablet *tablet)
{
    enum status status = store_replay_free_layer(tablet);
    return status == STATUS_OK ? store_freeze(tablet) : status;
}

static bool is_behind(struct store *store, void *with)
{
    (void)store;
    const struct store_tablet *tablet = with;
    return tablet->flushed_sequence < tablet->hold_until;
}

/*
 * Entries of before and after must not have the same numbers, or those after would be taken for what the base has
 * already.  Nothing new is taken before it is all in the base: the log of a next life has nothing to say of what lies
 * below, and no gap.
 */
enum status store_replay_lift(struct store_tablet *tablet, struct error *ret_error)
{
    struct store *store = tablet->store;
    uint64_t clock = atomic_load(&tablet->clock);
    ASSERT(tablet->window.count == 0);
    log_marks_deinit(&tablet->marks);
    tablet->window_sequence = 0;
    tablet->window_version = 0;
    store_layer_hold_log(tablet->layers[0], store->log_position);
    store_publish_prepared(tablet, tablet->hold_until,
                           clock > store->meta_clock ? clock : store->meta_clock);
    tablet->synced = tablet->hold_until;
    enum status status = store_advance(tablet, tablet->hold_until) ? freeze_surely(tablet)
                                                                   : STATUS_NO_MEMORY;
    if (status == STATUS_OK) {
        status = flush_while(store, is_behind, tablet);
    }
    if (status == STATUS_OK && is_behind(store, tablet)) {
        status = STATUS_INTERNAL;
    }
    return status == STATUS_OK
               ? status
               : error_set(ret_error, status,
                           "%s: tablet %llu cannot be flushed behind the cut: %s", store->folder,
                           (unsigned long long)tablet->descriptor.tablet, status_text(status));
}

static enum status replay_drop_range(struct replay *replay, struct error *ret_error)
{
    struct store_tablet *tablet = replay->tablet;
    struct record_drop_range drop;
    enum status status = record_decode_drop_range(replay->payload, &drop, ret_error);
    if (status == STATUS_OK) {
        status = freeze_surely(tablet);
    }
    if (status != STATUS_OK) {
        return status;
    }
    struct range_delete delete = {drop.range, replay->stamp, replay->sequence};
    struct store_range_deletes *more = store_range_deletes_create(
        tablet->range_deletes->deletes, tablet->range_deletes->count, NULL, 0, &delete);
    if (more == NULL) {
        return STATUS_NO_MEMORY;
    }
    store_tablet_publish_range_deletes(tablet, more);
    return drop.request.client == 0 ? STATUS_OK
                                    : dedupe_record(tablet->dedupe, &drop.request, replay->sequence,
                                                    replay->stamp.clock, BYTES_EMPTY);
}

static enum status replay_horizon(struct replay *replay, struct error *ret_error)
{
    struct record_gc_horizon decoded;
    enum status status = record_decode_gc_horizon(replay->payload, &decoded, ret_error);
    if (status != STATUS_OK) {
        return status;
    }
    struct horizon horizon = {decoded.family, decoded.rule_version, decoded.horizon_us,
                              replay->sequence};
    return store_tablet_raise_horizon(replay->tablet, &horizon) ? STATUS_OK : STATUS_NO_MEMORY;
}

enum status store_replay_make_room(struct store_tablet *tablet)
{
    return flush_while(tablet->store, has_no_room_to_split, tablet);
}

static enum status replay_split(struct replay *replay, struct error *ret_error)
{
    struct record_split split;
    enum status status = record_decode_split(replay->payload, &split, ret_error);
    if (status == STATUS_OK && !row_range_contains(&replay->tablet->descriptor.range, split.key)) {
        status = error_set(ret_error, STATUS_CORRUPT, "split at a key outside the tablet");
    }
    if (status == STATUS_OK) {
        status = store_replay_make_room(replay->tablet);
    }
    return status == STATUS_OK
               ? store_split_prepare(replay->tablet, &split, replay->sequence, replay->sequence)
               : status;
}

static enum status replay_record(struct replay *replay, uint8_t type, struct error *ret_error)
{
    switch ((enum record_type)type) {
    case RECORD_WRITE:
        return replay_write(replay, ret_error);
    case RECORD_DROP_RANGE:
        return replay_drop_range(replay, ret_error);
    case RECORD_SPLIT:
        return replay_split(replay, ret_error);
    case RECORD_GC_HORIZON:
        return replay_horizon(replay, ret_error);
    case RECORD_SPLIT_ABORTED:
    case RECORD_FROZEN:
    case RECORD_THAWED:
    case RECORD_ABSORB:
    case RECORD_ABSORB_ABORTED:
        return error_set(ret_error, STATUS_CORRUPT,
                         "log record of type %u in a tablet without a configuration", type);
    case RECORD_CONFIGURATION:
    case RECORD_CONVERSION:
        break;
    }
    return error_set(ret_error, STATUS_VERSION,
                     "log record of type %u was written by a newer version", type);
}

/* Entries that damage keeps from being flushed stay in memory, as they did before the process ended. */
enum status store_replay_relieve(struct store_tablet *tablet)
{
    struct store *store = tablet->store;
    enum status status = STATUS_OK;
    if (store_is_full(tablet) && store_tablet_prepared(tablet) >= tablet->hold_until) {
        status = freeze_surely(tablet);
    }
    if ((status == STATUS_OK || status == STATUS_CORRUPT) && store_memory_presses(store)) {
        store_freeze_full_tablets(store);
        status = flush_while(store, is_pressed, NULL);
    }
    return status == STATUS_CORRUPT ? STATUS_OK : status;
}

enum status store_replay_explain_gap(uint64_t expected, uint64_t found, struct error *ret_error)
{
    return error_set(ret_error, STATUS_CORRUPT,
                     "the log goes on with sequence %llu where %llu is due; records are missing",
                     (unsigned long long)found, (unsigned long long)expected);
}

/*
 * The record is in memory: it counts as appended, synced and committed.
 *
 * What a flush was in the middle of when the process died comes back as ONE memtable: the base has
 * cells of its whole length, so deletes of all of it must be applied in one pass, or a delete that
 * came with a second one would find cells of the first in chunks that look younger than itself.  It
 * fitted into memory before, and no range delete or split lies inside it, for those end a memtable.
 */
static enum status note_replayed(struct store_tablet *tablet,
                                 const struct log_record *record,
                                 uint64_t position)
{
    struct store_layer *layer = tablet->layers[0];
    store_layer_hold_log(layer, position);
    store_count_memory(tablet->store, layer);
    store_publish_prepared(tablet, record->sequence, record->stamp.clock);
    tablet->synced = record->sequence;
    tablet->store->recovered_records++;
    if (!store_advance(tablet, record->sequence)) {
        return STATUS_NO_MEMORY;
    }
    return record->type == RECORD_SPLIT ? store_split_apply(tablet) : store_replay_relieve(tablet);
}

static enum status replay_one(struct store_tablet *tablet,
                              const struct log_record *record,
                              uint64_t position,
                              struct error *ret_error)
{
    uint64_t expected = store_tablet_prepared(tablet) + 1;
    if (record->sequence != expected) {
        return store_replay_explain_gap(expected, record->sequence, ret_error);
    }
    struct replay replay = {.tablet = tablet,
                            .sequence = record->sequence,
                            .stamp = record->stamp,
                            .payload = record->payload};
    arena_init(&replay.arena, ARENA_BLOCK_BYTES, SIZE_MAX);
    enum status status = replay_record(&replay, record->type, ret_error);
    arena_deinit(&replay.arena);
    return status == STATUS_OK ? note_replayed(tablet, record, position) : status;
}
enum status store_on_replay(void *context,
                            const struct log_record *record,
                            uint64_t position,
                            struct error *ret_error)
{
    struct store *store = context;
    store->replayed = true;
    if (store->meta_missing) {
        return error_set(ret_error, STATUS_CORRUPT,
                         "%s: the log has records but data.mdb knows nothing of this store: it was "
                         "lost or replaced. Restore data.mdb, or re-learn the store from replicas",
                         store->folder);
    }
    store->log_position = position;
    hlc_observe(&store->hlc, record->stamp.clock);
    struct store_tablet *tablet = store_tablet_find(store, record->tablet);
    bool own = record->type >= LOG_RECORD_TYPE_OWN;
    /* A tablet that nobody knows was dropped, or split and is wholly in the base. */
    if (tablet == NULL || store_is_buried(store, record->tablet, position) ||
        (!own && record->sequence <= tablet->flushed_sequence)) {
        return STATUS_OK;
    }
    if (!own && tablet->half_taught) {
        return STATUS_OK; /* what they follow on is not whole: it will be taught anew */
    }
    bool of_replica = own || tablet->configuration.members.version != 0;
    enum status status = of_replica ? store_replay_of_replica(tablet, record, position, ret_error)
                                    : replay_one(tablet, record, position, ret_error);
    if (status != STATUS_OK) {
        if (ret_error->status != status || ret_error->text[0] == '\0') {
            (void)error_set(ret_error, status, "%s", status_text(status));
        }
        return error_prefix(ret_error, "%s: tablet %llu, sequence %llu", store->folder,
                            (unsigned long long)record->tablet,
                            (unsigned long long)record->sequence);
    }
    return STATUS_OK;
}
