/*
 * Requests: what the transport hands in, sent on to whoever answers it.
 */
#ifndef TABLETSERVER_SERVE_REQUESTS_H
#define TABLETSERVER_SERVE_REQUESTS_H

#include "common/io/transport/transport.h"

/* The listener's callbacks; context is the struct server.  On nng's threads. */
void requests_on_request(void *context,
                         const struct transport_request *request,
                         struct transport_reply *reply);
void requests_on_progress(void *context, struct transport_reply *reply);

#endif /* TABLETSERVER_SERVE_REQUESTS_H */
