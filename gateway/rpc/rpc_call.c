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
#define CALL_BYTES        8192 /* counted for each call, beside its headers and whatever it asks */

/* So much of the memory is for what comes in: what waits for readers may not take it, as they may have stopped. */
#define KEPT_PART 8 /* an eighth */

/* What a message decodes to, in its own size: usually, and at most.  One of many small things is
 * decoded a second time, with room for a lot of them (100 000 mutations, a million keys). */
#define EXPANSION_USUAL       2
#define EXPANSION_MAX         64
#define EXPANSION_SMALL_BYTES (UINT64_C(128) << 20)

/* --- life ------------------------------------------------------------------------------------ */

void rpc_call_hold(struct rpc_call *call)
{
    atomic_fetch_add(&call->holders, 1);
}

void rpc_call_release(struct rpc_call *call)
{
    if (atomic_fetch_sub(&call->holders, 1) > 1) {
        return;
    }
    struct rpc_server *server = call->server;
    atomic_fetch_sub(&server->request_bytes, call->request_bytes);
    grpc_byte_buffer_destroy(call->answer);
    grpc_slice_unref(call->end_text);
    grpc_slice_unref(call->details.value);
    call->metadata.count = 0; /* what it points at is libgrpc's call's */
    grpc_call_unref(call->call);
    arena_deinit(&call->arena);
    rpc_server_call_ended(server, call);
}

void rpc_call_free(struct rpc_call *call)
{
    grpc_metadata_array_destroy(&call->metadata);
    ASSERT(pthread_mutex_destroy(&call->lock) == 0);
    memory_free(call);
}

void rpc_call_start(struct rpc_call *call,
                    const grpc_op *operations,
                    size_t count,
                    struct rpc_event *event)
{
    (void)pthread_mutex_lock(&call->lock); /* its end may come, and start the next, too early */
    grpc_call_error error = grpc_call_start_batch(call->call, operations, count, event, NULL);
    (void)pthread_mutex_unlock(&call->lock);
    ASSERT(error == GRPC_CALL_OK); /* who is gone does not make it fail */
}

/* The caller has its status, or is gone. */
static void on_closed(struct rpc_event *event, bool ok)
{
    struct rpc_call *call = (struct rpc_call *)(void *)((char *)event -
                                                        offsetof(struct rpc_call, closed));
    (void)pthread_mutex_lock(&call->lock);
    call->is_cancelled = !ok || call->is_closed_by_caller != 0;
    void (*on_cancelled)(void *) = call->is_cancelled ? call->on_cancelled : NULL;
    void *context = call->on_cancelled_context;
    call->on_cancelled = NULL;
    (void)pthread_mutex_unlock(&call->lock);
    if (on_cancelled != NULL) {
        on_cancelled(context);
    }
    rpc_call_release(call);
}

void rpc_call_watch(struct rpc_call *call)
{
    grpc_op operation = {.op = GRPC_OP_RECV_CLOSE_ON_SERVER};
    if (call->is_watched) {
        return;
    }
    call->is_watched = true;
    rpc_call_hold(call); /* for on_closed */
    operation.data.recv_close_on_server.cancelled = &call->is_closed_by_caller;
    call->closed.run = on_closed;
    rpc_call_start(call, &operation, 1, &call->closed);
}

/* --- memory ---------------------------------------------------------------------------------- */

/* Count so many bytes; false = with what is counted already they are more than that.  may_be_alone: they are let in
 * where no other call holds anything. */
static bool charge(struct rpc_call *call,
                   uint64_t size_bytes,
                   uint64_t most_bytes,
                   bool may_be_alone)
{
    struct rpc_server *server = call->server;
    uint64_t before = atomic_fetch_add(&server->request_bytes, size_bytes);
    bool is_alone = before == call->request_bytes;
    if (before + size_bytes > most_bytes && !(is_alone && may_be_alone)) {
        atomic_fetch_sub(&server->request_bytes, size_bytes);
        return false;
    }
    call->request_bytes += size_bytes;
    return true;
}

