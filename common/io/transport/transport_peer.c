#include "common/io/transport/transport_peer.h"

#include <inttypes.h>
#include <string.h>

#include "common/base/assert.h"
#include "common/base/endian.h"
#include "common/base/memory.h"
#include "common/io/clock.h"
#include "common/io/transport/transport_budget.h"
#include "common/io/transport/transport_listener.h"

#define PEER_STALLED_NS  (INT64_C(500) * 1000 * 1000)
#define PEER_REST_MS     25
#define CREDIT_BYTES     8
#define CREDIT_BYTES_MAX (INT64_MAX / 4) /* one grant; the sum may not overflow */

void transport_peer_ref(struct transport_peer *peer)
{
    atomic_fetch_add(&peer->references, 1);
}

void transport_peer_unref(struct transport_peer *peer)
{
    if (atomic_fetch_sub(&peer->references, 1) != 1) {
        return;
    }
    ASSERT(peer->replies == NULL);
    transport_stream_deinit(&peer->stream);
    nng_aio_reap(peer->rest_aio); /* this thread may be in its callback */
    pthread_cond_destroy(&peer->progressed);
    pthread_mutex_destroy(&peer->lock);
    memory_free(peer);
}

/* --- telling the layer above ------------------------------------------------------------------- */

/* With the lock held, which is given up for the call.  The reply may be gone afterwards. */
static void call_progress_locked(struct transport_peer *peer, struct transport_reply *reply)
{
    const struct transport_listener_options *options = &peer->listener->options;
    reply->in_progress_call = true;
    reply->progress_thread = pthread_self();
    pthread_mutex_unlock(&peer->lock);
    if (options->on_progress != NULL) {
        options->on_progress(options->context, reply);
    }
    pthread_mutex_lock(&peer->lock);
    reply->in_progress_call = false;
    pthread_cond_broadcast(&peer->progressed);
    if (reply->finished) {
        transport_reply_free(reply);
    }
}

static struct transport_reply *find_reply_locked(struct transport_peer *peer, uint64_t request)
{
    struct transport_reply *reply = peer->buckets[request % PEER_REPLY_BUCKETS];
    while (reply != NULL && reply->request != request) {
        reply = reply->bucket_next;
    }
    return reply;
}

/* Every reply still out is cancelled, and the layer above told.  Replies whose turn came are
 * known by their flag; the list may change during each call, so it is searched anew. */
static void cancel_all(struct transport_peer *peer)
{
    pthread_mutex_lock(&peer->lock);
    struct transport_reply *reply = peer->replies;
    while (reply != NULL) {
        if (atomic_exchange(&reply->cancelled, true)) {
            reply = reply->next;
            continue;
        }
        call_progress_locked(peer, reply);
        reply = peer->replies;
    }
    pthread_mutex_unlock(&peer->lock);
}

static void on_down(void *owner, const struct error *error)
{
    struct transport_peer *peer = owner;
    (void)error; /* the peer's fault or its wish; nobody here to tell */
    nng_aio_cancel(peer->rest_aio);
    cancel_all(peer);
    transport_listener_remove(peer->listener, peer);
    transport_peer_unref(peer);
}

/* --- the handshake ----------------------------------------------------------------------------- */

static void answer_hello(struct transport_peer *peer, const struct hello_ack *ack)
{
    struct buffer message = BUFFER_INIT;
    struct error error = {0};
    hello_ack_encode(ack, &message);
    struct outgoing *outgoing = message.failed ? NULL
                                               : outgoing_create(FRAME_HELLO_ACK, 0, &message);
    if (outgoing == NULL) {
        (void)error_set(&error, STATUS_NO_MEMORY, "no memory for the handshake");
        buffer_deinit(&message);
        transport_stream_close(&peer->stream, &error);
        return;
    }
    (void)transport_stream_send_urgent(&peer->stream, outgoing);
    if (ack->status != STATUS_OK) {
        (void)error_set(&error, (enum status)ack->status, "refused in the handshake");
        transport_stream_close_when_sent(&peer->stream, &error);
        return;
    }
    atomic_store(&peer->greeted, true);
    transport_stream_open(&peer->stream);
}

