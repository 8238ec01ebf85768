/* Damage in a link to long keys: what it holds up, and what ends that. */
#include "tests/support/damage_fixture.h"
#include "tests/support/long_rows.h"

TestSuite(store_damage_long, .init = setup, .fini = teardown);

/* Rows a, two long ones and z, of which the link to the long ones is damaged. */
static struct store_tablet *create_barred(void)
{
    struct store_tablet *tablet = fixture_create(&fixture, 1, "", "");
    put(tablet, "a");
    put(tablet, long_row('1'));
    put(tablet, long_row('2'));
    put(tablet, "z");
    fixture_flush(&fixture);
    damage_record(fixture.store, 1);
    return tablet;
}

/* How many cells a row has; -1: it cannot be read.  (A row behind the link can be where the way to it was learnt before:
 * base_links.h.) */
static int cells_of(struct store_tablet *tablet, const char *wanted)
{
    struct store_read *read = NULL;
    struct bytes row;
    struct cell cell;
    bool found = false;
    bool more = false;
    int count = 0;
    cr_assert_eq(store_read_begin(tablet, &fixture_table, STORE_READ_COMMITTED, 0, &read),
                 STATUS_OK);
    struct row_reader *reader = store_read_reader(read);
    enum status status = row_reader_seek(reader, ROW_AT_OR_AFTER, bytes_of_text(wanted), &row,
                                         &found);
    if (status == STATUS_OK && found && bytes_equal(row, bytes_of_text(wanted))) {
        struct cell_source source = row_reader_source(reader);
        status = source.rewind(source.context, 0, BYTES_EMPTY);
        more = status == STATUS_OK;
        while (more && status == STATUS_OK) {
            status = source.next(source.context, CELL_NEXT, &cell, &more);
            count += status == STATUS_OK && more ? 1 : 0;
        }
    }
    store_read_end(read);
    cr_assert(status == STATUS_OK || status == STATUS_CORRUPT, "%s", status_name(status));
    return status == STATUS_OK ? count : -1;
}

static void note_row(void *context, uint64_t table, uint64_t tablet, struct bytes row)
{
    struct buffer *rows = context;
    (void)table;
    (void)tablet;
    buffer_append_bytes(rows, row);
}

static void expect_held(const char *row)
{
    struct buffer rows = BUFFER_INIT;
    store_visit_held(fixture.store, note_row, &rows);
    cr_assert(bytes_equal(buffer_bytes(&rows), bytes_of_text(row)), "%.*s", (int)rows.size_bytes,
              (const char *)rows.data);
    buffer_deinit(&rows);
}

static void drop_range(struct store_tablet *tablet, const char *start, const char *end)
{
    struct record_drop_range drop = {.range = {bytes_of_text(start), bytes_of_text(end)}};
    uint64_t sequence = 0;
    cr_assert_eq(store_append_drop_range(tablet, &drop, store_next_clock(fixture.store), &sequence),
                 STATUS_OK);
    store_commit(fixture.store);
    FIXTURE_PUMP_UNTIL(&fixture, store_tablet_committed(tablet) >= sequence);
}

/* They were named as what holds up their flush, and no delete of theirs ended that. */
Test(store_damage_long, rows_beside_it_are_flushed_and_read)
{
    struct store_tablet *tablet = create_barred();
    put(tablet, "a");
    put(tablet, "b");
    put(tablet, "z");
    fixture_flush(&fixture);
    cr_assert(damage_is_said());
    expect_held("");
    cr_assert_eq(cells_of(tablet, "a"), 1);
    cr_assert_eq(cells_of(tablet, "b"), 1);
    cr_assert_eq(cells_of(tablet, "c"), 0);
    cr_assert_eq(cells_of(tablet, "z"), 1);
    cr_assert_neq(cells_of(tablet, long_row('1')), 0);
}

/* ... and copies elsewhere are told, so that the tablet is taught anew. */
static uint32_t told_count;

static void note_told(void *context, struct store_tablet *tablet)
{
    (void)context;
    (void)tablet;
    told_count++;
}

