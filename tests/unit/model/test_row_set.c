#include <criterion/criterion.h>

#include "common/base/limits.h"
#include "common/base/memory.h"
#include "common/base/prng.h"
#include "common/model/row_set.h"

static struct bytes text(const char *text)
{
    return bytes_of_text(text);
}

static struct arena new_arena(void)
{
    struct arena arena;
    arena_init(&arena, 4096, SIZE_MAX);
    return arena;
}

static struct row_range range_of(const char *start, const char *end)
{
    return (struct row_range){text(start), text(end)};
}

static void assert_range(const struct row_range *range, const char *start, const char *end)
{
    cr_assert(bytes_equal(range->start, text(start)));
    cr_assert(bytes_equal(range->end, text(end)));
}

Test(row_range, contains_its_start_but_not_its_end)
{
    struct row_range range = range_of("b", "d");
    cr_assert_not(row_range_contains(&range, text("a")));
    cr_assert(row_range_contains(&range, text("b")));
    cr_assert(row_range_contains(&range, text("c\xff")));
    cr_assert_not(row_range_contains(&range, text("d")));
    struct row_range all = range_of("", "");
    cr_assert(row_range_contains(&all, text("\xff\xff")));
}

Test(row_range, intersection)
{
    struct row_range a = range_of("b", "d");
    struct row_range b = range_of("c", "");
    struct row_range both;
    cr_assert(row_range_intersect(&a, &b, &both));
    assert_range(&both, "c", "d");
    struct row_range touching = range_of("d", "e");
    cr_assert_not(row_range_intersect(&a, &touching, &both));
    assert_range(&both, "c", "d"); /* untouched on failure */
    struct row_range all = range_of("", "");
    cr_assert(row_range_intersect(&all, &all, &both));
    assert_range(&both, "", "");
}

Test(row_range, prefix_ends_at_the_next_possible_key)
{
    struct arena arena = new_arena();
    struct row_range range;
    cr_assert_eq(row_range_of_prefix(&arena, text("ab"), &range), STATUS_OK);
    assert_range(&range, "ab", "ac");
    cr_assert_eq(row_range_of_prefix(&arena, text("a\xff\xff"), &range), STATUS_OK);
    assert_range(&range, "a\xff\xff", "b");
    cr_assert_eq(row_range_of_prefix(&arena, text("\xff"), &range), STATUS_OK);
    assert_range(&range, "\xff", "");
    cr_assert_eq(row_range_of_prefix(&arena, BYTES_EMPTY, &range), STATUS_OK);
    assert_range(&range, "", "");
    arena_deinit(&arena);
}

Test(row_set, nothing_given_is_everything)
{
    struct arena arena = new_arena();
    struct row_set set;
    cr_assert_eq(row_set_normalise(&arena, NULL, 0, NULL, 0, &set, NULL), STATUS_OK);
    cr_assert_eq(set.count, 1);
    assert_range(&set.ranges[0], "", "");
    arena_deinit(&arena);
}

Test(row_set, keys_and_bounds_are_sorted_and_merged)
{
    struct arena arena = new_arena();
    const struct bytes keys[] = {text("m"), text("a"), text("a"), text("c")};
    const struct row_bounds bounds[] = {
        {.start = text("k"), .end = text("m")},
        {.start = text("c"), .end = text("d"), .start_open = true},
        {.start = text("x"), .end = text("x"), .end_closed = true},
        {.start = text("y"), .end = text("y"), .start_open = true, .end_closed = true},
    };
    struct row_set set;
    cr_assert_eq(row_set_normalise(&arena, keys, 4, bounds, 4, &set, NULL), STATUS_OK);
    cr_assert_eq(set.count, 4);
    cr_assert(bytes_equal(set.ranges[0].end, bytes_of("a\0", 2)));
    assert_range(&set.ranges[1], "c", "d"); /* c itself, and what is above it */
    cr_assert(bytes_equal(set.ranges[2].start, text("k")));
    cr_assert(bytes_equal(set.ranges[2].end, bytes_of("m\0", 2)));
    cr_assert(bytes_equal(set.ranges[3].start, text("x")));
    arena_deinit(&arena);
}

