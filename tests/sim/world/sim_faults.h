/*
 * Faults: the fault maker's turns, by what the seed has drawn (sim_draw.h), and their end.
 */
#ifndef TESTS_SIM_WORLD_SIM_FAULTS_H
#define TESTS_SIM_WORLD_SIM_FAULTS_H

#include "tests/sim/sim.h"

/* The fault maker's turn; it asks for the next one itself. */
void sim_faults_turn(struct sim *sim);
/* What is on its way from servers to masters is lost, and what masters have not done yet, with their lives: a
 * proposal of before must not be taken now. */
void sim_faults_forget_proposals(struct sim *sim);
/* May that server's disk be lost: of each of its tablets, has another member all, and is it sound? */
bool sim_faults_may_lose(const struct sim *sim, uint32_t node);
/* The same of one of its stores. */
bool sim_faults_may_lose_store(const struct sim *sim, uint32_t node, uint32_t store);
/* From now on nothing fails any more; what is down starts, but for who stays away (sim_quorum.h). */
void sim_faults_heal(struct sim *sim);

#endif /* TESTS_SIM_WORLD_SIM_FAULTS_H */
