#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client/load/complaint.h"
#include "client/load/core/excerpt.h"
#include "client/load/core/report.h"
#include "client/load/help.h"
#include "client/load/hint.h"
#include "client/load/lab/core/experiments/experiment.h"
#include "client/load/lab/lab.h"
#include "client/load/phase.h"
#include "client/load/signals.h"

#define WORDS_MAX         3
#define WARNING_BYTES_MAX (LOAD_PROBLEM_BYTES + 128)
#define NAME_SHOWN        60 /* of a workload that there is not */

/* What was asked for. */
struct command {
    bool load;
    bool run;
    bool only; /* "load" or "run" was said */
    const struct load_workload *workload;
};

static int unknown_workload(const char *name)
{
    char problem[LOAD_PROBLEM_BYTES];
    const char *nearest = NULL;
    size_t distance = SIZE_MAX;
    for (size_t i = 0; i < LOAD_WORKLOAD_COUNT; i++) {
        if (load_word_is_near(name, LOAD_WORKLOADS[i].name, &distance)) {
            nearest = LOAD_WORKLOADS[i].name;
        }
    }
    bool is_of_lab = lab_experiment_find(name) != NULL;
    nearest = is_of_lab ? name : nearest;
    (void)snprintf(problem, sizeof problem, "there is no workload '" LOAD_EXCERPT "'%s%s%s%s",
                   LOAD_EXCERPT_OF(name, NAME_SHOWN), nearest != NULL ? "; is " : "",
                   is_of_lab ? "lab " : "", nearest != NULL ? nearest : "",
                   nearest != NULL ? " meant?" : "");
    return load_complain_usage(problem);
}

/* --- sub-commands ----------------------------------------------------------------------------- */

/* The exit code of what was only to be printed: did all of it get to stdout? */
static int printed(void)
{
    return fflush(stdout) == 0 && ferror(stdout) == 0 ? EXIT_CODE_OK
                                                      : load_complain_file("stdout", errno);
}

/* Of the last that is named: `help run ycsb-a` is of ycsb-a. */
static int run_help(size_t count, const char *const *words)
{
    const struct load_workload *workload = NULL;
    if (count > 1 && strcmp(words[0], "lab") == 0) {
        if (strcmp(words[1], "all") == 0) {
            load_help_command(stdout, "lab");
        } else if (!lab_help(stdout, words[1])) {
            return lab_unknown(words[1]);
        }
        return printed();
    }
    for (size_t i = 0; i < count; i++) {
        workload = load_workload_find(words[i]);
        if (workload == NULL && !load_help_is_command(words[i])) {
            return unknown_workload(words[i]);
        }
    }
    if (workload != NULL) {
        load_help_workload(stdout, workload);
    } else if (count > 0) {
        load_help_command(stdout, words[count - 1]);
    } else {
        load_help(stdout);
    }
    return printed();
}

/* --help behind a command, a workload, or both: `run ycsb-a --records 5 --help`. */
static int help_behind(int count, char *const *arguments)
{
    const char *words[WORDS_MAX];
    size_t word_count = 0;
    for (int i = 1; i < count && arguments[i][0] != '-' && word_count < WORDS_MAX; i++) {
        words[word_count++] = arguments[i];
    }
    return run_help(word_count, words);
}

/* No client could be made of what was said, or the cluster did not take it. */
static int cannot_open(const struct load_place *place, const struct edubba_error *error)
{
    return error->code == EDUBBA_INVALID_ARGUMENT && place->client_count == 0
               ? load_complain_usage(error->text)
               : load_complain(error);
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
    int exit_code = code == EDUBBA_OK ? EXIT_CODE_OK : cannot_open(&place, &error);
    load_place_close(&place);
    return exit_code;
}

