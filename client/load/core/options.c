#include "client/load/core/options.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/load/core/excerpt.h"

#define WORD_BYTES_MAX  64
#define NAME_BYTES_MAX  50 /* of a table, as the servers have it */
#define COUNT_MAX       1e15
#define FIELDS_MAX      256
#define VALUE_BYTES_MAX 100000000
#define BATCH_MAX       100000
#define CLIENTS_MAX     10000
#define CONNECTIONS_MAX 1024
#define SECONDS_MAX     1e8    /* three years; in nanoseconds far below what 64 bits hold */
#define TIMEOUT_S_MAX   1e6    /* in milliseconds below what 32 bits hold */
#define RATE_MAX        1e7    /* to count one late takes less time than comes between two */
#define ZIPFIAN_MAX     0.9999 /* at 1 the formula divides by zero */
#define PRESPLIT_MAX    1001   /* the master makes a table with 1 000 splits at most */
#define IN_FLIGHT_MAX   1000000
#define CONFINE_MIN     0.01
#define CONFINE_MAX     64
#define REPLICAS_MAX    6  /* edubba.h's, of a tablet */
#define SHOWN_BYTES     60 /* of what was said, in a complaint about it: the rest must fit behind */
#define AT(member)      offsetof(struct load_options, member)

const struct load_option LOAD_OPTIONS[] = {
    {"masters", "ADDRESSES", LOAD_OPTION_TEXT, AT(masters), 0, 0,
     "the masters, comma-separated; default: the environment variable EDUBBA_MASTERS,\n"
     "else tcp://127.0.0.1:7400",
     "Where"},
    {"table", "NAME", LOAD_OPTION_TEXT, AT(table), 0, 0,
     "the table, made when missing, but for `run`; one with other families is refused (LOAD)",
     NULL},
    {"presplit", "N", LOAD_OPTION_COUNT, AT(presplit), 1, PRESPLIT_MAX,
     "tablets of a table that is made, 1001 at most (1; of the lab two a server)", NULL},
    {"drop", NULL, LOAD_OPTION_FLAG, AT(drop), 0, 0,
     "delete the table at the end; default: keep it", NULL},
    {"records", "N", LOAD_OPTION_COUNT, AT(records), 1, COUNT_MAX, "rows, or counters of `add`",
     "What"},
    {"fields", "N", LOAD_OPTION_COUNT, AT(fields), 1, FIELDS_MAX, "cells a row", NULL},
    {"value-size", "BYTES", LOAD_OPTION_COUNT, AT(value_bytes), 1, VALUE_BYTES_MAX, "bytes a cell",
     NULL},
    {"batch", "N", LOAD_OPTION_COUNT, AT(batch), 1, BATCH_MAX,
     "rows a request: of `write`, `random-write`, `sequential-write` and `add` only (1)", NULL},
    {"scan-rows", "N", LOAD_OPTION_COUNT, AT(scan_rows), 1, COUNT_MAX,
     "rows a scan: uniform from 1 to N; default of `scan`: the whole table", NULL},
    {"keys", "ordered|hashed|series", LOAD_OPTION_CHOICE, AT(keys), 0, 0,
     "row keys: 16 digits; YCSB's user + hash; METRIC's host#time", NULL},
    {"distribution", "uniform|zipfian|latest|sequential", LOAD_OPTION_CHOICE, AT(distribution), 0,
     0, "how keys are chosen", NULL},
    {"zipfian", "THETA", LOAD_OPTION_NUMBER, AT(zipfian), 0.01, ZIPFIAN_MAX,
     "skew of zipfian and latest, from 0.01 to 0.9999: always below 1 (0.99)", NULL},
    {"hosts", "N", LOAD_OPTION_COUNT, AT(hosts), 1, COUNT_MAX, "machines of --keys series (1000)",
     NULL},
    {"one-field", NULL, LOAD_OPTION_FLAG, AT(one_field), 0, 0,
     "reads ask for one field; default: the whole row", NULL},
    {"in-flight", "N", LOAD_OPTION_COUNT, AT(in_flight), 1, IN_FLIGHT_MAX,
     "requests of one client at a time, in the open loop the most (64; open loop: 16384).\n"
     "Times --clients at most 1M, times --batch 10M rows, with values of 4 GB in all",
     "How hard"},
    {"clients", "N", LOAD_OPTION_COUNT, AT(clients), 1, CLIENTS_MAX,
     "separate client connections, 10000 at most (1)", NULL},
    {"rate", "N", LOAD_OPTION_NUMBER, AT(rate), 0.001, RATE_MAX,
     "open loop: requests a second over all clients, started on time whatever happens;\n"
     "latency counts from that time; default: closed loop, the next when one is done",
     NULL},
    {"late-max", "SECONDS", LOAD_OPTION_NUMBER, AT(late_max_s), 0.001, SECONDS_MAX,
     "open loop: what could not be sent for so long is counted late and not sent", NULL},
    {"threads", "N", LOAD_OPTION_COUNT, AT(threads), 1, CLIENTS_MAX,
     "threads that start requests, --clients at most; default: 1 in the open loop, else none:\n"
     "completions do",
     NULL},
    {"never-read", "N", LOAD_OPTION_COUNT, AT(never_read), 0, CLIENTS_MAX,
     "so many more clients, each with a scan of which it never takes a row (0)", NULL},
    {"messages", "N", LOAD_OPTION_COUNT, AT(messages), 1, CONNECTIONS_MAX,
     "messages on their way over a connection at once: more in flight means larger batches (4)",
     NULL},
    {"connections", "N", LOAD_OPTION_COUNT, AT(connections), 1, CONNECTIONS_MAX,
     "of each client to a server, for reads and for writes: with --messages 1 like N clients that\n"
     "wait for each answer (1)",
     NULL},
    {"timeout", "SECONDS", LOAD_OPTION_NUMBER, AT(timeout_s), 0.001, TIMEOUT_S_MAX,
     "deadline of a request (60); at the start, how long to wait for a cluster that is not there (5)",
     NULL},
    {"duration", "SECONDS", LOAD_OPTION_NUMBER, AT(duration_s), 0.001, SECONDS_MAX,
     "stop after (10, where the workload has no number of operations)", "How long"},
    {"operations", "N", LOAD_OPTION_COUNT, AT(operations), 1, COUNT_MAX,
     "stop after so many rows, or scans: of the whole table, where there is no --scan-rows", NULL},
    {"warmup", "SECONDS", LOAD_OPTION_NUMBER, AT(warmup_s), 0, SECONDS_MAX,
     "run so long before anything counts (0)", NULL},
    {"seed", "N", LOAD_OPTION_COUNT, AT(seed), 0, COUNT_MAX, "of all choices (1)", NULL},
    {"verify", NULL, LOAD_OPTION_FLAG, AT(verify), 0, 0,
     "check cells, sizes and values that are read, missing rows, sums; exit status 1 where one is\n"
     "wrong: --fields and --value-size as they were loaded.  Sums must\n"
     "not be added to by anybody else, nor rows be read while somebody still loads them",
     "What is told"},
    {"fail-on-errors", NULL, LOAD_OPTION_FLAG, AT(fail_on_errors), 0, 0,
     "exit status 1 when any request failed; default: when all did", NULL},
    {"format", "text|json|csv", LOAD_OPTION_CHOICE, AT(format), 0, 0, "of the report (text)", NULL},
    {"interval", "SECONDS", LOAD_OPTION_NUMBER, AT(interval_s), 0, SECONDS_MAX,
     "report a line, or a record, of each so many seconds, 0.001 or more, as well (0: none)", NULL},
    {"output", "FILE", LOAD_OPTION_TEXT, AT(output), 0, 0, "write the report there (stdout)", NULL},
    {"quiet", NULL, LOAD_OPTION_FLAG, AT(quiet), 0, 0,
     "no live progress; it is shown only on a terminal anyway", NULL},
    {"list", NULL, LOAD_OPTION_FLAG, AT(list), 0, 0, "name the experiments, a line each",
     "The lab (edubba-load lab)"},
    {"confine", "SHARE", LOAD_OPTION_NUMBER, AT(confine), CONFINE_MIN, CONFINE_MAX,
     "give each tablet server on this machine that share of a CPU meanwhile, by cgroup: 0.25",
     NULL},
    {"server-pids", "PIDS", LOAD_OPTION_TEXT, AT(server_pids), 0, 0,
     "the processes to confine, comma-separated; default: those that listen where the cluster says",
     NULL},
    {"html", "FILE", LOAD_OPTION_TEXT, AT(html), 0, 0,
     "write the page with charts there: one file that needs no other; none: no page; default, where the\n"
     "report is text: lab-NAME.html, here",
     NULL},
    {"json", "FILE", LOAD_OPTION_TEXT, AT(json), 0, 0,
     "write the figures there as JSON, whatever --format says", NULL},
    {"keep", NULL, LOAD_OPTION_FLAG, AT(keep), 0, 0,
     "leave the tables that were made; default: drop them", NULL},
    {"replicas", "N", LOAD_OPTION_COUNT, AT(replicas), 1, REPLICAS_MAX,
     "copies of each tablet of the tables that it makes (1): as many as there are servers make\n"
     "every server store every write, and then no key is better than another",
     NULL},
};
const size_t LOAD_OPTION_COUNT_ALL = sizeof LOAD_OPTIONS / sizeof LOAD_OPTIONS[0];