Test(store_damage_long, a_flush_that_comes_by_it_tells_that_the_tablet_is_damaged)
{
    struct store_tablet *tablet = fixture_create(&fixture, 1, "", "");
    for (int i = 0; i < STORE_CHORE_COUNT; i++) {
        tablet->chore_from_ns[i] = INT64_MAX; /* housekeeping would tell it, too */
    }
    put(tablet, long_row('1'));
    fixture_flush(&fixture);
    damage_record(fixture.store, 0);
    told_count = 0;
    fixture.store->callbacks.on_damaged = note_told;
    put(tablet, "b");
    fixture_flush(&fixture);
    FIXTURE_PUMP_UNTIL(&fixture, told_count > 0);
}

/* Which rows are behind it nobody knows any more, so they do not read as absent. */
Test(store_damage_long, a_delete_of_the_row_frees_the_flush_and_no_other_row_goes)
{
    struct store_tablet *tablet = create_barred();
    put(tablet, long_row('1'));
    store_flush_all(fixture.store);
    await_held_up(tablet);
    expect_held(long_row('1'));
    put(tablet, "b");
    delete_row(tablet, long_row('1'));
    FIXTURE_PUMP_UNTIL(&fixture, is_all_flushed());
    fixture_flush(&fixture);
    expect_held("");
    cr_assert_eq(cells_of(tablet, "b"), 1);
    cr_assert_leq(cells_of(tablet, long_row('1')), 0);
    cr_assert_neq(cells_of(tablet, long_row('2')), 0);
    cr_assert_eq(cells_of(tablet, "z"), 1);
    reopen(fixture.settings.memory_limit_bytes, fixture.settings.memtable_limit_bytes);
    tablet = store_tablet_find(fixture.store, 1);
    cr_assert_neq(cells_of(tablet, long_row('2')), 0);
    damage_record(fixture.store, 2); /* its bit flips back: b is before it now */
    cr_assert_eq(cells_of(tablet, long_row('1')), 0, "it is deleted");
    cr_assert_eq(cells_of(tablet, long_row('2')), 1);
}

/* Deleted and written again, all in one memtable. */
Test(store_damage_long, a_row_that_is_written_after_its_delete_holds_up_the_flush)
{
    struct store_tablet *tablet = create_barred();
    struct change changes[2] = {{.kind = CHANGE_DELETE_ROW}, fixture_put(1, "d", 5, "new")};
    fixture_write(&fixture, tablet, long_row('1'), changes, 2);
    store_flush_all(fixture.store);
    await_held_up(tablet);
    expect_held(long_row('1'));
    delete_row(tablet, long_row('1'));
    FIXTURE_PUMP_UNTIL(&fixture, is_all_flushed());
}

Test(store_damage_long, a_range_that_is_dropped_ends_it_for_all_that_is_behind_it)
{
    struct store_tablet *tablet = create_barred();
    put(tablet, long_row('1'));
    store_flush_all(fixture.store);
    await_held_up(tablet);
    drop_range(tablet, "r", "s");
    put(tablet, long_row('3'));
    FIXTURE_PUMP_UNTIL(&fixture, is_all_flushed());
    fixture_flush(&fixture);
    FIXTURE_PUMP_UNTIL(&fixture, tablet->range_deletes->count == 0);
    cr_assert_eq(cells_of(tablet, long_row('1')), 0);
    cr_assert_eq(cells_of(tablet, long_row('2')), 0);
    cr_assert_eq(cells_of(tablet, long_row('3')), 1);
    put(tablet, long_row('2'));
    fixture_flush(&fixture);
    reopen(fixture.settings.memory_limit_bytes, fixture.settings.memtable_limit_bytes);
    tablet = store_tablet_find(fixture.store, 1);
    cr_assert_eq(cells_of(tablet, "a"), 1);
    cr_assert_eq(cells_of(tablet, long_row('1')), 0);
    cr_assert_eq(cells_of(tablet, long_row('2')), 1);
    cr_assert_eq(cells_of(tablet, long_row('3')), 1);
    cr_assert_eq(cells_of(tablet, "z"), 1);
}

