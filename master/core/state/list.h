/*
 * A doubly linked list whose links live in the elements: nothing is allocated, so linking never
 * fails, and an element leaves a list without a search.
 *
 * A link that is in no list points at nothing; list_remove() of such a link does nothing.
 */
#ifndef MASTER_CORE_STATE_LIST_H
#define MASTER_CORE_STATE_LIST_H

#include <stdbool.h>
#include <stddef.h>

struct list_link {
    struct list_link *previous;
    struct list_link *next;
    void *owner; /* the element this link is in */
};

struct list {
    struct list_link head; /* owner NULL: the end of every walk */
};

static inline void list_init(struct list *list)
{
    list->head = (struct list_link){&list->head, &list->head, NULL};
}

static inline bool list_is_empty(const struct list *list)
{
    return list->head.next == &list->head;
}

static inline bool list_is_linked(const struct list_link *link)
{
    return link->next != NULL;
}

static inline void list_remove(struct list_link *link)
{
    if (list_is_linked(link)) {
        link->previous->next = link->next;
        link->next->previous = link->previous;
        link->previous = NULL;
        link->next = NULL;
    }
}

/* Put at the end; a link that is in a list already moves there. */
static inline void list_append(struct list *list, struct list_link *link, void *owner)
{
    list_remove(link);
    *link = (struct list_link){list->head.previous, &list->head, owner};
    list->head.previous->next = link;
    list->head.previous = link;
}

/* Put right behind one that is in a list. */
static inline void list_insert_behind(struct list_link *before, struct list_link *link, void *owner)
{
    list_remove(link);
    *link = (struct list_link){before, before->next, owner};
    before->next->previous = link;
    before->next = link;
}

/* All of from, in order, into to, which need not be initialised; from is empty after it. */
static inline void list_move(struct list *from, struct list *to)
{
    list_init(to);
    if (!list_is_empty(from)) {
        to->head.next = from->head.next;
        to->head.previous = from->head.previous;
        to->head.next->previous = &to->head;
        to->head.previous->next = &to->head;
        list_init(from);
    }
}

/* The first element, NULL if empty. */
static inline void *list_first(const struct list *list)
{
    return list->head.next->owner;
}

/* LIST_FOREACH(struct tablet, tablet, &list) { ... }: the body may remove the element it is at (no
 * other), may `continue` and `return`; `break` does not leave the walk. */
#define LIST_FOREACH(type, name, list)                                                           \
    for (struct list_link *name##_link = (list)->head.next, *name##_next = name##_link->next;    \
         name##_link->owner != NULL; name##_link = name##_next, name##_next = name##_link->next) \
        for (type *name = name##_link->owner; name != NULL; name = NULL)

#endif /* MASTER_CORE_STATE_LIST_H */
