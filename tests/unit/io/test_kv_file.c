/* The files of a key-value store on LMDB: full, reopened, cut short; what is dirty and what is reusable. */
#include "tests/support/kv_fixture.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/base/memory.h"
#include "common/io/file_fault.h"

Test(kv, a_full_map_is_no_space_and_nothing_is_lost)
{
    struct place place = {.kv = NULL};
    struct kv_options options = {.map_size_bytes = UINT64_C(1) << 20};
    struct error error = {0};
    static uint8_t value[60000];
    test_folder_make(place.folder, sizeof place.folder, "kv");
    cr_assert_eq(kv_open(place.folder, &options, &place.kv, &error), STATUS_OK);
    struct kv_write *write = begin(place.kv);
    put(write, "kept", "here");
    cr_assert_eq(kv_write_commit(write), STATUS_OK);

    write = begin(place.kv);
    enum status status = STATUS_OK;
    for (uint8_t i = 1; i < 100 && status == STATUS_OK; i++) {
        status = kv_write_put(write, bytes_of(&i, 1), bytes_of(value, sizeof value));
    }
    cr_assert_eq(status, STATUS_NO_SPACE);
    kv_write_abort(write);
    cr_assert(is_there(place.kv, "kept", "here"));
    write = begin(place.kv);
    put(write, "more", "fits");
    cr_assert_eq(kv_write_commit(write), STATUS_OK);
    cr_assert(is_there(place.kv, "more", "fits"));
    close_place(&place);
}

/* What LMDB writes through memory has its place on the disk from the start: on a full one a page without is SIGBUS. */
Test(kv, the_table_of_readers_has_its_place_on_the_disk)
{
    struct place place = open_place(false);
    struct stat there;
    char path[300];
    snprintf(path, sizeof path, "%s/lock.mdb", place.folder);
    cr_assert_eq(stat(path, &there), 0);
    cr_assert_gt(there.st_size, 1 << 16);
    cr_assert_geq(there.st_blocks * 512, there.st_size);
    close_place(&place);
}

Test(kv, a_first_opening_without_room_for_the_table_of_readers_says_so)
{
    struct place place = {.kv = NULL};
    struct error error = {0};
    test_folder_make(place.folder, sizeof place.folder, "kv");
    file_fault_arm(&(struct file_fault){
        .operation = FILE_OPERATION_ALLOCATE, .error_number = ENOSPC, .for_ever = true});
    cr_assert_eq(kv_open(place.folder, NULL, &place.kv, &error), STATUS_NO_SPACE);
    file_fault_disarm();
    cr_assert_not_null(strstr(error.text, "lock.mdb: No space left on device"), "%s", error.text);
    cr_assert_eq(kv_open(place.folder, NULL, &place.kv, &error), STATUS_OK);
    close_place(&place);
}

/* Nothing that a reader writes to lies beside the data then, and nothing is left where it lay. */
Test(kv, readers_apart_need_no_file_beside_the_data)
{
    struct place place = {.kv = NULL};
    struct kv_options options = {.map_size_bytes = UINT64_C(1) << 26, .readers_apart = true};
    struct error error = {0};
    struct kv_read *read = NULL;
    struct stat there;
    char path[400];
    test_folder_make(place.folder, sizeof place.folder, "kv");
    for (int i = 0; i < 2; i++) { /* made, then opened */
        cr_assert_eq(kv_open(place.folder, &options, &place.kv, &error), STATUS_OK, "%s",
                     error.text);
        snprintf(path, sizeof path, "%s/lock.mdb", place.folder);
        cr_assert_eq(stat(path, &there), -1);
        snprintf(path, sizeof path, "%s/data.mdb", place.folder);
        cr_assert_eq(lstat(path, &there), 0);
        cr_assert(S_ISREG(there.st_mode));
        cr_assert_eq(kv_read_begin(place.kv, &read), STATUS_OK);
        for (char key = 'a'; key < 'z'; key++) { /* pages that the reader sees are not taken */
            struct kv_write *write = begin(place.kv);
            put(write, (char[]){key, '\0'}, "1");
            cr_assert_eq(kv_write_commit(write), STATUS_OK);
        }
        struct bytes value;
        bool found = true;
        cr_assert_eq(kv_read_get(read, bytes_of_text("y"), &value, &found), STATUS_OK);
        cr_assert_eq(found, i == 1);
        kv_read_end(read);
        cr_assert(is_there(place.kv, "y", "1"));
        kv_close(place.kv);
    }
    snprintf(path, sizeof path, "readlink /dev/shm/edubba-*/data | grep -q '^%s/'", place.folder);
    cr_assert_eq(WEXITSTATUS(system(path)), 1, "something is left in /dev/shm");
    cr_assert_eq(kv_open(place.folder, &options, &place.kv, &error), STATUS_OK);
    close_place(&place);
}

