/*
 * The base: what a store may rely on, each point by itself.  Random traffic is the model test's.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/base/checksum.h"
#include "common/base/endian.h"
#include "common/base/memory.h"
#include "tabletserver/storage/base.h"

#define EXTENT 5

static const struct base_piece WHOLE = {{{NULL, 0}, {NULL, 0}}, EXTENT};
static const struct row_range ALL_ROWS = {{NULL, 0}, {NULL, 0}};

struct fixture {
    struct kv *kv;
    struct base *base;
    struct base_writer *writer;
    uint64_t clock;
};

static struct fixture fixture_open(void)
{
    struct fixture fixture = {.clock = 1};
    struct error error = {0};
    cr_assert_eq(kv_create_in_memory(&fixture.kv), STATUS_OK);
    cr_assert_eq(base_open(fixture.kv, &fixture.base, &error), STATUS_OK);
    return fixture;
}

static void fixture_close(struct fixture *fixture)
{
    base_close(fixture->base);
    kv_close(fixture->kv);
}

static void begin(struct fixture *fixture)
{
    cr_assert_eq(base_writer_begin(fixture->base, &fixture->writer), STATUS_OK);
}

static void commit(struct fixture *fixture)
{
    cr_assert_eq(base_writer_commit(fixture->writer), STATUS_OK);
    fixture->clock++;
}

static void put_entry(struct fixture *fixture, const char *row, struct entry entry)
{
    entry.stamp = (struct stamp){fixture->clock, 0, 0};
    cr_assert_eq(base_writer_put(fixture->writer, EXTENT, bytes_of_text(row), &entry), STATUS_OK);
}

static void put_sized(struct fixture *fixture, const char *row, const char *qualifier, size_t size)
{
    static uint8_t value[1000000];
    memset(value, 'v', sizeof value);
    struct entry entry = {.kind = ENTRY_PUT,
                          .family = 1,
                          .qualifier = bytes_of_text(qualifier),
                          .timestamp_us = 1000,
                          .value = bytes_of(value, size)};
    put_entry(fixture, row, entry);
}

static struct base_snapshot *snapshot_begin(struct fixture *fixture)
{
    struct base_snapshot *snapshot = NULL;
    cr_assert_eq(base_snapshot_begin(fixture->base, &snapshot), STATUS_OK);
    return snapshot;
}

/* Entries of a row, or of the first one: how many, and the last status. */
static enum status count_entries(struct base_snapshot *snapshot, uint64_t *ret_count)
{
    struct layer_cursor *cursor = NULL;
    struct bytes row = BYTES_EMPTY;
    bool row_found = true;
    enum row_seek seek = ROW_AT_OR_AFTER;
    uint64_t count = 0;
    cr_assert_eq(base_cursor_open(snapshot, &WHOLE, 1, &cursor), STATUS_OK);
    enum status status = STATUS_OK;
    while (status == STATUS_OK) {
        status = cursor->operations->seek_row(cursor, seek, row, &row, &row_found);
        if (status != STATUS_OK || !row_found) {
            break;
        }
        status = cursor->operations->seek_entry(cursor, 0, BYTES_EMPTY);
        bool found = true;
        while (status == STATUS_OK && found) {
            struct entry entry;
            status = cursor->operations->next_entry(cursor, &entry, &found);
            count += status == STATUS_OK && found ? 1 : 0;
        }
        seek = ROW_AFTER;
    }
    cursor->operations->close(cursor);
    *ret_count = count;
    return status;
}

/* Records of a space, and their bytes. */
static uint64_t count_records(struct fixture *fixture, uint8_t space, uint64_t *ret_bytes)
{
    struct kv_read *read = NULL;
    struct kv_cursor *cursor = NULL;
    struct bytes key;
    struct bytes value;
    bool found = false;
    uint64_t count = 0;
    *ret_bytes = 0;
    cr_assert_eq(kv_read_begin(fixture->kv, &read), STATUS_OK);
    cr_assert_eq(kv_cursor_open_read(read, &cursor), STATUS_OK);
    cr_assert_eq(kv_cursor_move(cursor, KV_SEEK, bytes_of(&space, 1), &key, &value, &found),
                 STATUS_OK);
    while (found && key.data[0] == space) {
        count++;
        *ret_bytes += key.size_bytes + value.size_bytes;
        cr_assert_eq(kv_cursor_move(cursor, KV_NEXT, key, &key, &value, &found), STATUS_OK);
    }
    kv_cursor_close(cursor);
    kv_read_end(read);
    return count;
}

