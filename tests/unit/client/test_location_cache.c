/* What the client knows of tablets' places, against a dumb array of one entry a row. */
#include <criterion/criterion.h>
#include <stdio.h>

#include "client/core/location_cache.h"
#include "common/base/memory.h"
#include "common/base/prng.h"

static struct location place(const char *start,
                             const char *end,
                             uint64_t version,
                             const char *address)
{
    return (struct location){
        .tablet = version,
        .table = 1,
        .configuration = version,
        .range = {bytes_of_text(start), bytes_of_text(end)},
        .server = address[0] != '\0' ? 1 : 0,
        .address = bytes_of_text(address),
    };
}

static void put(struct location_cache *cache, struct location location, bool from_master)
{
    cr_assert_eq(location_cache_put(cache, &location, from_master), STATUS_OK);
    location_cache_check(cache);
}

static const char *find(const struct location_cache *cache, const char *row)
{
    const struct location_entry *entry = location_cache_find(cache, 1, bytes_of_text(row));
    if (entry == NULL) {
        return NULL;
    }
    return entry->address == LOCATION_NOT_SERVED ? ""
                                                 : location_cache_address(cache, entry->address);
}

Test(location_cache, finds_what_was_put_and_nothing_else)
{
    struct location_cache cache;
    location_cache_init(&cache);
    cr_assert_null(find(&cache, "a"));
    put(&cache, place("c", "f", 1, "one"), true);
    put(&cache, place("m", "", 1, "two"), true);
    cr_assert_null(find(&cache, "b"));
    cr_assert_str_eq(find(&cache, "c"), "one");
    cr_assert_str_eq(find(&cache, "ezz"), "one");
    cr_assert_null(find(&cache, "f"));
    cr_assert_str_eq(find(&cache, "zzz"), "two");
    cr_assert_null(location_cache_find(&cache, 2, bytes_of_text("c")));
    location_cache_forget_table(&cache, 1);
    cr_assert_null(find(&cache, "c"));
    location_cache_deinit(&cache);
}

/* They are for the time when the one that led is gone. */
Test(location_cache, the_other_members_are_kept_in_doubt_and_when_told_less)
{
    const struct bytes others[] = {bytes_of_text("two"), bytes_of_text("three")};
    struct location_cache cache;
    location_cache_init(&cache);
    struct location location = place("", "", 4, "one");
    location.others = others;
    location.other_count = 2;
    put(&cache, location, true);
    location_cache_invalidate(&cache, 1, bytes_of_text("a"),
                              location_cache_find(&cache, 1, bytes_of_text("a"))->address);
    cr_assert_null(find(&cache, "a"));
    const struct location_entry *entry = location_cache_recall(&cache, 1, bytes_of_text("a"));
    cr_assert_eq(entry->other_count, 2);
    cr_assert_str_eq(location_cache_address(&cache, entry->others[1]), "three");
    put(&cache, place("", "", 4, "one"), false);
    cr_assert_eq(location_cache_recall(&cache, 1, bytes_of_text("a"))->other_count, 2,
                 "a server tells the primary alone");
    location.others = &others[1];
    location.other_count = 1;
    put(&cache, location, false);
    cr_assert_eq(location_cache_recall(&cache, 1, bytes_of_text("a"))->other_count, 1,
                 "who tells them knows better");
    struct location beside = place("", "", 4, "one");
    beside.tablet = 9;
    put(&cache, beside, false);
    cr_assert_eq(location_cache_recall(&cache, 1, bytes_of_text("a"))->other_count, 0,
                 "of another tablet nothing is known");
    put(&cache, location, false);
    put(&cache, place("", "", 5, "one"), false);
    cr_assert_eq(location_cache_recall(&cache, 1, bytes_of_text("a"))->other_count, 0,
                 "of another configuration nothing is known");
    cr_assert_null(location_cache_recall(&cache, 2, bytes_of_text("a")));
    location_cache_deinit(&cache);
}

Test(location_cache, newer_knowledge_wins_whatever_comes_first)
{
    struct location_cache cache;
    location_cache_init(&cache);
    put(&cache, place("", "", 5, "parent"), false);
    put(&cache, place("m", "", 6, "right"), false);
    cr_assert_null(find(&cache, "a"), "the rest of the parent is gone with it");
    cr_assert_str_eq(find(&cache, "x"), "right");
    put(&cache, place("", "", 5, "parent"), true);
    cr_assert_str_eq(find(&cache, "x"), "right");
    put(&cache, place("", "m", 6, "left"), false);
    cr_assert_str_eq(find(&cache, "a"), "left");
    location_cache_deinit(&cache);
}

