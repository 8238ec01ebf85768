/* The picture: one grid for columns and rows of all kinds, whose sums are what was reported. */
#include "tests/support/heat_loads.h"

#include <math.h>

#include "common/base/memory.h"

TestSuite(heat_grid, .init = heat_start, .fini = heat_stop, .timeout = 600);

static void same(double got, double wanted)
{
    cr_assert(fabs(got - wanted) < 1e-6 * (wanted + 1), "%f, not %f", got, wanted);
}

static void check_totals(const struct heat_grid *grid)
{
    double rows = 0;
    double columns = 0;
    for (size_t row = 0; row < grid->row_count; row++) {
        double sum = 0;
        for (size_t column = 0; column < grid->column_count; column++) {
            sum += grid->cells[row * grid->column_count + column];
        }
        same(grid->row_totals[row], sum);
        rows += sum;
    }
    for (size_t column = 0; column < grid->column_count; column++) {
        columns += grid->column_totals[column];
    }
    same(rows, grid->total);
    same(columns, grid->total);
}

Test(heat_grid, totals_agree_whatever_the_size)
{
    static const char *const keys[] = {"c", "g", "h", "t", NULL};
    static const size_t sizes[] = {1, 2, 7, 60, 333, 1000};
    for (int i = 0; i < 400; i++) {
        heat_report(1, i % 2 == 0 ? "" : "h", "", i % 2 == 0 ? keys : NULL, 10, 3);
        heat_pass(7);
    }
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct heat_grid grid;
        heat_make_grid(1, HEAT_METRIC_OPS, heat_range("", ""), sizes[i], sizes[i], &grid);
        cr_assert_leq(grid.row_count, sizes[i]);
        cr_assert_leq(grid.column_count, sizes[i]);
        same(grid.total, 400 * 13);
        check_totals(&grid);
        heat_grid_deinit(&grid);
    }
}

/* Half of what was done in the last 15 minutes was before the hour: it was left out, and more so the younger the hour. */
Test(heat_grid, one_column_is_the_whole_window)
{
    struct error error = {0};
    struct heat_grid grid;
    heat_now_us += 3000 * HEAT_SECOND_US;
    for (int i = 0; i < 20; i++) {
        heat_report(1, "", "", NULL, 10, 0);
        heat_pass(60);
    }
    const struct heat_question question = {
        .start_us = heat_now_us - 900 * HEAT_SECOND_US,
        .end_us = heat_now_us,
        .rows_max = 1,
        .columns_max = 1,
    };
    cr_assert_eq(heat_grid_make(heat_map_table(&heat_map, 1), &question, &grid, &error), STATUS_OK);
    cr_assert_eq(grid.column_count, 1);
    same(grid.total, 150);
    cr_assert(grid.start_us == question.start_us && grid.step_us == 900 * HEAT_SECOND_US);
    heat_grid_deinit(&grid);
}

Test(heat_grid, what_was_hot_is_where_and_when_it_was)
{
    static const char *const hot[] = {"user20", "user21", "user22", "user23", NULL};
    struct heat_grid grid;
    for (int i = 0; i < 60; i++) {
        heat_report(1, "", "", NULL, 20, 0);
        if (i >= 20 && i < 40) {
            heat_report(1, "user10", "user50", hot, 4000, 0);
        }
        heat_pass(10);
    }
    heat_make_grid(1, HEAT_METRIC_READS, heat_range("", ""), 50, 200, &grid);
    size_t best = 0;
    for (size_t i = 0; i < grid.row_count * grid.column_count; i++) {
        best = grid.cells[i] > grid.cells[best] ? i : best;
    }
    struct bytes key = heat_rows_range(&grid.rows, best / grid.column_count).start;
    int64_t when_us = grid.start_us + (int64_t)(best % grid.column_count) * grid.step_us;
    cr_assert(bytes_starts_with(key, bytes_of_text("user2")), "%.*s", (int)key.size_bytes,
              key.data);
    cr_assert_geq(when_us, HEAT_NOON_US + 190 * HEAT_SECOND_US);
    cr_assert_lt(when_us, HEAT_NOON_US + 410 * HEAT_SECOND_US);
    heat_grid_deinit(&grid);
}

Test(heat_grid, steps_are_whole_and_few_enough)
{
    cr_assert_eq(heat_grid_step_us(300 * HEAT_SECOND_US, 100), 5 * HEAT_SECOND_US);
    cr_assert_eq(heat_grid_step_us(3600 * HEAT_SECOND_US, 200), 30 * HEAT_SECOND_US);
    for (int64_t window_s = 1; window_s < 14 * 86400; window_s += 997) {
        for (size_t columns = 1; columns <= 1000; columns += 111) {
            int64_t step_us = heat_grid_step_us(window_s * HEAT_SECOND_US, columns);
            cr_assert_leq(window_s * HEAT_SECOND_US / step_us, (int64_t)columns);
        }
    }
}

Test(heat_grid, bad_questions_are_refused)
{
    struct heat_grid grid;
    struct error error = {0};
    heat_report(1, "", "", NULL, 20, 0);
    const struct heat_question good = {.start_us = 1, .end_us = 2, .rows_max = 1, .columns_max = 1};
    struct heat_question bad[] = {good, good, good, good, good};
    bad[0].end_us = 1;
    bad[1].rows_max = 0;
    bad[2].columns_max = HEAT_GRID_COLUMNS_MAX + 1;
    bad[3].keys = heat_range("b", "a");
    bad[4].start_us = -1;
    for (size_t i = 0; i < 5; i++) {
        cr_assert_eq(heat_grid_make(heat_map_table(&heat_map, 1), &bad[i], &grid, &error),
                     STATUS_INVALID_ARGUMENT);
    }
}

Test(heat_grid, without_memory_it_says_so)
{
    struct error error = {0};
    const struct heat_question question = {
        .start_us = HEAT_NOON_US,
        .end_us = HEAT_NOON_US + 60 * HEAT_SECOND_US,
        .rows_max = 10,
        .columns_max = 10,
    };
    heat_report(1, "", "", NULL, 20, 0);
    heat_pass(6);
    enum status status = STATUS_NO_MEMORY;
    for (uint64_t after = 0; status == STATUS_NO_MEMORY; after++) {
        struct heat_grid grid;
        memory_fail_arm(after, 1);
        status = heat_grid_make(heat_map_table(&heat_map, 1), &question, &grid, &error);
        memory_fail_disarm();
        if (status == STATUS_OK) {
            heat_grid_deinit(&grid);
        }
        cr_assert_lt(after, 50);
    }
    cr_assert_eq(status, STATUS_OK);
}

Test(heat_grid, names_of_metrics_lead_back)
{
    for (size_t i = 0; i < HEAT_METRICS; i++) {
        enum heat_metric metric = HEAT_METRIC_OPS;
        cr_assert(
            heat_metric_of_name(bytes_of_text(heat_metric_name((enum heat_metric)i)), &metric));
        cr_assert_eq(metric, i);
    }
    enum heat_metric metric = HEAT_METRIC_OPS;
    cr_assert_not(heat_metric_of_name(bytes_of_text("temperature"), &metric));
}
