#include <criterion/criterion.h>

#include "tabletserver/peer/beacon_due.h"

#define MS INT64_C(1000000)

/* What the thread does with one step at now_ns; how often the lease was asked rises. */
static void take_step(struct beacon_due *due, int64_t now_ns, int64_t deadline_ns, uint32_t *asked)
{
    beacon_due_note_step(due, false);
    if (beacon_due_is_unsure(due, now_ns)) {
        beacon_due_reckon(due, deadline_ns, now_ns);
        *asked += 1;
    }
}

Test(beacon_due, of_very_many_steps_the_lease_is_asked_after_few)
{
    struct beacon_due due = beacon_due_begin();
    uint32_t asked = 0;
    int64_t now_ns = 1000 * MS;
    for (uint32_t i = 0; i < 20000; i++) {
        now_ns += MS / 100; /* 200 ms in all */
        take_step(&due, now_ns, now_ns + 250 * MS, &asked);
    }
    cr_assert_leq(asked, 41);
    cr_assert_geq(asked, 39);
}

Test(beacon_due, what_a_step_has_brought_forward_is_seen_soon)
{
    struct beacon_due due = beacon_due_begin();
    uint32_t asked = 0;
    take_step(&due, 1000 * MS, 1250 * MS, &asked);
    cr_assert_eq(asked, 1, "at first it is asked at once");
    cr_assert_eq(beacon_due_wake_ns(&due), 1250 * MS);
    take_step(&due, 1001 * MS, 1001 * MS, &asked);
    cr_assert_eq(asked, 1);
    cr_assert_eq(beacon_due_wake_ns(&due), 1000 * MS + BEACON_DUE_RECKON_NS);
    cr_assert(beacon_due_is_unsure(&due, beacon_due_wake_ns(&due)));
    beacon_due_reckon(&due, 1001 * MS, 1005 * MS);
    cr_assert_eq(beacon_due_wake_ns(&due), 1001 * MS);
    cr_assert_not(beacon_due_is_unsure(&due, 1100 * MS), "nothing has happened");
}

Test(beacon_due, after_a_tick_it_is_asked_at_once)
{
    struct beacon_due due = beacon_due_begin();
    beacon_due_reckon(&due, 1250 * MS, 1249 * MS);
    beacon_due_note_step(&due, true);
    cr_assert(beacon_due_is_unsure(&due, 1250 * MS));
}
