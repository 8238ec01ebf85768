/*
 * What servers are set to (rule 8): beacon, lease and grace.
 *
 *   as ever   all of them, all the time, as they come
 *   alike     all of them something else
 *   rolling   there are two settings, and whoever starts has one or the other: a lease of the longer one does not
 *             fit the grace of the shorter one.  In the end those that have not the one that is to stay are started with it.
 *
 * The grace is noted on the disk, as grace_note.h has it.
 */
#ifndef TESTS_SIM_WORLD_SIM_LEASES_H
#define TESTS_SIM_WORLD_SIM_LEASES_H

#include "tabletserver/replica/lease.h"
#include "tests/sim/sim.h"

/* Of a generator of its own: seeds in which they are as ever do not depend on it. */
void sim_leases_draw(struct sim *sim);
/* As ever: false. */
bool sim_leases_differ(const struct sim *sim);

/* A server starts: with what?  What it notes is noted. */
void sim_leases_start(struct sim *sim, uint32_t node, struct lease_settings *ret_settings);
/* Its clock goes on: is what it waited for over? */
void sim_leases_settle(struct sim *sim, uint32_t node);

/* Nothing fails any more: whoever has not what is to stay is started with that. */
void sim_leases_put_right(struct sim *sim);

#endif /* TESTS_SIM_WORLD_SIM_LEASES_H */
