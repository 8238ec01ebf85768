/*
 * HTTP for metrics, health and the console: GET and HEAD, and nobody's body is read.  libmicrohttpd serves.
 *
 * Handlers run on the server's own thread, one after the other, must not block long, and see GET and HEAD requests
 * only, but for those of a whole tree.
 *
 * Of connections there are HTTP_CONNECTIONS_MAX at most: descriptors are the daemon's, whose stores and peers need
 * them.  Beyond that the one whose request, or whose taking of an answer, we have waited for longest gives way
 * (http_guests.h); and a minute without a byte ends any.  Of answers that nobody takes there are HTTP_ANSWER_BYTES_MAX at
 * most, or one that is larger: then who has had longest to take one gives way.
 */
#ifndef COMMON_IO_HTTP_H
#define COMMON_IO_HTTP_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/buffer.h"
#include "common/base/error.h"

struct http_server;

#define HTTP_CONNECTIONS_MAX  256                 /* of one server */
#define HTTP_ANSWER_BYTES_MAX ((size_t)128 << 20) /* likewise */
#define HTTP_HEADERS_MAX      8

struct http_header {
    const char *name; /* NULL: the end of them */
    const char *value;
};

struct http_response {
    uint16_t status;          /* 200 by default */
    const char *content_type; /* "text/plain; charset=utf-8" by default */
    struct buffer body;
    struct http_header headers[HTTP_HEADERS_MAX + 1]; /* more of them */
};

typedef void (*http_handler)(void *context, const char *path, struct http_response *response);

/* address "127.0.0.1:7480"; same rule for addresses that are not local as transport_listen().
 * Without insecure it answers only who asks for a name of this machine (http_host.h): else 403, as JSON.
 * Serves /metrics itself; 404 says what else there is, unless somebody handles "/". */
enum status http_server_open(const char *address,
                             bool insecure,
                             struct http_server **ret_server,
                             struct error *ret_error);
/* Exact path.  Before or after opening. */
enum status http_server_handle(struct http_server *server,
                               const char *path,
                               http_handler handler,
                               void *context);

/* A request that is answered when its answer is there. */
struct http_call;

/* Takes the call: it must be answered, once, by any thread; http_server_close() waits for it. */
typedef void (*http_call_handler)(void *context, struct http_call *call);

/* As http_server_handle(). */
enum status http_server_handle_call(struct http_server *server,
                                    const char *path,
                                    http_call_handler handler,
                                    void *context);
/* As that, of path and all below that has no handler of its own; and of any method. */
enum status http_server_handle_tree(struct http_server *server,
                                    const char *path,
                                    http_call_handler handler,
                                    void *context);
/* Good until it is answered: "GET". */
const char *http_call_method(const struct http_call *call);
/* Good until it is answered: "/api/v1/heat?table=7", as it was sent; and a header's value, NULL without one. */
const char *http_call_uri(const struct http_call *call);
const char *http_call_header(const struct http_call *call, const char *name);
/* False: nobody waits for its answer any more, as who asked has hung up or the server closes; it must be answered all the
 * same, but anything will do.  Any thread, until it is answered. */
bool http_call_is_awaited(const struct http_call *call);
/* Takes the response's body over; the call is gone. */
void http_call_answer(struct http_call *call, struct http_response *response);

uint16_t http_server_port(const struct http_server *server);
void http_server_close(struct http_server *server); /* NULL is fine */

#endif /* COMMON_IO_HTTP_H */
