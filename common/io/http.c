#include "common/io/http.h"

#include <arpa/inet.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include <nng/nng.h>
#include <nng/supplemental/http/http.h>

#include "common/base/memory.h"
#include "common/io/http_host.h"
#include "common/io/metrics.h"
#include "common/io/transport/transport_address.h"
#include "common/io/transport/transport_threads.h"

#define ADDRESS_BYTES_MAX 256

/* One path and who answers it. */
struct route {
    struct route *next;
    http_handler handler;           /* one of them */
    http_call_handler call_handler; /* is there */
    void *context;
    bool local; /* as the server */
    char path[];
};

struct http_call {
    nng_aio *aio;
    nng_http_req *req; /* nng's, until the aio is finished */
};

struct http_server {
    struct http_server *next; /* of this process */
    nng_http_server *server;
    pthread_mutex_t lock; /* guards routes */
    struct route *routes; /* live as long as the server: nng's handlers point at them */
    uint16_t port;
    bool local; /* for this machine alone */
    char address[ADDRESS_BYTES_MAX];
};

/* nng hands the same server to everyone who names the same address, instead of refusing: so we
 * keep account of who has which. */
static pthread_mutex_t servers_lock = PTHREAD_MUTEX_INITIALIZER;
static struct http_server *servers;

static bool set_headers(nng_http_res *res, const struct http_response *response)
{
    bool set = nng_http_res_set_header(res, "Content-Type", response->content_type) == 0;
    for (const struct http_header *header = response->headers; set && header->name != NULL;
         header++) {
        set = nng_http_res_set_header(res, header->name, header->value) == 0;
    }
    return set;
}

static void finish(nng_aio *aio, struct http_response *response)
{
    nng_http_res *res = NULL;
    int error = nng_http_res_alloc(&res);
    if (error == 0) {
        struct bytes body = buffer_bytes(&response->body);
        bool failed = response->body.failed ||
                      (body.size_bytes > 0 &&
                       nng_http_res_copy_data(res, body.data, body.size_bytes) != 0) ||
                      !set_headers(res, response);
        (void)nng_http_res_set_status(res, failed ? 500 : response->status);
        nng_aio_set_output(aio, 0, res);
    }
    buffer_deinit(&response->body);
    nng_aio_finish(aio, error);
}

static bool is_foreign(const struct route *route, nng_aio *aio)
{
    return route->local &&
           !http_host_is_local(nng_http_req_get_header(nng_aio_get_input(aio, 0), "Host"));
}

static void refuse_foreign(nng_aio *aio)
{
    struct http_response response = {
        .status = 403,
        .content_type = "application/json",
        .headers = {{"Cache-Control", "no-store"}, {"X-Content-Type-Options", "nosniff"}},
    };
    buffer_append_format(&response.body,
                         "{\"error\":{\"status\":\"PERMISSION_DENIED\",\"text\":"
                         "\"this is for this machine: ask for it as localhost\"}}\n");
    finish(aio, &response);
}

static void take_call(const struct route *route, nng_aio *aio)
{
    struct http_call *call = memory_allocate(sizeof *call);
    if (call == NULL) {
        nng_aio_finish(aio, NNG_ENOMEM);
        return;
    }
    *call = (struct http_call){aio, nng_aio_get_input(aio, 0)};
    route->call_handler(route->context, call);
}

static void on_http_request(nng_aio *aio)
{
    nng_http_handler *handler = nng_aio_get_input(aio, 1);
    struct route *route = nng_http_handler_get_data(handler);
    if (is_foreign(route, aio)) {
        refuse_foreign(aio);
        return;
    }
    if (route->call_handler != NULL) {
        take_call(route, aio);
        return;
    }
    struct http_response response = {.status = 200, .content_type = "text/plain; charset=utf-8"};
    route->handler(route->context, route->path, &response);
    finish(aio, &response);
}

const char *http_call_method(const struct http_call *call)
{
    return nng_http_req_get_method(call->req);
}

const char *http_call_uri(const struct http_call *call)
{
    return nng_http_req_get_uri(call->req);
}

const char *http_call_header(const struct http_call *call, const char *name)
{
    return nng_http_req_get_header(call->req, name);
}

void http_call_answer(struct http_call *call, struct http_response *response)
{
    nng_aio *aio = call->aio;
    memory_free(call);
    finish(aio, response);
}

static void serve_metrics(void *context, const char *path, struct http_response *response)
{
    (void)context;
    (void)path;
    response->content_type = "text/plain; version=0.0.4; charset=utf-8";
    metrics_render(&response->body);
}

/* Port 0 is another port for everyone. */
static bool is_any_port(const char *address)
{
    size_t length = strlen(address);
    return length >= 2 && strcmp(address + length - 2, ":0") == 0;
}

