/*
 * A simulated master: production's election and catalog, as master/shell ties them together; what it
 * reaches through the network is in sim_etcd.h.
 *
 *      standing by --the election is won--> loading --it leads still--> active --its reign is over--> standing by
 *
 * One that is alone has no election: it loads when it starts, and is active until it is killed.
 *
 * A reign is over when the election says so, or a commit is refused.  Until then a master goes on: one that is
 * stopped, and wakes when another one leads, acts as it did for as long as its clock lets it.
 */
#ifndef TESTS_SIM_MASTER_SIM_MASTER_H
#define TESTS_SIM_MASTER_SIM_MASTER_H

#include "master/coordinator/coordinator.h"
#include "master/coordinator/election.h"
#include "master/core/catalog.h"
#include "tests/sim/sim.h"

#define SIM_MASTER_REQUESTS_MAX 1024

struct sim_master_request {
    uint64_t number; /* the catalog's */
    uint32_t from;
    uint64_t request;
    enum method method;
};

struct sim_master {
    struct sim *sim;
    uint32_t node;
    bool elected; /* it stands for election: there are others */
    struct election election;
    struct election_question question; /* the last one */
    uint64_t question_number;
    bool asking;       /* it is out */
    uint64_t unwanted; /* a reign that is given up, once the question is answered */
    uint64_t loading;  /* a reign; 0 = none */

    struct catalog *catalog; /* NULL = standing by */
    uint64_t reign;          /* of the catalog */
    uint64_t request_next;
    struct sim_master_request requests[SIM_MASTER_REQUESTS_MAX];
    uint32_t request_count;
    uint64_t transaction; /* on its way; 0 = none */
    int64_t commit_ns;    /* since then */
    const struct catalog_put *puts;
    size_t put_count;
    int64_t tick_ns;
};

struct coordinator *sim_master_coordinator_create(struct sim *sim);

struct sim_master *sim_master_create(struct sim *sim, uint32_t node);
void sim_master_start(struct sim_master *master, struct sim_effects *effects);
void sim_master_kill(struct sim_master *master); /* and destroy */

void sim_master_on_message(struct sim_master *master,
                           const struct sim_message *message,
                           struct sim_effects *effects);
void sim_master_on_timer(struct sim_master *master, uint64_t number, struct sim_effects *effects);
/* What SIM_EVENT_COMMITTED and SIM_EVENT_ELECTION say. */
void sim_master_on_committed(struct sim_master *master,
                             uint64_t number,
                             struct sim_effects *effects);
void sim_master_on_election(struct sim_master *master,
                            const struct sim_event *event,
                            struct sim_effects *effects);

/* Its effects SIM_EFFECT_COMMIT and SIM_EFFECT_ASK are performed. */
void sim_master_commit(struct sim_master *master);
/* Has a commit been on its way for long, with etcd slow, or cut off when it began?  Nothing changes until it is there. */
bool sim_master_stands_still(const struct sim_master *master);
void sim_master_ask(struct sim_master *master);

#endif /* TESTS_SIM_MASTER_SIM_MASTER_H */
