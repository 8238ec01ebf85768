#include "master/heat/heat_grid.h"

#include "common/base/assert.h"
#include "common/base/memory.h"

#define SECOND_US   INT64_C(1000000)
#define GATHER_ROWS 4096 /* boundaries that are looked at before rows are chosen */

/* --- time --------------------------------------------------------------------------------------- */

int64_t heat_grid_step_us(int64_t window_us, size_t columns_max)
{
    static const int64_t steps_s[] = {5,   10,   15,   30,   60,    120,   300,   600,
                                      900, 1800, 3600, 7200, 10800, 21600, 43200, 86400};
    size_t count = sizeof steps_s / sizeof *steps_s;
    for (size_t i = 0; i < count; i++) {
        if (window_us / (steps_s[i] * SECOND_US) < (int64_t)columns_max) {
            return steps_s[i] * SECOND_US;
        }
    }
    return window_us / (int64_t)columns_max + SECOND_US;
}

/* What of the history tells of the window: fine columns where it is near, minutes and wider ones before. */
struct selection {
    const struct heat_table *table;
    const struct heat_question *question;
    int64_t fine_from_us; /* columns of layer 0 from here on, of the others before */
};

/* Fine columns take over at the end of a minute that is made, so that nothing counts twice. */
static int64_t fine_from(const struct heat_table *table)
{
    const struct heat_layer *fine = &table->layers[0];
    const struct heat_layer *minutes = &table->layers[1];
    int64_t from_us = fine->count == 0 ? INT64_MAX : fine->columns[0]->start_us;

    for (size_t i = 0; i < minutes->count; i++) {
        const struct heat_column *minute = minutes->columns[i];
        if (minute->start_us < from_us && minute->end_us > from_us) {
            from_us = minute->end_us;
        }
    }
    return from_us;
}

static bool is_wanted(const struct selection *selection,
                      size_t layer,
                      const struct heat_column *column)
{
    bool fine = column->start_us >= selection->fine_from_us;
    return (layer == 0) == fine && column->end_us > selection->question->start_us &&
           column->start_us < selection->question->end_us;
}

typedef bool (*use_column)(void *context, const struct heat_column *column);

/* The oldest first.  False: the user said so. */
static bool each_column(const struct selection *selection, use_column use, void *context)
{
    for (size_t layer = HEAT_LAYERS; layer-- > 0;) {
        const struct heat_layer *columns = &selection->table->layers[layer];
        for (size_t i = 0; i < columns->count; i++) {
            if (is_wanted(selection, layer, columns->columns[i]) &&
                !use(context, columns->columns[i])) {
                return false;
            }
        }
    }
    return true;
}

/* --- rows --------------------------------------------------------------------------------------- */

static bool gather(void *context, const struct heat_column *column)
{
    heat_column_add_to(column, context);
    return true;
}

/* How large rows are is what the newest column says: it is added last. */
static enum status choose_rows(const struct selection *selection, struct heat_grid *grid)
{
    enum status status = heat_rows_init(&grid->rows, &selection->question->keys, GATHER_ROWS);
    if (status != STATUS_OK) {
        return status;
    }
    (void)each_column(selection, gather, &grid->rows);
    heat_rows_join_unsized(&grid->rows);
    heat_rows_join(&grid->rows, selection->question->rows_max);
    grid->row_count = grid->rows.count;
    return STATUS_OK;
}

/* --- cells -------------------------------------------------------------------------------------- */

struct filling {
    struct heat_grid *grid;
    const struct heat_question *question;
    double *shares; /* one for each row */
};

static void add_cell(
    struct filling *filling, size_t row, size_t column, double value, double divisor)
{
    size_t at = row * filling->grid->column_count + column;
    filling->grid->cells[at] += value;
    if (filling->grid->divisors != NULL) {
        filling->grid->divisors[at] += divisor;
    }
}

/* One stored row, of a part of a stored column that lies in one column of the grid. */
static void fill_row(struct filling *filling,
                     const struct row_range *range,
                     const struct heat_values *values,
                     size_t column,
                     double time_share)
{
    enum heat_metric metric = filling->question->metric;
    double value = heat_metric_value(metric, values);
    double divisor = heat_metric_divisor(metric, values);
    size_t count = 0;

    if (value <= 0 && divisor <= 0) {
        return;
    }
    size_t first = heat_rows_shares(&filling->grid->rows, range, filling->shares, &count);
    for (size_t i = 0; i < count; i++) {
        double share = filling->shares[i] * time_share;
        add_cell(filling, first + i, column, value * share, divisor * share);
    }
}

