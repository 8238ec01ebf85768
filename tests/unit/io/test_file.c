#include <criterion/criterion.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/memory.h"
#include "common/io/file.h"
#include "common/io/kv/kv.h"
#include "tests/support/test_folder.h"

static char folder[FILE_PATH_SIZE_MAX];
static char path[FILE_PATH_SIZE_MAX];
static struct file file;
static struct error error;

static void begin(void)
{
    test_folder_make(folder, sizeof folder, "file");
    cr_assert_eq(file_path_join(path, folder, "a", NULL), STATUS_OK);
    file = FILE_CLOSED;
}

static void finish(void)
{
    char command[FILE_PATH_SIZE_MAX + 16];
    file_fault_disarm();
    file_close(&file);
    snprintf(command, sizeof command, "rm -r '%s'", folder);
    cr_assert_eq(system(command), 0);
}

TestSuite(file, .init = begin, .fini = finish);

Test(file, what_is_written_is_read)
{
    char back[5] = {0};
    uint64_t size = 0;
    cr_assert_eq(file_create(path, &file, NULL), STATUS_OK);
    cr_assert_eq(file_write_at(&file, 10, "hello", 5, NULL), STATUS_OK);
    cr_assert_eq(file_sync(&file, NULL), STATUS_OK);
    cr_assert_eq(file_sync_folder(folder, NULL), STATUS_OK);
    cr_assert_eq(file_read_at(&file, 10, back, 5, NULL), STATUS_OK);
    cr_assert_arr_eq(back, "hello", 5);
    cr_assert_eq(file_size(&file, &size, NULL), STATUS_OK);
    cr_assert_eq(size, 15);
    cr_assert_eq(file_read_at(&file, 11, back, 5, &error), STATUS_OUT_OF_RANGE);
    cr_assert_not_null(strstr(error.text, path));
}

Test(file, errors_name_the_path_and_the_reason)
{
    cr_assert_eq(file_open(path, &file, &error), STATUS_NOT_FOUND);
    cr_assert_not_null(strstr(error.text, path));
    cr_assert_not_null(strstr(error.text, "No such file"), "%s", error.text);
    cr_assert_eq(file.descriptor, -1);
    cr_assert_eq(file_create(path, &file, NULL), STATUS_OK);
    struct file second;
    cr_assert_eq(file_create(path, &second, &error), STATUS_ALREADY_EXISTS);
    cr_assert_eq(file_unlink(path, NULL), STATUS_OK);
    cr_assert_eq(file_unlink(path, &error), STATUS_NOT_FOUND);
}

Test(file, paths_that_are_too_long_are_refused)
{
    static char longest[FILE_PATH_SIZE_MAX + 1];
    memset(longest, 'x', FILE_PATH_SIZE_MAX);
    cr_assert_eq(file_path_join(path, folder, longest, &error), STATUS_LIMIT);
    cr_assert_eq(file_open(longest, &file, &error), STATUS_LIMIT);
    cr_assert_eq(file_write_atomic(longest, "", 0, &error), STATUS_LIMIT);
    cr_assert_eq(file_make_folders(longest, &error), STATUS_LIMIT);
}

/* Whether it is opened, listed, or LMDB that is to open it. */
Test(file, what_posix_says_is_the_same_status_wherever_it_is_met)
{
    char long_name[NAME_MAX + 2];
    struct kv *kv = NULL;
    struct arena arena;
    char **names = NULL;
    size_t count = 0;
    memset(long_name, 'x', sizeof long_name - 1);
    long_name[sizeof long_name - 1] = '\0';
    arena_init(&arena, 32, SIZE_MAX);
    cr_assert_eq(file_path_join(path, folder, long_name, NULL), STATUS_OK);
    cr_assert_eq(file_open(path, &file, &error), STATUS_LIMIT);
    cr_assert_eq(file_list_folder(path, &arena, &names, &count, &error), STATUS_LIMIT);
    arena_deinit(&arena);
    cr_assert_eq(file_path_join(path, folder, "nowhere", NULL), STATUS_OK);
    cr_assert_eq(file_open(path, &file, &error), STATUS_NOT_FOUND);
    const struct kv_options options = {.map_size_bytes = 1 << 20};
    cr_assert_eq(kv_open(path, &options, &kv, &error), STATUS_NOT_FOUND);
    cr_assert_not_null(strstr(error.text, "nowhere/lock.mdb: No such file"), "%s", error.text);
}

