#include "client/load/watch.h"

#include <errno.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "client/load/complaint.h"
#include "client/load/progress.h"
#include "client/load/signals.h"

#define NS_PER_S INT64_C(1000000000)
#define SILENT_S 2               /* without an answer: progress says so */
#define LOOK_NS  (NS_PER_S / 20) /* how soon Ctrl-C is seen */

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

void load_watch_begin(struct load_watch *watch,
                      struct load_run *run,
                      struct load_report *report,
                      struct load_copies *copies,
                      FILE *out)
{
    *watch = (struct load_watch){
        .run = run,
        .report = report,
        .copies = copies,
        .out = out,
        .live = !run->options->quiet && isatty(STDERR_FILENO),
        .begin_cpu_s = cpu_s(),
    };
}

static void start_counting(struct load_watch *watch, int64_t now_ns)
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

static void show_progress(struct load_watch *watch, int64_t now_ns)
{
    struct load_copies *copies = watch->copies;
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

static void tell_interval(struct load_watch *watch, int64_t now_ns)
{
    struct load_copies *copies = watch->copies;
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

/* Of rows that are loaded no intervals are told, nor of a warm-up. */
static bool tells_intervals(const struct load_watch *watch)
{
    return watch->run->options->interval_s > 0 && watch->is_counting && !watch->run->is_load;
}

/* The time of the next thing to do. */
static int64_t next_look_ns(const struct load_watch *watch, int64_t now_ns, int64_t stop_ns)
{
    int64_t at_ns = now_ns + LOOK_NS;
    if (tells_intervals(watch)) {
        int64_t next_ns = watch->interval_ns + (int64_t)(watch->run->options->interval_s * 1e9);
        at_ns = next_ns < at_ns ? next_ns : at_ns;
    }
    return stop_ns < at_ns && stop_ns > now_ns ? stop_ns : at_ns;
}

static void look(struct load_watch *watch, int64_t now_ns)
{
    const struct load_run *run = watch->run;
    if (!watch->is_counting && (double)(now_ns - run->begun_ns) >= run->warmup_s * 1e9) {
        start_counting(watch, now_ns);
    }
    if (tells_intervals(watch) &&
        (double)(now_ns - watch->interval_ns) >= run->options->interval_s * 1e9) {
        tell_interval(watch, now_ns);
    }
    load_silence_look(&watch->silence, now_ns);
    if (watch->live && now_ns - watch->second_ns >= NS_PER_S) {
        show_progress(watch, now_ns);
    }
}

/* Requests in flight are waited for: say so where that takes long. */
static void say_stopping(struct load_watch *watch, int64_t now_ns)
{
    if (watch->stopped_ns == 0) {
        watch->stopped_ns = now_ns;
    } else if (!watch->has_said_so && now_ns - watch->stopped_ns > NS_PER_S) {
        fputs(watch->live ? LOAD_PROGRESS_CLEAR : "", stderr);
        load_say_waiting(load_was_interrupted()
                             ? "waiting for the requests in flight; Ctrl-C quits at once"
                             : "waiting for the requests in flight");
        watch->has_said_so = true;
    }
}

void load_watch_to_the_end(struct load_watch *watch)
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
        if (load_was_interrupted() || now_ns >= stop_ns || watch->unwritable != 0) {
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

/* Of the whole, from the end of the warm-up on; where it ended in that, all of it counts. */
static void take_difference(struct load_watch *watch)
{
    load_run_gather(watch->run, watch->copies->now);
    subtract(watch->copies->now, watch->copies->begin, watch->copies->difference);
}

void load_watch_sum(struct load_watch *watch)
{
    struct load_run *run = watch->run;
    if (!watch->is_counting) {
        watch->begin_ns = run->begun_ns;
    }
    if (run->options->interval_s > 0 && !run->is_load &&
        watch->end_ns - watch->interval_ns > LOOK_NS) {
        tell_interval(watch, watch->end_ns); /* what is left of the last */
    }
    take_difference(watch);
    watch->report->all = (struct load_sample){0, (double)(watch->end_ns - watch->begin_ns) / 1e9,
                                              watch->copies->difference};
    watch->report->cpu_s = watch->end_cpu_s - watch->begin_cpu_s;
}
