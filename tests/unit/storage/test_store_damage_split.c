/* Damage in a tablet that was split since: what came of it waits for its flush. */
#include "tabletserver/storage/store/store_forsake.h"
#include "tests/support/damage_fixture.h"

TestSuite(store_damage_split, .init = setup, .fini = teardown);

/* Written to a row that is damaged, and split before its flush has met that: tablets 2, below "m", and 3. */
static void hold_up_and_split(struct store_tablet *tablet)
{
    const struct record_split split = {
        .key = bytes_of_text("m"), .left_tablet = 2, .right_tablet = 3};
    uint64_t sequence = 0;
    put(tablet, "a");
    put(tablet, "z");
    fixture_flush(&fixture);
    damage_chunk(fixture.store);
    put(tablet, "a");
    cr_assert_eq(store_append_split(tablet, &split, store_next_clock(fixture.store), &sequence),
                 STATUS_OK);
    store_commit(fixture.store);
    FIXTURE_PUMP_UNTIL(&fixture, fixture.split_count == 1);
}

static bool is_stuck(uint64_t tablet)
{
    return atomic_load(&store_tablet_find(fixture.store, tablet)->flush_stuck);
}

/* It comes to one of the two, which wait for what they came of: no delete ended it. */
Test(store_damage_split, a_delete_frees_a_flush_whose_tablet_was_split_since)
{
    struct change change = fixture_put(1, "c", 5, "v");
    uint64_t sequence = 0;
    hold_up_and_split(fixture_create(&fixture, 1, "", ""));
    FIXTURE_PUMP_UNTIL(&fixture, is_stuck(2) && is_stuck(3));
    cr_assert_eq(numbers_now().tablets_held, 3);
    struct store_tablet *left = store_tablet_find(fixture.store, 2);
    put(left, "b");
    store_flush_all(fixture.store);
    cr_assert_eq(fixture_append(left, "d", &change, 1, NULL, &sequence), STATUS_CORRUPT,
                 "what waits stays in memory that all share");
    delete_row(store_tablet_find(fixture.store, 3), "z");
    delete_row(left, "a");
    FIXTURE_PUMP_UNTIL(&fixture, is_all_flushed());
    cr_assert_eq(numbers_now().tablets_held, 0);
    put(left, "d");
    fixture_flush(&fixture);
    FIXTURE_EXPECT(left, "b/1:c@5=v\nd/1:c@5=v\n");
    FIXTURE_EXPECT(store_tablet_find(fixture.store, 3), "");
    reopen(fixture.settings.memory_limit_bytes, fixture.settings.memtable_limit_bytes);
    FIXTURE_EXPECT(store_tablet_find(fixture.store, 2), "b/1:c@5=v\nd/1:c@5=v\n");
}

Test(store_damage_split, a_range_dropped_from_a_half_frees_the_flush_of_the_whole)
{
    struct record_drop_range drop = {.range = {bytes_of_text("a"), bytes_of_text("b")}};
    uint64_t sequence = 0;
    hold_up_and_split(fixture_create(&fixture, 1, "", ""));
    FIXTURE_PUMP_UNTIL(&fixture, is_stuck(2));
    struct store_tablet *left = store_tablet_find(fixture.store, 2);
    cr_assert_eq(store_append_drop_range(left, &drop, store_next_clock(fixture.store), &sequence),
                 STATUS_OK);
    store_commit(fixture.store);
    FIXTURE_PUMP_UNTIL(&fixture, store_tablet_committed(left) >= sequence && is_all_flushed());
    FIXTURE_EXPECT(left, "");
    FIXTURE_EXPECT(store_tablet_find(fixture.store, 3), "z/1:c@5=v\n");
}

static uint32_t told_of[4];

static void note_told(void *context, struct store_tablet *tablet)
{
    (void)context;
    told_of[store_tablet_describe(tablet)->tablet]++;
}

/* The tablet itself is nobody's any more, and who hosts the parts would have gone on with them for ever. */
Test(store_damage_split, parts_that_have_other_copies_are_damaged_with_what_they_came_of)
{
    memset(told_of, 0, sizeof told_of);
    fixture.store->callbacks.on_damaged = note_told;
    hold_up_and_split(fixture_create(&fixture, 1, "", ""));
    FIXTURE_PUMP_UNTIL(&fixture, is_stuck(2) && is_stuck(3));
    for (int i = 0; i < 60; i++) { /* thrice what a flush that has failed waits */
        usleep(10000);
        store_poll(fixture.store);
    }
    cr_assert_eq(told_of[2] + told_of[3], 0, "without another copy nothing is to be done");
    store_tablet_find(fixture.store, 2)->shared = true;
    store_tablet_find(fixture.store, 3)->shared = true;
    FIXTURE_PUMP_UNTIL(&fixture, told_of[2] > 0 && told_of[3] > 0);
}

static void drop(uint64_t tablet)
{
    store_tablet_drop(fixture.store, store_tablet_find(fixture.store, tablet));
}

