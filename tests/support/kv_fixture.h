/*
 * A key-value store in a folder of its own, or in memory.
 */
#ifndef TESTS_SUPPORT_KV_FIXTURE_H
#define TESTS_SUPPORT_KV_FIXTURE_H

#include <criterion/criterion.h>
#include <stdio.h>
#include <unistd.h>

#include "common/io/kv/kv.h"
#include "tests/support/test_folder.h"

struct place {
    char folder[256];
    struct kv *kv;
};

__attribute__((unused)) static struct place open_place(bool in_memory)
{
    struct place place = {.kv = NULL};
    struct kv_options options = {.map_size_bytes = UINT64_C(1) << 26};
    struct error error = {0};
    if (in_memory) {
        cr_assert_eq(kv_create_in_memory(&place.kv), STATUS_OK);
    } else {
        test_folder_make(place.folder, sizeof place.folder, "kv");
        cr_assert_eq(kv_open(place.folder, &options, &place.kv, &error), STATUS_OK);
    }
    return place;
}

__attribute__((unused)) static void close_place(struct place *place)
{
    char path[300];
    kv_close(place->kv);
    if (place->folder[0] == '\0') {
        return;
    }
    snprintf(path, sizeof path, "%s/data.mdb", place->folder);
    unlink(path);
    snprintf(path, sizeof path, "%s/lock.mdb", place->folder);
    unlink(path);
    rmdir(place->folder);
}

__attribute__((unused)) static struct kv_write *begin(struct kv *kv)
{
    struct kv_write *write = NULL;
    cr_assert_eq(kv_write_begin(kv, &write), STATUS_OK);
    return write;
}

__attribute__((unused)) static void put(struct kv_write *write, const char *key, const char *value)
{
    cr_assert_eq(kv_write_put(write, bytes_of_text(key), bytes_of_text(value)), STATUS_OK);
}

__attribute__((unused)) static bool is_there(struct kv *kv, const char *key, const char *value)
{
    struct kv_read *read = NULL;
    struct bytes got;
    bool found = false;
    cr_assert_eq(kv_read_begin(kv, &read), STATUS_OK);
    cr_assert_eq(kv_read_get(read, bytes_of_text(key), &got, &found), STATUS_OK);
    bool same = found && bytes_equal(got, bytes_of_text(value));
    kv_read_end(read);
    return same;
}

#endif /* TESTS_SUPPORT_KV_FIXTURE_H */