Test(file, preallocated_space_is_zero_and_really_there)
{
    const uint64_t size = 9 * 1024 * 1024 + 4096;
    static uint8_t back[9 * 1024 * 1024 + 4096];
    struct stat stat;
    cr_assert_eq(file_create(path, &file, NULL), STATUS_OK);
    cr_assert_eq(file_preallocate(&file, size, NULL), STATUS_OK);
    cr_assert_eq(fstat(file.descriptor, &stat), 0);
    cr_assert_eq((uint64_t)stat.st_size, size);
    cr_assert_geq((uint64_t)stat.st_blocks * 512, size);
    memset(back, 1, sizeof back);
    cr_assert_eq(file_read_at(&file, 0, back, sizeof back, NULL), STATUS_OK);
    for (size_t i = 0; i < sizeof back; i++) {
        cr_assert_eq(back[i], 0);
    }
}

Test(file, rename_moves_an_open_file_and_its_path)
{
    char to[FILE_PATH_SIZE_MAX];
    cr_assert_eq(file_path_join(to, folder, "b", NULL), STATUS_OK);
    cr_assert_eq(file_create(path, &file, NULL), STATUS_OK);
    cr_assert_eq(file_rename(&file, to, NULL), STATUS_OK);
    cr_assert_str_eq(file.path, to);
    cr_assert_eq(access(to, F_OK), 0);
    cr_assert_neq(access(path, F_OK), 0);
}

Test(file, atomic_writes_replace_and_a_failed_one_leaves_the_old)
{
    struct buffer back = BUFFER_INIT;
    cr_assert_eq(file_write_atomic(path, "one", 3, NULL), STATUS_OK);
    cr_assert_eq(file_write_atomic(path, "second", 6, NULL), STATUS_OK);
    for (int operation = FILE_OPERATION_WRITE; operation <= FILE_OPERATION_SYNC; operation++) {
        file_fault_arm(&(struct file_fault){.operation = (enum file_operation)operation,
                                            .error_number = ENOSPC,
                                            .short_write = true});
        cr_assert_eq(file_write_atomic(path, "third", 5, &error), STATUS_NO_SPACE);
        cr_assert_not_null(strstr(error.text, path));
    }
    cr_assert_eq(file_read_whole(path, 6, &back, NULL), STATUS_OK);
    cr_assert(bytes_equal(buffer_bytes(&back), bytes_of_text("second")));
    cr_assert_eq(file_read_whole(path, 5, &back, &error), STATUS_LIMIT);
    cr_assert_eq(back.size_bytes, 6);
    buffer_deinit(&back);
}

Test(file, lists_are_sorted_and_survive_failed_allocations)
{
    const char *names[] = {"b", "a", "c0", "B"};
    for (size_t i = 0; i < 4; i++) {
        cr_assert_eq(file_path_join(path, folder, names[i], NULL), STATUS_OK);
        cr_assert_eq(file_write_atomic(path, "", 0, NULL), STATUS_OK);
    }
    for (uint64_t n = 0;; n++) {
        struct arena arena;
        char **list = NULL;
        size_t count = 0;
        arena_init(&arena, 32, SIZE_MAX);
        memory_fail_arm(n, 1);
        enum status status = file_list_folder(folder, &arena, &list, &count, &error);
        memory_fail_disarm();
        if (status == STATUS_OK) {
            cr_assert_gt(n, 0);
            cr_assert_eq(count, 4);
            cr_assert_str_eq(list[0], "B");
            cr_assert_str_eq(list[1], "a");
            cr_assert_str_eq(list[2], "b");
            cr_assert_str_eq(list[3], "c0");
            arena_deinit(&arena);
            break;
        }
        cr_assert_eq(status, STATUS_NO_MEMORY);
        arena_deinit(&arena);
    }
    struct arena arena;
    char **list = NULL;
    size_t count = 0;
    arena_init(&arena, 32, SIZE_MAX);
    cr_assert_eq(file_list_folder("/nowhere", &arena, &list, &count, &error), STATUS_NOT_FOUND);
    arena_deinit(&arena);
}

