/*
 * Samples of a table, cut to a range of it.
 *
 * Samples come ascending, with the bytes before each, the table's end (an empty key) last.  Those
 * inside the range stay; the range's end is the last one; and bytes are counted from the sample
 * that stands before the range.
 *
 * Pure.  Thread rule: one owner.
 */
#ifndef GATEWAY_CORE_SAMPLE_RANGE_H
#define GATEWAY_CORE_SAMPLE_RANGE_H

#include <stddef.h>

#include "client/include/edubba.h"

/* Cut samples (count > 0) in place to [start, end), where empty means that there is no bound, and
 * return how many are left, at least one.  The last one's key is end, borrowed. */
size_t sample_range_cut(struct edubba_sample *samples,
                        size_t count,
                        struct edubba_bytes start,
                        struct edubba_bytes end);

#endif /* GATEWAY_CORE_SAMPLE_RANGE_H */
