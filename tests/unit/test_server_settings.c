/* Settings of the tablet server: defaults that follow from other keys, what keys say together. */
#include <criterion/criterion.h>

#include "tabletserver/serve/settings.h"

#define MIB (UINT64_C(1024) * 1024)

static struct server_settings settings;
static struct arena arena;

static void set(const char *assignment)
{
    struct config_key keys[SERVER_SETTINGS_KEYS_MAX];
    struct error error = {.status = STATUS_OK};
    size_t count = server_settings_keys(&settings, keys);
    cr_assert_eq(config_set(assignment, keys, count, &arena, &error), STATUS_OK, "%s", error.text);
}

/* The settings after these assignments; NULL = none. */
static enum status settle(const char *first, const char *second, struct error *ret_error)
{
    server_settings_default(&settings);
    arena_init(&arena, 4096, SIZE_MAX);
    if (first != NULL) {
        set(first);
    }
    if (second != NULL) {
        set(second);
    }
    *ret_error = (struct error){.status = STATUS_OK};
    enum status status = server_settings_check(&settings, ret_error);
    arena_deinit(&arena);
    return status;
}

static uint64_t memtable_limit_of(const char *first, const char *second)
{
    struct error error;
    cr_assert_eq(settle(first, second, &error), STATUS_OK, "%s", error.text);
    return settings.store.memtable_limit_bytes;
}

Test(server_settings, a_memtable_is_a_quarter_of_all_by_default_and_no_more_than_128_MiB)
{
    cr_assert_eq(memtable_limit_of(NULL, NULL), 128 * MIB);
    cr_assert_eq(memtable_limit_of("memory_limit=64 GiB", NULL), 128 * MIB);
    cr_assert_eq(memtable_limit_of("memory_limit=512 MiB", NULL), 128 * MIB);
    cr_assert_eq(memtable_limit_of("memory_limit=100 MiB", NULL), 25 * MIB);
    cr_assert_eq(memtable_limit_of("memory_limit=1 MiB", NULL), MIB / 4);
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
    struct error error;
    cr_assert_eq(settle("memory_limit=100 MiB", "memtable_limit=101 MiB", &error),
                 STATUS_INVALID_ARGUMENT);
    cr_assert_not_null(strstr(error.text, "memtable_limit"), "%s", error.text);
}
