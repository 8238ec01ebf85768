/*
 * The list of what is assigned, as assignment.c keeps it and assignment_decide.c goes through it.
 */
#ifndef TABLETSERVER_TABLET_ASSIGNMENT_ITEM_H
#define TABLETSERVER_TABLET_ASSIGNMENT_ITEM_H

#include "tabletserver/tablet/assignment.h"

/* One allocation: what the master said and the bytes of it. */
struct assignment_item {
    struct assigned_tablet assigned;
    uint64_t store;  /* of this server's that has it, or should; 0 where it is removed */
    uint64_t apart;  /* a removal of the copy in this store, beside another's assignment; else 0 */
    bool as_learner; /* it is no member: its goal alone names that store */
    bool was_held;   /* at some assignment_decide() */
    bool here;       /* at the last one */
    bool told;       /* to its replicas, since it was noted or came here */
    bool missed;     /* by one of them, when they were told last */
    bool unasked;    /* removed, and nobody had asked for it here since the list was cleared */
    uint8_t bytes[];
};

struct assignment_list {
    struct assignment_item **items; /* ascending by tablet, then by apart */
    size_t count;
    size_t capacity;
};

#endif /* TABLETSERVER_TABLET_ASSIGNMENT_ITEM_H */
