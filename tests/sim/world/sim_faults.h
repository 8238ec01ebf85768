/*
 * Faults: what a seed draws, and the fault maker's turns.
 *
 * Swarm testing: each seed leaves whole classes of faults out and weighs the others wildly.  Bugs
 * that hide behind one fault are found in seeds that lack it.
 */
#ifndef TESTS_SIM_WORLD_SIM_FAULTS_H
#define TESTS_SIM_WORLD_SIM_FAULTS_H

#include "tests/sim/sim.h"

void sim_faults_draw(struct sim *sim);
/* A story that takes seconds is told alone: of what befalls servers with copies nothing else happens. */
void sim_faults_calm(struct sim_settings *settings);
/* One line. */
void sim_faults_describe(const struct sim *sim, struct buffer *out);
/* The fault maker's turn; it asks for the next one itself. */
void sim_faults_turn(struct sim *sim);
/* What is on its way from servers to masters is lost, and what masters have not done yet, with their lives: a
 * proposal of before must not be taken now. */
void sim_faults_forget_proposals(struct sim *sim);
/* Of each tablet of that server's disk another member has all, and is sound. */
bool sim_faults_may_lose(const struct sim *sim, uint32_t node);
/* The same of one of its stores. */
bool sim_faults_may_lose_store(const struct sim *sim, uint32_t node, uint32_t store);
/* From now on nothing fails any more; what is down starts, but for who stays away (sim_quorum.h). */
void sim_faults_heal(struct sim *sim);

#endif /* TESTS_SIM_WORLD_SIM_FAULTS_H */
