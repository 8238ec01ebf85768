/* Tables are created, altered and deleted, durable before visible. */
#include "tests/support/catalog_fixture.h"

TestSuite(catalog, .init = start, .fini = stop, .timeout = 300);

/* --- create ----------------------------------------------------------------------------------- */

Test(catalog, create_answers_when_every_tablet_serves)
{
    const char *splits[] = {"m", "c", "m"};
    uint64_t request = driver_create(&driver, "t", splits, 3);
    cr_assert_null(driver_reply(&driver, request));
    struct locate_response before = driver_locate(&driver, "t", "");
    cr_assert_eq(before.location_count, 3); /* sorted, each split once */
    for (size_t i = 0; i < 3; i++) {
        cr_assert_eq(before.locations[i].state, TABLET_CREATING);
        cr_assert_eq(before.locations[i].server, 0, "not served yet");
    }
    fake_sync(&driver, &servers[0]); /* learns, creates */
    fake_sync(&driver, &servers[0]); /* reports */
    cr_assert_null(driver_reply(&driver, request));
    fakes_settle(&driver, servers, 3);
    cr_assert_eq(driver_table(&driver, request).tablet_count, 3);
    struct locate_response after = driver_locate(&driver, "t", "d");
    cr_assert_eq(after.location_count, 2);
    cr_assert(bytes_equal(after.locations[0].range.start, bytes_of_text("c")));
    cr_assert(bytes_equal(after.locations[0].range.end, bytes_of_text("m")));
    cr_assert_neq(after.locations[0].server, 0);
    cr_assert_gt(after.locations[0].address.size_bytes, 0);
}

Test(catalog, create_refuses_what_is_wrong)
{
    const char *empty[] = {""};
    uint64_t request = driver_create(&driver, "bad name!", NULL, 0);
    driver_assert_refused(&driver, request, STATUS_INVALID_ARGUMENT, "bad name!");
    request = driver_create(&driver, "t", empty, 1);
    driver_assert_refused(&driver, request, STATUS_INVALID_ARGUMENT, "split 0");
    const char *many[LIMIT_SPLITS_PER_CREATE + 1];
    for (size_t i = 0; i < LIMIT_SPLITS_PER_CREATE + 1; i++) {
        many[i] = "m";
    }
    request = driver_create(&driver, "t", many, LIMIT_SPLITS_PER_CREATE + 1);
    driver_assert_refused(
        &driver, request, STATUS_INVALID_ARGUMENT,
        "at most 1000 are made with a table, others when it is there (ebt split)");
    make_table("t", NULL, 0);
    request = driver_create(&driver, "t", NULL, 0);
    driver_assert_refused(&driver, request, STATUS_ALREADY_EXISTS, "'t' already exists");
}

Test(catalog, create_without_a_living_server_is_unavailable)
{
    driver_pass(&driver, 4 * SECOND_NS);
    uint64_t request = driver_create(&driver, "t", NULL, 0);
    driver_assert_refused(&driver, request, STATUS_UNAVAILABLE, "no tablet server is alive");
}

Test(catalog, create_that_takes_too_long_names_what_is_missing)
{
    for (size_t i = 0; i < 3; i++) {
        servers[i].idle = true;
    }
    uint64_t request = driver_create(&driver, "t", NULL, 0);
    for (int i = 0; i < 40; i++) { /* they live, and do nothing */
        fakes_settle(&driver, servers, 3);
        driver_pass(&driver, SECOND_NS);
    }
    driver_assert_refused(&driver, request, STATUS_DEADLINE_EXCEEDED, "1 of its 1 tablets");
    cr_assert_eq(driver_locate(&driver, "t", "").location_count, 1, "the table exists");
}

Test(catalog, tablets_of_a_table_spread_over_servers)
{
    const char *splits[] = {"b", "c", "d", "e", "f"};
    uint64_t on[4] = {0};
    make_table("t", splits, 5);
    struct locate_response where = driver_locate(&driver, "t", "");
    for (size_t i = 0; i < 6; i++) {
        on[where.locations[i].server]++;
    }
    cr_assert_eq(on[1], 2);
    cr_assert_eq(on[2], 2);
    cr_assert_eq(on[3], 2);
}

