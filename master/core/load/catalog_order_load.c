/*
 * Decisions about load, carried out: each is staged with the planner's transaction when nothing else is
 * under way with its tablet, and then looked at until it is done.
 *
 *   decided --> staged: a split, or goals --> done
 *      |          |  ^ the transaction failed
 *      v          v
 *    given up: there was no time to begin, or it takes too long, or others had other plans
 *
 * A merge that takes too long is taken back: both tablets would be kept from all else.  A split or a move
 * goes on, whatever its event says: who is hot, or large, has to go there anyway.
 *
 * Servers that propose carry out goals (docs/replication.md); for the others the master splits by itself.
 */
#include <string.h>

#include "common/base/memory.h"
#include "master/core/catalog_parts.h"
#include "master/core/state/catalog_state.h"
#include "master/core/state/transaction.h"

#define BEGIN_WITHIN_NS INT64_C(30000000000)
#define END_WITHIN_NS   INT64_C(180000000000)
#define TRY_AGAIN_NS    INT64_C(20000000) /* while its tablet has other things to do */

/* --- the list ----------------------------------------------------------------------------------- */

void load_order_add(struct catalog *catalog, const struct load_order *order, struct bytes row)
{
    uint8_t *copy = NULL;

    if (row.size_bytes > 0) {
        copy = memory_allocate(row.size_bytes);
    }
    if (catalog->load_order_count == CATALOG_LOAD_ORDERS_MAX ||
        (row.size_bytes > 0 && copy == NULL)) {
        memory_free(copy);
        event_log_end(&catalog->events, order->event, "given_up", "too much is under way",
                      catalog->now_us);
        return;
    }
    struct load_order *added = &catalog->load_orders[catalog->load_order_count++];
    *added = *order;
    if (copy != NULL) {
        memcpy(copy, row.data, row.size_bytes);
    }
    added->row = copy;
    added->row_bytes = row.size_bytes;
    catalog->load_orders_ns = 0;
}

void load_order_adopt_merge(struct catalog *catalog, const struct tablet *left)
{
    const struct load_order order = {
        .kind = BALANCE_MERGE,
        .reason = BALANCE_COLD,
        .staged = true,
        .table = left->record.table,
        .tablet = left->record.number,
        .right = left->record.goal.right,
        .decided_ns = catalog->now_ns,
    };
    load_order_add(catalog, &order, BYTES_EMPTY);
}

void load_order_note_undone(struct catalog *catalog, const struct tablet *left)
{
    for (size_t i = 0; i < catalog->load_order_count; i++) {
        struct load_order *order = &catalog->load_orders[i];
        order->undone = order->undone ||
                        (order->kind == BALANCE_MERGE && order->tablet == left->record.number);
    }
}

void load_order_forget_all(struct catalog *catalog)
{
    for (size_t i = 0; i < catalog->load_order_count; i++) {
        memory_free(catalog->load_orders[i].row);
    }
    catalog->load_order_count = 0;
}

static void forget(struct catalog *catalog, size_t index)
{
    memory_free(catalog->load_orders[index].row);
    catalog->load_order_count--;
    memmove(&catalog->load_orders[index], &catalog->load_orders[index + 1],
            (catalog->load_order_count - index) * sizeof catalog->load_orders[0]);
}

/* What an order comes to. */
enum outcome {
    OUTCOME_OPEN,
    OUTCOME_DONE,
    OUTCOME_GIVEN_UP,
};

struct result {
    enum outcome outcome;
    const char *why;
};

#define STAYS_OPEN ((struct result){OUTCOME_OPEN, ""})
#define IS_DONE    ((struct result){OUTCOME_DONE, ""})

static struct result give_up(const char *why)
{
    return (struct result){OUTCOME_GIVEN_UP, why};
}

static bool is_last_of_event(const struct catalog *catalog, uint64_t event)
{
    for (size_t i = 0; i < catalog->load_order_count; i++) {
        if (catalog->load_orders[i].event == event) {
            return false;
        }
    }
    return true;
}

