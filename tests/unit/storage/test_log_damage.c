/* What is damaged is refused by file and offset, and repaired only when asked. */
#include "tests/support/log_fixture.h"

TestSuite(log, .init = begin, .fini = finish, .timeout = 300);

/* ---- damage ---- */

Test(log, a_flipped_bit_below_a_later_batch_is_corruption_by_name)
{
    must_open();
    put(0, 40);
    uint64_t bad = put(1, 40);
    uint64_t next = put(2, 40);
    shut();
    for (uint64_t at = bad; at < next; at++) {
        flip(at);
        expect_refused(bad);
        flip(at);
    }
    must_open();
    cr_assert_eq(owner.replayed, 3);
}

Test(log, damage_far_before_the_end_in_another_segment)
{
    uint64_t positions[200];
    must_open();
    for (uint64_t i = 0; i < 200; i++) {
        positions[i] = put(i, 2000);
    }
    shut();
    for (size_t i = 5; i < 200; i += 37) {
        flip(positions[i] + 100);
        expect_refused(positions[i]);
        flip(positions[i] + 100);
    }
}

Test(log, the_hint_turns_a_lost_tail_into_corruption)
{
    must_open();
    put(0, 40);
    uint64_t last = put(1, 40);
    uint64_t end = statistics().synced_position;
    put_unsynced(2, 40);
    uint8_t zeros[512] = {0};
    poke(last, zeros, sizeof zeros);
    options.synced_position_hint = end;
    expect_refused(last);
    options.synced_position_hint = last;
    must_open();
    cr_assert_eq(owner.replayed, 1);
}

Test(log, a_missing_segment_is_corruption)
{
    char path[FILE_PATH_SIZE_MAX];
    char moved[FILE_PATH_SIZE_MAX + 8];
    must_open();
    for (uint64_t i = 0; i < 200; i++) {
        put(i, 2000);
    }
    uint64_t last = segment_of(statistics().next_position);
    shut();
    cr_assert_gt(last, 4);
    for (uint64_t number = 1; number < last; number++) {
        cr_assert_eq(log_segment_path(path, folder, LOG_SEGMENT_PREFIX, number, NULL), STATUS_OK);
        snprintf(moved, sizeof moved, "%s.away", path);
        cr_assert_eq(rename(path, moved), 0);
        cr_assert_eq(reopen(), STATUS_CORRUPT);
        cr_assert_not_null(strstr(error.text, folder));
        cr_assert_not_null(strstr(error.text, "missing"), "%s", error.text);
        cr_assert_eq(rename(moved, path), 0);
    }
    cr_assert_eq(file_path_join(path, folder, LOG_ANCHOR_NAME, NULL), STATUS_OK);
    cr_assert_eq(unlink(path), 0);
    cr_assert_eq(reopen(), STATUS_CORRUPT);
    cr_assert_not_null(strstr(error.text, "anchor"));
}

Test(log, all_segments_missing_is_corruption)
{
    must_open();
    put(0, 2000);
    shut();
    must_open(); /* anchors the synced position */
    wait_ready();
    shut();
    struct file file = open_segment(1);
    cr_assert_eq(unlink(file.path), 0);
    file_close(&file);
    file = open_segment(2);
    cr_assert_eq(unlink(file.path), 0);
    file_close(&file);
    cr_assert_eq(reopen(), STATUS_CORRUPT);
}

Test(log, headers_are_checked)
{
    must_open();
    put(0, 40);
    shut();
    options.store_number++;
    cr_assert_eq(reopen(), STATUS_FAILED_PRECONDITION);
    cr_assert_not_null(strstr(error.text, "belongs to store"), "%s", error.text);
    options.store_number--;

    struct file file = open_segment(1);
    uint8_t block[LOG_BLOCK_BYTES];
    cr_assert_eq(file_read_at(&file, 0, block, sizeof block, NULL), STATUS_OK);
    block[20] ^= 1;
    cr_assert_eq(file_write_at(&file, 0, block, sizeof block, NULL), STATUS_OK);
    cr_assert_eq(reopen(), STATUS_CORRUPT);
    cr_assert_not_null(strstr(error.text, file.path), "%s", error.text);
    block[20] ^= 1;
    cr_assert_eq(file_write_at(&file, 0, block, sizeof block, NULL), STATUS_OK);
    cr_assert_eq(truncate(file.path, SEGMENT_BYTES - 4096), 0);
    cr_assert_eq(reopen(), STATUS_CORRUPT);
    cr_assert_not_null(strstr(error.text, file.path), "%s", error.text);
    file_close(&file);
}

Test(log, segment_sizes_are_checked)
{
    options.segment_bytes = 8192;
    cr_assert_eq(reopen(), STATUS_INVALID_ARGUMENT);
    options.segment_bytes = SEGMENT_BYTES + 1;
    cr_assert_eq(reopen(), STATUS_INVALID_ARGUMENT);
}

Test(log, a_record_larger_than_a_batch_may_be_is_refused)
{
    uint64_t position = 7;
    must_open();
    struct log_record record = {.payload = {(const uint8_t *)folder, LOG_BATCH_PAYLOAD_BYTES_MAX}};
    cr_assert_eq(log_append(store_log, &record, &position), STATUS_LIMIT);
    cr_assert_eq(position, 7);
}

