/*
 * Figures of the base on LMDB: base_bench [case ...], in a folder of its own under TMPDIR or /tmp.
 *
 *   short    1 M rows of 100 bytes: loading, scanning, point reads
 *   prefix   the same below a row key prefix of 1 000 bytes, in turns: at most twice as slow
 *   series   time series: rows host#time with ten 8-byte metrics, in time order; bytes per cell
 *   random   1 000-byte values in random order: rows per second, bytes per row
 *   wide     a row of 10 M columns: first cell, delete in O(1), sweep
 *   value    a value of 100 MB: write, read, erase
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/base/assert.h"
#include "common/base/prng.h"
#include "tabletserver/storage/base/base.h"

#define EXTENT       1
#define DIRTY_BYTES  (UINT64_C(4) << 20)
#define ROWS         1000000
#define PREFIX_BYTES 1000

struct bench {
    char folder[256];
    struct kv *kv;
    struct base *base;
    struct base_writer *writer;
    uint64_t clock;
    uint64_t commits;
    int64_t stored_bytes; /* keys and values */
};

static const struct base_piece WHOLE = {{{NULL, 0}, {NULL, 0}}, EXTENT};

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static void must(enum status status)
{
    if (status != STATUS_OK) {
        fprintf(stderr, "failed: %s\n", status_text(status));
        exit(1);
    }
}

static void open_bench(struct bench *bench)
{
    struct error error = {0};
    const char *temporary = getenv("TMPDIR");
    *bench = (struct bench){.clock = 1};
    snprintf(bench->folder, sizeof bench->folder, "%s/base_bench_XXXXXX",
             temporary != NULL ? temporary : "/tmp");
    ASSERT(mkdtemp(bench->folder) != NULL);
    must(kv_open(bench->folder, NULL, &bench->kv, &error));
    must(base_open(bench->kv, &bench->base, &error));
}

static void remove_file(const struct bench *bench, const char *name)
{
    char path[300];
    snprintf(path, sizeof path, "%s/%s", bench->folder, name);
    unlink(path);
}

static void close_bench(struct bench *bench)
{
    base_close(bench->base);
    kv_close(bench->kv);
    remove_file(bench, "data.mdb");
    remove_file(bench, "lock.mdb");
    rmdir(bench->folder);
}

static void commit(struct bench *bench)
{
    if (bench->writer != NULL) {
        must(base_writer_settle(bench->writer));
        bench->stored_bytes += base_writer_delta_bytes(bench->writer);
        must(base_writer_commit(bench->writer));
        bench->writer = NULL;
        bench->commits++;
    }
}

static void put(struct bench *bench, struct bytes row, struct entry *entry)
{
    if (bench->writer == NULL) {
        must(base_writer_begin(bench->base, &bench->writer));
    }
    entry->stamp = (struct stamp){bench->clock, 0, 0};
    must(base_writer_put(bench->writer, EXTENT, row, entry));
    if (base_writer_dirty_bytes(bench->writer) > DIRTY_BYTES) {
        commit(bench);
    }
}

static uint64_t used_bytes(const struct bench *bench)
{
    struct kv_statistics statistics;
    kv_statistics(bench->kv, &statistics);
    return statistics.used_bytes;
}

/* --- rows of one cell ------------------------------------------------------------------------- */

static uint8_t key_room[4096];

static struct bytes make_row(uint64_t i, size_t prefix_bytes)
{
    memset(key_room, 'p', prefix_bytes);
    int size = snprintf((char *)key_room + prefix_bytes, 64, "user%012lu", (unsigned long)i);
    return bytes_of(key_room, prefix_bytes + (size_t)size);
}

static double scan(struct bench *bench, bool values)
{
    struct base_snapshot *snapshot = NULL;
    struct layer_cursor *cursor = NULL;
    struct bytes row = BYTES_EMPTY;
    struct entry entry;
    bool found = true;
    uint64_t rows = 0;
    uint64_t bytes = 0;
    double start = now();
    must(base_snapshot_begin(bench->base, &snapshot));
    must(base_cursor_open(snapshot, &WHOLE, 1, &cursor));
    must(cursor->operations->seek_row(cursor, ROW_AT_OR_AFTER, row, &row, &found));
    while (found) {
        bool more = values;
        if (values) {
            must(cursor->operations->seek_entry(cursor, 0, BYTES_EMPTY));
        }
        while (more) {
            must(cursor->operations->next_entry(cursor, &entry, &more));
            bytes += more ? entry.value.size_bytes : 0;
        }
        rows++;
        must(cursor->operations->seek_row(cursor, ROW_AFTER, row, &row, &found));
    }
    cursor->operations->close(cursor);
    base_snapshot_end(snapshot);
    double seconds = now() - start;
    printf("  %-28s %8.2f M rows/s (%lu rows, %lu value bytes)\n",
           values ? "scan" : "scan, keys only", (double)rows / seconds / 1e6, (unsigned long)rows,
           (unsigned long)bytes);
    return (double)rows / seconds;
}

