/*
 * A base on an ordered map in memory, its records counted and damaged from outside.
 */
#ifndef TESTS_SUPPORT_BASE_FIXTURE_H
#define TESTS_SUPPORT_BASE_FIXTURE_H

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/base/checksum.h"
#include "common/base/endian.h"
#include "common/base/memory.h"
#include "tabletserver/storage/base/base.h"

#define EXTENT 5

__attribute__((unused)) static const struct base_piece WHOLE = {{{NULL, 0}, {NULL, 0}}, EXTENT};
__attribute__((unused)) static const struct row_range ALL_ROWS = {{NULL, 0}, {NULL, 0}};

struct fixture {
    struct kv *kv;
    struct base *base;
    struct base_writer *writer;
    uint64_t clock;
};

__attribute__((unused)) static struct fixture fixture_open(void)
{
    struct fixture fixture = {.clock = 1};
    struct error error = {0};
    cr_assert_eq(kv_create_in_memory(&fixture.kv), STATUS_OK);
    cr_assert_eq(base_open(fixture.kv, &fixture.base, &error), STATUS_OK);
    return fixture;
}

__attribute__((unused)) static void fixture_close(struct fixture *fixture)
{
    base_close(fixture->base);
    kv_close(fixture->kv);
}

__attribute__((unused)) static void begin(struct fixture *fixture)
{
    cr_assert_eq(base_writer_begin(fixture->base, &fixture->writer), STATUS_OK);
}

__attribute__((unused)) static void commit(struct fixture *fixture)
{
    cr_assert_eq(base_writer_commit(fixture->writer), STATUS_OK);
    fixture->clock++;
}

__attribute__((unused)) static void put_entry(struct fixture *fixture,
                                              const char *row,
                                              struct entry entry)
{
    entry.stamp = (struct stamp){fixture->clock, 0, 0};
    cr_assert_eq(base_writer_put(fixture->writer, EXTENT, bytes_of_text(row), &entry), STATUS_OK);
}

__attribute__((unused)) static void put_sized(struct fixture *fixture,
                                              const char *row,
                                              const char *qualifier,
                                              size_t size)
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

__attribute__((unused)) static struct base_snapshot *snapshot_begin(struct fixture *fixture)
{
    struct base_snapshot *snapshot = NULL;
    cr_assert_eq(base_snapshot_begin(fixture->base, &snapshot), STATUS_OK);
    return snapshot;
}

/* Entries of a row, or of the first one: how many, and the last status. */
__attribute__((unused)) static enum status count_entries(struct base_snapshot *snapshot,
                                                         uint64_t *ret_count)
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
__attribute__((unused)) static uint64_t count_records(struct fixture *fixture,
                                                      uint8_t space,
                                                      uint64_t *ret_bytes)
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
__attribute__((unused)) static void damage(struct fixture *fixture, uint8_t space, bool in_key)
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

__attribute__((unused)) static uint64_t scrub(struct fixture *fixture, struct error *ret_error)
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

__attribute__((unused)) static void fill_row(struct fixture *fixture, const char *row, int cells)
{
    begin(fixture);
    for (int i = 0; i < cells; i++) {
        char qualifier[16];
        snprintf(qualifier, sizeof qualifier, "c%06d", i);
        put_sized(fixture, row, qualifier, 50);
    }
    commit(fixture);
}

#endif /* TESTS_SUPPORT_BASE_FIXTURE_H */