/* Change one byte in the first record of a space. */
static void damage(struct fixture *fixture, uint8_t space, bool in_key)
{
    struct kv_write *write = NULL;
    struct kv_cursor *cursor = NULL;
    struct bytes key;
    struct bytes value;
    bool found = false;
    static uint8_t key_copy[512];
    static uint8_t copy[100000];
    cr_assert_eq(kv_write_begin(fixture->kv, &write), STATUS_OK);
    cr_assert_eq(kv_cursor_open_write(write, &cursor), STATUS_OK);
    cr_assert_eq(kv_cursor_move(cursor, KV_SEEK, bytes_of(&space, 1), &key, &value, &found),
                 STATUS_OK);
    cr_assert(found && key.data[0] == space);
    memcpy(key_copy, key.data, key.size_bytes);
    memcpy(copy, value.data, value.size_bytes);
    kv_cursor_close(cursor);
    if (in_key) {
        cr_assert_eq(kv_write_delete(write, bytes_of(key_copy, key.size_bytes), &found), STATUS_OK);
        key_copy[key.size_bytes - 1] ^= 0x40;
    } else {
        copy[value.size_bytes / 2] ^= 1;
    }
    cr_assert_eq(
        kv_write_put(write, bytes_of(key_copy, key.size_bytes), bytes_of(copy, value.size_bytes)),
        STATUS_OK);
    cr_assert_eq(kv_write_commit(write), STATUS_OK);
}

static uint64_t scrub(struct fixture *fixture, struct error *ret_error)
{
    struct base_snapshot *snapshot = snapshot_begin(fixture);
    struct buffer resume = BUFFER_INIT;
    uint64_t total = 0;
    bool done = false;
    while (!done) {
        uint64_t bad = 0;
        cr_assert_eq(base_scrub_step(snapshot, EXTENT, &resume, 500, &bad, &done, ret_error),
                     STATUS_OK);
        total += bad;
    }
    buffer_deinit(&resume);
    base_snapshot_end(snapshot);
    return total;
}

/* --- opening, meta, numbers ------------------------------------------------------------------- */

Test(base_store, a_newer_or_damaged_format_is_refused_by_name)
{
    struct fixture fixture = fixture_open();
    struct error error = {0};
    struct base *base = NULL;
    static const uint8_t key[] = {0, 'f'};
    uint8_t data[19] = "edubba base";
    struct kv_write *write = NULL;
    store_le32(data + 11, 2);
    store_le32(data + 15, (uint32_t)checksum64(data, 15, checksum64(key, 2, 0)));
    cr_assert_eq(kv_write_begin(fixture.kv, &write), STATUS_OK);
    cr_assert_eq(kv_write_put(write, bytes_of(key, 2), bytes_of(data, 19)), STATUS_OK);
    cr_assert_eq(kv_write_commit(write), STATUS_OK);
    cr_assert_eq(base_open(fixture.kv, &base, &error), STATUS_VERSION);
    cr_assert_not_null(strstr(error.text, "format 2"));
    damage(&fixture, 0, false);
    cr_assert_eq(base_open(fixture.kv, &base, &error), STATUS_CORRUPT);
    fixture_close(&fixture);
}

