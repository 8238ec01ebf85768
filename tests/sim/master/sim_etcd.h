/*
 * The coordinator as masters reach it: through a network, with others before them.
 *
 *   master --question of its election--> leases and the key `leader` --answer--> master
 *   master --commit, with its reign----> the catalog's records ------answer--> master
 *
 * A commit is on its way for itself, whatever becomes of the master that sent it: killed, stopped, voted out.
 *
 *   its reign is the one that leads  --> it is taken, once
 *   another one has begun            --> it is refused, as every coordinator must: the catalog that the other
 *                                        one goes by has no place for it
 *
 * With one master there is no election: who starts last leads, and what its predecessor had under way was
 * taken or lost by then; but in the seeds that have commits come late.
 *
 * A commit whose way is cut is asked again until it is answered (etcd_journal.h: a step counts once), so here
 * it comes later.  A question of an election is lost.
 */
#ifndef TESTS_SIM_MASTER_SIM_ETCD_H
#define TESTS_SIM_MASTER_SIM_ETCD_H

#include "master/coordinator/election.h"
#include "master/core/catalog.h"
#include "tests/sim/sim.h"

/* What became of a commit; it comes with the transaction's number as SIM_EVENT_COMMITTED. */
enum sim_commit_outcome {
    SIM_COMMIT_DONE,
    SIM_COMMIT_FAILED, /* nothing of it is there: no space */
    SIM_COMMIT_FENCED, /* the reign is over */
    SIM_COMMIT_OUTCOMES,
};

struct sim_etcd *sim_etcd_create(void);
void sim_etcd_destroy(struct sim_etcd *etcd);

/* The only master starts: from here on it leads.  Returns its reign. */
uint64_t sim_etcd_begin(struct sim *sim);
/* Does that reign lead?  What a master asks before it loads. */
bool sim_etcd_leads(struct sim *sim, uint64_t reign);

/* A commit of a node that is up leaves it.  The puts are copied. */
void sim_etcd_commit(struct sim *sim,
                     uint32_t node,
                     uint64_t reign,
                     uint64_t transaction,
                     const struct catalog_put *puts,
                     size_t put_count);
void sim_etcd_commit_arrives(struct sim *sim, uint64_t number);
/* The only master is gone: what it had on its way was taken, is lost, or comes late. */
void sim_etcd_orphan(struct sim *sim);
/* All that is on its way is lost. */
void sim_etcd_lose_commits(struct sim *sim);

/* A question of a node's election leaves it; its answer comes as SIM_EVENT_ELECTION, or never. */
void sim_etcd_ask(struct sim *sim,
                  uint32_t node,
                  uint64_t number,
                  const struct election_question *question);
void sim_etcd_question_arrives(struct sim *sim, struct sim_event *event);
/* What that event carries. */
struct election_answer sim_etcd_answer(const struct sim_event *event);

#endif /* TESTS_SIM_MASTER_SIM_ETCD_H */
