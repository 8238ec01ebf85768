#include "client/load/lab/course.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "client/load/core/report.h"
#include "client/load/progress.h"
#include "client/load/run.h"
#include "client/load/signals.h"

#define NS_PER_S     INT64_C(1000000000)
#define SIGNAL_NS    (NS_PER_S / 20) /* how soon Ctrl-C is seen */
#define MOMENTS      40              /* of a phase, if that makes them neither shorter nor longer */
#define MOMENT_S_MIN 0.25
#define MOMENT_S_MAX 1.0
#define PATIENCE_MS  2000
#define PERCENT      100.0
#define WAIT_S       2 /* for requests in flight: say so after that */

struct watch {
    struct lab_course *course;
    struct lab_phase *phase;
    struct load_tally *before; /* at the last look */
    struct load_tally *now;
    struct load_tally *difference;
    uint64_t *operations;
    int64_t moment_ns; /* begun */
    int64_t length_ns; /* of a moment */
    int64_t stopped_ns;
    bool has_memory;
};

static double since_s(const struct watch *watch, int64_t now_ns)
{
    return (double)(now_ns - watch->course->flight->begun_ns) / 1e9;
}

static void show(const struct watch *watch, const struct lab_moment *moment)
{
    char p99[LOAD_TIME_BYTES];
    const struct lab_timeline *timeline = &watch->phase->timeline;
    double length_s = moment->to_s - moment->from_s;
    uint64_t most = 0;
    uint64_t all = 0;
    for (size_t i = 0; i < LAB_TABLETS_MAX; i++) {
        most = watch->operations[i] > most ? watch->operations[i] : most;
        all += watch->operations[i];
    }
    struct load_progress progress = {0};
    load_progress_add(
        &progress, "%s  %.1f s  %.0f/s  p99 %s  busiest tablet %.0f %%  %zu tablets",
        watch->course->label, moment->to_s, length_s > 0 ? (double)moment->total / length_s : 0,
        load_time_text(moment->p99_ns, p99), all > 0 ? PERCENT * (double)most / (double)all : 0,
        lab_timeline_map(timeline)->count);
    if (timeline->splits > 0) {
        load_progress_add(&progress, "  splits %" PRIu64, timeline->splits);
    }
    if (timeline->moves > 0) {
        load_progress_add(&progress, "  moves %" PRIu64, timeline->moves);
    }
    if (timeline->hand_overs > 0) {
        load_progress_add(&progress, "  hand-overs %" PRIu64, timeline->hand_overs);
    }
    load_progress_show(&progress);
}

/* What was done since the last look, by the map that was valid; then the map as it is now. */
static void look(struct watch *watch, struct lab_map *map)
{
    struct lab_flight *flight = watch->course->flight;
    struct lab_timeline *timeline = &watch->phase->timeline;
    size_t count = lab_timeline_map(timeline)->count;
    int64_t now_ns = load_now_ns();
    struct lab_moment moment = {
        .from_s = since_s(watch, watch->moment_ns),
        .to_s = since_s(watch, now_ns),
        .map = timeline->map_count - 1,
    };
    (void)lab_timeline_look(timeline, map, moment.to_s);
    memset(watch->now, 0, sizeof *watch->now);
    lab_flight_look(flight, lab_timeline_map(timeline), watch->operations);
    load_tally_gather(watch->now, flight->tally);
    load_tally_subtract(watch->now, watch->before, watch->difference);
    memcpy(watch->before, watch->now, sizeof *watch->now);
    moment.total = watch->difference->operations;
    moment.errors = load_tally_errors(watch->difference);
    moment.p99_ns = load_histogram_percentile(&watch->difference->times, 0.99);
    watch->has_memory = lab_timeline_add(timeline, &moment, watch->operations, count) &&
                        watch->has_memory;
    if (watch->course->is_live) {
        show(watch, &moment);
    }
    watch->moment_ns = now_ns;
}

static void say_waiting(struct watch *watch, int64_t now_ns)
{
    if (watch->stopped_ns == 0) {
        watch->stopped_ns = now_ns;
    } else if (now_ns - watch->stopped_ns > WAIT_S * NS_PER_S && watch->course->is_live) {
        struct load_progress progress = {0};
        load_progress_add(&progress, "%s  waiting for the requests in flight",
                          watch->course->label);
        load_progress_show(&progress);
    }
}

