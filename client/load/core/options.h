/*
 * Options: one table, from which parsing, help, man page and shell completion are made.
 */
#ifndef CLIENT_LOAD_CORE_OPTIONS_H
#define CLIENT_LOAD_CORE_OPTIONS_H

#include <stdio.h>

#include "client/load/core/workload.h"

enum load_format {
    LOAD_TEXT = 1,
    LOAD_JSON,
    LOAD_CSV,
};

struct load_options {
    /* where */
    const char *masters;
    const char *table;
    uint64_t presplit;
    bool drop;
    /* what; 0 = as the workload has it */
    uint64_t records;
    uint64_t fields;
    uint64_t value_bytes;
    uint64_t batch;
    uint64_t scan_rows;
    uint64_t hosts;
    uint64_t keys;         /* enum load_key_form */
    uint64_t distribution; /* enum load_distribution */
    double zipfian;
    bool one_field;
    /* how hard */
    uint64_t in_flight;
    uint64_t clients;
    uint64_t threads;
    double rate; /* a second, open loop; 0 = closed loop */
    double late_max_s;
    uint64_t never_read;
    uint64_t messages;
    uint64_t connections;
    double timeout_s; /* 0 = not given: LOAD_TIMEOUT_DEFAULT_S */
    /* how long */
    double duration_s;
    uint64_t operations;
    double warmup_s;
    uint64_t seed;
    /* what is told */
    bool verify;
    bool fail_on_errors;
    uint64_t format; /* enum load_format */
    double interval_s;
    const char *output;
    bool quiet;
    /* of the lab */
    bool list;
    bool keep;
    uint64_t replicas; /* copies of each tablet of its tables; 0 = one */
    double confine;    /* share of a CPU of each tablet server; 0 = not confined */
    const char *server_pids;
    const char *html;
    const char *json;
};

#define LOAD_TIMEOUT_DEFAULT_S 60

enum load_option_type {
    LOAD_OPTION_TEXT,
    LOAD_OPTION_COUNT, /* with k, M, G: thousands */
    LOAD_OPTION_NUMBER,
    LOAD_OPTION_FLAG,
    LOAD_OPTION_CHOICE,
};

struct load_option {
    const char *name;     /* without the dashes */
    const char *argument; /* what help calls it; of a choice "a|b|c", numbered from 1 */
    enum load_option_type type;
    size_t offset;
    double least; /* of a number or count */
    double most;
    const char *help;
    const char *heading; /* of a group, at its first; else NULL */
};

extern const struct load_option LOAD_OPTIONS[];
extern const size_t LOAD_OPTION_COUNT_ALL;

struct load_options load_options_default(void);

/*
 * Take arguments; what are no options are left in words (at most words_max, in order).
 * False: ret_problem says what is wrong, naming the nearest option where one was mistyped.
 */
#define LOAD_PROBLEM_BYTES 256
bool load_options_parse(struct load_options *options,
                        int count,
                        char *const *arguments,
                        const char **words,
                        size_t words_max,
                        size_t *ret_word_count,
                        char ret_problem[LOAD_PROBLEM_BYTES]);

/* "10", "64k", "1.5M" -> number. */
bool load_count_parse(const char *text, uint64_t *ret_count);

/* Put in what the workload has where nothing was said.  False: ret_problem says why they do not go
 * together, or what would do nothing. */
bool load_options_complete(struct load_options *options,
                           const struct load_workload *workload,
                           char ret_problem[LOAD_PROBLEM_BYTES]);

/* Of what was said (not completed yet), that which counts in a run and not while rows are loaded, as
 * "--rate, --duration".  False: nothing. */
bool load_options_of_run(const struct load_options *said, char out[LOAD_PROBLEM_BYTES]);

/* Write the command for another phase ("load", "run"; "" for both) or workload on the same table with
 * the same rows, with all that has to be said for that: it can be pasted. */
void load_options_command(FILE *out,
                          const struct load_options *options, /* complete */
                          const char *phase,
                          const struct load_workload *workload);

/* How far one word is from another, in letters changed. */
size_t load_word_distance(const char *a, const char *b);

/* May meant have been meant, rather than another word: nearer than *distance, and a slip away?
 * Sets *distance, which begins as SIZE_MAX. */
bool load_word_is_near(const char *word, const char *meant, size_t *distance);

#endif /* CLIENT_LOAD_CORE_OPTIONS_H */
