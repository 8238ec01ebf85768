/* What edubba-load counts and says: histogram, tallies, schedule, options, reports. */
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

/* --- options ---------------------------------------------------------------------------------- */

static char problem[LOAD_PROBLEM_BYTES];
static const char *words[2];
static size_t word_count;

static bool parse(struct load_options *options, int count, const char *const *arguments)
{
    *options = load_options_default();
    problem[0] = '\0';
    return load_options_parse(options, count, (char *const *)(uintptr_t)arguments, words, 2,
                              &word_count, problem);
}
#define PARSE(options, ...)                                                             \
    parse(options, (int)(sizeof((const char *[]){__VA_ARGS__}) / sizeof(const char *)), \
          (const char *[]){__VA_ARGS__})

Test(load_options, all_types)
{
    struct load_options options;
    cr_assert(PARSE(&options, "run", "--table", "T", "--records=1.5M", "write", "--rate", "2.5",
                    "--verify", "--format=csv", "--keys", "series", "--duration=5"));
    cr_assert(word_count == 2 && strcmp(words[0], "run") == 0 && strcmp(words[1], "write") == 0);
    cr_assert_str_eq(options.table, "T");
    cr_assert(options.records == 1500000 && options.verify && options.format == LOAD_CSV);
    cr_assert(options.keys == LOAD_KEY_SERIES && fabs(options.rate - 2.5) < 1e-12);
}

Test(load_options, choices_are_named_as_the_enums)
{
    struct load_options options;
    for (int i = LOAD_UNIFORM; i <= LOAD_SEQUENTIAL; i++) {
        cr_assert(
            PARSE(&options, "--distribution", load_distribution_name((enum load_distribution)i)));
        cr_assert(options.distribution == (uint64_t)i);
    }
    for (int i = LOAD_KEY_ORDERED; i <= LOAD_KEY_SERIES; i++) {
        cr_assert(PARSE(&options, "--keys", load_key_form_name((enum load_key_form)i)));
        cr_assert(options.keys == (uint64_t)i);
    }
}

Test(load_options, nonsense_is_refused_with_a_word_that_helps)
{
    struct load_options options;
    cr_assert_not(PARSE(&options, "--recrods", "1"));
    cr_assert(strstr(problem, "--records") != NULL);
    cr_assert_not(PARSE(&options, "--records"));
    cr_assert_not(PARSE(&options, "--records", "0"));
    cr_assert_not(PARSE(&options, "--records", "-1"));
    cr_assert_not(PARSE(&options, "--records", "1.5"));
    cr_assert_not(PARSE(&options, "--records", "1e99"));
    cr_assert_not(PARSE(&options, "--records", "10x"));
    cr_assert_not(PARSE(&options, "--records", ""));
    cr_assert(PARSE(&options, "write", "--rate", "20k") && fabs(options.rate - 20000) < 1e-9);
    cr_assert_not(PARSE(&options, "--rate", "20x"));
    cr_assert_not(PARSE(&options, "--rate", "nan"));
    cr_assert_not(PARSE(&options, "--rate", "0"));
    cr_assert_str_eq(
        problem,
        "--rate cannot be '0': it is N, a number like 0.5, at least 0.001 and at most 10000000");
    cr_assert_not(PARSE(&options, "--timeout", "10s"));
    cr_assert_str_eq(problem, "--timeout cannot be '10s': it is SECONDS, a number like 0.5 or 60, "
                              "without a unit, at least 0.001 and at most 1000000");
    cr_assert_not(PARSE(&options, "--records", "10kb"));
    cr_assert_str_eq(problem, "--records cannot be '10kb': it is N, a whole number like 64 or 1M, "
                              "at least 1 and at most 1e15");
    cr_assert_not(PARSE(&options, "--records", " 5"));
    cr_assert_not(PARSE(&options, "--records", "0x10"));
    cr_assert_not(PARSE(&options, "--rate", "+5"));
    cr_assert_not(PARSE(&options, "--zipfian", "1"));
    cr_assert_str_eq(problem, "--zipfian cannot be '1': it is THETA, a number like 0.5, at least "
                              "0.01 and at most 0.9999");
    cr_assert_not(PARSE(&options, "--presplit", "1002"));
    cr_assert_str_eq(problem, "--presplit cannot be '1002': it is N, a whole number like 64 or 1M, "
                              "at least 1 and at most 1001");
    cr_assert_not(PARSE(&options, "--in-flight", "10M"));
    cr_assert_str_eq(problem, "--in-flight cannot be '10M': it is N, a whole number like 64 or 1M, "
                              "at least 1 and at most 1M");
    cr_assert_not(PARSE(&options, "--masters", ""));
    cr_assert_str_eq(problem, "--masters cannot be empty: it needs ADDRESSES");
    cr_assert_not(PARSE(&options, "--duration=0"));
    cr_assert_not(PARSE(&options, "--bogus", "1"));
    cr_assert_str_eq(problem, "there is no option '--bogus'"); /* nothing is near */
    cr_assert_not(PARSE(&options, "--rate", "inf"));
    cr_assert_not(PARSE(&options, "--verify=yes"));
    cr_assert_not(PARSE(&options, "--format", "xml"));
    cr_assert_not(PARSE(&options, "--format", ""));
    cr_assert_not(PARSE(&options, "--format", "text|json"));
    cr_assert_not(PARSE(&options, "--table", ""));
    cr_assert_not(PARSE(&options, "a", "b", "c"));
}

