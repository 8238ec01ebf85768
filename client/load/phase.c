#include "client/load/phase.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "client/load/complaint.h"
#include "client/load/core/report.h"
#include "client/load/hint.h"
#include "client/load/signals.h"
#include "client/load/sums.h"
#include "client/load/watch.h"

#define REPORT_UNWRITABLE "the report could not be written"
#define LOAD_PHASE_BATCH  1
#define LOAD_PHASE_FLIGHT 512
#define LOAD_PHASE_BYTES  UINT64_C(1000000000) /* of values of that: fewer of large rows */

static uint64_t load_phase_in_flight(const struct load_options *options, uint64_t client_count)
{
    uint64_t fit = LOAD_PHASE_BYTES / (options->fields * options->value_bytes);
    return 1 + (fit < LOAD_PHASE_FLIGHT ? fit : LOAD_PHASE_FLIGHT) / client_count;
}

static struct load_run run_of(struct load_place *place,
                              const struct load_options *options,
                              const struct load_workload *workload,
                              bool is_load)
{
    struct load_run run = {
        .options = options,
        .workload = workload,
        .is_load = is_load,
        .keys = (enum load_key_form)options->keys,
        .distribution = (enum load_distribution)options->distribution,
        .batch = options->batch,
        .in_flight = options->in_flight,
        .operations = options->operations,
        .duration_s = options->duration_s,
        .warmup_s = options->warmup_s,
        .rate = options->rate,
        .thread_count = options->threads,
        .clients = place->clients,
        .client_count = place->client_count,
    };
    if (is_load) {
        run.distribution = LOAD_SEQUENTIAL;
        run.batch = LOAD_PHASE_BATCH;
        run.in_flight = load_phase_in_flight(options, place->client_count);
        run.operations = options->records;
        run.duration_s = 0;
        run.warmup_s = 0;
        run.rate = 0;
        run.thread_count = 0;
    }
    return run;
}

static enum load_outcome say(const struct edubba_error *error)
{
    (void)load_complain(error);
    return LOAD_FAILED;
}

static enum load_outcome say_nothing_found(const struct load_report *report)
{
    struct edubba_error error = {.code = EDUBBA_NOT_FOUND};
    char *hint = load_hint(report->options, "load", report->workload,
                           "Is it the right table, and --keys as it was loaded?  To load it:");
    (void)snprintf(error.text, sizeof error.text,
                   "not one of the rows that were read is in table %s", report->options->table);
    (void)load_complain_with(&error, hint);
    free(hint);
    return LOAD_WRONG;
}

/* What is not there is soon looked for: such figures are none of reading rows. */
static void warn_of_missing(const struct load_report *report)
{
    uint64_t looked_for = 0;
    uint64_t missing = load_report_missing(report, &looked_for);
    if (missing == 0) {
        return;
    }
    char *warning = load_hint(
        report->options, "load", report->workload,
        "%" PRIu64 " of %" PRIu64 " rows that were looked for are not in "
        "table %s, and count among the operations all the same: are --records "
        "and --keys as it was loaded?  To load it:",
        missing, looked_for, report->options->table);
    if (warning != NULL) {
        load_warn(warning);
    }
    free(warning);
}

static const char *code_name(int code)
{
    return edubba_code_name((enum edubba_code)code);
}

/* A run would find them missing, and whoever only looks at the exit status would take them for loaded. */
static enum load_outcome say_not_loaded(const struct load_run *run,
                                        const struct load_report *report)
{
    struct edubba_error error = {.code = run->first_error.code};
    char *hint = load_hint(report->options, "load", report->workload,
                           "Rows that are there may be written again.  To load all:");
    (void)snprintf(error.text, sizeof error.text,
                   "%" PRIu64 " of %" PRIu64 " rows were not loaded, or may not be; the first "
                   "error: %.300s",
                   load_report_errors(report), report->options->records, run->first_error.text);
    (void)load_complain_with(&error, hint);
    free(hint);
    return LOAD_FAILED;
}

/* Nothing more is sent once one could not be: it would not get further. */
static enum load_outcome say_fatal(const struct edubba_error *fatal)
{
    struct edubba_error error = {.code = fatal->code};
    (void)snprintf(error.text, sizeof error.text, "a request could not be submitted: %.400s",
                   fatal->text);
    return say(&error);
}

static enum load_outcome say_errors(const struct load_run *run, const char *which)
{
    struct edubba_error error = {.code = run->first_error.code};
    (void)snprintf(error.text, sizeof error.text, "%s%s%.400s", which,
                   error.code != EDUBBA_OK ? "; the first error: " : "", run->first_error.text);
    if (error.code == EDUBBA_OK) {
        error.code = EDUBBA_DEADLINE_EXCEEDED; /* all were late */
    }
    return say(&error);
}

