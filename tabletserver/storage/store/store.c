/* Opening, closing, polling: how the parts of a store are put together. */
#include "tabletserver/storage/store/store.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "common/base/assert.h"
#include "common/base/memory.h"
#include "tabletserver/storage/copies/store_copies.h"
#include "tabletserver/storage/copies/store_grave.h"
#include "tabletserver/storage/copies/store_relearn.h"
#include "tabletserver/storage/flush/store_flush.h"
#include "tabletserver/storage/store/store_append.h"
#include "tabletserver/storage/store/store_internal.h"
#include "tabletserver/storage/store/store_replay.h"
#include "tabletserver/storage/store/store_split.h"
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
        .dedupe = {.clients_max = 10000, .records_max = 1000000, .result_bytes_max = 64 * MIB},
    };
}

/* --- closing ------------------------------------------------------------------------------------ */

static void free_job(struct store *store, struct store_job *job)
{
    for (int i = 0; i < 2; i++) {
        if (job->merged[i] != NULL) {
            store_tablet_unref(job->merged[i]);
        }
    }
    store_lesson_destroy(store, job->lesson);
    store_tablet_unref(job->tablet);
    memory_free(job);
}

static void free_jobs(struct store *store)
{
    while (store->jobs != NULL) {
        struct store_job *job = store->jobs;
        store->jobs = job->next;
        free_job(store, job);
    }
    /* Events of finished jobs that nobody took. */
    while (store->events != NULL) {
        struct store_event *event = store->events;
        store->events = event->next;
        if (event->kind == STORE_EVENT_CREATED || event->kind == STORE_EVENT_DROPPED ||
            event->kind == STORE_EVENT_MERGED || event->kind == STORE_EVENT_TAUGHT) {
            free_job(store, event->subject);
        } else if (event->kind == STORE_EVENT_RANGE_DELETE_DONE) {
            store_tablet_unref(event->subject);
        }
    }
}

void store_schema_unref(struct store_schema *schema)
{
    if (atomic_fetch_sub(&schema->references, 1) == 1) {
        arena_deinit(&schema->arena);
        memory_free(schema);
    }
}

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
    memory_free(store->tablet_slots);
}

static void destroy(struct store *store)
{
    store_work_stop(store);
    log_close(store->log);
    free_jobs(store);
    store_collect_clear(store); /* its event may have been among those */
    free_tablets(store);
    store_erasures_clear(store);
    store_graves_clear(store);
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
    store->lock.file = FILE_CLOSED;
    store->erasure_next = 1;
    store->log_keep_from = UINT64_MAX;
    pthread_condattr_t monotonic;
    (void)pthread_condattr_init(&monotonic);
    (void)pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&store->condition_changed, &monotonic);
    (void)pthread_condattr_destroy(&monotonic);
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
        struct kv_options options = {.map_size_bytes = store->settings.map_size_bytes};
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

/* --- tables and tablets --------------------------------------------------------------------------- */

enum status store_set_table(struct store *store, const struct table *table)
{
    struct store_schema *schema = memory_allocate_zeroed(1, sizeof *schema);
    if (schema == NULL) {
        return STATUS_NO_MEMORY;
    }
    atomic_init(&schema->references, 1);
    arena_init(&schema->arena, 4096, SIZE_MAX);
    enum status status = table_copy(&schema->arena, table, &schema->table);
    uint32_t capacity = store->schema_count + 1;
    if (status == STATUS_OK && capacity > store->schema_capacity) {
        (void)pthread_mutex_lock(&store->mutex);
        void *more = memory_resize(store->schemas, 2 * capacity * sizeof(struct store_schema *));
        if (more != NULL) {
            store->schemas = more;
            store->schema_capacity = 2 * capacity;
        }
        (void)pthread_mutex_unlock(&store->mutex);
        status = more == NULL ? STATUS_NO_MEMORY : STATUS_OK;
    }
    if (status != STATUS_OK) {
        store_schema_unref(schema);
        return status;
    }
    struct store_schema *old = NULL;
    (void)pthread_mutex_lock(&store->mutex);
    for (uint32_t i = 0; i < store->schema_count && old == NULL; i++) {
        if (store->schemas[i]->table.number == table->number) {
            old = store->schemas[i];
            store->schemas[i] = schema;
        }
    }
    if (old == NULL) {
        store->schemas[store->schema_count++] = schema;
    }
    store->schema_count_ever++;
    (void)pthread_mutex_unlock(&store->mutex);
    if (old != NULL) {
        store_schema_unref(old);
    }
    return STATUS_OK;
}

