/* The heat map: what reports become, how they age, what bounds hold. */
#include "tests/support/heat_loads.h"

#include <math.h>
#include <time.h>

TestSuite(heat_map, .init = heat_start, .fini = heat_stop, .timeout = 600);

static void same(double got, double wanted)
{
    cr_assert(fabs(got - wanted) < 1e-6 * (wanted + 1), "%f, not %f", got, wanted);
}

Test(heat_map, what_runs_is_seen_within_seconds)
{
    heat_report(1, "", "", NULL, 100, 10);
    heat_pass(6);
    same(heat_total(1, HEAT_METRIC_OPS), 110);
    same(heat_total(1, HEAT_METRIC_READS), 100);
    same(heat_total(1, HEAT_METRIC_WRITES), 10);
    same(heat_total(1, HEAT_METRIC_ROWS_READ), 200);
    same(heat_total(1, HEAT_METRIC_BYTES), 12000);
    same(heat_total(1, HEAT_METRIC_CPU), 120000);
    same(heat_total(1, HEAT_METRIC_COST), 120000.0 / 110);
    same(heat_total(1, HEAT_METRIC_LATENCY), 590000.0 / 110);
    same(heat_total(1, HEAT_METRIC_LATENCY_WRITE), 9000);
    cr_assert_null(heat_map_table(&heat_map, 2));
}

Test(heat_map, ageing_keeps_sums)
{
    static const char *const keys[] = {"b", "f", "k", "p", NULL};
    double added = 0;
    for (int minute = 0; minute < 60 * 24 * 5; minute++) { /* through every layer */
        heat_report(1, "", "", keys, 1000 + (uint64_t)minute, 7);
        added += 1007 + minute;
        heat_pass(minute < 120 ? 60 : 1);
        heat_now_us += minute < 120 ? 0 : 59 * HEAT_SECOND_US;
    }
    for (int i = 0; i < 2000; i++) { /* it does a bit at a time */
        heat_map_age(&heat_map, heat_now_us, false);
    }
    const struct heat_table *table = heat_map_table(&heat_map, 1);
    cr_assert_gt(table->layers[2].count, 500);
    cr_assert_gt(table->layers[3].count, 20);
    cr_assert_leq(table->layers[1].count, 6 * 60 + 12);
    same(heat_total(1, HEAT_METRIC_OPS), added);
}

Test(heat_map, fourteen_days_and_no_more)
{
    heat_report(1, "", "", NULL, 5, 0);
    heat_pass(70);
    heat_now_us += INT64_C(13) * 86400 * HEAT_SECOND_US;
    heat_map_age(&heat_map, heat_now_us, false);
    heat_map_age(&heat_map, heat_now_us, false);
    same(heat_total(1, HEAT_METRIC_READS), 5);
    heat_now_us += INT64_C(2) * 86400 * HEAT_SECOND_US;
    for (int i = 0; i < 10; i++) {
        heat_map_age(&heat_map, heat_now_us, false);
    }
    same(heat_total(1, HEAT_METRIC_READS), 0);
    cr_assert_eq(heat_map_column_bytes(&heat_map), 0);
}

Test(heat_map, is_bounded_and_the_oldest_go_first)
{
    static const char *const keys[] = {"b", "c", "d", "e", "f", "g", NULL};
    heat_map.bytes_max = 20000;
    for (int i = 0; i < 600; i++) {
        heat_report(1 + (uint64_t)i % 3, "", "", keys, 1000, 1000);
        heat_pass(10);
        cr_assert_leq(heat_map_column_bytes(&heat_map), 20000);
    }
    const struct heat_table *table = heat_map_table(&heat_map, 1);
    cr_assert_gt(heat_table_oldest_us(table), HEAT_NOON_US + 600 * HEAT_SECOND_US);
    cr_assert_gt(heat_total(1, HEAT_METRIC_OPS), 0, "the newest are there");
}

Test(heat_map, points_say_where)
{
    static const char *const keys[] = {"user2000", "user2100", "user2200", NULL};
    struct heat_grid grid;
    heat_report(1, "", "", keys, 900, 0);
    heat_pass(6);
    heat_make_grid(1, HEAT_METRIC_READS, heat_range("user2000", "user2100"), 100, 100, &grid);
    same(grid.total, 300);
    heat_grid_deinit(&grid);
    heat_make_grid(1, HEAT_METRIC_READS, heat_range("", "user2000"), 100, 100, &grid);
    same(grid.total, 0);
    heat_grid_deinit(&grid);
}

/* The last tablet has no end: its rows go as far as the points that are named. */
Test(heat_map, a_tablet_without_an_end_is_as_long_as_its_points)
{
    static const char *const keys[] = {"k1000", "k2000", "k3000", "k4000", NULL};
    const struct row_range tablet = heat_range("k1000", "");
    struct heat_grid grid;
    heat_report(1, "k1000", "", NULL, 1, 0);
    heat_map_sweep_begin(&heat_map);
    heat_map_sweep(&heat_map, 1, &tablet, 4000000);
    heat_map_sweep_end(&heat_map);
    heat_report(1, "k1000", "", keys, 400, 0);
    heat_pass(6);
    heat_make_grid(1, HEAT_METRIC_SIZE, heat_range("k1000", "k3000"), 100, 100, &grid);
    cr_assert(grid.total > 2400000 && grid.total < 2900000, "%f", grid.total);
    heat_grid_deinit(&grid);
}

