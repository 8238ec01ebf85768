/*
 * A log that is refused (damage below what was synced), of a store whose tablets all have other copies: it is cut
 * where the damage begins, and what the store has counts for nothing until it is taught anew (docs/replication.md,
 * section 9).
 *
 *   RELEARN written --> log cut --> opened, replayed --> every tablet's configuration says damaged
 *                                                             '-- all durable --> RELEARN removed
 *
 * The file <folder>/RELEARN comes first: whatever dies in between, the next opening goes on here, and nobody takes
 * what is left for whole.
 *
 * Part of the store; see store_internal.h for its threads.
 */
#ifndef TABLETSERVER_STORAGE_STORE_RELEARN_H
#define TABLETSERVER_STORAGE_STORE_RELEARN_H

#include <stdbool.h>

#include "common/base/error.h"

struct store;
struct store_tablet;

/* Was one begun?  Sets store->relearns. */
enum status store_relearn_find(struct store *store, struct error *ret_error);

/* log_open() has refused the log, as ret_error says; nothing was replayed.  STATUS_OK: it is cut, and may be opened
 * again.  Else the log is as it was, and the error says why: STATUS_CORRUPT (a tablet may have no other copy; it
 * is not wanted), or those of log_repair(). */
enum status store_relearn_cut(struct store *store, const char *log_folder, struct error *ret_error);

/* Does it count for nothing, as the log was cut, in this life or in one before?  Then its log may end below what its
 * base has of a flush that was under way, or before what would explain a gap.  The loop, or before it runs. */
bool store_relearns(const struct store_tablet *tablet);

/* The loop, when all is replayed.  Errors: those of store_tablet_configure(). */
enum status store_relearn_mark(struct store *store, struct error *ret_error);

/* The loop, now and then: is it durable?  Then it is over. */
void store_relearn_end(struct store *store);

#endif /* TABLETSERVER_STORAGE_STORE_RELEARN_H */
