/*
 * A small HTTP server (nng's) for metrics, health and the console.
 *
 * Handlers run on nng's threads, must not block long, and see GET and HEAD requests only.
 */
#ifndef COMMON_IO_HTTP_H
#define COMMON_IO_HTTP_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/buffer.h"
#include "common/base/error.h"

struct http_server;

struct http_response {
    uint16_t status;          /* 200 by default */
    const char *content_type; /* "text/plain; charset=utf-8" by default */
    struct buffer body;
};

typedef void (*http_handler)(void *context, const char *path, struct http_response *response);

/* address "127.0.0.1:7480"; same rule for addresses that are not local as transport_listen().
 * Serves /metrics itself. */
enum status http_server_open(const char *address,
                             bool insecure,
                             struct http_server **ret_server,
                             struct error *ret_error);
/* Exact path.  Before or after opening. */
enum status http_server_handle(struct http_server *server,
                               const char *path,
                               http_handler handler,
                               void *context);
uint16_t http_server_port(const struct http_server *server);
void http_server_close(struct http_server *server); /* NULL is fine */

#endif /* COMMON_IO_HTTP_H */
