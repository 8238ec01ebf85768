/* What the workload has is put in where nothing was said, and what makes no sense together is refused. */
#include <inttypes.h>
#include <stdio.h>

#include "client/load/core/options.h"

#define OPEN_IN_FLIGHT 16384 /* where nothing was said */
#define HOSTS          1000
#define ZIPFIAN        0.99
#define DURATION_S     10
#define CELLS_MAX      100000 /* of one call */
#define IN_FLIGHT_MAX  1000000
#define ROWS_MAX       10000000             /* in flight, those of batches and of all clients */
#define BYTES_MAX      UINT64_C(4000000000) /* of their values */
#define SUMS_MAX       10000000             /* verified: 24 bytes each */
#define INTERVAL_S_MIN 0.001

static void put_in(uint64_t *option, uint64_t otherwise)
{
    *option = *option > 0 ? *option : otherwise;
}

/* a * b, or UINT64_MAX where that is more than fits. */
static uint64_t times(uint64_t a, uint64_t b)
{
    return a > 0 && b > UINT64_MAX / a ? UINT64_MAX : a * b;
}

static uint64_t least_of(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* In flight where nothing was said: so many, or what fits_memory() lets by. */
static uint64_t fitting(const struct load_options *options, uint64_t in_flight)
{
    uint64_t rows = times(options->clients, options->batch);
    uint64_t bytes = times(rows, times(options->fields, options->value_bytes));
    uint64_t fit = least_of(IN_FLIGHT_MAX / options->clients,
                            least_of(ROWS_MAX / rows, BYTES_MAX / bytes));
    return least_of(in_flight, fit > 0 ? fit : 1);
}

#define PROBLEM(...) ((void)snprintf(problem, LOAD_PROBLEM_BYTES, __VA_ARGS__), false)

/* What is held in memory is refused before any of it is taken. */
static bool fits_memory(const struct load_options *options,
                        const struct load_workload *workload,
                        char problem[LOAD_PROBLEM_BYTES])
{
    uint64_t requests = times(options->in_flight, options->clients);
    uint64_t rows = times(requests, options->batch);
    uint64_t row_bytes = times(options->fields, options->value_bytes);
    if (requests > IN_FLIGHT_MAX) {
        return PROBLEM("--in-flight %" PRIu64 " times --clients %" PRIu64 " is %" PRIu64
                       " requests in flight: at most 1M",
                       options->in_flight, options->clients, requests);
    }
    if (rows > ROWS_MAX) {
        return PROBLEM("--in-flight %" PRIu64 " times --clients %" PRIu64 " times --batch %" PRIu64
                       " is %" PRIu64 " rows in flight: at most 10M",
                       options->in_flight, options->clients, options->batch, rows);
    }
    if (times(rows, row_bytes) > BYTES_MAX) {
        return PROBLEM("--fields %" PRIu64 " of --value-size %" PRIu64 ", with %" PRIu64
                       " rows in flight (--in-flight times --clients times --batch), are %.3g GB: "
                       "at most 4 GB",
                       options->fields, options->value_bytes, rows,
                       (double)rows * (double)row_bytes / 1e9);
    }
    if (options->verify && workload->percent[LOAD_ADD] > 0 && options->records > SUMS_MAX) {
        return PROBLEM("--records %" PRIu64 ": --verify compares at most 10M sums",
                       options->records);
    }
    return true;
}

static bool go_together(const struct load_options *options,
                        const struct load_workload *workload,
                        char problem[LOAD_PROBLEM_BYTES])
{
    if (times(options->batch, options->fields) > CELLS_MAX) {
        return PROBLEM("--batch %" PRIu64 " times --fields %" PRIu64
                       " is more than 100k: cells of one call",
                       options->batch, options->fields);
    }
    if (options->list || options->keep || options->replicas > 0 || options->confine > 0 ||
        options->server_pids != NULL || options->html != NULL || options->json != NULL) {
        return PROBLEM(
            "--list, --keep, --replicas, --confine, --server-pids, --html and --json go with "
            "`edubba-load lab` only");
    }
    if (options->batch > 1 && workload->percent[LOAD_WRITE] + workload->percent[LOAD_ADD] < 100) {
        return PROBLEM("--batch %" PRIu64 " goes with writes and adds only: %s takes 1",
                       options->batch, workload->name);
    }
    if (options->threads > options->clients) {
        return PROBLEM("--threads %" PRIu64 " is more than --clients %" PRIu64
                       ": each client belongs to one thread",
                       options->threads, options->clients);
    }
    if (options->interval_s > 0 && options->interval_s < INTERVAL_S_MIN) {
        return PROBLEM("--interval is 0 (none), or %g and more", INTERVAL_S_MIN);
    }
    if (workload->keys == LOAD_KEY_COUNTER && options->keys != LOAD_KEY_COUNTER) {
        return PROBLEM("--keys %s: counters have keys of their own: leave --keys away",
                       load_key_form_name((enum load_key_form)options->keys));
    }
    return true;
}

/* What was said and would do nothing: who said it believes that it does.  Once all is put in. */
static bool have_effect(const struct load_options *said,
                        const struct load_options *options,
                        const struct load_workload *workload,
                        char problem[LOAD_PROBLEM_BYTES])
{
    const uint8_t *percent = workload->percent;
    const char *distribution = load_distribution_name(
        (enum load_distribution)options->distribution);
    const char *keys = load_key_form_name((enum load_key_form)options->keys);
    if (said->late_max_s > 0 && !(options->rate > 0)) {
        return PROBLEM("--late-max goes with --rate");
    }
    if (said->scan_rows > 0 && percent[LOAD_SCAN] == 0) {
        return PROBLEM("--scan-rows would do nothing: %s has no scans", workload->name);
    }
    if (said->one_field && percent[LOAD_READ] + percent[LOAD_RMW] == 0) {
        return PROBLEM("--one-field would do nothing: %s reads no single rows", workload->name);
    }
    if (said->zipfian > 0 && options->distribution != LOAD_ZIPFIAN &&
        options->distribution != LOAD_LATEST) {
        return PROBLEM(
            "--zipfian would do nothing with --distribution %s: it goes with zipfian and "
            "latest",
            distribution);
    }
    if (said->hosts > 0 && options->keys != LOAD_KEY_SERIES) {
        return PROBLEM("--hosts would do nothing with --keys %s: it goes with series", keys);
    }
    return true;
}

bool load_options_complete(struct load_options *options,
                           const struct load_workload *workload,
                           char ret_problem[LOAD_PROBLEM_BYTES])
{
    const struct load_options said = *options;
    put_in(&options->presplit, 1);
    put_in(&options->keys, workload->keys);
    put_in(&options->hosts, HOSTS);
    put_in(&options->distribution, workload->distribution);
    options->zipfian = options->zipfian > 0 ? options->zipfian : ZIPFIAN;
    put_in(&options->records, workload->records);
    put_in(&options->fields, workload->fields);
    put_in(&options->value_bytes, workload->value_bytes);
    put_in(&options->batch, workload->batch);
    put_in(&options->scan_rows, workload->scan_rows);
    put_in(&options->in_flight,
           fitting(options, options->rate > 0 ? OPEN_IN_FLIGHT : workload->in_flight));
    put_in(&options->threads, options->rate > 0 ? 1 : 0);
    bool timed = options->duration_s > 0;
    if (options->operations == 0 && !timed) {
        options->operations = workload->each_once ? options->records : workload->operations;
        options->duration_s = options->operations == 0 ? DURATION_S : 0;
    }
    return go_together(options, workload, ret_problem) &&
           have_effect(&said, options, workload, ret_problem) &&
           fits_memory(options, workload, ret_problem);
}

bool load_options_of_run(const struct load_options *said, char out[LOAD_PROBLEM_BYTES])
{
    const struct {
        bool is_said;
        const char *name;
    } of_run[] = {
        {said->batch > 0, "--batch"},         {said->in_flight > 0, "--in-flight"},
        {said->rate > 0, "--rate"},           {said->late_max_s > 0, "--late-max"},
        {said->threads > 0, "--threads"},     {said->never_read > 0, "--never-read"},
        {said->duration_s > 0, "--duration"}, {said->operations > 0, "--operations"},
        {said->warmup_s > 0, "--warmup"},     {said->distribution > 0, "--distribution"},
        {said->zipfian > 0, "--zipfian"},     {said->scan_rows > 0, "--scan-rows"},
        {said->one_field, "--one-field"},     {said->interval_s > 0, "--interval"},
        {said->verify, "--verify"},
    };
    int size = 0;
    out[0] = '\0';
    for (size_t i = 0; i < sizeof of_run / sizeof of_run[0]; i++) {
        if (of_run[i].is_said) {
            size += snprintf(out + size, (size_t)(LOAD_PROBLEM_BYTES - size), "%s%s",
                             size > 0 ? ", " : "", of_run[i].name);
        }
    }
    return size > 0;
}