struct store_schema *store_schema_find(struct store *store, uint64_t table)
{
    struct store_schema *found = NULL;
    (void)pthread_mutex_lock(&store->mutex);
    for (uint32_t i = 0; i < store->schema_count && found == NULL; i++) {
        if (store->schemas[i]->table.number == table) {
            found = store->schemas[i];
            atomic_fetch_add(&found->references, 1);
        }
    }
    (void)pthread_mutex_unlock(&store->mutex);
    return found;
}

void store_add_job(struct store *store, struct store_job *job)
{
    job->event.kind = job->drop                ? STORE_EVENT_DROPPED
                      : job->merged[0] != NULL ? STORE_EVENT_MERGED
                      : job->lesson != NULL    ? STORE_EVENT_TAUGHT
                                               : STORE_EVENT_CREATED;
    job->event.subject = job;
    (void)pthread_mutex_lock(&store->mutex);
    struct store_job **end = &store->jobs;
    while (*end != NULL) {
        end = &(*end)->next;
    }
    *end = job;
    (void)pthread_mutex_unlock(&store->mutex);
    store_work_wake(store);
}

bool store_is_creating(const struct store *store, uint64_t tablet)
{
    const struct store_job *job = store->creating;
    while (job != NULL && job->tablet->descriptor.tablet != tablet) {
        job = job->creating_next;
    }
    return job != NULL;
}

enum status store_tablet_create(struct store *store,
                                const struct store_tablet_descriptor *descriptor)
{
    struct store_job *job = memory_allocate_zeroed(1, sizeof *job);
    enum status status = job == NULL ? STATUS_NO_MEMORY : store_tablets_reserve(store, 1);
    if (status == STATUS_OK) {
        status = store_tablet_allocate(store, descriptor, &job->tablet);
    }
    if (status != STATUS_OK) {
        memory_free(job);
        return status;
    }
    job->creating_next = store->creating;
    store->creating = job;
    store_add_job(store, job);
    return STATUS_OK;
}

