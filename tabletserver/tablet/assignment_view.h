/*
 * What assignment_decide.c looks up: copies that are held, by tablet, and what came of which tablet.
 *
 * Both are in order.  Who goes through the list of what is assigned asks for copies in their order, so each is found right
 * behind the last; what came of what is gathered only where something is missing or to go, which mostly nothing is.
 *
 * Pure.  Thread rule: one owner.
 */
#ifndef TABLETSERVER_TABLET_ASSIGNMENT_VIEW_H
#define TABLETSERVER_TABLET_ASSIGNMENT_VIEW_H

#include "tabletserver/tablet/assignment_item.h"

/* A tablet that came of another; of one that was merged there are two. */
struct child {
    uint64_t parent;
    const struct assigned_tablet *assigned;
};

struct view {
    const struct assignment_held *held; /* ascending by tablet, by store */
    size_t held_count;
    size_t found; /* place of the copies that were looked for last, or where they would be */
    struct child *children; /* not removed ones, by parent, by start; none where nobody asks */
    size_t child_count;
};

/* held is borrowed where it is in order, else copied into the arena.  Errors: STATUS_NO_MEMORY. */
enum status view_make(const struct assignment_list *list,
                      const struct assignment_held *held,
                      size_t held_count,
                      struct arena *arena,
                      struct view *ret_view);

/* The tablet's copy in that store, or (0) in any store of this server.  NULL: there is none. */
const struct assignment_held *view_find_held(struct view *view, uint64_t tablet, uint64_t store);

/* Is there what the item is about? */
bool view_is_here(struct view *view, const struct assignment_item *item);

/* The parent's children stand side by side: the first of them, and how many. */
size_t view_children_of(const struct view *view, uint64_t parent, size_t *ret_first);

#endif /* TABLETSERVER_TABLET_ASSIGNMENT_VIEW_H */
