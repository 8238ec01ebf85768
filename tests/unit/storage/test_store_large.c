/*
 * Rows that are large in every way: columns without number, values without end, versions without
 * measure.  Small here; tests/full runs the same at the size that is promised.
 */
#include "tests/support/store_fixture.h"

#include "common/base/assert.h"
#include "common/base/memory.h"

#ifndef LARGE_COLUMNS
#    define LARGE_COLUMNS         30000
#    define LARGE_ROW_BYTES       (16 * 1024 * 1024)
#    define LARGE_VALUE           (2 * 1024 * 1024)
#    define LARGE_VERSIONS        10080
#    define LARGE_PREFIXED        20000
#    define LARGE_PREFIXED_POINTS 4000
#    define LARGE_PREFIX_FACTOR   10 /* so few short keys are all in the cache */
#    define LARGE_TIME_LIMIT      30
#endif

#define BATCH 1000

static struct fixture fixture;

static void setup(void)
{
    fixture_init(&fixture);
    fixture.settings.map_size_bytes = UINT64_C(1) << 36;
    fixture.settings.memory_limit_bytes = 256 << 20;
    fixture.settings.memtable_limit_bytes = LARGE_ROW_BYTES / 4;
    fixture.settings.log_segment_bytes = 16 << 20;
    fixture_open(&fixture);
}

static void teardown(void)
{
    fixture_deinit(&fixture);
}

TestSuite(store_large, .init = setup, .fini = teardown, .timeout = 3000);

static uint64_t last_sequence;

static void append(struct store_tablet *tablet, struct bytes row, struct change *changes, size_t n)
{
    struct record_entry entry = {.row = row, .changes = changes, .change_count = n};
    struct record_write write = {&entry, 1};
    enum status status = STATUS_RESOURCE_EXHAUSTED;
    while (status == STATUS_RESOURCE_EXHAUSTED) {
        status = store_append_write(tablet, &write, store_next_clock(fixture.store),
                                    &last_sequence);
        store_commit(fixture.store);
        store_poll(fixture.store);
    }
    cr_assert_eq(status, STATUS_OK, "%s", status_text(status));
}

static void settle(struct store_tablet *tablet)
{
    FIXTURE_PUMP_UNTIL(&fixture, store_tablet_committed(tablet) == store_tablet_prepared(tablet));
    fixture_flush(&fixture);
}

static struct bytes column_name(uint8_t name[8], uint64_t column)
{
    store_be64(name, column);
    return bytes_of(name, 8);
}

/* Cells of the only row, from (family 1, from) on, up to `limit`; the first one's column. */
static uint64_t count_cells(struct store_tablet *tablet,
                            struct bytes from,
                            uint64_t limit,
                            uint64_t *ret_first)
{
    struct store_read *read = NULL;
    struct bytes row;
    struct cell cell;
    bool found = false;
    uint64_t count = 0;
    cr_assert_eq(store_read_begin(tablet, &fixture_table, STORE_READ_COMMITTED, 0, &read),
                 STATUS_OK);
    cr_assert_eq(
        row_reader_seek(store_read_reader(read), ROW_AT_OR_AFTER, BYTES_EMPTY, &row, &found),
        STATUS_OK);
    if (found) {
        struct cell_source source = row_reader_source(store_read_reader(read));
        cr_assert_eq(source.rewind(source.context, 1, from), STATUS_OK);
        cr_assert_eq(source.next(source.context, CELL_NEXT, &cell, &found), STATUS_OK);
        *ret_first = found ? load_be64(cell.qualifier.data) : UINT64_MAX;
        while (found && ++count < limit) {
            cr_assert_eq(source.next(source.context, CELL_NEXT, &cell, &found), STATUS_OK);
        }
    }
    store_read_end(read);
    return count;
}

