/* Where a link to long keys is damaged: it bars the way to what is behind it, and to nothing else. */
#include "tests/support/base_fixture.h"
#include "tests/support/long_rows.h"

#define SLICE_BYTES 400    /* of the top layer: base_walk.h */
#define LARGE_BYTES 200000 /* so large that its chunk is marked for estimates */

/* Change a bit in the first link of a space's top layer, or change it back. */
static void flip_link(struct fixture *fixture, uint8_t space)
{
    struct kv_write *write = NULL;
    struct kv_cursor *cursor = NULL;
    struct bytes key;
    struct bytes value;
    bool found = false;
    uint8_t key_copy[512];
    uint8_t copy[64];
    cr_assert_eq(kv_write_begin(fixture->kv, &write), STATUS_OK);
    cr_assert_eq(kv_cursor_open_write(write, &cursor), STATUS_OK);
    cr_assert_eq(kv_cursor_move(cursor, KV_SEEK, bytes_of(&space, 1), &key, &value, &found),
                 STATUS_OK);
    while (found && key.size_bytes < 9 + SLICE_BYTES) {
        cr_assert_eq(kv_cursor_move(cursor, KV_NEXT, BYTES_EMPTY, &key, &value, &found), STATUS_OK);
    }
    cr_assert(found && key.data[0] == space && value.size_bytes <= sizeof copy);
    memcpy(key_copy, key.data, key.size_bytes);
    memcpy(copy, value.data, value.size_bytes);
    kv_cursor_close(cursor);
    copy[value.size_bytes - 8] ^= 1; /* of the sublayer's number */
    cr_assert_eq(
        kv_write_put(write, bytes_of(key_copy, key.size_bytes), bytes_of(copy, value.size_bytes)),
        STATUS_OK);
    cr_assert_eq(kv_write_commit(write), STATUS_OK);
}

static uint64_t records_of(struct fixture *fixture, uint8_t space)
{
    uint64_t bytes = 0;
    return count_records(fixture, space, &bytes);
}

/* Cells of one row, or what came of reading them. */
static enum status read_row(struct fixture *fixture, const char *wanted, uint64_t *ret_cells)
{
    struct base_snapshot *snapshot = snapshot_begin(fixture);
    struct layer_cursor *cursor = NULL;
    struct bytes row;
    bool found = false;
    *ret_cells = 0;
    cr_assert_eq(base_cursor_open(snapshot, &WHOLE, 1, &cursor), STATUS_OK);
    enum status status = cursor->operations->seek_row(cursor, ROW_AT_OR_AFTER,
                                                      bytes_of_text(wanted), &row, &found);
    found = status == STATUS_OK && found && bytes_equal(row, bytes_of_text(wanted));
    if (found) {
        status = cursor->operations->seek_entry(cursor, 0, BYTES_EMPTY);
    }
    while (status == STATUS_OK && found) {
        struct entry entry;
        status = cursor->operations->next_entry(cursor, &entry, &found);
        *ret_cells += status == STATUS_OK && found && entry.kind == ENTRY_PUT ? 1 : 0;
    }
    cursor->operations->close(cursor);
    base_snapshot_end(snapshot);
    return status;
}

static void expect_cells(struct fixture *fixture, const char *row, uint64_t count)
{
    uint64_t cells = 0;
    cr_assert_eq(read_row(fixture, row, &cells), STATUS_OK, "%.10s", row);
    cr_assert_eq(cells, count, "%.10s: %d", row, (int)cells);
}

static void expect_barred(struct fixture *fixture, const char *row)
{
    uint64_t cells = 0;
    cr_assert_eq(read_row(fixture, row, &cells), STATUS_CORRUPT, "%.10s", row);
}

/* Rows a, two long ones and z, of which the link to the long ones is damaged. */
static struct fixture open_barred(void)
{
    struct fixture fixture = fixture_open();
    begin(&fixture);
    put_sized(&fixture, "a", "c", 10);
    put_sized(&fixture, long_row('1'), "c", 10);
    put_sized(&fixture, long_row('2'), "c", 10);
    put_sized(&fixture, "z", "c", 10);
    commit(&fixture);
    flip_link(&fixture, 2);
    return fixture;
}

