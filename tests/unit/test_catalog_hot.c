/* Hot tablets as the catalog lists them: from reports in syncs, by the names of their tables. */
#include "tests/support/catalog_fixture.h"

TestSuite(catalog, .init = start, .fini = stop, .timeout = 300);

#define SECOND_CPU_NS UINT64_C(2000000000) /* of two processors */

/* A sync of the server that holds what it held, with a report of one tablet. */
static void send_load(struct fake_server *server,
                      uint64_t number,
                      uint64_t tablet,
                      uint64_t percent)
{
    const struct tablet_load load = {
        .tablet = tablet,
        .figures = {.writes = 5, .write_cpu_ns = SECOND_CPU_NS / 100 * percent},
    };
    server->load = (struct load_report){number, 1000000000, SECOND_CPU_NS, &load, 1};
    (void)driver_body(&driver, fake_send(&driver, server));
    server->load = (struct load_report){0};
    driver_forget_replies(&driver);
}

static struct list_hot_tablets_response list_hot(void)
{
    struct buffer body = BUFFER_INIT;
    const struct list_hot_tablets_request list = {0, INT64_MAX, 0, 0};
    struct list_hot_tablets_response response;
    list_hot_tablets_request_encode(&list, &body);
    uint64_t request = driver_send(&driver, METHOD_LIST_HOT_TABLETS, &body);
    cr_assert_eq(list_hot_tablets_response_decode(driver_body(&driver, request), &driver.arena,
                                                  &response, NULL),
                 STATUS_OK);
    return response;
}

/* The server that holds the tablet of the row. */
static struct fake_server *holder(const char *table, const char *row, uint64_t *ret_tablet)
{
    struct locate_response located = driver_locate(&driver, table, row);
    *ret_tablet = located.locations[0].tablet;
    return &servers[located.locations[0].server - 1];
}

Test(catalog, a_reported_tablet_is_listed_with_its_table_and_rows)
{
    const char *const splits[] = {"h", "p"};
    uint64_t tablet = 0;
    make_table("METRIC", splits, 2);
    struct fake_server *server = holder("METRIC", "k", &tablet);
    send_load(server, 1, tablet, 40);
    send_load(server, 1, tablet, 40); /* its answer was lost */
    struct list_hot_tablets_response hot = list_hot();
    cr_assert_eq(hot.tablet_count, 1);
    cr_assert_eq(hot.next, 0);
    cr_assert_eq(hot.tablets[0].tablet, tablet);
    cr_assert_eq(hot.tablets[0].server, server->number);
    cr_assert(bytes_equal(hot.tablets[0].table_name, bytes_of_text("METRIC")));
    cr_assert(bytes_equal(hot.tablets[0].range.start, bytes_of_text("h")));
    cr_assert(bytes_equal(hot.tablets[0].range.end, bytes_of_text("p")));
    cr_assert_eq(hot.tablets[0].figures.writes, 5);
    cr_assert_eq(hot.tablets[0].figures.write_cpu_ns, SECOND_CPU_NS / 100 * 40);
}

Test(catalog, a_report_writes_nothing_down_for_good)
{
    uint64_t tablet = 0;
    make_table("METRIC", NULL, 0);
    struct fake_server *server = holder("METRIC", "k", &tablet);
    driver.hold_commits = true;
    send_load(server, 1, tablet, 40);
    cr_assert_eq(driver.transaction, 0);
    driver.hold_commits = false;
    driver_crash(&driver);
    cr_assert_eq(list_hot().tablet_count, 0, "lost with the process");
}

Test(catalog, what_a_table_had_to_do_is_not_listed_when_it_is_gone)
{
    uint64_t tablet = 0;
    make_table("METRIC", NULL, 0);
    make_table("OTHER", NULL, 0);
    struct fake_server *server = holder("METRIC", "k", &tablet);
    send_load(server, 1, tablet, 40);
    server = holder("OTHER", "k", &tablet);
    send_load(server, 2, tablet, 20);
    (void)driver_by_name(&driver, METHOD_DELETE_TABLE, "METRIC");
    fakes_settle(&driver, servers, 3);
    driver_forget_replies(&driver);
    struct list_hot_tablets_response hot = list_hot();
    cr_assert_eq(hot.tablet_count, 1);
    cr_assert(bytes_equal(hot.tablets[0].table_name, bytes_of_text("OTHER")));
}

Test(catalog, a_malformed_question_about_hot_tablets_is_refused)
{
    struct buffer body = BUFFER_INIT;
    buffer_append_u8(&body, 0xc1);
    driver_assert_refused(&driver, driver_send(&driver, METHOD_LIST_HOT_TABLETS, &body),
                          STATUS_INVALID_ARGUMENT, "list_hot_tablets_request");
}
