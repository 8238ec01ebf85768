/*
 * A phase from start to report: time, warm-up, intervals, live progress, Ctrl-C.
 *
 * Figures are differences of copies of the running tallies: nothing is reset while requests fly.
 *
 * Thread rule: the main thread.
 */
#ifndef CLIENT_LOAD_PHASE_H
#define CLIENT_LOAD_PHASE_H

#include <stdio.h>

#include "client/load/place.h"

enum load_outcome {
    LOAD_DONE,
    LOAD_WRONG, /* something verified was not what it should be */
    LOAD_FAILED,
    LOAD_INTERRUPTED,
};

/* Run the load phase or the run phase of a workload, and report it. */
enum load_outcome load_phase(struct load_place *place,
                             const struct load_options *options,
                             const struct load_workload *workload,
                             bool is_load,
                             FILE *out);

#endif /* CLIENT_LOAD_PHASE_H */
