#include "common/io/http_connection.h"

#include <string.h>

#include "common/base/assert.h"
#include "common/base/memory.h"
#include "common/io/clock.h"
#include "common/io/http.h"

#define MS_NS INT64_C(1000000)

/* --- the end ------------------------------------------------------------------------------------ */

static void go_down(struct http_connection *connection)
{
    http_connection_close(connection);
    connection->events->on_down(connection->owner, connection);
    nng_aio_reap(connection->aio); /* this thread may be in its callback */
    nng_stream_free(connection->stream);
    buffer_deinit(&connection->head);
    buffer_deinit(&connection->body);
    memory_free(connection);
}

void http_connection_close(struct http_connection *connection)
{
    atomic_store(&connection->closed, true);
    nng_stream_close(connection->stream);
}

/* --- what is under way -------------------------------------------------------------------------- */

static void begin_patience(struct http_connection *connection)
{
    connection->until_ns = clock_monotonic_ns() + HTTP_PATIENCE_MS * MS_NS;
}

/* For the operation that begins now; false: it is used up. */
static bool set_patience(struct http_connection *connection)
{
    int64_t left_ms = (connection->until_ns - clock_monotonic_ns()) / MS_NS;
    if (left_ms <= 0) {
        return false;
    }
    nng_aio_set_timeout(connection->aio, (nng_duration)left_ms);
    return true;
}

static void receive(struct http_connection *connection)
{
    nng_iov part = {connection->in + connection->in_bytes,
                    sizeof connection->in - connection->in_bytes};
    ASSERT(part.iov_len > 0);
    if (!set_patience(connection)) {
        go_down(connection);
        return;
    }
    int error = nng_aio_set_iov(connection->aio, 1, &part);
    ASSERT(error == 0);
    nng_stream_recv(connection->stream, connection->aio);
}

static void send_rest(struct http_connection *connection)
{
    nng_iov parts[2];
    unsigned count = 0;
    size_t skip_bytes = connection->sent_bytes;
    const struct buffer *buffers[] = {&connection->head, &connection->body};

    for (size_t i = 0; i < 2; i++) {
        size_t skipped_bytes = skip_bytes < buffers[i]->size_bytes ? skip_bytes
                                                                   : buffers[i]->size_bytes;
        skip_bytes -= skipped_bytes;
        if (skipped_bytes < buffers[i]->size_bytes) {
            parts[count++] = (nng_iov){buffers[i]->data + skipped_bytes,
                                       buffers[i]->size_bytes - skipped_bytes};
        }
    }
    if (!set_patience(connection)) {
        go_down(connection);
        return;
    }
    int error = nng_aio_set_iov(connection->aio, count, parts);
    ASSERT(error == 0);
    nng_stream_send(connection->stream, connection->aio);
}

const char *http_reason(uint16_t status)
{
    static const struct {
        uint16_t status;
        const char *reason;
    } reasons[] = {
        {200, "OK"},
        {304, "Not Modified"},
        {400, "Bad Request"},
        {403, "Forbidden"},
        {404, "Not Found"},
        {405, "Method Not Allowed"},
        {431, "Request Header Fields Too Large"},
        {500, "Internal Server Error"},
        {503, "Service Unavailable"},
        {504, "Gateway Timeout"},
        {505, "HTTP Version Not Supported"},
    };
    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++) {
        if (reasons[i].status == status) {
            return reasons[i].reason;
        }
    }
    return "";
}

/* --- reading ------------------------------------------------------------------------------------ */

static void refuse(struct http_connection *connection, uint16_t status)
{
    struct http_response response = {.status = status, .content_type = "text/plain"};
    connection->request = (struct http_request){.method = "GET", .uri = "/"};
    buffer_append_format(&response.body, "%s\n", http_reason(status));
    http_connection_answer(connection, &response);
}

