#include "common/io/transport/transport_stream.h"

#include <string.h>

#include "common/base/assert.h"
#include "common/base/memory.h"
#include "common/io/clock.h"
#include "common/io/transport/transport_budget.h"
#include "common/io/transport/transport_threads.h"

/* --- all of these with the lock held ---------------------------------------------------------- */

static void close_locked(struct transport_stream *stream, const struct error *error)
{
    if (stream->closed) {
        return;
    }
    stream->closed = true;
    stream->error = *error;
    if (stream->stream != NULL) {
        nng_stream_close(stream->stream);
    }
    nng_aio_cancel(stream->handshake_aio);
}

/* Nothing is under way on a closed stream: the caller must call on_down, once unlocked. */
static bool take_down_locked(struct transport_stream *stream)
{
    if (!stream->closed || stream->down || stream->receiving || stream->sending || stream->timing) {
        return false;
    }
    stream->down = true;
    return true;
}

static void note_queued_locked(struct transport_stream *stream)
{
    uint64_t before_bytes = atomic_load(&stream->queued_bytes);
    uint64_t after_bytes = stream->outbox.queued_bytes;
    if (before_bytes == after_bytes) {
        return; /* as a rule nothing stays */
    }
    if (before_bytes == 0 || after_bytes < before_bytes) {
        atomic_store(&stream->taken_ns, clock_monotonic_ns());
    }
    atomic_store(&stream->queued_bytes, after_bytes);
    transport_budget_note_queued(before_bytes, after_bytes);
}

static void set_parts_locked(struct transport_stream *stream, nng_aio *aio)
{
    nng_iov parts[OUTBOX_SEGMENTS_MAX];
    struct outbox *outbox = &stream->outbox;
    unsigned count = 0;
    for (size_t i = outbox->segment_first; i < outbox->segment_count; i++) {
        parts[count++] = (nng_iov){outbox->segments[i].data, outbox->segments[i].size_bytes};
    }
    int error = nng_aio_set_iov(aio, count, parts);
    ASSERT(error == 0);
}

/*
 * Send what the socket takes at once, with an operation that has no callback: most often all of it,
 * and no thread of nng's is woken to say so.  What the socket does not take at once is withdrawn;
 * nng takes a part of it whole or not at all.  True when the batch is out.
 */
static bool send_now_locked(struct transport_stream *stream)
{
    for (;;) {
        set_parts_locked(stream, stream->try_aio);
        nng_stream_send(stream->stream, stream->try_aio);
        nng_aio_cancel(stream->try_aio);
        nng_aio_wait(stream->try_aio);
        size_t sent_bytes = nng_aio_count(stream->try_aio);
        if (nng_aio_result(stream->try_aio) != 0 || sent_bytes == 0) {
            return false; /* full, or broken: the operation with a callback will tell */
        }
        if (outbox_advance(&stream->outbox, sent_bytes)) {
            return true;
        }
    }
}

/* Send what is left of the batch, without waiting for it. */
static void send_later_locked(struct transport_stream *stream)
{
    set_parts_locked(stream, stream->send_aio);
    stream->sending = true;
    nng_stream_send(stream->stream, stream->send_aio);
}

/* Batch after batch, as far as the socket takes them. */
static void kick_send_locked(struct transport_stream *stream)
{
    while (!stream->closed && !stream->sending && stream->stream != NULL) {
        if (!outbox_prepare(&stream->outbox)) {
            if (stream->close_when_sent) {
                close_locked(stream, &stream->error);
            }
            break;
        }
        if (!send_now_locked(stream)) {
            send_later_locked(stream);
        }
    }
    note_queued_locked(stream);
}

static void receive_locked(struct transport_stream *stream)
{
    nng_iov part = {stream->inbox.data + stream->inbox.end, inbox_room(&stream->inbox)};
    ASSERT(part.iov_len > 0);
    int error = nng_aio_set_iov(stream->receive_aio, 1, &part);
    ASSERT(error == 0);
    stream->receiving = true;
    nng_stream_recv(stream->stream, stream->receive_aio);
}

/* Frames may wait in the buffer: have an nng thread look at them first, as if bytes had come. */
static void resume_locked(struct transport_stream *stream)
{
    if (!atomic_load(&stream->paused) || stream->closed || stream->close_when_sent ||
        !stream->events->may_resume(stream->owner)) {
        return;
    }
    atomic_store(&stream->paused, false);
    stream->receiving = true;
    bool begun = nng_aio_begin(stream->receive_aio);
    ASSERT(begun);
    nng_aio_finish(stream->receive_aio, 0);
}

