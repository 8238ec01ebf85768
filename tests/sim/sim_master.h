/*
 * The simulated master: production's catalog, and a coordinator that outlives it.
 *
 * A commit takes time.  When it is killed with one on its way, the transaction is there or not: as
 * with any coordinator whose acknowledgement was lost; or it arrives later (sim_deposed.h).
 */
#ifndef TESTS_SIM_SIM_MASTER_H
#define TESTS_SIM_SIM_MASTER_H

#include "master/coordinator/coordinator.h"
#include "master/core/catalog.h"
#include "tests/sim/sim.h"

#define SIM_MASTER_REQUESTS_MAX 1024

struct sim_master_request {
    uint64_t number; /* the catalog's */
    uint32_t from;
    uint64_t request;
};

struct sim_master {
    struct sim *sim;
    struct coordinator *coordinator; /* not owned */
    struct catalog *catalog;
    uint64_t request_next;
    struct sim_master_request requests[SIM_MASTER_REQUESTS_MAX];
    uint32_t request_count;
    uint64_t transaction; /* on its way; 0 = none */
    const struct catalog_put *puts;
    size_t put_count;
    int64_t tick_ns;
};

struct coordinator *sim_master_coordinator_create(struct sim *sim);

struct sim_master *sim_master_create(struct sim *sim, struct coordinator *coordinator);
void sim_master_start(struct sim_master *master, struct sim_effects *effects);
void sim_master_kill(struct sim_master *master); /* and destroy */

void sim_master_on_message(struct sim_master *master,
                           const struct sim_message *message,
                           struct sim_effects *effects);
void sim_master_on_timer(struct sim_master *master, struct sim_effects *effects);
void sim_master_on_committed(struct sim_master *master,
                             uint64_t number,
                             struct sim_effects *effects);

#endif /* TESTS_SIM_SIM_MASTER_H */
