#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <grpc/byte_buffer.h>

#include "common/base/assert.h"
#include "common/base/memory.h"
#include "common/io/clock.h"
#include "gateway/rpc/rpc_internal.h"

#define SLICE_BYTES_SMALL 4096 /* libgrpc's own memory; it knows no failure, so no more than that */

/* --- messages -------------------------------------------------------------------------------- */

/* False without memory. */
static bool make_slice(size_t size, grpc_slice *ret_slice)
{
    if (size <= SLICE_BYTES_SMALL) {
        *ret_slice = grpc_slice_malloc(size);
        return true;
    }
    uint8_t *data = memory_allocate(size);
    if (data == NULL) {
        return false;
    }
    *ret_slice = grpc_slice_new_with_user_data(data, size, memory_free, data);
    return true;
}

/* NULL without memory. */
static grpc_byte_buffer *encode(const ProtobufCMessage *message)
{
    grpc_slice slice;
    size_t size = protobuf_c_message_get_packed_size(message);
    if (!make_slice(size, &slice)) {
        return NULL;
    }
    size_t packed = protobuf_c_message_pack(message, GRPC_SLICE_START_PTR(slice));
    ASSERT(packed == size);
    grpc_byte_buffer *buffer = grpc_raw_byte_buffer_create(&slice, 1); /* holds the slice too */
    grpc_slice_unref(slice);
    return buffer;
}

/* The first operation of the first batch. */
static size_t add_headers(struct rpc_call *call, grpc_op *operations)
{
    if (call->sent_headers) {
        return 0;
    }
    call->sent_headers = true;
    operations[0] = (grpc_op){.op = GRPC_OP_SEND_INITIAL_METADATA};
    return 1;
}

static void on_sent(struct rpc_event *event, bool ok)
{
    struct rpc_call *call = (struct rpc_call *)(void *)((char *)event -
                                                        offsetof(struct rpc_call, sent));
    (void)ok; /* who is gone is told of by on_cancelled */
    grpc_byte_buffer_destroy(call->sending);
    call->sending = NULL;
    call->on_sent(call->on_sent_context); /* the next may be under way when it returns */
    rpc_call_release(call);
}

enum status rpc_send(struct rpc_call *call,
                     const ProtobufCMessage *message,
                     void (*callback)(void *context),
                     void *context)
{
    grpc_byte_buffer *buffer = encode(message);
    if (buffer == NULL) {
        return STATUS_NO_MEMORY;
    }
    grpc_op operations[2];
    size_t count = add_headers(call, operations);
    ASSERT(call->sending == NULL); /* one at a time */
    operations[count] = (grpc_op){.op = GRPC_OP_SEND_MESSAGE};
    operations[count].data.send_message.send_message = buffer;
    call->sent.run = on_sent;
    call->sending = buffer;
    call->on_sent = callback;
    call->on_sent_context = context;
    rpc_call_hold(call); /* for on_sent */
    rpc_call_hold(call); /* for us: on_sent may come, and end the call, while we are in here */
    rpc_call_start(call, operations, count + 1, &call->sent);
    rpc_call_release(call);
    return STATUS_OK;
}

/* --- the end --------------------------------------------------------------------------------- */

static void on_finished(struct rpc_event *event, bool ok)
{
    struct rpc_call *call = (struct rpc_call *)(void *)((char *)event -
                                                        offsetof(struct rpc_call, finished));
    (void)ok;
    rpc_call_release(call);
}

/* Nothing comes of a cancellation from now on, but for what runs already; the metrics are told. */
static void close_books(struct rpc_call *call, enum edubba_code code)
{
    const struct rpc_settings *settings = &call->server->settings;
    (void)pthread_mutex_lock(&call->lock);
    call->on_cancelled = NULL;
    (void)pthread_mutex_unlock(&call->lock);
    if (call->method != NULL && settings->on_ended != NULL) {
        settings->on_ended(settings->context, (size_t)(call->method - settings->methods), code,
                           clock_monotonic_ns() - call->start_ns);
    }
}

/* It stays until the call goes: libgrpc writes into what it is given. */
static void add_details(struct rpc_call *call, struct bytes details, grpc_op *operation)
{
    if (details.size_bytes == 0 || details.size_bytes > RPC_DETAILS_BYTES_MAX) {
        return;
    }
    call->details.key = grpc_slice_from_static_string("grpc-status-details-bin");
    call->details.value = grpc_slice_from_copied_buffer((const char *)details.data,
                                                        details.size_bytes);
    operation->data.send_status_from_server.trailing_metadata_count = 1;
    operation->data.send_status_from_server.trailing_metadata = &call->details;
}

/* message NULL: none.  Takes the message over. */
static void end(struct rpc_call *call, grpc_byte_buffer *message, const struct rpc_status *status)
{
    grpc_op *operations = call->end;
    call->end_text = grpc_slice_from_copied_buffer(status->text,
                                                   strnlen(status->text, RPC_TEXT_BYTES_MAX));
    size_t count = add_headers(call, operations);
    call->answer = message;
    if (message != NULL) {
        operations[count] = (grpc_op){.op = GRPC_OP_SEND_MESSAGE};
        operations[count].data.send_message.send_message = message;
        count++;
    }
    operations[count] = (grpc_op){.op = GRPC_OP_SEND_STATUS_FROM_SERVER};
    operations[count].data.send_status_from_server.status = (grpc_status_code)status->code;
    operations[count].data.send_status_from_server.status_details = &call->end_text;
    add_details(call, status->details, &operations[count]);
    count++;
    if (!call->is_watched) {
        operations[count] = (grpc_op){.op = GRPC_OP_RECV_CLOSE_ON_SERVER};
        operations[count].data.recv_close_on_server.cancelled = &call->is_closed_by_caller;
        count++;
    }
    ASSERT(count <= RPC_END_OPERATIONS_MAX);
    call->end_count = count;
    close_books(call, status->code);
    rpc_thread_end_call(call);
}

void rpc_call_send_end(struct rpc_call *call)
{
    call->finished.run = on_finished; /* the method's hold is its own now */
    rpc_call_start(call, call->end, call->end_count, &call->finished);
}

static void answer_or(struct rpc_call *call,
                      const ProtobufCMessage *message,
                      const struct rpc_status *no_memory)
{
    static const struct rpc_status ok = {EDUBBA_OK, "", {NULL, 0}};
    grpc_byte_buffer *buffer = encode(message);
    end(call, buffer, buffer != NULL ? &ok : no_memory);
}

void rpc_answer(struct rpc_call *call, const ProtobufCMessage *message)
{
    static const struct rpc_status no_memory = {
        EDUBBA_UNAVAILABLE, "No memory to answer; try again", {NULL, 0}};
    answer_or(call, message, &no_memory);
}

void rpc_answer_change(struct rpc_call *call, const ProtobufCMessage *message)
{
    static const struct rpc_status no_memory = {
        EDUBBA_UNKNOWN, "It is done, but there is no memory to answer", {NULL, 0}};
    answer_or(call, message, &no_memory);
}

void rpc_finish(struct rpc_call *call, const struct rpc_status *status)
{
    end(call, NULL, status);
}

void rpc_finish_ok(struct rpc_call *call)
{
    static const struct rpc_status ok = {EDUBBA_OK, "", {NULL, 0}};
    end(call, NULL, &ok);
}

void rpc_fail(struct rpc_call *call, enum edubba_code code, const char *format, ...)
{
    char text[RPC_TEXT_BYTES_MAX + 1];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    struct rpc_status status = {code, text, BYTES_EMPTY};
    end(call, NULL, &status);
}
