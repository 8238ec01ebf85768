/*
 * The n-th write, sync or allocation fails: nothing that was acknowledged may be lost or doubled.
 * A disk that is full refuses writes, goes on reading and deleting, and heals.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include "tests/support/forked.h"

#include "common/base/memory.h"
#include "tests/support/skip.h"
#include "tests/support/store_fixture.h"

static struct fixture fixture;

/* One counter per row; what was acknowledged, and what was at least tried. */
#define ROWS 6
static int64_t acknowledged[ROWS];
static int64_t tried[ROWS];
static uint64_t acknowledged_at[ROWS]; /* sequence, of a tablet that may be split */

static const char *row_name(int row)
{
    static const char *names[ROWS] = {"a", "b", "c", "x", "y", "z"};
    return names[row];
}

static struct store_tablet *tablet_of(int row)
{
    for (uint32_t i = 0; i < store_tablet_count(fixture.store); i++) {
        struct store_tablet *tablet = store_tablet_at(fixture.store, i);
        if (row_range_contains(&store_tablet_describe(tablet)->range,
                               bytes_of_text(row_name(row)))) {
            return tablet;
        }
    }
    return NULL;
}

/* Poll until committed, or until nothing more can be expected. */
static bool commit(struct store_tablet *tablet, uint64_t sequence)
{
    uint64_t number = store_tablet_describe(tablet)->tablet;
    time_t until = time(NULL) + FIXTURE_TIMEOUT_S;
    store_commit(fixture.store);
    while (time(NULL) < until) {
        store_poll(fixture.store);
        if (fixture.failed_count > 0) {
            return false;
        }
        if (store_tablet_find(fixture.store, number) != tablet ||
            store_tablet_committed(tablet) >= sequence) {
            return true;
        }
        usleep(50);
    }
    cr_assert_fail("neither committed nor failed");
    return false;
}

static void add_one(int row)
{
    struct store_tablet *tablet = tablet_of(row);
    uint8_t operand[8];
    uint64_t sequence = 0;
    struct change add = fixture_add(3, "n", 1, operand);
    if (tablet == NULL ||
        fixture_append(tablet, row_name(row), &add, 1, NULL, &sequence) != STATUS_OK) {
        return;
    }
    tried[row]++;
    if (commit(tablet, sequence)) {
        acknowledged[row] = tried[row];
        acknowledged_at[row] = sequence;
    }
}

static int64_t read_row(int row)
{
    struct store_read *read = NULL;
    struct store_tablet *tablet = tablet_of(row);
    cr_assert_not_null(tablet);
    cr_assert_eq(store_read_begin(tablet, &fixture_table, STORE_READ_COMMITTED, 0, &read),
                 STATUS_OK);
    struct bytes name = bytes_of_text(row_name(row));
    struct bytes found_row;
    bool found = false;
    int64_t value = 0;
    cr_assert_eq(
        row_reader_seek(store_read_reader(read), ROW_AT_OR_AFTER, name, &found_row, &found),
        STATUS_OK);
    if (found && bytes_equal(found_row, name)) {
        struct cell_source source = row_reader_source(store_read_reader(read));
        struct cell cell;
        cr_assert_eq(source.rewind(source.context, 0, BYTES_EMPTY), STATUS_OK);
        cr_assert_eq(source.next(source.context, CELL_NEXT, &cell, &found), STATUS_OK);
        value = found ? (int64_t)load_be64(cell.value.data) : 0;
    }
    store_read_end(read);
    return value;
}

static void expect_counts(void)
{
    for (int row = 0; row < ROWS; row++) {
        if (tablet_of(row) == NULL) {
            cr_assert_eq(acknowledged[row], 0);
            continue;
        }
        int64_t value = read_row(row);
        cr_assert(value >= acknowledged[row] && value <= tried[row],
                  "row %s: %d, acknowledged %d, tried %d", row_name(row), (int)value,
                  (int)acknowledged[row], (int)tried[row]);
        tried[row] = value;
        acknowledged[row] = value;
    }
}

/* Goes on whatever fails. */
static void work(void)
{
    struct store_tablet_descriptor descriptor = {.tablet = 1, .table = 1, .configuration = 1};
    if (store_tablet_create(fixture.store, &descriptor) == STATUS_OK) {
        uint64_t before = fixture.created_count;
        for (int i = 0; i < 20000 && fixture.created_count == before; i++) {
            store_poll(fixture.store);
            usleep(50);
        }
    }
    for (int row = 0; row < ROWS; row++) {
        add_one(row);
    }
    store_flush_all(fixture.store);
    for (int row = 0; row < ROWS; row++) {
        add_one(row);
    }
    struct store_tablet *tablet = tablet_of(0);
    struct record_split split = {bytes_of_text("m"), 2, 3};
    uint64_t sequence = 0;
    if (tablet != NULL && store_tablet_describe(tablet)->tablet == 1 &&
        store_append_split(tablet, &split, store_next_clock(fixture.store), &sequence) ==
            STATUS_OK) {
        (void)commit(tablet, sequence);
    }
    for (int row = 0; row < ROWS; row++) {
        add_one(row);
    }
    store_flush_all(fixture.store);
    for (int row = 0; row < ROWS; row++) {
        add_one(row);
    }
}

