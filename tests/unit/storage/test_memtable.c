#include <signal.h>
#include <stdio.h>

#include "common/base/endian.h"
#include "common/base/memory.h"
#include "common/base/prng.h"
#include "tabletserver/storage/memtable/memtable_nodes.h"
#include "tests/support/memtable_steps.h"

static struct change put(const char *qualifier, int64_t timestamp_us, const char *value)
{
    return (struct change){.kind = CHANGE_PUT,
                           .family = 1,
                           .qualifier = bytes_of_text(qualifier),
                           .timestamp_us = timestamp_us,
                           .value = bytes_of_text(value)};
}

/* The operand of an add of 1. */
static struct change add_one(uint32_t family, const char *qualifier)
{
    static const uint8_t one[8] = {0, 0, 0, 0, 0, 0, 0, 1};
    return (struct change){.kind = CHANGE_FOLD,
                           .family = family,
                           .aggregate = AGGREGATE_INTSUM,
                           .qualifier = bytes_of_text(qualifier),
                           .value = bytes_of(one, sizeof one)};
}

/* The sum in a row's cell as an open cursor sees it; 0 when there is none. */
static uint64_t sum_in(struct layer_cursor *cursor,
                       const char *row,
                       uint32_t family,
                       const char *qualifier)
{
    struct entry entry;
    if (!enter(cursor, row, family, qualifier)) {
        return 0;
    }
    while (next(cursor, &entry)) {
        if (entry.kind == ENTRY_FOLD) {
            bool is_it = entry.family == family &&
                         bytes_equal(entry.qualifier, bytes_of_text(qualifier));
            return is_it ? load_be64(entry.value.data) : 0;
        }
    }
    return 0;
}

static uint64_t sum_at(struct memtable *memtable,
                       uint64_t sequence,
                       const char *row,
                       uint32_t family)
{
    struct layer_cursor *cursor = open_at(memtable, sequence);
    uint64_t sum = sum_in(cursor, row, family, "q");
    cursor->operations->close(cursor);
    return sum;
}

Test(memtable, an_idle_tablet_costs_little)
{
    struct memtable *memtable = make();
    cr_assert_eq(memtable_bytes(memtable), 0);
    struct change change = put("q", 1, "v");
    apply(memtable, 1, "row", &change, 1);
    cr_assert_gt(memtable_bytes(memtable), 0);
    cr_assert_lt(sizeof *memtable + 4096, 8192);
    cr_assert_eq(memtable_row_count(memtable), 1);
    memtable_unref(memtable);
}

Test(memtable, a_row_of_one_cell_is_cheap)
{
    struct memtable *memtable = make();
    const int count = 10000;
    for (int i = 0; i < count; i++) {
        char row[32];
        (void)snprintf(row, sizeof row, "row#%016d", i);
        struct change change = put("q", 1, "value-of-20-bytes-xx");
        apply(memtable, 1, row, &change, 1);
    }
    size_t overhead = memtable_bytes(memtable) / (size_t)count - 20 - 1 - 20;
    cr_assert_leq(overhead, 136, "%zu bytes a row", overhead);
    memtable_unref(memtable);
}

Test(memtable, nothing_written_is_still_a_sequence)
{
    struct memtable *memtable = make();
    apply(memtable, 7, "row", NULL, 0);
    cr_assert_eq(memtable_last_sequence(memtable), 7);
    cr_assert_eq(memtable_row_count(memtable), 0);
    memtable_unref(memtable);
}

Test(memtable, ten_thousand_adds_cost_one_state)
{
    struct memtable *memtable = make();
    struct change change = add_one(3, "q");
    for (uint64_t sequence = 1; sequence <= 10000; sequence++) {
        apply(memtable, sequence, "row", &change, 1);
        memtable_raise_floor(memtable, sequence > 10 ? sequence - 10 : 0);
    }
    cr_assert_lt(memtable_bytes(memtable), 1500, "%zu bytes", memtable_bytes(memtable));
    cr_assert_eq(sum_at(memtable, 10000, "row", 3), 10000);
    cr_assert_eq(sum_at(memtable, 9995, "row", 3), 9995);
    memtable_unref(memtable);
}