Test(row_set, an_open_end_swallows_the_rest)
{
    struct arena arena = new_arena();
    const struct row_bounds bounds[] = {{.start = text("q")},
                                        {.start = text("b"), .end = text("z")}};
    const struct bytes key = text("zz");
    struct row_set set;
    cr_assert_eq(row_set_normalise(&arena, &key, 1, bounds, 2, &set, NULL), STATUS_OK);
    cr_assert_eq(set.count, 1);
    assert_range(&set.ranges[0], "b", "");
    arena_deinit(&arena);
}

Test(row_set, empty_bounds_do_not_mean_everything)
{
    struct arena arena = new_arena();
    const struct row_bounds bounds = {.start = text("a"), .end = text("a")};
    struct row_set set;
    cr_assert_eq(row_set_normalise(&arena, NULL, 0, &bounds, 1, &set, NULL), STATUS_OK);
    cr_assert_eq(set.count, 0);
    arena_deinit(&arena);
}

Test(row_set, bad_input_is_named)
{
    static uint8_t longest[LIMIT_ROW_KEY_BYTES + 2];
    struct arena arena = new_arena();
    struct row_set set;
    struct error error;
    const struct bytes keys[] = {text("a"), BYTES_EMPTY};
    cr_assert_eq(row_set_normalise(&arena, keys, 2, NULL, 0, &set, &error),
                 STATUS_INVALID_ARGUMENT);
    cr_assert_str_eq(
        error.text, "Error in field 'row_keys' : Error in element #1 : Row keys must be non-empty");

    const struct bytes long_key = bytes_of(longest, LIMIT_ROW_KEY_BYTES + 1);
    cr_assert_eq(row_set_normalise(&arena, &long_key, 1, NULL, 0, &set, &error),
                 STATUS_INVALID_ARGUMENT);
    const struct bytes longest_key = bytes_of(longest, LIMIT_ROW_KEY_BYTES);
    cr_assert_eq(row_set_normalise(&arena, &longest_key, 1, NULL, 0, &set, &error), STATUS_OK);

    struct row_bounds bounds = {.start = text("b"), .end = text("a")};
    cr_assert_eq(row_set_normalise(&arena, NULL, 0, &bounds, 1, &set, &error),
                 STATUS_INVALID_ARGUMENT);
    cr_assert_str_eq(error.text,
                     "Error in field 'row_ranges' : Error in element #0 : start_key must be less "
                     "than end_key");
    bounds = (struct row_bounds){.start = bytes_of(longest, LIMIT_ROW_KEY_BYTES + 1)};
    cr_assert_eq(row_set_normalise(&arena, NULL, 0, &bounds, 1, &set, &error), STATUS_OK);
    bounds = (struct row_bounds){.end = bytes_of(longest, LIMIT_ROW_KEY_BYTES + 2)};
    cr_assert_eq(row_set_normalise(&arena, NULL, 0, &bounds, 1, &set, &error),
                 STATUS_INVALID_ARGUMENT);
    arena_deinit(&arena);
}

/* One-letter keys and ranges: membership of every letter against the set. */

#define LETTERS 26

struct picks {
    char letters[LETTERS * 2];
    struct bytes keys[LETTERS];
    struct row_bounds bounds[LETTERS];
    size_t key_count;
    size_t bounds_count;
    bool member[LETTERS];
};

