/*
 * Recovery, first half: what the base knows.  The second half, what the log adds, is
 * store_replay.c.
 */
#include "common/base/assert.h"
#include "common/base/checksum.h"
#include "common/base/endian.h"
#include "tabletserver/storage/copies/store_copies.h"
#include "tabletserver/storage/copies/store_grave.h"
#include "tabletserver/storage/copies/store_relearn.h"
#include "tabletserver/storage/flush/store_flush.h"
#include "tabletserver/storage/store/store_append.h"
#include "tabletserver/storage/store/store_internal.h"
#include "tabletserver/storage/store/store_replay.h"
#include "tabletserver/storage/upkeep/store_upkeep.h"

#define ARENA_BLOCK_BYTES 65536
#define SEAL_BYTES        8

static enum status load_dedupe(struct store_tablet *tablet,
                               struct base_snapshot *snapshot,
                               struct error *ret_error)
{
    struct buffer image = BUFFER_INIT;
    enum status status = STATUS_OK;
    for (uint32_t i = 0; i < tablet->dedupe_piece_count && status == STATUS_OK; i++) {
        struct store_meta_key key = store_meta_key(STORE_META_DEDUPE, tablet->descriptor.tablet, i);
        struct bytes value = BYTES_EMPTY;
        bool found = false;
        status = base_meta_get(snapshot, store_meta_key_bytes(&key), &value, &found);
        if (status != STATUS_OK) {
            break;
        }
        size_t body = value.size_bytes >= SEAL_BYTES ? value.size_bytes - SEAL_BYTES : 0;
        if (!found || body == 0 ||
            checksum64(value.data, body, store_meta_seed(&key)) != load_le64(value.data + body)) {
            status = error_set(ret_error, STATUS_CORRUPT,
                               "exactly-once records of tablet %llu: piece %u is missing or bad",
                               (unsigned long long)tablet->descriptor.tablet, i);
            break;
        }
        buffer_append(&image, value.data, body);
    }
    if (status == STATUS_OK && image.failed) {
        status = STATUS_NO_MEMORY;
    }
    if (status == STATUS_OK && tablet->dedupe_piece_count > 0) {
        status = dedupe_load(tablet->dedupe, buffer_bytes(&image), ret_error);
    }
    buffer_deinit(&image);
    return status;
}

static enum status load_applied(struct store_tablet *tablet,
                                struct base_snapshot *snapshot,
                                struct arena *arena,
                                struct error *ret_error)
{
    struct store_meta_key key = store_meta_key(STORE_META_APPLIED, tablet->descriptor.tablet, 0);
    struct bytes image = BYTES_EMPTY;
    bool found = false;
    enum status status = base_meta_get(snapshot, store_meta_key_bytes(&key), &image, &found);
    if (status != STATUS_OK) {
        return status;
    }
    if (!found) {
        return error_set(ret_error, STATUS_CORRUPT, "tablet %llu has no applied map",
                         (unsigned long long)tablet->descriptor.tablet);
    }
    struct applied_map map;
    status = applied_map_decode(image, arena, &map, ret_error);
    if (status != STATUS_OK) {
        return status;
    }
    tablet->applied_whole = map.count == 1;
    tablet->hold_until = tablet->half_taught ? 0 : applied_map_highest(&map);
    tablet->applied_whole = tablet->applied_whole && !tablet->half_taught;
    buffer_append_bytes(&tablet->applied, image);
    return tablet->applied.failed ? STATUS_NO_MEMORY : STATUS_OK;
}

static enum status fill(struct store_tablet *tablet, const struct store_meta_tablet *meta)
{
    struct store_pieces *pieces = store_pieces_create(meta->pieces, meta->piece_count, NULL);
    struct store_range_deletes *deletes = store_range_deletes_create(
        meta->range_deletes, meta->range_delete_count, NULL, 0, NULL);
    bool barred = meta->barrier.sequence != 0;
    struct store_barrier *barrier = barred ? store_barrier_create(&meta->barrier) : NULL;
    if (pieces == NULL || deletes == NULL || (barred && barrier == NULL)) {
        store_pieces_unref(pieces);
        store_range_deletes_unref(deletes);
        store_barriers_clear(&barrier);
        return STATUS_NO_MEMORY;
    }
    tablet->barriers = barrier;
    store_pieces_unref(tablet->pieces);
    tablet->pieces = pieces;
    store_range_deletes_unref(tablet->range_deletes);
    tablet->range_deletes = deletes;
    for (uint32_t i = 0; i < meta->horizon_count; i++) {
        if (!store_tablet_raise_horizon(tablet, &meta->horizons[i])) {
            return STATUS_NO_MEMORY;
        }
    }
    tablet->half_taught = meta->half_taught;
    tablet->learn.begun = meta->half_taught;
    uint64_t sequence = meta->half_taught ? 0 : meta->sequence;
    atomic_store(&tablet->prepared, sequence);
    atomic_store(&tablet->committed, sequence);
    atomic_store(&tablet->clock, meta->clock);
    atomic_store(&tablet->row_estimate, meta->row_estimate);
    flush_progress_init(&tablet->progress, sequence, false);
    tablet->layers[0]->after_sequence = sequence;
    tablet->synced = sequence;
    store_set_configuration(tablet, &meta->configuration);
    tablet->durable = meta->configuration;
    tablet->leads = meta->configuration.members.version == 0; /* the others: when all is replayed */
    tablet->flushed_sequence = sequence;
    atomic_store(&tablet->flushed_clock, meta->clock);
    tablet->dedupe_piece_count = meta->dedupe_piece_count;
    tablet->estimate_due = true;
    tablet->sweep.due = true;
    hlc_observe(&tablet->store->hlc, meta->clock);
    return STATUS_OK;
}

