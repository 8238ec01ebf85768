/*
 * Trouble: a full disk heals, a broken promise does not.
 *
 *   HEALTHY --- short of room, or no space (log or base) ---> FULL --- room enough ---> HEALTHY
 *      '------------ failed sync, lost disk ------> FAILED
 *
 * store_room.h says what is short and what is enough.  On the way into FULL the ballast file is given
 * up: its space keeps deletes and flushes going.  It is made again before writes are let in; what of
 * it the disk has no room for must be free in data.mdb, and stays so.  So a ballast file there says
 * that the store was not full, over a restart too.
 *
 * While FULL, whatever is in memory is flushed soon, however little: only deletes that have come to
 * the base make room.
 */
#include <stdio.h>
#include <sys/statvfs.h>

#include "common/base/assert.h"
#include "common/io/clock.h"
#include "tabletserver/storage/flush/store_flush.h"
#include "tabletserver/storage/store/store_internal.h"
#include "tabletserver/storage/store/store_room.h"

#define HURRY_NS (500 * INT64_C(1000000))
#define TIGHT \
    16 /* times what may be in memory and in the log: could be gone before the next look */
#define SHORT             4 /* times that much: the base gets the place of spare log segments */
#define SPARES_WHEN_SHORT 2
#define MIB               (UINT64_C(1024) * 1024)

/* Where the disk hangs this waits: for the work thread alone, and the opening. */
static bool find_disk_free(struct store *store, uint64_t *ret_bytes)
{
    struct statvfs numbers;
    if (statvfs(store->folder, &numbers) != 0) {
        return false;
    }
    *ret_bytes = (uint64_t)numbers.f_bavail * (uint64_t)numbers.f_frsize;
    atomic_store(&store->disk_free_bytes, *ret_bytes);
    return true;
}

uint64_t store_disk_free_bytes(const struct store *store)
{
    return atomic_load(&store->disk_free_bytes);
}

static void set_trouble(struct store *store, enum store_condition condition, const char *text)
{
    (void)pthread_mutex_lock(&store->mutex);
    if (atomic_load(&store->condition) != STORE_FAILED) {
        (void)snprintf(store->trouble.text, sizeof store->trouble.text, "%s", text);
        atomic_store(&store->condition, condition);
    }
    (void)pthread_mutex_unlock(&store->mutex);
}

void store_trouble_fail(struct store *store, const struct error *error)
{
    (void)pthread_mutex_lock(&store->mutex);
    if (atomic_load(&store->condition) != STORE_FAILED) {
        store->trouble = *error;
        atomic_store(&store->condition, STORE_FAILED);
    }
    (void)pthread_mutex_unlock(&store->mutex);
    store->callbacks.wake(store->callbacks.context);
}

bool store_trouble_note(struct store *store, enum status status, const char *what)
{
    struct error error;
    switch ((int)status) {
    case STATUS_NO_SPACE:
        if (atomic_load(&store->condition) == STORE_HEALTHY) { /* else the text says more already */
            (void)error_set(&error, status,
                            "%s: no space for the %s; writes are refused until rows are deleted or "
                            "the disk has room (a file system that was made larger is used after a "
                            "restart)",
                            store->folder, what);
            set_trouble(store, STORE_FULL, error.text);
        }
        store_work_wake(store);
        return true;
    case STATUS_NO_MEMORY:
    case STATUS_LIMIT:
        return true;
    case STATUS_CORRUPT:
        /* What is bad stays bad, but the rest is served; the data waits in memory and log. */
        (void)pthread_mutex_lock(&store->mutex);
        (void)snprintf(store->trouble.text, sizeof store->trouble.text,
                       "%s: stored data is corrupt (%s); see the scrub's report and repair",
                       store->folder, what);
        (void)pthread_mutex_unlock(&store->mutex);
        return true;
    default:
        (void)error_set(&error, status, "%s: %s: %s", store->folder, what, status_text(status));
        store_trouble_fail(store, &error);
        return false;
    }
}

void store_trouble_note_damage(struct store_tablet *tablet,
                               uint64_t chunks,
                               const char *found_by,
                               const char *text)
{
    struct store *store = tablet->store;
    atomic_fetch_add(&store->bad_chunks, chunks);
    atomic_fetch_add(&tablet->bad_chunks, chunks);
    (void)pthread_mutex_lock(&store->mutex);
    if (atomic_load(&store->condition) == STORE_HEALTHY) {
        (void)snprintf(store->trouble.text, sizeof store->trouble.text, "%s: %s: %.400s",
                       store->folder, found_by, text);
    }
    (void)pthread_mutex_unlock(&store->mutex);
    store_trouble_mark_damaged(tablet);
}

void store_trouble_mark_damaged(struct store_tablet *tablet)
{
    struct store *store = tablet->store;
    atomic_store(&tablet->damage_found, true);
    atomic_store(&store->damage_found, true);
    store->callbacks.wake(store->callbacks.context);
}

