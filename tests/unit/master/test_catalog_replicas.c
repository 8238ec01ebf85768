/* How many replicas a table wants, changed later; and what people are told of where they are. */
#include "tests/support/replica_fixture.h"

TestSuite(replicas, .init = start, .fini = stop, .timeout = 600);

/* --- helpers ------------------------------------------------------------------------------------ */

static uint64_t replicate(const char *name, uint32_t replicas, uint32_t min_in_sync)
{
    const struct alteration alteration = {
        .kind = ALTER_REPLICATION, .replicas = replicas, .min_in_sync = min_in_sync};
    uint64_t request = driver_alter(&driver, name, &alteration, 1);
    replicas_settle(&driver, servers, SERVERS); /* it is answered when all servers know */
    return request;
}

static struct table replicate_well(const char *name, uint32_t replicas, uint32_t min_in_sync)
{
    return driver_table(&driver, replicate(name, replicas, min_in_sync)).table;
}

static void make(const char *name, uint32_t replicas, uint32_t min_in_sync)
{
    const struct bytes splits[] = {bytes_of_text("g"), bytes_of_text("p")};
    uint64_t request = create_table(name, replicas, min_in_sync, splits, 2);
    replicas_settle(&driver, servers, SERVERS);
    (void)driver_body(&driver, request);
    driver_forget_replies(&driver);
}

static void assert_members(const char *name, uint32_t count)
{
    struct locate_response where = driver_locate(&driver, name, "");
    for (size_t i = 0; i < where.location_count; i++) {
        struct replica_view view = newest_view(where.locations[i].tablet);
        cr_assert_eq(view.configuration.member_count, count, "%u members",
                     view.configuration.member_count);
        cr_assert(replica_has_all(&view));
    }
}

static struct locate_response locate_detailed(const char *name)
{
    struct buffer body = BUFFER_INIT;
    const struct locate_request locate = {.name = bytes_of_text(name), .detailed = true};
    struct locate_response response;
    locate_request_encode(&locate, &body);
    uint64_t request = driver_send(&driver, METHOD_LOCATE, &body);
    cr_assert_eq(
        locate_response_decode(driver_body(&driver, request), &driver.arena, &response, NULL),
        STATUS_OK);
    cr_assert_eq(response.replicas_count, response.location_count);
    return response;
}

static uint32_t count_flagged(const struct located_replicas *located, uint32_t flags)
{
    uint32_t count = 0;
    for (size_t i = 0; i < located->replica_count; i++) {
        count += (located->replicas[i].flags & flags) == flags;
    }
    return count;
}

/* --- the number changes ------------------------------------------------------------------------- */

Test(replicas, a_table_gets_more_of_them)
{
    make("t", 1, 1);
    struct table table = replicate_well("t", 3, 2);
    cr_assert_eq(table.replicas, 3);
    cr_assert_eq(table.min_in_sync, 2);
    replicas_work(&driver, servers, SERVERS, 4 * 10);
    assert_members("t", 3);
}

Test(replicas, a_table_gets_fewer_and_its_primaries_stay)
{
    make("t", 4, 2);
    struct locate_response before = driver_locate(&driver, "t", "");
    cr_assert_eq(replicate_well("t", 2, 0).min_in_sync, 2, "what is not said stays");
    replicas_work(&driver, servers, SERVERS, 4 * 10);
    assert_members("t", 2);
    struct locate_response after = driver_locate(&driver, "t", "");
    for (size_t i = 0; i < before.location_count; i++) {
        cr_assert_eq(after.locations[i].server, before.locations[i].server);
    }
}

Test(replicas, what_is_lost_goes_first)
{
    make("t", 3, 1);
    uint64_t tablet = tablet_at("t", "");
    struct replica_view view = newest_view(tablet);
    struct replica_member lost = other_member(&view);
    for (size_t i = 0; i < SERVERS; i++) { /* nobody could take its place */
        servers[i].down = !replica_configuration_has(&view.configuration,
                                                     replica_server_member(&servers[i])) ||
                          replica_server_member(&servers[i]).store == lost.store;
    }
    replicas_work(&driver, servers, SERVERS, 4 * 70);
    view = newest_view(tablet);
    cr_assert(goal_has(&view.goal, lost));
    (void)replicate("t", 2, 0);
    replicas_work(&driver, servers, SERVERS, 4 * 5);
    view = newest_view(tablet);
    cr_assert_eq(view.goal.member_count, 2);
    cr_assert(!goal_has(&view.goal, lost));
}

