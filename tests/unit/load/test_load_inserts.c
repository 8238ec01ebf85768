/* Which rows that a load inserts may be read, also where inserts fail. */
#include <criterion/criterion.h>

#include "client/load/inserts.h"

enum {
    FIRST = 100,
    IN_FLIGHT = 4
};

static struct load_inserts inserts;

static void start(void)
{
    cr_assert(load_inserts_init(&inserts, FIRST, IN_FLIGHT));
}

static void end(void)
{
    load_inserts_deinit(&inserts);
}

TestSuite(load_inserts, .init = start, .fini = end, .timeout = 600);

Test(load_inserts, those_below_the_lowest_on_its_way_may_be_read)
{
    for (uint64_t i = 0; i < IN_FLIGHT; i++) {
        cr_assert_eq(load_inserts_take(&inserts), FIRST + i);
    }
    load_inserts_end(&inserts, FIRST + 1, true);
    load_inserts_end(&inserts, FIRST + 3, true);
    cr_assert_eq(load_inserts_readable(&inserts), FIRST);
    load_inserts_end(&inserts, FIRST, true);
    cr_assert_eq(load_inserts_readable(&inserts), FIRST + 2);
    load_inserts_end(&inserts, FIRST + 2, true);
    cr_assert_eq(load_inserts_readable(&inserts), FIRST + 4);
}

Test(load_inserts, one_that_failed_is_made_again_and_stops_nothing)
{
    for (int round = 0; round < 3; round++) { /* all that are in flight, over and over */
        for (uint64_t i = 0; i < IN_FLIGHT; i++) {
            uint64_t number = load_inserts_take(&inserts);
            cr_assert(number >= FIRST && number < FIRST + IN_FLIGHT, "%lu", number);
        }
        for (uint64_t i = 0; i < IN_FLIGHT; i++) {
            load_inserts_end(&inserts, FIRST + i, round == 2 && i != 1);
        }
    }
    cr_assert_eq(load_inserts_readable(&inserts), FIRST + 1);
    cr_assert_eq(load_inserts_take(&inserts), FIRST + 1);
    cr_assert_eq(load_inserts_take(&inserts), FIRST + IN_FLIGHT);
    load_inserts_end(&inserts, FIRST + 1, true);
    load_inserts_end(&inserts, FIRST + IN_FLIGHT, true);
    cr_assert_eq(load_inserts_readable(&inserts), FIRST + IN_FLIGHT + 1);
}

Test(load_inserts, where_nobody_asks_numbers_are_given_and_no_more)
{
    struct load_inserts loading;
    cr_assert(load_inserts_init(&loading, 0, 0));
    cr_assert_eq(load_inserts_take(&loading), 0);
    load_inserts_end(&loading, 0, false);
    cr_assert_eq(load_inserts_take(&loading), 1);
    load_inserts_deinit(&loading);
}
