/*
 * Tablets that are made and dropped: jobs of the work thread, asked for and ended by the loop.
 *
 * A drop is one small transaction: the tablet's metadata goes, a note of its ranges comes.  The data
 * behind the notes is erased later (store_erase.c).
 */
#include "common/base/assert.h"
#include "common/base/memory.h"
#include "tabletserver/storage/copies/store_copies.h"
#include "tabletserver/storage/copies/store_grave.h"
#include "tabletserver/storage/flush/store_flush.h"
#include "tabletserver/storage/store/store_append.h"
#include "tabletserver/storage/store/store_held.h"
#include "tabletserver/storage/store/store_internal.h"
#include "tabletserver/storage/upkeep/store_upkeep.h"

/* --- asked for ------------------------------------------------------------------------------------ */

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

/* --- done ----------------------------------------------------------------------------------------- */

bool store_is_ending(const struct store *store, uint64_t tablet)
{
    return store_tablets_find_hidden(store, tablet) != NULL;
}

bool store_job_makes(const struct store_job *job)
{
    return !job->drop && job->lesson == NULL && job->merged[0] == NULL;
}

bool store_job_is_due(struct store_job *job)
{
    const struct store_tablet *tablet = job->tablet;
    if (store_job_makes(job) && (store_is_ending(tablet->store, tablet->descriptor.tablet) ||
                                 !store_may_make_again(tablet->store, tablet->descriptor.tablet))) {
        return false; /* asked again soon: the log is on its way to the disk */
    }
    bool waits = job->drop || (job->lesson != NULL && store_lesson_waits_for_parent(job->lesson));
    if (!waits) {
        return true;
    }
    (void)pthread_mutex_lock(&job->tablet->mutex);
    bool learns = job->drop && atomic_load(&job->tablet->learn.replaced);
    bool due = job->tablet->lineage_count == 0 && !learns;
    (void)pthread_mutex_unlock(&job->tablet->mutex);
    return due;
}

enum status store_is_in_base(struct store *store, uint64_t tablet, bool *ret_stored)
{
    struct base_snapshot *snapshot = NULL;
    enum status status = base_snapshot_begin(store->base, &snapshot);
    if (status != STATUS_OK) {
        return status;
    }
    struct store_meta_key key = store_meta_key(STORE_META_TABLET, tablet, 0);
    struct bytes value;
    status = base_meta_get(snapshot, store_meta_key_bytes(&key), &value, ret_stored);
    base_snapshot_end(snapshot);
    return status;
}

/* The map of a tablet that holds nothing. */
static enum status encode_empty(struct store_tablet *tablet)
{
    struct arena arena;
    struct applied_map map;
    arena_init(&arena, 256, SIZE_MAX);
    enum status status = applied_map_whole(&arena, 0, &map);
    if (status == STATUS_OK) {
        buffer_reset(&tablet->applied);
        applied_map_encode(&map, &tablet->applied);
        status = tablet->applied.failed ? STATUS_NO_MEMORY : STATUS_OK;
    }
    arena_deinit(&arena);
    return status;
}

static enum status write_created(struct base_writer *writer, struct store_tablet *tablet)
{
    struct base_piece piece = {.range = tablet->descriptor.range};
    enum status status = base_writer_allocate_extent(writer, &piece.extent);
    if (status != STATUS_OK) {
        return status;
    }
    struct store_pieces *pieces = store_pieces_create(&piece, 1, NULL);
    if (pieces == NULL) {
        return STATUS_NO_MEMORY;
    }
    store_pieces_unref(tablet->pieces);
    tablet->pieces = pieces;
    status = encode_empty(tablet);
    tablet->applied_whole = true;
    if (status == STATUS_OK) {
        status = store_put_applied(writer, tablet->descriptor.tablet, &tablet->applied);
    }
    if (status == STATUS_OK) {
        status = store_put_tablet_meta(writer, tablet, 0, 0, 0);
    }
    return status;
}

