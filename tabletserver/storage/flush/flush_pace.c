#include "tabletserver/storage/flush/flush_pace.h"

#include <stdbool.h>

#define REST_NS_MAX           (250 * INT64_C(1000000))
#define PERCENT               100
#define PERMILLE              1000
#define CALM_SHARE            4           /* the log's syncs wait behind those of the flush */
#define TRANSACTION_BYTES_MIN (64 * 1024) /* below it a transaction is more sync than data */
#define SLICE_CALM_SHARE      8
#define SLICE_BYTES_MIN       (32 * 1024) /* of short rows: half of what a quarter has in 10 ms */
#define SLICE_SHARE           2           /* of the flush's part of a quota */

/* The flush is one thread: more than one processor is of no use to it. */
static uint64_t usable_permille(const struct flush_pace *pace)
{
    bool is_less = pace->processors_permille > 0 && pace->processors_permille < PERMILLE;
    return is_less ? pace->processors_permille : PERMILLE;
}

int64_t flush_pace_rest_ns(const struct flush_pace *pace, int64_t busy_ns, int64_t cpu_ns)
{
    if (pace->percent == 0 || pace->percent >= PERCENT || busy_ns <= 0) {
        return 0;
    }
    double share = (double)pace->percent / PERCENT;
    double of_time_ns = (double)busy_ns / share;
    double of_quota_ns = (double)cpu_ns / share * PERMILLE / (double)usable_permille(pace);
    double rest_ns = (of_time_ns > of_quota_ns ? of_time_ns : of_quota_ns) - (double)busy_ns;
    return rest_ns < (double)REST_NS_MAX ? (int64_t)rest_ns : REST_NS_MAX;
}

int64_t flush_pace_slice_rest_ns(const struct flush_pace *pace, int64_t busy_ns, int64_t cpu_ns)
{
    bool is_less = usable_permille(pace) < PERMILLE;
    struct flush_pace shared = *pace;
    shared.percent = is_less && pace->percent < PERCENT ? (pace->percent + 1) / SLICE_SHARE
                                                        : pace->percent;
    return flush_pace_rest_ns(&shared, busy_ns, cpu_ns);
}

/* Or as much as there may be at all, if that is less. */
static uint64_t at_least(uint64_t bytes, uint64_t least_bytes, uint64_t most_bytes)
{
    if (bytes >= least_bytes) {
        return bytes;
    }
    return most_bytes < least_bytes ? most_bytes : least_bytes;
}

static uint64_t usable_bytes(const struct flush_pace *pace, uint64_t calm_bytes)
{
    return calm_bytes * usable_permille(pace) / PERMILLE;
}

uint64_t flush_pace_transaction_bytes(const struct flush_pace *pace, uint64_t most_bytes)
{
    uint64_t calm_bytes = most_bytes / CALM_SHARE;
    return at_least(usable_bytes(pace, calm_bytes), TRANSACTION_BYTES_MIN, calm_bytes);
}

uint64_t flush_pace_slice_bytes(const struct flush_pace *pace, uint64_t most_bytes)
{
    return at_least(usable_bytes(pace, most_bytes / SLICE_CALM_SHARE), SLICE_BYTES_MIN, most_bytes);
}
