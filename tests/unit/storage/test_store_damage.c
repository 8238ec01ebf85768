/* Damage in the base of one tablet: what it may hold up, and what rids the store of it. */
#include "tests/support/damage_fixture.h"

#define LONG_BYTES 500 /* a key that is a link and the rest of it */

TestSuite(store_damage, .init = setup, .fini = teardown);

/* --- one tablet's damage is no other's -------------------------------------------------------------- */

Test(store_damage, other_tablets_are_collected)
{
    struct store_tablet *bad = fixture_create(&fixture, 1, "", "m");
    struct store_tablet *good = fixture_create(&fixture, 2, "m", "");
    put(bad, "a");
    fixture_flush(&fixture);
    damage_chunk(fixture.store);
    cr_assert_eq(store_set_table(fixture.store, &table), STATUS_OK);
    FIXTURE_PUMP_UNTIL(&fixture, damage_is_said());
    put(good, "z");
    fixture_flush(&fixture);
    FIXTURE_PUMP_UNTIL(&fixture, records_of(good, BASE_SPACE_DATA) == 0);
    cr_assert_eq(records_of(bad, BASE_SPACE_DATA), 1);
    cr_assert_eq(store_condition_now(fixture.store), STORE_HEALTHY);
}

Test(store_damage, other_tablets_are_swept)
{
    struct store_tablet *bad = fixture_create(&fixture, 1, "", "m");
    struct store_tablet *good = fixture_create(&fixture, 2, "m", "");
    put_cells(bad, "a", WIDE_CELLS);
    put_cells(good, "z", WIDE_CELLS);
    fixture_flush(&fixture);
    damage_record(fixture.store, WIDE_CELLS / 2);
    struct change change = {.kind = CHANGE_DELETE_FAMILY, .family = 1};
    fixture_write(&fixture, bad, "a", &change, 1);
    fixture_write(&fixture, good, "z", &change, 1);
    fixture_flush(&fixture);
    FIXTURE_PUMP_UNTIL(&fixture, records_of(good, BASE_SPACE_DATA) == 0 &&
                                     records_of(good, BASE_SPACE_DELETE) == 0);
    cr_assert_eq(records_of(bad, BASE_SPACE_DELETE), 1);
}

Test(store_damage, other_tablets_that_are_dropped_are_erased)
{
    static char row[LONG_BYTES + 1];
    struct store_tablet *bad = fixture_create(&fixture, 1, "", "m");
    struct store_tablet *good = fixture_create(&fixture, 2, "m", "");
    uint64_t extent = good->pieces->pieces[0].extent;
    memset(row, 'a', LONG_BYTES);
    put(bad, row);
    put(good, "z");
    fixture_flush(&fixture);
    damage_chunk(fixture.store); /* the link */
    store_tablet_drop(fixture.store, bad);
    store_tablet_drop(fixture.store, good);
    FIXTURE_PUMP_UNTIL(&fixture, count_records(fixture.store, BASE_SPACE_DATA, extent) == 0);
    cr_assert_eq(fixture.dropped_count, 2);
}

/* --- nor is one row's --------------------------------------------------------------------------------- */

Test(store_damage, rows_behind_it_are_erased_when_they_expire)
{
    struct store_tablet *tablet = fixture_create(&fixture, 1, "", "");
    put(tablet, "a");
    put(tablet, "b");
    fixture_flush(&fixture);
    damage_chunk(fixture.store);
    cr_assert_eq(records_of(tablet, BASE_SPACE_DATA), 2);
    cr_assert_eq(store_set_table(fixture.store, &table), STATUS_OK);
    FIXTURE_PUMP_UNTIL(&fixture, records_of(tablet, BASE_SPACE_DATA) == 1);
    cr_assert(damage_is_said());
}

