#include "common/base/assert.h"
#include "master/core/catalog_parts.h"
#include "master/core/state/catalog_state.h"

/*
 * Is a proposal right by the rules (docs/replication.md, rule 12 and section 10)?  It is about the
 * versions that are committed; what the master would have wished does not matter.
 *
 * A proposer repeats what was refused until a higher version settles it (rule 9).  So nothing may be
 * refused for a reason that does not go away by itself, but what no honest replica proposes.
 */

/* The store need not be known: see record_newcomer. */
static bool is_server_known(const struct catalog *catalog, struct replica_member member)
{
    const struct server *server = state_server(catalog, member.server);
    return server != NULL && server->image != NULL;
}

static const char *judge_members(const struct catalog *catalog, const struct judged *judged)
{
    const struct replica_configuration *from = &judged->tablet->record.configuration;
    const struct replica_configuration *to = &judged->proposal->next;
    bool leads = replica_configuration_is_leader(from, judged->proposer.store);

    switch (replica_configuration_change(from, to)) {
    case REPLICA_CHANGE_NONE:
    case REPLICA_CHANGE_REMOVE:
        return leads ? NULL : "only the primary renews or removes";
    case REPLICA_CHANGE_ADD:
        for (uint32_t i = 0; i < to->member_count; i++) {
            if (!is_server_known(catalog, to->members[i])) {
                return "a server is not known";
            }
        }
        return leads ? NULL : "only the primary adds";
    case REPLICA_CHANGE_REPLACE:
    case REPLICA_CHANGE_YIELD:
        return replica_configuration_is_leader(to, judged->proposer.store)
                   ? NULL
                   : "a new primary proposes itself";
    case REPLICA_CHANGE_BAD:
        break;
    }
    return "more than one change";
}

/* Replaced as it is: the same members, the same primary, who asks. */
static const char *judge_heirs(const struct judged *judged,
                               const struct replica_configuration *next)
{
    const struct replica_configuration *from = &judged->tablet->record.configuration;

    if (!replica_configuration_is_leader(from, judged->proposer.store)) {
        return "only the primary splits or merges";
    }
    if (!replica_configuration_same_members(from, next) ||
        !replica_configuration_is_leader(next, judged->proposer.store)) {
        return "a split or merge keeps the members and the primary";
    }
    return NULL;
}

static const char *judge_split(const struct judged *judged)
{
    const struct proposal *proposal = judged->proposal;
    const struct tablet_goal *goal = &judged->tablet->record.goal;

    if (goal->wish != GOAL_SPLIT || goal->left != proposal->left ||
        goal->right != proposal->right || !bytes_equal(goal->row, proposal->row)) {
        return "not the split that was wished";
    }
    if (proposal->next.version != proposal->base + 1) {
        return "the children's version is not the next";
    }
    return judge_heirs(judged, &proposal->next);
}

static uint64_t later(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static const char *judge_merge(const struct judged *judged)
{
    const struct tablet *right = judged->right;
    const struct proposal *proposal = judged->proposal;
    const struct tablet_goal *goal = &judged->tablet->record.goal;

    if (goal->wish != GOAL_MERGE || goal->left != proposal->tablet ||
        goal->right != proposal->right || goal->merged != proposal->merged) {
        return "not the merge that was wished";
    }
    if (proposal->next.version != later(proposal->base, proposal->right_base) + 1) {
        return "the merged tablet's version is not the next of both";
    }
    if (!replica_configuration_is_leader(&right->record.configuration, judged->proposer.store) ||
        !replica_configuration_same_members(&right->record.configuration, &proposal->next)) {
        return "the right tablet has other members or another primary";
    }
    return judge_heirs(judged, &proposal->next);
}

const char *judge_proposal(const struct catalog *catalog, const struct judged *judged)
{
    if (!replica_configuration_has(&judged->tablet->record.configuration, judged->proposer)) {
        return "the proposer is no member";
    }
    switch (judged->proposal->kind) {
    case PROPOSAL_MEMBERS:
        return judge_members(catalog, judged);
    case PROPOSAL_SPLIT:
        return judge_split(judged);
    case PROPOSAL_MERGE:
        return judge_merge(judged);
    }
    UNREACHABLE();
}
