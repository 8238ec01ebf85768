/*
 * Worker threads: where reads are done, away from the store's loop and from nng's threads.
 *
 * Three queues: URGENT (point reads, evaluations) goes before PATIENT (slices of scans, which queue
 * up again after each slice), so scans never starve point reads.  To keep scans alive, one patient
 * job runs after every WORKER_URGENT_IN_A_ROW urgent ones.  PROMPT goes before both: what answers
 * questions about the cluster takes microseconds, and whoever asks is to be told however many reads
 * wait.  Queues hold what their owners embed: their number is bounded by the requests that the
 * transport lets in.
 *
 * A short job need not change threads: while a worker sleeps, the thread that brings the job may do
 * it in the worker's stead.  With many connections of one request each, waking a worker for every
 * request costs more than reading the row.
 *
 * Thread rule: submit and run_or_submit from any thread.
 */
#ifndef TABLETSERVER_SERVE_WORKER_POOL_H
#define TABLETSERVER_SERVE_WORKER_POOL_H

#include <stdint.h>

#include "common/base/status.h"

#define WORKER_URGENT_IN_A_ROW 32

struct worker_pool;

/* Embedded in whatever is to be done.  run may submit it again, or free it. */
struct job {
    struct job *next;
    void (*run)(struct job *job);
};

enum job_priority {
    JOB_URGENT,
    JOB_PATIENT,
    JOB_PROMPT,
};

enum status worker_pool_create(uint32_t thread_count, struct worker_pool **ret_pool);
void worker_pool_submit(struct worker_pool *pool, struct job *job, enum job_priority priority);

/* The same, urgent, but run here and now where a worker sleeps that would have to be woken for it.
 * For jobs that are short, most of the time: the caller does nothing else meanwhile. */
void worker_pool_run_or_submit(struct worker_pool *pool, struct job *job);

/* Run what is queued, then end the threads.  Nothing may be submitted from outside any more. */
void worker_pool_destroy(struct worker_pool *pool); /* NULL is fine */

#endif /* TABLETSERVER_SERVE_WORKER_POOL_H */
