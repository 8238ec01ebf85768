#include "common/base/assert.h"
#include "master/core/catalog_parts.h"
#include "master/core/catalog_state.h"
#include "master/core/transaction.h"

/*
 * Goals: what the master wishes (docs/replication.md, section 10).  A goal is looked at again when
 *
 *   one of its stores was not heard of for replace_after  -> another one, where there is one
 *   one of its stores is on a server that is drained      -> another one, a few at a time
 *   its leader is on a server that leads too many         -> another of its stores, a few at a time
 *   its table wants more or fewer replicas than before    -> a store more, or one less
 *
 * Nothing here changes what is: primaries follow goals by proposals, and a goal that nobody can
 * follow does no harm.  A store is given up only for another one, or because the table wants fewer,
 * so a goal names as many as the table wants, where there are so many.
 */

#define REVIEW_NS             INT64_C(1000000000)
#define GOALS_PER_TRANSACTION LIMIT_PROPOSALS_PER_MESSAGE

/* One look at all goals. */
struct review {
    struct catalog *catalog;
    struct transaction *transaction;
    struct placement_store *stores; /* candidates; what is wished now is counted in */
    size_t store_count;
    uint64_t table; /* whose tablets are counted in them; 0 = none's */
    bool cut;       /* there was no room for all */
};

/* --- stores that must be left ----------------------------------------------------------------- */

static bool is_lost(const struct catalog *catalog, const struct store *store)
{
    return catalog->now_ns - store->heard_ns >= catalog->settings.replace_after_ns;
}

/* Is the server gone, or one of its disks? */
static bool has_lost_store(const struct catalog *catalog, const struct server *server)
{
    for (size_t i = 0; server->image != NULL && i < server->image->record.store_count; i++) {
        const struct store *store = number_map_get(&catalog->stores,
                                                   server->image->record.stores[i].number);
        if (store->owner == server && is_lost(catalog, store)) {
            return true;
        }
    }
    return false;
}

static bool is_draining(const struct store *store)
{
    return store->owner->image->record.draining;
}

/* A disk that was carried to a server which has another copy. */
static bool shares_server(const struct catalog *catalog,
                          const struct tablet_goal *goal,
                          const struct store *store)
{
    for (uint32_t i = 0; i < goal->store_count && goal->stores[i] < store->number; i++) {
        if (state_owner(catalog, goal->stores[i]) == store->owner) {
            return true;
        }
    }
    return false;
}

/* Tablets that have a copy on the server which their goal does not want there: on their way. */
static uint32_t count_moving(const struct server *server)
{
    uint32_t moving = 0;
    LIST_FOREACH(struct tablet, tablet, &server->tablets) {
        const struct replica_configuration *configuration = &tablet->record.configuration;
        for (uint32_t i = 0; i < configuration->member_count; i++) {
            moving += configuration->members[i].server == server->number &&
                      !tablet_goal_names(&tablet->record.goal, configuration->members[i].store);
        }
    }
    return moving;
}

/* Can its members act on a goal at all? */
static bool is_led(const struct catalog *catalog, const struct tablet *tablet)
{
    for (uint32_t i = 0; i < tablet->record.configuration.member_count; i++) {
        const struct server *server = state_server(catalog,
                                                   tablet->record.configuration.members[i].server);
        if (server->alive && server->replicates) {
            return tablet->record.state == TABLET_SERVING;
        }
    }
    return false;
}

/* --- choosing --------------------------------------------------------------------------------- */

static const struct placement_store *candidate(const struct review *review, uint64_t store)
{
    size_t index = plan_candidate(review->catalog, review->stores, review->store_count, store);
    return index == review->store_count ? NULL : &review->stores[index];
}

static void take_servers(const struct review *review,
                         uint64_t tablet,
                         const struct tablet_goal *goal)
{
    placement_begin(review->stores, review->store_count, tablet);
    for (uint32_t i = 0; i < goal->store_count; i++) {
        const struct server *server = state_owner(review->catalog, goal->stores[i]);
        placement_take(review->stores, review->store_count, server->number);
    }
}

