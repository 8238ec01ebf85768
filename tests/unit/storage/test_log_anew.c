/* A log without its anchor, or without its segments: missed, repaired when told so, and begun anew behind where it was. */
#include "tests/support/log_fixture.h"

TestSuite(log, .init = begin, .fini = finish, .timeout = 300);

/* A log of two segments and more; gives up to where it was synced. */
static uint64_t make_log(void)
{
    must_open();
    for (uint64_t i = 0; i < 100; i++) {
        put(i, 2000);
    }
    shut();
    return owner.synced;
}

static void anchor_path(char ret_path[FILE_PATH_SIZE_MAX])
{
    cr_assert_eq(file_path_join(ret_path, folder, LOG_ANCHOR_NAME, NULL), STATUS_OK);
}

static bool has_anchor(void)
{
    char path[FILE_PATH_SIZE_MAX];
    anchor_path(path);
    return access(path, F_OK) == 0;
}

static void remove_anchor(void)
{
    char path[FILE_PATH_SIZE_MAX];
    anchor_path(path);
    cr_assert_eq(unlink(path), 0);
}

static void remove_all(void)
{
    char command[FILE_PATH_SIZE_MAX + 16];
    (void)snprintf(command, sizeof command, "rm '%s'/*", folder);
    cr_assert_eq(system(command), 0);
}

/* It is empty, goes on behind `end`, and what is written to it stays. */
static void expect_begun_anew(uint64_t end)
{
    options.synced_position_hint = end;
    must_open();
    cr_assert_eq(owner.replayed, 0);
    cr_assert_geq(statistics().next_position, end);
    for (uint64_t i = 0; i < 60; i++) {
        put(i, 2000);
    }
    shut();
    must_open();
    cr_assert_eq(owner.replayed, 60);
    shut();
}

Test(log, a_log_that_is_expected_is_not_made)
{
    options.expected = true;
    cr_assert_eq(reopen(), STATUS_CORRUPT);
    cr_assert_not_null(strstr(error.text, "mounted"), "%s", error.text);
    cr_assert_not_null(strstr(error.text, "edubba-repair-log"), "%s", error.text);
    cr_assert_not(has_anchor());
    options.expected = false;
    must_open();
    shut();
    options.expected = true;
    must_open();
}

Test(log, repair_without_an_anchor_puts_everything_aside)
{
    uint64_t end = make_log();
    size_t segments = count_files(LOG_SEGMENT_PREFIX);
    remove_anchor();
    options.synced_position_hint = end;
    cr_assert_eq(reopen(), STATUS_CORRUPT);
    struct log_repair result;
    cr_assert_eq(repair_with(end, NULL, &result), STATUS_NOT_FOUND, "nobody says that it is lost");
    struct log_repair_options what = {
        .folder = folder, .store_number = 0, .synced_position_hint = end, .begins_anew = true};
    cr_assert_eq(log_repair(&what, &result, &error), STATUS_FAILED_PRECONDITION, "nor whose it is");
    what.store_number = STORE;
    cr_assert_eq(log_repair(&what, &result, &error), STATUS_OK, "%s", error.text);
    cr_assert(result.cut);
    cr_assert_eq(result.records, 0);
    cr_assert_eq(result.lost_segments, segments);
    cr_assert_eq(count_files(LOG_LOST_PREFIX), segments);
    cr_assert_not_null(strstr(result.reason, "anchor"), "%s", result.reason);
    expect_begun_anew(end);
    cr_assert_eq(count_files(LOG_LOST_PREFIX), segments);
}

Test(log, repair_of_an_anchor_that_cannot_be_read)
{
    static const uint8_t zeros[2 * LOG_BLOCK_BYTES];
    static const size_t sizes[] = {sizeof zeros, LOG_BLOCK_BYTES, 0};
    char path[FILE_PATH_SIZE_MAX];
    anchor_path(path);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        options.synced_position_hint = 0;
        uint64_t end = make_log();
        struct file file;
        cr_assert_eq(file_open(path, &file, NULL), STATUS_OK);
        cr_assert_eq(file_write_at(&file, 0, zeros, sizeof zeros, NULL), STATUS_OK);
        file_close(&file);
        cr_assert_eq(truncate(path, (off_t)sizes[i]), 0);
        options.synced_position_hint = end;
        cr_assert_eq(reopen(), STATUS_CORRUPT);
        cr_assert_not_null(strstr(error.text, path), "%s", error.text);
        cr_assert_not_null(strstr(error.text, "edubba-repair-log --synced"), "%s", error.text);
        const struct log_repair_options what = {
            .folder = folder, .store_number = STORE, .synced_position_hint = end};
        struct log_repair result;
        cr_assert_eq(log_repair(&what, &result, &error), STATUS_OK, "%s", error.text);
        cr_assert(result.cut);
        expect_begun_anew(end);
        remove_all();
    }
}

