/*
 * What the formats of a report share; for report*.c alone.
 */
#ifndef CLIENT_LOAD_CORE_REPORT_PARTS_H
#define CLIENT_LOAD_CORE_REPORT_PARTS_H

#include "client/load/core/report.h"

struct report_percentile {
    const char *name;
    const char *key; /* in JSON and CSV */
    double share;
};

#define REPORT_PERCENTILE_COUNT 7
extern const struct report_percentile REPORT_PERCENTILES[REPORT_PERCENTILE_COUNT];

/* What of a tally all formats tell. */
struct report_figures {
    uint64_t operations;
    uint64_t requests;
    uint64_t rows;
    uint64_t bytes;
    uint64_t errors;
    uint64_t unknown;
    uint64_t missing;
    uint64_t cut_off;
    uint64_t wrong;
    uint64_t checked;
    uint64_t late;
};

/* Of the tallies of kinds `from` to, not including, `to`. */
struct report_figures report_figures_of(const struct load_tally *tallies, int from, int to);
double report_length_s(const struct load_sample *sample); /* never 0 */
double report_mean_us(const struct load_tally *tally);
double report_cpu_us(const struct load_report *report, const struct report_figures *sum);
bool report_is_anything_verified(const struct load_report *report,
                                 const struct report_figures *sum);
bool report_is_idle(const struct load_tally *tally, const struct report_figures *of);

void report_text_interval(FILE *out, const struct load_sample *sample);
void report_text_end(FILE *out, const struct load_report *report);
void report_json_interval(FILE *out,
                          const struct load_report *report,
                          const struct load_sample *sample);
void report_json_end(FILE *out, const struct load_report *report);

#endif /* CLIENT_LOAD_CORE_REPORT_PARTS_H */
