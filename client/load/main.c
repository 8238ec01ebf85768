#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "client/load/core/report.h"
#include "client/load/help.h"
#include "client/load/phase.h"

#define EXIT_CODE_OK          0
#define EXIT_CODE_FAILED      1
#define EXIT_CODE_USAGE       2
#define EXIT_CODE_INTERRUPTED 130
#define WORDS_MAX             3

/* What was asked for. */
struct command {
    bool load;
    bool run;
    bool only; /* "load" or "run" was said */
    const struct load_workload *workload;
};

static int misuse(const char *problem)
{
    fprintf(stderr, "edubba-load: %s\ntry: edubba-load help\n", problem);
    return EXIT_CODE_USAGE;
}

static int fail(const struct edubba_error *error)
{
    fprintf(stderr, "edubba-load: %s: %s\n", edubba_code_name(error->code), error->text);
    return EXIT_CODE_FAILED;
}

static int unknown_workload(const char *name)
{
    char problem[LOAD_PROBLEM_BYTES];
    const char *nearest = NULL;
    size_t best = 5;
    for (size_t i = 0; i < LOAD_WORKLOAD_COUNT; i++) {
        size_t distance = load_word_distance(name, LOAD_WORKLOADS[i].name);
        if (distance < best) {
            best = distance;
            nearest = LOAD_WORKLOADS[i].name;
        }
    }
    (void)snprintf(problem, sizeof problem, "there is no workload '%s'%s%s%s", name,
                   nearest != NULL ? "; is " : "", nearest != NULL ? nearest : "",
                   nearest != NULL ? " meant?" : "");
    return misuse(problem);
}

/* --- sub-commands ----------------------------------------------------------------------------- */

static int run_help(size_t count, const char *const *words)
{
    if (count == 0) {
        load_help(stdout);
        return EXIT_CODE_OK;
    }
    const struct load_workload *workload = load_workload_find(words[0]);
    if (workload == NULL) {
        return unknown_workload(words[0]);
    }
    load_help_workload(stdout, workload);
    return EXIT_CODE_OK;
}

static int run_drop(struct load_options *options)
{
    struct load_place place;
    struct edubba_error error;
    options->clients = 1;
    enum edubba_code code = load_place_open(&place, options, false, &error);
    if (code == EDUBBA_OK) {
        code = load_place_drop(&place, &error);
    }
    int exit_code = code == EDUBBA_OK ? EXIT_CODE_OK : fail(&error);
    load_place_close(&place);
    return exit_code;
}

static int exit_code_of(enum load_outcome outcome)
{
    switch (outcome) {
    case LOAD_DONE:
        return EXIT_CODE_OK;
    case LOAD_INTERRUPTED:
        return EXIT_CODE_INTERRUPTED;
    case LOAD_WRONG:
    case LOAD_FAILED:
        break;
    }
    return EXIT_CODE_FAILED;
}

static enum load_outcome run_phases(struct load_place *place,
                                    const struct load_options *options,
                                    const struct command *command,
                                    FILE *out)
{
    struct edubba_error error;
    enum load_outcome outcome = LOAD_DONE;
    bool load = command->only ? command->load
                              : place->table_is_new && command->workload->needs_rows;
    load_report_begin(out, (enum load_format)options->format);
    if (load) {
        outcome = load_phase(place, options, command->workload, true, out);
    }
    if (command->run && outcome == LOAD_DONE) {
        if (load_place_idle(place, &error) != EDUBBA_OK) {
            (void)fail(&error);
            return LOAD_FAILED;
        }
        outcome = load_phase(place, options, command->workload, false, out);
    }
    if (options->drop && load_place_drop(place, &error) != EDUBBA_OK) {
        (void)fail(&error);
        return LOAD_FAILED;
    }
    return outcome;
}

static int run_workload(struct load_options *options, const struct command *command)
{
    char problem[LOAD_PROBLEM_BYTES];
    struct load_place place;
    struct edubba_error error;
    FILE *out = stdout;
    if (command->only && command->load && command->workload->keys == LOAD_KEY_COUNTER) {
        return misuse("counters begin at 0: there is nothing to load");
    }
    if (!load_options_complete(options, command->workload, problem)) {
        return misuse(problem);
    }
    if (options->output != NULL && (out = fopen(options->output, "w")) == NULL) {
        fprintf(stderr, "edubba-load: %s: %s\n", options->output, strerror(errno));
        return EXIT_CODE_FAILED;
    }
    load_signals_catch();
    int exit_code = EXIT_CODE_FAILED;
    if (load_place_open(&place, options, true, &error) == EDUBBA_OK) {
        exit_code = exit_code_of(run_phases(&place, options, command, out));
    } else {
        (void)fail(&error);
    }
    load_place_close(&place);
    if (out != stdout ? fclose(out) != 0 : fflush(out) != 0) {
        fprintf(stderr, "edubba-load: the report could not be written: %s\n", strerror(errno));
        exit_code = EXIT_CODE_FAILED;
    }
    return exit_code;
}

static int run_words(struct load_options *options, size_t count, const char *const *words)
{
    struct command command = {.run = true};
    if (strcmp(words[0], "help") == 0) {
        return run_help(count - 1, words + 1);
    }
    if (strcmp(words[0], "drop") == 0) {
        return count == 1 ? run_drop(options)
                          : misuse("drop takes no words: name the table with --table");
    }
    if (strcmp(words[0], "load") == 0 || strcmp(words[0], "run") == 0) {
        command.only = true;
        command.load = words[0][0] == 'l';
        command.run = !command.load;
        words++;
        count--;
    }
    if (count != 1) {
        return misuse(count == 0 ? "which workload?" : "one workload at a time");
    }
    command.workload = load_workload_find(words[0]);
    return command.workload != NULL ? run_workload(options, &command) : unknown_workload(words[0]);
}

/* What is answered without a cluster.  False: go on. */
static bool answer(int count, char **arguments)
{
    for (int i = 1; i < count; i++) {
        if (strcmp(arguments[i], "--help") == 0 || strcmp(arguments[i], "-h") == 0) {
            load_help(stdout);
        } else if (strcmp(arguments[i], "--version") == 0) {
            puts("edubba-load " EDUBBA_VERSION);
        } else if (strcmp(arguments[i], "--man") == 0) { /* for the build */
            load_help_man(stdout);
        } else if (strcmp(arguments[i], "--words") == 0) { /* for shell completion */
            load_help_words(stdout, i + 1 < count ? arguments[i + 1] : NULL);
        } else {
            continue;
        }
        return true;
    }
    return false;
}

int main(int count, char **arguments)
{
    struct load_options options = load_options_default();
    const char *words[WORDS_MAX];
    size_t word_count = 0;
    char problem[LOAD_PROBLEM_BYTES];
    if (answer(count, arguments)) {
        return EXIT_CODE_OK;
    }
    if (!load_options_parse(&options, count - 1, arguments + 1, words, WORDS_MAX, &word_count,
                            problem)) {
        return misuse(problem);
    }
    if (word_count == 0) {
        load_help(stderr);
        return EXIT_CODE_USAGE;
    }
    return run_words(&options, word_count, words);
}
