/*
 * Flush pace: how much the flush, or who teaches a tablet or learns one, does in one go, and how long it
 * rests afterwards; the flush while memory is not short.
 *
 * A thread that is patient (SCHED_BATCH) gives way to others, but a control group's quota is spent by
 * whoever comes first: a flush that uses a quarter of a processor in one go leaves requests to wait for
 * the next period.  So both follow what the process may use (processors.h).
 *
 * Pure; any thread.
 */
#ifndef TABLETSERVER_STORAGE_FLUSH_FLUSH_PACE_H
#define TABLETSERVER_STORAGE_FLUSH_FLUSH_PACE_H

#include <stdint.h>

struct flush_pace {
    uint32_t percent; /* of the time, and of the processors; 100 = no rest */
    /* What the process may use of the processors, in thousandths of one; 0 = not known. */
    uint64_t processors_permille;
};

/* After work that took busy_ns, cpu_ns of them on a processor. */
int64_t flush_pace_rest_ns(const struct flush_pace *pace, int64_t busy_ns, int64_t cpu_ns);

/* The same after a slice of a tablet was read or written (store_slice.h): it shares with the flush. */
int64_t flush_pace_slice_rest_ns(const struct flush_pace *pace, int64_t busy_ns, int64_t cpu_ns);

/* Dirty bytes of a transaction, of the most that one may have. */
uint64_t flush_pace_transaction_bytes(const struct flush_pace *pace, uint64_t most_bytes);

/* A slice, of the most that one may have. */
uint64_t flush_pace_slice_bytes(const struct flush_pace *pace, uint64_t most_bytes);

#endif /* TABLETSERVER_STORAGE_FLUSH_FLUSH_PACE_H */
