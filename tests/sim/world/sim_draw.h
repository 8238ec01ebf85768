/*
 * What a seed draws: topology, workload, machines, and how often each kind of fault is made.
 *
 * Swarm testing: each seed leaves whole classes of faults out and weighs the others wildly.  Bugs
 * that hide behind one fault are found in seeds that lack it.
 *
 * What was added to the simulator later is drawn by generators of their own, and last, so that what a seed meant
 * before stays as it was.
 */
#ifndef TESTS_SIM_WORLD_SIM_DRAW_H
#define TESTS_SIM_WORLD_SIM_DRAW_H

#include "tests/sim/sim.h"

/* All of sim->settings, by sim->seed and its generator. */
void sim_draw_settings(struct sim *sim);
/* A story that takes seconds is told alone: of what befalls servers with copies nothing else happens. */
void sim_draw_calm(struct sim_settings *settings);
/* One line for whoever looks into a failure, appended. */
void sim_draw_describe(const struct sim *sim, struct buffer *out);

/* Any number from low to high, both of them among them. */
uint64_t sim_draw_between(struct sim *sim, uint64_t low, uint64_t high);
/* Over orders of magnitude: 1, 2, 4 ... times low, up to high. */
int64_t sim_draw_spread_ns(struct sim *sim, int64_t low_ns, int64_t high_ns);

#endif /* TESTS_SIM_WORLD_SIM_DRAW_H */
