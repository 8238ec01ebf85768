/* Release and recycling, failing disks, full disks, failing memory. */
#include "tests/support/log_fixture.h"

TestSuite(log, .init = begin, .fini = finish, .timeout = 300);

/* ---- release ---- */

Test(log, released_segments_are_recycled_and_never_replayed)
{
    const uint64_t count = 600;
    uint64_t positions[600];
    must_open();
    for (uint64_t i = 0; i < count; i++) {
        positions[i] = put(i, 2000);
        log_release(store_log, positions[i >= 50 ? i - 50 : 0]);
    }
    wait_released_to(positions[count - 51]);
    cr_assert_leq(statistics().segment_count, 5);
    cr_assert_gt(segment_of(positions[count - 1]), 15);
    shut();
    cr_assert_leq(count_files(LOG_SPARE_PREFIX), 2);
    cr_assert_leq(count_files(LOG_SEGMENT_PREFIX), 5);

    /* Replay begins with the first batch that begins in the segment of the release. */
    uint64_t first = 0;
    while (segment_of(positions[first]) != segment_of(positions[count - 51])) {
        first++;
    }
    owner.first_expected = first;
    must_open();
    cr_assert_eq(owner.replayed, count - first);
    cr_assert_eq(statistics().torn_bytes, 0);
}

/* Of what is released at once as many are kept, and one of them becomes room for what comes, or not: that may have
 * been made before. */
static void wait_spares(size_t count, bool released)
{
    size_t found = count + 1;
    while (found != count && !(released && found + 1 == count)) {
        usleep(1000);
        found = count_files(LOG_SPARE_PREFIX);
    }
}

/* What the log says to take on the disk is what is there: by it the store's room is judged. */
static void wait_counted(void)
{
    while (statistics().file_count !=
           count_files(LOG_SEGMENT_PREFIX) + count_files(LOG_SPARE_PREFIX)) {
        usleep(1000);
    }
}

Test(log, spares_are_kept_as_far_as_they_are_wanted)
{
    uint64_t i = 0;
    options.spare_segments_max = 6;
    must_open();
    static const uint32_t wanted[] = {100, 1, 6, 0};
    static const size_t kept[] = {6, 1, 6, 0};
    for (int round = 0; round < 4; round++) {
        log_keep_spares(store_log, wanted[round]);
        bool releases = round % 2 == 0;
        if (releases) { /* what is there already only goes */
            uint64_t position = 0;
            for (uint64_t end = i + 300; i < end; i++) {
                position = put(i, 2000);
            }
            log_release(store_log, position);
        }
        wait_spares(kept[round], releases);
        wait_counted();
    }
    shut();
    cr_assert_eq(owner.failures, 0);
}

Test(log, a_release_inside_a_batch_keeps_that_batch)
{
    options.pending_bytes_max = 16 << 20;
    must_open();
    put(0, 100);
    uint64_t large = put(1, 3 * SEGMENT_BYTES);
    uint64_t behind = put(2, 100);
    log_release(store_log, large + SEGMENT_BYTES);
    put(3, 100);
    usleep(50000);
    shut();
    must_open();
    cr_assert_eq(owner.replayed, 4);
    log_release(store_log, statistics().synced_position);
    wait_released_to(behind);
    shut();
    owner.first_expected = 2;
    must_open();
    cr_assert_eq(owner.replayed, 2);
}

/* ---- trouble ---- */

Test(log, a_failed_sync_is_told_once_and_nothing_after_it)
{
    uint64_t position = 0;
    must_open();
    put(0, 40);
    uint64_t synced = owner.synced;
    wait_ready();
    file_fault_arm(&(struct file_fault){.operation = FILE_OPERATION_SYNC, .error_number = EIO});
    cr_assert_eq(try_append(1, 40, &position), STATUS_OK);
    log_commit(store_log);
    enum status status = try_append(2, 40, &position);
    cr_assert(status == STATUS_OK || status == STATUS_CLOSED);
    log_commit(store_log);
    wait_failed();
    /* The fault was armed once only: a second sync would succeed, and must not be tried. */
    cr_assert_eq(try_append(3, 40, &position), STATUS_CLOSED);
    log_commit(store_log);
    usleep(20000);
    shut();
    cr_assert_eq(owner.failures, 1);
    cr_assert_eq(owner.synced, synced);
    cr_assert_not(owner.synced_after_failure);
    cr_assert_eq(owner.error.status, STATUS_IO);
    cr_assert_not_null(strstr(owner.error.text, "sync"), "%s", owner.error.text);
}

