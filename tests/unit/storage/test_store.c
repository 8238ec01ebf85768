#include "tabletserver/storage/store/store.h"

#include "common/base/memory.h"
#include "common/io/file.h"
#include "tabletserver/storage/base/base_store.h"
#include "tabletserver/storage/store/store_internal.h"
#include "tests/support/store_damage.h"

static struct fixture fixture;

static void setup(void)
{
    fixture_init(&fixture);
    fixture_open(&fixture);
}

static void teardown(void)
{
    fixture_deinit(&fixture);
}

TestSuite(store, .init = setup, .fini = teardown);

static void reopen(void)
{
    fixture_close(&fixture);
    fixture_open(&fixture);
}

static uint64_t memory_bytes(void)
{
    struct store_statistics numbers;
    store_statistics(fixture.store, &numbers);
    return numbers.memory_bytes;
}

static uint64_t flushes_so_far(void)
{
    struct store_statistics numbers;
    store_statistics(fixture.store, &numbers);
    return numbers.flushes;
}

static void write_put(struct store_tablet *tablet, const char *row, const char *value)
{
    struct change put = fixture_put(1, "c", 5, value);
    fixture_write(&fixture, tablet, row, &put, 1);
}

/* The loop asks, which is not to wait for a disk that hangs: it is told what was seen last, also of a folder that cannot
 * be looked at any more. */
Test(store, statistics_ask_no_disk)
{
    struct store_statistics numbers;
    char away[300];
    (void)snprintf(away, sizeof away, "%s.away", fixture.folder);
    cr_assert_eq(rename(fixture.folder, away), 0);
    store_statistics(fixture.store, &numbers);
    cr_assert_eq(rename(away, fixture.folder), 0);
    cr_assert_gt(numbers.disk_free_bytes, 0);
}

Test(store, writes_are_read_after_commit_and_prepared_before)
{
    struct store_tablet *tablet = fixture_create(&fixture, 1, "", "");
    struct change put = fixture_put(1, "c", 5, "v");
    uint64_t sequence = 0;
    cr_assert_eq(fixture_append(tablet, "r", &put, 1, NULL, &sequence), STATUS_OK);
    cr_assert_eq(sequence, 1);
    FIXTURE_EXPECT(tablet, "");
    struct buffer out = BUFFER_INIT;
    fixture_dump_at(tablet, &fixture_table, STORE_READ_PREPARED, 0, &out);
    cr_assert(bytes_equal(buffer_bytes(&out), bytes_of_text("r/1:c@5=v\n")));
    buffer_deinit(&out);
    store_commit(fixture.store);
    FIXTURE_PUMP_UNTIL(&fixture, store_tablet_committed(tablet) == 1);
    FIXTURE_EXPECT(tablet, "r/1:c@5=v\n");
    store_check(fixture.store);
}

Test(store, flushed_data_is_the_same_data)
{
    struct store_tablet *tablet = fixture_create(&fixture, 1, "", "");
    uint8_t operand[8];
    struct change add = fixture_add(3, "n", 5, operand);
    write_put(tablet, "a", "1");
    fixture_write(&fixture, tablet, "a", &add, 1);
    fixture_flush(&fixture);
    /* The flusher tells the loop, and lets go of the memtable, a moment after it is done. */
    FIXTURE_PUMP_UNTIL(&fixture, memory_bytes() == 0);
    FIXTURE_EXPECT(tablet, "a/1:c@5=1\na/3:n@0=5\n");
    fixture_write(&fixture, tablet, "a", &add, 1);
    FIXTURE_EXPECT(tablet, "a/1:c@5=1\na/3:n@0=10\n");
    fixture_flush(&fixture);
    FIXTURE_EXPECT(tablet, "a/1:c@5=1\na/3:n@0=10\n");
    store_check(fixture.store);
}

