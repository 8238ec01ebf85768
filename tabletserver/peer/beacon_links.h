/*
 * The connections that beacons go out on: one to each peer, dialled again when it breaks or when
 * nothing has come back on it for a while (a connection over a network that was cut would try for
 * minutes to get its old bytes through).
 *
 *   beacon_links_send() --> connection --> peer
 *   its answer, its end  --> on_note() of the owner, on nng's threads --> beacon_links_take()
 *
 * What comes of a connection that was given up bears an old generation, and is dropped.  So is what another server
 * says that has the peer's address: the handshake tells who answers, and the connection is given up.
 *
 * Thread rule: the owner's thread; on_note from any thread of nng's, until beacon_links_destroy()
 * has returned.
 */
#ifndef TABLETSERVER_PEER_BEACON_LINKS_H
#define TABLETSERVER_PEER_BEACON_LINKS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/buffer.h"
#include "common/base/error.h"

/* Beacons without an answer, one after the other, after which a connection is given up. */
#define BEACON_LINK_UNANSWERED_MAX 4

struct beacon_links;

/* Something of a connection, to be handed to beacon_links_take() on the owner's thread. */
struct beacon_link_note {
    uint64_t peer;
    uint64_t generation;
    bool closed;           /* else an answer */
    struct buffer message; /* of the answer; the taker's */
};

/* The note is the callee's; false: it was dropped (its message too), as a network would. */
typedef bool (*beacon_link_take_note)(void *context, struct beacon_link_note *note);

/* process: the number of this server, for the handshake.  Errors: STATUS_NO_MEMORY. */
enum status beacon_links_create(uint64_t process,
                                beacon_link_take_note on_note,
                                void *context,
                                struct beacon_links **ret_links);
/* Hangs up everywhere.  NULL is fine. */
void beacon_links_destroy(struct beacon_links *links);

/* Where the peer is to be found; "" = not to be dialled any more.  Errors: STATUS_NO_MEMORY,
 * STATUS_INVALID_ARGUMENT (too long an address). */
enum status beacon_links_set(struct beacon_links *links, uint64_t peer, const char *address);

bool beacon_links_has(const struct beacon_links *links, uint64_t peer);

/* One request of METHOD_BEACON; message is taken over.  Without a connection one is dialled and the
 * message is lost, as may be. */
void beacon_links_send(struct beacon_links *links, uint64_t peer, struct buffer *message);

/* True: *note is an answer of the peer's present connection, for the caller to read. */
bool beacon_links_take(struct beacon_links *links, const struct beacon_link_note *note);

#endif /* TABLETSERVER_PEER_BEACON_LINKS_H */