static void begin(void)
{
    fixture_init(&fixture);
    memset(acknowledged, 0, sizeof acknowledged);
    memset(tried, 0, sizeof tried);
    fixture.settings.log_segment_bytes = 64 * 1024;
    fixture_open(&fixture);
}

static void end(void)
{
    fixture_close(&fixture);
    fixture.failed_count = 0;
    fixture_open(&fixture);
    expect_counts();
    add_one(0); /* and life goes on, if the tablet was created */
    cr_assert(tablet_of(0) == NULL || acknowledged[0] == tried[0]);
    store_check(fixture.store);
    fixture_deinit(&fixture);
}

static void fail_files(enum file_operation operation, int error_number, uint64_t last)
{
    for (uint64_t n = 0; n < last; n += 1 + n / 8) {
        struct file_fault fault = {
            .operation = operation, .after = n, .error_number = error_number, .for_ever = true};
        begin();
        file_fault_arm(&fault);
        work();
        file_fault_disarm();
        end();
    }
}

Test(store_faults, log_sync_fails)
{
    fail_files(FILE_OPERATION_SYNC, EIO, 40);
}

Test(store_faults, log_write_fails)
{
    fail_files(FILE_OPERATION_WRITE, EIO, 40);
}

Test(store_faults, log_has_no_room)
{
    fail_files(FILE_OPERATION_ALLOCATE, ENOSPC, 4);
}

Test(store_faults, allocation_fails_once)
{
    for (uint64_t n = 0; n < 600; n += 1 + n / 12) {
        begin();
        memory_fail_arm(n, 0);
        work();
        memory_fail_disarm();
        FIXTURE_PUMP_UNTIL(&fixture, fixture_flushes_pending(&fixture) == 0);
        expect_counts();
        cr_assert_eq(fixture.failed_count, 0);
        end();
    }
}

/* Whichever allocation failed: asked for again it is there, with all that it needs to be flushed. */
Test(store_faults, a_tablet_that_was_not_created_is_created_when_it_is_asked_for_again)
{
    const struct store_tablet_descriptor descriptor = {.tablet = 1, .table = 1, .configuration = 1};
    bool failed = true;
    for (uint64_t n = 0; failed; n++) {
        begin();
        memory_fail_arm(n, 0);
        failed = store_tablet_create(fixture.store, &descriptor) != STATUS_OK;
        if (!failed) {
            FIXTURE_PUMP_UNTIL(&fixture, fixture.created_count > 0);
            failed = fixture.created == NULL;
        }
        memory_fail_disarm();
        (void)fixture_create(&fixture, 1, "", "");
        add_one(0);
        fixture_flush(&fixture);
        end();
        cr_assert_lt(n, 200);
    }
}

Test(store_faults, allocations_fail_at_open)
{
    begin();
    work();
    store_flush_all(fixture.store);
    add_one(1);
    fixture_close(&fixture);
    for (uint64_t n = 0;; n++) {
        struct error error;
        memory_fail_arm(n, 0);
        enum status status = fixture_try_open(&fixture, FIXTURE_STORE, &error);
        memory_fail_disarm();
        if (status == STATUS_OK) {
            break;
        }
        fixture.store = NULL;
        cr_assert_eq(status, STATUS_NO_MEMORY, "%d: %s", (int)n, error.text);
        n += n / 16;
    }
    expect_counts();
    end();
}

/* --- a disk that is full ---------------------------------------------------------------------------- */

static off_t ballast_bytes(void)
{
    char path[512];
    struct stat ballast = {.st_size = 0};
    (void)snprintf(path, sizeof path, "%s/ballast", fixture.folder);
    (void)stat(path, &ballast);
    return ballast.st_size;
}

static void fill_disk(char path[512], off_t leave_bytes)
{
    (void)snprintf(path, 512, "%s/filler", fixture.folder);
    int file = open(path, O_CREAT | O_WRONLY, 0600);
    static char block[65536];
    cr_assert_geq(file, 0);
    struct statvfs numbers;
    do {
        if (write(file, block, sizeof block) <= 0) {
            break;
        }
        cr_assert_eq(statvfs(fixture.folder, &numbers), 0);
    } while ((off_t)(numbers.f_bavail * numbers.f_frsize) > leave_bytes);
    (void)close(file);
}