struct load_options load_options_default(void)
{
    return (struct load_options){
        .table = "LOAD",
        .clients = 1,
        .messages = 4,
        .connections = 1,
        .seed = 1,
        .format = LOAD_TEXT,
    };
}

/* --- values ----------------------------------------------------------------------------------- */

/* Decimal: strtod() would take blanks, signs and hexadecimal too. */
static bool number_parse(const char *text, double *ret_number, const char **ret_rest)
{
    char *end = NULL;
    if (strchr("0123456789.", text[0]) == NULL || strpbrk(text, "xX") != NULL) {
        return false;
    }
    double number = strtod(text, &end);
    if (end == text || !isfinite(number) || number < 0) {
        return false;
    }
    *ret_number = number;
    *ret_rest = end;
    return true;
}

/* The whole text: a number, which may end in k, M or G. */
static bool scaled_parse(const char *text, double *ret_number)
{
    const char *rest = NULL;
    if (!number_parse(text, ret_number, &rest)) {
        return false;
    }
    *ret_number *= *rest == 'k' ? 1e3 : *rest == 'M' ? 1e6 : *rest == 'G' ? 1e9 : 1;
    rest += *rest == 'k' || *rest == 'M' || *rest == 'G' ? 1 : 0;
    return *rest == '\0';
}

