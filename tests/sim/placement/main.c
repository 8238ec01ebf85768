/*
 * edubba-placement-sim: the master's placement under simulated load.
 *
 *   edubba-placement-sim [--seed N] [--only NAME] [--quick] [--round-ms-max N] | --list
 *
 * Prints what came of each scenario, holds it against what must come of it, and ends with
 * "N passed, N failed"; exit status 0 if none failed.  --quick leaves out what takes seconds.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tests/sim/placement/world.h"

#define QUICK_TABLETS_MAX 50000

static double clock_ms(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now); /* others are on this machine too */
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static void print_head(void)
{
    printf("%-17s %7s %6s %5s %6s %5s %5s %6s %7s  %-13s %-13s %7s %7s  %s\n", "scenario",
           "servers", "splits", "ahead", "merges", "leads", "moves", "undone", "even at",
           "max/mean", "scatter", "tablets", "ms/round", "refused");
}

static void print_report(const struct world *world)
{
    const struct world_report *report = &world->report;
    char even[16];

    (void)snprintf(even, sizeof even, "%u s", report->last_uneven);
    if (report->last_uneven == report->seconds) {
        (void)snprintf(even, sizeof even, "never");
    }
    printf("%-17s %7u %6u %5u %6u %5u %5u %6u %7s  %5.2f -> %4.2f %5.2f -> %4.2f %7zu %3.1f/%4.1f ",
           world->scenario->name, world->server_count, report->splits, report->ahead,
           report->merges, report->leads, report->moves, report->undone, even,
           report->first_busiest, report->busiest, report->first_scatter, report->scatter,
           report->tablets, report->round_ms_sum / report->seconds, report->round_ms_max);
    for (int reason = 1; reason <= BALANCE_REASON_LAST; reason++) {
        if (report->refused[reason] > 0) {
            printf(" %s %u", balance_reason_name((enum balance_reason)reason),
                   report->refused[reason]);
        }
    }
    printf("\n");
}

static unsigned expect(bool holds, const char *what, double is, double bound)
{
    if (!holds) {
        printf("    FAILED: %s: %.2f, bound %.2f\n", what, is, bound);
    }
    return !holds;
}

static unsigned judge(const struct world *world, double round_ms_max)
{
    const struct scenario *want = world->scenario;
    const struct world_report *report = &world->report;
    unsigned failed = 0;

    failed += expect(want->after_max <= 0 || report->busiest <= want->after_max, "max/mean after",
                     report->busiest, want->after_max);
    failed += expect(want->balanced_max == 0 || report->last_uneven <= want->balanced_max,
                     "uneven until", report->last_uneven, want->balanced_max);
    failed += expect(report->last_decision <= want->seconds - want->quiet_seconds,
                     "last decision in second", report->last_decision,
                     want->seconds - want->quiet_seconds);
    failed += expect(report->splits <= want->splits_max, "splits", report->splits,
                     want->splits_max);
    failed += expect(report->moves + report->leads <= want->moves_max, "moves",
                     report->moves + report->leads, want->moves_max);
    failed += expect(report->undone <= want->undone_max, "moves undone", report->undone,
                     want->undone_max);
    failed += expect(want->refusal == 0 || report->refused[want->refusal] > 0,
                     balance_reason_name(want->refusal), 0, 1);
    failed += expect(want->split == 0 || report->split_for[want->split] > 0,
                     balance_reason_name(want->split), 0, 1);
    failed += expect(want->tablets_max == 0 || report->tablets <= want->tablets_max, "tablets",
                     (double)report->tablets, (double)want->tablets_max);
    failed += expect(round_ms_max <= 0 || report->round_ms_sum / report->seconds <= round_ms_max,
                     "ms a round", report->round_ms_sum / report->seconds, round_ms_max);
    if (report->faults > 0) {
        printf("    FAILED: %u promises broken; first: %s\n", report->faults, report->fault);
        failed++;
    }
    return failed;
}

static bool run(const struct scenario *scenario, uint64_t seed, double round_ms_max)
{
    struct world world;

    world_init(&world, scenario, seed);
    world.clock_ms = clock_ms;
    for (uint32_t second = 1; second <= scenario->seconds; second++) {
        world_step(&world, second);
    }
    print_report(&world);
    bool good = judge(&world, round_ms_max) == 0;
    world_deinit(&world);
    return good;
}

int main(int argc, char **argv)
{
    const char *only = NULL;
    uint64_t seed = 1;
    double round_ms_max = 0;
    bool quick = false;
    unsigned passed = 0;
    unsigned failed = 0;

    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--list") == 0) {
            for (size_t j = 0; j < scenario_count; j++) {
                printf("%-17s %s\n", scenarios[j].name, scenarios[j].what);
            }
            return 0;
        }
        if (strcmp(argv[i], "--quick") == 0) {
            quick = true;
        } else if (strcmp(argv[i], "--only") == 0 && i + 1 < argc) {
            only = argv[++i];
        } else if (strcmp(argv[i], "--seed") == 0 && i + 1 < argc) {
            seed = strtoull(argv[++i], NULL, 10);
        } else if (strcmp(argv[i], "--round-ms-max") == 0 && i + 1 < argc) {
            round_ms_max = strtod(argv[++i], NULL);
        } else {
            fprintf(stderr,
                    "usage: %s [--seed N] [--only NAME] [--quick] [--round-ms-max N] | "
                    "--list\n",
                    argv[0]);
            return 2;
        }
    }
    print_head();
    for (size_t i = 0; i < scenario_count; i++) {
        if ((only != NULL && strcmp(only, scenarios[i].name) != 0) ||
            (quick && scenarios[i].tablets > QUICK_TABLETS_MAX)) {
            continue;
        }
        bool good = run(&scenarios[i], seed, round_ms_max);
        passed += good;
        failed += !good;
    }
    printf("%u passed, %u failed\n", passed, failed);
    return failed > 0 || passed == 0;
}