static enum status put_value(struct store_tablet *tablet, const char *row, int seed)
{
    static uint8_t value[30000];
    uint64_t sequence = 0;
    memset(value, seed, sizeof value);
    struct change put = fixture_put(1, "c", seed, "");
    put.value = bytes_of(value, sizeof value);
    enum status status = fixture_append(tablet, row, &put, 1, NULL, &sequence);
    if (status == STATUS_OK) {
        cr_assert(commit(tablet, sequence), "%s", fixture.failure.text);
    }
    return status;
}

Test(store_faults, full_disk_refuses_writes_and_heals)
{
    char filler[512];
    fixture_init(&fixture);
    if (mount("tmpfs", fixture.folder, "tmpfs", 0, "size=48m") != 0) {
        (void)rmdir(fixture.folder);
        test_skip("mounting a tmpfs is not permitted here: %s", strerror(errno));
    }
    fixture.settings.memtable_limit_bytes = 1 << 20;
    fixture.settings.memory_limit_bytes = 8 << 20;
    fixture.settings.ballast_bytes = 4 << 20;
    fixture.settings.map_size_bytes = 64 << 20;
    fixture_open(&fixture);
    struct store_tablet *tablet = fixture_create(&fixture, 1, "", "");
    cr_assert_eq(put_value(tablet, "first", 1), STATUS_OK);
    cr_assert_eq(put_value(tablet, "more", 0), STATUS_OK);
    FIXTURE_PUMP_UNTIL(&fixture, ballast_bytes() == (4 << 20)); /* it is made behind our back */
    fill_disk(filler, 3 << 20);
    int written = 1;
    enum status status = STATUS_OK;
    for (int i = 1; i < 20000 && status != STATUS_NO_SPACE; i++) {
        status = put_value(tablet, "more", i);
        written += status == STATUS_OK ? 1 : 0;
        if (status == STATUS_RESOURCE_EXHAUSTED) {
            usleep(1000);
            store_poll(fixture.store);
        }
    }
    cr_assert_eq(status, STATUS_NO_SPACE);
    struct store_statistics numbers;
    store_statistics(fixture.store, &numbers);
    cr_assert_eq(numbers.condition, STORE_FULL);
    cr_assert_not_null(strstr(numbers.trouble, fixture.folder));
    /* Reads and deletes go on. */
    struct change gone = {.kind = CHANGE_DELETE_ROW};
    uint64_t sequence = 0;
    status = STATUS_NO_SPACE;
    FIXTURE_PUMP_UNTIL(&fixture, (status = fixture_append(tablet, "first", &gone, 1, NULL,
                                                          &sequence)) == STATUS_OK);
    cr_assert(commit(tablet, sequence));
    /* Space returns. */
    cr_assert_eq(unlink(filler), 0);
    FIXTURE_PUMP_UNTIL(
        &fixture, (store_statistics(fixture.store, &numbers), numbers.condition == STORE_HEALTHY));
    cr_assert_eq(put_value(tablet, "last", 1), STATUS_OK);
    fixture_flush(&fixture);
    fixture_close(&fixture);
    fixture_open(&fixture);
    tablet = store_tablet_find(fixture.store, 1);
    struct store_read *read = NULL;
    struct bytes row;
    bool found = false;
    cr_assert_eq(store_read_begin(tablet, &fixture_table, STORE_READ_COMMITTED, 0, &read),
                 STATUS_OK);
    struct cell_source source = row_reader_source(store_read_reader(read));
    cr_assert_eq(row_reader_seek(store_read_reader(read), ROW_AT_OR_AFTER, bytes_of_text("more"),
                                 &row, &found),
                 STATUS_OK);
    cr_assert(found, "%d were written", written);
    int count = 0;
    struct cell cell;
    cr_assert_eq(source.rewind(source.context, 0, BYTES_EMPTY), STATUS_OK);
    cr_assert_eq(source.next(source.context, CELL_NEXT, &cell, &found), STATUS_OK);
    while (found) {
        cr_assert_eq(cell.value.data[29999], (uint8_t)cell.timestamp_us);
        count++;
        cr_assert_eq(source.next(source.context, CELL_NEXT, &cell, &found), STATUS_OK);
    }
    cr_assert_eq(count, written);
    store_read_end(read);
    fixture_close(&fixture);
    (void)umount(fixture.folder);
    (void)rmdir(fixture.folder);
}

static enum store_condition condition_now(void)
{
    store_poll(fixture.store);
    return store_condition_now(fixture.store);
}

