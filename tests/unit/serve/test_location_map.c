#include <criterion/criterion.h>

#include "common/base/memory.h"
#include "common/base/prng.h"
#include "tabletserver/serve/sync/location_map.h"

static struct location location_of(uint64_t tablet,
                                   const char *start,
                                   const char *end,
                                   uint64_t configuration)
{
    return (struct location){.tablet = tablet,
                             .table = 1,
                             .configuration = configuration,
                             .range = {bytes_of_text(start), bytes_of_text(end)},
                             .server = 5,
                             .address = bytes_of_text("tcp://somewhere:1")};
}

static void put(struct location_map *map,
                uint64_t tablet,
                const char *start,
                const char *end,
                uint64_t configuration)
{
    struct location location = location_of(tablet, start, end, configuration);
    cr_assert_eq(location_map_put(map, &location), STATUS_OK);
}

/* The tablet that holds row, 0 for none. */
static uint64_t holder_of(struct location_map *map, uint64_t table, const char *row)
{
    struct arena arena;
    struct location found;
    uint64_t tablet = 0;
    arena_init(&arena, 1024, SIZE_MAX);
    if (location_map_find(map, table, bytes_of_text(row), &arena, &found)) {
        cr_assert(bytes_equal(found.address, bytes_of_text("tcp://somewhere:1")));
        tablet = found.tablet;
    }
    arena_deinit(&arena);
    return tablet;
}

/* They are told to clients, long after the message that told them is gone. */
Test(location_map, keeps_where_the_other_members_are)
{
    char where[] = "tcp://other:1";
    const struct bytes others[] = {bytes_of_text("tcp://other:2"), bytes_of_text(where)};
    struct location location = location_of(11, "", "m", 1);
    struct location_map *map = NULL;
    struct location found;
    struct arena arena;
    location.others = others;
    location.other_count = 2;
    arena_init(&arena, 1024, SIZE_MAX);
    cr_assert_eq(location_map_create(&map), STATUS_OK);
    cr_assert_eq(location_map_put(map, &location), STATUS_OK);
    memset(where, 'x', sizeof where - 1);
    cr_assert(location_map_find(map, 1, bytes_of_text("a"), &arena, &found));
    location_map_destroy(map);
    cr_assert_eq(found.other_count, 2);
    cr_assert(bytes_equal(found.others[0], bytes_of_text("tcp://other:2")));
    cr_assert(bytes_equal(found.others[1], bytes_of_text("tcp://other:1")));
    cr_assert(bytes_equal(found.address, bytes_of_text("tcp://somewhere:1")));
    arena_deinit(&arena);
}

Test(location_map, finds_who_holds_a_row)
{
    struct location_map *map = NULL;
    cr_assert_eq(location_map_create(&map), STATUS_OK);
    cr_assert_eq(holder_of(map, 1, "a"), 0);
    put(map, 12, "m", "t", 1);
    put(map, 11, "", "m", 1);
    cr_assert_eq(holder_of(map, 1, ""), 11);
    cr_assert_eq(holder_of(map, 1, "lzz"), 11);
    cr_assert_eq(holder_of(map, 1, "m"), 12);
    cr_assert_eq(holder_of(map, 1, "t"), 0);
    cr_assert_eq(holder_of(map, 2, "a"), 0);
    cr_assert_eq(holder_of(map, 0, "z"), 0);
    location_map_remove(map, 11);
    location_map_remove(map, 999);
    cr_assert_eq(holder_of(map, 1, "a"), 0);
    location_map_clear(map);
    cr_assert_eq(holder_of(map, 1, "m"), 0);
    location_map_destroy(map);
}

Test(location_map, children_hide_their_parent_and_news_is_not_undone)
{
    struct location_map *map = NULL;
    cr_assert_eq(location_map_create(&map), STATUS_OK);
    put(map, 2, "", "m", 8); /* the child first: answers come in any order */
    put(map, 1, "", "", 7);
    put(map, 3, "m", "", 8);
    cr_assert_eq(holder_of(map, 1, "a"), 2);
    cr_assert_eq(holder_of(map, 1, "x"), 3);
    location_map_remove(map, 1);
    cr_assert_eq(holder_of(map, 1, "a"), 2);

    struct location moved = location_of(2, "", "m", 9);
    moved.state = TABLET_UNAVAILABLE;
    cr_assert_eq(location_map_put(map, &moved), STATUS_OK);
    put(map, 2, "", "m", 8);
    struct arena arena;
    struct location found;
    arena_init(&arena, 1024, SIZE_MAX);
    cr_assert(location_map_find(map, 1, bytes_of_text("a"), &arena, &found));
    cr_assert_eq(found.configuration, 9);
    cr_assert_eq(found.state, TABLET_UNAVAILABLE);
    arena_deinit(&arena);
    location_map_destroy(map);
}