static int exit_code_of(enum load_outcome outcome)
{
    switch (outcome) {
    case LOAD_DONE:
        return EXIT_CODE_OK;
    case LOAD_INTERRUPTED:
        return load_signal_exit_code();
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
    if (!load_report_begin(out, (enum load_format)options->format)) {
        (void)load_complain_file("the report cannot be written", errno);
        return LOAD_FAILED;
    }
    if (load) {
        if (load_place_connect(place, command->workload, true, &error) != EDUBBA_OK) {
            (void)load_complain(&error);
            return LOAD_FAILED;
        }
        outcome = load_phase(place, options, command->workload, true, out);
    }
    if (command->run && outcome == LOAD_DONE) {
        if (load_place_connect(place, command->workload, false, &error) != EDUBBA_OK ||
            load_place_idle(place, &error) != EDUBBA_OK) {
            (void)load_complain(&error);
            return LOAD_FAILED;
        }
        outcome = load_phase(place, options, command->workload, false, out);
    }
    if (options->drop && load_place_drop(place, &error) != EDUBBA_OK) {
        (void)load_complain(&error);
        return LOAD_FAILED;
    }
    return outcome;
}

/* `run` makes no table: a slip in its name would leave an empty one. */
static int no_table(const struct edubba_error *error,
                    const struct load_options *options,
                    const struct load_workload *workload)
{
    char *hint = load_hint(options, workload->needs_rows ? "load" : "", workload,
                           "run makes no table.  To make it first:");
    int status = load_complain_with(error, hint);
    free(hint);
    return status;
}

/* The same options may well be said for both phases: so they are taken. */
static void warn_of_run_options(const struct load_options *said)
{
    char names[LOAD_PROBLEM_BYTES];
    char warning[WARNING_BYTES_MAX];
    if (load_options_of_run(said, names)) {
        (void)snprintf(warning, sizeof warning,
                       "load writes each row once, as fast as they are taken: of the run only, and "
                       "without effect here: %s",
                       names);
        load_warn(warning);
    }
}

/* Closed, or never opened: see keep_streams(). */
static bool stdout_can_be_written(void)
{
    int flags = fcntl(STDOUT_FILENO, F_GETFL);
    return flags != -1 && (flags & O_ACCMODE) != O_RDONLY;
}

static int run_workload(struct load_options *options, const struct command *command)
{
    char problem[LOAD_PROBLEM_BYTES];
    struct load_place place;
    struct edubba_error error;
    FILE *out = stdout;
    const struct load_options said = *options;
    if (command->only && command->load && command->workload->keys == LOAD_KEY_COUNTER) {
        return load_complain_usage("counters begin at 0: there is nothing to load");
    }
    if (!load_options_complete(options, command->workload, problem)) {
        return load_complain_usage(problem);
    }
    if (options->output != NULL && (out = fopen(options->output, "w")) == NULL) {
        return load_complain_file(options->output, errno);
    }
    if (out == stdout && !stdout_can_be_written()) {
        return load_complain_file("the report cannot be written", EBADF);
    }
    if (command->only && command->load) {
        warn_of_run_options(&said);
    }
    load_signals_catch();
    int exit_code = EXIT_CODE_FAILED;
    bool create = !command->only || command->load;
    enum edubba_code code = load_place_open(&place, options, create, &error);
    if (code == EDUBBA_OK) {
        exit_code = exit_code_of(run_phases(&place, options, command, out));
    } else if (code == EDUBBA_NOT_FOUND && !create) {
        exit_code = no_table(&error, options, command->workload);
    } else {
        exit_code = cannot_open(&place, &error);
    }
    load_place_close(&place);
    if (out != stdout) {
        (void)fclose(out); /* what was printed is flushed, and looked at, each time */
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
                          : load_complain_usage("drop takes no words: name the table with --table");
    }
    if (strcmp(words[0], "lab") == 0) {
        return lab_command(options, count - 1, words + 1);
    }
    if (strcmp(words[0], "load") == 0 || strcmp(words[0], "run") == 0) {
        command.only = true;
        command.load = words[0][0] == 'l';
        command.run = !command.load;
        words++;
        count--;
    }
    if (count != 1) {
        return load_complain_usage(count == 0 ? "which workload?" : "one workload at a time");
    }
    command.workload = load_workload_find(words[0]);
    return command.workload != NULL ? run_workload(options, &command) : unknown_workload(words[0]);
}

/* What is answered without a cluster, with the exit code of it.  False: go on. */
static bool answer(int count, char **arguments, int *ret_exit_code)
{
    for (int i = 1; i < count; i++) {
        if (strcmp(arguments[i], "--help") == 0 || strcmp(arguments[i], "-h") == 0) {
            *ret_exit_code = help_behind(count, arguments);
            return true;
        }
        if (strcmp(arguments[i], "--version") == 0) {
            puts("edubba-load " EDUBBA_VERSION);
        } else if (strcmp(arguments[i], "--man") == 0) { /* for the build */
            load_help_man(stdout);
        } else if (strcmp(arguments[i], "--words") == 0) { /* for shell completion */
            load_help_words(stdout, i + 1 < count ? arguments[i + 1] : NULL);
        } else {
            continue;
        }
        *ret_exit_code = printed();
        return true;
    }
    return false;
}

/* Messages of batches come and go: memory that is given back to the system each time is cleared by
 * it each time. */
static void keep_memory(void)
{
    (void)mallopt(M_MMAP_THRESHOLD, 32 << 20);
    (void)mallopt(M_TRIM_THRESHOLD, 64 << 20);
}

/* Where stdin, stdout or stderr is closed, the next socket would take its number, and get what is
 * printed.  What takes it instead refuses that. */
static void keep_streams(void)
{
    int file = 0;
    do {
        file = open("/dev/null", O_RDONLY);
    } while (file != -1 && file <= STDERR_FILENO);
    if (file != -1) {
        (void)close(file);
    }
}

int main(int count, char **arguments)
{
    struct load_options options = load_options_default();
    const char *words[WORDS_MAX];
    size_t word_count = 0;
    char problem[LOAD_PROBLEM_BYTES];
    int exit_code = EXIT_CODE_OK;
    keep_streams();
    keep_memory();
    load_complaint_begin(count, arguments);
    if (answer(count, arguments, &exit_code)) {
        return exit_code;
    }
    if (!load_options_parse(&options, count - 1, arguments + 1, words, WORDS_MAX, &word_count,
                            problem)) {
        return load_complain_usage(problem);
    }
    if (word_count == 0 && options.format == LOAD_JSON) {
        return load_complain_usage("which workload?");
    }
    if (word_count == 0) {
        load_help(stderr);
        return EXIT_CODE_USAGE;
    }
    return run_words(&options, word_count, words);
}
