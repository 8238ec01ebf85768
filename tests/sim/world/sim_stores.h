/*
 * Servers with several stores, each on a disk of its own, in a quarter of the seeds: all have two, or each has one to three.
 *
 * A server dies as a whole, and its power is cut for all of its disks; but one disk stands still, is full, turns bad or is
 * replaced, and the others of its server are not.  Copies that do not count go after seconds in these seeds, and more often is a
 * server drained and taken back: a tablet that comes back to a server may come to another one of its stores, beside a copy that
 * was let go.
 */
#ifndef TESTS_SIM_WORLD_SIM_STORES_H
#define TESTS_SIM_WORLD_SIM_STORES_H

#include "tests/sim/sim.h"

/* Of a generator of its own: seeds in which all have one do not depend on it. */
void sim_stores_draw(struct sim *sim);
/* Does any server have more than one? */
bool sim_stores_differ(const struct sim *sim);
/* No server has two copies of one tablet: what was let go beside another one is gone. */
bool sim_stores_are_tidy(const struct sim *sim);
/* One of a server's stores, by its place among them. */
uint32_t sim_stores_any(struct sim *sim, uint32_t node);

#endif /* TESTS_SIM_WORLD_SIM_STORES_H */
