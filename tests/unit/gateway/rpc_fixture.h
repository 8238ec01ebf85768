/*
 * A server of calls for the tests of gateway/rpc, with methods that do what a test needs.  All take
 * and give a google.protobuf.BytesValue.
 *
 *     Echo      answers what was asked
 *     Stream    "COUNT SIZE": so many messages of so many bytes, one at a time
 *     Hold      keeps the call until it is cancelled, or the test answers it
 *     Patience  how long the caller waits, in milliseconds, 60 000 at most
 *     Header    the value of x-test
 *     Fail      NOT_FOUND, with as many bytes of details as the request says
 *     Reserve   "BYTES": reserves them, and answers yes or no
 *     Borrow    "BYTES": reserves them, gives them back, and does so again
 *     Answer    "BYTES CHANGE": answers with so many, if they can be reserved; CHANGE 1: as to a change
 */
#ifndef TESTS_UNIT_GATEWAY_RPC_FIXTURE_H
#define TESTS_UNIT_GATEWAY_RPC_FIXTURE_H

#include "tests/support/rpc_client.h"
#include "tests/support/wait_for.h"

#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

#include "gateway/rpc/rpc.h"
#include "protobuf.pb-c.h"

typedef Google__Protobuf__BytesValue Value;

struct service {
    struct rpc_server *server;
    atomic_uint begun;     /* calls that reached a method */
    atomic_uint cancelled; /* times that on_cancelled came */
    atomic_uint sent;      /* messages of streams that are out */
    atomic_uint streams;   /* that have ended */
    atomic_uint ended;     /* what on_ended was told */
    atomic_uint codes[17];
    atomic_bool keeps; /* Hold: cancellation does not finish the call */
    _Atomic(struct rpc_call *) held;
};

/* --- messages -------------------------------------------------------------------------------- */

static inline Value value_of(struct bytes bytes)
{
    Value value;
    google__protobuf__bytes_value__init(&value);
    value.value.data = (uint8_t *)(uintptr_t)bytes.data;
    value.value.len = bytes.size_bytes;
    return value;
}

/* Encoded; the test frees it, or ends. */
static inline struct bytes encoded(struct bytes bytes)
{
    Value value = value_of(bytes);
    uint8_t *data = malloc(google__protobuf__bytes_value__get_packed_size(&value) + 1);
    return bytes_of(data, google__protobuf__bytes_value__pack(&value, data));
}

/* What the last message of a call holds. */
static inline Value *decoded(const struct rpc_client_call *call)
{
    Value *value = google__protobuf__bytes_value__unpack(NULL, call->message.size_bytes,
                                                         call->message.data);
    cr_assert_not_null(value);
    return value;
}

/* The number that stands in a request. */
static inline unsigned long number_of(const ProtobufCMessage *request, unsigned long *ret_second)
{
    const Value *value = (const Value *)request;
    char text[64] = {0};
    unsigned long numbers[2] = {0, 0};
    memcpy(text, value->value.data, value->value.len < 63 ? value->value.len : 63);
    (void)sscanf(text, "%lu %lu", &numbers[0], &numbers[1]);
    if (ret_second != NULL) {
        *ret_second = numbers[1];
    }
    return numbers[0];
}

static inline void answer(struct rpc_call *call, struct bytes bytes)
{
    Value value = value_of(bytes);
    rpc_answer(call, &value.base);
}

/* --- methods --------------------------------------------------------------------------------- */

static inline void run_echo(void *context, struct rpc_call *call, const ProtobufCMessage *request)
{
    const Value *value = (const Value *)request;
    atomic_fetch_add(&((struct service *)context)->begun, 1);
    answer(call, bytes_of(value->value.data, value->value.len));
}

static inline void run_change(void *context, struct rpc_call *call, const ProtobufCMessage *request)
{
    (void)context;
    rpc_answer_change(call, request);
}

struct stream {
    struct service *service;
    struct rpc_call *call;
    unsigned long left;
    struct bytes piece;
};

static inline void stream_on(void *context)
{
    struct stream *stream = context;
    struct service *service = stream->service;
    Value value = value_of(stream->piece);
    if (stream->left == 0 || rpc_call_is_cancelled(stream->call)) {
        rpc_finish_ok(stream->call); /* and the stream's memory may be gone */
        atomic_fetch_add(&service->streams, 1);
        return;
    }
    stream->left--;
    atomic_fetch_add(&service->sent, 1);
    if (rpc_send(stream->call, &value.base, stream_on, stream) != STATUS_OK) {
        rpc_fail(stream->call, EDUBBA_UNAVAILABLE, "No memory");
        atomic_fetch_add(&service->streams, 1);
    }
}

