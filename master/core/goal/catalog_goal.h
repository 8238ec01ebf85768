/*
 * One look at the goals of all tablets: what its parts share (catalog_goal.c, catalog_goal_change.c,
 * catalog_goal_spread.c, catalog_goal_beside.c).  For these files only.
 */
#ifndef MASTER_CORE_GOAL_CATALOG_GOAL_H
#define MASTER_CORE_GOAL_CATALOG_GOAL_H

#include "master/core/catalog_parts.h"
#include "master/core/state/catalog_state.h"
#include "master/core/state/transaction.h"

struct goal_review {
    struct catalog *catalog;
    struct transaction *transaction;
    struct placement_store *stores; /* candidates; what is wished now is counted in */
    size_t store_count;
    uint64_t table; /* whose tablets are counted in them; 0 = none's */
    bool cut;       /* there was no room for all */
};

/* --- catalog_goal_change.c ------------------------------------------------------------------------ */

/* Not heard of for replace_after. */
bool goal_store_is_lost(const struct catalog *catalog, const struct store *store);
bool goal_store_is_draining(const struct store *store);
/* A store in place of the one that the goal has just lost; 0 = there is none. */
uint64_t goal_choose_store(struct goal_review *review,
                           const struct tablet *tablet,
                           const struct tablet_goal *goal);
/* How many tablets its stores lead. */
uint32_t goal_leads_of(const struct catalog *catalog, const struct server *server);
/* The store of the goal whose server leads the fewest, and how many; 0 = none may. */
uint64_t goal_choose_leader(const struct catalog *catalog,
                            const struct tablet_goal *goal,
                            uint32_t *ret_leads);
/* For one more change, and its partner's, in this transaction?  If not, the next one goes on. */
bool goal_has_room(struct goal_review *review);
/* May the tablet's goal be changed in this transaction? */
bool goal_is_free(const struct goal_review *review, const struct tablet *tablet);
/* The stores of the goal become the tablet's, told of or not. */
void goal_stage(struct goal_review *review, struct tablet *tablet, const struct tablet_goal *goal);
/* That, of a neighbour with which it is to be merged too, and noted: why. */
void goal_change(struct goal_review *review,
                 struct tablet *tablet,
                 const struct tablet_goal *goal,
                 const char *why);

/* --- catalog_goal_spread.c ------------------------------------------------------------------------ */

/* Tables that want more replicas than they have, or fewer. */
void goal_review_counts(struct goal_review *review);
/* Tablets that have become hot on their way. */
void goal_review_hot(struct goal_review *review);
/* Servers that lead many more than another. */
void goal_review_leading(struct goal_review *review);

/* --- catalog_goal_beside.c ------------------------------------------------------------------------ */

/* Copies that are wished for in another store of their server than has them, where none can be spared. */
void goal_review_beside(struct goal_review *review);

#endif /* MASTER_CORE_GOAL_CATALOG_GOAL_H */
