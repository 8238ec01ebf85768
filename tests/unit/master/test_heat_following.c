/* A heat map that follows another has the same sums, whenever it asks; and believes no lies. */
#include "tests/support/heat_loads.h"

#include <math.h>

#include "master/heat/heat_following.h"

static struct heat_map follower;
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

/* All pages of a round. */
static size_t follow(void)
{
    struct list_heat_request request = {.after_us = heat_map_newest_us(&follower)};
    struct list_heat_response page = {.more = true};
    size_t taken = 0;
    while (page.more) {
        cr_assert_eq(heat_map_list(&heat_map, &request, &arena, &page), STATUS_OK);
        for (size_t i = 0; i < page.column_count; i++) {
            taken += heat_map_follow(&follower, &page.columns[i], heat_now_us);
            request.table = page.columns[i].table;
            request.start_us = page.columns[i].start_us;
        }
        cr_assert(!page.more || page.column_count > 0, "a page leads further");
    }
    return taken;
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
    heat_map_age(&follower, heat_now_us, false);
    struct list_heat_response page;
    const struct list_heat_request request = {0};
    for (uint64_t i = 0; i < 2; i++) { /* more columns than a page has */
        for (uint64_t table = 1; table <= 2500; table++) {
            heat_report(table, "", "", NULL, 1, 0);
        }
        heat_pass(70);
    }
    cr_assert_eq(heat_map_list(&heat_map, &request, &arena, &page), STATUS_OK);
    cr_assert(page.more);
    (void)follow();
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
