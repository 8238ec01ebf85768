#include "tabletserver/storage/flush/flush_pace.h"

#include <criterion/criterion.h>

#define MS  INT64_C(1000000)
#define MIB (UINT64_C(1) << 20)

static const struct flush_pace unlimited = {.percent = 50, .processors_permille = 2000};
static const struct flush_pace unknown = {.percent = 50};
static const struct flush_pace quarter = {.percent = 50, .processors_permille = 250};

Test(flush_pace, rests_as_long_as_it_worked)
{
    cr_assert_eq(flush_pace_rest_ns(&unlimited, 10 * MS, 8 * MS), 10 * MS);
    cr_assert_eq(flush_pace_rest_ns(&unknown, 10 * MS, 8 * MS), 10 * MS);
}

Test(flush_pace, uses_its_share_of_a_quota_only)
{
    /* Half of a quarter: 2 ms of processor in 16. */
    cr_assert_eq(flush_pace_rest_ns(&quarter, 3 * MS, 2 * MS), 13 * MS);
}

Test(flush_pace, what_waited_for_the_disk_costs_no_quota)
{
    cr_assert_eq(flush_pace_rest_ns(&quarter, 40 * MS, 2 * MS), 40 * MS);
}

Test(flush_pace, never_rests_at_100_percent_and_never_for_long)
{
    const struct flush_pace all = {.percent = 100, .processors_permille = 250};
    const struct flush_pace least = {.percent = 1, .processors_permille = 1};
    cr_assert_eq(flush_pace_rest_ns(&all, 10 * MS, 10 * MS), 0);
    cr_assert_eq(flush_pace_rest_ns(&quarter, 0, 0), 0);
    cr_assert_eq(flush_pace_rest_ns(&least, 1000 * MS, 1000 * MS), 250 * MS);
    cr_assert_eq(flush_pace_rest_ns(&least, INT64_MAX, INT64_MAX), 250 * MS);
}

Test(flush_pace, transactions_are_as_small_as_the_quota)
{
    cr_assert_eq(flush_pace_transaction_bytes(&unlimited, 4 * MIB), MIB);
    cr_assert_eq(flush_pace_transaction_bytes(&unknown, 4 * MIB), MIB);
    cr_assert_eq(flush_pace_transaction_bytes(&quarter, 4 * MIB), MIB / 4);
}

Test(flush_pace, but_not_all_sync_and_no_data)
{
    const struct flush_pace least = {.percent = 50, .processors_permille = 1};
    cr_assert_eq(flush_pace_transaction_bytes(&least, 4 * MIB), MIB / 16);
    cr_assert_eq(flush_pace_transaction_bytes(&least, MIB / 16), MIB / 64,
                 "never above what is set");
}

Test(flush_pace, slices_too)
{
    const struct flush_pace least = {.percent = 50, .processors_permille = 1};
    cr_assert_eq(flush_pace_slice_bytes(&unlimited, MIB), MIB / 8);
    cr_assert_eq(flush_pace_slice_bytes(&quarter, MIB), MIB / 32);
    cr_assert_eq(flush_pace_slice_bytes(&quarter, 4 * MIB), MIB / 8);
    cr_assert_eq(flush_pace_slice_bytes(&least, MIB), MIB / 32);
    cr_assert_eq(flush_pace_slice_bytes(&quarter, 100), 100, "never above what is set");
}

Test(flush_pace, of_a_quota_slices_have_half_of_what_the_flush_has)
{
    cr_assert_eq(flush_pace_slice_rest_ns(&quarter, 2 * MS, 2 * MS), 30 * MS);
    cr_assert_eq(flush_pace_slice_rest_ns(&unlimited, 2 * MS, 2 * MS), 2 * MS);
}
