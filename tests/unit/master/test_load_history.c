/* The master's memory of hot tablets: minutes, what is kept of them, and for how long. */
#include <criterion/criterion.h>

#include <stdio.h>
#include <string.h>

#include "common/base/memory.h"
#include "master/core/load/load_history.h"

#define SECOND_US INT64_C(1000000)
#define SECOND_NS UINT64_C(1000000000)
#define NOON_US   (INT64_C(29900000) * LOAD_MINUTE_US) /* a minute begins */
#define CAPACITY  (2 * SECOND_NS)                      /* of two processors, in a second */

static struct load_history history;
static struct arena arena;
static uint64_t tablet_gone; /* no such tablet in the catalog */
static uint64_t reports[4];  /* numbers given, by server */

static void start(void)
{
    load_history_init(&history);
    arena_init(&arena, 65536, SIZE_MAX);
}

static void stop(void)
{
    load_history_check(&history);
    load_history_deinit(&history);
    arena_deinit(&arena);
}

TestSuite(load_history, .init = start, .fini = stop, .timeout = 600);

/* Tablet n is of table n / 100, and holds the rows from n to n + 1, written with three digits. */
static bool find(void *context, uint64_t tablet, struct load_place *ret_place)
{
    static char start[8];
    static char end[8];
    (void)context;
    (void)snprintf(start, sizeof start, "%03u", (unsigned)tablet);
    (void)snprintf(end, sizeof end, "%03u", (unsigned)tablet + 1);
    *ret_place = (struct load_place){tablet / 100, {bytes_of_text(start), bytes_of_text(end)}};
    return tablet != tablet_gone;
}

/* So much of the server's second was for the tablet's reads. */
static struct tablet_load load_of(uint64_t tablet, uint64_t percent)
{
    return (struct tablet_load){
        .tablet = tablet,
        .figures = {.reads = 10, .read_cpu_ns = CAPACITY / 100 * percent, .writes = 1},
    };
}

static void take_report(const struct load_source *source,
                        uint64_t number,
                        const struct tablet_load *loads,
                        size_t count)
{
    const struct load_report report = {number, SECOND_NS, CAPACITY, loads, count};
    load_history_take(&history, source, &report, find, NULL);
    load_history_check(&history);
}

/* A report about the second that ends `at` seconds after noon. */
static void report(uint64_t server, int64_t at, const struct tablet_load *loads, size_t count)
{
    const struct load_source source = {server, 1, NOON_US + at * SECOND_US};
    take_report(&source, ++reports[server], loads, count);
}

static void report_one(uint64_t server, int64_t at, uint64_t tablet, uint64_t percent)
{
    const struct tablet_load load = load_of(tablet, percent);
    report(server, at, &load, 1);
}

static struct load_page list_of(const struct list_hot_tablets_request *request, int64_t at)
{
    struct load_page page = {0};
    cr_assert_eq(load_history_list(&history, request, NOON_US + at * SECOND_US, &arena, &page),
                 STATUS_OK);
    return page;
}

/* All there is, `at` seconds after noon. */
static struct load_page list(int64_t at)
{
    return list_of(&(struct list_hot_tablets_request){.start_us = 0, .end_us = INT64_MAX}, at);
}

/* --- minutes ---------------------------------------------------------------------------------- */

Test(load_history, the_running_minute_is_listed_without_a_number)
{
    report_one(1, 11, 205, 40);
    report_one(1, 12, 205, 20);
    struct load_page page = list(12);
    cr_assert_eq(page.count, 1);
    const struct hot_tablet *hot = &page.tablets[0];
    cr_assert_eq(hot->number, 0);
    cr_assert_eq(hot->tablet, 205);
    cr_assert_eq(hot->table, 2);
    cr_assert_eq(hot->server, 1);
    cr_assert(bytes_equal(hot->range.start, bytes_of_text("205")));
    cr_assert(bytes_equal(hot->range.end, bytes_of_text("206")));
    cr_assert_eq(hot->start_us, NOON_US + 10 * SECOND_US);
    cr_assert_eq(hot->end_us, NOON_US + 12 * SECOND_US);
    cr_assert_eq(hot->capacity_ns, 2 * CAPACITY);
    cr_assert_eq(hot->figures.read_cpu_ns, CAPACITY / 100 * 60);
    cr_assert_eq(hot->figures.reads, 20);
    cr_assert_eq(hot->figures.writes, 2);
}

