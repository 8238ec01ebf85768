/* What is damaged is repaired only when asked, up to where the damage begins; what does not follow is put aside. */
#include "tests/support/log_fixture.h"

TestSuite(log, .init = begin, .fini = finish, .timeout = 300);

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

/* After a cut its numbers are used again. */
Test(log, repair_leaves_what_an_earlier_one_has_put_aside)
{
    char path[FILE_PATH_SIZE_MAX];
    struct log_repair result;
    make_segment_two_rotten();
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