static enum status load_tablet(struct store *store,
                               struct base_snapshot *snapshot,
                               uint64_t number,
                               struct bytes value,
                               struct error *ret_error)
{
    struct arena arena;
    struct store_meta_tablet meta;
    struct store_tablet *tablet = NULL;
    arena_init(&arena, ARENA_BLOCK_BYTES, SIZE_MAX);
    enum status status = store_meta_decode_tablet(number, value, &arena, &meta, ret_error);
    if (status == STATUS_OK) {
        status = store_tablets_reserve(store, 1);
    }
    if (status == STATUS_OK) {
        status = store_tablet_allocate(store, &meta.descriptor, &tablet);
    }
    if (status == STATUS_OK) {
        status = fill(tablet, &meta);
    }
    if (status == STATUS_OK) {
        status = load_applied(tablet, snapshot, &arena, ret_error);
    }
    if (status == STATUS_OK && !tablet->half_taught) {
        status = load_dedupe(tablet, snapshot, ret_error);
    }
    arena_deinit(&arena);
    if (status != STATUS_OK) {
        if (tablet != NULL) {
            store_tablet_unref(tablet);
        }
        return status;
    }
    store_tablets_add(store, tablet);
    return STATUS_OK;
}

static enum status load_erasure(struct store *store,
                                struct base_snapshot *snapshot,
                                uint64_t number,
                                struct bytes value,
                                struct error *ret_error)
{
    (void)snapshot;
    struct store_meta_erasure what;
    enum status status = store_meta_decode_erasure(number, value, &what, ret_error);
    if (status != STATUS_OK) {
        return status;
    }
    struct store_erasure *erasure = store_erasure_create(number, &what);
    if (erasure == NULL) {
        return STATUS_NO_MEMORY;
    }
    store_erasures_add(store, erasure);
    return STATUS_OK;
}

static enum status load_grave(struct store *store,
                              struct base_snapshot *snapshot,
                              uint64_t number,
                              struct bytes value,
                              struct error *ret_error)
{
    uint64_t position = 0;
    (void)snapshot;
    enum status status = store_meta_decode_grave(number, value, &position, ret_error);
    return status == STATUS_OK ? store_add_grave(store, number, position) : status;
}

typedef enum status (*load_function)(struct store *store,
                                     struct base_snapshot *snapshot,
                                     uint64_t number,
                                     struct bytes value,
                                     struct error *ret_error);

/* All records of one kind, in the order of their numbers. */
static enum status load_all(struct store *store,
                            struct base_snapshot *snapshot,
                            enum store_meta_kind kind,
                            load_function load,
                            struct error *ret_error)
{
    uint8_t prefix = (uint8_t)kind;
    struct store_meta_key from = {.data = {prefix}, .size_bytes = 1};
    for (;;) {
        struct bytes key = BYTES_EMPTY;
        struct bytes value = BYTES_EMPTY;
        bool found = false;
        uint64_t number = 0;
        enum status status = base_meta_seek(snapshot, bytes_of(&prefix, 1),
                                            store_meta_key_bytes(&from), &key, &value, &found);
        if (status != STATUS_OK || !found) {
            return status;
        }
        if (!store_meta_key_number(key, kind, &number)) {
            return error_set(ret_error, STATUS_CORRUPT, "a metadata key %c is malformed", prefix);
        }
        status = load(store, snapshot, number, value, ret_error);
        if (status != STATUS_OK || number == UINT64_MAX) {
            return status;
        }
        from = store_meta_key(kind, number + 1, 0);
        from.size_bytes = 9;
    }
}

