/*
 * What the tablet server counts, and its log of slow operations.  Any thread.
 */
#ifndef TABLETSERVER_SERVE_RECORD_METRICS_H
#define TABLETSERVER_SERVE_RECORD_METRICS_H

#include <stdint.h>

#include "tabletserver/serve/write/batch.h"

/* Once, before the first request.  Operations that take longer than slow_us are logged; 0 = none. */
void record_metrics_init(int64_t slow_us);

/* An operation is answered: count it, take its time, log it if it was slow.  now_ns: monotonic. */
void record_operation(const struct batch *batch, const struct work *work, int64_t now_ns);

/* A write was held until it is known who serves its tablet. */
void record_held(void);

/* A scan ended. */
void record_scan(
    enum status status, int64_t received_ns, uint64_t trace, uint64_t rows, uint64_t cells);

/* A slice of a scan was sent. */
void record_scan_bytes(uint64_t bytes);

#endif /* TABLETSERVER_SERVE_RECORD_METRICS_H */
