/* Settings of the tablet server: defaults that follow from other keys, what keys say together. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "tabletserver/serve/settings.h"

#define MIB (UINT64_C(1024) * 1024)

static struct server_settings settings;
static struct config_reading reading;
static struct arena arena;

/* The settings after these assignments; NULL = none.  The faults, a line each; "" = none. */
static const char *settle(const char *first, const char *second)
{
    static char faults[4096];
    struct config_key keys[SERVER_SETTINGS_KEYS_MAX];
    server_settings_default(&settings);
    arena_init(&arena, 4096, SIZE_MAX);
    config_reading_begin(&reading, keys, server_settings_keys(&settings, keys), &arena);
    if (first != NULL) {
        (void)config_set(&reading, first);
    }
    if (second != NULL) {
        (void)config_set(&reading, second);
    }
    server_settings_check(&settings, &reading);
    faults[0] = '\0';
    for (size_t i = 0; i < reading.fault_count; i++) {
        strcat(strcat(faults, reading.faults[i]), "\n");
    }
    arena_deinit(&arena);
    return faults;
}

static uint64_t memtable_limit_of(const char *first, const char *second)
{
    cr_assert_str_eq(settle(first, second), "");
    return settings.store.memtable_limit_bytes;
}

Test(server_settings, a_memtable_is_a_sixth_of_all_by_default_and_no_more_than_128_MiB)
{
    cr_assert_eq(memtable_limit_of(NULL, NULL), 128 * MIB);
    cr_assert_eq(memtable_limit_of("memory_limit=64 GiB", NULL), 128 * MIB);
    cr_assert_eq(memtable_limit_of("memory_limit=768 MiB", NULL), 128 * MIB);
    cr_assert_eq(memtable_limit_of("memory_limit=96 MiB", NULL), 16 * MIB);
    cr_assert_eq(memtable_limit_of("memory_limit=6 MiB", NULL), MIB);
}

/* 1 024 connections, 256 of HTTP, 64 besides, and of a store 24 segments, two more and four. */
Test(server_settings, how_many_files_may_be_open_follows_from_what_is_set)
{
    cr_assert_str_eq(settle(NULL, NULL), "");
    cr_assert_eq(server_settings_files(&settings), 1024 + 256 + 64 + 30);
    cr_assert_str_eq(settle("connections_max=100", "stores=[\"/a\",\"/b\"]"), "");
    cr_assert_eq(server_settings_files(&settings), 100 + 256 + 64 + 2 * 30);
    cr_assert_str_eq(settle("log_limit=1 GiB", "log_segment=1 MiB"), "");
    cr_assert_eq(server_settings_files(&settings), 1024 + 256 + 64 + 2048 + 6);
}

static bool budgets_are(const char *first, const char *second, uint64_t requests, uint64_t answers)
{
    cr_assert_str_eq(settle(first, second), "");
    return settings.request_bytes_max == requests && settings.answer_bytes_max == answers;
}

Test(server_settings, requests_and_answers_may_have_a_quarter_of_memory_limit_each_by_default)
{
    cr_assert(budgets_are(NULL, NULL, 256 * MIB, 256 * MIB));
    cr_assert(budgets_are("memory_limit=512 MiB", NULL, 128 * MIB, 128 * MIB));
    cr_assert(budgets_are("memory_limit=16 MiB", NULL, 64 * MIB, 64 * MIB));
    cr_assert(budgets_are("memory_limit=64 GiB", NULL, 512 * MIB, 512 * MIB));
    cr_assert(budgets_are("request_bytes_max=1 GiB", "memory_limit=64 GiB", 1024 * MIB, 512 * MIB));
    cr_assert(budgets_are("answer_bytes_max=1 MiB", NULL, 256 * MIB, MIB));
}

