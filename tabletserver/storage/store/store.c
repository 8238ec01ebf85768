/* Opening and closing: how the parts of a store are put together; and its figures. */
#include "tabletserver/storage/store/store.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "common/base/assert.h"
#include "common/base/memory.h"
#include "common/io/condition.h"
#include "tabletserver/storage/copies/store_grave.h"
#include "tabletserver/storage/copies/store_relearn.h"
#include "tabletserver/storage/flush/store_flush.h"
#include "tabletserver/storage/store/store_append.h"
#include "tabletserver/storage/store/store_held.h"
#include "tabletserver/storage/store/store_internal.h"
#include "tabletserver/storage/store/store_replay.h"
#include "tabletserver/storage/upkeep/store_upkeep.h"

#define MIB            (UINT64_C(1024) * 1024)
#define LOG_SPARES_MAX 64
#define NS_PER_US      1000

void store_settings_default(struct store_settings *settings)
{
    *settings = (struct store_settings){
        .memory_limit_bytes = 1024 * MIB,
        .memtable_limit_bytes = 128 * MIB,
        .log_limit_bytes = 512 * MIB,
        .log_segment_bytes = 64 * 1024 * 1024,
        .log_pending_bytes_max = 64 * MIB,
        .log_keep_us = INT64_C(600) * 1000 * 1000,
        .log_keep_bytes = 1024 * MIB,
        .window_bytes_max = 64 * MIB,
        .slice_bytes = 1024 * 1024,
        .map_size_bytes = 0,
        .flush_transaction_bytes = 4 * MIB,
        .flush_pace_percent = 50,
        .ballast_bytes = 64 * MIB,
        .scrub_bytes_per_second = 1 * MIB,
        .gc_interval_us = INT64_C(600) * 1000 * 1000,
        .dedupe = {.clients_max = 100000, .records_max = 1000000, .result_bytes_max = 64 * MIB},
    };
}

/* --- closing ------------------------------------------------------------------------------------ */

static void free_tablets(struct store *store)
{
    while (store->pending_tablets != NULL) {
        struct store_tablet *tablet = store->pending_tablets;
        store->pending_tablets = tablet->pending_next;
        store_tablet_unref(tablet);
    }
    for (uint32_t i = 0; i < store->tablet_count; i++) {
        store_tablet_unref(store->tablets[i]);
    }
    store->tablet_count = 0;
    while (store->hidden != NULL) {
        struct store_tablet *tablet = store->hidden;
        store->hidden = tablet->hidden_next;
        store_tablet_unref(tablet);
    }
    memory_free(store->tablets);
    store_tablet_map_deinit(&store->by_number);
    store_tablet_map_deinit(&store->hidden_by_number);
}

static void destroy(struct store *store)
{
    store_work_stop(store);
    log_close(store->log);
    store_free_jobs(store);
    store_collect_clear(store); /* its event may have been among those */
    free_tablets(store);
    store_erasures_clear(store);
    store_graves_clear(store);
    store_held_clear(store);
    for (uint32_t i = 0; i < store->schema_count; i++) {
        store_schema_unref(store->schemas[i]);
    }
    memory_free(store->schemas);
    if (store->base != NULL) {
        base_close(store->base);
    }
    kv_close(store->kv);
    store_lock_release(&store->lock);
    store_spare_reads_deinit(&store->spare_reads);
    buffer_deinit(&store->payload);
    buffer_deinit(&store->scrub_resume);
    (void)pthread_cond_destroy(&store->condition_changed);
    (void)pthread_mutex_destroy(&store->mutex);
    memory_free(store);
}

void store_close(struct store *store)
{
    destroy(store);
}

/* --- opening ------------------------------------------------------------------------------------ */

