/*
 * Which inserted rows may be read: all below the lowest that is still on its way, as YCSB's
 * AcknowledgedCounterGenerator has it.
 *
 * An insert that has failed, or may have, leaves no hole: its number is given to the next one that
 * begins.  (YCSB counts it as made; then rows would be looked for that are not there.)
 *
 * Thread rule: any thread.
 */
#ifndef CLIENT_LOAD_INSERTS_H
#define CLIENT_LOAD_INSERTS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define LOAD_INSERTS_WINDOW (1U << 20) /* more than can be in flight */

struct load_inserts {
    _Atomic uint64_t next;
    _Atomic uint64_t readable; /* numbers below are there */
    pthread_mutex_t lock;
    bool *ended; /* by number modulo the window; NULL = nobody asks */
    uint64_t *failed;
    _Atomic uint64_t failed_count; /* at most as many as can be in flight */
};

/* in_flight: inserts at a time, at most; 0 = nobody asks which may be read.  False: no memory. */
bool load_inserts_init(struct load_inserts *inserts, uint64_t first, uint64_t in_flight);
void load_inserts_deinit(struct load_inserts *inserts);

/* The number of the next one. */
uint64_t load_inserts_take(struct load_inserts *inserts);

/* is_made: the row is there; else it is not, or nobody knows. */
void load_inserts_end(struct load_inserts *inserts, uint64_t number, bool is_made);

static inline uint64_t load_inserts_readable(const struct load_inserts *inserts)
{
    return atomic_load_explicit(&inserts->readable, memory_order_acquire);
}

#endif /* CLIENT_LOAD_INSERTS_H */
