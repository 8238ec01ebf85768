/*
 * Until when the leases hold that other servers give to this one: written by the beacon thread, looked at by readers of
 * any thread, who first take their snapshot and then look, and answer only if it is not over (rule 7).
 *
 * Thread rule: as said at each function.
 */
#ifndef TABLETSERVER_PEER_LEASE_ENDS_H
#define TABLETSERVER_PEER_LEASE_ENDS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/io/metrics.h"

/* The end of the lease that one peer gives. */
struct lease_end {
    _Atomic int64_t until_ns; /* clock_monotonic_ns(); 0 = there is no lease */
    /* The highest question that the peer has confirmed (beacons_ask()). */
    atomic_uint_fast64_t confirmed;
};

/* Does it hold at now_ns?  Any thread. */
static inline bool lease_end_holds(const struct lease_end *end, int64_t now_ns)
{
    return now_ns < atomic_load_explicit(&end->until_ns, memory_order_acquire);
}

static inline bool lease_end_is_confirmed(const struct lease_end *end, uint64_t asked)
{
    return asked <= atomic_load_explicit(&end->confirmed, memory_order_acquire);
}

struct end_node;

/* A list that only grows, so that readers may keep pointers into it. */
struct lease_ends {
    _Atomic(struct end_node *) first;
    pthread_mutex_t mutex; /* held to add one */
    struct metric *lapsed;
};

void lease_ends_init(struct lease_ends *ends);
/* When no reader can look any more. */
void lease_ends_deinit(struct lease_ends *ends);

/* The end of what that peer gives, made at the first call, good until deinit; from now on one that lapses counts.  NULL
 * without memory.  Any thread. */
const struct lease_end *lease_ends_want(struct lease_ends *ends, uint64_t peer);

/* --- the beacon thread ---------------------------------------------------------------------------- */

/* until_ns 0 = there is no lease any more.  Does nothing for a peer whose end nobody has asked for. */
void lease_ends_set(struct lease_ends *ends, uint64_t peer, int64_t until_ns);

/* The peer has confirmed this question.  It says so once, and somebody may come to count on that peer only later, who
 * asked before: so it is kept of every peer, whether or not anybody has asked for its end.  Without memory it is
 * forgotten. */
void lease_ends_confirm(struct lease_ends *ends, uint64_t peer, uint64_t asked);

/* The peer shares no tablet with this server any more: its lease may run out, and is not counted as lapsed then. */
void lease_ends_let_run_out(struct lease_ends *ends, uint64_t peer);

/* Count, and tell the log of, those that are over and were not renewed in time; each once. */
void lease_ends_look_for_lapsed(struct lease_ends *ends);

#endif /* TABLETSERVER_PEER_LEASE_ENDS_H */