static enum status try_put(struct fixture *fixture, const char *row)
{
    struct entry entry = {.kind = ENTRY_PUT,
                          .family = 1,
                          .qualifier = bytes_of_text("d"),
                          .timestamp_us = 1000,
                          .stamp = {fixture->clock, 0, 0}};
    begin(fixture);
    enum status status = base_writer_put(fixture->writer, EXTENT, bytes_of_text(row), &entry);
    if (status != STATUS_OK) {
        base_writer_abort(fixture->writer);
    } else {
        commit(fixture);
    }
    return status;
}

static void delete_youngest(struct fixture *fixture, const char *row, const struct row_range *also)
{
    struct entry entry = {.kind = ENTRY_ROW_DELETE, .stamp = {fixture->clock, 0, 0}};
    begin(fixture);
    cr_assert_eq(
        base_writer_put_youngest(fixture->writer, EXTENT, bytes_of_text(row), &entry, also),
        STATUS_OK);
    commit(fixture);
}

/* --- beside it -------------------------------------------------------------------------------- */

Test(base_bar, rows_beside_it_are_written_and_read)
{
    struct fixture fixture = open_barred();
    const char *rows[] = {"a", "b", "rr", "z", "zz"};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        cr_assert_eq(try_put(&fixture, rows[i]), STATUS_OK, "%s", rows[i]);
    }
    expect_cells(&fixture, "a", 2);
    expect_cells(&fixture, "b", 1);
    expect_cells(&fixture, "c", 0);
    expect_cells(&fixture, "rr", 1);
    expect_cells(&fixture, "rrr", 0);
    expect_cells(&fixture, "z", 2);
    expect_cells(&fixture, "zz", 1);
    expect_barred(&fixture, long_row('1'));
    expect_barred(&fixture, long_row('3'));
    cr_assert_eq(try_put(&fixture, long_row('1')), STATUS_CORRUPT);
    cr_assert_eq(try_put(&fixture, long_row('3')), STATUS_CORRUPT);
    fixture_close(&fixture);
}

Test(base_bar, a_writer_that_came_by_it_says_so)
{
    struct fixture fixture = open_barred();
    begin(&fixture);
    put_sized(&fixture, "zz", "c", 10);
    cr_assert_not(base_writer_met_bar(fixture.writer));
    commit(&fixture);
    begin(&fixture);
    put_sized(&fixture, "b", "c", 10);
    cr_assert(base_writer_met_bar(fixture.writer));
    commit(&fixture);
    fixture_close(&fixture);
}

Test(base_bar, rows_beside_it_are_deleted_and_swept)
{
    struct fixture fixture = open_barred();
    struct buffer resume = BUFFER_INIT;
    bool done = false;
    fill_row(&fixture, "b", 3000);
    begin(&fixture);
    put_entry(&fixture, "a", (struct entry){.kind = ENTRY_ROW_DELETE});
    put_entry(&fixture, "b", (struct entry){.kind = ENTRY_ROW_DELETE});
    commit(&fixture);
    cr_assert_eq(records_of(&fixture, 3), 1);
    begin(&fixture);
    cr_assert_eq(base_sweep_step(fixture.writer, EXTENT, &ALL_ROWS, &resume, UINT64_MAX, &done),
                 STATUS_OK);
    cr_assert(done);
    commit(&fixture);
    buffer_deinit(&resume);
    cr_assert_eq(records_of(&fixture, 2), 2, "the link and z");
    cr_assert_eq(records_of(&fixture, 3), 0);
    fixture_close(&fixture);
}

/* --- reading on ------------------------------------------------------------------------------- */

static struct layer_cursor *open_cursor(struct base_snapshot *snapshot,
                                        const struct base_piece *piece)
{
    struct layer_cursor *cursor = NULL;
    cr_assert_eq(base_cursor_open(snapshot, piece, 1, &cursor), STATUS_OK);
    return cursor;
}

static enum status seek(struct layer_cursor *cursor,
                        enum row_seek how,
                        const char *from,
                        struct bytes *ret_row,
                        bool *ret_found)
{
    return cursor->operations->seek_row(cursor, how, bytes_of_text(from), ret_row, ret_found);
}