/* What damage holds of a tablet that was split is theirs that came of it, and nobody hosts it any more.  Those that have
 * other copies are taught anew from these, both: neither can be flushed before the one they came of, and no delete that
 * comes to the others ends that here.  (One that was split in turn has its turn with the next look.) */
static void pass_on_damage(struct store *store)
{
    for (struct store_tablet *tablet = store->hidden; tablet != NULL;
         tablet = tablet->hidden_next) {
        bool passes = atomic_load(&tablet->state) == STORE_TABLET_SPLIT &&
                      atomic_exchange(&tablet->damage_found, false);
        for (int i = 0; i < 2 && passes; i++) {
            struct store_tablet *child = tablet->split.children[i];
            if (child->shared) {
                atomic_store(&child->damage_found, true);
                atomic_store(&store->damage_found,
                             atomic_load(&store->damage_found) || !child->is_listed);
            }
        }
    }
}

void store_trouble_tell_damage(struct store *store)
{
    if (!atomic_exchange(&store->damage_found, false)) {
        return;
    }
    pass_on_damage(store);
    for (uint32_t i = 0; i < store->tablet_count; i++) {
        struct store_tablet *tablet = store->tablets[i];
        if (atomic_exchange(&tablet->damage_found, false) && store->callbacks.on_damaged != NULL) {
            store->callbacks.on_damaged(store->callbacks.context, tablet);
        }
    }
}

enum status store_trouble_check(struct store *store, bool deletes_only)
{
    switch (atomic_load_explicit(&store->condition, memory_order_relaxed)) {
    case STORE_HEALTHY:
        return STATUS_OK;
    case STORE_FULL:
        return deletes_only ? STATUS_OK : STATUS_NO_SPACE;
    case STORE_FAILED:
        return STATUS_CLOSED;
    }
    UNREACHABLE();
}

/* --- room ----------------------------------------------------------------------------------------- */

/* Measure and judge; set how much may be in memory.  False when the disk does not say what is free: then all stays as it is. */
static bool judge(struct store *store,
                  struct store_room *ret_room,
                  enum store_room_verdict *ret_verdict,
                  uint64_t *ret_wanted_bytes)
{
    struct kv_statistics kv_numbers;
    struct log_statistics log_numbers;
    uint64_t disk_free = 0;
    if (!find_disk_free(store, &disk_free)) {
        return false;
    }
    kv_statistics(store->kv, &kv_numbers);
    log_statistics(store->log, &log_numbers);
    store->room_tight = atomic_load(&store->condition) == STORE_HEALTHY &&
                        disk_free < TIGHT * (store->settings.memory_limit_bytes +
                                             store->settings.log_limit_bytes);
    bool is_short = atomic_load(&store->condition) != STORE_HEALTHY ||
                    disk_free < SHORT * (store->settings.memory_limit_bytes +
                                         store->settings.log_limit_bytes);
    log_keep_spares(store->log, is_short ? SPARES_WHEN_SHORT : store_log_spares_max(store));
    log_keep_bytes(store->log, is_short ? 0 : store->settings.log_keep_bytes);
    uint64_t log_bytes = log_numbers.file_count * store->settings.log_segment_bytes;
    if (atomic_load(&store->condition) == STORE_FULL && log_bytes > store->log_peak_bytes) {
        store->log_peak_bytes = log_bytes;
    }
    *ret_room = (struct store_room){
        .disk_free_bytes = disk_free,
        .base_file_bytes = kv_numbers.file_bytes,
        .base_freed_bytes = kv_numbers.file_bytes - kv_numbers.used_bytes,
        .base_reusable_bytes = kv_numbers.reusable_bytes,
        .base_limit_bytes = kv_numbers.map_size_bytes,
        .log_file_bytes = log_bytes,
        .log_peak_bytes = store->log_peak_bytes,
        .unflushed_bytes = atomic_load(&store->memory_bytes),
        .ballast_bytes = store->ballast_bytes,
    };
    *ret_verdict = store_room_judge(ret_room, &store->settings, ret_wanted_bytes);
    atomic_store(&store->memory_limit_bytes, store_room_memory_bytes(ret_room, &store->settings));
    /* Bytes that are free are not all there is to it: the log may have found no segment yet. */
    if (*ret_verdict == STORE_ROOM_ENOUGH &&
        (log_numbers.lacking != STATUS_OK || store->flush_failed)) {
        *ret_verdict = STORE_ROOM_SOME;
    }
    return true;
}