Test(load_history, a_minute_that_is_over_has_a_number_and_stays)
{
    report_one(1, 11, 205, 40);
    report_one(1, 61, 205, 30);
    struct load_page page = list(61);
    cr_assert_eq(page.count, 2);
    cr_assert_eq(page.tablets[0].number, 1);
    cr_assert_eq(page.tablets[0].end_us, NOON_US + 11 * SECOND_US);
    cr_assert_eq(page.tablets[1].number, 0);
    cr_assert_eq(page.tablets[1].start_us, NOON_US + 60 * SECOND_US);
    cr_assert_eq(page.tablets[1].capacity_ns, CAPACITY);
    cr_assert_eq(list(200).tablets[1].number, 2, "over, though nobody reports any more");
}

Test(load_history, what_is_below_the_threshold_is_forgotten)
{
    const struct tablet_load loads[] = {load_of(1, 0), load_of(2, 1), load_of(3, 50)};
    report(1, 1, loads, 3);
    cr_assert_eq(list(1).count, 2);
    for (int64_t at = 2; at < 60; at++) {
        report_one(1, at, 3, 50);
    }
    report_one(1, 61, 3, 50);
    struct load_page page = list(61);
    cr_assert_eq(page.count, 2, "1 %% of one second is not 1 %% of the minute");
    cr_assert_eq(page.tablets[0].tablet, 3);
    cr_assert_eq(page.tablets[0].capacity_ns, 59 * CAPACITY);
}

Test(load_history, servers_stand_apart)
{
    report_one(1, 1, 101, 30);
    report_one(2, 2, 102, 60);
    report_one(2, 3, 101, 20); /* it has moved */
    struct load_page page = list(3);
    cr_assert_eq(page.count, 3);
    cr_assert(page.tablets[0].server == 1 && page.tablets[0].tablet == 101);
    cr_assert(page.tablets[1].server == 2 && page.tablets[1].tablet == 102);
    cr_assert(page.tablets[2].server == 2 && page.tablets[2].tablet == 101);
    cr_assert_eq(page.tablets[0].capacity_ns, CAPACITY);
    cr_assert_eq(page.tablets[2].capacity_ns, 2 * CAPACITY);
}

Test(load_history, a_tablet_that_nobody_knows_is_passed_over)
{
    tablet_gone = 7;
    report_one(1, 1, 7, 50);
    report_one(1, 2, 0, 50);
    cr_assert_eq(list(2).count, 0);
}

Test(load_history, a_tablet_that_was_split_keeps_its_rows)
{
    report_one(1, 1, 7, 50);
    tablet_gone = 7;
    report_one(1, 2, 7, 50);
    struct load_page page = list(61);
    cr_assert_eq(page.count, 1);
    cr_assert(bytes_equal(page.tablets[0].range.start, bytes_of_text("007")));
    cr_assert_eq(page.tablets[0].figures.reads, 20);
}

/* --- reports come as often as it takes ---------------------------------------------------------- */

Test(load_history, a_report_counts_once)
{
    const struct tablet_load load = load_of(5, 10);
    struct load_source source = {1, 7, NOON_US + SECOND_US};
    take_report(&source, 1, &load, 1);
    take_report(&source, 1, &load, 1);
    take_report(&source, 3, &load, 1); /* the second was thrown away */
    take_report(&source, 2, &load, 1); /* late */
    cr_assert_eq(list(1).tablets[0].figures.reads, 20);
    source.incarnation = 8;
    take_report(&source, 1, &load, 1); /* the server was started anew */
    cr_assert_eq(list(1).tablets[0].figures.reads, 30);
    source.incarnation = 7;
    take_report(&source, 9, &load, 1); /* of the one before */
    cr_assert_eq(list(1).tablets[0].figures.reads, 30);
}

Test(load_history, no_report_and_one_of_no_time_are_none)
{
    const struct load_source source = {1, 1, NOON_US};
    const struct tablet_load load = load_of(5, 10);
    take_report(&source, 0, &load, 1);
    const struct load_report empty = {1, 0, 0, &load, 1};
    load_history_take(&history, &source, &empty, find, NULL);
    cr_assert_eq(list(0).count, 0);
}

/* --- clocks ------------------------------------------------------------------------------------- */

