/*
 * Which inserted rows may be read: all below the lowest that is still on its way, as YCSB's
 * AcknowledgedCounterGenerator has it.
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
};

/* False: no memory. */
bool load_inserts_init(struct load_inserts *inserts, uint64_t first, bool is_asked);
void load_inserts_deinit(struct load_inserts *inserts);

static inline uint64_t load_inserts_take(struct load_inserts *inserts)
{
    return atomic_fetch_add_explicit(&inserts->next, 1, memory_order_relaxed);
}

void load_inserts_end(struct load_inserts *inserts, uint64_t number);

static inline uint64_t load_inserts_readable(const struct load_inserts *inserts)
{
    return atomic_load_explicit(&inserts->readable, memory_order_acquire);
}

#endif /* CLIENT_LOAD_INSERTS_H */