bool load_count_parse(const char *text, uint64_t *ret_count)
{
    double number = 0;
    if (!scaled_parse(text, &number) || number > COUNT_MAX || number < floor(number) ||
        number > floor(number)) {
        return false;
    }
    *ret_count = (uint64_t)number;
    return true;
}

static bool choice_parse(const char *choices, const char *text, uint64_t *ret_choice)
{
    size_t length = strlen(text);
    uint64_t number = 1;
    for (const char *at = choices; at != NULL; number++) {
        const char *bar = strchr(at, '|');
        size_t size = bar != NULL ? (size_t)(bar - at) : strlen(at);
        if (size == length && strncmp(at, text, size) == 0) {
            *ret_choice = number;
            return true;
        }
        at = bar != NULL ? bar + 1 : NULL;
    }
    return false;
}

static bool option_take(struct load_options *options,
                        const struct load_option *option,
                        const char *text)
{
    void *place = (char *)options + option->offset;
    double number = 0;
    uint64_t count = 0;
    switch (option->type) {
    case LOAD_OPTION_TEXT:
        *(const char **)place = text;
        return text[0] != '\0';
    case LOAD_OPTION_COUNT:
        if (!load_count_parse(text, &count) || (double)count < option->least ||
            (double)count > option->most) {
            return false;
        }
        *(uint64_t *)place = count;
        return true;
    case LOAD_OPTION_NUMBER:
        if (!scaled_parse(text, &number) || number < option->least || number > option->most) {
            return false;
        }
        *(double *)place = number;
        return true;
    case LOAD_OPTION_CHOICE:
        return choice_parse(option->argument, text, (uint64_t *)place);
    case LOAD_OPTION_FLAG:
        *(bool *)place = true;
        return true;
    }
    return false;
}

