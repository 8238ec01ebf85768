/*
 * Rules of garbage collection: in a third of the seeds the main table has a family with one, which the
 * administrator may change, and each server collects by itself, now and then.
 */
#ifndef TESTS_SIM_WORLD_SIM_RULES_H
#define TESTS_SIM_WORLD_SIM_RULES_H

#include <stdbool.h>
#include <stdint.h>

#include "common/model/schema.h"

#define SIM_RULES_FAMILY  "x"
#define SIM_RULES_CHOICES 3

struct sim;

struct sim_rules {
    bool on;
    bool changes;                              /* the administrator's doing */
    int64_t interval_ns;                       /* about: between two looks of a server's */
    int64_t append_mean_ns;                    /* from what was found until it is appended */
    struct gc_rule choices[SIM_RULES_CHOICES]; /* the first is the table's from the beginning */
    struct gc_rule parts[SIM_RULES_CHOICES][2];
};

/* Of a generator of its own.  Requires: the workload is drawn. */
void sim_rules_draw(struct sim *sim);

#endif /* TESTS_SIM_WORLD_SIM_RULES_H */