static double point_reads(struct bench *bench, size_t prefix_bytes, bool fresh)
{
    struct prng prng = prng_of_seed(5);
    struct base_snapshot *snapshot = NULL;
    struct layer_cursor *cursor = NULL;
    const uint32_t count = 300000;
    double start = now();
    for (uint32_t i = 0; i < count; i++) {
        struct bytes row;
        struct entry entry;
        bool found = false;
        if (fresh || cursor == NULL) {
            must(base_snapshot_begin(bench->base, &snapshot));
            must(base_cursor_open(snapshot, &WHOLE, 1, &cursor));
        }
        struct bytes wanted = make_row(prng_below(&prng, ROWS), prefix_bytes);
        must(cursor->operations->seek_row(cursor, ROW_AT_OR_AFTER, wanted, &row, &found));
        ASSERT(found && bytes_equal(row, wanted));
        must(cursor->operations->seek_entry(cursor, 1, bytes_of_text("q")));
        must(cursor->operations->next_entry(cursor, &entry, &found));
        ASSERT(found);
        if (fresh) {
            cursor->operations->close(cursor);
            base_snapshot_end(snapshot);
        }
    }
    if (!fresh) {
        cursor->operations->close(cursor);
        base_snapshot_end(snapshot);
    }
    double microseconds = (now() - start) / count * 1e6;
    printf("  %-28s %8.2f us\n", fresh ? "point read, own snapshot" : "point read, one cursor",
           microseconds);
    return microseconds;
}

/* LMDB's own get of keys like ours, for comparison. */
static void raw_gets(struct bench *bench)
{
    struct prng prng = prng_of_seed(5);
    const uint32_t count = 300000;
    struct kv_read *read = NULL;
    double start = now();
    must(kv_read_begin(bench->kv, &read));
    for (uint32_t i = 0; i < count; i++) {
        uint8_t key[64] = {2, 0, 0, 0, 0, 0, 0, 0, EXTENT};
        struct bytes row = make_row(prng_below(&prng, ROWS), 0);
        struct bytes value;
        bool found = false;
        memcpy(key + 9, row.data, row.size_bytes);
        must(kv_read_get(read, bytes_of(key, 9 + row.size_bytes), &value, &found));
        ASSERT(found);
    }
    kv_read_end(read);
    printf("  %-28s %8.2f us\n", "LMDB get", (now() - start) / count * 1e6);
}

static void load_rows(struct bench *bench, size_t prefix_bytes)
{
    uint8_t value[100];
    memset(value, 'v', sizeof value);
    double start = now();
    for (uint64_t i = 0; i < ROWS; i++) {
        struct entry entry = {.kind = ENTRY_PUT,
                              .family = 1,
                              .qualifier = bytes_of_text("q"),
                              .timestamp_us = 1700000000000000,
                              .value = bytes_of(value, sizeof value)};
        put(bench, make_row(i, prefix_bytes), &entry);
    }
    commit(bench);
    double seconds = now() - start;
    printf("  %-28s %8.0f k rows/s, %.0f bytes a row, %lu commits\n", "load in order",
           ROWS / seconds / 1e3, (double)used_bytes(bench) / ROWS, (unsigned long)bench->commits);
}

static void open_rows(struct bench *bench, size_t prefix_bytes)
{
    open_bench(bench);
    printf("1 M rows of 100 bytes, prefix of %zu bytes\n", prefix_bytes);
    load_rows(bench, prefix_bytes);
}

static void run_short(void)
{
    struct bench bench;
    open_rows(&bench, 0);
    raw_gets(&bench);
    scan(&bench, false);
    scan(&bench, true);
    point_reads(&bench, 0, false);
    point_reads(&bench, 0, true);
    close_bench(&bench);
}

