#include "client/loop/loop.h"

#include <time.h>

#include "common/io/clock.h"
#include "common/io/condition.h"
#include "common/io/thread.h"

#define AWAKE INT64_MIN

/* Rounds that another thread runs at the most before it goes back to its own work. */
#define ROUNDS_MAX 16

static void queue_init(struct task_queue *queue)
{
    queue->first = NULL;
    queue->last = &queue->first;
}

static void queue_push(struct task_queue *queue, struct task *task)
{
    task->next = NULL;
    *queue->last = task;
    queue->last = &task->next;
}

static struct task *queue_take(struct task_queue *queue)
{
    struct task *first = queue->first;
    queue_init(queue);
    return first;
}

static void run_tasks(struct loop *loop, struct task *task)
{
    while (task != NULL) {
        struct task *next = task->next;
        task->run(loop->context, task);
        task = next;
    }
}

/* --- holding ---------------------------------------------------------------------------------- */

/* With the lock. */
static struct task *hold(struct loop *loop)
{
    loop->held = true;
    loop->holder = pthread_self();
    return queue_take(&loop->tasks);
}

static int64_t earliest_due_ns(const struct loop *loop)
{
    const struct timer *earliest = timer_heap_earliest(&loop->timers);
    return earliest != NULL ? earliest->due_ns : INT64_MAX;
}

/* Unlocks.  The thread is woken when it sleeps and there is something for it to do: not with the
 * lock held, for it would wake only to wait for it. */
static void unlock_and_wake(struct loop *loop, bool wanted)
{
    bool wake = wanted && loop->sleeps_until_ns != AWAKE;
    if (wake) {
        loop->sleeps_until_ns = AWAKE;
    }
    pthread_mutex_unlock(&loop->lock);
    if (wake) {
        pthread_cond_signal(&loop->wanted);
    }
}

