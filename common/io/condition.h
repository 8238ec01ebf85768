/*
 * Conditions on which waits end by CLOCK_MONOTONIC, that nobody can set.  It stands still while the machine is suspended,
 * and clock_monotonic_ns() does not: a time of that has to be carried over as what is left of it.
 *
 * Thread rule: any thread.
 */
#ifndef COMMON_IO_CONDITION_H
#define COMMON_IO_CONDITION_H

#include <pthread.h>
#include <stdint.h>
#include <time.h>

/* pthread_cond_destroy() ends it.  With glibc it cannot fail. */
void condition_init(pthread_cond_t *condition);

/* So long from now, for pthread_cond_timedwait(); below 0: now. */
struct timespec condition_time_in(int64_t ns);

#endif /* COMMON_IO_CONDITION_H */
