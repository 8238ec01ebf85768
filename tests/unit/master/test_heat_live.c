/* Load right now: rates that fade, of servers and tablets that are heard of. */
#include <criterion/criterion.h>

#include <math.h>
#include <stdio.h>

#include "common/base/memory.h"
#include "master/heat/heat_live.h"

#define NOW_US INT64_C(1794000000000000)

static struct heat_live live;

static void start(void)
{
    heat_live_init(&live);
}

static void stop(void)
{
    heat_live_deinit(&live);
}

TestSuite(heat_live, .init = start, .fini = stop, .timeout = 600);

static uint64_t seconds = 1; /* of a report */

/* What one tablet had to do in them. */
static void hear(uint64_t server, uint64_t tablet, uint64_t reads, int64_t now_us)
{
    const struct load_report head = {.elapsed_ns = seconds * 1000000000,
                                     .capacity_ns = seconds * 2000000000};
    const struct load_key keys[] = {{bytes_of_text("k"), reads / 2, 0}};
    const struct load_point points[] = {{bytes_of_text("a"), reads, 0, 0}};
    const struct row_range range = {bytes_of_text("a"), bytes_of_text("z")};
    const struct tablet_load load = {
        .tablet = tablet,
        .figures = {.reads = reads, .read_cpu_ns = reads * 1000000},
        .detail = {points, 1, keys, 1, reads, 250},
    };
    struct located_report *report = located_report_create(server, &head, 1);
    cr_assert(tablet == 0 || located_report_add(report, 3, &range, &load));
    heat_live_take(&live, report, now_us);
    located_report_destroy(report);
}

static const struct heat_live_tablet *tablet(uint64_t number)
{
    return number_map_get(&live.tablets, number);
}

Test(heat_live, says_what_was_reported_last)
{
    hear(1, 7, 100, NOW_US);
    const struct heat_live_server *server = number_map_get(&live.by_number, 1);
    cr_assert(fabs(server->rates.reads - 100) < 1e-9);
    cr_assert(fabs(server->capacity - 2) < 1e-9);
    cr_assert(fabs(heat_rates_cpu(&tablet(7)->rates) - 0.1) < 1e-9);
    cr_assert_eq(tablet(7)->table, 3);
    cr_assert(bytes_equal(tablet(7)->range.end, bytes_of_text("z")));
    cr_assert_eq(tablet(7)->frequent_count, 1);
    cr_assert(fabs(tablet(7)->frequent[0].share - 0.5) < 1e-9);
    cr_assert(fabs(tablet(7)->appended - 0.25) < 1e-9);
}

/* Where no master answered for a while a report is of more than a second; so much more was counted of its rows, too. */
Test(heat_live, frequent_rows_are_told_by_the_second)
{
    seconds = 4;
    hear(1, 7, 100, NOW_US);
    cr_assert(fabs(tablet(7)->rates.reads - 25) < 1e-9);
    cr_assert(fabs(tablet(7)->frequent[0].reads - 12.5) < 1e-9);
    cr_assert(fabs(tablet(7)->frequent[0].share - 0.5) < 1e-9);
}

Test(heat_live, fades_and_goes)
{
    hear(1, 7, 100, NOW_US);
    double last = 100;
    for (int i = 1; i <= 5; i++) {
        hear(1, 0, 0, NOW_US + i * 1000000);
        cr_assert_lt(tablet(7)->rates.reads, last);
        last = tablet(7)->rates.reads;
    }
    cr_assert_lt(last, 30);
    heat_live_age(&live, NOW_US + 5000000);
    cr_assert_not_null(tablet(7));
    heat_live_age(&live, NOW_US + HEAT_LIVE_GONE_US + 1);
    cr_assert_null(tablet(7));
    cr_assert_eq(live.server_count, 1);
    heat_live_age(&live, NOW_US + 5000000 + HEAT_LIVE_GONE_US + 1);
    cr_assert_eq(live.server_count, 0);
}

Test(heat_live, a_tablet_that_moves_is_of_one_server)
{
    hear(1, 7, 100, NOW_US);
    hear(2, 7, 50, NOW_US + 1000000);
    cr_assert_eq(tablet(7)->server, 2);
    const struct heat_live_server *first = number_map_get(&live.by_number, 1);
    cr_assert(list_is_empty(&first->tablets));
}

Test(heat_live, is_bounded)
{
    for (uint64_t i = 1; i <= HEAT_LIVE_TABLETS_MAX + 100; i++) {
        hear(1, i, 1, NOW_US);
    }
    cr_assert_eq(live.tablets.count, HEAT_LIVE_TABLETS_MAX);
}

Test(heat_live, lives_without_memory)
{
    for (uint64_t after = 0; after < 12; after++) {
        const struct load_report head = {.elapsed_ns = 1000000000, .capacity_ns = 2000000000};
        const struct row_range range = {bytes_of_text("a"), bytes_of_text("z")};
        const struct tablet_load load = {.tablet = 100 + after, .figures = {.reads = 1}};
        struct located_report *report = located_report_create(1, &head, 1);
        cr_assert(located_report_add(report, 3, &range, &load));
        memory_fail_arm(after, 1);
        heat_live_take(&live, report, NOW_US);
        memory_fail_disarm();
        located_report_destroy(report);
    }
    hear(1, 9, 1, NOW_US);
    cr_assert_not_null(tablet(9));
}