Test(store, a_read_of_a_damaged_chunk_says_where_and_is_counted)
{
    struct store_tablet *tablet = fixture_create(&fixture, 1, "", "");
    struct store_statistics numbers;
    struct store_read *read = NULL;
    struct error error = {.status = STATUS_OK};
    struct bytes row;
    struct cell cell;
    bool found = false;
    write_put(tablet, "some-row", "1");
    fixture_flush(&fixture);
    damage_chunk(fixture.store);
    cr_assert_eq(store_read_begin(tablet, &fixture_table, STORE_READ_COMMITTED, 0, &read),
                 STATUS_OK);
    cr_assert_eq(store_read_explain(read, STATUS_OK, &error), STATUS_OK);
    cr_assert_eq(error.status, STATUS_OK);
    struct row_reader *reader = store_read_reader(read);
    enum status status = row_reader_seek(reader, ROW_AT_OR_AFTER, BYTES_EMPTY, &row, &found);
    struct cell_source source = row_reader_source(reader);
    if (status == STATUS_OK) {
        status = source.rewind(source.context, 0, BYTES_EMPTY);
    }
    if (status == STATUS_OK) {
        status = source.next(source.context, CELL_NEXT, &cell, &found);
    }
    cr_assert_eq(store_read_explain(read, status, &error), STATUS_CORRUPT);
    cr_assert_not_null(strstr(error.text, fixture.folder));
    cr_assert_not_null(strstr(error.text, "some-row"));
    store_read_end(read);
    store_statistics(fixture.store, &numbers);
    cr_assert_eq(numbers.bad_chunks, 1);
}

/* What cannot be merged into a damaged chunk waits in memory and log; nothing else waits with it. */
Test(store, a_damaged_chunk_holds_up_the_flushes_of_its_tablet_only)
{
    struct store_tablet *bad = fixture_create(&fixture, 1, "", "m");
    struct store_tablet *good = fixture_create(&fixture, 2, "m", "");
    write_put(bad, "a", "1");
    fixture_flush(&fixture);
    damage_chunk(fixture.store);
    write_put(bad, "a", "2");
    for (int i = 0; i < 3; i++) {
        uint64_t flushes = flushes_so_far();
        write_put(good, "z", "1");
        store_flush_all(fixture.store);
        FIXTURE_PUMP_UNTIL(&fixture, flushes_so_far() > flushes);
    }
    cr_assert_eq(fixture_flushes_pending(&fixture), 1);
    FIXTURE_EXPECT(good, "z/1:c@5=1\n");
    cr_assert_eq(store_condition_now(fixture.store), STORE_HEALTHY);
}

Test(store, reopen_replays_the_log)
{
    struct store_tablet *tablet = fixture_create(&fixture, 1, "", "");
    uint8_t operand[8];
    struct change add = fixture_add(3, "n", 5, operand);
    for (int i = 0; i < 10; i++) {
        fixture_write(&fixture, tablet, "a", &add, 1);
        if (i == 4) {
            fixture_flush(&fixture);
        }
    }
    uint64_t clock = store_next_clock(fixture.store);
    fixture_write(&fixture, tablet, "a", &add, 1); /* stamped later than `clock` */
    atomic_store(&fixture.now_us, 1); /* the machine's clock has gone back by decades */
    reopen();
    tablet = store_tablet_find(fixture.store, 1);
    cr_assert_not_null(tablet);
    FIXTURE_EXPECT(tablet, "a/3:n@0=55\n");
    cr_assert_gt(store_next_clock(fixture.store), clock + 1);
    fixture_write(&fixture, tablet, "a", &add, 1);
    reopen();
    tablet = store_tablet_find(fixture.store, 1);
    FIXTURE_EXPECT(tablet, "a/3:n@0=60\n");
    cr_assert_eq(store_tablet_committed(tablet), 12);
    store_check(fixture.store);
}

Test(store, duplicates_are_known_after_flush_and_reopen)
{
    struct store_tablet *tablet = fixture_create(&fixture, 1, "", "");
    uint8_t operand[8];
    struct change add = fixture_add(3, "n", 1, operand);
    for (uint64_t i = 1; i <= 6; i++) {
        struct request_id request = {9, i, 1, atomic_load(&fixture.now_us)};
        uint64_t sequence = 0;
        cr_assert_eq(fixture_append(tablet, "a", &add, 1, &request, &sequence), STATUS_OK);
        store_commit(fixture.store);
        if (i == 3) {
            fixture_flush(&fixture);
        }
    }
    FIXTURE_PUMP_UNTIL(&fixture, store_tablet_committed(tablet) == 6);
    for (int round = 0; round < 2; round++) {
        for (uint64_t i = 1; i <= 7; i++) {
            struct request_id request = {9, i, 1, atomic_load(&fixture.now_us)};
            struct bytes result;
            uint64_t sequence;
            enum dedupe_verdict verdict = dedupe_check(store_tablet_dedupe(tablet), &request,
                                                       store_next_clock(fixture.store), &result,
                                                       &sequence);
            cr_assert_eq(verdict, i <= 6 ? DEDUPE_DONE : DEDUPE_NEW, "request %d", (int)i);
        }
        reopen();
        tablet = store_tablet_find(fixture.store, 1);
    }
}

