/* What is known of the samples, as points, frequent keys and figures (key_sampler.h). */
#include <math.h>

#include "tabletserver/tablet/key_sampler.h"

static void sum_known(const struct sampled_rows *known, double *ret_reads, double *ret_writes)
{
    *ret_reads = 0;
    *ret_writes = 0;
    for (uint32_t i = 0; i < known->count; i++) {
        *ret_reads += known->rows[i].reads;
        *ret_writes += known->rows[i].writes;
    }
}

/* What makes of a weight a part of all that the period had. */
static double scale_of(uint64_t figure, double weight)
{
    return weight > 0 ? (double)figure / weight : 0;
}

static uint64_t scaled(double weight, double scale)
{
    return (uint64_t)(weight * scale + 0.5);
}

/* A row that no sample between them has reached: as short as can be, above before, up to row. */
static struct bytes cut_between(struct bytes before, struct bytes row)
{
    size_t common = 0;
    while (common < before.size_bytes && common < row.size_bytes &&
           before.data[common] == row.data[common]) {
        common += 1;
    }
    return bytes_of(row.data, common < row.size_bytes ? common + 1 : row.size_bytes);
}

/* Is what is gathered nearer to its aim without this one than with it? */
static bool is_enough(double gathered, double aim, double weight)
{
    return gathered > 0 && gathered + weight - aim > aim - gathered;
}

static size_t make_points(struct key_sampler *sampler,
                          struct bytes start,
                          double read_scale,
                          double write_scale)
{
    const struct sampled_rows *known = &sampler->known;
    struct sampled_row sum = {.reads = 0};
    double left = 0;
    double aim = 0;
    size_t count = 0;

    for (uint32_t i = 0; i < known->count; i++) {
        left += sampled_row_weight(&known->rows[i]);
    }
    for (uint32_t i = 0; i < known->count; i++) {
        const struct sampled_row *row = &known->rows[i];
        double weight = sampled_row_weight(row);
        if (count == 0 ||
            (count < LOAD_POINTS_MAX && is_enough(sampled_row_weight(&sum), aim, weight))) {
            struct bytes cut = i == 0 ? start : cut_between(known->rows[i - 1].row, row->row);
            aim = left / (double)(LOAD_POINTS_MAX - count);
            sampler->points[count++] = (struct load_point){.row = cut};
            sum = (struct sampled_row){.reads = 0};
        }
        sum.reads += row->reads;
        sum.writes += row->writes;
        left -= weight;
        sampler->points[count - 1].reads = scaled(sum.reads, read_scale);
        sampler->points[count - 1].writes = scaled(sum.writes, write_scale);
    }
    return count;
}

static void count_crossing(struct key_sampler *sampler, size_t point_count, uint64_t elapsed_ns)
{
    double scale = scale_of(elapsed_ns, sampler->elapsed_ns);
    for (size_t i = 0; i < point_count; i++) {
        double crossing = 0;
        for (uint32_t j = 0; j < sampler->scans.count; j++) {
            const struct sampled_row *scan = &sampler->scans.rows[j];
            if (bytes_compare(scan->row, sampler->points[i].row) < 0 &&
                bytes_compare(scan->end, sampler->points[i].row) >= 0) {
                crossing += scan->reads;
            }
        }
        sampler->points[i].crossing = scaled(crossing, scale);
    }
}

/* What a row must weigh, of all that weigh so much, to be frequent. */
static double frequent_weight_min(const struct key_sampler *sampler, double weight)
{
    double seen_min = weight * KEY_SAMPLER_KEY_SEEN_MIN / fmax(sampler->observations, 1);
    return fmax(weight * KEY_SAMPLER_KEY_SHARE, seen_min);
}

static size_t make_keys(struct key_sampler *sampler,
                        double weight,
                        double read_scale,
                        double write_scale)
{
    const struct frequent_key *found[LOAD_KEYS_MAX];
    size_t count = frequent_keys_list(&sampler->frequent, frequent_weight_min(sampler, weight),
                                      found, LOAD_KEYS_MAX);
    for (size_t i = 0; i < count; i++) {
        double sure = 1 - found[i]->error / (found[i]->reads + found[i]->writes);
        sampler->keys[i] = (struct load_key){
            .row = buffer_bytes(&found[i]->row),
            .reads = scaled(found[i]->reads * sure, read_scale),
            .writes = scaled(found[i]->writes * sure, write_scale),
        };
    }
    return count;
}

struct load_detail key_sampler_detail(struct key_sampler *sampler,
                                      const struct key_sampler_period *period)
{
    double reads = 0;
    double writes = 0;
    if (!sampler->can_tell) {
        return (struct load_detail){0};
    }
    sum_known(&sampler->known, &reads, &writes);
    double read_scale = scale_of(period->reads, reads);
    double write_scale = scale_of(period->writes, writes);
    size_t point_count = make_points(sampler, period->start, read_scale, write_scale);

    count_crossing(sampler, point_count, period->elapsed_ns);
    return (struct load_detail){
        .points = sampler->points,
        .point_count = point_count,
        .keys = sampler->keys,
        .key_count = make_keys(sampler, reads + writes, read_scale, write_scale),
        .observations = (uint64_t)sampler->observations,
        .appended_permille = (uint32_t)scaled(sampler->appended,
                                              sampler->judged > 0 ? 1000 / sampler->judged : 0),
        .window_ns = (uint64_t)sampler->elapsed_ns,
    };
}
