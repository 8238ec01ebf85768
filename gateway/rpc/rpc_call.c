#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <grpc/byte_buffer_reader.h>
#include <grpc/support/time.h>

#include "common/base/assert.h"
#include "common/base/memory.h"
#include "common/io/clock.h"
#include "gateway/rpc/message.h"
#include "gateway/rpc/rpc_internal.h"

#define ARENA_BLOCK_BYTES 4096
#define ARENA_FACTOR      16          /* what a message decodes to, at most, in its own size */
#define ARENA_BYTES_MIN   (64 * 1024) /* and beside that */

/* --- life ----------------------------------------------------------------------------------------- */

static void release(struct rpc_call *call)
{
    if (atomic_fetch_sub(&call->holders, 1) > 1) {
        return;
    }
    struct rpc_server *server = call->server;
    atomic_fetch_sub(&server->request_bytes, call->request_bytes);
    atomic_fetch_sub(&server->calls_running, 1);
    grpc_metadata_array_destroy(&call->metadata);
    grpc_call_unref(call->call);
    ASSERT(pthread_mutex_destroy(&call->lock) == 0);
    arena_deinit(&call->arena);
    memory_free(call);
}

static struct rpc_call *call_of(struct rpc_event *event, size_t offset)
{
    return (struct rpc_call *)((char *)event - offset);
}

/* The caller has its status, or is gone. */
static void on_closed(struct rpc_event *event, bool ok)
{
    struct rpc_call *call = call_of(event, offsetof(struct rpc_call, closed));
    (void)pthread_mutex_lock(&call->lock);
    call->is_cancelled = !ok || call->is_closed_by_caller != 0;
    void (*on_cancelled)(void *) = call->is_cancelled ? call->on_cancelled : NULL;
    call->on_cancelled = NULL;
    (void)pthread_mutex_unlock(&call->lock);
    if (on_cancelled != NULL) {
        on_cancelled(call->on_cancelled_context);
    }
    release(call);
}

static void watch(struct rpc_call *call)
{
    grpc_op operation = {.op = GRPC_OP_RECV_CLOSE_ON_SERVER};
    operation.data.recv_close_on_server.cancelled = &call->is_closed_by_caller;
    call->closed.run = on_closed;
    grpc_call_error error = grpc_call_start_batch(call->call, &operation, 1, &call->closed, NULL);
    ASSERT(error == GRPC_CALL_OK);
}

/* --- beginning ------------------------------------------------------------------------------------- */

/* The message in one piece, in the arena.  Data NULL: no memory. */
static struct bytes take_payload(struct rpc_call *call, grpc_byte_buffer *payload)
{
    size_t size = grpc_byte_buffer_length(payload);
    uint8_t *data = arena_allocate(&call->arena, size + 1);
    grpc_byte_buffer_reader reader;
    if (data == NULL || !grpc_byte_buffer_reader_init(&reader, payload)) {
        return BYTES_EMPTY;
    }
    size_t filled = 0;
    grpc_slice slice;
    while (grpc_byte_buffer_reader_next(&reader, &slice) != 0) {
        memcpy(data + filled, GRPC_SLICE_START_PTR(slice), GRPC_SLICE_LENGTH(slice));
        filled += GRPC_SLICE_LENGTH(slice);
        grpc_slice_unref(slice);
    }
    grpc_byte_buffer_reader_destroy(&reader);
    ASSERT(filled == size);
    return bytes_of(data, size);
}

static bool charge(struct rpc_call *call, size_t size_bytes)
{
    struct rpc_server *server = call->server;
    call->request_bytes = size_bytes;
    uint64_t before = atomic_fetch_add(&server->request_bytes, size_bytes);
    return before == 0 || before + size_bytes <= server->settings.request_memory_max;
}