static void check_sums(struct load_run *run,
                       struct load_place *place,
                       struct load_report *report,
                       struct load_sums_verdict *ret_verdict,
                       struct edubba_error *ret_unread)
{
    struct edubba_error error;
    if (load_sums_check(run->sums, place->clients[0].table, ret_verdict, &error) != EDUBBA_OK) {
        ret_unread->code = error.code;
        (void)snprintf(ret_unread->text, sizeof ret_unread->text, "sums could not be read: %.400s",
                       error.text);
        report->sums_unread = true;
    }
    report->sums_checked = ret_verdict->checked;
    report->sums_wrong = ret_verdict->wrong;
    report->sums_example = ret_verdict->example;
}

/* The report is out: what is the end of it all? */
static enum load_outcome judge(const struct load_watch *watch, const struct edubba_error *unread)
{
    const struct load_run *run = watch->run;
    const struct load_report *report = watch->report;
    if (watch->unwritable != 0) {
        (void)load_complain_file(REPORT_UNWRITABLE, watch->unwritable);
        return LOAD_FAILED;
    }
    if (run->fatal.code != EDUBBA_OK) {
        return say_fatal(&run->fatal);
    }
    if (unread->code != EDUBBA_OK) {
        return say(unread);
    }
    if (!load_was_interrupted() && load_report_found_nothing(report)) {
        return say_nothing_found(report);
    }
    warn_of_missing(report);
    if (run->options->verify && !load_report_is_verified(report)) {
        return LOAD_WRONG;
    }
    if (!load_was_interrupted() && load_report_all_failed(report)) {
        return say_errors(run, "not one operation succeeded");
    }
    if (!load_was_interrupted() && run->is_load && load_report_errors(report) > 0) {
        return say_not_loaded(run, report);
    }
    if (run->options->fail_on_errors && load_report_errors(report) > 0) {
        return say_errors(run, "--fail-on-errors: some operations failed");
    }
    return load_was_interrupted() ? LOAD_INTERRUPTED : LOAD_DONE;
}

/* After the end: compare sums, tell. */
static enum load_outcome conclude(struct load_watch *watch, struct load_place *place)
{
    struct load_run *run = watch->run;
    struct load_report *report = watch->report;
    struct load_sums_verdict verdict = {0};
    struct edubba_error unread = {0};
    report->interrupted = load_was_interrupted();
    report->first_error = run->first_error.text;
    report->first_wrong = run->first_wrong;
    load_watch_sum(watch);
    if (run->sums != NULL) {
        check_sums(run, place, report, &verdict, &unread);
    }
    if (!load_report_end(watch->out, (enum load_format)run->options->format, report)) {
        watch->unwritable = errno;
    }
    return judge(watch, &unread);
}

static enum load_outcome run_phase(struct load_run *run,
                                   struct load_place *place,
                                   struct load_report *report,
                                   FILE *out)
{
    struct load_copies *copies = calloc(1, sizeof *copies);
    struct load_watch watch;
    load_watch_begin(&watch, run, report, copies, out);
    load_signals_matter();
    if (copies == NULL || !load_run_init(run) || !load_run_start(run)) {
        exit(load_complain(&(struct edubba_error){
            .code = EDUBBA_RESOURCE_EXHAUSTED,
            .text = "not enough memory, or threads, for so many requests in flight",
        })); /* not back: some may be running */
    }
    load_watch_to_the_end(&watch);
    enum load_outcome outcome = conclude(&watch, place);
    free(copies);
    return outcome;
}

enum load_outcome load_phase(struct load_place *place,
                             const struct load_options *options,
                             const struct load_workload *workload,
                             bool is_load,
                             FILE *out)
{
    static const struct load_workload inserts = {.percent = {[LOAD_INSERT] = 100}};
    struct load_run run = run_of(place, options, is_load ? &inserts : workload, is_load);
    struct load_sums sums = {0};
    struct edubba_error error;
    struct load_report report = {
        .options = options,
        .workload = workload,
        .phase = is_load ? "load" : "run",
        .code_name = code_name,
    };
    if (options->verify && !is_load && workload->percent[LOAD_ADD] > 0) {
        run.sums = &sums;
        if (load_sums_begin(&sums, place->clients[0].table, options->records, &error) !=
            EDUBBA_OK) {
            load_sums_deinit(&sums);
            return say(&error);
        }
    }
    enum load_outcome outcome = run_phase(&run, place, &report, out);
    load_run_deinit(&run);
    load_sums_deinit(&sums);
    return outcome;
}
