#include "tabletserver/serve/record_metrics.h"

#include "common/base/assert.h"
#include "common/io/clock.h"
#include "common/io/logger.h"
#include "common/io/metrics.h"

#define KIND_COUNT 6 /* OPERATION_* start at 1 */

static const char *const KIND_NAMES[KIND_COUNT] = {
    "unknown", "mutate", "read", "check_and_mutate", "read_modify_write", "drop_range"};
static const char *const KIND_LABELS[KIND_COUNT] = {"operation=\"unknown\"",
                                                    "operation=\"mutate\"",
                                                    "operation=\"read\"",
                                                    "operation=\"check_and_mutate\"",
                                                    "operation=\"read_modify_write\"",
                                                    "operation=\"drop_range\""};

static struct {
    int64_t slow_ns;
    struct metric *count[KIND_COUNT];
    struct metric *errors[KIND_COUNT];
    struct metric *seconds[KIND_COUNT];
    struct metric *scans;
    struct metric *scan_errors;
    struct metric *scan_seconds;
    struct metric *scan_rows;
    struct metric *scan_bytes;
    struct metric *slow;
    struct metric *held;
} recorded;

void record_metrics_init(int64_t slow_us)
{
    recorded.slow_ns = slow_us * 1000;
    for (int i = 0; i < KIND_COUNT; i++) {
        recorded.count[i] = metric_counter("edubba_operations_total", KIND_LABELS[i],
                                           "Operations answered, errors included.");
        recorded.errors[i] = metric_counter("edubba_operation_errors_total", KIND_LABELS[i],
                                            "Operations answered with an error.");
        recorded.seconds[i] = metric_histogram("edubba_operation_seconds", KIND_LABELS[i],
                                               "From arrival of a request to its answer.");
    }
    recorded.scans = metric_counter("edubba_scans_total", "", "Scans ended.");
    recorded.scan_errors = metric_counter("edubba_scan_errors_total", "",
                                          "Scans ended in an error.");
    recorded.scan_seconds = metric_histogram("edubba_scan_seconds", "", "Whole scans of a tablet.");
    recorded.scan_rows = metric_counter("edubba_scan_rows_total", "", "Rows that scans returned.");
    recorded.scan_bytes = metric_counter("edubba_scan_bytes_total", "",
                                         "Bytes that scans returned.");
    recorded.slow = metric_counter("edubba_slow_operations_total", "",
                                   "Operations over the slow_operation setting.");
    recorded.held = metric_counter("edubba_writes_held_total", "",
                                   "Writes held while their tablet was split or handed over.");
}

static void log_slow(const struct batch *batch, const struct work *work, int kind, int64_t took_ns)
{
    metric_add(recorded.slow, 1);
    LOG_EVENT(LOG_LEVEL_WARN, "slow_operation", LOG_TEXT("operation", KIND_NAMES[kind]),
              LOG_ID("trace", batch->head.trace), LOG_ID("table", work->operation->table),
              LOG_BYTES("row", work->operation->row), LOG_I64("took_us", took_ns / 1000),
              LOG_TEXT("status", status_name((enum status)work->answer.status)));
}

void record_operation(const struct batch *batch, const struct work *work, int64_t now_ns)
{
    int kind = (int)work->operation->kind;
    kind = kind > 0 && kind < KIND_COUNT ? kind : 0;
    int64_t took_ns = now_ns - batch->received_ns;

    metric_add(recorded.count[kind], 1);
    metric_observe_ns(recorded.seconds[kind], took_ns);
    if (work->answer.status != STATUS_OK) {
        metric_add(recorded.errors[kind], 1);
    }
    if (recorded.slow_ns > 0 && took_ns > recorded.slow_ns) {
        log_slow(batch, work, kind, took_ns);
    }
}

void record_held(void)
{
    metric_add(recorded.held, 1);
}

void record_scan(
    enum status status, int64_t received_ns, uint64_t trace, uint64_t rows, uint64_t cells)
{
    int64_t took_ns = clock_monotonic_ns() - received_ns;

    metric_add(recorded.scans, 1);
    metric_add(recorded.scan_rows, (int64_t)rows);
    metric_observe_ns(recorded.scan_seconds, took_ns);
    if (status != STATUS_OK) {
        metric_add(recorded.scan_errors, 1);
    }
    LOG_EVENT(LOG_LEVEL_DEBUG, "scan_ended", LOG_ID("trace", trace), LOG_U64("rows", rows),
              LOG_U64("cells", cells), LOG_I64("took_us", took_ns / 1000),
              LOG_TEXT("status", status_name(status)));
}

void record_scan_bytes(uint64_t bytes)
{
    metric_add(recorded.scan_bytes, (int64_t)bytes);
}
