/* Who appends finds the next tablet where another server has it: master/placement/balance_ahead.c. */
#include "tests/support/balance_fixture.h"

TestSuite(balance, .init = begin, .fini = end);

/* One tablet, nearly all of whose writes go behind the row that was the last one. */
static void one_that_is_appended_to(void)
{
    fixture_servers(&fixture, 3);
    fixture_tablet(&fixture, "", 0, 0, 60);
    fixture_points(&fixture, 0, 10, 0); /* a row a tenth of a second */
    for (size_t i = 0; i < 10; i++) {
        fixture.details[0].points[i].reads = 0;
        fixture.details[0].points[i].writes = 100;
    }
    fixture.details[0].detail.load.appended_permille = 990;
}

Test(balance, who_appends_finds_the_next_tablet_on_another_server)
{
    one_that_is_appended_to();
    cr_assert_eq(fixture_pass(&fixture, 7), 2);
    cr_assert_eq(fixture.refusals[BALANCE_MONOTONIC], 1);
    cr_assert_eq(fixture.last.kind, BALANCE_SPLIT);
    cr_assert_eq(fixture.last.reason, BALANCE_AHEAD);
    cr_assert_str_eq(fixture.last_rows[0], "row71", "six seconds behind the end of row09");
    fixture_pass(&fixture, 7);
    cr_assert_eq(fixture.splits, 1, "one in ten seconds");
    fixture_pass(&fixture, 7);
    cr_assert_eq(fixture.splits, 2);
}

/* What the points say is about the last ten seconds, whatever the time since the last report. */
Test(balance, how_fast_who_appends_is_follows_from_the_time_that_the_points_are_about)
{
    one_that_is_appended_to();
    fixture.details[0].detail.load.window_ns = UINT64_C(5000000000); /* two rows a second */
    fixture_pass(&fixture, 7);
    cr_assert_eq(fixture.last.reason, BALANCE_AHEAD);
    cr_assert_str_eq(fixture.last_rows[0], "row23");
}

Test(balance, what_was_split_ahead_goes_to_the_coldest_server_at_once)
{
    fixture_servers(&fixture, 3);
    fixture_tablet(&fixture, "", 0, 0, 60);
    fixture_tablet(&fixture, "row5", 0, 0, 0);
    fixture_tablet(&fixture, "s", 1, 10, 0);
    fixture_pass(&fixture, 2);
    fixture.states[1].ahead = true;
    cr_assert_eq(fixture_pass(&fixture, 1), 1);
    cr_assert_eq(fixture.last.kind, BALANCE_MOVE);
    cr_assert_eq(fixture.last.reason, BALANCE_AHEAD);
    cr_assert_eq(fixture.last.from, 1);
    cr_assert_eq(fixture.last.to, 3);
    cr_assert_not(fixture.states[1].ahead);
}

static void await(size_t tablet)
{
    fixture.states[tablet].ahead = true;
    fixture.states[tablet].ahead_ns = fixture.now_s * FIXTURE_SECOND_NS;
    fixture.states[tablet].awaited_cost = 2e8;
}

static uint32_t server_of(size_t tablet)
{
    return fixture.tablets[tablet].wanted.servers[0];
}

/* Three that append, as salts do, each on a server; each of three more is for one of them, in one round or later. */
static void expect_apart(bool at_once)
{
    fixture_servers(&fixture, 6);
    for (uint32_t i = 0; i < 3; i++) {
        char start[2][8];
        (void)snprintf(start[0], sizeof start[0], "%u", i);
        (void)snprintf(start[1], sizeof start[1], "%um", i);
        fixture_tablet(&fixture, start[0], i, 0, 20);
        fixture_tablet(&fixture, start[1], i, 0, 0);
    }
    fixture_pass(&fixture, 20);
    for (size_t i = 1; i < 6; i += 2) {
        await(i);
        if (!at_once) {
            fixture_pass(&fixture, 5);
        }
    }
    fixture_pass(&fixture, 1);
    cr_assert(server_of(1) > 2 && server_of(3) > 2 && server_of(5) > 2);
    cr_assert_neq(server_of(1), server_of(3));
    cr_assert_neq(server_of(1), server_of(5));
    cr_assert_neq(server_of(3), server_of(5));
}

Test(balance, what_was_split_ahead_of_several_at_once_goes_to_servers_of_their_own)
{
    expect_apart(true);
}

Test(balance, what_was_split_ahead_of_several_one_by_one_goes_to_servers_of_their_own)
{
    expect_apart(false);
}
