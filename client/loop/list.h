/*
 * Doubly linked lists whose links lie in what they link, so that an element leaves its list from
 * the middle, and without memory.  A link that is in no list points to itself.
 */
#ifndef CLIENT_LOOP_LIST_H
#define CLIENT_LOOP_LIST_H

#include <stdbool.h>
#include <stddef.h>

struct list_link {
    struct list_link *next;
    struct list_link *previous;
};

/* The element around its link. */
#define LIST_ELEMENT(link, type, member) ((type *)(void *)((char *)(link)-offsetof(type, member)))

static inline void list_init(struct list_link *link)
{
    link->next = link;
    link->previous = link;
}

static inline bool list_is_empty(const struct list_link *list)
{
    return list->next == list;
}

/* To the list's end; the link must be in no list. */
static inline void list_append(struct list_link *list, struct list_link *link)
{
    link->previous = list->previous;
    link->next = list;
    list->previous->next = link;
    list->previous = link;
}

/* Out of whatever list it is in, if any. */
static inline void list_remove(struct list_link *link)
{
    link->previous->next = link->next;
    link->next->previous = link->previous;
    list_init(link);
}

/* The first one, out of its list; NULL if there is none. */
static inline struct list_link *list_take_first(struct list_link *list)
{
    struct list_link *first = list->next;
    if (first == list) {
        return NULL;
    }
    list_remove(first);
    return first;
}

/* All elements of one list into another, empty one. */
static inline void list_move_all(struct list_link *from, struct list_link *to)
{
    list_init(to);
    if (!list_is_empty(from)) {
        to->next = from->next;
        to->previous = from->previous;
        to->next->previous = to;
        to->previous->next = to;
        list_init(from);
    }
}

#endif /* CLIENT_LOOP_LIST_H */
