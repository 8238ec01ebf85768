#include <criterion/criterion.h>

#include <string.h>

#include "gateway/core/sample_range.h"

/* Samples at b, d, f and the end, 10 bytes before each. */
static size_t cut(struct edubba_sample samples[4], const char *start, const char *end)
{
    samples[0] = (struct edubba_sample){EDUBBA_TEXT("b"), 10};
    samples[1] = (struct edubba_sample){EDUBBA_TEXT("d"), 20};
    samples[2] = (struct edubba_sample){EDUBBA_TEXT("f"), 30};
    samples[3] = (struct edubba_sample){EDUBBA_NOTHING, 40};
    return sample_range_cut(samples, 4, EDUBBA_TEXT(start), EDUBBA_TEXT(end));
}

static bool is_sample(const struct edubba_sample *sample, const char *row, uint64_t offset_bytes)
{
    return sample->row.size == strlen(row) &&
           (sample->row.size == 0 || memcmp(sample->row.data, row, sample->row.size) == 0) &&
           sample->offset_bytes == offset_bytes;
}

Test(sample_range, without_bounds_all_stay)
{
    struct edubba_sample samples[4];
    cr_assert_eq(cut(samples, "", ""), 4);
    cr_assert(is_sample(&samples[0], "b", 10));
    cr_assert(is_sample(&samples[2], "f", 30));
    cr_assert(is_sample(&samples[3], "", 40));
}

Test(sample_range, what_is_inside_stays_and_the_end_is_last)
{
    struct edubba_sample samples[4];
    cr_assert_eq(cut(samples, "c", "e"), 2);
    cr_assert(is_sample(&samples[0], "d", 10));
    cr_assert(is_sample(&samples[1], "e", 20));

    cr_assert_eq(cut(samples, "b", "f"), 2, "at a bound there is no sample");
    cr_assert(is_sample(&samples[0], "d", 10));
    cr_assert(is_sample(&samples[1], "f", 20));

    cr_assert_eq(cut(samples, "c", ""), 3);
    cr_assert(is_sample(&samples[0], "d", 10));
    cr_assert(is_sample(&samples[2], "", 30));

    cr_assert_eq(cut(samples, "", "a"), 1);
    cr_assert(is_sample(&samples[0], "a", 10));

    cr_assert_eq(cut(samples, "c", "c"), 1, "a range of nothing");
    cr_assert_eq(samples[0].row.size, 1);
    cr_assert_eq(cut(samples, "b", "b"), 1, "one that lies on a sample");

    cr_assert_eq(cut(samples, "x", "y"), 1, "behind the last");
    cr_assert(is_sample(&samples[0], "y", 10));
}
