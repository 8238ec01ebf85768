/*
 * The phases of a run, and when each has lasted long enough.
 *
 *      quiet --tablets serve--> faults --time is up--> [a quorum] --all is well--> healed --all is well--> done
 *
 * quiet      where tablets are to be merged, so that there are some
 * faults     sim_faults.h
 * a quorum   in some seeds: nothing fails any more, but somebody stays away (sim_quorum.h)
 * healed     everybody is there; in some seeds once more, when one server has been stopped on purpose (sim_leave.h)
 *
 * In the last two, all that is under way must end within LIVENESS_NS of the last slice of a lesson, every tablet must serve, and scans of all
 * tables, both ways, must show exactly what was acknowledged.
 */
#ifndef TESTS_SIM_WORLD_SIM_PHASES_H
#define TESTS_SIM_WORLD_SIM_PHASES_H

#include "tests/sim/sim.h"

/* After each event: go on to the next phase if it is time; in the end the run is done, or has failed. */
void sim_phases_look(struct sim *sim);

#endif /* TESTS_SIM_WORLD_SIM_PHASES_H */
