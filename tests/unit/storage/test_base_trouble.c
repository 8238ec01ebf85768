/* Damage is found and never read as data; without memory all or nothing is done. */
#include "tests/support/base_fixture.h"

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

/* Put a byte into a record of the data that so many lie before. */
static void damage_byte(struct fixture *fixture, int before, size_t offset, uint8_t byte)
{
    const uint8_t space = 2;
    struct kv_write *write = NULL;
    struct kv_cursor *cursor = NULL;
    struct bytes key;
    struct bytes value;
    bool found = false;
    uint8_t key_copy[512];
    uint8_t copy[4096];
    cr_assert_eq(kv_write_begin(fixture->kv, &write), STATUS_OK);
    cr_assert_eq(kv_cursor_open_write(write, &cursor), STATUS_OK);
    cr_assert_eq(kv_cursor_move(cursor, KV_SEEK, bytes_of(&space, 1), &key, &value, &found),
                 STATUS_OK);
    for (int i = 0; i < before; i++) {
        cr_assert_eq(kv_cursor_move(cursor, KV_NEXT, BYTES_EMPTY, &key, &value, &found), STATUS_OK);
    }
    cr_assert(found && key.data[0] == space && offset < value.size_bytes);
    memcpy(key_copy, key.data, key.size_bytes);
    memcpy(copy, value.data, value.size_bytes);
    kv_cursor_close(cursor);
    copy[offset] = byte;
    cr_assert_eq(
        kv_write_put(write, bytes_of(key_copy, key.size_bytes), bytes_of(copy, value.size_bytes)),
        STATUS_OK);
    cr_assert_eq(kv_write_commit(write), STATUS_OK);
}

/* Its stamp may be what is damaged: no delete ever was young enough for that. */
Test(base_store, a_damaged_chunk_goes_with_its_row_whatever_it_says_of_its_age)
{
    static const struct {
        int chunk;
        size_t offset;
    } cases[] = {{0, 13}, {0, 15}, {4, 13}, {4, 15}}; /* the clock's highest byte, the index */
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct fixture fixture = fixture_open();
        uint64_t bytes = 0;
        const struct entry delete = {.kind = ENTRY_ROW_DELETE, .stamp = {99, 0, 0}};
        fill_row(&fixture, "row", 100);
        cr_assert_gt(count_records(&fixture, 2, &bytes), 5);
        damage_byte(&fixture, cases[i].chunk, cases[i].offset, 0xff);
        begin(&fixture);
        cr_assert_eq(
            base_writer_put_youngest(fixture.writer, EXTENT, bytes_of_text("row"), &delete, NULL),
            STATUS_OK);
        commit(&fixture);
        cr_assert_eq(count_records(&fixture, 2, &bytes), 0, "case %d", (int)i);
        fixture_close(&fixture);
    }
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
