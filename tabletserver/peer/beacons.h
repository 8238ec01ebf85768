/*
 * Beacons: the thread that keeps this server's leases, and gives others theirs (lease.h decides;
 * this performs).
 *
 *   store loops -- peer, grant, except --> [ mailbox ] --> thread: lease_step() --> connections
 *   listener   -- BEACON of a peer ----->      "                "               --> its answer
 *   connections - BEACON_ACK ----------->      "                "               --> ends, listener
 *
 * It has connections of its own, touches no disk and waits for nothing but its mailbox, so that what
 * holds up data does not let leases lapse.  Only while a store loop hangs it says nothing (is_stuck).
 *
 * What a lease holds until is kept in a lease_end, where readers of any thread look at it (lease_ends.h).
 *
 * Thread rule: as said at each function.  Create, start and destroy when no other thread can call.
 */
#ifndef TABLETSERVER_PEER_BEACONS_H
#define TABLETSERVER_PEER_BEACONS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/error.h"
#include "common/io/transport/transport.h"
#include "tabletserver/peer/lease_ends.h"
#include "tabletserver/replica/lease.h"

#define BEACONS_MAILBOX_CAPACITY 16384

struct beacons;

struct beacons_options {
    struct lease_settings lease;
    uint64_t server;      /* this one's number */
    uint64_t incarnation; /* of this process */
    void *context;
    /*
     * EXCEPTED_BY_PEER, PEER_RESTARTED, EXCEPTED, SILENT of lease.h, in order, on the beacon thread;
     * the effect is good for the call.  It may not wait.  EXCEPTED_BY_PEER: before it returns no
     * reader may count on that peer for that (tablet, version) any more, because the peer's
     * lease_end is raised right after it.
     */
    void (*on_effect)(void *context, const struct lease_effect *effect);
    /* A peer has confirmed what was asked, or a while has passed: who waits for either looks again.  On the beacon
     * thread; it may not wait.  NULL: nobody asks. */
    void (*on_confirmed)(void *context);
    /* Does a store loop hang?  Then no beacons are sent, nor acknowledged: who cannot give up what he leads loses it by
     * saying nothing.  On the beacon thread; it may not wait.  NULL: never. */
    bool (*is_stuck)(void *context);
};

/* Errors: STATUS_INVALID_ARGUMENT (lease_settings_check), STATUS_NO_MEMORY. */
enum status beacons_create(const struct beacons_options *options,
                           struct beacons **ret_beacons,
                           struct error *ret_error);
enum status beacons_start(struct beacons *beacons, struct error *ret_error);

/* End the thread and hang up; requests that come afterwards are refused, leases run out.  NULL is
 * fine. */
void beacons_stop(struct beacons *beacons);
/* NULL is fine. */
void beacons_destroy(struct beacons *beacons);

/*
 * Any thread.  In force when the thread has taken them, in the order of the calls of one thread; the
 * contract of lease.h says why that is early enough.  False: the mailbox is full, or the thread has
 * stopped; nothing has happened, call again.
 */
/* The peer's address, copied; again with another one when it has moved.  NULL: no longer a peer. */
bool beacons_set_peer(struct beacons *beacons, uint64_t peer, const char *address);
bool beacons_grant(struct beacons *beacons,
                   uint64_t peer,
                   uint64_t incarnation,
                   uint64_t tablet,
                   uint64_t version);
bool beacons_except(struct beacons *beacons, uint64_t peer, uint64_t tablet, uint64_t version);

/* Where the end of the lease that peer gives is kept: made at the first call, good until
 * beacons_destroy().  NULL without memory.  Any thread. */
const struct lease_end *beacons_lease_end(struct beacons *beacons, uint64_t peer);

/*
 * Ask all peers to confirm that they still stand by what they have granted: the number of the question.  A peer has
 * when its lease_end's `confirmed` has come to that: it has acknowledged a beacon that was sent after this call, and
 * what it excepted then was taken from readers before.  Any thread.
 */
uint64_t beacons_ask(struct beacons *beacons);

/* A request of METHOD_BEACON: answered by the thread.  On nng's threads. */
void beacons_on_request(struct beacons *beacons,
                        const struct transport_request *request,
                        struct transport_reply *reply);

#endif /* TABLETSERVER_PEER_BEACONS_H */