Test(memtable, an_open_reader_keeps_its_sum)
{
    struct memtable *memtable = make();
    struct change change = add_one(3, "q");
    for (uint64_t sequence = 1; sequence <= 5; sequence++) {
        apply(memtable, sequence, "row", &change, 1);
    }
    memtable_raise_floor(memtable, 5);
    struct layer_cursor *old = open_at(memtable, 5);
    for (uint64_t sequence = 6; sequence <= 100; sequence++) {
        apply(memtable, sequence, "row", &change, 1);
    }
    cr_assert_eq(sum_in(old, "row", 3, "q"), 5);
    cr_assert_eq(sum_at(memtable, 50, "row", 3), 50);
    old->operations->close(old);
    memtable_raise_floor(memtable, 99);
    apply(memtable, 101, "row", &change, 1);
    cr_assert_eq(sum_at(memtable, 99, "row", 3), 99);
    cr_assert_eq(sum_at(memtable, 101, "row", 3), 101);
    memtable_unref(memtable);
}

Test(memtable, reading_below_the_floor_is_refused, .signal = SIGABRT)
{
    struct memtable *memtable = make();
    memtable_raise_floor(memtable, 5);
    struct layer_cursor *cursor = NULL;
    (void)memtable_cursor_open(memtable, 4, &cursor);
}

Test(memtable, applying_without_reserving_is_refused, .signal = SIGABRT)
{
    struct memtable *memtable = make();
    struct change change = put("q", 1, "v");
    memtable_apply(memtable, 1, (struct stamp){1, 0, 0}, bytes_of_text("row"), &change, 1);
}

/* The heads of a row's list are replaced as it grows: they must not forget its deletes. */
Test(memtable, a_delete_is_remembered_when_the_row_grows)
{
    struct memtable *memtable = make();
    struct change add = add_one(3, "q");
    apply(memtable, 1, "row", &add, 1);
    struct change delete = {.kind = CHANGE_DELETE_FAMILY, .family = 3};
    apply(memtable, 2, "row", &delete, 1);
    for (int i = 0; i < 3000; i++) {
        char qualifier[16];
        (void)snprintf(qualifier, sizeof qualifier, "%d", i);
        struct change change = put(qualifier, 1, "");
        apply(memtable, 3, "row", &change, 1);
    }
    memtable_raise_floor(memtable, 3);
    apply(memtable, 4, "row", &add, 1);
    memtable_raise_floor(memtable, 4);
    apply(memtable, 5, "row", &add, 1);
    cr_assert_eq(sum_at(memtable, 5, "row", 3), 2);
    memtable_unref(memtable);
}

Test(memtable, ten_thousand_versions_are_skipped_by_a_search)
{
    struct memtable *memtable = make();
    for (int64_t timestamp_us = 1; timestamp_us <= 10080; timestamp_us++) {
        struct change change = put("hot", timestamp_us, "v");
        apply(memtable, 1, "row", &change, 1);
    }
    struct change after = put("next", 1, "w");
    apply(memtable, 2, "row", &after, 1);
    struct layer_cursor *cursor = open_at(memtable, 2);
    struct entry entry;
    cr_assert(enter(cursor, "row", 0, ""));
    cr_assert(next(cursor, &entry));
    cr_assert_eq(entry.timestamp_us, 10080);
    bool found = false;
    cr_assert_eq(cursor->operations->skip_column(cursor, &entry, &found), STATUS_OK);
    cr_assert(found);
    cr_assert(bytes_equal(entry.qualifier, bytes_of_text("next")));
    cr_assert_eq(cursor->operations->skip_column(cursor, &entry, &found), STATUS_OK);
    cr_assert(!found);
    cursor->operations->close(cursor);
    memtable_unref(memtable);
}

