/*
 * A log and nothing else: writers append records, one thread writes and fdatasyncs what has
 * gathered (group commit), into one preallocated and zeroed segment that is written round and
 * round.  With one writer it is the time of a single fdatasync.
 *
 *   raw_log_commit --folder F [--writers 64] [--record-bytes 1100] [--seconds 5]
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/bench/raw/raw.h"

#define SEGMENT_BYTES (UINT64_C(64) << 20)
#define BLOCK_BYTES   4096

struct log {
    int file;
    size_t record_bytes;
    int64_t end_ns;
    pthread_mutex_t mutex;
    pthread_cond_t gathered;
    pthread_cond_t synced;
    uint64_t appended; /* records, of all writers */
    uint64_t durable;
    uint64_t position; /* in the segment */
    uint64_t syncs;
    bool over;
    uint8_t *blocks; /* what one write takes from */
};

struct writer {
    pthread_t thread;
    struct log *log;
    struct raw_samples samples;
};

static void *write_records(void *context)
{
    struct writer *writer = context;
    struct log *log = writer->log;
    int64_t begin_ns = raw_now_ns();
    while (begin_ns < log->end_ns) {
        (void)pthread_mutex_lock(&log->mutex);
        uint64_t mine = ++log->appended;
        (void)pthread_cond_signal(&log->gathered);
        while (log->durable < mine) {
            (void)pthread_cond_wait(&log->synced, &log->mutex);
        }
        (void)pthread_mutex_unlock(&log->mutex);
        int64_t now_ns = raw_now_ns();
        raw_samples_add(&writer->samples, now_ns - begin_ns);
        begin_ns = now_ns;
    }
    return NULL;
}

/* Whole blocks, as a log that never reads what it overwrites writes them. */
static void sync_records(struct log *log, uint64_t count)
{
    uint64_t size = (count * log->record_bytes + BLOCK_BYTES - 1) / BLOCK_BYTES * BLOCK_BYTES;
    if (log->position + size > SEGMENT_BYTES) {
        log->position = 0;
    }
    memset(log->blocks, (int)(log->syncs & 0xff), size);
    if (pwrite(log->file, log->blocks, size, (off_t)log->position) != (ssize_t)size ||
        fdatasync(log->file) != 0) {
        raw_fail("log", strerror(errno));
    }
    log->position += size;
    log->syncs++;
}

static void *flush_records(void *context)
{
    struct log *log = context;
    (void)pthread_mutex_lock(&log->mutex);
    for (;;) {
        while (log->appended == log->durable && !log->over) {
            (void)pthread_cond_wait(&log->gathered, &log->mutex);
        }
        if (log->appended == log->durable) {
            break;
        }
        uint64_t until = log->appended;
        uint64_t count = until - log->durable;
        (void)pthread_mutex_unlock(&log->mutex);
        sync_records(log, count);
        (void)pthread_mutex_lock(&log->mutex);
        log->durable = until;
        (void)pthread_cond_broadcast(&log->synced);
    }
    (void)pthread_mutex_unlock(&log->mutex);
    return NULL;
}

static void open_segment(struct log *log, const char *folder)
{
    char path[4096];
    (void)snprintf(path, sizeof path, "%s/raw_log", folder);
    log->file = raw_written_file(path, SEGMENT_BYTES);
    (void)unlink(path);
}

int main(int argc, char **argv)
{
    static const char *const names[] = {"folder", "writers", "record-bytes", "seconds", NULL};
    raw_check_options(argc, argv, names);
    uint64_t writer_count = raw_option_number(argc, argv, "writers", 64);
    int64_t seconds = (int64_t)raw_option_number(argc, argv, "seconds", 5);
    struct log log = {.record_bytes = raw_option_number(argc, argv, "record-bytes", 1100),
                      .mutex = PTHREAD_MUTEX_INITIALIZER,
                      .gathered = PTHREAD_COND_INITIALIZER,
                      .synced = PTHREAD_COND_INITIALIZER};
    if (writer_count == 0 || log.record_bytes == 0 ||
        writer_count > SEGMENT_BYTES / 2 / log.record_bytes) {
        raw_fail("writers, record-bytes", "out of range");
    }
    log.blocks = raw_allocate(SEGMENT_BYTES);
    open_segment(&log, raw_option_text(argc, argv, "folder", "."));

    struct writer *writers = raw_allocate(writer_count * sizeof *writers);
    pthread_t flusher;
    int64_t begin_ns = raw_now_ns();
    log.end_ns = begin_ns + seconds * INT64_C(1000000000);
    if (pthread_create(&flusher, NULL, flush_records, &log) != 0) {
        raw_fail("thread", strerror(errno));
    }
    for (uint64_t i = 0; i < writer_count; i++) {
        writers[i].log = &log;
        if (pthread_create(&writers[i].thread, NULL, write_records, &writers[i]) != 0) {
            raw_fail("thread", strerror(errno));
        }
    }
    struct raw_samples samples = {0};
    for (uint64_t i = 0; i < writer_count; i++) {
        (void)pthread_join(writers[i].thread, NULL);
        raw_samples_join(&samples, &writers[i].samples);
    }
    double took = (double)(raw_now_ns() - begin_ns) / 1e9;
    (void)pthread_mutex_lock(&log.mutex);
    log.over = true;
    (void)pthread_cond_signal(&log.gathered);
    (void)pthread_mutex_unlock(&log.mutex);
    (void)pthread_join(flusher, NULL);

    printf(
        "{\"program\":\"log_commit\",\"writers\":%llu,\"record_bytes\":%zu,"
        "\"commits_per_second\":%.0f,\"syncs_per_second\":%.0f,\"p50_us\":%.1f,\"p99_us\":%.1f}\n",
        (unsigned long long)writer_count, log.record_bytes, (double)log.durable / took,
        (double)log.syncs / took, raw_samples_percentile_us(&samples, 50),
        raw_samples_percentile_us(&samples, 99));
    raw_samples_deinit(&samples);
    free(writers);
    free(log.blocks);
    (void)close(log.file);
    return 0;
}
