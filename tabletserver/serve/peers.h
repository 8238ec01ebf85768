/*
 * Peers: the other tablet servers, as this one speaks to them: leases (beacons.h) and the messages of
 * replicas (lanes.h), handed to the store loops.
 *
 *   sync: peers_set() ----> beacons, lanes <----> other servers
 *                              |       |
 *                    host_hear()       store_loop_batch()
 *
 * Thread rule: as said at each function.
 */
#ifndef TABLETSERVER_SERVE_PEERS_H
#define TABLETSERVER_SERVE_PEERS_H

#include <stdint.h>

#include "common/base/bytes.h"
#include "common/base/error.h"
#include "common/io/transport/transport.h"
#include "tabletserver/peer/beacons.h"
#include "tabletserver/peer/lanes.h"

struct peers;
struct server;

/* Before the stores are opened.  Errors: STATUS_NO_MEMORY; those of grace_note_open(). */
enum status peers_create(struct server *server, struct peers **ret_peers, struct error *ret_error);

/* When all stores are open: from now on they hear. */
enum status peers_start(struct peers *peers, struct error *ret_error);

/* Nothing comes and goes any more.  NULL is fine. */
void peers_stop(struct peers *peers);
/* All batches are done, all hosts gone.  NULL is fine. */
void peers_destroy(struct peers *peers);

struct beacons *peers_beacons(const struct peers *peers);
struct lanes *peers_lanes(const struct peers *peers);

/* From then on nothing binds that processes before this one have granted (rule 8). */
int64_t peers_free_from_ns(const struct peers *peers);

/* Where a server is to be found.  One thread; what could not be told is told by peers_tell(). */
void peers_set(struct peers *peers, uint64_t server, struct bytes address);
void peers_tell(struct peers *peers);

/* Now and then: grace_note_settle().  One thread. */
void peers_settle_grace(struct peers *peers, int64_t now_ns);

/* METHOD_BEACON and METHOD_REPLICATE.  On nng's threads. */
void peers_on_request(struct peers *peers,
                      const struct transport_request *request,
                      struct transport_reply *reply);

#endif /* TABLETSERVER_SERVE_PEERS_H */
