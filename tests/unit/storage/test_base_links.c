/*
 * Paths of long keys that readers remember (base_links.h): right in every snapshot, whatever was
 * removed, made anew or aborted meanwhile, and whoever else reads.  The thread test is for tsan.
 */
#include <criterion/criterion.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/base/prng.h"
#include "tabletserver/storage/base/base.h"

#define EXTENT       5
#define PREFIX_BYTES 1000
#define ROWS         4
#define ABSENT       (-1)
#define NO_MEMORY    (-2)

static const struct base_piece WHOLE = {{{NULL, 0}, {NULL, 0}}, EXTENT};

struct fixture {
    struct kv *kv;
    struct base *base;
    struct base_writer *writer;
    uint64_t clock;
};

struct key {
    uint8_t data[PREFIX_BYTES + 16];
    size_t size_bytes;
};

static struct fixture fixture_open(void)
{
    struct fixture fixture = {.clock = 1};
    struct error error = {0};
    cr_assert_eq(kv_create_in_memory(&fixture.kv), STATUS_OK);
    cr_assert_eq(base_open(fixture.kv, &fixture.base, &error), STATUS_OK);
    return fixture;
}

static void fixture_close(struct fixture *fixture)
{
    base_close(fixture->base);
    kv_close(fixture->kv);
}

static void begin(struct fixture *fixture)
{
    cr_assert_eq(base_writer_begin(fixture->base, &fixture->writer), STATUS_OK);
}

static void commit(struct fixture *fixture)
{
    cr_assert_eq(base_writer_commit(fixture->writer), STATUS_OK);
    fixture->clock++;
}

/* Row `number` below a thousand bytes that begin with `first`. */
static struct key make_key(unsigned first, int number)
{
    struct key key;
    memset(key.data, 'p', PREFIX_BYTES);
    snprintf((char *)key.data, 16, "%06u", first);
    key.data[6] = 'p';
    key.size_bytes = PREFIX_BYTES +
                     (size_t)snprintf((char *)key.data + PREFIX_BYTES, 16, "%04d", number);
    return key;
}

static struct bytes key_bytes(const struct key *key)
{
    return bytes_of(key->data, key->size_bytes);
}

static void put(struct fixture *fixture, struct bytes row, int column, uint8_t value, size_t size)
{
    uint8_t data[600];
    char qualifier[16];
    snprintf(qualifier, sizeof qualifier, "c%06d", column);
    memset(data, value, sizeof data);
    struct entry entry = {.kind = ENTRY_PUT,
                          .family = 1,
                          .qualifier = bytes_of_text(qualifier),
                          .timestamp_us = 1000,
                          .stamp = {fixture->clock, 0, 0},
                          .value = bytes_of(data, size)};
    cr_assert_eq(base_writer_put(fixture->writer, EXTENT, row, &entry), STATUS_OK);
}

static void put_rows(struct fixture *fixture, unsigned first, uint8_t value)
{
    for (int i = 0; i < ROWS; i++) {
        struct key key = make_key(first, i);
        put(fixture, key_bytes(&key), 0, value, 1);
    }
}

/* The first byte of the row's first value, in a snapshot: as a point read has it. */
static int look_in(struct base_snapshot *snapshot, struct bytes wanted)
{
    struct layer_cursor *cursor = NULL;
    struct bytes row;
    struct entry entry;
    bool found = false;
    int value = ABSENT;
    enum status status = base_cursor_open(snapshot, &WHOLE, 1, &cursor);
    if (status == STATUS_OK) {
        status = cursor->operations->seek_row(cursor, ROW_AT_OR_AFTER, wanted, &row, &found);
        if (status == STATUS_OK && found && bytes_equal(row, wanted)) {
            status = cursor->operations->seek_entry(cursor, 0, BYTES_EMPTY);
            while (status == STATUS_OK && found && value == ABSENT) {
                status = cursor->operations->next_entry(cursor, &entry, &found);
                bool is_value = status == STATUS_OK && found && entry.kind == ENTRY_PUT;
                value = is_value ? entry.value.data[0] : value;
            }
        }
        cursor->operations->close(cursor);
    }
    return status == STATUS_OK ? value : status == STATUS_NO_MEMORY ? NO_MEMORY : -3;
}