/* A member that would do: it need not be taught again. */
static uint64_t choose_member(const struct review *review, const struct tablet *tablet)
{
    const struct replica_configuration *configuration = &tablet->record.configuration;
    for (uint32_t i = 0; i < configuration->member_count; i++) {
        const struct placement_store *store = candidate(review, configuration->members[i].store);
        if (store != NULL && store->usable && !store->taken) {
            return store->store;
        }
    }
    return 0;
}

static bool any_is_left(const struct review *review)
{
    for (size_t i = 0; i < review->store_count; i++) {
        if (review->stores[i].usable && !review->stores[i].taken) {
            return true;
        }
    }
    return false;
}

/* A store in place of the one that the goal has just lost; 0 = there is none.  Where there is none, as of three
 * copies on three servers, it is asked for every tablet of the lost one, once a second: so a table is counted,
 * which is linear in it, only where there is something to choose from. */
static uint64_t choose_store(struct review *review,
                             const struct tablet *tablet,
                             const struct tablet_goal *goal)
{
    size_t index = 0;

    take_servers(review, tablet->record.number, goal);
    if (!any_is_left(review)) {
        return 0;
    }
    if (review->table != tablet->record.table) {
        review->table = tablet->record.table;
        plan_count_table(review->catalog, review->table, review->stores, review->store_count);
    }
    uint64_t member = choose_member(review, tablet);
    if (member != 0) {
        return member;
    }
    if (!placement_choose(review->stores, review->store_count, 0, &index)) {
        return 0;
    }
    return review->stores[index].store;
}

static uint32_t leads_of(const struct catalog *catalog, const struct server *server)
{
    uint32_t leads = 0;
    for (size_t i = 0; server->image != NULL && i < server->image->record.store_count; i++) {
        const struct store *store = number_map_get(&catalog->stores,
                                                   server->image->record.stores[i].number);
        leads += store->owner == server ? store->lead_count : 0;
    }
    return leads;
}

/* May the store's server lead more? */
static bool may_lead(const struct catalog *catalog, uint64_t number)
{
    const struct store *store = number_map_get(&catalog->stores, number);
    return store->owner->alive && !store->owner->leaving && store->owner->replicates &&
           store->condition == 0 && !is_draining(store);
}

/* The store of the goal whose server leads the fewest; 0 = none may. */
static uint64_t choose_leader(const struct catalog *catalog,
                              const struct tablet_goal *goal,
                              uint32_t *ret_leads)
{
    uint64_t best = 0;
    for (uint32_t i = 0; i < goal->store_count; i++) {
        uint32_t leads = leads_of(catalog, state_owner(catalog, goal->stores[i]));
        if (may_lead(catalog, goal->stores[i]) && (best == 0 || leads < *ret_leads)) {
            best = goal->stores[i];
            *ret_leads = leads;
        }
    }
    return best;
}

/* --- changing --------------------------------------------------------------------------------- */

static bool has_room(struct review *review)
{
    bool room = review->transaction->change_count + 2 <= GOALS_PER_TRANSACTION &&
                !review->transaction->failed;
    review->cut = review->cut || !room;
    return room;
}

static void stage(struct review *review, struct tablet *tablet, const struct tablet_goal *goal)
{
    struct tablet_record record = tablet->record;
    struct tablet_goal wish = record.goal;

    record.goal = *goal;
    record.goal.wish = wish.wish; /* of a neighbour only the stores are taken */
    record.goal.by_hand = wish.by_hand;
    record.goal.left = wish.left;
    record.goal.right = wish.right;
    record.goal.merged = wish.merged;
    record.goal.row = wish.row;
    transaction_update_tablet(review->transaction, tablet, &record);
}

/* Two that are to be merged want the same. */
static struct tablet *partner_of(const struct catalog *catalog, const struct tablet *tablet)
{
    const struct tablet_goal *goal = &tablet->record.goal;
    if (goal->wish != GOAL_MERGE) {
        return NULL;
    }
    uint64_t number = goal->left == tablet->record.number ? goal->right : goal->left;
    return number_map_get(&catalog->tablets, number);
}

