#include "common/aggregate/hll_estimate.h"

#include <math.h>

#include "common/aggregate/hll_bias.h"
#include "common/base/assert.h"

/* The nearest points that bias is interpolated from. */
#define NEIGHBOUR_COUNT 6

/* From the same appendix as the bias tables; beyond them the original HyperLogLog's rule. */
static const int64_t linear_counting_limits[] = {
    [4] = 10,     [5] = 20,     [6] = 40,     [7] = 80,      [8] = 220,
    [9] = 400,    [10] = 900,   [11] = 1800,  [12] = 3100,   [13] = 6500,
    [14] = 11500, [15] = 20000, [16] = 50000, [17] = 120000, [18] = 350000,
};

static int64_t round_half_up(double x)
{
    return (int64_t)floor(x + 0.5);
}

/* Cells that were hit, from how many were not. */
static double linear_count(double cells, double empty)
{
    ASSERT(empty > 0);
    return cells * log(cells / empty);
}

/* Where raw_estimate stands in the table, or would. */
static size_t position_in(struct hll_bias_table table, double raw_estimate)
{
    size_t low = 0;
    size_t high = table.count;
    while (low < high) {
        size_t middle = (low + high - 1) / 2;
        double mean = table.points[middle].raw_estimate;
        if (mean < raw_estimate) {
            low = middle + 1;
        } else if (mean > raw_estimate) {
            high = middle;
        } else {
            return middle;
        }
    }
    return low;
}

struct neighbour {
    double distance; /* squared */
    double bias;
};

/* Keep the NEIGHBOUR_COUNT nearest, ascending; of equals the earlier point first. */
static size_t insert_neighbour(struct neighbour *nearest, size_t count, struct neighbour added)
{
    size_t at = count;
    while (at > 0 && nearest[at - 1].distance > added.distance) {
        at--;
    }
    if (at == NEIGHBOUR_COUNT) {
        return count;
    }
    size_t kept = count < NEIGHBOUR_COUNT ? count : NEIGHBOUR_COUNT - 1;
    for (size_t i = kept; i > at; i--) {
        nearest[i] = nearest[i - 1];
    }
    nearest[at] = added;
    return kept + 1;
}

static size_t nearest_of(struct hll_bias_table table,
                         double raw_estimate,
                         struct neighbour *ret_nearest)
{
    size_t position = position_in(table, raw_estimate);
    size_t first = position > NEIGHBOUR_COUNT ? position - NEIGHBOUR_COUNT : 0;
    size_t end = position + NEIGHBOUR_COUNT > table.count ? table.count
                                                          : position + NEIGHBOUR_COUNT;
    size_t count = 0;
    for (size_t i = first; i < end; i++) {
        double difference = table.points[i].raw_estimate - raw_estimate;
        struct neighbour point = {difference * difference, table.points[i].bias};
        count = insert_neighbour(ret_nearest, count, point);
    }
    return count;
}

static int64_t estimate_of_sparse(const struct hll_state *state)
{
    double cells = (double)(UINT64_C(1) << state->precision.sparse);
    return round_half_up(linear_count(cells, cells - (double)state->sparse.count));
}

static int64_t estimate_of_normal(const struct hll_state *state)
{
    if (state->registers.size_bytes == 0) {
        return 0;
    }
    uint32_t precision = state->precision.normal;
    uint64_t empty = 0;
    double sum = 0;
    for (size_t i = 0; i < state->registers.size_bytes; i++) {
        uint8_t rho = state->registers.data[i];
        empty += rho == 0 ? 1 : 0;
        sum += 1.0 / (double)(UINT64_C(1) << rho);
    }
    double count = (double)state->registers.size_bytes;
    if (empty > 0) {
        double linear = linear_count(count, (double)empty);
        if (linear <= (double)hll_linear_counting_limit(precision)) {
            return round_half_up(linear);
        }
    }
    double raw_estimate = hll_alpha(precision) * count * count / sum;
    return round_half_up(raw_estimate - hll_bias(precision, raw_estimate));
}

double hll_alpha(uint32_t precision)
{
    switch (precision) {
    case 4:
        return 0.673101517;
    case 5:
        return 0.697121585;
    case 6:
        return 0.709209798;
    default:
        return 0.7213 / (1 + 1.079 / (double)(UINT64_C(1) << precision));
    }
}

int64_t hll_linear_counting_limit(uint32_t precision)
{
    ASSERT(precision >= HLL_PRECISION_MIN);
    ASSERT(precision <= HLL_PRECISION_MAX);
    size_t count = sizeof linear_counting_limits / sizeof *linear_counting_limits;
    return precision < count ? linear_counting_limits[precision] : (INT64_C(5) << precision) / 2;
}

double hll_bias(uint32_t precision, double raw_estimate)
{
    if (precision < HLL_BIAS_PRECISION_MIN || precision > HLL_BIAS_PRECISION_MAX) {
        return 0;
    }
    struct hll_bias_table table = hll_bias_table_of(precision);
    if (raw_estimate < table.points[0].raw_estimate ||
        raw_estimate > table.points[table.count - 1].raw_estimate) {
        return 0;
    }
    struct neighbour nearest[NEIGHBOUR_COUNT];
    size_t count = nearest_of(table, raw_estimate, nearest);
    ASSERT(count > 0);
    if (!(nearest[0].distance > 0)) {
        return nearest[0].bias;
    }
    double weighted = 0;
    double weights = 0;
    for (size_t i = 0; i < count; i++) {
        weighted += nearest[i].bias / nearest[i].distance;
        weights += 1.0 / nearest[i].distance;
    }
    return weighted / weights;
}

int64_t hll_estimate(const struct hll_state *state)
{
    return hll_state_is_sparse(state) ? estimate_of_sparse(state) : estimate_of_normal(state);
}