static int look(struct fixture *fixture, unsigned first, int number)
{
    struct key key = make_key(first, number);
    struct base_snapshot *snapshot = NULL;
    enum status status = base_snapshot_begin(fixture->base, &snapshot);
    if (status != STATUS_OK) {
        return status == STATUS_NO_MEMORY ? NO_MEMORY : -3;
    }
    int value = look_in(snapshot, key_bytes(&key));
    base_snapshot_end(snapshot);
    return value;
}

/* Several times, so that the path is remembered. */
static void expect_in(struct base_snapshot *snapshot, unsigned first, int value)
{
    for (int i = 0; i < 3 * ROWS; i++) {
        struct key key = make_key(first, i % ROWS);
        cr_assert_eq(look_in(snapshot, key_bytes(&key)), value);
    }
}

static void expect(struct fixture *fixture, unsigned first, int value)
{
    for (int i = 0; i < 3 * ROWS; i++) {
        cr_assert_eq(look(fixture, first, i % ROWS), value);
    }
}

/* A seek that begins below the prefix and finds nothing there goes on behind it. */
static void expect_behind(struct base_snapshot *snapshot, unsigned first, const char *behind)
{
    struct layer_cursor *cursor = NULL;
    struct key key = make_key(first, ROWS + 1);
    struct bytes row;
    bool found = false;
    cr_assert_eq(base_cursor_open(snapshot, &WHOLE, 1, &cursor), STATUS_OK);
    cr_assert_eq(
        cursor->operations->seek_row(cursor, ROW_AT_OR_AFTER, key_bytes(&key), &row, &found),
        STATUS_OK);
    cr_assert(found && bytes_equal(row, bytes_of_text(behind)));
    cursor->operations->close(cursor);
}

/* --- removed and made anew -------------------------------------------------------------------- */

enum removal {
    BY_DELETES, /* applied on the spot */
    BY_ERASE,   /* of a range of rows */
    BY_SWEEP,   /* of a stored tombstone: the rows have too many chunks */
    REMOVALS,
};

static void put_wide(struct fixture *fixture, unsigned first, uint8_t value)
{
    for (int i = 0; i < ROWS; i++) {
        struct key key = make_key(first, i);
        for (int column = 0; column < 100; column++) {
            put(fixture, key_bytes(&key), column, value, 600);
        }
    }
}

static void remove_rows(struct fixture *fixture, unsigned first, enum removal removal)
{
    struct key low = make_key(first, 0);
    struct key high = make_key(first, ROWS);
    const struct row_range range = {key_bytes(&low), key_bytes(&high)};
    struct buffer resume = BUFFER_INIT;
    bool done = false;
    begin(fixture);
    if (removal != BY_ERASE) {
        for (int i = 0; i < ROWS; i++) {
            struct key key = make_key(first, i);
            struct entry entry = {.kind = ENTRY_ROW_DELETE, .stamp = {fixture->clock, 0, 0}};
            cr_assert_eq(base_writer_put(fixture->writer, EXTENT, key_bytes(&key), &entry),
                         STATUS_OK);
        }
        commit(fixture);
        begin(fixture);
    }
    while (!done && removal != BY_DELETES) {
        const struct stamp all = {UINT64_MAX, 0, 0};
        cr_assert_eq(
            removal == BY_ERASE
                ? base_erase_step(fixture->writer, EXTENT, &range, all, &resume, 10000, &done)
                : base_sweep_step(fixture->writer, EXTENT, &range, &resume, 10000, &done),
            STATUS_OK);
        commit(fixture);
        (void)look(fixture, first, 1); /* in the middle of it: whatever, but no harm */
        begin(fixture);
    }
    commit(fixture);
    buffer_deinit(&resume);
}

