/* Splits, loss, and who is who: tablets after their creation. */
#include "tests/support/catalog_fixture.h"
#include "tests/support/catalog_memory.h"

TestSuite(catalog, .init = start, .fini = stop, .timeout = 300);

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
    fake_sync(&driver, &twin);
    uint64_t request = fake_send(&driver, &servers[0]);
    driver_assert_refused(&driver, request, STATUS_PERMISSION_DENIED, "server 1");
    driver_crash(&driver); /* remembered */
    request = fake_send(&driver, &servers[0]);
    driver_assert_refused(&driver, request, STATUS_PERMISSION_DENIED, "incarnation 2");
}

Test(catalog, a_clone_with_the_same_incarnation_is_refused)
{
    struct fake_server clone = servers[0];
    snprintf(clone.address, sizeof clone.address, "tcp://127.0.0.1:9999");
    uint64_t request = fake_send(&driver, &clone);
    driver_assert_refused(&driver, request, STATUS_PERMISSION_DENIED, "in use");
}

static void assert_clone_refused(struct fake_server *clone)
{
    uint64_t request = fake_send(&driver, clone);
    driver_assert_refused(&driver, request, STATUS_PERMISSION_DENIED, "tcp://127.0.0.1:9999");
    driver_assert_refused(&driver, request, STATUS_PERMISSION_DENIED, servers[0].address);
}

/* Started from a copy of the folder, later than the server itself. */
Test(catalog, a_clone_that_started_later_is_refused_while_the_former_is_heard)
{
    struct fake_server clone = servers[0];
    clone.incarnation = 2;
    snprintf(clone.address, sizeof clone.address, "tcp://127.0.0.1:9999");
    for (int round = 0; round < 4; round++) {
        assert_clone_refused(&clone);
        driver_pass(&driver, 2 * SECOND_NS);
        fake_sync(&driver, &servers[0]);
    }
    driver_crash(&driver);
    assert_clone_refused(&clone); /* it comes first, but the other one may still come */
    fake_sync(&driver, &servers[0]);
    assert_clone_refused(&clone);
    driver_pass(&driver, 4 * SECOND_NS); /* the server ends: it was moved */
    fake_sync(&driver, &clone);
    uint64_t request = fake_send(&driver, &servers[0]);
    driver_assert_refused(&driver, request, STATUS_PERMISSION_DENIED, "must end");
}

Test(catalog, a_store_of_a_server_that_may_still_come_is_not_taken_by_a_copy)
{
    struct fake_server *copy = &servers[1];
    copy->stores[1] = servers[0].stores[0];
    copy->store_count = 2;
    driver_crash(&driver);
    uint64_t request = fake_send(&driver, copy);
    driver_assert_refused(&driver, request, STATUS_FAILED_PRECONDITION, "is this folder a copy");
    driver_pass(&driver, 4 * SECOND_NS);
    fake_sync(&driver, copy);
}

