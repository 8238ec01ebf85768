/* What is done about load: each rule of master/placement/balance.h by itself. */
#include <criterion/criterion.h>

#include <stdio.h>
#include <string.h>

#include "tests/support/balance_fixture.h"

static struct fixture fixture;

static void begin(void)
{
    fixture_init(&fixture);
}

static void end(void)
{
    fixture_deinit(&fixture);
}

TestSuite(balance, .init = begin, .fini = end);

/* --- splits ---------------------------------------------------------------------------------------- */

Test(balance, a_hot_tablet_is_split_after_ten_seconds_where_its_load_parts)
{
    fixture_servers(&fixture, 3);
    fixture_tablet(&fixture, "", 0, 30, 0);
    fixture_points(&fixture, 0, 8, 0);
    cr_assert_eq(fixture_pass(&fixture, 9), 0);
    cr_assert_eq(fixture_pass(&fixture, 4), 1);
    cr_assert_eq(fixture.last.kind, BALANCE_SPLIT);
    cr_assert_eq(fixture.last.reason, BALANCE_HOT);
    cr_assert_eq(fixture.last.row_count, 1);
    cr_assert_str_eq(fixture.last_rows[0], "row04");
    cr_assert_eq(fixture.last.figures.limit_permille, 250);
    cr_assert(fixture.last.figures.share_permille > 280 &&
              fixture.last.figures.share_permille < 310);
    cr_assert_not_null(strstr(fixture.last.text, "split at 'row04'"), "%s", fixture.last.text);
}

Test(balance, what_is_below_the_limit_is_left_alone)
{
    fixture_servers(&fixture, 3);
    fixture_tablet(&fixture, "", 0, 24, 0);
    fixture_points(&fixture, 0, 8, 0);
    cr_assert_eq(fixture_pass(&fixture, 300), 0);
}

Test(balance, a_cut_lies_inside_whatever_the_report_says)
{
    fixture_servers(&fixture, 3);
    fixture_tablet(&fixture, "", 0, 30, 0);
    fixture_points(&fixture, 0, 8,
                   0); /* of before it was split: row04 is where it ends, or begins */
    fixture.tablets[0].range.end = bytes_of_text("row04");
    cr_assert_eq(fixture_pass(&fixture, 13), 1);
    cr_assert_str_eq(fixture.last_rows[0], "row03");
    fixture.tablets[0].range = (struct row_range){bytes_of_text("row04"), BYTES_EMPTY};
    fixture.states[0].split_ns = 0;
    cr_assert_eq(fixture_pass(&fixture, 13), 1);
    cr_assert_str_eq(fixture.last_rows[0], "row05");
    fixture.costs[0] = 80;
    fixture.tablets[0].range = (struct row_range){bytes_of_text("row02"), bytes_of_text("row06")};
    cr_assert_eq(fixture_pass(&fixture, 6), 1);
    cr_assert_str_eq(fixture.last_rows[0], "row03");
    cr_assert_str_eq(fixture.last_rows[fixture.last.row_count - 1], "row05");
}

Test(balance, far_over_it_is_split_after_three_seconds_into_several)
{
    fixture_servers(&fixture, 3);
    fixture_tablet(&fixture, "", 0, 90, 0);
    fixture_points(&fixture, 0, 32, 0);
    cr_assert_eq(fixture_pass(&fixture, 3), 0);
    cr_assert_eq(fixture_pass(&fixture, 4), 1);
    cr_assert_eq(fixture.last.reason, BALANCE_FAR_OVER);
    cr_assert_eq(fixture.last.row_count, 5, "six pieces of half the limit");
    for (size_t i = 1; i < fixture.last.row_count; i++) {
        cr_assert_lt(strcmp(fixture.last_rows[i - 1], fixture.last_rows[i]), 0);
    }
}

Test(balance, a_rate_is_a_limit_too_where_it_is_set)
{
    fixture_servers(&fixture, 3);
    fixture_tablet(&fixture, "", 0, 10, 0);
    fixture_points(&fixture, 0, 8, 0);
    fixture.settings.split_rate = 5000; /* a fixture's tablet has 10 000 */
    cr_assert_eq(fixture_pass(&fixture, 20), 1);
    cr_assert_eq(fixture.last.kind, BALANCE_SPLIT);
}

