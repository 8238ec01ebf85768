/*
 * A machine that stands still, and its clocks with it: a guest that its hypervisor has frozen, or moved.
 *
 * Its process is stopped as by SIGSTOP, but when it goes on, no time has passed for it: CLOCK_BOOTTIME goes on where it
 * was, so it still counts on leases that are long over.  It is cut off from the other servers for a little longer, so
 * that they do not tell it at once what has become of its tablets; and some clients stand still as long, so that they
 * still ask it.  Nothing that is read on the strength of leases alone is safe
 * then (docs/replication.md, rule 7), so it befalls seeds only in which reads are confirmed; their checkers are those of
 * what clients see.  Who may serve by its own clock says nothing there.
 */
#ifndef TESTS_SIM_WORLD_SIM_FREEZE_H
#define TESTS_SIM_WORLD_SIM_FREEZE_H

#include "tests/sim/sim.h"

/* Of a generator of its own: seeds without it do not depend on it. */
void sim_freeze_draw(struct sim *sim);
/* The fault maker's turn. */
void sim_freeze_begin(struct sim *sim);
/* It goes on, or is killed. */
void sim_freeze_end(struct sim *sim, uint32_t node);

/* For how long the node's clock has stood still, in all, at this moment. */
int64_t sim_freeze_ns(const struct sim *sim, uint32_t node);

#endif /* TESTS_SIM_WORLD_SIM_FREEZE_H */
