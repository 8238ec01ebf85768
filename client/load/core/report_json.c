/* A report for programs: one JSON object a line. */
#include <inttypes.h>
#include <string.h>

#include "client/load/core/report_parts.h"

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

static void json_figures(FILE *out, const struct report_figures *sum, double length_s)
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
static void json_kinds(FILE *out, const struct load_sample *sample)
{
    const char *comma = "";
    fputs(",\"kinds\":{", out);
    for (int kind = 0; kind < LOAD_KINDS; kind++) {
        const struct load_tally *tally = &sample->tallies[kind];
        struct report_figures of = report_figures_of(sample->tallies, kind, kind + 1);
        if (report_is_idle(tally, &of)) {
            continue;
        }
        fprintf(out, "%s\"%s\":{", comma, load_kind_name((enum load_kind)kind));
        json_figures(out, &of, report_length_s(sample));
        fprintf(out, ",\"mean_us\":%.3f", report_mean_us(tally));
        for (size_t i = 0; i < REPORT_PERCENTILE_COUNT; i++) {
            fprintf(out, ",\"%s_us\":%.3f", REPORT_PERCENTILES[i].key,
                    (double)load_histogram_percentile(&tally->times, REPORT_PERCENTILES[i].share) /
                        1000);
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

void report_json_end(FILE *out, const struct load_report *report)
{
    struct report_figures sum = report_figures_of(report->all.tallies, 0, LOAD_KINDS);
    fprintf(out, "{\"workload\":\"%s\",\"phase\":\"%s\",\"table\":", report->workload->name,
            report->phase);
    load_report_json_text(out, report->options->table);
    fprintf(out, ",\"interrupted\":%s,\"seconds\":%.6f,", report->interrupted ? "true" : "false",
            report_length_s(&report->all));
    json_figures(out, &sum, report_length_s(&report->all));
    json_codes(out, report);
    fprintf(out, ",\"client_cpu_s\":%.6f,\"client_cpu_us_per_row\":%.3f", report->cpu_s,
            report_cpu_us(report, &sum));
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

void report_json_interval(FILE *out,
                          const struct load_report *report,
                          const struct load_sample *sample)
{
    struct report_figures sum = report_figures_of(sample->tallies, 0, LOAD_KINDS);
    fprintf(out, "{\"interval\":\"%s\",\"phase\":\"%s\",\"from_s\":%.3f,\"to_s\":%.3f,",
            report->workload->name, report->phase, sample->from_s, sample->to_s);
    json_figures(out, &sum, report_length_s(sample));
    json_kinds(out, sample);
    fputs("}\n", out);
}