Test(balance, a_popular_row_is_named)
{
    fixture_servers(&fixture, 3);
    fixture_tablet(&fixture, "", 0, 60, 0);
    fixture_points(&fixture, 0, 8, 0);
    fixture.details[0].points[5].reads = 9000;
    fixture.details[0].keys[0] = (struct load_key){bytes_of_text("row05x"), 8600, 0};
    fixture.details[0].detail.load.key_count = 1;
    cr_assert_eq(fixture_pass(&fixture, 60), 1, "said once");
    cr_assert_eq(fixture.last.kind, BALANCE_REFUSE);
    cr_assert_eq(fixture.last.reason, BALANCE_POPULAR_KEY);
    cr_assert_not_null(strstr(fixture.last.text, "row 'row05x' alone is "), "%s",
                       fixture.last.text);
    cr_assert(fixture.last.figures.key_permille > 850 && fixture.last.figures.key_permille < 900);
}

Test(balance, a_sampled_point_is_not_called_a_row)
{
    fixture_servers(&fixture, 3);
    fixture_tablet(&fixture, "", 0, 60, 0);
    fixture_points(&fixture, 0, 8, 0);
    fixture.details[0].points[5].reads = 9000;
    cr_assert_eq(fixture_pass(&fixture, 60), 1, "said once");
    cr_assert_eq(fixture.last.reason, BALANCE_POPULAR_KEY);
    cr_assert(fixture.last.sampled);
    cr_assert_not_null(strstr(fixture.last.text, "not split: rows from 'row05' up to the next "
                                                 "sampled one are 93 % of it, and none of them "
                                                 "can be named"),
                       "%s", fixture.last.text);
}

Test(balance, a_refusal_that_alternates_is_said_once_a_minute)
{
    fixture_servers(&fixture, 3);
    fixture_tablet(&fixture, "", 0, 60, 0);
    fixture_points(&fixture, 0, 8, 0);
    fixture.details[0].points[5].reads = 9000;
    for (int second = 0; second < 60; second++) {
        fixture.tablets[0].may_move = second % 2 == 0;
        (void)fixture_pass(&fixture, 1);
    }
    cr_assert_eq(fixture.refusals[BALANCE_ALONE], 1, "%u", fixture.refusals[BALANCE_ALONE]);
    cr_assert_eq(fixture.refusals[BALANCE_POPULAR_KEY], 1);
    cr_assert_eq(fixture_pass(&fixture, 60), 1, "when it stays as it is now that is said");
    cr_assert_eq(fixture_pass(&fixture, 60), 0);
    fixture.tablets[0].may_move = !fixture.tablets[0].may_move;
    cr_assert_eq(fixture_pass(&fixture, 1), 1, "after a minute it may be said again");
    fixture.costs[0] = 1;
    (void)fixture_pass(&fixture, 30);
    fixture.costs[0] = 60;
    cr_assert_eq(fixture_pass(&fixture, 20), 1, "it was not refused in between");
}

Test(balance, far_above_is_a_setting)
{
    fixture_servers(&fixture, 3);
    fixture_tablet(&fixture, "", 0, 60, 0);
    fixture_points(&fixture, 0, 32, 0);
    fixture.settings.far_times = 3;
    cr_assert_eq(fixture_pass(&fixture, 9), 0);
    cr_assert_eq(fixture_pass(&fixture, 4), 1);
    cr_assert(fixture.last.reason == BALANCE_HOT && fixture.last.row_count == 1);
    fixture.states[0].split_ns = 0;
    fixture.settings.far_times = 2;
    fixture.settings.piece_percent = 100;
    fixture.settings.pieces_max = 16;
    cr_assert_eq(fixture_pass(&fixture, 6), 1);
    cr_assert_eq(fixture.last.reason, BALANCE_FAR_OVER);
    cr_assert_eq(fixture.last.row_count, 2, "three pieces, one a server: of 60 %, each of 25 %");
}

/* A side of 70 %, the other of 30 %: 40 % off. */
Test(balance, how_uneven_a_cut_may_be_and_how_many_it_may_part_are_settings)
{
    fixture_servers(&fixture, 3);
    fixture_tablet(&fixture, "", 0, 30, 0);
    fixture_points(&fixture, 0, 2, 0);
    fixture.details[0].points[0].reads = 7000;
    fixture.details[0].points[1].reads = 3000;
    cr_assert_eq(fixture_pass(&fixture, 13), 1);
    cr_assert_eq(fixture.last.reason, BALANCE_POPULAR_KEY);
    fixture.settings.uneven_percent = 45;
    cr_assert_eq(fixture_pass(&fixture, 2), 1);
    cr_assert_eq(fixture.last.kind, BALANCE_SPLIT);
    fixture.states[0].split_ns = 0;
    fixture.details[0].points[1].crossing = fixture.details[0].detail.operations / 5;
    fixture.settings.crossing_percent = 20;
    cr_assert_eq(fixture_pass(&fixture, 13), 1);
    cr_assert_eq(fixture.last.reason, BALANCE_TOO_WIDE);
}

