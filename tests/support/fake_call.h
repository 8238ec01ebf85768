/*
 * The RPC server's side of a call, made up: what a method sends is read as a ReadRows stream, and
 * the test says when a message was sent and when the caller goes away, from threads of its own.
 *
 * As in the real one a call is held by its method until it ended it, by whoever watches its caller,
 * and by a send under way; the last to let go frees it, with its arena.  So whoever touches it
 * later is found by the address sanitizer.
 *
 * It defines the functions of gateway/rpc/rpc.h: those of the library are not linked then.
 */
#ifndef TESTS_SUPPORT_FAKE_CALL_H
#define TESTS_SUPPORT_FAKE_CALL_H

#include <criterion/criterion.h>

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>

#include "common/base/memory.h"
#include "gateway/rpc/message.h"
#include "gateway/rpc/rpc.h"
#include "tests/support/chunk_stream.h"

/* What is left of a call. */
struct fake_outcome {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool has_ended;
    bool is_freed;
    enum edubba_code code;
    char text[RPC_TEXT_BYTES_MAX + 32];
    uint64_t messages;
    size_t details_bytes;
    uint64_t reserved_bytes;
    struct chunk_stream stream;
};

static uint64_t fake_reserve_max = UINT64_MAX;    /* more than that is refused for now */
static uint64_t fake_request_memory = UINT64_MAX; /* and more than this for ever */

struct rpc_call {
    struct fake_outcome *outcome;
    struct arena arena;
    struct bytes features;
    struct bytes user_agent;
    unsigned holders; /* all under the outcome's lock */
    bool is_cancelled;
    bool has_on_cancelled;
    void (*on_cancelled)(void *context);
    void *on_cancelled_context;
    bool is_sending;
    void (*on_sent)(void *context);
    void *on_sent_context;
};

static inline void fake_outcome_init(struct fake_outcome *outcome, bool is_reversed)
{
    memset(outcome, 0, sizeof *outcome);
    pthread_mutex_init(&outcome->lock, NULL);
    pthread_cond_init(&outcome->changed, NULL);
    chunk_stream_init(&outcome->stream, is_reversed);
}

static inline void fake_outcome_deinit(struct fake_outcome *outcome)
{
    chunk_stream_deinit(&outcome->stream);
    pthread_cond_destroy(&outcome->changed);
    pthread_mutex_destroy(&outcome->lock);
}

static inline struct rpc_call *fake_call_make(struct fake_outcome *outcome,
                                              const char *features,
                                              const char *user_agent)
{
    struct rpc_call *call = memory_allocate_zeroed(1, sizeof *call);
    call->outcome = outcome;
    call->features = bytes_of_text(features);
    call->user_agent = bytes_of_text(user_agent);
    call->holders = 2;
    arena_init(&call->arena, 4096, 64 * 1024);
    return call;
}

static inline void fake_call_release(struct rpc_call *call)
{
    struct fake_outcome *outcome = call->outcome;
    pthread_mutex_lock(&outcome->lock);
    call->holders--;
    bool is_last = call->holders == 0;
    pthread_mutex_unlock(&outcome->lock);
    if (!is_last) {
        return;
    }
    arena_deinit(&call->arena);
    memory_free(call);
    pthread_mutex_lock(&outcome->lock);
    outcome->is_freed = true;
    pthread_cond_broadcast(&outcome->changed);
    pthread_mutex_unlock(&outcome->lock);
}

/* Once: the caller has its status, or is gone. */
static inline void fake_call_close(struct rpc_call *call, bool is_cancelled)
{
    struct fake_outcome *outcome = call->outcome;
    pthread_mutex_lock(&outcome->lock);
    call->is_cancelled = is_cancelled;
    bool tells = is_cancelled && call->has_on_cancelled;
    call->has_on_cancelled = false;
    pthread_mutex_unlock(&outcome->lock);
    if (tells) {
        call->on_cancelled(call->on_cancelled_context);
    }
    fake_call_release(call);
}

/* The message under way was taken; false: there is none. */
static inline bool fake_call_sent(struct rpc_call *call)
{
    struct fake_outcome *outcome = call->outcome;
    pthread_mutex_lock(&outcome->lock);
    bool was_sending = call->is_sending;
    call->is_sending = false;
    pthread_mutex_unlock(&outcome->lock);
    if (was_sending) {
        call->on_sent(call->on_sent_context);
        fake_call_release(call);
    }
    return was_sending;
}

/* Under the lock. */
static inline void fake_call_read(struct rpc_call *call, const ProtobufCMessage *message)
{
    struct fake_outcome *outcome = call->outcome;
    size_t size = protobuf_c_message_get_packed_size(message);
    uint8_t *packed = memory_allocate(size + 1);
    ProtobufCMessage *arrived = NULL;
    struct arena arena;
    arena_init(&arena, 64 * 1024, SIZE_MAX);
    (void)protobuf_c_message_pack(message, packed);
    cr_assert_eq(message_decode(&google__bigtable__v2__read_rows_response__descriptor,
                                bytes_of(packed, size), &arena, &arrived, NULL),
                 STATUS_OK);
    cr_assert(chunk_stream_take_message(&outcome->stream, (const StreamMessage *)arrived, size),
              "%s", outcome->stream.trouble);
    outcome->messages++;
    arena_deinit(&arena);
    memory_free(packed);
}