/* Of what has come: a request, or more is to come. */
static void go_on_reading(struct http_connection *connection)
{
    uint16_t status = http_request_parse(connection->in, connection->in_bytes,
                                         &connection->request);
    if (status == HTTP_REQUEST_MORE) {
        receive(connection);
        return;
    }
    atomic_store(&connection->reading_since_ns, 0);
    if (status == HTTP_REQUEST_WHOLE) {
        connection->ends = !connection->request.keeps_open || connection->request.has_body;
        connection->events->on_request(connection->owner, connection);
    } else {
        connection->ends = true;
        refuse(connection, status);
    }
}

static void begin_reading(struct http_connection *connection)
{
    begin_patience(connection);
    atomic_store(&connection->reading_since_ns, clock_monotonic_ns());
    go_on_reading(connection);
}

/* --- answering ---------------------------------------------------------------------------------- */

static void write_head(struct http_connection *connection, const struct http_response *response)
{
    struct buffer *head = &connection->head;
    uint16_t status = response->status;
    buffer_append_format(head, "HTTP/1.1 %u %s\r\nConnection: %s\r\n", (unsigned)status,
                         http_reason(status), connection->ends ? "close" : "keep-alive");
    if (status != 304) { /* it has no body, and says nothing of the one that is known */
        buffer_append_format(head, "Content-Type: %s\r\nContent-Length: %zu\r\n",
                             response->content_type, response->body.size_bytes);
    }
    for (const struct http_header *header = response->headers; header->name != NULL; header++) {
        buffer_append_format(head, "%s: %s\r\n", header->name, header->value);
    }
    buffer_append(head, "\r\n", 2);
}

void http_connection_answer(struct http_connection *connection, struct http_response *response)
{
    static const struct http_response failed = {.status = 500, .content_type = "text/plain"};
    bool whole = !response->body.failed;
    write_head(connection, whole ? response : &failed);
    if (!whole || strcmp(connection->request.method, "HEAD") == 0) {
        buffer_deinit(&response->body);
    }
    connection->body = response->body;
    response->body = BUFFER_INIT;
    connection->sent_bytes = 0;
    if (connection->head.failed || atomic_load(&connection->closed)) {
        go_down(connection);
        return;
    }
    begin_patience(connection);
    send_rest(connection);
}

/* The next request may have come with the last. */
static void end_answer(struct http_connection *connection)
{
    size_t head_bytes = connection->request.head_bytes;
    buffer_reset(&connection->head);
    buffer_deinit(&connection->body);
    if (connection->ends) {
        go_down(connection);
        return;
    }
    connection->in_bytes -= head_bytes;
    memmove(connection->in, connection->in + head_bytes, connection->in_bytes);
    begin_reading(connection);
}

/* --- nng ---------------------------------------------------------------------------------------- */

static void on_done(void *context)
{
    struct http_connection *connection = context;
    size_t count = nng_aio_count(connection->aio);
    if (nng_aio_result(connection->aio) != 0 || atomic_load(&connection->closed)) {
        go_down(connection);
        return;
    }
    if (atomic_load(&connection->reading_since_ns) != 0) {
        connection->in_bytes += count;
        go_on_reading(connection);
        return;
    }
    connection->sent_bytes += count;
    if (connection->sent_bytes < connection->head.size_bytes + connection->body.size_bytes) {
        send_rest(connection);
    } else {
        end_answer(connection);
    }
}

struct http_connection *http_connection_create(const struct http_connection_events *events,
                                               void *owner,
                                               nng_stream *stream)
{
    struct http_connection *connection = memory_allocate_zeroed(1, sizeof *connection);
    if (connection == NULL || nng_aio_alloc(&connection->aio, on_done, connection) != 0) {
        memory_free(connection);
        nng_stream_free(stream);
        return NULL;
    }
    connection->events = events;
    connection->owner = owner;
    connection->stream = stream;
    atomic_store(&connection->reading_since_ns, clock_monotonic_ns());
    return connection;
}

void http_connection_start(struct http_connection *connection)
{
    begin_reading(connection);
}
