/* Timers against a list that is searched. */
#include <criterion/criterion.h>

#include "client/core/timer_heap.h"
#include "common/base/prng.h"

#define TIMERS 300

static struct timer timers[TIMERS];

static int64_t earliest_armed(void)
{
    int64_t earliest = INT64_MAX;
    for (int i = 0; i < TIMERS; i++) {
        if (timers[i].armed && timers[i].due_ns < earliest) {
            earliest = timers[i].due_ns;
        }
    }
    return earliest;
}

Test(timer_heap, random_sets_clears_and_takes)
{
    struct timer_heap heap = {0};
    struct prng prng = prng_of_seed(11);
    int64_t now_ns = 0;
    for (int step = 0; step < 100000; step++) {
        struct timer *timer = &timers[prng_below(&prng, TIMERS)];
        switch (prng_below(&prng, 4)) {
        case 0:
        case 1:
            timer_heap_set(&heap, timer, now_ns + (int64_t)prng_below(&prng, 1000));
            break;
        case 2:
            timer_heap_clear(&heap, timer);
            cr_assert_not(timer->armed);
            break;
        default:
            now_ns += (int64_t)prng_below(&prng, 20);
            int64_t expected = earliest_armed();
            struct timer *due = timer_heap_take_due(&heap, now_ns);
            cr_assert_eq(due != NULL, expected <= now_ns);
            if (due != NULL) {
                cr_assert_eq(due->due_ns, expected);
                cr_assert_not(due->armed);
            }
            break;
        }
        const struct timer *earliest = timer_heap_earliest(&heap);
        cr_assert_eq(earliest != NULL ? earliest->due_ns : INT64_MAX, earliest_armed());
    }
}

/* How they come in practice: the same patience for all, so in order, and taken from the front. */
Test(timer_heap, a_long_queue_in_order)
{
    enum {
        COUNT = 200000
    };
    static struct timer queue[COUNT];
    struct timer_heap heap = {0};
    for (int i = 0; i < COUNT; i++) {
        timer_heap_set(&heap, &queue[i], i);
    }
    for (int i = 0; i < COUNT; i++) {
        cr_assert_eq(timer_heap_earliest(&heap), &queue[i]);
        timer_heap_clear(&heap, &queue[i]);
    }
    cr_assert_null(timer_heap_earliest(&heap));
}
