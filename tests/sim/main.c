/*
 * edubba-sim: runs seeds.
 *
 *   edubba-sim [--seeds A..B | --replay SEED] [--trace] [--check-determinism] [--every-site]
 *              [--planted NAME]
 *
 * Ends with "N passed, N failed".  With --every-site it fails, too, where a site of sim_buggify.h never acted.  With
 * --planted it stops at the first seed that finds the bug, and that is the success; --planted list names them.
 */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tests/sim/sim.h"
#include "tests/sim/world/sim_draw.h"

struct options {
    uint64_t first;
    uint64_t last;
    bool replay;
    bool trace;
    bool check_determinism;
    bool every_site;
    enum sim_planted planted;
    const char *planted_name;
};

static struct sim sim; /* too large for the stack */

/* --- the command line --------------------------------------------------------------------------- */

static void usage(void)
{
    (void)fprintf(stderr,
                  "usage: edubba-sim [--seeds A..B | --replay SEED] [--trace]\n"
                  "                  [--check-determinism] [--every-site] [--planted NAME]\n"
                  "planted bugs:");
#define PRINT_NAME(name, constant) (void)fprintf(stderr, " %s", name);
    SIM_PLANTED_LIST(PRINT_NAME)
#undef PRINT_NAME
    (void)fprintf(stderr, "\n");
    exit(2);
}

static enum sim_planted planted_of_name(const char *name)
{
    if (strcmp(name, "list") == 0) {
#define LIST_NAME(text, constant) (void)puts(text);
        SIM_PLANTED_LIST(LIST_NAME)
#undef LIST_NAME
        exit(0);
    }
#define COMPARE_NAME(text, constant)   \
    if (strcmp(name, text) == 0) {     \
        return SIM_PLANTED_##constant; \
    }
    SIM_PLANTED_LIST(COMPARE_NAME)
#undef COMPARE_NAME
    (void)fprintf(stderr, "edubba-sim: no planted bug is called '%s'\n", name);
    usage();
    return SIM_PLANTED_NONE;
}

static void parse_seeds(const char *text, struct options *options)
{
    char *end = NULL;
    options->first = strtoull(text, &end, 10);
    if (strncmp(end, "..", 2) == 0) {
        options->last = strtoull(end + 2, &end, 10);
    } else {
        options->last = options->first;
    }
    if (end == text || *end != '\0' || options->last < options->first) {
        (void)fprintf(stderr, "edubba-sim: '%s' is no range of seeds\n", text);
        usage();
    }
}

static struct options parse(int argument_count, char **arguments)
{
    struct options options = {.first = 1, .last = 100};
    for (int i = 1; i < argument_count; i++) {
        const char *argument = arguments[i];
        const char *value = i + 1 < argument_count ? arguments[i + 1] : NULL;
        if (strcmp(argument, "--trace") == 0) {
            options.trace = true;
        } else if (strcmp(argument, "--check-determinism") == 0) {
            options.check_determinism = true;
        } else if (strcmp(argument, "--every-site") == 0) {
            options.every_site = true;
        } else if (value == NULL) {
            usage();
        } else if (strcmp(argument, "--seeds") == 0) {
            parse_seeds(value, &options);
            i++;
        } else if (strcmp(argument, "--replay") == 0) {
            parse_seeds(value, &options);
            options.replay = true;
            i++;
        } else if (strcmp(argument, "--planted") == 0) {
            options.planted = planted_of_name(value);
            options.planted_name = value;
            i++;
        } else {
            usage();
        }
    }
    return options;
}

/* --- running ------------------------------------------------------------------------------------ */

static const struct options *running;

static void print_replay(FILE *to)
{
    (void)fprintf(to, "  replay: edubba-sim --replay %" PRIu64 " --trace", sim.seed);
    if (running->planted != SIM_PLANTED_NONE) {
        (void)fprintf(to, " --planted %s", running->planted_name);
    }
    (void)fprintf(to, "\n");
}

/* An assertion of the code under test: say which seed it was.  A planted bug counts as found. */
static void on_abort(int signal_number)
{
    (void)signal_number;
    (void)fprintf(stdout, "seed %" PRIu64 " FAILED: an assertion at event %" PRIu64 "\n", sim.seed,
                  sim.event_count);
    print_replay(stdout);
    (void)fprintf(stdout, "%s\n",
                  running->planted != SIM_PLANTED_NONE ? "1 passed, 0 failed"
                                                       : "0 passed, 1 failed");
    (void)fflush(stdout);
    _exit(running->planted != SIM_PLANTED_NONE ? 0 : 1);
}

