#include "gateway/daemon/stop_guard.h"

#include <time.h>
#include <unistd.h>

#include "common/base/assert.h"
#include "common/io/condition.h"
#include "common/io/daemon.h"
#include "common/io/logger.h"
#include "common/io/thread.h"

#define NS_PER_MS INT64_C(1000000)

static void *watch(void *context)
{
    struct stop_guard *guard = context;
    const struct timespec end = condition_time_in(guard->patience_ns);
    thread_name_set("stop-guard");
    (void)pthread_mutex_lock(&guard->lock);
    int waited = 0;
    while (!guard->is_ended && waited == 0) {
        waited = pthread_cond_timedwait(&guard->changed, &guard->lock, &end);
    }
    if (!guard->is_ended) {
        LOG_EVENT(LOG_LEVEL_WARN, "stop_forced",
                  LOG_I64("after_ms", guard->patience_ns / NS_PER_MS));
        _exit(DAEMON_EXIT_FAILED);
    }
    (void)pthread_mutex_unlock(&guard->lock);
    return NULL;
}

void stop_guard_begin(struct stop_guard *guard, int64_t patience_ns)
{
    *guard = (struct stop_guard){.patience_ns = patience_ns};
    ASSERT(pthread_mutex_init(&guard->lock, NULL) == 0);
    condition_init(&guard->changed);
    guard->is_running = pthread_create(&guard->thread, NULL, watch, guard) == 0;
}

void stop_guard_end(struct stop_guard *guard)
{
    (void)pthread_mutex_lock(&guard->lock);
    guard->is_ended = true;
    (void)pthread_cond_signal(&guard->changed);
    (void)pthread_mutex_unlock(&guard->lock);
    if (guard->is_running) {
        (void)pthread_join(guard->thread, NULL);
    }
    ASSERT(pthread_cond_destroy(&guard->changed) == 0);
    ASSERT(pthread_mutex_destroy(&guard->lock) == 0);
}
