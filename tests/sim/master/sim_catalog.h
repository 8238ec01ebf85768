/*
 * The catalog as the coordinator has it, tablet by tablet: for whoever looks from outside.
 */
#ifndef TESTS_SIM_MASTER_SIM_CATALOG_H
#define TESTS_SIM_MASTER_SIM_CATALOG_H

#include "master/core/record/record.h"
#include "tests/sim/sim.h"

/* The record is borrowed for the call. */
typedef void (*sim_catalog_visit)(void *context, const struct tablet_record *record);

/* Every tablet, in the order of their numbers. */
void sim_catalog_tablets(const struct sim *sim, sim_catalog_visit visit, void *context);

#endif /* TESTS_SIM_MASTER_SIM_CATALOG_H */
