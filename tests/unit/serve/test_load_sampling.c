/* Who is sampled: busy tablets, for as long as they are, the busiest where there are too many. */
#include "tabletserver/serve/load/load_sampling.h"

#include "common/base/memory.h"
#include "tabletserver/storage/store/key_ring.h"
#include "tests/support/store_fixture.h"

#define SECOND_NS INT64_C(1000000000)
#define TABLETS   (LOAD_SAMPLING_PLACES_MAX + 2)

static struct fixture fixture;
static struct load_sampling *sampling;
static struct store_tablet *tablets[TABLETS];
static int64_t now_ns;

static void setup(void)
{
    fixture_init(&fixture);
    fixture_open(&fixture);
    now_ns = 100 * SECOND_NS;
    cr_assert_eq(load_sampling_create(1, &sampling), STATUS_OK);
}

static void teardown(void)
{
    fixture_deinit(&fixture);
    load_sampling_destroy(sampling);
}

TestSuite(load_sampling, .init = setup, .fini = teardown);

static void create(uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        char start[8];
        char end[8];
        (void)snprintf(start, sizeof start, "%03u", (unsigned)i);
        (void)snprintf(end, sizeof end, "%03u", (unsigned)i + 1);
        tablets[i] = fixture_create(&fixture, i + 1, start, end);
    }
}

static struct key_ring *ring_of(uint64_t tablet)
{
    return load_counters_ring(store_tablet_load(tablets[tablet]));
}

/* As those who touch rows do. */
static void write_rows(uint64_t tablet, const char *row, uint64_t count)
{
    struct key_ring *ring = ring_of(tablet);
    if (ring == NULL) {
        return;
    }
    uint32_t every = key_ring_every(ring, KEY_WRITTEN);
    for (uint64_t i = 0; i < count; i += every) {
        key_ring_put(ring, store_tablet_load(tablets[tablet]), KEY_WRITTEN, bytes_of_text(row),
                     BYTES_EMPTY);
    }
}

static void begin(void)
{
    now_ns += SECOND_NS;
    load_sampling_begin(sampling, now_ns, (uint64_t)SECOND_NS);
}

static uint32_t see(uint64_t tablet, uint64_t writes)
{
    const struct load_counts counts = {.write = {.writes = writes}};
    return load_sampling_see(sampling, tablets[tablet], &counts);
}

/* One report, in which this tablet alone is seen. */
static struct load_detail report(uint64_t tablet, uint64_t writes)
{
    begin();
    uint32_t place = see(tablet, writes);
    load_sampling_end(sampling);
    return load_sampling_detail(sampling, place);
}

Test(load_sampling, a_busy_tablet_is_sampled_from_then_on)
{
    create(1);
    cr_assert_eq(report(0, LOAD_SAMPLING_BUSY_OPS - 1).point_count, 0);
    cr_assert_null(ring_of(0), "an idle one has nothing");
    cr_assert_eq(report(0, LOAD_SAMPLING_BUSY_OPS).point_count, 0, "it has only begun");
    cr_assert_not_null(ring_of(0));
    write_rows(0, "000a", 5000);
    cr_assert_eq(report(0, 5000).point_count, 0, "do they append?  That takes a second report");
    write_rows(0, "000a", 5000);
    struct load_detail detail = report(0, 5000);
    cr_assert_eq(detail.point_count, 1);
    cr_assert(bytes_equal(detail.points[0].row, bytes_of_text("000")), "its start");
    cr_assert_eq(detail.points[0].writes, 5000, "scaled up");
    cr_assert_eq(detail.keys[0].writes, 5000);
    write_rows(0, "000b", 10);
    cr_assert_eq(report(0, 10).point_count, 0, "it is not busy any more");
    write_rows(0, "000b", 500);
    cr_assert_eq(report(0, 500).point_count, 2, "and again, with what is known");
}

Test(load_sampling, how_many_stand_for_one_follows_the_rate)
{
    create(1);
    (void)report(0, 200);
    write_rows(0, "000a", 200);
    (void)report(0, 200);
    cr_assert_eq(key_ring_every(ring_of(0), KEY_WRITTEN), 1);
    write_rows(0, "000a", 100000);
    struct load_detail detail = report(0, 100000);
    uint32_t every = key_ring_every(ring_of(0), KEY_WRITTEN);
    cr_assert(100000 / every <= LOAD_SAMPLING_SAMPLES_MAX, "%u", every);
    cr_assert(100000 / every > LOAD_SAMPLING_SAMPLES_MAX / 3, "%u", every);
    cr_assert_eq(detail.points[0].writes, 100000, "what did not fit the ring is counted, too");
    write_rows(0, "000a", 200);
    (void)report(0, 200);
    cr_assert_eq(key_ring_every(ring_of(0), KEY_WRITTEN), 1);
}

Test(load_sampling, an_idle_tablet_is_let_go)
{
    create(2);
    (void)report(0, 1000);
    now_ns += LOAD_SAMPLING_IDLE_NS - 2 * SECOND_NS;
    (void)report(0, 0);
    cr_assert_not_null(ring_of(0));
    now_ns += 2 * SECOND_NS;
    (void)report(0, 0);
    cr_assert_null(ring_of(0));
    (void)report(1, 1000);
    write_rows(1, "001a", 1000);
    (void)report(1, 1000);
    write_rows(1, "001a", 1000);
    cr_assert_eq(report(1, 1000).points[0].row.size_bytes, 3, "its place is another's");
}