void store_tablet_drop(struct store *store, struct store_tablet *tablet)
{
    struct store_job *job = tablet->drop_job;
    tablet->drop_job = NULL;
    ASSERT(job != NULL); /* made with the tablet, so that dropping cannot fail */
    ASSERT(!tablet->merging);
    (void)pthread_mutex_lock(&tablet->mutex);
    atomic_store(&tablet->state, STORE_TABLET_DROPPING);
    tablet->freeze_count++; /* reads in the middle of their capture look again */
    (void)pthread_mutex_unlock(&tablet->mutex);
    store_tablet_ref(tablet);
    job->drop = true;
    job->log_position = store_last_position(store);
    job->tablet = tablet;
    store_tablets_hide(store, tablet);
    store_add_job(store, job);
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

/* --- events ------------------------------------------------------------------------------------- */

static void on_created(struct store *store, struct store_job *job)
{
    uint64_t number = job->tablet->descriptor.tablet;
    struct store_tablet *tablet = store_tablet_find(store, number);
    struct store_job **link = &store->creating;
    while (*link != job) {
        link = &(*link)->creating_next;
    }
    *link = job->creating_next;
    if (tablet == NULL && job->error.status == STATUS_OK) {
        tablet = job->tablet;
        store_tablet_ref(tablet);
        store_tablets_add(store, tablet); /* there is room since it was asked for */
    }
    store->callbacks.on_created(store->callbacks.context, number, tablet,
                                tablet != NULL ? NULL : &job->error);
    store_tablet_unref(job->tablet);
    memory_free(job);
}

static void on_dropped(struct store *store, struct store_job *job)
{
    uint64_t number = job->tablet->descriptor.tablet;
    store_tablets_forget(store, job->tablet);
    store_tablet_unref(job->tablet); /* the list's */
    store_tablet_unref(job->tablet); /* the job's */
    memory_free(job);
    store_release_log(store);
    store->callbacks.on_dropped(store->callbacks.context, number);
}

static void on_range_delete_done(struct store_tablet *tablet)
{
    struct store_range_deletes *less = store_range_deletes_create(
        tablet->range_deletes->deletes, tablet->range_deletes->count, NULL, tablet->erased_sequence,
        NULL);
    if (less != NULL) {
        store_tablet_publish_range_deletes(tablet, less);
    }
    /* Without memory it stays on the list, and is erased again, for nothing. */
    atomic_store(&tablet->erase_told, false);
    store_tablet_unref(tablet);
}

static void take_event(struct store *store, struct store_event *event)
{
    switch (event->kind) {
    case STORE_EVENT_LAYER_FLUSHED:
        store_collect_forget(store, event->subject);
        store_layer_forget(store, event->subject);
        store_release_log(store);
        return;
    case STORE_EVENT_SPLIT_FINISHED:
        store_split_forget(event->subject);
        store_release_log(store);
        return;
    case STORE_EVENT_CREATED:
        on_created(store, event->subject);
        return;
    case STORE_EVENT_DROPPED:
        on_dropped(store, event->subject);
        return;
    case STORE_EVENT_MERGED:
        store_merge_finish(event->subject);
        return;
    case STORE_EVENT_RANGE_DELETE_DONE:
        on_range_delete_done(event->subject);
        return;
    case STORE_EVENT_TAUGHT:
        store_on_lesson(store, event->subject);
        return;
    case STORE_EVENT_COLLECT:
        store_collect_append(store);
        return;
    }
    UNREACHABLE();
}

void store_take_events(struct store *store)
{
    (void)pthread_mutex_lock(&store->mutex);
    struct store_event *events = store->events;
    store->events = NULL;
    store->events_end = &store->events;
    (void)pthread_mutex_unlock(&store->mutex);
    while (events != NULL) {
        struct store_event *event = events;
        events = event->next;
        take_event(store, event);
    }
}

void store_poll(struct store *store)
{
    if (atomic_load(&store->condition) == STORE_FAILED) {
        if (!store->failure_told) {
            store->failure_told = true;
            (void)pthread_mutex_lock(&store->mutex);
            struct error error = store->trouble;
            (void)pthread_mutex_unlock(&store->mutex);
            store->callbacks.on_failed(store->callbacks.context, &error);
        }
        return;
    }
    store_commit_synced(store);
    store_take_events(store);
    store_trouble_tell_damage(store);
    store_relearn_end(store);
    if (atomic_exchange(&store->freeze_asked, false)) {
        store_freeze_for_room(store);
    }
    if (atomic_load_explicit(&store->metas_written, memory_order_relaxed)) {
        atomic_store(&store->metas_written, false);
        store_release_log(store);
    }
    for (uint32_t i = 0; i < store->tablet_count && store->flush_wanted; i++) {
        struct store_tablet *tablet = store->tablets[i];
        if (tablet->flush_wanted && store_freeze(tablet) == STATUS_OK) {
            tablet->flush_wanted = false;
        }
    }
}

/* --- operation ------------------------------------------------------------------------------------ */

enum store_condition store_condition_now(const struct store *store)
{
    return atomic_load(&store->condition);
}

void store_statistics(struct store *store, struct store_statistics *ret_statistics)
{
    struct log_statistics log_numbers;
    struct kv_statistics kv_numbers;
    log_statistics(store->log, &log_numbers);
    kv_statistics(store->kv, &kv_numbers);
    struct store_statistics numbers = {
        .condition = atomic_load(&store->condition),
        .clock_us = hlc_to_us(store->hlc.last),
        .memory_bytes = atomic_load(&store->memory_bytes),
        .log_bytes = log_numbers.next_position - log_numbers.first_position,
        .log_syncs = log_numbers.batches,
        .records = atomic_load(&store->records),
        .flushes = atomic_load(&store->flushes),
        .flushes_pending = store_flushes_pending(store),
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
