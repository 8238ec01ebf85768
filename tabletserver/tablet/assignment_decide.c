/* What is assigned against what is held: which copies are made, split or dropped. */
#include "common/base/memory.h"
#include "common/model/row_set.h"
#include "tabletserver/tablet/assignment_view.h"

static bool is_held(struct view *view, uint64_t tablet)
{
    return view_find_held(view, tablet, 0) != NULL;
}

/* Where a removal names a store it means the copy in that one alone.  NULL: there is none to go. */
static const struct assignment_held *find_to_go(struct view *view,
                                                const struct assigned_tablet *assigned)
{
    return assigned->removed ? view_find_held(view, assigned->location.tablet, assigned->store)
                             : NULL;
}

/* Is a child still to be cut from this tablet? */
static bool has_child_to_come(struct view *view, uint64_t tablet)
{
    size_t first = 0;
    size_t count = view_children_of(view, tablet, &first);
    for (size_t i = first; i < first + count; i++) {
        if (!is_held(view, view->children[i].assigned->location.tablet)) {
            return true;
        }
    }
    return false;
}

/* Rather in the store that is to have the child. */
static const struct assignment_held *find_parent(struct view *view,
                                                 const struct assignment_item *item)
{
    uint64_t parent = item->assigned.parent;
    const struct assignment_held *held = parent != 0 ? view_find_held(view, parent, item->store)
                                                     : NULL;
    return parent != 0 && held == NULL ? view_find_held(view, parent, 0) : held;
}

/* Its parent is here: the right child's turn brings the split, once both are known. */
static bool decide_split(const struct view *view,
                         const struct assigned_tablet *assigned,
                         struct assignment_action *action)
{
    size_t first = 0;
    if (view_children_of(view, assigned->parent, &first) != 2 ||
        view->children[first + 1].assigned != assigned) {
        return false;
    }
    action->kind = ASSIGNMENT_SPLIT;
    action->tablet = assigned->parent;
    action->left = view->children[first].assigned->location.tablet;
    action->right = assigned->location.tablet;
    return true;
}

/* The master names a parent as removed only once it knows of the children, and to a server that replicates not
 * at all; until then the list says what it last said, even that the parent is to be created.  Its children may
 * be gone, too: they were split or merged in turn.  Numbers rise from parents to heirs. */
static bool has_heir(const struct view *view, const struct assigned_tablet *assigned)
{
    const struct location *gone = &assigned->location;
    bool found = false;
    for (size_t i = view->child_count; i-- > 0 && view->children[i].parent >= gone->tablet;) {
        const struct location *heir = &view->children[i].assigned->location;
        struct row_range both;
        found = found || (heir->table == gone->table &&
                          row_range_intersect(&heir->range, &gone->range, &both));
    }
    return found;
}

/* Its parent, which is here, is about to be converted for the other child: this one comes with it, into the store that
 * the parent is in.  (Into that one only: waited for in another, where the other child had become something else in turn,
 * it never came.  Simulator, seed 306094011.) */
static bool comes_with_sibling(struct view *view,
                               const struct assigned_tablet *assigned,
                               const struct assignment_held *parent)
{
    size_t first = 0;
    size_t count = view_children_of(view, assigned->parent, &first);
    for (size_t i = first; i < first + count; i++) {
        const struct assigned_tablet *sibling = view->children[i].assigned;
        const struct replica_configuration *members = &sibling->configuration;
        if (sibling != assigned && !is_held(view, sibling->location.tablet) &&
            replica_configuration_find(members, parent->store) < members->member_count) {
            return true;
        }
    }
    return false;
}

/* What to do about a tablet that should be here and is not; false = nothing now. */
static bool decide_absent(struct view *view,
                          const struct assignment_item *item,
                          struct assignment_action *ret_action)
{
    const struct assigned_tablet *assigned = &item->assigned;
    struct assignment_action action = {
        .tablet = assigned->location.tablet, .store = item->store, .assigned = assigned};

    const struct assignment_held *parent = find_parent(view, item);
    if (item->as_learner) {
        if (parent != NULL && parent->version != 0 && parent->store == item->store &&
            comes_with_sibling(view, assigned, parent)) {
            return false;
        }
        action.kind = ASSIGNMENT_CREATE;
        action.as_learner = true;
    } else if (parent != NULL && parent->version != 0) {
        action.kind = ASSIGNMENT_CONVERT;
        action.store = parent->store;
        action.tablet = assigned->parent;
        action.left = assigned->location.tablet;
    } else if (parent != NULL) {
        action.store = parent->store;
        if (!decide_split(view, assigned, &action)) {
            return false;
        }
    } else if (has_heir(view, assigned)) {
        return false;
    } else if (assigned->location.state == TABLET_CREATING && !item->was_held) {
        action.kind = ASSIGNMENT_CREATE;
    } else {
        action.kind = ASSIGNMENT_MISSING;
    }
    *ret_action = action;
    return true;
}

/* It has become others, and these others again, of which alone the master spoke: the first ones were gone between two of
 * its words, so nobody has retired it.  What it came of would be kept for it for ever.  (Simulator, seed 308018344.) */
static bool is_long_gone(struct view *view, const struct assignment_item *item)
{
    return !item->assigned.removed && item->was_held &&
           !is_held(view, item->assigned.location.tablet) && has_heir(view, &item->assigned);
}

/* Removals that have nothing left to remove; else the list would grow with every split.  What is long gone is one from
 * the next time on: the view has it still. */
static void forget_removed(struct assignment_list *list, struct view *view)
{
    size_t kept = 0;
    for (size_t i = 0; i < list->count; i++) {
        struct assignment_item *item = list->items[i];
        bool here = view_is_here(view, item);
        if (item->assigned.removed && !here && (item->was_held || item->unasked)) {
            memory_free(item);
        } else {
            item->assigned.removed = item->assigned.removed || is_long_gone(view, item);
            item->was_held = item->was_held || here;
            item->told = item->told && item->here;
            item->here = here;
            list->items[kept++] = item;
        }
    }
    list->count = kept;
}

enum status assignment_decide(struct assignment_list *list,
                              const struct assignment_held *held,
                              size_t held_count,
                              struct arena *arena,
                              struct assignment_action **ret_actions,
                              size_t *ret_count)
{
    struct assignment_action *actions = arena_allocate_array(arena, list->count + 1,
                                                             sizeof *actions);
    struct view view;
    size_t count = 0;

    if (actions == NULL || view_make(list, held, held_count, arena, &view) != STATUS_OK) {
        return STATUS_NO_MEMORY;
    }
    forget_removed(list, &view);
    for (size_t i = 0; i < list->count; i++) {
        const struct assigned_tablet *assigned = &list->items[i]->assigned;
        uint64_t tablet = assigned->location.tablet;
        const struct assignment_held *to_go = find_to_go(&view, assigned);
        if (to_go != NULL && !has_child_to_come(&view, tablet)) {
            actions[count++] = (struct assignment_action){.kind = ASSIGNMENT_DROP,
                                                          .tablet = tablet,
                                                          .store = to_go->store,
                                                          .assigned = assigned};
        } else if (!assigned->removed && !list->items[i]->here &&
                   decide_absent(&view, list->items[i], &actions[count])) {
            count += 1;
        }
    }
    *ret_actions = actions;
    *ret_count = count;
    return STATUS_OK;
}