/* Of this process, on a processor: what others do on the machine is no matter. */
static double seconds(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

Test(store_large, row_of_many_columns)
{
    static uint8_t names[BATCH][8];
    struct change changes[BATCH];
    struct bytes row = bytes_of_text("wide");
    struct store_tablet *tablet = fixture_create(&fixture, 1, "", "");
    for (uint64_t i = 0; i < LARGE_COLUMNS; i += BATCH) {
        for (uint64_t j = 0; j < BATCH; j++) {
            changes[j] = (struct change){.kind = CHANGE_PUT,
                                         .family = 1,
                                         .qualifier = column_name(names[j], i + j),
                                         .timestamp_us = 1,
                                         .value = bytes_of_text("v")};
        }
        append(tablet, row, changes, BATCH);
    }
    settle(tablet);
    uint8_t name[8];
    uint64_t first = 0;
    /* The first cell, or one in the middle, costs no more than that. */
    double begin = seconds();
    for (uint64_t i = 0; i < 100; i++) {
        uint64_t column = i * (LARGE_COLUMNS / 100);
        cr_assert_eq(count_cells(tablet, column_name(name, column), 1, &first), 1);
        cr_assert_eq(first, column);
    }
    cr_assert_lt(seconds() - begin, 2.0);
    cr_assert_eq(count_cells(tablet, BYTES_EMPTY, UINT64_MAX, &first), LARGE_COLUMNS);
    /* One column, then the row, deleted. */
    changes[0] = (struct change){.kind = CHANGE_DELETE_CELLS,
                                 .family = 1,
                                 .qualifier = column_name(name, 0),
                                 .end_us = INT64_MAX};
    append(tablet, row, changes, 1);
    settle(tablet);
    cr_assert_eq(count_cells(tablet, BYTES_EMPTY, UINT64_MAX, &first), LARGE_COLUMNS - 1);
    cr_assert_eq(first, 1);
    changes[0] = (struct change){.kind = CHANGE_DELETE_ROW};
    begin = seconds();
    append(tablet, row, changes, 1);
    settle(tablet);
    cr_assert_lt(seconds() - begin, LARGE_TIME_LIMIT);
    cr_assert_eq(count_cells(tablet, BYTES_EMPTY, UINT64_MAX, &first), 0);
    store_check(fixture.store);
}

/* Reopened in the middle of its flush, as well. */
Test(store_large, row_of_many_bytes)
{
    uint8_t *value = memory_allocate(LARGE_VALUE);
    uint8_t name[8];
    uint64_t columns = LARGE_ROW_BYTES / LARGE_VALUE;
    struct store_tablet *tablet = fixture_create(&fixture, 1, "", "");
    for (uint64_t i = 0; i < columns; i++) {
        memset(value, (int)(i + 1), LARGE_VALUE);
        struct change change = {.kind = CHANGE_PUT,
                                .family = 1,
                                .qualifier = column_name(name, i),
                                .timestamp_us = 1,
                                .value = bytes_of(value, LARGE_VALUE)};
        append(tablet, bytes_of_text("fat"), &change, 1);
    }
    FIXTURE_PUMP_UNTIL(&fixture, store_tablet_committed(tablet) == store_tablet_prepared(tablet));
    store_flush_all(fixture.store);
    usleep(20000);
    fixture_close(&fixture);
    fixture_open(&fixture);
    tablet = store_tablet_find(fixture.store, 1);
    for (int round = 0; round < 2; round++) {
        struct store_read *read = NULL;
        struct bytes row;
        struct cell cell;
        bool found = false;
        cr_assert_eq(store_read_begin(tablet, &fixture_table, STORE_READ_COMMITTED, 0, &read),
                     STATUS_OK);
        cr_assert_eq(
            row_reader_seek(store_read_reader(read), ROW_AT_OR_AFTER, BYTES_EMPTY, &row, &found),
            STATUS_OK);
        struct cell_source source = row_reader_source(store_read_reader(read));
        cr_assert_eq(source.rewind(source.context, 0, BYTES_EMPTY), STATUS_OK);
        for (uint64_t i = 0; i < columns; i++) {
            cr_assert_eq(source.next(source.context, CELL_NEXT, &cell, &found), STATUS_OK);
            cr_assert(found);
            cr_assert_eq(cell.value.size_bytes, LARGE_VALUE);
            memset(value, (int)(i + 1), LARGE_VALUE);
            cr_assert_eq(memcmp(cell.value.data, value, LARGE_VALUE), 0);
        }
        cr_assert_eq(source.next(source.context, CELL_NEXT, &cell, &found), STATUS_OK);
        cr_assert_not(found);
        store_read_end(read);
        settle(tablet);
    }
    memory_free(value);
}

Test(store_large, column_of_many_versions)
{
    struct change changes[BATCH];
    uint8_t name[8];
    struct store_tablet *tablet = fixture_create(&fixture, 1, "", "");
    uint64_t written = 0;
    while (written < LARGE_VERSIONS) {
        size_t count = 0;
        for (; count < BATCH && written < LARGE_VERSIONS; count++, written++) {
            changes[count] = (struct change){.kind = CHANGE_PUT,
                                             .family = 1,
                                             .qualifier = column_name(name, 5),
                                             .timestamp_us = (int64_t)written * 60000000,
                                             .value = bytes_of_text("v")};
        }
        append(tablet, bytes_of_text("week"), changes, count);
    }
    uint64_t first = 0;
    FIXTURE_PUMP_UNTIL(&fixture, store_tablet_committed(tablet) == last_sequence);
    cr_assert_eq(count_cells(tablet, BYTES_EMPTY, UINT64_MAX, &first), LARGE_VERSIONS);
    settle(tablet);
    cr_assert_eq(count_cells(tablet, BYTES_EMPTY, UINT64_MAX, &first), LARGE_VERSIONS);
    /* Half of them go. */
    changes[0] = (struct change){.kind = CHANGE_DELETE_CELLS,
                                 .family = 1,
                                 .qualifier = column_name(name, 5),
                                 .end_us = (int64_t)(LARGE_VERSIONS / 2) * 60000000};
    append(tablet, bytes_of_text("week"), changes, 1);
    settle(tablet);
    cr_assert_eq(count_cells(tablet, BYTES_EMPTY, UINT64_MAX, &first),
                 LARGE_VERSIONS - LARGE_VERSIONS / 2);
}

/* How rows are read: what is asked for is the same of each way, at most so much slower. */
enum way {
    WAY_SCAN,
    WAY_ONE_READ,  /* points, all in one snapshot, by one cursor */
    WAY_OWN_READS, /* points, each in a snapshot of its own, as requests do */
    WAY_COUNT,
};

static const char *const way_names[WAY_COUNT] = {"scan", "points, one read", "points, own reads"};

struct prefixed {
    struct store_tablet *tablet;
    struct store_read *read;
    size_t prefix_bytes;
    uint8_t key[1100];
};

static void prefixed_begin(struct prefixed *rows)
{
    cr_assert_eq(
        store_read_begin(rows->tablet, &fixture_table, STORE_READ_COMMITTED, 0, &rows->read),
        STATUS_OK);
}

/* The row's only cell: exactly the row asked for and its value. */
static void prefixed_read(struct prefixed *rows, enum row_seek seek, uint64_t expected)
{
    struct row_reader *reader = store_read_reader(rows->read);
    struct bytes row;
    struct cell cell;
    bool found = false;
    cr_assert_eq(
        row_reader_seek(reader, seek, bytes_of(rows->key, rows->prefix_bytes + 8), &row, &found),
        STATUS_OK);
    store_be64(rows->key + rows->prefix_bytes, expected);
    ASSERT(found && bytes_equal(row, bytes_of(rows->key, rows->prefix_bytes + 8)));
    struct cell_source source = row_reader_source(reader);
    ASSERT(source.rewind(source.context, 0, BYTES_EMPTY) == STATUS_OK);
    ASSERT(source.next(source.context, CELL_NEXT, &cell, &found) == STATUS_OK);
    ASSERT(found && cell.value.size_bytes == 1);
}

static double time_rows(struct store_tablet *tablet, enum way way, size_t prefix_bytes)
{
    struct prefixed rows = {.tablet = tablet, .prefix_bytes = prefix_bytes};
    uint64_t count = way == WAY_SCAN ? LARGE_PREFIXED : LARGE_PREFIXED_POINTS;
    memset(rows.key, 'p', prefix_bytes);
    rows.key[0] = prefix_bytes == 1 ? 's' : 'z';
    double begin = seconds();
    for (uint64_t i = 0; i < count; i++) {
        uint64_t number = way == WAY_SCAN ? i : i * 7919 % LARGE_PREFIXED;
        if (i == 0 || way == WAY_OWN_READS) {
            prefixed_begin(&rows);
        }
        enum row_seek seek = way == WAY_SCAN && i > 0 ? ROW_AFTER : ROW_AT_OR_AFTER;
        store_be64(rows.key + prefix_bytes, seek == ROW_AFTER ? number - 1 : number);
        prefixed_read(&rows, seek, number);
        if (i + 1 == count || way == WAY_OWN_READS) {
            store_read_end(rows.read);
        }
    }
    return seconds() - begin;
}

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

/* A million rows that share a thousand bytes are read at most twice as slowly as short keys, in
 * every way.  Short and long are timed in turns and the median of the pairs' ratios counts: the
 * machine may be busy with something else. */
Test(store_large, long_shared_prefix)
{
    enum {
        ROUNDS = 9
    };
    uint8_t key[1100];
    const size_t sizes[2] = {1, 1000};
    struct change change = fixture_put(1, "c", 1, "v");
    struct store_tablet *tablet = fixture_create(&fixture, 1, "", "");
    for (int kind = 0; kind < 2; kind++) {
        memset(key, 'p', sizes[kind]);
        key[0] = kind == 0 ? 's' : 'z';
        for (uint64_t i = 0; i < LARGE_PREFIXED; i++) {
            store_be64(key + sizes[kind], i);
            append(tablet, bytes_of(key, sizes[kind] + 8), &change, 1);
        }
    }
    settle(tablet);
    for (int way = 0; way < WAY_COUNT; way++) {
        double ratios[ROUNDS];
        for (int round = 0; round < ROUNDS; round++) {
            double plain = time_rows(tablet, (enum way)way, sizes[0]);
            ratios[round] = time_rows(tablet, (enum way)way, sizes[1]) / plain;
        }
        qsort(ratios, ROUNDS, sizeof *ratios, compare_doubles);
        cr_log_info("%s: %.2f times slower (%.2f to %.2f)", way_names[way], ratios[ROUNDS / 2],
                    ratios[0], ratios[ROUNDS - 1]);
        cr_assert_lt(ratios[ROUNDS / 2], LARGE_PREFIX_FACTOR, "%s: %f times slower", way_names[way],
                     ratios[ROUNDS / 2]);
    }
}