static void fill_part(struct filling *filling,
                      const struct heat_column *stored,
                      size_t column,
                      double time_share)
{
    struct heat_walk walk;
    heat_walk_begin(&walk, bytes_of(stored->packed, stored->packed_bytes));
    while (heat_walk_next(&walk)) {
        struct heat_values values = heat_rows_clip(&filling->grid->rows, &walk.range, &walk.values);
        fill_row(filling, &walk.range, &values, column, time_share);
    }
}

static int64_t later(int64_t a_us, int64_t b_us)
{
    return a_us > b_us ? a_us : b_us;
}

static int64_t earlier(int64_t a_us, int64_t b_us)
{
    return a_us < b_us ? a_us : b_us;
}

/* A stored column, over the columns of the grid that its time lies in. */
static bool fill(void *context, const struct heat_column *stored)
{
    struct filling *filling = context;
    struct heat_grid *grid = filling->grid;
    int64_t from_us = later(stored->start_us, grid->start_us);
    int64_t all_us = stored->end_us - stored->start_us;
    size_t column = (size_t)((from_us - grid->start_us) / grid->step_us);

    for (; column < grid->column_count; column++) {
        int64_t start_us = grid->start_us + (int64_t)column * grid->step_us;
        int64_t part_us = earlier(stored->end_us, start_us + grid->step_us) -
                          later(from_us, start_us);
        if (part_us <= 0) {
            break;
        }
        grid->covered_us[column] += (double)part_us;
        double share = filling->question->metric == HEAT_METRIC_SIZE
                           ? (double)part_us
                           : (double)part_us / (double)all_us;
        fill_part(filling, stored, column, share);
    }
    return true;
}

/* --- totals ------------------------------------------------------------------------------------- */

static double ratio(double value, double divisor)
{
    return divisor > 0 ? value / divisor : 0;
}

/* Sums, and of means what they are divided by, which is summed up likewise. */
static void sum_up(struct heat_grid *grid)
{
    for (size_t row = 0; row < grid->row_count; row++) {
        for (size_t column = 0; column < grid->column_count; column++) {
            double value = grid->cells[row * grid->column_count + column];
            grid->row_totals[row] += value;
            grid->column_totals[column] += value;
            grid->total += value;
        }
    }
}

/* Of a metric that is a mean: divide sums by the operations that they are of, so that each cell says what one of
 * them took. */
static void divide_by_operations(struct heat_grid *grid)
{
    double all = 0;
    double *columns = memory_allocate_zeroed(grid->column_count, sizeof *columns);

    for (size_t row = 0; row < grid->row_count; row++) {
        double of_row = 0;
        for (size_t column = 0; column < grid->column_count; column++) {
            size_t at = row * grid->column_count + column;
            of_row += grid->divisors[at];
            if (columns != NULL) {
                columns[column] += grid->divisors[at];
            }
            grid->cells[at] = ratio(grid->cells[at], grid->divisors[at]);
        }
        grid->row_totals[row] = ratio(grid->row_totals[row], of_row);
        all += of_row;
    }
    for (size_t column = 0; column < grid->column_count && columns != NULL; column++) {
        grid->column_totals[column] = ratio(grid->column_totals[column], columns[column]);
    }
    grid->total = ratio(grid->total, all);
    memory_free(columns);
}

/* Of what is stored: how much it was, over the time that is known. */
static void divide_by_time(struct heat_grid *grid)
{
    double all_us = 0;
    for (size_t column = 0; column < grid->column_count; column++) {
        double covered_us = grid->covered_us[column];
        all_us += covered_us;
        grid->column_totals[column] = ratio(grid->column_totals[column], covered_us);
        for (size_t row = 0; row < grid->row_count; row++) {
            size_t at = row * grid->column_count + column;
            grid->cells[at] = ratio(grid->cells[at], covered_us);
        }
    }
    for (size_t row = 0; row < grid->row_count; row++) {
        grid->row_totals[row] = ratio(grid->row_totals[row], all_us);
    }
    grid->total = ratio(grid->total, all_us);
}

static void finish(struct heat_grid *grid, enum heat_metric metric)
{
    sum_up(grid);
    if (metric == HEAT_METRIC_SIZE) {
        divide_by_time(grid);
    } else if (heat_metric_is_mean(metric)) {
        divide_by_operations(grid);
    }
    for (size_t i = 0; i < grid->row_count * grid->column_count; i++) {
        grid->cell_max = grid->cells[i] > grid->cell_max ? grid->cells[i] : grid->cell_max;
    }
}

