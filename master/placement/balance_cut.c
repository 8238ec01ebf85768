#include "master/placement/balance_cut.h"

/* What the points weigh: before[i] is all that lies before point i; before[count] is everything. */
struct weights {
    double before[LOAD_POINTS_MAX + 1];
    double crossing[LOAD_POINTS_MAX];
    size_t count;
    double read_weight; /* of one read; the same for writes */
    double write_weight;
};

static void weigh(const struct cut_wanted *wanted, struct weights *ret_weights)
{
    const struct load_detail *load = &wanted->detail->load;
    double reads = 0;
    double writes = 0;

    *ret_weights = (struct weights){.count = load->point_count < LOAD_POINTS_MAX ? load->point_count
                                                                                 : LOAD_POINTS_MAX};
    for (size_t i = 0; i < ret_weights->count; i++) {
        reads += (double)load->points[i].reads;
        writes += (double)load->points[i].writes;
    }
    ret_weights->read_weight = reads > 0 ? wanted->read_cost / reads : 0;
    ret_weights->write_weight = writes > 0 ? wanted->write_cost / writes : 0;
    for (size_t i = 0; i < ret_weights->count; i++) {
        const struct load_point *point = &load->points[i];
        double operations = (double)wanted->detail->operations;
        double crossing = operations > 0 ? (double)point->crossing / operations : 0;
        ret_weights->before[i + 1] = ret_weights->before[i] +
                                     (double)point->reads * ret_weights->read_weight +
                                     (double)point->writes * ret_weights->write_weight;
        ret_weights->crossing[i] = crossing < 1 ? crossing : 1;
    }
}

/* With a key on either side. */
static bool is_inside(const struct cut_wanted *wanted, size_t index)
{
    struct bytes row = wanted->detail->load.points[index].row;
    return bytes_compare(row, wanted->range->start) > 0 &&
           (wanted->range->end.size_bytes == 0 || bytes_compare(row, wanted->range->end) < 0);
}

static double off_of(const struct weights *weights, size_t index)
{
    double all = weights->before[weights->count];
    double off = all > 0 ? 2 * weights->before[index] / all - 1 : 1;
    return off < 0 ? -off : off;
}

/* The row that takes most, by name where it is known; else the rows between two points that do. */
static void find_popular(const struct cut_wanted *wanted,
                         const struct weights *weights,
                         struct cut *ret_cut)
{
    const struct load_detail *load = &wanted->detail->load;
    double all = weights->before[weights->count];

    for (size_t i = 0; i < load->key_count; i++) {
        double cost = (double)load->keys[i].reads * weights->read_weight +
                      (double)load->keys[i].writes * weights->write_weight;
        if (all > 0 && cost / all > ret_cut->key_share) {
            ret_cut->key = load->keys[i].row;
            ret_cut->key_share = cost / all;
        }
    }
    for (size_t i = 0; load->key_count == 0 && i < weights->count; i++) {
        double cost = weights->before[i + 1] - weights->before[i];
        if (all > 0 && cost / all > ret_cut->key_share) {
            ret_cut->key = load->points[i].row;
            ret_cut->sampled = true;
            ret_cut->key_share = cost / all;
        }
    }
    ret_cut->key_share = ret_cut->key_share < 1 ? ret_cut->key_share : 1;
}

static enum balance_reason choose_one(const struct cut_wanted *wanted,
                                      const struct weights *weights,
                                      struct cut *ret_cut)
{
    double best = 0;
    bool too_wide = false;