/* The order at index is over; true: it is gone, and others have moved up. */
static bool conclude(struct catalog *catalog, size_t index, struct result result)
{
    const uint64_t event = catalog->load_orders[index].event;

    if (result.outcome == OUTCOME_OPEN) {
        return false;
    }
    forget(catalog, index);
    if (result.outcome == OUTCOME_DONE && is_last_of_event(catalog, event)) {
        event_log_end(&catalog->events, event, "done", "", catalog->now_us);
    } else if (result.outcome == OUTCOME_GIVEN_UP) {
        for (size_t i = catalog->load_order_count; i > 0 && event != 0; i--) {
            if (catalog->load_orders[i - 1].event == event) {
                forget(catalog, i - 1);
            }
        }
        event_log_end(&catalog->events, event, "given_up", result.why, catalog->now_us);
    }
    return true;
}

/* --- staging ------------------------------------------------------------------------------------ */

static struct tablet *tablet_of(const struct catalog *catalog, const struct load_order *order)
{
    if (order->kind != BALANCE_SPLIT) {
        return number_map_get(&catalog->tablets, order->tablet);
    }
    const struct table_entry *entry = number_map_get(&catalog->tables, order->table);
    return entry == NULL
               ? NULL
               : entry->tablets[state_tablet_index(entry, bytes_of(order->row, order->row_bytes))];
}

/* Size splits a pinned table, too. */
static bool is_pinned(const struct catalog *catalog, const struct load_order *order)
{
    const struct table_entry *entry = number_map_get(&catalog->tables, order->table);
    return order->reason != BALANCE_SIZE && entry != NULL && entry->image->record.table.pinned;
}

/* Is nothing else under way with it? */
static bool is_free(const struct transaction *transaction, const struct tablet *tablet)
{
    return tablet->record.state == TABLET_SERVING && tablet->record.goal.wish == GOAL_STAY &&
           tablet_record_is_at_goal(&tablet->record) && !list_is_linked(&tablet->dirty) &&
           !transaction_has(transaction, tablet);
}

static struct result stage_split(struct catalog *catalog,
                                 struct transaction *transaction,
                                 struct load_order *order,
                                 struct tablet *tablet)
{
    const struct bytes row = {order->row, order->row_bytes};
    const struct server *leader = state_server(catalog,
                                               tablet_record_leader(&tablet->record).server);
    uint64_t children[2];

    if (bytes_equal(tablet->record.range.start, row)) {
        return IS_DONE; /* by others, meanwhile */
    }
    if (!tablet_record_may_split_at(&tablet->record, row)) {
        return give_up("no tablet can be split there");
    }
    if (!is_free(transaction, tablet) || !plan_may_split(catalog, tablet) ||
        !plan_may_split_on(catalog, transaction, leader)) {
        return STAYS_OPEN;
    }
    plan_stage_split(catalog, transaction, tablet, row, false, children);
    tablet->ahead = order->reason == BALANCE_AHEAD;
    order->staged = true;
    return STAYS_OPEN;
}

static struct result stage_merge(struct catalog *catalog,
                                 struct transaction *transaction,
                                 struct load_order *order,
                                 struct tablet *left)
{
    struct tablet *right = number_map_get(&catalog->tablets, order->right);

    if (right == NULL || !bytes_equal(left->record.range.end, right->record.range.start)) {
        return give_up("its neighbour has changed");
    }
    if (is_free(transaction, left) && is_free(transaction, right)) {
        order->staged = order_merge(catalog, transaction, left, right, false, NULL) == STATUS_OK;
    }
    return STAYS_OPEN;
}

/* The store of the goal that is on the server; 0 = none is. */
static uint64_t store_on(const struct catalog *catalog,
                         const struct tablet_goal *goal,
                         uint64_t server)
{
    for (uint32_t i = 0; i < goal->store_count; i++) {
        const struct server *owner = state_owner(catalog, goal->stores[i]);
        if (owner != NULL && owner->number == server) {
            return goal->stores[i];
        }
    }
    return 0;
}