static void run(struct rpc_call *call, grpc_byte_buffer *payload)
{
    struct rpc_server *server = call->server;
    struct error error = {.status = STATUS_OK};
    ProtobufCMessage *request = NULL;
    if (payload == NULL) {
        rpc_fail(call, EDUBBA_INVALID_ARGUMENT, "The call came without a request");
        return;
    }
    if (!charge(call, grpc_byte_buffer_length(payload))) {
        rpc_fail(call, EDUBBA_UNAVAILABLE,
                 "The gateway holds as many requests as its request_memory_max lets it; try again");
        return;
    }
    struct bytes message = take_payload(call, payload);
    enum status status = message.data != NULL ? STATUS_OK : STATUS_NO_MEMORY;
    if (status == STATUS_OK && call->method->request != NULL) {
        status = message_decode(call->method->request, message, &call->arena, &request, &error);
    }
    if (status == STATUS_OK) {
        call->method->run(server->settings.context, call, request);
        return;
    }
    rpc_fail(call, status == STATUS_NO_MEMORY ? EDUBBA_RESOURCE_EXHAUSTED : EDUBBA_INVALID_ARGUMENT,
             "%s", error.text[0] != '\0' ? error.text : "The request takes too much memory");
}

/* Say what was asked for: the path ends with service and method. */
static void refuse(struct rpc_call *call, const grpc_call_details *details)
{
    rpc_fail(call, EDUBBA_UNIMPLEMENTED, "This server does not serve %.*s",
             (int)GRPC_SLICE_LENGTH(details->method),
             (const char *)GRPC_SLICE_START_PTR(details->method));
}

void rpc_call_begin(struct rpc_slot *slot)
{
    struct rpc_call *call = memory_allocate_zeroed(1, sizeof *call);
    if (call == NULL) {
        grpc_call_cancel(slot->call, NULL);
        grpc_call_unref(slot->call);
        grpc_metadata_array_destroy(&slot->metadata);
        grpc_byte_buffer_destroy(slot->payload);
        return;
    }
    *call = (struct rpc_call){
        .server = slot->server,
        .method = slot->method,
        .call = slot->call,
        .metadata = slot->metadata,
        .deadline = slot->method != NULL ? slot->deadline : slot->details.deadline,
        .start_ns = clock_monotonic_ns(),
        .holders = 2, /* the method's end, and the close */
    };
    size_t size = slot->payload != NULL ? grpc_byte_buffer_length(slot->payload) : 0;
    arena_init(&call->arena, ARENA_BLOCK_BYTES, ARENA_BYTES_MIN + size * ARENA_FACTOR);
    ASSERT(pthread_mutex_init(&call->lock, NULL) == 0);
    atomic_fetch_add(&call->server->calls_running, 1);
    watch(call);
    if (slot->method != NULL) {
        run(call, slot->payload);
    } else {
        refuse(call, &slot->details);
        grpc_call_details_destroy(&slot->details);
    }
    grpc_byte_buffer_destroy(slot->payload);
}

/* --- looking --------------------------------------------------------------------------------------- */

struct arena *rpc_call_arena(struct rpc_call *call)
{
    return &call->arena;
}

uint32_t rpc_call_patience_ms(const struct rpc_call *call, uint32_t most_ms)
{
    gpr_timespec now = gpr_now(call->deadline.clock_type);
    int32_t left_ms = gpr_time_to_millis(gpr_time_sub(call->deadline, now)); /* INT32_MAX: no end */
    if (left_ms < 1) {
        return 1;
    }
    return (uint32_t)left_ms < most_ms ? (uint32_t)left_ms : most_ms;
}

struct bytes rpc_call_header(const struct rpc_call *call, const char *name)
{
    for (size_t i = 0; i < call->metadata.count; i++) {
        const grpc_metadata *each = &call->metadata.metadata[i];
        if (grpc_slice_str_cmp(each->key, name) == 0) {
            return bytes_of(GRPC_SLICE_START_PTR(each->value), GRPC_SLICE_LENGTH(each->value));
        }
    }
    return BYTES_EMPTY;
}

void rpc_call_on_cancelled(struct rpc_call *call, void (*on_cancelled)(void *context), void *context)
{
    (void)pthread_mutex_lock(&call->lock);
    bool is_cancelled = call->is_cancelled;
    call->on_cancelled = is_cancelled ? NULL : on_cancelled;
    call->on_cancelled_context = context;
    (void)pthread_mutex_unlock(&call->lock);
    if (is_cancelled) {
        on_cancelled(context);
    }
}

bool rpc_call_is_cancelled(const struct rpc_call *call)
{
    struct rpc_call *locked = (struct rpc_call *)call;
    (void)pthread_mutex_lock(&locked->lock);
    bool is_cancelled = call->is_cancelled;
    (void)pthread_mutex_unlock(&locked->lock);
    return is_cancelled;
}

/* --- sending --------------------------------------------------------------------------------------- */

