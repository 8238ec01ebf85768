/* /api/v1/heat: the picture. */
#include "common/io/clock.h"
#include "master/console/console_api.h"
#include "master/console/console_json.h"
#include "master/heat/heat_grid.h"

#define SECOND_US    INT64_C(1000000)
#define WINDOW_US    (1800 * SECOND_US) /* where nothing is said */
#define TIME_MAX_US  (INT64_C(1) << 60)
#define ROWS_DEFAULT 200

static enum status read_window(const struct query *query,
                               struct heat_question *question,
                               struct error *ret_error)
{
    int64_t last_s = 0;
    enum status status = query_number(query, "last_s", 1, 14 * 86400, &last_s, ret_error);

    question->end_us = clock_wall_us();
    if (status == STATUS_OK) {
        status = query_number(query, "to_us", 1, TIME_MAX_US, &question->end_us, ret_error);
    }
    question->start_us = question->end_us - (last_s > 0 ? last_s * SECOND_US : WINDOW_US);
    if (question->start_us < 0) {
        question->start_us = 0;
    }
    if (status == STATUS_OK) {
        status = query_number(query, "from_us", 0, TIME_MAX_US, &question->start_us, ret_error);
    }
    return status;
}

static enum status read_size(const struct query *query,
                             struct heat_question *question,
                             struct error *ret_error)
{
    int64_t rows = ROWS_DEFAULT;
    int64_t columns = ROWS_DEFAULT;
    enum status status = query_number(query, "rows", 1, HEAT_GRID_ROWS_MAX, &rows, ret_error);

    if (status == STATUS_OK) {
        status = query_number(query, "columns", 1, HEAT_GRID_COLUMNS_MAX, &columns, ret_error);
    }
    question->rows_max = (size_t)rows;
    question->columns_max = (size_t)columns;
    return status;
}

static enum status refuse_metric(struct bytes metric, struct error *ret_error)
{
    struct buffer names = BUFFER_INIT;
    char text[BYTES_PRINTABLE_SIZE_MAX];

    for (size_t i = 0; i < HEAT_METRICS; i++) {
        buffer_append_format(&names, "%s%s", i == 0 ? "" : ", ",
                             heat_metric_name((enum heat_metric)i));
    }
    buffer_append_u8(&names, '\0');
    enum status status = error_set(ret_error, STATUS_INVALID_ARGUMENT,
                                   "there is no metric '%s': %s", bytes_printable(metric, text),
                                   names.failed ? "no memory" : (const char *)names.data);
    buffer_deinit(&names);
    return status;
}

static enum status read_question(const struct query *query,
                                 struct heat_question *question,
                                 struct error *ret_error)
{
    static const char *const known[] = {"table", "metric", "last_s", "from_us", "to_us",
                                        "start", "end",    "rows",   "columns", NULL};
    struct bytes metric = query_text(query, "metric");
    enum status status = query_check(query, known, ret_error);

    question->metric = HEAT_METRIC_OPS;
    if (status == STATUS_OK && metric.size_bytes > 0 &&
        !heat_metric_of_name(metric, &question->metric)) {
        status = refuse_metric(metric, ret_error);
    }
    if (status == STATUS_OK) {
        status = read_window(query, question, ret_error);
    }
    if (status == STATUS_OK) {
        status = read_size(query, question, ret_error);
    }
    if (status == STATUS_OK) {
        status = query_key(query, "start", &question->keys.start, ret_error);
    }
    if (status == STATUS_OK) {
        status = query_key(query, "end", &question->keys.end, ret_error);
    }
    return status;
}

/* --- telling ------------------------------------------------------------------------------------ */

static void tell_numbers(struct buffer *out, const double *numbers, size_t count)
{
    buffer_append_u8(out, '[');
    for (size_t i = 0; i < count; i++) {
        if (i > 0) {
            buffer_append_u8(out, ',');
        }
        json_number(out, numbers[i]);
    }
    buffer_append_u8(out, ']');
}