static void watch_to_the_end(struct watch *watch)
{
    struct lab_course *course = watch->course;
    struct lab_flight *flight = course->flight;
    int64_t stop_ns = course->duration_s > 0
                          ? flight->begun_ns + (int64_t)(course->duration_s * 1e9)
                          : INT64_MAX;
    for (;;) {
        int64_t now_ns = load_now_ns();
        if (load_was_interrupted() || now_ns >= stop_ns || !watch->has_memory) {
            lab_flight_stop(flight);
            say_waiting(watch, now_ns);
        }
        if (now_ns - watch->moment_ns >= watch->length_ns && now_ns < stop_ns) {
            look(watch, lab_stand_look(course->stand, PATIENCE_MS));
        }
        int64_t next_ns = now_ns + SIGNAL_NS;
        int64_t moment_ns = watch->moment_ns + watch->length_ns;
        next_ns = moment_ns > now_ns && moment_ns < next_ns ? moment_ns : next_ns;
        next_ns = stop_ns > now_ns && stop_ns < next_ns ? stop_ns : next_ns;
        if (lab_flight_wait(flight, next_ns)) {
            break;
        }
    }
    look(watch, lab_stand_look(course->stand, PATIENCE_MS));
    if (course->is_live) {
        fputs(LOAD_PROGRESS_CLEAR, stderr);
    }
}

static void sum_up(struct watch *watch)
{
    const struct lab_flight *flight = watch->course->flight;
    const struct load_tally *all = watch->now;
    struct lab_phase *phase = watch->phase;
    phase->has_run = true;
    phase->length_s = since_s(watch, watch->moment_ns);
    phase->operations = all->operations;
    phase->rows = all->rows;
    phase->rows_seen = flight->rows_seen;
    phase->rows_found = flight->rows_found;
    phase->cells_seen = flight->cells_seen;
    phase->bytes_given = flight->bytes_given;
    phase->errors = load_tally_errors(all);
    phase->unknown = all->unknown;
    phase->late = flight->late;
    phase->cut_off = all->cut_off;
    phase->p50_ns = load_histogram_percentile(&all->times, 0.50);
    phase->p99_ns = load_histogram_percentile(&all->times, 0.99);
    phase->max_ns = load_histogram_percentile(&all->times, 1.0);
    phase->judged = flight->judged;
    phase->behind = flight->behind;
    phase->by_row = flight->by_row;
    phase->by_who = flight->by_who;
    memcpy(phase->first_error, flight->first_error, sizeof phase->first_error);
}

bool lab_course_run(struct lab_course *course, struct lab_phase *ret_phase)
{
    double moment_s = course->duration_s / MOMENTS;
    moment_s = moment_s < MOMENT_S_MIN ? MOMENT_S_MIN : moment_s;
    moment_s = moment_s > MOMENT_S_MAX ? MOMENT_S_MAX : moment_s;
    struct watch watch = {
        .course = course,
        .phase = ret_phase,
        .before = calloc(1, sizeof *watch.before),
        .now = calloc(1, sizeof *watch.now),
        .difference = calloc(1, sizeof *watch.difference),
        .operations = calloc(LAB_TABLETS_MAX, sizeof *watch.operations),
        .length_ns = (int64_t)(moment_s * 1e9),
    };
    watch.has_memory = watch.before != NULL && watch.now != NULL && watch.difference != NULL &&
                       watch.operations != NULL;
    struct lab_map *map = watch.has_memory ? lab_stand_look(course->stand, PATIENCE_MS) : NULL;
    bool good = map != NULL;
    if (good) {
        (void)lab_timeline_look(&ret_phase->timeline, map, 0);
        lab_flight_look(course->flight, map, watch.operations);
        good = lab_flight_start(course->flight);
    }
    if (good) {
        watch.moment_ns = course->flight->begun_ns;
        watch_to_the_end(&watch);
        sum_up(&watch);
    }
    free(watch.before);
    free(watch.now);
    free(watch.difference);
    free(watch.operations);
    return good && watch.has_memory;
}
