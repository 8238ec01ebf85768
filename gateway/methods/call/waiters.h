/*
 * Threads for what has to wait: calls of edubba.h that ask the master.
 *
 * A bounded queue and a few threads.  Who finds the queue full is told so, and tells its caller to
 * try again.
 *
 * Thread rule: any thread.
 */
#ifndef GATEWAY_METHODS_CALL_WAITERS_H
#define GATEWAY_METHODS_CALL_WAITERS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/status.h"

struct waiters;

/* Lies in what it is about. */
struct waiting {
    struct waiting *next;
    void (*run)(struct waiting *waiting); /* on one of the threads */
};

/* Errors: STATUS_NO_MEMORY. */
enum status waiters_open(uint32_t thread_count, uint32_t queued_max, struct waiters **ret_waiters);
/* Runs what is queued, then ends; NULL is fine. */
void waiters_close(struct waiters *waiters);

/* False: the queue is full, and run is not called. */
bool waiters_add(struct waiters *waiters, struct waiting *waiting);

#endif /* GATEWAY_METHODS_CALL_WAITERS_H */
