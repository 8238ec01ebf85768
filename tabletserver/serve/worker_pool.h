/*
 * Worker threads: where reads are done, away from the store's loop and from nng's threads.
 *
 * Two queues: URGENT (point reads, evaluations, small requests) goes before PATIENT (slices of
 * scans, which queue up again after each slice), so scans never starve point reads.  To keep scans
 * alive, one patient job runs after every WORKER_URGENT_IN_A_ROW urgent ones.  Queues hold what
 * their owners embed: their number is bounded by the requests that the transport lets in.
 *
 * Thread rule: submit from any thread.
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
};

enum status worker_pool_create(uint32_t thread_count, struct worker_pool **ret_pool);
void worker_pool_submit(struct worker_pool *pool, struct job *job, enum job_priority priority);

/* Run what is queued, then end the threads.  Nothing may be submitted from outside any more. */
void worker_pool_destroy(struct worker_pool *pool); /* NULL is fine */

#endif /* TABLETSERVER_SERVE_WORKER_POOL_H */
