#include "client/load/core/report.h"

#include <inttypes.h>
#include <string.h>

struct percentile {
    const char *name;
    const char *key; /* in JSON and CSV */
    double share;
};
static const struct percentile PERCENTILES[] = {
    {"p50", "p50", 0.50}, {"p90", "p90", 0.90},     {"p95", "p95", 0.95},
    {"p99", "p99", 0.99}, {"p99.9", "p999", 0.999}, {"p99.99", "p9999", 0.9999},
    {"max", "max", 1.0},
};
#define PERCENTILE_COUNT (sizeof PERCENTILES / sizeof PERCENTILES[0])

/* What of a tally all formats tell. */
struct figures {
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

static struct figures figures_of(const struct load_tally *tallies, int from, int to)
{
    struct figures sum = {0};
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

static double length_of(const struct load_sample *sample)
{
    double length_s = sample->to_s - sample->from_s;
    return length_s > 1e-9 ? length_s : 1e-9;
}

static double mean_us(const struct load_tally *tally)
{
    return tally->requests > 0 ? (double)tally->latency_ns / (double)tally->requests / 1000 : 0;
}

static double cpu_us(const struct load_report *report, const struct figures *sum)
{
    uint64_t of = sum->rows > sum->operations ? sum->rows : sum->operations;
    return of > 0 ? report->cpu_s * 1e6 / (double)of : 0;
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
    struct figures sum = figures_of(report->all.tallies, 0, LOAD_KINDS);
    return sum.wrong == 0 && sum.missing == 0 && report->sums_wrong == 0 && !report->sums_unread;
}

bool load_report_all_failed(const struct load_report *report)
{
    struct figures sum = figures_of(report->all.tallies, 0, LOAD_KINDS);
    return sum.operations == 0 && sum.errors + sum.late > 0;
}

uint64_t load_report_errors(const struct load_report *report)
{
    return figures_of(report->all.tallies, 0, LOAD_KINDS).errors;
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

/* --- text ------------------------------------------------------------------------------------- */

static void text_times(FILE *out, const struct load_sample *sample)
{
    fprintf(out, "\n  %-8s%12s%12s", "latency", "requests/s", "mean");
    for (size_t i = 0; i < PERCENTILE_COUNT; i++) {
        fprintf(out, "%10s", PERCENTILES[i].name);
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
                load_rate_text((double)tally->requests / length_of(sample), rate),
                load_time_text((uint64_t)(mean_us(tally) * 1000), text));
        for (size_t i = 0; i < PERCENTILE_COUNT; i++) {
            fprintf(out, "%10s",
                    load_time_text(load_histogram_percentile(&tally->times, PERCENTILES[i].share),
                                   text));
        }
        fputc('\n', out);
    }
}

static void text_errors(FILE *out, const struct load_report *report, const struct figures *sum)
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
static bool is_anything_verified(const struct load_report *report, const struct figures *sum)
{
    return sum->checked > 0 || sum->wrong > 0 || report->sums_checked > 0;
}

/* What was written can be read by a scan of the same rows. */
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

static void text_verdict(FILE *out, const struct load_report *report, const struct figures *sum)
{
    if (!report->options->verify) {
        return;
    }
    if (!is_anything_verified(report, sum) && !report->sums_unread) {
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

static void text_end(FILE *out, const struct load_report *report)
{
    struct figures sum = figures_of(report->all.tallies, 0, LOAD_KINDS);
    double length_s = length_of(&report->all);
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
    fprintf(out, "  client CPU  %.2f s       %.2f us a row\n", report->cpu_s, cpu_us(report, &sum));
    text_errors(out, report, &sum);
    text_verdict(out, report, &sum);
    text_times(out, &report->all);
    fputc('\n', out);
}

static void text_interval(FILE *out, const struct load_sample *sample)
{
    struct figures sum = figures_of(sample->tallies, 0, LOAD_KINDS);
    char operations[LOAD_RATE_BYTES];
    char rows[LOAD_RATE_BYTES];
    fprintf(out, "%7.1f s  %9s operations/s  %9s rows/s  %" PRIu64 " errors", sample->to_s,
            load_rate_text((double)sum.operations / length_of(sample), operations),
            load_rate_text((double)sum.rows / length_of(sample), rows), sum.errors);
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

/* --- JSON ------------------------------------------------------------------------------------- */

void load_report_json_text(FILE *out, const char *text)
{
    fputc('"', out);
    for (; *text != '\0'; text++) {
        if (*text == '"' || *text == '\\') {
            fprintf(out, "\\%c", *text);
        } else if ((unsigned char)*text < ' ') {
            fprintf(out, "\\u%04x", (unsigned)(unsigned char)*text);
        } else {
            fputc(*text, out);
        }
    }
    fputc('"', out);
}

static void json_figures(FILE *out, const struct figures *sum, double length_s)
{
    fprintf(out,
            "\"operations\":%" PRIu64 ",\"operations_per_s\":%.4f,\"requests\":%" PRIu64
            ",\"requests_per_s\":%.4f,\"rows\":%" PRIu64 ",\"rows_per_s\":%.4f,\"bytes\":%" PRIu64
            ",\"bytes_per_s\":%.4f,\"errors\":%" PRIu64 ",\"unknown\":%" PRIu64
            ",\"missing\":%" PRIu64 ",\"late\":%" PRIu64 ",\"cut_off\":%" PRIu64,
            sum->operations, (double)sum->operations / length_s, sum->requests,
            (double)sum->requests / length_s, sum->rows, (double)sum->rows / length_s, sum->bytes,
            (double)sum->bytes / length_s, sum->errors, sum->unknown, sum->missing, sum->late,
            sum->cut_off);
}

static void json_codes(FILE *out, const struct load_report *report)
{
    const char *comma = "";
    fputs(",\"errors_by_code\":{", out);
    for (int code = 1; code < LOAD_CODES; code++) {
        uint64_t count = 0;
        for (int kind = 0; kind < LOAD_KINDS; kind++) {
            count += report->all.tallies[kind].codes[code];
        }
        if (count > 0) {
            fprintf(out, "%s\"%s\":%" PRIu64, comma, report->code_name(code), count);
            comma = ",";
        }
    }
    fputs("},\"first_error\":", out);
    load_report_json_text(out, report->first_error);
}

/* Nothing was asked, and nothing came of what was asked before. */
static bool is_idle(const struct load_tally *tally, const struct figures *of)
{
    return tally->requests == 0 && of->rows == 0 && of->errors == 0 && of->late == 0 &&
           of->cut_off == 0;
}

static void json_kinds(FILE *out, const struct load_sample *sample)
{
    const char *comma = "";
    fputs(",\"kinds\":{", out);
    for (int kind = 0; kind < LOAD_KINDS; kind++) {
        const struct load_tally *tally = &sample->tallies[kind];
        struct figures of = figures_of(sample->tallies, kind, kind + 1);
        if (is_idle(tally, &of)) {
            continue;
        }
        fprintf(out, "%s\"%s\":{", comma, load_kind_name((enum load_kind)kind));
        json_figures(out, &of, length_of(sample));
        fprintf(out, ",\"mean_us\":%.3f", mean_us(tally));
        for (size_t i = 0; i < PERCENTILE_COUNT; i++) {
            fprintf(out, ",\"%s_us\":%.3f", PERCENTILES[i].key,
                    (double)load_histogram_percentile(&tally->times, PERCENTILES[i].share) / 1000);
        }
        fputc('}', out);
        comma = ",";
    }
    fputc('}', out);
}

static void json_options(FILE *out, const struct load_report *report)
{
    const struct load_options *options = report->options;
    fprintf(out,
            ",\"options\":{\"records\":%" PRIu64 ",\"fields\":%" PRIu64 ",\"value_size\":%" PRIu64
            ",\"batch\":%" PRIu64 ",\"scan_rows\":%" PRIu64 ",\"keys\":\"%s\",\"hosts\":%" PRIu64
            ",\"distribution\":\"%s\",\"zipfian\":%.17g,\"one_field\":%s,\"presplit\":%" PRIu64,
            options->records, options->fields, options->value_bytes, options->batch,
            options->scan_rows, load_key_form_name((enum load_key_form)options->keys),
            options->hosts, load_distribution_name((enum load_distribution)options->distribution),
            options->zipfian, options->one_field ? "true" : "false", options->presplit);
    fprintf(out,
            ",\"clients\":%" PRIu64 ",\"connections\":%" PRIu64 ",\"messages\":%" PRIu64
            ",\"in_flight\":%" PRIu64 ",\"threads\":%" PRIu64 ",\"never_read\":%" PRIu64
            ",\"rate\":%.17g,\"late_max\":%.17g,\"timeout\":%.17g",
            options->clients, options->connections, options->messages, options->in_flight,
            options->threads, options->never_read, options->rate, options->late_max_s,
            options->timeout_s > 0 ? options->timeout_s : LOAD_TIMEOUT_DEFAULT_S);
    fprintf(out,
            ",\"duration\":%.17g,\"operations\":%" PRIu64 ",\"warmup\":%.17g,\"seed\":%" PRIu64 "}",
            options->duration_s, options->operations, options->warmup_s, options->seed);
}

static void json_end(FILE *out, const struct load_report *report)
{
    struct figures sum = figures_of(report->all.tallies, 0, LOAD_KINDS);
    fprintf(out, "{\"workload\":\"%s\",\"phase\":\"%s\",\"table\":", report->workload->name,
            report->phase);
    load_report_json_text(out, report->options->table);
    fprintf(out, ",\"interrupted\":%s,\"seconds\":%.6f,", report->interrupted ? "true" : "false",
            length_of(&report->all));
    json_figures(out, &sum, length_of(&report->all));
    json_codes(out, report);
    fprintf(out, ",\"client_cpu_s\":%.6f,\"client_cpu_us_per_row\":%.3f", report->cpu_s,
            cpu_us(report, &sum));
    if (report->options->verify) {
        fprintf(out,
                ",\"verify\":{\"good\":%s,\"values_checked\":%" PRIu64 ",\"values_wrong\":%" PRIu64
                ",\"rows_missing\":%" PRIu64 ",\"sums_checked\":%" PRIu64 ",\"sums_wrong\":%" PRIu64
                ",\"first_wrong\":",
                load_report_is_verified(report) ? "true" : "false", sum.checked, sum.wrong,
                sum.missing, report->sums_checked, report->sums_wrong);
        load_report_json_text(out, report->first_wrong);
        fputc('}', out);
    }
    json_options(out, report);
    json_kinds(out, &report->all);
    fputs("}\n", out);
}

static void json_interval(FILE *out,
                          const struct load_report *report,
                          const struct load_sample *sample)
{
    struct figures sum = figures_of(sample->tallies, 0, LOAD_KINDS);
    fprintf(out, "{\"interval\":\"%s\",\"phase\":\"%s\",\"from_s\":%.3f,\"to_s\":%.3f,",
            report->workload->name, report->phase, sample->from_s, sample->to_s);
    json_figures(out, &sum, length_of(sample));
    json_kinds(out, sample);
    fputs("}\n", out);
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
        struct figures of = figures_of(sample->tallies, kind, kind + 1);
        if (is_idle(tally, &of)) {
            continue;
        }
        fprintf(out,
                "%s,%s,%s,%.3f,%.3f,%s,%" PRIu64 ",%.4f,%" PRIu64 ",%" PRIu64 ",%" PRIu64
                ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%.3f",
                report->workload->name, report->phase, span, sample->from_s, sample->to_s,
                load_kind_name((enum load_kind)kind), of.operations,
                (double)of.operations / length_of(sample), of.requests, of.rows, of.bytes,
                of.errors, of.unknown, of.missing, mean_us(tally));
        for (size_t i = 0; i < PERCENTILE_COUNT; i++) {
            fprintf(out, ",%.3f",
                    (double)load_histogram_percentile(&tally->times, PERCENTILES[i].share) / 1000);
        }
        fprintf(out, ",%" PRIu64 ",%" PRIu64 ",%d,%s,%" PRIu64 "\n", of.late, of.wrong,
                report->interrupted ? 1 : 0, verdict, of.cut_off);
    }
}

/* --- all -------------------------------------------------------------------------------------- */

static const char *verdict_of(const struct load_report *report)
{
    struct figures sum = figures_of(report->all.tallies, 0, LOAD_KINDS);
    if (!report->options->verify) {
        return "";
    }
    if (!load_report_is_verified(report)) {
        return "bad";
    }
    return is_anything_verified(report, &sum) ? "good" : "nothing";
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
        for (size_t i = 0; i < PERCENTILE_COUNT; i++) {
            fprintf(out, ",%s_us", PERCENTILES[i].key);
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
        text_interval(out, sample);
        break;
    case LOAD_JSON:
        json_interval(out, report, sample);
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
        text_end(out, report);
        break;
    case LOAD_JSON:
        json_end(out, report);
        break;
    case LOAD_CSV:
        csv_rows(out, report, &report->all, "all", verdict_of(report));
        break;
    }
    return is_written(out);
}
