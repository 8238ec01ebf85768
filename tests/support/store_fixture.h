/*
 * A store in a folder of its own, driven by the test itself as the loop: pump until something is.
 */
#ifndef TESTS_SUPPORT_STORE_FIXTURE_H
#define TESTS_SUPPORT_STORE_FIXTURE_H

#include <criterion/criterion.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/base/endian.h"
#include "common/io/file.h"
#include "tabletserver/storage/copies/store_replica.h"
#include "tabletserver/storage/store/store.h"
#include "tests/support/test_folder.h"

#define FIXTURE_TIMEOUT_S 60
#define FIXTURE_PUMP_US   100 /* between two looks */
#define FIXTURE_STORE     7

struct fixture {
    char folder[256];
    struct store_settings settings;
    struct store *store;
    atomic_int_fast64_t now_us; /* moves by one with each look at it, or it would stand still */
    int64_t pump_clock_us;      /* and by so much while the test waits, between two looks */
    pthread_t loop;             /* who opened the store */
    uint32_t look_pause_us;     /* so long do threads of the store's own take to look at it */
    struct store_tablet *created;
    struct error created_error;
    uint64_t created_count;
    uint64_t dropped_count;
    uint64_t split_count;
    struct store_tablet *left;
    struct store_tablet *right;
    uint64_t failed_count;
    struct error failure;
    uint64_t committed_count;
    uint64_t synced; /* of the tablet that was told of last */
    uint64_t synced_count;
    uint64_t configured_count;
    uint64_t taught_count;
    uint64_t taught_tablets;   /* bits of their numbers, of those below 64 */
    enum status taught_status; /* of the last */
};

static struct family fixture_families[] = {
    {.number = 1, .name = {(const uint8_t *)"p", 1}},
    {.number = 2, .name = {(const uint8_t *)"q", 1}},
    {.number = 3, .name = {(const uint8_t *)"sum", 3}, .aggregate = AGGREGATE_INTSUM},
    {.number = 4, .name = {(const uint8_t *)"max", 3}, .aggregate = AGGREGATE_INTMAX},
};

static struct table fixture_table = {
    .number = 1,
    .version = 1,
    .id = {(const uint8_t *)"t", 1},
    .granularity = GRANULARITY_MICROS,
    .family_number_next = 5,
    .families = fixture_families,
    .family_count = 4,
};

static void fixture_wake(void *context)
{
    (void)context;
}

static int64_t fixture_now_us(void *context)
{
    struct fixture *fixture = context;
    if (fixture->look_pause_us > 0 && !pthread_equal(pthread_self(), fixture->loop)) {
        usleep(fixture->look_pause_us);
    }
    return atomic_fetch_add(&fixture->now_us, 1);
}

static void fixture_on_committed(void *context, struct store_tablet *tablet, uint64_t sequence)
{
    struct fixture *fixture = context;
    cr_assert_eq(store_tablet_committed(tablet), sequence);
    fixture->committed_count++;
}

static void fixture_on_created(void *context,
                               uint64_t number,
                               struct store_tablet *tablet,
                               const struct error *error)
{
    struct fixture *fixture = context;
    (void)number;
    fixture->created = tablet;
    if (tablet == NULL) {
        fixture->created_error = *error;
    }
    fixture->created_count++;
}

static void fixture_on_dropped(void *context, uint64_t number)
{
    (void)number;
    ((struct fixture *)context)->dropped_count++;
}

static void fixture_on_split(void *context,
                             struct store_tablet *parent,
                             struct store_tablet *left,
                             struct store_tablet *right)
{
    struct fixture *fixture = context;
    (void)parent;
    fixture->left = left;
    fixture->right = right;
    fixture->split_count++;
}

static void fixture_on_synced(void *context, struct store_tablet *tablet, uint64_t sequence)
{
    struct fixture *fixture = context;
    (void)tablet;
    fixture->synced = sequence;
    fixture->synced_count++;
}

static void fixture_on_configured(void *context, struct store_tablet *tablet)
{
    struct fixture *fixture = context;
    (void)tablet;
    fixture->configured_count++;
}

static void fixture_on_taught(void *context, struct store_tablet *tablet, enum status status)
{
    struct fixture *fixture = context;
    fixture->taught_count++;
    fixture->taught_tablets |= UINT64_C(1) << (store_tablet_describe(tablet)->tablet % 64);
    fixture->taught_status = status;
}

static void fixture_on_failed(void *context, const struct error *error)
{
    struct fixture *fixture = context;
    fixture->failed_count++;
    fixture->failure = *error;
}

static struct store_callbacks fixture_callbacks(struct fixture *fixture)
{
    return (struct store_callbacks){.context = fixture,
                                    .wake = fixture_wake,
                                    .now_us = fixture_now_us,
                                    .on_committed = fixture_on_committed,
                                    .on_created = fixture_on_created,
                                    .on_dropped = fixture_on_dropped,
                                    .on_split = fixture_on_split,
                                    .on_synced = fixture_on_synced,
                                    .on_configured = fixture_on_configured,
                                    .on_taught = fixture_on_taught,
                                    .on_failed = fixture_on_failed};
}

