#include "tabletserver/storage/flush_pace.h"

#define REST_NS_MAX           (250 * INT64_C(1000000))
#define REST_LONG_NS_MAX      (2000 * INT64_C(1000000)) /* while there is time */
#define PERCENT               100
#define PERMILLE              1000
#define CALM_SHARE            4           /* the log's syncs wait behind those of the flush */
#define TRANSACTION_BYTES_MIN (64 * 1024) /* below it a transaction is more sync than data */
#define SLICE_CALM_SHARE      8
#define SLICE_BYTES_MIN       (32 * 1024) /* of short rows: half of what a quarter has in 10 ms */
#define SLICE_SHARE           2           /* of the flush's part of a quota */
#define FULL_LEAST_PERMILLE   375         /* of memory: up to there the flush takes its least of a quota */
#define FULL_MOST_PERMILLE    625         /* and from there on it does not rest */
#define WANTED_PERMILLE       400         /* of the quota: with less than that requests have enough */
#define LEAST_SHARE           5

/* The flush is one thread: more than one processor is of no use to it. */
static uint64_t usable_permille(const struct flush_pace *pace)
{
    bool is_less = pace->processors_permille > 0 && pace->processors_permille < PERMILLE;
    return is_less ? pace->processors_permille : PERMILLE;
}

static bool has_quota(const struct flush_pace *pace)
{
    return usable_permille(pace) < PERMILLE;
}

static int64_t rest_ns_of(const struct flush_pace *pace,
                          double percent,
                          int64_t most_ns,
                          int64_t busy_ns,
                          int64_t cpu_ns)
{
    if (percent <= 0 || percent >= PERCENT || busy_ns <= 0) {
        return 0;
    }
    double share = percent / PERCENT;
    double of_time_ns = (double)busy_ns / share;
    double of_quota_ns = (double)cpu_ns / share * PERMILLE / (double)usable_permille(pace);
    double rest_ns = (of_time_ns > of_quota_ns ? of_time_ns : of_quota_ns) - (double)busy_ns;
    return rest_ns < (double)most_ns ? (int64_t)rest_ns : most_ns;
}

static double flush_percent(const struct flush_pace *pace)
{
    double least = (double)pace->percent / LEAST_SHARE;
    if (!has_quota(pace) || pace->wanted_permille < WANTED_PERMILLE) {
        return pace->percent;
    }
    if (pace->is_awaited) {
        least = pace->percent;
    }
    if (pace->full_permille <= FULL_LEAST_PERMILLE) {
        return least;
    }
    if (pace->full_permille >= FULL_MOST_PERMILLE) {
        return PERCENT;
    }
    return least + (PERCENT - least) * (double)(pace->full_permille - FULL_LEAST_PERMILLE) /
                       (FULL_MOST_PERMILLE - FULL_LEAST_PERMILLE);
}

int64_t flush_pace_rest_ns(const struct flush_pace *pace, int64_t busy_ns, int64_t cpu_ns)
{
    double percent = flush_percent(pace);
    int64_t most_ns = percent < pace->percent ? REST_LONG_NS_MAX : REST_NS_MAX;
    return rest_ns_of(pace, percent, most_ns, busy_ns, cpu_ns);
}

int64_t flush_pace_slice_rest_ns(const struct flush_pace *pace, int64_t busy_ns, int64_t cpu_ns)
{
    double percent = has_quota(pace) ? (double)pace->percent / SLICE_SHARE : (double)pace->percent;
    return rest_ns_of(pace, percent, REST_NS_MAX, busy_ns, cpu_ns);
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