Test(base_store, meta_records_are_kept_beside_the_data)
{
    struct fixture fixture = fixture_open();
    struct bytes key;
    struct bytes value;
    bool found = false;
    begin(&fixture);
    cr_assert_eq(base_writer_meta_put(fixture.writer, bytes_of_text("t/1"), bytes_of_text("one")),
                 STATUS_OK);
    cr_assert_eq(base_writer_meta_put(fixture.writer, bytes_of_text("t/2"), BYTES_EMPTY),
                 STATUS_OK);
    cr_assert_eq(base_writer_meta_put(fixture.writer, bytes_of_text("u"), bytes_of_text("x")),
                 STATUS_OK);
    commit(&fixture);
    begin(&fixture);
    cr_assert_eq(base_writer_meta_delete(fixture.writer, bytes_of_text("t/1")), STATUS_OK);
    base_writer_abort(fixture.writer);

    struct base_snapshot *snapshot = snapshot_begin(&fixture);
    cr_assert_eq(base_meta_get(snapshot, bytes_of_text("t/1"), &value, &found), STATUS_OK);
    cr_assert(found && bytes_equal(value, bytes_of_text("one")));
    cr_assert_eq(base_meta_get(snapshot, bytes_of_text("t"), &value, &found), STATUS_OK);
    cr_assert_not(found);
    struct bytes prefix = bytes_of_text("t/");
    cr_assert_eq(base_meta_seek(snapshot, prefix, BYTES_EMPTY, &key, &value, &found), STATUS_OK);
    cr_assert(found && bytes_equal(key, bytes_of_text("t/1")));
    cr_assert_eq(base_meta_seek(snapshot, prefix, bytes_of_text("t/1\x01"), &key, &value, &found),
                 STATUS_OK);
    cr_assert(found && bytes_equal(key, bytes_of_text("t/2")) && value.size_bytes == 0);
    cr_assert_eq(base_meta_seek(snapshot, prefix, bytes_of_text("t/3"), &key, &value, &found),
                 STATUS_OK);
    cr_assert_not(found, "u does not begin with t/");
    base_snapshot_end(snapshot);

    damage(&fixture, 1, false);
    snapshot = snapshot_begin(&fixture);
    cr_assert_eq(base_meta_get(snapshot, bytes_of_text("t/1"), &value, &found), STATUS_CORRUPT);
    cr_assert_not_null(strstr(base_snapshot_trouble(snapshot), "t/1"));
    base_snapshot_end(snapshot);
    fixture_close(&fixture);
}

Test(base_store, extents_are_never_given_twice)
{
    struct fixture fixture = fixture_open();
    uint64_t first = 0;
    uint64_t second = 0;
    begin(&fixture);
    cr_assert_eq(base_writer_allocate_extent(fixture.writer, &first), STATUS_OK);
    cr_assert_eq(base_writer_allocate_extent(fixture.writer, &second), STATUS_OK);
    cr_assert_neq(first, second);
    commit(&fixture);
    begin(&fixture);
    cr_assert_eq(base_writer_allocate_extent(fixture.writer, &first), STATUS_OK);
    cr_assert_gt(first, second);
    base_writer_abort(fixture.writer);
    fixture_close(&fixture);
}

/* On LMDB, where pairs share leaves: a run of new rows takes out what stands behind it on its leaf
 * (base_room.h), and a commit that goes to no row behind must put it back. */
Test(base_store, rows_behind_a_run_of_new_ones_outlive_its_commit)
{
    char folder[] = "/tmp/edubba_base_XXXXXX";
    char path[64];
    struct fixture fixture = {.clock = 1};
    struct kv_options options = {.map_size_bytes = UINT64_C(1) << 26};
    struct error error = {0};
    uint64_t count = 0;
    cr_assert_not_null(mkdtemp(folder));
    cr_assert_eq(kv_open(folder, &options, &fixture.kv, &error), STATUS_OK);
    cr_assert_eq(base_open(fixture.kv, &fixture.base, &error), STATUS_OK);
    begin(&fixture);
    put_sized(&fixture, "host-1#0", "c", 10);
    put_sized(&fixture, "host-2#0", "c", 10);
    put_sized(&fixture, "host-2#1", "c", 10);
    commit(&fixture);
    begin(&fixture);
    put_sized(&fixture, "host-1#1", "c", 10);
    put_sized(&fixture, "host-1#2", "c", 10);
    put_sized(&fixture, "host-1#3", "c", 10);
    commit(&fixture);
    struct base_snapshot *snapshot = snapshot_begin(&fixture);
    cr_assert_eq(count_entries(snapshot, &count), STATUS_OK);
    cr_assert_eq(count, 6);
    base_snapshot_end(snapshot);
    fixture_close(&fixture);
    snprintf(path, sizeof path, "%s/data.mdb", folder);
    (void)unlink(path);
    snprintf(path, sizeof path, "%s/lock.mdb", folder);
    (void)unlink(path);
    (void)rmdir(folder);
}

/* --- layout ----------------------------------------------------------------------------------- */

Test(base_store, appending_in_time_order_fills_chunks)
{
    struct fixture fixture = fixture_open();
    uint64_t bytes = 0;
    for (int flush = 0; flush < 50; flush++) {
        begin(&fixture);
        for (int i = 0; i < 40; i++) {
            char qualifier[16];
            snprintf(qualifier, sizeof qualifier, "c%06d", flush * 40 + i);
            put_sized(&fixture, "row", qualifier, 8);
        }
        commit(&fixture);
    }
    uint64_t chunks = count_records(&fixture, 2, &bytes);
    cr_assert_gt(bytes / chunks, 806 * 9 / 10, "%lu bytes a chunk",
                 (unsigned long)(bytes / chunks));
    cr_assert_leq(bytes / chunks, 806);
    fixture_close(&fixture);
}

