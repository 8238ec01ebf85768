/* Which cold neighbours are merged: master/placement/balance_merge.c. */
#include "tests/support/balance_fixture.h"

TestSuite(balance, .init = begin, .fini = end);

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

/* So many tablets on the first of two servers, all cold. */
static void cold_ones(size_t count)
{
    char start[24];
    fixture_servers(&fixture, 2);
    for (size_t i = 0; i < count; i++) {
        snprintf(start, sizeof start, "%02zu", i);
        fixture_tablet(&fixture, i == 0 ? "" : start, 0, 0, 0);
    }
}

Test(balance, what_lies_apart_is_not_merged_nor_does_it_keep_others_from_it)
{
    cold_ones(12);
    for (size_t i = 1; i < 11; i++) {
        fixture.tablets[i].apart = true;
    }
    cr_assert_eq(fixture_pass(&fixture, 3700), 1);
    cr_assert_eq(fixture.last.kind, BALANCE_MERGE);
    cr_assert_eq(fixture.last.tablet, 11);
    cr_assert_eq(fixture.last.right, 12);
}

Test(balance, what_is_under_way_counts_as_merges_but_what_is_lost_does_not)
{
    cold_ones(10);
    for (size_t i = 0; i < 8; i++) {
        fixture.tablets[i].settled = false;
        fixture.tablets[i].lost = true;
    }
    fixture_pass(&fixture, 3700);
    cr_assert_eq(fixture.merges, 1);
    fixture_deinit(&fixture);
    fixture_init(&fixture);
    cold_ones(10);
    for (size_t i = 0; i < 8; i++) {
        fixture.tablets[i].settled = false;
    }
    fixture_pass(&fixture, 3700);
    cr_assert_eq(fixture.merges, 0);
}