static void change_goal(struct review *review,
                        struct tablet *tablet,
                        const struct tablet_goal *goal,
                        const char *why)
{
    struct tablet *partner = partner_of(review->catalog, tablet);

    stage(review, tablet, goal);
    if (partner != NULL) {
        stage(review, partner, goal);
    }
    emit_note(review->catalog,
              &(struct catalog_note){.event = "goal_changed",
                                     .table = tablet->record.table,
                                     .tablet = tablet->record.number,
                                     .store = goal->leader},
              "%s", why);
}

/* May its goal be changed in this transaction? */
static bool is_free(const struct review *review, const struct tablet *tablet)
{
    const struct tablet *partner = partner_of(review->catalog, tablet);
    return is_led(review->catalog, tablet) && !transaction_has(review->transaction, tablet) &&
           !list_is_linked(&tablet->dirty) &&
           (partner == NULL || !transaction_has(review->transaction, partner));
}

/* Another store for this one, if there is one; true if the goal is changed now. */
static bool replace(struct review *review, struct tablet *tablet, uint64_t store, const char *why)
{
    struct tablet_goal goal = tablet->record.goal;
    uint32_t leads = 0;

    tablet_goal_remove(&goal, store);
    uint64_t other = choose_store(review, tablet, &goal);
    if (other == 0) {
        return false;
    }
    tablet_goal_add(&goal, other);
    if (goal.leader == 0) {
        goal.leader = choose_leader(review->catalog, &goal, &leads);
    }
    change_goal(review, tablet, &goal, why);
    return true;
}

/* --- what is lost ------------------------------------------------------------------------------ */

/* One store a tablet and transaction: the next review sees to a second one. */
static void replace_lost(struct review *review, struct tablet *tablet)
{
    const struct tablet_goal *goal = &tablet->record.goal;

    for (uint32_t i = 0; i < goal->store_count && is_free(review, tablet); i++) {
        const struct store *store = number_map_get(&review->catalog->stores, goal->stores[i]);
        if (is_lost(review->catalog, store)) {
            (void)replace(review, tablet, store->number, "a store was not heard of for long");
        } else if (shares_server(review->catalog, goal, store)) {
            (void)replace(review, tablet, store->number, "two of its stores are in one server");
        }
    }
}

static void review_lost(struct review *review)
{
    struct catalog *catalog = review->catalog;

    for (size_t i = 0; i < catalog->server_count; i++) {
        struct server *server = catalog->servers[i];
        if (!has_lost_store(catalog, server)) {
            continue;
        }
        LIST_FOREACH(struct tablet, tablet, &server->tablets) {
            if (!has_room(review)) {
                return;
            }
            replace_lost(review, tablet);
        }
    }
    /* and those whose primary has removed the lost one already */
    LIST_FOREACH(struct tablet, astray, &catalog->astray) {
        if (!has_room(review)) {
            return;
        }
        replace_lost(review, astray);
    }
}

/* --- what is drained --------------------------------------------------------------------------- */

/* What cannot go need not be led from there. */
static void lead_from_elsewhere(struct review *review, struct tablet *tablet, uint64_t store)
{
    struct tablet_goal goal = tablet->record.goal;
    uint32_t leads = 0;
    uint64_t other = choose_leader(review->catalog, &goal, &leads);
    if (other != 0 && state_wanted_leader(&tablet->record) == store) {
        goal.leader = other;
        change_goal(review, tablet, &goal, "its server is drained");
    }
}

static void drain(struct review *review, struct server *server)
{
    uint32_t moving = count_moving(server);

    LIST_FOREACH(struct tablet, tablet, &server->tablets) {
        if (moving >= review->catalog->settings.moves_per_server || !has_room(review)) {
            return;
        }
        for (uint32_t i = 0; i < tablet->record.goal.store_count; i++) {
            uint64_t store = tablet->record.goal.stores[i];
            if (state_owner(review->catalog, store) != server || !is_free(review, tablet)) {
                continue;
            }
            if (replace(review, tablet, store, "its server is drained")) {
                moving++;
            } else {
                lead_from_elsewhere(review, tablet, store);
            }
        }
    }
}

