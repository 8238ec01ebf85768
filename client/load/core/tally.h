/*
 * What is counted of one kind of operation.  A tally is an array of counts and nothing else: the
 * running one is added to by load_tally_add_*() from any thread, copies are added and subtracted.
 */
#ifndef CLIENT_LOAD_CORE_TALLY_H
#define CLIENT_LOAD_CORE_TALLY_H

#include "client/load/core/histogram.h"

#define LOAD_CODES 17 /* the canonical ones, OK first */

struct load_tally {
    uint64_t requests;          /* ended: one each of latency */
    uint64_t operations;        /* rows written or read, or scans made, that ended well */
    uint64_t rows;              /* seen by reads and scans, or written */
    uint64_t bytes;             /* of values */
    uint64_t codes[LOAD_CODES]; /* of operations; codes[0] is operations */
    uint64_t unknown;           /* changes that may or may not have been made */
    uint64_t missing;           /* rows that should have been there */
    uint64_t cut_off;           /* scans under way at the end: no operations */
    uint64_t wrong;             /* values, and cells not there, that are not what was written */
    uint64_t checked;           /* values that were looked at */
    /* Open loop: requests that were never sent, as they were too long overdue or the run had
     * ended. */
    uint64_t late;
    uint64_t latency_ns;         /* sum of all */
    struct load_histogram times; /* ns, of all requests, failed ones included */
};

static inline void load_tally_add(uint64_t *count, uint64_t more)
{
    (void)__atomic_fetch_add(count, more, __ATOMIC_RELAXED);
}

/* A request that took so long has ended. */
static inline void load_tally_request(struct load_tally *tally, int64_t latency_ns)
{
    uint64_t time_ns = latency_ns > 0 ? (uint64_t)latency_ns : 0;
    load_tally_add(&tally->requests, 1);
    load_tally_add(&tally->latency_ns, time_ns);
    load_tally_add(&tally->times.counts[load_histogram_bucket(time_ns)], 1);
}

/* sum += running, which others may be adding to. */
void load_tally_gather(struct load_tally *sum, const struct load_tally *running);

/* difference = later - earlier. */
void load_tally_subtract(const struct load_tally *later,
                         const struct load_tally *earlier,
                         struct load_tally *ret_difference);

uint64_t load_tally_errors(const struct load_tally *tally);

#endif /* CLIENT_LOAD_CORE_TALLY_H */
