/*
 * What is told about a phase: as text for people, as JSON for programs, as CSV for tables.
 *
 * One JSON object a phase, on one line.  All times are of requests, in microseconds.
 *
 * Pure but for the FILE it prints to.
 */
#ifndef CLIENT_LOAD_CORE_REPORT_H
#define CLIENT_LOAD_CORE_REPORT_H

#include <stdio.h>

#include "client/load/core/options.h"
#include "client/load/core/tally.h"

/* Of a stretch of time. */
struct load_sample {
    double from_s; /* since the phase began */
    double to_s;
    const struct load_tally *tallies; /* by kind */
};

struct load_report {
    const struct load_options *options;
    const struct load_workload *workload;
    const char *phase; /* "load" or "run" */
    bool interrupted;
    struct load_sample all;
    double cpu_s; /* of this process */
    uint64_t sums_checked;
    uint64_t sums_wrong;
    const char *sums_example;
    bool sums_unread;        /* verified they should be, and could not be read at the end */
    const char *first_error; /* "" = none */
    const char *first_wrong; /* of what was verified; "" = none */
    const char *(*code_name)(int code);
};

/*
 * What prints returns false where it could not all be written; errno tells why.
 */

/* Header of CSV; nothing for the others. */
bool load_report_begin(FILE *out, enum load_format format);

/* A line, or record, of an interval: of JSON an object of its own. */
bool load_report_interval(FILE *out,
                          enum load_format format,
                          const struct load_report *report,
                          const struct load_sample *sample);

bool load_report_end(FILE *out, enum load_format format, const struct load_report *report);

/* Did everything that was checked turn out right? */
bool load_report_is_verified(const struct load_report *report);

/* Was there something to do, and nothing of it succeeded? */
bool load_report_all_failed(const struct load_report *report);

/* How many operations ended in an error. */
uint64_t load_report_errors(const struct load_report *report);

/* A JSON string. */
void load_report_json_text(FILE *out, const char *text);

/* Was there not one row that reads and scans should have found?  The table is the wrong one then, or
 * was never loaded; verified or not, such figures mean nothing. */
bool load_report_found_nothing(const struct load_report *report);

/* How many rows that reads and scans should have found were not there, of how many looked for. */
uint64_t load_report_missing(const struct load_report *report, uint64_t *ret_looked_for);

/* "123 us", "4.56 ms" ... in a buffer of the caller's. */
#define LOAD_TIME_BYTES 16
const char *load_time_text(uint64_t time_ns, char out[LOAD_TIME_BYTES]);

/* So many a second, to three digits at least: "65254", "0.4". */
#define LOAD_RATE_BYTES 32
const char *load_rate_text(double per_second, char out[LOAD_RATE_BYTES]);

#endif /* CLIENT_LOAD_CORE_REPORT_H */