/* One way of reading, in seconds or any other unit of time. */
static double read_some(struct bench *bench, size_t prefix_bytes, int way)
{
    switch (way) {
    case 0:
        return 1 / scan(bench, false);
    case 1:
        return 1 / scan(bench, true);
    default:
        return point_reads(bench, prefix_bytes, way == 3);
    }
}

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Each way in turns, short then long: what else the machine does meets both. */
static void run_prefix(void)
{
    enum {
        ROUNDS = 7,
        WAYS = 4
    };
    static const char *names[WAYS] = {"scan, keys only", "scan", "point read, one cursor",
                                      "point read, own snapshot"};
    struct bench plain;
    struct bench prefixed;
    double ratios[WAYS][ROUNDS];
    open_rows(&plain, 0);
    open_rows(&prefixed, PREFIX_BYTES);
    for (int round = 0; round < ROUNDS; round++) {
        for (int way = 0; way < WAYS; way++) {
            double time = read_some(&plain, 0, way);
            ratios[way][round] = read_some(&prefixed, PREFIX_BYTES, way) / time;
        }
    }
    printf("slower below the prefix, median of %d pairs (least, most)\n", ROUNDS);
    for (int way = 0; way < WAYS; way++) {
        qsort(ratios[way], ROUNDS, sizeof ratios[way][0], compare_doubles);
        printf("  %-28s %8.2f times (%.2f, %.2f)\n", names[way], ratios[way][ROUNDS / 2],
               ratios[way][0], ratios[way][ROUNDS - 1]);
    }
    close_bench(&plain);
    close_bench(&prefixed);
}

/* --- time series ------------------------------------------------------------------------------ */

static void run_series(void)
{
    static const char *metrics[] = {
        "cpu.idle",           "cpu.system",          "cpu.user.percent",  "disk.read.bytes",
        "disk.write.bytes",   "load.average.1m",     "memory.free.bytes", "memory.used.bytes",
        "network.rx.packets", "network.tx.packets.x"};
    struct bench bench;
    struct prng prng = prng_of_seed(1);
    const uint32_t hosts = 1000;
    const uint32_t rounds = 20;
    const uint32_t steps = 20; /* a flush holds so many times of each host */
    uint64_t cells = 0;
    open_bench(&bench);
    double start = now();
    for (uint32_t round = 0; round < rounds; round++) {
        bench.clock++;
        for (uint32_t host = 0; host < hosts; host++) {
            for (uint32_t step = 0; step < steps; step++) {
                char row[64];
                uint64_t second = 1700000000 + (uint64_t)(round * steps + step) * 10;
                snprintf(row, sizeof row, "host%06u#%lu", host, (unsigned long)second);
                for (int m = 0; m < 10; m++) {
                    uint64_t value = prng_next(&prng);
                    struct entry entry = {.kind = ENTRY_PUT,
                                          .family = 1,
                                          .qualifier = bytes_of_text(metrics[m]),
                                          .timestamp_us = (int64_t)second * 1000000,
                                          .value = bytes_of(&value, 8)};
                    put(&bench, bytes_of_text(row), &entry);
                    cells++;
                }
            }
        }
        commit(&bench);
    }
    double seconds = now() - start;
    printf("time series: %u hosts, rows host#time, 10 metrics of 8 bytes\n", hosts);
    printf("  %-28s %8.2f M cells/s\n", "load in time order", (double)cells / seconds / 1e6);
    printf("  %-28s %8.2f bytes, keys and values alone %.2f\n", "file, per cell",
           (double)used_bytes(&bench) / (double)cells, (double)bench.stored_bytes / (double)cells);
    scan(&bench, true);
    close_bench(&bench);
}

/* --- 1 000-byte values ------------------------------------------------------------------------ */

