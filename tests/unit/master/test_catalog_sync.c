/* Syncs, restarts, malformed requests, failing memory. */
#include "common/wire/reader.h"
#include "tests/support/catalog_fixture.h"
#include "tests/support/catalog_memory.h"

TestSuite(catalog, .init = start, .fini = stop, .timeout = 300);

/* --- sync ------------------------------------------------------------------------------------- */

Test(catalog, a_sync_with_nothing_to_tell_is_held_until_there_is)
{
    catalog_destroy(driver.catalog);
    driver.settings.sync_hold_ns = SECOND_NS / 4;
    driver_load(&driver);
    for (size_t i = 0; i < 3; i++) {
        uint64_t first = fake_send(&driver, &servers[i]);
        cr_assert_null(driver_reply(&driver, first));
        driver_pass(&driver, SECOND_NS / 2);
        fake_take(&driver, &servers[i], first);
    }
    uint64_t parked = fake_send(&driver, &servers[0]);
    cr_assert_null(driver_reply(&driver, parked));
    uint64_t again = fake_send(&driver, &servers[0]); /* it has news: the first is answered */
    cr_assert_not_null(driver_reply(&driver, parked));
    cr_assert_null(driver_reply(&driver, again));
    (void)driver_create(&driver, "t", NULL, 0);
    cr_assert_not_null(driver_reply(&driver, again));
    fake_take(&driver, &servers[0], again);
    cr_assert_eq(servers[0].known_version, servers[0].known_version);
}

Test(catalog, a_large_map_comes_in_pages)
{
    static char keys[1000][8];
    const char *splits[1000];
    for (size_t i = 0; i < 1000; i++) {
        snprintf(keys[i], sizeof keys[i], "%05zu", i + 1);
        splits[i] = keys[i];
    }
    make_table("a", splits, 1000);
    make_table("b", splits, 1000);
    make_table("c", splits, 1000);
    struct fake_server late;
    fake_init(&late, 9);
    size_t pages = 0;
    driver_crash(&driver);
    do {
        cr_assert_lt(pages, 10);
        fake_sync(&driver, &late);
        pages++;
    } while (late.more);
    cr_assert_gt(pages, 1);
    cr_assert_lt(pages, 5);
}

Test(catalog, another_generation_forgets_the_map)
{
    make_table("t", NULL, 0);
    servers[0].known_generation = 5;
    uint64_t sync = fake_send(&driver, &servers[0]);
    struct sync_response response;
    cr_assert_eq(sync_response_decode(driver_body(&driver, sync), &driver.arena, &response, NULL),
                 STATUS_OK);
    cr_assert(response.reset);
    cr_assert_eq(response.table_count, 1);
}

/* --- the rest --------------------------------------------------------------------------------- */

Test(catalog, a_restart_finds_everything_again)
{
    const char *splits[] = {"m"};
    make_table("t", splits, 1);
    (void)driver_split(&driver, "t", "x"); /* not carried out yet */
    struct locate_response before = driver_locate(&driver, "t", "");
    driver_crash(&driver);
    struct locate_response after = driver_locate(&driver, "t", "");
    cr_assert_eq(after.location_count, 3);
    for (size_t i = 0; i < 3; i++) {
        cr_assert_eq(after.locations[i].tablet, before.locations[i].tablet);
        cr_assert_eq(after.locations[i].state, before.locations[i].state);
        cr_assert_eq(after.locations[i].configuration, before.locations[i].configuration);
    }
    fakes_settle(&driver, servers, 3);
    cr_assert_eq(driver_locate(&driver, "t", "x").locations[0].state, TABLET_SERVING);
}

Test(catalog, malformed_and_unknown_requests_are_refused)
{
    struct buffer body = BUFFER_INIT;
    buffer_append(&body, "\xff\xff", 2);
    uint64_t request = driver_send(&driver, METHOD_CREATE_TABLE, &body);
    driver_assert_refused(&driver, request, STATUS_INVALID_ARGUMENT, "");
    buffer_append(&body, "\xff\xff", 2);
    request = driver_send(&driver, METHOD_SYNC, &body);
    driver_assert_refused(&driver, request, STATUS_INVALID_ARGUMENT, "");
    request = driver_send(&driver, METHOD_SCAN, &body);
    driver_assert_refused(&driver, request, STATUS_UNIMPLEMENTED, "method");
}

Test(catalog, too_many_waiting_requests_are_refused)
{
    catalog_destroy(driver.catalog);
    driver.settings.requests_max = 2;
    driver_load(&driver);
    driver.hold_commits = true;
    fakes_settle(&driver, servers, 1);
    driver.hold_commits = false;
    if (driver.transaction != 0) {
        (void)driver_commit(&driver);
    }
    driver.hold_commits = true;
    (void)driver_create(&driver, "a", NULL, 0);
    (void)driver_create(&driver, "b", NULL, 0);
    uint64_t third = driver_create(&driver, "c", NULL, 0);
    driver_assert_refused(&driver, third, STATUS_UNAVAILABLE, "too many requests");
}

