#include "common/io/http.h"

#include <microhttpd.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/io/http_guests.h"
#include "common/io/http_host.h"
#include "common/io/http_routes.h"
#include "common/io/http_socket.h"
#include "common/io/logger.h"
#include "common/io/metrics.h"
#include "common/io/thread.h"
#include "common/io/transport/transport_address.h"

#define CLOSING_MAX 16 /* over the limit: turned out, and not gone yet */
#define MEMORY_BYTES_MAX \
    0x10000 /* of a connection: a request's head, and an answer's; with two long keys of 48 KiB */
#define PATIENCE_SEC      60
#define MESSAGE_BYTES_MAX 256
#define PLAIN_TEXT        "text/plain; charset=utf-8"

/* A request, from its first line on: MHD's thread's, and while it is handed on its handler's. */
struct http_call {
    struct http_server *server;
    struct MHD_Connection *connection;
    struct http_guest *guest;    /* who asks */
    const char *method;          /* NULL: the head is not whole yet */
    struct MHD_Response *answer; /* NULL: none yet, or no memory for one */
    size_t answer_bytes;
    uint16_t status;
    bool handed_on;
    char uri[];
};

struct http_server {
    struct MHD_Daemon *daemon;
    uint16_t port;
    bool local; /* for this machine alone */

    struct http_routes routes;
    struct http_guests guests; /* MHD's thread's */

    pthread_mutex_t lock; /* guards all that follows */
    pthread_cond_t answered;
    size_t call_count; /* handed on, and not answered */
    bool closing;
};

/* --- connections -------------------------------------------------------------------------------- */

static void on_connection(void *context,
                          struct MHD_Connection *connection,
                          void **guest_slot,
                          enum MHD_ConnectionNotificationCode what)
{
    struct http_server *server = context;
    if (what == MHD_CONNECTION_NOTIFY_STARTED) {
        *guest_slot = http_guests_enter(
            &server->guests,
            MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd);
    } else if (*guest_slot != NULL) {
        http_guests_leave(&server->guests, *guest_slot);
    }
}

/* --- answers ------------------------------------------------------------------------------------ */

static bool add_headers(struct MHD_Response *answer, const struct http_response *response)
{
    bool good = response->status ==
                    304 || /* it has no body, and says nothing of the one that is known */
                MHD_add_response_header(answer, "Content-Type", response->content_type) == MHD_YES;
    for (const struct http_header *header = response->headers; good && header->name != NULL;
         header++) {
        good = MHD_add_response_header(answer, header->name, header->value) == MHD_YES;
    }
    return good;
}

static void set_answer(struct http_call *call, struct http_response *response)
{
    if (response->body.failed) {
        buffer_deinit(&response->body);
        *response = (struct http_response){.status = 500, .content_type = PLAIN_TEXT};
    }
    size_t size_bytes = 0;
    uint8_t *body = buffer_detach(&response->body, &size_bytes);
    call->status = response->status;
    call->answer_bytes = size_bytes;
    call->answer = MHD_create_response_from_buffer_with_free_callback(size_bytes, body,
                                                                      memory_free);
    if (call->answer == NULL) {
        memory_free(body);
    } else if (!add_headers(call->answer, response)) {
        MHD_destroy_response(call->answer);
        call->answer = NULL;
    }
}

static void answer_plainly(struct http_call *call, uint16_t status)
{
    struct http_response response = {.status = status, .content_type = PLAIN_TEXT};
    if (status == 405) {
        response.headers[0] = (struct http_header){"Allow", "GET, HEAD"};
    }
    buffer_append_format(&response.body, "%s\n", MHD_get_reason_phrase_for(status));
    set_answer(call, &response);
}

/* Where no page stands at "/" that leads on, whoever looks what there is is told here. */
static void answer_not_found(struct http_call *call)
{
    struct http_response response = {.status = 404, .content_type = PLAIN_TEXT};
    struct http_routes *routes = &call->server->routes;
    buffer_append_format(&response.body, "%s", MHD_get_reason_phrase_for(404));
    if (http_routes_find(routes, "/") == NULL) {
        buffer_append_format(&response.body, "; served are ");
        http_routes_list(routes, &response.body);
    }
    buffer_append_u8(&response.body, '\n');
    set_answer(call, &response);
}

static void refuse_foreign(struct http_call *call)
{
    struct http_response response = {
        .status = 403,
        .content_type = "application/json",
        .headers = {{"Cache-Control", "no-store"}, {"X-Content-Type-Options", "nosniff"}},
    };
    buffer_append_format(&response.body,
                         "{\"error\":{\"status\":\"PERMISSION_DENIED\",\"text\":"
                         "\"this is for this machine: ask for it as localhost\"}}\n");
    set_answer(call, &response);
}

