#include "client/load/lab/trial.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "client/load/complaint.h"
#include "client/load/lab/audit.h"
#include "client/load/lab/copy.h"
#include "client/load/lab/core/cuts.h"
#include "client/load/lab/course.h"
#include "client/load/lab/told.h"
#include "client/load/signals.h"

#define TABLETS_A_SERVER 2
#define HISTORY_FLIGHT   512 /* of all clients */
#define QUERY_SHARE      0.5 /* of the time that writes have */
#define LABEL_BYTES      160

/* What goes through the phases of a variant. */
struct passage {
    struct lab_trial *trial;
    struct lab_result *result;
    struct lab_variant_result *variant;
    struct lab_world world;
    int64_t *given; /* sums; NULL = the experiment has none */
    int64_t *doubted;
};

static bool is_over(void)
{
    return load_was_interrupted();
}

static void fail(struct lab_variant_result *variant, const char *what, const char *why)
{
    if (variant->failure[0] == '\0') {
        (void)snprintf(variant->failure, sizeof variant->failure, "%s: %.220s", what, why);
    }
}

/* --- phases ----------------------------------------------------------------------------------- */

static struct lab_flight flight_of(const struct passage *passage, enum lab_flight_kind kind)
{
    const struct load_options *options = passage->trial->options;
    const struct lab_stand *stand = passage->trial->stand;
    struct lab_flight flight = {
        .experiment = passage->result->experiment,
        .variant = passage->variant->variant,
        .world = passage->world,
        .kind = kind,
        .clients = stand->clients,
        .client_count = stand->client_count,
        .in_flight = options->in_flight,
        .rate = options->rate,
        .first = passage->world.history,
        .given = passage->given,
        .doubted = passage->doubted,
    };
    if (kind == LAB_FLIGHT_HISTORY) {
        flight.in_flight = HISTORY_FLIGHT / stand->client_count + 1;
        flight.rate = 0;
        flight.first = 0;
        flight.count = passage->world.history;
    }
    return flight;
}

/* False: no memory. */
static bool run_phase(const struct passage *passage,
                      struct lab_flight *flight,
                      double duration_s,
                      const char *what,
                      struct lab_phase *ret_phase)
{
    char label[LABEL_BYTES];
    (void)snprintf(label, sizeof label, "%s, %s: %s", passage->result->experiment->name,
                   passage->variant->variant->name, what);
    struct lab_course course = {
        .stand = passage->trial->stand,
        .flight = flight,
        .duration_s = duration_s,
        .label = label,
        .is_live = !passage->trial->options->quiet && isatty(STDERR_FILENO),
    };
    bool good = lab_flight_init(flight) && lab_course_run(&course, ret_phase);
    lab_flight_deinit(flight);
    return good;
}

static void fail_if_dropped(const struct passage *passage)
{
    if (!lab_stand_is_there(passage->trial->stand)) {
        fail(passage->variant, "its table was dropped while it ran",
             "does another run of this experiment go on? They have the same tables: one at a time");
    }
}

static bool write_history(struct passage *passage)
{
    struct lab_flight flight = flight_of(passage, LAB_FLIGHT_HISTORY);
    struct lab_phase *phase = calloc(1, sizeof *phase);
    bool good = phase != NULL && lab_timeline_init(&phase->timeline) &&
                run_phase(passage, &flight, 0, "history", phase);
    if (!good) {
        fail(passage->variant, "its history could not be written",
             "no memory or threads, or no "
             "master to list its tablets");
    } else if (phase->errors > 0 && !is_over()) {
        fail_if_dropped(passage);
        fail(passage->variant, "its history could not be written", phase->first_error);
        good = false;
    }
    if (phase != NULL) {
        lab_timeline_deinit(&phase->timeline);
    }
    free(phase);
    return good;
}

static void ask(struct passage *passage)
{
    const struct lab_experiment *experiment = passage->result->experiment;
    double duration_s = passage->trial->options->duration_s * QUERY_SHARE;
    for (size_t i = 0; i < LAB_QUERIES_MAX && experiment->queries[i] != NULL && !is_over(); i++) {
        struct lab_flight flight = flight_of(passage, LAB_FLIGHT_QUERIES);
        flight.query = i;
        if (passage->variant->variant->queries[i] != NULL &&
            !run_phase(passage, &flight, duration_s, experiment->queries[i],
                       &passage->variant->queries[i])) {
            fail(passage->variant, "queries could not be run", "no memory, threads, or master");
        }
    }
}

static void write_on(struct passage *passage)
{
    struct lab_flight flight = flight_of(passage, LAB_FLIGHT_WRITES);
    if (!is_over() && !run_phase(passage, &flight, passage->trial->options->duration_s, "writes",
                                 &passage->variant->write)) {
        fail(passage->variant, "writes could not be run", "no memory, threads, or master");
    }
}

/* --- a variant -------------------------------------------------------------------------------- */

static size_t count_tablets(struct lab_stand *stand)
{
    const uint32_t patience_ms = 2000;
    struct lab_map *map = lab_stand_look(stand, patience_ms);
    size_t count = map != NULL ? map->count : 0;
    lab_map_destroy(map);
    return count;
}

