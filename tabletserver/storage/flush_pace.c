#include "tabletserver/storage/flush_pace.h"

#include <stdbool.h>

#define REST_NS_MAX           (250 * INT64_C(1000000))
#define PERCENT               100
#define PERMILLE              1000
#define CALM_SHARE            4           /* the log's syncs wait behind those of the flush */
#define TRANSACTION_BYTES_MIN (64 * 1024) /* below it a transaction is more sync than data */

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

uint64_t flush_pace_transaction_bytes(const struct flush_pace *pace, uint64_t most_bytes)
{
    uint64_t calm_bytes = most_bytes / CALM_SHARE;
    uint64_t bytes = calm_bytes * usable_permille(pace) / PERMILLE;
    if (bytes >= TRANSACTION_BYTES_MIN) {
        return bytes;
    }
    return calm_bytes < TRANSACTION_BYTES_MIN ? calm_bytes : TRANSACTION_BYTES_MIN;
}