/* Why the peer cannot be served; STATUS_OK if it can. */
static enum status judge_hello(struct transport_peer *peer,
                               const struct hello *hello,
                               struct error *ret_error)
{
    if (hello->version_oldest > WIRE_VERSION || hello->version_newest < WIRE_VERSION_OLDEST) {
        return error_set(ret_error, STATUS_VERSION,
                         "this side speaks wire versions %d to %d, the other %" PRIu32
                         " to %" PRIu32 ": upgrade the older one",
                         WIRE_VERSION_OLDEST, WIRE_VERSION, hello->version_oldest,
                         hello->version_newest);
    }
    if (hello->lane > LANE_BULK) {
        return error_set(ret_error, STATUS_INVALID_ARGUMENT, "no lane has number %" PRIu32,
                         hello->lane);
    }
    if (atomic_load(&peer->listener->closing)) {
        return error_set(ret_error, STATUS_UNAVAILABLE, "shutting down");
    }
    if (!transport_listener_give_place(peer->listener, peer)) {
        return error_set(ret_error, STATUS_RESOURCE_EXHAUSTED,
                         "there are connections_max = %" PRIu32 " connections already",
                         peer->listener->options.connections_max);
    }
    return STATUS_OK;
}

static enum status on_hello(struct transport_peer *peer,
                            const struct stream_message *message,
                            struct error *ret_error)
{
    const struct transport_listener_options *options = &peer->listener->options;
    struct hello hello;
    struct error refusal = {0};
    enum status status = hello_decode(message->payload, &hello, ret_error);
    if (status != STATUS_OK) {
        return status;
    }
    peer->judged = true;
    status = judge_hello(peer, &hello, &refusal);
    if (status == STATUS_OK) {
        peer->lane = (enum lane)hello.lane;
        peer->process = hello.process;
    }
    struct hello_ack ack = {
        .status = status,
        .text = bytes_of_text(refusal.text),
        .version = hello.version_newest < WIRE_VERSION ? hello.version_newest : WIRE_VERSION,
        .features = 0,
        .agent = bytes_of_text(options->agent),
        .process = options->process,
        .now_us = options->now_us == NULL ? 0 : options->now_us(options->context),
    };
    answer_hello(peer, &ack);
    return STATUS_OK;
}

/* Nothing is taken behind a HELLO that was refused, though it may have come with it; nor a second one. */
static enum status on_greeting(struct transport_peer *peer,
                               const struct stream_message *message,
                               struct error *ret_error)
{
    if (peer->judged) {
        return error_set(ret_error, STATUS_MALFORMED, "more behind a HELLO that was refused");
    }
    if (message->type != FRAME_HELLO) {
        return error_set(ret_error, STATUS_MALFORMED, "no HELLO at the beginning");
    }
    return on_hello(peer, message, ret_error);
}

/* --- requests ---------------------------------------------------------------------------------- */

/* With the payload, which lies behind it unless it has memory of its own already.  NULL without
 * memory. */
static struct transport_reply *reply_allocate(const struct stream_message *message)
{
    struct bytes payload = message->payload;
    bool is_own = message->assembled != NULL;
    struct transport_reply *reply = memory_allocate(sizeof *reply +
                                                    (is_own ? 0 : payload.size_bytes));
    if (reply == NULL) {
        return NULL;
    }
    *reply = (struct transport_reply){.request = message->request, .body = reply->own_body};
    if (is_own) {
        reply->body = buffer_detach(message->assembled, &payload.size_bytes);
    } else if (payload.size_bytes > 0) {
        memcpy(reply->own_body, payload.data, payload.size_bytes);
    }
    return reply;
}

/* NULL with an error set. */
static struct transport_reply *reply_create(struct transport_peer *peer,
                                            const struct stream_message *message,
                                            struct error *ret_error)
{
    struct transport_reply *reply = reply_allocate(message);
    if (reply == NULL) {
        (void)error_set(ret_error, STATUS_NO_MEMORY, "no memory for a request of %zu bytes",
                        message->payload.size_bytes);
        return NULL;
    }
    reply->peer = peer;