/* Nobody gets past it unawares, though nothing of any row be asked for. */
Test(base_bar, who_reads_on_finds_it)
{
    struct fixture fixture = open_barred();
    struct base_snapshot *snapshot = snapshot_begin(&fixture);
    struct layer_cursor *cursor = open_cursor(snapshot, &WHOLE);
    struct bytes row;
    struct buffer least = BUFFER_INIT;
    bool found = false;
    cr_assert_eq(seek(cursor, ROW_AT_OR_AFTER, "a", &row, &found), STATUS_OK);
    cr_assert_eq(seek(cursor, ROW_AFTER, "a", &row, &found), STATUS_OK);
    cr_assert(found && bytes_compare(row, bytes_of_text("a")) > 0 &&
                  bytes_compare(row, bytes_of_text(long_row('1'))) <= 0,
              "the least row that could be behind it");
    buffer_append_bytes(&least, row);
    cr_assert_eq(cursor->operations->seek_entry(cursor, 0, BYTES_EMPTY), STATUS_CORRUPT);
    cr_assert_eq(seek(cursor, ROW_AT_OR_AFTER, "b", &row, &found), STATUS_OK);
    cr_assert(found && bytes_equal(row, buffer_bytes(&least)));
    cr_assert_eq(
        cursor->operations->seek_row(cursor, ROW_AFTER, buffer_bytes(&least), &row, &found),
        STATUS_CORRUPT, "a step on");
    cr_assert_eq(
        cursor->operations->seek_row(cursor, ROW_AFTER, buffer_bytes(&least), &row, &found),
        STATUS_CORRUPT, "a search from there on");
    cr_assert_eq(seek(cursor, ROW_AT_OR_AFTER, "s", &row, &found), STATUS_OK);
    cr_assert(found && bytes_equal(row, bytes_of_text("z")));
    cr_assert_eq(seek(cursor, ROW_LAST, "", &row, &found), STATUS_OK);
    cr_assert_eq(seek(cursor, ROW_BEFORE, "z", &row, &found), STATUS_CORRUPT);
    cr_assert_eq(seek(cursor, ROW_BEFORE, "r", &row, &found), STATUS_OK);
    cr_assert(found && bytes_equal(row, bytes_of_text("a")));
    cursor->operations->close(cursor);
    buffer_deinit(&least);
    base_snapshot_end(snapshot);
    fixture_close(&fixture);
}

/* A tablet may begin, or end, among the rows behind it. */
Test(base_bar, a_piece_that_has_rows_behind_it_is_not_read_past_it)
{
    struct fixture fixture = open_barred();
    struct base_snapshot *snapshot = snapshot_begin(&fixture);
    const char *middle = long_row('2');
    const struct base_piece below = {{BYTES_EMPTY, bytes_of_text(middle)}, EXTENT};
    const struct base_piece above = {{bytes_of_text(middle), BYTES_EMPTY}, EXTENT};
    const struct base_piece before = {{BYTES_EMPTY, bytes_of_text("r")}, EXTENT};
    const struct base_piece behind = {{bytes_of_text("s"), BYTES_EMPTY}, EXTENT};
    struct bytes row;
    bool found = false;
    struct layer_cursor *cursor = open_cursor(snapshot, &below);
    cr_assert_eq(seek(cursor, ROW_LAST, "", &row, &found), STATUS_CORRUPT);
    cursor->operations->close(cursor);
    cursor = open_cursor(snapshot, &above);
    cr_assert_eq(seek(cursor, ROW_BEFORE, "z", &row, &found), STATUS_CORRUPT);
    cr_assert_eq(seek(cursor, ROW_AT_OR_AFTER, "", &row, &found), STATUS_CORRUPT);
    cursor->operations->close(cursor);
    cursor = open_cursor(snapshot, &before);
    cr_assert_eq(seek(cursor, ROW_AFTER, "a", &row, &found), STATUS_OK);
    cr_assert_not(found);
    cursor->operations->close(cursor);
    cursor = open_cursor(snapshot, &behind);
    cr_assert_eq(seek(cursor, ROW_BEFORE, "z", &row, &found), STATUS_OK);
    cr_assert_not(found);
    cursor->operations->close(cursor);
    base_snapshot_end(snapshot);
    fixture_close(&fixture);
}