/* --- words ------------------------------------------------------------------------------------ */

size_t load_word_distance(const char *a, const char *b)
{
    size_t row[WORD_BYTES_MAX];
    size_t width = strlen(b);
    if (width >= WORD_BYTES_MAX) {
        return WORD_BYTES_MAX;
    }
    for (size_t j = 0; j <= width; j++) {
        row[j] = j;
    }
    for (size_t i = 0; a[i] != '\0'; i++) {
        size_t corner = row[0];
        row[0] = i + 1;
        for (size_t j = 0; j < width; j++) {
            size_t change = corner + (a[i] != b[j] ? 1 : 0);
            corner = row[j + 1];
            size_t best = row[j] + 1 < corner + 1 ? row[j] + 1 : corner + 1;
            row[j + 1] = change < best ? change : best;
        }
    }
    return row[width];
}

bool load_word_is_near(const char *word, const char *meant, size_t *distance)
{
    size_t letters = load_word_distance(word, meant);
    if (letters > 2 || letters * 2 >= strlen(meant) || letters >= *distance) {
        return false;
    }
    *distance = letters;
    return true;
}

static const struct load_option *option_find(const char *name, size_t length)
{
    for (size_t i = 0; i < LOAD_OPTION_COUNT_ALL; i++) {
        if (strncmp(LOAD_OPTIONS[i].name, name, length) == 0 &&
            LOAD_OPTIONS[i].name[length] == '\0') {
            return &LOAD_OPTIONS[i];
        }
    }
    return NULL;
}

static void say_unknown(const char *argument, char problem[LOAD_PROBLEM_BYTES])
{
    const char *nearest = NULL;
    size_t distance = SIZE_MAX;
    for (size_t i = 0; i < LOAD_OPTION_COUNT_ALL; i++) {
        if (load_word_is_near(argument + 2, LOAD_OPTIONS[i].name, &distance)) {
            nearest = LOAD_OPTIONS[i].name;
        }
    }
    (void)snprintf(problem, LOAD_PROBLEM_BYTES, "there is no option '" LOAD_EXCERPT "'%s%s%s",
                   LOAD_EXCERPT_OF(argument, SHOWN_BYTES), nearest != NULL ? "; is --" : "",
                   nearest != NULL ? nearest : "", nearest != NULL ? " meant?" : "");
}

/* "100k", or "0.5" where a letter is not usual; of any size short. */
static void write_bound(double bound, bool counts, char *out, size_t size)
{
    int tens = 0;
    const char *letter = "";
    if (bound >= 1e12) {
        for (; bound >= 10; bound /= 10) {
            tens++;
        }
        (void)snprintf(out, size, "%ge%d", bound, tens);
        return;
    }
    if (counts && bound >= 1e5) {
        letter = bound >= 1e9 ? "G" : bound >= 1e6 ? "M" : "k";
        bound /= bound >= 1e9 ? 1e9 : bound >= 1e6 ? 1e6 : 1e3;
    }
    (void)snprintf(out, size, "%.15g%s", bound, letter);
}

/* "a whole number like 64 or 1M, at least 1 and at most 100k" */
static void write_range(const struct load_option *option, char *out, size_t size)
{
    bool counts = option->type == LOAD_OPTION_COUNT;
    bool is_time = strcmp(option->argument, "SECONDS") == 0;
    char least[32];
    char most[32];
    write_bound(option->least, counts, least, sizeof least);
    write_bound(option->most, counts, most, sizeof most);
    (void)snprintf(out, size, "%s, at least %s and at most %s",
                   counts    ? "a whole number like 64 or 1M"
                   : is_time ? "a number like 0.5 or 60, without a unit"
                             : "a number like 0.5",
                   least, most);
}