static void check_sums(const struct passage *passage)
{
    struct edubba_error error;
    if (passage->given == NULL) {
        return;
    }
    if (lab_audit(passage->trial->stand->clients[0].table, passage->given, passage->doubted,
                  passage->variant, &error) != EDUBBA_OK) {
        fail(passage->variant, "its sums could not be read", error.text);
    }
}

static void copy(const struct passage *passage)
{
    struct edubba_error error;
    if (!is_over() && lab_copy(passage->trial->stand, &passage->world, passage->result,
                               passage->variant, &error) != EDUBBA_OK) {
        fail(passage->variant, "the copy could not be made", error.text);
    }
}

static int64_t now_us(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static void go_through(struct passage *passage)
{
    struct lab_stand *stand = passage->trial->stand;
    struct lab_variant_result *variant = passage->variant;
    struct lab_times times = {.since_us = (int64_t)time(NULL) * 1000000};
    variant->tablets_before = count_tablets(stand);
    if (!write_history(passage)) {
        return;
    }
    times.queries_us = now_us();
    ask(passage);
    times.writes_us = now_us();
    write_on(passage);
    times.ended_us = now_us();
    variant->tablets_after = count_tablets(stand);
    variant->stored_is_known = lab_stand_stored_bytes(stand, &variant->stored_bytes);
    fail_if_dropped(passage);
    check_sums(passage);
    copy(passage);
    lab_told(stand->observer, stand->table, &times, variant);
}

/* Where the table cannot be dropped the figures are good all the same: that is a warning. */
static void leave_table(const struct lab_trial *trial, struct lab_result *result)
{
    struct edubba_error error;
    char table[LAB_TABLE_BYTES];
    char warning[LAB_ERROR_BYTES];
    memcpy(table, trial->stand->table, sizeof table);
    if (lab_stand_leave_table(trial->stand, &error) != EDUBBA_OK) {
        (void)snprintf(warning, sizeof warning,
                       "the table %s is left, for the next run to drop it: %.120s", table,
                       error.text);
        load_warn(warning);
    } else if (trial->options->keep && table[0] != '\0') {
        lab_result_keep(result, table);
    }
}

static void run_variant(struct passage *passage)
{
    const struct lab_trial *trial = passage->trial;
    struct lab_variant_result *result = passage->variant;
    size_t tablets = trial->options->presplit > 0 ? (size_t)trial->options->presplit
                                                  : trial->server_count * TABLETS_A_SERVER;
    struct edubba_error error;
    result->has_run = true;
    if (!lab_event_bytes(passage->result->experiment, result->variant, &passage->world,
                         &result->event_bytes)) {
        fail(result, "it cannot be run", "an event of it does not fit a change");
        return;
    }
    if (lab_stand_make_table(trial->stand, passage->result->experiment, result->variant,
                             &passage->world, tablets > 0 ? tablets : 1, &error) != EDUBBA_OK) {
        fail(result, "its table could not be made", error.text);
    } else {
        go_through(passage);
    }
    leave_table(trial, passage->result);
}

/* --- the experiment --------------------------------------------------------------------------- */

static void describe(const struct lab_trial *trial, struct lab_result *result)
{
    const struct load_options *options = trial->options;
    result->rate = options->rate;
    result->in_flight = options->in_flight;
    result->clients = options->clients;
    result->history = options->records;
    result->replicas = options->replicas;
    result->duration_s = options->duration_s;
    result->server_count = trial->server_count;
    memcpy(result->servers, trial->servers, sizeof result->servers);
    result->shares_processors = trial->shares_processors;
    memcpy(result->confinement, trial->confinement, sizeof result->confinement);
}

static int exit_code_of(const struct lab_result *result)
{
    int exit_code = EXIT_CODE_OK;
    for (size_t i = 0; i < result->experiment->variant_count; i++) {
        const struct lab_variant_result *variant = &result->variants[i];
        if (variant->has_run && (variant->failure[0] != '\0' || variant->sums_wrong > 0 ||
                                 (variant->write.operations == 0 && !result->interrupted))) {
            exit_code = EXIT_CODE_FAILED;
        }
    }
    return exit_code;
}

int lab_trial_run(struct lab_trial *trial, struct lab_result *result)
{
    bool has_sums = result->experiment->sum_of_event != NULL;
    describe(trial, result);
    for (size_t i = 0; i < result->experiment->variant_count && !is_over(); i++) {
        struct passage passage = {
            .trial = trial,
            .result = result,
            .variant = &result->variants[i],
            .world = {trial->options->seed, trial->options->records},
            .given = has_sums ? calloc(LAB_SUMS_MAX, sizeof *passage.given) : NULL,
            .doubted = has_sums ? calloc(LAB_SUMS_MAX, sizeof *passage.doubted) : NULL,
        };
        if (has_sums && (passage.given == NULL || passage.doubted == NULL)) {
            fail(passage.variant, "it could not be run", "no memory");
        } else {
            run_variant(&passage);
        }
        free(passage.given);
        free(passage.doubted);
    }
    result->interrupted = is_over();
    return exit_code_of(result);
}