static int cells_of(struct store_tablet *tablet, const char *row)
{
    struct store_read *read = NULL;
    struct bytes found_row;
    struct cell cell;
    bool found = false;
    int count = 0;
    cr_assert_eq(store_read_begin(tablet, &fixture_table, STORE_READ_COMMITTED, 0, &read),
                 STATUS_OK);
    struct row_reader *reader = store_read_reader(read);
    cr_assert_eq(row_reader_seek(reader, ROW_AT_OR_AFTER, bytes_of_text(row), &found_row, &found),
                 STATUS_OK);
    struct cell_source source = row_reader_source(reader);
    cr_assert_eq(source.rewind(source.context, 0, BYTES_EMPTY), STATUS_OK);
    while (found) {
        cr_assert_eq(source.next(source.context, CELL_NEXT, &cell, &found), STATUS_OK);
        count += found;
    }
    store_read_end(read);
    return count;
}

Test(store_damage, versions_behind_it_are_deleted)
{
    static struct family family = {.number = 1,
                                   .name = {(const uint8_t *)"aged", 4},
                                   .gc = {.kind = GC_VERSIONS, .versions = 1}};
    struct table newest = table;
    struct store_tablet *tablet = fixture_create(&fixture, 1, "", "");
    struct change versions[] = {fixture_put(1, "c", 5, "v"), fixture_put(1, "c", 6, "v")};
    newest.families = &family;
    put(tablet, "a");
    fixture_write(&fixture, tablet, "b", versions, 2);
    fixture_flush(&fixture);
    damage_chunk(fixture.store);
    cr_assert_eq(cells_of(tablet, "b"), 2);
    cr_assert_eq(store_set_table(fixture.store, &newest), STATUS_OK);
    FIXTURE_PUMP_UNTIL(&fixture, cells_of(tablet, "b") == 1);
}

/* --- what goes with its row ------------------------------------------------------------------------- */

static void expect_row_goes(struct store_tablet *tablet, const char *row)
{
    delete_row(tablet, row);
    fixture_flush(&fixture);
    FIXTURE_PUMP_UNTIL(&fixture, records_of(tablet, BASE_SPACE_DATA) == 0 &&
                                     records_of(tablet, BASE_SPACE_DELETE) == 0);
    put(tablet, row);
    fixture_flush(&fixture);
    FIXTURE_EXPECT(tablet, "a/1:c@5=v\n");
}

Test(store_damage, a_row_of_one_chunk_can_be_deleted)
{
    struct store_tablet *tablet = fixture_create(&fixture, 1, "", "");
    put(tablet, "a");
    fixture_flush(&fixture);
    damage_chunk(fixture.store);
    expect_row_goes(tablet, "a");
}

Test(store_damage, a_row_can_be_deleted_and_written_at_once)
{
    struct store_tablet *tablet = fixture_create(&fixture, 1, "", "");
    struct change changes[2] = {{.kind = CHANGE_DELETE_ROW}, fixture_put(1, "d", 5, "new")};
    put(tablet, "a");
    fixture_flush(&fixture);
    damage_chunk(fixture.store);
    fixture_write(&fixture, tablet, "a", changes, 2);
    fixture_flush(&fixture);
    FIXTURE_EXPECT(tablet, "a/1:d@5=new\n");
}

Test(store_damage, a_row_of_some_chunks_can_be_deleted)
{
    struct store_tablet *tablet = fixture_create(&fixture, 1, "", "");
    put_cells(tablet, "a", 10);
    fixture_flush(&fixture);
    damage_record(fixture.store, 5);
    expect_row_goes(tablet, "a");
}

/* Its chunks go when it is swept. */
Test(store_damage, a_row_of_many_chunks_can_be_deleted)
{
    struct store_tablet *tablet = fixture_create(&fixture, 1, "", "");
    put_cells(tablet, "a", WIDE_CELLS);
    fixture_flush(&fixture);
    damage_record(fixture.store, WIDE_CELLS / 2);
    expect_row_goes(tablet, "a");
}

