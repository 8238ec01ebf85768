#include "common/base/assert.h"
#include "master/core/catalog_parts.h"
#include "master/core/catalog_state.h"
#include "master/core/transaction.h"

/*
 * Proposals: compare-and-swap on a tablet's configuration (docs/replication.md, rule 12 and
 * section 10).  The master judges, it does not decide: what is right by the rules is taken, whatever
 * it would have wished.
 *
 * All that wait are judged together, against what is committed, and taken in one transaction; all
 * are answered when it is durable, so nothing is told that the coordinator has not acknowledged.  Of
 * one tablet at most one is taken in a transaction: after it the base of the others is old.
 *
 * They are a process's: one of a copied folder, or one that was replaced, may have the server's number, and is not
 * heard, nor told anything.
 *
 * A proposer repeats what was refused until a higher version settles it (rule 9).  So nothing may be
 * refused for a reason that does not go away by itself, but what no honest replica proposes.
 */

/* In one transaction: etcd takes 128 operations.  A merge is three of them, a change of members one. */
#define CHANGES_MAX      120
#define CHANGES_EACH_MAX 3
_Static_assert(CHANGES_MAX >= LIMIT_PROPOSALS_PER_MESSAGE, "a message of the usual kind must fit");

/* A proposal being judged; why NULL = it may be taken. */
struct judged {
    const struct proposal *proposal;
    struct tablet *tablet;
    struct replica_member proposer;
};

/* --- judging ---------------------------------------------------------------------------------- */

/* A copy can be on this store: its number and its server's are known.  They need not belong together
 * any more: a disk may have been carried away since, and then its primary removes it again. */
