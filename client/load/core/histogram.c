#include "client/load/core/histogram.h"

#include <math.h>

uint64_t load_histogram_value(size_t bucket)
{
    const size_t sub = (size_t)1 << LOAD_HISTOGRAM_SUB_BITS;
    if (bucket < sub) {
        return bucket;
    }
    unsigned shift = (unsigned)(bucket / sub) - 1;
    return (((uint64_t)(bucket % sub) + sub + 1) << shift) - 1;
}

uint64_t load_histogram_count(const struct load_histogram *histogram)
{
    uint64_t count = 0;
    for (size_t i = 0; i < LOAD_HISTOGRAM_BUCKETS; i++) {
        count += histogram->counts[i];
    }
    return count;
}

uint64_t load_histogram_percentile(const struct load_histogram *histogram, double share)
{
    uint64_t count = load_histogram_count(histogram);
    uint64_t wanted = (uint64_t)ceil(share * (double)count);
    uint64_t seen = 0;
    if (count == 0) {
        return 0;
    }
    wanted = wanted < 1 ? 1 : wanted > count ? count : wanted;
    size_t bucket = 0;
    for (; bucket < LOAD_HISTOGRAM_BUCKETS; bucket++) {
        seen += histogram->counts[bucket];
        if (seen >= wanted) {
            break;
        }
    }
    return load_histogram_value(bucket);
}
