/*
 * A log that is refused (damage below what was synced), of a store whose tablets all have other copies: it is cut
 * where the damage begins, and what the store has counts for nothing until it is taught anew (docs/replication.md,
 * section 9).
 *
 *   log judged --> RELEARN written --> log cut --> opened, replayed --> every tablet's configuration says damaged
 *                                                                            '-- all durable --> RELEARN removed
 *
 * What can be read of the log has a say, since it knows more than the base: whether a copy became the only one, or
 * one that had been got company.  Until the judgement nothing is changed.  Then the file <folder>/RELEARN comes
 * first: whatever dies in between, the next opening goes on here, and nobody takes what is left for whole.
 *
 * edubba-repair-log leaves it, too: a person may cut what is not cut by itself, and copies that have others are not
 * whole then either.  An only copy is not marked: there is nobody to teach it.
 *
 * Part of the store; see store_internal.h for its threads.
 */
#ifndef TABLETSERVER_STORAGE_COPIES_STORE_RELEARN_H
#define TABLETSERVER_STORAGE_COPIES_STORE_RELEARN_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/error.h"

struct replica_configuration;
struct store;
struct store_tablet;

/* Does anybody else have the tablet, as its configuration says?  The base hears at once when that changes. */
bool store_has_other_copies(const struct store *store, const struct replica_configuration *members);

/* Was one begun?  Sets store->relearns. */
enum status store_relearn_find(struct store *store, struct error *ret_error);

/* Leave the note in the folder of a store that nobody has open, durably.  Errors: those of file.h. */
enum status store_relearn_note(const char *folder, struct error *ret_error);

/* log_open() has refused the log, as ret_error says; nothing was replayed.  synced_position: the hint that it had.
 * STATUS_OK: it is cut, and may be opened again.  Errors: STATUS_CORRUPT (a tablet may have no other copy; it is not
 * wanted: the log is as it was), or those of log_repair(). */
enum status store_relearn_cut(struct store *store,
                              const char *log_folder,
                              uint64_t synced_position,
                              struct error *ret_error);

/* Does it count for nothing, as the log was cut, in this life or in one before?  Then its log may end below what its
 * base has of a flush that was under way, or before what would explain a gap.  The loop, or before it runs. */
bool store_relearns(const struct store_tablet *tablet);

/* Does its base have a part of entries that its log has lost?  A flush was under way: what is there is of no one moment,
 * and nobody may choose it (ebt recover) until it is taught anew.  The loop. */
bool store_tablet_is_torn(const struct store_tablet *tablet);

/* When all is replayed: of tablets that nobody else has and whose log a person has cut, what is there is all there is;
 * they go on behind what their base has a part of.  Errors: those of the flush. */
enum status store_relearn_lift(struct store *store, struct error *ret_error);

/* The loop, when all is replayed.  Errors: those of store_tablet_configure(). */
enum status store_relearn_mark(struct store *store, struct error *ret_error);

/* The loop, now and then: is it durable?  Then it is over. */
void store_relearn_end(struct store *store);

#endif /* TABLETSERVER_STORAGE_COPIES_STORE_RELEARN_H */
