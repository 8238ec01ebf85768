#include "client/load/lab/lab.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client/load/complaint.h"
#include "client/load/core/excerpt.h"
#include "client/load/core/report.h"
#include "client/load/lab/confine.h"
#include "client/load/lab/core/report/verdict.h"
#include "client/load/lab/outlets.h"
#include "client/load/lab/pids.h"
#include "client/load/lab/trial.h"
#include "client/load/signals.h"

/* --- confinement ------------------------------------------------------------------------------ */

/* Shares that add up to all processors keep nobody apart: the load and the masters need some, too. */
static void warn_of_wide_shares(struct lab_trial *trial, size_t count)
{
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    size_t length = strlen(trial->confinement);
    char warning[LAB_ERROR_BYTES];
    if (processors < 1 || trial->options->confine * (double)count < (double)processors) {
        return;
    }
    (void)snprintf(warning, sizeof warning,
                   "--confine %g for each of %zu servers is all that the %ld processors here have: "
                   "they still share them",
                   trial->options->confine, count, processors);
    load_warn(warning);
    (void)snprintf(trial->confinement + length, sizeof trial->confinement - length,
                   ", all that the %ld processors here have: they still share them", processors);
    trial->shares_processors = count > 1;
}

static void confine(struct lab_confine *confine, struct lab_trial *trial)
{
    const struct load_options *options = trial->options;
    char *said = trial->confinement;
    pid_t pids[LAB_SERVERS_MAX];
    size_t hidden = 0;
    size_t count = lab_pids_find(trial->servers, trial->server_count, pids, &hidden);
    said[0] = '\0';
    if (options->confine <= 0) {
        /* Of what shares a processor the busy one takes what the idle ones leave. */
        trial->shares_processors = count + hidden > 1;
        if (trial->shares_processors) {
            (void)snprintf(said, LAB_ERROR_BYTES,
                           "the servers share one machine and are not confined: shares tell, rates "
                           "hardly do (--confine 0.25)");
        }
        return;
    }
    if (options->server_pids != NULL) {
        (void)lab_pids_parse(options->server_pids, pids, &count); /* was looked at before */
        hidden = 0;
    }
    if (hidden > 0) {
        (void)snprintf(said, LAB_ERROR_BYTES,
                       "not confined: %zu tablet servers of this machine run as another user: to "
                       "confine them it takes root (sudo -E)",
                       hidden);
        load_warn(said);
        trial->shares_processors = count + hidden > 1;
    } else if (!lab_confine_begin(confine, pids, count, options->confine, said, LAB_ERROR_BYTES)) {
        load_warn(said);
        trial->shares_processors = count > 1;
    } else {
        warn_of_wide_shares(trial, count);
    }
}

/* --- running ---------------------------------------------------------------------------------- */

/* What was asked for: [first, end) of LAB_EXPERIMENTS. */
struct choice {
    size_t first;
    size_t end;
};

static int run_one(struct lab_trial *trial,
                   const struct lab_experiment *experiment,
                   struct lab_outlets *outlets)
{
    struct lab_result *result = malloc(sizeof *result);
    int exit_code = EXIT_CODE_FAILED;
    if (result == NULL || !lab_result_init(result, experiment)) {
        exit_code = load_complain(
            &(struct edubba_error){.code = EDUBBA_RESOURCE_EXHAUSTED, .text = "out of memory"});
    } else {
        exit_code = lab_trial_run(trial, result);
        lab_verdict(result);
        lab_outlets_tell(outlets, trial->options, result);
    }
    if (result != NULL) {
        lab_result_deinit(result);
    }
    free(result);
    return exit_code;
}

static int run_chosen(struct lab_trial *trial, struct choice choice, struct lab_outlets *outlets)
{
    int exit_code = EXIT_CODE_OK;
    for (size_t i = choice.first; i < choice.end; i++) {
        int code = run_one(trial, LAB_EXPERIMENTS[i], outlets);
        exit_code = exit_code == EXIT_CODE_OK ? code : exit_code;
        if (load_was_interrupted()) {
            return load_signal_exit_code();
        }
        if (outlets->failed != NULL) {
            break;
        }
    }
    return exit_code;
}

/* A copy takes a server of its own: who asks for more would wait for them, for each table again. */
static enum edubba_code check_replicas(const struct lab_trial *trial, struct edubba_error *error)
{
    if (trial->options->replicas <= trial->server_count) {
        return EDUBBA_OK;
    }
    error->code = EDUBBA_FAILED_PRECONDITION;
    (void)snprintf(error->text, sizeof error->text,
                   "--replicas %" PRIu64 " takes as many tablet servers, and %zu are there",
                   trial->options->replicas, trial->server_count);
    return error->code;
}

