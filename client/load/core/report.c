#include "client/load/core/report_parts.h"

#include <inttypes.h>
#include <string.h>

const struct report_percentile REPORT_PERCENTILES[REPORT_PERCENTILE_COUNT] = {
    {"p50", "p50", 0.50}, {"p90", "p90", 0.90},     {"p95", "p95", 0.95},
    {"p99", "p99", 0.99}, {"p99.9", "p999", 0.999}, {"p99.99", "p9999", 0.9999},
    {"max", "max", 1.0},
};

struct report_figures report_figures_of(const struct load_tally *tallies, int from, int to)
{
    struct report_figures sum = {0};
    for (int kind = from; kind < to; kind++) {
        const struct load_tally *tally = &tallies[kind];
        sum.operations += tally->operations;
        sum.requests += tally->requests;
        sum.rows += tally->rows;
        sum.bytes += tally->bytes;
        sum.errors += load_tally_errors(tally);
        sum.unknown += tally->unknown;
        sum.missing += tally->missing;
        sum.cut_off += tally->cut_off;
        sum.wrong += tally->wrong;
        sum.checked += tally->checked;
        sum.late += tally->late;
    }
    return sum;
}

double report_length_s(const struct load_sample *sample)
{
    double length_s = sample->to_s - sample->from_s;
    return length_s > 1e-9 ? length_s : 1e-9;
}

double report_mean_us(const struct load_tally *tally)
{
    return tally->requests > 0 ? (double)tally->latency_ns / (double)tally->requests / 1000 : 0;
}

double report_cpu_us(const struct load_report *report, const struct report_figures *sum)
{
    uint64_t of = sum->rows > sum->operations ? sum->rows : sum->operations;
    return of > 0 ? report->cpu_s * 1e6 / (double)of : 0;
}

bool report_is_anything_verified(const struct load_report *report, const struct report_figures *sum)
{
    return sum->checked > 0 || sum->wrong > 0 || report->sums_checked > 0;
}

/* What was written can be read by a scan of the same rows. */
bool report_is_idle(const struct load_tally *tally, const struct report_figures *of)
{
    return tally->requests == 0 && of->rows == 0 && of->errors == 0 && of->late == 0 &&
           of->cut_off == 0;
}

const char *load_time_text(uint64_t time_ns, char out[LOAD_TIME_BYTES])
{
    double us = (double)time_ns / 1000;
    if (us < 1000) {
        (void)snprintf(out, LOAD_TIME_BYTES, us < 100 ? "%.1f us" : "%.0f us", us);
    } else if (us < 1e6) {
        (void)snprintf(out, LOAD_TIME_BYTES, us < 1e5 ? "%.2f ms" : "%.0f ms", us / 1000);
    } else {
        (void)snprintf(out, LOAD_TIME_BYTES, "%.2f s", us / 1e6);
    }
    return out;
}

const char *load_rate_text(double per_second, char out[LOAD_RATE_BYTES])
{
    (void)snprintf(out, LOAD_RATE_BYTES, per_second < 100 ? "%.3g" : "%.0f", per_second);
    return out;
}

bool load_report_is_verified(const struct load_report *report)
{
    struct report_figures sum = report_figures_of(report->all.tallies, 0, LOAD_KINDS);
    return sum.wrong == 0 && sum.missing == 0 && report->sums_wrong == 0 && !report->sums_unread;
}

bool load_report_all_failed(const struct load_report *report)
{
    struct report_figures sum = report_figures_of(report->all.tallies, 0, LOAD_KINDS);
    return sum.operations == 0 && sum.errors + sum.late > 0;
}

uint64_t load_report_errors(const struct load_report *report)
{
    return report_figures_of(report->all.tallies, 0, LOAD_KINDS).errors;
}

bool load_report_found_nothing(const struct load_report *report)
{
    uint64_t looked_for = 0;
    uint64_t missing = load_report_missing(report, &looked_for);
    return missing > 0 && missing == looked_for;
}

