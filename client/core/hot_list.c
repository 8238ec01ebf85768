#include "client/core/hot_list.h"

#include <stdlib.h>

double hot_list_percent_of(const struct hot_tablet *hot, uint64_t cpu_ns)
{
    return hot->capacity_ns > 0 ? (double)cpu_ns / (double)hot->capacity_ns * 100 : 0;
}

double hot_list_percent(const struct hot_tablet *hot)
{
    return hot_list_percent_of(hot, hot->figures.read_cpu_ns + hot->figures.write_cpu_ns);
}

static int compare_numbers(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

static int compare_times(const struct hot_tablet *a, const struct hot_tablet *b)
{
    return (a->start_us > b->start_us) - (a->start_us < b->start_us);
}

static int by_tablet(const void *a, const void *b)
{
    const struct hot_tablet *first = a;
    const struct hot_tablet *second = b;
    int order = compare_numbers(first->tablet, second->tablet);
    return order != 0 ? order : compare_times(first, second);
}

static int by_heat(const void *a, const void *b)
{
    const struct hot_tablet *first = a;
    const struct hot_tablet *second = b;
    double heat = hot_list_percent(first);
    double other = hot_list_percent(second);
    int order = (heat < other) - (heat > other);
    if (order == 0) {
        order = compare_times(first, second);
    }
    return order != 0 ? order : compare_numbers(first->tablet, second->tablet);
}

/* By the middle: a minute's first report may have begun in the one before.  Times before 1970 do not
 * occur; what a master says must do no harm all the same. */
static int64_t interval_of(const struct hot_tablet *hot, int64_t interval_us)
{
    int64_t middle_us = hot->start_us / 2 + hot->end_us / 2;
    return middle_us > 0 ? middle_us / interval_us : 0;
}

static size_t keep_hottest(struct hot_tablet *tablets, size_t count, int64_t interval_us)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        struct hot_tablet *last = kept > 0 ? &tablets[kept - 1] : NULL;
        if (last == NULL || last->tablet != tablets[i].tablet ||
            interval_of(last, interval_us) != interval_of(&tablets[i], interval_us)) {
            tablets[kept++] = tablets[i];
        } else if (hot_list_percent(&tablets[i]) > hot_list_percent(last)) {
            *last = tablets[i];
        }
    }
    return kept;
}

size_t hot_list_sort(struct hot_tablet *tablets, size_t count, int64_t interval_us)
{
    if (count == 0) {
        return 0;
    }
    if (interval_us > 0) {
        qsort(tablets, count, sizeof *tablets, by_tablet);
        count = keep_hottest(tablets, count, interval_us);
    }
    qsort(tablets, count, sizeof *tablets, by_heat);
    return count;
}