/* Small limits: what takes hours in life happens in a second here. */
__attribute__((unused)) static void fixture_init(struct fixture *fixture)
{
    memset(fixture, 0, sizeof *fixture);
    test_folder_make(fixture->folder, sizeof fixture->folder, "store");
    atomic_store(&fixture->now_us, INT64_C(1700000000000000));
    store_settings_default(&fixture->settings);
    fixture->settings.memory_limit_bytes = 64 << 20;
    fixture->settings.memtable_limit_bytes = 16 << 20;
    fixture->settings.log_limit_bytes = 64 << 20;
    fixture->settings.log_segment_bytes = 1 << 20;
    fixture->settings.map_size_bytes = UINT64_C(1) << 32;
    fixture->settings.flush_pace_percent = 100;
    fixture->settings.ballast_bytes = 0;
    fixture->settings.scrub_bytes_per_second = 0;
    fixture->settings.gc_interval_us = 0;
}

__attribute__((unused)) static enum status fixture_try_open(struct fixture *fixture,
                                                            uint64_t number,
                                                            struct error *ret_error)
{
    struct store_callbacks callbacks = fixture_callbacks(fixture);
    fixture->loop = pthread_self();
    return store_open(fixture->folder, number, &fixture->settings, &callbacks, &fixture->store,
                      ret_error);
}

__attribute__((unused)) static void fixture_open(struct fixture *fixture)
{
    struct error error;
    enum status status = fixture_try_open(fixture, FIXTURE_STORE, &error);
    cr_assert_eq(status, STATUS_OK, "%s", error.text);
    cr_assert_eq(store_set_table(fixture->store, &fixture_table), STATUS_OK);
}

__attribute__((unused)) static void fixture_close(struct fixture *fixture)
{
    store_close(fixture->store);
    fixture->store = NULL;
}

/* A store's folder holds files and one folder of files. */
static void fixture_remove(const char *folder, bool deeper)
{
    struct arena arena;
    char **names = NULL;
    size_t count = 0;
    arena_init(&arena, 1024, SIZE_MAX);
    if (file_list_folder(folder, &arena, &names, &count, NULL) == STATUS_OK) {
        for (size_t i = 0; i < count; i++) {
            char path[512];
            (void)snprintf(path, sizeof path, "%s/%s", folder, names[i]);
            if (remove(path) != 0 && deeper) {
                fixture_remove(path, false);
            }
        }
    }
    arena_deinit(&arena);
    (void)rmdir(folder);
}

__attribute__((unused)) static void fixture_deinit(struct fixture *fixture)
{
    if (fixture->store != NULL) {
        fixture_close(fixture);
    }
    fixture_remove(fixture->folder, true);
}