Test(catalog, a_server_that_moved_is_found_at_its_new_address)
{
    make_table("t", NULL, 0);
    struct location before = driver_locate(&driver, "t", "").locations[0];
    struct fake_server *server = &servers[before.server - 1];
    struct fake_server *other = &servers[before.server % 3];
    server->incarnation = 2;
    snprintf(server->address, sizeof server->address, "tcp://127.0.0.1:9999");
    driver_pass(&driver, 4 * SECOND_NS);
    fake_sync(&driver, other);
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

/* The disk that holds table t's tablet goes from one machine to the other; nobody is told yet. */
static void carry_disk(struct fake_server *from, struct fake_server *to)
{
    uint64_t tablet = driver_locate(&driver, "t", "").locations[0].tablet;
    const struct held_tablet *held = fake_held(from, tablet);
    size_t at = 0;
    cr_assert_not_null(held);
    while (from->stores[at].number != held->store) {
        at++;
        cr_assert_lt(at, from->store_count);
    }
    to->stores[to->store_count++] = from->stores[at];
    fake_hold(to, tablet, held->store, HELD_SERVING);
    from->stores[at] = from->stores[--from->store_count];
    fake_drop(from, tablet);
}

/* Now, and as the next master reads it. */
static void assert_served_by(uint64_t server)
{
    for (int i = 0; i < 2; i++) {
        fakes_settle(&driver, servers, 3);
        struct location after = driver_locate(&driver, "t", "").locations[0];
        cr_assert_eq(after.server, server);
        cr_assert_eq(after.state, TABLET_SERVING);
        driver_crash(&driver);
        cr_assert_eq(driver_locate(&driver, "t", "").locations[0].server, server);
        fakes_settle(&driver, servers, 3);
    }
}

/* Both say so while a transaction is under way: the next one holds both records, in either order. */
Test(catalog, a_disk_that_two_servers_speak_of_at_once_belongs_to_who_has_it)
{
    make_table("t", NULL, 0);
    for (unsigned i = 0; i < 6; i++) {
        struct location before = driver_locate(&driver, "t", "").locations[0];
        struct fake_server *from = &servers[before.server - 1];
        struct fake_server *to = &servers[(before.server + i % 2) % 3];
        char name[8];
        snprintf(name, sizeof name, "n%u", i);
        driver.hold_commits = true;
        (void)driver_create(&driver, name, NULL, 0);
        carry_disk(from, to);
        from->incarnation++; /* it was off meanwhile */
        (void)fake_send(&driver, from);
        (void)fake_send(&driver, to);
        driver.hold_commits = false;
        (void)driver_commit(&driver);
        assert_served_by(to->number);
    }
}

Test(catalog, a_disk_may_come_back_to_a_server_that_never_knew_it_was_away)
{
    make_table("t", NULL, 0);
    struct location before = driver_locate(&driver, "t", "").locations[0];
    struct fake_server *home = &servers[before.server - 1];
    struct fake_server *guest = &servers[before.server % 3];
    struct fake_server kept = *home;
    driver_pass(&driver, 4 * SECOND_NS); /* home is off */
    carry_disk(home, guest);
    for (int i = 0; i < 5; i++) {
        fake_sync(&driver, guest);
    }
    cr_assert_eq(driver_locate(&driver, "t", "").locations[0].server, guest->number);
    carry_disk(guest, home);
    cr_assert_eq(home->store_count, kept.store_count);
    (void)fake_send(&driver, guest);
    (void)fake_send(&driver, home);
    assert_served_by(home->number);
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

/* --- memory ------------------------------------------------------------------------------------- */

/* What servers told while something else was written is not told again. */
Test(catalog, what_cannot_be_staged_for_want_of_memory_is_staged_later)
{
    for (uint64_t after = 0; after < 40; after++) {
        char name[16];
        snprintf(name, sizeof name, "t%02u", (unsigned)after);
        (void)driver_create(&driver, name, NULL, 0);
        for (size_t i = 0; i < 3; i++) {
            fake_sync(&driver, &servers[i]);
        }
        driver.hold_commits = true;
        (void)driver_put_document(&driver, bytes_of_text(name), bytes_of_text("c"), 0);
        for (size_t i = 0; i < 3; i++) {
            servers[i].incarnation += 1; /* its record changes, too */
            (void)fake_send(&driver, &servers[i]);
        }
        driver_commit_without_memory(&driver, after); /* what follows from it has none */
        driver.hold_commits = false;
        if (driver.transaction != 0) {
            (void)driver_commit(&driver);
        }
        driver_pass(&driver, 2 * SECOND_NS);
        cr_assert_eq(driver_locate(&driver, name, "").locations[0].state, TABLET_SERVING, "%s",
                     name);
        driver_crash(&driver); /* the servers' new processes are in the catalog */
        for (size_t i = 0; i < 3; i++) {
            servers[i].incarnation -= 1;
            uint64_t old = fake_send(&driver, &servers[i]);
            driver_assert_refused(&driver, old, STATUS_PERMISSION_DENIED, "started again");
            servers[i].incarnation += 1;
        }
        driver_forget_replies(&driver);
        fakes_settle(&driver, servers, 3);
        driver_forget_replies(&driver);
    }
}