/* Of what comes in. */
static bool charge_request(struct rpc_call *call, uint64_t size_bytes, bool may_be_alone)
{
    return charge(call, size_bytes, call->server->settings.request_memory_max, may_be_alone);
}

/* What it takes without its message: its headers stay until it ends, and may be large. */
static uint64_t own_bytes(const struct rpc_call *call)
{
    uint64_t size = CALL_BYTES;
    for (size_t i = 0; i < call->metadata.count; i++) {
        const grpc_metadata *header = &call->metadata.metadata[i];
        size += GRPC_SLICE_LENGTH(header->key) + GRPC_SLICE_LENGTH(header->value);
    }
    return size;
}

/* The message is gone, and what was made of it is known. */
static void settle(struct rpc_call *call)
{
    uint64_t now = own_bytes(call) + call->arena.used_bytes;
    if (now < call->request_bytes) {
        atomic_fetch_sub(&call->server->request_bytes, call->request_bytes - now);
        call->request_bytes = now;
    }
    call->arena.limit_bytes = SIZE_MAX; /* what the method takes is its affair */
}

bool rpc_call_reserve(struct rpc_call *call, uint64_t size_bytes)
{
    uint64_t most = call->server->settings.request_memory_max;
    return charge(call, size_bytes, most - most / KEPT_PART,
                  size_bytes <= rpc_call_reserve_max(call));
}

bool rpc_call_reserve_answer(struct rpc_call *call, const ProtobufCMessage *message, bool is_change)
{
    uint64_t most = call->server->settings.request_memory_max;
    uint64_t limit = is_change ? most : most - most / KEPT_PART;
    uint64_t size = protobuf_c_message_get_packed_size(message);
    return size <= CALL_BYTES || charge(call, size, limit + size, true);
}

void rpc_call_give_back(struct rpc_call *call, uint64_t size_bytes)
{
    ASSERT(size_bytes <= call->request_bytes);
    atomic_fetch_sub(&call->server->request_bytes, size_bytes);
    call->request_bytes -= size_bytes;
}

uint64_t rpc_call_reserve_max(const struct rpc_call *call)
{
    uint64_t most = call->server->settings.request_memory_max;
    return most > call->request_bytes ? most - call->request_bytes : 0;
}

/* --- the request ----------------------------------------------------------------------------- */

/* The message in one piece. */
struct flat {
    grpc_slice slice; /* if it came in one */
    uint8_t *copy;    /* else */
    struct bytes bytes;
};

static enum status copy_rest(grpc_byte_buffer_reader *reader, size_t size, struct flat *flat)
{
    size_t filled = 0;
    grpc_slice slice = flat->slice;
    flat->slice = grpc_empty_slice();
    flat->copy = memory_allocate(size);
    do {
        if (flat->copy != NULL) {
            ASSERT(GRPC_SLICE_LENGTH(slice) <= size - filled);
            memcpy(flat->copy + filled, GRPC_SLICE_START_PTR(slice), GRPC_SLICE_LENGTH(slice));
            filled += GRPC_SLICE_LENGTH(slice);
        }
        grpc_slice_unref(slice);
    } while (grpc_byte_buffer_reader_next(reader, &slice) != 0);
    if (flat->copy == NULL) {
        return STATUS_LIMIT;
    }
    ASSERT(filled == size);
    flat->bytes = bytes_of(flat->copy, size);
    return STATUS_OK;
}

/* STATUS_LIMIT without memory. */
static enum status flatten(grpc_byte_buffer *payload, struct flat *ret_flat)
{
    grpc_byte_buffer_reader reader;
    size_t size = grpc_byte_buffer_length(payload);
    enum status status = STATUS_OK;
    *ret_flat = (struct flat){.slice = grpc_empty_slice(), .bytes = bytes_of("", 0)};
    if (grpc_byte_buffer_reader_init(&reader, payload) == 0) {
        return STATUS_MALFORMED;
    }
    if (grpc_byte_buffer_reader_next(&reader, &ret_flat->slice) != 0) {
        if (GRPC_SLICE_LENGTH(ret_flat->slice) == size) {
            ret_flat->bytes = bytes_of(GRPC_SLICE_START_PTR(ret_flat->slice), size);
        } else {
            status = copy_rest(&reader, size, ret_flat);
        }
    }
    grpc_byte_buffer_reader_destroy(&reader);
    return status;
}