Test(base_store, small_flushes_into_a_row_leave_no_crumbs)
{
    struct fixture fixture = fixture_open();
    uint64_t bytes = 0;
    for (int flush = 0; flush < 2000; flush++) {
        char qualifier[16];
        begin(&fixture);
        snprintf(qualifier, sizeof qualifier, "c%06d", flush * 7919 % 2000);
        put_sized(&fixture, "row", qualifier, 8);
        commit(&fixture);
    }
    uint64_t chunks = count_records(&fixture, 2, &bytes);
    cr_assert_gt(bytes / chunks, 806 / 2, "%lu bytes a chunk", (unsigned long)(bytes / chunks));
    fixture_close(&fixture);
}

/* New rows come in runs before stored ones; those are taken out to make room, and put back. */
Test(base_store, runs_of_new_rows_leave_the_rows_behind_them_in_place)
{
    for (int settled = 0; settled < 2; settled++) {
        struct fixture fixture = fixture_open();
        uint64_t count = 0;
        char row[32];
        for (int flush = 0; flush < 10; flush++) {
            begin(&fixture);
            for (int i = 0; i < 50; i++) {
                snprintf(row, sizeof row, "host%02d#%03d", i / 5, flush * 5 + i % 5);
                put_sized(&fixture, row, "q", 40);
            }
            if (settled == 1) {
                cr_assert_eq(base_writer_settle(fixture.writer), STATUS_OK);
            }
            commit(&fixture);
            /* And a run that ends its transaction in front of stored rows. */
            begin(&fixture);
            for (int i = 0; i < 3; i++) {
                snprintf(row, sizeof row, "host03#%03d+%d", flush * 5, i);
                put_sized(&fixture, row, "q", 40);
            }
            commit(&fixture);
            struct base_snapshot *snapshot = snapshot_begin(&fixture);
            cr_assert_eq(count_entries(snapshot, &count), STATUS_OK);
            cr_assert_eq(count, (flush + 1) * 53);
            base_snapshot_end(snapshot);
        }
        fixture_close(&fixture);
    }
}

Test(base_store, a_value_that_fits_no_chunk_is_kept_in_pieces_and_goes_with_its_cell)
{
    static const size_t sizes[] = {700, 800, 1000, 16384, 16385, 61416, 61417, 1000000};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct fixture fixture = fixture_open();
        uint64_t bytes = 0;
        uint64_t count = 0;
        begin(&fixture);
        put_sized(&fixture, "row", "q", sizes[i]);
        commit(&fixture);
        cr_assert_eq(count_records(&fixture, 6, &bytes) > 0, sizes[i] > 750);
        struct base_snapshot *snapshot = snapshot_begin(&fixture);
        struct layer_cursor *cursor = NULL;
        struct bytes row;
        struct entry entry;
        bool found = false;
        cr_assert_eq(base_cursor_open(snapshot, &WHOLE, 1, &cursor), STATUS_OK);
        cr_assert_eq(cursor->operations->seek_row(cursor, ROW_LAST, BYTES_EMPTY, &row, &found),
                     STATUS_OK);
        cr_assert_eq(cursor->operations->seek_entry(cursor, 1, bytes_of_text("q")), STATUS_OK);
        cr_assert_eq(cursor->operations->next_entry(cursor, &entry, &found), STATUS_OK);
        cr_assert_eq(entry.value.size_bytes, sizes[i]);
        cr_assert_eq(entry.value.data[sizes[i] - 1], 'v');
        cursor->operations->close(cursor);
        base_snapshot_end(snapshot);

        begin(&fixture);
        put_sized(&fixture, "row", "q", 3);
        commit(&fixture);
        cr_assert_eq(count_records(&fixture, 6, &bytes), 0);
        snapshot = snapshot_begin(&fixture);
        cr_assert_eq(count_entries(snapshot, &count), STATUS_OK);
        cr_assert_eq(count, 1);
        base_snapshot_end(snapshot);
        fixture_close(&fixture);
    }
}

/* --- deletes ---------------------------------------------------------------------------------- */