/* ... now, not when collection has rested from what it could not read. */
Test(store_damage, collection_that_met_damage_does_not_keep_the_sweep)
{
    struct store_tablet *tablet = fixture_create(&fixture, 1, "", "");
    put_cells(tablet, "a", WIDE_CELLS);
    fixture_flush(&fixture);
    damage_record(fixture.store, WIDE_CELLS / 2);
    cr_assert_eq(store_set_table(fixture.store, &table), STATUS_OK);
    FIXTURE_PUMP_UNTIL(&fixture, damage_is_said());
    delete_row(tablet, "a");
    fixture_flush(&fixture);
    FIXTURE_PUMP_UNTIL(&fixture, records_of(tablet, BASE_SPACE_DATA) == 0 &&
                                     records_of(tablet, BASE_SPACE_DELETE) == 0);
}

/* A delete that is older than the chunk is none of its. */
Test(store_damage, what_was_written_after_the_delete_stays_damaged)
{
    struct store_tablet *tablet = fixture_create(&fixture, 1, "", "");
    struct base_writer *writer = NULL;
    const struct entry old = {.kind = ENTRY_ROW_DELETE, .stamp = {.clock = 1}};
    put(tablet, "a");
    fixture_flush(&fixture);
    damage_chunk(fixture.store);
    cr_assert_eq(base_writer_begin(fixture.store->base, &writer), STATUS_OK);
    cr_assert_eq(
        base_writer_put(writer, tablet->pieces->pieces[0].extent, bytes_of_text("a"), &old),
        STATUS_CORRUPT);
    base_writer_abort(writer);
    cr_assert_eq(records_of(tablet, BASE_SPACE_DATA), 1);
}

/* --- what waits for it ------------------------------------------------------------------------------ */

Test(store_damage, a_delete_of_the_row_frees_the_flush_that_waits)
{
    struct store_tablet *tablet = fixture_create(&fixture, 1, "", "");
    hold_up(tablet);
    put(tablet, "b");
    delete_row(tablet, "a");
    FIXTURE_PUMP_UNTIL(&fixture, is_all_flushed());
    FIXTURE_EXPECT(tablet, "b/1:c@5=v\n");
    fixture_flush(&fixture);
    FIXTURE_EXPECT(tablet, "b/1:c@5=v\n");
    put(tablet, "a");
    fixture_flush(&fixture);
    FIXTURE_EXPECT(tablet, "a/1:c@5=v\nb/1:c@5=v\n");
}

Test(store_damage, a_range_that_is_dropped_frees_the_flush_that_waits)
{
    struct store_tablet *tablet = fixture_create(&fixture, 1, "", "");
    struct record_drop_range drop = {.range = {bytes_of_text("a"), bytes_of_text("b")}};
    uint64_t sequence = 0;
    hold_up(tablet);
    put(tablet, "b");
    cr_assert_eq(store_append_drop_range(tablet, &drop, store_next_clock(fixture.store), &sequence),
                 STATUS_OK);
    store_commit(fixture.store);
    FIXTURE_PUMP_UNTIL(&fixture, store_tablet_committed(tablet) >= sequence && is_all_flushed());
    FIXTURE_EXPECT(tablet, "b/1:c@5=v\n");
}

Test(store_damage, a_delete_frees_a_flush_that_has_stopped_within_the_row)
{
    fixture.settings.flush_transaction_bytes = 65536;
    reopen(fixture.settings.memory_limit_bytes, fixture.settings.memtable_limit_bytes);
    struct store_tablet *tablet = fixture_create(&fixture, 1, "", "");
    put_cells(tablet, "a", WIDE_CELLS);
    fixture_flush(&fixture);
    damage_record(fixture.store, WIDE_CELLS - 5);
    put_cells(tablet, "a", WIDE_CELLS);
    store_flush_all(fixture.store);
    await_held_up(tablet);
    cr_assert_not(tablet->applied_whole, "a part of the row is in the base");
    delete_row(tablet, "a");
    FIXTURE_PUMP_UNTIL(&fixture, is_all_flushed());
    FIXTURE_EXPECT(tablet, "");
    put(tablet, "a");
    fixture_flush(&fixture);
    FIXTURE_EXPECT(tablet, "a/1:c@5=v\n");
}

