/* Settings of the master: what keys say together. */
#include <criterion/criterion.h>
#include <string.h>

#include "master/shell/settings.h"

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