static enum status allocate(const char *folder,
                            const struct store_settings *settings,
                            const struct store_callbacks *callbacks,
                            struct store **ret_store,
                            struct error *ret_error)
{
    if (strlen(folder) >= STORE_FOLDER_BYTES_MAX) {
        return error_set(ret_error, STATUS_LIMIT, "%.100s...: the path is too long", folder);
    }
    struct store *store = memory_allocate_zeroed(1, sizeof *store);
    if (store == NULL) {
        return error_set(ret_error, STATUS_NO_MEMORY, "%s: out of memory", folder);
    }
    memcpy(store->folder, folder, strlen(folder) + 1);
    store->settings = *settings;
    store->callbacks = *callbacks;
    atomic_init(&store->memory_limit_bytes, settings->memory_limit_bytes);
    atomic_init(&store->due_bytes, 0);
    store->events_end = &store->events;
    store_queue_init(&store->frozen);
    store_queue_init(&store->untidy);
    store_queue_init(&store->erasing);
    store->lock.file = FILE_CLOSED;
    store->erasure_next = 1;
    store->log_keep_from = UINT64_MAX;
    condition_init(&store->condition_changed);
    (void)pthread_mutex_init(&store->mutex, NULL);
    store_spare_reads_init(&store->spare_reads);
    *ret_store = store;
    return STATUS_OK;
}

static enum status open_base(struct store *store, uint64_t store_number, struct error *ret_error)
{
    bool created = false;
    enum status status = file_make_folders(store->folder, ret_error);
    if (status == STATUS_OK) {
        status = store_lock_take(store->folder, &store->lock, ret_error);
    }
    if (status == STATUS_OK) {
        status = store_identity_open(store->folder, store_number, &store->identity, &created,
                                     ret_error);
    }
    if (status == STATUS_OK) {
        struct kv_options options = {.map_size_bytes = store->settings.map_size_bytes,
                                     .readers_apart = true};
        status = kv_open(store->folder, &options, &store->kv, ret_error);
    }
    if (status == STATUS_OK) {
        status = base_open(store->kv, &store->base, ret_error);
    }
    return status;
}

uint32_t store_log_spares_max(const struct store *store)
{
    uint64_t count = store->settings.log_limit_bytes / store->settings.log_segment_bytes + 1;
    return count < LOG_SPARES_MAX ? (uint32_t)count : LOG_SPARES_MAX;
}

static enum status open_log_at(struct store *store,
                               const char *path,
                               uint64_t synced_position,
                               struct error *ret_error)
{
    struct log_options options = {
        .folder = path,
        .store_number = store->identity.store_number,
        .segment_bytes = store->settings.log_segment_bytes,
        /* All that a full log may let go of at once: to delete a file, and to make another one when
         * it is wanted again, holds up the disk for 10 ms and more each time. */
        .spare_segments_max = store_log_spares_max(store),
        .keep_ns = store->settings.log_keep_us * NS_PER_US,
        .keep_bytes = store->settings.log_keep_bytes,
        .pending_bytes_max = store->settings.log_pending_bytes_max,
        .synced_position_hint = synced_position,
        .expected = !store->meta_missing,
        .context = store,
        .on_synced = store_on_synced,
        .on_failed = store_on_log_failed,
        .on_replay = store_on_replay,
    };
    return log_open(&options, &store->log, ret_error);
}

/* A log that is refused is so before anything of it is replayed. */
static enum status open_log(struct store *store, uint64_t synced_position, struct error *ret_error)
{
    char path[FILE_PATH_SIZE_MAX];
    enum status status = file_path_join(path, store->folder, "log", ret_error);
    if (status == STATUS_OK) {
        status = file_make_folders(path, ret_error);
    }
    if (status != STATUS_OK) {
        return status;
    }
    status = open_log_at(store, path, synced_position, ret_error);
    if (status == STATUS_CORRUPT && !store->replayed) {
        status = store_relearn_cut(store, path, synced_position, ret_error);
        if (status == STATUS_OK) {
            status = open_log_at(store, path, synced_position, ret_error);
        }
    }
    return status;
}

enum status store_open(const char *folder,
                       uint64_t store_number,
                       const struct store_settings *settings,
                       const struct store_callbacks *callbacks,
                       struct store **ret_store,
                       struct error *ret_error)
{
    struct store *store = NULL;
    uint64_t synced_position = 0;
    error_clear(ret_error);
    enum status status = allocate(folder, settings, callbacks, &store, ret_error);
    if (status != STATUS_OK) {
        return status;
    }
    ASSERT(store != NULL);
    store->recovering = true;
    status = open_base(store, store_number, ret_error);
    if (status == STATUS_OK) {
        status = store_relearn_find(store, ret_error);
    }
    if (status == STATUS_OK) {
        status = store_load_metas(store, &synced_position, ret_error);
    }
    if (status == STATUS_OK) {
        status = open_log(store, synced_position, ret_error);
    }
    if (status == STATUS_OK) {
        status = store_finish_recovery(store, ret_error);
    }
    if (status == STATUS_OK) {
        store->recovering = false;
        store_trouble_open(store);
        store_collect_begin(store);
        status = store_relearn_mark(store, ret_error);
    }
    if (status == STATUS_OK) {
        status = store_work_start(store, ret_error);
    }
    if (status != STATUS_OK) {
        destroy(store);
        return status;
    }
    *ret_store = store;
    return STATUS_OK;
}

