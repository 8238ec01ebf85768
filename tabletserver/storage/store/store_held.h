/*
 * Which damaged rows hold up flushes: one of each tablet, the one that its flush has met last.
 *
 * A text that names a row has no room for a long key, and who is to delete it needs all of it: it is kept here whole.
 *
 * Thread rule: any thread.
 */
#ifndef TABLETSERVER_STORAGE_STORE_STORE_HELD_H
#define TABLETSERVER_STORAGE_STORE_STORE_HELD_H

#include "tabletserver/storage/store/store_internal.h"

/* Of so many tablets; more are not kept until these are free. */
#define STORE_HELD_MAX 16

/* The tablet's flush has met damage; row: where, empty = that is not known. */
void store_held_note(struct store_tablet *tablet, struct bytes row);
/* It is over: flushed, or dropped. */
void store_held_forget(struct store *store, uint64_t tablet);
/* At the end of the store. */
void store_held_clear(struct store *store);

#endif /* TABLETSERVER_STORAGE_STORE_STORE_HELD_H */
