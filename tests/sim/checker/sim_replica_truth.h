/*
 * What must hold between the copies of a tablet, judged from outside: invariants I2, I4, I6 and I9 of
 * docs/replication.md, by what stores report as durable and committed, whatever replicas believe.
 */
#ifndef TESTS_SIM_CHECKER_SIM_REPLICA_TRUTH_H
#define TESTS_SIM_CHECKER_SIM_REPLICA_TRUTH_H

#include "tests/sim/store/sim_store.h"

struct sim_server;
struct sim_replica_truth;

struct sim_replica_truth *sim_truth_create(struct sim *sim);
void sim_truth_destroy(struct sim_replica_truth *truth);

/* A process begins: what its store has, window and all, is durable. */
void sim_truth_on_recovered(struct sim_replica_truth *truth,
                            const struct sim_server *server,
                            const struct sim_tablet *tablet);
void sim_truth_on_durable(struct sim_replica_truth *truth,
                          const struct sim_server *server,
                          const struct sim_tablet *tablet,
                          uint64_t sequence);
/* Its content is what was committed up to its committed point. */
void sim_truth_on_taught(struct sim_replica_truth *truth,
                         const struct sim_server *server,
                         const struct sim_tablet *tablet);
/* Entries [first, last] of its window are about to be: the same everywhere (I6), and durable (I2). */
void sim_truth_on_committed(struct sim_replica_truth *truth,
                            const struct sim_server *server,
                            const struct sim_tablet *tablet,
                            uint64_t first,
                            uint64_t last);
/* A client is told that what lies at sequence is done (I9), or shown rows (sequence 0): nobody else may
 * serve them (I4). */
void sim_truth_on_answered(struct sim_replica_truth *truth,
                           const struct sim_server *server,
                           const struct sim_tablet *tablet,
                           uint64_t sequence);
/* Copies at the same committed point show the same rows. */
void sim_truth_check(struct sim_replica_truth *truth);

#endif /* TESTS_SIM_CHECKER_SIM_REPLICA_TRUTH_H */
