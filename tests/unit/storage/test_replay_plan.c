#include "tabletserver/storage/record/replay_plan.h"

#include <criterion/criterion.h>

static struct arena arena;
static struct applied_map map; /* 20 below (b, family 1, "q", 50), 10 from there on */

static void setup(void)
{
    arena_init(&arena, 4096, SIZE_MAX);
    struct applied_map whole;
    struct tablet_position start = {0};
    struct tablet_position cut = {.row = bytes_of_text("b"),
                                  .family = 1,
                                  .qualifier = bytes_of_text("q"),
                                  .timestamp_us = 50};
    cr_assert_eq(applied_map_whole(&arena, 10, &whole), STATUS_OK);
    cr_assert_eq(applied_map_raise(&arena, &whole, &start, &cut, 20, &map), STATUS_OK);
}

static void teardown(void)
{
    arena_deinit(&arena);
}

TestSuite(replay_plan, .init = setup, .fini = teardown);

static enum replay_verdict row_verdict(uint64_t sequence, const char *row)
{
    return replay_plan_row(&map, sequence, bytes_of_text(row));
}

static bool applies(uint64_t sequence, struct change change)
{
    return replay_plan_change(&map, sequence, bytes_of_text("b"), &change);
}

Test(replay_plan, whole_rows)
{
    cr_assert_eq(row_verdict(10, "a"), REPLAY_NONE);
    cr_assert_eq(row_verdict(20, "a"), REPLAY_NONE);
    cr_assert_eq(row_verdict(21, "a"), REPLAY_ALL);
    cr_assert_eq(row_verdict(10, "c"), REPLAY_NONE);
    cr_assert_eq(row_verdict(11, "c"), REPLAY_ALL);
}

Test(replay_plan, the_row_that_was_cut)
{
    cr_assert_eq(row_verdict(10, "b"), REPLAY_NONE);
    cr_assert_eq(row_verdict(11, "b"), REPLAY_SOME);
    cr_assert_eq(row_verdict(20, "b"), REPLAY_SOME);
    cr_assert_eq(row_verdict(21, "b"), REPLAY_ALL);
}

Test(replay_plan, cells_of_the_cut_row_by_position)
{
    struct change fold = {.kind = CHANGE_FOLD, .family = 1, .qualifier = bytes_of_text("q")};
    fold.timestamp_us = 51; /* before the cut: newer cells come first */
    cr_assert_not(applies(15, fold));
    fold.timestamp_us = 50;
    cr_assert(applies(15, fold));
    fold.timestamp_us = 49;
    cr_assert(applies(15, fold));
    fold.qualifier = bytes_of_text("p");
    cr_assert_not(applies(15, fold));
    fold.qualifier = bytes_of_text("qq");
    cr_assert(applies(15, fold));
    fold.kind = CHANGE_PUT;
    fold.family = 2;
    cr_assert(applies(15, fold));
}

Test(replay_plan, deletes_of_the_cut_row_always)
{
    struct change change = {.kind = CHANGE_DELETE_ROW};
    cr_assert(applies(15, change));
    change = (struct change){.kind = CHANGE_DELETE_FAMILY, .family = 1};
    cr_assert(applies(15, change));
    change = (struct change){
        .kind = CHANGE_DELETE_CELLS, .family = 1, .qualifier = bytes_of_text("a"), .end_us = 9};
    cr_assert(applies(15, change));
}
