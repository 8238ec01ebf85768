#include <string.h>

#include "common/base/assert.h"
#include "tests/sim/sim_replica.h"
#include "tests/sim/sim_server.h"

/*
 * The master and the replicas of a server: what it is told in syncs, and what it proposes.
 */

/* --- what the master told ----------------------------------------------------------------------- */

void sim_replica_forget_known(struct sim_server *server)
{
    server->peers.known_count = 0;
}

const struct sim_known *sim_replica_known(const struct sim_server *server, uint64_t tablet)
{
    for (uint32_t i = 0; i < server->peers.known_count; i++) {
        if (server->peers.known[i].tablet == tablet) {
            return &server->peers.known[i];
        }
    }
    return NULL;
}

static void copy_range(struct sim_known *known, const struct row_range *range)
{
    if (range->start.size_bytes > 0) {
        memcpy(known->bounds, range->start.data, range->start.size_bytes);
    }
    if (range->end.size_bytes > 0) {
        memcpy(known->bounds + SIM_KEY_BYTES_MAX, range->end.data, range->end.size_bytes);
    }
    known->range.start = bytes_of(known->bounds, range->start.size_bytes);
    known->range.end = bytes_of(known->bounds + SIM_KEY_BYTES_MAX, range->end.size_bytes);
}

void sim_replica_note(struct sim_server *server, const struct assigned_tablet *assigned)
{
    struct sim_peers *peers = &server->peers;
    uint64_t number = assigned->location.tablet;
    struct sim_known *known = (struct sim_known *)sim_replica_known(server, number);
    if (assigned->removed && assigned->store != 0 &&
        assigned->store != server->disk->store.number) {
        return; /* another one's copy */
    }
    if (known == NULL) {
        ASSERT(peers->known_count < SIM_KNOWN_MAX);
        known = &peers->known[peers->known_count++];
        *known = (struct sim_known){.tablet = number};
    }
    known->removed = assigned->removed;
    if (assigned->removed || assigned->configuration.version < known->configuration.version) {
        return;
    }
    known->table = assigned->location.table;
    known->creating = assigned->location.state == TABLET_CREATING;
    copy_range(known, &assigned->location.range);
    known->configuration = assigned->configuration;
    known->goal = (struct replica_union){.count = assigned->goal.member_count};
    memcpy(known->goal.members, assigned->goal.members, sizeof assigned->goal.members);
    known->goal_leader = assigned->goal.leader;
    sim_trace(server->sim, "server %u: tablet %llu version %llu, %u members, goal %u, leader %llu",
              server->node, (unsigned long long)number,
              (unsigned long long)known->configuration.version, known->configuration.member_count,
              known->goal.count, (unsigned long long)known->goal_leader);
}

void sim_replica_create(struct sim_server *server,
                        const struct sim_known *known,
                        const struct replica_configuration *members)
{
    if (!known->removed && known->table != 0) {
        sim_store_create(&server->store, known->tablet, known->table, members->version,
                         &known->range, members);
    }
}

static void match(struct sim_server *server, const struct sim_known *known)
{
    struct sim_tablet *tablet = sim_store_find(&server->store, known->tablet);
    const struct replica_member self = {server->node, server->disk->store.number};
    if (known->removed) {
        if (tablet != NULL) {
            sim_write_drop(server, tablet);
        }
        return;
    }
    if (tablet == NULL) {
        if (known->creating && replica_configuration_has(&known->configuration, self)) {
            /* Of whatever version: nobody was told of the tablet yet (docs/catalog.md).  The replica
             * itself would begin one at version 1 only (rule 18), and the master may have placed it
             * again, so the copy is made with its configuration. */
            sim_replica_create(server, known, &known->configuration);
        }
        return;
    }
    sim_replica_tell(server, tablet,
                     &(struct replica_event){.type = REPLICA_EVENT_GOAL,
                                             .goal_members = known->goal,
                                             .goal_leader = known->goal_leader});
    sim_replica_tell(server, tablet,
                     &(struct replica_event){.type = REPLICA_EVENT_CATALOG,
                                             .configuration = known->configuration});
}

