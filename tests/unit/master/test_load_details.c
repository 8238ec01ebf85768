/* The master's memory of where in tablets the load is: the newest of each, bounded, dropped in time. */
#include "master/core/load/load_details.h"

#include <criterion/criterion.h>
#include <stdio.h>

#include "common/base/memory.h"

#define SECOND_US INT64_C(1000000)
#define SECOND_NS UINT64_C(1000000000)

static struct load_details details;
static uint64_t tablet_gone;

static void start(void)
{
    load_details_init(&details);
}

static void stop(void)
{
    load_details_check(&details);
    load_details_deinit(&details);
}

TestSuite(load_details, .init = start, .fini = stop);

/* Tablet n holds the rows from n to n + 1, written with three digits. */
static bool find(void *context, uint64_t tablet, struct load_place *ret_place)
{
    static char first[24];
    static char end[24];
    (void)context;
    (void)snprintf(first, sizeof first, "%03llu", (unsigned long long)tablet);
    (void)snprintf(end, sizeof end, "%03llu", (unsigned long long)tablet + 1);
    *ret_place = (struct load_place){1, {bytes_of_text(first), bytes_of_text(end)}};
    return tablet != tablet_gone;
}

/* Of a second that ends `at` seconds after some time: points at the tablet's start and at `row`. */
static void report(uint64_t server, int64_t at, uint64_t tablet, const char *row, uint64_t writes)
{
    char first[24];
    (void)snprintf(first, sizeof first, "%03llu", (unsigned long long)tablet);
    const struct load_point points[] = {{bytes_of_text(first), 1, 2, 0},
                                        {bytes_of_text(row), 3, 4, 5}};
    const struct load_key key = {bytes_of_text(row), 6, 7};
    const struct tablet_load load = {
        tablet, {.writes = writes, .write_cpu_ns = SECOND_NS / 4}, {points, 2, &key, 1, 99, 500}};
    const struct load_report one = {1, SECOND_NS, SECOND_NS, &load, 1};
    const struct load_source source = {server, 1, (1000 + at) * SECOND_US};
    load_details_take(&details, &source, &one, find, NULL);
    load_details_check(&details);
}

Test(load_details, keep_the_newest_of_each_tablet_with_its_rows)
{
    cr_assert_null(load_details_find(&details, 100));
    report(1, 0, 100, "100b", 10);
    report(1, 0, 200, "200b", 10);
    report(1, 1, 100, "100c", 10);
    const struct load_entry_detail *entry = load_details_find(&details, 100);
    cr_assert(entry->tablet == 100 && entry->server == 1 && entry->detail.point_count == 2);
    cr_assert(bytes_equal(entry->detail.points[0].row, bytes_of_text("100")));
    cr_assert(bytes_equal(entry->detail.points[1].row, bytes_of_text("100c")));
    cr_assert(entry->detail.points[1].writes == 4 && entry->detail.points[1].crossing == 5);
    cr_assert(bytes_equal(entry->detail.keys[0].row, bytes_of_text("100c")));
    cr_assert(entry->detail.observations == 99 && entry->detail.appended_permille == 500);
    cr_assert(
        bytes_equal(load_details_find(&details, 200)->detail.keys[0].row, bytes_of_text("200b")));
    cr_assert_eq(load_details_cpu_permille(entry), 250);
}

Test(load_details, figures_are_of_the_last_seconds)
{
    for (int64_t at = 0; at < 60; at++) {
        report(1, at, 100, "100b", 1000);
    }
    const struct load_entry_detail *entry = load_details_find(&details, 100);
    cr_assert(entry->elapsed_ns > 8 * SECOND_NS && entry->elapsed_ns <= 10 * SECOND_NS);
    double rate = (double)entry->figures.writes / ((double)entry->elapsed_ns / 1e9);
    cr_assert(rate > 990 && rate < 1010, "%f a second", rate);
    report(1, 100, 100, "100b", 7);
    entry = load_details_find(&details, 100);
    cr_assert(entry->figures.writes == 7 && entry->elapsed_ns == SECOND_NS, "after a long time");
    report(2, 101, 100, "100b", 8);
    entry = load_details_find(&details, 100);
    cr_assert(entry->figures.writes == 8 && entry->server == 2, "another server begins anew");
}

