/*
 * Slices that teach a tablet of a store fixture, one call each: written, and durable when it returns (of
 * give_records() when on_taught says so).
 */
#ifndef TESTS_SUPPORT_TAUGHT_SLICES_H
#define TESTS_SUPPORT_TAUGHT_SLICES_H

#include "tests/support/store_fixture.h"

#include "tabletserver/storage/copies/slice.h"
#include "tabletserver/storage/copies/store_slice.h"
#include "tabletserver/storage/record/applied_map.h"
#include "tabletserver/storage/record/dedupe.h"

static void give(struct store_tablet *tablet, const struct buffer *slice)
{
    struct error error = {.status = STATUS_OK};
    cr_assert_eq(store_learn(tablet, buffer_bytes(slice), &error), STATUS_OK, "%s", error.text);
}

static void wait_taught(struct fixture *fixture, uint64_t before)
{
    FIXTURE_PUMP_UNTIL(fixture, fixture->taught_count > before);
    cr_assert_eq(fixture->taught_status, STATUS_OK);
}

/* Both halves or one of an image of nobody's requests. */
static void give_records(struct store_tablet *tablet,
                         uint64_t sequence,
                         bool first_half,
                         bool second_half)
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
    slice_encode_records(&(struct slice){.tablet = store_tablet_describe(tablet)->tablet,
                                         .sequence = sequence,
                                         .records = {.clock = sequence << 20,
                                                     .image_bytes = image.size_bytes,
                                                     .offset_bytes = from,
                                                     .piece = {image.data + from, to - from}}},
                         &slice);
    give(tablet, &slice);
    dedupe_destroy(none);
    buffer_deinit(&image);
    buffer_deinit(&slice);
}

static void learn_records(struct fixture *fixture,
                          struct store_tablet *tablet,
                          uint64_t sequence,
                          bool first_half,
                          bool second_half)
{
    uint64_t before = fixture->taught_count;
    give_records(tablet, sequence, first_half, second_half);
    wait_taught(fixture, before);
}

/* to "": the walk's last. */
static void learn_rows(struct fixture *fixture,
                       struct store_tablet *tablet,
                       uint64_t sequence,
                       const char *to)
{
    static const struct tablet_position start = {.family = 0};
    const struct tablet_position end = to[0] == '\0' ? (struct tablet_position){.everything = true}
                                                     : tablet_position_of_row(bytes_of_text(to));
    uint64_t before = fixture->taught_count;
    struct buffer slice = BUFFER_INIT;
    struct slice_writer writer;
    slice_writer_begin(&writer, store_tablet_describe(tablet)->tablet, sequence, &start, &slice);
    slice_writer_end(&writer, &end);
    give(tablet, &slice);
    wait_taught(fixture, before);
    buffer_deinit(&slice);
}

/* That was the last. */
__attribute__((unused)) static void learn_end(struct fixture *fixture, struct store_tablet *tablet)
{
    uint64_t before = fixture->taught_count;
    cr_assert_eq(store_learn_end(tablet), STATUS_OK);
    FIXTURE_PUMP_UNTIL(fixture, fixture->taught_count > before);
}

#endif /* TESTS_SUPPORT_TAUGHT_SLICES_H */
