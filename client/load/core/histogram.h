/*
 * A histogram of high dynamic range: 128 buckets an octave, from 1 ns to 73 minutes, each value
 * kept within 0.8 %.  Debian 12 has no C library for it.
 *
 * It is nothing but counts: two are added, and one is taken from a later one, bucket by bucket.  So
 * the figures of a second, or of all but the warm-up, are a difference of two copies.
 *
 * Pure; thread rule: load_histogram_bucket alone is for any thread.
 */
#ifndef CLIENT_LOAD_CORE_HISTOGRAM_H
#define CLIENT_LOAD_CORE_HISTOGRAM_H

#include <stddef.h>
#include <stdint.h>

#define LOAD_HISTOGRAM_SUB_BITS 7
#define LOAD_HISTOGRAM_OCTAVES  36
#define LOAD_HISTOGRAM_BUCKETS  ((size_t)LOAD_HISTOGRAM_OCTAVES << LOAD_HISTOGRAM_SUB_BITS)

struct load_histogram {
    uint64_t counts[LOAD_HISTOGRAM_BUCKETS];
};

/* Where a value counts; what is too large counts in the last bucket. */
static inline size_t load_histogram_bucket(uint64_t value)
{
    const uint64_t sub = UINT64_C(1) << LOAD_HISTOGRAM_SUB_BITS;
    if (value < sub) {
        return (size_t)value;
    }
    unsigned shift = 63U - (unsigned)__builtin_clzll(value) - LOAD_HISTOGRAM_SUB_BITS;
    size_t bucket = (size_t)((shift + 1) * sub + ((value >> shift) - sub));
    return bucket < LOAD_HISTOGRAM_BUCKETS ? bucket : LOAD_HISTOGRAM_BUCKETS - 1;
}

/* The highest value that counts in the bucket. */
uint64_t load_histogram_value(size_t bucket);

uint64_t load_histogram_count(const struct load_histogram *histogram);

/* The least value that `share` (0 to 1) of all do not exceed; 0 of nothing. */
uint64_t load_histogram_percentile(const struct load_histogram *histogram, double share);

#endif /* CLIENT_LOAD_CORE_HISTOGRAM_H */
