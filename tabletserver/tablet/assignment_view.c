#include "tabletserver/tablet/assignment_view.h"

#include <stdlib.h>

#include "common/model/row_set.h"

#define NEAR 4 /* so many steps are taken before a place is searched for */

/* --- in order ----------------------------------------------------------------------------------- */

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

static bool is_in_order(const struct assignment_held *held, size_t held_count)
{
    for (size_t i = 1; i < held_count; i++) {
        if (compare_held(&held[i - 1], &held[i]) > 0) {
            return false;
        }
    }
    return true;
}

void assignment_held_sort(struct assignment_held *held, size_t held_count)
{
    if (!is_in_order(held, held_count)) {
        qsort(held, held_count, sizeof *held, compare_held);
    }
}

/* NULL without memory. */
static const struct assignment_held *in_order(const struct assignment_held *held,
                                              size_t held_count,
                                              struct arena *arena)
{
    if (held_count > 0 && is_in_order(held, held_count)) {
        return held;
    }
    struct assignment_held *sorted = arena_allocate_array(arena, held_count + 1, sizeof *sorted);
    for (size_t i = 0; sorted != NULL && i < held_count; i++) {
        sorted[i] = held[i];
    }
    if (sorted != NULL) {
        qsort(sorted, held_count, sizeof *sorted, compare_held);
    }
    return sorted;
}

/* False without memory. */
static bool gather_children(const struct assignment_list *list,
                            struct arena *arena,
                            struct view *view)
{
    view->children = arena_allocate_array(arena, 2 * list->count + 1, sizeof *view->children);
    for (size_t i = 0; view->children != NULL && i < list->count; i++) {
        const struct assigned_tablet *assigned = &list->items[i]->assigned;
        if (!assigned->removed && assigned->parent != 0) {
            view->children[view->child_count++] = (struct child){assigned->parent, assigned};
        }
        if (!assigned->removed && assigned->absorbed != 0) {
            view->children[view->child_count++] = (struct child){assigned->absorbed, assigned};
        }
    }
    if (view->children != NULL) {
        qsort(view->children, view->child_count, sizeof *view->children, compare_children);
    }
    return view->children != NULL;
}

static bool needs_children(const struct assignment_list *list, struct view *view)
{
    for (size_t i = 0; i < list->count; i++) {
        if (list->items[i]->assigned.removed || !view_is_here(view, list->items[i])) {
            return true;
        }
    }
    return false;
}

enum status view_make(const struct assignment_list *list,
                      const struct assignment_held *held,
                      size_t held_count,
                      struct arena *arena,
                      struct view *ret_view)
{
    struct view view = {.held = in_order(held, held_count, arena), .held_count = held_count};
    if (view.held == NULL ||
        (needs_children(list, &view) && !gather_children(list, arena, &view))) {
        return STATUS_NO_MEMORY;
    }
    *ret_view = view;
    return STATUS_OK;
}

/* --- copies ------------------------------------------------------------------------------------- */

/* Is there a copy in that place, and of a lower number? */
static bool is_below(const struct view *view, size_t index, uint64_t tablet)
{
    return index < view->held_count && view->held[index].tablet < tablet;
}

static size_t count_below(const struct view *view, uint64_t tablet)
{
    size_t low = 0;
    size_t high = view->held_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (is_below(view, middle, tablet)) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* The tablet's copies here stand side by side: the first of them, and how many. */
static size_t copies_of(struct view *view, uint64_t tablet, size_t *ret_first)
{
    size_t first = view->found;
    for (size_t i = 0; i < NEAR && is_below(view, first, tablet); i++) {
        first += 1;
    }
    if (is_below(view, first, tablet) || (first > 0 && !is_below(view, first - 1, tablet))) {
        first = count_below(view, tablet);
    }
    view->found = first;
    size_t end = first;
    while (end < view->held_count && view->held[end].tablet == tablet) {
        end += 1;
    }
    *ret_first = first;
    return end - first;
}

const struct assignment_held *view_find_held(struct view *view, uint64_t tablet, uint64_t store)
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

/*
 * A copy in another store of this server's is one that was let go, and kept for a
 * time: it does not stand for the one that is assigned.  One that knows of no version may be the very one that is
 * meant, in a store that was taken for another, so nothing is made beside it.
 */
bool view_is_here(struct view *view, const struct assignment_item *item)
{
    uint64_t tablet = item->assigned.location.tablet;
    size_t first = 0;
    size_t count = copies_of(view, tablet, &first);
    if (item->apart != 0) {
        return view_find_held(view, tablet, item->apart) != NULL;
    }
    for (size_t i = first; i < first + count; i++) {
        if (item->store == 0 || view->held[i].store == item->store || view->held[i].version == 0) {
            return true;
        }
    }
    return false;
}

/* --- children ----------------------------------------------------------------------------------- */

size_t view_children_of(const struct view *view, uint64_t parent, size_t *ret_first)
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
