#include "tabletserver/storage/record/applied_map.h"

#include <criterion/criterion.h>
#include <stdio.h>

#include "common/base/memory.h"
#include "common/base/prng.h"

#define POSITIONS 64 /* the small world of the model: rows a..h, each with eight places */

static struct arena arena;

static void setup(void)
{
    arena_init(&arena, 4096, SIZE_MAX);
}

static void teardown(void)
{
    arena_deinit(&arena);
}

TestSuite(applied_map, .init = setup, .fini = teardown);

/* Place p: row p / 8; 0 = the row's start, then columns and timestamps descending. */
static struct tablet_position place(int p)
{
    static const char *rows[] = {"a", "b", "c", "d", "e", "f", "g", "h"};
    static const int64_t times[] = {0, INT64_MAX, 30, 20, INT64_MAX, 9, 3, -5};
    if (p >= POSITIONS) {
        return (struct tablet_position){.everything = true};
    }
    struct tablet_position position = {.row = bytes_of_text(rows[p / 8])};
    if (p % 8 != 0) {
        position.family = p % 8 < 4 ? 1 : 2;
        position.qualifier = bytes_of_text(p % 8 < 4 ? "q" : "x");
        position.timestamp_us = times[p % 8];
    }
    return position;
}

static struct applied_map whole(uint64_t sequence)
{
    struct applied_map map;
    cr_assert_eq(applied_map_whole(&arena, sequence, &map), STATUS_OK);
    return map;
}

static struct applied_map raise(const struct applied_map *map, int from, int to, uint64_t sequence)
{
    struct tablet_position low = from == 0 ? (struct tablet_position){0} : place(from);
    struct tablet_position high = place(to);
    struct applied_map raised;
    cr_assert_eq(applied_map_raise(&arena, map, &low, &high, sequence, &raised), STATUS_OK);
    return raised;
}

static void check_invariants(const struct applied_map *map)
{
    cr_assert_geq(map->count, 1);
    for (uint32_t i = 1; i < map->count; i++) {
        cr_assert_lt(tablet_position_compare(&map->segments[i - 1].from, &map->segments[i].from),
                     0);
        cr_assert_neq(map->segments[i - 1].sequence, map->segments[i].sequence);
    }
}

Test(applied_map, places_ascend)
{
    for (int i = 0; i < POSITIONS; i++) {
        struct tablet_position a = place(i);
        struct tablet_position b = place(i + 1);
        cr_assert_lt(tablet_position_compare(&a, &b), 0, "place %d", i);
        cr_assert_gt(tablet_position_compare(&b, &a), 0, "place %d", i);
        cr_assert_eq(tablet_position_compare(&a, &a), 0);
    }
}

Test(applied_map, positions_of_entries_follow_the_order_of_entries)
{
    struct bytes row = bytes_of_text("r");
    struct entry entries[] = {
        {.kind = ENTRY_ROW_DELETE},
        {.kind = ENTRY_FAMILY_DELETE, .family = 1},
        {.kind = ENTRY_COLUMN_DELETE, .family = 1, .qualifier = bytes_of_text("q")},
        {.kind = ENTRY_PUT, .family = 1, .qualifier = bytes_of_text("q"), .timestamp_us = 9},
        {.kind = ENTRY_PUT, .family = 1, .qualifier = bytes_of_text("q"), .timestamp_us = 8},
        {.kind = ENTRY_FOLD, .family = 2, .qualifier = bytes_of_text(""), .timestamp_us = 9},
    };
    for (size_t i = 0; i + 1 < sizeof entries / sizeof entries[0]; i++) {
        struct tablet_position a = tablet_position_of(row, &entries[i]);
        struct tablet_position b = tablet_position_of(row, &entries[i + 1]);
        cr_assert_lt(tablet_position_compare(&a, &b), 0, "entry %zu", i);
    }
}

Test(applied_map, a_flush_moves_through_the_tablet)
{
    struct applied_map map = whole(10);
    cr_assert_eq(applied_map_prefix(&map, 10).everything, true);
    map = raise(&map, 0, 11, 20); /* into the middle of row b */
    struct tablet_position reached = applied_map_prefix(&map, 20);
    struct tablet_position expected = place(11);
    cr_assert_eq(tablet_position_compare(&reached, &expected), 0);
    cr_assert_eq(applied_map_highest(&map), 20);
    uint64_t low = 0;
    uint64_t high = 0;
    applied_map_span_of_row(&map, bytes_of_text("a"), &low, &high);
    cr_assert(low == 20 && high == 20);
    applied_map_span_of_row(&map, bytes_of_text("b"), &low, &high);
    cr_assert(low == 10 && high == 20);
    applied_map_span_of_row(&map, bytes_of_text("c"), &low, &high);
    cr_assert(low == 10 && high == 10);
    map = raise(&map, 0, POSITIONS, 20);
    cr_assert_eq(map.count, 1);
}

