#include "tabletserver/storage/flush_pace.h"

#include <criterion/criterion.h>

#define MS  INT64_C(1000000)
#define MIB (UINT64_C(1) << 20)

static const struct flush_pace unlimited = {.percent = 50, .processors_permille = 2000};
static const struct flush_pace unknown = {.percent = 50};
static const struct flush_pace quarter = {
    .percent = 50, .processors_permille = 250}; /* and nobody else wants it */

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

static int64_t rest_ms(uint64_t processors_permille, uint64_t full_permille, uint64_t wanted)
{
    const struct flush_pace pace = {50, processors_permille, full_permille, wanted, false};
    return flush_pace_rest_ns(&pace, MS, MS) / MS;
}

/* 1 ms of a quarter of a processor: half of it is 1 in 8, a tenth 1 in 40. */
Test(flush_pace, takes_less_of_a_quota_while_memory_is_empty)
{
    cr_assert_eq(rest_ms(250, 0, 1000), 39);
    cr_assert_eq(rest_ms(250, 375, 1000), 39);
    int64_t before_ms = 39;
    for (uint64_t full = 385; full <= 625; full += 10) {
        int64_t now_ms = rest_ms(250, full, 1000);
        cr_assert(now_ms <= before_ms && now_ms >= 0, "%d of %d", (int)full, (int)now_ms);
        before_ms = now_ms;
    }
    cr_assert(rest_ms(250, 615, 1000) < 7, "more than its percent, since memory gets short");
    cr_assert_eq(rest_ms(250, 625, 1000), 0);
    cr_assert_eq(rest_ms(250, 1000, 1000), 0);
    cr_assert_eq(rest_ms(1000, 0, 1000), 1, "no quota: always its percent");
    cr_assert_eq(rest_ms(0, 0, 1000), 1, "not known");
}

Test(flush_pace, takes_its_percent_of_a_quota_that_nobody_else_wants)
{
    cr_assert_eq(rest_ms(250, 0, 399), 7);
    cr_assert_eq(rest_ms(250, 1000, 399), 7);
    cr_assert_eq(rest_ms(250, 0, 400), 39);
}

Test(flush_pace, has_its_percent_of_a_quota_where_somebody_waits)
{
    const struct flush_pace empty = {50, 250, 0, 1000, true};
    const struct flush_pace filling = {50, 250, 615, 1000, true};
    const struct flush_pace full = {50, 250, 700, 1000, true};
    cr_assert_eq(flush_pace_rest_ns(&empty, MS, MS) / MS, 7);
    cr_assert_eq(flush_pace_rest_ns(&empty, 500 * MS, 500 * MS), 250 * MS);
    cr_assert_lt(flush_pace_rest_ns(&filling, MS, MS) / MS, 7);
    cr_assert_eq(flush_pace_rest_ns(&full, MS, MS), 0);
}

Test(flush_pace, slices_do_not_look_at_memory)
{
    const struct flush_pace empty = {50, 250, 0, 1000, false};
    cr_assert_eq(flush_pace_slice_rest_ns(&empty, 2 * MS, 2 * MS), 30 * MS);
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
    cr_assert_eq(flush_pace_rest_ns(&unlimited, 1000 * MS, 1000 * MS), 250 * MS);
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
