#include "client/core/timer_heap.h"

#include <stddef.h>

#include "common/base/assert.h"

/* Two trees into one; NULL is the empty tree. */
static struct timer *meld(struct timer *a, struct timer *b)
{
    if (a == NULL || b == NULL) {
        return a != NULL ? a : b;
    }
    if (b->due_ns < a->due_ns) {
        struct timer *earlier = b;
        b = a;
        a = earlier;
    }
    b->previous = a;
    b->next = a->child;
    if (a->child != NULL) {
        a->child->previous = b;
    }
    a->child = b;
    return a;
}

/* All siblings into one tree: in pairs from the left, then the pairs from the right. */
static struct timer *meld_siblings(struct timer *first)
{
    struct timer *pairs = NULL;
    while (first != NULL) {
        struct timer *a = first;
        struct timer *b = a->next;
        first = b != NULL ? b->next : NULL;
        a->next = NULL;
        a->previous = NULL;
        if (b != NULL) {
            b->next = NULL;
            b->previous = NULL;
        }
        struct timer *pair = meld(a, b);
        pair->next = pairs;
        pairs = pair;
    }
    struct timer *all = NULL;
    while (pairs != NULL) {
        struct timer *pair = pairs;
        pairs = pair->next;
        pair->next = NULL;
        all = meld(all, pair);
    }
    return all;
}

void timer_heap_clear(struct timer_heap *heap, struct timer *timer)
{
    if (!timer->armed) {
        return;
    }
    struct timer *children = meld_siblings(timer->child);
    if (heap->earliest == timer) {
        heap->earliest = children;
    } else {
        ASSERT(timer->previous != NULL);
        if (timer->previous->child == timer) {
            timer->previous->child = timer->next;
        } else {
            timer->previous->next = timer->next;
        }
        if (timer->next != NULL) {
            timer->next->previous = timer->previous;
        }
        heap->earliest = meld(heap->earliest, children);
    }
    timer->child = NULL;
    timer->next = NULL;
    timer->previous = NULL;
    timer->armed = false;
}

void timer_heap_set(struct timer_heap *heap, struct timer *timer, int64_t due_ns)
{
    timer_heap_clear(heap, timer);
    timer->due_ns = due_ns;
    timer->armed = true;
    heap->earliest = meld(heap->earliest, timer);
}

struct timer *timer_heap_take_due(struct timer_heap *heap, int64_t now_ns)
{
    struct timer *timer = heap->earliest;
    if (timer == NULL || timer->due_ns > now_ns) {
        return NULL;
    }
    timer_heap_clear(heap, timer);
    return timer;
}
