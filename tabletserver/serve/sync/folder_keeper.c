#include "tabletserver/serve/sync/folder_keeper.h"

#include <pthread.h>
#include <time.h>

#include "common/base/assert.h"
#include "common/base/memory.h"
#include "common/io/clock.h"
#include "common/io/condition.h"
#include "common/io/thread.h"
#include "tabletserver/serve/peers.h"

#define LOOK_NS INT64_C(1000000000) /* at the grace, and at what is to be tried again */

struct folder_keeper {
    const char *folder;
    struct schema_cache *schemas;
    struct peers *peers;
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    bool closing;
    uint64_t wanted;    /* how often the tables were to be written */
    uint64_t tried;     /* so many of these were taken along by what was written last, */
    enum status status; /* or could not be written; */
    struct error error; /* this is why, */
    int64_t retry_ns;   /* and when that is tried again */
    int64_t begun_ns;   /* when the thread went to the disk; 0 = it is not there */
};

/* --- waiting, with the mutex ---------------------------------------------------------------------- */

/* False: it is too late. */
static bool wait_until(struct folder_keeper *keeper, const struct timespec *until)
{
    return pthread_cond_timedwait(&keeper->changed, &keeper->mutex, until) == 0;
}

static bool has_been_there_for(const struct folder_keeper *keeper, int64_t ns)
{
    return keeper->begun_ns != 0 && clock_monotonic_ns() - keeper->begun_ns > ns;
}

/* --- the thread ------------------------------------------------------------------------------------- */

static bool is_due(const struct folder_keeper *keeper)
{
    return keeper->tried < keeper->wanted ||
           (keeper->status != STATUS_OK && clock_monotonic_ns() >= keeper->retry_ns);
}

/* With the mutex, which is let go meanwhile. */
static void write_tables(struct folder_keeper *keeper)
{
    struct error error = {.status = STATUS_OK};
    uint64_t tried = keeper->wanted;
    (void)pthread_mutex_unlock(&keeper->mutex);
    enum status status = schema_cache_save(keeper->schemas, &error);
    (void)pthread_mutex_lock(&keeper->mutex);
    keeper->tried = tried;
    keeper->status = status;
    keeper->error = error;
    keeper->retry_ns = clock_monotonic_ns() + FOLDER_KEEPER_RETRY_NS;
    (void)pthread_cond_broadcast(&keeper->changed);
}

static void settle_grace(struct folder_keeper *keeper)
{
    if (keeper->peers != NULL) {
        (void)pthread_mutex_unlock(&keeper->mutex);
        peers_settle_grace(keeper->peers, clock_monotonic_ns());
        (void)pthread_mutex_lock(&keeper->mutex);
    }
}

static void *run(void *argument)
{
    struct folder_keeper *keeper = argument;
    thread_name_set("folder");
    (void)pthread_mutex_lock(&keeper->mutex);
    while (!keeper->closing || keeper->tried < keeper->wanted) {
        const struct timespec until = condition_time_in(LOOK_NS);
        keeper->begun_ns = clock_monotonic_ns();
        if (is_due(keeper)) {
            write_tables(keeper);
        } else {
            settle_grace(keeper);
        }
        keeper->begun_ns = 0;
        while (!keeper->closing && !is_due(keeper) && wait_until(keeper, &until)) {
        }
    }
    (void)pthread_mutex_unlock(&keeper->mutex);
    return NULL;
}

/* --- other threads ---------------------------------------------------------------------------------- */

enum status folder_keeper_save(struct folder_keeper *keeper, struct error *ret_error)
{
    const struct timespec until = condition_time_in(FOLDER_KEEPER_PATIENCE_NS);
    enum status status = STATUS_UNAVAILABLE;
    (void)pthread_mutex_lock(&keeper->mutex);
    uint64_t wanted = ++keeper->wanted;
    bool waits = !has_been_there_for(keeper, FOLDER_KEEPER_PATIENCE_NS);
    (void)pthread_cond_broadcast(&keeper->changed);
    while (waits && keeper->tried < wanted) {
        waits = wait_until(keeper, &until);
    }
    if (keeper->tried >= wanted) {
        status = keeper->status;
        *ret_error = keeper->error;
    }
    (void)pthread_mutex_unlock(&keeper->mutex);
    return status == STATUS_UNAVAILABLE
               ? error_set(ret_error, status, "%s: the disk does not answer", keeper->folder)
               : status;
}

bool folder_keeper_is_stuck(struct folder_keeper *keeper)
{
    (void)pthread_mutex_lock(&keeper->mutex);
    bool stuck = has_been_there_for(keeper, FOLDER_KEEPER_STUCK_NS);
    (void)pthread_mutex_unlock(&keeper->mutex);
    return stuck;
}

/* --- life ------------------------------------------------------------------------------------------- */

/* With glibc it cannot fail. */
static void init_threading(struct folder_keeper *keeper)
{
    ASSERT(pthread_mutex_init(&keeper->mutex, NULL) == 0);
    condition_init(&keeper->changed);
}

static void deinit_threading(struct folder_keeper *keeper)
{
    (void)pthread_cond_destroy(&keeper->changed);
    (void)pthread_mutex_destroy(&keeper->mutex);
}

enum status folder_keeper_create(const char *folder,
                                 struct schema_cache *schemas,
                                 struct peers *peers,
                                 struct folder_keeper **ret_keeper)
{
    struct folder_keeper *keeper = memory_allocate_zeroed(1, sizeof *keeper);
    if (keeper == NULL) {
        return STATUS_NO_MEMORY;
    }
    keeper->folder = folder;
    keeper->schemas = schemas;
    keeper->peers = peers;
    init_threading(keeper);
    if (pthread_create(&keeper->thread, NULL, run, keeper) != 0) {
        deinit_threading(keeper);
        memory_free(keeper);
        return STATUS_NO_MEMORY;
    }
    *ret_keeper = keeper;
    return STATUS_OK;
}

void folder_keeper_destroy(struct folder_keeper *keeper)
{
    if (keeper == NULL) {
        return;
    }
    (void)pthread_mutex_lock(&keeper->mutex);
    keeper->closing = true;
    (void)pthread_cond_broadcast(&keeper->changed);
    (void)pthread_mutex_unlock(&keeper->mutex);
    (void)pthread_join(keeper->thread, NULL);
    deinit_threading(keeper);
    memory_free(keeper);
}
