/*
 * Assignments: what the master wants this server to hold, against what it holds, and what to do.
 *
 * This module is pure; the sync thread performs what it decides.  It never lets a tablet be made
 * anew whose data should be here already, and never lets one go that the master did not name as
 * removed.  A server of several stores may have two copies of one tablet for a while: one that counts,
 * or will, and one that was let go in another store.  A removal of the latter leaves the former alone.
 */
#ifndef TABLETSERVER_TABLET_ASSIGNMENT_H
#define TABLETSERVER_TABLET_ASSIGNMENT_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/arena.h"
#include "common/wire/message.h"

struct assignment_list;

enum status assignment_list_create(struct assignment_list **ret_list);
void assignment_list_destroy(struct assignment_list *list); /* NULL is fine */

/* The master spoke: copied.  A tablet is this server's when it leads it, is a member, or should become
 * one; others are passed over (and taken off the list if they were here), and so is an older
 * configuration than is known.  Errors: STATUS_NO_MEMORY; then nothing has changed. */
enum status assignment_list_note(struct assignment_list *list,
                                 uint64_t server,
                                 const struct assigned_tablet *assigned);

/* The table is no more: what was not here of it at the last assignment_decide() is not asked for any more.  What was
 * stays, until its removal is noted. */
void assignment_list_drop_table(struct assignment_list *list, uint64_t table);

/* The master's knowledge is another one now: forget it all, removals too. */
void assignment_list_clear(struct assignment_list *list);

/* 0 when the tablet is not on the list. */
uint64_t assignment_soft_limit_bytes(const struct assignment_list *list, uint64_t tablet);

/* A tablet that the server holds. */
struct assignment_held {
    uint64_t tablet;
    uint64_t store;
    uint64_t version; /* of the configuration that its replica has; 0 = none */
};

/* By tablet, then by store: in that order what follows goes through both lists once, side by side. */
void assignment_held_sort(struct assignment_held *held, size_t held_count);

enum assignment_action_kind {
    ASSIGNMENT_CREATE, /* empty, in store, as a member's or (as_learner) to be taught */
    ASSIGNMENT_SPLIT,  /* tablet is the parent */
    ASSIGNMENT_CONVERT, /* tablet, which has a replica, was split or merged: left came of it, and is ours */
    ASSIGNMENT_DROP,
    ASSIGNMENT_MISSING, /* it should be here and is not: say so, do nothing */
};

struct assignment_action {
    enum assignment_action_kind kind;
    uint64_t tablet;
    /* CREATE, MISSING: the one that is to have the tablet.  SPLIT, CONVERT, DROP: the one that has
     * it. */
    uint64_t store;
    const struct assigned_tablet *assigned; /* CREATE, MISSING, DROP; SPLIT: the right child */
    bool as_learner;                        /* CREATE */
    uint64_t left;                          /* SPLIT, CONVERT */
    uint64_t right;
};

/* Its replica is told again with the next assignment_tell(); 0: all of them are. */
void assignment_list_tell_again(struct assignment_list *list, uint64_t tablet);

/* Hand out what the replicas of held tablets have not been told yet, or have not taken (their version is
 * an older one).  tell: true when it has been passed on. */
void assignment_tell(struct assignment_list *list,
                     const struct assignment_held *held,
                     size_t held_count,
                     bool (*tell)(void *context,
                                  const struct assigned_tablet *assigned,
                                  uint64_t store),
                     void *context);

/* Decide.  held in any order.  Actions are in the arena and borrow from the list.  Removals of what
 * was held and is gone, or never was asked for here, are forgotten.  n log n; where held is in order, and all that is
 * assigned is here, n.
 * Errors: STATUS_NO_MEMORY. */
enum status assignment_decide(struct assignment_list *list,
                              const struct assignment_held *held,
                              size_t held_count,
                              struct arena *arena,
                              struct assignment_action **ret_actions,
                              size_t *ret_count);

#endif /* TABLETSERVER_TABLET_ASSIGNMENT_H */
