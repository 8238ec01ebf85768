#include <criterion/criterion.h>

#include <pthread.h>

#include "common/base/memory.h"
#include "common/base/prng.h"
#include "common/io/clock.h"
#include "tabletserver/storage/rows/delete_cover.h"

static struct entry column_delete(const char *qualifier,
                                  int64_t start_us,
                                  int64_t end_us,
                                  uint64_t clock)
{
    return (struct entry){.kind = ENTRY_COLUMN_DELETE,
                          .family = 1,
                          .qualifier = bytes_of_text(qualifier),
                          .start_us = start_us,
                          .end_us = end_us,
                          .stamp = {clock, 0, 0}};
}

static uint64_t at(const struct delete_cover *cover,
                   uint32_t family,
                   const char *qualifier,
                   int64_t t)
{
    return delete_cover_at(cover, family, bytes_of_text(qualifier), t).clock;
}

Test(delete_cover, rows_families_and_columns_cover_what_is_theirs)
{
    struct delete_cover cover;
    delete_cover_init(&cover);
    delete_cover_reset(&cover, (struct stamp){1, 0, 0});
    cr_assert_eq(at(&cover, 1, "q", 5), 1);
    struct entry row = {.kind = ENTRY_ROW_DELETE, .stamp = {2, 0, 0}};
    struct entry family = {.kind = ENTRY_FAMILY_DELETE, .family = 1, .stamp = {3, 0, 0}};
    cr_assert_eq(delete_cover_add(&cover, &row), STATUS_OK);
    cr_assert_eq(delete_cover_add(&cover, &family), STATUS_OK);
    family.stamp.clock = 1; /* from an older layer */
    cr_assert_eq(delete_cover_add(&cover, &family), STATUS_OK);
    cr_assert_eq(at(&cover, 1, "q", 5), 3);
    cr_assert_eq(at(&cover, 2, "q", 5), 2);
    struct entry column = column_delete("q", 3, 6, 4);
    cr_assert_eq(delete_cover_add(&cover, &column), STATUS_OK);
    cr_assert_eq(at(&cover, 1, "q", 5), 4);
    cr_assert_eq(at(&cover, 1, "q", 6), 3);
    cr_assert_eq(at(&cover, 1, "q", 2), 3);
    cr_assert_eq(at(&cover, 1, "p", 5), 3);
    column = column_delete("r", 0, INT64_MAX, 5);
    cr_assert_eq(delete_cover_add(&cover, &column), STATUS_OK);
    cr_assert_eq(at(&cover, 1, "r", INT64_MAX), 5);
    cr_assert_eq(at(&cover, 1, "q", 5), 3);
    delete_cover_deinit(&cover);
}

/* Against the list of all deletes. */
Test(delete_cover, random_ranges_of_a_column)
{
    for (uint64_t seed = 1; seed <= 4000; seed++) {
        struct prng prng = prng_of_seed(seed);
        struct delete_cover cover;
        struct entry deletes[24];
        size_t count = prng_below(&prng, 24);
        int64_t start = 100;
        uint64_t step = seed % 2 == 0 ? 3 : 11; /* most overlap, or there are gaps */
        delete_cover_init(&cover);
        for (size_t i = 0; i < count; i++) {
            start -= (int64_t)prng_below(&prng, step);
            bool for_ever = prng_chance(&prng, 6);
            int64_t end = for_ever ? INT64_MAX : start + (int64_t)prng_below(&prng, 20);
            deletes[i] = column_delete("q", start, end, 1 + prng_below(&prng, 12));
            cr_assert_eq(delete_cover_add(&cover, &deletes[i]), STATUS_OK);
        }
        for (int64_t t = -180; t < 130; t++) {
            uint64_t expected = 0;
            for (size_t i = 0; i < count; i++) {
                bool covers = deletes[i].start_us <= t && t < deletes[i].end_us;
                expected = covers && deletes[i].stamp.clock > expected ? deletes[i].stamp.clock
                                                                       : expected;
            }
            cr_assert_eq(at(&cover, 1, "q", t), expected, "seed %lu at %ld", seed, t);
        }
        delete_cover_deinit(&cover);
    }
}

/* Dropping the last day, or all from then on, each second: every delete reaches over all that are younger.  To hold each
 * against all of them took 3 s, each time that the row was read. */
static int64_t add_many_ns(int64_t length_us)
{
    const int64_t deletes = 10000;
    struct delete_cover cover;
    delete_cover_init(&cover);
    int64_t begun_ns = clock_thread_cpu_ns(pthread_self());
    for (int64_t start = deletes; start > 0; start--) {
        int64_t end = length_us == INT64_MAX ? INT64_MAX : start + length_us;
        struct entry column = column_delete("q", start, end, (uint64_t)start);
        cr_assert_eq(delete_cover_add(&cover, &column), STATUS_OK);
    }
    int64_t ns = clock_thread_cpu_ns(pthread_self()) - begun_ns;
    cr_assert_eq(cover.segments.count, (size_t)deletes);
    cr_assert_eq(at(&cover, 1, "q", 5), 5);
    delete_cover_deinit(&cover);
    return ns;
}

Test(delete_cover, many_that_reach_over_each_other_do_not_make_a_row_slow)
{
    int64_t beside_ns = add_many_ns(1);
    int64_t for_ever_ns = add_many_ns(INT64_MAX);
    int64_t last_day_ns = add_many_ns(86400);
    cr_assert_lt(for_ever_ns, 100 * beside_ns, "%ld us", (long)(for_ever_ns / 1000));
    cr_assert_lt(last_day_ns, 100 * beside_ns, "%ld us", (long)(last_day_ns / 1000));
}

Test(delete_cover, what_is_covered_anyway_takes_no_memory)
{
    struct delete_cover cover;
    delete_cover_init(&cover);
    for (int64_t start = 100000; start > 0; start--) {
        struct entry column = column_delete("q", start, INT64_MAX, (uint64_t)(200000 - start));
        cr_assert_eq(delete_cover_add(&cover, &column), STATUS_OK);
        cr_assert_leq(cover.segments.count, 2);
    }
    cr_assert_eq(at(&cover, 1, "q", 5), 199999);
    delete_cover_deinit(&cover);
}

Test(delete_cover, without_memory_says_so)
{
    struct delete_cover cover;
    delete_cover_init(&cover);
    struct entry column = column_delete("q", 1, 2, 1);
    for (uint64_t after = 0; after < 3; after++) {
        memory_fail_arm(after, 1);
        cr_assert_eq(delete_cover_add(&cover, &column), after < 2 ? STATUS_NO_MEMORY : STATUS_OK);
        memory_fail_disarm();
    }
    delete_cover_deinit(&cover);
}
