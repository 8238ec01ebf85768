/* What has cooled is merged; a merge that takes too long is taken back, and nothing else with it. */
#include "tests/support/catalog_load.h"

TestSuite(catalog_balance, .init = start, .fini = stop, .timeout = 300);

Test(catalog_balance, what_has_cooled_is_merged_but_not_across_a_boundary_made_by_hand)
{
    make_table(1);
    spread_load(24, 96);
    seconds(40);
    size_t tablets = count_tablets();
    uint64_t request = driver_split(&driver, "t", "a00x");
    replicas_work(&driver, servers, SERVERS, 8);
    cr_assert_eq(count_tablets(), tablets + 1);
    (void)request;
    load_count = 0;
    seconds(3500);
    cr_assert_eq(count_tablets(), tablets + 1);
    seconds(1200);
    cr_assert_eq(count_tablets(), 2, "%zu are left", count_tablets());
    cr_assert_eq(count_events("merge", "cold", "done"), tablets - 1);
}

static void never_merge(bool never)
{
    for (size_t i = 0; i < SERVERS; i++) {
        servers[i].never_merges = never;
    }
}

Test(catalog_balance, a_merge_that_does_not_end_is_taken_back)
{
    make_table(1);
    spread_load(24, 96);
    seconds(40);
    size_t tablets = count_tablets();
    load_count = 0;
    never_merge(true);
    for (int i = 0; i < 5000 && count_events("merge", "cold", "given_up") == 0; i++) {
        second();
        driver_forget_replies(&driver);
    }
    cr_assert_gt(count_events("merge", "cold", "given_up"), 0);
    seconds(2); /* all that were begun with it */
    cr_assert_eq(count_events("merge", "cold", "under_way"), 0, "not begun again so soon");
    never_merge(false);
    seconds(60);
    cr_assert_eq(count_tablets(), tablets, "nobody wants it any more");
    seconds(3700);
    cr_assert_eq(count_tablets(), 1, "but later");
}

/* The left one of two that are to be merged because of a decision; its number and its end, by which the other is named. */
static uint64_t merging(struct bytes *ret_boundary, uint64_t *ret_server, int64_t *ret_decided_ns)
{
    struct list_events_response list = list_events("", 0);
    for (size_t i = 0; i < list.event_count; i++) {
        const struct event *event = &list.events[i];
        if (bytes_equal(event->kind, bytes_of_text("merge")) && event->ended_us == 0) {
            struct locate_response where = driver_locate(&driver, "t", "");
            for (size_t j = 0; j < where.location_count; j++) {
                if (where.locations[j].tablet == event->tablet) {
                    *ret_boundary = where.locations[j].range.end;
                    *ret_server = where.locations[j].server;
                    *ret_decided_ns = event->time_us * 1000;
                    return event->tablet;
                }
            }
        }
    }
    return 0;
}

static uint32_t wish_of(uint64_t tablet)
{
    struct buffer body = BUFFER_INIT;
    struct locate_response where;
    const struct locate_request locate = {
        .name = bytes_of_text("t"), .count_max = 1000, .detailed = true};
    locate_request_encode(&locate, &body);
    uint64_t request = driver_send(&driver, METHOD_LOCATE, &body);
    cr_assert_eq(locate_response_decode(driver_body(&driver, request), &driver.arena, &where, NULL),
                 STATUS_OK);
    for (size_t i = 0; i < where.location_count; i++) {
        if (where.locations[i].tablet == tablet) {
            return where.replicas[i].wish;
        }
    }
    return UINT32_MAX;
}

static void send_drain(uint64_t server)
{
    struct buffer body = BUFFER_INIT;
    drain_server_request_encode(&(struct drain_server_request){server, true}, &body);
    (void)driver_send(&driver, METHOD_DRAIN_SERVER, &body);
}

static void send_undo(struct bytes boundary)
{
    struct buffer body = BUFFER_INIT;
    const struct merge_request merge = {
        .table = bytes_of_text("t"), .row = boundary, .withdrawn = true};
    merge_request_encode(&merge, &body);
    (void)driver_send(&driver, METHOD_MERGE_TABLETS, &body);
}

/* Two tablets have cooled, and are to be merged, which takes long: the left one. */
static uint64_t begin_merge(struct bytes *ret_boundary)
{
    uint64_t server = 0;
    int64_t decided_ns = 0;
    uint64_t left = 0;

    make_table(1);
    spread_load(24, 96);
    seconds(40);
    load_count = 0;
    never_merge(true);
    for (int i = 0; i < 5000 && left == 0; i++) {
        second();
        driver_forget_replies(&driver);
        left = merging(ret_boundary, &server, &decided_ns);
    }
    cr_assert_neq(left, 0);
    seconds(1); /* which forgets replies, and what was read of them */
    cr_assert_eq(merging(ret_boundary, &server, &decided_ns), left);
    cr_assert_eq(wish_of(left), GOAL_MERGE);
    return left;
}

