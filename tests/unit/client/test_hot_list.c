/* Hot tablets sorted for people. */
#include <criterion/criterion.h>

#include "client/core/hot_list.h"

#define MINUTE INT64_C(60000000)

static struct hot_tablet hot(uint64_t tablet, int64_t minute, uint64_t cpu)
{
    return (struct hot_tablet){
        .tablet = tablet,
        .start_us = minute * MINUTE,
        .end_us = (minute + 1) * MINUTE,
        .capacity_ns = 1000,
        .figures = {.read_cpu_ns = cpu / 2, .write_cpu_ns = cpu - cpu / 2},
    };
}

static void assert_is(const struct hot_tablet *got, uint64_t tablet, int64_t minute)
{
    cr_assert_eq(got->tablet, tablet, "tablet %llu", (unsigned long long)got->tablet);
    cr_assert_eq(got->start_us, minute * MINUTE, "at %lld", (long long)got->start_us);
}

Test(hot_list, the_hottest_comes_first)
{
    struct hot_tablet list[] = {hot(1, 5, 100), hot(2, 5, 300), hot(1, 6, 200), hot(3, 4, 300)};
    cr_assert_eq(hot_list_sort(list, 4, 0), 4, "every minute");
    assert_is(&list[0], 3, 4);
    assert_is(&list[1], 2, 5); /* as hot, later */
    assert_is(&list[2], 1, 6);
    assert_is(&list[3], 1, 5);
}

Test(hot_list, equal_ones_are_ordered_by_tablet)
{
    struct hot_tablet list[] = {hot(3, 1, 100), hot(1, 1, 100), hot(2, 1, 100)};
    cr_assert_eq(hot_list_sort(list, 3, MINUTE), 3);
    assert_is(&list[0], 1, 1);
    assert_is(&list[1], 2, 1);
    assert_is(&list[2], 3, 1);
}

Test(hot_list, of_an_interval_the_hottest_minute_stays)
{
    struct hot_tablet list[] = {hot(1, 29, 500), hot(1, 14, 100), hot(1, 15, 200), hot(1, 0, 90),
                                hot(2, 3, 50),   hot(1, 13, 100), hot(1, 30, 10)};
    cr_assert_eq(hot_list_sort(list, 7, 15 * MINUTE), 4);
    assert_is(&list[0], 1, 29);
    assert_is(&list[1], 1, 13); /* the earlier of two as hot */
    assert_is(&list[2], 2, 3);
    assert_is(&list[3], 1, 30);
}

Test(hot_list, a_minute_that_begins_a_little_early_is_of_the_interval_of_its_middle)
{
    struct hot_tablet list[] = {hot(1, 14, 100), hot(1, 15, 200)};
    list[1].start_us -= MINUTE / 60;
    cr_assert_eq(hot_list_sort(list, 2, 15 * MINUTE), 2);
}

Test(hot_list, of_the_whole_window_one_a_tablet)
{
    struct hot_tablet list[] = {hot(1, 100, 10), hot(1, 30000000, 20), hot(2, 7, 15)};
    cr_assert_eq(hot_list_sort(list, 3, INT64_MAX), 2);
    assert_is(&list[0], 1, 30000000);
    assert_is(&list[1], 2, 7);
}

Test(hot_list, what_makes_no_sense_does_no_harm)
{
    struct hot_tablet list[] = {hot(1, -5, 10), hot(1, -9, 20), hot(2, 7, 15)};
    list[2].capacity_ns = 0;
    cr_assert_eq(hot_list_sort(NULL, 0, MINUTE), 0);
    cr_assert_eq(hot_list_sort(list, 3, MINUTE), 2);
    assert_is(&list[0], 1, -9);
    cr_assert_eq((int64_t)hot_list_percent(&list[1]), 0);
}

Test(hot_list, percent_is_of_the_servers_time)
{
    struct hot_tablet one = hot(1, 1, 250);
    cr_assert_float_eq(hot_list_percent(&one), 25, 1e-9);
    cr_assert_float_eq(hot_list_percent_of(&one, one.figures.read_cpu_ns), 12.5, 1e-9);
}