Test(kv, reopened_files_hold_what_was_committed)
{
    struct place place = open_place(false);
    struct kv_options options = {.map_size_bytes = UINT64_C(1) << 26};
    struct error error = {0};
    struct kv_write *write = begin(place.kv);
    put(write, "a", "1");
    cr_assert_eq(kv_write_commit(write), STATUS_OK);
    kv_close(place.kv);
    cr_assert_eq(kv_open(place.folder, &options, &place.kv, &error), STATUS_OK);
    cr_assert(is_there(place.kv, "a", "1"));
    struct kv_statistics statistics;
    kv_statistics(place.kv, &statistics);
    cr_assert_eq(statistics.map_size_bytes, UINT64_C(1) << 26);
    cr_assert_geq(statistics.file_bytes, statistics.used_bytes);
    close_place(&place);
}

static uint64_t reusable_bytes(struct kv *kv)
{
    struct kv_statistics statistics;
    kv_statistics(kv, &statistics);
    cr_assert_leq(statistics.reusable_bytes, statistics.file_bytes - statistics.used_bytes);
    return statistics.reusable_bytes;
}

static void commit_a_little(struct kv *kv)
{
    struct kv_write *write = begin(kv);
    put(write, "little", "1");
    cr_assert_eq(kv_write_commit(write), STATUS_OK);
}

/* Freed pages may be taken by the second transaction after, and by none while a reader is older. */
Test(kv, pages_are_reusable_when_no_reader_sees_them)
{
    static uint8_t value[1 << 20];
    struct place place = open_place(false);
    struct kv_write *write = begin(place.kv);
    cr_assert_eq(kv_write_put(write, bytes_of_text("big"), bytes_of(value, sizeof value)),
                 STATUS_OK);
    cr_assert_eq(kv_write_commit(write), STATUS_OK);
    struct kv_read *read = NULL;
    cr_assert_eq(kv_read_begin(place.kv, &read), STATUS_OK);
    bool found = false;
    write = begin(place.kv);
    cr_assert_eq(kv_write_delete(write, bytes_of_text("big"), &found), STATUS_OK);
    cr_assert_eq(kv_write_commit(write), STATUS_OK);
    for (int i = 0; i < 3; i++) {
        commit_a_little(place.kv);
        cr_assert_lt(reusable_bytes(place.kv), sizeof value);
    }
    kv_read_end(read);
    cr_assert_geq(reusable_bytes(place.kv), sizeof value);

    write = begin(place.kv);
    cr_assert_eq(kv_write_put(write, bytes_of_text("big"), bytes_of(value, sizeof value)),
                 STATUS_OK);
    cr_assert_eq(kv_write_commit(write), STATUS_OK);
    cr_assert_lt(reusable_bytes(place.kv), sizeof value, "they were taken");
    write = begin(place.kv);
    cr_assert_eq(kv_write_delete(write, bytes_of_text("big"), &found), STATUS_OK);
    cr_assert_eq(kv_write_commit(write), STATUS_OK);
    cr_assert_lt(reusable_bytes(place.kv), sizeof value, "not by the very next transaction");
    commit_a_little(place.kv);
    cr_assert_geq(reusable_bytes(place.kv), sizeof value);
    close_place(&place);
}

/* Not a SIGBUS at some later read. */
Test(kv, a_file_cut_short_is_refused_by_name)
{
    struct place place = open_place(false);
    struct kv_options options = {.map_size_bytes = UINT64_C(1) << 26};
    struct error error = {0};
    struct stat before;
    struct stat after;
    char path[300];
    static uint8_t value[1000];
    struct kv_write *write = begin(place.kv);
    for (uint8_t i = 1; i < 100; i++) {
        cr_assert_eq(kv_write_put(write, bytes_of(&i, 1), bytes_of(value, sizeof value)),
                     STATUS_OK);
    }
    cr_assert_eq(kv_write_commit(write), STATUS_OK);
    kv_close(place.kv);
    snprintf(path, sizeof path, "%s/data.mdb", place.folder);
    cr_assert_eq(stat(path, &before), 0);
    for (off_t size = before.st_size - 4096; size > 8192; size -= 4096) {
        cr_assert_eq(truncate(path, size), 0);
        cr_assert_eq(kv_open(place.folder, &options, &place.kv, &error), STATUS_CORRUPT);
        cr_assert_not_null(strstr(error.text, path));
        cr_assert_eq(stat(path, &after), 0);
        cr_assert_eq(after.st_size, size);
    }
    place.kv = NULL;
    close_place(&place);
}

