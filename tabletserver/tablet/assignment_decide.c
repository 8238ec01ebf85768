/* What is assigned against what is held: which copies are made, split or dropped. */
#include <stdlib.h>

#include "common/base/memory.h"
#include "common/model/row_set.h"
#include "tabletserver/tablet/assignment_item.h"

/* A tablet that came of another; of one that was merged there are two. */
struct child {
    uint64_t parent;
    const struct assigned_tablet *assigned;
};

/* What a decision looks up, put in order once. */
struct view {
    const struct assignment_held *held; /* ascending by tablet, by store */
    size_t held_count;
    struct child *children; /* not removed ones; by parent, by start */
    size_t child_count;
};

static int compare_held(const void *a, const void *b)
{
    const struct assignment_held *left = a;
    const struct assignment_held *right = b;
    return left->tablet != right->tablet
               ? (left->tablet > right->tablet) - (left->tablet < right->tablet)
               : (left->store > right->store) - (left->store < right->store);
}

static int compare_children(const void *a, const void *b)
{
    const struct child *left = a;
    const struct child *right = b;
    if (left->parent != right->parent) {
        return left->parent < right->parent ? -1 : 1;
    }
    return bytes_compare(left->assigned->location.range.start,
                         right->assigned->location.range.start);
}

static enum status view_make(const struct assignment_list *list,
                             const struct assignment_held *held,
                             size_t held_count,
                             struct arena *arena,
                             struct view *ret_view)
{
    struct assignment_held *sorted = arena_allocate_array(arena, held_count + 1, sizeof *sorted);
    struct child *children = arena_allocate_array(arena, 2 * list->count + 1, sizeof *children);
    size_t child_count = 0;

    if (sorted == NULL || children == NULL) {
        return STATUS_NO_MEMORY;
    }
    for (size_t i = 0; i < held_count; i++) {
        sorted[i] = held[i];
    }
    for (size_t i = 0; i < list->count; i++) {
        const struct assigned_tablet *assigned = &list->items[i]->assigned;
        if (!assigned->removed && assigned->parent != 0) {
            children[child_count++] = (struct child){assigned->parent, assigned};
        }
        if (!assigned->removed && assigned->absorbed != 0) {
            children[child_count++] = (struct child){assigned->absorbed, assigned};
        }
    }
    qsort(sorted, held_count, sizeof *sorted, compare_held);
    qsort(children, child_count, sizeof *children, compare_children);
    *ret_view = (struct view){sorted, held_count, children, child_count};
    return STATUS_OK;
}

/* The tablet's copies here stand side by side: the first of them, and how many. */
static size_t copies_of(const struct view *view, uint64_t tablet, size_t *ret_first)
{
    size_t low = 0;
    size_t high = view->held_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (view->held[middle].tablet < tablet) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    size_t end = low;
    while (end < view->held_count && view->held[end].tablet == tablet) {
        end += 1;
    }
    *ret_first = low;
    return end - low;
}

/* The tablet's copy in that store, or (0) in any store of this server.  NULL: there is none. */
static const struct assignment_held *find_held(const struct view *view,
                                               uint64_t tablet,
                                               uint64_t store)
{
    size_t first = 0;
    size_t count = copies_of(view, tablet, &first);
    for (size_t i = first; i < first + count; i++) {
        if (store == 0 || view->held[i].store == store) {
            return &view->held[i];
        }
    }
    return NULL;
}

static bool is_held(const struct view *view, uint64_t tablet)
{
    return find_held(view, tablet, 0) != NULL;
}

/*
 * Is there what the item is about?  A copy in another store of this server's is one that was let go, and kept for a
 * time: it does not stand for the one that is assigned.  One that knows of no version may be the very one that is
 * meant, in a store that was taken for another, so nothing is made beside it.
 */
static bool is_here(const struct view *view, const struct assignment_item *item)
{
    uint64_t tablet = item->assigned.location.tablet;
    size_t first = 0;
    size_t count = copies_of(view, tablet, &first);
    if (item->apart != 0) {
        return find_held(view, tablet, item->apart) != NULL;
    }
    for (size_t i = first; i < first + count; i++) {
        if (item->store == 0 || view->held[i].store == item->store || view->held[i].version == 0) {
            return true;
        }
    }
    return false;
}

/* Where a removal names a store it means the copy in that one alone.  NULL: there is none to go. */
static const struct assignment_held *find_to_go(const struct view *view,
                                                const struct assigned_tablet *assigned)
{
    return assigned->removed ? find_held(view, assigned->location.tablet, assigned->store) : NULL;
}

/* The parent's children stand side by side: the first of them, and how many. */
static size_t children_of(const struct view *view, uint64_t parent, size_t *ret_first)
{
    size_t low = 0;
    size_t high = view->child_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (view->children[middle].parent < parent) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    size_t end = low;
    while (end < view->child_count && view->children[end].parent == parent) {
        end += 1;
    }
    *ret_first = low;
    return end - low;
}

/* Is a child still to be cut from this tablet? */
static bool has_child_to_come(const struct view *view, uint64_t tablet)
{
    size_t first = 0;
    size_t count = children_of(view, tablet, &first);
    for (size_t i = first; i < first + count; i++) {
        if (!is_held(view, view->children[i].assigned->location.tablet)) {
            return true;
        }
    }
    return false;
}

/* Rather in the store that is to have the child. */
static const struct assignment_held *find_parent(const struct view *view,
                                                 const struct assignment_item *item)
{
    uint64_t parent = item->assigned.parent;
    const struct assignment_held *held = parent != 0 ? find_held(view, parent, item->store) : NULL;
    return parent != 0 && held == NULL ? find_held(view, parent, 0) : held;
}

/* Its parent is here: the right child's turn brings the split, once both are known. */
static bool decide_split(const struct view *view,
                         const struct assigned_tablet *assigned,
                         struct assignment_action *action)
{
    size_t first = 0;
    if (children_of(view, assigned->parent, &first) != 2 ||
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
static bool comes_with_sibling(const struct view *view,
                               const struct assigned_tablet *assigned,
                               const struct assignment_held *parent)
{
    size_t first = 0;
    size_t count = children_of(view, assigned->parent, &first);
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
static bool decide_absent(const struct view *view,
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
static bool is_long_gone(const struct view *view, const struct assignment_item *item)
{
    return !item->assigned.removed && item->was_held &&
           !is_held(view, item->assigned.location.tablet) && has_heir(view, &item->assigned);
}

/* Removals that have nothing left to remove; else the list would grow with every split.  What is long gone is one from
 * the next time on: the view has it still. */
static void forget_removed(struct assignment_list *list, const struct view *view)
{
    size_t kept = 0;
    for (size_t i = 0; i < list->count; i++) {
        struct assignment_item *item = list->items[i];
        bool here = is_here(view, item);
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
        } else if (!assigned->removed && !is_here(&view, list->items[i]) &&
                   decide_absent(&view, list->items[i], &actions[count])) {
            count += 1;
        }
    }
    *ret_actions = actions;
    *ret_count = count;
    return STATUS_OK;
}
