#include <criterion/criterion.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/endian.h"
#include "common/base/memory.h"
#include "common/io/file.h"
#include "tabletserver/storage/log.h"
#include "tabletserver/storage/log_repair.h"
#include "tabletserver/storage/log_segment.h"

#define SEGMENT_BYTES 65536u
#define STORE         UINT64_C(0x5709e)

/* What the log told its owner, and what it gave back when opened. */
struct owner {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    uint64_t synced;
    int failures;
    bool synced_after_failure;
    struct error error;
    uint64_t replayed; /* records: number i must come as the i-th from first_expected on */
    uint64_t first_expected;
    size_t payload_bytes;
    uint64_t refuse_at; /* on_replay fails there */
};

static char folder[FILE_PATH_SIZE_MAX];
static struct owner owner;
static struct log_options options;
static struct log *store_log;
static struct error error;

static void on_synced(void *context, uint64_t position)
{
    struct owner *to = context;
    pthread_mutex_lock(&to->mutex);
    to->synced_after_failure |= to->failures > 0;
    to->synced = position;
    pthread_cond_signal(&to->changed);
    pthread_mutex_unlock(&to->mutex);
}

static void on_failed(void *context, const struct error *what)
{
    struct owner *to = context;
    pthread_mutex_lock(&to->mutex);
    to->failures++;
    to->error = *what;
    pthread_cond_signal(&to->changed);
    pthread_mutex_unlock(&to->mutex);
}

/* The payload of record i: i, then bytes that follow from it, up to size. */
static void fill_payload(uint8_t *payload, size_t size, uint64_t i)
{
    memset(payload, (int)(i * 7 + 1), size);
    store_le64(payload, i);
}

static enum status on_replay(void *context,
                             const struct log_record *record,
                             uint64_t position,
                             struct error *ret_error)
{
    struct owner *to = context;
    uint64_t i = to->first_expected + to->replayed;
    cr_assert_gt(position, 0);
    if (i == to->refuse_at) {
        return error_set(ret_error, STATUS_ABORTED, "refused");
    }
    uint8_t *expected = malloc(record->payload.size_bytes);
    cr_assert_geq(record->payload.size_bytes, 8);
    fill_payload(expected, record->payload.size_bytes, i);
    cr_assert_arr_eq(record->payload.data, expected, record->payload.size_bytes);
    free(expected);
    cr_assert_eq(record->type, (uint8_t)(i % 4));
    cr_assert_eq(record->tablet, i * 3);
    cr_assert_eq(record->configuration, i / 2);
    cr_assert_eq(record->sequence, i);
    cr_assert_eq(record->stamp.clock, ~i);
    cr_assert_eq(record->stamp.cluster, 5);
    cr_assert_eq(record->stamp.index, 6);
    to->replayed++;
    return STATUS_OK;
}

static void begin(void)
{
    snprintf(folder, sizeof folder, "/tmp/edubba-log-XXXXXX");
    cr_assert_not_null(mkdtemp(folder));
    pthread_mutex_init(&owner.mutex, NULL);
    pthread_cond_init(&owner.changed, NULL);
    owner.refuse_at = UINT64_MAX;
    options = (struct log_options){
        .folder = folder,
        .store_number = STORE,
        .segment_bytes = SEGMENT_BYTES,
        .spare_segments_max = 2,
        .pending_bytes_max = 1 << 20,
        .context = &owner,
        .on_synced = on_synced,
        .on_failed = on_failed,
        .on_replay = on_replay,
    };
}

static void finish(void)
{
    char command[FILE_PATH_SIZE_MAX + 16];
    file_fault_disarm();
    memory_fail_disarm();
    log_close(store_log);
    snprintf(command, sizeof command, "rm -r '%s'", folder);
    cr_assert_eq(system(command), 0);
}

TestSuite(log, .init = begin, .fini = finish, .timeout = 60);

static enum status reopen(void)
{
    owner.replayed = 0;
    return log_open(&options, &store_log, &error);
}

static void must_open(void)
{
    enum status status = reopen();
    cr_assert_eq(status, STATUS_OK, "%s", error.text);
}

static void shut(void)
{
    log_close(store_log);
    store_log = NULL;
}