static enum MHD_Result send_answer(struct http_call *call)
{
    if (call->answer == NULL) {
        return MHD_NO;
    }
    http_guests_await(&call->server->guests, call->guest, call->answer_bytes);
    enum MHD_Result result = MHD_queue_response(call->connection, call->status, call->answer);
    MHD_destroy_response(call->answer); /* MHD has its own hold of it */
    call->answer = NULL;
    return result;
}

/* --- calls -------------------------------------------------------------------------------------- */

const char *http_call_method(const struct http_call *call)
{
    return call->method;
}

const char *http_call_uri(const struct http_call *call)
{
    return call->uri;
}

const char *http_call_header(const struct http_call *call, const char *name)
{
    return MHD_lookup_connection_value(call->connection, MHD_HEADER_KIND, name);
}

static bool is_closing(struct http_server *server)
{
    pthread_mutex_lock(&server->lock);
    bool closing = server->closing;
    pthread_mutex_unlock(&server->lock);
    return closing;
}

bool http_call_is_awaited(const struct http_call *call)
{
    return !is_closing(call->server) && !http_guest_has_hung_up(call->guest);
}

static bool begin_call(struct http_server *server)
{
    pthread_mutex_lock(&server->lock);
    bool begun = !server->closing;
    server->call_count += begun;
    pthread_mutex_unlock(&server->lock);
    return begun;
}

void http_call_answer(struct http_call *call, struct http_response *response)
{
    struct http_server *server = call->server;
    set_answer(call, response);
    MHD_resume_connection(call->connection); /* from here on the call may be gone */
    pthread_mutex_lock(&server->lock);
    server->call_count--;
    pthread_cond_broadcast(&server->answered);
    pthread_mutex_unlock(&server->lock);
}

/* --- requests ----------------------------------------------------------------------------------- */

static bool only_reads(const struct http_call *call)
{
    return strcmp(call->method, "GET") == 0 || strcmp(call->method, "HEAD") == 0;
}

/* True: it is answered.  False: it was handed on, and may be answered by now. */
static bool answer(struct http_call *call)
{
    struct http_server *server = call->server;
    const struct http_route *route = http_routes_find(&server->routes, call->uri);
    call->handed_on = true;

    if (server->local && !http_host_is_local(http_call_header(call, "Host"))) {
        refuse_foreign(call);
    } else if (route == NULL) {
        answer_not_found(call);
    } else if (!route->tree && !only_reads(call)) {
        answer_plainly(call, 405);
    } else if (route->call_handler == NULL) {
        struct http_response response = {.status = 200, .content_type = PLAIN_TEXT};
        route->handler(route->context, route->path, &response);
        set_answer(call, &response);
    } else if (!begin_call(server)) {
        answer_plainly(call, 503);
    } else {
        http_guests_serve(&server->guests, call->guest);
        MHD_suspend_connection(call->connection);
        route->call_handler(route->context, call);
        return false;
    }
    return true;
}

/* The first line is there.  MHD takes the URI apart after this. */
static void *on_uri(void *context, const char *uri, struct MHD_Connection *connection)
{
    size_t uri_bytes = uri == NULL ? 0 : strlen(uri);
    struct http_call *call = memory_allocate_zeroed(1, sizeof *call + uri_bytes + 1);
    if (call != NULL) {
        call->server = context;
        call->connection = connection;
        call->guest = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT)
                          ->socket_context;
        memcpy(call->uri, uri == NULL ? "" : uri, uri_bytes);
    }
    return call;
}

/* MHD comes with the head, with each piece of the body, with its end, and when a call is answered. */
static enum MHD_Result on_request(void *context,
                                  struct MHD_Connection *connection,
                                  const char *path,
                                  const char *method,
                                  const char *version,
                                  const char *body,
                                  size_t *body_bytes,
                                  void **call_slot)
{
    struct http_call *call = *call_slot;
    (void)context;
    (void)connection;
    (void)path;
    (void)version;
    (void)body;

    if (call == NULL || call->guest == NULL) {
        return MHD_NO; /* there was no memory for it */
    }
    if (call->method == NULL || *body_bytes > 0) {
        call->method = method;
        *body_bytes = 0; /* nobody's body is read */
        return MHD_YES;
    }
    if (!call->handed_on && !answer(call)) {
        return MHD_YES;
    }
    return send_answer(call);
}

