#include "client/core/timer_heap.h"

#include <stddef.h>

/* Times in order as unsigned numbers. */
static uint64_t key_of(int64_t due_ns)
{
    return (uint64_t)due_ns ^ UINT64_C(1) << 63;
}

void timer_heap_clear(struct timer_heap *heap, struct timer *timer)
{
    if (timer->armed) {
        pairing_heap_remove(&heap->heap, &timer->node);
        timer->armed = false;
    }
}

void timer_heap_set(struct timer_heap *heap, struct timer *timer, int64_t due_ns)
{
    timer_heap_clear(heap, timer);
    timer->due_ns = due_ns;
    timer->armed = true;
    pairing_heap_insert(&heap->heap, &timer->node, key_of(due_ns));
}

struct timer *timer_heap_earliest(const struct timer_heap *heap)
{
    return (struct timer *)heap->heap.lowest;
}

struct timer *timer_heap_take_due(struct timer_heap *heap, int64_t now_ns)
{
    struct timer *timer = timer_heap_earliest(heap);
    if (timer == NULL || timer->due_ns > now_ns) {
        return NULL;
    }
    timer_heap_clear(heap, timer);
    return timer;
}
