/* What edubba-load counts and says: histogram, tallies, schedule, workloads, reports. */
#include <criterion/criterion.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "client/load/core/options.h"
#include "client/load/core/random.h"
#include "client/load/core/report.h"
#include "client/load/core/schedule.h"

/* --- histogram -------------------------------------------------------------------------------- */

Test(load_histogram, buckets_are_narrow_and_in_order)
{
    size_t last = 0;
    for (uint64_t value = 0; value < UINT64_C(1) << 41; value += value / 1000 + 1) {
        size_t bucket = load_histogram_bucket(value);
        uint64_t high = load_histogram_value(bucket);
        cr_assert(bucket == last || bucket == last + 1);
        cr_assert(high >= value && (double)(high - value) <= (double)value / 128);
        cr_assert(load_histogram_bucket(high) == bucket);
        cr_assert(load_histogram_bucket(high + 1) == bucket + 1);
        last = bucket;
    }
    cr_assert(load_histogram_bucket(UINT64_MAX) == LOAD_HISTOGRAM_BUCKETS - 1);
}

static int compare(const void *a, const void *b)
{
    uint64_t left = *(const uint64_t *)a;
    uint64_t right = *(const uint64_t *)b;
    return left < right ? -1 : left > right;
}

Test(load_histogram, percentiles_are_those_of_a_sorted_list)
{
    enum {
        COUNT = 10000
    };
    static uint64_t values[COUNT];
    static struct load_histogram histogram;
    const double shares[] = {0, 0.01, 0.5, 0.9, 0.99, 0.999, 0.9999, 1};
    uint64_t state = 3;
    for (int i = 0; i < COUNT; i++) {
        values[i] = load_random_next(&state) >> (24 + load_random_below(&state, 40));
        histogram.counts[load_histogram_bucket(values[i])]++;
    }
    qsort(values, COUNT, sizeof values[0], compare);
    for (size_t i = 0; i < sizeof shares / sizeof shares[0]; i++) {
        size_t rank = (size_t)ceil(shares[i] * COUNT);
        uint64_t wanted = values[rank > 0 ? rank - 1 : 0];
        uint64_t got = load_histogram_percentile(&histogram, shares[i]);
        cr_assert(got == load_histogram_value(load_histogram_bucket(wanted)), "%f", shares[i]);
    }
    static struct load_histogram nothing;
    cr_assert(load_histogram_percentile(&nothing, 0.5) == 0);
}

Test(load_tally, a_difference_of_copies_is_what_came_between)
{
    static struct load_tally running;
    static struct load_tally before;
    static struct load_tally after;
    static struct load_tally difference;
    load_tally_request(&running, 1000);
    running.codes[14] = 1;
    load_tally_gather(&before, &running);
    load_tally_request(&running, 5000000);
    load_tally_request(&running, -5); /* a clock that went back counts as 0 */
    running.codes[14] += 2;
    load_tally_gather(&after, &running);
    load_tally_subtract(&after, &before, &difference);
    cr_assert(difference.requests == 2 && difference.latency_ns == 5000000);
    cr_assert(load_tally_errors(&difference) == 2);
    cr_assert(load_histogram_count(&difference.times) == 2);
    cr_assert(load_histogram_percentile(&difference.times, 1) / 100000 == 50);
}

/* --- schedule --------------------------------------------------------------------------------- */

Test(load_schedule, keeps_its_rate_for_ever)
{
    const struct load_schedule schedule = {.start_ns = 7, .rate = 3333.3, .parts = 1};
    cr_assert(load_schedule_due_ns(&schedule, 0) == 7);
    for (uint64_t n = 1; n < UINT64_C(1000000000); n = n * 3 + 1) {
        double wanted = (double)n / 3333.3 * 1e9;
        cr_assert(fabs((double)(load_schedule_due_ns(&schedule, n) - 7) - wanted) < 1000);
    }
}

Test(load_schedule, parts_take_turns)
{
    int64_t last = -1;
    for (uint64_t n = 0; n < 1000; n++) {
        const struct load_schedule part = {.rate = 1e6, .part = n % 3, .parts = 3};
        int64_t due_ns = load_schedule_due_ns(&part, n / 3);
        cr_assert(due_ns > last && due_ns - last <= 1001);
        last = due_ns;
    }
}

/* --- workloads -------------------------------------------------------------------------------- */

