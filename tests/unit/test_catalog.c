#include <criterion/criterion.h>

#include "common/wire/reader.h"
#include "tests/support/catalog_driver.h"

static struct driver driver;
static struct fake_server servers[3];

static void start(void)
{
    driver_init(&driver);
    for (uint64_t i = 0; i < 3; i++) {
        fake_init(&servers[i], i + 1);
    }
    fakes_settle(&driver, servers, 3);
    driver_forget_replies(&driver);
}

static void stop(void)
{
    driver_deinit(&driver);
}

TestSuite(catalog, .init = start, .fini = stop, .timeout = 20);

static void make_table(const char *name, const char *const *splits, size_t count)
{
    uint64_t request = driver_create(&driver, name, splits, count);
    fakes_settle(&driver, servers, 3);
    (void)driver_body(&driver, request);
    driver_forget_replies(&driver);
}

static uint64_t wish_split(struct fake_server *server,
                           uint64_t tablet,
                           const char *row,
                           uint64_t bytes)
{
    struct held_tablet *held = fake_held(server, tablet);
    cr_assert_not_null(held);
    held->size_bytes = bytes;
    held->wants_split = true;
    held->split_row = bytes_of_text(row);
    return tablet;
}

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
    driver_assert_refused(&driver, request, STATUS_NOT_FOUND, "Failed to read");
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