Test(balance, how_often_a_refusal_is_said_is_a_setting)
{
    fixture_servers(&fixture, 3);
    fixture_tablet(&fixture, "", 0, 60, 0);
    fixture_points(&fixture, 0, 8, 0);
    fixture.details[0].points[5].reads = 9000;
    fixture.settings.refusal_pause_ns = 10 * FIXTURE_SECOND_NS;
    for (int second = 0; second < 60; second++) {
        fixture.tablets[0].may_move = second % 2 == 0;
        (void)fixture_pass(&fixture, 1);
    }
    cr_assert_geq(fixture.refusals[BALANCE_ALONE], 4);
    cr_assert_geq(fixture.refusals[BALANCE_POPULAR_KEY], 4);
}

Test(balance, a_refusal_is_said_again_when_it_changes)
{
    fixture_servers(&fixture, 3);
    fixture_tablet(&fixture, "", 0, 60, 0);
    fixture_points(&fixture, 0, 8, 0);
    fixture.observations = 1; /* a second: never a hundred in ten of them */
    cr_assert_eq(fixture_pass(&fixture, 30), 1);
    cr_assert_eq(fixture.last.reason, BALANCE_TOO_FEW);
    fixture.observations = 100;
    for (size_t i = 0; i < 8; i++) {
        fixture.details[0].points[i].crossing = 60000000;
    }
    cr_assert_eq(fixture_pass(&fixture, 30), 1);
    cr_assert_eq(fixture.last.reason, BALANCE_TOO_WIDE);
    cr_assert_eq(fixture.last.figures.crossing_permille, 1000);
}

Test(balance, it_is_split_once_a_minute_unless_it_is_far_over)
{
    fixture_servers(&fixture, 3);
    fixture_tablet(&fixture, "", 0, 40, 0);
    fixture_points(&fixture, 0, 8, 0);
    fixture.now_s = 1000;
    fixture.states[0].split_ns = 995 * FIXTURE_SECOND_NS;
    cr_assert_eq(fixture_pass(&fixture, 30), 1);
    cr_assert_eq(fixture.last.reason, BALANCE_COOLING_DOWN);
    cr_assert_eq(fixture_pass(&fixture, 30), 1);
    cr_assert_eq(fixture.last.kind, BALANCE_SPLIT);
    fixture.states[0].split_ns = fixture.now_s * FIXTURE_SECOND_NS;
    fixture.costs[0] = 80;
    cr_assert_eq(fixture_pass(&fixture, 7), 1);
    cr_assert_eq(fixture.last.reason, BALANCE_FAR_OVER);
}

Test(balance, nothing_is_split_where_there_is_no_other_server)
{
    fixture_servers(&fixture, 1);
    fixture_tablet(&fixture, "", 0, 90, 0);
    fixture_points(&fixture, 0, 8, 0);
    cr_assert_eq(fixture_pass(&fixture, 60), 1);
    cr_assert_eq(fixture.last.reason, BALANCE_ALONE);
}

Test(balance, nothing_is_done_about_what_is_pinned_or_under_way)
{
    fixture_servers(&fixture, 3);
    fixture_tablet(&fixture, "", 0, 90, 0);
    fixture_points(&fixture, 0, 8, 0);
    fixture.tablets[0].pinned = true;
    cr_assert_eq(fixture_pass(&fixture, 60), 0);
    fixture.tablets[0].pinned = false;
    fixture.tablets[0].settled = false;
    cr_assert_eq(fixture_pass(&fixture, 60), 0);
}

/* --- who appends ----------------------------------------------------------------------------------- */