Test(memtable, reservations_add_up_and_can_be_let_go)
{
    struct memtable *memtable = make();
    static char text[3000];
    memset(text, 'x', sizeof text - 1);
    struct change large = put("q", 1, text);
    struct change small = put("q", 1, "v");
    const char *rows[] = {"a", "b", "c", "d", "e", "f", "g", "h"};
    for (int round = 0; round < 50; round++) {
        for (size_t i = 0; i < 8; i++) {
            const struct change *change = i % 3 == 0 ? &large : &small;
            cr_assert_eq(memtable_reserve(memtable, bytes_of_text(rows[i]), change, 1), STATUS_OK);
        }
        memory_fail_arm(0, 1);
        for (size_t i = 0; i < 8; i++) {
            const struct change *change = i % 3 == 0 ? &large : &small;
            if (i < 6) {
                memtable_apply(memtable, 1, (struct stamp){1, 0, (uint32_t)round},
                               bytes_of_text(rows[i]), change, 1);
            } else {
                memtable_cancel(memtable, bytes_of_text(rows[i]), change, 1);
            }
        }
        memory_fail_disarm();
    }
    cr_assert_eq(memtable_row_count(memtable), 6);
    cr_assert_lt(memtable_bytes(memtable), 700000);
    /* What is let go makes room for what comes: else a write that is refused again and again took all memory. */
    cr_assert_eq(memtable_reserve(memtable, bytes_of_text("a"), &large, 1), STATUS_OK);
    memory_fail_arm(0, 1);
    for (int round = 0; round < 10000; round++) {
        memtable_cancel(memtable, bytes_of_text("a"), &large, 1);
        cr_assert_eq(memtable_reserve(memtable, bytes_of_text("a"), &large, 1), STATUS_OK);
    }
    memory_fail_disarm();
    memtable_cancel(memtable, bytes_of_text("a"), &large, 1);
    memtable_unref(memtable);
}

/* Large enough for searches ahead (memtable_warmup.h); batches are reserved whole, some cancelled. */
Test(memtable, large_tables_are_in_order_however_they_were_filled)
{
    enum {
        BATCH = 100,
        ROWS = 60000
    };
    struct memtable *memtable = make();
    struct prng prng = prng_of_seed(3);
    struct change change = put("q", 1, "v");
    static uint8_t keys[BATCH][20];
    uint64_t expected = 0;
    for (uint64_t sequence = 1; expected < ROWS; sequence++) {
        uint64_t kept = prng_chance(&prng, 10) ? BATCH / 2 : BATCH;
        for (uint64_t i = 0; i < BATCH; i++) {
            bool in_order = sequence % 3 == 0;
            memset(keys[i], 'k', sizeof keys[i]); /* the same prefix now and then */
            store_be64(keys[i] + prng_below(&prng, 2) * 12,
                       in_order ? sequence * BATCH + i : prng_next(&prng));
            struct bytes key = bytes_of(keys[i], sizeof keys[i]);
            cr_assert_eq(memtable_reserve(memtable, key, &change, 1), STATUS_OK);
        }
        uint64_t foreseen = 0;
        for (uint64_t i = 0; i < kept; i++) {
            for (; foreseen < kept && foreseen < i + MEMTABLE_FORESEEN_MAX; foreseen++) {
                memtable_foresee(memtable, bytes_of(keys[foreseen], sizeof keys[foreseen]));
            }
            memtable_apply(memtable, sequence, (struct stamp){sequence, 0, (uint32_t)i},
                           bytes_of(keys[i], sizeof keys[i]), &change, 1);
        }
        for (uint64_t i = BATCH; i > kept; i--) {
            memtable_cancel(memtable, bytes_of(keys[i - 1], sizeof keys[i - 1]), &change, 1);
        }
        expected += kept;
    }
    cr_assert_eq(memtable_row_count(memtable), expected);
    struct layer_cursor *cursor = open_at(memtable, UINT64_MAX);
    struct bytes row = BYTES_EMPTY;
    struct bytes last = BYTES_EMPTY;
    bool found = true;
    uint64_t count = 0;
    enum row_seek seek = ROW_AT_OR_AFTER;
    for (;; seek = ROW_AFTER, count++) {
        cr_assert_eq(cursor->operations->seek_row(cursor, seek, last, &row, &found), STATUS_OK);
        if (!found) {
            break;
        }
        cr_assert_gt(bytes_compare(row, last), 0);
        last = row;
    }
    cr_assert_eq(count, expected);
    for (int i = 0; i < 1000; i++) {
        cr_assert_eq(cursor->operations->seek_row(cursor, ROW_BEFORE, last, &row, &found),
                     STATUS_OK);
        cr_assert(found);
        cr_assert_lt(bytes_compare(row, last), 0);
        last = row;
    }
    cursor->operations->close(cursor);
    memtable_unref(memtable);
}