static void say_full(struct store *store, const struct store_room *room, uint64_t wanted_bytes)
{
    struct error error;
    (void)error_set(&error, STATUS_NO_SPACE,
                    "%s: full: writes are refused; %llu MiB are free on the disk, %llu MiB inside "
                    "data.mdb, %llu MiB more are wanted: delete rows, or grow the disk",
                    store->folder, (unsigned long long)(room->disk_free_bytes / MIB),
                    (unsigned long long)(room->base_reusable_bytes / MIB),
                    (unsigned long long)((wanted_bytes + MIB - 1) / MIB));
    bool news = atomic_load(&store->condition) == STORE_HEALTHY;
    set_trouble(store, STORE_FULL, error.text);
    if (news) {
        store->callbacks.wake(store->callbacks.context); /* it should be known at once */
    }
}

static void release_ballast(struct store *store)
{
    if (store->ballast_there && store_ballast_release(store->folder, NULL) == STATUS_OK) {
        store->ballast_there = false;
        store->ballast_bytes = 0;
    }
}

/* Whole if there is room for it, else as large as may be; a part is made whole later. */
static bool keep_ballast(struct store *store, const struct store_room *room)
{
    uint64_t bytes = store_room_ballast_bytes(room, &store->settings);
    bool whole = bytes == store->settings.ballast_bytes;
    if (bytes == 0 && store->settings.ballast_bytes == 0) {
        return true;
    }
    if (store->ballast_there && (!whole || store->ballast_bytes >= bytes)) {
        return true;
    }
    release_ballast(store);
    if (store_ballast_keep(store->folder, bytes, NULL) != STATUS_OK) {
        return false;
    }
    store->ballast_there = true;
    store->ballast_bytes = bytes;
    return true;
}

void store_trouble_open(struct store *store)
{
    struct store_room room;
    enum store_room_verdict verdict = STORE_ROOM_SOME;
    uint64_t wanted = 0;
    if (store_ballast_find(store->folder, &store->ballast_bytes, &store->ballast_there, NULL) !=
            STATUS_OK ||
        !judge(store, &room, &verdict, &wanted)) {
        return;
    }
    bool was_full = store->settings.ballast_bytes > 0 && !store->ballast_there &&
                    store->tablet_count > 0;
    if (verdict == STORE_ROOM_SHORT || (was_full && verdict != STORE_ROOM_ENOUGH)) {
        say_full(store, &room, wanted);
    }
}

/*
 * Pages that one transaction freed may be taken by the second after it; when all is erased and nobody
 * writes, that would never come.  A failure is no matter: it is tried again.
 */
static void turn_pages_over(struct store *store)
{
    struct base_writer *writer = NULL;
    if (base_writer_begin(store->base, &writer) != STATUS_OK) {
        return;
    }
    if (store_put_store_meta(writer, store, store->meta_clock) == STATUS_OK) {
        (void)base_writer_commit(writer);
    } else {
        base_writer_abort(writer);
    }
}

/* The disk is full: have deletes flushed that wait in memory, for they make room. */
static void hurry_deletes(struct store *store, const struct store_room *room)
{
    int64_t now_ns = clock_monotonic_ns();
    if (now_ns < store->hurry_next_ns) {
        return;
    }
    store->hurry_next_ns = now_ns + HURRY_NS;
    atomic_store(&store->freeze_asked, true);
    store->callbacks.wake(store->callbacks.context);
    if (room->base_freed_bytes > room->base_reusable_bytes + MIB) {
        turn_pages_over(store);
    }
}

/* Refused: give way to deletes, and see whether they have made room. */
static void heal(struct store *store)
{
    struct store_room room;
    enum store_room_verdict verdict = STORE_ROOM_SOME;
    uint64_t wanted = 0;
    release_ballast(store);
    if (!judge(store, &room, &verdict, &wanted)) {
        return;
    }
    if (verdict == STORE_ROOM_ENOUGH && keep_ballast(store, &room)) {
        store->log_peak_bytes = 0;
        store->room_tight = true;
        set_trouble(store, STORE_HEALTHY, "");
        store->callbacks.wake(store->callbacks.context);
        return;
    }
    say_full(store, &room, wanted);
    hurry_deletes(store, &room);
}

void store_trouble_heal(struct store *store)
{
    struct store_room room;
    enum store_room_verdict verdict = STORE_ROOM_SOME;
    uint64_t wanted = 0;
    switch (atomic_load(&store->condition)) {
    case STORE_FAILED:
        return;
    case STORE_FULL:
        heal(store);
        return;
    case STORE_HEALTHY:
        if (!judge(store, &room, &verdict, &wanted)) {
            return;
        }
        /* A segment may have come or gone between two numbers: refuse on a second look. */
        if (verdict == STORE_ROOM_SHORT && !judge(store, &room, &verdict, &wanted)) {
            return;
        }
        if (verdict == STORE_ROOM_SHORT) {
            store->log_peak_bytes = room.log_file_bytes;
            say_full(store, &room, wanted);
        } else {
            (void)keep_ballast(store, &room); /* without it data.mdb must have that much free */
        }
        return;
    }
    UNREACHABLE();
}
