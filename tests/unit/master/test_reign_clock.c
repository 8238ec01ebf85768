/* The time of a reign's catalog: it stands while nobody is heard. */
#include <criterion/criterion.h>

#include "master/core/catalog.h"
#include "master/shell/reign_clock.h"

#define SECOND_NS INT64_C(1000000000)

Test(reign_clock, it_runs_while_others_are_heard)
{
    struct reign_clock clock;
    reign_clock_start(&clock, 5 * SECOND_NS);
    for (int64_t i = 1; i <= 100; i++) {
        int64_t now_ns = 5 * SECOND_NS + i * SECOND_NS / 2;
        cr_assert_eq(reign_clock_look(&clock, now_ns, true), now_ns);
        cr_assert_eq(reign_clock_look(&clock, now_ns - 1, true), now_ns, "it never goes back");
        cr_assert_eq(reign_clock_of(&clock, now_ns + 7), now_ns + 7);
        cr_assert_eq(reign_clock_when(&clock, now_ns + 7), now_ns + 7);
    }
}

Test(reign_clock, it_stands_while_suspended)
{
    struct reign_clock clock;
    reign_clock_start(&clock, 0);
    int64_t before_ns = reign_clock_look(&clock, SECOND_NS / 2, true);
    for (int64_t i = 1; i <= 100; i++) {
        cr_assert_eq(reign_clock_look(&clock, i * SECOND_NS, false), before_ns);
    }
    cr_assert_eq(reign_clock_look(&clock, 100 * SECOND_NS + 20, true), before_ns + 20);

    /* What was to be done then is due by as much later; what is asked for now has its time from now on. */
    cr_assert_eq(reign_clock_when(&clock, before_ns + 30), 100 * SECOND_NS + 30);
    cr_assert_eq(reign_clock_of(&clock, 101 * SECOND_NS), before_ns + SECOND_NS);
    cr_assert_eq(reign_clock_when(&clock, CATALOG_NEVER), CATALOG_NEVER);
}

Test(reign_clock, a_process_that_was_frozen_has_heard_nobody)
{
    struct reign_clock clock;
    reign_clock_start(&clock, 0);
    cr_assert_eq(reign_clock_look(&clock, 90 * SECOND_NS, true), REIGN_CLOCK_STRIDE_NS_MAX);
    cr_assert_eq(reign_clock_when(&clock, 2 * SECOND_NS), 91 * SECOND_NS);
}