static int compare_numbers(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a;
    uint64_t y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static void run_random(void)
{
    enum {
        BATCH = 60000,
        BATCHES = 8
    };
    static uint64_t keys[BATCH];
    static uint8_t value[1000];
    struct bench bench;
    struct prng prng = prng_of_seed(9);
    memset(value, 'v', sizeof value);
    open_bench(&bench);
    printf("values of 1 000 bytes, random keys, memtables of %d\n", BATCH);
    for (int batch = 1; batch <= BATCHES; batch++) {
        double start = now();
        for (int i = 0; i < BATCH; i++) {
            keys[i] = prng_next(&prng) % 100000000000;
        }
        qsort(keys, BATCH, sizeof *keys, compare_numbers);
        for (int i = 0; i < BATCH; i++) {
            struct entry entry = {.kind = ENTRY_PUT,
                                  .family = 1,
                                  .qualifier = bytes_of_text("q"),
                                  .timestamp_us = 1700000000000000,
                                  .value = bytes_of(value, sizeof value)};
            put(&bench, make_row(keys[i], 0), &entry);
        }
        commit(&bench);
        printf("  memtable %d %28.0f k rows/s, %.0f bytes a row\n", batch,
               BATCH / (now() - start) / 1e3, (double)used_bytes(&bench) / (batch * BATCH));
    }
    scan(&bench, true);
    close_bench(&bench);
}

/* --- a wide row ------------------------------------------------------------------------------- */

static void read_first(struct bench *bench, const char *what)
{
    struct base_snapshot *snapshot = NULL;
    struct layer_cursor *cursor = NULL;
    struct bytes row;
    struct entry entry;
    bool found = false;
    double start = now();
    must(base_snapshot_begin(bench->base, &snapshot));
    must(base_cursor_open(snapshot, &WHOLE, 1, &cursor));
    must(
        cursor->operations->seek_row(cursor, ROW_AT_OR_AFTER, bytes_of_text("wide"), &row, &found));
    ASSERT(found);
    must(cursor->operations->seek_entry(cursor, 0, BYTES_EMPTY));
    must(cursor->operations->next_entry(cursor, &entry, &found));
    ASSERT(found);
    double first = now();
    must(cursor->operations->seek_row(cursor, ROW_AFTER, row, &row, &found));
    double next = now();
    cursor->operations->close(cursor);
    base_snapshot_end(snapshot);
    printf("  %-28s %8.1f us to the first entry, %.1f us to the next row\n", what,
           (first - start) * 1e6, (next - first) * 1e6);
}

static void sweep(struct bench *bench)
{
    const struct row_range all = {{NULL, 0}, {NULL, 0}};
    struct buffer resume = BUFFER_INIT;
    bool done = false;
    uint32_t steps = 0;
    double longest = 0;
    double start = now();
    while (!done) {
        double before = now();
        must(base_writer_begin(bench->base, &bench->writer));
        must(base_sweep_step(bench->writer, EXTENT, &all, &resume, UINT64_C(1) << 20, &done));
        commit(bench);
        double seconds = now() - before;
        longest = seconds > longest ? seconds : longest;
        steps++;
    }
    buffer_deinit(&resume);
    printf("  %-28s %8.2f s in %u steps, longest %.1f ms\n", "sweep", now() - start, steps,
           longest * 1e3);
}

static void run_wide(void)
{
    const uint32_t columns = 10000000;
    struct bench bench;
    open_bench(&bench);
    double start = now();
    for (uint32_t i = 0; i < columns; i++) {
        char qualifier[16];
        uint64_t value = i;
        snprintf(qualifier, sizeof qualifier, "c%08u", i);
        struct entry entry = {.kind = ENTRY_PUT,
                              .family = 1,
                              .qualifier = bytes_of_text(qualifier),
                              .timestamp_us = 1700000000000000,
                              .value = bytes_of(&value, 8)};
        put(&bench, bytes_of_text("wide"), &entry);
    }
    commit(&bench);
    printf("a row of 10 M columns\n");
    printf("  %-28s %8.2f M cells/s, %.1f bytes a cell\n", "load", columns / (now() - start) / 1e6,
           (double)used_bytes(&bench) / columns);
    read_first(&bench, "read");
    start = now();
    scan(&bench, true);
    printf("  %-28s %8.2f M cells/s\n", "all cells", columns / (now() - start) / 1e6);
    bench.clock++;
    struct entry erase = {.kind = ENTRY_ROW_DELETE};
    start = now();
    put(&bench, bytes_of_text("wide"), &erase);
    commit(&bench);
    printf("  %-28s %8.2f ms, synced\n", "delete", (now() - start) * 1e3);
    read_first(&bench, "read of the deleted row");
    sweep(&bench);
    close_bench(&bench);
}

/* --- a large value ---------------------------------------------------------------------------- */

static void run_value(void)
{
    const size_t size = 100 * 1000 * 1000;
    struct bench bench;
    uint8_t *data = malloc(size);
    ASSERT(data != NULL);
    memset(data, 'x', size);
    open_bench(&bench);
    struct entry entry = {.kind = ENTRY_PUT, .family = 1, .value = bytes_of(data, size)};
    double start = now();
    put(&bench, bytes_of_text("wide"), &entry);
    commit(&bench);
    printf("a value of 100 MB\n");
    printf("  %-28s %8.2f s, %.1f MB in the file\n", "write, synced", now() - start,
           (double)used_bytes(&bench) / 1e6);
    start = now();
    scan(&bench, true);
    printf("  %-28s %8.3f s\n", "read", now() - start);
    bench.clock++;
    struct entry erase = {.kind = ENTRY_ROW_DELETE};
    start = now();
    put(&bench, bytes_of_text("wide"), &erase);
    commit(&bench);
    printf("  %-28s %8.3f s\n", "erase", now() - start);
    close_bench(&bench);
    free(data);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } cases[] = {{"short", run_short},   {"prefix", run_prefix}, {"series", run_series},
                 {"random", run_random}, {"wide", run_wide},     {"value", run_value}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        bool chosen = argc == 1 && strcmp(cases[i].name, "short") != 0;
        for (int a = 1; a < argc; a++) {
            chosen = chosen || strcmp(argv[a], cases[i].name) == 0;
        }
        if (chosen) {
            cases[i].run();
        }
    }
    return 0;
}