Test(base_links, each_snapshot_sees_its_own_path)
{
    for (int removal = 0; removal < REMOVALS; removal++) {
        struct fixture fixture = fixture_open();
        struct base_snapshot *old = NULL;
        struct base_snapshot *between = NULL;
        void (*fill)(struct fixture *, unsigned, uint8_t) = removal == BY_SWEEP ? put_wide
                                                                                : put_rows;
        begin(&fixture);
        fill(&fixture, 7, 'a');
        put(&fixture, bytes_of_text("z"), 0, 'z', 1);
        commit(&fixture);
        expect(&fixture, 7, 'a');
        cr_assert_eq(base_snapshot_begin(fixture.base, &old), STATUS_OK);
        expect_in(old, 7, 'a');
        remove_rows(&fixture, 7, (enum removal)removal);
        expect(&fixture, 7, ABSENT);
        cr_assert_eq(base_snapshot_begin(fixture.base, &between), STATUS_OK);
        begin(&fixture);
        fill(&fixture, 7, 'b');
        commit(&fixture);
        for (int round = 0; round < 4; round++) {
            expect(&fixture, 7, 'b');
            expect_in(round % 2 == 0 ? old : between, 7, round % 2 == 0 ? 'a' : ABSENT);
            expect(&fixture, 7, 'b');
            expect_in(between, 7, ABSENT);
            expect_behind(between, 7, "z");
            expect_in(old, 7, 'a');
            expect_behind(old, 7, "z");
        }
        /* And once more, with nobody left who knows the path that was. */
        base_snapshot_end(old);
        base_snapshot_end(between);
        remove_rows(&fixture, 7, (enum removal)removal);
        expect(&fixture, 7, ABSENT);
        begin(&fixture);
        put_rows(&fixture, 8, 'c');
        commit(&fixture);
        expect(&fixture, 7, ABSENT);
        expect(&fixture, 8, 'c');
        fixture_close(&fixture);
    }
}

Test(base_links, an_extent_erased_as_a_whole_is_empty)
{
    struct fixture fixture = fixture_open();
    struct buffer resume = BUFFER_INIT;
    const struct stamp all = {UINT64_MAX, 0, 0};
    const struct row_range whole = {{NULL, 0}, {NULL, 0}};
    bool done = false;
    begin(&fixture);
    put_rows(&fixture, 7, 'a');
    commit(&fixture);
    expect(&fixture, 7, 'a');
    begin(&fixture);
    cr_assert_eq(base_erase_step(fixture.writer, EXTENT, &whole, all, &resume, UINT64_MAX, &done),
                 STATUS_OK);
    cr_assert(done);
    commit(&fixture);
    expect(&fixture, 7, ABSENT);
    buffer_deinit(&resume);
    fixture_close(&fixture);
}

/* The number of a sublayer whose transaction was aborted is given again, to another path. */
Test(base_links, what_was_aborted_is_not_remembered)
{
    struct fixture fixture = fixture_open();
    begin(&fixture);
    put_rows(&fixture, 7, 'a');
    expect(&fixture, 7, ABSENT);
    base_writer_abort(fixture.writer);
    expect(&fixture, 7, ABSENT);
    begin(&fixture);
    put_rows(&fixture, 8, 'b');
    commit(&fixture);
    for (int round = 0; round < 3; round++) {
        expect(&fixture, 7, ABSENT);
        expect(&fixture, 8, 'b');
    }
    fixture_close(&fixture);
}

/* --- many paths, little memory ---------------------------------------------------------------- */

Test(base_links, more_paths_than_places)
{
    enum {
        PATHS = 300
    };
    struct fixture fixture = fixture_open();
    struct prng prng = prng_of_seed(3);
    begin(&fixture);
    for (unsigned path = 0; path < PATHS; path++) {
        put_rows(&fixture, path, (uint8_t)(1 + path % 200));
    }
    commit(&fixture);
    for (int i = 0; i < 5000; i++) {
        /* Mostly some few, which are remembered, and now and then any. */
        unsigned path = (unsigned)prng_below(&prng, prng_chance(&prng, 4) ? PATHS : 8);
        int value = look(&fixture, path, (int)prng_below(&prng, ROWS));
        cr_assert_eq(value, 1 + (int)path % 200);
    }
    fixture_close(&fixture);
}

Test(base_links, without_memory_nothing_wrong_is_read)
{
    for (uint64_t after = 0; after < 60; after++) {
        struct fixture fixture = fixture_open();
        begin(&fixture);
        put_rows(&fixture, 7, 'a');
        commit(&fixture);
        (void)look(&fixture, 7, 0);
        for (int follow = 0; follow < 2; follow++) {
            memory_fail_arm(after, follow);
            for (int i = 0; i < 6; i++) {
                int value = look(&fixture, 7, i % ROWS);
                if (value != 'a' && value != NO_MEMORY) {
                    memory_fail_disarm();
                    cr_assert_fail("%d after %lu", value, (unsigned long)after);
                }
            }
            memory_fail_disarm();
            expect(&fixture, 7, 'a');
        }
        fixture_close(&fixture);
    }
}