static void fill_row(struct fixture *fixture, const char *row, int cells)
{
    begin(fixture);
    for (int i = 0; i < cells; i++) {
        char qualifier[16];
        snprintf(qualifier, sizeof qualifier, "c%06d", i);
        put_sized(fixture, row, qualifier, 50);
    }
    commit(fixture);
}

Test(base_store, a_narrow_delete_is_applied_on_the_spot)
{
    struct fixture fixture = fixture_open();
    uint64_t bytes = 0;
    fill_row(&fixture, "row", 500);
    begin(&fixture);
    put_entry(&fixture, "row", (struct entry){.kind = ENTRY_ROW_DELETE});
    commit(&fixture);
    cr_assert_eq(count_records(&fixture, 2, &bytes), 0);
    cr_assert_eq(count_records(&fixture, 3, &bytes), 0);
    fixture_close(&fixture);
}

Test(base_store, a_wide_delete_is_stored_then_swept_in_steps)
{
    struct fixture fixture = fixture_open();
    struct buffer resume = BUFFER_INIT;
    uint64_t bytes = 0;
    uint64_t count = 0;
    uint64_t steps = 0;
    bool done = false;
    fill_row(&fixture, "row", 3000);
    uint64_t chunks = count_records(&fixture, 2, &bytes);
    cr_assert_gt(chunks, 200);
    begin(&fixture);
    put_entry(&fixture, "row", (struct entry){.kind = ENTRY_ROW_DELETE});
    commit(&fixture);
    cr_assert_geq(count_records(&fixture, 2, &bytes), chunks - 1, "in O(1)");
    cr_assert_eq(count_records(&fixture, 3, &bytes), 1);
    begin(&fixture);
    put_sized(&fixture, "row", "c001500", 50);
    commit(&fixture);

    struct base_snapshot *snapshot = snapshot_begin(&fixture);
    cr_assert_eq(count_entries(snapshot, &count), STATUS_OK);
    cr_assert_eq(count, 2, "the tombstone and the cell put after it");
    base_snapshot_end(snapshot);

    while (!done) {
        begin(&fixture);
        cr_assert_eq(base_sweep_step(fixture.writer, EXTENT, &ALL_ROWS, &resume, 10000, &done),
                     STATUS_OK);
        commit(&fixture);
        steps++;
    }
    buffer_deinit(&resume);
    cr_assert_gt(steps, 10, "paced");
    cr_assert_eq(count_records(&fixture, 3, &bytes), 0);
    cr_assert_eq(count_records(&fixture, 2, &bytes), 1);
    snapshot = snapshot_begin(&fixture);
    cr_assert_eq(count_entries(snapshot, &count), STATUS_OK);
    cr_assert_eq(count, 1);
    base_snapshot_end(snapshot);
    fixture_close(&fixture);
}

/* A flush cut in the middle of a chunk: its first part raises no stamp of what comes behind, or a
 * delete of the same flush, which is older than the raised stamp, would spare what it must kill. */
Test(base_store, a_cut_between_a_younger_put_and_an_older_delete_spares_nothing)
{
    struct fixture fixture = fixture_open();
    uint64_t count = 0;
    fill_row(&fixture, "row", 4);
    struct entry put = {.kind = ENTRY_PUT,
                        .family = 1,
                        .qualifier = bytes_of_text("c000000"),
                        .timestamp_us = 5000,
                        .stamp = {100, 0, 0}};
    struct entry erase = {.kind = ENTRY_COLUMN_DELETE,
                          .family = 1,
                          .qualifier = bytes_of_text("c000002"),
                          .end_us = INT64_MAX,
                          .stamp = {50, 0, 0}};
    begin(&fixture);
    cr_assert_eq(base_writer_put(fixture.writer, EXTENT, bytes_of_text("row"), &put), STATUS_OK);
    cr_assert_eq(base_writer_settle(fixture.writer), STATUS_OK); /* the row goes on */
    commit(&fixture);
    begin(&fixture);
    cr_assert_eq(base_writer_put(fixture.writer, EXTENT, bytes_of_text("row"), &erase), STATUS_OK);
    commit(&fixture);
    struct base_snapshot *snapshot = snapshot_begin(&fixture);
    cr_assert_eq(count_entries(snapshot, &count), STATUS_OK);
    cr_assert_eq(count, 4 + 1 - 1);
    base_snapshot_end(snapshot);
    fixture_close(&fixture);
}