/* The server's store that is wanted for the fewest tablets; 0 = it has none that is fit. */
static uint64_t choose_store(const struct catalog *catalog, const struct server *server)
{
    const struct store *best = NULL;
    for (size_t i = 0; i < server->image->record.store_count; i++) {
        const struct store *store = number_map_get(&catalog->stores,
                                                   server->image->record.stores[i].number);
        bool fit = store->owner == server && store->seen_on == server && store->condition == 0 &&
                   store->free_bytes >= PLACEMENT_FREE_BYTES_LOW;
        if (fit && (best == NULL || store->wanted_count < best->wanted_count)) {
            best = store;
        }
    }
    return best == NULL ? 0 : best->number;
}

static struct result stage_move(struct catalog *catalog,
                                struct transaction *transaction,
                                struct load_order *order,
                                struct tablet *tablet)
{
    const struct server *to = state_server(catalog, order->to);
    struct tablet_record record = tablet->record;
    uint64_t leaving = store_on(catalog, &record.goal, order->from);
    uint64_t there = store_on(catalog, &record.goal, order->to);
    bool leads = leaving != 0 && state_wanted_leader(&record) == leaving;

    if (to == NULL || to->image == NULL || !to->alive || to->leaving ||
        to->image->record.draining) {
        return give_up("the server that it should go to is not there any more");
    }
    if (order->kind == BALANCE_MOVE && (leaving == 0 || there != 0)) {
        return give_up("its replicas are elsewhere by now");
    }
    if (order->kind == BALANCE_LEAD && there == 0) {
        return give_up("there is no replica of it any more");
    }
    order->store = order->kind == BALANCE_LEAD ? there : choose_store(catalog, to);
    if (order->store == 0) {
        return give_up("no store of the server that it should go to is fit");
    }
    if (!is_free(transaction, tablet)) {
        return STAYS_OPEN;
    }
    if (order->kind == BALANCE_MOVE) {
        tablet_goal_remove(&record.goal, leaving);
        tablet_goal_add(&record.goal, order->store);
    }
    if (order->kind == BALANCE_LEAD || leads) {
        record.goal.leader = order->store;
    }
    transaction_update_tablet(transaction, tablet, &record);
    tablet->hurried = true; /* until it is there, whatever becomes of the order */
    order->staged = true;
    return STAYS_OPEN;
}

/* Is it still wished?  It may have been taken back by hand, and something else wished since. */
static bool is_wished(const struct load_order *order, const struct tablet *left)
{
    return left->record.goal.wish == GOAL_MERGE && left->record.goal.right == order->right;
}

static struct result stage_withdrawal(struct catalog *catalog,
                                      struct transaction *transaction,
                                      struct load_order *order,
                                      struct tablet *left)
{
    struct tablet *right = number_map_get(&catalog->tablets, order->right);

    if (!is_wished(order, left)) {
        return give_up("it took too long, and was taken back");
    }
    if (right == NULL || transaction_has(transaction, left) ||
        transaction_has(transaction, right)) {
        return STAYS_OPEN;
    }
    order_withdraw_merge(catalog, transaction, left, right);
    order->staged = true;
    return STAYS_OPEN;
}

static struct result stage(struct catalog *catalog,
                           struct transaction *transaction,
                           struct load_order *order)
{
    struct tablet *tablet = tablet_of(catalog, order);

    if (tablet == NULL) {
        return order->withdrawn ? IS_DONE : give_up("the tablet is gone");
    }
    if (order->withdrawn) {
        return stage_withdrawal(catalog, transaction, order, tablet);
    }
    if (is_pinned(catalog, order)) {
        return give_up("its table was pinned");
    }
    if (catalog->now_ns - order->decided_ns >= BEGIN_WITHIN_NS) {
        return give_up("it could not be begun in time");
    }
    if (order->kind == BALANCE_SPLIT) {
        return stage_split(catalog, transaction, order, tablet);
    }
    return order->kind == BALANCE_MERGE ? stage_merge(catalog, transaction, order, tablet)
                                        : stage_move(catalog, transaction, order, tablet);
}

