/* What is damaged is refused by file and offset. */
#include "tests/support/log_fixture.h"

TestSuite(log, .init = begin, .fini = finish, .timeout = 300);

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

static uint64_t spoiled_later;

/* The disk gives something else than when the end was looked for. */
static enum status on_replay_spoil(void *context,
                                   const struct log_record *record,
                                   uint64_t position,
                                   struct error *ret_error)
{
    if (spoiled_later != 0) {
        flip(spoiled_later);
        spoiled_later = 0;
    }
    return on_replay(context, record, position, ret_error);
}

Test(log, what_was_read_once_and_not_again_is_no_torn_end)
{
    must_open();
    for (uint64_t i = 0; i < 999; i++) {
        put(i, 2000);
    }
    uint64_t last = put_unsynced(999, 2000);
    options.on_replay = on_replay_spoil;
    spoiled_later = last + 100;
    cr_assert_eq(reopen(), STATUS_CORRUPT, "%s", error.text);
    flip(last + 100);
    must_open();
    cr_assert_eq(owner.replayed, 1000);
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