Test(server_settings, a_memtable_limit_that_is_given_rules_whatever_comes_first)
{
    cr_assert_eq(memtable_limit_of("memory_limit=100 MiB", "memtable_limit=90 MiB"), 90 * MIB);
    cr_assert_eq(memtable_limit_of("memtable_limit=90 MiB", "memory_limit=100 MiB"), 90 * MIB);
    cr_assert_eq(memtable_limit_of("memtable_limit=1 GiB", NULL), 1024 * MIB);
    cr_assert_eq(memtable_limit_of("memtable_limit=64 KiB", NULL), 65536);
}

Test(server_settings, a_memtable_larger_than_all_memory_is_refused_by_name)
{
    cr_assert_str_eq(settle("memory_limit=100 MiB", "memtable_limit=101 MiB"),
                     "command line: memtable_limit must not be larger than memory_limit\n");
    /* Of a limit that was refused nothing follows. */
    cr_assert_str_eq(settle("memory_limit=lots", "memtable_limit=2 GiB"),
                     "command line: memory_limit must be a size like \"512 MiB\" or a number of "
                     "bytes\n");
}

Test(server_settings, leases_are_as_they_always_were_where_nothing_is_set)
{
    cr_assert_str_eq(settle(NULL, NULL), "");
    const struct lease_settings leases = server_settings_leases(&settings);
    cr_assert_eq(leases.beacon_ns, 250000000);
    cr_assert_eq(leases.lease_ns, 1400000000);
    cr_assert_eq(leases.grace_ns, 2000000000);
    cr_assert_eq(leases.drift_ppm, 50000);
}

Test(server_settings, the_order_of_beacon_lease_and_grace_is_refused_by_name)
{
    cr_assert_str_eq(settle("lease=1700 ms", NULL), "");
    cr_assert_str_eq(settle("lease=4 s", "grace=6 s"), "");
    cr_assert_str_eq(settle("lease=2 s", NULL),
                     "command line: grace, 2000 ms, must be longer than lease, 2000 ms, by what "
                     "clocks may differ: raise grace to 2211 ms, or lower lease\n");
    cr_assert_str_eq(settle("lease=1 s", "beacon=500 ms"),
                     "command line: lease, 1000 ms, must be longer than two beacons of 500 ms, as "
                     "one may be lost: raise lease, or lower beacon\n");
    cr_assert_not_null(strstr(settle("grace=61 s", NULL),
                              "grace is \"61 s\", allowed are \"200 ms\" to \"1 min\""));
    cr_assert_not_null(strstr(settle("lease=149 ms", NULL),
                              "lease is \"149 ms\", allowed are \"150 ms\" to \"30 s\""));
    cr_assert_not_null(strstr(settle("beacon=49 ms", NULL),
                              "beacon is \"49 ms\", allowed are \"50 ms\" to \"10 s\""));
    cr_assert_eq(reading.fault_count, 1, "of what was refused nothing follows");
}

Test(server_settings, more_stores_than_a_server_can_have_are_refused_by_name)
{
    cr_assert_str_eq(settle("stores=1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16", NULL), "");
    cr_assert_str_eq(settle("stores=1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17", NULL),
                     "command line: stores: 17 folders, at most 16 are allowed: another tablet "
                     "server takes more\n");
}

/* "masters=" and so many addresses, with more behind. */
static const char *masters_of(int count, const char *more)
{
    static char text[1024];
    int used = snprintf(text, sizeof text, "masters=");
    for (int i = 1; i <= count; i++) {
        used += snprintf(text + used, sizeof text - (size_t)used, "tcp://127.0.0.1:%d,", i);
    }
    (void)snprintf(text + used, sizeof text - (size_t)used, "%s", more);
    return text;
}