Test(store, a_read_keeps_its_moment)
{
    struct store_tablet *tablet = fixture_create(&fixture, 1, "", "");
    uint8_t operand[8];
    struct change add = fixture_add(3, "n", 1, operand);
    fixture_write(&fixture, tablet, "a", &add, 1);
    struct store_read *read = NULL;
    cr_assert_eq(store_read_begin(tablet, &fixture_table, STORE_READ_COMMITTED, 0, &read),
                 STATUS_OK);
    for (int i = 0; i < 5; i++) {
        fixture_write(&fixture, tablet, "a", &add, 1);
    }
    fixture_flush(&fixture);
    struct bytes row;
    struct cell cell;
    bool found = false;
    cr_assert_eq(
        row_reader_seek(store_read_reader(read), ROW_AT_OR_AFTER, BYTES_EMPTY, &row, &found),
        STATUS_OK);
    cr_assert(found);
    struct cell_source source = row_reader_source(store_read_reader(read));
    cr_assert_eq(source.rewind(source.context, 0, BYTES_EMPTY), STATUS_OK);
    cr_assert_eq(source.next(source.context, CELL_NEXT, &cell, &found), STATUS_OK);
    cr_assert(found);
    cr_assert_eq(load_be64(cell.value.data), 1);
    store_read_end(read);
    FIXTURE_EXPECT(tablet, "a/3:n@0=6\n");
}

/* What may happen between a read's capture and its snapshot, once. */
struct between {
    struct store_tablet *tablet;
    int adds;
    bool flush;
    bool split;
    bool drop;
    int calls;
};

static void split(struct store_tablet *tablet, const char *key, uint64_t left, uint64_t right);

static void do_between(void *context)
{
    struct between *between = context;
    uint8_t operand[8];
    struct change add = fixture_add(3, "n", 1, operand);
    if (between->calls++ > 0) {
        return;
    }
    for (int i = 0; i < between->adds; i++) {
        fixture_write(&fixture, between->tablet, "a", &add, 1);
    }
    if (between->split) {
        split(between->tablet, "m", 2, 3);
    }
    if (between->drop) {
        store_tablet_drop(fixture.store, between->tablet);
        FIXTURE_PUMP_UNTIL(&fixture, fixture.dropped_count == 1);
    }
    if (between->flush) {
        fixture_flush(&fixture);
    }
}

static enum status read_with(struct between *between,
                             struct store_tablet *tablet,
                             uint64_t *ret_sum)
{
    struct store_read *read = NULL;
    between->tablet = tablet;
    store_read_between_context = between;
    store_read_between = do_between;
    enum status status = store_read_begin(tablet, &fixture_table, STORE_READ_COMMITTED, 0, &read);
    store_read_between = NULL;
    if (status != STATUS_OK) {
        return status;
    }
    struct bytes row;
    struct cell cell;
    bool found = false;
    struct row_reader *reader = store_read_reader(read);
    cr_assert_eq(row_reader_seek(reader, ROW_AT_OR_AFTER, BYTES_EMPTY, &row, &found), STATUS_OK);
    struct cell_source source = row_reader_source(reader);
    cr_assert_eq(source.rewind(source.context, 0, BYTES_EMPTY), STATUS_OK);
    cr_assert_eq(source.next(source.context, CELL_NEXT, &cell, &found), STATUS_OK);
    cr_assert(found);
    *ret_sum = load_be64(cell.value.data);
    store_read_end(read);
    return STATUS_OK;
}

