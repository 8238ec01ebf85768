#include <criterion/criterion.h>

#include "tabletserver/storage/log/log_format.h"
#include "tabletserver/storage/log/log_recycle.h"

/* Segments 7 to 11; 9 is covered whole by a large batch that begins in 8. */
static const struct log_recycle_segment segments[] = {
    {7, 1000, 65536},
    {8, 2100, 65536},
    {9, LOG_POSITION_NONE, 65536},
    {10, 4500, 65536},
    {11, LOG_POSITION_NONE, 65536}, /* ready ahead */
};

static struct log_recycle_plan plan_at(uint64_t release_position)
{
    return log_recycle_plan(segments, 5, 7, 1000, release_position);
}

static void expect(uint64_t release_position, size_t count, uint64_t segment, uint64_t position)
{
    struct log_recycle_plan plan = plan_at(release_position);
    cr_assert_eq(plan.release_count, count, "at %d", (int)release_position);
    cr_assert_eq(plan.start_segment, segment);
    cr_assert_eq(plan.start_position, position);
}

Test(log_recycle, the_log_is_kept_from_the_last_segment_whose_first_batch_is_released)
{
    expect(0, 0, 7, 1000);
    expect(1000, 0, 7, 1000);
    expect(2050, 0, 7, 1000); /* in segment 8, but in a batch that begins in 7 */
    expect(2099, 0, 7, 1000);
    expect(2100, 1, 8, 2100);
    expect(4499, 1, 8, 2100); /* inside the large batch */
    expect(4500, 3, 10, 4500);
    expect(UINT64_MAX, 3, 10, 4500); /* the current one stays, and so does what is ready */
}

Test(log_recycle, nothing_needed_lies_before_the_start)
{
    /* All batches, by where they begin; each ends where the next begins. */
    const uint64_t batches[] = {1000, 1500, 2100, 2500, 4500, 4600};
    for (uint64_t release = 900; release < 5000; release++) {
        struct log_recycle_plan plan = plan_at(release);
        for (size_t i = 0; i + 1 < sizeof batches / sizeof *batches; i++) {
            bool needed = batches[i + 1] > release;
            cr_assert(!needed || batches[i] >= plan.start_position);
        }
    }
}

Test(log_recycle, batches_before_the_start_do_not_count)
{
    /* After a release the start lies inside the first segment kept. */
    struct log_recycle_plan plan = log_recycle_plan(segments + 1, 4, 8, 2500, 2400);
    cr_assert_eq(plan.release_count, 0);
    cr_assert_eq(plan.start_position, 2500);
    plan = log_recycle_plan(segments, 0, 1, 4096, 9999);
    cr_assert_eq(plan.release_count, 0);
    cr_assert_eq(plan.start_position, 4096);
}

Test(log_recycle, spares_up_to_the_maximum_and_of_the_right_size)
{
    struct log_recycle_spares spares = {.count = 1, .count_max = 2, .segment_bytes = 65536};
    struct log_recycle_segment other = {12, 6000, 131072};
    cr_assert_eq(log_recycle_fate(&segments[0], &spares), LOG_RECYCLE_SPARE);
    cr_assert_eq(log_recycle_fate(&other, &spares), LOG_RECYCLE_DELETE);
    spares.count = 2;
    cr_assert_eq(log_recycle_fate(&segments[0], &spares), LOG_RECYCLE_DELETE);
}

Test(log_recycle, what_is_kept_goes_by_age_by_size_and_for_room)
{
    struct log_recycle_kept kept = {
        .count = 2, .bytes = 200, .bytes_max = 200, .oldest_ns = 1000, .keep_ns = 50};
    cr_assert_not(log_recycle_gives_up(&kept, 1049));
    cr_assert(log_recycle_gives_up(&kept, 1050));
    kept.bytes_max = 199;
    cr_assert(log_recycle_gives_up(&kept, 1000));
    kept.bytes_max = 200;
    kept.room_wanted = true;
    cr_assert(log_recycle_gives_up(&kept, 1000));
    kept.count = 0;
    cr_assert_not(log_recycle_gives_up(&kept, 2000));
}