uint64_t store_number(const struct store *store)
{
    return store->identity.store_number;
}

/* --- operation ------------------------------------------------------------------------------------ */

enum store_condition store_condition_now(const struct store *store)
{
    return atomic_load(&store->condition);
}

bool store_lacks_descriptors(struct store *store)
{
    struct log_statistics numbers;
    log_statistics(store->log, &numbers);
    return numbers.lacking == STATUS_LIMIT;
}

/* Those too whose split waits for the flush that is held. */
static uint64_t tablets_held(const struct store *store)
{
    uint64_t count = 0;
    if (!atomic_load(&store->flush_stuck)) {
        return 0;
    }
    for (uint32_t i = 0; i < store->tablet_count; i++) {
        count += atomic_load(&store->tablets[i]->flush_stuck) ? 1 : 0;
    }
    for (const struct store_tablet *t = store->hidden; t != NULL; t = t->hidden_next) {
        count += atomic_load(&t->flush_stuck) ? 1 : 0;
    }
    return count;
}

void store_statistics(struct store *store, struct store_statistics *ret_statistics)
{
    struct log_statistics log_numbers;
    struct kv_statistics kv_numbers;
    log_statistics(store->log, &log_numbers);
    kv_statistics(store->kv, &kv_numbers);
    struct store_statistics numbers = {
        .condition = atomic_load(&store->condition),
        .lacks_descriptors = log_numbers.lacking == STATUS_LIMIT,
        .clock_us = hlc_to_us(store->hlc.last),
        .memory_bytes = atomic_load(&store->memory_bytes),
        .log_bytes = log_numbers.next_position - log_numbers.first_position,
        .log_syncs = log_numbers.batches,
        .log_unsynced_bytes = log_numbers.next_position - log_numbers.synced_position,
        .records = atomic_load(&store->records),
        .flushes = atomic_load(&store->flushes),
        .flushes_pending = store_flushes_pending(store),
        .tablets_held = tablets_held(store),
        .flush_transactions = atomic_load(&store->flush_transactions),
        .flush_bytes = atomic_load(&store->flush_bytes),
        .base_used_bytes = kv_numbers.used_bytes,
        .base_file_bytes = kv_numbers.file_bytes,
        .base_reusable_bytes = kv_numbers.reusable_bytes,
        .disk_free_bytes = store_disk_free_bytes(store),
        .scrubbed_bytes = atomic_load(&store->scrubbed_bytes),
        .collected_cells = atomic_load(&store->collected_cells),
        .bad_chunks = atomic_load(&store->bad_chunks),
        .recovered_records = store->recovered_records,
        .torn_bytes = log_numbers.torn_bytes,
    };
    (void)pthread_mutex_lock(&store->mutex);
    (void)snprintf(numbers.trouble, sizeof numbers.trouble, "%.250s", store->trouble.text);
    (void)pthread_mutex_unlock(&store->mutex);
    *ret_statistics = numbers;
}

void store_tablet_statistics(struct store_tablet *tablet, struct store_tablet_statistics *ret)
{
    struct store_tablet_statistics numbers = {
        .base_bytes = atomic_load(&tablet->base_bytes),
        .row_estimate = atomic_load(&tablet->row_estimate),
        .flush_count = atomic_load(&tablet->flush_count),
        .bad_chunks = atomic_load(&tablet->bad_chunks),
    };
    (void)pthread_mutex_lock(&tablet->mutex);
    for (uint32_t i = 0; i < tablet->layer_count; i++) {
        numbers.memtable_bytes += memtable_bytes(tablet->layers[i]->memtable);
        numbers.row_estimate += memtable_row_count(tablet->layers[i]->memtable);
    }
    (void)pthread_mutex_unlock(&tablet->mutex);
    *ret = numbers;
}
