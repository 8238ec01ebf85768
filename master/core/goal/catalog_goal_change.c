/* Goals: which stores may be chosen, and how a goal is changed. */
#include "master/core/goal/catalog_goal.h"

#define GOALS_PER_TRANSACTION LIMIT_PROPOSALS_PER_MESSAGE

/* --- stores that must be left ----------------------------------------------------------------- */

bool goal_store_is_lost(const struct catalog *catalog, const struct store *store)
{
    return catalog->now_ns - store->heard_ns >= catalog->settings.replace_after_ns;
}

bool goal_store_is_draining(const struct store *store)
{
    return store->owner->image->record.draining;
}

/* --- choosing --------------------------------------------------------------------------------- */

static const struct placement_store *candidate(const struct goal_review *review, uint64_t store)
{
    size_t index = plan_candidate(review->catalog, review->stores, review->store_count, store);
    return index == review->store_count ? NULL : &review->stores[index];
}

static void take_servers(const struct goal_review *review,
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
static uint64_t choose_member(const struct goal_review *review, const struct tablet *tablet)
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

static bool any_is_left(const struct goal_review *review)
{
    for (size_t i = 0; i < review->store_count; i++) {
        if (review->stores[i].usable && !review->stores[i].taken) {
            return true;
        }
    }
    return false;
}

/* Where there is none, as of three copies on three servers, it is asked for every tablet of the lost one, once a
 * second: so a table is counted, which is linear in it, only where there is something to choose from. */
uint64_t goal_choose_store(struct goal_review *review,
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

uint32_t goal_leads_of(const struct catalog *catalog, const struct server *server)
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
           store->condition == 0 && !goal_store_is_draining(store);
}

uint64_t goal_choose_leader(const struct catalog *catalog,
                            const struct tablet_goal *goal,
                            uint32_t *ret_leads)
{
    uint64_t best = 0;
    for (uint32_t i = 0; i < goal->store_count; i++) {
        uint32_t leads = goal_leads_of(catalog, state_owner(catalog, goal->stores[i]));
        if (may_lead(catalog, goal->stores[i]) && (best == 0 || leads < *ret_leads)) {
            best = goal->stores[i];
            *ret_leads = leads;
        }
    }
    return best;
}

/* --- changing --------------------------------------------------------------------------------- */

bool goal_has_room(struct goal_review *review)
{
    bool room = review->transaction->change_count + 2 <= GOALS_PER_TRANSACTION &&
                !review->transaction->failed;
    review->cut = review->cut || !room;
    return room;
}

void goal_stage(struct goal_review *review, struct tablet *tablet, const struct tablet_goal *goal)
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

void goal_change(struct goal_review *review,
                 struct tablet *tablet,
                 const struct tablet_goal *goal,
                 const char *why)
{
    struct tablet *partner = partner_of(review->catalog, tablet);

    goal_stage(review, tablet, goal);
    if (partner != NULL) {
        goal_stage(review, partner, goal);
    }
    emit_note(review->catalog,
              &(struct catalog_note){.event = "goal_changed",
                                     .table = tablet->record.table,
                                     .tablet = tablet->record.number,
                                     .store = goal->leader},
              "%s", why);
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

bool goal_is_free(const struct goal_review *review, const struct tablet *tablet)
{
    const struct tablet *partner = partner_of(review->catalog, tablet);
    return is_led(review->catalog, tablet) && !transaction_has(review->transaction, tablet) &&
           !list_is_linked(&tablet->dirty) &&
           (partner == NULL || !transaction_has(review->transaction, partner));
}