/* A goal may name a server where the tablet has no member (yet). */
static void drain_goals(struct review *review)
{
    LIST_FOREACH(struct tablet, tablet, &review->catalog->astray) {
        for (uint32_t i = 0; i < tablet->record.goal.store_count; i++) {
            const struct store *store = number_map_get(&review->catalog->stores,
                                                       tablet->record.goal.stores[i]);
            bool here = replica_configuration_find(&tablet->record.configuration, store->number) <
                        tablet->record.configuration.member_count;
            if (!has_room(review)) {
                return;
            }
            if (is_draining(store) && !here && is_free(review, tablet)) {
                (void)replace(review, tablet, store->number, "its server is drained");
            }
        }
    }
}

static void review_drained(struct review *review)
{
    for (size_t i = 0; i < review->catalog->server_count; i++) {
        struct server *server = review->catalog->servers[i];
        if (server->image != NULL && server->image->record.draining) {
            drain(review, server);
        }
    }
    drain_goals(review);
}

/* --- more replicas, or fewer -------------------------------------------------------------------- */

/* Which one may go: what is not a member yet, what is lost or drained, what does not lead, and of
 * these the one where most is wanted. */
static uint64_t choose_leaving(const struct catalog *catalog, const struct tablet *tablet)
{
    const struct replica_configuration *configuration = &tablet->record.configuration;
    const struct tablet_goal *goal = &tablet->record.goal;
    uint64_t leader = goal->leader != 0 ? goal->leader
                                        : tablet_record_leader(&tablet->record).store;
    uint64_t best = 0;
    uint64_t best_rank = 0;

    for (uint32_t i = 0; i < goal->store_count; i++) {
        const struct store *store = number_map_get(&catalog->stores, goal->stores[i]);
        bool member = replica_configuration_find(configuration, store->number) <
                      configuration->member_count;
        bool leaving = is_lost(catalog, store) || is_draining(store);
        uint64_t rank = (member ? 0 : UINT64_C(1) << 34) | (leaving ? UINT64_C(1) << 33 : 0) |
                        (store->number == leader ? 0 : UINT64_C(1) << 32) | store->wanted_count;
        if (best == 0 || rank > best_rank) {
            best = store->number;
            best_rank = rank;
        }
    }
    return best;
}

static void recount(struct review *review, struct tablet *tablet, uint32_t wanted)
{
    struct tablet_goal goal = tablet->record.goal;
    uint32_t leads = 0;

    while (goal.store_count < wanted) {
        uint64_t store = choose_store(review, tablet, &goal);
        if (store == 0) {
            break;
        }
        tablet_goal_add(&goal, store);
    }
    if (goal.store_count > wanted) { /* one a transaction: who leads may be another one then */
        tablet_goal_remove(&goal, choose_leaving(review->catalog, tablet));
        if (goal.leader == 0) {
            goal.leader = choose_leader(review->catalog, &goal, &leads);
        }
    }
    if (goal.store_count == tablet->record.goal.store_count) {
        return; /* there is no store for one that is missing */
    }
    change_goal(review, tablet, &goal, "its table wants another number of replicas");
}

static void recount_table(struct review *review, struct table_entry *entry)
{
    const uint32_t wanted = entry->image->record.table.replicas;
    bool all = true;

    for (size_t i = 0; i < entry->tablet_count; i++) {
        struct tablet *tablet = entry->tablets[i];
        if (tablet->record.goal.store_count == wanted) {
            continue;
        }
        all = false;
        if (!has_room(review)) {
            return;
        }
        if (is_free(review, tablet)) {
            recount(review, tablet, wanted);
        }
    }
    entry->recount = !all;
}

static void review_counts(struct review *review)
{
    for (size_t i = 0; i < review->catalog->table_count; i++) {
        if (review->catalog->by_name[i]->recount) {
            recount_table(review, review->catalog->by_name[i]);
        }
    }
}

