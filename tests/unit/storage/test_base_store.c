/*
 * The base: what a store may rely on, each point by itself.  Random traffic is the model test's.
 */
#include <pthread.h>

#include "common/io/clock.h"
#include "tests/support/base_fixture.h"
#include "tests/support/test_folder.h"

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
    char folder[256];
    char path[300];
    struct fixture fixture = {.clock = 1};
    struct kv_options options = {.map_size_bytes = UINT64_C(1) << 26};
    struct error error = {0};
    uint64_t count = 0;
    test_folder_make(folder, sizeof folder, "base");
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

static void sweep(struct fixture *fixture)
{
    struct buffer resume = BUFFER_INIT;
    bool done = false;
    while (!done) {
        begin(fixture);
        cr_assert_eq(
            base_sweep_step(fixture->writer, EXTENT, &ALL_ROWS, &resume, UINT64_MAX, &done),
            STATUS_OK);
        commit(fixture);
    }
    buffer_deinit(&resume);
}

static void put_version(struct fixture *fixture, int64_t timestamp_us)
{
    static const uint8_t value[50] = {0};
    put_entry(fixture, "row",
              (struct entry){.kind = ENTRY_PUT,
                             .family = 1,
                             .qualifier = bytes_of_text("q"),
                             .timestamp_us = timestamp_us,
                             .value = bytes_of(value, sizeof value)});
}

static void delete_versions(struct fixture *fixture, int64_t start_us, int64_t end_us)
{
    put_entry(fixture, "row",
              (struct entry){.kind = ENTRY_COLUMN_DELETE,
                             .family = 1,
                             .qualifier = bytes_of_text("q"),
                             .start_us = start_us,
                             .end_us = end_us});
}

/* Each would have to be looked at with every cell that is read of the row, until the sweep comes. */
Test(base_store, deletes_of_single_old_versions_of_a_long_column_are_not_stored)
{
    const int64_t versions = 20000;
    struct fixture fixture = fixture_open();
    uint64_t bytes = 0;
    uint64_t count = 0;
    begin(&fixture);
    for (int64_t at = versions - 1; at >= 0; at--) {
        put_version(&fixture, at);
    }
    commit(&fixture);
    cr_assert_gt(count_records(&fixture, 2, &bytes), 3 * 64);

    begin(&fixture);
    for (int64_t at = versions - 1; at >= 0; at--) {
        if (at % 10 == 0) {
            delete_versions(&fixture, at, at + 1);
        }
    }
    commit(&fixture);
    cr_assert_eq(count_records(&fixture, 3, &bytes), 0);
    struct base_snapshot *snapshot = snapshot_begin(&fixture);
    cr_assert_eq(count_entries(snapshot, &count), STATUS_OK);
    cr_assert_eq(count, (uint64_t)(versions - versions / 10));
    base_snapshot_end(snapshot);

    /* Over chunks in the midst of the column, and one that is wide even so. */
    begin(&fixture);
    delete_versions(&fixture, 5000, 5500);
    delete_versions(&fixture, 100, 4900);
    commit(&fixture);
    cr_assert_eq(count_records(&fixture, 3, &bytes), 1);
    sweep(&fixture);
    snapshot = snapshot_begin(&fixture);
    cr_assert_eq(count_entries(snapshot, &count), STATUS_OK);
    cr_assert_eq(count, (uint64_t)(versions - 500 - 4800) * 9 / 10);
    base_snapshot_end(snapshot);
    fixture_close(&fixture);
}

static int64_t read_ns(struct fixture *fixture, uint64_t *ret_count)
{
    int64_t begun_ns = clock_thread_cpu_ns(pthread_self());
    struct base_snapshot *snapshot = snapshot_begin(fixture);
    cr_assert_eq(count_entries(snapshot, ret_count), STATUS_OK);
    base_snapshot_end(snapshot);
    return clock_thread_cpu_ns(pthread_self()) - begun_ns;
}

/* A client that drops what is older than a day, each second: every delete covers what the one before it did, and is
 * stored as long as that is not swept.  To hold each cell against all of them took 350 times as long. */