static inline void fake_call_end(struct rpc_call *call,
                                 const ProtobufCMessage *message,
                                 const struct rpc_status *status)
{
    struct fake_outcome *outcome = call->outcome;
    pthread_mutex_lock(&outcome->lock);
    cr_assert_not(outcome->has_ended, "a call ends once");
    cr_assert_not(call->is_sending, "and not while a message is on its way");
    if (message != NULL) {
        fake_call_read(call, message);
    }
    call->has_on_cancelled = false;
    outcome->has_ended = true;
    outcome->code = status->code;
    outcome->details_bytes = status->details.size_bytes;
    (void)snprintf(outcome->text, sizeof outcome->text, "%s", status->text);
    pthread_cond_broadcast(&outcome->changed);
    pthread_mutex_unlock(&outcome->lock);
    fake_call_release(call);
}

/* --- the functions of rpc.h ------------------------------------------------------------------- */

struct arena *rpc_call_arena(struct rpc_call *call)
{
    return &call->arena;
}

uint32_t rpc_call_patience_ms(const struct rpc_call *call, uint32_t most_ms)
{
    (void)call;
    return most_ms;
}

bool rpc_call_reserve(struct rpc_call *call, uint64_t size_bytes)
{
    struct fake_outcome *outcome = call->outcome;
    outcome->reserved_bytes += size_bytes;
    return outcome->reserved_bytes <= fake_reserve_max;
}

void rpc_call_give_back(struct rpc_call *call, uint64_t size_bytes)
{
    cr_assert_leq(size_bytes, call->outcome->reserved_bytes);
    call->outcome->reserved_bytes -= size_bytes;
}

uint64_t rpc_call_reserve_max(const struct rpc_call *call)
{
    (void)call;
    return fake_request_memory;
}

struct bytes rpc_call_header(const struct rpc_call *call, const char *name)
{
    if (strcmp(name, "user-agent") == 0) {
        return call->user_agent;
    }
    cr_assert_str_eq(name, "bigtable-features");
    return call->features;
}

/* It is in any case. */
void rpc_call_watch(struct rpc_call *call)
{
    (void)call;
}

void rpc_call_on_cancelled(struct rpc_call *call, void (*on_cancelled)(void *), void *context)
{
    pthread_mutex_lock(&call->outcome->lock);
    bool is_cancelled = call->is_cancelled;
    call->has_on_cancelled = !is_cancelled;
    call->on_cancelled = on_cancelled;
    call->on_cancelled_context = context;
    pthread_mutex_unlock(&call->outcome->lock);
    if (is_cancelled) {
        on_cancelled(context);
    }
}

bool rpc_call_is_cancelled(const struct rpc_call *call)
{
    pthread_mutex_lock(&call->outcome->lock);
    bool is_cancelled = call->is_cancelled;
    pthread_mutex_unlock(&call->outcome->lock);
    return is_cancelled;
}

enum status rpc_send(struct rpc_call *call,
                     const ProtobufCMessage *message,
                     void (*on_sent)(void *context),
                     void *context)
{
    struct fake_outcome *outcome = call->outcome;
    pthread_mutex_lock(&outcome->lock);
    cr_assert_not(outcome->has_ended);
    cr_assert_not(call->is_sending, "one message at a time");
    fake_call_read(call, message);
    call->holders++;
    call->is_sending = true;
    call->on_sent = on_sent;
    call->on_sent_context = context;
    pthread_cond_broadcast(&outcome->changed);
    pthread_mutex_unlock(&outcome->lock);
    return STATUS_OK;
}

void rpc_answer(struct rpc_call *call, const ProtobufCMessage *message)
{
    struct rpc_status status = {EDUBBA_OK, "", BYTES_EMPTY};
    fake_call_end(call, message, &status);
}

void rpc_answer_change(struct rpc_call *call, const ProtobufCMessage *message)
{
    rpc_answer(call, message);
}

void rpc_finish(struct rpc_call *call, const struct rpc_status *status)
{
    fake_call_end(call, NULL, status);
}

void rpc_finish_ok(struct rpc_call *call)
{
    struct rpc_status status = {EDUBBA_OK, "", BYTES_EMPTY};
    fake_call_end(call, NULL, &status);
}

void rpc_fail(struct rpc_call *call, enum edubba_code code, const char *format, ...)
{
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    struct rpc_status status = {code, text, BYTES_EMPTY};
    fake_call_end(call, NULL, &status);
}

#endif /* TESTS_SUPPORT_FAKE_CALL_H */
