/*
 * What is left of a scan.
 *
 * A scan goes through a row set tablet by tablet, forward or reversed.  Servers say how far they
 * are; whatever happens then -- a connection lost, a tablet split or moved -- the scan goes on
 * right behind that, so no row is lost and none comes twice.
 *
 *   forward    [######done######|.....left.....)      the next tablet holds the first key left
 *   reversed   [.....left.....|######done######)      the next tablet holds the last key left
 *
 * This module is pure.  Thread rule: one owner.
 */
#ifndef CLIENT_CORE_SCAN_PLAN_H
#define CLIENT_CORE_SCAN_PLAN_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/arena.h"
#include "common/base/buffer.h"
#include "common/model/row_set.h"

struct scan_plan {
    struct row_range *ranges; /* the whole set, normalised; borrowed */
    size_t first;             /* [first, end) is left */
    size_t end;
    bool reversed;
    struct buffer bound; /* where the range that is cut begins (ends, if reversed) */
};

/* set: normalised; it and its bytes must outlive the plan, and the plan changes the ranges. */
void scan_plan_init(struct scan_plan *plan, const struct row_set *set, bool reversed);
void scan_plan_deinit(struct scan_plan *plan);

bool scan_plan_is_done(const struct scan_plan *plan);

/* What is left; good until the plan changes. */
struct row_set scan_plan_left(const struct scan_plan *plan);

/* A row of the tablet that comes next: the first key left or, if reversed, the greatest there can
 * be below the end of what is left.  In ret_row, which is reset first; look at its failed.
 * Requires: not done. */
void scan_plan_next_row(const struct scan_plan *plan, struct buffer *ret_row);

/* Every row up to key, key included, is done (from key on upwards, if reversed).  A key behind
 * what is done already changes nothing.  Errors: STATUS_NO_MEMORY (nothing changed). */
enum status scan_plan_advance(struct scan_plan *plan, struct bytes key);

/* Everything in range is done, and all before it in reading order.  Errors: as above. */
enum status scan_plan_finish_range(struct scan_plan *plan, const struct row_range *range);

#endif /* CLIENT_CORE_SCAN_PLAN_H */