static void pick_randomly(struct prng *prng, struct picks *picks)
{
    for (int i = 0; i < LETTERS; i++) {
        picks->letters[i] = (char)('a' + i);
    }
    picks->key_count = prng_below(prng, 10);
    for (size_t i = 0; i < picks->key_count; i++) {
        size_t letter = prng_below(prng, LETTERS);
        picks->keys[i] = bytes_of(&picks->letters[letter], 1);
        picks->member[letter] = true;
    }
    picks->bounds_count = prng_below(prng, 6) + (picks->key_count == 0 ? 1 : 0);
    for (size_t i = 0; i < picks->bounds_count; i++) {
        size_t start = prng_below(prng, LETTERS);
        size_t end = start + prng_below(prng, LETTERS - start);
        struct row_bounds *bounds = &picks->bounds[i];
        *bounds = (struct row_bounds){
            .start = bytes_of(&picks->letters[start], prng_chance(prng, 5) ? 0 : 1),
            .end = bytes_of(&picks->letters[end], prng_chance(prng, 5) ? 0 : 1),
            .start_open = prng_chance(prng, 2),
            .end_closed = prng_chance(prng, 2),
        };
        for (size_t j = 0; j < LETTERS; j++) {
            bool above = bounds->start.size_bytes == 0 || j > start ||
                         (j == start && !bounds->start_open);
            bool below = bounds->end.size_bytes == 0 || j < end || (j == end && bounds->end_closed);
            picks->member[j] |= above && below;
        }
    }
}

static bool set_contains(const struct row_set *set, struct bytes row)
{
    bool found = false;
    for (size_t i = 0; i < set->count; i++) {
        found |= row_range_contains(&set->ranges[i], row);
    }
    return found;
}

static void assert_normal(const struct row_set *set)
{
    for (size_t i = 0; i < set->count; i++) {
        const struct row_range *range = &set->ranges[i];
        cr_assert(range->end.size_bytes == 0 || bytes_compare(range->start, range->end) < 0);
        cr_assert(i == 0 || (set->ranges[i - 1].end.size_bytes != 0 &&
                             bytes_compare(set->ranges[i - 1].end, range->start) < 0));
    }
}

Test(row_set, model_membership_and_clip)
{
    for (uint64_t seed = 1; seed <= 3000; seed++) {
        struct prng prng = prng_of_seed(seed);
        struct arena arena = new_arena();
        struct picks picks = {.key_count = 0};
        struct row_set set;
        struct row_set clipped;
        pick_randomly(&prng, &picks);
        cr_assert_eq(row_set_normalise(&arena, picks.keys, picks.key_count, picks.bounds,
                                       picks.bounds_count, &set, NULL),
                     STATUS_OK);
        assert_normal(&set);
        char start = (char)('a' + prng_below(&prng, LETTERS));
        char end = (char)(start + (char)prng_below(&prng, 10) + 1);
        struct row_range clip = {bytes_of(&start, prng_chance(&prng, 4) ? 0 : 1),
                                 bytes_of(&end, prng_chance(&prng, 4) ? 0 : 1)};
        cr_assert_eq(row_set_clip(&arena, &set, &clip, &clipped), STATUS_OK);
        assert_normal(&clipped);
        for (size_t j = 0; j < LETTERS; j++) {
            struct bytes row = bytes_of(&picks.letters[j], 1);
            cr_assert_eq(set_contains(&set, row), picks.member[j], "seed %d", (int)seed);
            cr_assert_eq(set_contains(&clipped, row),
                         picks.member[j] && row_range_contains(&clip, row), "seed %d", (int)seed);
        }
        arena_deinit(&arena);
    }
}

Test(row_set, every_failing_allocation_is_a_status)
{
    const struct bytes keys[] = {text("b"), text("a")};
    const struct row_bounds bounds = {.start = text("k"), .end = text("m"), .start_open = true};
    bool done = false;
    for (uint64_t after = 0; !done; after++) {
        struct arena arena;
        arena_init(&arena, 16, SIZE_MAX);
        struct row_set set = {NULL, 77};
        memory_fail_arm(after, 0);
        enum status status = row_set_normalise(&arena, keys, 2, &bounds, 1, &set, NULL);
        memory_fail_disarm();
        done = status == STATUS_OK;
        cr_assert(done || (status == STATUS_NO_MEMORY && set.count == 77));
        arena_deinit(&arena);
        cr_assert_lt(after, 100);
    }
}