#define FIXTURE_PUMP_UNTIL(fixture, condition)                                   \
    do {                                                                         \
        time_t fixture_end = time(NULL) + FIXTURE_TIMEOUT_S;                     \
        store_poll((fixture)->store);                                            \
        while (!(condition)) {                                                   \
            cr_assert_lt(time(NULL), fixture_end, "waiting for %s", #condition); \
            usleep(FIXTURE_PUMP_US);                                             \
            atomic_fetch_add(&(fixture)->now_us, (fixture)->pump_clock_us);      \
            store_poll((fixture)->store);                                        \
        }                                                                        \
    } while (0)

__attribute__((unused)) static uint64_t fixture_flushes_pending(struct fixture *fixture)
{
    struct store_statistics numbers;
    store_statistics(fixture->store, &numbers);
    return numbers.flushes_pending;
}

__attribute__((unused)) static struct store_tablet *fixture_create(struct fixture *fixture,
                                                                   uint64_t number,
                                                                   const char *start,
                                                                   const char *end)
{
    struct store_tablet_descriptor descriptor = {
        .tablet = number,
        .table = 1,
        .configuration = 1,
        .range = {bytes_of_text(start), bytes_of_text(end)}};
    uint64_t before = fixture->created_count;
    cr_assert_eq(store_tablet_create(fixture->store, &descriptor), STATUS_OK);
    FIXTURE_PUMP_UNTIL(fixture, fixture->created_count > before);
    cr_assert_not_null(fixture->created, "%s", fixture->created_error.text);
    return fixture->created;
}

__attribute__((unused)) static enum status fixture_append(struct store_tablet *tablet,
                                                          const char *row,
                                                          const struct change *changes,
                                                          size_t count,
                                                          const struct request_id *request,
                                                          uint64_t *ret_sequence)
{
    struct record_entry entry = {
        .row = bytes_of_text(row), .changes = changes, .change_count = count};
    if (request != NULL) {
        entry.request = *request;
    }
    struct record_write write = {&entry, 1};
    struct store *store = store_tablet_store(tablet);
    return store_append_write(tablet, &write, store_next_clock(store), ret_sequence);
}

/* Takes the payload.  Returns the barrier's sequence. */
__attribute__((unused)) static uint64_t fixture_append_barrier(struct store_tablet *tablet,
                                                               enum record_type type,
                                                               struct buffer *payload)
{
    uint64_t sequence = 0;
    struct store *store = store_tablet_store(tablet);
    cr_assert_eq(store_append_barrier(tablet, type, buffer_bytes(payload), store_next_clock(store),
                                      &sequence),
                 STATUS_OK);
    buffer_deinit(payload);
    return sequence;
}

/* Append, commit, wait. */
__attribute__((unused)) static void fixture_write(struct fixture *fixture,
                                                  struct store_tablet *tablet,
                                                  const char *row,
                                                  const struct change *changes,
                                                  size_t count)
{
    uint64_t sequence = 0;
    cr_assert_eq(fixture_append(tablet, row, changes, count, NULL, &sequence), STATUS_OK);
    store_commit(fixture->store);
    FIXTURE_PUMP_UNTIL(fixture, store_tablet_committed(tablet) >= sequence);
}

__attribute__((unused)) static struct change fixture_put(uint32_t family,
                                                         const char *qualifier,
                                                         int64_t timestamp_us,
                                                         const char *value)
{
    return (struct change){.kind = CHANGE_PUT,
                           .family = family,
                           .qualifier = bytes_of_text(qualifier),
                           .timestamp_us = timestamp_us,
                           .value = bytes_of_text(value)};
}

/* An add; operand lives as long as the caller's eight bytes. */
__attribute__((unused)) static struct change fixture_add(uint32_t family,
                                                         const char *qualifier,
                                                         int64_t input,
                                                         uint8_t operand[8])
{
    store_be64(operand, (uint64_t)input);
    return (struct change){.kind = CHANGE_FOLD,
                           .family = family,
                           .aggregate = family == 3 ? AGGREGATE_INTSUM : AGGREGATE_INTMAX,
                           .qualifier = bytes_of_text(qualifier),
                           .value = bytes_of(operand, 8)};
}

/* The tablet's visible cells as text, "row/family:qualifier@timestamp=value\n", appended. */
__attribute__((unused)) static void fixture_dump_at(struct store_tablet *tablet,
                                                    const struct table *table,
                                                    enum store_read_point point,
                                                    int64_t now_us,
                                                    struct buffer *out)
{
    struct store_read *read = NULL;
    cr_assert_eq(store_read_begin(tablet, table, point, now_us, &read), STATUS_OK);
    struct row_reader *reader = store_read_reader(read);
    struct buffer row = BUFFER_INIT;
    struct bytes found_row = BYTES_EMPTY;
    bool found = false;
    cr_assert_eq(row_reader_seek(reader, ROW_AT_OR_AFTER, BYTES_EMPTY, &found_row, &found),
                 STATUS_OK);
    while (found) {
        buffer_reset(&row);
        buffer_append_bytes(&row, found_row);
        struct cell_source source = row_reader_source(reader);
        struct cell cell;
        bool more = false;
        cr_assert_eq(source.rewind(source.context, 0, BYTES_EMPTY), STATUS_OK);
        cr_assert_eq(source.next(source.context, CELL_NEXT, &cell, &more), STATUS_OK);
        while (more) {
            const struct family *family = table_family_by_number(table, cell.family);
            buffer_append_format(out, "%.*s/%u:%.*s@%lld=", (int)row.size_bytes,
                                 (const char *)row.data, cell.family,
                                 (int)cell.qualifier.size_bytes, (const char *)cell.qualifier.data,
                                 (long long)cell.timestamp_us);
            if (family->aggregate != AGGREGATE_NONE) {
                cr_assert_eq(cell.value.size_bytes, 8);
                buffer_append_format(out, "%lld\n", (long long)load_be64(cell.value.data));
            } else {
                buffer_append_bytes(out, cell.value);
                buffer_append_u8(out, '\n');
            }
            cr_assert_eq(source.next(source.context, CELL_NEXT, &cell, &more), STATUS_OK);
        }
        cr_assert_eq(row_reader_seek(reader, ROW_AFTER, buffer_bytes(&row), &found_row, &found),
                     STATUS_OK);
    }
    buffer_deinit(&row);
    store_read_end(read);
}

/* NUL-terminated, freed by the caller. */
__attribute__((unused)) static char *fixture_dump(struct store_tablet *tablet)
{
    struct buffer out = BUFFER_INIT;
    size_t size = 0;
    fixture_dump_at(tablet, &fixture_table, STORE_READ_COMMITTED, 0, &out);
    buffer_append_u8(&out, 0);
    return (char *)buffer_detach(&out, &size);
}

#define FIXTURE_EXPECT(tablet, text)               \
    do {                                           \
        char *fixture_text = fixture_dump(tablet); \
        cr_assert_str_eq(fixture_text, (text));    \
        free(fixture_text);                        \
    } while (0)

__attribute__((unused)) static void fixture_flush(struct fixture *fixture)
{
    store_flush_all(fixture->store);
    FIXTURE_PUMP_UNTIL(fixture, fixture_flushes_pending(fixture) == 0);
}

#endif /* TESTS_SUPPORT_STORE_FIXTURE_H */