uint64_t load_report_missing(const struct load_report *report, uint64_t *ret_looked_for)
{
    static const enum load_kind READING[] = {LOAD_READ, LOAD_RMW, LOAD_SCAN};
    uint64_t missing = 0;
    uint64_t found = 0;
    for (size_t i = 0; i < sizeof READING / sizeof READING[0]; i++) {
        missing += report->all.tallies[READING[i]].missing;
        found += report->all.tallies[READING[i]].rows;
    }
    *ret_looked_for = missing + found;
    return missing;
}

/* --- CSV -------------------------------------------------------------------------------------- */

static void csv_rows(FILE *out,
                     const struct load_report *report,
                     const struct load_sample *sample,
                     const char *span,
                     const char *verdict)
{
    for (int kind = 0; kind < LOAD_KINDS; kind++) {
        const struct load_tally *tally = &sample->tallies[kind];
        struct report_figures of = report_figures_of(sample->tallies, kind, kind + 1);
        if (report_is_idle(tally, &of)) {
            continue;
        }
        fprintf(out,
                "%s,%s,%s,%.3f,%.3f,%s,%" PRIu64 ",%.4f,%" PRIu64 ",%" PRIu64 ",%" PRIu64
                ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%.3f",
                report->workload->name, report->phase, span, sample->from_s, sample->to_s,
                load_kind_name((enum load_kind)kind), of.operations,
                (double)of.operations / report_length_s(sample), of.requests, of.rows, of.bytes,
                of.errors, of.unknown, of.missing, report_mean_us(tally));
        for (size_t i = 0; i < REPORT_PERCENTILE_COUNT; i++) {
            fprintf(out, ",%.3f",
                    (double)load_histogram_percentile(&tally->times, REPORT_PERCENTILES[i].share) /
                        1000);
        }
        fprintf(out, ",%" PRIu64 ",%" PRIu64 ",%d,%s,%" PRIu64 "\n", of.late, of.wrong,
                report->interrupted ? 1 : 0, verdict, of.cut_off);
    }
}

/* --- all -------------------------------------------------------------------------------------- */

static const char *verdict_of(const struct load_report *report)
{
    struct report_figures sum = report_figures_of(report->all.tallies, 0, LOAD_KINDS);
    if (!report->options->verify) {
        return "";
    }
    if (!load_report_is_verified(report)) {
        return "bad";
    }
    return report_is_anything_verified(report, &sum) ? "good" : "nothing";
}

static bool is_written(FILE *out)
{
    return fflush(out) == 0 && ferror(out) == 0;
}

bool load_report_begin(FILE *out, enum load_format format)
{
    if (format == LOAD_CSV) {
        fputs(
            "workload,phase,span,from_s,to_s,kind,operations,operations_per_s,requests,rows,bytes,"
            "errors,unknown,missing,mean_us",
            out);
        for (size_t i = 0; i < REPORT_PERCENTILE_COUNT; i++) {
            fprintf(out, ",%s_us", REPORT_PERCENTILES[i].key);
        }
        fputs(",late,wrong,interrupted,verify,cut_off\n", out);
    }
    return is_written(out);
}

bool load_report_interval(FILE *out,
                          enum load_format format,
                          const struct load_report *report,
                          const struct load_sample *sample)
{
    switch (format) {
    case LOAD_TEXT:
        report_text_interval(out, sample);
        break;
    case LOAD_JSON:
        report_json_interval(out, report, sample);
        break;
    case LOAD_CSV:
        csv_rows(out, report, sample, "interval", "");
        break;
    }
    return is_written(out);
}

bool load_report_end(FILE *out, enum load_format format, const struct load_report *report)
{
    switch (format) {
    case LOAD_TEXT:
        report_text_end(out, report);
        break;
    case LOAD_JSON:
        report_json_end(out, report);
        break;
    case LOAD_CSV:
        csv_rows(out, report, &report->all, "all", verdict_of(report));
        break;
    }
    return is_written(out);
}