Test(load_workloads, every_mix_is_whole)
{
    for (size_t i = 0; i < LOAD_WORKLOAD_COUNT; i++) {
        const struct load_workload *workload = &LOAD_WORKLOADS[i];
        unsigned drawn[LOAD_KINDS] = {0};
        for (uint64_t dice = 0; dice < 100; dice++) {
            drawn[load_workload_kind(workload, dice)]++;
        }
        for (int kind = 0; kind < LOAD_KINDS; kind++) {
            cr_assert(drawn[kind] == workload->percent[kind], "%s", workload->name);
        }
        cr_assert(workload->fields > 0 && workload->value_bytes > 0 && workload->batch > 0);
        cr_assert(workload->in_flight > 0 && workload->records > 0 && workload->keys > 0);
        cr_assert(load_workload_find(workload->name) == workload);
    }
}

Test(load_workloads, field_names_of_series_are_8_to_20_bytes)
{
    for (uint64_t i = 0; i < 20; i++) {
        char name[LOAD_FIELD_NAME_BYTES_MAX];
        size_t size = load_field_name(LOAD_KEY_SERIES, i, name);
        cr_assert(size >= 8 && size <= 20 && size == strlen(name), "%s", name);
    }
}

/* --- reports ---------------------------------------------------------------------------------- */

static struct load_tally tallies[LOAD_KINDS];

static const char *name_of_code(int code)
{
    return code == 14 ? "UNAVAILABLE" : "OTHER";
}

static struct load_report sample_report(struct load_options *options)
{
    char problem[LOAD_PROBLEM_BYTES];
    *options = load_options_default();
    cr_assert(load_options_complete(options, load_workload_find("ycsb-a"), problem), "%s", problem);
    options->verify = true;
    memset(tallies, 0, sizeof tallies);
    load_tally_request(&tallies[LOAD_READ], 1000000);
    tallies[LOAD_READ].operations = 1;
    tallies[LOAD_READ].rows = 1;
    tallies[LOAD_READ].checked = 10;
    load_tally_request(&tallies[LOAD_UPDATE], 3000000);
    tallies[LOAD_UPDATE].codes[14] = 1;
    tallies[LOAD_UPDATE].unknown = 1;
    return (struct load_report){
        .options = options,
        .workload = load_workload_find("ycsb-a"),
        .phase = "run",
        .all = {0, 2, tallies},
        .cpu_s = 0.5,
        .first_error = "a \"quoted\" word",
        .sums_example = "",
        .first_wrong = "row r, column c: 5 bytes, expected 6",
        .code_name = name_of_code,
    };
}

static char *print(enum load_format format, const struct load_report *report)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    load_report_begin(out, format);
    load_report_interval(out, format, report, &report->all);
    load_report_end(out, format, report);
    (void)fclose(out);
    return text;
}

Test(load_report, json_hides_no_error)
{
    struct load_options options;
    struct load_report report = sample_report(&options);
    char *text = print(LOAD_JSON, &report);
    cr_assert(strstr(text, "\"errors\":1,\"unknown\":1") != NULL);
    cr_assert(strstr(text, "\"errors_by_code\":{\"UNAVAILABLE\":1}") != NULL);
    cr_assert(strstr(text, "a \\\"quoted\\\" word") != NULL);
    cr_assert(strstr(text, "\"client_cpu_s\":0.5") != NULL);
    cr_assert(strstr(text, "\"good\":true") != NULL);
    free(text);
}

Test(load_report, text_hides_no_error)
{
    struct load_options options;
    struct load_report report = sample_report(&options);
    char *text = print(LOAD_TEXT, &report);
    cr_assert(strstr(text, "UNAVAILABLE 1") != NULL);
    cr_assert(strstr(text, "1 changes may or may not have been made") != NULL);
    cr_assert(strstr(text, "10 values: all right") != NULL);
    free(text);
}