Test(replicas, the_change_is_finished_by_the_next_master)
{
    make("t", 1, 1);
    const struct alteration alteration = {.kind = ALTER_REPLICATION, .replicas = 3};
    (void)driver_alter(&driver, "t", &alteration, 1); /* durable; no goal was looked at yet */
    driver_crash(&driver);
    replicas_work(&driver, servers, SERVERS, 4 * 10);
    assert_members("t", 3);
}

Test(replicas, more_than_there_are_servers_are_refused)
{
    make("t", 1, 1);
    for (size_t i = 2; i < SERVERS; i++) {
        servers[i].down = true;
    }
    replicas_work(&driver, servers, SERVERS, 4 * 10);
    driver_assert_refused(&driver, replicate("t", 3, 0), STATUS_FAILED_PRECONDITION,
                          "3 replicas need healthy stores");
    assert_members("t", 1);
}

Test(replicas, a_master_that_has_just_begun_waits_for_the_servers_before_it_refuses)
{
    const struct alteration more = {.kind = ALTER_REPLICATION, .replicas = 3};
    make("t", 1, 1);
    driver_crash(&driver);
    replicas_work(&driver, servers, 1, 1);
    driver_assert_refused(&driver, driver_alter(&driver, "t", &more, 1), STATUS_UNAVAILABLE,
                          "of 1 that are alive");
    replicas_work(&driver, servers, 1, 4 * 10);
    driver_assert_refused(&driver, driver_alter(&driver, "t", &more, 1), STATUS_FAILED_PRECONDITION,
                          "of 1 that are alive");
}

Test(replicas, what_cannot_be_is_refused)
{
    make("t", 3, 2);
    driver_assert_refused(&driver, replicate("t", 1, 0), STATUS_INVALID_ARGUMENT,
                          "min_in_sync is 2");
    driver_assert_refused(&driver, replicate("t", 0, 4), STATUS_INVALID_ARGUMENT,
                          "min_in_sync is 4");
    driver_assert_refused(&driver, replicate("t", 9, 0), STATUS_INVALID_ARGUMENT, "too many");
    driver_assert_refused(&driver, replicate("t", 0, 0), STATUS_INVALID_ARGUMENT, "neither");
    assert_members("t", 3);
}

/* --- what people are told ----------------------------------------------------------------------- */

Test(replicas, a_detailed_answer_tells_members_and_who_is_in_sync)
{
    make("t", 3, 2);
    replicas_work(&driver, servers, SERVERS, 4 * 2);
    struct locate_response response = locate_detailed("t");
    cr_assert_eq(response.location_count, 3);
    const struct located_replicas *located = &response.replicas[0];
    cr_assert_eq(located->replica_count, 3);
    cr_assert_eq(count_flagged(located, LOCATED_MEMBER | LOCATED_IN_SYNC | LOCATED_WANTED), 3);
    cr_assert_eq(count_flagged(located, LOCATED_PRIMARY | LOCATED_SHOULD_LEAD), 1);
    struct replica_view view = newest_view(response.locations[0].tablet);
    server_of(other_member(&view).server)->down = true;
    for (int i = 0; i < 12; i++) { /* time passes, and its primary does not remove it */
        for (size_t j = 0; j < SERVERS; j++) {
            if (!servers[j].down) {
                (void)replica_sync(&driver, &servers[j]);
            }
        }
        driver_pass(&driver, SECOND_NS);
    }
    response = locate_detailed("t");
    cr_assert_eq(count_flagged(&response.replicas[0], LOCATED_MEMBER), 3);
    cr_assert_eq(count_flagged(&response.replicas[0], LOCATED_IN_SYNC), 2);
}

