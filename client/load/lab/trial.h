/*
 * A trial: one experiment, its variants one after the other, each on a table of its own.
 *
 *   table made ─> history written ─> queries, one kind after the other ─> writes ─> sums checked ─> dropped
 *
 * Queries come before the writes, so that all variants answer them from the same rows.
 *
 * Thread rule: the main thread.
 */
#ifndef CLIENT_LOAD_LAB_TRIAL_H
#define CLIENT_LOAD_LAB_TRIAL_H

#include "client/load/lab/core/report/result.h"
#include "client/load/lab/stand.h"

struct lab_trial {
    const struct load_options *options; /* complete */
    struct lab_stand *stand;            /* open */
    struct lab_server servers[LAB_SERVERS_MAX];
    size_t server_count;
    char confinement[LAB_ERROR_BYTES];
    bool shares_processors; /* as of struct lab_result */
};

/* Run the experiment that the result was made for, and fill it.  Of a variant that fails the result
 * says so, and the next one is run.  The exit code: 0, or 1 where a variant failed, where not one write
 * of a variant succeeded, or where sums are wrong. */
int lab_trial_run(struct lab_trial *trial, struct lab_result *result);

#endif /* CLIENT_LOAD_LAB_TRIAL_H */