void load_order_plan(struct catalog *catalog, struct transaction *transaction)
{
    size_t index = 0;
    while (index < catalog->load_order_count && !transaction->failed &&
           transaction->change_count + 3 <= LIMIT_PROPOSALS_PER_MESSAGE) {
        struct load_order *order = &catalog->load_orders[index];
        bool gone = !order->staged && conclude(catalog, index, stage(catalog, transaction, order));
        index += !gone;
    }
    catalog->load_orders_ns = catalog->now_ns + TRY_AGAIN_NS;
}

int64_t load_order_deadline_ns(const struct catalog *catalog)
{
    for (size_t i = 0; i < catalog->load_order_count; i++) {
        if (!catalog->load_orders[i].staged) {
            return catalog->load_orders_ns;
        }
    }
    return CATALOG_NEVER;
}

/* --- what came of it ---------------------------------------------------------------------------- */

static bool takes_too_long(const struct catalog *catalog, const struct load_order *order)
{
    return catalog->now_ns - order->decided_ns >= END_WITHIN_NS;
}

static struct result look_at_split(struct load_order *order, const struct tablet *tablet)
{
    const struct bytes row = {order->row, order->row_bytes};
    const struct tablet_goal *goal = &tablet->record.goal;

    if (bytes_equal(tablet->record.range.start, row)) {
        return tablet->record.state == TABLET_SPLITTING ? STAYS_OPEN : IS_DONE;
    }
    order->staged = goal->wish == GOAL_SPLIT && bytes_equal(goal->row, row);
    return STAYS_OPEN;
}

static struct result look_at_move(struct load_order *order, const struct tablet *tablet)
{
    const struct tablet_goal *goal = &tablet->record.goal;
    bool wanted = tablet_goal_names(goal, order->store) &&
                  (order->kind == BALANCE_MOVE || goal->leader == order->store);

    if (!wanted) {
        order->staged = false; /* its transaction failed, or others had other plans */
        return STAYS_OPEN;
    }
    return tablet_record_is_at_goal(&tablet->record) ? IS_DONE : STAYS_OPEN;
}

static struct result look_at_merge(const struct catalog *catalog,
                                   struct load_order *order,
                                   const struct tablet *left)
{
    bool wanted = is_wished(order, left);

    if (order->withdrawn && !wanted) {
        return give_up("it took too long, and was taken back");
    }
    if (order->undone && !wanted) {
        return give_up("it was taken back by hand");
    }
    order->withdrawn = order->withdrawn || (wanted && takes_too_long(catalog, order));
    order->staged = wanted && !order->withdrawn;
    return STAYS_OPEN;
}

static struct result look(const struct catalog *catalog, struct load_order *order)
{
    const struct tablet *tablet = tablet_of(catalog, order);

    if (tablet == NULL) {
        return order->kind == BALANCE_MERGE &&
                       number_map_get(&catalog->tables, order->table) != NULL
                   ? IS_DONE
                   : give_up("the tablet is gone");
    }
    if (order->kind == BALANCE_MERGE) {
        return look_at_merge(catalog, order, tablet);
    }
    if (takes_too_long(catalog, order)) {
        return give_up("it takes too long");
    }
    if (order->kind == BALANCE_SPLIT) {
        return look_at_split(order, tablet);
    }
    return look_at_move(order, tablet);
}

void load_order_look(struct catalog *catalog)
{
    size_t index = 0;
    while (index < catalog->load_order_count) {
        struct load_order *order = &catalog->load_orders[index];
        bool gone = order->staged && conclude(catalog, index, look(catalog, order));
        index += !gone;
    }
}
