/*
 * A store's base, harmed from outside: a byte that flips, or a row that is not what was written.
 */
#ifndef TESTS_SUPPORT_STORE_DAMAGE_H
#define TESTS_SUPPORT_STORE_DAMAGE_H

#include <string.h>

#include "common/io/file.h"
#include "tabletserver/storage/base/base_store.h"
#include "tabletserver/storage/store/store_internal.h"
#include "tests/support/store_fixture.h"

/* Change one byte in the record of the base's data that so many lie before. */
__attribute__((unused)) static void damage_record(struct store *store, int before)
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
    for (int i = 0; i < before && found; i++) {
        cr_assert_eq(kv_cursor_move(cursor, KV_NEXT, BYTES_EMPTY, &key, &value, &found), STATUS_OK);
    }
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

/* Change one byte in the first chunk of the base. */
__attribute__((unused)) static void damage_chunk(struct store *store)
{
    damage_record(store, 0);
}

/* How many records an extent has in a space of the base. */
__attribute__((unused)) static int count_records(struct store *store,
                                                 enum base_space space,
                                                 uint64_t extent)
{
    uint8_t prefix[BASE_EXTENT_PREFIX_BYTES] = {(uint8_t)space};
    struct kv_read *read = NULL;
    struct kv_cursor *cursor = NULL;
    struct bytes key = BYTES_EMPTY;
    struct bytes value;
    bool found = false;
    int count = 0;
    store_be64(prefix + 1, extent);
    cr_assert_eq(kv_read_begin(store->kv, &read), STATUS_OK);
    cr_assert_eq(kv_cursor_open_read(read, &cursor), STATUS_OK);
    cr_assert_eq(
        kv_cursor_move(cursor, KV_SEEK, bytes_of(prefix, sizeof prefix), &key, &value, &found),
        STATUS_OK);
    while (found && bytes_starts_with(key, bytes_of(prefix, sizeof prefix))) {
        count++;
        cr_assert_eq(kv_cursor_move(cursor, KV_NEXT, BYTES_EMPTY, &key, &value, &found), STATUS_OK);
    }
    kv_cursor_close(cursor);
    kv_read_end(read);
    return count;
}

/* Change one byte of the log in the middle of what `store` has written; it is closed. */
__attribute__((unused)) static void damage_log(const char *folder, const char *near)
{
    static uint8_t bytes[1 << 20];
    char path[FILE_PATH_SIZE_MAX];
    char log_folder[FILE_PATH_SIZE_MAX];
    struct file file = FILE_CLOSED;
    struct arena arena;
    char **names = NULL;
    size_t count = 0;
    bool done = false;
    arena_init(&arena, 1024, SIZE_MAX);
    cr_assert_eq(file_path_join(log_folder, folder, "log", NULL), STATUS_OK);
    cr_assert_eq(file_list_folder(log_folder, &arena, &names, &count, NULL), STATUS_OK);
    for (size_t i = 0; i < count && !done; i++) {
        uint64_t size = 0;
        cr_assert_eq(file_path_join(path, log_folder, names[i], NULL), STATUS_OK);
        cr_assert_eq(file_open(path, &file, NULL), STATUS_OK);
        cr_assert_eq(file_size(&file, &size, NULL), STATUS_OK);
        size = size < sizeof bytes ? size : sizeof bytes;
        cr_assert_eq(file_read_at(&file, 0, bytes, size, NULL), STATUS_OK);
        size_t at = 0;
        while (at + strlen(near) <= size && memcmp(bytes + at, near, strlen(near)) != 0) {
            at++;
        }
        if (at + strlen(near) <= size) {
            bytes[at] ^= 1;
            cr_assert_eq(file_write_at(&file, 0, bytes, size, NULL), STATUS_OK);
            done = true;
        }
        file_close(&file);
    }
    arena_deinit(&arena);
    cr_assert(done, "no log has '%s'", near);
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