Test(load_history, a_clock_that_is_set_ends_the_minute)
{
    report_one(1, 30, 5, 10);
    report_one(1, 3600, 5, 10);
    struct load_page page = list(3600);
    cr_assert_eq(page.count, 2);
    cr_assert_eq(page.tablets[0].number, 1);
    cr_assert_eq(page.tablets[0].end_us, NOON_US + 30 * SECOND_US);
    cr_assert_eq(page.tablets[1].start_us, NOON_US + 3599 * SECOND_US);
}

Test(load_history, what_a_clock_that_was_ahead_has_dated_goes)
{
    report_one(1, -120, 5, 10);
    report_one(1, 1000000, 5, 10);
    report_one(1, 1000060, 5, 10);
    report_one(1, 1, 5, 20);
    struct load_page page = list(1);
    cr_assert_eq(page.count, 2);
    cr_assert_eq(page.tablets[0].end_us, NOON_US - 120 * SECOND_US);
    cr_assert_eq(page.tablets[1].end_us, NOON_US + SECOND_US);
    report_one(1, 61, 5, 10);
    report_one(1, 59, 5, 10);
    cr_assert_eq(list(59).count, 3, "of a step back over the end of a minute, that minute only");
}

Test(load_history, the_first_report_of_a_minute_has_all_of_its_time)
{
    const struct load_source source = {1, 1, NOON_US + SECOND_US / 10};
    const struct tablet_load load = load_of(5, 90);
    take_report(&source, 1, &load, 1);
    const struct hot_tablet *hot = &list(0).tablets[0];
    cr_assert_eq(hot->start_us, NOON_US - 9 * SECOND_US / 10);
    cr_assert_eq(hot->end_us - hot->start_us, SECOND_US, "10 reads a second are no 100");
    cr_assert_eq(hot->figures.reads, 10);
}

Test(load_history, a_report_of_a_long_time_begins_at_most_a_minute_before_its_own)
{
    const struct load_source source = {1, 1, NOON_US + 2 * SECOND_US};
    const struct tablet_load load = load_of(5, 90);
    const struct load_report long_one = {1, UINT64_MAX, CAPACITY, &load, 1};
    load_history_take(&history, &source, &long_one, find, NULL);
    cr_assert_eq(list(2).tablets[0].start_us, NOON_US - 60 * SECOND_US);
}

/* --- windows and pages -------------------------------------------------------------------------- */

static void report_minutes(int64_t count)
{
    for (int64_t minute = 0; minute < count; minute++) {
        report_one(1, minute * 60 + 1, 5, 10); /* of the second from 0 to 1 */
    }
}

Test(load_history, a_window_has_what_overlaps_it)
{
    report_minutes(4);
    struct list_hot_tablets_request request = {NOON_US + 60 * SECOND_US, NOON_US + 121 * SECOND_US,
                                               0, 0};
    struct load_page page = list_of(&request, 181);
    cr_assert_eq(page.count, 2);
    cr_assert_eq(page.tablets[0].number, 2);
    cr_assert_eq(page.tablets[1].number, 3);
    request.start_us = NOON_US + 61 * SECOND_US; /* where the second minute's has ended */
    request.end_us = NOON_US + 120 * SECOND_US;  /* and the third's has not begun */
    cr_assert_eq(list_of(&request, 181).count, 0);
    request.end_us = INT64_MAX;
    cr_assert_eq(list_of(&request, 181).count, 2, "the running one too");
}

Test(load_history, pages_follow_each_other)
{
    report_minutes(7);
    struct list_hot_tablets_request request = {0, INT64_MAX, 0, 2};
    uint64_t seen = 0;
    for (int pages = 1;; pages++) {
        struct load_page page = list_of(&request, 400);
        for (size_t i = 0; i < page.count && page.tablets[i].number != 0; i++) {
            cr_assert_eq(page.tablets[i].number, ++seen);
        }
        if (page.next == 0) {
            cr_assert_eq(pages, 3);
            cr_assert_eq(page.count, 3, "the running minute beside the last two");
            cr_assert_eq(page.tablets[2].number, 0);
            break;
        }
        cr_assert_eq(page.count, 2);
        request.after = page.next;
    }
    cr_assert_eq(seen, 6);
}

/* --- bounds ------------------------------------------------------------------------------------- */