/* Of each number: its most is taken, more is refused, and what is said names the most. */
Test(load_options, every_number_has_a_most_that_is_named)
{
    static const char *const LARGE[] = {"1e300", "9223372036854775808", "1e15", "inf"};
    for (size_t i = 0; i < LOAD_OPTION_COUNT_ALL; i++) {
        const struct load_option *option = &LOAD_OPTIONS[i];
        struct load_options options;
        char name[64];
        char most[64];
        if (option->type != LOAD_OPTION_COUNT && option->type != LOAD_OPTION_NUMBER) {
            continue;
        }
        (void)snprintf(name, sizeof name, "--%s", option->name);
        (void)snprintf(most, sizeof most, "%.15g", option->most);
        cr_assert(PARSE(&options, name, most), "%s %s: %s", name, most, problem);
        for (size_t j = 0; j < sizeof LARGE / sizeof LARGE[0]; j++) {
            if (j == 2 && option->most >= 1e15) {
                continue;
            }
            cr_assert_not(PARSE(&options, name, LARGE[j]), "%s %s", name, LARGE[j]);
            cr_assert(strstr(problem, "at most") != NULL, "%s", problem);
        }
    }
    struct load_options options;
    cr_assert_not(PARSE(&options, "--batch", "100001"));
    cr_assert(strstr(problem, "at least 1 and at most 100k") != NULL, "%s", problem);
    cr_assert_not(PARSE(&options, "--value-size", "1G"));
    cr_assert(strstr(problem, "at most 100M") != NULL, "%s", problem);
    cr_assert_not(PARSE(&options, "--threads", "0"));
    cr_assert(PARSE(&options, "--never-read", "0") && options.never_read == 0);
}

Test(load_options, a_table_has_a_name_that_the_servers_take)
{
    static const char *const BAD[] = {"",
                                      "a b",
                                      "-a",
                                      ".a",
                                      "a/b",
                                      "\xc3\xa4",
                                      "123456789012345678901234567890123456789012345678901"};
    struct load_options options;
    for (size_t i = 0; i < sizeof BAD / sizeof BAD[0]; i++) {
        cr_assert_not(PARSE(&options, "--table", BAD[i]), "%s", BAD[i]);
        cr_assert(strstr(problem, "--table") != NULL, "%s", problem);
    }
    cr_assert(PARSE(&options, "--table", "12345678901234567890123456789012345678901234567890"));
    cr_assert(PARSE(&options, "--table", "_A-z.9"));
}

Test(load_options, what_is_not_said_comes_from_the_workload)
{
    const struct load_workload *workload = load_workload_find("ycsb-e");
    struct load_options options;
    cr_assert(PARSE(&options, "--records", "7"));
    cr_assert(load_options_complete(&options, workload, problem));
    cr_assert(options.records == 7 && options.fields == 10 && options.value_bytes == 100);
    cr_assert(options.scan_rows == 100 && options.keys == LOAD_KEY_HASHED);
    cr_assert(options.operations == 0 && fabs(options.duration_s - 10) < 1e-12);
    cr_assert(PARSE(&options, "--records", "7"));
    cr_assert(load_options_complete(&options, load_workload_find("sequential-read"), problem));
    cr_assert(options.operations == 7);
}

