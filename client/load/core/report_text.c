/* A report for people. */
#include <inttypes.h>
#include <string.h>

#include "client/load/core/report_parts.h"

static void text_times(FILE *out, const struct load_sample *sample)
{
    fprintf(out, "\n  %-8s%12s%12s", "latency", "requests/s", "mean");
    for (size_t i = 0; i < REPORT_PERCENTILE_COUNT; i++) {
        fprintf(out, "%10s", REPORT_PERCENTILES[i].name);
    }
    fputc('\n', out);
    for (int kind = 0; kind < LOAD_KINDS; kind++) {
        const struct load_tally *tally = &sample->tallies[kind];
        char text[LOAD_TIME_BYTES];
        char rate[LOAD_RATE_BYTES];
        if (tally->requests == 0) {
            continue;
        }
        fprintf(out, "  %-8s%12s%12s", load_kind_name((enum load_kind)kind),
                load_rate_text((double)tally->requests / report_length_s(sample), rate),
                load_time_text((uint64_t)(report_mean_us(tally) * 1000), text));
        for (size_t i = 0; i < REPORT_PERCENTILE_COUNT; i++) {
            fprintf(
                out, "%10s",
                load_time_text(
                    load_histogram_percentile(&tally->times, REPORT_PERCENTILES[i].share), text));
        }
        fputc('\n', out);
    }
}

static void text_errors(FILE *out,
                        const struct load_report *report,
                        const struct report_figures *sum)
{
    if (sum->errors > 0) {
        fprintf(out, "\n  errors      %" PRIu64 ":", sum->errors);
        for (int code = 1; code < LOAD_CODES; code++) {
            uint64_t count = 0;
            for (int kind = 0; kind < LOAD_KINDS; kind++) {
                count += report->all.tallies[kind].codes[code];
            }
            if (count > 0) {
                fprintf(out, " %s %" PRIu64, report->code_name(code), count);
            }
        }
        fprintf(out, "\n              first: %s\n", report->first_error);
    }
    if (sum->unknown > 0) {
        fprintf(out, "  unknown     %" PRIu64 " changes may or may not have been made\n",
                sum->unknown);
    }
    if (sum->late > 0) {
        fprintf(out, "  late        %" PRIu64 " requests that were due were never sent\n",
                sum->late);
    }
}

/* Directly below the rates, for these are made of what was not found, too. */
static void text_missing(FILE *out, const struct load_report *report)
{
    uint64_t looked_for = 0;
    uint64_t missing = load_report_missing(report, &looked_for);
    if (missing > 0) {
        fprintf(out,
                "  missing     %" PRIu64 " rows of %" PRIu64
                " that should be there were not found%s\n",
                missing, looked_for,
                report->options->verify ? ", or somebody else still loads the table" : "");
    }
}

static bool is_load(const struct load_report *report)
{
    return strcmp(report->phase, "load") == 0;
}

/* Of a workload that reads nothing, say, or of rows that are not there. */
static void text_nothing_verified(FILE *out, const struct load_report *report)
{
    if (is_load(report)) {
        fputs("  verified    nothing: rows are written here; the run reads them\n", out);
        return;
    }
    fputs("  verified    nothing: no value was read.  To read all: ", out);
    load_options_command(out, report->options, "run", load_workload_find("scan"));
    fputs(" --verify\n", out);
}

static void text_verdict(FILE *out,
                         const struct load_report *report,
                         const struct report_figures *sum)
{
    if (!report->options->verify) {
        return;
    }
    if (!report_is_anything_verified(report, sum) && !report->sums_unread) {
        text_nothing_verified(out, report);
    } else if (report->sums_unread) {
        fputs("  verified    nothing: sums could not be read\n", out);
    } else if (report->sums_checked > 0) {
        fprintf(out, "  verified    %" PRIu64 " sums: %s%s%s\n", report->sums_checked,
                report->sums_wrong == 0 ? "all exact" : "WRONG: ",
                report->sums_wrong == 0 ? "" : report->sums_example,
                report->sums_wrong == 0 ? "" : ", or somebody else adds to it");
    }
    if (sum->checked > 0 && sum->wrong == 0) {
        fprintf(out, "  verified    %" PRIu64 " values: all right\n", sum->checked);
    } else if (sum->wrong > 0) {
        fprintf(out, "  verified    %" PRIu64 " of %" PRIu64 " values are WRONG; the first: %s\n",
                sum->wrong, sum->checked, report->first_wrong);
    }
}

void report_text_end(FILE *out, const struct load_report *report)
{
    struct report_figures sum = report_figures_of(report->all.tallies, 0, LOAD_KINDS);
    double length_s = report_length_s(&report->all);
    char rate[LOAD_RATE_BYTES];
    char megabytes[LOAD_RATE_BYTES];
    fprintf(out, "%s %s on %s%s\n\n", report->workload->name, report->phase, report->options->table,
            report->interrupted ? " (interrupted)" : "");
    fprintf(out, "  operations  %-12" PRIu64 " %s/s in %.2f s\n", sum.operations,
            load_rate_text((double)sum.operations / length_s, rate), length_s);
    if (sum.rows > 0) {
        fprintf(out, "  rows        %-12" PRIu64 " %s/s, %s MB/s of values\n", sum.rows,
                load_rate_text((double)sum.rows / length_s, rate),
                load_rate_text((double)sum.bytes / length_s / 1e6, megabytes));
    }
    if (report->options->rate > 0 && !is_load(report)) {
        fprintf(out, "  asked for   %s requests/s\n", load_rate_text(report->options->rate, rate));
    }
    text_missing(out, report);
    if (sum.cut_off > 0) {
        fprintf(out,
                "  cut off     %" PRIu64 " scans at the end: no operations, but rows they had read "
                "are among the rows\n",
                sum.cut_off);
    }
    fprintf(out, "  client CPU  %.2f s       %.2f us a row\n", report->cpu_s,
            report_cpu_us(report, &sum));
    text_errors(out, report, &sum);
    text_verdict(out, report, &sum);
    text_times(out, &report->all);
    fputc('\n', out);
}

void report_text_interval(FILE *out, const struct load_sample *sample)
{
    struct report_figures sum = report_figures_of(sample->tallies, 0, LOAD_KINDS);
    char operations[LOAD_RATE_BYTES];
    char rows[LOAD_RATE_BYTES];
    fprintf(out, "%7.1f s  %9s operations/s  %9s rows/s  %" PRIu64 " errors", sample->to_s,
            load_rate_text((double)sum.operations / report_length_s(sample), operations),
            load_rate_text((double)sum.rows / report_length_s(sample), rows), sum.errors);
    if (sum.missing > 0) {
        fprintf(out, "  %" PRIu64 " missing", sum.missing);
    }
    for (int kind = 0; kind < LOAD_KINDS; kind++) {
        const struct load_tally *tally = &sample->tallies[kind];
        char p50[LOAD_TIME_BYTES];
        char p99[LOAD_TIME_BYTES];
        if (tally->requests > 0) {
            fprintf(out, "  %s p50 %s p99 %s", load_kind_name((enum load_kind)kind),
                    load_time_text(load_histogram_percentile(&tally->times, 0.50), p50),
                    load_time_text(load_histogram_percentile(&tally->times, 0.99), p99));
        }
    }
    fputc('\n', out);
}
