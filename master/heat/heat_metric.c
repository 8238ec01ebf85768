/* Metrics: what they are called, and what of a row's values they are made of. */
#include "master/heat/heat_grid.h"

static const struct {
    const char *name;
    const char *unit;
} metrics[HEAT_METRICS] = {
    [HEAT_METRIC_OPS] = {"ops", "operations"},
    [HEAT_METRIC_READS] = {"reads", "operations"},
    [HEAT_METRIC_WRITES] = {"writes", "operations"},
    [HEAT_METRIC_ROWS_READ] = {"rows_read", "rows"},
    [HEAT_METRIC_BYTES] = {"bytes", "bytes"},
    [HEAT_METRIC_BYTES_READ] = {"bytes_read", "bytes"},
    [HEAT_METRIC_BYTES_WRITTEN] = {"bytes_written", "bytes"},
    [HEAT_METRIC_CPU] = {"cpu", "ns"},
    [HEAT_METRIC_CPU_READ] = {"cpu_read", "ns"},
    [HEAT_METRIC_CPU_WRITE] = {"cpu_write", "ns"},
    [HEAT_METRIC_COST] = {"cost", "ns"},
    [HEAT_METRIC_LATENCY] = {"latency", "ns"},
    [HEAT_METRIC_LATENCY_READ] = {"latency_read", "ns"},
    [HEAT_METRIC_LATENCY_WRITE] = {"latency_write", "ns"},
    [HEAT_METRIC_WAIT] = {"wait", "ns"},
    [HEAT_METRIC_SIZE] = {"size", "bytes"},
};

const char *heat_metric_name(enum heat_metric metric)
{
    return metrics[metric].name;
}

const char *heat_metric_unit(enum heat_metric metric)
{
    return metrics[metric].unit;
}

bool heat_metric_of_name(struct bytes name, enum heat_metric *ret_metric)
{
    for (size_t i = 0; i < HEAT_METRICS; i++) {
        if (bytes_equal(name, bytes_of_text(metrics[i].name))) {
            *ret_metric = (enum heat_metric)i;
            return true;
        }
    }
    return false;
}

bool heat_metric_is_mean(enum heat_metric metric)
{
    return metric >= HEAT_METRIC_COST;
}

static double one(const struct heat_values *values, enum heat_value value)
{
    return (double)values->of[value] / (double)HEAT_UNIT;
}

static double both(const struct heat_values *values, enum heat_value a, enum heat_value b)
{
    return one(values, a) + one(values, b);
}

double heat_metric_value(enum heat_metric metric, const struct heat_values *values)
{
    switch (metric) {
    case HEAT_METRIC_OPS:
        return both(values, HEAT_READS, HEAT_WRITES);
    case HEAT_METRIC_READS:
        return one(values, HEAT_READS);
    case HEAT_METRIC_WRITES:
        return one(values, HEAT_WRITES);
    case HEAT_METRIC_ROWS_READ:
        return one(values, HEAT_READ_ROWS);
    case HEAT_METRIC_BYTES:
        return both(values, HEAT_READ_BYTES, HEAT_WRITE_BYTES);
    case HEAT_METRIC_BYTES_READ:
        return one(values, HEAT_READ_BYTES);
    case HEAT_METRIC_BYTES_WRITTEN:
        return one(values, HEAT_WRITE_BYTES);
    case HEAT_METRIC_CPU:
    case HEAT_METRIC_COST:
        return both(values, HEAT_READ_CPU_NS, HEAT_WRITE_CPU_NS);
    case HEAT_METRIC_CPU_READ:
        return one(values, HEAT_READ_CPU_NS);
    case HEAT_METRIC_CPU_WRITE:
        return one(values, HEAT_WRITE_CPU_NS);
    case HEAT_METRIC_LATENCY:
        return both(values, HEAT_READ_LATENCY_NS, HEAT_WRITE_LATENCY_NS);
    case HEAT_METRIC_LATENCY_READ:
        return one(values, HEAT_READ_LATENCY_NS);
    case HEAT_METRIC_LATENCY_WRITE:
        return one(values, HEAT_WRITE_LATENCY_NS);
    case HEAT_METRIC_WAIT:
        return both(values, HEAT_READ_WAIT_NS, HEAT_WRITE_WAIT_NS);
    case HEAT_METRIC_SIZE:
        return (double)values->of[HEAT_SIZE_BYTES];
    }
    return 0;
}

double heat_metric_divisor(enum heat_metric metric, const struct heat_values *values)
{
    if (metric < HEAT_METRIC_COST || metric == HEAT_METRIC_SIZE) {
        return 0;
    }
    return metric == HEAT_METRIC_LATENCY_READ    ? one(values, HEAT_READS)
           : metric == HEAT_METRIC_LATENCY_WRITE ? one(values, HEAT_WRITES)
                                                 : both(values, HEAT_READS, HEAT_WRITES);
}
