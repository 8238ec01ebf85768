/* Where there are too many rows, those that stand out least become one with their neighbours. */
#include "common/base/memory.h"
#include "master/heat/heat_rows_parts.h"

static void join_next(struct heat_rows *rows, struct heat_row *row, struct heat_row *next)
{
    for (size_t i = 0; i < HEAT_VALUES; i++) {
        row->values.of[i] += next->values.of[i];
    }
    row->width += next->width;
    row->recent += next->recent;
    row->coming += next->coming;
    row->written += next->written;
    rows->size_bytes -= sizeof *next + next->key_bytes;
    memory_free(next);
}

static bool is_load_of_nothing(const struct heat_row *row)
{
    return row->width == 0 && heat_cost(&row->values) > 0;
}

/* How much a row made of both would stand out. */
static double weight_of_both(const struct heat_rows *rows, size_t index)
{
    const struct heat_row *a = rows->rows[index];
    const struct heat_row *b = rows->rows[index + 1];
    double weight = 0;

    if (rows->recent > 0) {
        weight += (double)(a->recent + b->recent) / (double)rows->recent;
    }
    if (rows->width > 0) {
        weight += (double)(a->width + b->width) / (double)rows->width;
    }
    return weight;
}

/* One walk: neighbours that are not above the threshold become one, as many as are too many. */
static void join_below(struct heat_rows *rows, double threshold, size_t count_max)
{
    size_t kept = 0;
    size_t at = 0;
    size_t too_many = rows->count - count_max;

    while (at < rows->count) {
        bool joins = too_many > 0 && at + 1 < rows->count && weight_of_both(rows, at) <= threshold;
        struct heat_row *row = rows->rows[at];
        if (joins) {
            join_next(rows, row, rows->rows[at + 1]);
            too_many -= 1;
        }
        at += joins ? 2 : 1;
        rows->rows[kept++] = row;
    }
    rows->count = kept;
    rows->found = 0;
}

void heat_rows_join(struct heat_rows *rows, size_t count_max)
{
    double threshold = 0;

    count_max = count_max == 0 ? 1 : count_max;
    rows->recent = 0;
    rows->width = 0;
    for (size_t i = 0; i < rows->count; i++) {
        rows->recent += rows->rows[i]->recent;
        rows->width += rows->rows[i]->width;
    }
    /* All pairs together weigh at most 4: there is always one below the mean, and it doubles. */
    while (rows->count > count_max) {
        join_below(rows, threshold, count_max);
        threshold = threshold > 0 ? threshold * 1.5 : 0.05 / (double)count_max;
    }
}

/* Beyond the lowest and the highest key that were named, of samples, there are some more: as dense as those
 * beside them, and no more than a mean row. */
static void size_like(struct heat_row *edge, const struct heat_row *next, uint64_t mean)
{
    uint64_t cost = heat_cost(&next->values);

    if (is_load_of_nothing(edge) && cost > 0) {
        double dense = (double)next->width * ((double)heat_cost(&edge->values) / (double)cost);
        edge->width = dense < (double)mean ? (uint64_t)dense : mean;
    }
}

void heat_rows_join_unsized(struct heat_rows *rows)
{
    size_t kept = 0;
    uint64_t width = 0;
    size_t last = rows->count - 1;

    for (size_t i = 0; i < rows->count; i++) {
        width += rows->rows[i]->width;
    }
    if (width == 0) {
        return;
    }
    if (last > 0) {
        size_like(rows->rows[0], rows->rows[1], width / rows->count);
        size_like(rows->rows[last], rows->rows[last - 1], width / rows->count);
    }
    for (size_t at = 1; at < rows->count; at++) {
        if (is_load_of_nothing(rows->rows[kept])) {
            join_next(rows, rows->rows[kept], rows->rows[at]);
        } else {
            rows->rows[++kept] = rows->rows[at];
        }
    }
    for (; kept > 0 && is_load_of_nothing(rows->rows[kept]); kept--) {
        join_next(rows, rows->rows[kept - 1], rows->rows[kept]);
    }
    rows->count = kept + 1;
    rows->found = 0;
}
