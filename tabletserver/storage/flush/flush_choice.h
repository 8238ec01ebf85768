/*
 * Whose turn it is to be flushed, and what writers have to leave alone meanwhile (store_room.h).
 *
 * Part of the store; the work thread.
 */
#ifndef TABLETSERVER_STORAGE_FLUSH_FLUSH_CHOICE_H
#define TABLETSERVER_STORAGE_FLUSH_FLUSH_CHOICE_H

#include <stdint.h>

struct store;
struct store_layer;
struct store_tablet;

struct flush_choice {
    struct store_tablet *tablet; /* NULL: nothing is to be flushed */
    struct store_layer *layer;   /* its oldest frozen one */
    uint64_t position;           /* where that begins in the log */
    uint64_t largest_bytes; /* of all memtables, those that are not chosen, and active ones, too */
};

/* The one that holds back the log the most; what is due is noted.  With a reference on both, to be released. */
struct flush_choice flush_choose(struct store *store);
void flush_choice_release(struct store *store, struct flush_choice *choice);

/* The tablet has a frozen memtable.  Without its mutex, and the store's. */
void flush_list(struct store_tablet *tablet);
/* It ends: its turn never comes.  With the store's mutex. */
void flush_unlist(struct store_tablet *tablet);

/* A transaction more of it is in the base: so much less is due. */
void flush_note_progress(struct store *store, const struct flush_choice *choice);

#endif /* TABLETSERVER_STORAGE_FLUSH_FLUSH_CHOICE_H */
