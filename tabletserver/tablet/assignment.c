#include "tabletserver/tablet/assignment.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/memory.h"

/* One allocation: what the master said and the bytes of it. */
struct item {
    struct assigned_tablet assigned;
    bool was_held; /* at some assignment_decide() */
    bool unasked;  /* removed, and nobody had asked for it here since the list was cleared */
    uint8_t bytes[];
};

struct assignment_list {
    struct item **items; /* ascending by tablet */
    size_t count;
    size_t capacity;
};

enum status assignment_list_create(struct assignment_list **ret_list)
{
    struct assignment_list *list = memory_allocate_zeroed(1, sizeof *list);
    if (list == NULL) {
        return STATUS_NO_MEMORY;
    }
    *ret_list = list;
    return STATUS_OK;
}

void assignment_list_clear(struct assignment_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        memory_free(list->items[i]);
    }
    list->count = 0;
}

void assignment_list_destroy(struct assignment_list *list)
{
    if (list != NULL) {
        assignment_list_clear(list);
        memory_free(list->items);
        memory_free(list);
    }
}

/* How many items stand before this tablet. */
static size_t count_below(const struct assignment_list *list, uint64_t tablet)
{
    size_t low = 0;
    size_t high = list->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (list->items[middle]->assigned.location.tablet < tablet) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* *ret_index: where it is, or where it would have to be put. */
static struct item *find(const struct assignment_list *list, uint64_t tablet, size_t *ret_index)
{
    size_t at = count_below(list, tablet);
    *ret_index = at;
    return at < list->count && list->items[at]->assigned.location.tablet == tablet ? list->items[at]
                                                                                   : NULL;
}

static void take_out(struct assignment_list *list, size_t index)
{
    memory_free(list->items[index]);
    list->count -= 1;
    memmove(&list->items[index], &list->items[index + 1],
            (list->count - index) * sizeof(struct item *));
}

static struct item *copy(const struct assigned_tablet *assigned)
{
    const struct row_range *range = &assigned->location.range;
    size_t start_bytes = range->start.size_bytes;
    size_t end_bytes = range->end.size_bytes;
    struct item *item = memory_allocate(sizeof *item + start_bytes + end_bytes);
    if (item == NULL) {
        return NULL;
    }
    item->was_held = false;
    item->unasked = false;
    item->assigned = *assigned;
    if (start_bytes > 0) {
        memcpy(item->bytes, range->start.data, start_bytes);
    }
    if (end_bytes > 0) {
        memcpy(item->bytes + start_bytes, range->end.data, end_bytes);
    }
    item->assigned.location.range.start = bytes_of(item->bytes, start_bytes);
    item->assigned.location.range.end = bytes_of(item->bytes + start_bytes, end_bytes);
    item->assigned.location.address = BYTES_EMPTY;
    return item;
}

static bool make_room(struct assignment_list *list)
{
    if (list->count < list->capacity) {
        return true;
    }
    size_t capacity = list->capacity * 2 + 16;
    struct item **items = memory_resize(list->items, capacity * sizeof(struct item *));
    if (items == NULL) {
        return false;
    }
    list->items = items;
    list->capacity = capacity;
    return true;
}

/* A child's word is a removal of its parent, which the master does not always give: held, the
 * parent waits to be split; gone, it must not be missed when its children are split in turn. */
static void retire_parent(struct assignment_list *list, const struct assigned_tablet *child)
{
    size_t index = 0;
    struct item *parent = child->removed || child->parent == 0 ? NULL
                                                               : find(list, child->parent, &index);
    if (parent != NULL) {
        parent->assigned.removed = true;
    }
}

enum status assignment_list_note(struct assignment_list *list,
                                 uint64_t server,
                                 const struct assigned_tablet *assigned)
{
    size_t index = 0;
    struct item *old = find(list, assigned->location.tablet, &index);
    bool ours = assigned->location.server == server || (assigned->removed && old != NULL);

    if (!ours && old == NULL && !assigned->removed) {
        return STATUS_OK;
    }
    if (!ours && old != NULL) {
        take_out(list, index);
        return STATUS_OK;
    }
    /* A removal is kept even when nothing was known of the tablet: it may lie in a store. */
    struct item *item = make_room(list) ? copy(assigned) : NULL;
    if (item == NULL) {
        return STATUS_NO_MEMORY;
    }
    if (old != NULL) {
        item->was_held = old->was_held;
        item->unasked = false;
        memory_free(old);
        list->items[index] = item;
        retire_parent(list, assigned);
        return STATUS_OK;
    }
    item->unasked = assigned->removed;
    memmove(&list->items[index + 1], &list->items[index],
            (list->count - index) * sizeof(struct item *));
    list->items[index] = item;
    list->count += 1;
    retire_parent(list, assigned);
    return STATUS_OK;
}

uint64_t assignment_soft_limit_bytes(const struct assignment_list *list, uint64_t tablet)
{
    size_t index = 0;
    const struct item *item = find(list, tablet, &index);
    return item != NULL ? item->assigned.soft_limit_bytes : 0;
}

/* --- deciding ----------------------------------------------------------------------------------- */

/* What a decision looks up, put in order once. */
struct view {
    const uint64_t *held; /* ascending */
    size_t held_count;
    const struct assigned_tablet *
        *children; /* not removed ones with a parent; by parent, by start */
    size_t child_count;
};

static int compare_numbers(const void *a, const void *b)
{
    uint64_t left = *(const uint64_t *)a;
    uint64_t right = *(const uint64_t *)b;
    return (left > right) - (left < right);
}

static int compare_children(const void *a, const void *b)
{
    const struct assigned_tablet *left = *(const struct assigned_tablet *const *)a;
    const struct assigned_tablet *right = *(const struct assigned_tablet *const *)b;
    if (left->parent != right->parent) {
        return left->parent < right->parent ? -1 : 1;
    }
    return bytes_compare(left->location.range.start, right->location.range.start);
}

static enum status view_make(const struct assignment_list *list,
                             const struct assignment_held *held,
                             size_t held_count,
                             struct arena *arena,
                             struct view *ret_view)
{
    uint64_t *numbers = arena_allocate_array(arena, held_count + 1, sizeof *numbers);
    const struct assigned_tablet **children = arena_allocate_array(arena, list->count + 1,
                                                                   sizeof(void *));
    size_t child_count = 0;

    if (numbers == NULL || children == NULL) {
        return STATUS_NO_MEMORY;
    }
    for (size_t i = 0; i < held_count; i++) {
        numbers[i] = held[i].tablet;
    }
    for (size_t i = 0; i < list->count; i++) {
        const struct assigned_tablet *assigned = &list->items[i]->assigned;
        if (!assigned->removed && assigned->parent != 0) {
            children[child_count++] = assigned;
        }
    }
    qsort(numbers, held_count, sizeof *numbers, compare_numbers);
    qsort(children, child_count, sizeof(void *), compare_children);
    *ret_view = (struct view){numbers, held_count, children, child_count};
    return STATUS_OK;
}

static bool is_held(const struct view *view, uint64_t tablet)
{
    return bsearch(&tablet, view->held, view->held_count, sizeof tablet, compare_numbers) != NULL;
}

/* The parent's children stand side by side: the first of them, and how many. */
static size_t children_of(const struct view *view, uint64_t parent, size_t *ret_first)
{
    size_t low = 0;
    size_t high = view->child_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (view->children[middle]->parent < parent) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    size_t end = low;
    while (end < view->child_count && view->children[end]->parent == parent) {
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
        if (!is_held(view, view->children[i]->location.tablet)) {
            return true;
        }
    }
    return false;
}

/* Its parent is here: the right child's turn brings the split, once both are known. */
static bool decide_split(const struct view *view,
                         const struct assigned_tablet *assigned,
                         struct assignment_action *action)
{
    size_t first = 0;
    if (children_of(view, assigned->parent, &first) != 2 || view->children[first + 1] != assigned) {
        return false;
    }
    action->kind = ASSIGNMENT_SPLIT;
    action->tablet = assigned->parent;
    action->left = view->children[first]->location.tablet;
    action->right = assigned->location.tablet;
    return true;
}

/* The master names a parent as removed only once it knows of the children; until then the list
 * says what it last said, even that the parent is to be created. */
static bool has_been_split(const struct view *view, uint64_t tablet)
{
    size_t first = 0;
    return children_of(view, tablet, &first) > 0;
}

/* What to do about a tablet that should be here and is not; false = nothing now. */
static bool decide_absent(const struct view *view,
                          const struct item *item,
                          struct assignment_action *ret_action)
{
    const struct assigned_tablet *assigned = &item->assigned;
    struct assignment_action action = {
        .tablet = assigned->location.tablet, .store = assigned->store, .assigned = assigned};

    if (assigned->parent != 0 && is_held(view, assigned->parent)) {
        if (!decide_split(view, assigned, &action)) {
            return false;
        }
    } else if (has_been_split(view, assigned->location.tablet)) {
        return false;
    } else if (assigned->location.state == TABLET_CREATING && !item->was_held) {
        action.kind = ASSIGNMENT_CREATE;
    } else {
        action.kind = ASSIGNMENT_MISSING;
    }
    *ret_action = action;
    return true;
}

/* Removals that have nothing left to remove; else the list would grow with every split. */
static void forget_removed(struct assignment_list *list, const struct view *view)
{
    size_t kept = 0;
    for (size_t i = 0; i < list->count; i++) {
        struct item *item = list->items[i];
        bool here = is_held(view, item->assigned.location.tablet);
        if (item->assigned.removed && !here && (item->was_held || item->unasked)) {
            memory_free(item);
        } else {
            item->was_held = item->was_held || here;
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
        bool here = is_held(&view, tablet);
        if (assigned->removed && here && !has_child_to_come(&view, tablet)) {
            actions[count++] = (struct assignment_action){.kind = ASSIGNMENT_DROP,
                                                          .tablet = tablet};
        } else if (!assigned->removed && !here &&
                   decide_absent(&view, list->items[i], &actions[count])) {
            count += 1;
        }
    }
    *ret_actions = actions;
    *ret_count = count;
    return STATUS_OK;
}