/* --- all of it ---------------------------------------------------------------------------------- */

static enum status check(const struct heat_question *question, struct error *ret_error)
{
    if (question->start_us < 0 || question->end_us <= question->start_us) {
        return error_set(ret_error, STATUS_INVALID_ARGUMENT, "the window of time is empty");
    }
    if (question->keys.end.size_bytes > 0 &&
        bytes_compare(question->keys.start, question->keys.end) >= 0) {
        return error_set(ret_error, STATUS_INVALID_ARGUMENT, "the window of keys is empty");
    }
    if (question->rows_max < 1 || question->rows_max > HEAT_GRID_ROWS_MAX ||
        question->columns_max < 1 || question->columns_max > HEAT_GRID_COLUMNS_MAX) {
        return error_set(ret_error, STATUS_INVALID_ARGUMENT,
                         "rows and columns must be 1 to %d and 1 to %d", HEAT_GRID_ROWS_MAX,
                         HEAT_GRID_COLUMNS_MAX);
    }
    return STATUS_OK;
}

static bool allocate(struct heat_grid *grid, enum heat_metric metric)
{
    size_t cells = grid->row_count * grid->column_count;
    grid->cells = memory_allocate_zeroed(cells, sizeof(double));
    grid->row_totals = memory_allocate_zeroed(grid->row_count, sizeof(double));
    grid->column_totals = memory_allocate_zeroed(grid->column_count, sizeof(double));
    grid->covered_us = memory_allocate_zeroed(grid->column_count, sizeof(double));
    bool divides = heat_metric_is_mean(metric) && metric != HEAT_METRIC_SIZE;
    if (divides) {
        grid->divisors = memory_allocate_zeroed(cells, sizeof(double));
    }
    return grid->cells != NULL && grid->row_totals != NULL && grid->column_totals != NULL &&
           grid->covered_us != NULL && (!divides || grid->divisors != NULL);
}

/* Columns begin at multiples of the step, so that a window that moves on keeps them.  A single one is the window: at a
 * multiple of its length it would leave out any part of it. */
static void place_columns(const struct heat_question *question, struct heat_grid *grid)
{
    if (question->columns_max == 1) {
        grid->start_us = question->start_us;
        grid->step_us = question->end_us - question->start_us;
        grid->column_count = 1;
        return;
    }
    grid->step_us = heat_grid_step_us(question->end_us - question->start_us, question->columns_max);
    grid->start_us = question->start_us - question->start_us % grid->step_us;
    grid->column_count = (size_t)((question->end_us - grid->start_us + grid->step_us - 1) /
                                  grid->step_us);
    if (grid->column_count > question->columns_max) { /* the first one would be a bit of one */
        grid->start_us += grid->step_us;
        grid->column_count = question->columns_max;
    }
}

enum status heat_grid_make(const struct heat_table *table,
                           const struct heat_question *question,
                           struct heat_grid *ret_grid,
                           struct error *ret_error)
{
    struct heat_grid grid = {0};
    struct heat_question wanted = *question;
    enum status status = check(question, ret_error);

    if (status != STATUS_OK) {
        return status;
    }
    place_columns(question, &grid);
    wanted.start_us = grid.start_us;
    wanted.end_us = grid.start_us + (int64_t)grid.column_count * grid.step_us;
    const struct selection selection = {table, &wanted, fine_from(table)};
    status = choose_rows(&selection, &grid);
    if (status != STATUS_OK) {
        return error_set(ret_error, status, "no memory for the heat map");
    }
    struct filling filling = {&grid, &wanted, memory_allocate(grid.row_count * sizeof(double))};
    if (filling.shares == NULL || !allocate(&grid, question->metric)) {
        memory_free(filling.shares);
        heat_grid_deinit(&grid);
        return error_set(ret_error, STATUS_NO_MEMORY, "no memory for the heat map");
    }
    (void)each_column(&selection, fill, &filling);
    memory_free(filling.shares);
    finish(&grid, question->metric);
    *ret_grid = grid;
    return STATUS_OK;
}

void heat_grid_deinit(struct heat_grid *grid)
{
    memory_free(grid->cells);
    memory_free(grid->divisors);
    memory_free(grid->row_totals);
    memory_free(grid->column_totals);
    memory_free(grid->covered_us);
    heat_rows_deinit(&grid->rows);
}
