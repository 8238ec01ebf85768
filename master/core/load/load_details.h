/*
 * Load details: where in each tablet its load is, as its server has told last.
 *
 *    report --> of tablets that were busy --> one entry each, newest last --> dropped: the tablet goes,
 *                                                                             or nothing is heard of it
 *
 * An entry has the detail of the newest report, and figures of about the last ten seconds: those of former
 * reports count for less, the older they are, so that a rate does not jump with each second.
 *
 * Invariants:
 *   1. It is in memory only, and lost with the process: a second later there is another.
 *   2. It is bounded: LOAD_DETAILS_MAX tablets, LOAD_DETAILS_BYTES_MAX bytes, LOAD_DETAIL_AGE_MAX_US;
 *      then those heard of longest ago go.
 *   3. Points lie in the tablet's range as the catalog has it, the first one at its start.  A detail of
 *      which that is not so is passed over: its tablet was split just now.
 *   4. What a split makes has what was told of its part, until its own server tells.
 *   5. Without memory the entry is the one of before, or missing.
 *
 * Thread rule: one owner.  Pure.
 */
#ifndef MASTER_CORE_LOAD_LOAD_DETAILS_H
#define MASTER_CORE_LOAD_LOAD_DETAILS_H

#include "master/core/load/load_history.h"

#define LOAD_DETAILS_MAX       16384
#define LOAD_DETAILS_BYTES_MAX (64 * 1024 * 1024)
#define LOAD_DETAIL_AGE_MAX_US (INT64_C(600) * 1000 * 1000)
#define LOAD_DETAIL_WINDOW_US  (INT64_C(10) * 1000 * 1000)

struct load_details {
    struct list entries; /* of struct load_entry_detail: the one heard of last is the last */
    struct number_map by_tablet; /* the same */
    size_t size_bytes;
    uint64_t entries_max; /* smaller in tests */
    uint64_t bytes_max;
};

struct load_entry_detail {
    struct list_link link;
    uint64_t tablet;
    uint64_t server; /* who has told */
    int64_t heard_us;
    int64_t since_us;    /* told of without a gap, by whichever servers */
    uint64_t elapsed_ns; /* what the figures are about; and what the server could have used in it */
    uint64_t capacity_ns;
    struct load_figures figures; /* the longest latencies are of the newest report */
    struct load_detail detail;   /* behind the struct */
    size_t size_bytes;
    bool inherited; /* of the tablet that this one is made of: nothing was told of this one yet */
};

void load_details_init(struct load_details *details);
void load_details_deinit(struct load_details *details);

/* Of a report that counts (load_history_take()). */
void load_details_take(struct load_details *details,
                       const struct load_source *source,
                       const struct load_report *report,
                       load_find find,
                       void *context);

/* A tablet was made of a part of another one, which is still there: what was told of that part counts for it,
 * as old as it is, until its server tells more.  Nothing where it had no load, or without memory. */
void load_details_inherit(struct load_details *details,
                          uint64_t parent,
                          uint64_t tablet,
                          const struct row_range *range);

/* The tablet is gone. */
void load_details_drop(struct load_details *details, uint64_t tablet);

/* Those that are too old go; also those that a clock which was set back has dated later than now. */
void load_details_expire(struct load_details *details, int64_t now_us);

/* NULL: none.  Good until the next change. */
const struct load_entry_detail *load_details_find(const struct load_details *details,
                                                  uint64_t tablet);

/* Of the tablet's server: CPU time used, in thousandths of what there was. */
uint64_t load_details_cpu_permille(const struct load_entry_detail *entry);

/* Abort unless the invariants hold.  Linear: for tests. */
void load_details_check(const struct load_details *details);

#endif /* MASTER_CORE_LOAD_LOAD_DETAILS_H */