/* --- what has become hot on its way ----------------------------------------------------------- */

/* Nothing can be done about its load before it is there.  Staged as it is, so that its servers hear of it. */
static void review_hot(struct review *review)
{
    LIST_FOREACH(struct tablet, tablet, &review->catalog->astray) {
        if (tablet->balance.over_ns == 0 || tablet->hurried || !is_free(review, tablet)) {
            continue;
        }
        if (!has_room(review)) {
            return;
        }
        stage(review, tablet, &tablet->record.goal);
        tablet->hurried = !review->transaction->failed; /* else it is tried again */
    }
}

/* --- who leads --------------------------------------------------------------------------------- */

/* Two more than another: moving one makes it better, and not the other way round the next time; and
 * more than a tenth, so that a large server does not move tablets for nothing. */
static bool leads_too_many(uint32_t leads, uint32_t other)
{
    return leads >= other + 2 && leads - other > leads / 10;
}

static void spread_leading(struct review *review, struct server *server)
{
    struct catalog *catalog = review->catalog;
    uint32_t leads = leads_of(catalog, server);
    uint32_t moving = 0;

    LIST_FOREACH(struct tablet, on_its_way, &server->tablets) {
        const struct tablet_record *record = &on_its_way->record;
        moving += tablet_record_leader(record).server == server->number &&
                  state_owner(catalog, state_wanted_leader(record)) != server;
    }
    LIST_FOREACH(struct tablet, tablet, &server->tablets) {
        struct tablet_goal goal = tablet->record.goal;
        uint32_t other_leads = 0;
        if (moving >= catalog->settings.moves_per_server || !has_room(review)) {
            return;
        }
        if (tablet_record_leader(&tablet->record).server != server->number ||
            list_is_linked(&tablet->astray) || !is_free(review, tablet) ||
            balance_looks_after(catalog, tablet)) {
            continue;
        }
        uint64_t other = choose_leader(catalog, &goal, &other_leads);
        if (other != 0 && leads_too_many(leads, other_leads + moving) &&
            !balance_is_busier(catalog, state_owner(catalog, other), server)) {
            goal.leader = other;
            change_goal(review, tablet, &goal, "its server leads many");
            moving++;
            leads--;
        }
    }
}

static void review_leading(struct review *review)
{
    struct server *most = NULL;
    uint32_t most_leads = 0;
    uint32_t least_leads = UINT32_MAX;

    for (size_t i = 0; i < review->catalog->server_count; i++) {
        struct server *server = review->catalog->servers[i];
        uint32_t leads = leads_of(review->catalog, server);
        if (!server->alive || server->leaving || !server->replicates) {
            continue;
        }
        least_leads = leads < least_leads ? leads : least_leads;
        if (leads > most_leads) {
            most = server;
            most_leads = leads;
        }
    }
    if (most != NULL && leads_too_many(most_leads, least_leads)) {
        spread_leading(review, most);
    }
}

/* --- the review -------------------------------------------------------------------------------- */

static bool anyone_replicates(const struct catalog *catalog)
{
    for (size_t i = 0; i < catalog->server_count; i++) {
        if (catalog->servers[i]->replicates && catalog->servers[i]->alive) {
            return true;
        }
    }
    return false;
}

void goal_plan(struct catalog *catalog, struct transaction *transaction)
{
    struct review review = {.catalog = catalog, .transaction = transaction};

    if (catalog->now_ns < catalog->review_ns || !anyone_replicates(catalog)) {
        return;
    }
    review.stores = plan_candidates(catalog, true, &review.store_count);
    if (review.stores == NULL) {
        transaction->failed = true;
        return;
    }
    review_lost(&review);
    review_drained(&review);
    review_counts(&review);
    review_hot(&review);
    review_leading(&review);
    catalog->review_ns = review.cut ? catalog->now_ns : catalog->now_ns + REVIEW_NS;
}

int64_t goal_deadline_ns(const struct catalog *catalog)
{
    return anyone_replicates(catalog) ? catalog->review_ns : CATALOG_NEVER;
}
