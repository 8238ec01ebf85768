/*
 * A fault of one shape, which chance alone never draws: a proposal that is taken late (rule 11 of
 * docs/replication.md).
 *
 * A primary is cut off from the master and from one secondary.  That one turns away and proposes itself, but its
 * words to the master are held up; it restarts, hears the primary again, and grants again.  Now its old proposal
 * arrives and is taken, while the primary is cut off from everybody but clients: it holds a lease of the very
 * server that leads next, which may have restarted once more in between.
 */
#ifndef TESTS_SIM_WORLD_SIM_LATE_H
#define TESTS_SIM_WORLD_SIM_LATE_H

#include "tests/sim/sim.h"

/* Where it is told: reads ask nobody, all servers have the leases that its times are made for, and in half of those seeds
 * nothing else happens.  After sim_freeze_draw(). */
void sim_late_draw(struct sim *sim);
/* One at a time; nothing happens where no tablet has a primary and a secondary that are up. */
void sim_late_begin(struct sim *sim);
/* The next act, SIM_EVENT_LATE with this number. */
void sim_late_act(struct sim *sim, uint64_t act);

#endif /* TESTS_SIM_WORLD_SIM_LATE_H */