Test(catalog, a_tablet_never_reported_is_placed_again_and_the_late_copy_dropped)
{
    servers[0].idle = true;
    servers[1].idle = true;
    servers[2].idle = true;
    uint64_t request = driver_create(&driver, "t", NULL, 0);
    fakes_settle(&driver, servers, 3);
    uint64_t first = fake_held(&servers[0], 1) != NULL ? 1 : 0;
    cr_assert_eq(first, 0);
    /* the chosen server lives but does not create it; the others would */
    servers[1].idle = false;
    servers[2].idle = false;
    for (int i = 0; i < 8; i++) {
        fakes_settle(&driver, servers, 3);
        driver_pass(&driver, SECOND_NS);
    }
    struct locate_response where = driver_locate(&driver, "t", "");
    cr_assert_eq(where.locations[0].state, TABLET_SERVING);
    cr_assert_neq(where.locations[0].server, 1);
    cr_assert_gt(where.locations[0].configuration, 1);
    (void)driver_body(&driver, request);
    /* the first server wakes up with its copy: it does not count, and it is told */
    uint64_t chosen = where.locations[0].server;
    fake_hold(&servers[0], where.locations[0].tablet, 10, HELD_CREATED);
    servers[0].idle = false;
    servers[0].known_version = 0;
    fakes_settle(&driver, servers, 3);
    cr_assert_null(fake_held(&servers[0], where.locations[0].tablet));
    cr_assert_eq(driver_locate(&driver, "t", "").locations[0].server, chosen);
}

/* Where the tablet is, or is to be, as servers are told. */
static uint64_t server_of_tablet(uint64_t tablet, struct fake_server *asks)
{
    struct sync_response response;
    uint64_t server = 0;
    asks->known_version = 0;
    uint64_t request = fake_send(&driver, asks);
    cr_assert_eq(
        sync_response_decode(driver_body(&driver, request), &driver.arena, &response, NULL),
        STATUS_OK);
    for (size_t i = 0; i < response.tablet_count; i++) {
        const struct location *location = &response.tablets[i].location;
        server = location->tablet == tablet && !response.tablets[i].removed ? location->server
                                                                            : server;
    }
    return server;
}

/* Until the tablet is to be made by another server; who is idle makes none. */
static struct fake_server *place_again(uint64_t tablet)
{
    uint64_t before = server_of_tablet(tablet, &servers[0]);
    for (int i = 0; i < 40 && server_of_tablet(tablet, &servers[0]) == before; i++) {
        fakes_settle(&driver, servers, 2);
        driver_pass(&driver, SECOND_NS);
    }
    uint64_t after = server_of_tablet(tablet, &servers[0]);
    cr_assert_neq(after, before);
    return &servers[after - 1];
}

/* Else the one that counts by then would be gone (simulator, seed 4330952). */
Test(catalog, a_late_copy_stays_while_the_tablet_may_be_placed_on_its_server_again)
{
    servers[0].idle = true;
    servers[1].idle = true;
    for (int i = 0; i < 30; i++) { /* the third is given up */
        fakes_settle(&driver, servers, 2);
        driver_pass(&driver, SECOND_NS);
    }
    (void)driver_create(&driver, "t", NULL, 0);
    uint64_t tablet = 1;
    struct fake_server *late = &servers[server_of_tablet(tablet, &servers[0]) - 1];
    struct fake_server *other = place_again(tablet);
    cr_assert_neq(late, other);
    fake_hold(late, tablet, late->number * 10, HELD_CREATED);
    fakes_settle(&driver, servers, 2);
    driver.hold_commits = true;
    for (int i = 0; i < 40 && driver.transaction == 0; i++) {
        fake_sync(&driver, &servers[0]);
        fake_sync(&driver, &servers[1]);
        driver_pass(&driver, SECOND_NS / 4);
    }
    cr_assert_neq(driver.transaction, 0, "it is to be placed on the first again");
    fake_hold(other, tablet, other->number * 10, HELD_CREATED);
    fake_sync(&driver, other);
    late->idle = false;
    fake_sync(&driver, late);
    cr_assert_not_null(fake_held(late, tablet), "it may be the one that counts");
    driver.hold_commits = false;
    cr_assert_eq(driver_commit(&driver), STATUS_OK);
    other->idle = false;
    fakes_settle(&driver, servers, 2);
    cr_assert_eq(driver_locate(&driver, "t", "").locations[0].state, TABLET_SERVING);
    cr_assert_eq(driver_locate(&driver, "t", "").locations[0].server, late->number);
    cr_assert_not_null(fake_held(late, tablet));
    cr_assert_null(fake_held(other, tablet));
}

/* --- durable before visible ------------------------------------------------------------------- */

Test(catalog, nothing_is_visible_before_it_is_durable)
{
    driver.hold_commits = true;
    uint64_t create = driver_create(&driver, "t", NULL, 0);
    uint64_t get = driver_by_name(&driver, METHOD_GET_TABLE, "t");
    driver_assert_refused(&driver, get, STATUS_NOT_FOUND, "'t'");
    uint64_t version = servers[0].known_version;
    fake_sync(&driver, &servers[0]);
    cr_assert_eq(servers[0].known_version, version);
    cr_assert_null(driver_reply(&driver, create));
    cr_assert_eq(driver_commit(&driver), STATUS_OK);
    get = driver_by_name(&driver, METHOD_GET_TABLE, "t");
    cr_assert_eq(driver_table(&driver, get).tablet_count, 1);
}