Test(log, only_one_process_at_a_time)
{
    struct log *second = NULL;
    must_open();
    cr_assert_eq(log_open(&options, &second, &error), STATUS_FAILED_PRECONDITION);
}

Test(log, what_on_replay_refuses_ends_the_opening)
{
    must_open();
    put(0, 40);
    put(1, 40);
    shut();
    owner.refuse_at = 1;
    cr_assert_eq(reopen(), STATUS_ABORTED);
    cr_assert_str_eq(error.text, "refused");
    owner.refuse_at = UINT64_MAX;
    must_open();
    cr_assert_eq(owner.replayed, 2);
}

/* ---- repair ---- */

static enum status repair_with(uint64_t synced_position_hint,
                               const struct log_repair_judge *judge,
                               struct log_repair *ret_result)
{
    const struct log_repair_options what = {
        .folder = folder, .synced_position_hint = synced_position_hint, .judge = judge};
    return log_repair(&what, ret_result, &error);
}

static struct log_repair repair(void)
{
    struct log_repair result;
    cr_assert_eq(repair_with(0, NULL, &result), STATUS_OK, "%s", error.text);
    return result;
}

Test(log, repair_finds_nothing_wrong_with_a_good_log)
{
    must_open();
    put(0, 40);
    put(1, 40);
    cr_assert_eq(repair_with(0, NULL, &(struct log_repair){0}), STATUS_FAILED_PRECONDITION);
    shut();
    struct log_repair result = repair();
    cr_assert_not(result.cut);
    cr_assert_eq(result.records, 2);
    cr_assert_str_eq(result.reason, "");
    must_open();
    cr_assert_eq(owner.replayed, 2);
}

Test(log, repair_cuts_where_the_damage_begins_for_good)
{
    must_open();
    put(0, 40);
    uint64_t bad = put(1, 40);
    for (uint64_t i = 2; i < 100; i++) {
        put(i, 2000);
    }
    uint64_t end = statistics().synced_position;
    shut();
    flip(bad + 10);
    options.synced_position_hint = end;
    expect_refused(bad);
    cr_assert_not_null(strstr(error.text, "edubba-repair-log"));
    struct log_repair result = repair();
    cr_assert(result.cut);
    cr_assert_eq(result.records, 1);
    cr_assert_eq(result.position, bad);
    cr_assert_gt(result.proven_position, bad);
    cr_assert_not_null(strstr(result.reason, "segment-0000000000000001.log"), "%s", result.reason);
    /* The hint of before the cut is void; the log goes on, and nothing behind comes back. */
    must_open();
    cr_assert_eq(owner.replayed, 1);
    put(1, 40);
    shut();
    must_open();
    cr_assert_eq(owner.replayed, 2);
}

Test(log, repair_puts_aside_what_does_not_follow)
{
    uint64_t positions[100];
    uint64_t kept = 0;
    must_open();
    for (uint64_t i = 0; i < 100; i++) {
        positions[i] = put(i, 2000);
    }
    shut();
    struct file file = open_segment(2);
    cr_assert_eq(file_write_at(&file, 0, "rotten", 6, NULL), STATUS_OK);
    file_close(&file);
    cr_assert_eq(reopen(), STATUS_CORRUPT);
    size_t segments = count_files(LOG_SEGMENT_PREFIX);
    struct log_repair result = repair();
    cr_assert_eq(result.lost_segments, segments - 1);
    cr_assert_eq(count_files(LOG_LOST_PREFIX), segments - 1);
    cr_assert_not_null(strstr(result.reason, "segment-0000000000000002.log"), "%s", result.reason);
    while (segment_of(positions[kept + 1] - 1) == 1) {
        kept++;
    }
    cr_assert_eq(result.records, kept);
    must_open();
    cr_assert_eq(owner.replayed, kept);
    for (uint64_t i = kept; i < 60; i++) {
        put(i, 2000);
    }
    shut();
    must_open();
    cr_assert_eq(owner.replayed, 60);
}

/* Its end is gone, and nothing says so but the hint. */
Test(log, repair_with_the_hint_takes_a_lost_tail_for_damage)
{
    struct log_repair result;
    must_open();
    put(0, 40);
    uint64_t last = put(1, 40);
    uint64_t end = statistics().synced_position;
    shut();
    uint8_t zeros[512] = {0};
    poke(last, zeros, sizeof zeros);
    options.synced_position_hint = end;
    expect_refused(last);
    cr_assert_not(repair().cut, "nothing that it knows of speaks of more");
    expect_refused(last);
    cr_assert_eq(repair_with(end, NULL, &result), STATUS_OK, "%s", error.text);
    cr_assert(result.cut);
    cr_assert_eq(result.proven_position, end);
    must_open();
    cr_assert_eq(owner.replayed, 1);
}

