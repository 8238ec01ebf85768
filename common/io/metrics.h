/*
 * Prometheus metrics: counters, gauges and histograms, registered once, updated from any thread
 * without a lock, rendered as text format 0.0.4.
 */
#ifndef COMMON_IO_METRICS_H
#define COMMON_IO_METRICS_H

#include <stdint.h>

#include "common/base/buffer.h"

struct metric; /* one time series */

/* labels: "method=\"scan\"" or "" ; all texts must be literals (they are kept, not copied).
 * The same name and labels give the same metric.  Never NULL: without memory or over the limit of
 * series, a shared sink that renders nothing. */
struct metric *metric_counter(const char *name, const char *labels, const char *help);
struct metric *metric_gauge(const char *name, const char *labels, const char *help);
/* Seconds, in buckets from 50 us to 60 s, factor about 2. */
struct metric *metric_histogram(const char *name, const char *labels, const char *help);

void metric_add(struct metric *metric, int64_t amount);    /* counter, gauge */
void metric_set(struct metric *metric, int64_t value);     /* gauge */
void metric_observe_ns(struct metric *metric, int64_t ns); /* histogram */

void metrics_render(struct buffer *out);

#endif /* COMMON_IO_METRICS_H */