Test(server_settings, of_masters_that_are_too_many_or_too_long_it_is_said_which)
{
    char name[200] = "tcp://";
    memset(name + 6, 'm', sizeof name - 7);
    cr_assert_str_eq(settle(masters_of(16, "tcp://127.0.0.1:3 tcp://127.0.0.1:16"), NULL), "",
                     "what stands twice counts once");
    cr_assert_str_eq(settle(masters_of(17, "tcp://127.0.0.1:18"), NULL),
                     "command line: masters: with tcp://127.0.0.1:17 there are more than the 16 "
                     "that are allowed: leave it out\n");
    cr_assert_str_eq(
        settle(masters_of(1, name), NULL),
        "command line: masters: address tcp://mmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmm... is "
        "too long: at most 127 bytes are allowed\n");
}

Test(server_settings, the_words_about_the_log_mean_what_every_daemon_takes_them_for)
{
    cr_assert_str_eq(settle(NULL, NULL), "");
    cr_assert(settings.log.level == LOG_LEVEL_INFO && !settings.log.json);
    cr_assert_str_eq(settle("log.level=debug", "log.format=json"), "");
    cr_assert(settings.log.level == LOG_LEVEL_DEBUG && settings.log.json);
    cr_assert_str_eq(settle("log.level=error", NULL), "");
    cr_assert_eq(settings.log.level, LOG_LEVEL_ERROR);
    cr_assert_str_eq(settle("log.level=", "log.format=xml"),
                     "command line: log.level = \"\": must be debug, info, warn or error\n"
                     "command line: log.format = \"xml\": must be text or json\n");
    cr_assert(settings.log.level == LOG_LEVEL_INFO && !settings.log.json);
}

Test(server_settings, every_fault_is_told_with_its_place)
{
    const char *faults = settle("log.level=loud", "masters=127.0.0.1:7400");
    cr_assert(strncmp(faults, "command line: log.level = \"loud\"", 32) == 0, "%s", faults);
    cr_assert_not_null(strstr(faults, "\ncommand line: masters: "), "%s", faults);
    cr_assert_eq(reading.fault_count, 2);
}

Test(server_settings, a_server_on_every_address_must_say_where_others_reach_it)
{
    const char *const every[] = {"address=tcp://0.0.0.0:7401", "address=tcp://:7401",
                                 "address=tcp://[::]:0"};
    for (size_t i = 0; i < sizeof every / sizeof *every; i++) {
        const char *faults = settle(every[i], "insecure=true");
        cr_assert(strncmp(faults, "advertise: nobody can dial tcp://", 33) == 0, "%s", faults);
        cr_assert_eq(reading.fault_count, 1);
    }
    /* Of several faults all are told. */
    cr_assert_not_null(strstr(settle(every[0], NULL), "\nadvertise: nobody can dial "));
    cr_assert_not_null(strstr(settle("advertise=tcp://0.0.0.0:7401", NULL),
                              "command line: advertise: address tcp://0.0.0.0:7401 is every"));
    cr_assert_str_eq(settle("advertise=tcp://server-7:7401", NULL), "");
}

Test(server_settings, reads_are_confirmed_by_the_servers_of_other_copies)
{
    cr_assert_str_eq(settle(NULL, NULL), "");
    cr_assert_not(settings.reads_confirmed);
    cr_assert_str_eq(settle("reads=confirmed", "replicate=true"), "");
    cr_assert(settings.reads_confirmed);
    cr_assert_not_null(strstr(settle("reads=confirmed", NULL), "it needs replicate = true"));
    cr_assert_not_null(
        strstr(settle("reads=quick", NULL), "reads must be \"leased\" or \"confirmed\""));
}

/* As nanoseconds, or added to the time since 1970, they would begin again below 0. */
Test(server_settings, durations_that_do_not_fit_are_refused)
{
    cr_assert_str_eq(settle("slow_operation=876000 h", "gc_interval=876000 h"), "");
    cr_assert_not_null(strstr(settle("slow_operation=876001 h", NULL),
                              "slow_operation is \"876001 h\", allowed are"));
    cr_assert_not_null(
        strstr(settle("gc_interval=876001 h", NULL), "gc_interval is \"876001 h\", allowed are"));
    cr_assert_eq(reading.fault_count, 1);
}