Test(store_damage, no_read_misses_a_row_that_is_deleted_only_after_it)
{
    struct store_tablet *tablet = fixture_create(&fixture, 1, "", "");
    struct store_read *read = NULL;
    hold_up(tablet);
    cr_assert_eq(store_read_begin(tablet, &fixture_table, STORE_READ_COMMITTED, 0, &read),
                 STATUS_OK);
    delete_row(tablet, "a");
    for (int i = 0; i < 60; i++) { /* thrice what a flush that has failed waits */
        usleep(10000);
        store_poll(fixture.store);
        cr_assert_not(is_all_flushed());
    }
    store_read_end(read);
    FIXTURE_PUMP_UNTIL(&fixture, is_all_flushed());
}

Test(store_damage, behind_it_a_tablet_takes_deletes_only)
{
    struct store_tablet *tablet = fixture_create(&fixture, 1, "", "");
    struct change change = fixture_put(1, "c", 5, "v");
    uint64_t sequence = 0;
    hold_up(tablet);
    put(tablet, "b");
    store_flush_all(fixture.store);
    cr_assert_eq(fixture_append(tablet, "d", &change, 1, NULL, &sequence), STATUS_CORRUPT);
    delete_row(tablet, "a");
    FIXTURE_PUMP_UNTIL(&fixture, is_all_flushed());
    put(tablet, "d");
    FIXTURE_EXPECT(tablet, "b/1:c@5=v\nd/1:c@5=v\n");
}

/* A delete that frees it would come to a child, whose flush waits for its parent's. */
Test(store_damage, a_tablet_that_it_holds_up_is_not_split)
{
    struct store_tablet *tablet = fixture_create(&fixture, 1, "", "");
    const struct record_split split = {
        .key = bytes_of_text("m"), .left_tablet = 2, .right_tablet = 3};
    uint64_t sequence = 0;
    hold_up(tablet);
    cr_assert_eq(store_append_split(tablet, &split, store_next_clock(fixture.store), &sequence),
                 STATUS_RESOURCE_EXHAUSTED);
    delete_row(tablet, "a");
    FIXTURE_PUMP_UNTIL(&fixture, is_all_flushed());
    cr_assert_eq(store_append_split(tablet, &split, store_next_clock(fixture.store), &sequence),
                 STATUS_OK);
    store_commit(fixture.store);
    FIXTURE_PUMP_UNTIL(&fixture, fixture.split_count == 1);
}

/* Of what is frozen for want of memory a quarter of the limit is on its way out: what is not does not count. */
Test(store_damage, what_waits_for_it_leaves_other_tablets_their_memory)
{
    reopen(4 << 20, 16 << 20);
    struct store_tablet *bad = fixture_create(&fixture, 1, "", "m");
    struct store_tablet *good = fixture_create(&fixture, 2, "m", "");
    put(bad, "a");
    fixture_flush(&fixture);
    damage_chunk(fixture.store);
    put(bad, "a");
    fill(bad, 'b', 20);
    store_flush_all(fixture.store);
    await_held_up(bad);
    for (int i = 0; i < 100; i++) {
        char row[16];
        (void)snprintf(row, sizeof row, "z%03d", i);
        FIXTURE_PUMP_UNTIL(&fixture, store_has_room(fixture.store));
        put_cells(good, row, WIDE_CELLS);
    }
    cr_assert_gt(records_of(good, BASE_SPACE_DATA), 0);
}

/* All that comes to the store is kept in its log meanwhile, other tablets' too: who operates it can be told before the disk
 * is full, and is told when it is over. */
