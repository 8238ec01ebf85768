#include "client/loop.h"

#include <time.h>

#include "common/io/clock.h"
#include "common/io/thread_name.h"

#define NS_PER_SECOND INT64_C(1000000000)

/* Sleep until something is posted or due_ns; with the lock held. */
static void sleep_until(struct loop *loop, int64_t due_ns)
{
    if (due_ns == INT64_MAX) {
        pthread_cond_wait(&loop->posted, &loop->lock);
        return;
    }
    int64_t wait_ns = due_ns - clock_monotonic_ns();
    if (wait_ns <= 0) {
        return;
    }
    struct timespec until;
    (void)clock_gettime(CLOCK_MONOTONIC, &until);
    int64_t at_ns = (int64_t)until.tv_nsec + wait_ns;
    until.tv_sec += (time_t)(at_ns / NS_PER_SECOND);
    until.tv_nsec = (long)(at_ns % NS_PER_SECOND);
    pthread_cond_timedwait(&loop->posted, &loop->lock, &until);
}

/* Everything posted, waiting for it until the earliest timer; *ret_stop: nothing more will come. */
static struct task *take_all(struct loop *loop, bool *ret_stop)
{
    const struct timer *earliest = timer_heap_earliest(&loop->timers);
    int64_t due_ns = earliest != NULL ? earliest->due_ns : INT64_MAX;
    pthread_mutex_lock(&loop->lock);
    if (loop->first == NULL && !loop->stopping) {
        loop->sleeping = true;
        sleep_until(loop, due_ns);
        loop->sleeping = false;
    }
    struct task *tasks = loop->first;
    loop->first = NULL;
    loop->last = &loop->first;
    *ret_stop = loop->stopping && tasks == NULL;
    pthread_mutex_unlock(&loop->lock);
    return tasks;
}

static void run_tasks(struct loop *loop, struct task *task)
{
    while (task != NULL) {
        struct task *next = task->next;
        task->run(loop->context, task);
        task = next;
    }
}

static void *run_loop(void *argument)
{
    struct loop *loop = argument;
    bool stop = false;
    thread_name_set("edubba");
    while (!stop) {
        struct task *task = take_all(loop, &stop);
        loop->now_ns = clock_monotonic_ns();
        run_tasks(loop, task);
        for (;;) {
            struct timer *timer = timer_heap_take_due(&loop->timers, loop->now_ns);
            if (timer == NULL) {
                break;
            }
            timer->run(loop->context, timer);
        }
        loop->on_settled(loop->context);
    }
    return NULL;
}

enum status loop_start(struct loop *loop, void *context, void (*on_settled)(void *context))
{
    pthread_condattr_t monotonic;
    *loop = (struct loop){.context = context, .on_settled = on_settled};
    loop->last = &loop->first;
    loop->now_ns = clock_monotonic_ns();
    pthread_mutex_init(&loop->lock, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&loop->posted, &monotonic);
    pthread_condattr_destroy(&monotonic);
    if (pthread_create(&loop->thread, NULL, run_loop, loop) != 0) {
        pthread_cond_destroy(&loop->posted);
        pthread_mutex_destroy(&loop->lock);
        return STATUS_NO_MEMORY;
    }
    return STATUS_OK;
}

void loop_stop(struct loop *loop)
{
    pthread_mutex_lock(&loop->lock);
    loop->stopping = true;
    pthread_cond_signal(&loop->posted);
    pthread_mutex_unlock(&loop->lock);
    pthread_join(loop->thread, NULL);
}

void loop_deinit(struct loop *loop)
{
    bool stop = false;
    run_tasks(loop, take_all(loop, &stop));
    pthread_cond_destroy(&loop->posted);
    pthread_mutex_destroy(&loop->lock);
}

void loop_post(struct loop *loop, struct task *task)
{
    task->next = NULL;
    pthread_mutex_lock(&loop->lock);
    *loop->last = task;
    loop->last = &task->next;
    bool asleep = loop->sleeping;
    loop->sleeping = false;
    pthread_mutex_unlock(&loop->lock);
    if (asleep) {
        pthread_cond_signal(&loop->posted); /* unlocked: it would wake only to wait for the lock */
    }
}

bool loop_is_current_thread(const struct loop *loop)
{
    return pthread_equal(pthread_self(), loop->thread) != 0;
}

void loop_set_timer(struct loop *loop, struct timer *timer, int64_t due_ns)
{
    timer_heap_set(&loop->timers, timer, due_ns);
}

void loop_clear_timer(struct loop *loop, struct timer *timer)
{
    timer_heap_clear(&loop->timers, timer);
}
