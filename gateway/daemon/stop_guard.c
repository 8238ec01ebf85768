#include "gateway/daemon/stop_guard.h"

#include <time.h>
#include <unistd.h>

#include "common/base/assert.h"
#include "common/io/daemon.h"
#include "common/io/logger.h"
#include "common/io/thread.h"

#define NS_PER_SECOND INT64_C(1000000000)
#define NS_PER_MS     INT64_C(1000000)

static void *watch(void *context)
{
    struct stop_guard *guard = context;
    struct timespec end;
    thread_name_set("stop-guard");
    (void)clock_gettime(CLOCK_MONOTONIC, &end);
    int64_t end_ns = end.tv_nsec + guard->patience_ns;
    end.tv_sec += (time_t)(end_ns / NS_PER_SECOND);
    end.tv_nsec = (long)(end_ns % NS_PER_SECOND);
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
    pthread_condattr_t attributes;
    *guard = (struct stop_guard){.patience_ns = patience_ns};
    ASSERT(pthread_condattr_init(&attributes) == 0);
    ASSERT(pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC) == 0);
    ASSERT(pthread_mutex_init(&guard->lock, NULL) == 0);
    ASSERT(pthread_cond_init(&guard->changed, &attributes) == 0);
    ASSERT(pthread_condattr_destroy(&attributes) == 0);
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