static void free_flat(struct flat *flat)
{
    memory_free(flat->copy);
    grpc_slice_unref(flat->slice);
}

static uint64_t room_for_small_things(uint64_t size_bytes)
{
    uint64_t all = size_bytes * EXPANSION_MAX;
    uint64_t some = size_bytes * EXPANSION_USUAL + EXPANSION_SMALL_BYTES;
    return all < some ? all : some;
}

/* STATUS_LIMIT: too much beside what is held now. */
static enum status decode(struct rpc_call *call,
                          struct bytes message,
                          ProtobufCMessage **ret_request,
                          struct error *ret_error)
{
    const ProtobufCMessageDescriptor *descriptor = call->method->request;
    enum status status = message_decode(descriptor, message, &call->arena, ret_request, ret_error);
    uint64_t more = room_for_small_things(message.size_bytes);
    if (status != STATUS_NO_MEMORY ||
        more + call->request_bytes > call->server->settings.request_memory_max) {
        return status;
    }
    if (!charge_request(call, more, false)) {
        return error_set(ret_error, STATUS_LIMIT, "no room");
    }
    arena_reset(&call->arena);
    call->arena.limit_bytes += more;
    return message_decode(descriptor, message, &call->arena, ret_request, ret_error);
}

static void fail(struct rpc_call *call, enum status status, const struct error *error)
{
    switch ((int)status) {
    case STATUS_LIMIT:
        rpc_fail(call, EDUBBA_UNAVAILABLE,
                 "The gateway holds as many requests as its request_memory_max lets it; try again");
        break;
    case STATUS_NO_MEMORY:
        rpc_fail(call, EDUBBA_RESOURCE_EXHAUSTED,
                 "The request takes more memory than the gateway has for it");
        break;
    case STATUS_OUT_OF_RANGE:
        rpc_fail(call, EDUBBA_INVALID_ARGUMENT, "The call came without a request");
        break;
    default:
        rpc_fail(call, EDUBBA_INVALID_ARGUMENT, "%s", error->text);
        break;
    }
}

/* What came, decoded; the payload is gone in any case. */
static enum status take_request(struct rpc_call *call,
                                grpc_byte_buffer *payload,
                                ProtobufCMessage **ret_request,
                                struct error *ret_error)
{
    if (payload == NULL) {
        return charge_request(call, own_bytes(call), true) ? STATUS_OUT_OF_RANGE : STATUS_LIMIT;
    }
    struct flat flat;
    size_t size = grpc_byte_buffer_length(payload);
    uint64_t first = (uint64_t)size * EXPANSION_USUAL + own_bytes(call);
    if (!charge_request(call, size + first, true)) {
        grpc_byte_buffer_destroy(payload);
        return STATUS_LIMIT;
    }
    call->arena.limit_bytes = first;
    enum status status = flatten(payload, &flat);
    grpc_byte_buffer_destroy(payload);
    if (status == STATUS_OK && call->method->request != NULL) {
        status = decode(call, flat.bytes, ret_request, ret_error);
    } else if (status == STATUS_MALFORMED) {
        status = error_set(ret_error, status, "The request could not be read");
    }
    free_flat(&flat);
    settle(call);
    return status;
}

/* --- beginning ------------------------------------------------------------------------------- */

/* Say what was asked for: the path ends with service and method. */
static void refuse(struct rpc_call *call, const grpc_call_details *details)
{
    size_t size = GRPC_SLICE_LENGTH(details->method);
    rpc_fail(call, EDUBBA_UNIMPLEMENTED, "This server does not serve %.*s",
             size < RPC_TEXT_BYTES_MAX ? (int)size : RPC_TEXT_BYTES_MAX,
             (const char *)GRPC_SLICE_START_PTR(details->method));
}

