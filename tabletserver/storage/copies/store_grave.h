/*
 * Tablets that have ended here, dropped, split or merged, and may be made again under the same number, when a copy comes
 * back to a server that it was taken from, or by a word that comes late: what the log has of the life before is not
 * about the next one.
 *
 *   log   ... T T ... | end of T: grave, up to this position | ... made again: T T ...
 *
 * A grave is written with the end, in its transaction.  A tablet is made again only when the log is durable beyond
 * its grave, so that what comes of it later stands behind that.  What lies at the end of the log and was not durable
 * may be lost with the process, and its positions be used again: so at each start graves are cut to what the log
 * has; and those of which it has nothing any more go.
 *
 * Thread rule: the work thread, or recovery; but for store_last_position().
 */
#ifndef TABLETSERVER_STORAGE_COPIES_STORE_GRAVE_H
#define TABLETSERVER_STORAGE_COPIES_STORE_GRAVE_H

#include "tabletserver/storage/store/store_internal.h"

/* Is what the log has of the tablet there about a life of it that is over? */
bool store_is_buried(const struct store *store, uint64_t tablet, uint64_t position);
/* Of the last batch that has anything; while the log is replayed, of the batch that is.  On the loop. */
uint64_t store_last_position(const struct store *store);
/* May one of that number be made? */
bool store_may_make_again(struct store *store, uint64_t tablet);
/* In memory; in the base with store_put_grave().  Errors: STATUS_NO_MEMORY. */
enum status store_add_grave(struct store *store, uint64_t tablet, uint64_t position);
enum status store_put_grave(struct base_writer *writer, const struct store *store, uint64_t tablet);
/* Both. */
enum status store_bury(struct base_writer *writer,
                       struct store *store,
                       uint64_t tablet,
                       uint64_t position);
/* Once the log is open, before anything is written. */
enum status store_settle_graves(struct store *store);
void store_graves_clear(struct store *store);

#endif /* TABLETSERVER_STORAGE_COPIES_STORE_GRAVE_H */
