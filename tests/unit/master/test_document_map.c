/* The catalog's documents in memory, against an array that is searched from end to end. */
#include <criterion/criterion.h>

#include <stdio.h>

#include "common/base/memory.h"
#include "common/base/prng.h"
#include "master/core/state/document_map.h"

#define NAMES 40

static struct document_entry *entry_of(const char *name, const char *content, uint64_t version)
{
    const struct document_record record = {
        .number = 1,
        .changed_version = version,
        .name = bytes_of_text(name),
        .content = bytes_of_text(content),
    };
    struct document_entry *entry = document_entry_create(&record);
    cr_assert_not_null(entry);
    return entry;
}

Test(document_map, holds_what_a_plain_array_holds)
{
    struct document_map map;
    struct prng prng = prng_of_seed(3);
    uint64_t versions[NAMES] = {0}; /* 0 = not there */
    document_map_init(&map);
    for (uint64_t step = 1; step <= 5000; step++) {
        char name[16];
        size_t which = prng_below(&prng, NAMES);
        snprintf(name, sizeof name, "%zu", which);
        if (versions[which] != 0 && prng_chance(&prng, 2)) {
            document_map_remove(&map, bytes_of_text(name));
            versions[which] = 0;
        } else {
            cr_assert_eq(document_map_reserve(&map, 1), STATUS_OK);
            document_map_put(&map, entry_of(name, name, step));
            versions[which] = step;
        }
        document_map_check(&map);
        size_t count = 0;
        for (size_t i = 0; i < NAMES; i++) {
            snprintf(name, sizeof name, "%zu", i);
            const struct document_entry *entry = document_map_get(&map, bytes_of_text(name));
            cr_assert_eq(entry != NULL, versions[i] != 0);
            cr_assert(entry == NULL || entry->record.changed_version == versions[i]);
            count += entry != NULL;
        }
        cr_assert_eq(map.count, count);
    }
    document_map_deinit(&map);
}

Test(document_map, what_is_loaded_is_sorted_and_two_of_a_name_are_seen)
{
    const char *names[] = {"m", "a", "z", "ab", "b"};
    struct document_map map;
    document_map_init(&map);
    cr_assert(document_map_sort(&map), "none are in order");
    for (size_t i = 0; i < 5; i++) {
        cr_assert_eq(document_map_reserve(&map, 1), STATUS_OK);
        document_map_append(&map, entry_of(names[i], "c", 1));
    }
    cr_assert(document_map_sort(&map));
    document_map_check(&map);
    cr_assert_eq(document_map_index(&map, bytes_of_text("aa")), 1);
    cr_assert_eq(document_map_index(&map, bytes_of_text("zz")), 5);
    cr_assert_eq(document_map_reserve(&map, 1), STATUS_OK);
    document_map_append(&map, entry_of("z", "c", 1));
    cr_assert_not(document_map_sort(&map));
    document_map_deinit(&map);
}

Test(document_map, without_memory_nothing_changes)
{
    const struct document_record record = {.number = 1,
                                           .changed_version = 1,
                                           .name = bytes_of_text("n"),
                                           .content = bytes_of_text("c")};
    struct document_map map;
    document_map_init(&map);
    memory_fail_arm(0, 1);
    enum status status = document_map_reserve(&map, 1);
    struct document_entry *entry = document_entry_create(&record);
    memory_fail_disarm();
    cr_assert_eq(status, STATUS_NO_MEMORY);
    cr_assert_null(entry);
    document_map_check(&map);
    document_map_deinit(&map);
}
