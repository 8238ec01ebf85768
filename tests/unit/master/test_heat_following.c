/* A heat map that follows another has the same sums, whenever it asks; and believes no lies. */
#include "tests/support/heat_loads.h"

#include <math.h>

#include "master/heat/heat_following.h"

static struct heat_map follower;
static struct heat_following following;
static struct arena arena;

static void start(void)
{
    static const struct heat_gone_to gone = {heat_on_gone, NULL};
    heat_start();
    heat_map_init(&follower, HEAT_BYTES_MAX, &gone);
    heat_map_age(&follower, heat_now_us, false);
    arena_init(&arena, 4096, SIZE_MAX);
}

static void stop(void)
{
    heat_stop();
    heat_map_deinit(&follower);
    arena_deinit(&arena);
}

TestSuite(heat_following, .init = start, .fini = stop, .timeout = 600);

/* One page.  False: it was the last one. */
static bool follow_page(void)
{
    struct list_heat_response page;
    cr_assert_eq(heat_map_list(&heat_map, &following.next, &arena, &page), STATUS_OK);
    cr_assert(!page.more || page.column_count > 0, "a page leads further");
    return heat_following_take(&following, &follower, &page, heat_now_us);
}

static size_t count_of(const struct heat_map *map)
{
    size_t count = 0;
    LIST_FOREACH(const struct heat_table, table, &map->tables) {
        for (size_t layer = 1; layer < HEAT_LAYERS; layer++) {
            count += table->layers[layer].count;
        }
    }
    return count;
}

/* All pages of a round; returns how many columns were taken in. */
static size_t follow(void)
{
    size_t before = count_of(&follower);
    heat_following_begin(&following);
    while (follow_page()) {
    }
    return count_of(&follower) - before;
}

static void pass(int64_t seconds)
{
    for (int64_t i = 0; i < seconds; i++) {
        heat_pass(1);
        heat_map_age(&follower, heat_now_us, false);
    }
}

/* Of whole minutes: what is finer is extra. */
static double total_of(const struct heat_map *map, uint64_t table)
{
    const struct heat_table *of = heat_map_table(map, table);
    double sum = 0;
    for (size_t layer = 1; of != NULL && layer < HEAT_LAYERS; layer++) {
        for (size_t i = 0; i < of->layers[layer].count; i++) {
            const struct heat_column *column = of->layers[layer].columns[i];
            struct heat_walk walk;
            heat_walk_begin(&walk, bytes_of(column->packed, column->packed_bytes));
            while (heat_walk_next(&walk)) {
                sum += (double)walk.values.of[HEAT_READS];
            }
        }
    }
    return sum;
}

static void expect_same(void)
{
    for (uint64_t table = 1; table <= 3; table++) {
        double ours = total_of(&heat_map, table);
        double theirs = total_of(&follower, table);
        cr_assert(fabs(ours - theirs) < 1e-6, "table %llu: %f, not %f", (unsigned long long)table,
                  theirs, ours);
    }
}

Test(heat_following, whoever_asks_often_has_the_same)
{
    static const char *const keys[] = {"b", "f", "k", NULL};
    struct prng random = prng_of_seed(7);
    for (int i = 0; i < 400; i++) {
        heat_report(1 + prng_below(&random, 3), "", "", keys, 1 + prng_below(&random, 100), 10);
        pass(1 + (int64_t)prng_below(&random, 60));
        if (prng_below(&random, 4) == 0) {
            (void)follow();
        }
    }
    pass(120);
    (void)follow();
    cr_assert_gt(total_of(&heat_map, 1), 0);
    expect_same();
    cr_assert_eq(follow(), 0, "and then there is nothing more");
}

Test(heat_following, whoever_comes_late_gets_all_of_it)
{
    static const char *const keys[] = {"b", "f", "k", NULL};
    for (int i = 0; i < 900; i++) { /* hours: all layers */
        heat_report(1, "", "", keys, 100, 10);
        heat_report(2, "a", "b", NULL, 7, 0);
        heat_pass(40);
    }
    heat_pass(120);
    heat_map_age(&follower, heat_now_us, false);
    cr_assert_gt(heat_map_table(&heat_map, 1)->layers[2].count, 0);
    cr_assert_gt(follow(), 100);
    expect_same();
}