static enum status try_append(uint64_t i, size_t payload_bytes, uint64_t *ret_position)
{
    uint8_t *payload = malloc(payload_bytes);
    fill_payload(payload, payload_bytes, i);
    struct log_record record = {
        .type = (uint8_t)(i % 4),
        .tablet = i * 3,
        .configuration = i / 2,
        .sequence = i,
        .stamp = {~i, 5, 6},
        .payload = bytes_of(payload, payload_bytes),
    };
    enum status status = log_append(store_log, &record, ret_position);
    free(payload);
    return status;
}

static void wait_synced(uint64_t position)
{
    pthread_mutex_lock(&owner.mutex);
    while (owner.synced <= position && owner.failures == 0) {
        pthread_cond_wait(&owner.changed, &owner.mutex);
    }
    pthread_mutex_unlock(&owner.mutex);
}

static void wait_failed(void)
{
    pthread_mutex_lock(&owner.mutex);
    while (owner.failures == 0) {
        pthread_cond_wait(&owner.changed, &owner.mutex);
    }
    pthread_mutex_unlock(&owner.mutex);
}

/* One record, one batch, durable. Gives where the batch begins. */
static uint64_t put(uint64_t i, size_t payload_bytes)
{
    uint64_t position = 0;
    cr_assert_eq(try_append(i, payload_bytes, &position), STATUS_OK);
    log_commit(store_log);
    wait_synced(position);
    cr_assert_eq(owner.failures, 0);
    return position;
}

static struct log_statistics statistics(void)
{
    struct log_statistics result;
    log_statistics(store_log, &result);
    return result;
}

/* The keeper has made a segment ready ahead, and rests. */
static void wait_ready(void)
{
    while (statistics().segment_count < 2) {
        usleep(1000);
    }
}

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

/* ---- files, from outside ---- */

static uint64_t segment_of(uint64_t position)
{
    return 1 + (position - LOG_POSITION_FIRST) / (SEGMENT_BYTES - LOG_BLOCK_BYTES);
}

static uint64_t offset_of(uint64_t position)
{
    return LOG_BLOCK_BYTES + (position - LOG_POSITION_FIRST) % (SEGMENT_BYTES - LOG_BLOCK_BYTES);
}

static struct file open_segment(uint64_t number)
{
    char path[FILE_PATH_SIZE_MAX];
    struct file file;
    cr_assert_eq(log_segment_path(path, folder, LOG_SEGMENT_PREFIX, number, NULL), STATUS_OK);
    cr_assert_eq(file_open(path, &file, NULL), STATUS_OK);
    return file;
}

/* Read or write the stream where no segment boundary is crossed. */
static void peek(uint64_t position, uint8_t *data, size_t size)
{
    struct file file = open_segment(segment_of(position));
    cr_assert_eq(file_read_at(&file, offset_of(position), data, size, NULL), STATUS_OK);
    file_close(&file);
}

static void poke(uint64_t position, const uint8_t *data, size_t size)
{
    struct file file = open_segment(segment_of(position));
    cr_assert_eq(file_write_at(&file, offset_of(position), data, size, NULL), STATUS_OK);
    file_close(&file);
}

static void flip(uint64_t position)
{
    uint8_t byte = 0;
    peek(position, &byte, 1);
    byte ^= 0x10;
    poke(position, &byte, 1);
}

static size_t count_files(const char *prefix)
{
    struct arena arena;
    char **names = NULL;
    size_t count = 0;
    size_t found = 0;
    uint64_t number = 0;
    arena_init(&arena, 4096, SIZE_MAX);
    cr_assert_eq(file_list_folder(folder, &arena, &names, &count, NULL), STATUS_OK);
    for (size_t i = 0; i < count; i++) {
        found += log_segment_number(names[i], prefix, &number) ? 1 : 0;
    }
    arena_deinit(&arena);
    return found;
}

static void expect_refused(uint64_t bad_position)
{
    char path[FILE_PATH_SIZE_MAX];
    char offset[64];
    cr_assert_eq(reopen(), STATUS_CORRUPT, "%s", error.text);
    cr_assert_null(store_log);
    cr_assert_eq(owner.replayed, 0, "of a log that is refused no record is given out");
    cr_assert_eq(log_segment_path(path, folder, LOG_SEGMENT_PREFIX, segment_of(bad_position), NULL),
                 STATUS_OK);
    snprintf(offset, sizeof offset, "offset %llu:", (unsigned long long)offset_of(bad_position));
    cr_assert_not_null(strstr(error.text, path), "%s", error.text);
    cr_assert_not_null(strstr(error.text, offset), "%s, not %s", error.text, offset);
}