Test(log, a_failed_write_is_fatal_too)
{
    uint64_t position = 0;
    must_open();
    put(0, 40);
    wait_ready();
    file_fault_arm(&(struct file_fault){
        .operation = FILE_OPERATION_WRITE, .error_number = EIO, .short_write = true});
    cr_assert_eq(try_append(1, 9000, &position), STATUS_OK);
    log_commit(store_log);
    wait_failed();
    shut();
    owner.failures = 0;
    must_open();
    cr_assert_eq(owner.replayed, 1);
    put(1, 60);
}

/*
 * Records of 1000 bytes until one is refused; gives how many there are then.  Each is synced before
 * the next: none is pushed back for being pending.  And none is taken on trust: in the last segment,
 * the keeper has first found out that there is no room for another.
 */
static enum status fill_disk(uint64_t *count, uint64_t *ret_position)
{
    for (;;) {
        while (segment_of(statistics().next_position) == statistics().segment_count &&
               statistics().lacking == STATUS_OK) {
            usleep(1000);
        }
        enum status status = try_append(*count, 1000, ret_position);
        if (status != STATUS_OK) {
            return status;
        }
        log_commit(store_log);
        wait_synced(*ret_position);
        *count += 1;
    }
}

Test(log, a_full_disk_refuses_uses_what_is_there_and_recovers_by_itself)
{
    uint64_t position = 0;
    uint64_t i = 0;
    must_open();
    put(i++, 1000);
    wait_ready();
    file_fault_arm(&(struct file_fault){
        .operation = FILE_OPERATION_ALLOCATE, .error_number = ENOSPC, .for_ever = true});
    enum status status = fill_disk(&i, &position);
    cr_assert_eq(status, STATUS_NO_SPACE);
    cr_assert_gt(position, LOG_POSITION_FIRST + SEGMENT_BYTES); /* it went on into the second */
    cr_assert_eq(owner.failures, 0);
    file_fault_disarm();
    while (status == STATUS_NO_SPACE) {
        usleep(50000);
        status = try_append(i, 1000, &position);
    }
    cr_assert_eq(status, STATUS_OK);
    log_commit(store_log);
    wait_synced(position);
    i++;
    shut();
    cr_assert_eq(owner.failures, 0);
    must_open();
    cr_assert_eq(owner.replayed, i);
}

/* They come back, and with them the log: nobody is told that the disk is full, or to delete anything. */
Test(log, without_descriptors_writes_are_pushed_back_and_it_says_what_is_lacking)
{
    uint64_t position = 0;
    uint64_t i = 0;
    must_open();
    put(i++, 1000);
    wait_ready();
    file_fault_arm(&(struct file_fault){
        .operation = FILE_OPERATION_ALLOCATE, .error_number = EMFILE, .for_ever = true});
    enum status status = fill_disk(&i, &position);
    cr_assert_eq(status, STATUS_RESOURCE_EXHAUSTED);
    cr_assert_eq(statistics().lacking, STATUS_LIMIT);
    file_fault_disarm();
    while (status == STATUS_RESOURCE_EXHAUSTED) {
        usleep(50000);
        status = try_append(i, 1000, &position);
    }
    cr_assert_eq(status, STATUS_OK);
    log_commit(store_log);
    wait_synced(position);
    cr_assert_eq(statistics().lacking, STATUS_OK);
    cr_assert_eq(owner.failures, 0);
}

Test(log, releasing_makes_room_on_a_full_disk_without_new_space)
{
    uint64_t position = 0;
    uint64_t i = 0;
    must_open();
    put(i++, 1000);
    wait_ready();
    file_fault_arm(&(struct file_fault){
        .operation = FILE_OPERATION_ALLOCATE, .error_number = ENOSPC, .for_ever = true});
    enum status status = fill_disk(&i, &position);
    cr_assert_eq(status, STATUS_NO_SPACE);
    log_release(store_log, statistics().synced_position);
    while (status == STATUS_NO_SPACE) {
        usleep(1000);
        status = try_append(i, 1000, &position);
    }
    log_commit(store_log);
    wait_synced(position);
    cr_assert_eq(owner.failures, 0);
}

Test(log, a_full_disk_does_not_keep_it_open)
{
    uint64_t position = 0;
    uint64_t i = 0;
    must_open();
    put(i++, 1000);
    wait_ready();
    file_fault_arm(&(struct file_fault){
        .operation = FILE_OPERATION_ALLOCATE, .error_number = ENOSPC, .for_ever = true});
    cr_assert_eq(fill_disk(&i, &position), STATUS_NO_SPACE);
    shut();
    file_fault_disarm();
    must_open();
    cr_assert_eq(owner.replayed, i);
}

