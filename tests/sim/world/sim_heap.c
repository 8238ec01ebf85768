#include "tests/sim/world/sim_heap.h"

#include "common/base/assert.h"
#include "common/base/memory.h"

static bool is_earlier(const struct sim_event *a, const struct sim_event *b)
{
    return a->time_ns != b->time_ns ? a->time_ns < b->time_ns : a->order < b->order;
}

void sim_heap_deinit(struct sim_heap *heap)
{
    for (uint32_t i = 0; i < heap->count; i++) {
        buffer_deinit(&heap->events[i].message);
    }
    memory_free(heap->events);
    *heap = (struct sim_heap){0};
}

void sim_heap_add(struct sim_heap *heap, const struct sim_event *event)
{
    if (heap->count == heap->capacity) {
        heap->capacity = heap->capacity * 2 + 64;
        heap->events = memory_resize(heap->events, heap->capacity * sizeof *heap->events);
        ASSERT(heap->events != NULL);
    }
    uint32_t at = heap->count++;
    struct sim_event added = *event;
    added.order = heap->order_next++;
    while (at > 0 && is_earlier(&added, &heap->events[(at - 1) / 2])) {
        heap->events[at] = heap->events[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    heap->events[at] = added;
}

/* They stay where they are, and mean nothing. */
void sim_heap_drop_messages(struct sim_heap *heap, uint32_t from, uint32_t to)
{
    for (uint32_t i = 0; i < heap->count; i++) {
        struct sim_event *event = &heap->events[i];
        if (event->kind == SIM_EVENT_MESSAGE && event->from == from && event->node == to) {
            event->life = UINT32_MAX;
        }
    }
}

bool sim_heap_take(struct sim_heap *heap, struct sim_event *ret_event)
{
    if (heap->count == 0) {
        return false;
    }
    *ret_event = heap->events[0];
    struct sim_event last = heap->events[--heap->count];
    uint32_t at = 0;
    for (uint32_t child = 1; child < heap->count; child = 2 * at + 1) {
        if (child + 1 < heap->count && is_earlier(&heap->events[child + 1], &heap->events[child])) {
            child++;
        }
        if (!is_earlier(&heap->events[child], &last)) {
            break;
        }
        heap->events[at] = heap->events[child];
        at = child;
    }
    heap->events[at] = last;
    return true;
}
