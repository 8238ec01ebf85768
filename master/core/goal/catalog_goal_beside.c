/*
 * Goals: a copy that is wished for in one store of a server, while a member is in another one of it.
 *
 * It goes from one to the other by being removed before it is taught (docs/replication.md, rule 17), so there must be
 * one to spare.  Who orders a merge is refused where none is (catalog_order.c); but a copy that was being taught when
 * it was ordered may become a member in the other store later.  What nobody can follow is not wished then: the goal
 * names the store that has the copy, and a merge, which needs the very stores that it names, is taken back.
 */
#include "master/core/goal/catalog_goal.h"

bool goal_spares_copy(const struct table *table)
{
    return table->replicas > 2 && table->replicas > table->min_in_sync;
}

/* The store of the member on that server, where the goal does not name it; 0 = there is none. */
static uint64_t find_unwished(const struct tablet_record *record, uint64_t server)
{
    for (uint32_t i = 0; i < record->configuration.member_count; i++) {
        const struct replica_member *member = &record->configuration.members[i];
        if (member->server == server && !tablet_goal_names(&record->goal, member->store)) {
            return member->store;
        }
    }
    return 0;
}

static void wish_for_member(struct goal_review *review,
                            struct tablet *tablet,
                            uint64_t wished,
                            uint64_t member)
{
    struct tablet_goal goal = tablet->record.goal;
    bool leads = goal.leader == wished;

    tablet_goal_remove(&goal, wished);
    tablet_goal_add(&goal, member);
    goal.leader = leads ? member : goal.leader;
    goal_change(review, tablet, &goal,
                "its copy is in another store of the server, and none can be spared");
}

static void take_back_merge(struct goal_review *review, const struct tablet_goal *goal)
{
    struct tablet *left = number_map_get(&review->catalog->tablets, goal->left);
    struct tablet *right = number_map_get(&review->catalog->tablets, goal->right);
    if (left != NULL && right != NULL) {
        order_withdraw_merge(review->catalog, review->transaction, left, right);
    }
}

/* One store a tablet and transaction: the next review sees to a second one. */
static void give_up(struct goal_review *review, struct tablet *tablet)
{
    const struct tablet_goal *goal = &tablet->record.goal;

    for (uint32_t i = 0; i < goal->store_count && goal_is_free(review, tablet); i++) {
        uint64_t wished = goal->stores[i];
        uint64_t member = find_unwished(&tablet->record,
                                        state_owner(review->catalog, wished)->number);
        if (member != 0 && goal->wish == GOAL_MERGE) {
            take_back_merge(review, goal);
        } else if (member != 0) {
            wish_for_member(review, tablet, wished, member);
        }
    }
}

void goal_review_beside(struct goal_review *review)
{
    LIST_FOREACH(struct tablet, tablet, &review->catalog->astray) {
        const struct table_entry *entry = number_map_get(&review->catalog->tables,
                                                         tablet->record.table);
        if (!goal_has_room(review)) {
            return;
        }
        if (!goal_spares_copy(&entry->image->record.table)) {
            give_up(review, tablet);
        }
    }
}
