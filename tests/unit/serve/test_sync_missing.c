/* Which tablets are complained of as missing in their store. */
#include <criterion/criterion.h>

#include "tabletserver/serve/sync/sync_missing.h"

#define SECOND_NS INT64_C(1000000000)

static struct sync_missing missing;

static bool look(enum assignment_action_kind kind, uint64_t tablet, int64_t seconds)
{
    const struct assignment_action actions[] = {{.kind = ASSIGNMENT_CREATE, .tablet = 1},
                                                {.kind = kind, .tablet = tablet}};
    return sync_missing_look(&missing, actions, 2, seconds * SECOND_NS);
}

/* Each split was logged as an error, "was a disk swapped?", where the server had converted before its master told. */
Test(sync_missing, nothing_is_said_of_those_that_are_missing_for_a_moment)
{
    for (int64_t second = 1; second < 100; second++) {
        cr_assert_not(look(ASSIGNMENT_MISSING, 10 + (uint64_t)second / 3, second));
    }
    for (int64_t second = 100; second < 200; second++) {
        cr_assert_not(look(second % 4 == 0 ? ASSIGNMENT_DROP : ASSIGNMENT_MISSING, 7, second));
    }
}

Test(sync_missing, what_stays_missing_is_said_every_half_minute)
{
    int said = 0;
    for (int64_t second = 1; second <= 100; second++) {
        said += look(ASSIGNMENT_MISSING, 7, second);
        cr_assert_eq(said > 0, second >= 6, "at %d s", (int)second);
    }
    cr_assert_eq(said, 4);
}