Test(load_report, low_rates_keep_their_digits)
{
    static const struct {
        double rate;
        const char *wanted;
    } CASES[] = {{0, "0"},        {0.4, "0.4"},   {0.0012, "0.0012"}, {2.5, "2.5"},
                 {99.94, "99.9"}, {99.96, "100"}, {1234.4, "1234"},   {65254, "65254"}};
    char text[LOAD_RATE_BYTES];
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        cr_assert_str_eq(load_rate_text(CASES[i].rate, text), CASES[i].wanted);
    }
    struct load_options options;
    struct load_report report = sample_report(&options);
    report.all.to_s = 2.5; /* one operation: 0.4 a second */
    char *said = print(LOAD_TEXT, &report);
    cr_assert(strstr(said, "1            0.4/s in 2.50 s") != NULL, "%s", said);
    cr_assert(strstr(said, " 0.4 operations/s") != NULL, "%s", said);
    cr_assert(strstr(said, "read             0.4 ") != NULL, "%s", said);
    free(said);
    report.all.to_s = 250;
    said = print(LOAD_JSON, &report);
    cr_assert(strstr(said, "\"operations_per_s\":0.0040") != NULL, "%s", said);
    free(said);
}

Test(load_report, csv_hides_no_error)
{
    struct load_options options;
    struct load_report report = sample_report(&options);
    tallies[LOAD_READ].late = 7;
    tallies[LOAD_READ].wrong = 3;
    report.interrupted = true;
    char *text = print(LOAD_CSV, &report);
    cr_assert(strstr(text, "max_us,late,wrong,interrupted,verify,cut_off\n") != NULL);
    cr_assert(strstr(text, ",7,3,1,bad,0\n") != NULL, "%s", text);
    cr_assert(strstr(text, ",0,0,1,bad,0\n") != NULL, "%s", text);
    free(text);
    tallies[LOAD_READ].wrong = 0;
    text = print(LOAD_CSV, &report);
    cr_assert(strstr(text, ",7,0,1,good,0\n") != NULL, "%s", text);
    free(text);
    options.verify = false;
    memset(tallies, 0, sizeof tallies);
    tallies[LOAD_READ].late = 9; /* and nothing else */
    text = print(LOAD_CSV, &report);
    cr_assert(strstr(text, ",9,0,1,,0\n") != NULL, "%s", text);
    free(text);
}

Test(load_report, what_was_not_read_is_not_called_good)
{
    struct load_options options;
    struct load_report report = sample_report(&options);
    tallies[LOAD_READ].checked = 0;
    char *text = print(LOAD_TEXT, &report);
    cr_assert(strstr(text,
                     "  verified    nothing: no value was read.  To read all: edubba-load run "
                     "scan ") != NULL,
              "%s", text);
    free(text);
    report.phase = "load";
    text = print(LOAD_TEXT, &report);
    cr_assert(strstr(text, "  verified    nothing: rows are written here") != NULL, "%s", text);
    free(text);
    report.phase = "run";
    text = print(LOAD_CSV, &report);
    cr_assert(strstr(text, ",nothing,0\n") != NULL && strstr(text, ",good,") == NULL, "%s", text);
    free(text);
}

Test(load_report, what_cannot_be_written_is_told)
{
    struct load_options options;
    struct load_report report = sample_report(&options);
    for (int format = LOAD_TEXT; format <= LOAD_CSV; format++) {
        FILE *full = fopen("/dev/full", "w");
        cr_assert(full != NULL);
        errno = 0;
        cr_assert_not(load_report_interval(full, (enum load_format)format, &report, &report.all));
        cr_assert(errno == ENOSPC);
        cr_assert_not(load_report_end(full, (enum load_format)format, &report));
        (void)fclose(full);
        FILE *good = fopen("/dev/null", "w");
        cr_assert(load_report_begin(good, (enum load_format)format));
        cr_assert(load_report_interval(good, (enum load_format)format, &report, &report.all));
        cr_assert(load_report_end(good, (enum load_format)format, &report));
        (void)fclose(good);
    }
}

Test(load_report, all_failed_is_not_one_success)
{
    struct load_options options;
    struct load_report report = sample_report(&options);
    cr_assert_not(load_report_all_failed(&report));
    cr_assert(load_report_errors(&report) == 1);
    tallies[LOAD_READ].operations = 0;
    cr_assert(load_report_all_failed(&report));
    tallies[LOAD_UPDATE].codes[14] = 0;
    cr_assert_not(load_report_all_failed(&report)); /* nothing was tried */
    tallies[LOAD_READ].late = 1;
    cr_assert(load_report_all_failed(&report));
}

Test(load_report, sums_that_could_not_be_read_are_not_verified)
{
    struct load_options options;
    struct load_report report = sample_report(&options);
    report.sums_unread = true;
    cr_assert_not(load_report_is_verified(&report));
    char *text = print(LOAD_TEXT, &report);
    cr_assert(strstr(text, "sums could not be read") != NULL);
    free(text);
    text = print(LOAD_JSON, &report);
    cr_assert(strstr(text, "\"good\":false") != NULL);
    free(text);
}