static int run(const struct load_options *options,
               struct choice choice,
               struct lab_outlets *outlets)
{
    struct lab_stand stand;
    struct lab_confine confined = {0};
    struct edubba_error error;
    struct lab_trial trial = {.options = options, .stand = &stand};
    int exit_code = EXIT_CODE_FAILED;
    load_signals_catch();
    enum edubba_code code = lab_stand_open(&stand, options, &error);
    if (code == EDUBBA_OK) {
        code = lab_stand_servers(&stand, options->replicas, trial.servers, LAB_SERVERS_MAX,
                                 &trial.server_count, &error);
    }
    if (code == EDUBBA_OK) {
        code = check_replicas(&trial, &error);
    }
    if (code != EDUBBA_OK) {
        exit_code = load_complain(&error);
    } else {
        load_signals_matter();
        confine(&confined, &trial);
        exit_code = run_chosen(&trial, choice, outlets);
        lab_confine_end(&confined);
    }
    lab_stand_close(&stand);
    return exit_code;
}

/* --- the command ------------------------------------------------------------------------------ */

#define DURATION_S    10
#define HISTORY       20000
#define REPLICAS      1
#define CLOSED_FLIGHT 64
#define OPEN_FLIGHT   4096
#define FLIGHT_MAX    100000
#define HISTORY_MAX   1000000
#define NAME_SHOWN    60 /* of an experiment that there is not */

static int refuse(const char *what)
{
    return load_complain_usage(what);
}

/* An option that was given and is none of ours: it would do nothing.  NULL = there is none. */
static const char *stray_option(const struct load_options *options)
{
    const struct {
        bool is_given;
        const char *name;
    } strays[] = {
        {strcmp(options->table, load_options_default().table) != 0, "--table"},
        {options->drop, "--drop"},
        {options->fields > 0, "--fields"},
        {options->value_bytes > 0, "--value-size"},
        {options->batch > 0, "--batch"},
        {options->scan_rows > 0, "--scan-rows"},
        {options->keys > 0, "--keys"},
        {options->distribution > 0, "--distribution"},
        {options->one_field, "--one-field"},
        {options->hosts > 0, "--hosts"},
        {options->zipfian > 0, "--zipfian"},
        {options->late_max_s > 0, "--late-max"},
        {options->threads > 0, "--threads"},
        {options->never_read > 0, "--never-read"},
        {options->operations > 0, "--operations"},
        {options->warmup_s > 0, "--warmup"},
        {options->verify, "--verify"},
        {options->fail_on_errors, "--fail-on-errors"},
        {options->interval_s > 0, "--interval"},
    };
    for (size_t i = 0; i < sizeof strays / sizeof strays[0]; i++) {
        if (strays[i].is_given) {
            return strays[i].name;
        }
    }
    return NULL;
}

/* Put in what was not said.  False: *ret_exit_code is of what does not go. */
static bool complete(struct load_options *options, int *ret_exit_code)
{
    pid_t pids[LAB_SERVERS_MAX];
    size_t count = 0;
    char problem[LOAD_PROBLEM_BYTES];
    const char *stray = stray_option(options);
    if (options->in_flight == 0) {
        options->in_flight = options->rate > 0 ? OPEN_FLIGHT : CLOSED_FLIGHT;
    }
    options->records = options->records > 0 ? options->records : HISTORY;
    options->replicas = options->replicas > 0 ? options->replicas : REPLICAS;
    options->duration_s = options->duration_s > 0 ? options->duration_s : DURATION_S;
    if (stray != NULL) {
        (void)snprintf(problem, sizeof problem, "%s does not go with the lab", stray);
        *ret_exit_code = refuse(problem);
    } else if (options->format == LOAD_CSV) {
        *ret_exit_code = refuse("the lab tells its results as text or json, not as csv");
    } else if (options->in_flight * options->clients > FLIGHT_MAX) {
        *ret_exit_code = refuse("--in-flight times --clients is at most 100k in the lab");
    } else if (options->records > HISTORY_MAX) {
        *ret_exit_code = refuse("--records is at most 1M in the lab");
    } else if (options->server_pids != NULL &&
               !lab_pids_parse(options->server_pids, pids, &count)) {
        *ret_exit_code = refuse("--server-pids is a list of process ids, like 4711,4712");
    } else if (options->server_pids != NULL && options->confine <= 0) {
        *ret_exit_code = refuse("--server-pids goes with --confine");
    } else {
        return true;
    }
    return false;
}

