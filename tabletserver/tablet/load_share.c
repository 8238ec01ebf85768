#include "tabletserver/tablet/load_share.h"

#include "common/base/assert.h"

/* What writing costs a loop, in bytes written: an operation, and a cell of it. */
#define WRITE_WEIGHT 2000
#define CELL_WEIGHT  300

static double write_weight(const struct load_write_counts *counts)
{
    return (double)counts->writes * WRITE_WEIGHT + (double)counts->cells * CELL_WEIGHT +
           (double)counts->bytes;
}

/* What all tablets of a loop weigh together. */
static double loop_weight(const struct load_item *items, size_t count, uint32_t loop)
{
    double weight = 0;
    for (size_t i = 0; i < count; i++) {
        if (items[i].loop == loop) {
            weight += write_weight(&items[i].counts.write);
        }
    }
    return weight;
}

/* Give the loop's time to those that it has written for; returns how much of it that is. */
static uint64_t share_loop(const struct load_period *period,
                           struct load_item *items,
                           size_t count,
                           uint32_t loop)
{
    double weight = loop_weight(items, count, loop);
    double loop_ns = (double)period->loops_ns[loop];
    for (size_t i = 0; i < count; i++) {
        double own = write_weight(&items[i].counts.write);
        if (items[i].loop == loop && own > 0) {
            items[i].write_cpu_ns = (uint64_t)(loop_ns * (own / weight));
        }
    }
    return weight > 0 ? period->loops_ns[loop] : 0;
}

static double smaller(double a, double b)
{
    return a < b ? a : b;
}

void load_share(const struct load_period *period, struct load_item *items, size_t count)
{
    double written_ns = 0;
    double measured_ns = 0;
    double loops_ns = 0;

    for (size_t i = 0; i < count; i++) {
        const struct load_read_counts *read = &items[i].counts.read;
        ASSERT(items[i].loop < period->loop_count);
        items[i].read_cpu_ns = 0;
        items[i].write_cpu_ns = 0;
        measured_ns += (double)read->busy_ns + (double)read->evaluate_ns;
    }
    for (uint32_t loop = 0; loop < period->loop_count; loop++) {
        written_ns += (double)share_loop(period, items, count, loop);
        loops_ns += (double)period->loops_ns[loop];
    }
    double requests_ns = (double)period->requests_ns;
    double others_ns = requests_ns > loops_ns ? requests_ns - loops_ns : 0;
    double busy = measured_ns > 0 ? smaller(1, others_ns / measured_ns) : 0;
    double seen_ns = written_ns + measured_ns * busy;
    double times = seen_ns > 0 ? smaller(LOAD_SHARE_TIMES_MAX, requests_ns / seen_ns) : 0;
    for (size_t i = 0; i < count; i++) {
        const struct load_read_counts *read = &items[i].counts.read;
        double write_ns = (double)items[i].write_cpu_ns + (double)read->evaluate_ns * busy;
        items[i].read_cpu_ns = (uint64_t)((double)read->busy_ns * busy * times);
        items[i].write_cpu_ns = (uint64_t)(write_ns * times);
    }
}
