/*
 * The client's loop: one thread at a time runs everything that routes, batches and retries.
 *
 *   callers' threads --- loop_post -----> tasks --> [ whoever holds the loop ] <--- timers
 *   nng's callbacks ---- loop_post_run --^
 *
 * All routing, lanes, retries and completions happen while the loop is held, so none of it has a
 * lock.  A task lies in what it is about: posting allocates nothing and never fails.
 *
 * Most of the time the loop's own thread holds it.  A callback of nng's that brings an answer while
 * nobody does takes the loop itself instead of waking that thread, for what it brings and what
 * others bring meanwhile, up to a few rounds: with many small answers the change of threads costs
 * more than what there is to do.  So does a thread that gathers what it submits
 * (edubba_thread_gathers), when it says so.
 *
 * Invariants:
 *   (1) Tasks run in the order in which they were posted, each once per post; those posted to the
 *       thread have an order of their own.
 *   (2) on_settled runs after a batch of tasks and timers, before the loop is let go: that is where
 *       what was gathered is sent, which is what makes batches.
 *   (3) Tasks posted to the thread run on it and on no other: what waits for nng's callbacks must
 *       not run in one.
 *
 * Thread rule: loop_post from any thread; the timers and now_ns belong to who holds the loop.
 */
#ifndef CLIENT_LOOP_LOOP_H
#define CLIENT_LOOP_LOOP_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "client/core/timer_heap.h"
#include "common/base/status.h"

struct task {
    struct task *next;
    void (*run)(void *context, struct task *task);
};

struct task_queue {
    struct task *first;
    struct task **last;
};

struct loop {
    void *context; /* handed to tasks, timers and on_settled */
    void (*on_settled)(void *context);
    int64_t now_ns; /* as of the batch that runs */
    struct timer_heap timers;
    pthread_t thread;

    pthread_mutex_t lock;  /* guards the rest */
    pthread_cond_t wanted; /* by the thread: there is something for it, or the loop is free */
    struct task_queue tasks;
    struct task_queue thread_tasks;
    bool held;
    pthread_t holder;        /* while held */
    int64_t sleeps_until_ns; /* of the thread; INT64_MIN = it does not sleep */
    bool stopping;
};

/* Starts the thread.  Errors: STATUS_NO_MEMORY (no thread to be had). */
enum status loop_start(struct loop *loop, void *context, void (*on_settled)(void *context));

/* Runs what is posted, then ends the thread.  Not while holding the loop. */
void loop_stop(struct loop *loop);

/* When nobody can post any more: runs, in this thread, what was posted after the stop. */
void loop_deinit(struct loop *loop);

/* A task must not be posted again before it runs. */
void loop_post(struct loop *loop, struct task *task);

/* The same, and run it here, with what else is posted, if nobody holds the loop. */
void loop_post_run(struct loop *loop, struct task *task);

/* The same, and wake nobody: it runs with what else is, or with loop_run_posted(), which must
 * follow. */
void loop_post_quietly(struct loop *loop, struct task *task);

/* Run here what is posted, if nobody holds the loop.  Not while holding it. */
void loop_run_posted(struct loop *loop);

/* Run it on the loop's own thread. */
void loop_post_to_thread(struct loop *loop, struct task *task);

/* Does this thread hold the loop?  True in every task, timer, completion and on_settled. */
bool loop_is_held_here(struct loop *loop);

/* Is this the loop's own thread? */
bool loop_is_own_thread(const struct loop *loop);

void loop_set_timer(struct loop *loop, struct timer *timer, int64_t due_ns);
void loop_clear_timer(struct loop *loop, struct timer *timer);

#endif /* CLIENT_LOOP_LOOP_H */