Test(catalog, what_nobody_knows_is_left_alone)
{
    fake_hold(&servers[0], 999, 10, HELD_SERVING);
    fakes_settle(&driver, servers, 3);
    cr_assert_not_null(fake_held(&servers[0], 999));
    cr_assert_str_eq(driver.last_note, "tablet_unknown");
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

/* --- splits ----------------------------------------------------------------------------------- */

Test(catalog, split_by_hand_replaces_the_parent_by_two)
{
    make_table("t", NULL, 0);
    struct location parent = driver_locate(&driver, "t", "").locations[0];
    uint64_t request = driver_split(&driver, "t", "m");
    cr_assert_null(driver_reply(&driver, request));
    struct locate_response during = driver_locate(&driver, "t", "");
    cr_assert_eq(during.location_count, 2);
    cr_assert_eq(during.locations[0].state, TABLET_SPLITTING);
    cr_assert_eq(during.locations[0].server, parent.server, "reachable all the while");
    cr_assert_eq(during.locations[0].configuration, parent.configuration + 1);
    fakes_settle(&driver, servers, 3);
    struct split_response response;
    cr_assert_eq(
        split_response_decode(driver_body(&driver, request), &driver.arena, &response, NULL),
        STATUS_OK);
    struct locate_response after = driver_locate(&driver, "t", "");
    cr_assert_eq(after.locations[0].tablet, response.left_tablet);
    cr_assert_eq(after.locations[1].tablet, response.right_tablet);
    cr_assert_eq(after.locations[1].state, TABLET_SERVING);
    request = driver_split(&driver, "t", "m");
    driver_assert_refused(&driver, request, STATUS_INVALID_ARGUMENT, "first of tablet");
    request = driver_split(&driver, "nope", "m");
    driver_assert_refused(&driver, request, STATUS_NOT_FOUND, "'nope'");
}

Test(catalog, split_by_size_doubles_the_soft_limit_and_is_rate_limited)
{
    const char *splits[] = {"d", "g", "j", "m", "p", "s", "v", "y"};
    make_table("t", splits, 8);
    struct locate_response where = driver_locate(&driver, "t", "");
    size_t on_first = 0;
    for (size_t i = 0; i < where.location_count; i++) {
        if (where.locations[i].server == 1) {
            char row[16];
            snprintf(row, sizeof row, "%.*s1", (int)where.locations[i].range.start.size_bytes,
                     (const char *)where.locations[i].range.start.data);
            on_first++;
            static char rows[9][16];
            memcpy(rows[i], row, sizeof row);
            (void)wish_split(&servers[0], where.locations[i].tablet, rows[i], UINT64_C(20) << 20);
        }
    }
    cr_assert_eq(on_first, 3);
    uint64_t sync = fake_send(&driver, &servers[0]);
    struct catalog_counts counts;
    catalog_counts(driver.catalog, &counts);
    cr_assert_eq(counts.tablets_by_state[TABLET_SPLITTING], 4, "two of three at once");
    fake_take(&driver, &servers[0], sync);
    fakes_settle(&driver, servers, 3);
    catalog_counts(driver.catalog, &counts);
    cr_assert_eq(counts.tablets, 12);
    cr_assert_eq(counts.tablets_by_state[TABLET_SERVING], 12);
    servers[0].known_version = 0;
    sync = fake_send(&driver, &servers[0]);
    struct sync_response response;
    cr_assert_eq(sync_response_decode(driver_body(&driver, sync), &driver.arena, &response, NULL),
                 STATUS_OK);
    size_t doubled = 0;
    for (size_t i = 0; i < response.tablet_count; i++) {
        doubled += response.tablets[i].soft_limit_bytes == UINT64_C(32) << 20;
    }
    cr_assert_eq(doubled, 6);
}

Test(catalog, a_split_is_refused_when_its_row_or_size_does_not_fit)
{
    const char *splits[] = {"m"};
    struct catalog_counts counts;
    make_table("t", splits, 1);
    struct location left = driver_locate(&driver, "t", "").locations[0];
    struct fake_server *server = &servers[left.server - 1];
    (void)wish_split(server, left.tablet, "m", UINT64_C(20) << 20); /* its end */
    fakes_settle(&driver, servers, 3);
    (void)wish_split(server, left.tablet, "z", UINT64_C(20) << 20); /* another's */
    fakes_settle(&driver, servers, 3);
    (void)wish_split(server, left.tablet, "c", UINT64_C(15) << 20); /* too early */
    fakes_settle(&driver, servers, 3);
    catalog_counts(driver.catalog, &counts);
    cr_assert_eq(counts.tablets, 2);
}

Test(catalog, the_splitting_server_is_not_told_to_forget_the_parent)
{
    make_table("t", NULL, 0);
    struct location parent = driver_locate(&driver, "t", "").locations[0];
    (void)driver_split(&driver, "t", "m");
    for (size_t i = 0; i < 3; i++) {
        uint64_t sync = fake_send(&driver, &servers[i]);
        struct sync_response response;
        bool removed = false;
        cr_assert_eq(
            sync_response_decode(driver_body(&driver, sync), &driver.arena, &response, NULL),
            STATUS_OK);
        for (size_t j = 0; j < response.tablet_count; j++) {
            removed = removed || (response.tablets[j].removed &&
                                  response.tablets[j].location.tablet == parent.tablet);
        }
        cr_assert_eq(removed, servers[i].number != parent.server);
    }
}

/* --- loss ------------------------------------------------------------------------------------- */

Test(catalog, a_lost_tablet_is_unavailable_and_never_recreated)
{
    make_table("t", NULL, 0);
    struct location lost = driver_locate(&driver, "t", "").locations[0];
    struct fake_server *server = &servers[lost.server - 1];
    struct held_tablet kept = *fake_held(server, lost.tablet);
    server->held_count = 0;
    fakes_settle(&driver, servers, 3);
    struct location after = driver_locate(&driver, "t", "").locations[0];
    cr_assert_eq(after.state, TABLET_UNAVAILABLE);
    cr_assert_eq(after.server, 0);
    for (int i = 0; i < 20; i++) {
        fakes_settle(&driver, servers, 3);
        driver_pass(&driver, SECOND_NS);
    }
    for (size_t i = 0; i < 3; i++) {
        cr_assert_null(fake_held(&servers[i], lost.tablet), "it was created again");
    }
    /* an empty one is not taken for it */
    fake_hold(server, lost.tablet, kept.store, HELD_CREATED);
    fakes_settle(&driver, servers, 3);
    cr_assert_eq(driver_locate(&driver, "t", "").locations[0].state, TABLET_UNAVAILABLE);
    /* the real one is */
    server->held[0] = kept;
    server->held[0].state = HELD_SERVING;
    fakes_settle(&driver, servers, 3);
    cr_assert_eq(driver_locate(&driver, "t", "").locations[0].state, TABLET_SERVING);
}

Test(catalog, a_failed_store_makes_its_tablets_unavailable_until_it_is_back)
{
    make_table("t", NULL, 0);
    struct location tablet = driver_locate(&driver, "t", "").locations[0];
    struct fake_server *server = &servers[tablet.server - 1];
    fake_held(server, tablet.tablet)->state = HELD_FAILED;
    fakes_settle(&driver, servers, 3);
    cr_assert_eq(driver_locate(&driver, "t", "").locations[0].state, TABLET_UNAVAILABLE);
    driver_crash(&driver);
    fake_held(server, tablet.tablet)->state = HELD_SERVING;
    fakes_settle(&driver, servers, 3);
    cr_assert_eq(driver_locate(&driver, "t", "").locations[0].state, TABLET_SERVING);
}

Test(catalog, a_silent_server_keeps_its_tablets)
{
    make_table("t", NULL, 0);
    struct location before = driver_locate(&driver, "t", "").locations[0];
    driver_pass(&driver, 60 * SECOND_NS);
    struct location after = driver_locate(&driver, "t", "").locations[0];
    cr_assert_eq(after.server, before.server);
    cr_assert_eq(after.state, TABLET_SERVING);
    struct catalog_counts counts;
    catalog_counts(driver.catalog, &counts);
    cr_assert_eq(counts.servers_alive, 0);
}

/* --- who is who ------------------------------------------------------------------------------- */

Test(catalog, the_older_of_two_processes_with_one_number_is_refused)
{
    struct fake_server twin = servers[0];
    twin.incarnation = 2;
    snprintf(twin.address, sizeof twin.address, "tcp://127.0.0.1:9999");
    fake_sync(&driver, &twin);
    uint64_t request = fake_send(&driver, &servers[0]);
    driver_assert_refused(&driver, request, STATUS_FAILED_PRECONDITION, "server 1");
    driver_crash(&driver); /* remembered */
    request = fake_send(&driver, &servers[0]);
    driver_assert_refused(&driver, request, STATUS_FAILED_PRECONDITION, "incarnation 2");
}

Test(catalog, a_clone_with_the_same_incarnation_is_refused)
{
    struct fake_server clone = servers[0];
    snprintf(clone.address, sizeof clone.address, "tcp://127.0.0.1:9999");
    uint64_t request = fake_send(&driver, &clone);
    driver_assert_refused(&driver, request, STATUS_FAILED_PRECONDITION, "in use");
}

Test(catalog, a_server_that_moved_is_found_at_its_new_address)
{
    make_table("t", NULL, 0);
    struct location before = driver_locate(&driver, "t", "").locations[0];
    struct fake_server *server = &servers[before.server - 1];
    struct fake_server *other = &servers[before.server % 3];
    server->incarnation = 2;
    snprintf(server->address, sizeof server->address, "tcp://127.0.0.1:9999");
    fake_sync(&driver, server);
    struct location after = driver_locate(&driver, "t", "").locations[0];
    cr_assert(bytes_equal(after.address, bytes_of_text("tcp://127.0.0.1:9999")));
    uint64_t sync = fake_send(&driver, other);
    struct sync_response response;
    cr_assert_eq(sync_response_decode(driver_body(&driver, sync), &driver.arena, &response, NULL),
                 STATUS_OK);
    cr_assert_eq(response.tablet_count, 1, "the other servers hear of it");
}

Test(catalog, a_disk_may_move_to_another_server_but_not_be_copied)
{
    make_table("t", NULL, 0);
    struct location before = driver_locate(&driver, "t", "").locations[0];
    struct fake_server *from = &servers[before.server - 1];
    struct fake_server *to = &servers[before.server % 3];
    to->stores[1] = from->stores[0];
    to->store_count = 2;
    uint64_t request = fake_send(&driver, to);
    driver_assert_refused(&driver, request, STATUS_FAILED_PRECONDITION, "is this folder a copy");
    /* the old server dies; the disk is put into the new one */
    driver_pass(&driver, 4 * SECOND_NS);
    fake_hold(to, before.tablet, from->stores[0].number, HELD_SERVING);
    for (int i = 0; i < 5; i++) {
        fake_sync(&driver, to);
    }
    struct location after = driver_locate(&driver, "t", "").locations[0];
    cr_assert_eq(after.server, to->number);
    cr_assert_eq(after.state, TABLET_SERVING);
    cr_assert_gt(after.configuration, before.configuration);
    driver_crash(&driver);
    cr_assert_eq(driver_locate(&driver, "t", "").locations[0].server, to->number);
}

Test(catalog, a_store_that_is_not_healthy_gets_no_tablet)
{
    servers[0].stores[0].condition = 1;
    servers[1].stores[0].condition = 2;
    fakes_settle(&driver, servers, 3);
    const char *splits[] = {"b", "c"};
    make_table("t", splits, 2);
    struct locate_response where = driver_locate(&driver, "t", "");
    for (size_t i = 0; i < 3; i++) {
        cr_assert_eq(where.locations[i].server, 3);
    }
}

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
    request = driver_send(&driver, METHOD_STATUS, &body);
    struct error error = {0};
    struct wire_reader reader = wire_reader_open(driver_body(&driver, request), NULL, "status",
                                                 &error);
    struct wire_array one = {1};
    struct bytes json = wire_read_bytes(&reader, &one, "json");
    cr_assert_eq(wire_reader_close(&reader), STATUS_OK, "one packed string: %s", error.text);
    cr_assert_eq(json.data[0], '{');
    cr_assert_eq(json.data[json.size_bytes - 1], '}');
}