static void print_summary(void)
{
    const struct sim_statistics *s = &sim.statistics;
    struct buffer settings = BUFFER_INIT;
    sim_draw_describe(&sim, &settings);
    (void)printf("  %.*s\n", (int)settings.size_bytes, (const char *)settings.data);
    (void)printf("  %" PRIu64 " events, %.1f s, hash %016" PRIx64 "; operations %" PRIu64
                 ", unknown %" PRIu64 ", retries %" PRIu64 ", duplicates %" PRIu64
                 ", scans %" PRIu64 ", messages %" PRIu64 ", lost %" PRIu64 ", kills %" PRIu64
                 ", power cuts %" PRIu64 ", splits %" PRIu64 ", merges %" PRIu64
                 ", flushes %" PRIu64 ", replayed %" PRIu64 ", tables %" PRIu64
                 ", promotions %" PRIu64 ", removals %" PRIu64 ", lessons %" PRIu64
                 ", slices %" PRIu64 ", yields %" PRIu64 ", leaves %" PRIu64 ", freezes %" PRIu64
                 ", awaited %" PRIu64 ", reigns %" PRIu64 ", fenced %" PRIu64 ", wipes %" PRIu64
                 ", rots %" PRIu64 ", log rots %" PRIu64 ", log rots undone %" PRIu64
                 ", log cuts %" PRIu64 ", logs refused %" PRIu64 ", log not read %" PRIu64
                 ", digests %" PRIu64 ", refused for room %" PRIu64 ", quorums %" PRIu64 "\n",
                 sim.event_count, (double)sim.now_ns / 1e9, sim.hash, s->operations, s->unknown,
                 s->retries, s->duplicates, s->scans, s->messages, s->lost, s->kills, s->power_cuts,
                 s->splits, s->merges, s->flushes, s->replays, s->tables, s->promotions,
                 s->removals, s->lessons, s->slices, s->yields, s->leaves, s->freezes, s->awaited,
                 s->reigns, s->fenced, s->wipes, s->rots, s->log_rots, s->log_rots_undone,
                 s->log_cuts, s->log_refusals, s->log_not_read, s->digests, s->refused, s->quorums);
    buffer_deinit(&settings);
}

/* False when it failed. */
static bool run_seed(const struct options *options, uint64_t seed)
{
    if (options->replay) {
        (void)printf("seed %" PRIu64 "\n", seed);
    }
    sim_run(&sim, seed, options->planted, options->trace);
    if (!sim.failed && options->check_determinism) {
        uint64_t hash = sim.hash;
        uint64_t event_count = sim.event_count;
        sim_run(&sim, seed, options->planted, false);
        if (sim.hash != hash || sim.event_count != event_count) {
            sim_fail(&sim, "two runs differ: %" PRIu64 " and %" PRIu64 " events", event_count,
                     sim.event_count);
        }
    }
    if (sim.failed) {
        (void)printf("seed %" PRIu64 " FAILED at %.6f s, event %" PRIu64 ": %s\n", seed,
                     (double)sim.now_ns / 1e9, sim.event_count, sim.failure);
        print_replay(stdout);
        (void)fflush(stdout); /* there may be hours to go */
    }
    if (options->replay) {
        print_summary();
    }
    return !sim.failed;
}

/* --- many seeds --------------------------------------------------------------------------------- */

/* Of all seeds so far. */
struct totals {
    uint64_t passed;
    uint64_t failed;
    uint64_t operations;
    uint64_t kills;
    uint64_t quorums;
    uint64_t sites[SIM_SITES];
};

static void add_up(struct totals *totals, bool good)
{
    totals->passed += good;
    totals->failed += !good;
    totals->operations += sim.statistics.operations;
    totals->kills += sim.statistics.kills;
    totals->quorums += sim.statistics.quorums;
    for (int i = 0; i < SIM_SITES; i++) {
        totals->sites[i] += sim.buggify.counts[i];
    }
}

/* False where one never acted. */
static bool print_sites(const struct totals *totals)
{
    bool all = true;
    for (int i = 0; i < SIM_SITES; i++) {
        (void)printf("%s %s %" PRIu64, i == 0 ? "buggify:" : ",", sim_site_name((enum sim_site)i),
                     totals->sites[i]);
        all = all && totals->sites[i] > 0;
    }
    (void)printf("\n");
    return all;
}

#define PROGRESS_S 60 /* between two lines that say how far it is */

static double now_s(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* Of many seeds: there may be hours to go. */
static void print_progress(const struct totals *totals,
                           const struct options *options,
                           double begun_s,
                           double *said_s)
{
    double at_s = now_s();
    if (at_s - *said_s < PROGRESS_S) {
        return;
    }
    *said_s = at_s;
    (void)printf("  %" PRIu64 " of %" PRIu64 " seeds in %.0f s, %" PRIu64 " failed\n",
                 totals->passed + totals->failed, options->last - options->first + 1,
                 at_s - begun_s, totals->failed);
    (void)fflush(stdout);
}

int main(int argument_count, char **arguments)
{
    struct options options = parse(argument_count, arguments);
    struct totals totals = {0};
    double begun_s = now_s();
    double said_s = begun_s;

    running = &options;
    (void)signal(SIGABRT, on_abort);
    (void)printf("seeds %" PRIu64 "..%" PRIu64 "%s%s\n", options.first, options.last,
                 options.planted_name != NULL ? ", planted: " : "",
                 options.planted_name != NULL ? options.planted_name : "");
    (void)fflush(stdout);
    for (uint64_t seed = options.first; seed <= options.last; seed++) {
        bool good = run_seed(&options, seed);
        add_up(&totals, good);
        print_progress(&totals, &options, begun_s, &said_s);
        if (!good && options.planted != SIM_PLANTED_NONE) {
            (void)printf("found at seed %" PRIu64 "\n1 passed, 0 failed\n", seed);
            return 0;
        }
    }
    double took_s = now_s() - begun_s;
    (void)printf("%.1f seeds/s, %" PRIu64 " operations, %" PRIu64 " kills, %" PRIu64
                 " seeds in which a quorum was enough\n",
                 (double)(totals.passed + totals.failed) / (took_s > 0 ? took_s : 1),
                 totals.operations, totals.kills, totals.quorums);
    if (!print_sites(&totals) && options.every_site) {
        (void)printf("a site never acted\n");
        totals.failed++;
    }
    if (options.planted != SIM_PLANTED_NONE) {
        (void)printf("not found\n0 passed, 1 failed\n");
        return 1;
    }
    (void)printf("%" PRIu64 " passed, %" PRIu64 " failed\n", totals.passed, totals.failed);
    return totals.failed == 0 ? 0 : 1;
}
