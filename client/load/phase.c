#include "client/load/phase.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "client/load/complaint.h"
#include "client/load/core/report.h"
#include "client/load/hint.h"
#include "client/load/progress.h"
#include "client/load/silence.h"
#include "client/load/sums.h"

#define NS_PER_S          INT64_C(1000000000)
#define SILENT_S          2               /* without an answer: progress says so */
#define LOOK_NS           (NS_PER_S / 20) /* how soon Ctrl-C is seen */
#define SAME_SIGNAL_NS    (NS_PER_S / 2)
#define REPORT_UNWRITABLE "the report could not be written"
#define LOAD_PHASE_BATCH  1
#define LOAD_PHASE_FLIGHT 512
#define LOAD_PHASE_BYTES  UINT64_C(1000000000) /* of values of that: fewer of large rows */

static volatile sig_atomic_t interrupted; /* the signal's number */
static volatile sig_atomic_t has_begun;   /* a phase: there is something to report */
static atomic_llong interrupted_ns;       /* when; 0 = not yet */

/* The second one quits; but `timeout` signals the child and its group, so that one Ctrl-C comes twice. */
static void on_signal(int number)
{
    long long first_ns = 0;
    long long now_ns = load_now_ns();
    if (!has_begun) {
        _exit(EXIT_CODE_SIGNAL + number);
    }
    if (atomic_compare_exchange_strong(&interrupted_ns, &first_ns, now_ns)) {
        interrupted = number;
    } else if (now_ns - first_ns > SAME_SIGNAL_NS) {
        _exit(EXIT_CODE_SIGNAL + number);
    }
}

void load_signals_catch(void)
{
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    struct sigaction before;
    (void)sigaction(SIGINT, &action, NULL);
    (void)sigaction(SIGTERM, &action, NULL);
    if (sigaction(SIGHUP, NULL, &before) != 0 || before.sa_handler != SIG_IGN) {
        (void)sigaction(SIGHUP, &action, NULL);
    }
}

void load_signals_matter(void)
{
    has_begun = 1;
}

bool load_was_interrupted(void)
{
    return interrupted != 0;
}

int load_signal_exit_code(void)
{
    return EXIT_CODE_SIGNAL + interrupted;
}

/* --- copies ----------------------------------------------------------------------------------- */

struct copies {
    struct load_tally begin[LOAD_KINDS]; /* when the warm-up was over */
    struct load_tally second[LOAD_KINDS];
    struct load_tally interval[LOAD_KINDS];
    struct load_tally now[LOAD_KINDS];
    struct load_tally difference[LOAD_KINDS];
};

static void subtract(struct load_tally *later, struct load_tally *earlier, struct load_tally *out)
{
    for (int kind = 0; kind < LOAD_KINDS; kind++) {
        load_tally_subtract(&later[kind], &earlier[kind], &out[kind]);
    }
}