    pthread_mutex_lock(&peer->lock);
    bool known = find_reply_locked(peer, message->request) != NULL;
    if (!known) {
        struct transport_reply **bucket = &peer->buckets[reply->request % PEER_REPLY_BUCKETS];
        reply->bucket_next = *bucket;
        *bucket = reply;
        reply->next = peer->replies;
        if (peer->replies != NULL) {
            peer->replies->previous = reply;
        }
        peer->replies = reply;
        transport_peer_ref(peer);
        atomic_fetch_add(&peer->in_flight, 1);
    }
    pthread_mutex_unlock(&peer->lock);
    if (known) {
        transport_reply_free(reply);
        (void)error_set(ret_error, STATUS_MALFORMED,
                        "request number %" PRIu64 " is in flight already", message->request);
        return NULL;
    }
    return reply;
}

static enum status on_request(struct transport_peer *peer,
                              const struct stream_message *message,
                              struct error *ret_error)
{
    const struct transport_listener_options *options = &peer->listener->options;
    struct transport_request request = {
        .method = (enum method)message->method,
        .lane = peer->lane,
        .peer_process = peer->process,
        .received_ns = clock_monotonic_ns(),
    };
    if (message->request == 0 || message->stream) {
        return error_set(ret_error, STATUS_MALFORMED, "request without a number, or in a stream");
    }
    enum status status = request_head_decode(message->payload, &request.head, &request.body,
                                             ret_error);
    if (status != STATUS_OK) {
        return status;
    }
    size_t head_bytes = message->payload.size_bytes - request.body.size_bytes;
    struct transport_reply *reply = reply_create(peer, message, ret_error);
    if (reply == NULL) {
        return ret_error->status;
    }
    request.body.data = reply->body + head_bytes;
    atomic_store(&peer->active_ns, request.received_ns);
    if (atomic_load(&peer->listener->closing)) {
        transport_reply_fail(reply, STATUS_UNAVAILABLE, "shutting down");
    } else {
        options->on_request(options->context, &request, reply);
    }
    return STATUS_OK;
}

/* A credit or a cancellation; the request may well be answered already. */
static enum status on_signal(struct transport_peer *peer,
                             const struct stream_message *message,
                             struct error *ret_error)
{
    bool is_credit = message->type == FRAME_CREDIT;
    if (message->payload.size_bytes != (is_credit ? CREDIT_BYTES : 0)) {
        return error_set(ret_error, STATUS_MALFORMED, "signal of %zu bytes",
                         message->payload.size_bytes);
    }
    uint64_t amount = is_credit ? load_le64(message->payload.data) : 0;
    if (amount > CREDIT_BYTES_MAX) {
        return error_set(ret_error, STATUS_MALFORMED, "credit of %" PRIu64 " bytes", amount);
    }
    pthread_mutex_lock(&peer->lock);
    struct transport_reply *reply = find_reply_locked(peer, message->request);
    if (reply != NULL && is_credit) {
        reply_add_credit(reply, amount);
        call_progress_locked(peer, reply);
    } else if (reply != NULL && !atomic_exchange(&reply->cancelled, true)) {
        call_progress_locked(peer, reply);
    }
    pthread_mutex_unlock(&peer->lock);
    return STATUS_OK;
}

/* --- the stream's events ----------------------------------------------------------------------- */

static enum status on_message(void *owner,
                              const struct stream_message *message,
                              struct error *ret_error)
{
    struct transport_peer *peer = owner;
    if (!atomic_load(&peer->greeted)) {
        return on_greeting(peer, message, ret_error);
    }
    switch (message->type) {
    case FRAME_REQUEST:
        return on_request(peer, message, ret_error);
    case FRAME_CREDIT:
    case FRAME_CANCEL:
        return on_signal(peer, message, ret_error);
    case FRAME_HELLO:
    case FRAME_HELLO_ACK:
    case FRAME_RESPONSE:
    case FRAME_GOAWAY:
        break;
    }
    return error_set(ret_error, STATUS_MALFORMED, "frame of type %d from a dialler",
                     (int)message->type);
}

