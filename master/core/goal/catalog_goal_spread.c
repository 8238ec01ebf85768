/* Goals: as many replicas as tables want, and who leads, spread over the servers. */
#include "master/core/goal/catalog_goal.h"

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
        bool leaving = goal_store_is_lost(catalog, store) || goal_store_is_draining(store);
        uint64_t rank = (member ? 0 : UINT64_C(1) << 34) | (leaving ? UINT64_C(1) << 33 : 0) |
                        (store->number == leader ? 0 : UINT64_C(1) << 32) | store->wanted_count;
        if (best == 0 || rank > best_rank) {
            best = store->number;
            best_rank = rank;
        }
    }
    return best;
}

static void recount(struct goal_review *review, struct tablet *tablet, uint32_t wanted)
{
    struct tablet_goal goal = tablet->record.goal;
    uint32_t leads = 0;

    while (goal.store_count < wanted) {
        uint64_t store = goal_choose_store(review, tablet, &goal);
        if (store == 0) {
            break;
        }
        tablet_goal_add(&goal, store);
    }
    if (goal.store_count > wanted) { /* one a transaction: who leads may be another one then */
        tablet_goal_remove(&goal, choose_leaving(review->catalog, tablet));
        if (goal.leader == 0) {
            goal.leader = goal_choose_leader(review->catalog, &goal, &leads);
        }
    }
    if (goal.store_count == tablet->record.goal.store_count) {
        return; /* there is no store for one that is missing */
    }
    goal_change(review, tablet, &goal, "its table wants another number of replicas");
}

static void recount_table(struct goal_review *review, struct table_entry *entry)
{
    const uint32_t wanted = entry->image->record.table.replicas;
    bool all = true;

    for (size_t i = 0; i < entry->tablet_count; i++) {
        struct tablet *tablet = entry->tablets[i];
        if (tablet->record.goal.store_count == wanted) {
            continue;
        }
        all = false;
        if (!goal_has_room(review)) {
            return;
        }
        if (goal_is_free(review, tablet)) {
            recount(review, tablet, wanted);
        }
    }
    entry->recount = !all;
}

void goal_review_counts(struct goal_review *review)
{
    for (size_t i = 0; i < review->catalog->table_count; i++) {
        if (review->catalog->by_name[i]->recount) {
            recount_table(review, review->catalog->by_name[i]);
        }
    }
}

/* --- what has become hot on its way ----------------------------------------------------------- */

/* Nothing can be done about its load before it is there.  Staged as it is, so that its servers hear of it. */
void goal_review_hot(struct goal_review *review)
{
    LIST_FOREACH(struct tablet, tablet, &review->catalog->astray) {
        if (tablet->balance.over_ns == 0 || tablet->hurried || !goal_is_free(review, tablet)) {
            continue;
        }
        if (!goal_has_room(review)) {
            return;
        }
        goal_stage(review, tablet, &tablet->record.goal);
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

static void spread_leading(struct goal_review *review, struct server *server)
{
    struct catalog *catalog = review->catalog;
    uint32_t leads = goal_leads_of(catalog, server);
    uint32_t moving = 0;

    LIST_FOREACH(struct tablet, on_its_way, &server->tablets) {
        const struct tablet_record *record = &on_its_way->record;
        moving += tablet_record_leader(record).server == server->number &&
                  state_owner(catalog, state_wanted_leader(record)) != server;
    }
    LIST_FOREACH(struct tablet, tablet, &server->tablets) {
        struct tablet_goal goal = tablet->record.goal;
        uint32_t other_leads = 0;
        if (moving >= catalog->settings.moves_per_server || !goal_has_room(review)) {
            return;
        }
        if (tablet_record_leader(&tablet->record).server != server->number ||
            list_is_linked(&tablet->astray) || !goal_is_free(review, tablet) ||
            balance_looks_after(catalog, tablet)) {
            continue;
        }
        uint64_t other = goal_choose_leader(catalog, &goal, &other_leads);
        if (other != 0 && leads_too_many(leads, other_leads + moving) &&
            !balance_is_busier(catalog, state_owner(catalog, other), server)) {
            goal.leader = other;
            goal_change(review, tablet, &goal, "its server leads many");
            moving++;
            leads--;
        }
    }
}

void goal_review_leading(struct goal_review *review)
{
    struct server *most = NULL;
    uint32_t most_leads = 0;
    uint32_t least_leads = UINT32_MAX;

    for (size_t i = 0; i < review->catalog->server_count; i++) {
        struct server *server = review->catalog->servers[i];
        uint32_t leads = goal_leads_of(review->catalog, server);
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
