#include <inttypes.h>
#include <string.h>

#include "common/base/assert.h"
#include "common/base/endian.h"
#include "common/base/memory.h"
#include "common/io/transport/transport.h"
#include "common/io/transport/transport_address.h"
#include "common/io/transport/transport_stream.h"

#define CONNECT_TIMEOUT_DEFAULT_MS 5000
#define QUEUED_BYTES_MAX           LIMIT_MESSAGE_BYTES /* one message more is taken below it */

struct transport_connection {
    struct transport_connection_options options; /* its texts are the copies below */
    char *address;
    char *agent;
    struct transport_stream stream;
    nng_stream_dialer *dialer;
    nng_aio *dial_aio;
    bool ready; /* HELLO_ACK has come; receive callback only */
    atomic_bool goaway;
    atomic_bool closing; /* by us: nothing more is called */
    pthread_mutex_t lock;
    pthread_cond_t ended;
    bool is_down;
};

/* --- the handshake ----------------------------------------------------------------------------- */

static void say_hello(struct transport_connection *connection)
{
    struct buffer message = BUFFER_INIT;
    struct hello hello = {
        .version_oldest = WIRE_VERSION_OLDEST,
        .version_newest = WIRE_VERSION,
        .features = 0,
        .lane = connection->options.lane,
        .agent = bytes_of_text(connection->agent),
        .process = connection->options.process,
    };
    hello_encode(&hello, &message);
    struct outgoing *outgoing = message.failed ? NULL : outgoing_create(FRAME_HELLO, 0, &message);
    if (outgoing == NULL) {
        struct error error = {0};
        (void)error_set(&error, STATUS_NO_MEMORY, "no memory for the handshake");
        buffer_deinit(&message);
        transport_stream_close(&connection->stream, &error);
        return;
    }
    (void)transport_stream_send_urgent(&connection->stream, outgoing);
}

static void on_dialled(void *context)
{
    struct transport_connection *connection = context;
    int nng_error = nng_aio_result(connection->dial_aio);
    if (nng_error != 0) {
        struct error error = {0};
        (void)transport_address_failed("connect to", connection->address, nng_error, &error);
        transport_stream_close(&connection->stream, &error);
        return;
    }
    nng_stream *connected = nng_aio_get_output(connection->dial_aio, 0);
    /* Not for ipc: it has nothing to set. */
    (void)nng_stream_set_bool(connected, NNG_OPT_TCP_NODELAY, true);
    say_hello(connection);
    transport_stream_start(&connection->stream, connected, connection->options.connect_timeout_ms);
}

static bool is_known_status(uint32_t number)
{
    switch (number) {
#define STATUS_CASE(name, value, text) case (value):
        STATUS_LIST(STATUS_CASE)
#undef STATUS_CASE
        return true;
    default:
        return false;
    }
}

static enum status on_hello_ack(struct transport_connection *connection,
                                const struct stream_message *message,
                                struct error *ret_error)
{
    struct hello_ack ack;
    enum status status = hello_ack_decode(message->payload, &ack, ret_error);
    if (status != STATUS_OK) {
        return status;
    }
    if (ack.status != STATUS_OK) {
        status = is_known_status(ack.status) ? (enum status)ack.status : STATUS_UNKNOWN;
        return error_set(ret_error, status, "%.*s", (int)ack.text.size_bytes,
                         (const char *)ack.text.data);
    }
    if (ack.version < WIRE_VERSION_OLDEST || ack.version > WIRE_VERSION) {
        return error_set(ret_error, STATUS_VERSION,
                         "the other side chose wire version %" PRIu32 ", unknown here",
                         ack.version);
    }
    connection->ready = true;
    transport_stream_open(&connection->stream);
    if (!atomic_load(&connection->closing) && connection->options.on_ready != NULL) {
        connection->options.on_ready(connection->options.context, &ack);
    }
    return STATUS_OK;
}

