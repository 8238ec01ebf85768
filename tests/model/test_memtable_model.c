/*
 * The memtable against a list of changes: random changes at random sequences, readers held open at
 * random sequences, the floor raised up to the oldest of them, rows and entries read in every way,
 * and what lies above the floor taken out again, for others in its place.
 */
#include <string.h>

#include "tests/model/history.h"

#include "tabletserver/storage/memtable/memtable.h"

#define READERS_MAX 3
#define SEEDS       400
#define STEPS       160

struct reader {
    struct layer_cursor *cursor; /* NULL = closed */
    uint64_t sequence;
};

struct world {
    struct prng prng;
    uint64_t seed;
    struct memtable *memtable;
    struct history history;
    uint64_t sequence;
    uint64_t clock;
    uint64_t floor;
    struct reader readers[READERS_MAX];
};

static struct world world;

static void write_row(uint32_t *index)
{
    struct change changes[5];
    size_t count = prng_below(&world.prng, 5);
    struct bytes row = history_row(prng_next(&world.prng));
    struct stamp stamp = {world.clock, 1, *index};
    for (size_t i = 0; i < count; i++) {
        changes[i] = history_random_change(&world.prng);
    }
    cr_assert_eq(memtable_reserve(world.memtable, row, changes, count), STATUS_OK);
    memtable_apply(world.memtable, world.sequence, stamp, row, changes, count);
    for (size_t i = 0; i < count; i++) {
        stamp.index = *index + (uint32_t)i;
        history_add(&world.history, world.sequence, stamp, row, &changes[i]);
    }
    *index += (uint32_t)count;
}

static void write_some(void)
{
    world.sequence += 1 + prng_below(&world.prng, 2);
    world.clock += prng_below(&world.prng, 3) + 1;
    uint32_t index = 0;
    for (uint64_t i = 0; i <= prng_below(&world.prng, 3); i++) {
        write_row(&index);
    }
}

static void raise_floor(void)
{
    uint64_t highest = world.sequence;
    for (size_t i = 0; i < READERS_MAX; i++) {
        if (world.readers[i].cursor != NULL && world.readers[i].sequence < highest) {
            highest = world.readers[i].sequence;
        }
    }
    world.floor += prng_below(&world.prng, highest - world.floor + 1);
    memtable_raise_floor(world.memtable, world.floor);
}

static void expect_entry(struct layer_cursor *cursor,
                         bool skip,
                         const struct entry *expected,
                         struct entry *ret_entry)
{
    bool found = false;
    struct entry entry = {0};
    enum status status = skip ? cursor->operations->skip_column(cursor, &entry, &found)
                              : cursor->operations->next_entry(cursor, &entry, &found);
    cr_assert_eq(status, STATUS_OK);
    cr_assert_eq(found, expected != NULL, "seed %lu: end of row", world.seed);
    if (found) {
        cr_assert(history_entry_equal(&entry, expected),
                  "seed %lu: kind %d for %d, family %u for %u, stamp %lu.%u for %lu.%u", world.seed,
                  entry.kind, expected->kind, entry.family, expected->family, entry.stamp.clock,
                  entry.stamp.index, expected->stamp.clock, expected->stamp.index);
        *ret_entry = entry;
    }
}

static bool same_column(const struct entry *a, const struct entry *b)
{
    return a->kind >= ENTRY_COLUMN_DELETE && b->kind >= ENTRY_COLUMN_DELETE &&
           a->family == b->family && bytes_equal(a->qualifier, b->qualifier);
}

/* From an entry on, with skips at random. */
static void walk_row(struct layer_cursor *cursor, const struct entry *entries, size_t count)
{
    size_t at = 0;
    bool skip = false;
    struct entry got = {0};
    while (at < count) {
        expect_entry(cursor, skip, &entries[at], &got);
        skip = prng_chance(&world.prng, 6);
        size_t next = at + 1;
        while (skip && next < count && same_column(&entries[at], &entries[next])) {
            next++;
        }
        at = next;
    }
    expect_entry(cursor, skip, NULL, &got);
}

static bool is_at_or_after(const struct entry *entry, uint32_t family, struct bytes qualifier)
{
    if (entry->kind == ENTRY_ROW_DELETE ||
        (entry->kind == ENTRY_FAMILY_DELETE && entry->family == family)) {
        return true;
    }
    return entry->family != family ? entry->family > family
                                   : bytes_compare(entry->qualifier, qualifier) >= 0;
}

static void read_row(const struct reader *reader, struct bytes row)
{
    static struct entry entries[HISTORY_ENTRIES_MAX];
    size_t count = history_read(&world.history, reader->sequence, row, entries);
    struct layer_cursor *cursor = reader->cursor;
    cr_assert_eq(cursor->operations->seek_entry(cursor, 0, BYTES_EMPTY), STATUS_OK);
    walk_row(cursor, entries, count);

    uint32_t family = 1 + (uint32_t)prng_below(&world.prng, HISTORY_FAMILY_COUNT + 1);
    struct bytes qualifier = history_qualifier(&world.prng);
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        if (is_at_or_after(&entries[i], family, qualifier)) {
            entries[kept++] = entries[i];
        }
    }
    cr_assert_eq(cursor->operations->seek_entry(cursor, family, qualifier), STATUS_OK);
    walk_row(cursor, entries, kept);
}

