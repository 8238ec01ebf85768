/*
 * What a learner's store makes of walks that are broken off, slice by slice.  At random, with a teacher and
 * crashes: tests/model/test_slice_store_model.c.
 */
#include "tests/support/taught_slices.h"

#include "tabletserver/storage/store/store_append.h"
#include "tabletserver/storage/store/store_internal.h"

static struct fixture fixture;
static struct store_tablet *tablet;

/* Another's: it is to be taught. */
static struct store_tablet *create_learner(uint64_t number, const char *start, const char *end)
{
    static const struct store_configuration outside = {
        .members = {.version = 4, .member_count = 1, .members = {{2, 8}}}, .role = 1};
    uint64_t before = fixture.configured_count;
    struct store_tablet *learner = fixture_create(&fixture, number, start, end);
    store_tablet_follow(learner);
    cr_assert_eq(store_tablet_configure(learner, &outside, 0), STATUS_OK);
    store_commit(fixture.store);
    FIXTURE_PUMP_UNTIL(&fixture, fixture.configured_count > before);
    return learner;
}

static void begin_at(uint32_t pace_percent)
{
    fixture_init(&fixture);
    fixture.settings.flush_pace_percent = pace_percent;
    fixture_open(&fixture);
    tablet = create_learner(1, "a", "z");
}

static void begin(void)
{
    begin_at(100);
}

static void begin_paced(void)
{
    begin_at(20);
}

#define MANY        8
#define VALUE_BYTES 20000
#define ROWS        100

static void begin_lagging(void)
{
    fixture_init(&fixture);
    fixture.settings.memory_limit_bytes = 4 << 20;
    fixture_open(&fixture);
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
    uint64_t sequence = 5;
    do { /* on a busy machine it may be flushed before it is looked at */
        cr_assert_lt(sequence, 100, "it is flushed at once");
        fixture_write(&fixture, other, "B", &put, 1);
        learn_records(&fixture, tablet, sequence++, true, true);
        store_flush_all(fixture.store);
    } while (fixture_flushes_pending(&fixture) == 0);
    for (uint64_t slices = 0; fixture_flushes_pending(&fixture) > 0; slices++) {
        cr_assert_lt(slices, 200);
        learn_records(&fixture, tablet, sequence++, true, true);
    }
}

#define LEARNERS 3
#define TRIES    50

static bool is_taught(uint64_t number)
{
    return (fixture.taught_tablets & UINT64_C(1) << number) != 0;
}

/* Three slices wait, the last is hurried.  Whether all are there before the second is taken is a matter of time:
 * once in so many tries they are. */
Test(store_learn_paced, what_is_hurried_goes_before_what_has_time)
{
    struct store_tablet *learners[LEARNERS] = {
        create_learner(2, "A", "B"), create_learner(3, "B", "C"), create_learner(4, "C", "D")};
    bool passed = false;
    store_tablet_hurry(learners[2], true);
    for (uint64_t sequence = 5; sequence < 5 + TRIES && !passed; sequence++) {
        fixture.taught_tablets = 0;
        for (int i = 0; i < LEARNERS; i++) {
            give_records(learners[i], sequence, true, true);
        }
        FIXTURE_PUMP_UNTIL(&fixture, is_taught(4));
        passed = !is_taught(3);
        FIXTURE_PUMP_UNTIL(&fixture, is_taught(2) && is_taught(3));
    }
    cr_assert(passed);
}

TestSuite(store_learn_lagging, .init = begin_lagging, .fini = finish);

/* Slices of a server's lost tablets come without a pause: writers would wait for memory until the last. */
Test(store_learn_lagging, what_fills_memory_is_flushed_between_hurried_slices)
{
    static char value[VALUE_BYTES + 1];
    struct store_tablet *other = fixture_create(&fixture, 2, "A", "B");
    struct store_tablet *learners[MANY];
    const struct change put = fixture_put(1, "q", 1, value);
    memset(value, 'v', VALUE_BYTES);
    for (uint64_t i = 0; i < MANY; i++) {
        const char start[] = {(char)('C' + i), 0};
        const char end[] = {(char)('D' + i), 0};
        learners[i] = create_learner(3 + i, start, end);
        store_tablet_hurry(learners[i], true);
    }
    for (int i = 0; i < ROWS; i++) {
        char row[16];
        (void)snprintf(row, sizeof row, "A%06d", i);
        fixture_write(&fixture, other, row, &put, 1);
    }
    uint64_t slices = 0;
    uint64_t sequences[MANY] = {0};
    atomic_store(&fixture.store->memory_limit_bytes, atomic_load(&fixture.store->memory_bytes));
    cr_assert(store_flush_lags(fixture.store));
    store_flush_all(fixture.store);
    fixture.taught_tablets = ~UINT64_C(0);
    while (store_flush_lags(fixture.store)) {
        cr_assert_lt(slices, 20 * MANY, "it is flushed when they are over");
        for (uint64_t i = 0; i < MANY; i++) {
            if (is_taught(3 + i)) {
                fixture.taught_tablets &= ~(UINT64_C(1) << (3 + i));
                give_records(learners[i], 5 + sequences[i]++, true, true);
                slices++;
            }
        }
        store_poll(fixture.store);
    }
}
