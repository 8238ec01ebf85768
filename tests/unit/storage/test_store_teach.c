/* How much of a tablet a teacher's store reads at once, and what it leaves to requests meanwhile. */
#include "tests/support/store_fixture.h"

#include "tabletserver/storage/copies/store_slice.h"

#define ROWS        300
#define VALUE_BYTES 2000
#define SLICE_BYTES (2 * 1024 * 1024) /* all rows together are less than half of it */

static struct fixture fixture;
static struct store_tablet *tablet;

static void begin(void)
{
    static char value[VALUE_BYTES + 1];
    char row[16];
    memset(value, 'v', VALUE_BYTES);
    fixture_init(&fixture);
    fixture.settings.flush_pace_percent = 50;
    fixture.settings.slice_bytes = SLICE_BYTES;
    fixture_open(&fixture);
    tablet = fixture_create(&fixture, 1, "", "");
    for (int i = 0; i < ROWS; i++) {
        const struct change put = fixture_put(1, "q", 1, value);
        (void)snprintf(row, sizeof row, "row%05d", i);
        fixture_write(&fixture, tablet, row, &put, 1);
    }
}

static void finish(void)
{
    fixture_deinit(&fixture);
}

TestSuite(store_teach, .init = begin, .fini = finish);

struct walk {
    size_t slices;
    size_t largest_bytes;
    size_t rests; /* slices after which its thread is to rest */
};

static struct walk walk_through(void)
{
    struct walk walk = {0};
    struct store_slices *slices = NULL;
    uint64_t sequence = 0;
    cr_assert_eq(store_slices_begin(tablet, 0, &slices, &sequence), STATUS_OK);
    for (bool last = false; !last; walk.slices++) {
        struct buffer slice = BUFFER_INIT;
        cr_assert_eq(store_slices_read(slices, &slice, &sequence, &last), STATUS_OK);
        walk.largest_bytes = slice.size_bytes > walk.largest_bytes ? slice.size_bytes
                                                                   : walk.largest_bytes;
        walk.rests += store_slices_rest_ns(slices) > 0;
        buffer_deinit(&slice);
    }
    store_slices_end(slices);
    return walk;
}

Test(store_teach, requests_keep_their_processors)
{
    struct walk walk = walk_through();
    cr_assert_geq(walk.largest_bytes, SLICE_BYTES / 16);
    cr_assert_lt(walk.largest_bytes, SLICE_BYTES / 4);
    cr_assert_eq(walk.rests, walk.slices);
}

Test(store_teach, the_less_there_is_of_them_the_smaller_a_slice)
{
    size_t before_bytes = walk_through().largest_bytes;
    store_set_processors(fixture.store, 250);
    cr_assert_lt(walk_through().largest_bytes, before_bytes / 2);
}

Test(store_teach, what_is_hurried_is_read_at_once)
{
    store_set_processors(fixture.store, 250);
    store_tablet_hurry(tablet, true);
    struct walk walk = walk_through();
    cr_assert_eq(walk.slices, 2, "records, and all rows");
    cr_assert_eq(walk.rests, 0);
    store_tablet_hurry(tablet, false);
    cr_assert_gt(walk_through().slices, 2);
}

/* --- inside a row that takes several slices ------------------------------------------------------- */

#define COLUMNS  200
#define REWRITES 10

static void write_large_row(char with)
{
    static char value[VALUE_BYTES + 1];
    char column[16];
    memset(value, with, VALUE_BYTES);
    for (int i = 0; i < COLUMNS; i++) {
        (void)snprintf(column, sizeof column, "q%03d", i);
        const struct change put = fixture_put(1, column, 1, value);
        fixture_write(&fixture, tablet, "large", &put, 1);
    }
}

/* Up to somewhere inside the row, which is the tablet's first. */
static struct store_slices *stand_in_row(void)
{
    struct store_slices *slices = NULL;
    uint64_t sequence = 0;
    bool last = false;
    store_set_processors(fixture.store, 250);
    fixture.settings.slice_bytes = SLICE_BYTES;
    cr_assert_eq(store_slices_begin(tablet, 0, &slices, &sequence), STATUS_OK);
    for (int i = 0; i < 2; i++) {
        struct buffer slice = BUFFER_INIT;
        cr_assert_eq(store_slices_read(slices, &slice, &sequence, &last), STATUS_OK);
        cr_assert_not(last);
        buffer_deinit(&slice);
    }
    return slices;
}

static enum status read_next(struct store_slices *slices)
{
    struct buffer slice = BUFFER_INIT;
    uint64_t sequence = 0;
    bool last = false;
    enum status status = store_slices_read(slices, &slice, &sequence, &last);
    buffer_deinit(&slice);
    return status;
}

/* How much the base's file grows while the row is written again and again. */
static uint64_t growth_bytes(void)
{
    struct store_statistics before;
    struct store_statistics after;
    fixture_flush(&fixture);
    store_statistics(fixture.store, &before);
    for (int i = 0; i < REWRITES; i++) {
        write_large_row((char)('a' + i % 20));
        fixture_flush(&fixture);
    }
    store_statistics(fixture.store, &after);
    return after.base_file_bytes - before.base_file_bytes;
}

/* It grew by all that was written, and half as much again, for as long as a learner stood still inside a large row: ten minutes, and the
 * next one. */
Test(store_teach, what_was_read_inside_a_row_is_let_go_and_another_walk_begins)
{
    write_large_row('a');
    (void)growth_bytes(); /* so that there are pages to use again */
    cr_assert_eq(growth_bytes(), 0);
    struct store_slices *slices = stand_in_row();
    cr_assert_gt(growth_bytes(), REWRITES / 2 * COLUMNS * VALUE_BYTES);
    cr_assert_eq(read_next(slices), STATUS_OK);
    store_slices_let_go(slices);
    cr_assert_eq(growth_bytes(), 0);
    cr_assert_eq(read_next(slices), STATUS_ABORTED);
    store_slices_end(slices);
}