/* NULL without memory. */
static grpc_byte_buffer *encode(const ProtobufCMessage *message)
{
    size_t size = protobuf_c_message_get_packed_size(message);
    grpc_slice slice = grpc_slice_malloc(size);
    (void)protobuf_c_message_pack(message, GRPC_SLICE_START_PTR(slice));
    grpc_byte_buffer *buffer = grpc_raw_byte_buffer_create(&slice, 1);
    grpc_slice_unref(slice);
    return buffer;
}

static size_t add_headers(struct rpc_call *call, grpc_op *operations, size_t count)
{
    if (call->sent_headers) {
        return count;
    }
    call->sent_headers = true;
    operations[count] = (grpc_op){.op = GRPC_OP_SEND_INITIAL_METADATA};
    return count + 1;
}

static void on_sent(struct rpc_event *event, bool ok)
{
    struct rpc_call *call = call_of(event, offsetof(struct rpc_call, sent));
    (void)ok; /* who is gone is told of by on_cancelled */
    call->on_sent(call->on_sent_context);
    release(call);
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
    size_t count = add_headers(call, operations, 0);
    operations[count] = (grpc_op){.op = GRPC_OP_SEND_MESSAGE};
    operations[count].data.send_message.send_message = buffer;
    call->sent.run = on_sent;
    call->on_sent = callback;
    call->on_sent_context = context;
    atomic_fetch_add(&call->holders, 1);
    grpc_call_error error = grpc_call_start_batch(call->call, operations, count + 1, &call->sent,
                                                  NULL);
    ASSERT(error == GRPC_CALL_OK);
    grpc_byte_buffer_destroy(buffer);
    return STATUS_OK;
}

static void on_finished(struct rpc_event *event, bool ok)
{
    (void)ok;
    release(call_of(event, offsetof(struct rpc_call, finished)));
}

/* message NULL: none.  Takes the message over. */
static void end(struct rpc_call *call, grpc_byte_buffer *message, const struct rpc_status *status)
{
    grpc_op operations[3];
    grpc_slice text = grpc_slice_from_copied_string(status->text);
    grpc_metadata details = {0};
    size_t count = add_headers(call, operations, 0);
    if (message != NULL) {
        operations[count] = (grpc_op){.op = GRPC_OP_SEND_MESSAGE};
        operations[count].data.send_message.send_message = message;
        count++;
    }
    operations[count] = (grpc_op){.op = GRPC_OP_SEND_STATUS_FROM_SERVER};
    operations[count].data.send_status_from_server.status = (grpc_status_code)status->code;
    operations[count].data.send_status_from_server.status_details = &text;
    if (status->details.size_bytes > 0) {
        details.key = grpc_slice_from_static_string("grpc-status-details-bin");
        details.value = grpc_slice_from_copied_buffer((const char *)status->details.data,
                                                      status->details.size_bytes);
        operations[count].data.send_status_from_server.trailing_metadata_count = 1;
        operations[count].data.send_status_from_server.trailing_metadata = &details;
    }
    count++;
    (void)pthread_mutex_lock(&call->lock);
    call->on_cancelled = NULL;
    (void)pthread_mutex_unlock(&call->lock);
    if (call->method != NULL) {
        const struct rpc_settings *settings = &call->server->settings;
        settings->on_ended(settings->context, (size_t)(call->method - settings->methods),
                           status->code, clock_monotonic_ns() - call->start_ns);
    }
    call->finished.run = on_finished;
    grpc_call_error error = grpc_call_start_batch(call->call, operations, count, &call->finished,
                                                  NULL);
    ASSERT(error == GRPC_CALL_OK);
    grpc_slice_unref(text);
    if (status->details.size_bytes > 0) {
        grpc_slice_unref(details.value);
    }
    if (message != NULL) {
        grpc_byte_buffer_destroy(message);
    }
}

void rpc_answer(struct rpc_call *call, const ProtobufCMessage *message)
{
    grpc_byte_buffer *buffer = encode(message);
    struct rpc_status status = {EDUBBA_OK, "", BYTES_EMPTY};
    if (buffer == NULL) {
        status = (struct rpc_status){EDUBBA_UNAVAILABLE, "No memory to answer; try again",
                                     BYTES_EMPTY};
    }
    end(call, buffer, &status);
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
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    struct rpc_status status = {code, text, BYTES_EMPTY};
    end(call, NULL, &status);
}