Test(load_report, csv_rows_are_as_wide_as_the_header)
{
    struct load_options options;
    struct load_report report = sample_report(&options);
    char *text = print(LOAD_CSV, &report);
    int commas = -1;
    int lines = 0;
    for (char *line = text; *line != '\0';) {
        char *end = strchr(line, '\n');
        int count = 0;
        for (char *at = line; at < end; at++) {
            count += *at == ',' ? 1 : 0;
        }
        cr_assert(commas == -1 || count == commas);
        commas = count;
        lines++;
        line = end + 1;
    }
    cr_assert(lines == 5); /* header; read and update, twice */
    free(text);
}

Test(load_report, a_planted_wrong_value_is_not_verified)
{
    struct load_options options;
    struct load_report report = sample_report(&options);
    cr_assert(load_report_is_verified(&report));
    tallies[LOAD_READ].wrong = 1;
    cr_assert_not(load_report_is_verified(&report));
    char *text = print(LOAD_TEXT, &report);
    cr_assert(strstr(text, "1 of 10 values are WRONG; the first: row r, column c: 5 bytes, ") !=
              NULL);
    free(text);
    tallies[LOAD_READ].wrong = 0;
    tallies[LOAD_READ].missing = 1;
    cr_assert_not(load_report_is_verified(&report));
    tallies[LOAD_READ].missing = 0;
    report.sums_wrong = 1;
    cr_assert_not(load_report_is_verified(&report));
}

Test(load_report, nothing_found_is_not_one_row_of_reads_and_scans)
{
    struct load_options options;
    struct load_report report = sample_report(&options);
    cr_assert_not(load_report_found_nothing(&report));
    tallies[LOAD_READ].rows = 0;
    cr_assert_not(load_report_found_nothing(&report)); /* nor was one looked for */
    tallies[LOAD_READ].missing = 5;
    cr_assert(load_report_found_nothing(&report));
    tallies[LOAD_RMW].rows = 1;
    cr_assert_not(load_report_found_nothing(&report));
    tallies[LOAD_RMW].rows = 0;
    tallies[LOAD_WRITE].rows = 9; /* written, not found */
    cr_assert(load_report_found_nothing(&report));
    tallies[LOAD_SCAN].rows = 1;
    cr_assert_not(load_report_found_nothing(&report));
}

Test(load_report, what_was_not_found_stands_beside_the_rates)
{
    struct load_options options;
    struct load_report report = sample_report(&options);
    options.verify = false;
    tallies[LOAD_READ].missing = 5;
    tallies[LOAD_RMW].missing = 2;
    tallies[LOAD_UPDATE].rows = 9; /* written, not looked for */
    uint64_t looked_for = 0;
    cr_assert(load_report_missing(&report, &looked_for) == 7 && looked_for == 8);
    char *text = print(LOAD_TEXT, &report);
    const char *rows = strstr(text, "\n  rows ");
    cr_assert(rows != NULL && strstr(text, " errors  7 missing") != NULL, "%s", text);
    cr_assert(strncmp(strchr(rows + 1, '\n'), "\n  missing     7 rows of 8 ", 26) == 0, "%s", text);
    free(text);
    text = print(LOAD_JSON, &report);
    cr_assert(strstr(text, "\"errors\":1,\"unknown\":1,\"missing\":7") != NULL, "%s", text);
    free(text);
}

Test(load_report, a_scan_that_was_cut_off_is_told_and_no_operation)
{
    struct load_options options;
    struct load_report report = sample_report(&options);
    tallies[LOAD_SCAN].cut_off = 1;
    char *text = print(LOAD_TEXT, &report);
    cr_assert(strstr(text, "\n  operations  1 ") != NULL, "%s", text);
    cr_assert(strstr(text, "\n  cut off     1 scans at the end") != NULL, "%s", text);
    free(text);
    text = print(LOAD_JSON, &report);
    cr_assert(strstr(text, "\"late\":0,\"cut_off\":1") != NULL, "%s", text);
    free(text);
    text = print(LOAD_CSV, &report);
    cr_assert(strstr(text, ",scan,0,") != NULL && strstr(text, ",bad,1\n") == NULL, "%s", text);
    cr_assert(strstr(text, ",good,1\n") != NULL, "%s", text);
    free(text);
}
