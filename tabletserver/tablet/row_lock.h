/*
 * Row locks: what keeps check-and-mutate and read-modify-write in row order.
 *
 * Such an operation reads its row, away from the store's loop, and writes a result that depends on
 * what it read.  From the moment its reading begins until its record is appended, the row is
 * locked: every later write to that row waits in the lock's queue, in the order of arrival.  Plain
 * writes to rows that nobody evaluates never touch a lock.
 *
 *        acquire (row free)                       next: somebody waits
 *   FREE -------------------> HELD by an operation -------------------> HELD by the next, or it was
 *     ^                        |  acquire: queued                       a plain write: done at once
 *     +------------------------+  next: nobody waits
 *
 * This module is pure.  Thread rule: the store's loop only.
 */
#ifndef TABLETSERVER_TABLET_ROW_LOCK_H
#define TABLETSERVER_TABLET_ROW_LOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/bytes.h"
#include "common/base/status.h"

struct row_lock_table;

/* Embedded in whatever waits; `next` belongs to the lock while it is queued. */
struct row_waiter {
    struct row_waiter *next;
};

enum status row_lock_table_create(struct row_lock_table **ret_table);
void row_lock_table_destroy(struct row_lock_table *table); /* NULL is fine; no lock may be held */

bool row_lock_is_held(const struct row_lock_table *table, uint64_t tablet, struct bytes row);

/* Lock a free row.  row is copied.  Errors: STATUS_NO_MEMORY. */
enum status row_lock_acquire(struct row_lock_table *table, uint64_t tablet, struct bytes row);

/* Queue behind the holder.  Requires: the row is held. */
void row_lock_wait(struct row_lock_table *table,
                   uint64_t tablet,
                   struct bytes row,
                   struct row_waiter *waiter);

/*
 * The holder is done.  Returns the waiter that was first in the queue; the row stays locked, and
 * whoever is returned either holds it now or calls this again at once.  NULL: nobody waited, and
 * the row is free.
 */
struct row_waiter *row_lock_next(struct row_lock_table *table, uint64_t tablet, struct bytes row);

#endif /* TABLETSERVER_TABLET_ROW_LOCK_H */