Test(store, what_happens_between_capture_and_snapshot)
{
    uint8_t operand[8];
    struct change add = fixture_add(3, "n", 1, operand);
    struct store_tablet *tablet = fixture_create(&fixture, 1, "", "");
    fixture_write(&fixture, tablet, "a", &add, 1);
    uint64_t sum = 0;
    /* All that was captured goes to the base: it may not be counted twice. */
    cr_assert_eq(read_with(&(struct between){.flush = true}, tablet, &sum), STATUS_OK);
    cr_assert_eq(sum, 1);
    /* More than was captured goes to the base: the read begins again. */
    fixture_write(&fixture, tablet, "a", &add, 1);
    struct between more = {.adds = 3, .flush = true};
    cr_assert_eq(read_with(&more, tablet, &sum), STATUS_OK);
    cr_assert_eq(more.calls, 2);
    cr_assert_eq(sum, 5);
    /* More is written, and stays where it is: the read keeps its moment. */
    cr_assert_eq(read_with(&(struct between){.adds = 3}, tablet, &sum), STATUS_OK);
    cr_assert_eq(sum, 5);
    store_tablet_ref(tablet);
    cr_assert_eq(read_with(&(struct between){.split = true, .flush = true}, tablet, &sum),
                 STATUS_NOT_OWNER);
    store_tablet_unref(tablet);
    tablet = store_tablet_find(fixture.store, 2);
    store_tablet_ref(tablet);
    cr_assert_eq(read_with(&(struct between){.drop = true}, tablet, &sum), STATUS_NOT_OWNER);
    store_tablet_unref(tablet);
}

Test(store, drop_range_hides_at_once_and_erases_later)
{
    struct store_tablet *tablet = fixture_create(&fixture, 1, "", "");
    write_put(tablet, "a", "1");
    write_put(tablet, "b", "1");
    fixture_flush(&fixture);
    write_put(tablet, "c", "1");
    write_put(tablet, "d", "1");
    struct record_drop_range drop = {.range = {bytes_of_text("b"), bytes_of_text("d")}};
    uint64_t sequence = 0;
    cr_assert_eq(store_append_drop_range(tablet, &drop, store_next_clock(fixture.store), &sequence),
                 STATUS_OK);
    struct change put = fixture_put(1, "new", 5, "2");
    fixture_write(&fixture, tablet, "c", &put, 1);
    const char *expected = "a/1:c@5=1\nc/1:new@5=2\nd/1:c@5=1\n";
    FIXTURE_EXPECT(tablet, expected);
    reopen();
    tablet = store_tablet_find(fixture.store, 1);
    FIXTURE_EXPECT(tablet, expected);
    fixture_flush(&fixture);
    FIXTURE_EXPECT(tablet, expected);
    for (int i = 0; i < 100; i++) { /* the erasing goes on behind us */
        usleep(1000);
        store_poll(fixture.store);
        FIXTURE_EXPECT(tablet, expected);
    }
    reopen();
    tablet = store_tablet_find(fixture.store, 1);
    FIXTURE_EXPECT(tablet, expected);
}

static void split(struct store_tablet *tablet, const char *key, uint64_t left, uint64_t right)
{
    struct record_split record = {bytes_of_text(key), left, right};
    uint64_t sequence = 0;
    uint64_t before = fixture.split_count;
    cr_assert_eq(store_append_split(tablet, &record, store_next_clock(fixture.store), &sequence),
                 STATUS_OK);
    store_commit(fixture.store);
    FIXTURE_PUMP_UNTIL(&fixture, fixture.split_count > before);
}

Test(store, split_shares_what_there_is)
{
    struct store_tablet *tablet = fixture_create(&fixture, 1, "", "");
    write_put(tablet, "a", "1");
    write_put(tablet, "m", "1");
    fixture_flush(&fixture);
    write_put(tablet, "b", "2");
    write_put(tablet, "n", "2");
    split(tablet, "m", 2, 3);
    cr_assert_null(store_tablet_find(fixture.store, 1));
    cr_assert_eq(store_tablet_count(fixture.store), 2);
    FIXTURE_EXPECT(fixture.left, "a/1:c@5=1\nb/1:c@5=2\n");
    FIXTURE_EXPECT(fixture.right, "m/1:c@5=1\nn/1:c@5=2\n");
    write_put(fixture.right, "o", "3");
    store_check(fixture.store);
    for (int round = 0; round < 3; round++) {
        reopen();
        cr_assert_null(store_tablet_find(fixture.store, 1));
        FIXTURE_EXPECT(store_tablet_find(fixture.store, 2), "a/1:c@5=1\nb/1:c@5=2\n");
        FIXTURE_EXPECT(store_tablet_find(fixture.store, 3), "m/1:c@5=1\nn/1:c@5=2\no/1:c@5=3\n");
        if (round == 1) {
            fixture_flush(&fixture);
        }
        store_check(fixture.store);
    }
}