/* --- the stream's events ----------------------------------------------------------------------- */

static enum status on_message(void *owner,
                              const struct stream_message *message,
                              struct error *ret_error)
{
    struct transport_connection *connection = owner;
    if (!connection->ready && message->type == FRAME_HELLO_ACK) {
        return on_hello_ack(connection, message, ret_error);
    }
    if (connection->ready && message->type == FRAME_RESPONSE) {
        if (!atomic_load(&connection->closing)) {
            connection->options.on_response(connection->options.context, message->request,
                                            message->payload, message->stream);
        }
        return STATUS_OK;
    }
    if (connection->ready && message->type == FRAME_GOAWAY) {
        atomic_store(&connection->goaway, true);
        return STATUS_OK;
    }
    return error_set(ret_error, STATUS_MALFORMED, "frame of type %d from a listener%s",
                     (int)message->type, connection->ready ? "" : " before its HELLO_ACK");
}

/* Before the handshake what cannot be understood is most likely not meant for us, as of a gateway's port: as
 * good as nobody there. */
static void tell_apart_strangers(const struct transport_connection *connection, struct error *error)
{
    if (!connection->ready && error->status == STATUS_MALFORMED) {
        (void)error_set(
            error, STATUS_UNAVAILABLE,
            "what listens at %s does not speak this protocol: is that the port of a gateway, or of a console?",
            connection->address);
    }
}

static void on_down(void *owner, const struct error *error)
{
    struct transport_connection *connection = owner;
    if (!atomic_load(&connection->closing) && connection->options.on_closed != NULL) {
        struct error told = *error;
        tell_apart_strangers(connection, &told);
        if (strstr(told.text, connection->address) == NULL) {
            (void)error_prefix(&told, "connection to %s", connection->address);
        }
        connection->options.on_closed(connection->options.context, &told);
    }
    pthread_mutex_lock(&connection->lock);
    connection->is_down = true;
    pthread_cond_broadcast(&connection->ended);
    pthread_mutex_unlock(&connection->lock);
}

/* Responses were asked for: there is always room for them. */
static bool wants_pause(void *owner)
{
    (void)owner;
    return false;
}

static bool may_resume(void *owner)
{
    (void)owner;
    return true;
}

static const struct stream_events connection_events = {
    .inbox = {.on_message = on_message, .wants_pause = wants_pause},
    .may_resume = may_resume,
    .on_down = on_down,
};

/* --- opening and closing ----------------------------------------------------------------------- */

static void connection_destroy(struct transport_connection *connection)
{
    if (connection->dial_aio != NULL) {
        nng_aio_free(connection->dial_aio);
    }
    if (connection->dialer != NULL) {
        nng_stream_dialer_free(connection->dialer);
    }
    transport_stream_deinit(&connection->stream);
    pthread_cond_destroy(&connection->ended);
    pthread_mutex_destroy(&connection->lock);
    memory_free(connection->address);
    memory_free(connection->agent);
    memory_free(connection);
}

/* An nng error. */
static int dial(struct transport_connection *connection)
{
    int error = nng_aio_alloc(&connection->dial_aio, on_dialled, connection);
    if (error == 0) {
        error = nng_stream_dialer_alloc(&connection->dialer, connection->address);
    }
    if (error == 0) {
        nng_aio_set_timeout(connection->dial_aio,
                            (nng_duration)connection->options.connect_timeout_ms);
        nng_stream_dialer_dial(connection->dialer, connection->dial_aio);
    }
    return error;
}