Test(load_history, the_oldest_goes_when_there_are_too_many)
{
    history.entries_max = 3;
    report_minutes(10);
    struct load_page page = list(541);
    cr_assert_eq(page.count, 4);
    cr_assert_eq(page.tablets[0].number, 7);
    cr_assert_eq(page.tablets[2].number, 9);
}

Test(load_history, the_oldest_goes_when_it_takes_too_much_memory)
{
    report_minutes(3);
    uint64_t one = history.entry_bytes / 2;
    history.bytes_max = 2 * one;
    report_minutes(0);
    report_one(1, 181, 5, 10);
    report_one(1, 241, 5, 10);
    cr_assert_eq(history.entry_count, 2);
    cr_assert_leq(history.entry_bytes, history.bytes_max);
}

Test(load_history, a_report_of_what_cannot_be_is_none)
{
    const uint64_t most = UINT64_MAX;
    const struct {
        uint64_t capacity_ns;
        uint64_t read_cpu_ns;
        uint64_t write_cpu_ns;
    } cases[] = {
        {1, CAPACITY, 0},        {CAPACITY, most, 0},     {CAPACITY, 0, most},
        {CAPACITY, most, most},  {CAPACITY, CAPACITY, 2}, {most, most, 0},
        {CAPACITY, 1, most - 1}, {most / 2 + 1, 5, 5},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct load_source source = {1, 1, NOON_US + SECOND_US};
        const struct tablet_load loads[] = {
            {.tablet = 1, .figures = {.read_cpu_ns = cases[i].read_cpu_ns}},
            {.tablet = 2, .figures = {.write_cpu_ns = cases[i].write_cpu_ns}},
            load_of(3, 100),
        };
        const struct load_report report = {++reports[1], SECOND_NS, cases[i].capacity_ns, loads, 3};
        load_history_take(&history, &source, &report, find, NULL);
        cr_assert_eq(list(1).count, 0, "case %zu", i);
    }
    report_one(1, 2, 3, 120);
    cr_assert_eq(list(2).count, 1, "clocks are not looked at in one moment");
}

/* Of servers that say that more is hot than can be. */
Test(load_history, running_minutes_are_bounded_too)
{
    history.entries_max = 5;
    for (uint64_t tablet = 1; tablet <= 20; tablet++) {
        report_one(1 + tablet % 3, 1, tablet, 100);
    }
    cr_assert_eq(list(1).count, 5);
    report_one(1, 61, 7, 50);
    cr_assert_eq(list(61).count, 6, "the next minute has room again");
    history.bytes_max = history.running_bytes;
    report_one(1, 62, 8, 50);
    cr_assert_eq(history.running_count, 1);
}

Test(load_history, what_is_older_than_14_days_goes)
{
    report_minutes(2);
    cr_assert_eq(list(LOAD_AGE_MAX_US / SECOND_US).count, 2);
    cr_assert_eq(list(LOAD_AGE_MAX_US / SECOND_US + 2).count, 1);
    cr_assert_eq(list(LOAD_AGE_MAX_US / SECOND_US + 62).count, 0);
    cr_assert_eq(history.entry_count, 0);
}

/* Whatever allocation fails, the history is sound, and what was there before stays. */
Test(load_history, without_memory_something_is_missing_and_nothing_else)
{
    report_one(1, 1, 5, 10);
    for (uint64_t failing = 0; failing < 40; failing++) {
        memory_fail_arm(failing % 8, failing >= 20);
        report_one(2, (int64_t)failing, 100 + failing, 30);
        report_one(3, 60 + (int64_t)failing, 6, 30);
        memory_fail_disarm();
        load_history_check(&history);
    }
    struct load_page page = list(600);
    cr_assert_geq(page.count, 1);
    cr_assert_eq(page.tablets[0].tablet, 5);
    memory_fail_arm(0, 1);
    struct arena fresh;
    arena_init(&fresh, 4096, SIZE_MAX);
    const struct list_hot_tablets_request request = {0, INT64_MAX, 0, 0};
    struct load_page none = {.count = 77};
    cr_assert_eq(load_history_list(&history, &request, NOON_US, &fresh, &none), STATUS_NO_MEMORY);
    memory_fail_disarm();
    cr_assert_eq(none.count, 77);
    arena_deinit(&fresh);
}