/* Whoever hands a clock in may be behind the one whose stamps are stored. */
Test(store, stamps_rise_over_a_split_and_a_restart)
{
    const struct change erase = {.kind = CHANGE_DELETE_ROW};
    const struct record_entry entry = {
        .row = bytes_of_text("a"), .changes = &erase, .change_count = 1};
    const struct record_write write = {&entry, 1};
    struct store_tablet *tablet = fixture_create(&fixture, 1, "", "");
    uint64_t sequence = 0;
    write_put(tablet, "a", "1");
    write_put(tablet, "z", "1");
    split(tablet, "m", 2, 3);
    fixture_flush(&fixture);
    reopen();
    tablet = store_tablet_find(fixture.store, 2);
    cr_assert_eq(store_append_write(tablet, &write, 1, &sequence), STATUS_OK);
    store_commit(fixture.store);
    FIXTURE_PUMP_UNTIL(&fixture, store_tablet_committed(tablet) >= sequence);
    FIXTURE_EXPECT(tablet, "");
}

Test(store, splits_of_splits_before_anything_is_flushed)
{
    struct store_tablet *tablet = fixture_create(&fixture, 1, "", "");
    write_put(tablet, "a", "1");
    write_put(tablet, "m", "1");
    write_put(tablet, "z", "1");
    split(tablet, "m", 2, 3);
    write_put(fixture.right, "m", "2");
    split(fixture.right, "t", 4, 5);
    write_put(fixture.right, "z", "3");
    for (int round = 0; round < 3; round++) {
        FIXTURE_EXPECT(store_tablet_find(fixture.store, 2), "a/1:c@5=1\n");
        FIXTURE_EXPECT(store_tablet_find(fixture.store, 4), "m/1:c@5=2\n");
        FIXTURE_EXPECT(store_tablet_find(fixture.store, 5), "z/1:c@5=3\n");
        if (round == 0) {
            reopen();
        }
        fixture_flush(&fixture);
        store_check(fixture.store);
    }
    FIXTURE_PUMP_UNTIL(&fixture, memory_bytes() == 0);
}

Test(store, dropped_tablets_are_gone)
{
    struct store_tablet *tablet = fixture_create(&fixture, 1, "", "");
    write_put(tablet, "a", "1");
    fixture_flush(&fixture);
    store_tablet_ref(tablet);
    store_tablet_drop(fixture.store, tablet);
    cr_assert_null(store_tablet_find(fixture.store, 1));
    struct store_read *read = NULL;
    cr_assert_eq(store_read_begin(tablet, &fixture_table, STORE_READ_COMMITTED, 0, &read),
                 STATUS_NOT_OWNER);
    store_tablet_unref(tablet);
    FIXTURE_PUMP_UNTIL(&fixture, fixture.dropped_count == 1);
    reopen();
    cr_assert_eq(store_tablet_count(fixture.store), 0);
    tablet = fixture_create(&fixture, 2, "", "");
    FIXTURE_EXPECT(tablet, "");
}

static bool knows(uint64_t table)
{
    struct store_schema *schema = store_schema_find(fixture.store, table);
    if (schema != NULL) {
        store_schema_unref(schema);
    }
    return schema != NULL;
}

static bool is_table(void *context, uint64_t table)
{
    return table == *(const uint64_t *)context;
}

Test(store, tables_are_forgotten_that_nobody_knows_and_nothing_is_of)
{
    uint64_t known = 3;
    struct table more = fixture_table;
    for (more.number = 2; more.number <= 4; more.number++) {
        cr_assert_eq(store_set_table(fixture.store, &more), STATUS_OK);
    }
    struct store_tablet *tablet = fixture_create(&fixture, 1, "", "");
    store_forget_tables(fixture.store, is_table, &known);
    cr_assert(knows(1) && !knows(2) && knows(3) && !knows(4));
    store_tablet_drop(fixture.store, tablet);
    store_forget_tables(fixture.store, is_table, &known);
    cr_assert(!knows(1) && knows(3));
    cr_assert_eq(store_set_table(fixture.store, &fixture_table), STATUS_OK);
    cr_assert(knows(1) && knows(3));
    FIXTURE_PUMP_UNTIL(&fixture, fixture.dropped_count == 1);
}

