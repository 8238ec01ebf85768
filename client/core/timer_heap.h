/*
 * Timers, earliest first: a pairing heap (Fredman et al., 1986) whose nodes lie in what they time.
 *
 * Nothing is allocated, so nothing fails.  Adding is O(1), removing O(log n) amortised.
 *
 * This module is pure.  Thread rule: one owner.
 */
#ifndef CLIENT_CORE_TIMER_HEAP_H
#define CLIENT_CORE_TIMER_HEAP_H

#include <stdbool.h>
#include <stdint.h>

struct timer {
    int64_t due_ns;
    void (*run)(void *context, struct timer *timer);
    struct timer *child;
    struct timer *next;     /* sibling */
    struct timer *previous; /* sibling, or the parent of a first child */
    bool armed;
};

struct timer_heap {
    struct timer *earliest; /* NULL = empty */
};

/* Arm, or move, to due_ns. */
void timer_heap_set(struct timer_heap *heap, struct timer *timer, int64_t due_ns);

/* One that is not armed is left alone. */
void timer_heap_clear(struct timer_heap *heap, struct timer *timer);

/* Take the earliest one out if it is due; NULL if none is. */
struct timer *timer_heap_take_due(struct timer_heap *heap, int64_t now_ns);

#endif /* CLIENT_CORE_TIMER_HEAP_H */