Test(base_store, erasing_spares_what_is_younger_and_other_rows)
{
    struct fixture fixture = fixture_open();
    struct buffer resume = BUFFER_INIT;
    uint64_t count = 0;
    bool done = false;
    fill_row(&fixture, "a", 30);
    fill_row(&fixture, "b", 30);
    struct stamp dead_below = {fixture.clock, 0, 0};
    fill_row(&fixture, "b2", 30);
    fill_row(&fixture, "c", 30);
    const struct row_range range = {bytes_of_text("b"), bytes_of_text("c")};
    while (!done) {
        begin(&fixture);
        cr_assert_eq(
            base_erase_step(fixture.writer, EXTENT, &range, dead_below, &resume, 1000, &done),
            STATUS_OK);
        commit(&fixture);
    }
    struct base_snapshot *snapshot = snapshot_begin(&fixture);
    cr_assert_eq(count_entries(snapshot, &count), STATUS_OK);
    cr_assert_eq(count, 90);
    base_snapshot_end(snapshot);

    /* And the extent as a whole, with whatever is in it. */
    damage(&fixture, 2, false);
    buffer_reset(&resume);
    done = false;
    while (!done) {
        begin(&fixture);
        cr_assert_eq(base_erase_step(fixture.writer, EXTENT, &ALL_ROWS,
                                     (struct stamp){UINT64_MAX, 0, 0}, &resume, 1000, &done),
                     STATUS_OK);
        commit(&fixture);
    }
    for (uint8_t space = 2; space <= 6; space++) {
        cr_assert_eq(count_records(&fixture, space, &count), 0);
    }
    buffer_deinit(&resume);
    fixture_close(&fixture);
}

/* --- damage ----------------------------------------------------------------------------------- */

Test(base_store, a_flipped_bit_is_never_read_as_data)
{
    for (int in_key = 0; in_key < 2; in_key++) {
        struct fixture fixture = fixture_open();
        struct error error = {0};
        uint64_t count = 0;
        fill_row(&fixture, "some-row", 3);
        cr_assert_eq(scrub(&fixture, &error), 0);
        damage(&fixture, 2, in_key == 1);
        struct base_snapshot *snapshot = snapshot_begin(&fixture);
        cr_assert_eq(count_entries(snapshot, &count), STATUS_CORRUPT);
        cr_assert_not_null(strstr(base_snapshot_trouble(snapshot), "extent 5"));
        cr_assert_not_null(strstr(base_snapshot_trouble(snapshot), "some-ro"));
        base_snapshot_end(snapshot);
        cr_assert_eq(scrub(&fixture, &error), 1);
        cr_assert_not_null(strstr(error.text, "some-ro"), "%s", error.text);
        begin(&fixture);
        struct entry entry = {.kind = ENTRY_PUT, .family = 1, .stamp = {99, 0, 0}};
        const char *row = in_key == 1 ? "some-ro7" : "some-row"; /* w ^ 0x40 = 7 */
        cr_assert_eq(base_writer_put(fixture.writer, EXTENT, bytes_of_text(row), &entry),
                     STATUS_CORRUPT);
        base_writer_abort(fixture.writer);
        fixture_close(&fixture);
    }
}

Test(base_store, a_damaged_piece_a_damaged_link_and_a_damaged_tombstone_are_found)
{
    char row[1200];
    uint64_t count = 0;
    for (uint8_t space = 2; space <= 6; space += space == 3 ? 3 : 1) {
        struct fixture fixture = fixture_open();
        struct error error = {0};
        memset(row, 'r', sizeof row - 1);
        row[sizeof row - 1] = '\0';
        if (space == 2) { /* the only record of the top layer is a link */
            begin(&fixture);
            put_sized(&fixture, row, "q", 10);
            commit(&fixture);
        } else if (space == 3) {
            fill_row(&fixture, "wide", 3000);
            begin(&fixture);
            put_entry(&fixture, "wide", (struct entry){.kind = ENTRY_ROW_DELETE});
            commit(&fixture);
        } else {
            begin(&fixture);
            put_sized(&fixture, "row", "q", 70000);
            commit(&fixture);
        }
        damage(&fixture, space, false);
        struct base_snapshot *snapshot = snapshot_begin(&fixture);
        cr_assert_eq(count_entries(snapshot, &count), STATUS_CORRUPT, "space %d", space);
        base_snapshot_end(snapshot);
        cr_assert_eq(scrub(&fixture, &error), 1);
        fixture_close(&fixture);
    }
}

/* --- estimates -------------------------------------------------------------------------------- */

