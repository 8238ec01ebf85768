/* What is put comes back, and a torn end is cut. */
#include "tests/support/log_fixture.h"

TestSuite(log, .init = begin, .fini = finish, .timeout = 300);

Test(log, a_new_one_is_empty_and_what_is_put_comes_back)
{
    must_open();
    cr_assert_eq(owner.replayed, 0);
    for (uint64_t i = 0; i < 100; i++) {
        put(i, 8 + i * 3);
    }
    cr_assert_eq(statistics().records, 100);
    cr_assert_eq(statistics().synced_position, statistics().next_position);
    shut();
    must_open();
    cr_assert_eq(owner.replayed, 100);
    cr_assert_eq(statistics().torn_bytes, 0);
    put(100, 50);
    shut();
    must_open();
    cr_assert_eq(owner.replayed, 101);
}

Test(log, closing_syncs_what_is_pending)
{
    uint64_t position = 0;
    must_open();
    for (uint64_t i = 0; i < 5; i++) {
        cr_assert_eq(try_append(i, 100, &position), STATUS_OK);
    }
    shut();
    cr_assert_gt(owner.synced, position);
    must_open();
    cr_assert_eq(owner.replayed, 5);
}

Test(log, records_larger_than_a_segment)
{
    options.pending_bytes_max = 16 << 20;
    must_open();
    put(0, 100);
    put(1, 5 * SEGMENT_BYTES + 12345);
    put(2, 100);
    put(3, SEGMENT_BYTES);
    shut();
    must_open();
    cr_assert_eq(owner.replayed, 4);
}

/* ---- torn ends ---- */

Test(log, a_last_batch_torn_at_any_byte_is_cut_and_written_over)
{
    uint8_t whole[256];
    uint8_t junk[256];
    must_open();
    put(0, 40);
    put(1, 40);
    uint64_t position = put_unsynced(2, 100);
    uint64_t size = 0;
    for (uint64_t keep = 0; keep <= size; keep++) {
        peek(position, whole, sizeof whole); /* anew: each opening is another epoch */
        size = LOG_BATCH_HEADER_BYTES + load_le32(whole + 4);
        cr_assert_lt(size, sizeof whole);
        /* No byte as it was: the checksum's last may be any, and would end the header. */
        for (size_t i = 0; i < sizeof junk; i++) {
            junk[i] = (uint8_t)~whole[i];
        }
        poke(position, junk, sizeof junk);
        poke(position, whole, keep);
        must_open();
        if (keep == size) {
            cr_assert_eq(owner.replayed, 3);
            return;
        }
        cr_assert_eq(owner.replayed, 2, "kept %d bytes", (int)keep);
        cr_assert_eq(statistics().synced_position, position);
        cr_assert_eq(statistics().torn_bytes, keep < LOG_BATCH_HEADER_BYTES ? 0 : size);
        cr_assert_eq(put_unsynced(2, 100), position);
    }
    cr_assert_fail("not reached");
}

Test(log, after_a_torn_end_the_log_goes_on_and_old_bytes_stay_dead)
{
    uint8_t whole[4096];
    must_open();
    put(0, 40);
    uint64_t first = put(1, 40);
    put(2, 40);
    put(3, 40);
    shut();
    /* As after a repair that cut off records 1 to 3: their bytes are all still there. */
    peek(first, whole, sizeof whole);
    uint8_t zero[8] = {0};
    poke(first, zero, sizeof zero);
    struct file file;
    struct log_anchor anchor = {.store_number = STORE,
                                .counter = 100,
                                .start_segment = 1,
                                .start_position = LOG_POSITION_FIRST,
                                .epoch = 7,
                                .epoch_position = first,
                                .synced_position = first};
    char path[FILE_PATH_SIZE_MAX];
    cr_assert_eq(file_path_join(path, folder, LOG_ANCHOR_NAME, NULL), STATUS_OK);
    cr_assert_eq(file_open(path, &file, NULL), STATUS_OK);
    cr_assert_eq(log_anchor_write(&file, &anchor, NULL), STATUS_OK);
    file_close(&file);
    /* Later batches are whole, but older than the epoch: no proof, nothing replayed. */
    must_open();
    cr_assert_eq(owner.replayed, 1);
    /* A batch of just the size of the lost one: the old batch 2 follows it directly. */
    cr_assert_eq(put(1, 40), first);
    shut();
    must_open();
    cr_assert_eq(owner.replayed, 2);
}

Test(log, a_whole_batch_that_was_never_synced_is_taken_and_made_durable)
{
    must_open();
    put(0, 40);
    uint64_t position = put_unsynced(1, 40);
    /* A sync that failed may have marked its pages clean: it is written once more, before anything else is. */
    file_fault_arm(&(struct file_fault){.operation = FILE_OPERATION_WRITE, .error_number = EIO});
    cr_assert_eq(reopen(), STATUS_IO);
    file_fault_disarm();
    cr_assert_not_null(strstr(error.text, LOG_SEGMENT_PREFIX), "%s", error.text);
    cr_assert_eq(owner.replayed, 0);
    must_open();
    cr_assert_eq(owner.replayed, 2);
    cr_assert_gt(statistics().synced_position, position);
}
