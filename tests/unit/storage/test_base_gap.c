#include <criterion/criterion.h>

#include "common/base/memory.h"
#include "tabletserver/storage/base/base_gap.h"

static struct base_gap gap;

static bool is_inside(const char *row)
{
    bool inside = false;
    cr_assert_eq(base_gap_enter(&gap, bytes_of_text(row), &inside), STATUS_OK);
    return inside;
}

static void learn(const char *row, const char *end)
{
    struct bytes end_row = end != NULL ? bytes_of_text(end) : BYTES_EMPTY;
    cr_assert_eq(base_gap_learn(&gap, bytes_of_text(row), end != NULL ? &end_row : NULL),
                 STATUS_OK);
}

Test(base_gap, reaches_from_the_last_row_entered_to_the_next_stored)
{
    cr_assert_not(is_inside("b"), "nothing is known yet");
    learn("b", "m");
    cr_assert_not(is_inside("b"), "this one may be stored");
    cr_assert_not(is_inside("a"));
    cr_assert_not(is_inside("m"));
    cr_assert_not(is_inside("n"));
    cr_assert(is_inside("c"));
    cr_assert_not(is_inside("c"), "it may be stored by now");
    cr_assert_not(is_inside("bb"), "so may whatever came before it");
    cr_assert(is_inside("cc"));
    base_gap_forget(&gap);
    cr_assert_not(is_inside("d"));
    base_gap_deinit(&gap);
}

Test(base_gap, without_an_end_it_reaches_to_the_end_of_the_extent)
{
    learn("b", "m");
    learn("x", NULL);
    cr_assert_not(is_inside("c"));
    cr_assert(is_inside("y"));
    base_gap_deinit(&gap);
}

Test(base_gap, without_memory_nothing_is_known)
{
    struct bytes end = bytes_of_text("m");
    memory_fail_arm(1, 1);
    cr_assert_eq(base_gap_learn(&gap, bytes_of_text("b"), &end), STATUS_NO_MEMORY);
    memory_fail_disarm();
    cr_assert_not(is_inside("c"));
    base_gap_deinit(&gap);
}