/* Make the log fail so that its last batch is written but not known synced. */
static uint64_t put_unsynced(uint64_t i, size_t payload_bytes)
{
    uint64_t position = 0;
    wait_ready(); /* else the fault could hit the keeper, and the batch not be written */
    cr_assert_eq(try_append(i, payload_bytes, &position), STATUS_OK);
    file_fault_arm(&(struct file_fault){
        .operation = FILE_OPERATION_SYNC, .error_number = EIO, .for_ever = true});
    log_commit(store_log);
    wait_failed();
    shut();
    file_fault_disarm();
    owner.failures = 0;
    owner.synced_after_failure = false;
    return position;
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
    memset(junk, 0xa5, sizeof junk);
    for (uint64_t keep = 0; keep <= size; keep++) {
        peek(position, whole, sizeof whole); /* anew: each opening is another epoch */
        size = LOG_BATCH_HEADER_BYTES + load_le32(whole + 4);
        cr_assert_lt(size, sizeof whole);
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
    must_open();
    cr_assert_eq(owner.replayed, 2);
    cr_assert_gt(statistics().synced_position, position);
}

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
    cr_assert_eq(reopen(), STATUS_CORRUPT);
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

static struct log_repair repair(void)
{
    struct log_repair result;
    cr_assert_eq(log_repair(folder, &result, &error), STATUS_OK, "%s", error.text);
    return result;
}

Test(log, repair_finds_nothing_wrong_with_a_good_log)
{
    must_open();
    put(0, 40);
    put(1, 40);
    cr_assert_eq(log_repair(folder, &(struct log_repair){0}, &error), STATUS_FAILED_PRECONDITION);
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

Test(log, repair_of_no_log)
{
    struct log_repair result;
    cr_assert_eq(log_repair(folder, &result, &error), STATUS_NOT_FOUND, "%s", error.text);
    cr_assert_eq(log_repair("/nowhere/at/all", &result, &error), STATUS_NOT_FOUND);
}

/* ---- release ---- */

static void wait_first_position(uint64_t position)
{
    while (statistics().first_position < position) {
        usleep(1000);
    }
}

Test(log, released_segments_are_recycled_and_never_replayed)
{
    const uint64_t count = 600;
    uint64_t positions[600];
    must_open();
    for (uint64_t i = 0; i < count; i++) {
        positions[i] = put(i, 2000);
        log_release(store_log, positions[i >= 50 ? i - 50 : 0]);
    }
    wait_first_position(positions[count - 51] - SEGMENT_BYTES);
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

Test(log, a_release_inside_a_batch_keeps_that_batch)
{
    options.pending_bytes_max = 16 << 20;
    must_open();
    put(0, 100);
    uint64_t large = put(1, 3 * SEGMENT_BYTES);
    put(2, 100);
    log_release(store_log, large + SEGMENT_BYTES);
    put(3, 100);
    usleep(50000);
    shut();
    must_open();
    cr_assert_eq(owner.replayed, 4);
    log_release(store_log, statistics().synced_position);
    wait_first_position(large + 2 * SEGMENT_BYTES);
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
    cr_assert_eq(try_append(1, 400, &position), STATUS_OK);
    log_commit(store_log);
    wait_failed();
    shut();
    owner.failures = 0;
    must_open();
    cr_assert_eq(owner.replayed, 1);
    put(1, 60);
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
    enum status status = STATUS_OK;
    while (status == STATUS_OK) {
        status = try_append(i, 1000, &position);
        if (status == STATUS_OK) {
            log_commit(store_log);
            /* The last of them may have to wait for room. */
            i++;
            usleep(500);
        }
    }
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

Test(log, releasing_makes_room_on_a_full_disk_without_new_space)
{
    uint64_t position = 0;
    uint64_t i = 0;
    must_open();
    put(i++, 1000);
    wait_ready();
    file_fault_arm(&(struct file_fault){
        .operation = FILE_OPERATION_ALLOCATE, .error_number = ENOSPC, .for_ever = true});
    while (try_append(i, 1000, &position) == STATUS_OK) {
        log_commit(store_log);
        i++;
        usleep(500);
    }
    log_release(store_log, statistics().synced_position);
    enum status status = STATUS_NO_SPACE;
    while (status == STATUS_NO_SPACE) {
        usleep(1000);
        status = try_append(i, 1000, &position);
    }
    log_commit(store_log);
    wait_synced(position);
    cr_assert_eq(owner.failures, 0);
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
