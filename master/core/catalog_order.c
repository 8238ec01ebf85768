#include "common/base/assert.h"
#include "master/core/catalog_parts.h"
#include "master/core/state/catalog_state.h"
#include "master/core/state/transaction.h"

/*
 * What people order that takes time: a server to be drained, two tablets to be merged; and that they take it
 * back.  The order is made durable; goals follow (catalog_goal.c), and primaries follow those.
 */

/* --- a server is drained ------------------------------------------------------------------------ */

/* Servers that can take copies, but for the one that leaves; no more are named than a tablet has copies: with
 * so many there is one for each. */
static size_t find_takers(struct catalog *catalog,
                          const struct server *leaving,
                          uint64_t *ret_takers)
{
    size_t store_count = 0;
    size_t count = 0;
    struct placement_store *stores = plan_candidates(catalog, true, &store_count);

    if (stores == NULL) {
        return LIMIT_REPLICAS; /* nothing is known to be stuck */
    }
    for (size_t i = 0; i < store_count && count < LIMIT_REPLICAS; i++) {
        uint64_t server = stores[i].server;
        bool is_new = count == 0 || ret_takers[count - 1] != server;
        if (stores[i].usable && server != leaving->number && is_new) {
            ret_takers[count++] = server;
        }
    }
    return count;
}

static bool goal_names_server(const struct catalog *catalog,
                              const struct tablet_goal *goal,
                              uint64_t server)
{
    for (uint32_t i = 0; i < goal->store_count; i++) {
        const struct server *owner = state_owner(catalog, goal->stores[i]);
        if (owner != NULL && owner->number == server) {
            return true;
        }
    }
    return false;
}

static bool is_stuck(const struct catalog *catalog,
                     const struct tablet *tablet,
                     const struct server *leaving,
                     const uint64_t *takers,
                     size_t taker_count)
{
    const struct tablet_goal *goal = &tablet->record.goal;
    if (!goal_names_server(catalog, goal, leaving->number)) {
        return false;
    }
    for (size_t i = 0; i < taker_count; i++) {
        if (!goal_names_server(catalog, goal, takers[i])) {
            return false;
        }
    }
    return true;
}

uint32_t order_count_stuck(struct catalog *catalog, const struct server *leaving)
{
    uint64_t takers[LIMIT_REPLICAS];
    bool gives_none = leaving->alive && !leaving->replicates;
    size_t taker_count = gives_none ? 0 : find_takers(catalog, leaving, takers);
    uint32_t count = 0;

    if (taker_count == LIMIT_REPLICAS) {
        return 0;
    }
    LIST_FOREACH(const struct tablet, tablet, &leaving->tablets) {
        count += is_stuck(catalog, tablet, leaving, takers, taker_count);
    }
    LIST_FOREACH(struct tablet, coming, &catalog->astray) {
        bool here = state_copy_on(coming, leaving->number) != NULL;
        count += !here && is_stuck(catalog, coming, leaving, takers, taker_count);
    }
    return count;
}

/* How far it is: also the answer to one who asks again. */
static struct drain_server_response progress_of(struct catalog *catalog,
                                                const struct server *server,
                                                bool draining)
{
    struct drain_server_response progress = {
        .draining = draining,
        .member_count = (uint32_t)server->tablet_count,
        .stuck_count = draining ? order_count_stuck(catalog, server) : 0,
    };
    for (size_t i = 0; i < server->image->record.store_count; i++) {
        const struct store *store = number_map_get(&catalog->stores,
                                                   server->image->record.stores[i].number);
        progress.goal_count += store->owner == server ? store->wanted_count : 0;
    }
    return progress;
}

enum status order_stage_drain(struct catalog *catalog,
                              struct transaction *transaction,
                              struct open_request *request,
                              bool *ret_staged,
                              struct error *ret_error)
{
    struct drain_server_request drain;
    enum status status = drain_server_request_decode(request->body, &catalog->scratch, &drain,
                                                     ret_error);