Test(catalog, a_failed_write_changes_nothing_and_says_so)
{
    coordinator_memory_fail(driver.coordinator, 0, 1);
    uint64_t request = driver_create(&driver, "t", NULL, 0);
    driver_assert_refused(&driver, request, STATUS_RESOURCE_EXHAUSTED, "nothing was changed");
    uint64_t get = driver_by_name(&driver, METHOD_GET_TABLE, "t");
    driver_assert_refused(&driver, get, STATUS_NOT_FOUND, "'t'");
    make_table("t", NULL, 0); /* and then it works */
    cr_assert_geq(driver_locate(&driver, "t", "").locations[0].tablet, 2, "numbers are not reused");
}

Test(catalog, what_servers_report_is_written_again_after_a_failure)
{
    uint64_t request = driver_create(&driver, "t", NULL, 0);
    fakes_settle(&driver, servers, 1); /* creates, maybe */
    coordinator_memory_fail(driver.coordinator, 0, 3);
    for (int i = 0; i < 8; i++) {
        fakes_settle(&driver, servers, 3);
        driver_pass(&driver, SECOND_NS);
    }
    (void)driver_body(&driver, request);
    cr_assert_eq(driver_locate(&driver, "t", "").locations[0].state, TABLET_SERVING);
}

Test(catalog, requests_wait_for_their_turn_in_order)
{
    driver.hold_commits = true;
    uint64_t first = driver_create(&driver, "t", NULL, 0);
    uint64_t second = driver_create(&driver, "t", NULL, 0);
    uint64_t third = driver_by_name(&driver, METHOD_DELETE_TABLE, "t");
    cr_assert_null(driver_reply(&driver, second));
    driver.hold_commits = false;
    (void)driver_commit(&driver);
    driver_assert_refused(&driver, second, STATUS_ALREADY_EXISTS, "'t'");
    fakes_settle(&driver, servers, 3);
    driver_assert_refused(&driver, first, STATUS_ABORTED, "deleted while");
    (void)driver_body(&driver, third);
}

Test(catalog, a_request_whose_time_is_over_gets_no_turn)
{
    driver.hold_commits = true;
    (void)driver_create(&driver, "a", NULL, 0);
    uint64_t waits = driver_create(&driver, "b", NULL, 0);
    driver_pass(&driver, 31 * SECOND_NS);
    driver_assert_refused(&driver, waits, STATUS_DEADLINE_EXCEEDED, "nothing was changed");
    (void)driver_commit(&driver);
    uint64_t get = driver_by_name(&driver, METHOD_GET_TABLE, "b");
    driver_assert_refused(&driver, get, STATUS_NOT_FOUND, "'b'");
}

/* --- alter and delete ------------------------------------------------------------------------- */

Test(catalog, alter_is_all_or_none)
{
    make_table("t", NULL, 0);
    const struct alteration both[] = {
        {.kind = ALTER_CREATE_FAMILY, .family = {.name = bytes_of_text("g")}},
        {.kind = ALTER_DROP_FAMILY, .family = {.name = bytes_of_text("nope")}},
    };
    uint64_t request = driver_alter(&driver, "t", both, 2);
    driver_assert_refused(&driver, request, STATUS_NOT_FOUND, "'nope'");
    request = driver_by_name(&driver, METHOD_GET_TABLE, "t");
    cr_assert_eq(driver_table(&driver, request).table.family_count, 1);
    cr_assert_eq(driver_table(&driver, request).table.version, 1);
}

Test(catalog, alter_waits_until_living_servers_know)
{
    make_table("t", NULL, 0);
    const struct alteration add = {.kind = ALTER_CREATE_FAMILY,
                                   .family = {.name = bytes_of_text("g")}};
    uint64_t request = driver_alter(&driver, "t", &add, 1);
    cr_assert_null(driver_reply(&driver, request));
    for (size_t i = 0; i < 3; i++) {
        fake_sync(&driver, &servers[i]); /* is told */
    }
    cr_assert_null(driver_reply(&driver, request));
    for (size_t i = 0; i < 3; i++) {
        cr_assert_null(driver_reply(&driver, request));
        fake_sync(&driver, &servers[i]); /* knows */
    }
    struct table_response response = driver_table(&driver, request);
    cr_assert_eq(response.table.family_count, 2);
    cr_assert_eq(response.table.families[1].number, 2);
}