Test(memtable, without_memory_reserve_says_so_and_nothing_else_happens)
{
    for (uint64_t after = 0; after < 40; after++) {
        memory_fail_arm(after, 1);
        struct memtable *memtable = NULL;
        enum status status = memtable_create(&memtable);
        uint64_t applied = 0;
        struct change change = put("q", 1, "some value");
        for (uint64_t i = 1; i < 3000 && status == STATUS_OK; i++) {
            char row[16];
            (void)snprintf(row, sizeof row, "%06lu", i);
            status = memtable_reserve(memtable, bytes_of_text(row), &change, 1);
            if (status == STATUS_OK) {
                memtable_apply(memtable, i, (struct stamp){i, 0, 0}, bytes_of_text(row), &change,
                               1);
                applied++;
            }
        }
        memory_fail_disarm();
        cr_assert(status == STATUS_OK || status == STATUS_NO_MEMORY);
        if (memtable != NULL) {
            cr_assert_eq(memtable_row_count(memtable), applied);
            memory_fail_arm(0, 1);
            struct layer_cursor *cursor = NULL;
            cr_assert_eq(memtable_cursor_open(memtable, applied, &cursor), STATUS_NO_MEMORY);
            memory_fail_disarm();
        }
        memtable_unref(memtable);
    }
}

Test(memtable, rows_are_found_whatever_they_were_expected_to_begin_with)
{
    static const char *rows[] = {"use", "user", "user1", "user2", "usf", "v"};
    struct memtable *memtable = make();
    struct change change = {.kind = CHANGE_PUT, .family = 1, .value = bytes_of_text("x")};
    memtable_expect(memtable, bytes_of_text("user"));
    for (size_t i = 6; i-- > 0;) {
        apply(memtable, 1 + (6 - i), rows[i], &change, 1);
    }
    struct layer_cursor *cursor = open_at(memtable, 100);
    for (size_t i = 0; i < 6; i++) {
        cr_assert(enter(cursor, rows[i], 0, ""), "%s", rows[i]);
    }
    cursor->operations->close(cursor);
    cr_assert_eq(memtable_shared_prefix(memtable).size_bytes, 0);
    memtable_unref(memtable);

    memtable = make();
    apply(memtable, 1, "user1", &change, 1);
    cr_assert_eq(memtable_shared_prefix(memtable).size_bytes, 0); /* too little to go by */
    apply(memtable, 2, "user23", &change, 1);
    cr_assert(bytes_equal(memtable_shared_prefix(memtable), bytes_of_text("user")));
    memtable_unref(memtable);
}

/* --- the middle ------------------------------------------------------------------------------------ */

/* Of 100 000 rows, "000000" and so on, the number of the one in the middle of the range; -1: there is none. */
static int middle_of(const struct memtable *memtable, const char *start, const char *end)
{
    const struct row_range range = {bytes_of_text(start), bytes_of_text(end)};
    struct buffer row = BUFFER_INIT;
    int number = -1;
    if (memtable_middle_row(memtable, &range, &row)) {
        cr_assert(row_range_contains(&range, buffer_bytes(&row)));
        buffer_append_u8(&row, 0);
        number = atoi((const char *)row.data);
    }
    buffer_deinit(&row);
    return number;
}

Test(memtable, a_row_in_the_middle_is_found_without_looking_at_each)
{
    struct memtable *memtable = make();
    struct change change = put("q", 1, "v");
    char row[16];
    cr_assert_eq(middle_of(memtable, "", ""), -1);
    for (int i = 0; i < 100000; i++) {
        (void)snprintf(row, sizeof row, "%06d", i * 37 % 100000);
        apply(memtable, (uint64_t)i + 1, row, &change, 1);
        if (i == 0) {
            cr_assert_eq(middle_of(memtable, "", ""), -1, "one row has no middle");
        }
    }
    static const struct {
        const char *start;
        const char *end;
        int low;
        int high;
    } ranges[] = {{"", "", 42000, 58000}, {"050000", "", 71000, 79000}, {"", "010000", 4200, 5800}};
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++) {
        int middle = middle_of(memtable, ranges[i].start, ranges[i].end);
        cr_assert(middle >= ranges[i].low && middle <= ranges[i].high, "%d of range %zu", middle,
                  i);
    }
    (void)middle_of(memtable, "020000", "020010"); /* of so few none need be found */
    cr_assert_eq(middle_of(memtable, "x", ""), -1);
    memtable_unref(memtable);
}
