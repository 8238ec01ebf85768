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
    return metric == HEAT_METRIC_COST || metric == HEAT_METRIC_SIZE;
}
