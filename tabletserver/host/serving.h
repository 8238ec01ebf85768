/*
 * The serving word of a tablet: what readers of any thread look at to know whether what they have read
 * may be told (rule 7).
 *
 *      serving_opening()  --->  snapshot  --->  serving_held(now)  --->  answer
 *
 * It is looked at before the snapshot, too: a reader may be held up between the two, and what it has read was
 * of a follower then, which does not know yet what was acknowledged.  (Modelled: tests/model/replication.)
 *
 * It says: the tablet is served by this process, while the lease of each of these peers holds, each given
 * by this very process of the peer's (rule 8).  A reader takes no lock and waits for nobody: the word is
 * written to the slot that is not current, which then becomes it; who was overtaken twice looks again.
 *
 * Where clocks are not trusted, each of the peers is asked besides, before the snapshot (rule 7): who leads the
 * tablet by their own word at a moment after the read has come, has all that was acknowledged before it.
 *
 *      asked = beacons_ask()  --->  serving_confirmed(asked)  --->  opening, snapshot, held, answer
 *
 * It also says what the replica is to its tablet, for those who report it.
 *
 * Thread rule: holds, confirmed, look, ref, unref: any thread.  Publish and close: under one lock.  Note: one
 * thread.
 */
#ifndef TABLETSERVER_HOST_SERVING_H
#define TABLETSERVER_HOST_SERVING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/base/replica_configuration.h"
#include "common/base/status.h"
#include "tabletserver/peer/beacons.h"
#include "tabletserver/replica/replica.h"

struct serving;

/* Another server, as all words of a host see it.  It outlives them. */
struct serving_peer {
    const struct lease_end *end;
    atomic_uint_fast64_t incarnation; /* its newest process; raised before the end is */
};

/* Whom a word counts on: a peer's process. */
struct serving_on {
    const struct serving_peer *peer;
    uint64_t incarnation;
};

/* Closed, with one reference.  Errors: STATUS_NO_MEMORY. */
enum status serving_create(struct serving **ret_serving);
void serving_ref(struct serving *serving);
void serving_unref(struct serving *serving); /* NULL is fine */

/* Open it on these, at most REPLICA_PEERS_MAX; none: it holds until it is closed. */
void serving_publish(struct serving *serving, const struct serving_on *peers, uint32_t count);
void serving_close(struct serving *serving);

/* What the replica is, and under which version; 0 = it has no configuration yet.  leads: it reigns, and
 * has opened all members. */
struct serving_view {
    uint64_t version;
    enum replica_role role;
    bool leads;
    bool damaged; /* it is to be taught anew */
    bool empty;   /* what it has counts for nothing: a part, or nothing at all */
};
void serving_note(struct serving *serving, struct serving_view view);
struct serving_view serving_look(const struct serving *serving);

/* Does it hold at now_ns (clock_monotonic_ns())? */
bool serving_holds(const struct serving *serving, int64_t now_ns);

/* The same, and has each that it counts on confirmed that since beacons_ask() gave `asked`? */
bool serving_confirmed(const struct serving *serving, uint64_t asked, int64_t now_ns);

/* Since when is it open?  0 = it is closed; otherwise another number each time that it was closed before. */
uint64_t serving_opening(const struct serving *serving);

/* May be told what was read after serving_opening() gave that, and before now_ns was looked at? */
bool serving_held(const struct serving *serving, uint64_t opening, int64_t now_ns);

#endif /* TABLETSERVER_HOST_SERVING_H */
