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

/* Of one peer.  In clock_monotonic_ns(); 0 = nothing is held. */
struct lease_end {
    _Atomic int64_t until_ns;
    atomic_uint_fast64_t confirmed; /* of beacons_ask()'s numbers */
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

/* 0 = nothing is held.  A peer whose end nobody has asked for is one that nobody counts on. */
void lease_ends_set(struct lease_ends *ends, uint64_t peer, int64_t until_ns);

/* Said once: who asked before anybody counted on that peer, and comes to count on it now, would wait for ever.  So it is
 * kept of each peer; forgotten where there is no memory. */
void lease_ends_confirm(struct lease_ends *ends, uint64_t peer, uint64_t asked);

/* It shares no tablet with this server any more: what it gave runs out, and nobody misses it. */
void lease_ends_let_run_out(struct lease_ends *ends, uint64_t peer);

/* Count, and tell the log of, those that are over and were not renewed in time; each once. */
void lease_ends_look_for_lapsed(struct lease_ends *ends);

#endif /* TABLETSERVER_PEER_LEASE_ENDS_H */