Test(load_options, what_does_not_go_together_is_refused)
{
    struct load_options options;
    cr_assert(PARSE(&options, "--batch", "2"));
    cr_assert_not(load_options_complete(&options, load_workload_find("ycsb-a"), problem));
    cr_assert(PARSE(&options, "--batch", "2"));
    cr_assert_not(load_options_complete(&options, load_workload_find("read"), problem));
    cr_assert(PARSE(&options, "--batch", "50001", "--fields", "2"));
    cr_assert_not(load_options_complete(&options, load_workload_find("write"), problem));
    cr_assert(PARSE(&options, "--batch", "50k", "--fields", "2"));
    cr_assert(load_options_complete(&options, load_workload_find("write"), problem));
    cr_assert(PARSE(&options, "--late-max", "1"));
    cr_assert_not(load_options_complete(&options, load_workload_find("write"), problem));
    cr_assert(PARSE(&options, "--late-max", "1", "--rate", "5"));
    cr_assert(load_options_complete(&options, load_workload_find("write"), problem));
    cr_assert(PARSE(&options, "--interval", "5e-324"));
    cr_assert_not(load_options_complete(&options, load_workload_find("ycsb-a"), problem));
    cr_assert(strstr(problem, "--interval") != NULL, "%s", problem);
    cr_assert(PARSE(&options, "--threads", "2"));
    cr_assert_not(load_options_complete(&options, load_workload_find("write"), problem));
    cr_assert(PARSE(&options, "--keys", "ordered"));
    cr_assert_not(load_options_complete(&options, load_workload_find("add"), problem));
}

static bool goes(struct load_options *options, const char *workload)
{
    return load_options_complete(options, load_workload_find(workload), problem);
}

Test(load_options, what_would_do_nothing_is_refused)
{
    struct load_options options;
    cr_assert(PARSE(&options, "--scan-rows", "5"));
    cr_assert_not(goes(&options, "write"));
    cr_assert_str_eq(problem, "--scan-rows would do nothing: write has no scans");
    cr_assert(PARSE(&options, "--scan-rows", "5"));
    cr_assert(goes(&options, "ycsb-e"), "%s", problem);
    cr_assert(PARSE(&options, "--one-field"));
    cr_assert_not(goes(&options, "scan"));
    cr_assert_str_eq(problem, "--one-field would do nothing: scan reads no single rows");
    cr_assert(PARSE(&options, "--one-field"));
    cr_assert(goes(&options, "ycsb-f"), "%s", problem);
    cr_assert(PARSE(&options, "--zipfian", "0.5"));
    cr_assert_not(goes(&options, "write"));
    cr_assert(strstr(problem, "--zipfian would do nothing with --distribution uniform") != NULL,
              "%s", problem);
    cr_assert(PARSE(&options, "--zipfian", "0.5", "--distribution", "zipfian"));
    cr_assert(goes(&options, "write"), "%s", problem);
    cr_assert(PARSE(&options, "--zipfian", "0.5"));
    cr_assert(goes(&options, "ycsb-d") && fabs(options.zipfian - 0.5) < 1e-12, "%s", problem);
    cr_assert(PARSE(&options, "--hosts", "7"));
    cr_assert_not(goes(&options, "write"));
    cr_assert_str_eq(problem, "--hosts would do nothing with --keys ordered: it goes with series");
    cr_assert(PARSE(&options, "--hosts", "7", "--keys", "series"));
    cr_assert(goes(&options, "write") && options.hosts == 7, "%s", problem);
    cr_assert(PARSE(&options, "--keys", "series"));
    cr_assert(goes(&options, "write") && options.hosts == 1000, "%s", problem);
}

Test(load_options, what_counts_in_a_run_only_is_named)
{
    struct load_options options;
    char names[LOAD_PROBLEM_BYTES];
    cr_assert(PARSE(&options, "--records", "5", "--clients", "2", "--quiet"));
    cr_assert_not(load_options_of_run(&options, names));
    cr_assert(PARSE(&options, "--verify", "--duration", "5", "--rate", "7", "--records", "5"));
    cr_assert(load_options_of_run(&options, names));
    cr_assert_str_eq(names, "--rate, --duration, --verify");
}

/* What is as the workload has it need not be said; all else must be, or other rows are meant. */
Test(load_options, a_command_for_the_same_rows_says_all_that_differs)
{
    struct load_options options;
    char command[LOAD_COMMAND_BYTES];
    cr_assert(PARSE(&options, "--rate", "7"));
    cr_assert(goes(&options, "ycsb-c"), "%s", problem);
    load_options_command(&options, "load", load_workload_find("ycsb-c"), command);
    cr_assert_str_eq(command, "edubba-load load ycsb-c");
    load_options_command(&options, "run", load_workload_find("scan"), command);
    cr_assert_str_eq(command, "edubba-load run scan --fields 10 --value-size 100 --keys hashed");
    cr_assert(PARSE(&options, "--masters", "tcp://h:1", "--table", "T", "--presplit", "3",
                    "--records", "5", "--keys", "series", "--value-size", "9"));
    cr_assert(goes(&options, "write"), "%s", problem);
    load_options_command(&options, "", load_workload_find("write"), command);
    cr_assert_str_eq(command, "edubba-load write --masters tcp://h:1 --table T --presplit 3 "
                              "--records 5 --value-size 9 --keys series --hosts 1000");
    char masters[2 * LOAD_COMMAND_BYTES];
    memset(masters, 'm', sizeof masters);
    masters[sizeof masters - 1] = '\0';
    options.masters = masters; /* too long: cut off */
    load_options_command(&options, "load", load_workload_find("write"), command);
    cr_assert(strlen(command) == LOAD_COMMAND_BYTES - 1);
}