Test(file, folders_are_made_all_the_way)
{
    char deep[FILE_PATH_SIZE_MAX];
    struct stat stat_of;
    cr_assert_eq(file_path_join(deep, folder, "x/y//z", NULL), STATUS_OK);
    cr_assert_eq(file_make_folders(deep, NULL), STATUS_OK);
    cr_assert_eq(file_make_folders(deep, NULL), STATUS_OK);
    cr_assert_eq(stat(deep, &stat_of), 0);
    cr_assert(S_ISDIR(stat_of.st_mode));
}

/* One that is there may be of a process that was killed before it had synced its name. */
Test(file, a_folder_is_not_there_before_its_name_is_synced)
{
    const struct file_fault fault = {.operation = FILE_OPERATION_SYNC, .error_number = EIO};
    cr_assert_eq(file_path_join(path, folder, "made", NULL), STATUS_OK);
    for (int i = 0; i < 2; i++) {
        file_fault_arm(&fault);
        cr_assert_eq(file_make_folders(path, &error), STATUS_IO);
    }
    cr_assert_not_null(strstr(error.text, folder));
    cr_assert_eq(file_make_folders(path, NULL), STATUS_OK);
}

Test(file, a_lock_is_held_by_one)
{
    struct file second;
    cr_assert_eq(file_create(path, &file, NULL), STATUS_OK);
    cr_assert_eq(file_open(path, &second, NULL), STATUS_OK);
    cr_assert_eq(file_lock(&file, NULL), STATUS_OK);
    cr_assert_eq(file_lock(&second, &error), STATUS_FAILED_PRECONDITION);
    cr_assert_not_null(strstr(error.text, path));
    file_close(&file);
    cr_assert_eq(file_lock(&second, NULL), STATUS_OK);
    file_close(&second);
}

Test(file, nobody_waits_for_the_other_end_of_a_pipe_in_its_place, .timeout = 60)
{
    struct buffer text = BUFFER_INIT;
    cr_assert_eq(mkfifo(path, 0600), 0);
    cr_assert_eq(file_read_whole(path, 100, &text, &error), STATUS_OK, "%s", error.text);
    cr_assert_eq(text.size_bytes, 0);
    buffer_deinit(&text);
}

Test(file, faults_come_when_they_are_due)
{
    char back[8] = {0};
    cr_assert_eq(file_create(path, &file, NULL), STATUS_OK);
    file_fault_arm(&(struct file_fault){
        .operation = FILE_OPERATION_WRITE, .after = 1, .error_number = EIO, .short_write = true});
    cr_assert_eq(file_write_at(&file, 0, "........", 8, NULL), STATUS_OK);
    cr_assert_eq(file_write_at(&file, 0, "abcdefgh", 8, &error), STATUS_IO);
    cr_assert_eq(file_read_at(&file, 0, back, 8, NULL), STATUS_OK);
    cr_assert_arr_eq(back, "abcd....", 8);
    cr_assert_eq(file_write_at(&file, 0, "12345678", 8, NULL), STATUS_OK);
    file_fault_arm(&(struct file_fault){
        .operation = FILE_OPERATION_ALLOCATE, .error_number = ENOSPC, .for_ever = true});
    for (int i = 0; i < 3; i++) {
        cr_assert_eq(file_preallocate(&file, 4096, &error), STATUS_NO_SPACE);
    }
    file_fault_disarm();
    cr_assert_eq(file_preallocate(&file, 4096, NULL), STATUS_OK);
}