/* Take the address for this process, unless it is taken. */
static enum status claim_address(struct http_server *server, struct error *ret_error)
{
    enum status status = STATUS_OK;
    pthread_mutex_lock(&servers_lock);
    for (struct http_server *other = servers; other != NULL; other = other->next) {
        if (strcmp(other->address, server->address) == 0 && !is_any_port(server->address)) {
            status = transport_address_failed("listen on", server->address, NNG_EADDRINUSE,
                                              ret_error);
        }
    }
    if (status == STATUS_OK) {
        server->next = servers;
        servers = server;
    }
    pthread_mutex_unlock(&servers_lock);
    return status;
}

static void release_address(struct http_server *server)
{
    pthread_mutex_lock(&servers_lock);
    struct http_server **link = &servers;
    while (*link != server) {
        link = &(*link)->next;
    }
    *link = server->next;
    pthread_mutex_unlock(&servers_lock);
}

/* An address ":0" has become one that others can name. */
static void note_port(struct http_server *server)
{
    char text[ADDRESS_BYTES_MAX + 8];
    if (is_any_port(server->address)) {
        int host_bytes = (int)strlen(server->address) - 2;
        (void)snprintf(text, sizeof text, "%.*s:%u", host_bytes, server->address,
                       (unsigned)server->port);
        pthread_mutex_lock(&servers_lock);
        (void)snprintf(server->address, sizeof server->address, "%s", text);
        pthread_mutex_unlock(&servers_lock);
    }
}

/* An nng error. */
static int start(struct http_server *server)
{
    char text[ADDRESS_BYTES_MAX + 8];
    nng_url *url = NULL;
    nng_sockaddr address;
    (void)snprintf(text, sizeof text, "http://%s", server->address);
    transport_threads_start();
    int error = nng_url_parse(&url, text);
    if (error != 0) {
        return error;
    }
    error = nng_http_server_hold(&server->server, url);
    nng_url_free(url);
    if (error != 0) {
        server->server = NULL;
        return error;
    }
    error = nng_http_server_start(server->server);
    if (error == 0) {
        error = nng_http_server_get_addr(server->server, &address);
        server->port = ntohs(address.s_family == NNG_AF_INET6 ? address.s_in6.sa_port
                                                              : address.s_in.sa_port);
        note_port(server);
    }
    if (error != 0) {
        nng_http_server_release(server->server);
        server->server = NULL;
    }
    return error;
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
    (void)snprintf(server->address, sizeof server->address, "%s", address);
    server->local = !insecure;
    status = claim_address(server, ret_error);
    if (status != STATUS_OK) {
        memory_free(server);
        return status;
    }
    pthread_mutex_init(&server->lock, NULL);
    int error = start(server);
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

static enum status add_route(struct http_server *server,
                             const char *path,
                             http_handler handler,
                             http_call_handler call_handler,
                             bool tree,
                             void *context)
{
    size_t path_bytes = strlen(path) + 1;
    struct route *route = memory_allocate(sizeof *route + path_bytes);
    nng_http_handler *nng_handler = NULL;
    if (route == NULL) {
        return STATUS_NO_MEMORY;
    }
    route->handler = handler;
    route->call_handler = call_handler;
    route->context = context;
    route->local = server->local;
    memcpy(route->path, path, path_bytes);
    if (nng_http_handler_alloc(&nng_handler, path, on_http_request) != 0) {
        memory_free(route);
        return STATUS_NO_MEMORY;
    }
    bool failed = tree && (nng_http_handler_set_tree(nng_handler) != 0 ||
                           nng_http_handler_set_method(nng_handler, NULL) != 0);
    if (failed || nng_http_handler_set_data(nng_handler, route, NULL) != 0 ||
        nng_http_server_add_handler(server->server, nng_handler) != 0) {
        nng_http_handler_free(nng_handler);
        memory_free(route);
        return STATUS_ALREADY_EXISTS;
    }
    pthread_mutex_lock(&server->lock);
    route->next = server->routes;
    server->routes = route;
    pthread_mutex_unlock(&server->lock);
    return STATUS_OK;
}

enum status http_server_handle(struct http_server *server,
                               const char *path,
                               http_handler handler,
                               void *context)
{
    return add_route(server, path, handler, NULL, false, context);
}

enum status http_server_handle_call(struct http_server *server,
                                    const char *path,
                                    http_call_handler handler,
                                    void *context)
{
    return add_route(server, path, NULL, handler, false, context);
}

enum status http_server_handle_tree(struct http_server *server,
                                    const char *path,
                                    http_call_handler handler,
                                    void *context)
{
    return add_route(server, path, NULL, handler, true, context);
}

uint16_t http_server_port(const struct http_server *server)
{
    return server->port;
}

void http_server_close(struct http_server *server)
{
    if (server == NULL) {
        return;
    }
    if (server->server != NULL) {
        /* Waits for handlers that run. */
        nng_http_server_stop(server->server);
        nng_http_server_release(server->server);
    }
    release_address(server);
    while (server->routes != NULL) {
        struct route *route = server->routes;
        server->routes = route->next;
        memory_free(route);
    }
    pthread_mutex_destroy(&server->lock);
    memory_free(server);
}