    if (status != STATUS_OK) {
        return status;
    }
    const struct server *server = state_server(catalog, drain.server);
    if (server == NULL || server->image == NULL) {
        return error_set(ret_error, STATUS_NOT_FOUND, "server %llu was not found",
                         (unsigned long long)drain.server);
    }
    struct drain_server_response progress = progress_of(catalog, server, drain.draining);
    request->answer = effects_begin_message();
    drain_server_response_encode(&progress, &request->answer);
    *ret_staged = server->image->record.draining != drain.draining;
    if (*ret_staged) {
        struct server_record record = server->image->record;
        record.draining = drain.draining;
        transaction_put_server(transaction, &record);
        catalog->review_ns = catalog->now_ns;
        emit_note(catalog,
                  &(struct catalog_note){.event = drain.draining ? "server_drained" : "server_kept",
                                         .server = server->number},
                  "%zu tablets have a copy there", server->tablet_count);
    }
    return STATUS_OK;
}

/* --- two tablets are merged --------------------------------------------------------------------- */

static enum status check_part(const struct catalog *catalog,
                              const struct tablet *tablet,
                              struct error *ret_error)
{
    unsigned long long number = (unsigned long long)tablet->record.number;

    if (!state_leads_by_proposal(catalog, tablet)) {
        return error_set(
            ret_error, STATUS_UNIMPLEMENTED,
            "tablet %llu is led by server %llu, which has replicate = false: such servers do "
            "not merge tablets, and nothing was changed",
            number, (unsigned long long)tablet_record_leader(&tablet->record).server);
    }
    if (tablet->record.state != TABLET_SERVING || tablet->record.goal.wish != GOAL_STAY) {
        return error_set(ret_error, STATUS_UNAVAILABLE,
                         "tablet %llu does not serve, or is being split or merged: try again later",
                         number);
    }
    return STATUS_OK;
}

/* Has the right one a copy on the server of that store, and in another one than the left one's goal names? */
static bool is_beside(const struct catalog *catalog,
                      const struct tablet_goal *goal,
                      uint64_t store,
                      const struct tablet *right)
{
    const struct replica_configuration *members = &right->record.configuration;
    const struct server *server = state_owner(catalog, store);
    for (uint32_t i = 0; i < members->member_count; i++) {
        if (members->members[i].server == server->number &&
            !tablet_goal_names(goal, members->members[i].store)) {
            return true;
        }
    }
    return false;
}

/* A store of the left one's goal on a server where the right one has its copy in another store; 0 = there is none. */
static uint64_t find_beside(const struct catalog *catalog,
                            const struct tablet *left,
                            const struct tablet *right)
{
    const struct tablet_goal *goal = &left->record.goal;
    for (uint32_t i = 0; i < goal->store_count; i++) {
        if (is_beside(catalog, goal, goal->stores[i], right)) {
            return goal->stores[i];
        }
    }
    return 0;
}

/* From one store of a server to another one a copy goes by being removed before it is taught (rule 17): the right one has
 * to have one to spare. */
bool order_are_apart(const struct catalog *catalog,
                     const struct tablet *left,
                     const struct tablet *right)
{
    const struct table_entry *entry = number_map_get(&catalog->tables, left->record.table);
    return !goal_spares_copy(&entry->image->record.table) && find_beside(catalog, left, right) != 0;
}

static enum status check_places(const struct catalog *catalog,
                                const struct tablet *left,
                                const struct tablet *right,
                                struct error *ret_error)
{
    const struct table_entry *entry = number_map_get(&catalog->tables, left->record.table);

    if (!order_are_apart(catalog, left, right)) {
        return STATUS_OK;
    }
    const struct server *server = state_owner(catalog, find_beside(catalog, left, right));
    return error_set(
        ret_error, STATUS_FAILED_PRECONDITION,
        "tablets %llu and %llu have copies in different stores of server %llu, and of %u "
        "none can be spared while it is brought from one to the other: nothing was changed",
        (unsigned long long)left->record.number, (unsigned long long)right->record.number,
        (unsigned long long)server->number, entry->image->record.table.replicas);
}

/* Both want the same stores and the same leader: the left one's. */
static void stage_merge(struct transaction *transaction,
                        struct tablet *left,
                        struct tablet *right,
                        bool by_hand)
{
    struct tablet_record records[2] = {left->record, right->record};
    struct tablet_goal goal = left->record.goal;

    goal.wish = GOAL_MERGE;
    goal.by_hand = by_hand;
    goal.left = left->record.number;
    goal.right = right->record.number;
    goal.merged = transaction_next_tablet(transaction);
    if (goal.leader == 0) {
        uint64_t leads = tablet_record_leader(&left->record).store;
        goal.leader = tablet_goal_names(&goal, leads) ? leads : goal.stores[0];
    }
    records[0].goal = goal;
    records[1].goal = goal;
    transaction_update_tablet(transaction, left, &records[0]);
    transaction_update_tablet(transaction, right, &records[1]);
}

