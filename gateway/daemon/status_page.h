/*
 * What the gateway says of itself over HTTP: /metrics (Prometheus), /health and /healthz ("ok", or
 * 503 and why not), /status (JSON).
 */
#ifndef GATEWAY_DAEMON_STATUS_PAGE_H
#define GATEWAY_DAEMON_STATUS_PAGE_H

#include "gateway/daemon/service.h"

/* Sets service's http and http_address; does nothing where settings ask for no HTTP.
 * Errors: those of http_server_open(). */
enum status status_page_open(struct service *service, struct error *ret_error);

/* Waits for answers under way.  Twice is fine. */
void status_page_close(struct service *service);

#endif /* GATEWAY_DAEMON_STATUS_PAGE_H */
