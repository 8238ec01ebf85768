#include "tabletserver/tablet/assignment.h"

#include <string.h>

#include "common/base/memory.h"
#include "common/model/row_set.h"
#include "tabletserver/tablet/assignment_item.h"

#define NEAR 4

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

static bool is_before(const struct assignment_item *item, uint64_t tablet, uint64_t apart)
{
    uint64_t number = item->assigned.location.tablet;
    return number != tablet ? number < tablet : item->apart < apart;
}

/* How many items stand before that one. */
static size_t count_below(const struct assignment_list *list, uint64_t tablet, uint64_t apart)
{
    size_t low = 0;
    size_t high = list->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (is_before(list->items[middle], tablet, apart)) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* *ret_index: where it is, or where it would have to be put. */
static struct assignment_item *find_apart(const struct assignment_list *list,
                                          uint64_t tablet,
                                          uint64_t apart,
                                          size_t *ret_index)
{
    size_t at = count_below(list, tablet, apart);
    struct assignment_item *item = at < list->count ? list->items[at] : NULL;
    *ret_index = at;
    return item != NULL && item->assigned.location.tablet == tablet && item->apart == apart ? item
                                                                                            : NULL;
}

static struct assignment_item *find(const struct assignment_list *list,
                                    uint64_t tablet,
                                    size_t *ret_index)
{
    return find_apart(list, tablet, 0, ret_index);
}

/* The same for who asks in order of tablets, mostly: *at is where the last one was, or would be. */
static struct assignment_item *find_next(const struct assignment_list *list,
                                         uint64_t tablet,
                                         size_t *at)
{
    for (size_t i = 0; i < NEAR && *at < list->count && is_before(list->items[*at], tablet, 0);
         i++) {
        *at += 1;
    }
    bool is_past = *at == list->count || !is_before(list->items[*at], tablet, 0);
    if (is_past && (*at == 0 || is_before(list->items[*at - 1], tablet, 0))) {
        struct assignment_item *item = *at < list->count ? list->items[*at] : NULL;
        return item != NULL && item->assigned.location.tablet == tablet && item->apart == 0 ? item
                                                                                            : NULL;
    }
    return find(list, tablet, at);
}

static void take_out(struct assignment_list *list, size_t index)
{
    memory_free(list->items[index]);
    list->count -= 1;
    memmove(&list->items[index], &list->items[index + 1],
            (list->count - index) * sizeof(struct assignment_item *));
}

static uint8_t *keep(uint8_t *at, struct bytes *bytes)
{
    if (bytes->size_bytes > 0) {
        memcpy(at, bytes->data, bytes->size_bytes);
    }
    bytes->data = at;
    return at + bytes->size_bytes;
}

static struct assignment_item *copy(const struct assigned_tablet *assigned)
{
    const struct row_range *range = &assigned->location.range;
    struct assignment_item *item = memory_allocate(sizeof *item + range->start.size_bytes +
                                                   range->end.size_bytes +
                                                   assigned->goal.row.size_bytes);
    if (item == NULL) {
        return NULL;
    }
    *item = (struct assignment_item){.assigned = *assigned};
    item->assigned.location.address = BYTES_EMPTY;
    item->assigned.location.others = NULL;
    item->assigned.location.other_count = 0;
    uint8_t *at = keep(item->bytes, &item->assigned.location.range.start);
    at = keep(at, &item->assigned.location.range.end);
    (void)keep(at, &item->assigned.goal.row);
    return item;
}

static uint64_t store_among(uint64_t server, const struct replica_member *members, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (members[i].server == server) {
            return members[i].store;
        }
    }
    return 0;
}

/* Which of the server's stores has the tablet or should have it; 0 = none.  Stores of one tablet lie on
 * different servers. */
static uint64_t own_store(uint64_t server,
                          const struct assigned_tablet *assigned,
                          bool *ret_learner)
{
    const struct replica_configuration *members = &assigned->configuration;
    uint64_t store = assigned->location.server == server ? assigned->store : 0;
    *ret_learner = false;
    if (assigned->removed) {
        return 0;
    }
    if (store == 0) {
        store = store_among(server, members->members, members->member_count);
    }
    if (store == 0) {
        store = store_among(server, assigned->goal.members, assigned->goal.member_count);
        *ret_learner = store != 0;
    }
    return store;
}

static bool make_room(struct assignment_list *list)
{
    if (list->count < list->capacity) {
        return true;
    }
    size_t capacity = list->capacity * 2 + 16;
    struct assignment_item **items = memory_resize(list->items,
                                                   capacity * sizeof(struct assignment_item *));
    if (items == NULL) {
        return false;
    }
    list->items = items;
    list->capacity = capacity;
    return true;
}

/* A child's word is a removal of what it came of, which the master does not always give: held, that
 * waits to be split or merged; gone, it must not be missed when its children are split in turn. */