/* Unlocks. */
static void finish_locked(struct transport_stream *stream)
{
    bool is_down = take_down_locked(stream);
    pthread_mutex_unlock(&stream->lock);
    if (is_down) {
        stream->events->on_down(stream->owner, &stream->error);
        /* The stream may be gone. */
    }
}

/* --- receiving, on nng's threads; one at a time ------------------------------------------------ */

static void set_nng_error(struct error *error, int nng_error)
{
    if (nng_error == NNG_ECONNSHUT || nng_error == NNG_ECONNRESET || nng_error == NNG_ECLOSED) {
        (void)error_set(error, STATUS_UNAVAILABLE, "the other side closed the connection");
    } else {
        (void)error_set(error, STATUS_IO, "connection failed: %s", nng_strerror(nng_error));
    }
}

static void on_received(void *context)
{
    struct transport_stream *stream = context;
    struct error error = {0};
    enum inbox_progress progress = INBOX_FAILED;

    pthread_mutex_lock(&stream->lock);
    bool closed = stream->closed || stream->close_when_sent;
    pthread_mutex_unlock(&stream->lock);

    int nng_error = nng_aio_result(stream->receive_aio);
    if (nng_error != 0) {
        set_nng_error(&error, nng_error);
    } else if (!closed) {
        inbox_filled(&stream->inbox, nng_aio_count(stream->receive_aio));
        progress = inbox_take(&stream->inbox, &error);
    }

    pthread_mutex_lock(&stream->lock);
    stream->receiving = false;
    if (stream->closed || stream->close_when_sent) {
        /* Said and done by someone else. */
    } else if (progress == INBOX_FAILED) {
        close_locked(stream, &error);
    } else if (progress == INBOX_MORE) {
        receive_locked(stream);
    } else {
        /* What there was to wait for may have come about since the owner was asked. */
        atomic_store(&stream->paused, true);
        resume_locked(stream);
    }
    finish_locked(stream);
}

static void on_batch_sent(void *context)
{
    struct transport_stream *stream = context;
    struct error error = {0};
    int nng_error = nng_aio_result(stream->send_aio);
    size_t sent_bytes = nng_aio_count(stream->send_aio);

    pthread_mutex_lock(&stream->lock);
    stream->sending = false;
    if (stream->closed) {
        /* Nothing to go on with. */
    } else if (nng_error != 0) {
        set_nng_error(&error, nng_error);
        close_locked(stream, &error);
    } else {
        atomic_store(&stream->taken_ns, clock_monotonic_ns()); /* if only a part of it */
        if (outbox_advance(&stream->outbox, sent_bytes)) {
            kick_send_locked(stream);
            resume_locked(stream);
        } else {
            send_later_locked(stream);
        }
    }
    finish_locked(stream);
}

/*
 * Not a timeout of the receive: nng ends one that has run out of time through the stream, also when it has
 * ended meanwhile, and the stream is freed already.  A sleep has only itself.
 */
static void on_handshake_time(void *context)
{
    struct transport_stream *stream = context;
    struct error error = {0};
    bool is_over = nng_aio_result(stream->handshake_aio) == 0;

    pthread_mutex_lock(&stream->lock);
    stream->timing = false;
    if (is_over && stream->inbox.in_handshake) {
        (void)error_set(&error, STATUS_DEADLINE_EXCEEDED, "no answer to the handshake in time");
        close_locked(stream, &error);
    }
    finish_locked(stream);
}

/* --- the owner's side -------------------------------------------------------------------------- */

enum status transport_stream_init(struct transport_stream *stream,
                                  const struct stream_events *events,
                                  void *owner)
{
    *stream = (struct transport_stream){.events = events, .owner = owner};
    transport_threads_start();
    pthread_mutex_init(&stream->lock, NULL);
    enum status outbox = outbox_init(&stream->outbox);
    if (inbox_init(&stream->inbox, &events->inbox, owner) != STATUS_OK || outbox != STATUS_OK ||
        nng_aio_alloc(&stream->receive_aio, on_received, stream) != 0 ||
        nng_aio_alloc(&stream->send_aio, on_batch_sent, stream) != 0 ||
        nng_aio_alloc(&stream->try_aio, NULL, NULL) != 0 ||
        nng_aio_alloc(&stream->handshake_aio, on_handshake_time, stream) != 0) {
        transport_stream_deinit(stream);
        return STATUS_NO_MEMORY;
    }
    return STATUS_OK;
}