/* One that the base has already stays as it is. */
static enum status write_all_created(struct store *store,
                                     struct base_writer *writer,
                                     const struct store_job *job)
{
    enum status status = STATUS_OK;
    for (; job != NULL && status == STATUS_OK; job = job->next) {
        bool stored = false;
        status = store_is_in_base(store, job->tablet->descriptor.tablet, &stored);
        if (status == STATUS_OK && !stored) {
            status = write_created(writer, job->tablet);
        }
    }
    return status;
}

static enum status create(struct store *store, const struct store_job *job)
{
    struct base_writer *writer = NULL;
    enum status status = base_writer_begin(store->base, &writer);
    if (status != STATUS_OK) {
        return status;
    }
    status = write_all_created(store, writer, job);
    if (status != STATUS_OK) {
        base_writer_abort(writer);
        return status;
    }
    atomic_fetch_add(&store->list_transactions, 1);
    return base_writer_commit(writer);
}

static enum status write_dropped(struct base_writer *writer,
                                 struct store_tablet *tablet,
                                 struct store_erasure **ret_erasures)
{
    struct store *store = tablet->store;
    enum status status = store_note_erasures(writer, tablet, ret_erasures);
    if (status == STATUS_OK) {
        status = store_delete_tablet_meta(writer, tablet->descriptor.tablet,
                                          tablet->dedupe_piece_count);
    }
    /* The clock of what is forgotten must not be forgotten. */
    return status == STATUS_OK ? store_put_store_meta(writer, store, atomic_load(&tablet->clock))
                               : status;
}

static enum status add_graves(struct store *store, const struct store_job *job)
{
    enum status status = STATUS_OK;
    for (; job != NULL && status == STATUS_OK; job = job->next) {
        status = store_add_grave(store, job->tablet->descriptor.tablet, job->log_position);
    }
    return status;
}

static enum status write_all_dropped(struct store *store,
                                     struct base_writer *writer,
                                     const struct store_job *job,
                                     struct store_erasure **ret_erasures)
{
    enum status status = STATUS_OK;
    for (; job != NULL && status == STATUS_OK; job = job->next) {
        status = write_dropped(writer, job->tablet, ret_erasures);
        if (status == STATUS_OK) {
            status = store_put_grave(writer, store, job->tablet->descriptor.tablet);
        }
    }
    return status;
}

static enum status drop(struct store *store, const struct store_job *job)
{
    struct base_writer *writer = NULL;
    struct store_erasure *erasures = NULL;
    enum status status = add_graves(store, job);
    if (status == STATUS_OK) {
        status = base_writer_begin(store->base, &writer);
    }
    if (status != STATUS_OK) {
        return status;
    }
    status = write_all_dropped(store, writer, job, &erasures);
    if (status == STATUS_OK) {
        status = base_writer_commit(writer);
    } else {
        base_writer_abort(writer);
    }
    atomic_fetch_add(&store->list_transactions, 1);
    store_keep_erasures(store, erasures, status == STATUS_OK);
    return status;
}

enum status store_run_job(struct store *store, struct store_job *job)
{
    if (job->lesson != NULL) {
        return store_run_lesson(store, job);
    }
    if (job->merged[0] != NULL) {
        return store_merge_write(job);
    }
    return job->drop ? drop(store, job) : create(store, job);
}

/* --- ended ---------------------------------------------------------------------------------------- */

void store_on_created(struct store *store, struct store_job *job)
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

void store_on_dropped(struct store *store, struct store_job *job)
{
    uint64_t number = job->tablet->descriptor.tablet;
    store_held_forget(store, number);
    store_tablets_forget(store, job->tablet);
    store_tablet_unref(job->tablet); /* the list's */
    store_tablet_unref(job->tablet); /* the job's */
    memory_free(job);
    store_release_log(store);
    store->callbacks.on_dropped(store->callbacks.context, number);
}

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

void store_free_jobs(struct store *store)
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
