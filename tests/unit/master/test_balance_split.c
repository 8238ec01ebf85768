/* Which hot tablets are split, when, and where: master/placement/balance_split.c. */
#include "tests/support/balance_fixture.h"

TestSuite(balance, .init = begin, .fini = end);

Test(balance, a_hot_tablet_is_split_after_ten_seconds_where_its_load_parts)
{
    fixture_one_hot(&fixture, 30, 8);
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
    fixture_one_hot(&fixture, 24, 8);
    cr_assert_eq(fixture_pass(&fixture, 300), 0);
}

Test(balance, far_over_it_is_split_after_three_seconds_into_several)
{
    fixture_one_hot(&fixture, 90, 32);
    cr_assert_eq(fixture_pass(&fixture, 3), 0);
    cr_assert_eq(fixture_pass(&fixture, 4), 1);
    cr_assert_eq(fixture.last.reason, BALANCE_FAR_OVER);
    cr_assert_eq(fixture.last.row_count, 5, "six pieces of half the limit");
    for (size_t i = 1; i < fixture.last.row_count; i++) {
        cr_assert_lt(strcmp(fixture.last_rows[i - 1], fixture.last_rows[i]), 0);
    }
}

/* Four or five of half the limit would be two for one of the three servers, and one for another. */
Test(balance, the_parts_are_as_many_for_every_server)
{
    fixture_one_hot(&fixture, 60, 32);
    cr_assert_eq(fixture_pass(&fixture, 7), 1);
    cr_assert_eq(fixture.last.reason, BALANCE_FAR_OVER);
    cr_assert_eq(fixture.last.row_count, 5, "six pieces: %zu cuts", fixture.last.row_count);
    fixture.states[0].split_ns = 0;
    fixture.settings.pieces_max = 5;
    cr_assert_eq(fixture_pass(&fixture, 5), 1);
    cr_assert_eq(fixture.last.row_count, 2, "five at most are three: %zu cuts",
                 fixture.last.row_count);
}

Test(balance, a_rate_is_a_limit_too_where_it_is_set)
{
    fixture_one_hot(&fixture, 10, 8);
    fixture.settings.split_rate = 5000; /* a fixture's tablet has 10 000 */
    cr_assert_eq(fixture_pass(&fixture, 20), 1);
    cr_assert_eq(fixture.last.kind, BALANCE_SPLIT);
}

Test(balance, far_above_is_a_setting)
{
    fixture_one_hot(&fixture, 60, 32);
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
    fixture_one_hot(&fixture, 30, 2);
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

Test(balance, it_is_split_once_a_minute_unless_it_is_far_over)
{
    fixture_one_hot(&fixture, 40, 8);
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

/* It is of before the tablet was split: row04 is where that ends, or begins. */
Test(balance, a_cut_lies_inside_whatever_the_report_says)
{
    fixture_one_hot(&fixture, 30, 8);
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

Test(balance, nothing_is_split_where_there_is_no_other_server)
{
    fixture_servers(&fixture, 1);
    fixture_tablet(&fixture, "", 0, 90, 0);
    fixture_points(&fixture, 0, 8, 0);
    cr_assert_eq(fixture_pass(&fixture, 60), 1);
    cr_assert_eq(fixture.last.reason, BALANCE_ALONE);
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
