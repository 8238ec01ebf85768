/*
 * Graves: up to where the log is about an earlier life of a tablet.
 *
 * A tablet that has ended here (dropped, split or merged) may be made again under the same number: when its copy comes
 * back to a server that it was taken from, or by a message that comes late.  What the log has of the life before must
 * not be replayed into the next one.
 *
 *   log   ... T T ... | end of T: grave, up to this position | ... made again: T T ...
 *
 * A grave is written in the transaction that ends the tablet in the base.  The tablet is made again only when the log
 * is durable beyond its grave, so all that the log gets of its new life stands behind that.
 *
 * The end of the log may be lost with the process if it was not durable, and its positions used again.  So at each
 * start graves are cut to what the log has; and those go of which it has nothing left.
 *
 * Thread rule: the work thread, or recovery; but for store_last_position().
 */
#ifndef TABLETSERVER_STORAGE_COPIES_STORE_GRAVE_H
#define TABLETSERVER_STORAGE_COPIES_STORE_GRAVE_H

#include "tabletserver/storage/store/store_internal.h"

/* Is what the log has of the tablet at this position about an earlier life? */
bool store_is_buried(const struct store *store, uint64_t tablet, uint64_t position);
/* Position of the last batch in the log that has anything; during replay, of the batch that is replayed.  On the
 * loop. */
uint64_t store_last_position(const struct store *store);
/* May a tablet of that number be made: is the log durable beyond its grave, if it has one? */
bool store_may_make_again(struct store *store, uint64_t tablet);
/* Dig one in memory, or in a transaction of the base.  Errors: STATUS_NO_MEMORY, and the writer's. */
enum status store_add_grave(struct store *store, uint64_t tablet, uint64_t position);
enum status store_put_grave(struct base_writer *writer, const struct store *store, uint64_t tablet);
/* Both of them. */
enum status store_bury(struct base_writer *writer,
                       struct store *store,
                       uint64_t tablet,
                       uint64_t position);
/* At a start, once the log is open and before anything is written: cut them to what the log has. */
enum status store_settle_graves(struct store *store);
void store_graves_clear(struct store *store);

#endif /* TABLETSERVER_STORAGE_COPIES_STORE_GRAVE_H */