static void check_estimate(struct fixture *fixture, int rows, int tolerance_percent)
{
    uint64_t chunk_bytes = 0;
    uint64_t piece_bytes = 0;
    uint64_t estimate = 0;
    struct buffer row = BUFFER_INIT;
    bool found = false;
    count_records(fixture, 2, &chunk_bytes);
    count_records(fixture, 6, &piece_bytes);
    double stored = (double)(chunk_bytes + piece_bytes);
    struct base_snapshot *snapshot = snapshot_begin(fixture);
    cr_assert_eq(base_estimate_bytes(snapshot, &WHOLE, 1, &estimate), STATUS_OK);
    cr_assert_leq((double)estimate, stored * (100 + tolerance_percent) / 100);
    cr_assert_geq((double)estimate, stored * (100 - tolerance_percent) / 100);
    cr_assert_eq(base_middle_row(snapshot, &WHOLE, 1, &row, &found), STATUS_OK);
    cr_assert(found);
    buffer_append_u8(&row, 0);
    int middle = atoi((const char *)row.data + 1);
    cr_assert_geq(middle, rows * (50 - tolerance_percent) / 100, "%d of %d", middle, rows);
    cr_assert_leq(middle, rows * (50 + tolerance_percent) / 100 + 1, "%d of %d", middle, rows);
    buffer_deinit(&row);
    base_snapshot_end(snapshot);
}

/* Rows of like weight: a row's number over their count is the share that lies before it. */
static void check_samples(struct fixture *fixture, int rows, uint32_t count_max, double tolerance)
{
    struct base_row_sample taken[32];
    struct base_row_samples samples = {.samples = taken, .count_max = count_max};
    struct arena arena;
    uint64_t total = 0;
    double last = 0;
    arena_init(&arena, 4096, SIZE_MAX);
    struct base_snapshot *snapshot = snapshot_begin(fixture);
    cr_assert_eq(base_estimate_bytes(snapshot, &WHOLE, 1, &total), STATUS_OK);
    cr_assert_eq(base_sample_rows(snapshot, &WHOLE, 1, total / 10, &arena, &samples), STATUS_OK);
    cr_assert_eq(samples.total_bytes, total);
    uint32_t expected = count_max < 10 ? count_max - 1 : 9;
    cr_assert(samples.count >= expected && samples.count <= expected + 1, "%u", samples.count);
    for (uint32_t i = 0; i < samples.count; i++) {
        char row[16] = "";
        cr_assert_lt(taken[i].row.size_bytes, sizeof row);
        memcpy(row, taken[i].row.data, taken[i].row.size_bytes);
        double share = atoi(row + 1) / (double)rows;
        double offset = (double)taken[i].offset_bytes / (double)total;
        cr_assert_lt(last, offset);
        cr_assert_lt(taken[i].offset_bytes, total);
        cr_assert(share > offset - tolerance && share < offset + tolerance, "%f %f", share, offset);
        cr_assert(i == 0 || bytes_compare(taken[i - 1].row, taken[i].row) < 0);
        last = offset;
    }
    base_snapshot_end(snapshot);
    arena_deinit(&arena);
}

Test(base_store, estimates_are_exact_when_small_and_near_when_large)
{
    struct fixture fixture = fixture_open();
    char row[16];
    begin(&fixture);
    for (int i = 0; i < 40000; i++) {
        snprintf(row, sizeof row, "r%06d", i);
        put_sized(&fixture, row, "q", i % 50 == 0 ? 20000 : 300);
        if (i == 1000) {
            commit(&fixture);
            check_estimate(&fixture, 1001, 1);
            check_samples(&fixture, 1001, 32, 0.04);
            begin(&fixture);
        }
    }
    commit(&fixture);
    check_estimate(&fixture, 40000, 20);
    check_samples(&fixture, 40000, 32, 0.1);
    check_samples(&fixture, 40000, 4, 0.1);
    fixture_close(&fixture);
}