/* A tablet is handed over: its new server's first report has no samples of it yet. */
Test(load_details, stay_until_who_leads_now_tells)
{
    report(1, 0, 100, "100b", 1000);
    const struct tablet_load unsampled = {100, {.writes = 900}, {0}};
    const struct load_report first = {1, SECOND_NS, SECOND_NS, &unsampled, 1};
    load_details_take(&details, &(struct load_source){2, 1, 1001 * SECOND_US}, &first, find, NULL);
    const struct load_entry_detail *entry = load_details_find(&details, 100);
    cr_assert(entry != NULL && entry->server == 1 && entry->detail.point_count == 2);
    cr_assert(bytes_equal(entry->detail.keys[0].row, bytes_of_text("100b")));
    report(2, 2, 100, "100c", 900);
    entry = load_details_find(&details, 100);
    cr_assert(entry->server == 2 && bytes_equal(entry->detail.keys[0].row, bytes_of_text("100c")));
}

Test(load_details, figures_that_cannot_be_counted_do_no_harm)
{
    report(1, 0, 100, "100b", UINT64_MAX);
    report(1, 0, 100, "100b", UINT64_MAX);
    report(1, 1, 100, "100b", 5);
    cr_assert_not_null(load_details_find(&details, 100));
}

Test(load_details, of_a_tablet_that_is_another_now_nothing_is_believed)
{
    report(1, 0, 100, "101b", 10); /* behind its end */
    cr_assert_null(load_details_find(&details, 100));
    const struct load_point point = {bytes_of_text("100a"), 1, 2, 0}; /* not from its start on */
    const struct load_point whole = {bytes_of_text("100"), 1, 2, 0};
    const struct load_key outside = {bytes_of_text("0"), 1, 2};
    const struct tablet_load loads[] = {
        {100, {.writes = 1}, {.points = &point, .point_count = 1}},
        {100,
         {.writes = 1},
         {.points = &whole, .point_count = 1, .keys = &outside, .key_count = 1}},
        {0, {.writes = 1}, {.points = &whole, .point_count = 1}},
        {100, {.writes = 1}, {.observations = 9}},
    };
    const struct load_report all = {1, SECOND_NS, SECOND_NS, loads, 4};
    const struct load_source source = {1, 1, 1000 * SECOND_US};
    load_details_take(&details, &source, &all, find, NULL);
    tablet_gone = 300;
    report(1, 0, 300, "300b", 10);
    cr_assert_eq(details.by_tablet.count, 0);
}

Test(load_details, go_with_the_tablet_and_with_age)
{
    report(1, 0, 100, "100b", 10);
    report(1, 5, 200, "200b", 10);
    load_details_drop(&details, 100);
    load_details_drop(&details, 100);
    cr_assert_null(load_details_find(&details, 100));
    load_details_expire(&details, 1005 * SECOND_US + LOAD_DETAIL_AGE_MAX_US);
    cr_assert_not_null(load_details_find(&details, 200));
    load_details_expire(&details, 1005 * SECOND_US + LOAD_DETAIL_AGE_MAX_US + 1);
    cr_assert_null(load_details_find(&details, 200));
}

/* What a part was taken to have from its parent's samples is a guess, which its own first report puts right: an
 * appended tablet's load goes on in its last part, and not in that where most samples are. */
Test(load_details, a_part_is_what_it_tells_itself_from_then_on)
{
    const struct row_range last = {bytes_of_text("1009"), bytes_of_text("101")};
    report(1, 0, 100, "1009x", 90);
    report(1, 1, 100, "1009x", 90);
    load_details_inherit(&details, 100, 1009, &last);
    load_details_drop(&details, 100);
    const struct load_entry_detail *part = load_details_find(&details, 1009);
    cr_assert(part->inherited && part->elapsed_ns > SECOND_NS);
    report(1, 2, 1009, "1009y", 90);
    part = load_details_find(&details, 1009);
    cr_assert(!part->inherited && part->since_us == 1000 * SECOND_US);
    cr_assert(part->figures.writes == 90 && part->elapsed_ns == SECOND_NS);
    report(1, 3, 1009, "1009y", 90);
    cr_assert_gt(load_details_find(&details, 1009)->elapsed_ns, SECOND_NS, "it goes on from there");
}