/* --- threads ---------------------------------------------------------------------------------- */

#define READERS  3
#define VERSIONS 400
#define PATHS    3

static struct {
    struct fixture fixture;
    atomic_bool stop;
    atomic_uint_fast64_t checks;
    atomic_uint_fast64_t wrong;
} shared;

/* Each path holds the version's value, or nothing where the version says so. */
static int expected_value(unsigned version, unsigned path)
{
    return (version >> path & 1) != 0 ? 1 + (int)(version % 200) : ABSENT;
}

static void write_version(struct fixture *fixture, unsigned version)
{
    uint8_t number[2] = {(uint8_t)(1 + version % 200), (uint8_t)(version / 200)};
    struct entry entry = {.kind = ENTRY_PUT,
                          .family = 1,
                          .timestamp_us = 1000,
                          .stamp = {fixture->clock, 0, 0},
                          .value = bytes_of(number, 2)};
    begin(fixture);
    for (unsigned path = 0; path < PATHS; path++) {
        for (int i = 0; i < ROWS; i++) {
            struct key key = make_key(path, i);
            struct entry erase = {.kind = ENTRY_ROW_DELETE, .stamp = {fixture->clock, 0, 0}};
            cr_assert_eq(base_writer_put(fixture->writer, EXTENT, key_bytes(&key), &erase),
                         STATUS_OK);
            if (expected_value(version, path) != ABSENT) {
                put(fixture, key_bytes(&key), 0, (uint8_t)expected_value(version, path), 1);
            }
        }
    }
    cr_assert_eq(base_writer_put(fixture->writer, EXTENT, bytes_of_text("version"), &entry),
                 STATUS_OK);
    commit(fixture);
}

static unsigned read_version(struct base_snapshot *snapshot)
{
    struct layer_cursor *cursor = NULL;
    struct bytes row;
    struct entry entry;
    bool found = false;
    unsigned version = 0;
    (void)base_cursor_open(snapshot, &WHOLE, 1, &cursor);
    (void)cursor->operations->seek_row(cursor, ROW_AT_OR_AFTER, bytes_of_text("version"), &row,
                                       &found);
    if (found) {
        (void)cursor->operations->seek_entry(cursor, 0, BYTES_EMPTY);
        (void)cursor->operations->next_entry(cursor, &entry, &found);
        version = (unsigned)(entry.value.data[0] - 1) + 200U * entry.value.data[1];
    }
    cursor->operations->close(cursor);
    return version;
}

static void *read_always(void *context)
{
    struct prng prng = prng_of_seed((uint64_t)(uintptr_t)context);
    while (!atomic_load(&shared.stop)) {
        struct base_snapshot *snapshot = NULL;
        if (base_snapshot_begin(shared.fixture.base, &snapshot) != STATUS_OK) {
            atomic_fetch_add(&shared.wrong, 1);
            break;
        }
        unsigned version = read_version(snapshot);
        for (int i = 0; i < 10; i++) {
            unsigned path = (unsigned)prng_below(&prng, PATHS);
            struct key key = make_key(path, (int)prng_below(&prng, ROWS));
            int value = look_in(snapshot, key_bytes(&key));
            atomic_fetch_add(&shared.wrong, value != expected_value(version, path));
            atomic_fetch_add(&shared.checks, 1);
        }
        base_snapshot_end(snapshot);
    }
    return NULL;
}

Test(base_links, readers_of_old_and_new_snapshots_at_once)
{
    pthread_t threads[READERS];
    shared.fixture = fixture_open();
    write_version(&shared.fixture, 1);
    for (uintptr_t i = 0; i < READERS; i++) {
        cr_assert_eq(pthread_create(&threads[i], NULL, read_always, (void *)(i + 1)), 0);
    }
    for (unsigned version = 2; version < VERSIONS; version++) {
        write_version(&shared.fixture, version);
    }
    while (atomic_load(&shared.checks) < 1000) {
    }
    atomic_store(&shared.stop, true);
    for (int i = 0; i < READERS; i++) {
        cr_assert_eq(pthread_join(threads[i], NULL), 0);
    }
    cr_assert_eq(atomic_load(&shared.wrong), 0);
    fixture_close(&shared.fixture);
}