Test(location_cache, a_doubted_place_is_not_found_and_not_followed_by_an_older_one)
{
    struct location_cache cache;
    uint32_t address = 0;
    location_cache_init(&cache);
    put(&cache, place("", "", 5, "five"), false);
    cr_assert_eq(location_cache_intern(&cache, bytes_of_text("five"), &address), STATUS_OK);
    location_cache_invalidate(&cache, 1, bytes_of_text("k"), address + 1);
    cr_assert_str_eq(find(&cache, "k"), "five", "another server's denial says nothing of it");
    location_cache_invalidate(&cache, 1, bytes_of_text("k"), address);
    cr_assert_null(find(&cache, "k"));
    put(&cache, place("", "", 4, "four"), false);
    cr_assert_null(find(&cache, "k"));
    put(&cache, place("", "", 4, "four"), true);
    cr_assert_str_eq(find(&cache, "k"), "four", "the master has the last word");
    put(&cache, place("", "", 6, ""), true);
    cr_assert_str_eq(find(&cache, "k"), "");
    location_cache_deinit(&cache);
}

/* Rows are one letter; the model knows each letter's place. */
/* Of a table whose catalog was restored: what overlaps the master's word goes, and nothing else. */
Test(location_cache, what_is_doubted_for_its_range_makes_way_for_the_master)
{
    struct location_cache cache;
    location_cache_init(&cache);
    put(&cache, place("", "c", 9, "one"), true);
    put(&cache, place("g", "m", 9, "two"), true);
    put(&cache, place("m", "", 9, "three"), true);
    const struct location wider = place("c", "m", 3, "four");
    put(&cache, wider, true);
    cr_assert_null(find(&cache, "d"), "a later version stands in its way");
    location_cache_doubt(&cache, 1, &wider.range);
    cr_assert_null(find(&cache, "g"));
    cr_assert_str_eq(find(&cache, "b"), "one");
    cr_assert_str_eq(find(&cache, "m"), "three");
    put(&cache, wider, true);
    cr_assert_str_eq(find(&cache, "d"), "four");
    cr_assert_str_eq(find(&cache, "g"), "four");
    location_cache_doubt(&cache, 2, &wider.range);
    location_cache_deinit(&cache);
}

Test(location_cache, agrees_with_one_entry_a_row)
{
    struct location_cache cache;
    struct prng prng = prng_of_seed(21);
    char model[26][8] = {{0}};
    uint64_t versions[26] = {0};
    location_cache_init(&cache);
    for (int step = 0; step < 20000; step++) {
        uint32_t first = (uint32_t)prng_below(&prng, 26);
        uint32_t count = 1 + (uint32_t)prng_below(&prng, 26 - first);
        uint64_t version = 1 + (uint64_t)step / 8 + prng_below(&prng, 4);
        char start[2] = {(char)('a' + first), 0};
        char end[2] = {(char)('a' + first + count), 0};
        char address[8];
        (void)snprintf(address, sizeof address, "s%d", (int)prng_below(&prng, 5));
        put(&cache, place(start, first + count == 26 ? "" : end, version, address), false);
        bool newest = true;
        for (uint32_t i = first; i < first + count; i++) {
            newest = newest && version >= versions[i];
        }
        /* What is partly covered goes whole: forget all whose entry was touched. */
        for (uint32_t i = 0; i < 26 && newest; i++) {
            char row[2] = {(char)('a' + i), 0};
            bool inside = i >= first && i < first + count;
            if (inside) {
                memcpy(model[i], address, sizeof address);
                versions[i] = version;
            } else if (find(&cache, row) == NULL) {
                model[i][0] = '\0';
                versions[i] = 0;
            }
        }
        for (uint32_t i = 0; i < 26; i++) {
            char row[2] = {(char)('a' + i), 0};
            const char *found = find(&cache, row);
            cr_assert_str_eq(found != NULL ? found : "", model[i], "row %s at step %d", row, step);
        }
    }
    location_cache_deinit(&cache);
}

Test(location_cache, without_memory_it_stays_in_order)
{
    for (uint64_t after = 0; after < 12; after++) {
        struct location_cache cache;
        location_cache_init(&cache);
        memory_fail_arm(after, 0);
        for (int i = 0; i < 20; i++) {
            char start[16];
            char end[16];
            (void)snprintf(start, sizeof start, "%02d", i);
            (void)snprintf(end, sizeof end, "%02d", i + 1);
            struct location location = place(start, end, 1, i % 2 == 0 ? "one" : "two");
            enum status status = location_cache_put(&cache, &location, true);
            cr_assert(status == STATUS_OK || status == STATUS_NO_MEMORY);
            location_cache_check(&cache);
        }
        memory_fail_disarm();
        location_cache_deinit(&cache);
    }
}