Test(catalog, lists_are_sorted_and_status_is_json)
{
    make_table("b", NULL, 0);
    make_table("a", NULL, 0);
    struct buffer body = BUFFER_INIT;
    struct tables_response tables;
    uint64_t request = driver_send(&driver, METHOD_LIST_TABLES, &body);
    cr_assert_eq(
        tables_response_decode(driver_body(&driver, request), &driver.arena, &tables, NULL),
        STATUS_OK);
    cr_assert_eq(tables.table_count, 2);
    cr_assert(bytes_equal(tables.tables[0].table.id, bytes_of_text("a")));
    struct servers_response list;
    request = driver_send(&driver, METHOD_LIST_SERVERS, &body);
    cr_assert_eq(servers_response_decode(driver_body(&driver, request), &driver.arena, &list, NULL),
                 STATUS_OK);
    cr_assert_eq(list.server_count, 3);
    cr_assert_eq(list.cluster, DRIVER_CLUSTER);
    cr_assert(list.servers[0].alive);
    cr_assert_eq(list.servers[0].stores[0].free_bytes, UINT64_C(1) << 40);
    struct buffer json = BUFFER_INIT;
    catalog_look(driver.catalog, driver.now_ns);
    catalog_status_json(driver.catalog, "active", &json);
    cr_assert_eq(json.data[0], '{');
    cr_assert_eq(json.data[json.size_bytes - 1], '}');
    buffer_deinit(&json);
}

static struct catalog_counts counts_now(void)
{
    struct catalog_counts counts;
    catalog_counts(driver.catalog, &counts);
    return counts;
}

Test(catalog, what_is_not_to_be_had_is_counted)
{
    const char *splits[] = {"h", "q"};
    make_table("t", splits, 2);
    uint64_t away = driver_locate(&driver, "t", "").locations[0].server;
    struct fake_server *other = &servers[away % 3];
    cr_assert_eq(counts_now().tablets_without_copy, 0);
    other->unopened_count = 2;
    for (int i = 0; i < 4; i++) { /* the first tablet's server is silent */
        for (uint64_t j = 0; j < 3; j++) {
            if (servers[j].number != away) {
                fake_sync(&driver, &servers[j]);
            }
        }
        driver_pass(&driver, SECOND_NS);
    }
    cr_assert_eq(counts_now().tablets_without_copy, servers[away - 1].held_count);
    cr_assert_gt(servers[away - 1].held_count, 0);
    cr_assert_eq(counts_now().stores_unopened, 2);
    struct buffer body = BUFFER_INIT;
    struct servers_response list;
    uint64_t request = driver_send(&driver, METHOD_LIST_SERVERS, &body);
    cr_assert_eq(servers_response_decode(driver_body(&driver, request), &driver.arena, &list, NULL),
                 STATUS_OK);
    cr_assert_eq(list.servers[other->number - 1].unopened_count, 2);
    fakes_settle(&driver, servers, 3);
    cr_assert_eq(counts_now().tablets_without_copy, 0);
}

/* A request whose step runs out of memory changes nothing, wherever it does. */
Test(catalog, requests_survive_failing_memory)
{
    for (uint64_t after = 0; driver.transaction == 0; after++) {
        struct buffer body = BUFFER_INIT;
        struct family families[] = {{.name = bytes_of_text("f")}};
        const struct bytes key = bytes_of_text("m");
        struct create_table_request create = {
            .table = {.id = bytes_of_text("t"), .families = families, .family_count = 1},
            .splits = &key,
            .split_count = 1,
        };
        create_table_request_encode(&create, &body);
        (void)driver_send_without_memory(&driver, METHOD_CREATE_TABLE, &body, after);
        cr_assert(driver.transaction == 0 || after > 3);
        cr_assert_lt(after, 500);
    }
    (void)driver_commit(&driver);
    fakes_settle(&driver, servers, 3);
    cr_assert_eq(driver_locate(&driver, "t", "").location_count, 2);
}

Test(catalog, committing_never_needs_memory)
{
    driver.hold_commits = true;
    uint64_t request = driver_create(&driver, "t", NULL, 0);
    driver_commit_without_memory(&driver, 0);
    driver.hold_commits = false;
    fakes_settle(&driver, servers, 3);
    driver_pass(&driver, 2 * SECOND_NS); /* the planner tries again after a second */
    fakes_settle(&driver, servers, 3);
    (void)driver_body(&driver, request);
}