/* Descriptors come back: those of connections, say. */
Test(log, without_descriptors_releasing_waits)
{
    const uint64_t count = 300;
    uint64_t last = 0;
    must_open();
    for (uint64_t i = 0; i < count; i++) {
        last = put(i, 2000);
    }
    wait_ready();
    /* The anchor is written; then the folder cannot be opened. */
    file_fault_arm(
        &(struct file_fault){.operation = FILE_OPERATION_SYNC, .after = 1, .error_number = EMFILE});
    uint64_t faults = file_fault_count();
    log_release(store_log, last);
    while (file_fault_count() == faults) {
        usleep(1000);
    }
    last = put(count, 2000);
    log_release(store_log, put(count + 1, 40000));
    put(count + 2, 40000);
    log_release(store_log, put(count + 3, 40000));
    wait_released_to(last);
    shut();
    cr_assert_eq(owner.failures, 0, "%s", owner.error.text);
}

Test(log, too_much_pending_is_pushed_back)
{
    uint64_t position = 0;
    options.pending_bytes_max = 10000;
    must_open();
    /* One record larger than the limit passes when nothing is pending. */
    put(0, 20000);
    cr_assert_eq(try_append(1, 6000, &position), STATUS_OK);
    cr_assert_eq(try_append(2, 6000, &position), STATUS_RESOURCE_EXHAUSTED);
    cr_assert_eq(try_append(2, 1000, &position), STATUS_OK);
    log_commit(store_log);
    wait_synced(position);
    shut();
    must_open();
    cr_assert_eq(owner.replayed, 3);
}

Test(log, a_failed_allocation_takes_nothing)
{
    uint64_t position = 12345;
    must_open();
    put(0, 40);
    wait_ready();
    uint8_t payload[3000];
    fill_payload(payload, sizeof payload, 1);
    struct log_record record = {.type = 1,
                                .tablet = 3,
                                .configuration = 0,
                                .behind = 0,
                                .sequence = 1,
                                .stamp = {~UINT64_C(1), 5, 6},
                                .payload = bytes_of(payload, sizeof payload)};
    memory_fail_arm(0, 1);
    cr_assert_eq(log_append(store_log, &record, &position), STATUS_NO_MEMORY);
    memory_fail_disarm();
    cr_assert_eq(position, 12345);
    put(1, 3000);
    shut();
    must_open();
    cr_assert_eq(owner.replayed, 2);
}

Test(log, opening_survives_every_failed_allocation)
{
    must_open();
    for (uint64_t i = 0; i < 10; i++) {
        put(i, 1000);
    }
    shut();
    for (uint64_t n = 0; n < 100; n++) {
        memory_fail_arm(n, 1);
        enum status status = reopen();
        memory_fail_disarm();
        if (status == STATUS_OK) {
            cr_assert_gt(n, 3);
            cr_assert_eq(owner.replayed, 10);
            return;
        }
        cr_assert_eq(status, STATUS_NO_MEMORY, "%s", error.text);
        cr_assert_null(store_log);
    }
    cr_assert_fail("never opened");
}

Test(log, opening_survives_every_failed_sync_and_write)
{
    must_open();
    put(0, 100);
    put_unsynced(1, 100);
    for (int operation = FILE_OPERATION_WRITE; operation <= FILE_OPERATION_SYNC; operation++) {
        for (uint64_t n = 0;; n++) {
            file_fault_arm(&(struct file_fault){.operation = (enum file_operation)operation,
                                                .after = n,
                                                .error_number = EIO,
                                                .short_write = true});
            enum status status = reopen();
            file_fault_disarm();
            if (status == STATUS_OK) {
                cr_assert_gt(n, 0);
                cr_assert_eq(owner.replayed, 2);
                shut();
                break;
            }
            cr_assert_eq(status, STATUS_IO, "%s", error.text);
            cr_assert_lt(n, 50);
        }
    }
}

/* Whoever gave the files their names may have been killed before those were durable: then what is written to them
 * from now on would be gone with the names. */
Test(log, opening_makes_the_names_durable_that_it_finds)
{
    char wanted[FILE_PATH_SIZE_MAX + 32];
    bool found = false;
    enum status status = STATUS_IO;
    must_open();
    put(0, 100);
    wait_ready();
    shut();
    snprintf(wanted, sizeof wanted, "sync folder %s:", folder);
    for (uint64_t n = 0; status != STATUS_OK && !found; n++) {
        file_fault_arm(&(struct file_fault){
            .operation = FILE_OPERATION_SYNC, .after = n, .error_number = EIO});
        status = reopen();
        file_fault_disarm();
        found = status != STATUS_OK && strstr(error.text, wanted) != NULL;
    }
    cr_assert(found, "opened without that");
}