static inline void run_stream(void *context, struct rpc_call *call, const ProtobufCMessage *request)
{
    unsigned long size = 0;
    unsigned long count = number_of(request, &size);
    atomic_fetch_add(&((struct service *)context)->begun, 1);
    struct stream *stream = arena_allocate(rpc_call_arena(call), sizeof *stream);
    uint8_t *piece = arena_allocate(rpc_call_arena(call), size + 1);
    cr_assert(stream != NULL && piece != NULL);
    memset(piece, 's', size);
    *stream = (struct stream){context, call, count, bytes_of(piece, size)};
    stream_on(stream);
}

static inline void on_hold_cancelled(void *context)
{
    struct service *service = context;
    struct rpc_call *call = atomic_load(&service->held);
    atomic_fetch_add(&service->cancelled, 1);
    if (!atomic_load(&service->keeps) && call != NULL) {
        atomic_store(&service->held, NULL);
        rpc_fail(call, EDUBBA_CANCELLED, "Nobody waits");
    }
}

static inline void run_hold(void *context, struct rpc_call *call, const ProtobufCMessage *request)
{
    struct service *service = context;
    (void)request;
    atomic_store(&service->held, call);
    rpc_call_on_cancelled(call, on_hold_cancelled, service);
    atomic_fetch_add(&service->begun, 1);
}

static inline void run_patience(void *context,
                                struct rpc_call *call,
                                const ProtobufCMessage *request)
{
    char text[32];
    (void)context;
    (void)request;
    (void)snprintf(text, sizeof text, "%u", rpc_call_patience_ms(call, 60000));
    answer(call, bytes_of_text(text));
}

static inline void run_header(void *context, struct rpc_call *call, const ProtobufCMessage *request)
{
    (void)context;
    (void)request;
    answer(call, rpc_call_header(call, "x-test"));
}

static inline void run_fail(void *context, struct rpc_call *call, const ProtobufCMessage *request)
{
    static uint8_t details[65536];
    (void)context;
    memset(details, 0xd7, sizeof details);
    struct rpc_status status = {EDUBBA_NOT_FOUND, "Not found: Bücher\n100 %",
                                bytes_of(details, number_of(request, NULL))};
    rpc_finish(call, &status);
}

static inline void run_reserve(void *context,
                               struct rpc_call *call,
                               const ProtobufCMessage *request)
{
    (void)context;
    bool is_let_in = rpc_call_reserve(call, number_of(request, NULL));
    answer(call, bytes_of_text(is_let_in ? "yes" : "no"));
}

static inline void run_borrow(void *context, struct rpc_call *call, const ProtobufCMessage *request)
{
    (void)context;
    bool is_let_in = true;
    for (int i = 0; i < 2; i++) {
        is_let_in = is_let_in && rpc_call_reserve(call, number_of(request, NULL));
        rpc_call_give_back(call, is_let_in ? number_of(request, NULL) : 0);
    }
    answer(call, bytes_of_text(is_let_in ? "yes" : "no"));
}

static inline void run_answer(void *context, struct rpc_call *call, const ProtobufCMessage *request)
{
    unsigned long is_change = 0;
    unsigned long size = number_of(request, &is_change);
    uint8_t *bytes = calloc(size, 1);
    Value value = value_of(bytes_of(bytes, size));
    atomic_fetch_add(&((struct service *)context)->begun, 1);
    if (rpc_call_reserve_answer(call, &value.base, is_change != 0)) {
        rpc_answer(call, &value.base);
    } else {
        rpc_fail(call, EDUBBA_UNAVAILABLE, "No room");
    }
    free(bytes);
}

/* --- the server ------------------------------------------------------------------------------ */

static inline void on_ended(void *context,
                            size_t method,
                            enum edubba_code code,
                            int64_t duration_ns)
{
    struct service *service = context;
    (void)method;
    if (duration_ns >= 0 && (unsigned)code < 17) {
        atomic_fetch_add(&service->codes[code], 1);
    }
    atomic_fetch_add(&service->ended, 1);
}

static const ProtobufCMessageDescriptor
    *const value_kind = &google__protobuf__bytes_value__descriptor;