static void say_wrong(const struct load_option *option,
                      const char *value,
                      char problem[LOAD_PROBLEM_BYTES])
{
    char range[128] = "";
    switch (option->type) {
    case LOAD_OPTION_CHOICE:
        (void)snprintf(problem, LOAD_PROBLEM_BYTES,
                       "--%s cannot be '" LOAD_EXCERPT "': it is one of %s", option->name,
                       LOAD_EXCERPT_OF(value, SHOWN_BYTES), option->argument);
        return;
    case LOAD_OPTION_COUNT:
    case LOAD_OPTION_NUMBER:
        write_range(option, range, sizeof range);
        (void)snprintf(problem, LOAD_PROBLEM_BYTES,
                       "--%s cannot be '" LOAD_EXCERPT "': it is %s, %s", option->name,
                       LOAD_EXCERPT_OF(value, SHOWN_BYTES), option->argument, range);
        return;
    case LOAD_OPTION_TEXT:
    case LOAD_OPTION_FLAG:
        break;
    }
    (void)snprintf(problem, LOAD_PROBLEM_BYTES, "--%s cannot be empty: it needs %s", option->name,
                   option->argument);
}

/* What the servers take for a table's name. */
static bool name_is_good(const char *name)
{
    static const char letters[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.";
    size_t length = strlen(name);
    return length <= NAME_BYTES_MAX && strspn(name, letters) == length && name[0] != '-' &&
           name[0] != '.';
}

/* The option at arguments[*index], with its value; moves the index on over it. */
static bool take_argument(struct load_options *options,
                          int count,
                          char *const *arguments,
                          int *index,
                          char problem[LOAD_PROBLEM_BYTES])
{
    const char *argument = arguments[*index];
    size_t length = strcspn(argument + 2, "=");
    const struct load_option *option = option_find(argument + 2, length);
    const char *value = argument[2 + length] == '=' ? argument + 2 + length + 1 : NULL;
    if (option == NULL) {
        say_unknown(argument, problem);
        return false;
    }
    if (option->type == LOAD_OPTION_FLAG && value != NULL) {
        (void)snprintf(problem, LOAD_PROBLEM_BYTES, "--%s takes no value", option->name);
        return false;
    }
    if (option->type != LOAD_OPTION_FLAG && value == NULL) {
        if (*index + 1 == count) {
            (void)snprintf(problem, LOAD_PROBLEM_BYTES, "--%s needs %s", option->name,
                           option->argument);
            return false;
        }
        *index += 1;
        value = arguments[*index];
    }
    if (!option_take(options, option, value)) {
        say_wrong(option, value, problem);
        return false;
    }
    return true;
}

bool load_options_parse(struct load_options *options,
                        int count,
                        char *const *arguments,
                        const char **words,
                        size_t words_max,
                        size_t *ret_word_count,
                        char ret_problem[LOAD_PROBLEM_BYTES])
{
    size_t word_count = 0;
    for (int i = 0; i < count; i++) {
        if (strncmp(arguments[i], "--", 2) == 0) {
            if (!take_argument(options, count, arguments, &i, ret_problem)) {
                return false;
            }
        } else if (word_count < words_max) {
            words[word_count++] = arguments[i];
        } else {
            (void)snprintf(ret_problem, LOAD_PROBLEM_BYTES, "what is '" LOAD_EXCERPT "' for?",
                           LOAD_EXCERPT_OF(arguments[i], SHOWN_BYTES));
            return false;
        }
    }
    if (!name_is_good(options->table)) {
        (void)snprintf(ret_problem, LOAD_PROBLEM_BYTES,
                       "--table cannot be '" LOAD_EXCERPT
                       "': a name has 1 to %d letters, digits, '_', '-' and "
                       "'.', and begins with none of the last two",
                       LOAD_EXCERPT_OF(options->table, SHOWN_BYTES), NAME_BYTES_MAX);
        return false;
    }
    *ret_word_count = word_count;
    return true;
}
