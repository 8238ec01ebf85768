/* What was decided is told, with its numbers: splits because of load and of size, and of which tables. */
#include "tests/support/catalog_load.h"

TestSuite(catalog_balance, .init = start, .fini = stop, .timeout = 300);

Test(catalog_balance, an_event_says_what_was_decided_with_its_numbers)
{
    make_table(1);
    spread_load(24, 96);
    seconds(10);
    struct list_events_response list = list_events("t", 0);
    cr_assert_geq(list.event_count, 1);
    const struct event *event = &list.events[0];
    cr_assert(bytes_equal(event->kind, bytes_of_text("split")));
    cr_assert(bytes_equal(event->table_name, bytes_of_text("t")));
    cr_assert_gt(event->figures.share_permille, 500);
    cr_assert_eq(event->figures.limit_permille, 250);
    cr_assert_geq(event->row_count, 4);
    cr_assert_gt(event->text.size_bytes, 20);
    cr_assert_gt(event->ended_us, event->time_us);
    cr_assert_eq(list_events("other", 1).event_count, 0);
    cr_assert_eq(list_events("t", event->change - 1).events[0].number, event->number);
}

/* The table's first tablet has grown, and its server asks for a split. */
static void grow(const char *row, uint64_t mib)
{
    struct replica_view view = newest_view(driver_locate(&driver, "t", "").locations[0].tablet);
    struct held_tablet *held = fake_held(&leader_server(&view)->fake, view.tablet);
    held->size_bytes = mib << 20;
    held->wants_split = true;
    held->split_row = bytes_of_text(row);
}

static void assert_size_split_is_told(void)
{
    grow("m", 20);
    seconds(5);
    cr_assert_eq(count_tablets(), 2);
    struct list_events_response list = list_events("t", 0);
    cr_assert_eq(list.event_count, 1);
    const struct event *event = &list.events[0];
    cr_assert(bytes_equal(event->kind, bytes_of_text("split")));
    cr_assert(bytes_equal(event->reason, bytes_of_text("size")));
    cr_assert(bytes_equal(event->outcome, bytes_of_text("done")));
    cr_assert(bytes_equal(event->row, bytes_of_text("m")) && event->row_count == 1);
    cr_assert_eq(event->figures.size_bytes, UINT64_C(20) << 20);
    cr_assert_eq(event->figures.limit_bytes, UINT64_C(16) << 20);
    cr_assert(bytes_equal(
        event->text,
        bytes_of_text("20.0 MiB are stored in it (limit 16.0 MiB), 0 operations/s: split at 'm'")));
}

Test(catalog_balance, a_split_by_size_is_an_event_with_its_numbers)
{
    make_table(3);
    assert_size_split_is_told();
}

Test(catalog_balance, when_a_split_by_size_is_done_is_seen_where_there_is_no_load)
{
    static const char *const rows[] = {"m", "l", "k", "j", "i", "h", "g", "f"};
    make_table(1);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        seconds(71); /* rounds are ten seconds apart by now, and each time it is another of them */
        grow(rows[i], 4096);
        seconds(3);
        cr_assert_eq(count_events("split", "size", "done"), i + 1);
    }
}

Test(catalog_balance, a_split_by_size_is_told_of_where_nothing_is_done_about_load)
{
    driver.settings.balance.enabled = false;
    driver_crash(&driver);
    replicas_settle(&driver, servers, SERVERS);
    make_table(1);
    assert_size_split_is_told();
}

/* A new master, that allows for so many tablets. */
static void allow_tablets(uint64_t tablets_max)
{
    driver.settings.tablets_max = tablets_max;
    driver_crash(&driver);
    replicas_settle(&driver, servers, SERVERS);
}

/* It waited without a word. */
Test(catalog_balance, a_split_by_size_that_the_limit_of_tablets_is_in_the_way_of_says_so_once)
{
    allow_tablets(1);
    make_table(1);
    grow("m", 20);
    seconds(100);
    cr_assert_eq(count_tablets(), 1);
    struct list_events_response list = list_events("t", 0);
    cr_assert_eq(list.event_count, 1, "%zu events", list.event_count);
    const struct event *event = &list.events[0];
    cr_assert(bytes_equal(event->kind, bytes_of_text("refuse")));
    cr_assert(bytes_equal(event->reason, bytes_of_text("limit")));
    cr_assert(bytes_equal(event->outcome, bytes_of_text("refused")));
    cr_assert_eq(event->figures.size_bytes, UINT64_C(20) << 20);
    cr_assert(bytes_equal(
        event->text,
        bytes_of_text("20.0 MiB are stored in it (limit 16.0 MiB), 0 operations/s: not split: "
                      "there would be more tablets than limits.tablets_max allows")));
    allow_tablets(2);
    seconds(5);
    cr_assert_eq(count_tablets(), 2);
    cr_assert_eq(count_events("refuse", "limit", NULL), 0);
    cr_assert_eq(count_events("split", "size", "done"), 1);
}

Test(catalog_balance, events_of_what_is_no_table_and_never_was_one_are_refused)
{
    struct buffer body = BUFFER_INIT;
    make_table(1);
    cr_assert_eq(list_events("t", 0).event_count, 0);
    list_events_request_encode(&(struct list_events_request){bytes_of_text("NOPE"), 0, 0}, &body);
    driver_assert_refused(&driver, driver_send(&driver, METHOD_LIST_EVENTS, &body),
                          STATUS_NOT_FOUND, "no table is named 'NOPE'");
    cr_assert_eq(list_events("NOPE", 1).event_count, 0, "who asks on has been told");
    spread_load(24, 96);
    seconds(10);
    (void)driver_by_name(&driver, METHOD_DELETE_TABLE, "t");
    replicas_settle(&driver, servers, SERVERS);
    cr_assert_geq(list_events("t", 0).event_count, 1, "events outlive their table");
}
