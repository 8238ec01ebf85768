/*
 * When the n-th request of an open loop is due: at a constant rate, whatever becomes of the others.
 * Computed from n alone, so that no error adds up.
 */
#ifndef CLIENT_LOAD_CORE_SCHEDULE_H
#define CLIENT_LOAD_CORE_SCHEDULE_H

#include <stdint.h>

struct load_schedule {
    int64_t start_ns;
    double rate;   /* of all parts together, a second */
    uint64_t part; /* this is one of `parts`, which take turns */
    uint64_t parts;
};

static inline int64_t load_schedule_due_ns(const struct load_schedule *schedule, uint64_t n)
{
    double place = (double)n * (double)schedule->parts + (double)schedule->part;
    return schedule->start_ns + (int64_t)(place / schedule->rate * 1e9);
}

#endif /* CLIENT_LOAD_CORE_SCHEDULE_H */
