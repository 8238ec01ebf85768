/*
 * The gateway's metrics: docs/metrics.md tells what each is for.
 *
 * Thread rule: any thread, after gateway_metrics_init().
 */
#ifndef GATEWAY_DAEMON_GATEWAY_METRICS_H
#define GATEWAY_DAEMON_GATEWAY_METRICS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "gateway/rpc/rpc.h"

/* methods: as method_list() gives them; they must outlive the process's calls. */
void gateway_metrics_init(const struct rpc_method *methods, size_t method_count);

/* A call of methods[method] has ended. */
void gateway_metrics_ended(size_t method, enum edubba_code code, int64_t duration_ns);

/* What is so now. */
void gateway_metrics_now(uint64_t request_bytes, bool is_serving);

#endif /* GATEWAY_DAEMON_GATEWAY_METRICS_H */
