/*
 * Exact totals of `add`: what each sum was before, what was acknowledged, what stayed unknown.
 *
 * Thread rule: load_sums_acknowledge() and load_sums_doubt() any thread; all else the main thread's.
 */
#ifndef CLIENT_LOAD_SUMS_H
#define CLIENT_LOAD_SUMS_H

#include <stdbool.h>
#include <stdint.h>

#include "edubba.h"

struct load_sums {
    uint64_t count;
    int64_t *before;
    uint64_t *acknowledged;
    uint64_t *unknown;
};

struct load_sums_verdict {
    uint64_t checked;
    uint64_t wrong;
    char example[256]; /* of the first that is wrong */
};

/* Read what the sums are. */
enum edubba_code load_sums_begin(struct load_sums *sums,
                                 struct edubba_table *table,
                                 uint64_t count,
                                 struct edubba_error *error);
void load_sums_deinit(struct load_sums *sums);

static inline void load_sums_acknowledge(struct load_sums *sums, uint64_t number)
{
    (void)__atomic_fetch_add(&sums->acknowledged[number], 1, __ATOMIC_RELAXED);
}

static inline void load_sums_doubt(struct load_sums *sums, uint64_t number)
{
    (void)__atomic_fetch_add(&sums->unknown[number], 1, __ATOMIC_RELAXED);
}

/* Read them again and compare: each has grown by the acknowledged, and at most by the unknown
 * besides. */
enum edubba_code load_sums_check(struct load_sums *sums,
                                 struct edubba_table *table,
                                 struct load_sums_verdict *ret_verdict,
                                 struct edubba_error *error);

#endif /* CLIENT_LOAD_SUMS_H */