/* The row that a seek should find; -1 = none.  history_row() is in ascending order. */
static int expected_row(const struct reader *reader, enum row_seek seek, int row)
{
    bool forward = seek == ROW_AT_OR_AFTER || seek == ROW_AFTER;
    int at = seek == ROW_LAST     ? HISTORY_ROW_COUNT - 1
             : seek == ROW_AFTER  ? row + 1
             : seek == ROW_BEFORE ? row - 1
                                  : row;
    for (; at >= 0 && at < HISTORY_ROW_COUNT; at += forward ? 1 : -1) {
        if (history_has_row(&world.history, reader->sequence, history_row((uint64_t)at))) {
            return at;
        }
    }
    return -1;
}

static void read_some(const struct reader *reader)
{
    int row = (int)prng_below(&world.prng, HISTORY_ROW_COUNT);
    enum row_seek seek = (enum row_seek)prng_below(&world.prng, 5);
    for (int i = 0; i < 4; i++) {
        struct bytes got = BYTES_EMPTY;
        bool found = false;
        enum status status = reader->cursor->operations->seek_row(
            reader->cursor, seek, history_row((uint64_t)row), &got, &found);
        cr_assert_eq(status, STATUS_OK);
        int expected = expected_row(reader, seek, row);
        cr_assert_eq(found, expected >= 0, "seed %lu: seek %d", world.seed, seek);
        if (!found) {
            break;
        }
        cr_assert(bytes_equal(got, history_row((uint64_t)expected)), "seed %lu", world.seed);
        read_row(reader, got);
        row = expected;
        seek = seek == ROW_LAST || seek == ROW_BEFORE || seek == ROW_AT_OR_BEFORE ? ROW_BEFORE
                                                                                  : ROW_AFTER;
    }
}

static void use_reader(struct reader *reader)
{
    if (reader->cursor == NULL) {
        reader->sequence = world.floor + prng_below(&world.prng, world.sequence - world.floor + 1);
        cr_assert_eq(memtable_cursor_open(world.memtable, reader->sequence, &reader->cursor),
                     STATUS_OK);
    } else if (prng_chance(&world.prng, 4)) {
        reader->cursor->operations->close(reader->cursor);
        reader->cursor = NULL;
        return;
    }
    read_some(reader);
}

/* Readers at or below what stays go on and see nothing of it. */
static void drop_some(void)
{
    uint64_t kept = world.floor + prng_below(&world.prng, world.sequence - world.floor + 1);
    uint64_t left = memtable_drop_above(world.memtable, kept);
    size_t count = 0;
    uint64_t clock = 0;
    for (size_t i = 0; i < world.history.count; i++) {
        if (world.history.items[i].sequence <= kept) {
            world.history.items[count++] = world.history.items[i];
            clock = world.history.items[count - 1].entry.stamp.clock;
        }
    }
    world.history.count = count;
    if (kept < world.sequence) {
        /* Lower than it was, where a write without changes had the highest. */
        cr_assert_eq(left, clock, "seed %lu: %lu for %lu", world.seed, left, clock);
        world.clock = clock;
    }
    world.sequence = kept;
    uint64_t rows = 0;
    for (uint64_t i = 0; i < HISTORY_ROW_COUNT; i++) {
        rows += history_has_row(&world.history, kept, history_row(i)) ? 1 : 0;
    }
    cr_assert_eq(memtable_row_count(world.memtable), rows, "seed %lu", world.seed);
    for (size_t i = 0; i < READERS_MAX; i++) {
        struct reader *reader = &world.readers[i];
        if (reader->cursor != NULL && reader->sequence > kept) {
            reader->cursor->operations->close(reader->cursor);
            reader->cursor = NULL;
        }
    }
}

/* What keys are expected to begin with is right for some of them, or for none. */
static void expect_some(void)
{
    struct bytes row = history_row(prng_next(&world.prng));
    uint8_t prefix[MEMTABLE_EXPECTED_BYTES_MAX];
    size_t size = prng_below(&world.prng, 4);
    size = size < row.size_bytes ? size : row.size_bytes;
    memcpy(prefix, row.data, size);
    if (size > 0 && prng_chance(&world.prng, 4)) {
        prefix[size - 1] ^= 1;
    }
    memtable_expect(world.memtable, bytes_of(prefix, size));
}

static void run_seed(uint64_t seed)
{
    world = (struct world){.prng = prng_of_seed(seed), .seed = seed};
    cr_assert_eq(memtable_create(&world.memtable), STATUS_OK);
    expect_some();
    cr_assert_eq(memtable_bytes(world.memtable), 0);
    uint64_t reads = 1 + prng_below(&world.prng, 4);
    uint64_t drops = 5 + 40 * prng_below(&world.prng, 3);
    for (int step = 0; step < STEPS; step++) {
        if (prng_chance(&world.prng, 1 + reads)) {
            use_reader(&world.readers[prng_below(&world.prng, READERS_MAX)]);
        } else if (prng_chance(&world.prng, 3)) {
            raise_floor();
        } else if (prng_chance(&world.prng, drops)) {
            drop_some();
        } else {
            write_some();
        }
    }
    for (size_t i = 0; i < READERS_MAX; i++) {
        if (world.readers[i].cursor != NULL) {
            read_some(&world.readers[i]);
            world.readers[i].cursor->operations->close(world.readers[i].cursor);
        }
    }
    cr_assert_eq(memtable_last_sequence(world.memtable), world.sequence);
    memtable_unref(world.memtable);
}

Test(memtable_model, equals_the_history)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        run_seed(seed);
    }
}
