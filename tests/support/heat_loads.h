/* Loads for the heat map, as a server would report them, and what it must have of them. */
#ifndef TESTS_SUPPORT_HEAT_LOADS_H
#define TESTS_SUPPORT_HEAT_LOADS_H

#include <criterion/criterion.h>

#include <stdio.h>

#include "common/base/prng.h"
#include "master/heat/heat_grid.h"
#include "master/heat/heat_map.h"

#define HEAT_SECOND_US INT64_C(1000000)
#define HEAT_NOON_US   (INT64_C(1794000000) / 3600 * 3600 * HEAT_SECOND_US) /* an hour begins */

static struct heat_map heat_map;
static int64_t heat_now_us;
static uint64_t heat_gone_columns;

__attribute__((unused)) static void heat_on_gone(void *context,
                                                 const struct heat_table *table,
                                                 size_t layer,
                                                 int64_t start_us)
{
    (void)context;
    (void)table;
    (void)layer;
    (void)start_us;
    heat_gone_columns += 1;
}

__attribute__((unused)) static void heat_start(void)
{
    const struct heat_gone_to gone = {heat_on_gone, NULL};
    heat_map_init(&heat_map, HEAT_BYTES_MAX, &gone);
    heat_now_us = HEAT_NOON_US;
    heat_gone_columns = 0;
    heat_map_age(&heat_map, heat_now_us, false);
}

__attribute__((unused)) static void heat_stop(void)
{
    heat_map_deinit(&heat_map);
}

__attribute__((unused)) static struct row_range heat_range(const char *start, const char *end)
{
    return (struct row_range){bytes_of_text(start), bytes_of_text(end)};
}

/* Reads and writes of one tablet, at these points (NULL at the end), alike at each. */
__attribute__((unused)) static void heat_report(uint64_t table,
                                                const char *start,
                                                const char *end,
                                                const char *const *keys,
                                                uint64_t reads,
                                                uint64_t writes)
{
    const struct load_report head = {.elapsed_ns = 1000000000, .capacity_ns = 2000000000};
    const struct row_range range = heat_range(start, end);
    struct load_point points[LOAD_POINTS_MAX];
    struct tablet_load load = {
        .tablet = 7,
        .figures = {.reads = reads,
                    .read_rows = reads * 2,
                    .read_bytes = reads * 100,
                    .read_cpu_ns = reads * 1000,
                    .writes = writes,
                    .write_cells = writes * 3,
                    .write_bytes = writes * 200,
                    .write_cpu_ns = writes * 2000,
                    .read_latency_ns = reads * 5000,
                    .write_latency_ns = writes * 9000},
    };
    size_t count = 0;

    while (keys != NULL && keys[count] != NULL) {
        points[count] = (struct load_point){
            .row = bytes_of_text(keys[count]), .reads = 1 + reads, .writes = 1 + writes};
        count++;
    }
    load.detail = (struct load_detail){.points = points, .point_count = count};
    struct located_report *report = located_report_create(1, &head, 1);
    cr_assert(located_report_add(report, table, &range, &load));
    heat_map_take(&heat_map, report, heat_now_us);
    located_report_destroy(report);
}

__attribute__((unused)) static void heat_pass(int64_t seconds)
{
    for (int64_t i = 0; i < seconds; i++) {
        heat_now_us += HEAT_SECOND_US;
        heat_map_age(&heat_map, heat_now_us, false);
    }
}

/* Everything that is known of the table. */
__attribute__((unused)) static void heat_make_grid(uint64_t table,
                                                   enum heat_metric metric,
                                                   struct row_range keys,
                                                   size_t rows_max,
                                                   size_t columns_max,
                                                   struct heat_grid *ret_grid)
{
    struct error error = {0};
    const struct heat_question question = {
        .start_us = HEAT_NOON_US - 3600 * HEAT_SECOND_US,
        .end_us = heat_now_us + 60 * HEAT_SECOND_US,
        .keys = keys,
        .metric = metric,
        .rows_max = rows_max,
        .columns_max = columns_max,
    };
    cr_assert_eq(heat_grid_make(heat_map_table(&heat_map, table), &question, ret_grid, &error),
                 STATUS_OK, "%s", error.text);
}

__attribute__((unused)) static double heat_total(uint64_t table, enum heat_metric metric)
{
    struct heat_grid grid;
    heat_make_grid(table, metric, heat_range("", ""), 200, 200, &grid);
    double total = grid.total;
    heat_grid_deinit(&grid);
    return total;
}

#endif /* TESTS_SUPPORT_HEAT_LOADS_H */