static void on_completed(void *context,
                         struct MHD_Connection *connection,
                         void **call_slot,
                         enum MHD_RequestTerminationCode why)
{
    struct http_call *call = *call_slot;
    (void)context;
    (void)connection;
    (void)why;
    if (call != NULL && call->guest != NULL) {
        http_guests_take_answer(&call->server->guests, call->guest);
    }
    if (call != NULL && call->answer != NULL) {
        MHD_destroy_response(call->answer);
    }
    memory_free(call);
}

/* --- opening and closing ------------------------------------------------------------------------ */

static void serve_metrics(void *context, const char *path, struct http_response *response)
{
    (void)context;
    (void)path;
    response->content_type = "text/plain; version=0.0.4; charset=utf-8";
    metrics_render(&response->body);
}

static void on_message(void *context, const char *format, va_list arguments)
    __attribute__((format(printf, 2, 0)));
static void on_message(void *context, const char *format, va_list arguments)
{
    char text[MESSAGE_BYTES_MAX];
    (void)context;
    (void)vsnprintf(text, sizeof text, format, arguments);
    text[strcspn(text, "\n")] = '\0';
    LOG_EVENT(LOG_LEVEL_INFO, "http_trouble", LOG_TEXT("text", text));
}

static enum status start(struct http_server *server, const char *address, struct error *ret_error)
{
    int fd = -1;
    enum status status = http_socket_listen(address, &fd, ret_error);
    if (status != STATUS_OK) {
        return status;
    }
    struct MHD_OptionItem options[] = {
        {MHD_OPTION_EXTERNAL_LOGGER, (intptr_t)on_message, NULL},
        {MHD_OPTION_LISTEN_SOCKET, fd, NULL},
        {MHD_OPTION_CONNECTION_LIMIT, HTTP_CONNECTIONS_MAX + CLOSING_MAX, NULL},
        {MHD_OPTION_CONNECTION_TIMEOUT, PATIENCE_SEC, NULL},
        {MHD_OPTION_CONNECTION_MEMORY_LIMIT, MEMORY_BYTES_MAX, NULL},
        {MHD_OPTION_STRICT_FOR_CLIENT, 1, NULL}, /* Host must be there, and no space in a URI */
        {MHD_OPTION_NOTIFY_CONNECTION, (intptr_t)on_connection, server},
        {MHD_OPTION_URI_LOG_CALLBACK, (intptr_t)on_uri, server},
        {MHD_OPTION_NOTIFY_COMPLETED, (intptr_t)on_completed, NULL},
        {MHD_OPTION_END, 0, NULL},
    };
    bool before = thread_patient_set(true); /* as nng's threads are */
    /* With epoll MHD 0.9.75 waits for more, up to a minute, where exactly 128 events have come; and there are few
     * enough of us for poll. */
    server->daemon = MHD_start_daemon(
        MHD_USE_POLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG, 0, NULL, NULL,
        on_request, server, MHD_OPTION_ARRAY, options, MHD_OPTION_END);
    (void)thread_patient_set(before);
    if (server->daemon == NULL) { /* and the socket is MHD's to close */
        return error_set(ret_error, STATUS_NO_MEMORY, "listen on %s: no memory or thread", address);
    }
    server->port = MHD_get_daemon_info(server->daemon, MHD_DAEMON_INFO_BIND_PORT)->port;
    return STATUS_OK;
}

enum status http_server_open(const char *address,
                             bool insecure,
                             struct http_server **ret_server,
                             struct error *ret_error)
{
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
    http_guests_init(&server->guests, HTTP_CONNECTIONS_MAX, HTTP_ANSWER_BYTES_MAX);
    pthread_mutex_init(&server->lock, NULL);
    pthread_cond_init(&server->answered, NULL);
    status = http_server_handle(server, "/metrics", serve_metrics, NULL);
    if (status != STATUS_OK) {
        (void)error_set(ret_error, status, "listen on %s: no memory", address);
    } else {
        status = start(server, address, ret_error);
    }
    if (status != STATUS_OK) {
        http_server_close(server);
        return status;
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

void http_server_close(struct http_server *server)
{
    if (server == NULL) {
        return;
    }
    pthread_mutex_lock(&server->lock);
    server->closing = true;
    while (server->call_count > 0) {
        pthread_cond_wait(&server->answered, &server->lock);
    }
    pthread_mutex_unlock(&server->lock);
    MHD_stop_daemon(server->daemon); /* its thread, and whom that serves; NULL is fine */
    http_routes_deinit(&server->routes);
    pthread_cond_destroy(&server->answered);
    pthread_mutex_destroy(&server->lock);
    memory_free(server);
}
