#include "gateway/methods/call/waiters.h"

#include <pthread.h>

#include "common/base/assert.h"
#include "common/base/memory.h"
#include "common/io/thread.h"

struct waiters {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct waiting *first; /* all under lock */
    struct waiting **last;
    uint32_t queued;
    uint32_t queued_max;
    bool is_closing;
    uint32_t thread_count;
    pthread_t threads[];
};

/* NULL: closing, and nothing is left. */
static struct waiting *take(struct waiters *waiters)
{
    (void)pthread_mutex_lock(&waiters->lock);
    while (waiters->first == NULL && !waiters->is_closing) {
        (void)pthread_cond_wait(&waiters->changed, &waiters->lock);
    }
    struct waiting *waiting = waiters->first;
    if (waiting != NULL) {
        waiters->first = waiting->next;
        waiters->last = waiting->next != NULL ? waiters->last : &waiters->first;
        waiters->queued--;
    }
    (void)pthread_mutex_unlock(&waiters->lock);
    return waiting;
}

static void *run(void *context)
{
    thread_name_set("waiter");
    struct waiting *waiting = take(context);
    while (waiting != NULL) {
        waiting->run(waiting);
        waiting = take(context);
    }
    return NULL;
}

enum status waiters_open(uint32_t thread_count, uint32_t queued_max, struct waiters **ret_waiters)
{
    struct waiters *waiters = memory_allocate_zeroed(
        1, sizeof *waiters + thread_count * sizeof *waiters->threads);
    if (waiters == NULL) {
        return STATUS_NO_MEMORY;
    }
    waiters->last = &waiters->first;
    waiters->queued_max = queued_max;
    ASSERT(pthread_mutex_init(&waiters->lock, NULL) == 0);
    ASSERT(pthread_cond_init(&waiters->changed, NULL) == 0);
    while (waiters->thread_count < thread_count) {
        pthread_t *thread = &waiters->threads[waiters->thread_count];
        if (pthread_create(thread, NULL, run, waiters) != 0) {
            waiters_close(waiters);
            return STATUS_NO_MEMORY;
        }
        waiters->thread_count++;
    }
    *ret_waiters = waiters;
    return STATUS_OK;
}

void waiters_close(struct waiters *waiters)
{
    if (waiters == NULL) {
        return;
    }
    (void)pthread_mutex_lock(&waiters->lock);
    waiters->is_closing = true;
    (void)pthread_cond_broadcast(&waiters->changed);
    (void)pthread_mutex_unlock(&waiters->lock);
    for (uint32_t i = 0; i < waiters->thread_count; i++) {
        (void)pthread_join(waiters->threads[i], NULL);
    }
    ASSERT(pthread_cond_destroy(&waiters->changed) == 0);
    ASSERT(pthread_mutex_destroy(&waiters->lock) == 0);
    memory_free(waiters);
}

bool waiters_add(struct waiters *waiters, struct waiting *waiting)
{
    (void)pthread_mutex_lock(&waiters->lock);
    bool has_room = waiters->queued < waiters->queued_max && !waiters->is_closing;
    if (has_room) {
        waiting->next = NULL;
        *waiters->last = waiting;
        waiters->last = &waiting->next;
        waiters->queued++;
        (void)pthread_cond_signal(&waiters->changed);
    }
    (void)pthread_mutex_unlock(&waiters->lock);
    return has_room;
}