Test(applied_map, random_raises_equal_an_array)
{
    struct prng prng = prng_of_seed(4711);
    for (int round = 0; round < 300; round++) {
        uint64_t model[POSITIONS];
        for (int i = 0; i < POSITIONS; i++) {
            model[i] = 5;
        }
        arena_reset(&arena);
        struct applied_map map = whole(5);
        for (int step = 0; step < 12; step++) {
            int from = (int)prng_below(&prng, POSITIONS);
            int to = from + (int)prng_below(&prng, (uint64_t)(POSITIONS - from) + 1);
            uint64_t sequence = prng_below(&prng, 12);
            map = raise(&map, from, to, sequence);
            check_invariants(&map);
            for (int i = from; i < to; i++) {
                model[i] = sequence > model[i] ? sequence : model[i];
            }
            for (int i = 0; i < POSITIONS; i++) {
                struct tablet_position at = place(i);
                cr_assert_eq(applied_map_at(&map, &at), model[i], "round %d place %d", round, i);
            }
        }
        for (uint64_t sequence = 0; sequence < 13; sequence++) {
            int first = 0;
            while (first < POSITIONS && model[first] >= sequence) {
                first++;
            }
            struct tablet_position expected = first == 0 ? (struct tablet_position){0}
                                                         : place(first);
            struct tablet_position prefix = applied_map_prefix(&map, sequence);
            cr_assert_eq(tablet_position_compare(&prefix, &expected), 0);
        }
    }
}

static struct applied_map sample(void)
{
    struct applied_map map = whole(10);
    map = raise(&map, 0, 11, 20);
    map = raise(&map, 24, 40, 300);
    return map;
}

Test(applied_map, image_comes_back)
{
    struct applied_map map = sample();
    struct buffer image = BUFFER_INIT;
    applied_map_encode(&map, &image);
    struct applied_map back;
    struct error error;
    cr_assert_eq(applied_map_decode(buffer_bytes(&image), &arena, &back, &error), STATUS_OK);
    cr_assert_eq(back.count, map.count);
    for (uint32_t i = 0; i < map.count; i++) {
        cr_assert_eq(tablet_position_compare(&back.segments[i].from, &map.segments[i].from), 0);
        cr_assert_eq(back.segments[i].sequence, map.segments[i].sequence);
    }
    buffer_deinit(&image);
}

Test(applied_map, damaged_images_are_refused_or_still_in_order)
{
    struct applied_map map = sample();
    struct buffer image = BUFFER_INIT;
    applied_map_encode(&map, &image);
    struct applied_map back;
    struct error error;
    for (size_t size = 0; size < image.size_bytes; size++) {
        struct bytes cut = {image.data, size};
        cr_assert_neq(applied_map_decode(cut, &arena, &back, &error), STATUS_OK, "size %zu", size);
    }
    for (size_t at = 0; at < image.size_bytes; at++) {
        for (int bit = 0; bit < 8; bit++) {
            image.data[at] ^= (uint8_t)(1 << bit);
            if (applied_map_decode(buffer_bytes(&image), &arena, &back, &error) == STATUS_OK) {
                check_invariants(&back);
            }
            image.data[at] ^= (uint8_t)(1 << bit);
        }
    }
    buffer_deinit(&image);
}

Test(applied_map, newer_image_is_refused_by_version)
{
    const uint8_t image[] = {2, 1, 5};
    struct applied_map map;
    struct error error;
    cr_assert_eq(applied_map_decode(bytes_of(image, sizeof image), &arena, &map, &error),
                 STATUS_VERSION);
}

Test(applied_map, no_memory_changes_nothing)
{
    struct arena small;
    arena_init(&small, 32, 32);
    struct applied_map map;
    struct tablet_position low = place(3);
    struct tablet_position high = place(9);
    cr_assert_eq(applied_map_whole(&small, 1, &map), STATUS_NO_MEMORY);
    struct applied_map full = whole(1);
    memory_fail_arm(0, 1);
    cr_assert_eq(applied_map_raise(&small, &full, &low, &high, 2, &map), STATUS_NO_MEMORY);
    memory_fail_disarm();
    arena_deinit(&small);
}
