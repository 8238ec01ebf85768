#include "common/io/http.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include <nng/nng.h>

#include "common/base/memory.h"
#include "common/io/http_connection.h"
#include "common/io/http_host.h"
#include "common/io/http_routes.h"
#include "common/io/metrics.h"
#include "common/io/transport/transport_address.h"
#include "common/io/transport/transport_threads.h"

#define ADDRESS_BYTES_MAX 256
#define CLOSING_MAX       64 /* over the limit: told to close, and not down yet */
#define ACCEPT_PAUSE_MS   50 /* after an accept that failed, for want of descriptors say */

struct http_call {
    struct http_connection connection;
};

struct http_server {
    nng_stream_listener *listener;
    nng_aio *accept_aio;
    uint16_t port;
    bool local; /* for this machine alone */
    struct http_routes routes;

    pthread_mutex_t lock;   /* guards all that follows */
    pthread_cond_t emptied; /* the last connection, or the accept operation, has gone */
    struct http_connection *connections;
    size_t connection_count;
    bool accepting; /* an accept, a pause before the next, or its callback is under way */
    bool pausing;   /* that operation is a pause */
    bool closing;
};

/* --- calls -------------------------------------------------------------------------------------- */

const char *http_call_method(const struct http_call *call)
{
    return call->connection.request.method;
}

const char *http_call_uri(const struct http_call *call)
{
    return call->connection.request.uri;
}

const char *http_call_header(const struct http_call *call, const char *name)
{
    return http_request_header(&call->connection.request, name);
}

void http_call_answer(struct http_call *call, struct http_response *response)
{
    http_connection_answer(&call->connection, response);
}

/* --- requests ----------------------------------------------------------------------------------- */

static void answer_plainly(struct http_connection *connection, uint16_t status)
{
    struct http_response response = {.status = status, .content_type = "text/plain"};
    if (status == 405) {
        response.headers[0] = (struct http_header){"Allow", "GET, HEAD"};
    }
    buffer_append_format(&response.body, "%s\n", http_reason(status));
    http_connection_answer(connection, &response);
}

static void refuse_foreign(struct http_connection *connection)
{
    struct http_response response = {
        .status = 403,
        .content_type = "application/json",
        .headers = {{"Cache-Control", "no-store"}, {"X-Content-Type-Options", "nosniff"}},
    };
    buffer_append_format(&response.body,
                         "{\"error\":{\"status\":\"PERMISSION_DENIED\",\"text\":"
                         "\"this is for this machine: ask for it as localhost\"}}\n");
    http_connection_answer(connection, &response);
}

static bool only_reads(const struct http_request *request)
{
    return strcmp(request->method, "GET") == 0 || strcmp(request->method, "HEAD") == 0;
}

/* Once it is handed on the connection may be gone. */
static void on_request(void *owner, struct http_connection *connection)
{
    struct http_server *server = owner;
    const struct http_request *request = &connection->request;
    const struct http_route *route = http_routes_find(&server->routes, request->uri);

    if (server->local && !http_host_is_local(http_request_header(request, "Host"))) {
        refuse_foreign(connection);
    } else if (route == NULL) {
        answer_plainly(connection, 404);
    } else if (!route->tree && !only_reads(request)) {
        answer_plainly(connection, 405);
    } else if (route->call_handler != NULL) {
        route->call_handler(route->context, (struct http_call *)connection);
    } else {
        struct http_response response = {.status = 200,
                                         .content_type = "text/plain; charset=utf-8"};
        route->handler(route->context, route->path, &response);
        http_connection_answer(connection, &response);
    }
}

/* --- connections -------------------------------------------------------------------------------- */

static void on_down(void *owner, struct http_connection *connection)
{
    struct http_server *server = owner;
    pthread_mutex_lock(&server->lock);
    if (connection->previous == NULL) {
        server->connections = connection->next;
    } else {
        connection->previous->next = connection->next;
    }
    if (connection->next != NULL) {
        connection->next->previous = connection->previous;
    }
    server->connection_count--;
    pthread_cond_broadcast(&server->emptied);
    pthread_mutex_unlock(&server->lock);
}

static const struct http_connection_events connection_events = {on_request, on_down};

/* Of those that owe us a request, the one that has for longest. */
static void close_idlest_locked(struct http_server *server)
{
    struct http_connection *idlest = NULL;
    int64_t idlest_ns = INT64_MAX;
    for (struct http_connection *each = server->connections; each != NULL; each = each->next) {
        int64_t since_ns = atomic_load(&each->reading_since_ns);
        if (since_ns != 0 && since_ns < idlest_ns && !atomic_load(&each->closed)) {
            idlest = each;
            idlest_ns = since_ns;
        }
    }
    if (idlest != NULL) {
        http_connection_close(idlest);
    }
}

static void admit(struct http_server *server, nng_stream *stream)
{
    struct http_connection *connection = NULL;

    pthread_mutex_lock(&server->lock);
    if (server->connection_count >= HTTP_CONNECTIONS_MAX) {
        close_idlest_locked(server);
    }
    if (server->connection_count >= HTTP_CONNECTIONS_MAX + CLOSING_MAX || server->closing) {
        nng_stream_free(stream);
    } else {
        connection = http_connection_create(&connection_events, server, stream);
    }
    if (connection != NULL) {
        connection->next = server->connections;
        if (connection->next != NULL) {
            connection->next->previous = connection;
        }
        server->connections = connection;
        server->connection_count++;
    }
    pthread_mutex_unlock(&server->lock);
    if (connection != NULL) {
        http_connection_start(connection);
    }
}

