/* edubba-load's options: parsed, completed from the workload, refused; the command to type next. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "client/load/core/options.h"

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

/* 60 bytes, and that there were more; "\xc3\xa9" is one character, and stays whole or goes. */
Test(load_options, what_is_too_long_for_a_complaint_is_not_cut_silently)
{
    struct load_options options;
    char word[300];
    char expected[LOAD_PROBLEM_BYTES];
    memset(word, 'w', sizeof word - 1);
    word[sizeof word - 1] = '\0';
    cr_assert_not(PARSE(&options, "--records", word));
    (void)snprintf(expected, sizeof expected, "--records cannot be '%.60s...': it is N, ", word);
    cr_assert_eq(strncmp(problem, expected, strlen(expected)), 0, "%s", problem);
    cr_assert_not(PARSE(&options, "--format", word));
    (void)snprintf(expected, sizeof expected, "--format cannot be '%.60s...': it is one of ", word);
    cr_assert_eq(strncmp(problem, expected, strlen(expected)), 0, "%s", problem);
    memcpy(word + 59, "\xc3\xa9", 2);
    cr_assert_not(PARSE(&options, "write", "load", word));
    (void)snprintf(expected, sizeof expected, "what is '%.59s...' for?", word);
    cr_assert_str_eq(problem, expected);
    word[60] = '\0';
    memset(word, '-', 2);
    word[59] = 'w';
    cr_assert_not(PARSE(&options, word));
    (void)snprintf(expected, sizeof expected, "there is no option '%.60s'", word);
    cr_assert_str_eq(problem, expected, "60 bytes are all of it");
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

static void expect_command(const struct load_options *options,
                           const char *phase,
                           const char *workload,
                           const char *expected)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    load_options_command(out, options, phase, load_workload_find(workload));
    (void)fclose(out);
    cr_assert_str_eq(text, expected);
    free(text);
}

/* What is as the workload has it need not be said; all else must be, or other rows are meant. */
Test(load_options, a_command_for_the_same_rows_says_all_that_differs)
{
    struct load_options options;
    cr_assert(PARSE(&options, "--rate", "7"));
    cr_assert(goes(&options, "ycsb-c"), "%s", problem);
    expect_command(&options, "load", "ycsb-c", "edubba-load load ycsb-c");
    expect_command(&options, "run", "scan",
                   "edubba-load run scan --fields 10 --value-size 100 --keys hashed");
    cr_assert(PARSE(&options, "--masters", "tcp://h:1", "--table", "T", "--presplit", "3",
                    "--records", "5", "--keys", "series", "--value-size", "9"));
    cr_assert(goes(&options, "write"), "%s", problem);
    expect_command(&options, "", "write",
                   "edubba-load write --masters tcp://h:1 --table T --presplit 3 "
                   "--records 5 --value-size 9 --keys series --hosts 1000");
}

/* The client takes blanks between addresses; a shell would take them for the ends of words. */
Test(load_options, addresses_with_blanks_between_them_stay_one_word)
{
    struct load_options options;
    cr_assert(PARSE(&options, "--masters", "tcp://h:1, tcp://i:1"));
    cr_assert(goes(&options, "ycsb-c"), "%s", problem);
    expect_command(&options, "load", "ycsb-c",
                   "edubba-load load ycsb-c --masters 'tcp://h:1, tcp://i:1'");
}

/* A command that lacks its end would be about other rows, or another table. */
Test(load_options, a_command_is_whole_however_long)
{
    struct load_options options;
    char masters[2000];
    char expected[2 * sizeof masters];
    memset(masters, 'm', sizeof masters);
    masters[sizeof masters - 1] = '\0';
    cr_assert(PARSE(&options, "--masters", masters, "--table", "T"));
    cr_assert(goes(&options, "ycsb-c"), "%s", problem);
    (void)snprintf(expected, sizeof expected, "edubba-load load ycsb-c --masters %s --table T",
                   masters);
    expect_command(&options, "load", "ycsb-c", expected);
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
