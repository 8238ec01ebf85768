/*
 * Goals: what the master wishes (docs/replication.md, section 10).  A goal is looked at again when
 *
 *   one of its stores was not heard of for replace_after  -> another one, where there is one
 *   one of its stores is on a server that is drained      -> another one, a few at a time
 *   its leader is on a server that leads too many         -> another of its stores, a few at a time
 *   its table wants more or fewer replicas than before    -> a store more, or one less
 *   the server of one of its stores has the copy in another one, and none can be spared -> that one
 *
 * Nothing here changes what is: primaries follow goals by proposals, and a goal that nobody can
 * follow does no harm.  A store is given up only for another one, or because the table wants fewer,
 * so a goal names as many as the table wants, where there are so many.
 */
#include "master/core/goal/catalog_goal.h"

#define REVIEW_NS INT64_C(1000000000)

/* --- another store -------------------------------------------------------------------------------- */

/* Another store for this one, if there is one; true if the goal is changed now. */
static bool replace(struct goal_review *review,
                    struct tablet *tablet,
                    uint64_t store,
                    const char *why)
{
    struct tablet_goal goal = tablet->record.goal;
    uint32_t leads = 0;

    tablet_goal_remove(&goal, store);
    uint64_t other = goal_choose_store(review, tablet, &goal);
    if (other == 0) {
        return false;
    }
    tablet_goal_add(&goal, other);
    if (goal.leader == 0) {
        goal.leader = goal_choose_leader(review->catalog, &goal, &leads);
    }
    goal_change(review, tablet, &goal, why);
    return true;
}

/* --- what is lost ------------------------------------------------------------------------------ */

/* Is the server gone, or one of its disks? */
static bool has_lost_store(const struct catalog *catalog, const struct server *server)
{
    for (size_t i = 0; server->image != NULL && i < server->image->record.store_count; i++) {
        const struct store *store = number_map_get(&catalog->stores,
                                                   server->image->record.stores[i].number);
        if (store->owner == server && goal_store_is_lost(catalog, store)) {
            return true;
        }
    }
    return false;
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

/* One store a tablet and transaction: the next review sees to a second one. */
static void replace_lost(struct goal_review *review, struct tablet *tablet)
{
    const struct tablet_goal *goal = &tablet->record.goal;

    for (uint32_t i = 0; i < goal->store_count && goal_is_free(review, tablet); i++) {
        const struct store *store = number_map_get(&review->catalog->stores, goal->stores[i]);
        if (goal_store_is_lost(review->catalog, store)) {
            (void)replace(review, tablet, store->number, "a store was not heard of for long");
        } else if (shares_server(review->catalog, goal, store)) {
            (void)replace(review, tablet, store->number, "two of its stores are in one server");
        }
    }
}

static void review_lost(struct goal_review *review)
{
    struct catalog *catalog = review->catalog;

    for (size_t i = 0; i < catalog->server_count; i++) {
        struct server *server = catalog->servers[i];
        if (!has_lost_store(catalog, server)) {
            continue;
        }
        LIST_FOREACH(struct tablet, tablet, &server->tablets) {
            if (!goal_has_room(review)) {
                return;
            }
            replace_lost(review, tablet);
        }
    }
    /* and those whose primary has removed the lost one already */
    LIST_FOREACH(struct tablet, astray, &catalog->astray) {
        if (!goal_has_room(review)) {
            return;
        }
        replace_lost(review, astray);
    }
}

/* --- what is drained --------------------------------------------------------------------------- */

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

/* A copy that cannot leave its server yet need not lead there: wish for another leader. */
static void lead_from_elsewhere(struct goal_review *review, struct tablet *tablet, uint64_t store)
{
    struct tablet_goal goal = tablet->record.goal;
    uint32_t leads = 0;
    uint64_t other = goal_choose_leader(review->catalog, &goal, &leads);
    if (other != 0 && state_wanted_leader(&tablet->record) == store) {
        goal.leader = other;
        goal_change(review, tablet, &goal, "its server is drained");
    }
}

static void drain(struct goal_review *review, struct server *server)
{
    uint32_t moving = count_moving(server);

    LIST_FOREACH(struct tablet, tablet, &server->tablets) {
        if (moving >= review->catalog->settings.moves_per_server || !goal_has_room(review)) {
            return;
        }
        for (uint32_t i = 0; i < tablet->record.goal.store_count; i++) {
            uint64_t store = tablet->record.goal.stores[i];
            if (state_owner(review->catalog, store) != server || !goal_is_free(review, tablet)) {
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
static void drain_goals(struct goal_review *review)
{
    LIST_FOREACH(struct tablet, tablet, &review->catalog->astray) {
        for (uint32_t i = 0; i < tablet->record.goal.store_count; i++) {
            const struct store *store = number_map_get(&review->catalog->stores,
                                                       tablet->record.goal.stores[i]);
            bool here = replica_configuration_find(&tablet->record.configuration, store->number) <
                        tablet->record.configuration.member_count;
            if (!goal_has_room(review)) {
                return;
            }
            if (goal_store_is_draining(store) && !here && goal_is_free(review, tablet)) {
                (void)replace(review, tablet, store->number, "its server is drained");
            }
        }
    }
}

static void review_drained(struct goal_review *review)
{
    for (size_t i = 0; i < review->catalog->server_count; i++) {
        struct server *server = review->catalog->servers[i];
        if (server->image != NULL && server->image->record.draining) {
            drain(review, server);
        }
    }
    drain_goals(review);
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
    struct goal_review review = {.catalog = catalog, .transaction = transaction};

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
    goal_review_beside(&review);
    goal_review_counts(&review);
    goal_review_hot(&review);
    goal_review_leading(&review);
    catalog->review_ns = review.cut ? catalog->now_ns : catalog->now_ns + REVIEW_NS;
}

int64_t goal_deadline_ns(const struct catalog *catalog)
{
    return anyone_replicates(catalog) ? catalog->review_ns : CATALOG_NEVER;
}
