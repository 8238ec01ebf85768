/*
 * A log in a folder of its own whose records say what they must hold, and its files from outside.
 */
#ifndef TESTS_SUPPORT_LOG_FIXTURE_H
#define TESTS_SUPPORT_LOG_FIXTURE_H

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
#include "tabletserver/storage/log/log.h"
#include "tabletserver/storage/log/log_repair.h"
#include "tabletserver/storage/log/log_segment.h"
#include "tests/support/test_folder.h"

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

__attribute__((unused)) static char folder[FILE_PATH_SIZE_MAX];
__attribute__((unused)) static struct owner owner;
__attribute__((unused)) static struct log_options options;
__attribute__((unused)) static struct log *store_log;
__attribute__((unused)) static struct error error;

__attribute__((unused)) static void on_synced(void *context, uint64_t position)
{
    struct owner *to = context;
    pthread_mutex_lock(&to->mutex);
    to->synced_after_failure |= to->failures > 0;
    to->synced = position;
    pthread_cond_signal(&to->changed);
    pthread_mutex_unlock(&to->mutex);
}

__attribute__((unused)) static void on_failed(void *context, const struct error *what)
{
    struct owner *to = context;
    pthread_mutex_lock(&to->mutex);
    to->failures++;
    to->error = *what;
    pthread_cond_signal(&to->changed);
    pthread_mutex_unlock(&to->mutex);
}

/* The payload of record i: i, then bytes that follow from it, up to size. */
__attribute__((unused)) static void fill_payload(uint8_t *payload, size_t size, uint64_t i)
{
    memset(payload, (int)(i * 7 + 1), size);
    store_le64(payload, i);
}

__attribute__((unused)) static enum status on_replay(void *context,
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
    cr_assert_eq(record->behind, i / 3);
    cr_assert_eq(record->sequence, i);
    cr_assert_eq(record->stamp.clock, ~i);
    cr_assert_eq(record->stamp.cluster, 5);
    cr_assert_eq(record->stamp.index, 6);
    to->replayed++;
    return STATUS_OK;
}