/* What was merged begins in the middle of what it became, and hid it. */
Test(location_map, the_merged_one_hides_its_halves_whatever_the_order)
{
    static const uint64_t orders[][4] = {
        {4, 2, 3, 1}, {2, 3, 4, 1}, {3, 4, 2, 1}, {1, 2, 3, 4}, {4, 1, 3, 2}};
    static const char *const starts[] = {"", "", "m", ""};
    static const char *const ends[] = {"", "m", "", ""};
    for (size_t i = 0; i < sizeof orders / sizeof orders[0]; i++) {
        struct location_map *map = NULL;
        cr_assert_eq(location_map_create(&map), STATUS_OK);
        for (size_t j = 0; j < 4; j++) {
            uint64_t tablet = orders[i][j]; /* 1 was split into 2 and 3, which became 4 */
            put(map, tablet, starts[tablet - 1], ends[tablet - 1], tablet);
        }
        cr_assert_eq(holder_of(map, 1, "a"), 4);
        cr_assert_eq(holder_of(map, 1, "x"), 4);
        cr_assert_eq(location_map_count(map, 1), 1);
        put(map, 5, "", "g", 5); /* and that was split again */
        put(map, 6, "g", "", 5);
        put(map, 3, "m", "", 99);
        cr_assert_eq(holder_of(map, 1, "a"), 5);
        cr_assert_eq(holder_of(map, 1, "x"), 6);
        location_map_destroy(map);
    }
}

Test(location_map, lists_from_a_row_on)
{
    struct location_map *map = NULL;
    struct location *locations = NULL;
    size_t count = 0;
    struct arena arena;
    arena_init(&arena, 1024, SIZE_MAX);
    cr_assert_eq(location_map_create(&map), STATUS_OK);
    put(map, 1, "", "b", 1);
    put(map, 2, "b", "c", 1);
    put(map, 3, "c", "d", 1);
    put(map, 4, "e", "", 1);
    cr_assert_eq(location_map_list(map, 1, bytes_of_text("bb"), 2, &arena, &locations, &count),
                 STATUS_OK);
    cr_assert_eq(count, 2);
    cr_assert_eq(locations[0].tablet, 2);
    cr_assert_eq(locations[1].tablet, 3);
    cr_assert_eq(location_map_list(map, 1, bytes_of_text("d"), 9, &arena, &locations, &count),
                 STATUS_OK);
    cr_assert_eq(count, 1);
    cr_assert_eq(locations[0].tablet, 4);
    cr_assert_eq(location_map_list(map, 2, BYTES_EMPTY, 9, &arena, &locations, &count), STATUS_OK);
    cr_assert_eq(count, 0);
    arena_deinit(&arena);
    location_map_destroy(map);
}

Test(location_map, failing_for_memory_changes_nothing)
{
    bool succeeded = false;
    for (uint64_t after = 0; !succeeded; after++) {
        struct location_map *map = NULL;
        cr_assert_eq(location_map_create(&map), STATUS_OK);
        put(map, 1, "", "m", 1);
        struct location news[] = {location_of(1, "", "m", 2), location_of(2, "m", "", 2)};
        memory_fail_arm(after, 1);
        enum status first = location_map_put(map, &news[0]);
        enum status second = location_map_put(map, &news[1]);
        memory_fail_disarm();
        cr_assert_eq(holder_of(map, 1, "a"), 1, "what was known stays known");
        cr_assert_eq(holder_of(map, 1, "x"), second == STATUS_OK ? 2 : 0);
        succeeded = first == STATUS_OK && second == STATUS_OK;
        location_map_destroy(map);
    }
}

/* Found by edubba-sim: a tablet whose server's report was lost was placed again on another, and what
 * clients had written to the first, where servers had sent them, was gone. */
Test(location_map, does_not_say_where_a_tablet_is_created)
{
    struct location_map *map = NULL;
    struct arena arena;
    struct location location = location_of(11, "", "", 1);
    struct location found;

    arena_init(&arena, 1024, SIZE_MAX);
    cr_assert_eq(location_map_create(&map), STATUS_OK);
    location.state = TABLET_CREATING;
    cr_assert_eq(location_map_put(map, &location), STATUS_OK);
    cr_assert(location_map_find(map, 1, bytes_of_text("a"), &arena, &found));
    cr_assert_eq(found.server, 0);
    cr_assert_eq(found.address.size_bytes, 0);
    location.state = TABLET_SERVING;
    cr_assert_eq(location_map_put(map, &location), STATUS_OK);
    cr_assert(location_map_find(map, 1, bytes_of_text("a"), &arena, &found));
    cr_assert_eq(found.server, 5);
    location_map_destroy(map);
    arena_deinit(&arena);
}

/* Servers that never had a tablet of it are told of the table only: they went on sending clients to one that had
 * lost it (edubba-sim). */
Test(location_map, forgets_a_table_as_a_whole)
{
    struct location_map *map = NULL;
    cr_assert_eq(location_map_create(&map), STATUS_OK);
    struct location others = location_of(3, "", "", 1);
    others.table = 2;
    put(map, 1, "", "m", 1);
    put(map, 2, "m", "", 1);
    cr_assert_eq(location_map_put(map, &others), STATUS_OK);
    location_map_remove_table(map, 1);
    cr_assert_eq(location_map_count(map, 1), 0);
    cr_assert_eq(location_map_count(map, 2), 1);
    cr_assert_eq(holder_of(map, 1, "a"), 0);
    location_map_remove_table(map, 7);
    cr_assert_eq(location_map_count(map, 2), 1);
    location_map_destroy(map);
}
