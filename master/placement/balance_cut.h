/*
 * Where to cut a hot tablet: at points of which each stands for about as much load (struct load_detail).
 *
 * A cut is good when its sides are about equal, and few operations touch both of them.  Several cuts
 * are quantiles.  A row is never parted: where one takes too much, no cut is good.
 *
 * Pure; rows are the detail's, or in the arena.
 */
#ifndef MASTER_PLACEMENT_BALANCE_CUT_H
#define MASTER_PLACEMENT_BALANCE_CUT_H

#include "common/base/arena.h"
#include "common/model/row_set.h"
#include "master/placement/balance.h"

struct cut_wanted {
    const struct balance_detail *detail;
    const struct row_range *range;
    double read_cost; /* of the tablet: how much reads weigh against writes */
    double write_cost;
    uint32_t pieces;     /* 2 or more */
    double off_max;      /* |left - right| / both, of two */
    double crossing_max; /* of the operations: from so many on that touch both sides it is no cut */
};

struct cut {
    struct bytes rows[BALANCE_PIECES_MAX - 1]; /* ascending, strictly inside the range */
    size_t count;
    double off;      /* of two: as above; of several: how much the largest is above an equal part */
    double crossing; /* share of the operations that touch both sides of the worst one */
    struct bytes key; /* POPULAR_KEY: the row that takes most, */
    bool sampled; /* or the first of those, up to the next point, that do: none of them is known */
    double key_share;
};

/* BALANCE_REASON_NONE when there are good cuts; else why not: POPULAR_KEY, TOO_WIDE or TOO_FEW. */
enum balance_reason cut_choose(const struct cut_wanted *wanted, struct cut *ret_cut);

/* Shares of reads and of writes in rows before this one. */
void cut_shares_before(const struct balance_detail *detail,
                       struct bytes row,
                       double *ret_reads,
                       double *ret_writes);

/*
 * The row that who appends will have reached in ahead_ns, by how far it came lately.  Rows that end in
 * digits are counted on in tens, others in bytes.  False when the rows do not say, the row would be
 * outside, or without memory.
 */
bool cut_ahead(const struct balance_detail *detail,
               const struct row_range *range,
               uint64_t ahead_ns,
               struct arena *arena,
               struct bytes *ret_row);

#endif /* MASTER_PLACEMENT_BALANCE_CUT_H */
