/*
 * Which path of an HTTP server is answered by whom.
 *
 * Thread rule: any; a route that was added is there, and stays as it is, until http_routes_deinit().
 */
#ifndef COMMON_IO_HTTP_ROUTES_H
#define COMMON_IO_HTTP_ROUTES_H

#include <pthread.h>

#include "common/io/http.h"

/* One path and who answers it. */
struct http_route {
    struct http_route *next;
    http_handler handler;           /* one of them */
    http_call_handler call_handler; /* is there */
    void *context;
    bool tree; /* all that lies below it, too, but for what has a route of its own */
    char path[];
};

struct http_routes {
    pthread_mutex_t lock; /* guards first */
    struct http_route *first;
};

void http_routes_init(struct http_routes *routes);
void http_routes_deinit(struct http_routes *routes);

/* As form says, but for its path.  Errors: STATUS_ALREADY_EXISTS, STATUS_NO_MEMORY. */
enum status http_routes_add(struct http_routes *routes,
                            const char *path,
                            const struct http_route *form);

/* Of "/api/v1/heat?table=7"; the one whose path is longest; NULL = nobody answers there. */
const struct http_route *http_routes_find(struct http_routes *routes, const char *uri);

/* "/status, /health, /metrics": what was added last comes first. */
void http_routes_list(struct http_routes *routes, struct buffer *out);

#endif /* COMMON_IO_HTTP_ROUTES_H */
