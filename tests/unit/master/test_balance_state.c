/* What is kept of a tablet's load from round to round, and over splits and merges. */
#include "tests/support/balance_fixture.h"

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