/* A request whose step runs out of memory changes nothing, wherever it does. */
Test(catalog, requests_survive_failing_memory)
{
    const char *splits[] = {"m"};
    for (uint64_t after = 0;; after++) {
        struct buffer body = BUFFER_INIT;
        struct family families[] = {{.name = bytes_of_text("f")}};
        struct bytes key = bytes_of_text(splits[0]);
        struct create_table_request create = {
            .table = {.id = bytes_of_text("t"), .families = families, .family_count = 1},
            .splits = &key,
            .split_count = 1,
        };
        create_table_request_encode(&create, &body);
        struct catalog_event event = {.type = CATALOG_EVENT_REQUEST,
                                      .number = ++driver.request,
                                      .method = METHOD_CREATE_TABLE,
                                      .body = buffer_bytes(&body),
                                      .now_ns = driver.now_ns};
        struct catalog_effects effects;
        driver.hold_commits = true;
        memory_fail_arm(after, 1);
        enum status status = catalog_step(driver.catalog, &event, &effects);
        memory_fail_disarm();
        catalog_check(driver.catalog);
        for (size_t i = 0; status == STATUS_OK && i < effects.count; i++) {
            driver_perform(&driver, &effects.items[i]);
        }
        buffer_deinit(&body);
        if (driver.transaction != 0) {
            cr_assert_gt(after, 3);
            break;
        }
        cr_assert_lt(after, 500);
    }
    driver.hold_commits = false;
    (void)driver_commit(&driver);
    fakes_settle(&driver, servers, 3);
    cr_assert_eq(driver_locate(&driver, "t", "").location_count, 2);
}

Test(catalog, committing_never_needs_memory)
{
    driver.hold_commits = true;
    uint64_t request = driver_create(&driver, "t", NULL, 0);
    struct catalog_event event = {
        .type = CATALOG_EVENT_PERSISTED, .number = driver.transaction, .now_ns = driver.now_ns};
    struct catalog_effects effects;
    cr_assert_eq(coordinator_commit(driver.coordinator, driver.puts, driver.put_count, NULL),
                 STATUS_OK);
    driver.transaction = 0;
    memory_fail_arm(0, 1);
    enum status status = catalog_step(driver.catalog, &event, &effects);
    memory_fail_disarm();
    cr_assert_eq(status, STATUS_OK);
    catalog_check(driver.catalog);
    driver.hold_commits = false;
    fakes_settle(&driver, servers, 3);
    driver_pass(&driver, 2 * SECOND_NS); /* the planner tries again after a second */
    fakes_settle(&driver, servers, 3);
    (void)driver_body(&driver, request);
}
