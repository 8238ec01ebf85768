/*
 * Lanes: how messages of replicas travel between the stores of two servers, in batches (method
 * REPLICATE; replica_message.h has their form).
 *
 *   store loop -- lanes_send() --> [ outbox ] -- lanes_flush(), or an answer --> connection --> peer
 *   peer --> listener --> on_batch() --> store loop -- lanes_batch_done() --> answer
 *
 * There is one outbox for each pair of stores.  What has gathered in it leaves as one batch when its
 * store loop has come to the end of a round, unless LANES_IN_FLIGHT_MAX batches are on their way to
 * that server; then it leaves with the next answer, so batches grow as the peer gets slower.  An
 * answer says that the peer's store loop is done with a batch, nothing else: it bounds what waits
 * there.  A batch so large that others would overtake it travels alone; pairs of stores take turns.
 * A connection that another server answers is given up: who dials knows whom it means.
 *
 * Nothing is kept for sending again.  A message may be lost (no connection, a full outbox, a peer that
 * went away), and replicas live with that (docs/replication.md, section 4); those that arrive on one
 * connection arrive in the order in which they were sent.
 *
 * Thread rule: as said at each function.  Create, start and destroy when no other thread can call.
 */
#ifndef TABLETSERVER_PEER_LANES_H
#define TABLETSERVER_PEER_LANES_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/error.h"
#include "common/io/transport/transport.h"
#include "tabletserver/replica/replica_message.h"

#define LANES_IN_FLIGHT_MAX 4     /* batches to one server */
#define LANES_ITEMS_MAX     16384 /* of one batch */

struct lanes;

/* Of a peer: handed over, good until lanes_batch_done(). */
struct lanes_batch {
    struct replica_batch batch;
};

struct lanes_options {
    uint64_t server;           /* this one's number */
    uint64_t incarnation;      /* of this process */
    uint64_t outbox_bytes_max; /* of one pair of stores; a single item may be larger */
    int64_t patience_ns;       /* batches are on their way and none is answered: dial again */
    void *context;
    /* On nng's threads.  True: the batch is the callee's, who calls lanes_batch_done().  False: it
     * cannot be taken (no such store, no room), and is lost. */
    bool (*on_batch)(void *context, struct lanes_batch *batch);
};

/* What has come and gone since the beginning. */
struct lanes_figures {
    uint64_t batches_sent;
    uint64_t items_sent;
    uint64_t bytes_sent;
    uint64_t items_lost; /* before they were sent */
    uint64_t batches_received;
    uint64_t batches_refused; /* malformed, or not taken */
};

/* Errors: STATUS_NO_MEMORY. */
enum status lanes_create(const struct lanes_options *options,
                         struct lanes **ret_lanes,
                         struct error *ret_error);
enum status lanes_start(struct lanes *lanes, struct error *ret_error);
/* End the thread and hang up: what is sent afterwards is lost.  NULL is fine. */
void lanes_stop(struct lanes *lanes);
/* All batches must be done.  NULL is fine. */
void lanes_destroy(struct lanes *lanes);

/* Where a server is to be found; again when it has moved; NULL or "" = hang up.  Any thread.  Errors:
 * STATUS_NO_MEMORY, STATUS_INVALID_ARGUMENT (too long an address). */
enum status lanes_set_peer(struct lanes *lanes, uint64_t server, const char *address);

/* Put a message into the outbox; its entry's payload is copied.  False: it is lost, the peer being
 * unknown, the outbox full, or memory short.  Any thread, but one a pair of stores. */
bool lanes_send(struct lanes *lanes,
                uint64_t from_store,
                struct replica_member to,
                uint64_t tablet,
                const struct replica_message *message);

/* The end of a round: let go what has gathered.  Any thread. */
void lanes_flush(struct lanes *lanes);

/* A request of METHOD_REPLICATE.  On nng's threads. */
void lanes_on_request(struct lanes *lanes,
                      const struct transport_request *request,
                      struct transport_reply *reply);

/* The batch has been gone through: it is freed and answered.  Any thread, at once: until then it counts
 * among those that the peer has on their way. */
void lanes_batch_done(struct lanes_batch *batch);

/* For tests. */
struct lanes_figures lanes_look(const struct lanes *lanes);

#endif /* TABLETSERVER_PEER_LANES_H */