Test(base_store, the_middle_lies_behind_the_first_row_or_is_not_found)
{
    struct fixture fixture = fixture_open();
    struct buffer row = BUFFER_INIT;
    bool found = true;
    struct base_snapshot *snapshot = snapshot_begin(&fixture);
    cr_assert_eq(base_middle_row(snapshot, &WHOLE, 1, &row, &found), STATUS_OK);
    cr_assert_not(found, "an empty tablet has no middle");
    base_snapshot_end(snapshot);
    begin(&fixture);
    put_sized(&fixture, "a", "q", 500000);
    commit(&fixture);
    snapshot = snapshot_begin(&fixture);
    cr_assert_eq(base_middle_row(snapshot, &WHOLE, 1, &row, &found), STATUS_OK);
    cr_assert_not(found, "nor has one row");
    base_snapshot_end(snapshot);
    begin(&fixture);
    put_sized(&fixture, "b", "q", 5);
    put_sized(&fixture, "c", "q", 5);
    commit(&fixture);
    snapshot = snapshot_begin(&fixture);
    cr_assert_eq(base_middle_row(snapshot, &WHOLE, 1, &row, &found), STATUS_OK);
    cr_assert(found && bytes_equal(buffer_bytes(&row), bytes_of_text("b")));
    base_snapshot_end(snapshot);
    buffer_deinit(&row);
    fixture_close(&fixture);
}

/* --- memory ----------------------------------------------------------------------------------- */

static enum status write_some(struct base *base)
{
    struct base_writer *writer = NULL;
    char row[1100];
    static uint8_t value[5000];
    enum status status = base_writer_begin(base, &writer);
    if (status != STATUS_OK) {
        return status;
    }
    memset(row, 'r', sizeof row);
    for (int i = 0; i < 120 && status == STATUS_OK; i++) {
        row[1099] = (char)('a' + i / 30);
        uint8_t qualifier[1] = {(uint8_t)i};
        struct entry entry = {.kind = i % 10 == 3 ? ENTRY_FOLD : ENTRY_PUT,
                              .family = 1,
                              .qualifier = bytes_of(qualifier, 1),
                              .stamp = {2, 0, 0},
                              .aggregate = i % 10 == 3 ? AGGREGATE_INTSUM : AGGREGATE_NONE,
                              .value = bytes_of(value, i % 10 == 3  ? 8
                                                       : i % 7 == 0 ? 5000
                                                                    : 100)};
        if (i % 30 == 0) {
            entry = (struct entry){.kind = ENTRY_ROW_DELETE, .stamp = {1, 1, 0}};
        }
        status = base_writer_put(writer, EXTENT, bytes_of(row, sizeof row), &entry);
    }
    if (status != STATUS_OK) {
        base_writer_abort(writer);
        return status;
    }
    return base_writer_commit(writer);
}

Test(base_store, a_writer_without_memory_fails_whole)
{
    struct fixture fixture = fixture_open();
    uint64_t before = 0;
    uint64_t bytes = 0;
    cr_assert_eq(write_some(fixture.base), STATUS_OK);
    count_records(&fixture, 2, &before);
    bool failed = true;
    uint64_t runs = 0;
    for (uint64_t after = 0; failed; after += 1 + after / 50) {
        memory_fail_arm(after, after % 2 == 0);
        enum status status = write_some(fixture.base);
        memory_fail_disarm();
        failed = status != STATUS_OK;
        cr_assert(!failed || status == STATUS_NO_MEMORY, "%s", status_name(status));
        count_records(&fixture, 2, &bytes);
        cr_assert_eq(bytes, before);
        runs++;
    }
    cr_assert_gt(runs, 50);
    fixture_close(&fixture);
}

Test(base_store, a_cursor_without_memory_says_so)
{
    struct fixture fixture = fixture_open();
    cr_assert_eq(write_some(fixture.base), STATUS_OK);
    bool failed = true;
    for (uint64_t after = 0; failed; after++) {
        struct base_snapshot *snapshot = snapshot_begin(&fixture);
        struct layer_cursor *cursor = NULL;
        struct bytes row;
        struct entry entry;
        bool found = true;
        memory_fail_arm(after, 1);
        enum status status = base_cursor_open(snapshot, &WHOLE, 1, &cursor);
        if (status == STATUS_OK) {
            status = cursor->operations->seek_row(cursor, ROW_LAST, BYTES_EMPTY, &row, &found);
        }
        if (status == STATUS_OK) {
            status = cursor->operations->seek_entry(cursor, 1, BYTES_EMPTY);
        }
        while (status == STATUS_OK && found) {
            status = cursor->operations->skip_column(cursor, &entry, &found);
        }
        memory_fail_disarm();
        failed = status != STATUS_OK;
        cr_assert(!failed || status == STATUS_NO_MEMORY, "%s", status_name(status));
        if (cursor != NULL) {
            cursor->operations->close(cursor);
        }
        base_snapshot_end(snapshot);
    }
    fixture_close(&fixture);
}