Test(base_store, many_stored_deletes_of_a_column_do_not_make_its_cells_slow)
{
    const int64_t versions = 100000;
    const int64_t deletes = 10000;
    struct fixture fixture = fixture_open();
    uint64_t bytes = 0;
    uint64_t count = 0;
    begin(&fixture);
    for (int64_t at = versions - 1; at >= 0; at--) {
        put_version(&fixture, at);
    }
    commit(&fixture);
    int64_t before_ns = read_ns(&fixture, &count);
    cr_assert_eq(count, (uint64_t)versions);

    begin(&fixture);
    for (int64_t i = 1; i <= deletes; i++) {
        delete_versions(&fixture, 0, versions / 2 + i);
        fixture.clock++;
    }
    commit(&fixture);
    cr_assert_eq(count_records(&fixture, 3, &bytes), (uint64_t)deletes);
    int64_t after_ns = read_ns(&fixture, &count);
    cr_assert_eq(count, (uint64_t)(versions / 2 - deletes + deletes), "and the deletes themselves");
    cr_assert_lt(after_ns, 50 * before_ns, "%ld instead of %ld us", (long)(after_ns / 1000),
                 (long)(before_ns / 1000));
    int64_t begun_ns = clock_thread_cpu_ns(pthread_self());
    sweep(&fixture);
    int64_t sweep_ns = clock_thread_cpu_ns(pthread_self()) - begun_ns;
    cr_assert_lt(sweep_ns, 100 * before_ns, "%ld us", (long)(sweep_ns / 1000));
    (void)read_ns(&fixture, &count);
    cr_assert_eq(count, (uint64_t)(versions / 2 - deletes));
    fixture_close(&fixture);
}

/* A range delete that is still being erased comes with each flush of a row, behind deletes of that row which are
 * younger: what those have killed stays dead. */
Test(base_store, a_delete_that_comes_again_does_not_take_a_younger_ones_place)
{
    struct fixture fixture = fixture_open();
    const struct entry range_delete = {.kind = ENTRY_ROW_DELETE, .stamp = {fixture.clock++, 0, 0}};
    uint64_t bytes = 0;
    uint64_t count = 0;
    fill_row(&fixture, "row", 3000);
    begin(&fixture);
    put_entry(&fixture, "row", (struct entry){.kind = ENTRY_ROW_DELETE});
    commit(&fixture);
    cr_assert_eq(count_records(&fixture, 3, &bytes), 1);

    begin(&fixture);
    cr_assert_eq(base_writer_put(fixture.writer, EXTENT, bytes_of_text("row"), &range_delete),
                 STATUS_OK);
    put_sized(&fixture, "row", "c001500", 50);
    commit(&fixture);
    struct base_snapshot *snapshot = snapshot_begin(&fixture);
    cr_assert_eq(count_entries(snapshot, &count), STATUS_OK);
    cr_assert_eq(count, 2, "the younger tombstone and the cell, not %llu",
                 (unsigned long long)count);
    base_snapshot_end(snapshot);

    sweep(&fixture);
    cr_assert_eq(count_records(&fixture, 2, &bytes), 1);
    cr_assert_eq(count_records(&fixture, 3, &bytes), 0);
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

/* Pieces of large values are numbered through the whole file: the key of one reads as an extent's. */
Test(base_store, an_extent_is_not_taken_for_the_owner_of_a_piece_whose_number_is_like_its_own)
{
    const uint64_t extent = UINT64_C(1) << 16; /* piece 0 of value 1 */
    struct fixture fixture = fixture_open();
    struct buffer resume = BUFFER_INIT;
    struct error error = {0};
    uint64_t pieces_bytes = 0;
    uint64_t count = 0;
    uint64_t bad = 0;
    bool done = false;
    begin(&fixture);
    put_sized(&fixture, "row", "q", 1000);
    commit(&fixture);
    uint64_t pieces = count_records(&fixture, 6, &pieces_bytes);
    cr_assert_gt(pieces, 0);

    struct base_snapshot *snapshot = snapshot_begin(&fixture);
    cr_assert_eq(base_scrub_step(snapshot, extent, &resume, UINT64_MAX, &bad, &done, &error),
                 STATUS_OK);
    cr_assert_eq(bad, 0, "%s", error.text);
    base_snapshot_end(snapshot);

    buffer_reset(&resume);
    for (done = false; !done;) {
        begin(&fixture);
        cr_assert_eq(base_erase_step(fixture.writer, extent, &ALL_ROWS,
                                     (struct stamp){UINT64_MAX, 0, 0}, &resume, 1000, &done),
                     STATUS_OK);
        commit(&fixture);
    }
    buffer_deinit(&resume);
    cr_assert_eq(count_records(&fixture, 6, &pieces_bytes), pieces);
    snapshot = snapshot_begin(&fixture);
    cr_assert_eq(count_entries(snapshot, &count), STATUS_OK, "%s", base_snapshot_trouble(snapshot));
    cr_assert_eq(count, 1);
    base_snapshot_end(snapshot);
    fixture_close(&fixture);
}
