#include "tabletserver/tablet/assignment.h"

#include "common/base/assert.h"
#include "common/base/memory.h"

/* One allocation: what the master said and the bytes of it. */
struct item {
    struct assigned_tablet assigned;
    uint8_t bytes[];
};

struct assignment_list {
    struct item **items; /* in the order in which they came */
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

static struct item *find(const struct assignment_list *list, uint64_t tablet, size_t *ret_index)
{
    for (size_t i = 0; i < list->count; i++) {
        if (list->items[i]->assigned.location.tablet == tablet) {
            *ret_index = i;
            return list->items[i];
        }
    }
    return NULL;
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
        memory_free(old);
        list->items[index] = list->items[--list->count];
        return STATUS_OK;
    }
    /* A removal is kept even when nothing was known of the tablet: it may lie in a store. */
    struct item *item = make_room(list) ? copy(assigned) : NULL;
    if (item == NULL) {
        return STATUS_NO_MEMORY;
    }
    if (old != NULL) {
        memory_free(old);
        list->items[index] = item;
    } else {
        list->items[list->count++] = item;
    }
    return STATUS_OK;
}

uint64_t assignment_soft_limit_bytes(const struct assignment_list *list, uint64_t tablet)
{
    size_t index = 0;
    const struct item *item = find(list, tablet, &index);
    return item != NULL ? item->assigned.soft_limit_bytes : 0;
}

/* --- deciding ----------------------------------------------------------------------------------- */

static bool is_held(const struct assignment_held *held, size_t held_count, uint64_t tablet)
{
    for (size_t i = 0; i < held_count; i++) {
        if (held[i].tablet == tablet) {
            return true;
        }
    }
    return false;
}

/* The other child of the same parent. */
static const struct assigned_tablet *sibling_of(const struct assignment_list *list,
                                                const struct assigned_tablet *child)
{
    for (size_t i = 0; i < list->count; i++) {
        const struct assigned_tablet *other = &list->items[i]->assigned;
        if (!other->removed && other->parent == child->parent && other != child) {
            return other;
        }
    }
    return NULL;
}

/* Is a child still to be cut from this tablet? */
static bool has_child_to_come(const struct assignment_list *list,
                              uint64_t tablet,
                              const struct assignment_held *held,
                              size_t held_count)
{
    for (size_t i = 0; i < list->count; i++) {
        const struct assigned_tablet *child = &list->items[i]->assigned;
        if (!child->removed && child->parent == tablet &&
            !is_held(held, held_count, child->location.tablet)) {
            return true;
        }
    }
    return false;
}

/* Has this tablet been split?  The master names it as removed only once it knows of the children;
 * until then the list may still say what it was at first: to be created. */
static bool has_children(const struct assignment_list *list, uint64_t tablet)
{
    for (size_t i = 0; i < list->count; i++) {
        const struct assigned_tablet *child = &list->items[i]->assigned;
        if (!child->removed && child->parent == tablet) {
            return true;
        }
    }
    return false;
}

/* What to do about a tablet that should be here and is not; false = nothing now. */
static bool decide_absent(const struct assignment_list *list,
                          const struct assigned_tablet *assigned,
                          const struct assignment_held *held,
                          size_t held_count,
                          struct assignment_action *ret_action)
{
    struct assignment_action action = {
        .tablet = assigned->location.tablet, .store = assigned->store, .assigned = assigned};

    if (assigned->parent != 0 && is_held(held, held_count, assigned->parent)) {
        const struct assigned_tablet *other = sibling_of(list, assigned);
        bool is_right = other != NULL && bytes_compare(other->location.range.start,
                                                       assigned->location.range.start) < 0;
        if (!is_right) {
            return false; /* the right child's turn brings the split for both */
        }
        action.kind = ASSIGNMENT_SPLIT;
        action.tablet = assigned->parent;
        action.left = other->location.tablet;
        action.right = assigned->location.tablet;
    } else if (has_children(list, assigned->location.tablet)) {
        return false;
    } else if (assigned->location.state == TABLET_CREATING) {
        action.kind = ASSIGNMENT_CREATE;
    } else {
        action.kind = ASSIGNMENT_MISSING;
    }
    *ret_action = action;
    return true;
}

/* What has been made must never be made again, however old the master's last word on it is. */
static void note_held(struct assigned_tablet *assigned)
{
    if (!assigned->removed && assigned->location.state == TABLET_CREATING) {
        assigned->location.state = TABLET_SERVING;
    }
}

enum status assignment_decide(struct assignment_list *list,
                              const struct assignment_held *held,
                              size_t held_count,
                              struct arena *arena,
                              struct assignment_action **ret_actions,
                              size_t *ret_count)
{
    struct assignment_action *actions = arena_allocate_array(
        arena, list->count > 0 ? list->count : 1, sizeof *actions);
    size_t count = 0;

    if (actions == NULL) {
        return STATUS_NO_MEMORY;
    }
    for (size_t i = 0; i < list->count; i++) {
        const struct assigned_tablet *assigned = &list->items[i]->assigned;
        uint64_t tablet = assigned->location.tablet;
        bool here = is_held(held, held_count, tablet);
        if (here) {
            note_held(&list->items[i]->assigned);
        }
        if (assigned->removed && here && !has_child_to_come(list, tablet, held, held_count)) {
            actions[count++] = (struct assignment_action){.kind = ASSIGNMENT_DROP,
                                                          .tablet = tablet};
        } else if (!assigned->removed && !here &&
                   decide_absent(list, assigned, held, held_count, &actions[count])) {
            count += 1;
        }
    }
    *ret_actions = actions;
    *ret_count = count;
    return STATUS_OK;
}
