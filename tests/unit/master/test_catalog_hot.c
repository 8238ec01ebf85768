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

Test(catalog, a_report_is_handed_over_once_to_who_shows_it)
{
    uint64_t tablet = 0;
    make_table("METRIC", NULL, 0);
    struct fake_server *server = holder("METRIC", "k", &tablet);
    send_load(server, 1, tablet, 40);
    cr_assert_eq(driver.loads, 0, "nobody shows it");
    driver.settings.shows_load = true;
    driver_crash(&driver);
    fakes_settle(&driver, servers, 3);
    driver_forget_replies(&driver);
    send_load(server, 2, tablet, 40);
    send_load(server, 2, tablet, 40); /* its answer was lost */
    cr_assert_eq(driver.loads, 1);
    cr_assert_eq(driver.loaded_table, driver_locate(&driver, "METRIC", "k").table.number);
    cr_assert_eq(driver.loaded_writes, 5);
    send_load(server, 3, tablet + 1000, 40); /* no such tablet */
    cr_assert_eq(driver.loads, 2);
    cr_assert_eq(driver.loaded_table, 0);
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

/* --- hot keys and advice ------------------------------------------------------------------------ */

/* A report of one tablet that appends, and has one row that is written to often. */
static void send_detail(struct fake_server *server,
                        uint64_t number,
                        uint64_t tablet,
                        const char *start)
{
    const struct load_point points[] = {{bytes_of_text(start), 0, 600, 0},
                                        {bytes_of_text("kz"), 0, 400, 2}};
    const struct load_key key = {bytes_of_text("kx"), 0, 300};
    const struct tablet_load load = {
        .tablet = tablet,
        .figures = {.writes = 1000, .write_cpu_ns = SECOND_CPU_NS / 100 * 70},
        .detail = {points, 2, &key, 1, 500, 950},
    };
    server->load = (struct load_report){number, 1000000000, SECOND_CPU_NS, &load, 1};
    (void)driver_body(&driver, fake_send(&driver, server));
    server->load = (struct load_report){0};
    driver_forget_replies(&driver);
}

static uint64_t ask_hot_keys(const char *table)
{
    struct buffer body = BUFFER_INIT;
    const struct list_hot_keys_request list = {bytes_of_text(table), 0};
    list_hot_keys_request_encode(&list, &body);
    return driver_send(&driver, METHOD_LIST_HOT_KEYS, &body);
}

static struct list_hot_keys_response hot_keys(const char *table)
{
    struct list_hot_keys_response response;
    uint64_t request = ask_hot_keys(table);
    cr_assert_eq(list_hot_keys_response_decode(driver_body(&driver, request), &driver.arena,
                                               &response, NULL),
                 STATUS_OK);
    return response;
}

static uint64_t ask_advice(const char *table)
{
    struct buffer body = BUFFER_INIT;
    advise_request_encode(&(struct advise_request){bytes_of_text(table)}, &body);
    return driver_send(&driver, METHOD_ADVISE, &body);
}

static struct advise_response advice(const char *table)
{
    struct advise_response response;
    uint64_t request = ask_advice(table);
    cr_assert_eq(
        advise_response_decode(driver_body(&driver, request), &driver.arena, &response, NULL),
        STATUS_OK);
    return response;
}

/* A report of one tablet with one point, at its start. */
static void send_load_at(struct fake_server *server,
                         uint64_t number,
                         uint64_t tablet,
                         const char *start)
{
    const struct load_point point = {bytes_of_text(start), 0, 1000, 0};
    const struct tablet_load load = {
        .tablet = tablet,
        .figures = {.writes = 1000, .write_cpu_ns = SECOND_CPU_NS / 100 * 20},
        .detail = {&point, 1, NULL, 0, 500, 0},
    };
    server->load = (struct load_report){number, 1000000000, SECOND_CPU_NS, &load, 1};
    (void)driver_body(&driver, fake_send(&driver, server));
    server->load = (struct load_report){0};
    driver_forget_replies(&driver);
}

Test(catalog, hot_keys_are_listed_with_their_table_and_go_with_it)
{
    const char *const splits[] = {"h", "p"};
    uint64_t tablet = 0;
    make_table("METRIC", splits, 2);
    make_table("OTHER", NULL, 0);
    cr_assert_eq(hot_keys("").tablet_count, 0);
    struct fake_server *server = holder("METRIC", "k", &tablet);
    send_detail(server, 1, tablet, "h");
    send_detail(server, 1, tablet, "h"); /* its answer was lost: it does not count twice */
    struct list_hot_keys_response list = hot_keys("METRIC");
    cr_assert(list.tablet_count == 1 && !list.more);
    const struct hot_keys *hot = &list.tablets[0];
    cr_assert(hot->tablet == tablet && hot->server == server->number);
    cr_assert(bytes_equal(hot->table_name, bytes_of_text("METRIC")));
    cr_assert(bytes_equal(hot->range.end, bytes_of_text("p")));
    cr_assert(hot->figures.writes == 1000 && hot->elapsed_ns == 1000000000);
    cr_assert(hot->detail.point_count == 2 && hot->detail.appended_permille == 950);
    cr_assert(bytes_equal(hot->detail.keys[0].row, bytes_of_text("kx")));
    cr_assert_eq(hot_keys("OTHER").tablet_count, 0);
    cr_assert_eq(hot_keys("").tablet_count, 1);
    (void)driver_by_name(&driver, METHOD_DELETE_TABLE, "METRIC");
    fakes_settle(&driver, servers, 3);
    driver_forget_replies(&driver);
    cr_assert_eq(hot_keys("").tablet_count, 0);
}

Test(catalog, keys_are_advised_about)
{
    uint64_t tablet = 0;
    make_table("METRIC", NULL, 0);
    cr_assert_eq(advice("METRIC").findings[0].kind, ADVICE_TOO_FEW);
    struct fake_server *server = holder("METRIC", "k", &tablet);
    for (uint64_t number = 1; number <= 3; number++) {
        cr_assert_eq(advice("METRIC").findings[0].kind, ADVICE_TOO_FEW, "others have yet to tell");
        send_detail(server, number, tablet, "");
        driver_pass(&driver, SECOND_NS);
    }
    struct advise_response response = advice("METRIC");
    cr_assert_eq(response.finding_count, 3);
    cr_assert_eq(response.findings[0].kind, ADVICE_MONOTONIC);
    cr_assert_eq(response.findings[1].kind, ADVICE_POPULAR_KEY);
    cr_assert(bytes_equal(response.findings[1].key, bytes_of_text("kx")));
    cr_assert_eq(response.findings[2].kind, ADVICE_HIGH_PRESSURE);
    cr_assert_eq(response.tablet_count, 1);
}

Test(catalog, advice_is_by_what_was_told_at_about_the_same_time)
{
    const char *const splits[] = {"h", "p"};
    uint64_t tablet = 0;
    make_table("METRIC", splits, 2);
    struct fake_server *server = holder("METRIC", "a", &tablet);
    send_load_at(server, 1, tablet, "");
    driver_pass(&driver, 15 * SECOND_NS - SECOND_NS / 2);
    server = holder("METRIC", "q", &tablet);
    send_load_at(server, 2, tablet, "p");
    cr_assert_eq(advice("METRIC").busy_count, 2);
    driver_pass(&driver, SECOND_NS);
    send_load_at(server, 3, tablet, "p");
    cr_assert_eq(advice("METRIC").busy_count, 1);
    cr_assert_eq(advice("METRIC").tablet_count, 3);
    cr_assert_lt(advice("METRIC").age_us, 1000000);
    driver_pass(&driver, 24 * SECOND_NS);
    uint64_t age_us = advice("METRIC").age_us;
    cr_assert(age_us >= 24000000 && age_us < 25000000, "%lu", (unsigned long)age_us);
    cr_assert_eq(hot_keys("METRIC").tablet_count, 2, "they are still listed");
}

Test(catalog, only_who_leads_a_tablet_is_believed_where_its_load_is)
{
    uint64_t tablet = 0;
    make_table("METRIC", NULL, 0);
    struct fake_server *server = holder("METRIC", "k", &tablet);
    send_detail(&servers[server->number % 3], 1, tablet, "");
    cr_assert_eq(hot_keys("METRIC").tablet_count, 0);
    send_detail(server, 1, tablet, "");
    cr_assert_eq(hot_keys("METRIC").tablet_count, 1);
    send_detail(&servers[server->number % 3], 2, tablet, "");
    cr_assert_eq(hot_keys("METRIC").tablets[0].server, server->number);
}

Test(catalog, questions_about_keys_of_no_table_are_refused)
{
    struct buffer body = BUFFER_INIT;
    driver_assert_refused(&driver, ask_hot_keys("NOWHERE"), STATUS_NOT_FOUND, "NOWHERE");
    driver_assert_refused(&driver, ask_advice("NOWHERE"), STATUS_NOT_FOUND, "NOWHERE");
    driver_assert_refused(&driver, ask_advice(""), STATUS_NOT_FOUND, "no table");
    buffer_append_u8(&body, 0xc1);
    driver_assert_refused(&driver, driver_send(&driver, METHOD_LIST_HOT_KEYS, &body),
                          STATUS_INVALID_ARGUMENT, "list_hot_keys_request");
    body = BUFFER_INIT;
    buffer_append_u8(&body, 0xc1);
    driver_assert_refused(&driver, driver_send(&driver, METHOD_ADVISE, &body),
                          STATUS_INVALID_ARGUMENT, "advise_request");
}
