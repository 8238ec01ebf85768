/*
 * A picture of a window of one table's history: columns of different widths and rows of different
 * boundaries, brought onto one grid.
 *
 *              column 0   column 1  ...                 totals of rows
 *   row 0      cell       cell                          |
 *   row 1      cell       cell                          |
 *              totals of columns -----------------------+-- total
 *
 * Rows are chosen so that they are of about equal weight: half by what they store, half by their part of
 * what is shown, so that a hot range is looked at more closely than its size would give it.  What a stored row
 * has that lies in several rows, or in several columns, is shared out: sums stay what they are.
 *
 * Pure.  Thread rule: one owner.
 */
#ifndef MASTER_HEAT_HEAT_GRID_H
#define MASTER_HEAT_HEAT_GRID_H

#include "common/base/error.h"
#include "master/heat/heat_map.h"

#define HEAT_GRID_ROWS_MAX    1000
#define HEAT_GRID_COLUMNS_MAX 1000

enum heat_metric {
    HEAT_METRIC_OPS, /* reads and writes */
    HEAT_METRIC_READS,
    HEAT_METRIC_WRITES,
    HEAT_METRIC_ROWS_READ,
    HEAT_METRIC_BYTES,
    HEAT_METRIC_BYTES_READ,
    HEAT_METRIC_BYTES_WRITTEN,
    HEAT_METRIC_CPU, /* ns */
    HEAT_METRIC_CPU_READ,
    HEAT_METRIC_CPU_WRITE,
    HEAT_METRIC_COST, /* CPU time of an operation, ns: a mean, not a sum; and so are those below */
    HEAT_METRIC_LATENCY,
    HEAT_METRIC_LATENCY_READ,
    HEAT_METRIC_LATENCY_WRITE,
    HEAT_METRIC_WAIT, /* of that, until it was begun */
    HEAT_METRIC_SIZE, /* bytes stored: as it was */
};

#define HEAT_METRICS ((size_t)HEAT_METRIC_SIZE + 1)

const char *heat_metric_name(enum heat_metric metric); /* "ops" */
const char *heat_metric_unit(enum heat_metric metric); /* "operations", "bytes", "ns", "rows" */
bool heat_metric_of_name(struct bytes name, enum heat_metric *ret_metric);
/* Is it a mean of what is in a cell, not a sum? */
bool heat_metric_is_mean(enum heat_metric metric);
/* What is counted of it; and what a mean over operations is divided by, 0 for others. */
double heat_metric_value(enum heat_metric metric, const struct heat_values *values);
double heat_metric_divisor(enum heat_metric metric, const struct heat_values *values);

struct heat_question {
    int64_t start_us;
    int64_t end_us;
    struct row_range keys;
    enum heat_metric metric;
    size_t rows_max; /* 1 to HEAT_GRID_ROWS_MAX */
    size_t columns_max;
};

struct heat_grid {
    int64_t start_us;
    int64_t step_us;
    struct heat_rows rows; /* what they have is the sum over time; width: about what is stored */
    size_t row_count;
    size_t column_count;
    double *cells;      /* row by row */
    double *divisors;   /* of means: what cells are divided by; NULL = sums */
    double *row_totals; /* means: over time and keys, too */
    double *column_totals;
    double *covered_us; /* of each column: how much of it something is known of */
    double total;
    double cell_max;
};

/* Errors: STATUS_INVALID_ARGUMENT (says what), STATUS_NO_MEMORY; then there is nothing to deinit. */
enum status heat_grid_make(const struct heat_table *table,
                           const struct heat_question *question,
                           struct heat_grid *ret_grid,
                           struct error *ret_error);
void heat_grid_deinit(struct heat_grid *grid);

/* Steps of time that columns have: the least one that makes at most so many of the window. */
int64_t heat_grid_step_us(int64_t window_us, size_t columns_max);

#endif /* MASTER_HEAT_HEAT_GRID_H */
