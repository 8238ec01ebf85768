#include "gateway/core/sample_range.h"

#include "common/base/assert.h"
#include "common/base/bytes.h"

/* An empty sample or end is behind everything. */
static bool is_before(struct edubba_bytes sample, struct edubba_bytes bound)
{
    if (sample.size == 0 || bound.size == 0) {
        return sample.size > 0;
    }
    return bytes_compare(bytes_of(sample.data, sample.size), bytes_of(bound.data, bound.size)) < 0;
}

/* Does the sample lie at start, or before it, so that it cuts nothing of the range that begins there? */
static bool is_outside(struct edubba_bytes sample, struct edubba_bytes start)
{
    return start.size > 0 && sample.size > 0 && !is_before(start, sample);
}

size_t sample_range_cut(struct edubba_sample *samples,
                        size_t count,
                        struct edubba_bytes start,
                        struct edubba_bytes end)
{
    size_t first = 0;
    size_t kept = 0;
    uint64_t before_bytes = 0;
    ASSERT(count > 0 && samples[count - 1].row.size == 0);
    while (is_outside(samples[first].row, start)) {
        before_bytes = samples[first].offset_bytes;
        first++;
    }
    while (is_before(samples[first].row, end)) {
        samples[kept] = samples[first];
        samples[kept].offset_bytes -= before_bytes;
        kept++;
        first++;
    }
    samples[kept] = (struct edubba_sample){end, samples[first].offset_bytes - before_bytes};
    return kept + 1;
}
