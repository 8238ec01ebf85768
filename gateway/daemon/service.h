/*
 * The gateway: everything but its main().
 *
 *   STARTING   HTTP answers; the cluster is waited for, as long as it takes
 *   SERVING    calls are taken
 *   DRAINING   no new ones; those that run have settings' drain to end, then they are cancelled
 *
 * Opened in the order HTTP, client, what methods share, RPC server; closed the other way, but for
 * HTTP, which tells of draining.
 *
 * Thread rule: one thread creates, starts, waits and closes; service_stop() and what HTTP asks come
 * from any.
 */
#ifndef GATEWAY_DAEMON_SERVICE_H
#define GATEWAY_DAEMON_SERVICE_H

#include <stdatomic.h>
#include <stdbool.h>

#include "common/base/error.h"
#include "common/io/http.h"
#include "common/io/mailbox.h"
#include "gateway/daemon/settings.h"
#include "gateway/methods/gateway.h"
#include "gateway/rpc/rpc.h"

enum service_state {
    SERVICE_STARTING,
    SERVICE_SERVING,
    SERVICE_DRAINING,
};

struct service {
    struct gateway gateway; /* first: the context of all methods */
    const struct gateway_settings *settings;
    atomic_int state;
    atomic_bool is_stopping; /* service_stop() was called */
    struct mailbox *stop;    /* closed then; nothing is ever in it */
    struct http_server *http;
    struct rpc_server *server; /* set before the state is SERVING */
    char address[128];
    char http_address[128]; /* empty = none */
};

/* Listen for HTTP.  settings are borrowed until it is closed.
 * Errors: those of the HTTP server; STATUS_NO_MEMORY. */
enum status service_create(const struct gateway_settings *settings,
                           struct service **ret_service,
                           struct error *ret_error);

/* Reach the cluster, and listen for calls.
 * Errors: STATUS_CANCELLED (service_stop() meanwhile); those of the client and the RPC server. */
enum status service_start(struct service *service, struct error *ret_error);

/* Until service_stop().  Errors: STATUS_UNAVAILABLE (nobody can connect any more: to be started again is all that
 * helps). */
enum status service_wait(struct service *service, struct error *ret_error);

/* Only hands over. */
void service_stop(struct service *service);

/* Drain, and close everything.  Ends the process, with DAEMON_EXIT_FAILED, where that takes longer
 * than drain and a few seconds: nothing here is worth waiting for. */
void service_close(struct service *service);

#endif /* GATEWAY_DAEMON_SERVICE_H */