Test(balance, who_appends_finds_the_next_tablet_on_another_server)
{
    fixture_servers(&fixture, 3);
    fixture_tablet(&fixture, "", 0, 0, 60);
    fixture_points(&fixture, 0, 10, 0); /* a row a tenth of a second */
    for (size_t i = 0; i < 10; i++) {
        fixture.details[0].points[i].reads = 0;
        fixture.details[0].points[i].writes = 100;
    }
    fixture.details[0].detail.load.appended_permille = 990;
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
    fixture_servers(&fixture, 3);
    fixture_tablet(&fixture, "", 0, 0, 60);
    fixture_points(&fixture, 0, 10, 0);
    for (size_t i = 0; i < 10; i++) {
        fixture.details[0].points[i].reads = 0;
        fixture.details[0].points[i].writes = 100;
    }
    fixture.details[0].detail.load.appended_permille = 990;
    fixture.details[0].detail.load.window_ns = UINT64_C(5000000000); /* two rows a second */
    fixture_pass(&fixture, 7);
    cr_assert_eq(fixture.last.reason, BALANCE_AHEAD);
    cr_assert_str_eq(fixture.last_rows[0], "row23");
}

Test(balance, what_was_split_by_size_has_been_hot_for_as_long_as_before)
{
    const struct balance_tablet parent = {.over_ns = 7, .far_ns = 9};
    struct balance_tablet left;
    struct balance_tablet right;
    balance_tablet_split(&parent, 0, 0, false, 11, &left, &right);
    cr_assert_eq(left.over_ns, 7);
    cr_assert_eq(right.over_ns, 7);
    cr_assert_eq(right.far_ns, 9);
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

/* --- merges ---------------------------------------------------------------------------------------- */

static void two_cold_ones(void)
{
    fixture_servers(&fixture, 2);
    fixture_tablet(&fixture, "", 0, 2, 0);
    fixture_tablet(&fixture, "m", 1, 2, 0);
}

Test(balance, cold_neighbours_are_merged_an_hour_after_a_split)
{
    two_cold_ones();
    cr_assert_eq(fixture_pass(&fixture, 3590), 0);
    cr_assert_eq(fixture_pass(&fixture, 20), 1);
    cr_assert_eq(fixture.last.kind, BALANCE_MERGE);
    cr_assert_eq(fixture.last.tablet, 1);
    cr_assert_eq(fixture.last.right, 2);
}

Test(balance, a_boundary_made_by_hand_stays)
{
    two_cold_ones();
    fixture.tablets[1].start_by_hand = true;
    cr_assert_eq(fixture_pass(&fixture, 8000), 0);
}

Test(balance, what_is_warm_was_warm_or_would_be_is_not_merged)
{
    two_cold_ones();
    fixture.costs[1] = 5; /* each is cold, both are not */
    cr_assert_eq(fixture_pass(&fixture, 8000), 0);
    fixture.costs[1] = 8;
    cr_assert_eq(fixture_pass(&fixture, 100), 0);
    fixture.costs[1] = 0;
    cr_assert_eq(fixture_pass(&fixture, 290), 0, "five minutes have not passed");
    cr_assert_eq(fixture_pass(&fixture, 60), 1);
}

Test(balance, neither_other_tables_nor_large_ones_are_merged)
{
    two_cold_ones();
    fixture.tablets[1].table = 2;
    cr_assert_eq(fixture_pass(&fixture, 4000), 0);
    fixture.tablets[1].table = 1;
    fixture.tablets[1].size_bytes = fixture.tablets[1].soft_limit_bytes / 2;
    cr_assert_eq(fixture_pass(&fixture, 4000), 0);
}

Test(balance, how_cold_and_how_small_is_a_setting)
{
    two_cold_ones();
    fixture.settings.merge_percent = 0;
    cr_assert_eq(fixture_pass(&fixture, 8000), 0, "nothing is merged");
    fixture.settings.merge_percent = 40;
    fixture.costs[1] = 5; /* 7 of 10 percent */
    cr_assert_eq(fixture_pass(&fixture, 400), 1);
    cr_assert_eq(fixture.last.figures.limit_permille, 100);
    fixture_deinit(&fixture);
    fixture_init(&fixture);
    two_cold_ones();
    fixture.tablets[1].size_bytes = fixture.tablets[1].soft_limit_bytes / 2;
    fixture.settings.merge_size_percent = 50;
    cr_assert_eq(fixture_pass(&fixture, 4000), 1);
}

/* --- balance --------------------------------------------------------------------------------------- */

Test(balance, a_server_with_more_to_do_gives_some_away)
{
    fixture_servers(&fixture, 2);
    for (int i = 0; i < 4; i++) {
        fixture_tablet(&fixture, i == 0 ? "" : i == 1 ? "b" : i == 2 ? "c" : "d", 0, 10, 0);
    }
    fixture_pass(&fixture, 12);
    cr_assert_eq(fixture.moves, 2);
    cr_assert_eq(fixture.last.reason, BALANCE_IMBALANCE);
    cr_assert_eq(fixture.last.from, 1);
    cr_assert_eq(fixture.last.to, 2);
    cr_assert_eq(fixture_pass(&fixture, 600), 0, "and that was all");
}

Test(balance, slight_imbalance_has_to_last_a_minute)
{
    fixture_servers(&fixture, 2);
    for (int i = 0; i < 7; i++) {
        fixture_tablet(&fixture, (const char *[]){"", "b", "c", "d", "e", "f", "g"}[i],
                       i < 4 ? 0 : 1, i < 4 ? 6 : 8, 0);
    }
    cr_assert_eq(fixture_pass(&fixture, 100), 0);
    for (int i = 0; i < 4; i++) {
        fixture.costs[i] = 8;
    }
    cr_assert_eq(fixture_pass(&fixture, 600), 0, "4 to 3: one more would only turn it round");
    for (int i = 0; i < 4; i++) {
        fixture.costs[i] = 6;
    }
    fixture_pass(&fixture, 100);
    for (int i = 0; i < 4; i++) {
        fixture.costs[i] = i < 3 ? 4 : 20;
    }
    cr_assert_eq(fixture_pass(&fixture, 60), 0);
    cr_assert_eq(fixture_pass(&fixture, 60), 1);
    cr_assert_eq(fixture.last.kind, BALANCE_MOVE);
}

Test(balance, the_hot_tablet_is_not_moved_round_but_the_others_are)
{
    fixture_servers(&fixture, 3);
    fixture_tablet(&fixture, "", 0, 70, 0); /* and cannot be split */
    fixture.tablets[0].may_split = false;
    fixture_tablet(&fixture, "b", 0, 3, 0);
    fixture_tablet(&fixture, "c", 0, 3, 0);
    fixture_pass(&fixture, 300);
    cr_assert_eq(fixture.moves, 2);
    cr_assert_eq(fixture.tablets[0].wanted.servers[0], 0, "it has stayed");
}

Test(balance, what_gains_next_to_nothing_is_not_moved)
{
    fixture_servers(&fixture, 3);
    fixture_tablet(&fixture, "", 0, 70, 0); /* and cannot be split */
    fixture.tablets[0].may_split = false;
    fixture_tablet(&fixture, "b", 0, 0.1, 0);
    fixture_tablet(&fixture, "c", 0, 0.1, 0);
    fixture_pass(&fixture, 300);
    cr_assert_eq(fixture.moves, 0);
}

Test(balance, who_leads_comes_before_who_has_a_replica)
{
    fixture_servers(&fixture, 3);
    fixture_tablet(&fixture, "", 0, 20, 0);
    fixture_tablet(&fixture, "b", 0, 20, 0);
    fixture_member(&fixture, 0, 1);
    fixture_member(&fixture, 1, 1);
    fixture_pass(&fixture, 12);
    cr_assert_eq(fixture.leads, 1);
    cr_assert_eq(fixture.moves, 0);
    cr_assert_eq(fixture.last.to, 2);
}

Test(balance, copies_stay_in_different_zones)
{
    fixture_servers(&fixture, 4);
    fixture.servers[0].zone = 1;
    fixture.servers[1].zone = 2;
    fixture.servers[2].zone = 2;
    fixture.servers[3].zone = 1;
    fixture_tablet(&fixture, "", 0, 0, 20);
    fixture_tablet(&fixture, "b", 0, 0, 20);
    fixture_member(&fixture, 0, 1);
    fixture_member(&fixture, 1, 1);
    fixture.tablets[0].wanted.leader = 0;
    fixture_pass(&fixture, 400);
    for (int i = 0; i < 2; i++) {
        const struct balance_members *wanted = &fixture.tablets[i].wanted;
        cr_assert_neq(fixture.servers[wanted->servers[0]].zone,
                      fixture.servers[wanted->servers[1]].zone);
    }
    cr_assert_gt(fixture.moves + fixture.leads, 0);
}

Test(balance, a_few_at_a_time)
{
    fixture_servers(&fixture, 8);
    for (int i = 0; i < 30; i++) {
        char row[16];
        snprintf(row, sizeof row, "%02d", i);
        fixture_tablet(&fixture, i == 0 ? "" : row, 0, 2, 0);
    }
    fixture.slow = true; /* nothing that was decided is ever done */
    fixture_pass(&fixture, 300);
    cr_assert_eq(fixture.moves, (int)fixture.settings.moves_per_server);
}

Test(balance, servers_that_hardly_do_anything_are_left_alone)
{
    fixture_servers(&fixture, 2);
    fixture_tablet(&fixture, "", 0, 2, 0);
    fixture_tablet(&fixture, "b", 0, 2, 0);
    cr_assert_eq(fixture_pass(&fixture, 3000), 0);
}

Test(balance, nothing_goes_to_a_server_that_is_not_usable)
{
    fixture_servers(&fixture, 3);
    fixture.servers[1].usable = false;
    fixture_tablet(&fixture, "", 0, 20, 0);
    fixture_tablet(&fixture, "b", 0, 20, 0);
    fixture_pass(&fixture, 20);
    cr_assert_eq(fixture.moves, 1);
    cr_assert_eq(fixture.last.to, 3);
}

Test(balance, nothing_is_merged_while_a_member_is_gone)
{
    fixture_servers(&fixture, 2);
    fixture_tablet(&fixture, "", 0, 0, 0);
    fixture_tablet(&fixture, "b", 0, 0, 0);
    fixture_member(&fixture, 1, 1);
    fixture.servers[1].usable = false;
    fixture_pass(&fixture, 3700);
    cr_assert_eq(fixture.merges, 0);
    fixture.servers[1].usable = true;
    fixture_pass(&fixture, 1);
    cr_assert_eq(fixture.merges, 1);
}

Test(balance, what_cannot_move_is_not_split)
{
    fixture_servers(&fixture, 2);
    fixture_tablet(&fixture, "", 0, 90, 0);
    fixture_points(&fixture, 0, 8, 0);
    fixture.tablets[0].may_move = false;
    fixture_pass(&fixture, 60);
    cr_assert_eq(fixture.splits, 0);
    cr_assert_eq(fixture.refusals[BALANCE_ALONE], 1);
}

Test(balance, nothing_moves_to_a_server_without_room)
{
    fixture_servers(&fixture, 3);
    fixture.servers[1].full = true;
    fixture_tablet(&fixture, "", 0, 20, 0);
    fixture_tablet(&fixture, "b", 0, 20, 0);
    fixture_pass(&fixture, 20);
    cr_assert_eq(fixture.moves, 1);
    cr_assert_eq(fixture.last.to, 3);
}

Test(balance, without_memory_nothing_is_decided)
{
    struct arena none;
    struct balance_decisions decisions;
    fixture_servers(&fixture, 2);
    fixture_tablet(&fixture, "", 0, 90, 0);
    arena_init(&none, 4096, 0);
    const struct balance_snapshot snapshot = fixture_snapshot(&fixture);
    cr_assert_eq(balance_round(&fixture.settings, &snapshot, &none, &decisions), STATUS_NO_MEMORY);
    arena_deinit(&none);
}

/* --- what is kept ---------------------------------------------------------------------------------- */

Test(balance_state, a_split_parts_the_load_and_a_merge_adds_it_up)
{
    const struct load_figures figures = {
        .reads = 1000, .read_cpu_ns = 600000, .write_cpu_ns = 400000};
    struct balance_tablet parent = {0};
    struct balance_tablet left;
    struct balance_tablet right;
    struct balance_tablet merged;

    balance_tablet_measure(&parent, &figures, 10, 1000000000, FIXTURE_SECOND_NS);
    cr_assert_float_eq(balance_cost(&parent.quick), 500000, 1);
    balance_tablet_split(&parent, 0.25, 0.75, false, 9, &left, &right);
    cr_assert_float_eq(left.quick.read_cost, parent.quick.read_cost / 4, 1);
    cr_assert_float_eq(right.quick.write_cost, parent.quick.write_cost / 4, 1);
    cr_assert_eq(left.split_ns, 9);
    balance_tablet_merge(&left, &right, &merged);
    cr_assert_float_eq(balance_cost(&merged.quick), balance_cost(&parent.quick), 1);
}

Test(balance_state, who_is_silent_has_had_nothing_to_do)
{
    const struct load_figures figures = {.reads = 1000, .read_cpu_ns = 600000000};
    struct balance_tablet state = {0};

    balance_tablet_measure(&state, &figures, 10, 1000000000, FIXTURE_SECOND_NS);
    double before = balance_cost(&state.slow);
    balance_tablet_pass(&state, 2 * FIXTURE_SECOND_NS);
    cr_assert_float_eq(balance_cost(&state.slow), before, 1e-9, "a report may be late");
    for (int second = 3; second < 600; second++) {
        balance_tablet_pass(&state, second * FIXTURE_SECOND_NS);
    }
    cr_assert_eq(balance_cost(&state.slow), 0);
}
