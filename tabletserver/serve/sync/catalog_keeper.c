#include "tabletserver/serve/sync/catalog_keeper.h"

#include <pthread.h>
#include <stdbool.h>
#include <time.h>

#include "common/base/assert.h"
#include "common/base/memory.h"
#include "common/io/clock.h"
#include "common/io/condition.h"
#include "common/io/thread.h"

/* IDLE -> ASKED, by the sync thread -> DONE, by the keeper's -> IDLE, by the sync thread. */
enum keeper_state {
    KEEPER_IDLE,
    KEEPER_ASKED,
    KEEPER_DONE,
};

struct catalog_keeper {
    struct store_catalog *catalog; /* the sync thread's */
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    enum keeper_state state;
    bool closing;
    struct store_catalog copy; /* ASKED: the keeper's thread's */
    struct store_catalog_mark mark;
    enum status status; /* DONE */
    struct error error;
};

static void *run(void *argument)
{
    struct catalog_keeper *keeper = argument;
    thread_name_set("catalog");
    (void)pthread_mutex_lock(&keeper->mutex);
    while (!keeper->closing) {
        if (keeper->state != KEEPER_ASKED) {
            (void)pthread_cond_wait(&keeper->changed, &keeper->mutex);
            continue;
        }
        (void)pthread_mutex_unlock(&keeper->mutex);
        struct error error = {.status = STATUS_OK};
        enum status status = store_catalog_note(&keeper->copy, &keeper->mark, &error);
        (void)pthread_mutex_lock(&keeper->mutex);
        keeper->status = status;
        keeper->error = error;
        keeper->state = KEEPER_DONE;
        (void)pthread_cond_broadcast(&keeper->changed);
    }
    (void)pthread_mutex_unlock(&keeper->mutex);
    return NULL;
}

/* With glibc it cannot fail. */
static void init_threading(struct catalog_keeper *keeper)
{
    ASSERT(pthread_mutex_init(&keeper->mutex, NULL) == 0);
    condition_init(&keeper->changed);
}

static void deinit_threading(struct catalog_keeper *keeper)
{
    (void)pthread_cond_destroy(&keeper->changed);
    (void)pthread_mutex_destroy(&keeper->mutex);
}

enum status catalog_keeper_create(struct store_catalog *catalog, struct catalog_keeper **ret_keeper)
{
    struct catalog_keeper *keeper = memory_allocate_zeroed(1, sizeof *keeper);
    if (keeper == NULL) {
        return STATUS_NO_MEMORY;
    }
    keeper->catalog = catalog;
    init_threading(keeper);
    if (pthread_create(&keeper->thread, NULL, run, keeper) != 0) {
        deinit_threading(keeper);
        memory_free(keeper);
        return STATUS_NO_MEMORY;
    }
    *ret_keeper = keeper;
    return STATUS_OK;
}

/* What the thread has done is taken over.  With the mutex. */
static void take_done(struct catalog_keeper *keeper)
{
    if (keeper->state == KEEPER_DONE) {
        *keeper->catalog = keeper->copy;
        keeper->state = KEEPER_IDLE;
    }
}

void catalog_keeper_destroy(struct catalog_keeper *keeper)
{
    if (keeper == NULL) {
        return;
    }
    (void)pthread_mutex_lock(&keeper->mutex);
    keeper->closing = true;
    (void)pthread_cond_broadcast(&keeper->changed);
    (void)pthread_mutex_unlock(&keeper->mutex);
    (void)pthread_join(keeper->thread, NULL);
    take_done(keeper); /* the file may have been made */
    deinit_threading(keeper);
    memory_free(keeper);
}

/* With the mutex.  False: it is still under way. */
static bool wait_until_done(struct catalog_keeper *keeper)
{
    const struct timespec until = condition_time_in(CATALOG_KEEPER_PATIENCE_NS);
    int late = 0;
    while (keeper->state == KEEPER_ASKED && late == 0) {
        late = pthread_cond_timedwait(&keeper->changed, &keeper->mutex, &until);
    }
    return keeper->state == KEEPER_DONE;
}

enum status catalog_keeper_note(struct catalog_keeper *keeper,
                                const struct store_catalog_mark *mark,
                                struct error *ret_error)
{
    enum status status = STATUS_UNAVAILABLE;
    (void)pthread_mutex_lock(&keeper->mutex);
    take_done(keeper); /* of one that was late */
    bool waits = keeper->state == KEEPER_ASKED;
    if (!waits && store_catalog_has(keeper->catalog, mark)) {
        status = STATUS_OK;
    } else if (!waits) {
        keeper->copy = *keeper->catalog;
        keeper->mark = *mark;
        keeper->state = KEEPER_ASKED;
        (void)pthread_cond_broadcast(&keeper->changed);
        if (wait_until_done(keeper)) {
            status = keeper->status;
            *ret_error = keeper->error;
            take_done(keeper);
        }
    }
    (void)pthread_mutex_unlock(&keeper->mutex);
    return status == STATUS_UNAVAILABLE
               ? error_set(ret_error, status, "%s: the disk does not answer",
                           keeper->catalog->folder)
               : status;
}