/* Its memory may be another's by then: nothing of it is looked at. */
Test(load_sampling, a_tablet_that_is_gone_leaves_its_place)
{
    create(2);
    (void)report(0, 1000);
    struct key_ring *ring = ring_of(0);
    begin();
    load_sampling_end(sampling);
    (void)report(1, 1000);
    cr_assert_eq(ring_of(1), ring, "the place is given away");
    write_rows(0, "000a", 1000); /* one who has not heard */
    cr_assert_eq(report(1, 1000).point_count, 0, "what the former one does counts for nothing");
}

/* A second of a writer who goes through rows in order, "aab" before "aac" and so on: `from` and what follows. */
static void write_in_order(uint64_t tablet, char from)
{
    for (int i = 0; i < 20; i++) {
        char row[32];
        (void)snprintf(row, sizeof row, "00%c%02d", from, i);
        write_rows(tablet, row, 10);
    }
}

/* Collectors of many series go through them again and again: what a split makes of them does not grow at its end, though
 * all that comes is above what came to the new tablet before. */
Test(load_sampling, what_a_split_makes_knows_how_far_rows_go)
{
    tablets[0] = fixture_create(&fixture, 1, "00", "00z");
    (void)report(0, 200);
    for (char at = 'a'; at <= 'e'; at++) {
        write_in_order(0, at);
        (void)report(0, 200);
    }
    cr_assert_gt(report(0, 200).appended_permille, 500,
                 "it is the first time that it goes through");
    tablets[1] = fixture_create(&fixture, 2, "00", "00c");
    tablets[2] = fixture_create(&fixture, 3, "00c", "00z");
    for (uint64_t tablet = 1; tablet <= 2; tablet++) {
        char first = tablet == 1 ? 'a' : 'c';
        begin();
        (void)see(tablet, 200);
        load_sampling_end(sampling);
        for (char at = first; at < first + 2; at++) {
            write_in_order(tablet, at);
            struct load_detail detail = report(tablet, 200);
            cr_assert_gt(detail.point_count, 0, "it need not be seen twice to be known");
            cr_assert_eq(detail.appended_permille, 0, "%c: %u", at, detail.appended_permille);
        }
    }
}

static void write_to_store(uint64_t tablet, const char *row)
{
    struct change change = fixture_put(1, "q", 1, "v");
    fixture_write(&fixture, tablets[tablet], row, &change, 1);
}

/* A tablet that was led elsewhere until now, or was idle: what it has tells how far rows go. */
Test(load_sampling, what_nobody_here_has_seen_written_is_judged_by_the_rows_that_are_there)
{
    tablets[0] = fixture_create(&fixture, 1, "00", "00z");
    write_to_store(0, "00m");
    (void)report(0, 200);
    write_in_order(0, 'a');
    struct load_detail detail = report(0, 200);
    cr_assert_gt(detail.point_count, 0, "it is told at once");
    cr_assert_eq(detail.appended_permille, 0);

    tablets[1] = fixture_create(&fixture, 2, "01", "01z");
    (void)report(1, 200);
    cr_assert_eq(report(1, 200).point_count, 0, "of an empty one nothing is known");
}

/* Another table's rows are others, and what was long ago is as if it were not known. */
Test(load_sampling, a_tablet_that_was_busy_long_ago_tells_nothing_of_what_was_made_of_it)
{
    tablets[0] = fixture_create(&fixture, 1, "00", "00z");
    (void)report(0, 200);
    write_in_order(0, 'a');
    (void)report(0, 200);
    now_ns += 20 * SECOND_NS;
    tablets[1] = fixture_create(&fixture, 2, "00", "00c");
    (void)report(1, 200);
    write_in_order(1, 'a');
    cr_assert_eq(report(1, 200).point_count, 0);
}

Test(load_sampling, the_busiest_have_the_places)
{
    create(TABLETS);
    begin();
    for (uint64_t i = 0; i < LOAD_SAMPLING_PLACES_MAX; i++) {
        cr_assert_neq(see(i, 300 + i), LOAD_SAMPLING_NO_PLACE);
    }
    cr_assert_eq(see(TABLETS - 2, 500), LOAD_SAMPLING_NO_PLACE);
    cr_assert_neq(see(TABLETS - 1, 5000), LOAD_SAMPLING_NO_PLACE);
    load_sampling_end(sampling);
    cr_assert_null(ring_of(0), "the least busy has lost its own");
    cr_assert_not_null(ring_of(1));
    cr_assert_not_null(ring_of(TABLETS - 1));
    begin();
    load_sampling_end(sampling);
}

Test(load_sampling, without_memory_nobody_is_sampled)
{
    create(1);
    for (uint64_t after = 0; after < 7; after++) {
        begin();
        memory_fail_arm(after, 1);
        uint32_t place = see(0, 1000);
        memory_fail_disarm();
        load_sampling_end(sampling);
        cr_assert_eq(load_sampling_detail(sampling, place).point_count, 0);
        cr_assert_eq(ring_of(0) != NULL, place != LOAD_SAMPLING_NO_PLACE);
    }
    (void)report(0, 1000);
    cr_assert_not_null(ring_of(0));
}
