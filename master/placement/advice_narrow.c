/* Most of a table's load hits few of its tablets. */
#include <stdlib.h>

#include "master/placement/advice_cure.h"
#include "master/placement/advice_parts.h"

#define ADVICE_NAMED_MAX 3 /* tablets, in a sentence */

static int by_load(const void *a, const void *b)
{
    double left = advice_sum(advice_rates_of(*(const struct advice_tablet *const *)a));
    double right = advice_sum(advice_rates_of(*(const struct advice_tablet *const *)b));
    return (left < right) - (left > right);
}

/* How many of the busiest have most of the load, and how much. */
static size_t count_busiest(const struct advising *advising,
                            const struct advice_tablet **sorted,
                            double *ret_load)
{
    size_t count = 0;
    *ret_load = advising->table->tablet_count > 0 ? advice_sum(advice_rates_of(sorted[0])) : 0;
    if (advising->table->all_count >= ADVICE_SEVERAL &&
        advice_permille(*ret_load, advice_sum(advising->all)) >= ADVICE_ONE_PERMILLE) {
        return 1;
    }
    *ret_load = 0;
    while (count < advising->table->tablet_count &&
           advice_permille(*ret_load, advice_sum(advising->all)) < ADVICE_MOST_PERMILLE) {
        *ret_load += advice_sum(advice_rates_of(sorted[count++]));
    }
    return count;
}

/* Few operations that touch many rows: a table that is read from end to end is in one tablet at a time. */
static bool are_long_scans(const struct advice_tablet **sorted, size_t few)
{
    double operations = 0;
    for (size_t i = 0; i < few; i++) {
        double seconds = (double)sorted[i]->elapsed_ns / 1e9;
        double count = (double)sorted[i]->figures.reads + (double)sorted[i]->figures.writes;
        operations += seconds > 0 ? count / seconds : 0;
    }
    return operations < ADVICE_LONG_SCANS;
}

/* Rows where these tablets' load lies.  A first point is the tablet's start: a boundary, not a row. */
static struct key_shape shape_of_busiest(const struct advising *advising,
                                         const struct advice_tablet **sorted,
                                         size_t few)
{
    struct bytes *rows = arena_allocate_array(advising->arena, few * LOAD_POINTS_MAX, sizeof *rows);
    size_t count = 0;
    for (size_t i = 0; rows != NULL && i < few; i++) {
        for (size_t j = 1; j < sorted[i]->detail.point_count; j++) {
            rows[count++] = sorted[i]->detail.points[j].row;
        }
    }
    return key_shape_of(rows, count);
}

static void describe_busiest(const struct advice_tablet **sorted,
                             size_t few,
                             const struct key_shape *shape,
                             struct buffer *text)
{
    char front[BYTES_PRINTABLE_SIZE_MAX];
    for (size_t i = 0; i < few && i < ADVICE_NAMED_MAX; i++) {
        buffer_append_format(text, "%s%llu", i == 0 ? " (" : ", ",
                             (unsigned long long)sorted[i]->tablet);
    }
    buffer_append_format(text, few > ADVICE_NAMED_MAX ? ", ...)" : ")");
    if (shape->known && (shape->front.size_bytes > 0 || key_shape_is_time(shape))) {
        buffer_append_format(text, ", in rows that begin with ");
        if (shape->front.size_bytes > 0) {
            buffer_append_format(text, "'%s'%s", bytes_printable(shape->front, front),
                                 key_shape_is_time(shape) ? " and " : "");
        }
        if (key_shape_is_time(shape)) {
            cure_describe(shape, text);
        }
    }
    buffer_append_format(text, ".");
}

void advice_find_narrow(struct advising *advising)
{
    const struct advice_table *table = advising->table;
    const struct advice_tablet **sorted = arena_allocate_array(advising->arena, table->tablet_count,
                                                               sizeof *sorted);
    double load = 0;
    struct buffer text = BUFFER_INIT;

    if (sorted == NULL) {
        advising->failed = true;
        return;
    }
    for (size_t i = 0; i < table->tablet_count; i++) {
        sorted[i] = &table->tablets[i];
    }
    qsort(sorted, table->tablet_count, sizeof(const struct advice_tablet *), by_load);
    size_t few = count_busiest(advising, sorted, &load);
    uint32_t share = advice_permille(load, advice_sum(advising->all));
    bool narrow = few * ADVICE_FEW_ONE_OF <= table->all_count ||
                  (few == 1 && table->all_count >= ADVICE_SEVERAL) ||
                  (few == 1 && table->all_count > 1 && share >= ADVICE_NEARLY_PERMILLE);
    if (!narrow || advice_has_finding(advising, sorted[0]->tablet) || are_long_scans(sorted, few)) {
        return;
    }
    struct key_shape shape = shape_of_busiest(advising, sorted, few);
    buffer_append_format(&text, "%u %% of %s hit %zu of the table's %llu tablets", share / 10,
                         advice_load_name(advising->all), few,
                         (unsigned long long)table->all_count);
    describe_busiest(sorted, few, &shape, &text);
    struct advice_finding *finding = advice_add(advising, ADVICE_NARROW_RANGE, share, &text);
    if (finding != NULL) {
        struct buffer advised = BUFFER_INIT;
        const char *pattern = cure_crowded(&shape, advice_has_others(advising, shape.front),
                                           &advised);
        finding->tablet = few == 1 ? sorted[0]->tablet : 0;
        finding->range = few == 1 ? sorted[0]->range : (struct row_range){BYTES_EMPTY, BYTES_EMPTY};
        advice_add_cure(advising, finding, pattern, &advised);
    }
}