static uint64_t write_until_refused(struct store_tablet *tablet, const char *prefix)
{
    uint64_t written = 0;
    enum status status = STATUS_OK;
    for (int i = 0; i < 20000 && status != STATUS_NO_SPACE; i++) {
        char row[32];
        (void)snprintf(row, sizeof row, "%s%05d", prefix, i);
        status = put_value(tablet, row, 1);
        written += status == STATUS_OK ? 1 : 0;
        if (status == STATUS_RESOURCE_EXHAUSTED) {
            usleep(1000);
            store_poll(fixture.store);
        }
    }
    cr_assert_eq(status, STATUS_NO_SPACE);
    return written;
}

static void expect_full_for(int milliseconds, const char *when)
{
    for (int i = 0; i < milliseconds / 5; i++) {
        cr_assert_eq(condition_now(), STORE_FULL, "%s, after %d ms", when, 5 * i);
        usleep(5000);
    }
}

static void drop_rows(struct store_tablet *tablet, const char *start, const char *end)
{
    struct record_drop_range drop = {.range = {bytes_of_text(start), bytes_of_text(end)}};
    uint64_t sequence = 0;
    enum status status = STATUS_RESOURCE_EXHAUSTED;
    FIXTURE_PUMP_UNTIL(
        &fixture, (status = store_append_drop_range(tablet, &drop, store_next_clock(fixture.store),
                                                    &sequence)) != STATUS_RESOURCE_EXHAUSTED);
    cr_assert_eq(status, STATUS_OK, "%s", status_text(status));
    cr_assert(commit(tablet, sequence));
}

/* Nothing is given back to the disk: the room is in the file, once no reader holds it. */
Test(store_faults, full_disk_heals_by_deleting_rows)
{
    fixture_init(&fixture);
    if (mount("tmpfs", fixture.folder, "tmpfs", 0, "size=40m") != 0) {
        (void)rmdir(fixture.folder);
        test_skip("mounting a tmpfs is not permitted here: %s", strerror(errno));
    }
    fixture.settings.memtable_limit_bytes = 1 << 20;
    fixture.settings.memory_limit_bytes = 4 << 20;
    fixture.settings.log_limit_bytes = 4 << 20;
    fixture.settings.log_segment_bytes = 256 * 1024;
    fixture.settings.flush_transaction_bytes = 1 << 20;
    fixture.settings.ballast_bytes = 4 << 20;
    fixture_open(&fixture);
    struct store_tablet *tablet = fixture_create(&fixture, 1, "", "");
    for (int round = 0; round < 3; round++) {
        cr_assert_eq(put_value(tablet, "kept", round), STATUS_OK);
        uint64_t written = write_until_refused(tablet, "row");
        cr_assert_gt(written, 500, "round %d: only %d", round, (int)written);
        expect_full_for(500, "refused");
        if (round == 1) {
            fixture_close(&fixture);
            fixture_open(&fixture);
            tablet = store_tablet_find(fixture.store, 1);
            cr_assert_not_null(tablet);
            expect_full_for(500, "opened again");
        }
        struct store_read *read = NULL;
        cr_assert_eq(store_read_begin(tablet, &fixture_table, STORE_READ_COMMITTED, 0, &read),
                     STATUS_OK);
        drop_rows(tablet, "row", "rox");
        expect_full_for(1200, "a reader holds the pages");
        struct store_statistics numbers;
        store_statistics(fixture.store, &numbers);
        cr_assert_lt(numbers.base_used_bytes, 1 << 20, "erased");
        cr_assert_not_null(strstr(numbers.trouble, "delete rows, or grow the disk"));
        store_read_end(read);
        FIXTURE_PUMP_UNTIL(&fixture, condition_now() == STORE_HEALTHY);
    }
    cr_assert_eq(put_value(tablet, "last", 1), STATUS_OK);
    struct store_read *read = NULL;
    struct bytes row;
    bool found = false;
    cr_assert_eq(store_read_begin(tablet, &fixture_table, STORE_READ_COMMITTED, 0, &read),
                 STATUS_OK);
    struct row_reader *reader = store_read_reader(read);
    cr_assert_eq(row_reader_seek(reader, ROW_AT_OR_AFTER, BYTES_EMPTY, &row, &found), STATUS_OK);
    cr_assert(found && bytes_equal(row, bytes_of_text("kept")));
    cr_assert_eq(row_reader_seek(reader, ROW_AFTER, bytes_of_text("kept"), &row, &found),
                 STATUS_OK);
    cr_assert(found && bytes_equal(row, bytes_of_text("last")));
    store_read_end(read);
    fixture_close(&fixture);
    (void)umount(fixture.folder);
    (void)rmdir(fixture.folder);
}
