/*
 * What a catalog does about load, with servers that propose: reports in, splits and moves out.  Beside it:
 * test_catalog_balance_merge.c, _hurry, _events (how it is told), _advice.
 */
#include "tests/support/catalog_load.h"

TestSuite(catalog_balance, .init = start, .fini = stop, .timeout = 300);

Test(catalog_balance, a_hot_tablet_is_split_and_spread_and_then_it_is_quiet)
{
    make_table(1);
    spread_load(24, 96);
    seconds(40);
    cr_assert_geq(count_tablets(), 6);
    cr_assert_leq(busiest(), 96 / 6.0 * 2, "%.1f", busiest());
    cr_assert_geq(count_events("split", "far_over", "done"), 1);
    cr_assert_geq(count_events("move", "imbalance", "done"), 4);
    cr_assert_eq(count_events(NULL, NULL, "given_up"), 0);
    seconds(120);
    cr_assert_leq(busiest(), 28.1, "seven parts on six servers: %.1f", busiest());
    struct list_events_response list = list_events("", 0);
    uint64_t last = list.events[list.event_count - 1].change;
    seconds(600);
    cr_assert_eq(list_events("t", last).event_count, 0, "load that stays is left where it is");
    cr_assert_eq(count_events(NULL, NULL, "under_way"), 0);
}

Test(catalog_balance, replicas_are_handed_over_before_any_is_moved)
{
    make_table(3);
    spread_load(24, 96);
    seconds(60);
    cr_assert_geq(count_events("lead", "imbalance", "done"), 1);
    cr_assert_leq(busiest(), 60, "%.1f", busiest());
}

Test(catalog_balance, a_popular_row_is_refused_once_and_named)
{
    make_table(1);
    spread_load(4, 10);
    loads[2].percent = 70;
    seconds(120);
    cr_assert_eq(count_tablets(), 1);
    struct list_events_response list = list_events("t", 0);
    cr_assert_eq(list.event_count, 1);
    cr_assert(bytes_equal(list.events[0].reason, bytes_of_text("popular_key")));
    cr_assert(bytes_equal(list.events[0].key, bytes_of_text("a02")));
    cr_assert(bytes_equal(list.events[0].outcome, bytes_of_text("refused")));
    cr_assert_gt(list.events[0].figures.key_permille, 850);
}

Test(catalog_balance, who_appends_is_awaited_on_another_server)
{
    make_table(1);
    spread_load(10, 60);
    appended_permille = 990;
    uint64_t before = driver_locate(&driver, "t", "").locations[0].server;
    seconds(15);
    struct locate_response where = driver_locate(&driver, "t", "");
    cr_assert_eq(where.location_count, 2);
    cr_assert_gt(bytes_compare(where.locations[1].range.start, bytes_of_text("a09")), 0);
    cr_assert_eq(where.locations[0].server, before);
    cr_assert_neq(where.locations[1].server, before);
    cr_assert_eq(count_events("split", "ahead", "done"), 1);
    cr_assert_eq(count_events("move", "ahead", "done"), 1);
    cr_assert_eq(count_events("refuse", "monotonic", "refused"), 1);
}

static void pin(bool pinned)
{
    const struct alteration alteration = {.kind = ALTER_PINNED, .flag = pinned};
    uint64_t request = driver_alter(&driver, "t", &alteration, 1);
    replicas_settle(&driver, servers, SERVERS);
    cr_assert_eq(driver_table(&driver, request).table.pinned, pinned);
    driver_forget_replies(&driver);
}

Test(catalog_balance, a_pinned_table_is_left_as_it_is)
{
    make_table(1);
    pin(true);
    spread_load(24, 96);
    seconds(60);
    cr_assert_eq(count_tablets(), 1);
    driver_crash(&driver);
    seconds(60);
    cr_assert_eq(count_tablets(), 1, "it is remembered");
    pin(false);
    seconds(20);
    cr_assert_gt(count_tablets(), 1);
}

Test(catalog_balance, a_server_that_is_drained_gets_nothing_and_loses_all)
{
    make_table(1);
    uint64_t drained = driver_locate(&driver, "t", "").locations[0].server % SERVERS + 1;
    (void)drain(drained, true);
    spread_load(24, 96);
    seconds(60);
    struct locate_response where = driver_locate(&driver, "t", "");
    cr_assert_geq(where.location_count, 5);
    for (size_t i = 0; i < where.location_count; i++) {
        cr_assert_neq(where.locations[i].server, drained);
    }
}

Test(catalog_balance, a_write_that_fails_is_done_again)
{
    make_table(1);
    spread_load(24, 96);
    seconds(3);
    driver_crash(&driver); /* what was decided is forgotten, what was staged goes on */
    seconds(60);
    cr_assert_geq(count_tablets(), 6);
    cr_assert_eq(count_events(NULL, NULL, "under_way"), 0);
}