/* Of the parts of tablet 100, which was told of at "100" and at "100b", 4 and 6 of ten. */
Test(load_details, go_over_to_what_a_split_makes)
{
    const struct row_range left = {bytes_of_text("100"), bytes_of_text("100b")};
    const struct row_range right = {bytes_of_text("100b"), bytes_of_text("101")};
    report(1, 0, 100, "100b", 90);
    report(1, 7, 200, "200b", 10);
    load_details_inherit(&details, 100, 1001, &left);
    load_details_inherit(&details, 100, 1002, &right);
    load_details_check(&details);
    load_details_drop(&details, 100);
    const struct load_entry_detail *first = load_details_find(&details, 1001);
    const struct load_entry_detail *second = load_details_find(&details, 1002);
    cr_assert(first->heard_us == 1000 * SECOND_US && first->server == 1 && first->inherited);
    cr_assert(first->detail.point_count == 1 && first->detail.key_count == 0);
    cr_assert_eq(first->figures.writes, 30, "2 of 6 writes");
    cr_assert_eq(first->detail.appended_permille, 0);
    cr_assert(second->detail.point_count == 1 && second->detail.key_count == 1);
    cr_assert(bytes_equal(second->detail.points[0].row, right.start));
    cr_assert_eq(second->figures.writes, 60);
    cr_assert_eq(second->detail.appended_permille, 500);
    cr_assert_eq(first->detail.observations + second->detail.observations, 98, "99, rounded down");
    load_details_expire(&details, 1000 * SECOND_US + LOAD_DETAIL_AGE_MAX_US + 1);
    cr_assert_eq(details.by_tablet.count, 1, "they are as old as what they are from");
}

Test(load_details, of_a_part_without_load_nothing_goes_over)
{
    const struct row_range before = {bytes_of_text("100"), bytes_of_text("100d")};
    const struct row_range behind = {bytes_of_text("100d"), bytes_of_text("101")};
    const struct row_range inside = {bytes_of_text("100a"), bytes_of_text("101")};
    load_details_inherit(&details, 100, 1001, &before);
    report(1, 0, 100, "100b", 90);
    load_details_inherit(&details, 100, 1001, &before);
    load_details_inherit(&details, 100, 1002, &behind);
    load_details_inherit(&details, 100, 1003, &inside);
    cr_assert_null(load_details_find(&details, 1002));
    cr_assert_eq(load_details_find(&details, 1001)->figures.writes, 90);
    cr_assert_eq(load_details_find(&details, 1001)->detail.appended_permille, 500);
    const struct load_entry_detail *entry = load_details_find(&details, 1003);
    cr_assert_eq(entry->detail.point_count, 2, "one at its start");
    cr_assert(bytes_equal(entry->detail.points[0].row, inside.start));
    cr_assert_eq(entry->detail.points[0].writes, 0);
    details.entries_max = 3;
    load_details_inherit(&details, 100, 1004, &before);
    load_details_check(&details);
    memory_fail_arm(0, 1);
    load_details_inherit(&details, 1001, 1005, &before);
    memory_fail_disarm();
    cr_assert_null(load_details_find(&details, 1005));
}

Test(load_details, of_a_clock_that_is_set_back_what_is_to_come_goes)
{
    report(1, 0, 100, "100b", 10);
    report(1, 500, 200, "200b", 10);
    report(1, 10, 300, "300b", 10);
    cr_assert_not_null(load_details_find(&details, 100));
    cr_assert_null(load_details_find(&details, 200));
    cr_assert_not_null(load_details_find(&details, 300));
}

Test(load_details, are_bounded_and_the_oldest_go)
{
    details.entries_max = 5;
    for (uint64_t i = 0; i < 20; i++) {
        report(1, (int64_t)i, 100 + i, "z", 10);
        char row[8];
        (void)snprintf(row, sizeof row, "%03ub", 100 + (unsigned)i);
        report(1, (int64_t)i, 100 + i, row, 10);
    }
    cr_assert_eq(details.by_tablet.count, 5);
    cr_assert_null(load_details_find(&details, 114));
    cr_assert_not_null(load_details_find(&details, 115));
    details.bytes_max = details.size_bytes / 2;
    report(1, 20, 119, "119b", 10);
    cr_assert(details.by_tablet.count <= 3 && load_details_find(&details, 119) != NULL);
}

Test(load_details, without_memory_it_is_the_one_of_before)
{
    for (uint64_t after = 0; after < 2; after++) {
        memory_fail_arm(after, 1);
        report(1, 0, 100, "100b", 10);
        memory_fail_disarm();
        cr_assert_null(load_details_find(&details, 100));
    }
    report(1, 1, 100, "100b", 10);
    memory_fail_arm(0, 1);
    report(1, 2, 100, "100c", 10);
    memory_fail_disarm();
    const struct load_entry_detail *entry = load_details_find(&details, 100);
    cr_assert(bytes_equal(entry->detail.keys[0].row, bytes_of_text("100b")));
}
