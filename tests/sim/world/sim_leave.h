/*
 * A server that is stopped on purpose (rule 14): it hands over what others can lead, then it ends, and is started again.
 *
 *   told to --> a round every few ms: host_leave() --it leads nothing, or its time is over--> killed --> starts again
 *
 * That befalls servers among all other faults.  Besides, in half of the seeds with copies, one of them is stopped when
 * everything is well: then it must have handed over within its time, and all must be well once more.
 */
#ifndef TESTS_SIM_WORLD_SIM_LEAVE_H
#define TESTS_SIM_WORLD_SIM_LEAVE_H

#include "tests/sim/sim.h"

/* Of a generator of its own: seeds in which nobody leaves do not depend on it. */
void sim_leave_draw(struct sim *sim);
/* The fault maker's turn. */
void sim_leave_begin(struct sim *sim);
/* SIM_EVENT_LEAVE: has it handed over? */
void sim_leave_act(struct sim *sim, const struct sim_event *event);

/* All is well: does one leave now?  Once in a run. */
bool sim_leave_in_the_end(struct sim *sim);
/* Somebody is to end, or has, and is not there again; but for who stays away. */
bool sim_leave_is_under_way(const struct sim *sim);

#endif /* TESTS_SIM_WORLD_SIM_LEAVE_H */