/* The work thread may have chosen it to be flushed just before. */
Test(store_damage_split, what_is_dropped_itself_is_ended_by_its_drop)
{
    struct store_tablet *tablet = fixture_create(&fixture, 1, "", "");
    hold_up(tablet);
    store_tablet_ref(tablet);
    drop(1);
    cr_assert_not(store_is_forsaken(tablet));
    FIXTURE_PUMP_UNTIL(&fixture, fixture.dropped_count == 1);
    store_tablet_unref(tablet);
    cr_assert_eq(numbers_now().tablets_held, 0);
}

/* Their table was deleted: there is nothing left to be deleted of them, and what they came of waited for ever. */
Test(store_damage_split, what_came_of_a_tablet_is_dropped_though_damage_holds_its_flush)
{
    hold_up_and_split(fixture_create(&fixture, 1, "", ""));
    FIXTURE_PUMP_UNTIL(&fixture, is_stuck(2) && is_stuck(3));
    drop(2);
    for (int i = 0; i < 60; i++) { /* thrice what a flush that has failed waits */
        usleep(10000);
        store_poll(fixture.store);
        cr_assert_eq(fixture.dropped_count, 0,
                     "the other one is still there, and waits for its rows");
    }
    drop(3);
    FIXTURE_PUMP_UNTIL(&fixture, fixture.dropped_count == 2 && is_all_flushed());
    cr_assert_eq(numbers_now().tablets_held, 0);
    FIXTURE_PUMP_UNTIL(&fixture, fixture.store->erasures == NULL);
    store_check(fixture.store);
    struct store_tablet *other = fixture_create(&fixture, 9, "", "");
    fill(other, 'y', 40);
    fixture_flush(&fixture);
    fill(other, 'x', 40);
    fixture_flush(&fixture);
    FIXTURE_PUMP_UNTIL(&fixture, numbers_now().log_bytes < (uint64_t)40 * WIDE_CELLS * CELL_BYTES);
    reopen(fixture.settings.memory_limit_bytes, fixture.settings.memtable_limit_bytes);
    cr_assert_eq(store_tablet_count(fixture.store), 1);
    store_check(fixture.store);
}

/* And so do those that came of one of them. */
Test(store_damage_split, what_came_of_a_half_is_dropped_though_damage_holds_the_flush_of_the_whole)
{
    const struct record_split split = {
        .key = bytes_of_text("t"), .left_tablet = 4, .right_tablet = 5};
    uint64_t sequence = 0;
    hold_up_and_split(fixture_create(&fixture, 1, "", ""));
    FIXTURE_PUMP_UNTIL(&fixture, is_stuck(2) && is_stuck(3));
    struct store_tablet *half = store_tablet_find(fixture.store, 3);
    put(half, "n");
    atomic_store(&half->flush_stuck, false); /* as it was until the damage was met */
    cr_assert_eq(store_append_split(half, &split, store_next_clock(fixture.store), &sequence),
                 STATUS_OK);
    store_commit(fixture.store);
    FIXTURE_PUMP_UNTIL(&fixture, fixture.split_count == 2);
    put(store_tablet_find(fixture.store, 4), "o");
    drop(4);
    drop(2);
    drop(5);
    FIXTURE_PUMP_UNTIL(&fixture, fixture.dropped_count == 3 && is_all_flushed());
    cr_assert_eq(numbers_now().tablets_held, 0);
    store_check(fixture.store);
    reopen(fixture.settings.memory_limit_bytes, fixture.settings.memtable_limit_bytes);
    cr_assert_eq(store_tablet_count(fixture.store), 0);
}

/* Begun before the split, or before the delete. */
static void nothing_goes_while(struct store_read *read, struct store_tablet *left)
{
    delete_row(left, "a");
    for (int i = 0; i < 60; i++) { /* thrice what a flush that has failed waits */
        usleep(10000);
        store_poll(fixture.store);
        cr_assert_not(is_all_flushed());
    }
    store_read_end(read);
    FIXTURE_PUMP_UNTIL(&fixture, is_all_flushed());
}

Test(store_damage_split, no_read_of_a_tablet_misses_a_row_that_is_deleted_after_its_split)
{
    struct store_tablet *tablet = fixture_create(&fixture, 1, "", "");
    struct store_read *read = NULL;
    cr_assert_eq(store_read_begin(tablet, &fixture_table, STORE_READ_COMMITTED, 0, &read),
                 STATUS_OK);
    hold_up_and_split(tablet);
    FIXTURE_PUMP_UNTIL(&fixture, is_stuck(2));
    nothing_goes_while(read, store_tablet_find(fixture.store, 2));
}

Test(store_damage_split, no_read_of_a_half_misses_a_row_that_is_deleted_only_after_it)
{
    struct store_read *read = NULL;
    hold_up_and_split(fixture_create(&fixture, 1, "", ""));
    FIXTURE_PUMP_UNTIL(&fixture, is_stuck(2));
    struct store_tablet *left = store_tablet_find(fixture.store, 2);
    cr_assert_eq(store_read_begin(left, &fixture_table, STORE_READ_COMMITTED, 0, &read), STATUS_OK);
    nothing_goes_while(read, left);
}
