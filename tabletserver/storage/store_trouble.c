/*
 * Trouble: a full disk heals, a broken promise does not.
 *
 *   HEALTHY --- no space (log or base) ---> FULL --- space again ---> HEALTHY
 *      '------------ failed sync, lost disk ------> FAILED
 *
 * On the way into FULL the ballast file is given up: its space keeps deletes and flushes going.  It
 * is made again before writes are let in, so that there is a ballast for the next time.
 */
#include <stdio.h>
#include <sys/statvfs.h>

#include "common/base/assert.h"
#include "tabletserver/storage/store_internal.h"

#define HEAL_BYTES_MIN (4 * 1024 * 1024) /* beyond the ballast, before writes are let in again */

uint64_t store_disk_free_bytes(const struct store *store)
{
    struct statvfs numbers;
    if (statvfs(store->folder, &numbers) != 0) {
        return 0;
    }
    return (uint64_t)numbers.f_bavail * (uint64_t)numbers.f_frsize;
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
        (void)error_set(&error, status,
                        "%s: no space for the %s; writes are refused until there is room again",
                        store->folder, what);
        set_trouble(store, STORE_FULL, error.text);
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

void store_trouble_heal(struct store *store)
{
    uint64_t ballast_bytes = store->settings.ballast_bytes;
    enum store_condition condition = atomic_load(&store->condition);
    if (condition == STORE_FULL && !store->ballast_released) {
        store->ballast_released = store_ballast_release(store->folder, NULL) == STATUS_OK;
    }
    uint64_t room = ballast_bytes + HEAL_BYTES_MIN;
    if (condition == STORE_FAILED || store_disk_free_bytes(store) < room) {
        return;
    }
    if (store->ballast_released || !store->ballast_kept) {
        if (store_ballast_keep(store->folder, ballast_bytes, NULL) != STATUS_OK) {
            return;
        }
        store->ballast_released = false;
        store->ballast_kept = true;
    }
    if (condition == STORE_FULL && !store->flush_failed) {
        set_trouble(store, STORE_HEALTHY, "");
        store->callbacks.wake(store->callbacks.context);
    }
}