enum status transport_connect(const struct transport_connection_options *options,
                              struct transport_connection **ret_connection,
                              struct error *ret_error)
{
    ASSERT(options->on_response != NULL);
    enum status status = transport_address_check_dial(options->address, ret_error);
    if (status != STATUS_OK) {
        return status;
    }
    struct transport_connection *connection = memory_allocate_zeroed(1, sizeof *connection);
    if (connection == NULL ||
        transport_stream_init(&connection->stream, &connection_events, connection) != STATUS_OK) {
        memory_free(connection);
        return transport_address_failed("connect to", options->address, NNG_ENOMEM, ret_error);
    }
    pthread_mutex_init(&connection->lock, NULL);
    pthread_cond_init(&connection->ended, NULL);
    connection->options = *options;
    if (options->connect_timeout_ms == 0) {
        connection->options.connect_timeout_ms = CONNECT_TIMEOUT_DEFAULT_MS;
    }
    connection->address = memory_copy_text(bytes_of_text(options->address));
    connection->agent = memory_copy_text(bytes_of_text(options->agent));
    connection->options.address = connection->address;
    connection->options.agent = connection->agent;
    int error = NNG_ENOMEM;
    if (connection->address != NULL && connection->agent != NULL) {
        error = dial(connection);
    }
    if (error != 0) {
        connection_destroy(connection);
        return transport_address_failed("connect to", options->address, error, ret_error);
    }
    *ret_connection = connection;
    return STATUS_OK;
}

void transport_connection_close(struct transport_connection *connection)
{
    struct error error = {0};
    (void)error_set(&error, STATUS_CLOSED, "closed by this side");
    atomic_store(&connection->closing, true);
    nng_stream_dialer_close(connection->dialer);
    nng_aio_wait(connection->dial_aio);
    transport_stream_close(&connection->stream, &error);
    pthread_mutex_lock(&connection->lock);
    while (!connection->is_down) {
        pthread_cond_wait(&connection->ended, &connection->lock);
    }
    pthread_mutex_unlock(&connection->lock);
    transport_stream_wait(&connection->stream);
    connection_destroy(connection);
}

/* --- sending ----------------------------------------------------------------------------------- */

enum status transport_connection_send(struct transport_connection *connection,
                                      uint64_t request,
                                      enum method method,
                                      struct buffer *message)
{
    ASSERT(request > 0);
    if (message->failed) {
        return STATUS_NO_MEMORY;
    }
    if (message->size_bytes > LIMIT_MESSAGE_BYTES ||
        transport_stream_queued_bytes(&connection->stream) >= QUEUED_BYTES_MAX) {
        return STATUS_RESOURCE_EXHAUSTED;
    }
    if (atomic_load(&connection->goaway)) {
        return STATUS_CLOSED;
    }
    struct outgoing *outgoing = outgoing_create(FRAME_REQUEST, request, message);
    if (outgoing == NULL) {
        return STATUS_NO_MEMORY;
    }
    outgoing->method = (uint16_t)method;
    return transport_stream_send(&connection->stream, outgoing) ? STATUS_OK : STATUS_CLOSED;
}

/* Without memory the signal is lost, and with it the stream it belongs to: close. */
static void send_signal(struct transport_connection *connection,
                        enum frame_type type,
                        uint64_t request,
                        struct bytes payload)
{
    struct buffer message = BUFFER_INIT;
    buffer_append_bytes(&message, payload);
    struct outgoing *outgoing = message.failed ? NULL : outgoing_create(type, request, &message);
    if (outgoing == NULL) {
        struct error error = {0};
        (void)error_set(&error, STATUS_NO_MEMORY, "no memory for a signal");
        buffer_deinit(&message);
        transport_stream_close(&connection->stream, &error);
        return;
    }
    (void)transport_stream_send(&connection->stream, outgoing);
}

void transport_connection_credit(struct transport_connection *connection,
                                 uint64_t request,
                                 uint64_t bytes)
{
    uint8_t payload[8];
    store_le64(payload, bytes);
    send_signal(connection, FRAME_CREDIT, request, bytes_of(payload, sizeof payload));
}

void transport_connection_cancel(struct transport_connection *connection, uint64_t request)
{
    send_signal(connection, FRAME_CANCEL, request, BYTES_EMPTY);
}
