/*
 * The listener as its peers see it.
 */
#ifndef COMMON_IO_TRANSPORT_LISTENER_H
#define COMMON_IO_TRANSPORT_LISTENER_H

#include "common/io/transport_peer.h"

#define LISTENER_HANDSHAKE_TIMEOUT_MS 5000
#define LISTENER_SURPLUS_MAX          16 /* connections over the limit that are told so */

struct transport_listener {
    struct transport_listener_options options; /* its texts are the copies below */
    char *address;
    char *agent;
    nng_stream_listener *listener;
    nng_aio *accept_aio;
    uint16_t port;
    atomic_bool closing;
    pthread_mutex_t lock;
    pthread_cond_t emptied; /* the last peer, or the accept operation, has gone */
    struct transport_peer *peers;
    size_t peer_count;
    bool accepting; /* an accept, a pause before the next, or its callback is under way */
    bool pausing;   /* that operation is a pause */
};

/* The peer's stream is down: forget it.  The listener may be gone when it returns. */
void transport_listener_remove(struct transport_listener *listener, struct transport_peer *peer);

#endif /* COMMON_IO_TRANSPORT_LISTENER_H */