static enum status load_store(struct store *store,
                              struct base_snapshot *snapshot,
                              uint64_t *ret_synced_position,
                              struct error *ret_error)
{
    struct store_meta_key key = store_meta_key(STORE_META_STORE, 0, 0);
    struct bytes value = BYTES_EMPTY;
    bool found = false;
    enum status status = base_meta_get(snapshot, store_meta_key_bytes(&key), &value, &found);
    if (status != STATUS_OK) {
        return status;
    }
    store->meta_missing = !found;
    if (!found) {
        return STATUS_OK;
    }
    struct store_meta_store meta;
    status = store_meta_decode_store(value, &meta, ret_error);
    if (status != STATUS_OK) {
        return status;
    }
    if (meta.store_number != store->identity.store_number) {
        return error_set(ret_error, STATUS_CORRUPT,
                         "data.mdb belongs to store %llu, the STORE file says %llu",
                         (unsigned long long)meta.store_number,
                         (unsigned long long)store->identity.store_number);
    }
    store->meta_clock = meta.clock;
    hlc_observe(&store->hlc, meta.clock);
    *ret_synced_position = meta.synced_position;
    atomic_store(&store->synced_position, meta.synced_position); /* a flush at replay writes it */
    return STATUS_OK;
}

enum status store_load_metas(struct store *store,
                             uint64_t *ret_synced_position,
                             struct error *ret_error)
{
    struct base_snapshot *snapshot = NULL;
    enum status status = base_snapshot_begin(store->base, &snapshot);
    if (status == STATUS_OK) {
        status = load_store(store, snapshot, ret_synced_position, ret_error);
        if (status == STATUS_OK) {
            status = load_all(store, snapshot, STORE_META_TABLET, load_tablet, ret_error);
        }
        if (status == STATUS_OK) {
            status = load_all(store, snapshot, STORE_META_ERASURE, load_erasure, ret_error);
        }
        if (status == STATUS_OK) {
            status = load_all(store, snapshot, STORE_META_GRAVE, load_grave, ret_error);
        }
        base_snapshot_end(snapshot);
    }
    if (status != STATUS_OK && (ret_error->status != status || ret_error->text[0] == '\0')) {
        (void)error_set(ret_error, status, "reading the store's metadata: %s", status_text(status));
    }
    return status == STATUS_OK ? STATUS_OK : error_prefix(ret_error, "%s", store->folder);
}

/* What the base holds came from the log; a log that ends before it has lost records. */
static enum status check_log_end(struct store *store, struct error *ret_error)
{
    for (uint32_t i = 0; i < store->tablet_count; i++) {
        struct store_tablet *tablet = store->tablets[i];
        if (store_relearns(tablet)) {
            continue;
        }
        if (store_tablet_prepared(tablet) < tablet->hold_until) {
            return error_set(ret_error, STATUS_CORRUPT,
                             "%s: tablet %llu is in data.mdb up to sequence %llu, and the log ends "
                             "at %llu: the log was lost or replaced. Restore it, or re-learn the "
                             "store from replicas",
                             store->folder, (unsigned long long)tablet->descriptor.tablet,
                             (unsigned long long)tablet->hold_until,
                             (unsigned long long)store_tablet_prepared(tablet));
        }
        if (!tablet->applied_whole && !tablet->half_taught) {
            /* Finish soon what was interrupted: until then nothing else is tidied up there. */
            store_flush_soon(tablet);
        }
    }
    return STATUS_OK;
}

/* The store's own record: the base has none yet, or none that knows of this log. */
static enum status put_store_meta(struct store *store)
{
    struct base_writer *writer = NULL;
    enum status status = base_writer_begin(store->base, &writer);
    if (status != STATUS_OK) {
        return status;
    }
    status = store_put_store_meta(writer, store, 0);
    if (status != STATUS_OK) {
        base_writer_abort(writer);
        return status;
    }
    return base_writer_commit(writer);
}

enum status store_finish_recovery(struct store *store, struct error *ret_error)
{
    struct log_statistics numbers;
    enum status status = STATUS_OK;
    log_statistics(store->log, &numbers);
    atomic_store(&store->synced_position, numbers.synced_position);
    if (store->meta_missing || store->relearns) {
        status = put_store_meta(store);
        /* Of a log that was cut the next flush tells, too. */
        status = status == STATUS_NO_SPACE && !store->meta_missing ? STATUS_OK : status;
        store->meta_missing = false;
    }
    if (status != STATUS_OK) {
        return error_set(ret_error, status, "%s: %s", store->folder, status_text(status));
    }
    for (uint32_t i = 0; i < store->tablet_count && status == STATUS_OK; i++) {
        status = store_replay_end(store->tablets[i], ret_error);
    }
    if (status == STATUS_OK) {
        status = store_relearn_lift(store, ret_error);
    }
    if (status == STATUS_OK) {
        status = check_log_end(store, ret_error);
    }
    if (status != STATUS_OK) {
        return status;
    }
    status = store_settle_graves(store);
    if (status != STATUS_OK) {
        return error_set(ret_error, status, "%s: %s", store->folder, status_text(status));
    }
    store->log_position = numbers.next_position;
    store->log_position_checked = numbers.next_position;
    store_keep_replayed(store);
    store_release_log(store);
    return STATUS_OK;
}
