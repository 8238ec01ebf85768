/*
 * gRPC's health service, grpc.health.v1: whether calls are served, to be asked (Check) or watched
 * (Watch).
 *
 * The gateway as a whole (the empty name) and each service of its methods are SERVING from the
 * start until health_stop(), and NOT_SERVING from then on: a gateway has no state of its own that
 * could be ill, and one whose cluster is away is no worse than the gateway next to it.  Other names
 * are NOT_FOUND when asked, and SERVICE_UNKNOWN when watched.
 *
 * A stream of Watch has one message on its way at a time and skips what has changed back meanwhile.
 * At most HEALTH_WATCHERS_MAX of them are held.
 *
 * Thread rule: any thread; created before the RPC server is opened, destroyed after it is closed.
 */
#ifndef GATEWAY_HEALTH_HEALTH_H
#define GATEWAY_HEALTH_HEALTH_H

#include <stddef.h>

#include "gateway/rpc/rpc.h"

#define HEALTH_WATCHERS_MAX 1024

struct health;

/* methods, whose services are served, must outlive it.  Errors: NULL without memory. */
struct health *health_create(const struct rpc_method *methods, size_t method_count);

/* Tell all who watch that nothing is served any more, and end their calls with UNAVAILABLE, which
 * clients take to another gateway.  Does not wait for it: rpc_server_drain() does. */
void health_stop(struct health *health);
void health_destroy(struct health *health); /* NULL is fine */

/* Their context is a struct gateway, whose `health` is set. */
const struct rpc_method *health_methods(size_t *ret_count);

#endif /* GATEWAY_HEALTH_HEALTH_H */
