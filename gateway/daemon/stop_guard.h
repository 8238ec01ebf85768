/*
 * Ends the process when stopping takes longer than it may.
 *
 * For a process that has nothing to lose: what it waits for is elsewhere, and may be away for long.
 */
#ifndef GATEWAY_DAEMON_STOP_GUARD_H
#define GATEWAY_DAEMON_STOP_GUARD_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

struct stop_guard {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int64_t patience_ns;
    bool is_running; /* there is a thread */
    bool is_ended;   /* under lock */
};

/* From now on; stays where it is until stop_guard_end().  Without memory there is no guard. */
void stop_guard_begin(struct stop_guard *guard, int64_t patience_ns);
void stop_guard_end(struct stop_guard *guard);

#endif /* GATEWAY_DAEMON_STOP_GUARD_H */