/* Rows have come since, which nobody has deleted. */
Test(store_damage_long, a_range_that_was_dropped_before_does_not_end_it)
{
    struct store_tablet *tablet = fixture_create(&fixture, 1, "", "");
    put(tablet, "a");
    fixture_flush(&fixture);
    tablet->chore_from_ns[STORE_CHORE_ERASE] = INT64_MAX; /* so that it is not forgotten */
    drop_range(tablet, "r", "s");
    put(tablet, long_row('1'));
    put(tablet, long_row('2'));
    fixture_flush(&fixture);
    damage_record(fixture.store, 1);
    put(tablet, long_row('1'));
    store_flush_all(fixture.store);
    await_held_up(tablet);
    for (int i = 0; i < 60; i++) { /* thrice what a flush that has failed waits */
        usleep(10000);
        store_poll(fixture.store);
    }
    cr_assert_not(is_all_flushed());
    delete_row(tablet, long_row('1'));
    FIXTURE_PUMP_UNTIL(&fixture, is_all_flushed());
    cr_assert_neq(cells_of(tablet, long_row('2')), 0);
}

/* The other half's rows are in the same extent, behind the same link. */
Test(store_damage_long, a_range_that_is_dropped_from_half_a_tablet_leaves_it)
{
    const char *middle = long_row('2');
    const struct record_split split = {
        .key = bytes_of_text(middle), .left_tablet = 2, .right_tablet = 3};
    struct store_tablet *tablet = fixture_create(&fixture, 1, "", "");
    uint64_t sequence = 0;
    put(tablet, "a");
    put(tablet, middle);
    fixture_flush(&fixture);
    cr_assert_eq(store_append_split(tablet, &split, store_next_clock(fixture.store), &sequence),
                 STATUS_OK);
    store_commit(fixture.store);
    FIXTURE_PUMP_UNTIL(&fixture, fixture.split_count == 1 && is_all_flushed());
    damage_record(fixture.store, 1);
    struct store_tablet *left = store_tablet_find(fixture.store, 2);
    put(left, long_row('1'));
    store_flush_all(fixture.store);
    await_held_up(left);
    drop_range(left, "r", "s");
    FIXTURE_PUMP_UNTIL(&fixture, is_all_flushed());
    cr_assert_neq(cells_of(store_tablet_find(fixture.store, 3), long_row('2')), 0);
}

/* Versions of a long column of one row: most of them are behind a link that is the row's alone. */
static void put_versions(struct store_tablet *tablet, const char *row)
{
    static char column[LONG_BYTES + 1];
    static char value[121]; /* so that it stays in its chunk */
    struct change changes[10];
    memset(column, 'q', LONG_BYTES);
    memset(value, 'v', sizeof value - 1);
    for (int i = 0; i < 10; i++) {
        changes[i] = fixture_put(1, column, 1000 - i, value);
    }
    fixture_write(&fixture, tablet, row, changes, 10);
}

Test(store_damage_long, a_row_that_has_all_that_is_behind_it_is_whole_again_when_it_is_deleted)
{
    struct store_tablet *tablet = fixture_create(&fixture, 1, "", "");
    put_versions(tablet, "k");
    put(tablet, "a");
    fixture_flush(&fixture);
    damage_record(fixture.store, 2);
    cr_assert_neq(cells_of(tablet, "k"), 0);
    put(tablet, "k");
    store_flush_all(fixture.store);
    await_held_up(tablet);
    expect_held("k");
    delete_row(tablet, "k");
    FIXTURE_PUMP_UNTIL(&fixture, is_all_flushed());
    cr_assert_eq(cells_of(tablet, "k"), 0);
    put(tablet, "k");
    fixture_flush(&fixture);
    FIXTURE_EXPECT(tablet, "a/1:c@5=v\nk/1:c@5=v\n");
}

/* Its delete is stored before it has come so far. */
Test(store_damage_long, a_delete_of_a_row_of_many_chunks_frees_the_flush)
{
    struct store_tablet *tablet = fixture_create(&fixture, 1, "", "");
    put_cells(tablet, "k", WIDE_CELLS);
    put_versions(tablet, "k");
    fixture_flush(&fixture);
    damage_record(fixture.store, records_of(tablet, BASE_SPACE_DATA) - 1);
    put_versions(tablet, "k");
    put(tablet, "l");
    store_flush_all(fixture.store);
    await_held_up(tablet);
    expect_held("k");
    delete_row(tablet, "k");
    FIXTURE_PUMP_UNTIL(&fixture, is_all_flushed());
    fixture_flush(&fixture);
    cr_assert_eq(cells_of(tablet, "l"), 1);
    cr_assert_leq(cells_of(tablet, "k"), 0);
}
