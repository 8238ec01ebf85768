/*
 * One writer and three readers at once: at each sequence every reader finds exactly the sums that
 * belong to it, however much is folded meanwhile.  Run it under tsan.
 */
#include <criterion/criterion.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#include "common/aggregate/aggregate.h"
#include "common/base/endian.h"
#include "common/base/prng.h"
#include "tabletserver/storage/memtable/memtable.h"

#define READERS      3
#define SEQUENCES    6000
#define DELETE_EVERY 64
#define NO_READER    UINT64_MAX

/* As a store does it: a read is registered under a lock, which the writer takes for the floor. */
struct shared {
    struct memtable *memtable;
    pthread_mutex_t lock;
    uint64_t committed;
    uint64_t reading[READERS];
    atomic_bool stop;
    atomic_uint_fast64_t checks;
    atomic_uint_fast64_t wrong;
};

static struct shared shared = {.lock = PTHREAD_MUTEX_INITIALIZER};

enum {
    FAMILY_PLAIN = 1,
    FAMILY_SUM = 3,
    FAMILY_SKETCH = 4
};

static void expect(bool condition)
{
    atomic_fetch_add(&shared.checks, 1);
    if (!condition) {
        atomic_fetch_add(&shared.wrong, 1);
    }
}

static void raise_floor(uint64_t committed)
{
    (void)pthread_mutex_lock(&shared.lock);
    shared.committed = committed;
    uint64_t floor = committed;
    for (int i = 0; i < READERS; i++) {
        floor = shared.reading[i] < floor ? shared.reading[i] : floor;
    }
    (void)pthread_mutex_unlock(&shared.lock);
    memtable_raise_floor(shared.memtable, floor);
}

static void apply(uint64_t sequence, struct bytes row, const struct change *changes, size_t count)
{
    cr_assert_eq(memtable_reserve(shared.memtable, row, changes, count), STATUS_OK);
    memtable_apply(shared.memtable, sequence, (struct stamp){sequence, 0, 0}, row, changes, count);
}

/*
 * At every sequence: row "hot" gets 1 added to column "all" and to column "since", which is
 * deleted before that at every 64th; a sketch takes the sequence; the cell "last" says the
 * sequence; and eight sequences make a row with a column each.
 */
static void write_sequence(uint64_t sequence, struct buffer *operand)
{
    uint8_t one[8];
    uint8_t number[8];
    store_be64(one, 1);
    store_be64(number, sequence);
    buffer_reset(operand);
    cr_assert_eq(aggregate_operand_of_int64(AGGREGATE_INTHLL, (int64_t)sequence, operand),
                 STATUS_OK);
    struct change changes[5];
    size_t count = 0;
    if (sequence % DELETE_EVERY == 0) {
        changes[count++] = (struct change){.kind = CHANGE_DELETE_CELLS,
                                           .family = FAMILY_SUM,
                                           .qualifier = bytes_of_text("since"),
                                           .end_us = INT64_MAX};
    }
    struct change fold = {.kind = CHANGE_FOLD,
                          .family = FAMILY_SUM,
                          .aggregate = AGGREGATE_INTSUM,
                          .qualifier = bytes_of_text("all"),
                          .value = bytes_of(one, sizeof one)};
    changes[count++] = fold;
    fold.qualifier = bytes_of_text("since");
    changes[count++] = fold;
    changes[count++] = (struct change){.kind = CHANGE_FOLD,
                                       .family = FAMILY_SKETCH,
                                       .aggregate = AGGREGATE_INTHLL,
                                       .qualifier = bytes_of_text("seen"),
                                       .value = buffer_bytes(operand)};
    struct change last = {.kind = CHANGE_PUT,
                          .family = FAMILY_PLAIN,
                          .qualifier = bytes_of_text("last"),
                          .value = bytes_of(number, sizeof number)};
    changes[count++] = last;
    apply(sequence, bytes_of_text("hot"), changes, count);
    uint8_t row[9];
    row[0] = sequence / 8 % 2 == 0 ? 'a' : 'z';
    store_be64(row + 1, sequence / 8 * UINT64_C(0x9e3779b97f4a7c15));
    uint8_t qualifier[8];
    store_be64(qualifier, sequence * UINT64_C(0xd1342543de82ef95));
    last.qualifier = bytes_of(qualifier, sizeof qualifier);
    apply(sequence, bytes_of(row, sizeof row), &last, 1);
}

