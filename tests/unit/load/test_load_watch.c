/* How often a run is looked at while it goes on: who looks takes processor time from what is measured. */
#include <criterion/criterion.h>

#include <stdlib.h>
#include <string.h>

#include "client/load/complaint.h"
#include "client/load/signals.h"
#include "client/load/watch.h"

enum {
    RUN_S = 10,
    LOOKS_A_SECOND = 20
};

#define NS_PER_S INT64_C(1000000000)

static int64_t now_ns; /* a clock that only waiting moves on */
static int looks;
static struct load_options options;
static struct load_run run = {.options = &options};
static struct load_workload workload = {.name = "write"};
static struct load_report report = {.options = &options, .workload = &workload, .phase = "run"};
static struct load_copies copies;
static struct load_watch watch;

/* --- what is looked at ------------------------------------------------------------------------ */

bool load_run_wait(struct load_run *of, int64_t until_ns)
{
    int64_t end_ns = of->begun_ns + RUN_S * NS_PER_S;
    cr_assert_gt(until_ns, now_ns, "it does not wait, but looks again at once, after %g s",
                 (double)(now_ns - of->begun_ns) / 1e9);
    now_ns = until_ns < end_ns ? until_ns : end_ns;
    looks++;
    return now_ns == end_ns;
}

void load_run_gather(const struct load_run *of, struct load_tally *ret_tallies)
{
    (void)of;
    memset(ret_tallies, 0, LOAD_KINDS * sizeof *ret_tallies);
}

int64_t load_now_ns(void)
{
    return now_ns;
}

void load_silence_begin(struct load_silence *silence,
                        const struct load_run *of,
                        const char *clear,
                        int64_t at_ns)
{
    *silence = (struct load_silence){.run = of, .clear = clear, .since_ns = at_ns};
}

void load_silence_look(struct load_silence *silence, int64_t at_ns)
{
    silence->since_ns = at_ns;
}

double load_silence_s(const struct load_silence *silence, int64_t at_ns)
{
    return (double)(at_ns - silence->since_ns) / 1e9;
}

void load_silence_end(struct load_silence *silence)
{
    (void)silence;
}

bool load_was_interrupted(void)
{
    return false;
}

void load_say_waiting(const char *message)
{
    (void)message;
}

/* --- looking ---------------------------------------------------------------------------------- */

/* Returns how many intervals were told. */
static int watch_run(double interval_s, double warmup_s, bool is_load)
{
    char *told = NULL;
    size_t size = 0;
    int lines = 0;
    FILE *out = open_memstream(&told, &size);
    options = (struct load_options){.quiet = true, .format = LOAD_TEXT, .interval_s = interval_s};
    now_ns = 5 * NS_PER_S;
    looks = 0;
    run.begun_ns = now_ns;
    run.warmup_s = warmup_s;
    run.is_load = is_load;
    load_watch_begin(&watch, &run, &report, &copies, out);
    load_watch_to_the_end(&watch);
    load_watch_sum(&watch);
    cr_assert_eq(fclose(out), 0);
    for (size_t i = 0; i < size; i++) {
        lines += told[i] == '\n' ? 1 : 0;
    }
    free(told);
    return lines;
}

Test(load_watch, a_run_is_looked_at_some_times_a_second)
{
    cr_assert_eq(watch_run(0, 0, false), 0);
    cr_assert_eq(looks, RUN_S * LOOKS_A_SECOND);
}

Test(load_watch, each_interval_of_a_run_is_told)
{
    cr_assert_eq(watch_run(0.5, 0, false), RUN_S * 2);
    cr_assert_eq(looks, RUN_S * LOOKS_A_SECOND);
}

Test(load_watch, a_load_tells_no_intervals_and_does_not_look_for_them)
{
    cr_assert_eq(watch_run(0.5, 0, true), 0);
    cr_assert_eq(looks, RUN_S * LOOKS_A_SECOND);
}

Test(load_watch, a_warm_up_tells_no_intervals_and_does_not_look_for_them)
{
    cr_assert_eq(watch_run(0.5, RUN_S / 2, false), RUN_S);
    cr_assert_eq(looks, RUN_S * LOOKS_A_SECOND);
}
