/* Replies: one request's way back. */
#include <string.h>

#include "common/base/assert.h"
#include "common/base/memory.h"
#include "common/io/clock.h"
#include "common/io/transport/transport_budget.h"
#include "common/io/transport/transport_peer.h"

void transport_reply_free(struct transport_reply *reply)
{
    if (reply->body != reply->own_body) {
        memory_free(reply->body);
    }
    memory_free(reply);
}

/* Out of the peer's tables.  With the peer's lock held. */
static void unlink_locked(struct transport_reply *reply)
{
    struct transport_peer *peer = reply->peer;
    struct transport_reply **link = &peer->buckets[reply->request % PEER_REPLY_BUCKETS];
    while (*link != reply) {
        link = &(*link)->bucket_next;
    }
    *link = reply->bucket_next;
    if (reply->previous == NULL) {
        peer->replies = reply->next;
    } else {
        reply->previous->next = reply->next;
    }
    if (reply->next != NULL) {
        reply->next->previous = reply->previous;
    }
}

/*
 * The layer above has said its last word.  An on_progress call that runs in another thread is
 * waited for, so that what it looks at may be freed after this; one that runs in this thread frees
 * the reply when it returns.
 */
static void reply_finish(struct transport_reply *reply)
{
    struct transport_peer *peer = reply->peer;
    bool held_peer = reply->holds_peer;
    atomic_uint *counter = reply->is_stream ? &peer->streams : &peer->in_flight;
    pthread_mutex_lock(&peer->lock);
    ASSERT(!reply->finished);
    while (reply->in_progress_call && !pthread_equal(reply->progress_thread, pthread_self())) {
        pthread_cond_wait(&peer->progressed, &peer->lock);
    }
    unlink_locked(reply);
    bool deferred = reply->in_progress_call;
    reply->finished = true;
    pthread_mutex_unlock(&peer->lock);
    if (!deferred) {
        transport_reply_free(reply);
    }
    atomic_store(&peer->active_ns, clock_monotonic_ns());
    atomic_fetch_sub(counter, 1);
    atomic_fetch_sub(&peer->holds, held_peer ? 1 : 0);
    transport_stream_resume(&peer->stream);
    transport_peer_unref(peer);
}

void transport_reply_set_context(struct transport_reply *reply, void *context)
{
    reply->context = context;
}

void *transport_reply_context(const struct transport_reply *reply)
{
    return reply->context;
}

void transport_reply_hold_peer(struct transport_reply *reply)
{
    reply->holds_peer = true;
    atomic_fetch_add(&reply->peer->holds, 1);
}

void transport_reply_send(struct transport_reply *reply, struct buffer *message, bool last)
{
    struct transport_peer *peer = reply->peer;
    int64_t size_bytes = (int64_t)message->size_bytes;
    struct outgoing *outgoing = NULL;
    if (!message->failed && message->size_bytes <= LIMIT_MESSAGE_BYTES) {
        outgoing = outgoing_create(FRAME_RESPONSE, reply->request, message);
    }
    if (outgoing != NULL) {
        outgoing->stream = !last;
        (void)transport_stream_send(&peer->stream, outgoing);
        atomic_fetch_sub(&reply->credit_bytes, size_bytes);
    } else {
        /* An answer cannot be given: the peer must not wait for it for ever. */
        struct error error = {0};
        (void)error_set(&error, STATUS_NO_MEMORY, "no memory for an answer");
        buffer_deinit(message);
        transport_stream_close(&peer->stream, &error);
    }
    if (last) {
        reply_finish(reply);
    }
}

void transport_reply_fail(struct transport_reply *reply, enum status status, const char *text)
{
    struct buffer message = BUFFER_INIT;
    struct response_head head = {.status = status, .text = bytes_of_text(text)};
    response_head_encode(&head, &message);
    transport_reply_send(reply, &message, true);
}

void transport_reply_refuse(struct transport_reply *reply, enum status status, const char *text)
{
    transport_peer_rest(reply->peer);
    transport_reply_fail(reply, status, text);
}

int64_t transport_reply_credit(const struct transport_reply *reply)
{
    return atomic_load(&reply->credit_bytes);
}

void reply_add_credit(struct transport_reply *reply, uint64_t bytes)
{
    int64_t held = atomic_load(&reply->credit_bytes);
    int64_t sum = 0;
    do {
        sum = bytes < (uint64_t)(REPLY_CREDIT_BYTES_MAX - held) ? held + (int64_t)bytes
                                                                : REPLY_CREDIT_BYTES_MAX;
    } while (!atomic_compare_exchange_weak(&reply->credit_bytes, &held, sum));
}

bool transport_reply_begin_stream(struct transport_reply *reply, uint64_t credit_bytes)
{
    struct transport_peer *peer = reply->peer;
    ASSERT(!reply->is_stream);
    if (atomic_fetch_add(&peer->streams, 1) >= TRANSPORT_STREAMS_MAX) {
        atomic_fetch_sub(&peer->streams, 1);
        return false;
    }
    reply->is_stream = true;
    reply_add_credit(reply, credit_bytes);
    atomic_fetch_sub(&peer->in_flight, 1);
    transport_stream_resume(&peer->stream);
    return true;
}

uint64_t transport_reply_queued_bytes(const struct transport_reply *reply)
{
    return transport_stream_queued_bytes(&reply->peer->stream);
}

bool transport_reply_must_wait(const struct transport_reply *reply, uint64_t answer_bytes)
{
    return transport_budget_refuses(transport_reply_queued_bytes(reply) + answer_bytes);
}

bool transport_reply_is_stalled(const struct transport_reply *reply, uint64_t above_bytes)
{
    uint64_t queued_bytes = transport_reply_queued_bytes(reply);
    return queued_bytes > above_bytes && transport_peer_takes_nothing(reply->peer, queued_bytes);
}

bool transport_reply_cancelled(const struct transport_reply *reply)
{
    return atomic_load(&reply->cancelled);
}
