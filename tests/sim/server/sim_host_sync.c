#include <string.h>

#include "common/base/assert.h"
#include "tests/sim/server/sim_host.h"
#include "tests/sim/server/sim_server.h"

/*
 * The master and the replicas of a server: what it is told in syncs (tabletserver/serve/sync/sync_match.c,
 * replicas.c), and what it proposes (sync_propose.c).
 */

#define RETELL_NS (5 * SIM_S)

/* --- what the master told ----------------------------------------------------------------------- */

/* Whether nobody else has anything of the tablet, so that this copy may begin it (rule 18). */
static bool is_founding(const struct sim_tablet *tablet, const struct assigned_tablet *assigned)
{
    const struct replica_configuration *newest = &assigned->configuration;
    bool is_alone = newest->member_count == 1 &&
                    newest->members[0].store == tablet->store->disk->number;
    return tablet->configuration != 0 && (assigned->location.state == TABLET_CREATING || is_alone);
}

static void split(struct sim_server *server, struct sim_tablet *tablet, const struct goal *goal)
{
    const struct record_split wish = {
        .key = goal->row, .left_tablet = goal->left, .right_tablet = goal->right};
    sim_write_end(server); /* what was taken before is on the near side of the barrier */
    if (host_split(sim_loop_of(tablet)->host, sim_stored(tablet), &wish) ==
        STATUS_INVALID_ARGUMENT) {
        sim_fail(server->sim, "tablet %llu cannot be split at the master's row",
                 (unsigned long long)tablet->tablet);
    }
}

/* Planted: who counts is wished for ever, so a primary adds, and removes nobody that answers. */
static void keep_members(const struct sim_tablet *tablet, struct replica_union *members)
{
    const struct replica_configuration *held = &tablet->copy.held.members;
    for (uint32_t i = 0; i < held->member_count; i++) {
        bool named = false;
        for (uint32_t j = 0; j < members->count; j++) {
            named = named || members->members[j].store == held->members[i].store;
        }
        if (!named && members->count > 0) {
            members->members[members->count++] = held->members[i];
        }
    }
}

static bool tell(void *context, const struct assigned_tablet *assigned, uint64_t store)
{
    struct sim_server *server = context;
    struct sim_loop *loop = sim_loop_of_store(server, store);
    struct sim_tablet *tablet = sim_store_find(&loop->store, assigned->location.tablet);
    const struct goal *goal = &assigned->goal;
    struct replica_union members = {.count = goal->member_count};
    struct host *host = loop->host;
    if (tablet == NULL) {
        return true; /* it was just merged */
    }
    memcpy(members.members, goal->members, goal->member_count * sizeof goal->members[0]);
    if (server->sim->planted == SIM_PLANTED_DRAINED_STAYS) {
        keep_members(tablet, &members);
    }
    host_hurry(host, sim_stored(tablet), assigned->hurried);
    host_goal(host, sim_stored(tablet), &members, goal->leader);
    const struct host_merge_wish wish = {goal->left, goal->right, goal->merged};
    host_merge(host, sim_stored(tablet), goal->wish == GOAL_MERGE ? &wish : NULL);
    if (goal->wish == GOAL_SPLIT) {
        split(server, tablet, goal);
    }
    if (assigned->configuration.version != 0) {
        host_told(host, sim_stored(tablet), &assigned->configuration,
                  is_founding(tablet, assigned));
    }
    return true;
}

void sim_host_tell(struct sim_server *server, const struct assignment_held *held, size_t held_count)
{
    int64_t now_ns = sim_boot_ns(server->sim, server->node);
    if (now_ns >= server->peers.retell_ns) {
        server->peers.retell_ns = now_ns + RETELL_NS;
        assignment_list_tell_again(server->assignments, 0);
    }
    assignment_tell(server->assignments, held, held_count, tell, server);
}

/* Repeated with each sync until the heir is held. */
void sim_host_convert(struct sim_loop *loop, const struct assignment_action *action)
{
    const struct sim_tablet *tablet = sim_store_find(&loop->store, action->tablet);
    if (tablet != NULL && !host_convert(loop->host, sim_stored(tablet), action->left,
                                        &action->assigned->configuration)) {
        host_gone(loop->host, sim_stored(tablet));
    }
}