Test(replicas, a_detailed_answer_tells_where_it_is_going)
{
    make("t", 1, 1);
    (void)replicate("t", 2, 0);
    for (int i = 0; i < 3; i++) {
        replicas_settle(&driver, servers, SERVERS);
        driver_pass(&driver, SECOND_NS);
    }
    struct locate_response response = locate_detailed("t");
    const struct located_replicas *located = &response.replicas[0];
    cr_assert_eq(located->replica_count, 2);
    cr_assert_eq(count_flagged(located, LOCATED_WANTED), 2);
    cr_assert_eq(count_flagged(located, LOCATED_MEMBER), 1);
    cr_assert_gt(located->replicas[1].address.size_bytes, 0);
    cr_assert_eq(located->wish, GOAL_STAY);
    (void)driver_split(&driver, "t", "c");
    response = locate_detailed("t");
    cr_assert_eq(response.replicas[0].wish, GOAL_SPLIT);
    cr_assert(bytes_equal(response.replicas[0].row, bytes_of_text("c")));
}

/* Clients keep it for the time when nobody else answers. */
Test(replicas, every_answer_tells_where_the_others_are)
{
    make("t", 3, 2);
    make("alone", 1, 1);
    struct locate_response response = driver_locate(&driver, "t", "");
    cr_assert_eq(response.replicas_count, 0, "nobody has asked for more");
    cr_assert_eq(response.locations[0].other_count, 2);
    for (size_t i = 0; i < 2; i++) {
        cr_assert(!bytes_equal(response.locations[0].others[i], response.locations[0].address));
    }
    cr_assert_eq(driver_locate(&driver, "alone", "").locations[0].other_count, 0);
}

/* --- a server that cannot be drained ------------------------------------------------------------ */

static struct server_information look_at_server(uint64_t number)
{
    struct buffer body = BUFFER_INIT;
    struct servers_response list;
    uint64_t request = driver_send(&driver, METHOD_LIST_SERVERS, &body);
    cr_assert_eq(servers_response_decode(driver_body(&driver, request), &driver.arena, &list, NULL),
                 STATUS_OK);
    return list.servers[number - 1];
}

Test(replicas, a_split_of_a_table_that_is_deleted_meanwhile_was_not_made)
{
    make_replicated("t");
    uint64_t split = driver_split(&driver, "t", "m");
    cr_assert_null(driver_reply(&driver, split), "its primary has not proposed it yet");
    uint64_t deletion = driver_by_name(&driver, METHOD_DELETE_TABLE, "t");
    replicas_settle(&driver, servers, SERVERS);
    (void)driver_body(&driver, deletion);
    driver_assert_refused(&driver, split, STATUS_ABORTED, "deleted");
}

Test(replicas, what_no_other_server_can_take_of_one_that_is_drained_is_counted)
{
    for (size_t i = 3; i < SERVERS; i++) {
        servers[i].down = true;
    }
    driver_pass(&driver, 4 * SECOND_NS);
    replicas_settle(&driver, servers, SERVERS);
    make("t", 3, 2);
    make("lone", 1, 1);
    cr_assert_eq(look_at_server(1).tablet_count, 3 + 1);
    cr_assert_eq(look_at_server(1).stuck_count, 0, "it is not drained");
    cr_assert_eq(drain(1, true).stuck_count, 3,
                 "the others have copies of t; they can take the lone one");
    replicas_work(&driver, servers, SERVERS, 4 * 10);
    cr_assert_eq(look_at_server(1).tablet_count, 3, "which has gone");
    cr_assert_eq(look_at_server(1).stuck_count, 3);
    cr_assert_eq(look_at_server(2).stuck_count, 0);
    servers[3].down = false;
    replicas_work(&driver, servers, SERVERS, 4);
    cr_assert_eq(drain(1, true).stuck_count, 0, "another one has come");
    replicas_work(&driver, servers, SERVERS, 4 * 10);
    cr_assert_eq(look_at_server(1).tablet_count, 0);
}
