/*
 * Sets of row keys: single keys and ranges, as ReadRows takes them.
 *
 * A normalised set is a sorted list of half-open, non-overlapping ranges [start, end) in which a
 * single key k is [k, k\0).  An empty end is +infinity.  All bytes are borrowed or in the arena.
 */
#ifndef COMMON_MODEL_ROW_SET_H
#define COMMON_MODEL_ROW_SET_H

#include <stdbool.h>
#include <stddef.h>

#include "common/base/arena.h"
#include "common/base/bytes.h"
#include "common/base/error.h"

/* [start, end); empty start = from the first key; empty end = to the last. */
struct row_range {
    struct bytes start;
    struct bytes end;
};

/* A range as a client writes it. */
struct row_bounds {
    struct bytes start;
    struct bytes end;
    bool start_open; /* exclude start; default is closed */
    bool end_closed; /* include end; default is open */
};

struct row_set {
    struct row_range *ranges; /* ascending, disjoint, non-empty */
    size_t count;
};

bool row_range_contains(const struct row_range *range, struct bytes row);

/* Intersection; false when it is empty. */
bool row_range_intersect(const struct row_range *a,
                         const struct row_range *b,
                         struct row_range *ret_range);

/* The range of all keys that begin with prefix; the successor key is made in the arena. */
enum status row_range_of_prefix(struct arena *arena,
                                struct bytes prefix,
                                struct row_range *ret_range);

/* key + "\0": the least key above it. */
enum status row_key_after(struct arena *arena, struct bytes row, struct bytes *ret_row);

/*
 * Union, sorted and merged, of keys and bounds; no keys and no bounds = the whole table.  Bounds
 * that hold no key, such as (k, k], add nothing (the set may then be empty); Bigtable refuses some
 * of them, a gateway may too.
 * Errors: STATUS_INVALID_ARGUMENT for start > end or an over-long or empty key,
 * STATUS_NO_MEMORY.
 */
enum status row_set_normalise(struct arena *arena,
                              const struct bytes *keys,
                              size_t key_count,
                              const struct row_bounds *bounds,
                              size_t bounds_count,
                              struct row_set *ret_set,
                              struct error *ret_error);

/* The part of the set inside range; *ret_set shares the set's bytes. */
enum status row_set_clip(struct arena *arena,
                         const struct row_set *set,
                         const struct row_range *range,
                         struct row_set *ret_set);

#endif /* COMMON_MODEL_ROW_SET_H */
