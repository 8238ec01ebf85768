/*
 * A client over libgrpc, for tests of the gateway's calls: bytes in, bytes out, nothing generated.
 *
 *     struct rpc_client client;
 *     rpc_client_open(&client, address, NULL);
 *     struct rpc_client_call call;
 *     rpc_client_begin(&client, &(struct rpc_client_request){.path = "/a.B/C", ...}, &call);
 *     while (rpc_client_next(&call)) { ... call.message ... }
 *     rpc_client_end(&call);                            call.code, call.text, call.trailers
 *     rpc_client_free(&call);
 *     rpc_client_close(&client);
 *
 * It moves only while it is waited for: between two calls of these functions it reads nothing from
 * its connection, as a reader that stops.  Each client has a connection of its own.
 *
 * Thread rule: one thread a client.
 */
#ifndef TESTS_SUPPORT_RPC_CLIENT_H
#define TESTS_SUPPORT_RPC_CLIENT_H

#include <criterion/criterion.h>
#include <string.h>

#include <grpc/byte_buffer_reader.h>
#include <grpc/grpc.h>
#include <grpc/grpc_security.h>
#include <grpc/support/time.h>

#include "common/base/bytes.h"

#define RPC_CLIENT_WAIT_SECONDS 60

struct rpc_client {
    grpc_channel *channel;
    grpc_completion_queue *queue;
};

struct rpc_client_event {
    bool is_done;
    bool ok;
};

struct rpc_client_request {
    const char *path;
    struct bytes message;
    bool has_none;        /* no message at all */
    uint32_t deadline_ms; /* 0 = none */
    const char *header;   /* one of the caller's; NULL = none */
    const char *header_value;
};

struct rpc_client_call {
    struct rpc_client *client;
    grpc_call *call;
    struct rpc_client_event begun;
    struct rpc_client_event headed;
    struct rpc_client_event received;
    struct rpc_client_event ended;
    bool is_receiving;
    grpc_metadata_array headers;
    grpc_byte_buffer *incoming;
    grpc_slice piece; /* holds message */
    struct bytes message;
    grpc_metadata_array trailers;
    grpc_status_code code;
    grpc_slice detail;
    char text[2048];
};

/* certificates NULL = plaintext. */
struct rpc_client_tls {
    const char *authority; /* PEM: whom to believe */
    const char *certificate;
    const char *key; /* NULL = none */
};

/* --- a connection ------------------------------------------------------------------------------- */

static inline grpc_arg rpc_client_argument(char *key, int value)
{
    return (grpc_arg){.type = GRPC_ARG_INTEGER, .key = key, .value.integer = value};
}

static inline grpc_channel_credentials *rpc_client_credentials(const struct rpc_client_tls *tls)
{
    if (tls == NULL) {
        return grpc_insecure_credentials_create();
    }
    grpc_ssl_pem_key_cert_pair pair = {tls->key, tls->certificate};
    return grpc_ssl_credentials_create(tls->authority, tls->key != NULL ? &pair : NULL, NULL, NULL);
}

static inline void rpc_client_open(struct rpc_client *client,
                                   const char *address,
                                   const struct rpc_client_tls *tls)
{
    grpc_arg list[] = {
        rpc_client_argument((char *)GRPC_ARG_MAX_RECEIVE_MESSAGE_LENGTH, -1),
        rpc_client_argument((char *)GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1),
        rpc_client_argument((char *)GRPC_ARG_ENABLE_RETRIES, 0),
        rpc_client_argument((char *)GRPC_ARG_ENABLE_HTTP_PROXY, 0),
        rpc_client_argument((char *)GRPC_ARG_HTTP2_BDP_PROBE, 0), /* windows stay as they are */
        rpc_client_argument((char *)GRPC_ARG_MAX_METADATA_SIZE, 8192),
    };
    grpc_channel_args arguments = {sizeof list / sizeof *list, list};
    grpc_init();
    grpc_channel_credentials *credentials = rpc_client_credentials(tls);
    cr_assert_not_null(credentials);
    client->queue = grpc_completion_queue_create_for_next(NULL);
    client->channel = grpc_channel_create(address, credentials, &arguments);
    grpc_channel_credentials_release(credentials);
    cr_assert_not_null(client->channel);
}