Test(store, creating_twice_gives_the_same_tablet)
{
    struct store_tablet *tablet = fixture_create(&fixture, 1, "a", "m");
    write_put(tablet, "b", "1");
    cr_assert_eq(fixture_create(&fixture, 1, "a", "m"), tablet);
    cr_assert_eq(store_tablet_count(fixture.store), 1);
    FIXTURE_EXPECT(tablet, "b/1:c@5=1\n");
}

Test(store, middle_of_a_young_tablet)
{
    struct store_tablet *tablet = fixture_create(&fixture, 1, "", "");
    struct buffer row = BUFFER_INIT;
    bool found = true;
    cr_assert_eq(store_tablet_middle(tablet, &row, &found), STATUS_OK);
    cr_assert_not(found);
    const char *rows[] = {"a", "b", "c", "d"};
    for (int i = 0; i < 4; i++) {
        write_put(tablet, rows[i], "1");
    }
    cr_assert_eq(store_tablet_middle(tablet, &row, &found), STATUS_OK);
    cr_assert(found);
    cr_assert(bytes_equal(buffer_bytes(&row), bytes_of_text("c")));
    buffer_deinit(&row);
}

/* It was the 2 049th row, however many there are: a table of small rows was cut at 2 % for the first time. */
Test(store, middle_of_a_young_tablet_of_many_rows)
{
    struct store_tablet *tablet = fixture_create(&fixture, 1, "", "");
    struct buffer row = BUFFER_INIT;
    bool found = false;
    char text[16];
    for (int i = 0; i < 12000; i++) {
        (void)snprintf(text, sizeof text, "r%05d", i);
        write_put(tablet, text, "1");
    }
    cr_assert_eq(store_tablet_middle(tablet, &row, &found), STATUS_OK);
    cr_assert(found);
    cr_assert_gt(bytes_compare(buffer_bytes(&row), bytes_of_text("r04800")), 0);
    cr_assert_lt(bytes_compare(buffer_bytes(&row), bytes_of_text("r07200")), 0);
    buffer_deinit(&row);
}

Test(store, samples_of_a_tablet)
{
    struct store_tablet *tablet = fixture_create(&fixture, 1, "", "");
    struct store_samples samples = {.count = 7};
    struct arena arena;
    char row[16];
    static char value[20001];
    arena_init(&arena, 4096, SIZE_MAX);
    memset(value, 'v', sizeof value - 1);
    cr_assert_eq(store_tablet_sample(tablet, 100000, 8, &arena, &samples), STATUS_OK);
    cr_assert_eq(samples.count, 0);
    for (int i = 0; i < 50; i++) {
        (void)snprintf(row, sizeof row, "r%02d", i);
        write_put(tablet, row, value);
    }
    /* In memory only: its middle, and its size. */
    cr_assert_eq(store_tablet_sample(tablet, 100000, 8, &arena, &samples), STATUS_OK);
    cr_assert_eq(samples.count, 1);
    cr_assert(bytes_equal(samples.samples[0].row, bytes_of_text("r25")));
    cr_assert_geq(samples.total_bytes, 50 * 20000);
    cr_assert_eq(store_tablet_sample(tablet, 100 << 20, 8, &arena, &samples), STATUS_OK);
    cr_assert_eq(samples.count, 0);
    fixture_flush(&fixture);
    cr_assert_eq(store_tablet_sample(tablet, 100000, 64, &arena, &samples), STATUS_OK);
    cr_assert(samples.count >= 8 && samples.count <= 10, "%u", samples.count);
    cr_assert_eq(store_tablet_sample(tablet, 100000, 4, &arena, &samples), STATUS_OK);
    cr_assert(samples.count == 3 || samples.count == 4, "%u", samples.count);
    for (uint32_t i = 0; i < samples.count; i++) {
        uint64_t end = i + 1 < samples.count ? samples.samples[i + 1].offset_bytes
                                             : samples.total_bytes;
        cr_assert_lt(samples.samples[i].offset_bytes, end);
    }
    memory_fail_arm(0, 1);
    cr_assert_eq(store_tablet_sample(tablet, 100000, 4, &arena, &samples), STATUS_NO_MEMORY);
    memory_fail_disarm();
    arena_deinit(&arena);
}
