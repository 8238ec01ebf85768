/*
 * The tail of a log that has the disk to itself but for a flush: rows fall due at a steady rate, one
 * thread writes and fdatasyncs whatever is due, and a row's time counts from when it was due to the
 * end of its sync.  Beside it pages of a file are overwritten at random at a steady rate, as a B+tree
 * does: by transactions of 4 MiB, each synced, then one more page that is synced by itself.
 *
 *   raw_log_tail --folder F [--rate 60000] [--record-bytes 1100] [--page-bytes 100000000]
 *                [--file-mib 1024] [--seconds 60]
 *
 * --page-bytes is a second's; 0: the log alone.  --file-mib is the size of either file.  Both files
 * stay in the folder and are taken again, so that between two measurements nothing else is written.
 */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "client/load/core/histogram.h"
#include "common/base/prng.h"
#include "tests/bench/raw/raw.h"

#define GROUP_BYTES_MAX  ((size_t)4 << 20)
#define TRANSACTION_RUNS 256
#define PAGE_BYTES       ((size_t)4096)
#define RUN_BYTES        (4 * PAGE_BYTES) /* what the block layer makes of a flush's pages, about */
#define NS_A_SECOND      1e9

/* A file that was written once from end to end, so that no write to it changes its size or place. */
struct area {
    int file;
    uint64_t size_bytes;
    int64_t sync_max_ns;
};

struct pages {
    struct area area;
    uint64_t bytes_a_second;
    uint64_t written_bytes;
    atomic_bool over;
};

static void area_init(struct area *area, const char *folder, const char *name, uint64_t size_bytes)
{
    char path[4096];
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    *area = (struct area){.file = raw_written_file(path, size_bytes), .size_bytes = size_bytes};
}

static void area_write(struct area *area, const void *bytes, size_t size_bytes, uint64_t at)
{
    if (pwrite(area->file, bytes, size_bytes, (off_t)at) != (ssize_t)size_bytes) {
        raw_fail("write", strerror(errno));
    }
}

static void area_sync(struct area *area)
{
    int64_t begin_ns = raw_now_ns();
    if (fdatasync(area->file) != 0) {
        raw_fail("fdatasync", strerror(errno));
    }
    int64_t took_ns = raw_now_ns() - begin_ns;
    if (took_ns > area->sync_max_ns) {
        area->sync_max_ns = took_ns;
    }
}

static void sleep_ns(int64_t ns)
{
    if (ns > 0) {
        struct timespec time = {.tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000};
        (void)nanosleep(&time, NULL);
    }
}

/* --- the flush ------------------------------------------------------------------------------------ */

static void *write_pages(void *context)
{
    struct pages *pages = context;
    struct prng prng = prng_of_seed(1);
    uint8_t *run = raw_allocate(RUN_BYTES);
    int64_t begin_ns = raw_now_ns();
    while (!atomic_load(&pages->over)) {
        memset(run, (int)(pages->written_bytes >> 20 & 0xff), RUN_BYTES);
        for (int i = 0; i < TRANSACTION_RUNS; i++) {
            uint64_t number = prng_next(&prng) % (pages->area.size_bytes / RUN_BYTES);
            area_write(&pages->area, run, RUN_BYTES, number * RUN_BYTES);
        }
        area_sync(&pages->area);
        area_write(&pages->area, run, PAGE_BYTES, 0);
        area_sync(&pages->area);
        pages->written_bytes += TRANSACTION_RUNS * RUN_BYTES + PAGE_BYTES;
        double due_ns = (double)pages->written_bytes / (double)pages->bytes_a_second * NS_A_SECOND;
        sleep_ns(begin_ns + (int64_t)due_ns - raw_now_ns());
    }
    free(run);
    return NULL;
}

/* --- the log -------------------------------------------------------------------------------------- */

