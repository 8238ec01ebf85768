/*
 * The client's one thread of its own.
 *
 *   callers' threads, nng's callbacks --- loop_post ---> tasks --> [ loop thread ] <--- timers
 *
 * All routing, lanes, retries and completions live on this thread, so none of it has a lock.  A
 * task lies in what it is about: posting allocates nothing and never fails.
 *
 * Invariants:
 *   (1) Tasks run in the order in which they were posted, each once per post.
 *   (2) on_settled runs after a batch of tasks and timers, before the thread sleeps: that is where
 *       what was gathered is sent, which is what makes batches.
 *
 * Thread rule: loop_post from any thread; the timers and now_ns belong to the loop thread.
 */
#ifndef CLIENT_LOOP_H
#define CLIENT_LOOP_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "client/core/timer_heap.h"
#include "common/base/status.h"

struct task {
    struct task *next;
    void (*run)(void *context, struct task *task);
};

struct loop {
    void *context; /* handed to tasks, timers and on_settled */
    void (*on_settled)(void *context);
    int64_t now_ns; /* as of the batch that runs */
    struct timer_heap timers;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t posted;
    struct task *first;
    struct task **last;
    bool sleeping;
    bool stopping;
};

/* Starts the thread.  Errors: STATUS_NO_MEMORY (no thread to be had). */
enum status loop_start(struct loop *loop, void *context, void (*on_settled)(void *context));

/* Runs what is posted, then ends the thread.  Not from the loop thread. */
void loop_stop(struct loop *loop);

/* When nobody can post any more: runs, in this thread, what was posted after the stop. */
void loop_deinit(struct loop *loop);

/* A task must not be posted again before it runs. */
void loop_post(struct loop *loop, struct task *task);

bool loop_is_current_thread(const struct loop *loop);

void loop_set_timer(struct loop *loop, struct timer *timer, int64_t due_ns);
void loop_clear_timer(struct loop *loop, struct timer *timer);

#endif /* CLIENT_LOOP_H */
