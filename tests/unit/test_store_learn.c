/*
 * What a learner's store makes of walks that are broken off, slice by slice.  At random, with a teacher and
 * crashes: tests/model/test_slice_store_model.c.
 */
#include "tests/support/taught_slices.h"

static struct fixture fixture;
static struct store_tablet *tablet;

static void begin_at(uint32_t pace_percent)
{
    static const struct store_configuration outside = {
        .members = {.version = 4, .member_count = 1, .members = {{2, 8}}}, .role = 1};
    fixture_init(&fixture);
    fixture.settings.flush_pace_percent = pace_percent;
    fixture_open(&fixture);
    tablet = fixture_create(&fixture, 1, "a", "z");
    store_tablet_follow(tablet);
    cr_assert_eq(store_tablet_configure(tablet, &outside, 0), STATUS_OK);
    store_commit(fixture.store);
    FIXTURE_PUMP_UNTIL(&fixture, fixture.configured_count > 0);
}

static void begin(void)
{
    begin_at(100);
}

static void begin_paced(void)
{
    begin_at(20);
}

static void finish(void)
{
    fixture_deinit(&fixture);
}

TestSuite(store_learn, .init = begin, .fini = finish);

/* The entries between its slices will not come any more: the next walk begins above them. */
Test(store_learn, records_that_gather_wait_for_nothing_of_the_walk_before)
{
    learn_records(&fixture, tablet, 5, true, true);
    learn_rows(&fixture, tablet, 7, "m");
    cr_assert_eq(store_tablet_committed(tablet), 5);
    cr_assert_not(store_learn_is_level(tablet), "6 and 7 are not committed");
    learn_records(&fixture, tablet, 9, true, false);
    cr_assert(store_learn_gathers(tablet));
    cr_assert(store_learn_is_level(tablet));
    learn_records(&fixture, tablet, 9, false, true);
    cr_assert_not(store_learn_gathers(tablet));
    cr_assert(store_learn_is_level(tablet));
    cr_assert_eq(store_tablet_committed(tablet), 9);
}

/* Nothing was ever written to it; its copy is damaged with the store all the same. */
Test(store_learn, an_empty_tablet_is_taught_as_any_other)
{
    learn_records(&fixture, tablet, 0, true, true);
    learn_rows(&fixture, tablet, 0, "");
    cr_assert(store_learn_is_level(tablet));
    learn_end(&fixture, tablet);
    cr_assert_not(store_tablet_is_half_taught(tablet));
}

/* --- beside the flush ------------------------------------------------------------------------------- */

TestSuite(store_learn_paced, .init = begin_paced, .fini = finish);

/* The next slice is there before the rest after this one is over: were it always first, nothing would be
 * flushed until the last. */
Test(store_learn_paced, what_is_written_meanwhile_is_flushed_between_slices)
{
    struct store_tablet *other = fixture_create(&fixture, 2, "A", "a");
    const struct change put = fixture_put(1, "q", 1, "v");
    fixture_write(&fixture, other, "B", &put, 1);
    learn_records(&fixture, tablet, 5, true, true);
    store_flush_all(fixture.store);
    cr_assert_gt(fixture_flushes_pending(&fixture), 0);
    for (uint64_t sequence = 6; fixture_flushes_pending(&fixture) > 0; sequence++) {
        cr_assert_lt(sequence, 200);
        learn_records(&fixture, tablet, sequence, true, true);
    }
}