/* The slice ends within the escape of a byte that is 1. */
Test(base_bar, the_least_row_behind_it_is_one_that_can_be)
{
    struct fixture fixture = fixture_open();
    char whole[SLICE_BYTES];
    char cut[LONG_BYTES + 1];
    struct bytes row;
    bool found = false;
    memset(whole, 'r', SLICE_BYTES - 1);
    whole[SLICE_BYTES - 1] = '\0';
    memset(cut, 'r', LONG_BYTES);
    cut[LONG_BYTES] = '\0';
    cut[SLICE_BYTES - 1] = 1;
    begin(&fixture);
    put_sized(&fixture, whole, "c", 10);
    put_sized(&fixture, cut, "c", 10);
    commit(&fixture);
    flip_link(&fixture, 2);
    struct base_snapshot *snapshot = snapshot_begin(&fixture);
    struct layer_cursor *cursor = open_cursor(snapshot, &WHOLE);
    cr_assert_eq(seek(cursor, ROW_AT_OR_AFTER, whole, &row, &found), STATUS_OK);
    cr_assert(found && bytes_equal(row, bytes_of_text(whole)));
    cr_assert_eq(seek(cursor, ROW_AFTER, whole, &row, &found), STATUS_OK);
    cr_assert(found && bytes_compare(row, bytes_of_text(whole)) > 0);
    cr_assert_leq(bytes_compare(row, bytes_of_text(cut)), 0);
    cr_assert_eq(cursor->operations->seek_entry(cursor, 0, BYTES_EMPTY), STATUS_CORRUPT);
    cursor->operations->close(cursor);
    base_snapshot_end(snapshot);
    expect_cells(&fixture, whole, 1);
    expect_barred(&fixture, cut);
    fixture_close(&fixture);
}

/* --- deletes ---------------------------------------------------------------------------------- */

/* What is behind the link may come back, where memory was bad and not the disk. */
Test(base_bar, a_row_behind_it_is_deleted_though_nobody_gets_there)
{
    struct fixture fixture = open_barred();
    delete_youngest(&fixture, long_row('1'), NULL);
    delete_youngest(&fixture, long_row('1'), NULL);
    expect_barred(&fixture, long_row('1'));
    expect_barred(&fixture, long_row('2'));
    cr_assert_eq(try_put(&fixture, long_row('1')), STATUS_CORRUPT);
    flip_link(&fixture, 2);
    expect_cells(&fixture, long_row('1'), 0);
    expect_cells(&fixture, long_row('2'), 1);
    fixture_close(&fixture);
}

/* The writer comes from a row that it has in memory. */
Test(base_bar, a_delete_that_does_not_get_there_takes_nothing_of_another_row)
{
    struct fixture fixture = open_barred();
    begin(&fixture);
    put_sized(&fixture, "b", "c", LARGE_BYTES);
    commit(&fixture);
    begin(&fixture);
    put_sized(&fixture, "b", "d", 10);
    put_entry(&fixture, long_row('1'), (struct entry){.kind = ENTRY_ROW_DELETE});
    commit(&fixture);
    expect_cells(&fixture, "b", 2);
    fixture_close(&fixture);
}

/* A short row whose cells have long columns, behind a link of its own. */
static struct fixture open_barred_in_row(void)
{
    static char qualifier[LONG_BYTES + 1];
    struct fixture fixture = fixture_open();
    memset(qualifier, 'q', LONG_BYTES);
    begin(&fixture);
    put_sized(&fixture, "a", "c", 10);
    for (int i = 0; i < 10; i++) {
        static uint8_t value[120]; /* so that it stays in its chunk */
        put_entry(&fixture, "k",
                  (struct entry){.kind = ENTRY_PUT,
                                 .family = 1,
                                 .qualifier = bytes_of_text(qualifier),
                                 .timestamp_us = 1000 - i,
                                 .value = bytes_of(value, sizeof value)});
    }
    put_sized(&fixture, "z", "c", 10);
    commit(&fixture);
    flip_link(&fixture, 2);
    return fixture;
}

