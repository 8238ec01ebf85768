/*
 * Rows that are large in every way: columns without number, values without end, versions without
 * measure.  Small here; tests/full runs the same at the size that is promised.
 */
#include "tests/support/store_fixture.h"

#include "common/base/memory.h"

#ifndef LARGE_COLUMNS
#    define LARGE_COLUMNS       30000
#    define LARGE_ROW_BYTES     (16 * 1024 * 1024)
#    define LARGE_VALUE         (2 * 1024 * 1024)
#    define LARGE_VERSIONS      10080
#    define LARGE_PREFIXED      20000
#    define LARGE_PREFIX_FACTOR 10 /* so few short keys are all in the cache */
#    define LARGE_TIME_LIMIT    30
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

static double seconds(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
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

static double read_rows(struct store_tablet *tablet, const uint8_t *prefix, size_t prefix_bytes)
{
    uint8_t key[1100];
    double begin = seconds();
    memcpy(key, prefix, prefix_bytes);
    for (uint64_t i = 0; i < 4000; i++) {
        struct store_read *read = NULL;
        struct bytes row;
        bool found = false;
        store_be64(key + prefix_bytes, i * 7919 % LARGE_PREFIXED);
        cr_assert_eq(store_read_begin(tablet, &fixture_table, STORE_READ_COMMITTED, 0, &read),
                     STATUS_OK);
        cr_assert_eq(row_reader_seek(store_read_reader(read), ROW_AT_OR_AFTER,
                                     bytes_of(key, prefix_bytes + 8), &row, &found),
                     STATUS_OK);
        cr_assert(found && bytes_equal(row, bytes_of(key, prefix_bytes + 8)));
        store_read_end(read);
    }
    return seconds() - begin;
}

/* A million rows that share a thousand bytes are read at most twice as slowly as short keys. */
Test(store_large, long_shared_prefix)
{
    uint8_t prefix[1001];
    uint8_t key[1100];
    memset(prefix, 'p', sizeof prefix);
    prefix[0] = 'z';
    struct change change = fixture_put(1, "c", 1, "v");
    struct store_tablet *tablet = fixture_create(&fixture, 1, "", "");
    size_t sizes[2] = {1, 1000};
    double times[2];
    for (int kind = 0; kind < 2; kind++) {
        prefix[0] = kind == 0 ? 's' : 'z';
        memcpy(key, prefix, sizes[kind]);
        for (uint64_t i = 0; i < LARGE_PREFIXED; i++) {
            store_be64(key + sizes[kind], i);
            append(tablet, bytes_of(key, sizes[kind] + 8), &change, 1);
        }
    }
    settle(tablet);
    /* The best of several rounds, in turns: the machine may be busy with something else. */
    for (int round = 0; round < 8; round++) {
        for (int kind = 0; kind < 2; kind++) {
            prefix[0] = kind == 0 ? 's' : 'z';
            double time = read_rows(tablet, prefix, sizes[kind]);
            times[kind] = round == 0 || time < times[kind] ? time : times[kind];
        }
    }
    cr_assert_lt(times[1], LARGE_PREFIX_FACTOR * times[0], "%f and %f s", times[0], times[1]);
}