enum status order_merge(struct catalog *catalog,
                        struct transaction *transaction,
                        struct tablet *left,
                        struct tablet *right,
                        bool by_hand,
                        struct error *ret_error)
{
    enum status status = check_part(catalog, left, ret_error);

    if (status == STATUS_OK) {
        status = check_part(catalog, right, ret_error);
    }
    if (status == STATUS_OK) {
        status = check_places(catalog, left, right, ret_error);
    }
    if (status != STATUS_OK) {
        return status;
    }
    stage_merge(transaction, left, right, by_hand);
    emit_note(catalog,
              &(struct catalog_note){.event = "tablets_to_merge",
                                     .table = left->record.table,
                                     .tablet = left->record.number},
              "with %llu", (unsigned long long)right->record.number);
    return STATUS_OK;
}

/* Servers lift the barriers that they have set: without the wish no merge is taken (catalog_propose.c), and
 * the number of the merged one is not given again. */
void order_withdraw_merge(struct catalog *catalog,
                          struct transaction *transaction,
                          struct tablet *left,
                          struct tablet *right)
{
    struct tablet *parts[2] = {left, right};
    for (size_t i = 0; i < 2; i++) {
        struct tablet_record record = parts[i]->record;
        tablet_goal_wish_nothing(&record.goal);
        transaction_update_tablet(transaction, parts[i], &record);
        parts[i]->balance.warm_ns = catalog->now_ns; /* not again so soon, because of load */
    }
    emit_note(catalog,
              &(struct catalog_note){.event = "merge_withdrawn",
                                     .table = left->record.table,
                                     .tablet = left->record.number},
              "with %llu", (unsigned long long)right->record.number);
}

static enum status stage_withdrawal(struct catalog *catalog,
                                    struct transaction *transaction,
                                    struct open_request *request,
                                    struct tablet *left,
                                    struct tablet *right,
                                    struct error *ret_error)
{
    const struct tablet_goal *goal = &left->record.goal;
    if (goal->wish != GOAL_MERGE || goal->right != right->record.number) {
        return error_set(
            ret_error, STATUS_FAILED_PRECONDITION,
            "tablets %llu and %llu are not to be merged: there is nothing to take back",
            (unsigned long long)left->record.number, (unsigned long long)right->record.number);
    }
    const struct merge_response response = {0};
    request->answer = effects_begin_message();
    merge_response_encode(&response, &request->answer);
    order_withdraw_merge(catalog, transaction, left, right);
    load_order_note_undone(catalog, left);
    return STATUS_OK;
}

enum status order_stage_merge(struct catalog *catalog,
                              struct transaction *transaction,
                              struct open_request *request,
                              bool *ret_staged,
                              struct error *ret_error)
{
    char text[BYTES_PRINTABLE_SIZE_MAX];
    struct merge_request merge;
    enum status status = merge_request_decode(request->body, &catalog->scratch, &merge, ret_error);

    if (status != STATUS_OK) {
        return status;
    }
    const struct table_entry *entry = change_find_table(catalog, merge.table, ret_error);
    if (entry == NULL) {
        return STATUS_NOT_FOUND;
    }
    size_t at = state_tablet_index(entry, merge.row);
    struct tablet *right = entry->tablets[at];
    if (!bytes_equal(right->record.range.start, merge.row)) {
        return error_set(ret_error, STATUS_INVALID_ARGUMENT,
                         "no tablet begins at row '%s': the right one of the two to be merged is "
                         "named by its first row",
                         bytes_printable(merge.row, text));
    }
    if (at == 0) {
        return error_set(ret_error, STATUS_INVALID_ARGUMENT,
                         "the first tablet has none before it to be merged with");
    }
    struct tablet *left = entry->tablets[at - 1];
    if (merge.withdrawn) {
        status = stage_withdrawal(catalog, transaction, request, left, right, ret_error);
    } else {
        status = order_merge(catalog, transaction, left, right, true, ret_error);
        request->left = left->record.number;
        request->right = right->record.number;
    }
    *ret_staged = status == STATUS_OK;
    return status;
}