/* All of row "hot" at a sequence. */
static void check_hot_row(struct layer_cursor *cursor, uint64_t sequence)
{
    struct bytes row = BYTES_EMPTY;
    bool found = false;
    enum status status = cursor->operations->seek_row(cursor, ROW_AT_OR_AFTER, bytes_of_text("hot"),
                                                      &row, &found);
    expect(status == STATUS_OK && found && bytes_equal(row, bytes_of_text("hot")));
    expect(cursor->operations->seek_entry(cursor, 0, BYTES_EMPTY) == STATUS_OK);
    unsigned seen = 0;
    struct entry entry;
    while (cursor->operations->next_entry(cursor, &entry, &found) == STATUS_OK && found) {
        if (entry.kind < ENTRY_PUT) {
            continue;
        }
        seen++;
        if (entry.family == FAMILY_SKETCH) {
            int64_t estimate = 0;
            expect(aggregate_extract(AGGREGATE_INTHLL, entry.value, &estimate) == STATUS_OK);
            expect(estimate * 20 > (int64_t)sequence * 19 - 20 &&
                   estimate * 20 < (int64_t)sequence * 21 + 20);
        } else if (bytes_equal(entry.qualifier, bytes_of_text("since"))) {
            uint64_t since = sequence % DELETE_EVERY + (sequence >= DELETE_EVERY ? 1 : 0);
            expect(load_be64(entry.value.data) == since);
        } else { /* "all" and "last" */
            expect(load_be64(entry.value.data) == sequence);
        }
        expect(entry.stamp.clock == sequence);
    }
    expect(seen == 4);
}

static uint64_t count_cells(struct layer_cursor *cursor)
{
    uint64_t count = 0;
    bool found = false;
    struct entry entry;
    expect(cursor->operations->seek_entry(cursor, 0, BYTES_EMPTY) == STATUS_OK);
    while (cursor->operations->next_entry(cursor, &entry, &found) == STATUS_OK && found) {
        count++;
    }
    return count;
}

/* Beside the hot row there are as many cells as sequences, eight in a row. */
static void check_counts(struct layer_cursor *cursor, uint64_t sequence, bool forward)
{
    uint64_t row_count = 0;
    uint64_t cell_count = 0;
    struct bytes row = BYTES_EMPTY;
    bool found = false;
    enum status status = cursor->operations->seek_row(cursor, forward ? ROW_AT_OR_AFTER : ROW_LAST,
                                                      BYTES_EMPTY, &row, &found);
    while (status == STATUS_OK && found) {
        row_count++;
        cell_count += bytes_equal(row, bytes_of_text("hot")) ? 0 : count_cells(cursor);
        status = cursor->operations->seek_row(cursor, forward ? ROW_AFTER : ROW_BEFORE, row, &row,
                                              &found);
    }
    expect(status == STATUS_OK && row_count == sequence / 8 + 2 && cell_count == sequence);
}

static void *read_loop(void *argument)
{
    uint64_t *slot = argument;
    struct prng prng = prng_of_seed((uint64_t)(slot - shared.reading));
    while (!atomic_load(&shared.stop)) {
        (void)pthread_mutex_lock(&shared.lock);
        uint64_t sequence = shared.committed;
        *slot = sequence;
        (void)pthread_mutex_unlock(&shared.lock);
        struct layer_cursor *cursor = NULL;
        if (sequence > 0 && memtable_cursor_open(shared.memtable, sequence, &cursor) == STATUS_OK) {
            for (uint64_t i = prng_below(&prng, 6) + 1; i > 0; i--) {
                check_hot_row(cursor, sequence);
            }
            if (prng_chance(&prng, 20)) {
                check_counts(cursor, sequence, prng_chance(&prng, 2));
            }
            cursor->operations->close(cursor);
        }
        (void)pthread_mutex_lock(&shared.lock);
        *slot = NO_READER;
        (void)pthread_mutex_unlock(&shared.lock);
    }
    return NULL;
}

Test(memtable_threads, every_reader_finds_the_sums_of_its_sequence)
{
    pthread_t threads[READERS];
    struct buffer operand = BUFFER_INIT;
    struct prng prng = prng_of_seed(1);
    cr_assert_eq(memtable_create(&shared.memtable), STATUS_OK);
    for (int i = 0; i < READERS; i++) {
        shared.reading[i] = NO_READER;
        cr_assert_eq(pthread_create(&threads[i], NULL, read_loop, &shared.reading[i]), 0);
    }
    for (uint64_t sequence = 1; sequence <= SEQUENCES; sequence++) {
        write_sequence(sequence, &operand);
        if (prng_chance(&prng, 8)) {
            raise_floor(sequence);
        }
    }
    raise_floor(SEQUENCES);
    while (atomic_load(&shared.checks) < 2000) {
    }
    atomic_store(&shared.stop, true);
    for (int i = 0; i < READERS; i++) {
        (void)pthread_join(threads[i], NULL);
    }
    cr_assert_eq(atomic_load(&shared.wrong), 0, "%lu of %lu checks failed",
                 (unsigned long)atomic_load(&shared.wrong),
                 (unsigned long)atomic_load(&shared.checks));
    memtable_unref(shared.memtable);
    buffer_deinit(&operand);
}
