/*
 * A quorum is healed, and the rest is not: a server of several, a master of two, or both, stay away for as long as it takes.
 *
 *      faults --> who stays away is chosen; all others are healed --> all must be well without it --> it is back
 *
 * That is the strictest that a cluster promises: not that it recovers when everything does, but that it does not need
 * whoever is lost.  Who is away is down, or runs on and is cut off; cut off one way, it still hears everybody, and
 * nobody hears it.
 *
 * A server may be away only where each tablet of its disk has another member that is sound, as where a disk may be lost
 * (sim_faults_may_lose): a tablet whose only member is away waits for it, and must.  Nor where, with another one drained, fewer
 * servers are left than tables want copies in sync.  Nor before there is a table: none can be made with fewer servers than it wants
 * copies.
 */
#ifndef TESTS_SIM_WORLD_SIM_QUORUM_H
#define TESTS_SIM_WORLD_SIM_QUORUM_H

#include "tests/sim/sim.h"

/* Of a generator of its own. */
void sim_quorum_draw(struct sim *sim);
/* The network is healed, and nobody who is down has started yet: choose, and take away. */
void sim_quorum_begin(struct sim *sim);
/* All others did without: it is back. */
void sim_quorum_end(struct sim *sim);

/* Does this node stay away now? */
bool sim_quorum_is_away(const struct sim *sim, uint32_t node);
/* Servers that a tablet's copies may be on now. */
uint32_t sim_quorum_servers(const struct sim *sim);

#endif /* TESTS_SIM_WORLD_SIM_QUORUM_H */
