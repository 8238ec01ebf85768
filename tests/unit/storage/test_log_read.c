/* Reading the log back, from what is kept after its release too. */
#include "tests/support/log_fixture.h"

#define RECORDS       120
#define PAYLOAD_BYTES 5000

static uint64_t positions[RECORDS];

struct reader {
    uint64_t next;
    uint64_t most; /* of records */
    uint64_t count;
};

static bool on_record(void *context, const struct log_record *record, uint64_t position)
{
    struct reader *reader = context;
    cr_assert_eq(record->sequence, reader->next);
    cr_assert_eq(position, positions[reader->next]);
    cr_assert_eq(load_le64(record->payload.data), reader->next);
    reader->next++;
    reader->count++;
    return reader->count < reader->most;
}

/* Records from the i-th on, or UINT64_MAX if they are not there. */
static uint64_t read_from(uint64_t i, uint64_t most)
{
    struct reader reader = {.next = i, .most = most};
    enum status status = log_read(store_log, positions[i], on_record, &reader);
    cr_assert(status == STATUS_OK || status == STATUS_NOT_FOUND);
    return status == STATUS_OK ? reader.count : UINT64_MAX;
}

static void begin_keeping(void)
{
    begin();
    options.keep_ns = INT64_C(600000000000);
    options.keep_bytes = 64 * SEGMENT_BYTES;
    must_open();
    log_keep_from(store_log, LOG_POSITION_FIRST);
    for (uint64_t i = 0; i < RECORDS; i++) {
        positions[i] = put(i, PAYLOAD_BYTES);
    }
    wait_ready(); /* or a spare could become room while a test counts them */
}

TestSuite(log_read, .init = begin_keeping, .fini = finish);

static void release_most(void)
{
    log_release(store_log, positions[RECORDS - 2]);
    wait_released_to(positions[RECORDS - 2]);
}

/* All that is released is kept: the last is released a moment before that. */
static void release_and_keep_most(void)
{
    release_most();
    while (statistics().kept_count < segment_of(positions[RECORDS - 2]) - 1) {
        usleep(1000);
    }
}

Test(log_read, what_is_live_is_read_up_to_what_is_synced)
{
    uint64_t position = 0;
    cr_assert_eq(read_from(0, UINT64_MAX), RECORDS);
    cr_assert_eq(read_from(17, 3), 3);
    cr_assert_eq(try_append(RECORDS, PAYLOAD_BYTES, &position), STATUS_OK); /* not committed */
    cr_assert_eq(read_from(RECORDS - 1, UINT64_MAX), 1);
}

Test(log_read, what_is_released_is_kept_and_read)
{
    release_and_keep_most();
    cr_assert_gt(statistics().kept_count, 3);
    cr_assert_eq(statistics().kept_position, LOG_POSITION_FIRST);
    cr_assert_eq(read_from(0, UINT64_MAX), RECORDS);
    cr_assert_eq(count_files(LOG_SPARE_PREFIX), 0);
}

Test(log_read, it_is_given_up_when_less_may_be_kept)
{
    release_and_keep_most();
    log_keep_bytes(store_log, 0);
    while (statistics().kept_count > 0 || count_files(LOG_SPARE_PREFIX) < 2) {
        usleep(1000);
    }
    cr_assert_eq(read_from(0, UINT64_MAX), UINT64_MAX);
    cr_assert_eq(read_from(RECORDS - 1, UINT64_MAX), 1);
    cr_assert_eq(count_files(LOG_SPARE_PREFIX), 2);
}

Test(log_read, a_damaged_segment_is_just_not_there)
{
    release_and_keep_most();
    flip(positions[3] + 100);
    cr_assert_eq(read_from(0, UINT64_MAX), UINT64_MAX);
    cr_assert_eq(read_from(4, UINT64_MAX), RECORDS - 4);
}

Test(log_read, what_is_kept_is_not_replayed_and_its_space_is_used_again)
{
    release_and_keep_most();
    uint64_t first = statistics().first_position;
    shut();
    while (positions[owner.first_expected] < first) {
        owner.first_expected++;
    }
    must_open();
    cr_assert_eq(owner.replayed, RECORDS - owner.first_expected);
    cr_assert_eq(statistics().kept_count, 0);
    cr_assert_eq(count_files(LOG_SPARE_PREFIX), 2);
    cr_assert_eq(read_from(0, UINT64_MAX), UINT64_MAX);
}

/* What is read is released meanwhile, and nobody wants it kept but for that. */
static bool on_record_and_release(void *context, const struct log_record *record, uint64_t position)
{
    struct reader *reader = context;
    if (reader->count == 10) {
        log_keep_from(store_log, UINT64_MAX);
        log_keep_bytes(store_log, 0);
        release_and_keep_most(); /* as they are being read */
    }
    return on_record(context, record, position);
}

Test(log_read, what_is_being_read_stays)
{
    struct reader reader = {.next = 0, .most = UINT64_MAX};
    cr_assert_eq(log_read(store_log, positions[0], on_record_and_release, &reader), STATUS_OK);
    cr_assert_eq(reader.count, RECORDS);
    while (statistics().kept_count > 0) { /* and goes when it is read */
        usleep(1000);
    }
    cr_assert_eq(read_from(0, UINT64_MAX), UINT64_MAX);
}

Test(log_read, nothing_is_kept_that_nobody_asked_for)
{
    shut();
    must_open(); /* keep_from is not said again */
    release_most();
    cr_assert_eq(statistics().kept_count, 0);
}

Test(log_read, without_memory_it_says_so)
{
    struct reader reader = {.most = UINT64_MAX};
    release_and_keep_most();
    enum status status = STATUS_NO_MEMORY;
    for (uint64_t n = 0; status == STATUS_NO_MEMORY; n++) {
        reader.next = reader.count = 0;
        memory_fail_arm(n, 1);
        status = log_read(store_log, positions[0], on_record, &reader);
        memory_fail_disarm();
    }
    cr_assert_eq(status, STATUS_OK);
    cr_assert_eq(reader.count, RECORDS);
}
