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

/* From now on SIGINT, SIGTERM and SIGHUP end the phase; a second one, or one while no phase has begun
 * yet (the cluster may not be there), ends the process.  An ignored SIGHUP (nohup) stays so. */
void load_signals_catch(void);

/* From now on there is something to report, or to undo: the first signal is only noted. */
void load_signals_matter(void);
bool load_was_interrupted(void);

/* The exit code after LOAD_INTERRUPTED. */
int load_signal_exit_code(void);

/* Run the load phase or the run phase of a workload, and report it. */
enum load_outcome load_phase(struct load_place *place,
                             const struct load_options *options,
                             const struct load_workload *workload,
                             bool is_load,
                             FILE *out);

#endif /* CLIENT_LOAD_PHASE_H */