/* More columns than a page has, of tables 1 to 2500. */
static void load_more_than_a_page(void)
{
    for (uint64_t i = 0; i < 2; i++) {
        for (uint64_t table = 1; table <= 2500; table++) {
            heat_report(table, "", "", NULL, 1, 0);
        }
        heat_pass(70);
    }
    heat_map_age(&follower, heat_now_us, false);
}

Test(heat_following, pages_go_on_where_the_last_one_ended)
{
    static const char *const keys[] = {"b", "f", "k", NULL};
    for (uint64_t i = 0; i < 3000; i++) {
        heat_report(1 + i % 3, "", "", keys, 100, 10);
        heat_report(10 + i, "", "", NULL, 1, 0);
    }
    heat_pass(120);
    heat_report(2, "", "", keys, 1, 1);
    heat_pass(120);
    load_more_than_a_page();
    heat_following_begin(&following);
    cr_assert(follow_page());
    (void)follow();
    expect_same();
    cr_assert_eq(count_of(&follower), count_of(&heat_map));
}

/* Tables of the first pages are new then, the others are not: that was taken for all that there was to ask for. */
Test(heat_following, what_a_round_did_not_come_to_is_asked_for_by_the_next)
{
    load_more_than_a_page();
    heat_following_begin(&following);
    cr_assert(follow_page());
    cr_assert_lt(count_of(&follower), count_of(&heat_map));
    cr_assert_gt(follow(), 0, "the rest");
    cr_assert_eq(count_of(&follower), count_of(&heat_map));
    cr_assert_eq(follow(), 0);
}

Test(heat_following, a_minute_that_is_over_while_pages_come_is_there_after_the_next_round)
{
    load_more_than_a_page();
    heat_following_begin(&following);
    cr_assert(follow_page());
    heat_report(1, "", "", NULL, 5, 0);    /* of a page that was */
    heat_report(2500, "", "", NULL, 7, 0); /* of one that comes */
    heat_pass(70);
    heat_map_age(&follower, heat_now_us, false);
    while (follow_page()) {
    }
    cr_assert_eq(follow(), 1);
    expect_same();
    cr_assert_eq(count_of(&follower), count_of(&heat_map));
}

/* Of who is ahead of us what lies in our future is passed over, and asked for again. */
Test(heat_following, what_lies_in_the_future_is_asked_for_again)
{
    heat_report(1, "", "", NULL, 5, 0);
    heat_pass(70);
    int64_t theirs_us = heat_now_us;
    heat_now_us -= 300 * HEAT_SECOND_US;
    heat_map_age(&follower, heat_now_us, false);
    cr_assert_eq(follow(), 0);
    heat_now_us = theirs_us;
    heat_map_age(&follower, heat_now_us, false);
    cr_assert_eq(follow(), 1);
    expect_same();
}

Test(heat_following, lies_are_passed_over)
{
    static const char *const keys[] = {"b", "f", "k", NULL};
    struct list_heat_response page;
    const struct list_heat_request request = {0};
    heat_report(1, "", "", keys, 100, 10);
    heat_pass(120);
    heat_map_age(&follower, heat_now_us, false);
    cr_assert_eq(heat_map_list(&heat_map, &request, &arena, &page), STATUS_OK);
    cr_assert_eq(page.column_count, 1);
    const struct heat_column_image sound = page.columns[0];
    struct heat_column_image lie = sound;
    lie.layer = 0;
    cr_assert_not(heat_map_follow(&follower, &lie, heat_now_us));
    lie.layer = HEAT_LAYERS;
    cr_assert_not(heat_map_follow(&follower, &lie, heat_now_us));
    lie = sound;
    lie.start_us = heat_now_us + 1;
    lie.end_us = heat_now_us + 2;
    cr_assert_not(heat_map_follow(&follower, &lie, heat_now_us));
    lie = sound;
    lie.end_us = lie.start_us;
    cr_assert_not(heat_map_follow(&follower, &lie, heat_now_us));
    lie = sound;
    lie.packed.size_bytes--;
    cr_assert_not(heat_map_follow(&follower, &lie, heat_now_us));
    cr_assert_null(heat_map_table(&follower, 1));
    cr_assert(heat_map_follow(&follower, &sound, heat_now_us));
    cr_assert_not(heat_map_follow(&follower, &sound, heat_now_us), "not twice");
    expect_same();
}
