/*
 * Timers, earliest first, in a pairing heap (common/base/pairing_heap.h): nothing is allocated, so
 * nothing fails.
 *
 * This module is pure.  Thread rule: one owner.
 */
#ifndef CLIENT_CORE_TIMER_HEAP_H
#define CLIENT_CORE_TIMER_HEAP_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/pairing_heap.h"

struct timer {
    struct pairing_node node; /* first: the heap's node is the timer */
    int64_t due_ns;
    void (*run)(void *context, struct timer *timer);
    bool armed;
};

struct timer_heap {
    struct pairing_heap heap;
};

/* Arm, or move, to due_ns. */
void timer_heap_set(struct timer_heap *heap, struct timer *timer, int64_t due_ns);

/* One that is not armed is left alone. */
void timer_heap_clear(struct timer_heap *heap, struct timer *timer);

/* NULL = no timer is armed. */
struct timer *timer_heap_earliest(const struct timer_heap *heap);

/* Take the earliest one out if it is due; NULL if none is. */
struct timer *timer_heap_take_due(struct timer_heap *heap, int64_t now_ns);

#endif /* CLIENT_CORE_TIMER_HEAP_H */
