/*
 * The listener as its peers see it.
 */
#ifndef COMMON_IO_TRANSPORT_TRANSPORT_LISTENER_H
#define COMMON_IO_TRANSPORT_TRANSPORT_LISTENER_H

#include "common/io/metrics.h"
#include "common/io/transport/transport_peer.h"

#define LISTENER_HANDSHAKE_TIMEOUT_MS 5000
#define LISTENER_STRANGERS_MAX        256 /* over the limit: those that have not shaken hands */
#define LISTENER_CLOSING_MAX          64  /* over that: told to close, and not down yet */
#define LISTENER_IDLE_NS              (INT64_C(5) * 1000 * 1000 * 1000)

/*
 * Who holds a connection and does nothing must not keep others out.  A place, one of connections_max, is
 * given in the handshake.  Where all are taken, who has done nothing for LISTENER_IDLE_NS, and has
 * nothing under way, loses his to who comes: whoever is closed so dials again when he has something to
 * ask.  And where too many have not shaken hands, those that came first are closed; where descriptors end before, one
 * of these, or who has done nothing for so long, is closed for each accept that fails.
 */

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
    size_t place_count; /* peers that have one */
    bool accepting;     /* an accept, a pause before the next, or its callback is under way */
    bool pausing;       /* that operation is a pause */
    int64_t
        accept_told_ns; /* when it was last said that accepting fails; that operation's; 0 = never */
    struct metric *connections;
    struct metric *displaced;
    struct metric *refused;
};

/* The peer shakes hands: may it stay?  In its receive callback. */
bool transport_listener_give_place(struct transport_listener *listener,
                                   struct transport_peer *peer);

/* The peer's stream is down: forget it.  The listener may be gone when it returns. */
void transport_listener_remove(struct transport_listener *listener, struct transport_peer *peer);

#endif /* COMMON_IO_TRANSPORT_TRANSPORT_LISTENER_H */