/* A server that says nonsense does no harm: what it counted is all over the tablet. */
Test(heat_map, points_that_cannot_be_are_not_believed)
{
    static const char *const falling[] = {"k", "c", NULL};
    static const char *const outside[] = {"c", "x", NULL};
    heat_report(1, "b", "m", falling, 100, 0);
    heat_report(1, "b", "m", outside, 100, 0);
    heat_pass(6);
    same(heat_total(1, HEAT_METRIC_READS), 200);
}

/* Or what runs would seem to have gone on for all of the hour that never was. */
Test(heat_map, a_clock_that_is_set_ahead_stretches_nothing)
{
    for (int i = 0; i < 7; i++) {
        heat_report(1, "", "", NULL, 100, 0);
        heat_pass(1);
    }
    heat_now_us += 3600 * HEAT_SECOND_US;
    for (int i = 0; i < 60; i++) {
        heat_report(1, "", "", NULL, 100, 0);
        heat_pass(1);
    }
    const struct heat_table *table = heat_map_table(&heat_map, 1);
    for (size_t layer = 0; layer < 2; layer++) {
        cr_assert_gt(table->layers[layer].count, 0);
        for (size_t i = 0; i < table->layers[layer].count; i++) {
            const struct heat_column *column = table->layers[layer].columns[i];
            cr_assert_leq(column->end_us - column->start_us, 60 * HEAT_SECOND_US);
        }
    }
    cr_assert_gt(table->start_us, heat_now_us - 6 * HEAT_SECOND_US);
}

Test(heat_map, a_clock_that_is_set_back_drops_what_is_to_come)
{
    heat_report(1, "", "", NULL, 100, 0);
    heat_pass(130);
    heat_now_us -= 3600 * HEAT_SECOND_US;
    heat_map_age(&heat_map, heat_now_us, false);
    heat_report(1, "", "", NULL, 7, 0);
    heat_pass(300);
    same(heat_total(1, HEAT_METRIC_READS), 7);
}

Test(heat_map, tables_that_are_gone_are_forgotten)
{
    const struct row_range all = heat_range("", "");
    heat_report(1, "", "", NULL, 100, 0);
    heat_report(2, "", "", NULL, 100, 0);
    for (int i = 0; i < 3; i++) {
        heat_map_sweep_begin(&heat_map);
        heat_map_sweep(&heat_map, 1, &all, 5000);
        heat_map_sweep_end(&heat_map);
    }
    cr_assert_not_null(heat_map_table(&heat_map, 1));
    cr_assert_null(heat_map_table(&heat_map, 2));
    heat_pass(6);
    same(heat_total(1, HEAT_METRIC_SIZE), 5000);
}

Test(heat_map, many_tables_share_the_rows)
{
    for (uint64_t table = 1; table <= HEAT_TABLES_MAX + 10; table++) {
        heat_report(table, "", "", NULL, 1, 0);
    }
    cr_assert_eq(heat_map.table_count, HEAT_TABLES_MAX);
    heat_map_age(&heat_map, heat_now_us + HEAT_SECOND_US, false);
    cr_assert_leq(heat_map_table(&heat_map, 1)->rows.count_max,
                  HEAT_ROWS_ALL_MAX / HEAT_TABLES_MAX);
}

Test(heat_map, ending_makes_a_minute_of_what_runs)
{
    heat_report(1, "", "", NULL, 100, 0);
    heat_pass(7);
    heat_map_age(&heat_map, heat_now_us, true);
    cr_assert_eq(heat_map_table(&heat_map, 1)->layers[1].count, 1);
    same(heat_total(1, HEAT_METRIC_READS), 100);
}

/* --- columns from elsewhere ------------------------------------------------------------------------ */

/* The one of that minute, of one row. */
static void put_minute(uint64_t table, int64_t minute)
{
    const struct row_range all = {BYTES_EMPTY, BYTES_EMPTY};
    const struct heat_values values = {{HEAT_UNIT}};
    int64_t start_us = HEAT_NOON_US + minute * 60 * HEAT_SECOND_US;
    struct heat_rows rows;

    cr_assert_eq(heat_rows_init(&rows, &all, 8), STATUS_OK);
    heat_rows_add(&rows, &all, &values);
    (void)heat_map_put(&heat_map, table, 1,
                       heat_column_pack(&rows, start_us, start_us + 60 * HEAT_SECOND_US));
    heat_rows_deinit(&rows);
}

Test(heat_map, columns_that_are_put_are_bounded)
{
    heat_map.bytes_max = 2000;
    for (int64_t i = 0; i < 300; i++) {
        put_minute(1 + (uint64_t)i % 3, i);
        cr_assert_leq(heat_map_column_bytes(&heat_map), 2000);
    }
    cr_assert_eq(heat_table_oldest_us(heat_map_table(&heat_map, 1)) > HEAT_NOON_US, true);
    cr_assert_gt(heat_map_column_bytes(&heat_map), 1800);
}

/* As at the start of a master whose file has hours of very many tables: it answers nobody before it has read them. */
Test(heat_map, columns_of_many_tables_are_put_in_no_time)
{
    clock_t begun = clock();
    for (uint64_t table = 1; table <= HEAT_TABLES_MAX; table++) {
        for (int64_t minute = 0; minute < 100; minute++) {
            put_minute(table, minute);
        }
    }
    cr_assert_lt((double)(clock() - begun) / CLOCKS_PER_SEC, 6);
    cr_assert_gt(heat_map_column_bytes(&heat_map), HEAT_TABLES_MAX * 100);
}
