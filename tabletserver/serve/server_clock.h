/*
 * The tablet server's time: the machine's clocks, read into one that does not leap
 * (common/base/steady_clock.h).  All that the server stamps, expires or tells clients is in it.
 *
 * Thread rule: any thread.
 */
#ifndef TABLETSERVER_SERVE_SERVER_CLOCK_H
#define TABLETSERVER_SERVE_SERVER_CLOCK_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/base/steady_clock.h"

struct server_clock {
    pthread_mutex_t lock;
    struct steady_clock steady;
    bool witnessed;
};

void server_clock_init(struct server_clock *clock);
void server_clock_deinit(struct server_clock *clock);

/* Since 1970.  The log is told when the machine's clock begins or ceases to be doubted, so it must
 * be read a few times a second, whether or not anybody wants to know. */
int64_t server_clock_now_us(struct server_clock *clock);

/* A master has been reached, and says what time it is there (0 = it does not).  Only the first one
 * counts: see steady_clock_witness(). */
void server_clock_witness(struct server_clock *clock, int64_t master_us);

/* May something be erased because it is old?  Not before a master has been reached, and not while
 * the machine's clock is doubted. */
bool server_clock_is_trusted(struct server_clock *clock);

/* Of the last reading: whether the machine's clock is doubted, and how far it was ahead. */
bool server_clock_is_doubted(struct server_clock *clock, int64_t *ret_apart_us);

#endif /* TABLETSERVER_SERVE_SERVER_CLOCK_H */
