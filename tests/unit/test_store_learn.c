/*
 * What a learner's store makes of walks that are broken off, slice by slice.  At random, with a teacher and
 * crashes: tests/model/test_slice_store_model.c.
 */
#include "tests/support/store_fixture.h"

#include "tabletserver/storage/applied_map.h"
#include "tabletserver/storage/dedupe.h"
#include "tabletserver/storage/slice.h"
#include "tabletserver/storage/store_slice.h"

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

static void learn(const struct buffer *slice)
{
    uint64_t before = fixture.taught_count;
    struct error error = {.status = STATUS_OK};
    cr_assert_eq(store_learn(tablet, buffer_bytes(slice), &error), STATUS_OK, "%s", error.text);
    FIXTURE_PUMP_UNTIL(&fixture, fixture.taught_count > before);
    cr_assert_eq(fixture.taught_status, STATUS_OK);
}

/* Both halves or one of an image of nobody's requests. */
static void learn_records(uint64_t sequence, bool first_half, bool second_half)
{
    const struct dedupe_limits limits = {64, 1000, 1 << 20};
    struct buffer image = BUFFER_INIT;
    struct buffer slice = BUFFER_INIT;
    struct dedupe *none = NULL;
    cr_assert_eq(dedupe_create(&limits, &none), STATUS_OK);
    dedupe_encode(none, &image);
    size_t half = image.size_bytes / 2;
    size_t from = first_half ? 0 : half;
    size_t to = second_half ? image.size_bytes : half;
    slice_encode_records(&(struct slice){.tablet = 1,
                                         .sequence = sequence,
                                         .records = {.clock = sequence << 20,
                                                     .image_bytes = image.size_bytes,
                                                     .offset_bytes = from,
                                                     .piece = {image.data + from, to - from}}},
                         &slice);
    learn(&slice);
    dedupe_destroy(none);
    buffer_deinit(&image);
    buffer_deinit(&slice);
}

/* to "": the walk's last. */
static void learn_rows(uint64_t sequence, const char *to)
{
    static const struct tablet_position start = {.family = 0};
    const struct tablet_position end = to[0] == '\0' ? (struct tablet_position){.everything = true}
                                                     : tablet_position_of_row(bytes_of_text(to));
    struct buffer slice = BUFFER_INIT;
    struct slice_writer writer;
    slice_writer_begin(&writer, 1, sequence, &start, &slice);
    slice_writer_end(&writer, &end);
    learn(&slice);
    buffer_deinit(&slice);
}

/* The entries between its slices will not come any more: the next walk begins above them. */
Test(store_learn, records_that_gather_wait_for_nothing_of_the_walk_before)
{
    learn_records(5, true, true);
    learn_rows(7, "m");
    cr_assert_eq(store_tablet_committed(tablet), 5);
    cr_assert_not(store_learn_is_level(tablet), "6 and 7 are not committed");
    learn_records(9, true, false);
    cr_assert(store_learn_gathers(tablet));
    cr_assert(store_learn_is_level(tablet));
    learn_records(9, false, true);
    cr_assert_not(store_learn_gathers(tablet));
    cr_assert(store_learn_is_level(tablet));
    cr_assert_eq(store_tablet_committed(tablet), 9);
}

/* Nothing was ever written to it; its copy is damaged with the store all the same. */
Test(store_learn, an_empty_tablet_is_taught_as_any_other)
{
    learn_records(0, true, true);
    learn_rows(0, "");
    cr_assert(store_learn_is_level(tablet));
    cr_assert_eq(store_learn_end(tablet), STATUS_OK);
    uint64_t before = fixture.taught_count;
    FIXTURE_PUMP_UNTIL(&fixture, fixture.taught_count > before);
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
    learn_records(5, true, true);
    store_flush_all(fixture.store);
    cr_assert_gt(fixture_flushes_pending(&fixture), 0);
    for (uint64_t sequence = 6; fixture_flushes_pending(&fixture) > 0; sequence++) {
        cr_assert_lt(sequence, 200);
        learn_records(sequence, true, true);
    }
}