static inline struct rpc_settings service_settings(struct service *service)
{
    static struct rpc_method methods[] = {
        {"/test.Test/Echo", NULL, run_echo},       {"/test.Test/Stream", NULL, run_stream},
        {"/test.Test/Hold", NULL, run_hold},       {"/test.Test/Patience", NULL, run_patience},
        {"/test.Test/Header", NULL, run_header},   {"/test.Test/Fail", NULL, run_fail},
        {"/test.Test/Reserve", NULL, run_reserve}, {"/test.Test/Borrow", NULL, run_borrow},
        {"/test.Test/Change", NULL, run_change},   {"/test.Test/Answer", NULL, run_answer},
    };
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
        methods[i].request = value_kind;
    }
    return (struct rpc_settings){
        .address = "127.0.0.1:0",
        .methods = methods,
        .method_count = sizeof methods / sizeof *methods,
        .context = service,
        .thread_count = 2,
        .request_memory_max = 64 << 20,
        .message_bytes_max = 1 << 20,
        .keepalive_min_ms = 10000,
        .on_ended = on_ended,
    };
}

static inline void service_open(struct service *service, const struct rpc_settings *settings)
{
    struct error error = {.status = STATUS_OK};
    enum status status = rpc_server_open(settings, &service->server, &error);
    cr_assert_eq(status, STATUS_OK, "%s", error.text);
}

/* With what most tests take, and a client of it. */
static inline void service_begin(struct service *service, struct rpc_client *client)
{
    struct rpc_settings settings = service_settings(service);
    *service = (struct service){0};
    service_open(service, &settings);
    rpc_client_open(client, rpc_server_address(service->server), NULL);
}

/* Nothing is left behind. */
static inline void service_end(struct service *service, struct rpc_client *client)
{
    rpc_client_close(client);
    rpc_server_drain(service->server, 5000);
    cr_assert_eq(rpc_server_request_bytes(service->server), 0);
    rpc_server_close(service->server);
}

/* --- calls ----------------------------------------------------------------------------------- */

static inline void begin_call(struct rpc_client *client,
                              const char *path,
                              struct bytes value,
                              struct rpc_client_call *call)
{
    struct bytes message = encoded(value);
    rpc_client_begin(client, &(struct rpc_client_request){.path = path, .message = message}, call);
    free((void *)(uintptr_t)message.data);
}

/* The answer as a text; "" and the code when there is none. */
static inline grpc_status_code ask(struct rpc_client *client,
                                   const struct rpc_client_request *request,
                                   char *ret_text,
                                   size_t size)
{
    struct rpc_client_call call;
    ret_text[0] = '\0';
    rpc_client_begin(client, request, &call);
    if (rpc_client_next(&call)) {
        Value *value = decoded(&call);
        (void)snprintf(ret_text, size, "%.*s", (int)value->value.len, (char *)value->value.data);
        google__protobuf__bytes_value__free_unpacked(value, NULL);
    }
    grpc_status_code code = rpc_client_end(&call);
    if (code != GRPC_STATUS_OK) {
        (void)snprintf(ret_text, size, "%.*s", (int)size - 1, call.text);
    }
    rpc_client_free(&call);
    return code;
}

static inline grpc_status_code ask_value(
    struct rpc_client *client, const char *path, struct bytes value, char *ret_text, size_t size)
{
    struct bytes message = encoded(value);
    grpc_status_code code = ask(
        client, &(struct rpc_client_request){.path = path, .message = message}, ret_text, size);
    free((void *)(uintptr_t)message.data);
    return code;
}

/* --- what is written to standard error -------------------------------------------------------- */

struct silence {
    int before;
    FILE *file;
};

static inline struct silence silence_begin(void)
{
    struct silence silence = {dup(STDERR_FILENO), tmpfile()};
    cr_assert_not_null(silence.file);
    (void)fflush(stderr);
    cr_assert_neq(dup2(fileno(silence.file), STDERR_FILENO), -1);
    return silence;
}

/* How many bytes were written since then. */
static inline long silence_end(struct silence *silence)
{
    (void)fflush(stderr);
    cr_assert_neq(dup2(silence->before, STDERR_FILENO), -1);
    (void)close(silence->before);
    (void)fseek(silence->file, 0, SEEK_END);
    long bytes = ftell(silence->file);
    (void)fclose(silence->file);
    return bytes;
}

#endif /* TESTS_UNIT_GATEWAY_RPC_FIXTURE_H */