Test(catalog, family_numbers_are_never_reused)
{
    make_table("t", NULL, 0);
    const struct alteration again[] = {
        {.kind = ALTER_DROP_FAMILY, .family = {.name = bytes_of_text("f")}},
        {.kind = ALTER_CREATE_FAMILY, .family = {.name = bytes_of_text("f")}},
    };
    uint64_t request = driver_alter(&driver, "t", again, 2);
    fakes_settle(&driver, servers, 3);
    struct table_response response = driver_table(&driver, request);
    cr_assert_eq(response.table.family_count, 1);
    cr_assert_eq(response.table.families[0].number, 2);
}

Test(catalog, aggregate_type_is_immutable)
{
    make_table("t", NULL, 0);
    const struct alteration change = {
        .kind = ALTER_UPDATE_GC,
        .family = {.name = bytes_of_text("f"), .aggregate = AGGREGATE_INTSUM}};
    uint64_t request = driver_alter(&driver, "t", &change, 1);
    driver_assert_refused(&driver, request, STATUS_INVALID_ARGUMENT,
                          "Immutable fields 'value_type.aggregate_type");
}

Test(catalog, protection_guards_table_and_families)
{
    make_table("t", NULL, 0);
    const struct alteration protect = {.kind = ALTER_PROTECT, .flag = true};
    const struct alteration drop = {.kind = ALTER_DROP_FAMILY,
                                    .family = {.name = bytes_of_text("f")}};
    (void)driver_alter(&driver, "t", &protect, 1);
    fakes_settle(&driver, servers, 3);
    uint64_t request = driver_by_name(&driver, METHOD_DELETE_TABLE, "t");
    driver_assert_refused(&driver, request, STATUS_FAILED_PRECONDITION, "protection");
    request = driver_alter(&driver, "t", &drop, 1);
    driver_assert_refused(&driver, request, STATUS_FAILED_PRECONDITION, "protection");
}

Test(catalog, delete_is_told_to_servers_and_numbers_move_on)
{
    make_table("t", NULL, 0);
    uint64_t number = driver_locate(&driver, "t", "").table.number;
    uint64_t request = driver_by_name(&driver, METHOD_DELETE_TABLE, "t");
    uint64_t sync = fake_send(&driver, &servers[0]);
    struct sync_response response;
    cr_assert_eq(sync_response_decode(driver_body(&driver, sync), &driver.arena, &response, NULL),
                 STATUS_OK);
    cr_assert_eq(response.dropped_table_count, 1);
    cr_assert_eq(response.dropped_tables[0], number);
    fakes_settle(&driver, servers, 3);
    cr_assert_eq(driver_table(&driver, request).table.number, number);
    driver_forget_replies(&driver);
    request = driver_by_name(&driver, METHOD_DELETE_TABLE, "t");
    driver_assert_refused(&driver, request, STATUS_NOT_FOUND, "table 't' was not found");
    make_table("t", NULL, 0);
    cr_assert_gt(driver_locate(&driver, "t", "").table.number, number);
}

Test(catalog, tablets_of_a_dropped_table_are_dropped_whenever_they_are_reported)
{
    const char *splits[] = {"h", "q"};
    make_table("t", splits, 2);
    cr_assert_eq(servers[0].held_count + servers[1].held_count + servers[2].held_count, 3);
    (void)driver_split(&driver, "t", "c");
    fakes_settle(&driver, servers, 3);
    driver_pass(&driver, 4 * SECOND_NS); /* all are away */
    (void)driver_body(&driver, driver_by_name(&driver, METHOD_DELETE_TABLE, "t"));
    driver_crash(&driver); /* and the master forgets what it need not remember */
    fakes_settle(&driver, servers, 3);
    cr_assert_eq(servers[0].held_count + servers[1].held_count + servers[2].held_count, 0);
}

Test(catalog, a_server_that_was_away_learns_of_dropped_tables_even_after_a_restart)
{
    make_table("t", NULL, 0);
    uint64_t number = driver_locate(&driver, "t", "").table.number;
    driver_pass(&driver, 4 * SECOND_NS); /* all are away: none is waited for */
    (void)driver_body(&driver, driver_by_name(&driver, METHOD_DELETE_TABLE, "t"));
    driver_crash(&driver);
    uint64_t sync = fake_send(&driver, &servers[0]);
    struct sync_response response;
    cr_assert_eq(sync_response_decode(driver_body(&driver, sync), &driver.arena, &response, NULL),
                 STATUS_OK);
    cr_assert(response.reset);
    cr_assert_eq(response.dropped_table_count, 1);
    cr_assert_eq(response.dropped_tables[0], number);
}
