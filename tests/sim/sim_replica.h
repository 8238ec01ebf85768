/*
 * The replicas of a simulated tablet server, and its leases: the shell around production's
 * tabletserver/replica, as serve and peer are with real disks and connections.
 *
 *   sync answers, batches, SYNCED, ticks --> replica_step() --> store, batches, PROPOSE, lease_step()
 *
 * What a step causes in the same process is queued and drained before the server's step ends; then
 * everything for one peer leaves as one batch, really encoded.  Time is the server's CLOCK_BOOTTIME.
 */
#ifndef TESTS_SIM_SIM_REPLICA_H
#define TESTS_SIM_SIM_REPLICA_H

#include "tabletserver/replica/lease_message.h"
#include "tabletserver/replica/replica_message.h"
#include "tests/sim/sim_store.h"

#define SIM_KNOWN_MAX    256
#define SIM_PROPOSES_MAX 64

struct sim_server;

/* What the master told last of a tablet. */
struct sim_known {
    uint64_t tablet;
    uint64_t table;
    bool creating;
    bool removed;
    struct row_range range;
    uint8_t bounds[2 * SIM_KEY_BYTES_MAX];
    struct replica_configuration configuration;
    struct replica_union goal;
    uint64_t goal_leader;
};

struct sim_replica_event {
    uint64_t tablet;
    uint64_t life;
    struct replica_event event;
};

struct sim_peers {
    struct lease *lease;
    int64_t begun_ns;
    int64_t held_until_ns[SIM_SERVERS_MAX + 1]; /* by node */
    bool held[SIM_SERVERS_MAX + 1];             /* as told to the replicas */
    struct sim_replica_event *queue;
    uint32_t queue_count;
    uint32_t queue_capacity;
    struct buffer batches[SIM_SERVERS_MAX + 1];
    uint64_t timer; /* the one that counts */
    int64_t timer_ns;
    struct sim_known known[SIM_KNOWN_MAX];
    uint32_t known_count;
    uint64_t proposes[SIM_PROPOSES_MAX]; /* requests that were sent */
    uint32_t propose_next;
    struct replica_effects effects; /* of the step under way */
};

void sim_peers_start(struct sim_server *server);
void sim_peers_destroy(struct sim_server *server);
/* What gathered leaves; the timer is set. */
void sim_peers_end_step(struct sim_server *server);
void sim_peers_tick(struct sim_server *server);
/* From another server. */
void sim_peers_take(struct sim_server *server, const struct sim_message *message);

/* The store has it: its replica begins. */
void sim_replica_begin(struct sim_server *server, struct sim_tablet *tablet);
/* Of this moment: reads after their snapshot, answers to writes (rules 5 to 7). */
bool sim_replica_may_serve(const struct sim_server *server, const struct sim_tablet *tablet);
bool sim_replica_may_acknowledge(const struct sim_server *server, const struct sim_tablet *tablet);
/* Errors: as replica_step() with WRITE. */
enum status sim_replica_write(struct sim_server *server,
                              struct sim_tablet *tablet,
                              enum record_type type,
                              struct bytes payload,
                              uint64_t clock,
                              uint64_t *ret_sequence);
void sim_replica_tell(struct sim_server *server,
                      struct sim_tablet *tablet,
                      const struct replica_event *event);
void sim_replica_drain(struct sim_server *server);
void sim_replica_on_synced(void *context, struct sim_tablet *tablet, uint64_t sequence);
void sim_replica_on_configured(void *context, struct sim_tablet *tablet);

/* The master's side: sim_replica_sync.c. */
void sim_replica_forget_known(struct sim_server *server);
void sim_replica_note(struct sim_server *server, const struct assigned_tablet *assigned);
void sim_replica_match(struct sim_server *server);
void sim_replica_create(struct sim_server *server,
                        const struct sim_known *known,
                        const struct replica_configuration *members);
const struct sim_known *sim_replica_known(const struct sim_server *server, uint64_t tablet);
void sim_replica_describe(const struct sim_server *server,
                          const struct sim_tablet *tablet,
                          struct held_tablet *held);
void sim_replica_propose(struct sim_server *server,
                         const struct sim_tablet *tablet,
                         const struct replica_proposal *proposal);
/* True when it was an answer to a proposal. */
bool sim_replica_proposed(struct sim_server *server, const struct sim_message *message);

#endif /* TESTS_SIM_SIM_REPLICA_H */