/* Nobody would have taken it back: both were kept from all else. */
Test(catalog_balance, a_merge_that_does_not_end_is_taken_back_by_the_master_that_took_over)
{
    struct bytes boundary = BYTES_EMPTY;
    uint64_t left = begin_merge(&boundary);
    driver_crash(&driver);
    replicas_settle(&driver, servers, SERVERS);
    seconds(170);
    cr_assert_eq(wish_of(left), GOAL_MERGE, "it has three minutes again");
    seconds(30);
    cr_assert_eq(wish_of(left), GOAL_STAY);
    seconds(100);
    cr_assert_eq(wish_of(left), GOAL_STAY, "not begun again so soon");
}

/* It was decided again at once. */
Test(catalog_balance, a_merge_taken_back_by_hand_is_not_begun_again)
{
    struct bytes boundary = BYTES_EMPTY;
    uint64_t left = begin_merge(&boundary);
    send_undo(boundary);
    for (int i = 0; i < 60; i++) {
        second();
        cr_assert_eq(wish_of(left), GOAL_STAY, "%d s later", i);
    }
    cr_assert_eq(count_events("merge", "cold", "done"), 0);
}

/* A wish to split is never withdrawn, since its numbers may stand in logs.  Here a merge has taken too long, just as
 * its tablets' goals are changed: that it is taken back has to wait, and meanwhile a person does so, and has one of
 * the two split. */
Test(catalog_balance, a_wish_that_came_after_a_merge_is_not_taken_back_with_it)
{
    struct bytes boundary = BYTES_EMPTY;
    uint64_t server = 0;
    int64_t decided_ns = 0;
    uint64_t left = 0;
    char row[32];

    make_table(1);
    spread_load(24, 96);
    seconds(40);
    load_count = 0;
    never_merge(true);
    for (int i = 0; i < 5000 && left == 0; i++) {
        second();
        driver_forget_replies(&driver);
        left = merging(&boundary, &server, &decided_ns);
    }
    cr_assert_neq(left, 0);
    while (driver.now_ns - decided_ns < 179 * SECOND_NS) {
        second();
        driver_forget_replies(&driver);
    }
    cr_assert_eq(merging(&boundary, &server, &decided_ns), left);
    cr_assert_lt(driver.now_ns - decided_ns, 180 * SECOND_NS);
    cr_assert_eq(wish_of(left), GOAL_MERGE);

    driver.hold_commits = true;
    send_drain(server);
    driver.now_ns += 3 * SECOND_NS / 2;
    cr_assert_eq(driver_commit(&driver), STATUS_OK);
    cr_assert_neq(driver.transaction, 0, "goals are changed");
    cr_assert_eq(wish_of(left), GOAL_MERGE);
    send_undo(boundary);
    snprintf(row, sizeof row, "%.*s", (int)boundary.size_bytes, (const char *)boundary.data);
    row[boundary.size_bytes - 1] -= 1; /* a row of the left one */
    cr_assert_eq(driver_commit(&driver), STATUS_OK);
    cr_assert_neq(driver.transaction, 0, "it is taken back by hand");
    (void)driver_split(&driver, "t", row);
    cr_assert_eq(driver_commit(&driver), STATUS_OK);
    cr_assert_neq(driver.transaction, 0, "and one of the two is to be split");
    cr_assert_eq(driver_commit(&driver), STATUS_OK);
    cr_assert_eq(wish_of(left), GOAL_SPLIT);
    driver.hold_commits = false;
    driver_pass(&driver, 100000000);
    cr_assert_eq(wish_of(left), GOAL_SPLIT);
}

/* Two tablets, cut by size at "m"; the right one's number. */
static uint64_t make_two(void)
{
    make_table(1);
    struct replica_view view = newest_view(tablet_at("t", ""));
    struct held_tablet *held = fake_held(&leader_server(&view)->fake, view.tablet);
    held->size_bytes = UINT64_C(20) << 20;
    held->wants_split = true;
    held->split_row = bytes_of_text("m");
    seconds(5);
    cr_assert_eq(count_tablets(), 2);
    return tablet_at("t", "x");
}

