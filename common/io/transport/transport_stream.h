/*
 * One connection's bytes, as messages: what both ends of the transport share.
 *
 *   nng stream -> inbox -> messages -> on_message                         (one nng thread at a time)
 *   transport_stream_send -> outbox -> batches -> nng stream              (any thread)
 *
 * States: new (may queue) -> started (nng stream known) -> closed -> down.  A stream is closed by
 * either end, by an error or by its owner; it is down when no operation of nng's is under way any
 * more.  on_down is the last callback, and comes exactly once, also if the stream was never
 * started.  Operations are started under the lock and never after closing.  Those of the nng stream
 * that have a callback are never cancelled: closing the stream ends them, and their callbacks see it.
 * (The handshake's time, a sleep, is; and what is tried at once, without a callback, is by design.)
 *
 * What all streams hold together is accounted for in transport_budget.h.
 *
 * The owner's callbacks are called without the lock, but wants_pause and may_resume, which may be
 * called with it and must not call back.
 */
#ifndef COMMON_IO_TRANSPORT_TRANSPORT_STREAM_H
#define COMMON_IO_TRANSPORT_TRANSPORT_STREAM_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <nng/nng.h>

#include "common/io/transport/transport_inbox.h"
#include "common/io/transport/transport_outbox.h"

struct stream_events {
    struct inbox_events inbox; /* what comes; an error of it closes the stream */
    /* May reading go on?  Asked after transport_stream_resume() and after every batch sent. */
    bool (*may_resume)(void *owner);
    void (*on_down)(void *owner, const struct error *error);
};

struct transport_stream {
    const struct stream_events *events;
    void *owner;
    nng_aio *receive_aio;
    nng_aio *send_aio;
    nng_aio *try_aio;       /* has no callback: never under way when the lock is free */
    nng_aio *handshake_aio; /* sleeps for as long as the handshake may take */

    pthread_mutex_t lock; /* guards everything up to the next blank line */
    nng_stream *stream;   /* NULL before it is started */
    struct outbox outbox;
    bool receiving; /* a receive, or its callback, is under way */
    bool sending;
    bool timing;        /* the handshake's time runs, or its callback is under way */
    atomic_bool paused; /* looked at without the lock, too */
    bool closed;
    bool close_when_sent;
    bool down;
    struct error error; /* why it was closed */

    _Atomic uint64_t queued_bytes; /* the outbox's, for readers without the lock */
    _Atomic int64_t taken_ns;      /* monotonic: the last batch was sent, or nothing was queued */

    /* Touched by the receive callback only. */
    struct inbox inbox;
};

/* Errors: STATUS_NO_MEMORY; nothing is left of the stream then. */
enum status transport_stream_init(struct transport_stream *stream,
                                  const struct stream_events *events,
                                  void *owner);

/* The stream is down, or was never given out.  Waits for nothing: may run in a callback. */
void transport_stream_deinit(struct transport_stream *stream);

/* The stream is down: wait until its last callback has returned.  Not from a callback. */
void transport_stream_wait(struct transport_stream *stream);

/* Takes ownership of connected, closed stream or not. */
void transport_stream_start(struct transport_stream *stream,
                            nng_stream *connected,
                            uint32_t handshake_timeout_ms);

/* The handshake is done: lets what is queued go. */
void transport_stream_open(struct transport_stream *stream);

/* Takes ownership; false when the stream is closed (outgoing is gone). */
bool transport_stream_send(struct transport_stream *stream, struct outgoing *outgoing);
bool transport_stream_send_urgent(struct transport_stream *stream, struct outgoing *outgoing);

/* The same, but also gone if the handshake is not done. */
bool transport_stream_send_if_open(struct transport_stream *stream, struct outgoing *outgoing);

/* What may_resume() looks at has changed. */
void transport_stream_resume(struct transport_stream *stream);

/* May call on_down before it returns.  error is kept if it is the first reason. */
void transport_stream_close(struct transport_stream *stream, const struct error *error);

/* The same once what is queued is sent; nothing more is received. */
void transport_stream_close_when_sent(struct transport_stream *stream, const struct error *error);

static inline uint64_t transport_stream_queued_bytes(const struct transport_stream *stream)
{
    return atomic_load(&stream->queued_bytes);
}

#endif /* COMMON_IO_TRANSPORT_TRANSPORT_STREAM_H */