Test(base_bar, a_row_that_has_all_that_is_behind_it_goes_whole)
{
    struct fixture fixture = open_barred_in_row();
    expect_barred(&fixture, "k");
    cr_assert_eq(try_put(&fixture, "a"), STATUS_OK);
    cr_assert_eq(try_put(&fixture, "j"), STATUS_OK);
    cr_assert_eq(try_put(&fixture, "k"), STATUS_CORRUPT);
    delete_youngest(&fixture, "k", NULL);
    expect_cells(&fixture, "k", 0);
    cr_assert_eq(records_of(&fixture, 2), 3, "a, j, z");
    cr_assert_eq(records_of(&fixture, 3), 0);
    cr_assert_eq(try_put(&fixture, "k"), STATUS_OK);
    expect_cells(&fixture, "k", 1);
    expect_cells(&fixture, "a", 2);
    expect_cells(&fixture, "z", 1);
    fixture_close(&fixture);
}

/* What is behind it may be younger: there is no telling. */
Test(base_bar, a_delete_that_may_be_older_leaves_it)
{
    struct fixture fixture = open_barred_in_row();
    begin(&fixture);
    put_entry(&fixture, "k", (struct entry){.kind = ENTRY_ROW_DELETE});
    commit(&fixture);
    expect_barred(&fixture, "k");
    fixture_close(&fixture);
}

Test(base_bar, a_range_that_has_all_that_is_behind_it_goes_whole)
{
    struct fixture fixture = open_barred();
    const struct row_range half = {bytes_of_text("b"), bytes_of_text(long_row('2'))};
    const struct row_range all = {bytes_of_text("b"), bytes_of_text("s")};
    delete_youngest(&fixture, long_row('1'), &half);
    expect_barred(&fixture, long_row('2'));
    delete_youngest(&fixture, long_row('1'), &all);
    expect_cells(&fixture, long_row('1'), 0);
    expect_cells(&fixture, long_row('2'), 0);
    cr_assert_eq(try_put(&fixture, long_row('2')), STATUS_OK);
    expect_cells(&fixture, long_row('1'), 0);
    expect_cells(&fixture, long_row('2'), 1);
    expect_cells(&fixture, "a", 1);
    expect_cells(&fixture, "z", 1);
    fixture_close(&fixture);
}

/* Readers remember the way there, and what it led to is still in the file. */
Test(base_bar, nobody_goes_the_old_way_to_what_is_erased)
{
    struct fixture fixture = fixture_open();
    const struct row_range all = {bytes_of_text("b"), bytes_of_text("s")};
    begin(&fixture);
    put_sized(&fixture, long_row('1'), "c", 10);
    put_sized(&fixture, long_row('2'), "c", 10);
    commit(&fixture);
    for (int i = 0; i < 4; i++) {
        expect_cells(&fixture, long_row('1'), 1);
    }
    flip_link(&fixture, 2);
    delete_youngest(&fixture, long_row('1'), &all);
    expect_cells(&fixture, long_row('1'), 0);
    cr_assert_eq(try_put(&fixture, long_row('2')), STATUS_OK);
    for (int i = 0; i < 4; i++) {
        expect_cells(&fixture, long_row('1'), 0);
    }
    fixture_close(&fixture);
}

Test(base_bar, a_range_that_is_erased_takes_it_along)
{
    struct fixture fixture = open_barred();
    const struct row_range range = {bytes_of_text("b"), bytes_of_text("s")};
    const struct stamp all = {UINT64_MAX, UINT32_MAX, UINT32_MAX};
    struct buffer resume = BUFFER_INIT;
    bool done = false;
    begin(&fixture);
    cr_assert_eq(base_erase_step(fixture.writer, EXTENT, &range, all, &resume, UINT64_MAX, &done),
                 STATUS_OK);
    cr_assert(done);
    commit(&fixture);
    buffer_deinit(&resume);
    cr_assert_eq(records_of(&fixture, 2), 2, "a and z");
    fixture_close(&fixture);
}

/* --- other spaces ----------------------------------------------------------------------------- */