void transport_stream_deinit(struct transport_stream *stream)
{
    ASSERT(!stream->receiving);
    ASSERT(!stream->sending);
    ASSERT(!stream->timing);
    /* The reaper waits for callbacks that are just returning; this thread may be in one. */
    nng_aio_reap(stream->receive_aio);
    nng_aio_reap(stream->send_aio);
    nng_aio_reap(stream->try_aio);
    nng_aio_reap(stream->handshake_aio);
    if (stream->stream != NULL) {
        nng_stream_free(stream->stream);
    }
    transport_budget_note_queued(transport_stream_queued_bytes(stream), 0);
    outbox_deinit(&stream->outbox);
    inbox_deinit(&stream->inbox);
    pthread_mutex_destroy(&stream->lock);
}

void transport_stream_wait(struct transport_stream *stream)
{
    nng_aio_wait(stream->receive_aio);
    nng_aio_wait(stream->send_aio);
    nng_aio_wait(stream->handshake_aio);
}

void transport_stream_start(struct transport_stream *stream,
                            nng_stream *connected,
                            uint32_t handshake_timeout_ms)
{
    pthread_mutex_lock(&stream->lock);
    ASSERT(stream->stream == NULL);
    stream->stream = connected;
    stream->inbox.in_handshake = true;
    if (stream->closed) {
        nng_stream_close(connected);
    } else {
        stream->timing = true;
        nng_sleep_aio((nng_duration)handshake_timeout_ms, stream->handshake_aio);
        receive_locked(stream);
        kick_send_locked(stream);
    }
    pthread_mutex_unlock(&stream->lock);
}

void transport_stream_open(struct transport_stream *stream)
{
    pthread_mutex_lock(&stream->lock);
    stream->inbox.in_handshake = false;
    nng_aio_cancel(stream->handshake_aio);
    stream->outbox.open = true;
    kick_send_locked(stream);
    finish_locked(stream);
}

static bool push(struct transport_stream *stream,
                 struct outgoing *outgoing,
                 void (*push_to)(struct outbox *outbox, struct outgoing *outgoing),
                 bool only_if_open)
{
    pthread_mutex_lock(&stream->lock);
    bool taken = !stream->closed && !stream->close_when_sent &&
                 IMPLIES(only_if_open, stream->outbox.open);
    if (taken) {
        push_to(&stream->outbox, outgoing);
        kick_send_locked(stream);
        resume_locked(stream);
    }
    pthread_mutex_unlock(&stream->lock);
    if (!taken) {
        outgoing_destroy(outgoing);
    }
    return taken;
}

bool transport_stream_send(struct transport_stream *stream, struct outgoing *outgoing)
{
    return push(stream, outgoing, outbox_push, false);
}

bool transport_stream_send_urgent(struct transport_stream *stream, struct outgoing *outgoing)
{
    return push(stream, outgoing, outbox_push_urgent, false);
}

bool transport_stream_send_if_open(struct transport_stream *stream, struct outgoing *outgoing)
{
    return push(stream, outgoing, outbox_push, true);
}

/*
 * Nearly always nothing is paused, and no lock is needed to see that.  Who pauses says so first and
 * asks may_resume() then; who calls this has changed first what may_resume() looks at: so one of the
 * two sees the other.
 */
void transport_stream_resume(struct transport_stream *stream)
{
    if (!atomic_load(&stream->paused)) {
        return;
    }
    pthread_mutex_lock(&stream->lock);
    resume_locked(stream);
    pthread_mutex_unlock(&stream->lock);
}

void transport_stream_close(struct transport_stream *stream, const struct error *error)
{
    pthread_mutex_lock(&stream->lock);
    close_locked(stream, error);
    finish_locked(stream);
}

void transport_stream_close_when_sent(struct transport_stream *stream, const struct error *error)
{
    pthread_mutex_lock(&stream->lock);
    if (!stream->closed && !stream->close_when_sent) {
        stream->close_when_sent = true;
        stream->error = *error;
        kick_send_locked(stream);
    }
    finish_locked(stream);
}