static void retire_parents(struct assignment_list *list, const struct assigned_tablet *child)
{
    const uint64_t parents[2] = {child->parent, child->absorbed};
    for (size_t i = 0; i < 2 && !child->removed; i++) {
        size_t index = 0;
        struct assignment_item *parent = parents[i] == 0 ? NULL : find(list, parents[i], &index);
        if (parent != NULL) {
            parent->assigned.removed = true;
            parent->assigned.configuration.version = 0; /* there is no such tablet any more */
        }
    }
}

/* A removal that names a store means the copy in that one: what another store of this server's has, or should have,
 * stays assigned to it.  0: it is no such removal. */
static uint64_t apart_of(const struct assignment_list *list, const struct assigned_tablet *assigned)
{
    size_t index = 0;
    const struct assignment_item *item = find(list, assigned->location.tablet, &index);
    bool apart = assigned->removed && item != NULL && !item->assigned.removed &&
                 item->store != assigned->store;
    return apart ? assigned->store : 0;
}

/* The tablet is to be in that store again: the removal of the copy there is taken off the list. */
static void forget_apart(struct assignment_list *list, uint64_t tablet, uint64_t store)
{
    size_t index = 0;
    if (store != 0 && find_apart(list, tablet, store, &index) != NULL) {
        take_out(list, index);
    }
}

enum status assignment_list_note(struct assignment_list *list,
                                 uint64_t server,
                                 const struct assigned_tablet *assigned)
{
    size_t index = 0;
    bool as_learner = false;
    uint64_t store = own_store(server, assigned, &as_learner);
    uint64_t apart = apart_of(list, assigned);
    forget_apart(list, assigned->location.tablet, store);
    struct assignment_item *old = find_apart(list, assigned->location.tablet, apart, &index);
    bool ours = store != 0 || (assigned->removed && old != NULL);

    if (old != NULL && !assigned->removed && !old->assigned.removed &&
        assigned->configuration.version < old->assigned.configuration.version) {
        return STATUS_OK;
    }
    if (!ours && old == NULL && !assigned->removed) {
        return STATUS_OK;
    }
    if (!ours && old != NULL) {
        take_out(list, index);
        return STATUS_OK;
    }
    /* A removal is kept even when nothing was known of the tablet: it may lie in a store. */
    struct assignment_item *item = make_room(list) ? copy(assigned) : NULL;
    if (item == NULL) {
        return STATUS_NO_MEMORY;
    }
    item->store = store;
    item->as_learner = as_learner;
    item->apart = apart;
    if (old != NULL) {
        item->was_held = old->was_held;
        item->here = old->here;
        memory_free(old);
        list->items[index] = item;
        retire_parents(list, assigned);
        return STATUS_OK;
    }
    item->unasked = assigned->removed;
    memmove(&list->items[index + 1], &list->items[index],
            (list->count - index) * sizeof(struct assignment_item *));
    list->items[index] = item;
    list->count += 1;
    retire_parents(list, assigned);
    return STATUS_OK;
}

void assignment_list_drop_table(struct assignment_list *list, uint64_t table)
{
    size_t kept = 0;
    for (size_t i = 0; i < list->count; i++) {
        struct assignment_item *item = list->items[i];
        if (item->assigned.location.table == table && !item->assigned.removed && !item->here) {
            memory_free(item);
        } else {
            list->items[kept++] = item;
        }
    }
    list->count = kept;
}

uint64_t assignment_soft_limit_bytes(const struct assignment_list *list, uint64_t tablet)
{
    size_t index = 0;
    const struct assignment_item *item = find(list, tablet, &index);
    return item != NULL ? item->assigned.soft_limit_bytes : 0;
}

/* --- telling ------------------------------------------------------------------------------------ */

void assignment_list_tell_again(struct assignment_list *list, uint64_t tablet)
{
    for (size_t i = 0; i < list->count; i++) {
        struct assignment_item *item = list->items[i];
        item->told = item->told && tablet != 0 && item->assigned.location.tablet != tablet;
    }
}

void assignment_tell(struct assignment_list *list,
                     const struct assignment_held *held,
                     size_t held_count,
                     bool (*tell)(void *context,
                                  const struct assigned_tablet *assigned,
                                  uint64_t store),
                     void *context)
{
    size_t at = 0;

    for (size_t i = 0; i < list->count; i++) {
        list->items[i]->missed = false;
    }
    for (size_t i = 0; i < held_count; i++) {
        struct assignment_item *item = find_next(list, held[i].tablet, &at);
        if (item == NULL || item->assigned.removed) {
            continue;
        }
        bool taken = item->told && held[i].version >= item->assigned.configuration.version;
        bool passed_on = taken || tell(context, &item->assigned, held[i].store);
        item->missed = item->missed || !passed_on;
    }
    at = 0;
    for (size_t i = 0; i < held_count; i++) {
        struct assignment_item *item = find_next(list, held[i].tablet, &at);
        if (item != NULL && !item->assigned.removed) {
            item->told = !item->missed;
        }
    }
}