/* Each is refused by what it would take, and what is said names it; just below it is taken. */
Test(load_options, what_memory_cannot_hold_is_refused)
{
    struct load_options options;
    const struct load_workload *write = load_workload_find("write");
    cr_assert(PARSE(&options, "--in-flight", "1M", "--clients", "2"));
    cr_assert_not(load_options_complete(&options, write, problem));
    cr_assert_str_eq(problem,
                     "--in-flight 1000000 times --clients 2 is 2000000 requests in flight: "
                     "at most 1M");
    cr_assert(PARSE(&options, "--in-flight", "500k", "--clients", "2"));
    cr_assert(load_options_complete(&options, write, problem), "%s", problem);
    cr_assert(PARSE(&options, "--in-flight", "101", "--batch", "100k", "--value-size", "1"));
    cr_assert_not(load_options_complete(&options, write, problem));
    cr_assert_str_eq(problem, "--in-flight 101 times --clients 1 times --batch 100000 is 10100000 "
                              "rows in flight: at most 10M");
    cr_assert(PARSE(&options, "--in-flight", "100", "--batch", "100k", "--value-size", "1"));
    cr_assert(load_options_complete(&options, write, problem), "%s", problem);
    cr_assert(PARSE(&options, "--value-size", "100M", "--in-flight", "41"));
    cr_assert_not(load_options_complete(&options, write, problem));
    cr_assert(strstr(problem, "--value-size 100000000, with 41 rows") != NULL, "%s", problem);
    cr_assert(strstr(problem, "4.1 GB: at most 4 GB") != NULL, "%s", problem);
    cr_assert(PARSE(&options, "--value-size", "100M", "--in-flight", "40"));
    cr_assert(load_options_complete(&options, write, problem), "%s", problem);
    cr_assert(PARSE(&options, "--fields", "256", "--value-size", "100M"));
    cr_assert_not(load_options_complete(&options, write, problem)); /* one row is too many */
    cr_assert(PARSE(&options, "--records", "10000001", "--verify"));
    cr_assert_not(load_options_complete(&options, load_workload_find("add"), problem));
    cr_assert(strstr(problem, "--records 10000001") != NULL, "%s", problem);
    cr_assert(PARSE(&options, "--records", "10000001", "--verify"));
    cr_assert(load_options_complete(&options, load_workload_find("read"), problem), "%s", problem);
}

/* What nobody asked for is no reason to refuse. */
Test(load_options, in_flight_that_was_not_said_fits)
{
    struct load_options options;
    const struct load_workload *write = load_workload_find("write");
    cr_assert(PARSE(&options, "--rate", "1000", "--clients", "100"));
    cr_assert(load_options_complete(&options, write, problem), "%s", problem);
    cr_assert(options.in_flight == 10000);
    cr_assert(PARSE(&options, "--rate", "1000", "--batch", "1000", "--value-size", "100"));
    cr_assert(load_options_complete(&options, write, problem), "%s", problem);
    cr_assert(options.in_flight == 10000);
    cr_assert(PARSE(&options, "--rate", "1000"));
    cr_assert(load_options_complete(&options, write, problem) && options.in_flight == 16384);
    cr_assert(PARSE(&options, "--value-size", "100M"));
    cr_assert(load_options_complete(&options, write, problem) && options.in_flight == 40);
}

Test(load_options, only_a_slip_is_near)
{
    size_t distance = SIZE_MAX;
    cr_assert_not(load_word_is_near("bogus", "hosts", &distance));
    cr_assert_not(load_word_is_near("red", "add", &distance));
    cr_assert(load_word_is_near("recrods", "records", &distance) && distance == 2);
    cr_assert_not(load_word_is_near("recrods", "record", &distance));
    cr_assert(load_word_is_near("rad", "read", &(size_t){SIZE_MAX}));
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
    *options = load_options_default();
    cr_assert(load_options_complete(options, load_workload_find("ycsb-a"), problem));
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