void sim_replica_match(struct sim_server *server)
{
    for (uint32_t i = 0; i < server->peers.known_count; i++) {
        match(server, &server->peers.known[i]);
    }
    sim_replica_drain(server);
}

/* --- what the master is told -------------------------------------------------------------------- */

void sim_replica_describe(const struct sim_server *server,
                          const struct sim_tablet *tablet,
                          struct held_tablet *held)
{
    static const enum held_role roles[] = {
        [REPLICA_OUTSIDER] = HELD_AS_OUTSIDER,
        [REPLICA_LEARNER] = HELD_AS_LEARNER,
        [REPLICA_SECONDARY] = HELD_AS_SECONDARY,
        [REPLICA_PRIMARY] = HELD_AS_PRIMARY,
    };
    struct replica_view view = replica_look(tablet->copy.replica);
    bool leads = view.role == REPLICA_PRIMARY;
    (void)server;
    held->version = view.configuration.version;
    held->role = leads && !view.serving ? HELD_AS_SECONDARY : roles[view.role];
    held->state = view.configuration.version == 0 ? HELD_CREATED : HELD_SERVING;
}

/* --- proposals ---------------------------------------------------------------------------------- */

static bool is_suppressed(const struct sim *sim,
                          const struct sim_tablet *tablet,
                          const struct replica_proposal *proposal)
{
    const struct replica_configuration *current = &tablet->copy.configuration;
    return (sim->planted == SIM_PLANTED_NO_RENEWAL &&
            replica_configuration_change(current, &proposal->next) == REPLICA_CHANGE_NONE) ||
           (sim->planted == SIM_PLANTED_NOBODY_REMOVED &&
            proposal->next.member_count < current->member_count);
}

void sim_replica_propose(struct sim_server *server,
                         const struct sim_tablet *tablet,
                         const struct replica_proposal *proposal)
{
    struct buffer out = BUFFER_INIT;
    struct sim_peers *peers = &server->peers;
    const struct proposal one = {.kind = PROPOSAL_MEMBERS,
                                 .tablet = tablet->tablet,
                                 .base = proposal->base,
                                 .proposer = server->disk->store.number,
                                 .next = proposal->next};
    const struct propose_request request = {server->node, &one, 1};
    ASSERT(proposal->kind == REPLICA_PROPOSE_MEMBERS); /* nothing splits or merges here */
    if (is_suppressed(server->sim, tablet, proposal)) {
        return;
    }
    request_head_encode(&(struct request_head){.deadline_ms = 3000}, &out);
    propose_request_encode(&request, &out);
    peers->proposes[peers->propose_next++ % SIM_PROPOSES_MAX] = server->sync_next;
    sim_effects_send(server->effects, SIM_MASTER, FRAME_REQUEST, METHOD_PROPOSE,
                     server->sync_next++, &out);
}

static void take_proposed(struct sim_server *server, const struct proposed *proposed)
{
    struct sim_tablet *tablet = sim_store_find(&server->store, proposed->tablet);
    struct replica_event event = {.type = REPLICA_EVENT_GONE};
    if (tablet == NULL) {
        return;
    }
    if (proposed->outcome == PROPOSED_CONFIGURATION) {
        event.type = REPLICA_EVENT_CATALOG;
        event.configuration = proposed->configuration;
    }
    sim_replica_tell(server, tablet, &event);
}

bool sim_replica_proposed(struct sim_server *server, const struct sim_message *message)
{
    struct response_head head;
    struct bytes body;
    struct propose_response response;
    struct error error = {.status = STATUS_OK};
    bool is_one = false;
    for (uint32_t i = 0; i < SIM_PROPOSES_MAX; i++) {
        is_one = is_one || server->peers.proposes[i] == message->request;
    }
    if (!is_one) {
        return false;
    }
    if (response_head_decode(message->payload, &head, &body, &error) != STATUS_OK ||
        (head.status == STATUS_OK &&
         propose_response_decode(body, &server->arena, &response, &error) != STATUS_OK)) {
        sim_fail(server->sim, "an answer to a proposal does not decode: %s", error.text);
        return true;
    }
    for (size_t i = 0; head.status == STATUS_OK && i < response.answer_count; i++) {
        take_proposed(server, &response.answers[i]);
    }
    sim_replica_drain(server);
    return true;
}
