/*
 * The listening side of one connection: its handshake, its requests and their replies.
 *
 * A peer is in its listener's list until its stream is down; replies that the layer above still
 * holds keep it in memory beyond that, and beyond the listener's closing, but then do nothing more.
 *
 * Locks: the peer's (replies and their flags) and the stream's are never held together.
 */
#ifndef COMMON_IO_TRANSPORT_TRANSPORT_PEER_H
#define COMMON_IO_TRANSPORT_TRANSPORT_PEER_H

#include "common/io/transport/transport.h"
#include "common/io/transport/transport_stream.h"

#define PEER_REPLY_BUCKETS 256 /* a power of two */

/* A peer may grant more, but no stream has more than this on its way: enough to keep a connection
 * busy, and a peer that never reads costs no more. */
#define REPLY_CREDIT_BYTES_MAX (INT64_C(4) << 20)

struct transport_reply {
    struct transport_peer *peer;
    uint64_t request;
    void *context;
    uint8_t *body; /* the request's payload, head included; own_body, or memory of its own */
    _Atomic int64_t credit_bytes;
    atomic_bool cancelled;
    bool holds_peer;
    bool is_stream; /* counted in the peer's streams, not in in_flight */

    /* Guarded by the peer's lock. */
    struct transport_reply *bucket_next;
    struct transport_reply *previous; /* of all replies of the peer */
    struct transport_reply *next;
    bool in_progress_call; /* on_progress runs, in progress_thread */
    bool finished;         /* in the midst of its own on_progress: freed after it */
    pthread_t progress_thread;

    uint8_t own_body[];
};

struct transport_peer {
    struct transport_stream stream;
    struct transport_listener *listener; /* not to be touched once the stream is down */
    struct transport_peer *previous;     /* guarded by the listener's lock */
    struct transport_peer *next;
    bool told_to_close;
    atomic_uint references;
    enum lane lane;
    uint64_t process;
    bool judged;               /* HELLO was answered; the receive callback's alone */
    atomic_bool greeted;       /* with OK; set by the receive callback */
    bool has_place;            /* one of connections_max; guarded by the listener's lock */
    _Atomic int64_t active_ns; /* monotonic: accepted, greeted, asked something, was answered */

    /* Copied, because replies outlive the listener. */
    uint32_t requests_max;
    uint64_t queued_bytes_max;

    atomic_bool resting; /* nothing is read, until rest_aio's time is over */
    nng_aio *rest_aio;

    atomic_uint in_flight; /* requests that end whatever the peer does */
    atomic_uint streams;   /* those that need its credit to go on */
    atomic_uint holds;     /* of in_flight: those until whose end nothing is read */
    pthread_mutex_t lock;
    pthread_cond_t progressed; /* an on_progress call has ended */
    struct transport_reply *replies;
    struct transport_reply *buckets[PEER_REPLY_BUCKETS];
};

void transport_reply_free(struct transport_reply *reply); /* it is in no table any more */

/* More credit for a reply's stream, up to REPLY_CREDIT_BYTES_MAX. */
void reply_add_credit(struct transport_reply *reply, uint64_t bytes);

/* With one reference, the stream's, which is dropped when it is down.  NULL without memory. */
struct transport_peer *transport_peer_create(struct transport_listener *listener);
void transport_peer_start(struct transport_peer *peer, nng_stream *connected);
void transport_peer_ref(struct transport_peer *peer);
void transport_peer_unref(struct transport_peer *peer);

/* Read nothing for a while: it was refused something for want of room.  In the receive callback only,
 * so that the peer is not down; it is kept until its rest is over. */
void transport_peer_rest(struct transport_peer *peer);

/* Something is queued, and none of it was taken for half a second. */
bool transport_peer_takes_nothing(const struct transport_peer *peer, uint64_t queued_bytes);

/* Frames without a reply behind them: GOAWAY. */
void transport_peer_say(struct transport_peer *peer, enum frame_type type, const char *text);

#endif /* COMMON_IO_TRANSPORT_TRANSPORT_PEER_H */
