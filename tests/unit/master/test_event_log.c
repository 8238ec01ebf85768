/* The log of what was decided about load: bounded, asked for by change, and kept from one reign to the next. */
#include <criterion/criterion.h>

#include <stdio.h>

#include "common/base/prng.h"
#include "master/core/load/event_log.h"

static const struct list_events_request all = {BYTES_EMPTY, 0, 0};
static struct event_log event_log;
static struct event_log other;
static struct arena arena;

static void start(void)
{
    event_log_init(&event_log);
    event_log_init(&other);
    arena_init(&arena, 4096, SIZE_MAX);
}

static void stop(void)
{
    event_log_check(&event_log);
    event_log_check(&other);
    event_log_deinit(&event_log);
    event_log_deinit(&other);
    arena_deinit(&arena);
}

TestSuite(event_log, .init = start, .fini = stop);

static struct list_events_response list(const struct event_log *log, uint64_t after)
{
    struct list_events_response response;
    const struct list_events_request request = {.after = after};
    cr_assert_eq(event_log_list(log, &request, &arena, &response), STATUS_OK);
    return response;
}

static uint64_t add(struct event_log *log)
{
    const struct event event = {.kind = bytes_of_text("split"),
                                .outcome = bytes_of_text("under_way"),
                                .text = bytes_of_text("9 % of its server's time"),
                                .table_name = bytes_of_text("t")};
    return event_log_add(log, &event);
}

Test(event_log, it_is_bounded_and_an_outcome_comes_again)
{
    struct list_events_response response;
    struct list_events_request some = all;
    struct event event = {.kind = bytes_of_text("split"),
                          .outcome = bytes_of_text("under_way"),
                          .table_name = bytes_of_text("t")};
    event_log.count_max = 3;
    for (uint64_t i = 1; i <= 5; i++) {
        event.tablet = i;
        cr_assert_eq(event_log_add(&event_log, &event), i);
    }
    event_log_end(&event_log, 1, "done", "", 9); /* it is gone */
    event_log_end(&event_log, 3, "given_up", "there was no time", 9);
    cr_assert_eq(event_log_list(&event_log, &all, &arena, &response), STATUS_OK);
    cr_assert_eq(response.event_count, 3);
    cr_assert_eq(response.events[0].number, 4);
    cr_assert_eq(response.events[2].number, 3);
    cr_assert_eq(response.events[2].change, 6);
    cr_assert_eq(response.events[2].ended_us, 9);
    cr_assert(bytes_equal(response.events[2].why, bytes_of_text("there was no time")));
    some.count_max = 2;
    cr_assert_eq(event_log_list(&event_log, &some, &arena, &response), STATUS_OK);
    cr_assert(response.more);
    some = (struct list_events_request){bytes_of_text("other"), 0, 0};
    cr_assert_eq(event_log_list(&event_log, &some, &arena, &response), STATUS_OK);
    cr_assert_eq(response.event_count, 0);
}

Test(event_log, a_new_master_goes_on_above_the_one_before)
{
    event_log_begin(&event_log, 1795647838825238);
    cr_assert_eq(add(&event_log), 1795647838825239);
}

/* Also where its clock is behind. */
Test(event_log, what_is_under_way_when_a_reign_begins_ends_as_unknown)
{
    event_log_begin(&other, 1000);
    uint64_t done = add(&other);
    uint64_t open = add(&other);
    event_log_end(&other, done, "done", "", 1001);
    event_log_move(&event_log, &other);
    cr_assert_eq(other.count, 0);
    event_log_begin(&event_log, 900);
    struct list_events_response now = list(&event_log, 0);
    cr_assert_eq(now.event_count, 2);
    cr_assert_eq(now.events[0].number, done);
    cr_assert(bytes_equal(now.events[0].outcome, bytes_of_text("done")));
    cr_assert_eq(now.events[1].number, open);
    cr_assert(bytes_equal(now.events[1].outcome, bytes_of_text("unknown")));
    cr_assert_eq(now.events[1].ended_us, 900);
    cr_assert_gt(now.events[1].change, now.events[0].change, "who asks on hears of it");
    cr_assert_gt(add(&event_log), open);
    event_log_end(&event_log, open, "done", "",
                  901); /* a late word of the reign before changes what is told */
}

Test(event_log, what_is_not_later_is_passed_over)
{
    struct event event = {.number = 7, .change = 9, .outcome = bytes_of_text("under_way")};
    cr_assert(event_log_take(&event_log, &event));
    cr_assert_not(event_log_take(&event_log, &event));
    event.number = 8;
    cr_assert_not(event_log_take(&event_log, &event));
    event.change = 10;
    cr_assert(event_log_take(&event_log, &event));
    event = (struct event){.number = 7, .change = 11, .outcome = bytes_of_text("done")};
    cr_assert(event_log_take(&event_log, &event));
    struct list_events_response now = list(&event_log, 0);
    cr_assert_eq(now.event_count, 2);
    cr_assert_eq(now.events[0].number, 8);
    cr_assert_eq(now.events[1].number, 7);
    cr_assert(bytes_equal(now.events[1].outcome, bytes_of_text("done")));
}

static void follow(uint64_t *after)
{
    struct list_events_response page = {.more = true};
    while (page.more) {
        page = list(&event_log, *after);
        for (size_t i = 0; i < page.event_count; i++) {
            cr_assert(event_log_take(&other, &page.events[i]));
            *after = page.events[i].change;
        }
    }
}

/* Whoever follows, at whatever moments, has the same in the end; also when both let the oldest go. */
Test(event_log, who_follows_has_the_same)
{
    for (uint64_t seed = 1; seed <= 200; seed++) {
        struct prng random = prng_of_seed(seed);
        uint64_t after = 0;
        event_log.count_max = other.count_max = 1 + prng_below(&random, 40);
        event_log_begin(&event_log, (int64_t)seed);
        for (uint64_t i = 0; i < 100; i++) {
            uint64_t number = add(&event_log);
            event_log_end(&event_log, number - prng_below(&random, 5), "done", "", 1 + (int64_t)i);
            if (prng_below(&random, 8) == 0) {
                follow(&after);
            }
        }
        follow(&after);
        struct list_events_response ours = list(&event_log, 0);
        struct list_events_response theirs = list(&other, 0);
        cr_assert_eq(ours.event_count, theirs.event_count, "seed %llu", (unsigned long long)seed);
        for (size_t i = 0; i < ours.event_count; i++) {
            cr_assert_eq(ours.events[i].change, theirs.events[i].change);
            cr_assert_eq(ours.events[i].number, theirs.events[i].number);
            cr_assert_eq(ours.events[i].ended_us, theirs.events[i].ended_us);
            cr_assert(bytes_equal(ours.events[i].text, theirs.events[i].text));
        }
        stop();
        start();
    }
}