__attribute__((unused)) static void begin(void)
{
    test_folder_make(folder, sizeof folder, "log");
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

__attribute__((unused)) static void finish(void)
{
    char command[FILE_PATH_SIZE_MAX + 16];
    file_fault_disarm();
    memory_fail_disarm();
    log_close(store_log);
    snprintf(command, sizeof command, "rm -r '%s'", folder);
    cr_assert_eq(system(command), 0);
}

__attribute__((unused)) static enum status reopen(void)
{
    owner.replayed = 0;
    return log_open(&options, &store_log, &error);
}

__attribute__((unused)) static void must_open(void)
{
    enum status status = reopen();
    cr_assert_eq(status, STATUS_OK, "%s", error.text);
}

__attribute__((unused)) static void shut(void)
{
    log_close(store_log);
    store_log = NULL;
}

__attribute__((unused)) static enum status try_append(uint64_t i,
                                                      size_t payload_bytes,
                                                      uint64_t *ret_position)
{
    uint8_t *payload = malloc(payload_bytes);
    fill_payload(payload, payload_bytes, i);
    struct log_record record = {
        .type = (uint8_t)(i % 4),
        .tablet = i * 3,
        .configuration = i / 2,
        .behind = i / 3,
        .sequence = i,
        .stamp = {~i, 5, 6},
        .payload = bytes_of(payload, payload_bytes),
    };
    enum status status = log_append(store_log, &record, ret_position);
    free(payload);
    return status;
}

__attribute__((unused)) static void wait_synced(uint64_t position)
{
    pthread_mutex_lock(&owner.mutex);
    while (owner.synced <= position && owner.failures == 0) {
        pthread_cond_wait(&owner.changed, &owner.mutex);
    }
    pthread_mutex_unlock(&owner.mutex);
}

__attribute__((unused)) static void wait_failed(void)
{
    pthread_mutex_lock(&owner.mutex);
    while (owner.failures == 0) {
        pthread_cond_wait(&owner.changed, &owner.mutex);
    }
    pthread_mutex_unlock(&owner.mutex);
}

/* One record, one batch, durable. Gives where the batch begins. */
__attribute__((unused)) static uint64_t put(uint64_t i, size_t payload_bytes)
{
    uint64_t position = 0;
    cr_assert_eq(try_append(i, payload_bytes, &position), STATUS_OK);
    log_commit(store_log);
    wait_synced(position);
    cr_assert_eq(owner.failures, 0);
    return position;
}

__attribute__((unused)) static struct log_statistics statistics(void)
{
    struct log_statistics result;
    log_statistics(store_log, &result);
    return result;
}

/* ---- files, from outside ---- */

__attribute__((unused)) static uint64_t segment_of(uint64_t position)
{
    return 1 + (position - LOG_POSITION_FIRST) / (SEGMENT_BYTES - LOG_BLOCK_BYTES);
}

__attribute__((unused)) static uint64_t offset_of(uint64_t position)
{
    return LOG_BLOCK_BYTES + (position - LOG_POSITION_FIRST) % (SEGMENT_BYTES - LOG_BLOCK_BYTES);
}

__attribute__((unused)) static struct file open_segment(uint64_t number)
{
    char path[FILE_PATH_SIZE_MAX];
    struct file file;
    cr_assert_eq(log_segment_path(path, folder, LOG_SEGMENT_PREFIX, number, NULL), STATUS_OK);
    cr_assert_eq(file_open(path, &file, NULL), STATUS_OK);
    return file;
}

static bool is_ready(void)
{
    struct log_statistics now = statistics();
    return segment_of(now.first_position) + now.segment_count > segment_of(now.next_position) + 1;
}

/* The keeper has made a segment ready ahead, and rests. */
__attribute__((unused)) static void wait_ready(void)
{
    while (!is_ready()) {
        usleep(1000);
    }
}

/* All is released that can be before this position, where a batch begins in its segment.  (One goes after the other: that
 * some are gone says nothing of the rest.) */
__attribute__((unused)) static void wait_released_to(uint64_t position)
{
    while (segment_of(statistics().first_position) < segment_of(position)) {
        usleep(1000);
    }
}

/* Read or write the stream where no segment boundary is crossed. */
__attribute__((unused)) static void peek(uint64_t position, uint8_t *data, size_t size)
{
    struct file file = open_segment(segment_of(position));
    cr_assert_eq(file_read_at(&file, offset_of(position), data, size, NULL), STATUS_OK);
    file_close(&file);
}

__attribute__((unused)) static void poke(uint64_t position, const uint8_t *data, size_t size)
{
    struct file file = open_segment(segment_of(position));
    cr_assert_eq(file_write_at(&file, offset_of(position), data, size, NULL), STATUS_OK);
    file_close(&file);
}

__attribute__((unused)) static void flip(uint64_t position)
{
    uint8_t byte = 0;
    peek(position, &byte, 1);
    byte ^= 0x10;
    poke(position, &byte, 1);
}

__attribute__((unused)) static size_t count_files(const char *prefix)
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

__attribute__((unused)) static void expect_refused(uint64_t bad_position)
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
__attribute__((unused)) static uint64_t put_unsynced(uint64_t i, size_t payload_bytes)
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

/* Its anchor is to be there. */
__attribute__((unused)) static enum status repair_with(uint64_t synced_position_hint,
                                                       const struct log_repair_judge *judge,
                                                       struct log_repair *ret_result)
{
    const struct log_repair_options what = {
        .folder = folder, .synced_position_hint = synced_position_hint, .judge = judge};
    return log_repair(&what, ret_result, &error);
}

#endif /* TESTS_SUPPORT_LOG_FIXTURE_H */