static bool is_known(const struct catalog *catalog, struct replica_member member)
{
    const struct server *server = state_server(catalog, member.server);
    return server != NULL && server->image != NULL && state_owner(catalog, member.store) != NULL;
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
            if (!is_known(catalog, to->members[i])) {
                return "a server or store is not known";
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

static const char *judge_merge(const struct judged *judged, const struct tablet *right)
{
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

/* --- taking ----------------------------------------------------------------------------------- */

static void take_members(struct transaction *transaction, const struct judged *judged)
{
    struct tablet_record record = judged->tablet->record;
    record.configuration = judged->proposal->next;
    transaction_update_tablet(transaction, judged->tablet, &record);
}

static void take_split(const struct catalog *catalog,
                       struct transaction *transaction,
                       const struct judged *judged)
{
    const struct tablet_record *parent = &judged->tablet->record;
    const struct tablet_goal *goal = &parent->goal;
    struct tablet_heirs heirs = {.left = goal->left, .right = goal->right};
    struct tablet_record children[2];

    plan_children(parent, goal->row, goal->by_hand, &catalog->settings, children);
    children[0].number = heirs.left;
    children[1].number = heirs.right;
    transaction_remove_tablet(transaction, judged->tablet, &heirs);
    transaction_add_tablet(transaction, &children[0]);
    transaction_add_tablet(transaction, &children[1]);
}

static void take_merge(struct transaction *transaction,
                       const struct judged *judged,
                       struct tablet *right)
{
    struct tablet_record merged = judged->tablet->record;
    struct tablet_heirs heirs = {.merged = merged.goal.merged};

    merged.number = heirs.merged;
    merged.configuration = judged->proposal->next;
    merged.parent = judged->tablet->record.number;
    merged.absorbed = right->record.number;
    merged.soft_limit_bytes = later(merged.soft_limit_bytes, right->record.soft_limit_bytes);
    merged.range.end = right->record.range.end;
    tablet_goal_wish_nothing(&merged.goal);
    transaction_remove_tablet(transaction, judged->tablet, &heirs);
    transaction_remove_tablet(transaction, right, &heirs);
    transaction_add_tablet(transaction, &merged);
}

static void note_refusal(struct catalog *catalog, const struct judged *judged, const char *why)
{
    emit_note(catalog,
              &(struct catalog_note){.event = "proposal_refused",
                                     .warning = true,
                                     .table = judged->tablet->record.table,
                                     .tablet = judged->tablet->record.number,
                                     .server = judged->proposer.server,
                                     .store = judged->proposer.store},
              "%s", why);
}

static void note_taken(struct catalog *catalog, const struct judged *judged)
{
    static const char *const events[] = {[PROPOSAL_MEMBERS] = "tablet_configured",
                                         [PROPOSAL_SPLIT] = "tablet_split",
                                         [PROPOSAL_MERGE] = "tablets_merged"};
    const struct replica_configuration *next = &judged->proposal->next;

    emit_note(catalog,
              &(struct catalog_note){.event = events[judged->proposal->kind],
                                     .table = judged->tablet->record.table,
                                     .tablet = judged->tablet->record.number,
                                     .server = judged->proposer.server,
                                     .store = judged->proposer.store},
              "version %llu: %u members, led by server %llu", (unsigned long long)next->version,
              next->member_count, (unsigned long long)replica_configuration_leader(next).server);
}

static bool is_current(const struct transaction *transaction,
                       const struct tablet *tablet,
                       uint64_t base)
{
    return tablet != NULL && tablet->record.configuration.version == base &&
           !transaction_has(transaction, tablet);
}

static void consider(struct catalog *catalog,
                     struct transaction *transaction,
                     uint64_t server,
                     const struct proposal *proposal)
{
    struct judged judged = {proposal,
                            number_map_get(&catalog->tablets, proposal->tablet),
                            {server, proposal->proposer}};
    struct tablet *right = number_map_get(&catalog->tablets, proposal->right);
    const char *why = NULL;

    if (!is_current(transaction, judged.tablet, proposal->base) ||
        (proposal->kind == PROPOSAL_MERGE &&
         !is_current(transaction, right, proposal->right_base))) {
        return; /* it came too late: the answer says so */
    }
    if (transaction->change_count + CHANGES_EACH_MAX > CHANGES_MAX) {
        return; /* it will come again */
    }
    if (!replica_configuration_has(&judged.tablet->record.configuration, judged.proposer)) {
        why = "the proposer is no member";
    } else if (proposal->kind == PROPOSAL_MEMBERS) {
        why = judge_members(catalog, &judged);
    } else if (proposal->kind == PROPOSAL_SPLIT) {
        why = judge_split(&judged);
    } else {
        why = judge_merge(&judged, right);
    }
    if (why != NULL) {
        note_refusal(catalog, &judged, why);
        return;
    }
    note_taken(catalog, &judged);
    if (proposal->kind == PROPOSAL_MEMBERS) {
        take_members(transaction, &judged);
    } else if (proposal->kind == PROPOSAL_SPLIT) {
        take_split(catalog, transaction, &judged);
    } else {
        take_merge(transaction, &judged, right);
    }
}

/* --- answering -------------------------------------------------------------------------------- */

static struct proposed answer_of(const struct catalog *catalog, const struct proposal *proposal)
{
    const struct tablet *tablet = number_map_get(&catalog->tablets, proposal->tablet);
    const struct tablet *right = number_map_get(&catalog->tablets, proposal->right);
    struct tablet_heirs heirs;
    struct proposed proposed = {.tablet = proposal->tablet};

    proposed.outcome = state_fate(catalog, proposal->tablet, &heirs);
    if (tablet != NULL) {
        proposed.configuration = tablet->record.configuration;
    }
    if (proposal->kind == PROPOSAL_MERGE) { /* one that is gone has moved on as far as can be */
        proposed.right_version = right != NULL ? right->record.configuration.version : UINT64_MAX;
    }
    proposed.left = heirs.left;
    proposed.right = heirs.right;
    proposed.merged = heirs.merged;
    return proposed;
}

static void refuse(struct catalog *catalog,
                   struct open_request *request,
                   enum status status,
                   const char *text)
{
    struct error error = {0};
    uint64_t number = request->number;
    request_destroy(catalog, request);
    (void)error_set(&error, status, "%s", text);
    emit_error(catalog, number, &error);
}

/* With what is committed now. */
static void answer(struct catalog *catalog, struct open_request *request)
{
    struct propose_request propose;
    struct error error = {0};
    struct proposed *answers = NULL;
    enum status status = propose_request_decode(request->body, &catalog->scratch, &propose, &error);

    if (status == STATUS_OK) {
        answers = arena_allocate_array(&catalog->scratch, propose.proposal_count + 1,
                                       sizeof *answers);
    }
    if (answers == NULL) {
        refuse(catalog, request, STATUS_RESOURCE_EXHAUSTED, "the master has no memory to answer");
        return;
    }
    for (size_t i = 0; i < propose.proposal_count; i++) {
        answers[i] = answer_of(catalog, &propose.proposals[i]);
    }
    struct propose_response response = {answers, propose.proposal_count};
    struct buffer message = effects_begin_message();
    propose_response_encode(&response, &message);
    uint64_t number = request->number;
    request_destroy(catalog, request);
    emit_reply(catalog, number, &message);
}

void propose_committed(struct catalog *catalog, struct list *proposals)
{
    LIST_FOREACH(struct open_request, request, proposals) {
        answer(catalog, request);
    }
}

void propose_failed(struct catalog *catalog, struct list *proposals, const struct error *why)
{
    LIST_FOREACH(struct open_request, request, proposals) {
        struct error error = {0};
        (void)error_set(&error, STATUS_UNAVAILABLE,
                        "nothing was changed: the catalog could not be written: %s", why->text);
        refuse(catalog, request, error.status, error.text);
    }
}

/* --- the turn --------------------------------------------------------------------------------- */

/* Judge what one request proposes; false when the transaction has no room for all of it. */
static bool consider_request(struct catalog *catalog,
                             struct transaction *transaction,
                             struct open_request *request)
{
    struct propose_request propose;
    struct error error = {0};
    enum status status = propose_request_decode(request->body, &catalog->scratch, &propose, &error);

    if (status != STATUS_OK) {
        refuse(catalog, request,
               status == STATUS_NO_MEMORY ? STATUS_RESOURCE_EXHAUSTED : STATUS_INVALID_ARGUMENT,
               error.text);
        return true;
    }
    if (!sync_knows_process(catalog, propose.server, propose.incarnation)) {
        refuse(catalog, request, STATUS_PERMISSION_DENIED,
               "another process has this server's number, or this one was not let in yet");
        return true;
    }
    if (transaction->change_count > 0 &&
        transaction->change_count + propose.proposal_count > CHANGES_MAX) {
        return false;
    }
    for (size_t i = 0; i < propose.proposal_count; i++) {
        consider(catalog, transaction, propose.server, &propose.proposals[i]);
    }
    request->waiting_for = WAITING_COMMIT;
    list_append(&transaction->proposals, &request->link, request);
    return true;
}

void propose_begin(struct catalog *catalog)
{
    struct transaction *transaction = transaction_begin(catalog, NULL);
    struct list proposals;

    if (transaction == NULL) {
        refuse(catalog, list_first(&catalog->proposals), STATUS_RESOURCE_EXHAUSTED,
               "the master has no memory for this");
        return;
    }
    while (!list_is_empty(&catalog->proposals) &&
           consider_request(catalog, transaction, list_first(&catalog->proposals))) {
    }
    bool idle = transaction->change_count == 0 && !transaction->failed;
    if (!idle && transaction_seal(catalog, transaction) == STATUS_OK) {
        return;
    }
    list_move(&transaction->proposals, &proposals);
    transaction_destroy(transaction);
    if (idle) {
        propose_committed(catalog, &proposals);
        return;
    }
    LIST_FOREACH(struct open_request, request, &proposals) {
        refuse(catalog, request, STATUS_RESOURCE_EXHAUSTED, "the master has no memory for this");
    }
}