/* Proposed by who leads then. */
static void lead(struct replica_view *view, struct replica_member member)
{
    struct proposal proposal = members_of(
        view, replica_configuration_lead(&view->configuration, member.store, false));
    struct proposed answer = propose_as(member, proposal);
    cr_assert(is_taken(&answer, &proposal));
    view->configuration = answer.configuration;
}

/* The tablet's only copy comes to another disk of its server, by way of another server. */
static void bring_to_other_disk(uint64_t tablet)
{
    struct replica_view view = newest_view(tablet);
    struct replica_member first = replica_configuration_leader(&view.configuration);
    struct replica_member between = outsider(&view);
    struct replica_member disk = add_disk(first.server);

    view.configuration = propose_members(&view,
                                         replica_configuration_add(&view.configuration, between));
    lead(&view, between);
    view.configuration = propose_members(
        &view, replica_configuration_remove(&view.configuration, first.store));
    view.configuration = propose_members(&view,
                                         replica_configuration_add(&view.configuration, disk));
    fake_held(&server_of(first.server)->fake, tablet)->store = disk.store;
    wait_idle(5 * SECOND_NS); /* it is wished for where it is by now */
    lead(&view, disk);
    (void)propose_members(&view, replica_configuration_remove(&view.configuration, between.store));
    wait_idle(2 * SECOND_NS);
    cr_assert_eq(driver_locate(&driver, "t", "x").locations[0].state, TABLET_SERVING);
}

static uint64_t order_merge_of_both(void)
{
    struct buffer body = BUFFER_INIT;
    const struct merge_request merge = {bytes_of_text("t"), bytes_of_text("m"), false};
    merge_request_encode(&merge, &body);
    return driver_send(&driver, METHOD_MERGE_TABLETS, &body);
}

/* Only who ordered it takes it back, whatever masters come and go. */
Test(catalog_balance, a_merge_by_hand_is_not_taken_back_by_the_master_that_took_over)
{
    (void)make_two();
    uint64_t left = tablet_at("t", "");
    never_merge(true);
    (void)order_merge_of_both();
    seconds(2);
    cr_assert_eq(wish_of(left), GOAL_MERGE);
    for (int i = 0; i < 2; i++) {
        driver_crash(&driver);
        replicas_settle(&driver, servers, SERVERS);
        seconds(200);
        cr_assert_eq(wish_of(left), GOAL_MERGE);
    }
    never_merge(false);
    seconds(5);
    cr_assert_eq(count_tablets(), 1);
}

/* Each such decision would be given up half a minute later, and made again, for ever; and a few of them are all merges
 * that may be under way. */
Test(catalog_balance, what_has_cooled_in_two_stores_of_a_server_is_not_decided_to_be_merged)
{
    bring_to_other_disk(make_two());
    driver_assert_refused(&driver, order_merge_of_both(), STATUS_FAILED_PRECONDITION,
                          "different stores of server");
    seconds(4000);
    cr_assert_eq(count_events("merge", NULL, NULL), 0);
    cr_assert_eq(count_tablets(), 2);
}

/* Of a table of sixty tablets with a copy each, the server beside this one cannot read what it has; returns how many. */
static size_t lose_beside(uint64_t server)
{
    static char rows[59][8];
    struct bytes splits[59];
    size_t lost = 0;

    for (size_t i = 0; i < 59; i++) {
        snprintf(rows[i], sizeof rows[i], "%02u", (unsigned)i);
        splits[i] = bytes_of_text(rows[i]);
    }
    (void)create_table("lost", 1, 1, splits, 59);
    replicas_settle(&driver, servers, SERVERS);
    struct replica_server *beside = &servers[server % SERVERS];
    for (size_t i = 0; i < beside->fake.held_count; i++) {
        beside->fake.held[i].state = HELD_FAILED;
    }
    (void)replica_sync(&driver, beside);
    beside->down = true;
    seconds(5);
    struct locate_response where = driver_locate(&driver, "lost", "");
    for (size_t i = 0; i < where.location_count; i++) {
        lost += where.locations[i].state == TABLET_UNAVAILABLE;
    }
    return lost;
}

Test(catalog_balance, what_is_lost_keeps_nothing_from_being_merged)
{
    (void)make_two();
    struct replica_view view = newest_view(tablet_at("t", ""));
    uint64_t server = replica_configuration_leader(&view.configuration).server;
    cr_assert_geq(lose_beside(server), 8, "as many as may be under way");
    cr_assert_eq(driver_locate(&driver, "t", "x").locations[0].state, TABLET_SERVING);
    seconds(4000);
    cr_assert_eq(count_tablets(), 1);
}
