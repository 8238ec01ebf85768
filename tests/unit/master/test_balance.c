/*
 * What is done about load: of a round as a whole.  Its rules are each in a file: test_balance_split.c, _refuse, _ahead,
 * _merge, _move, _state.
 */
#include "tests/support/balance_fixture.h"

TestSuite(balance, .init = begin, .fini = end);

Test(balance, nothing_is_done_about_what_is_pinned_or_under_way)
{
    fixture_one_hot(&fixture, 90, 8);
    fixture.tablets[0].pinned = true;
    cr_assert_eq(fixture_pass(&fixture, 60), 0);
    fixture.tablets[0].pinned = false;
    fixture.tablets[0].settled = false;
    cr_assert_eq(fixture_pass(&fixture, 60), 0);
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