static void run(struct rpc_call *call, grpc_byte_buffer *payload)
{
    struct error error = {.status = STATUS_OK};
    ProtobufCMessage *request = NULL;
    enum status status = take_request(call, payload, &request, &error);
    if (status == STATUS_OK) {
        call->method->run(call->server->settings.context, call, request);
    } else {
        fail(call, status, &error);
    }
}

/* NULL without memory. */
static struct rpc_call *allocate(void)
{
    struct rpc_call *call = memory_allocate(sizeof *call);
    if (call != NULL) {
        ASSERT(pthread_mutex_init(&call->lock, NULL) == 0);
    }
    return call;
}

static void init(struct rpc_call *call, const struct rpc_slot *slot)
{
    /* All before the lock, which it has, and the block, whose contents are nobody's. */
    memset(call, 0, offsetof(struct rpc_call, lock));
    call->server = slot->server;
    call->method = slot->method;
    call->thread = slot->thread;
    call->call = slot->call;
    call->metadata = slot->metadata;
    call->deadline = slot->method != NULL ? slot->deadline : slot->details.deadline;
    call->start_ns = clock_monotonic_ns();
    atomic_init(&call->holders, 1); /* the method's end */
    call->end_text = grpc_empty_slice();
    call->details.value = grpc_empty_slice();
    call->is_cancelled = false;
    call->on_cancelled = NULL;
    call->on_cancelled_context = NULL;
    arena_init(&call->arena, ARENA_BLOCK_BYTES, CALL_BYTES);
    arena_lend(&call->arena, call->block, sizeof call->block);
}

void rpc_call_begin(struct rpc_slot *slot, struct rpc_call *kept)
{
    struct rpc_call *call = kept != NULL ? kept : allocate();
    if (call == NULL) {
        (void)grpc_call_cancel_with_status(slot->call, GRPC_STATUS_UNAVAILABLE,
                                           "No memory for the call; try again", NULL);
        grpc_byte_buffer_destroy(slot->payload);
        grpc_metadata_array_destroy(&slot->metadata);
        grpc_call_unref(slot->call);
        rpc_server_call_ended(slot->server, NULL);
    } else {
        init(call, slot);
        if (slot->method != NULL) {
            run(call, slot->payload);
        } else {
            refuse(call, &slot->details);
        }
    }
    grpc_call_details_destroy(&slot->details);
}

/* --- looking --------------------------------------------------------------------------------- */

struct arena *rpc_call_arena(struct rpc_call *call)
{
    return &call->arena;
}

uint32_t rpc_call_patience_ms(const struct rpc_call *call, uint32_t most_ms)
{
    gpr_timespec now = gpr_now(call->deadline.clock_type);
    int32_t left_ms = gpr_time_to_millis(gpr_time_sub(call->deadline, now)); /* INT32_MAX: no end */
    if (left_ms < 1 || most_ms < 1) {
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

/* --- cancellation ---------------------------------------------------------------------------- */

void rpc_call_on_cancelled(struct rpc_call *call,
                           void (*on_cancelled)(void *context),
                           void *context)
{
    rpc_call_watch(call);
    (void)pthread_mutex_lock(&call->lock);
    bool is_cancelled = call->is_cancelled;
    if (!is_cancelled) {
        call->on_cancelled = on_cancelled;
        call->on_cancelled_context = context;
    }
    (void)pthread_mutex_unlock(&call->lock);
    if (is_cancelled) {
        on_cancelled(context);
    }
}

bool rpc_call_is_cancelled(const struct rpc_call *call)
{
    union {
        const struct rpc_call *in;
        struct rpc_call *out; /* its lock is taken, and nothing changed */
    } pointer = {.in = call};
    (void)pthread_mutex_lock(&pointer.out->lock);
    bool is_cancelled = call->is_cancelled;
    (void)pthread_mutex_unlock(&pointer.out->lock);
    return is_cancelled;
}
