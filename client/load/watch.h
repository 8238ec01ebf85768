/*
 * Looking at a run while it goes on: warm-up, intervals, live progress, its end; and its figures.
 *
 * Figures are differences of copies of the running tallies: nothing is reset while requests fly.
 *
 * Thread rule: the main thread.
 */
#ifndef CLIENT_LOAD_WATCH_H
#define CLIENT_LOAD_WATCH_H

#include <stdbool.h>
#include <stdio.h>

#include "client/load/core/report.h"
#include "client/load/run.h"
#include "client/load/silence.h"

/* Of the running tallies: figures are differences of these. */
struct load_copies {
    struct load_tally begin[LOAD_KINDS]; /* when the warm-up was over */
    struct load_tally second[LOAD_KINDS];
    struct load_tally interval[LOAD_KINDS];
    struct load_tally now[LOAD_KINDS];
    struct load_tally difference[LOAD_KINDS];
};

struct load_watch {
    struct load_run *run;
    struct load_report *report;
    struct load_copies *copies;
    FILE *out;
    bool live;
    bool is_counting; /* the warm-up is over */
    double begin_cpu_s;
    int64_t begin_ns;
    int64_t second_ns; /* of the last copies */
    int64_t interval_ns;
    struct load_silence silence;
    int64_t stopped_ns; /* 0 = not yet */
    int64_t end_ns;     /* when the last answer had come */
    double end_cpu_s;
    bool has_said_so; /* that it waits for what is in flight */
    int unwritable;   /* 0, or the errno that the report met */
};

/* Nothing is counted yet; run, report and copies (zeroed) are the caller's, and outlive it. */
void load_watch_begin(struct load_watch *watch,
                      struct load_run *run,
                      struct load_report *report,
                      struct load_copies *copies,
                      FILE *out);

/* The run has been started: returns when its last answer has come. */
void load_watch_to_the_end(struct load_watch *watch);

/* After the end: what the report says of all, which is valid as long as the copies are. */
void load_watch_sum(struct load_watch *watch);

#endif /* CLIENT_LOAD_WATCH_H */