Test(base_bar, marks_for_estimates_are_done_without)
{
    struct fixture fixture = fixture_open();
    uint64_t bytes = 0;
    for (int i = 0; i < 2; i++) {
        begin(&fixture);
        put_sized(&fixture, "a", "c", LARGE_BYTES);
        put_sized(&fixture, long_row('1'), "c", LARGE_BYTES);
        put_sized(&fixture, long_row('1'), i == 0 ? "d" : "e", LARGE_BYTES);
        put_sized(&fixture, long_row('2'), "c", LARGE_BYTES);
        commit(&fixture);
        if (i == 0) {
            flip_link(&fixture, 5);
        }
    }
    delete_youngest(&fixture, long_row('2'), NULL);
    struct base_snapshot *snapshot = snapshot_begin(&fixture);
    cr_assert_eq(base_estimate_bytes(snapshot, &WHOLE, 1, &bytes), STATUS_OK);
    base_snapshot_end(snapshot);
    expect_cells(&fixture, long_row('1'), 3);
    expect_cells(&fixture, long_row('2'), 0);
    fixture_close(&fixture);
}

/* A stored delete of a whole row that is long. */
static struct fixture open_with_tombstone(const char *row)
{
    struct fixture fixture = fixture_open();
    fill_row(&fixture, row, 3000);
    begin(&fixture);
    put_sized(&fixture, "a", "c", 10);
    put_sized(&fixture, "z", "c", 10);
    commit(&fixture);
    begin(&fixture);
    put_entry(&fixture, row, (struct entry){.kind = ENTRY_ROW_DELETE});
    commit(&fixture);
    return fixture;
}

Test(base_bar, rows_beside_a_link_to_stored_deletes_are_written_and_read)
{
    struct fixture fixture = open_with_tombstone(long_row('1'));
    struct base_snapshot *snapshot = NULL;
    struct bytes row;
    bool found = false;
    flip_link(&fixture, 3);
    cr_assert_eq(try_put(&fixture, "a"), STATUS_OK);
    cr_assert_eq(try_put(&fixture, "z"), STATUS_OK);
    cr_assert_eq(try_put(&fixture, long_row('1')), STATUS_CORRUPT);
    expect_cells(&fixture, "a", 2);
    expect_cells(&fixture, "z", 2);
    expect_barred(&fixture, long_row('1'));
    snapshot = snapshot_begin(&fixture);
    struct layer_cursor *cursor = open_cursor(snapshot, &WHOLE);
    cr_assert_eq(seek(cursor, ROW_BEFORE, "z", &row, &found), STATUS_CORRUPT,
                 "not without its delete");
    cursor->operations->close(cursor);
    base_snapshot_end(snapshot);
    fixture_close(&fixture);
}

Test(base_bar, a_range_that_has_all_that_is_behind_a_link_to_stored_deletes_takes_it_along)
{
    struct fixture fixture = open_with_tombstone(long_row('1'));
    const struct row_range half = {bytes_of_text("b"), bytes_of_text(long_row('2'))};
    const struct row_range all = {bytes_of_text("b"), bytes_of_text("s")};
    const struct entry delete = {.kind = ENTRY_ROW_DELETE, .stamp = {99, 0, 0}};
    flip_link(&fixture, 3);
    begin(&fixture);
    cr_assert_eq(base_writer_put_youngest(fixture.writer, EXTENT, bytes_of_text(long_row('1')),
                                          &delete, &half),
                 STATUS_CORRUPT, "of other rows it may be all that deletes them");
    base_writer_abort(fixture.writer);
    delete_youngest(&fixture, long_row('1'), &all);
    expect_cells(&fixture, long_row('1'), 0);
    cr_assert_eq(try_put(&fixture, long_row('1')), STATUS_OK);
    expect_cells(&fixture, long_row('1'), 1);
    fixture_close(&fixture);
}

/* No delete of the row ended what it held up. */
Test(base_bar, a_stored_delete_that_is_damaged_goes_with_its_row)
{
    struct fixture fixture = open_with_tombstone("k");
    damage(&fixture, 3, false);
    cr_assert_eq(try_put(&fixture, "k"), STATUS_CORRUPT);
    cr_assert_eq(try_put(&fixture, "l"), STATUS_OK);
    delete_youngest(&fixture, "k", NULL);
    expect_cells(&fixture, "k", 0);
    cr_assert_eq(try_put(&fixture, "k"), STATUS_OK);
    expect_cells(&fixture, "k", 1);
    fixture_close(&fixture);
}
