/* What goes from a server that has more to do to one that has less: master/placement/balance_move.c. */
#include "tests/support/balance_fixture.h"

TestSuite(balance, .init = begin, .fini = end);

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
