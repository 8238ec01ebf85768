/*
 * The commit of a master that is gone, when it is still on its way to the coordinator: of one that was killed,
 * or stood still until another took its place.
 *
 *   nobody has loaded the catalog since  --> it is taken; who loads next finds it there
 *   another master has                   --> it is refused, as every coordinator must: the catalog that the
 *                                            other one goes by has no place for it
 *
 * One at a time: of two the earlier is void anyhow, for a master has begun between them.
 */
#ifndef TESTS_SIM_SIM_DEPOSED_H
#define TESTS_SIM_SIM_DEPOSED_H

#include "master/core/catalog.h"
#include "tests/sim/sim.h"

struct sim_deposed *sim_deposed_create(void);
void sim_deposed_destroy(struct sim_deposed *deposed);

/* A master begins: what others had on their way is not theirs to commit any more. */
void sim_deposed_begin(struct sim *sim);
/* The commit of the master that ends now comes later.  The puts are copied. */
void sim_deposed_keep(struct sim *sim, const struct catalog_put *puts, size_t put_count);
/* It is lost. */
void sim_deposed_forget(struct sim *sim);
/* Its event has come. */
void sim_deposed_arrive(struct sim *sim, uint64_t number);

#endif /* TESTS_SIM_SIM_DEPOSED_H */