/*
 * Does the peer ask on and take nothing?  More requests would only cost work for answers that lie
 * there with the others.  It is read from again when it takes a batch.
 */
bool transport_peer_takes_nothing(const struct transport_peer *peer, uint64_t queued_bytes)
{
    return queued_bytes > 0 &&
           clock_monotonic_ns() - atomic_load(&peer->stream.taken_ns) > PEER_STALLED_NS;
}

static void on_rested(void *context)
{
    struct transport_peer *peer = context;
    atomic_store(&peer->resting, false);
    transport_stream_resume(&peer->stream);
    transport_peer_unref(peer);
}

void transport_peer_rest(struct transport_peer *peer)
{
    if (!atomic_exchange(&peer->resting, true)) {
        transport_peer_ref(peer);
        nng_sleep_aio(PEER_REST_MS, peer->rest_aio);
    }
}

static bool wants_pause(void *owner)
{
    struct transport_peer *peer = owner;
    uint64_t queued_bytes = transport_stream_queued_bytes(&peer->stream);
    return atomic_load(&peer->holds) > 0 || atomic_load(&peer->resting) ||
           atomic_load(&peer->in_flight) >= peer->requests_max ||
           queued_bytes >= peer->queued_bytes_max || transport_budget_refuses(queued_bytes) ||
           transport_peer_takes_nothing(peer, queued_bytes);
}

/* Well below the limits, so that pausing and going on do not alternate with every request.  A peer
 * that was paused for the sake of all is asked about with each batch it takes, and goes on when its
 * own queue is short again at the latest. */
static bool may_resume(void *owner)
{
    struct transport_peer *peer = owner;
    uint64_t queued_bytes = transport_stream_queued_bytes(&peer->stream);
    return atomic_load(&peer->holds) == 0 && !atomic_load(&peer->resting) &&
           atomic_load(&peer->in_flight) <= peer->requests_max / 2 &&
           queued_bytes <= peer->queued_bytes_max / 2 && !transport_budget_refuses(queued_bytes) &&
           !transport_peer_takes_nothing(peer, queued_bytes);
}

static const struct stream_events peer_events = {
    .inbox = {.on_message = on_message, .wants_pause = wants_pause},
    .may_resume = may_resume,
    .on_down = on_down,
};

struct transport_peer *transport_peer_create(struct transport_listener *listener)
{
    struct transport_peer *peer = memory_allocate_zeroed(1, sizeof *peer);
    if (peer == NULL) {
        return NULL;
    }
    if (nng_aio_alloc(&peer->rest_aio, on_rested, peer) != 0) {
        memory_free(peer);
        return NULL;
    }
    if (transport_stream_init(&peer->stream, &peer_events, peer) != STATUS_OK) {
        nng_aio_free(peer->rest_aio);
        memory_free(peer);
        return NULL;
    }
    peer->listener = listener;
    atomic_init(&peer->active_ns, clock_monotonic_ns());
    peer->requests_max = listener->options.requests_max;
    peer->queued_bytes_max = listener->options.connection_bytes_max;
    atomic_init(&peer->references, 1);
    pthread_mutex_init(&peer->lock, NULL);
    pthread_cond_init(&peer->progressed, NULL);
    return peer;
}

void transport_peer_start(struct transport_peer *peer, nng_stream *connected)
{
    transport_stream_start(&peer->stream, connected, LISTENER_HANDSHAKE_TIMEOUT_MS);
}

void transport_peer_say(struct transport_peer *peer, enum frame_type type, const char *text)
{
    struct buffer message = BUFFER_INIT;
    buffer_append_bytes(&message, bytes_of_text(text));
    struct outgoing *outgoing = message.failed ? NULL : outgoing_create(type, 0, &message);
    if (outgoing == NULL) {
        buffer_deinit(&message); /* a courtesy: closing says the same */
    } else {
        (void)transport_stream_send_if_open(&peer->stream, outgoing);
    }
}
