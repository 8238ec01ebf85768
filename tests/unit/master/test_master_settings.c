/* Settings of the master: what keys say together. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "master/shell/settings.h"

#define SECOND_NS INT64_C(1000000000)

static const struct master_settings *last; /* as the assignments left them */

/* The faults after these assignments, a line each; "" = none.  NULL = no assignment. */
static const char *settle(const char *first, const char *second)
{
    static char faults[4096];
    struct config_reading reading;
    struct arena arena;
    size_t count = 0;
    const struct config_key *keys = settings_keys(&count);
    struct master_settings *settings = settings_with_defaults();

    arena_init(&arena, 4096, SIZE_MAX);
    config_reading_begin(&reading, keys, count, &arena);
    if (first != NULL) {
        (void)config_set(&reading, first);
    }
    if (second != NULL) {
        (void)config_set(&reading, second);
    }
    settings_check(settings, &reading);
    last = settings;
    faults[0] = '\0';
    for (size_t i = 0; i < reading.fault_count; i++) {
        strcat(strcat(faults, reading.faults[i]), "\n");
    }
    arena_deinit(&arena);
    return faults;
}

Test(master_settings, the_defaults_are_good)
{
    cr_assert_str_eq(settle(NULL, NULL), "");
}

Test(master_settings, no_pause_may_be_so_long_that_servers_are_lost_in_it)
{
    cr_assert_str_eq(
        settle("sync.interval_quick=30 s", "server.timeout=3 s"),
        "command line: sync.interval_quick: allowed are up to \"750 ms\", a quarter of "
        "server.timeout: servers would not be heard of for too long\n");
    cr_assert_str_eq(settle("sync.interval_quick=750 ms", NULL), "");
    cr_assert_str_eq(settle("sync.interval_quick=30 s", "server.timeout=2 min"), "");
    cr_assert_str_eq(settle("sync.interval=2 s", NULL),
                     "server.timeout must be at least twice sync.hold and sync.interval\n");
    cr_assert_str_eq(settle("sync.interval=1500 ms", "sync.hold=1500 ms"), "");
}

Test(master_settings, of_a_timeout_that_was_refused_nothing_follows_for_the_quick_pause)
{
    cr_assert_str_eq(settle("server.timeout=soon", "sync.interval_quick=30 s"),
                     "command line: server.timeout must be a duration like \"250 ms\", \"10 s\" or "
                     "\"15 min\"\n");
}

Test(master_settings, decisions_that_would_take_one_another_back_are_refused)
{
    cr_assert_str_eq(settle("balance.split_after_far=11 s", NULL),
                     "command line: balance.split_after_far must not be above balance.split_after: "
                     "what is far above the limit is split sooner, not later\n");
    cr_assert_str_eq(settle("balance.split_after_far=11 s", "balance.split_after=12 s"), "");
    cr_assert_not_null(
        strstr(settle("balance.imbalance_after=4 s", NULL),
               "balance.imbalance_after_far must not be above balance.imbalance_after"));
    cr_assert_not_null(
        strstr(settle("balance.uneven_percent=51", NULL),
               "balance.uneven_percent must not be above balance.uneven_far_percent"));
    cr_assert_not_null(
        strstr(settle("balance.merge_percent=51", NULL),
               "balance.merge_percent must not be above balance.piece_percent: pieces "
               "of a split would be merged again"));
    cr_assert_str_eq(settle("balance.merge_percent=0", "balance.piece_percent=10"), "");
    cr_assert_str_eq(settle("balance.split_after=soon", "balance.split_after_far=11 s"),
                     "command line: balance.split_after must be a duration like \"250 ms\", "
                     "\"10 s\" or \"15 min\"\n",
                     "nothing follows from what was refused");
}

Test(master_settings, what_is_decided_about_load_goes_by_the_settings)
{
    const char *const texts[] = {
        "far_times=3",           "piece_percent=60",      "uneven_percent=20",
        "uneven_far_percent=40", "crossing_percent=30",   "refusal_pause=5 min",
        "ahead_by=8 s",          "ahead_awaited=30 s",    "merge_percent=10",
        "merge_size_percent=50", "imbalance_far_times=4", NULL};
    struct balance_settings defaults;
    struct balance_settings balance = {0};

    balance_settings_default(&defaults);
    for (size_t i = 0; texts[i] != NULL; i++) {
        char text[64];
        (void)snprintf(text, sizeof text, "balance.%s", texts[i]);
        cr_assert_str_eq(settle(text, NULL), "");
        const struct balance_settings *now = &last->catalog.balance;
        balance.far_times += now->far_times - defaults.far_times;
        balance.piece_percent += now->piece_percent - defaults.piece_percent;
        balance.uneven_percent += defaults.uneven_percent - now->uneven_percent;
        balance.uneven_far_percent += defaults.uneven_far_percent - now->uneven_far_percent;
        balance.crossing_percent += defaults.crossing_percent - now->crossing_percent;
        balance.refusal_pause_ns += now->refusal_pause_ns - defaults.refusal_pause_ns;
        balance.ahead_by_ns += now->ahead_by_ns - defaults.ahead_by_ns;
        balance.ahead_awaited_ns += now->ahead_awaited_ns - defaults.ahead_awaited_ns;
        balance.merge_percent += defaults.merge_percent - now->merge_percent;
        balance.merge_size_percent += now->merge_size_percent - defaults.merge_size_percent;
        balance.imbalance_far_times += defaults.imbalance_far_times - now->imbalance_far_times;
    }
    cr_assert(balance.far_times == 1 && balance.piece_percent == 10);
    cr_assert(balance.uneven_percent == 5 && balance.uneven_far_percent == 10);
    cr_assert(balance.crossing_percent == 20 && balance.refusal_pause_ns == 240 * SECOND_NS);
    cr_assert(balance.ahead_by_ns == 2 * SECOND_NS && balance.ahead_awaited_ns == 10 * SECOND_NS);
    cr_assert(balance.merge_percent == 15 && balance.merge_size_percent == 25);
    cr_assert_eq(balance.imbalance_far_times, 1);
}

Test(master_settings, on_etcd_a_master_must_say_where_others_reach_it)
{
    const char *faults = settle("coordinator=etcd", "address=tcp://:7400");
    cr_assert_not_null(strstr(faults, "\nadvertise: nobody can dial tcp://:7400: "), "%s", faults);
    faults = settle("coordinator=embedded", "address=tcp://0.0.0.0:7400");
    cr_assert_null(strstr(faults, "advertise"), "%s", faults);
}

Test(master_settings, what_nobody_can_dial_is_not_advertised)
{
    cr_assert_not_null(strstr(settle("advertise=tcp://[::]:7400", NULL),
                              "command line: advertise: address tcp://[::]:7400 is every"));
    cr_assert_str_eq(settle("advertise=tcp://master-1:7400", NULL), "");
}