/* --- proposals ---------------------------------------------------------------------------------- */

static bool is_suppressed(struct sim_loop *loop,
                          uint64_t tablet,
                          const struct replica_proposal *proposal)
{
    const struct sim_tablet *here = sim_store_find_any(&loop->store, tablet);
    const struct replica_configuration *current = &here->copy.held.members;
    enum sim_planted planted = loop->server->sim->planted;
    return (planted == SIM_PLANTED_NO_RENEWAL &&
            replica_configuration_change(current, &proposal->next) == REPLICA_CHANGE_NONE) ||
           (planted == SIM_PLANTED_NOBODY_REMOVED &&
            proposal->next.member_count < current->member_count);
}

void sim_host_propose(void *context,
                      uint64_t tablet,
                      struct replica_member self,
                      const struct host_proposal *wanted)
{
    struct sim_loop *loop = context;
    struct sim_server *server = loop->server;
    struct sim_peers *peers = &server->peers;
    const struct replica_proposal *replica = wanted->replica;
    struct buffer out = BUFFER_INIT;
    struct proposal one = {.kind = PROPOSAL_MEMBERS,
                           .tablet = tablet,
                           .base = replica->base,
                           .proposer = self.store,
                           .next = replica->next};
    if (replica->kind == REPLICA_PROPOSE_SPLIT) {
        one.kind = PROPOSAL_SPLIT;
        one.left = wanted->split.left_tablet;
        one.right = wanted->split.right_tablet;
        one.row = wanted->split.key;
    } else if (replica->kind == REPLICA_PROPOSE_MERGE) {
        one.kind = PROPOSAL_MERGE;
        one.right = wanted->absorb.right_tablet;
        one.right_base = wanted->absorb.right_version;
        one.merged = wanted->absorb.merged_tablet;
    } else if (is_suppressed(loop, tablet, replica)) {
        return;
    }
    const struct propose_request request = {server->node, &one, 1, server->disk->incarnation};
    request_head_encode(&(struct request_head){.deadline_ms = 3000}, &out);
    propose_request_encode(&request, &out);
    peers->proposes[peers->propose_next++ % SIM_PROPOSES_MAX] = server->sync_next;
    sim_effects_send(server->effects, server->master, FRAME_REQUEST, METHOD_PROPOSE,
                     server->sync_next++, &out);
}

/* As take_leave() in serve/replicas/replicas_word.c. */
static void leave(struct sim_loop *loop,
                  const struct sim_tablet *tablet,
                  const struct proposed *proposed)
{
    const uint64_t heirs[] = {proposed->left, proposed->right, proposed->merged};
    bool converts = false;
    for (int i = 0; i < 3; i++) {
        converts = (heirs[i] != 0 &&
                    host_convert(loop->host, sim_stored(tablet), heirs[i], NULL)) ||
                   converts;
    }
    if (!converts) {
        host_gone(loop->host, sim_stored(tablet));
    } else {
        sim_sync_hurry(loop->server); /* what the heirs' configurations are */
    }
}

static void take_proposed(struct sim_loop *loop, const struct proposed *proposed)
{
    struct host *host = loop->host;
    const struct sim_tablet *tablet = sim_store_find(&loop->store, proposed->tablet);
    if (tablet == NULL) {
        return;
    }
    if (proposed->outcome == PROPOSED_CONFIGURATION) {
        if (proposed->right_version != 0) {
            host_told_right(host, proposed->tablet, proposed->right_version);
        }
        if (proposed->configuration.version != 0) {
            host_told(host, sim_stored(tablet), &proposed->configuration, false);
        }
    } else {
        leave(loop, tablet, proposed);
    }
}

bool sim_host_proposed(struct sim_server *server, const struct sim_message *message)
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
        for (uint32_t k = 0; k < server->loop_count; k++) { /* one of them has asked */
            take_proposed(server->loops[k], &response.answers[i]);
        }
    }
    return true;
}
