/*
 * A store's base, harmed from outside: a byte that flips, or a row that is not what was written.
 */
#ifndef TESTS_SUPPORT_STORE_DAMAGE_H
#define TESTS_SUPPORT_STORE_DAMAGE_H

#include <string.h>

#include "tabletserver/storage/base_store.h"
#include "tabletserver/storage/store_internal.h"
#include "tests/support/store_fixture.h"

/* Change one byte in the first chunk of the base. */
__attribute__((unused)) static void damage_chunk(struct store *store)
{
    static const uint8_t space = BASE_SPACE_DATA;
    static uint8_t key_copy[512];
    static uint8_t value_copy[4096];
    struct kv_write *write = NULL;
    struct kv_cursor *cursor = NULL;
    struct bytes key;
    struct bytes value;
    bool found = false;
    cr_assert_eq(kv_write_begin(store->kv, &write), STATUS_OK);
    cr_assert_eq(kv_cursor_open_write(write, &cursor), STATUS_OK);
    cr_assert_eq(kv_cursor_move(cursor, KV_SEEK, bytes_of(&space, 1), &key, &value, &found),
                 STATUS_OK);
    cr_assert(found && key.data[0] == space);
    memcpy(key_copy, key.data, key.size_bytes);
    memcpy(value_copy, value.data, value.size_bytes);
    value_copy[value.size_bytes - 1] ^= 1;
    kv_cursor_close(cursor);
    cr_assert_eq(kv_write_put(write, bytes_of(key_copy, key.size_bytes),
                              bytes_of(value_copy, value.size_bytes)),
                 STATUS_OK);
    cr_assert_eq(kv_write_commit(write), STATUS_OK);
}

/* Put a cell into the base of one tablet that nobody has written: every checksum is right. */
__attribute__((unused)) static void plant_cell(struct store_tablet *tablet,
                                               const char *row,
                                               const char *value)
{
    struct base_writer *writer = NULL;
    const struct entry cell = {.kind = ENTRY_PUT,
                               .family = 1,
                               .qualifier = bytes_of_text("c"),
                               .timestamp_us = 5,
                               .value = bytes_of_text(value)};
    cr_assert_eq(base_writer_begin(tablet->store->base, &writer), STATUS_OK);
    cr_assert_eq(
        base_writer_put(writer, tablet->pieces->pieces[0].extent, bytes_of_text(row), &cell),
        STATUS_OK);
    cr_assert_eq(base_writer_commit(writer), STATUS_OK);
}

#endif /* TESTS_SUPPORT_STORE_DAMAGE_H */
