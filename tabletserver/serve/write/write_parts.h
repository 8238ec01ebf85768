/*
 * The parts that write order is made of: shared by its files, and by nothing else.
 */
#ifndef TABLETSERVER_SERVE_WRITE_WRITE_PARTS_H
#define TABLETSERVER_SERVE_WRITE_WRITE_PARTS_H

#include "tabletserver/serve/write/write_order.h"

/* --- answers (write_gather.c): the work is done with, its part is noted for sending ------------- */

void write_succeed(struct write_order *order, struct work *work);
void write_fail(struct write_order *order, struct work *work, enum status status, const char *text);
void write_redirect(struct write_order *order, struct work *work);
/* It is in a log, or was: whether it was done is not known.  Asked again under the same identity it is
 * answered exactly. */
void write_fail_unknown(struct write_order *order, struct work *work);
/* What a failed append means for those who wait. */
void write_fail_append(struct write_order *order, struct work *work, enum status status);

/* --- lists of works ----------------------------------------------------------------------------- */

void work_list_append(struct work **first, struct work **last, struct work *work);
/* Appended at this sequence: wait for its commit. */
void write_pend(struct tablet_order *tablet, struct work *work, uint64_t sequence);

/* --- exactly once ------------------------------------------------------------------------------- */

struct request_id write_identity(const struct work *work);
/* True: go on and apply it.  False: the work has been dealt with. */
bool write_is_new(struct write_order *order, struct tablet_order *tablet, struct work *work);
/* What is to be logged for duplicates of a read-modify-write: its rows, or that there is no room to
 * keep them; then a duplicate is told so, and nothing is applied. */
struct bytes write_result_to_keep(const struct write_order *order,
                                  const struct tablet_order *tablet,
                                  struct bytes rows);

/* --- gathering ---------------------------------------------------------------------------------- */

/* Changes live in the order's arena or the work's evaluation. */
void write_gather(struct write_order *order,
                  struct tablet_order *tablet,
                  struct work *work,
                  const struct change *changes,
                  size_t change_count);
void write_resolve_and_gather(struct write_order *order,
                              struct tablet_order *tablet,
                              struct work *work,
                              const struct mutation *mutations,
                              size_t mutation_count);
/* Is the same request among those gathered? */
bool write_repeats_gathered(const struct tablet_order *tablet, const struct work *work);
/* Append what is gathered. */
void write_flush(struct write_order *order, struct tablet_order *tablet);
void write_free_spares(struct write_order *order);

/* --- barriers (write_barrier.c) ----------------------------------------------------------------- */

/* The row is not locked and no barrier stands: at once. */
void barrier_append_drop_range(struct write_order *order,
                               struct tablet_order *tablet,
                               struct work *work);
/* A barrier goes ahead once no row of its tablet is locked.  The tablet may be gone after it. */
void barrier_try(struct write_order *order, struct tablet_order *tablet);
struct work *barrier_take_deferred(struct tablet_order *tablet);
/* Let go what waited behind a barrier that is over. */
void barrier_release_deferred(struct write_order *order, struct work *first);
/* Everything gathered is flushed before a tablet_order may go: it must not stay in the list. */
void barrier_forget_dirty(struct write_order *order, struct tablet_order *tablet);

/* --- holding (write_hold.c) --------------------------------------------------------------------- */

/* Is a change of who serves going on, which has not taken long yet?  A tablet with a replica. */
bool hold_is_due(struct write_order *order, struct tablet_order *tablet);
/* Until it is over, or has taken too long. */
void hold_for_change(struct write_order *order, struct tablet_order *tablet, struct work *work);
/* The tablet goes; what it held was taken out. */
void hold_forget_change(struct write_order *order, struct tablet_order *tablet);

/* --- routing (write_order.c) -------------------------------------------------------------------- */

/* All of its works, which count as waiting already. */
void write_take_part(struct write_order *order, struct part *part);
void write_route(struct write_order *order, struct work *work);
/* Past its deadline?  Then it has been answered so. */
bool write_is_late(struct write_order *order, struct work *work);

#endif /* TABLETSERVER_SERVE_WRITE_WRITE_PARTS_H */