/* While the loop is held. */
static void run_round(struct loop *loop, struct task *task)
{
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

/* --- the thread ------------------------------------------------------------------------------- */

/* Sleep until the thread is wanted or due_ns; with the lock held. */
static void sleep_until(struct loop *loop, int64_t due_ns)
{
    if (due_ns == INT64_MAX) {
        pthread_cond_wait(&loop->wanted, &loop->lock);
        return;
    }
    int64_t wait_ns = due_ns - clock_monotonic_ns();
    if (wait_ns <= 0) {
        return;
    }
    const struct timespec until = condition_time_in(wait_ns);
    pthread_cond_timedwait(&loop->wanted, &loop->lock, &until);
}

/* With the lock held and the loop free: is there anything to do now? */
static bool is_idle(const struct loop *loop)
{
    return loop->tasks.first == NULL && loop->thread_tasks.first == NULL && !loop->stopping &&
           clock_monotonic_ns() < earliest_due_ns(loop);
}

/* With the lock held: wait until the loop is free and there is something to do. */
static void wait_for_work(struct loop *loop)
{
    while (loop->held || is_idle(loop)) {
        /* Whoever holds the loop sets timers meanwhile, and looks at this when letting it go. */
        int64_t due_ns = loop->held ? INT64_MAX : earliest_due_ns(loop);
        loop->sleeps_until_ns = due_ns;
        sleep_until(loop, due_ns);
        loop->sleeps_until_ns = AWAKE;
    }
}

static void *run_loop(void *argument)
{
    struct loop *loop = argument;
    thread_name_set("edubba");
    pthread_mutex_lock(&loop->lock);
    for (;;) {
        wait_for_work(loop);
        struct task *task = hold(loop);
        struct task *own = queue_take(&loop->thread_tasks);
        bool stop = loop->stopping && task == NULL && own == NULL;
        pthread_mutex_unlock(&loop->lock);
        run_tasks(loop, own);
        run_round(loop, task);
        pthread_mutex_lock(&loop->lock);
        loop->held = false;
        if (stop) {
            break;
        }
    }
    pthread_mutex_unlock(&loop->lock);
    return NULL;
}

enum status loop_start(struct loop *loop, void *context, void (*on_settled)(void *context))
{
    *loop = (struct loop){.context = context, .on_settled = on_settled};
    queue_init(&loop->tasks);
    queue_init(&loop->thread_tasks);
    loop->now_ns = clock_monotonic_ns();
    loop->sleeps_until_ns = AWAKE;
    pthread_mutex_init(&loop->lock, NULL);
    condition_init(&loop->wanted);
    if (pthread_create(&loop->thread, NULL, run_loop, loop) != 0) {
        pthread_cond_destroy(&loop->wanted);
        pthread_mutex_destroy(&loop->lock);
        return STATUS_NO_MEMORY;
    }
    return STATUS_OK;
}

void loop_stop(struct loop *loop)
{
    pthread_mutex_lock(&loop->lock);
    loop->stopping = true;
    unlock_and_wake(loop, true);
    pthread_join(loop->thread, NULL);
}

static struct task *take_locked(struct loop *loop, struct task_queue *queue)
{
    pthread_mutex_lock(&loop->lock);
    struct task *first = queue_take(queue);
    pthread_mutex_unlock(&loop->lock);
    return first;
}

void loop_deinit(struct loop *loop)
{
    /* The thread's first: when they have run, no callback of nng's posts any more. */
    run_tasks(loop, take_locked(loop, &loop->thread_tasks));
    run_tasks(loop, take_locked(loop, &loop->tasks));
    pthread_cond_destroy(&loop->wanted);
    pthread_mutex_destroy(&loop->lock);
}

/* --- posting ---------------------------------------------------------------------------------- */

void loop_post(struct loop *loop, struct task *task)
{
    pthread_mutex_lock(&loop->lock);
    queue_push(&loop->tasks, task);
    unlock_and_wake(loop, !loop->held);
}

void loop_post_to_thread(struct loop *loop, struct task *task)
{
    pthread_mutex_lock(&loop->lock);
    queue_push(&loop->thread_tasks, task);
    unlock_and_wake(loop, !loop->held);
}

void loop_post_quietly(struct loop *loop, struct task *task)
{
    pthread_mutex_lock(&loop->lock);
    queue_push(&loop->tasks, task);
    pthread_mutex_unlock(&loop->lock);
}

/* With the lock, which it lets go. */
static void run_here(struct loop *loop)
{
    if (loop->held || loop->stopping) {
        unlock_and_wake(loop, !loop->held);
        return;
    }
    struct task *tasks = hold(loop);
    for (int round = 1; tasks != NULL; round++) {
        pthread_mutex_unlock(&loop->lock);
        run_round(loop, tasks);
        pthread_mutex_lock(&loop->lock);
        /* What other callbacks brought meanwhile: the thread need not wake for it. */
        tasks = round < ROUNDS_MAX ? queue_take(&loop->tasks) : NULL;
    }
    loop->held = false;
    unlock_and_wake(loop, loop->tasks.first != NULL || loop->thread_tasks.first != NULL ||
                              loop->stopping || earliest_due_ns(loop) < loop->sleeps_until_ns);
}

void loop_post_run(struct loop *loop, struct task *task)
{
    pthread_mutex_lock(&loop->lock);
    queue_push(&loop->tasks, task);
    run_here(loop);
}

void loop_run_posted(struct loop *loop)
{
    pthread_mutex_lock(&loop->lock);
    if (loop->tasks.first != NULL) {
        run_here(loop);
    } else {
        pthread_mutex_unlock(&loop->lock);
    }
}

bool loop_is_held_here(struct loop *loop)
{
    pthread_mutex_lock(&loop->lock);
    bool here = loop->held && pthread_equal(loop->holder, pthread_self());
    pthread_mutex_unlock(&loop->lock);
    return here;
}

bool loop_is_own_thread(const struct loop *loop)
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