/* Gives how many rows were written. */
static uint64_t write_log(struct area *area,
                          uint64_t rate,
                          size_t record_bytes,
                          int64_t seconds,
                          struct load_histogram *histogram)
{
    const double gap_ns = NS_A_SECOND / (double)rate;
    const uint64_t total = rate * (uint64_t)seconds;
    const uint64_t group_max = GROUP_BYTES_MAX / record_bytes;
    uint8_t *group = raw_allocate(GROUP_BYTES_MAX + PAGE_BYTES);
    uint64_t position = 0;
    uint64_t written = 0;
    int64_t begin_ns = raw_now_ns();
    while (written < total) {
        uint64_t due = (uint64_t)((double)(raw_now_ns() - begin_ns) / gap_ns);
        uint64_t until = due > total ? total : due;
        if (until == written) {
            sleep_ns((int64_t)gap_ns);
            continue;
        }
        if (until - written > group_max) {
            until = written + group_max;
        }
        size_t size_bytes = ((until - written) * record_bytes + PAGE_BYTES - 1) / PAGE_BYTES *
                            PAGE_BYTES;
        if (position + size_bytes > area->size_bytes) {
            position = 0;
        }
        memset(group, (int)(written & 0xff), size_bytes);
        area_write(area, group, size_bytes, position);
        area_sync(area);
        position += size_bytes;
        int64_t end_ns = raw_now_ns();
        for (; written < until; written++) {
            int64_t due_ns = begin_ns + (int64_t)((double)written * gap_ns);
            histogram->counts[load_histogram_bucket((uint64_t)(end_ns - due_ns))]++;
        }
    }
    free(group);
    return written;
}

int main(int argc, char **argv)
{
    static const char *const names[] = {"folder",  "rate", "record-bytes", "page-bytes", "file-mib",
                                        "seconds", NULL};
    raw_check_options(argc, argv, names);
    const char *folder = raw_option_text(argc, argv, "folder", ".");
    uint64_t rate = raw_option_number(argc, argv, "rate", 60000);
    size_t record_bytes = raw_option_number(argc, argv, "record-bytes", 1100);
    int64_t seconds = (int64_t)raw_option_number(argc, argv, "seconds", 60);
    struct pages pages = {.bytes_a_second = raw_option_number(argc, argv, "page-bytes", 100000000)};
    if (rate == 0 || record_bytes == 0 || record_bytes > GROUP_BYTES_MAX) {
        raw_fail("rate, record-bytes", "out of range");
    }
    uint64_t file_bytes = raw_option_number(argc, argv, "file-mib", 1024) << 20;
    if (file_bytes < 2 * GROUP_BYTES_MAX) {
        raw_fail("file-mib", "at least 8");
    }
    struct area log;
    area_init(&log, folder, "raw_log", file_bytes);
    area_init(&pages.area, folder, "raw_pages", file_bytes);

    pthread_t flush;
    if (pages.bytes_a_second > 0 && pthread_create(&flush, NULL, write_pages, &pages) != 0) {
        raw_fail("thread", strerror(errno));
    }
    struct load_histogram *histogram = raw_allocate(sizeof *histogram);
    uint64_t written = write_log(&log, rate, record_bytes, seconds, histogram);
    if (pages.bytes_a_second > 0) {
        atomic_store(&pages.over, true);
        (void)pthread_join(flush, NULL);
    }
    printf("{\"program\":\"log_tail\",\"rows\":%llu,\"page_bytes\":%llu,\"p50_us\":%.1f,"
           "\"p99_us\":%.1f,\"p999_us\":%.1f,\"log_sync_max_ms\":%.1f,\"page_sync_max_ms\":%.1f}\n",
           (unsigned long long)written, (unsigned long long)pages.written_bytes,
           (double)load_histogram_percentile(histogram, 0.5) / 1000,
           (double)load_histogram_percentile(histogram, 0.99) / 1000,
           (double)load_histogram_percentile(histogram, 0.999) / 1000,
           (double)log.sync_max_ns / 1e6, (double)pages.area.sync_max_ns / 1e6);
    free(histogram);
    (void)close(log.file);
    (void)close(pages.area.file);
    return 0;
}