/* All calls were freed. */
static inline void rpc_client_close(struct rpc_client *client)
{
    grpc_channel_destroy(client->channel);
    grpc_completion_queue_shutdown(client->queue);
    while (grpc_completion_queue_next(client->queue, gpr_inf_future(GPR_CLOCK_REALTIME), NULL)
               .type != GRPC_QUEUE_SHUTDOWN) {
    }
    grpc_completion_queue_destroy(client->queue);
    grpc_shutdown();
}

/* One event, if there is one within the time. */
static inline bool rpc_client_step(struct rpc_client *client, int milliseconds)
{
    gpr_timespec until = gpr_time_add(gpr_now(GPR_CLOCK_REALTIME),
                                      gpr_time_from_millis(milliseconds, GPR_TIMESPAN));
    grpc_event next = grpc_completion_queue_next(client->queue, until, NULL);
    if (next.type != GRPC_OP_COMPLETE) {
        return false;
    }
    struct rpc_client_event *event = next.tag;
    event->ok = next.success != 0;
    event->is_done = true;
    return true;
}

static inline void rpc_client_wait(struct rpc_client *client, struct rpc_client_event *event)
{
    while (!event->is_done) {
        cr_assert(rpc_client_step(client, RPC_CLIENT_WAIT_SECONDS * 1000), "nothing comes");
    }
}

/* --- a call --------------------------------------------------------------------------------------- */

static inline void rpc_client_start(struct rpc_client_call *call,
                                    const grpc_op *operations,
                                    size_t count,
                                    struct rpc_client_event *event)
{
    *event = (struct rpc_client_event){false, false};
    grpc_call_error error = grpc_call_start_batch(call->call, operations, count, event, NULL);
    cr_assert_eq(error, GRPC_CALL_OK, "%s", grpc_call_error_to_string(error));
}

static inline void rpc_client_send(struct rpc_client_call *call,
                                   const struct rpc_client_request *request)
{
    grpc_op operations[3] = {0};
    size_t count = 0;
    grpc_metadata header = {0};
    grpc_byte_buffer *buffer = NULL;
    operations[count++].op = GRPC_OP_SEND_INITIAL_METADATA;
    if (request->header != NULL) {
        header.key = grpc_slice_from_copied_string(request->header);
        header.value = grpc_slice_from_copied_string(request->header_value);
        operations[0].data.send_initial_metadata.count = 1;
        operations[0].data.send_initial_metadata.metadata = &header;
    }
    if (!request->has_none) {
        grpc_slice slice = grpc_slice_from_copied_buffer((const char *)request->message.data,
                                                         request->message.size_bytes);
        buffer = grpc_raw_byte_buffer_create(&slice, 1);
        grpc_slice_unref(slice);
        operations[count].op = GRPC_OP_SEND_MESSAGE;
        operations[count++].data.send_message.send_message = buffer;
    }
    operations[count++].op = GRPC_OP_SEND_CLOSE_FROM_CLIENT;
    rpc_client_start(call, operations, count, &call->begun);
    grpc_byte_buffer_destroy(buffer);
    if (request->header != NULL) {
        grpc_slice_unref(header.key);
        grpc_slice_unref(header.value);
    }
}