/* A row in which there is nothing is an empty array. */
static void tell_cells(struct buffer *out, const struct heat_grid *grid)
{
    for (size_t row = 0; row < grid->row_count; row++) {
        bool any = grid->row_totals[row] > 0;
        buffer_append_u8(out, row == 0 ? '[' : ',');
        tell_numbers(out, grid->cells + row * grid->column_count, any ? grid->column_count : 0);
    }
    buffer_append_u8(out, ']');
}

static void tell_rows(struct buffer *out, const struct heat_grid *grid)
{
    buffer_append_format(out, ",\"keys\":");
    for (size_t row = 0; row < grid->row_count; row++) {
        buffer_append_u8(out, row == 0 ? '[' : ',');
        json_key(out, heat_rows_range(&grid->rows, row).start);
    }
    buffer_append_format(out, "],\"end\":");
    json_key(out, heat_rows_range(&grid->rows, grid->row_count - 1).end);
    buffer_append_format(out, ",\"sizes\":[");
    for (size_t row = 0; row < grid->row_count; row++) {
        buffer_append_format(out, row == 0 ? "%llu" : ",%llu",
                             (unsigned long long)grid->rows.rows[row]->width);
    }
    buffer_append_u8(out, ']');
}

static void tell(struct buffer *out,
                 const struct console *console,
                 const struct heat_table *table,
                 const struct heat_grid *grid,
                 enum heat_metric metric)
{
    int64_t oldest_us = heat_table_oldest_us(table);

    buffer_append_format(out, "{\"table\":");
    json_id(out, table->number);
    buffer_append_format(out, ",\"name\":");
    json_text(out, sweep_table_name(&console->sweep, table->number));
    buffer_append_format(
        out,
        ",\"metric\":\"%s\",\"unit\":\"%s\",\"mean\":%s,\"now_us\":%lld,\"oldest_us\":%lld,"
        "\"start_us\":%lld,\"step_us\":%lld,\"columns\":%zu,\"rows\":%zu",
        heat_metric_name(metric), heat_metric_unit(metric),
        heat_metric_is_mean(metric) ? "true" : "false", (long long)clock_wall_us(),
        (long long)(oldest_us == INT64_MAX ? 0 : oldest_us), (long long)grid->start_us,
        (long long)grid->step_us, grid->column_count, grid->row_count);
    tell_rows(out, grid);
    buffer_append_format(out, ",\"covered_us\":");
    tell_numbers(out, grid->covered_us, grid->column_count);
    buffer_append_format(out, ",\"row_totals\":");
    tell_numbers(out, grid->row_totals, grid->row_count);
    buffer_append_format(out, ",\"column_totals\":");
    tell_numbers(out, grid->column_totals, grid->column_count);
    buffer_append_format(out, ",\"total\":");
    json_number(out, grid->total);
    buffer_append_format(out, ",\"max\":");
    json_number(out, grid->cell_max);
    buffer_append_format(out, ",\"cells\":");
    tell_cells(out, grid);
    buffer_append_format(out, "}\n");
}

enum status api_heat(struct console *console,
                     const struct query *query,
                     struct buffer *out,
                     struct error *ret_error)
{
    struct heat_question question = {0};
    struct heat_grid grid;
    uint64_t number = sweep_find_table(&console->sweep, query_text(query, "table"));
    const struct heat_table *table = number == 0 ? NULL : heat_map_table(&console->heat, number);
    enum status status = read_question(query, &question, ret_error);

    if (status == STATUS_OK && table == NULL) {
        status = sweep_refuse_table(&console->sweep, query_text(query, "table"), ret_error);
    }
    if (status == STATUS_OK) {
        status = heat_grid_make(table, &question, &grid, ret_error);
    }
    if (status == STATUS_OK) {
        tell(out, console, table, &grid, question.metric);
        heat_grid_deinit(&grid);
    }
    return status;
}