    for (size_t i = 1; i < weights->count; i++) {
        double off = off_of(weights, i);
        if (!is_inside(wanted, i) || off > wanted->off_max) {
            continue;
        }
        if (weights->crossing[i] >= wanted->crossing_max) {
            too_wide = true;
            ret_cut->crossing = weights->crossing[i];
            continue;
        }
        if (ret_cut->count == 0 || off + weights->crossing[i] < best) {
            best = off + weights->crossing[i];
            ret_cut->rows[0] = wanted->detail->load.points[i].row;
            ret_cut->count = 1;
            ret_cut->off = off;
            ret_cut->crossing = weights->crossing[i];
        }
    }
    if (ret_cut->count > 0) {
        return BALANCE_REASON_NONE;
    }
    if (too_wide) {
        return BALANCE_TOO_WIDE;
    }
    find_popular(wanted, weights, ret_cut);
    return BALANCE_POPULAR_KEY;
}

/* The point behind `after` that is nearest to where `before` of the load lies before it; 0 = none is. */
static size_t nearest(const struct cut_wanted *wanted,
                      const struct weights *weights,
                      size_t after,
                      double before,
                      double distance_max)
{
    size_t best = 0;
    double best_distance = distance_max;

    for (size_t i = after + 1; i < weights->count; i++) {
        double distance = weights->before[i] - before;
        distance = distance < 0 ? -distance : distance;
        if (is_inside(wanted, i) && weights->crossing[i] < wanted->crossing_max &&
            distance <= best_distance) {
            best = i;
            best_distance = distance;
        }
    }
    return best;
}

/* False when the largest part would be too large: one cut is looked for then, and says why. */
static bool choose_several(const struct cut_wanted *wanted,
                           const struct weights *weights,
                           struct cut *ret_cut)
{
    double all = weights->before[weights->count];
    double part = all / wanted->pieces;
    double largest = 0;
    size_t last = 0;

    for (uint32_t piece = 1; piece < wanted->pieces; piece++) {
        size_t at = nearest(wanted, weights, last, part * piece, part / 2);
        if (at == 0) {
            continue;
        }
        double taken = weights->before[at] - weights->before[last];
        largest = taken > largest ? taken : largest;
        ret_cut->crossing = weights->crossing[at] > ret_cut->crossing ? weights->crossing[at]
                                                                      : ret_cut->crossing;
        ret_cut->rows[ret_cut->count++] = wanted->detail->load.points[at].row;
        last = at;
    }
    double rest = all - weights->before[last];
    largest = rest > largest ? rest : largest;
    ret_cut->off = all > 0 ? (largest - part) / all : 1;
    return ret_cut->count > 0 && largest <= all * (1 + wanted->off_max) / 2;
}

enum balance_reason cut_choose(const struct cut_wanted *wanted, struct cut *ret_cut)
{
    struct weights weights;

    *ret_cut = (struct cut){.key = BYTES_EMPTY};
    weigh(wanted, &weights);
    if (weights.count < 2 || weights.before[weights.count] <= 0) {
        find_popular(wanted, &weights, ret_cut);
        return ret_cut->key_share >= wanted->off_max ? BALANCE_POPULAR_KEY : BALANCE_TOO_FEW;
    }
    if (wanted->pieces > 2 && choose_several(wanted, &weights, ret_cut)) {
        return BALANCE_REASON_NONE;
    }
    *ret_cut = (struct cut){.key = BYTES_EMPTY};
    return choose_one(wanted, &weights, ret_cut);
}

void cut_shares_before(const struct balance_detail *detail,
                       struct bytes row,
                       double *ret_reads,
                       double *ret_writes)
{
    const struct load_detail *load = &detail->load;
    double reads = 0;
    double writes = 0;
    double reads_before = 0;
    double writes_before = 0;

    for (size_t i = 0; i < load->point_count; i++) {
        bool before = bytes_compare(load->points[i].row, row) < 0;
        reads += (double)load->points[i].reads;
        writes += (double)load->points[i].writes;
        reads_before += before ? (double)load->points[i].reads : 0;
        writes_before += before ? (double)load->points[i].writes : 0;
    }
    *ret_reads = reads > 0 ? reads_before / reads : 0.5;
    *ret_writes = writes > 0 ? writes_before / writes : 0.5;
}