static inline void rpc_client_begin(struct rpc_client *client,
                                    const struct rpc_client_request *request,
                                    struct rpc_client_call *call)
{
    gpr_timespec deadline =
        request->deadline_ms == 0
            ? gpr_inf_future(GPR_CLOCK_REALTIME)
            : gpr_time_add(gpr_now(GPR_CLOCK_REALTIME),
                           gpr_time_from_millis((int64_t)request->deadline_ms, GPR_TIMESPAN));
    *call = (struct rpc_client_call){.client = client, .piece = grpc_empty_slice()};
    grpc_metadata_array_init(&call->headers);
    grpc_metadata_array_init(&call->trailers);
    grpc_slice path = grpc_slice_from_copied_string(request->path);
    call->call = grpc_channel_create_call(client->channel, NULL, 0, client->queue, path, NULL,
                                          deadline, NULL);
    grpc_slice_unref(path);
    rpc_client_send(call, request);
    grpc_op headers = {.op = GRPC_OP_RECV_INITIAL_METADATA};
    headers.data.recv_initial_metadata.recv_initial_metadata = &call->headers;
    rpc_client_start(call, &headers, 1, &call->headed);
    grpc_op status = {.op = GRPC_OP_RECV_STATUS_ON_CLIENT};
    status.data.recv_status_on_client.trailing_metadata = &call->trailers;
    status.data.recv_status_on_client.status = &call->code;
    status.data.recv_status_on_client.status_details = &call->detail;
    rpc_client_start(call, &status, 1, &call->ended);
}

/* Ask for the next message, without waiting for it. */
static inline void rpc_client_receive(struct rpc_client_call *call)
{
    if (!call->is_receiving) {
        grpc_op operation = {.op = GRPC_OP_RECV_MESSAGE};
        operation.data.recv_message.recv_message = &call->incoming;
        call->incoming = NULL;
        call->is_receiving = true;
        rpc_client_start(call, &operation, 1, &call->received);
    }
}

/* False: no more. */
static inline bool rpc_client_next(struct rpc_client_call *call)
{
    grpc_byte_buffer_reader reader;
    rpc_client_receive(call);
    rpc_client_wait(call->client, &call->received);
    call->is_receiving = false;
    if (call->incoming == NULL) {
        return false;
    }
    cr_assert(grpc_byte_buffer_reader_init(&reader, call->incoming));
    grpc_slice_unref(call->piece);
    call->piece = grpc_byte_buffer_reader_readall(&reader);
    call->message = bytes_of(GRPC_SLICE_START_PTR(call->piece), GRPC_SLICE_LENGTH(call->piece));
    grpc_byte_buffer_reader_destroy(&reader);
    grpc_byte_buffer_destroy(call->incoming);
    call->incoming = NULL;
    return true;
}

/* Reads what is left, and waits for the status. */
static inline grpc_status_code rpc_client_end(struct rpc_client_call *call)
{
    while (rpc_client_next(call)) {
    }
    rpc_client_wait(call->client, &call->ended);
    rpc_client_wait(call->client, &call->headed);
    rpc_client_wait(call->client, &call->begun);
    size_t size = GRPC_SLICE_LENGTH(call->detail);
    size = size < sizeof call->text ? size : sizeof call->text - 1;
    memcpy(call->text, GRPC_SLICE_START_PTR(call->detail), size);
    call->text[size] = '\0';
    return call->code;
}

/* After its end. */
static inline void rpc_client_free(struct rpc_client_call *call)
{
    grpc_slice_unref(call->piece);
    grpc_slice_unref(call->detail);
    grpc_metadata_array_destroy(&call->headers);
    grpc_metadata_array_destroy(&call->trailers);
    grpc_call_unref(call->call);
}

static inline void rpc_client_cancel(struct rpc_client_call *call)
{
    (void)grpc_call_cancel(call->call, NULL);
}

/* Of the trailers; BYTES_EMPTY = none. */
static inline struct bytes rpc_client_trailer(const struct rpc_client_call *call, const char *name)
{
    for (size_t i = 0; i < call->trailers.count; i++) {
        const grpc_metadata *each = &call->trailers.metadata[i];
        if (grpc_slice_str_cmp(each->key, name) == 0) {
            return bytes_of(GRPC_SLICE_START_PTR(each->value), GRPC_SLICE_LENGTH(each->value));
        }
    }
    return BYTES_EMPTY;
}

#endif /* TESTS_SUPPORT_RPC_CLIENT_H */