static void accept_next_locked(struct http_server *server, bool pause)
{
    server->accepting = true;
    server->pausing = pause;
    if (pause) {
        nng_sleep_aio(ACCEPT_PAUSE_MS, server->accept_aio);
    } else {
        nng_stream_listener_accept(server->listener, server->accept_aio);
    }
}

static void on_accepted(void *context)
{
    struct http_server *server = context;
    int error = nng_aio_result(server->accept_aio);
    if (error == 0 && !server->pausing) {
        admit(server, nng_aio_get_output(server->accept_aio, 0));
    }
    pthread_mutex_lock(&server->lock);
    if (server->closing) {
        server->accepting = false;
        pthread_cond_broadcast(&server->emptied);
    } else {
        accept_next_locked(server, error != 0);
    }
    pthread_mutex_unlock(&server->lock);
}

/* --- opening and closing ------------------------------------------------------------------------ */

static void serve_metrics(void *context, const char *path, struct http_response *response)
{
    (void)context;
    (void)path;
    response->content_type = "text/plain; version=0.0.4; charset=utf-8";
    metrics_render(&response->body);
}

/* An nng error. */
static int start(struct http_server *server, const char *address)
{
    char url[ADDRESS_BYTES_MAX + 8];
    int port = 0;
    (void)snprintf(url, sizeof url, "tcp://%s", address);
    transport_threads_start();
    int error = nng_stream_listener_alloc(&server->listener, url);
    if (error == 0) {
        (void)nng_stream_listener_set_bool(server->listener, NNG_OPT_TCP_NODELAY, true);
        error = nng_stream_listener_listen(server->listener);
    }
    if (error == 0) {
        error = nng_aio_alloc(&server->accept_aio, on_accepted, server);
    }
    if (error != 0) {
        return error;
    }
    if (nng_stream_listener_get_int(server->listener, NNG_OPT_TCP_BOUND_PORT, &port) == 0) {
        server->port = (uint16_t)port;
    }
    pthread_mutex_lock(&server->lock);
    accept_next_locked(server, false);
    pthread_mutex_unlock(&server->lock);
    return 0;
}

enum status http_server_open(const char *address,
                             bool insecure,
                             struct http_server **ret_server,
                             struct error *ret_error)
{
    if (strlen(address) >= ADDRESS_BYTES_MAX) {
        return error_set(ret_error, STATUS_INVALID_ARGUMENT, "address is too long");
    }
    enum status status = transport_address_check_http(address, insecure, ret_error);
    if (status != STATUS_OK) {
        return status;
    }
    struct http_server *server = memory_allocate_zeroed(1, sizeof *server);
    if (server == NULL) {
        return error_set(ret_error, STATUS_NO_MEMORY, "listen on %s: no memory", address);
    }
    server->local = !insecure;
    http_routes_init(&server->routes);
    pthread_mutex_init(&server->lock, NULL);
    pthread_cond_init(&server->emptied, NULL);
    int error = start(server, address);
    if (error != 0) {
        http_server_close(server);
        return transport_address_failed("listen on", address, error, ret_error);
    }
    status = http_server_handle(server, "/metrics", serve_metrics, NULL);
    if (status != STATUS_OK) {
        http_server_close(server);
        return error_set(ret_error, status, "listen on %s: no memory", address);
    }
    *ret_server = server;
    return STATUS_OK;
}

enum status http_server_handle(struct http_server *server,
                               const char *path,
                               http_handler handler,
                               void *context)
{
    return http_routes_add(&server->routes, path,
                           &(struct http_route){.handler = handler, .context = context});
}

enum status http_server_handle_call(struct http_server *server,
                                    const char *path,
                                    http_call_handler handler,
                                    void *context)
{
    return http_routes_add(&server->routes, path,
                           &(struct http_route){.call_handler = handler, .context = context});
}

enum status http_server_handle_tree(struct http_server *server,
                                    const char *path,
                                    http_call_handler handler,
                                    void *context)
{
    return http_routes_add(
        &server->routes, path,
        &(struct http_route){.call_handler = handler, .context = context, .tree = true});
}

uint16_t http_server_port(const struct http_server *server)
{
    return server->port;
}

/* Until nothing is under way, handlers and their answers too. */
static void hang_up(struct http_server *server)
{
    pthread_mutex_lock(&server->lock);
    server->closing = true;
    if (server->listener != NULL) {
        nng_stream_listener_close(server->listener);
    }
    for (struct http_connection *each = server->connections; each != NULL; each = each->next) {
        http_connection_close(each);
    }
    while (server->connection_count > 0 || server->accepting) {
        pthread_cond_wait(&server->emptied, &server->lock);
    }
    pthread_mutex_unlock(&server->lock);
}

void http_server_close(struct http_server *server)
{
    if (server == NULL) {
        return;
    }
    hang_up(server);
    if (server->accept_aio != NULL) {
        nng_aio_free(server->accept_aio);
    }
    if (server->listener != NULL) {
        nng_stream_listener_free(server->listener);
    }
    http_routes_deinit(&server->routes);
    pthread_cond_destroy(&server->emptied);
    pthread_mutex_destroy(&server->lock);
    memory_free(server);
}
