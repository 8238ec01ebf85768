#include <string.h>

#include "common/base/assert.h"
#include "master/core/catalog_parts.h"
#include "master/core/state/catalog_state.h"
#include "master/core/state/transaction.h"

/*
 * Proposals: compare-and-swap on a tablet's configuration (docs/replication.md, rule 12 and
 * section 10).  The master judges (catalog_judge.c), it does not decide: what is right by the rules
 * is taken, whatever it would have wished.
 *
 * All that wait are judged together, against what is committed, and taken in one transaction; all
 * are answered when it is durable, so nothing is told that the coordinator has not acknowledged.  Of
 * one tablet at most one is taken in a transaction: after it the base of the others is old.
 *
 * They are a process's: one of a copied folder, or one that was replaced, may have the server's number, and is not
 * heard, nor told anything.
 */

/* In one transaction: etcd takes 128 operations.  A merge is three of them, a change of members one, or two. */
#define CHANGES_MAX      120
#define CHANGES_EACH_MAX 3
_Static_assert(CHANGES_MAX >= LIMIT_PROPOSALS_PER_MESSAGE, "a message of the usual kind must fit");

/* --- taking ----------------------------------------------------------------------------------- */

/* The member that is added; NULL where none is. */
static const struct replica_member *newcomer_of(const struct replica_configuration *from,
                                                const struct replica_configuration *to)
{
    if (replica_configuration_change(from, to) != REPLICA_CHANGE_ADD) {
        return NULL;
    }
    uint32_t i = 0;
    while (replica_configuration_has(from, to->members[i])) {
        i++;
    }
    return &to->members[i];
}

static bool has_server(const struct transaction *transaction, uint64_t server)
{
    for (size_t i = 0; i < transaction->change_count; i++) {
        const struct staged *change = &transaction->changes[i];
        if (change->kind == STAGED_PUT_SERVER && change->number == server) {
            return true;
        }
    }
    return false;
}

/* The server's record, with this store too.  False: it has no place for another one, until one that nobody names any
 * more has lost its tablets. */
static bool put_server_with(struct catalog *catalog,
                            struct transaction *transaction,
                            struct replica_member member)
{
    struct server_record record;
    const struct server *server = state_server(catalog, member.server);

    if (state_store_make(catalog, member.store) == NULL ||
        plan_server_record(catalog, server, &record) != STATUS_OK) {
        transaction->failed = true;
        return true;
    }
    if (record.store_count == RECORD_STORES_MAX) {
        return false;
    }
    struct store_record *stores = arena_allocate_array(&catalog->scratch, record.store_count + 1,
                                                       sizeof *stores);
    if (stores == NULL) {
        transaction->failed = true;
        return true;
    }
    memcpy(stores, record.stores, record.store_count * sizeof *stores);
    stores[record.store_count] = (struct store_record){.number = member.store};
    record.stores = stores;
    ASSERT(!server_record_lists(&record, member.store)); /* it is nobody's */
    record.store_count++;
    transaction_put_server(transaction, &record);
    return true;
}

/* To add a store may be in doubt for long, and is said again; meanwhile the goal may have gone elsewhere, the disk
 * may have been replaced, and nobody owns that store any more.  Every copy's store has an owner, so it is recorded
 * along with this, as its server's.  Its primary will not find it, and removes it.  False = not in this
 * transaction. */
static bool record_newcomer(struct catalog *catalog,
                            struct transaction *transaction,
                            const struct judged *judged)
{
    const struct replica_member *member = newcomer_of(&judged->tablet->record.configuration,
                                                      &judged->proposal->next);

    if (member == NULL || state_owner(catalog, member->store) != NULL) {
        return true;
    }
    const struct store *store = number_map_get(&catalog->stores, member->store);
    if ((store != NULL && store->seen_on != NULL) || has_server(transaction, member->server)) {
        return false; /* it is being recorded: as the server's that has it now, or with another */
    }
    return put_server_with(catalog, transaction, *member);
}

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

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static void take_merge(struct transaction *transaction, const struct judged *judged)
{
    struct tablet *right = judged->right;
    struct tablet_record merged = judged->tablet->record;
    struct tablet_heirs heirs = {.merged = merged.goal.merged};

    merged.number = heirs.merged;
    merged.configuration = judged->proposal->next;
    merged.parent = judged->tablet->record.number;
    merged.absorbed = right->record.number;
    merged.soft_limit_bytes = larger(merged.soft_limit_bytes, right->record.soft_limit_bytes);
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
    const struct judged judged = {proposal,
                                  number_map_get(&catalog->tablets, proposal->tablet),
                                  number_map_get(&catalog->tablets, proposal->right),
                                  {server, proposal->proposer}};

    if (!is_current(transaction, judged.tablet, proposal->base) ||
        (proposal->kind == PROPOSAL_MERGE &&
         !is_current(transaction, judged.right, proposal->right_base))) {
        return; /* it came too late: the answer says so */
    }
    if (transaction->change_count + CHANGES_EACH_MAX > CHANGES_MAX) {
        return; /* it will come again */
    }
    const char *why = judge_proposal(catalog, &judged);
    if (why != NULL) {
        note_refusal(catalog, &judged, why);
        return;
    }
    if (proposal->kind == PROPOSAL_MEMBERS && !record_newcomer(catalog, transaction, &judged)) {
        return; /* it will come again */
    }
    note_taken(catalog, &judged);
    if (proposal->kind == PROPOSAL_MEMBERS) {
        take_members(transaction, &judged);
    } else if (proposal->kind == PROPOSAL_SPLIT) {
        take_split(catalog, transaction, &judged);
    } else {
        take_merge(transaction, &judged);
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