Test(kv, a_missing_folder_is_named)
{
    struct kv *kv = NULL;
    struct error error = {0};
    cr_assert_eq(kv_open("/nowhere/at/all", NULL, &kv, &error), STATUS_IO);
    cr_assert_not_null(strstr(error.text, "/nowhere/at/all/data.mdb"));
    cr_assert_null(kv);
}

static void expect_refused(const char *folder, const char *path, const char *kind)
{
    for (int looks = 0; looks < 2; looks++) {
        struct kv_options options = {.map_size_bytes = UINT64_C(1) << 26, .looks_first = looks};
        struct error error = {0};
        struct kv *kv = NULL;
        cr_assert_eq(kv_open(folder, &options, &kv, &error), STATUS_FAILED_PRECONDITION, "%s",
                     error.text);
        cr_assert_null(kv);
        cr_assert_not_null(strstr(error.text, path), "%s", error.text);
        cr_assert_not_null(strstr(error.text, kind), "%s", error.text);
    }
    cr_assert_eq(remove(path), 0);
}

/* A pipe would be waited for, and a device could be anything. */
Test(kv, what_is_no_file_is_refused_by_name, .timeout = 60)
{
    static const char *const names[] = {"data.mdb", "lock.mdb"};
    struct place place = {.kv = NULL};
    char path[300];
    test_folder_make(place.folder, sizeof place.folder, "kv");
    for (size_t i = 0; i < 2; i++) {
        snprintf(path, sizeof path, "%s/%s", place.folder, names[i]);
        cr_assert_eq(mkfifo(path, 0600), 0);
        expect_refused(place.folder, path, "a pipe");
        cr_assert_eq(mkdir(path, 0700), 0);
        expect_refused(place.folder, path, "a folder");
        cr_assert_eq(symlink("/dev/null", path), 0);
        expect_refused(place.folder, path, "a device");
    }
    close_place(&place);
}

Test(kv, dirty_bytes_grow_with_what_is_touched)
{
    struct place place = open_place(false);
    struct kv_write *write = begin(place.kv);
    static uint8_t value[1000];
    for (uint32_t i = 0; i < 2000; i++) {
        uint8_t key[4] = {(uint8_t)(i >> 8), (uint8_t)i, 1, 1};
        cr_assert_eq(kv_write_put(write, bytes_of(key, 4), bytes_of(value, sizeof value)),
                     STATUS_OK);
    }
    uint64_t in_order = kv_write_dirty_bytes(write);
    cr_assert_geq(in_order, 2000 * 1000);
    cr_assert_lt(in_order, 2 * 2000 * 1400);
    cr_assert_eq(kv_write_commit(write), STATUS_OK);

    write = begin(place.kv);
    for (uint32_t i = 0; i < 2000; i += 20) { /* one change in every fifth leaf or so */
        uint8_t key[4] = {(uint8_t)(i >> 8), (uint8_t)i, 1, 1};
        cr_assert_eq(kv_write_put(write, bytes_of(key, 4), bytes_of(value, sizeof value)),
                     STATUS_OK);
    }
    uint64_t scattered = kv_write_dirty_bytes(write);
    cr_assert_geq(scattered, 100 * 4096 * 6 / 10, "%lu", (unsigned long)scattered);
    cr_assert_leq(scattered, 100 * 4096);
    kv_write_abort(write);
    close_place(&place);
}

Test(kv, memory_that_runs_out_leaves_the_snapshot_whole)
{
    struct place place = open_place(true);
    struct kv_write *write = begin(place.kv);
    put(write, "a", "1");
    cr_assert_eq(kv_write_commit(write), STATUS_OK);
    bool failed = true;
    for (uint64_t after = 0; failed; after++) {
        memory_fail_arm(after, 1);
        write = NULL;
        enum status status = kv_write_begin(place.kv, &write);
        for (char key[] = "k0"; status == STATUS_OK && key[1] < '9'; key[1]++) {
            status = kv_write_put(write, bytes_of_text(key), bytes_of_text("v"));
        }
        memory_fail_disarm();
        failed = status != STATUS_OK;
        cr_assert(!failed || status == STATUS_NO_MEMORY);
        if (write != NULL) {
            kv_write_abort(write);
        }
        cr_assert(is_there(place.kv, "a", "1"));
    }
    close_place(&place);
}