Test(store_damage, what_it_holds_up_is_counted_until_the_row_is_deleted)
{
    const uint64_t written = (uint64_t)40 * WIDE_CELLS * CELL_BYTES;
    struct store_tablet *bad = fixture_create(&fixture, 1, "", "m");
    struct store_tablet *good = fixture_create(&fixture, 2, "m", "");
    cr_assert_eq(numbers_now().tablets_held, 0);
    hold_up(bad);
    cr_assert_eq(numbers_now().tablets_held, 1);
    uint64_t log_bytes = numbers_now().log_bytes;
    fill(good, 'y', 40);
    store_flush_all(fixture.store);
    FIXTURE_PUMP_UNTIL(&fixture, fixture_flushes_pending(&fixture) == 1);
    cr_assert_gt(numbers_now().log_bytes, log_bytes + written);

    delete_row(bad, "a");
    FIXTURE_PUMP_UNTIL(&fixture, is_all_flushed());
    cr_assert_eq(numbers_now().tablets_held, 0);
    fill(good, 'x', 40);
    fixture_flush(&fixture);
    FIXTURE_PUMP_UNTIL(&fixture, numbers_now().log_bytes < log_bytes + written);
}

struct held {
    uint32_t count;
    uint64_t table;
    uint64_t tablet;
    char row[LONG_BYTES + 1];
};

static void note_held(void *context, uint64_t table, uint64_t tablet, struct bytes row)
{
    struct held *held = context;
    held->count++;
    held->table = table;
    held->tablet = tablet;
    cr_assert_leq(row.size_bytes, LONG_BYTES);
    memcpy(held->row, row.data, row.size_bytes);
    held->row[row.size_bytes] = '\0';
}

static struct held held_now(void)
{
    struct held held = {.count = 0};
    store_visit_held(fixture.store, note_held, &held);
    return held;
}

/* No text has room for it, and who is to delete the row needs it. */
Test(store_damage, the_whole_key_of_what_holds_it_up_is_told)
{
    static char row[201];
    struct store_tablet *tablet = fixture_create(&fixture, 7, "", "");
    memset(row, 'k', sizeof row - 1);
    put(tablet, "b");
    put(tablet, row);
    fixture_flush(&fixture);
    cr_assert_eq(held_now().count, 0);
    damage_record(fixture.store, 1);
    put(tablet, "b");
    put(tablet, row);
    put(tablet, "z");
    store_flush_all(fixture.store);
    FIXTURE_PUMP_UNTIL(&fixture, held_now().count == 1);
    struct held held = held_now();
    cr_assert_str_eq(held.row, row);
    cr_assert_eq(held.table, 1);
    cr_assert_eq(held.tablet, 7);
    FIXTURE_PUMP_UNTIL(&fixture, strstr(numbers_now().trouble, "stores[].held") != NULL);
    cr_assert_not_null(strstr(numbers_now().trouble, "row kkkk"), "%s", numbers_now().trouble);
    delete_row(tablet, row);
    FIXTURE_PUMP_UNTIL(&fixture, is_all_flushed());
    cr_assert_eq(held_now().count, 0);
}

/* Memory is short while the log is replayed: then what can be flushed is, and the rest waits as it did before. */
Test(store_damage, a_store_opens_whose_flush_it_holds_up)
{
    struct store_tablet *bad = fixture_create(&fixture, 1, "", "m");
    struct store_tablet *good = fixture_create(&fixture, 2, "m", "");
    put(bad, "a");
    fixture_flush(&fixture);
    damage_chunk(fixture.store);
    put(bad, "a");
    fill(bad, 'b', 10);
    fill(good, 'z', 40);
    reopen(2 << 20, 256 << 10);
    bad = store_tablet_find(fixture.store, 1);
    good = store_tablet_find(fixture.store, 2);
    cr_assert_gt(records_of(good, BASE_SPACE_DATA), 0, "it was pressed");
    await_held_up(bad);
    delete_row(bad, "a");
    FIXTURE_PUMP_UNTIL(&fixture, is_all_flushed());
    put(bad, "a");
    fixture_flush(&fixture);
}