/* The base may not have said anew what is synced before the log lets go of something. */
Test(log, a_hint_of_before_the_cut_is_void_until_the_log_has_reached_it)
{
    uint64_t positions[100];
    must_open();
    for (uint64_t i = 0; i < 100; i++) {
        positions[i] = put(i, 2000);
    }
    uint64_t end = statistics().synced_position;
    shut();
    flip(positions[70] + 100);
    options.synced_position_hint = end;
    cr_assert(repair().cut);
    must_open();
    cr_assert_eq(owner.replayed, 70);
    log_release(store_log, positions[69]);
    wait_released_to(positions[69]);
    shut();
    while (segment_of(positions[owner.first_expected]) < segment_of(positions[69])) {
        owner.first_expected++;
    }
    must_open();
    cr_assert_eq(owner.replayed, 70 - owner.first_expected);
}

/* After a cut its numbers are used again. */
Test(log, repair_leaves_what_an_earlier_one_has_put_aside)
{
    char path[FILE_PATH_SIZE_MAX];
    struct log_repair result;
    must_open();
    for (uint64_t i = 0; i < 100; i++) {
        put(i, 2000);
    }
    shut();
    struct file file = open_segment(2);
    cr_assert_eq(file_write_at(&file, 0, "rotten", 6, NULL), STATUS_OK);
    file_close(&file);
    cr_assert_eq(log_segment_path(path, folder, LOG_LOST_PREFIX, 2, NULL), STATUS_OK);
    cr_assert_eq(file_write_atomic(path, "dear", 4, NULL), STATUS_OK);
    size_t segments = count_files(LOG_SEGMENT_PREFIX);
    cr_assert_eq(repair_with(0, NULL, &result), STATUS_FAILED_PRECONDITION);
    cr_assert_not_null(strstr(error.text, "lost-0000000000000002.log"), "%s", error.text);
    cr_assert_eq(count_files(LOG_SEGMENT_PREFIX), segments);
    cr_assert_eq(unlink(path), 0);
    cr_assert_eq(repair_with(0, NULL, &result), STATUS_OK, "%s", error.text);
    cr_assert_eq(count_files(LOG_LOST_PREFIX), segments - 1);
}

static void make_segment_two_rotten(void)
{
    must_open();
    for (uint64_t i = 0; i < 100; i++) {
        put(i, 2000);
    }
    shut();
    struct file file = open_segment(2);
    cr_assert_eq(file_write_at(&file, 0, "rotten", 6, NULL), STATUS_OK);
    file_close(&file);
}

static enum status accept(void *context, const struct log_record *record, struct error *ret_error)
{
    (void)record;
    (void)ret_error;
    cr_assert_eq(count_files(LOG_LOST_PREFIX), 0);
    *(uint64_t *)context += 1;
    return STATUS_OK;
}

static enum status refuse_to_cut(void *context, struct error *ret_error)
{
    (void)context;
    cr_assert_eq(count_files(LOG_LOST_PREFIX), 0);
    return error_set(ret_error, STATUS_ABORTED, "not this one");
}

/* What is put aside before would be missed by nobody: the log would end there, and be taken for whole. */
Test(log, a_judge_that_refuses_leaves_all_as_it_was)
{
    struct log_repair result;
    uint64_t looked = 0;
    const struct log_repair_judge judge = {&looked, accept, refuse_to_cut};
    make_segment_two_rotten();
    size_t segments = count_files(LOG_SEGMENT_PREFIX);
    cr_assert_eq(repair_with(0, &judge, &result), STATUS_ABORTED);
    cr_assert_str_eq(error.text, "not this one");
    cr_assert_gt(looked, 0);
    cr_assert_eq(count_files(LOG_SEGMENT_PREFIX), segments);
    cr_assert_eq(reopen(), STATUS_CORRUPT);
}

/* Wherever it ends, what opens afterwards says that it was cut: by that a hint of before does not count. */
Test(log, a_repair_that_dies_half_way_is_gone_on_with)
{
    struct log_repair result;
    uint64_t refused = 0;
    make_segment_two_rotten();
    uint64_t end = owner.synced;
    struct file_fault fault = {
        .operation = FILE_OPERATION_SYNC, .error_number = EIO, .for_ever = true};
    for (;; fault.after++) {
        file_fault_arm(&fault);
        enum status status = repair_with(0, NULL, &result);
        file_fault_disarm();
        if (status == STATUS_OK) {
            break;
        }
        options.synced_position_hint = 0;
        if (reopen() == STATUS_CORRUPT) {
            refused++;
            continue;
        }
        shut();
        options.synced_position_hint = end;
        must_open();
        shut();
    }
    cr_assert_gt(fault.after, 2);
    cr_assert_gt(refused, 2);
    options.synced_position_hint = end;
    must_open();
    cr_assert_eq(owner.replayed, result.records);
}

Test(log, repair_of_no_log)
{
    struct log_repair result;
    cr_assert_eq(repair_with(0, NULL, &result), STATUS_NOT_FOUND, "%s", error.text);
    const struct log_repair_options nowhere = {.folder = "/nowhere/at/all", .begins_anew = true};
    cr_assert_eq(log_repair(&nowhere, &result, &error), STATUS_NOT_FOUND);
}

/* ---- without an anchor ---- */

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