int lab_unknown(const char *name)
{
    char problem[LOAD_PROBLEM_BYTES];
    const char *nearest = NULL;
    size_t distance = SIZE_MAX;
    for (size_t i = 0; i < LAB_EXPERIMENT_COUNT; i++) {
        if (load_word_is_near(name, LAB_EXPERIMENTS[i]->name, &distance)) {
            nearest = LAB_EXPERIMENTS[i]->name;
        }
    }
    (void)snprintf(problem, sizeof problem, "there is no experiment '" LOAD_EXCERPT "'%s%s%s",
                   LOAD_EXCERPT_OF(name, NAME_SHOWN), nearest != NULL ? "; is " : "",
                   nearest != NULL ? nearest : "",
                   nearest != NULL ? " meant?" : ": lab --list names them");
    return load_complain_usage(problem);
}

static void list_as_json(FILE *out)
{
    for (size_t i = 0; i < LAB_EXPERIMENT_COUNT; i++) {
        fputs(i == 0 ? "[{\"name\":" : ",{\"name\":", out);
        load_report_json_text(out, LAB_EXPERIMENTS[i]->name);
        fputs(",\"summary\":", out);
        load_report_json_text(out, LAB_EXPERIMENTS[i]->summary);
        fputc('}', out);
    }
    fputs("]\n", out);
}

int lab_command(struct load_options *options, size_t count, const char *const *words)
{
    struct choice choice = {0, LAB_EXPERIMENT_COUNT};
    struct lab_outlets outlets;
    int exit_code = EXIT_CODE_OK;
    if (options->list) {
        if (options->format == LOAD_JSON) {
            list_as_json(stdout);
        } else {
            lab_help_list(stdout);
        }
        return fflush(stdout) == 0 ? EXIT_CODE_OK : load_complain_file("stdout", errno);
    }
    if (count != 1) {
        return load_complain_usage(count == 0 ? "which experiment?  `edubba-load lab --list`"
                                              : "one experiment at a time, or `lab all`");
    }
    if (strcmp(words[0], "all") != 0) {
        while (choice.first < choice.end &&
               strcmp(LAB_EXPERIMENTS[choice.first]->name, words[0]) != 0) {
            choice.first++;
        }
        if (choice.first == choice.end) {
            return lab_unknown(words[0]);
        }
        choice.end = choice.first + 1;
    }
    if (!complete(options, &exit_code)) {
        return exit_code;
    }
    if (lab_outlets_open(&outlets, options, words[0])) {
        exit_code = run(options, choice, &outlets);
    }
    return lab_outlets_close(&outlets, options, exit_code);
}

/* --- help ------------------------------------------------------------------------------------- */

void lab_help_list(FILE *out)
{
    for (size_t i = 0; i < LAB_EXPERIMENT_COUNT; i++) {
        fprintf(out, "%-12s %s\n", LAB_EXPERIMENTS[i]->name, LAB_EXPERIMENTS[i]->summary);
    }
}

bool lab_help(FILE *out, const char *name)
{
    const struct lab_experiment *experiment = lab_experiment_find(name);
    if (experiment == NULL) {
        return false;
    }
    fprintf(out, "edubba-load lab %s -- %s\n\n%s\n\n", name, experiment->summary,
            experiment->story);
    for (size_t i = 0; i < experiment->variant_count; i++) {
        const struct lab_variant *variant = &experiment->variants[i];
        fprintf(out, "  %-18s %s\n  %-18s %s\n", variant->name, variant->key, "", variant->about);
    }
    for (size_t i = 0; i < LAB_QUERIES_MAX && experiment->queries[i] != NULL; i++) {
        fprintf(out, "%s  %-18s %s\n", i == 0 ? "\n" : "", i == 0 ? "queries" : "",
                experiment->queries[i]);
    }
    return true;
}

void lab_help_each(
    void (*each)(void *context, const char *name, const char *summary, const char *story),
    void *context)
{
    for (size_t i = 0; i < LAB_EXPERIMENT_COUNT; i++) {
        each(context, LAB_EXPERIMENTS[i]->name, LAB_EXPERIMENTS[i]->summary,
             LAB_EXPERIMENTS[i]->story);
    }
}
