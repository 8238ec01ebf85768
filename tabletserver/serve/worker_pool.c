#include "tabletserver/serve/worker_pool.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "common/base/assert.h"
#include "common/base/memory.h"
#include "common/io/thread.h"

struct job_queue {
    struct job *first;
    struct job *last;
};

struct worker_pool {
    pthread_mutex_t lock;
    pthread_cond_t work;
    struct job_queue queues[JOB_PROMPT + 1];
    /* Changed under the lock, but for the last; read without it. */
    atomic_uint urgent_count; /* that wait */
    atomic_uint idle_count;
    atomic_uint stand_in_count; /* other threads that work in an idle one's stead */
    uint32_t urgent_in_a_row;
    bool stopping;
    uint32_t thread_count;
    pthread_t threads[];
};

static void queue_push(struct job_queue *queue, struct job *job)
{
    job->next = NULL;
    if (queue->last == NULL) {
        queue->first = job;
    } else {
        queue->last->next = job;
    }
    queue->last = job;
}

static struct job *queue_pop(struct job_queue *queue)
{
    struct job *job = queue->first;
    if (job != NULL) {
        queue->first = job->next;
        if (queue->first == NULL) {
            queue->last = NULL;
        }
    }
    return job;
}

/* Under the lock. */
static struct job *take(struct worker_pool *pool, enum job_priority priority)
{
    struct job *job = queue_pop(&pool->queues[priority]);
    atomic_fetch_sub(&pool->urgent_count, priority == JOB_URGENT && job != NULL);
    return job;
}

static struct job *choose(struct worker_pool *pool)
{
    struct job *job = take(pool, JOB_PROMPT);
    if (job != NULL) {
        return job;
    }
    bool patient_first = pool->urgent_in_a_row >= WORKER_URGENT_IN_A_ROW;
    job = take(pool, patient_first ? JOB_PATIENT : JOB_URGENT);
    if (job == NULL) {
        patient_first = !patient_first;
        job = take(pool, patient_first ? JOB_PATIENT : JOB_URGENT);
    }
    pool->urgent_in_a_row = patient_first ? 0 : pool->urgent_in_a_row + 1;
    return job;
}

static void *work(void *argument)
{
    struct worker_pool *pool = argument;
    thread_name_set("worker");

    pthread_mutex_lock(&pool->lock);
    for (;;) {
        struct job *job = choose(pool);
        if (job != NULL) {
            pthread_mutex_unlock(&pool->lock);
            job->run(job);
            pthread_mutex_lock(&pool->lock);
        } else if (pool->stopping) {
            break;
        } else {
            atomic_fetch_add(&pool->idle_count, 1);
            pthread_cond_wait(&pool->work, &pool->lock);
            atomic_fetch_sub(&pool->idle_count, 1);
        }
    }
    pthread_mutex_unlock(&pool->lock);
    return NULL;
}

enum status worker_pool_create(uint32_t thread_count, struct worker_pool **ret_pool)
{
    ASSERT(thread_count > 0);
    struct worker_pool *pool = memory_allocate_zeroed(1, sizeof *pool +
                                                             thread_count * sizeof(pthread_t));
    if (pool == NULL) {
        return STATUS_NO_MEMORY;
    }
    pthread_mutex_init(&pool->lock, NULL);
    pthread_cond_init(&pool->work, NULL);
    for (uint32_t i = 0; i < thread_count; i++) {
        if (pthread_create(&pool->threads[i], NULL, work, pool) != 0) {
            worker_pool_destroy(pool);
            return STATUS_NO_MEMORY;
        }
        pool->thread_count += 1;
    }
    *ret_pool = pool;
    return STATUS_OK;
}

void worker_pool_submit(struct worker_pool *pool, struct job *job, enum job_priority priority)
{
    pthread_mutex_lock(&pool->lock);
    queue_push(&pool->queues[priority], job);
    atomic_fetch_add(&pool->urgent_count, priority == JOB_URGENT);
    bool wake = atomic_load(&pool->idle_count) > 0;
    pthread_mutex_unlock(&pool->lock);
    if (wake) {
        pthread_cond_signal(&pool->work);
    }
}

/* A look without the lock: at worst a thread too many works, or one too few, for a job. */
static bool may_stand_in(struct worker_pool *pool)
{
    if (atomic_load(&pool->urgent_count) > 0) {
        return false;
    }
    bool may = atomic_fetch_add(&pool->stand_in_count, 1) < atomic_load(&pool->idle_count);
    atomic_fetch_sub(&pool->stand_in_count, !may);
    return may;
}

void worker_pool_run_or_submit(struct worker_pool *pool, struct job *job)
{
    if (!may_stand_in(pool)) {
        worker_pool_submit(pool, job, JOB_URGENT);
        return;
    }
    job->run(job);
    atomic_fetch_sub(&pool->stand_in_count, 1);
}

void worker_pool_destroy(struct worker_pool *pool)
{
    if (pool == NULL) {
        return;
    }
    pthread_mutex_lock(&pool->lock);
    pool->stopping = true;
    pthread_mutex_unlock(&pool->lock);
    pthread_cond_broadcast(&pool->work);
    for (uint32_t i = 0; i < pool->thread_count; i++) {
        pthread_join(pool->threads[i], NULL);
    }
    pthread_cond_destroy(&pool->work);
    pthread_mutex_destroy(&pool->lock);
    memory_free(pool);
}