Test(log, repair_begins_a_log_anew_only_when_told)
{
    uint64_t end = make_log();
    remove_all();
    struct log_repair result;
    struct log_repair_options what = {
        .folder = folder, .store_number = STORE, .synced_position_hint = end};
    cr_assert_eq(log_repair(&what, &result, &error), STATUS_NOT_FOUND);
    cr_assert_not(has_anchor());
    what.begins_anew = true;
    cr_assert_eq(log_repair(&what, &result, &error), STATUS_OK, "%s", error.text);
    cr_assert_eq(result.lost_segments, 0);
    expect_begun_anew(end);
}

/* The base may know of more than the person has said. */
Test(log, a_log_begun_anew_below_the_hint_opens_all_the_same)
{
    uint64_t end = make_log();
    remove_all();
    struct log_repair result;
    const struct log_repair_options what = {
        .folder = folder, .store_number = STORE, .begins_anew = true};
    cr_assert_eq(log_repair(&what, &result, &error), STATUS_OK, "%s", error.text);
    options.synced_position_hint = end;
    options.expected = true;
    must_open();
    cr_assert_eq(owner.replayed, 0);
    put(0, 2000);
    shut();
    must_open();
    cr_assert_eq(owner.replayed, 1);
}

/* In its first life nothing but the segments says that there is anything. */
Test(log, a_log_that_is_expected_misses_its_segments)
{
    struct log_repair result;
    must_open();
    put(0, 40);
    wait_ready();
    shut();
    for (uint64_t number = 1; number <= 2; number++) {
        struct file file = open_segment(number);
        cr_assert_eq(unlink(file.path), 0);
        file_close(&file);
    }
    options.expected = true;
    cr_assert_eq(reopen(), STATUS_CORRUPT);
    cr_assert_not_null(strstr(error.text, "segment-0000000000000001.log is missing"), "%s",
                       error.text);
    cr_assert_eq(repair_with(0, NULL, &result), STATUS_OK, "%s", error.text);
    cr_assert(result.cut);
    cr_assert_not_null(strstr(result.reason, "is missing"), "%s", result.reason);
    for (int i = 0; i < 2; i++) {
        must_open();
        cr_assert_eq(owner.replayed, (uint64_t)i);
        if (i == 0) {
            put(0, 40);
        }
        shut();
    }
}

Test(log, a_folder_that_is_a_link_to_nothing_is_named)
{
    char link[FILE_PATH_SIZE_MAX];
    (void)snprintf(link, sizeof link, "%.200s/link", folder);
    cr_assert_eq(symlink("/nowhere/at/all", link), 0);
    options.folder = link;
    cr_assert_eq(reopen(), STATUS_FAILED_PRECONDITION, "%s", error.text);
    cr_assert_not_null(strstr(error.text, "mounted"), "%s", error.text);
}

Test(log, repair_refuses_what_cannot_be)
{
    struct log_repair result;
    (void)make_log();
    struct log_repair_options what = {.folder = folder, .store_number = STORE + 1};
    cr_assert_eq(log_repair(&what, &result, &error), STATUS_FAILED_PRECONDITION);
    cr_assert_not_null(strstr(error.text, "belongs to store"), "%s", error.text);
    remove_anchor();
    what = (struct log_repair_options){.folder = folder,
                                       .store_number = STORE,
                                       .synced_position_hint = UINT64_MAX,
                                       .begins_anew = true};
    cr_assert_eq(log_repair(&what, &result, &error), STATUS_INVALID_ARGUMENT);
    cr_assert_gt(count_files(LOG_SEGMENT_PREFIX), 1);
    cr_assert_eq(count_files(LOG_LOST_PREFIX), 0);
}

/* Until it is done the log is refused: half of it put aside must not look like a new one. */
Test(log, a_repair_without_an_anchor_that_dies_half_way_is_gone_on_with)
{
    struct log_repair result;
    uint64_t refused = 0;
    uint64_t end = make_log();
    size_t segments = count_files(LOG_SEGMENT_PREFIX);
    remove_anchor();
    const struct log_repair_options what = {
        .folder = folder, .store_number = STORE, .synced_position_hint = end, .begins_anew = true};
    struct file_fault fault = {
        .operation = FILE_OPERATION_SYNC, .error_number = EIO, .for_ever = true};
    for (;; fault.after++) {
        file_fault_arm(&fault);
        enum status status = log_repair(&what, &result, &error);
        file_fault_disarm();
        if (status == STATUS_OK) {
            break;
        }
        options.synced_position_hint = 0; /* nothing but what is in the folder */
        if (reopen() == STATUS_CORRUPT) {
            refused++;
        } else {
            shut();
        }
    }
    cr_assert_gt(refused, 0); /* how often hangs on how many segments the keeper has made */
    cr_assert_eq(count_files(LOG_LOST_PREFIX), segments);
    expect_begun_anew(end);
}
