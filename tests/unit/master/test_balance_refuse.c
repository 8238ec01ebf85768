/* Why a hot tablet is not split, and how often that is said. */
#include "tests/support/balance_fixture.h"

TestSuite(balance, .init = begin, .fini = end);

/* A hot tablet of whose reads nearly all are of one of eight rows, or from there up to the next. */
static void popular_row(void)
{
    fixture_one_hot(&fixture, 60, 8);
    fixture.details[0].points[5].reads = 9000;
}

Test(balance, a_popular_row_is_named)
{
    popular_row();
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
    popular_row();
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
    popular_row();
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

Test(balance, how_often_a_refusal_is_said_is_a_setting)
{
    popular_row();
    fixture.settings.refusal_pause_ns = 10 * FIXTURE_SECOND_NS;
    for (int second = 0; second < 60; second++) {
        fixture.tablets[0].may_move = second % 2 == 0;
        (void)fixture_pass(&fixture, 1);
    }
    cr_assert_geq(fixture.refusals[BALANCE_ALONE], 4);
    cr_assert_geq(fixture.refusals[BALANCE_POPULAR_KEY], 4);
}

/* There is room for all parts but one of those that a tablet may be split into at once. */
Test(balance, a_limit_of_tablets_that_is_in_the_way_is_said)
{
    fixture_one_hot(&fixture, 60, 8);
    fixture.tablets_max = fixture.tablet_count + fixture.settings.pieces_max - 1;
    cr_assert_eq(fixture_pass(&fixture, 60), 1, "said once");
    cr_assert_eq(fixture.last.kind, BALANCE_REFUSE);
    cr_assert_eq(fixture.last.reason, BALANCE_LIMIT);
    cr_assert_str_eq(balance_reason_name(fixture.last.reason), "limit");
    cr_assert_not_null(strstr(fixture.last.text, "limits.tablets_max"), "%s", fixture.last.text);
    fixture.tablets_max += 1;
    (void)fixture_pass(&fixture, 1);
    cr_assert_eq(fixture.splits, 1);
}

Test(balance, a_refusal_is_said_again_when_it_changes)
{
    fixture_one_hot(&fixture, 60, 8);
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
