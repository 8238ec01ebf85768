/*
 * A thread that starts the requests of some clients.
 *
 * In the open loop request n is due at a time that depends on n alone.  Where no slot is free then,
 * it is sent as soon as one is, and its latency still counts from the time it was due.
 *
 * Thread rule: load_starter_take() any thread; start and join the main thread.
 */
#ifndef CLIENT_LOAD_STARTER_H
#define CLIENT_LOAD_STARTER_H

#include "client/load/run.h"

#define LOAD_STARTER_LOOK_NS INT64_C(50000000) /* how soon a stop is seen */

/* An open loop looks no more often than this for what is due, or for a free slot: to be woken for
 * every single request would cost more than the request.  The wait counts as latency. */
#define LOAD_STARTER_TICK_NS INT64_C(250000)

/* A thread with as many slots or fewer is woken by each that comes back, as in the closed loop. */
#define LOAD_STARTER_FEW_SLOTS 32

/* What became due so shortly before the end, and was not sent, does not count as late. */
#define LOAD_STARTER_GRACE_NS INT64_C(10000000)

struct load_starter {
    struct load_run *run;
    struct load_schedule schedule;
    /* Clients with a free slot, which take turns, so that each connection has its part. */
    struct load_client *first;
    struct load_client *last;
    uint64_t slot_count;
    uint64_t parked;
    int64_t looked_ns; /* when it last woke */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool is_waiting;
    bool is_running;
    pthread_t thread;
};

/* A slot of its own, before the start. */
void load_starter_add(struct load_starter *starter, struct load_slot *slot);

/* False: no thread to be had. */
bool load_starter_start(struct load_starter *starter);
void load_starter_join(struct load_starter *starter);

#endif /* CLIENT_LOAD_STARTER_H */