static double cpu_s(void)
{
    struct rusage usage;
    (void)getrusage(RUSAGE_SELF, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

/* --- watching --------------------------------------------------------------------------------- */

struct watch {
    struct load_run *run;
    struct load_report *report;
    struct copies *copies;
    FILE *out;
    bool live;
    bool is_counting; /* the warm-up is over */
    double begin_cpu_s;
    int64_t begin_ns;
    int64_t second_ns; /* of the last copies */
    int64_t interval_ns;
    struct load_silence silence;
    int64_t stopped_ns; /* 0 = not yet */
    int64_t end_ns;     /* when the last answer had come */
    double end_cpu_s;
    bool has_said_so;
    int unwritable; /* 0, or the errno that the report met */
};

static void start_counting(struct watch *watch, int64_t now_ns)
{
    load_run_gather(watch->run, watch->copies->begin);
    memcpy(watch->copies->second, watch->copies->begin, sizeof watch->copies->begin);
    memcpy(watch->copies->interval, watch->copies->begin, sizeof watch->copies->begin);
    watch->begin_cpu_s = cpu_s();
    watch->begin_ns = now_ns;
    watch->second_ns = now_ns;
    watch->interval_ns = now_ns;
    watch->is_counting = true;
}

static void show_progress(struct watch *watch, int64_t now_ns)
{
    struct copies *copies = watch->copies;
    double length_s = (double)(now_ns - watch->second_ns) / 1e9;
    uint64_t operations = 0;
    uint64_t rows = 0;
    uint64_t errors = 0;
    char operation_rate[LOAD_RATE_BYTES];
    char row_rate[LOAD_RATE_BYTES];
    uint64_t missing = 0;
    char p50[LOAD_TIME_BYTES];
    char p99[LOAD_TIME_BYTES];
    struct load_histogram *times = &copies->difference[0].times;
    load_run_gather(watch->run, copies->now);
    subtract(copies->now, copies->second, copies->difference);
    memcpy(copies->second, copies->now, sizeof copies->now);
    for (int kind = 0; kind < LOAD_KINDS; kind++) {
        operations += copies->difference[kind].operations;
        rows += copies->difference[kind].rows;
        errors += load_tally_errors(&copies->now[kind]);
        missing += copies->now[kind].missing;
        for (size_t i = 0; kind > 0 && i < LOAD_HISTOGRAM_BUCKETS; i++) {
            times->counts[i] += copies->difference[kind].times.counts[i];
        }
    }
    struct load_progress progress = {0};
    load_progress_add(&progress, "%s %s  %.0f s%s  %s operations/s  %s rows/s  p50 %s  p99 %s",
                      watch->report->workload->name, watch->report->phase,
                      (double)(now_ns - watch->run->begun_ns) / 1e9,
                      watch->is_counting ? "" : " (warm-up)",
                      load_rate_text((double)operations / length_s, operation_rate),
                      load_rate_text((double)rows / length_s, row_rate),
                      load_time_text(load_histogram_percentile(times, 0.50), p50),
                      load_time_text(load_histogram_percentile(times, 0.99), p99));
    if (errors > 0) {
        load_progress_add(&progress, "  %" PRIu64 " errors", errors);
    }
    if (missing > 0) {
        load_progress_add(&progress, "  %" PRIu64 " missing", missing);
    }
    double silent_s = load_silence_s(&watch->silence, now_ns);
    if (silent_s >= SILENT_S) {
        load_progress_add(&progress, "  nothing answered for %.0f s", silent_s);
    }
    load_progress_show(&progress);
    watch->second_ns = now_ns;
}

static void tell_interval(struct watch *watch, int64_t now_ns)
{
    struct copies *copies = watch->copies;
    struct load_sample sample = {
        .from_s = (double)(watch->interval_ns - watch->begin_ns) / 1e9,
        .to_s = (double)(now_ns - watch->begin_ns) / 1e9,
        .tallies = copies->difference,
    };
    load_run_gather(watch->run, copies->now);
    subtract(copies->now, copies->interval, copies->difference);
    memcpy(copies->interval, copies->now, sizeof copies->now);
    if (!load_report_interval(watch->out, (enum load_format)watch->run->options->format,
                              watch->report, &sample)) {
        watch->unwritable = errno;
    }
    watch->interval_ns = now_ns;
}

/* The time of the next thing to do. */
static int64_t next_look_ns(const struct watch *watch, int64_t now_ns, int64_t stop_ns)
{
    int64_t at_ns = now_ns + LOOK_NS;
    double interval_s = watch->run->options->interval_s;
    if (interval_s > 0) {
        int64_t next_ns = watch->interval_ns + (int64_t)(interval_s * 1e9);
        at_ns = next_ns < at_ns ? next_ns : at_ns;
    }
    return stop_ns < at_ns && stop_ns > now_ns ? stop_ns : at_ns;
}

static void look(struct watch *watch, int64_t now_ns)
{
    const struct load_run *run = watch->run;
    double interval_s = run->options->interval_s;
    if (!watch->is_counting && (double)(now_ns - run->begun_ns) >= run->warmup_s * 1e9) {
        start_counting(watch, now_ns);
    }
    if (interval_s > 0 && watch->is_counting && !run->is_load &&
        (double)(now_ns - watch->interval_ns) >= interval_s * 1e9) {
        tell_interval(watch, now_ns);
    }
    load_silence_look(&watch->silence, now_ns);
    if (watch->live && now_ns - watch->second_ns >= NS_PER_S) {
        show_progress(watch, now_ns);
    }
}

/* Requests in flight are waited for: say so where that takes long. */
static void say_stopping(struct watch *watch, int64_t now_ns)
{
    if (watch->stopped_ns == 0) {
        watch->stopped_ns = now_ns;
    } else if (!watch->has_said_so && now_ns - watch->stopped_ns > NS_PER_S) {
        fputs(watch->live ? LOAD_PROGRESS_CLEAR : "", stderr);
        load_say_waiting(interrupted ? "waiting for the requests in flight; Ctrl-C quits at once"
                                     : "waiting for the requests in flight");
        watch->has_said_so = true;
    }
}

static void watch_to_the_end(struct watch *watch)
{
    struct load_run *run = watch->run;
    int64_t now_ns = run->begun_ns;
    int64_t stop_ns = run->duration_s > 0
                          ? now_ns + (int64_t)((run->warmup_s + run->duration_s) * 1e9)
                          : INT64_MAX;
    watch->is_counting = run->warmup_s <= 0; /* from the very first */
    watch->second_ns = now_ns;
    watch->interval_ns = now_ns;
    watch->begin_ns = now_ns;
    load_silence_begin(&watch->silence, run, watch->live ? LOAD_PROGRESS_CLEAR : "", now_ns);
    do {
        look(watch, now_ns);
        if (interrupted || now_ns >= stop_ns || watch->unwritable != 0) {
            say_stopping(watch, now_ns);
            atomic_store(&run->stop, true);
        }
        int64_t at_ns = next_look_ns(watch, now_ns, stop_ns);
        if (load_run_wait(run, at_ns)) {
            break;
        }
        now_ns = load_now_ns();
    } while (true);
    watch->end_ns = load_now_ns();
    watch->end_cpu_s = cpu_s();
    load_silence_end(&watch->silence); /* who asks servers that are silent may wait for them */
    if (watch->live) {
        fputs(LOAD_PROGRESS_CLEAR, stderr);
    }
}

/* --- a phase ---------------------------------------------------------------------------------- */

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
static enum load_outcome judge(const struct watch *watch, const struct edubba_error *unread)
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
    if (!interrupted && load_report_found_nothing(report)) {
        return say_nothing_found(report);
    }
    warn_of_missing(report);
    if (run->options->verify && !load_report_is_verified(report)) {
        return LOAD_WRONG;
    }
    if (!interrupted && load_report_all_failed(report)) {
        return say_errors(run, "not one operation succeeded");
    }
    if (!interrupted && run->is_load && load_report_errors(report) > 0) {
        return say_not_loaded(run, report);
    }
    if (run->options->fail_on_errors && load_report_errors(report) > 0) {
        return say_errors(run, "--fail-on-errors: some operations failed");
    }
    return interrupted ? LOAD_INTERRUPTED : LOAD_DONE;
}

/* After the end: compare sums, tell. */
static enum load_outcome conclude(struct watch *watch, struct load_place *place)
{
    struct load_run *run = watch->run;
    struct load_report *report = watch->report;
    struct load_sums_verdict verdict = {0};
    struct edubba_error unread = {0};
    int64_t now_ns = watch->end_ns;
    if (!watch->is_counting) { /* it ended in the warm-up: all of it counts */
        watch->begin_ns = run->begun_ns;
    }
    load_run_gather(run, watch->copies->now);
    subtract(watch->copies->now, watch->copies->begin, watch->copies->difference);
    report->all = (struct load_sample){0, (double)(now_ns - watch->begin_ns) / 1e9,
                                       watch->copies->difference};
    report->cpu_s = watch->end_cpu_s - watch->begin_cpu_s;
    report->interrupted = interrupted != 0;
    report->first_error = run->first_error.text;
    report->first_wrong = run->first_wrong;
    if (run->options->interval_s > 0 && !run->is_load && now_ns - watch->interval_ns > LOOK_NS) {
        tell_interval(watch, now_ns); /* what is left of the last */
        load_run_gather(run, watch->copies->now);
        subtract(watch->copies->now, watch->copies->begin, watch->copies->difference);
    }
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
    struct copies *copies = calloc(1, sizeof *copies);
    struct watch watch = {
        .run = run,
        .report = report,
        .copies = copies,
        .out = out,
        .live = !run->options->quiet && isatty(STDERR_FILENO),
        .begin_cpu_s = cpu_s(),
    };
    load_signals_matter();
    if (copies == NULL || !load_run_init(run) || !load_run_start(run)) {
        exit(load_complain(&(struct edubba_error){
            .code = EDUBBA_RESOURCE_EXHAUSTED,
            .text = "not enough memory, or threads, for so many requests in flight",
        })); /* not back: some may be running */
    }
    watch_to_the_end(&watch);
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
