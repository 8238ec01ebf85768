#include <criterion/criterion.h>

#include <stdio.h>

#include "common/base/endian.h"
#include "common/base/memory.h"
#include "tabletserver/storage/memtable/memtable.h"
#include "tabletserver/storage/rows/row_reader.h"

/* A cursor that counts what is asked of the one behind it, and fails when told to. */
struct spy {
    struct layer_cursor base;
    struct layer_cursor *inner;
    uint64_t row_seeks;
    uint64_t entry_seeks;
    uint64_t entries; /* next_entry and skip_column */
    uint64_t skips;
    uint64_t fail_after; /* calls; 0 = never */
    bool closed;
};

static enum status fail_if_due(struct spy *spy)
{
    uint64_t calls = spy->row_seeks + spy->entry_seeks + spy->entries;
    return spy->fail_after != 0 && calls >= spy->fail_after ? STATUS_CORRUPT : STATUS_OK;
}

static enum status spy_seek_row(struct layer_cursor *cursor,
                                enum row_seek seek,
                                struct bytes row,
                                struct bytes *ret_row,
                                bool *ret_found)
{
    struct spy *spy = (struct spy *)cursor;
    spy->row_seeks++;
    enum status status = fail_if_due(spy);
    return status == STATUS_OK
               ? spy->inner->operations->seek_row(spy->inner, seek, row, ret_row, ret_found)
               : status;
}

static enum status spy_seek_entry(struct layer_cursor *cursor,
                                  uint32_t family,
                                  struct bytes qualifier)
{
    struct spy *spy = (struct spy *)cursor;
    spy->entry_seeks++;
    enum status status = fail_if_due(spy);
    return status == STATUS_OK ? spy->inner->operations->seek_entry(spy->inner, family, qualifier)
                               : status;
}

static enum status spy_next_entry(struct layer_cursor *cursor,
                                  struct entry *ret_entry,
                                  bool *ret_found)
{
    struct spy *spy = (struct spy *)cursor;
    spy->entries++;
    enum status status = fail_if_due(spy);
    return status == STATUS_OK
               ? spy->inner->operations->next_entry(spy->inner, ret_entry, ret_found)
               : status;
}

static enum status spy_skip_column(struct layer_cursor *cursor,
                                   struct entry *ret_entry,
                                   bool *ret_found)
{
    struct spy *spy = (struct spy *)cursor;
    spy->entries++;
    spy->skips++;
    enum status status = fail_if_due(spy);
    return status == STATUS_OK
               ? spy->inner->operations->skip_column(spy->inner, ret_entry, ret_found)
               : status;
}

static void spy_close(struct layer_cursor *cursor)
{
    struct spy *spy = (struct spy *)cursor;
    cr_assert(!spy->closed);
    spy->closed = true;
    spy->inner->operations->close(spy->inner);
}

static const struct layer_cursor_operations spy_operations = {
    spy_seek_row, spy_seek_entry, spy_next_entry, spy_skip_column, spy_close};

/* Two layers, families 1 (plain), 2 (sums) and 5 (plain), all under the tests' control. */
struct fixture {
    struct memtable *memtables[2]; /* older, newer */
    struct spy spies[2];           /* newer, older */
    struct family families[3];
    struct table table;
    uint64_t sequence;
};

static struct fixture fixture;

static void begin(void)
{
    fixture = (struct fixture){
        .families = {{.number = 1}, {.number = 2, .aggregate = AGGREGATE_INTSUM}, {.number = 5}},
    };
    fixture.table = (struct table){.families = fixture.families, .family_count = 3};
    for (int i = 0; i < 2; i++) {
        cr_assert_eq(memtable_create(&fixture.memtables[i]), STATUS_OK);
    }
}

static void finish(void)
{
    memtable_unref(fixture.memtables[0]);
    memtable_unref(fixture.memtables[1]);
}

TestSuite(row_reader, .init = begin, .fini = finish);

static void apply(int layer, const char *row, struct change change)
{
    struct memtable *memtable = fixture.memtables[layer];
    struct bytes key = bytes_of_text(row);
    fixture.sequence++;
    cr_assert_eq(memtable_reserve(memtable, key, &change, 1), STATUS_OK);
    memtable_apply(memtable, fixture.sequence, (struct stamp){fixture.sequence, 1, 0}, key, &change,
                   1);
}

static void put(
    int layer, const char *row, uint32_t family, const char *qualifier, int64_t timestamp_us)
{
    apply(layer, row,
          (struct change){.kind = CHANGE_PUT,
                          .family = family,
                          .qualifier = bytes_of_text(qualifier),
                          .timestamp_us = timestamp_us,
                          .value = bytes_of_text(qualifier)});
}

static void add(int layer, const char *row, const char *qualifier, uint64_t addend)
{
    uint8_t operand[8];
    store_be64(operand, addend);
    apply(layer, row,
          (struct change){.kind = CHANGE_FOLD,
                          .family = 2,
                          .aggregate = AGGREGATE_INTSUM,
                          .qualifier = bytes_of_text(qualifier),
                          .value = bytes_of(operand, sizeof operand)});
}

/* Layers [0, count): the newest is the newer memtable. */
static struct row_reader *open_with(uint32_t count, struct row_reader_options *options)
{
    struct row_reader *reader = row_reader_create();
    cr_assert_not_null(reader);
    options->table = &fixture.table;
    options->layer_count = count;
    for (uint32_t i = 0; i < count; i++) {
        fixture.spies[i] = (struct spy){.base = {&spy_operations},
                                        .fail_after = fixture.spies[i].fail_after};
        struct memtable *memtable = fixture.memtables[count - 1 - i];
        cr_assert_eq(memtable_cursor_open(memtable, fixture.sequence, &fixture.spies[i].inner),
                     STATUS_OK);
        options->layers[i].cursor = &fixture.spies[i].base;
    }
    row_reader_open(reader, options);
    return reader;
}

static struct row_reader *open_reader(uint32_t count)
{
    struct row_reader_options options = {0};
    return open_with(count, &options);
}

static bool seek(struct row_reader *reader,
                 enum row_seek how,
                 const char *row,
                 const char *expected)
{
    struct bytes got = BYTES_EMPTY;
    bool found = false;
    cr_assert_eq(row_reader_seek(reader, how, bytes_of_text(row), &got, &found), STATUS_OK);
    return found ? expected != NULL && bytes_equal(got, bytes_of_text(expected)) : expected == NULL;
}

static bool next(struct row_reader *reader, enum cell_demand demand, struct cell *cell)
{
    struct cell_source source = row_reader_source(reader);
    bool found = false;
    cr_assert_eq(source.next(source.context, demand, cell, &found), STATUS_OK);
    return found;
}

Test(row_reader, folds_of_all_layers_are_one_cell)
{
    add(0, "row", "q", 3);
    add(0, "row", "r", 1);
    add(1, "row", "q", 4);
    struct row_reader *reader = open_reader(2);
    struct cell cell;
    cr_assert(seek(reader, ROW_AT_OR_AFTER, "", "row"));
    cr_assert(next(reader, CELL_NEXT, &cell));
    cr_assert_eq(load_be64(cell.value.data), 7);
    cr_assert(next(reader, CELL_NEXT, &cell));
    cr_assert_eq(load_be64(cell.value.data), 1);
    cr_assert(!next(reader, CELL_NEXT, &cell));
    cr_assert(!next(reader, CELL_NEXT, &cell));
    cr_assert(seek(reader, ROW_AFTER, "row", NULL));
    cr_assert(!next(reader, CELL_NEXT, &cell));
    row_reader_close(reader);
    row_reader_destroy(reader);
    cr_assert(fixture.spies[0].closed && fixture.spies[1].closed);
}

Test(row_reader, a_newer_delete_hides_the_older_layers_column)
{
    put(0, "row", 1, "a", 1);
    put(0, "row", 1, "b", 1);
    apply(1, "row",
          (struct change){.kind = CHANGE_DELETE_CELLS,
                          .family = 1,
                          .qualifier = bytes_of_text("a"),
                          .end_us = INT64_MAX});
    put(1, "row", 1, "a", 0);
    struct row_reader *reader = open_reader(2);
    struct cell cell;
    cr_assert(seek(reader, ROW_LAST, "", "row"));
    cr_assert(next(reader, CELL_NEXT, &cell));
    cr_assert(bytes_equal(cell.qualifier, bytes_of_text("a")));
    cr_assert_eq(cell.timestamp_us, 0);
    cr_assert(next(reader, CELL_NEXT, &cell));
    cr_assert(bytes_equal(cell.qualifier, bytes_of_text("b")));
    cr_assert(!next(reader, CELL_NEXT, &cell));
    row_reader_close(reader);
    row_reader_destroy(reader);
}

/* Which layer has it does not matter: the put with the largest stamp is the cell. */
Test(row_reader, of_puts_at_one_position_the_largest_stamp_is_shown)
{
    static const char *const values[] = {"first", "second"};
    for (int newer = 0; newer < 2; newer++) {
        const char *row = newer == 0 ? "a" : "b";
        for (int turn = 0; turn < 2; turn++) {
            apply(turn == 0 ? 1 - newer : newer, row,
                  (struct change){.kind = CHANGE_PUT,
                                  .family = 1,
                                  .qualifier = bytes_of_text("q"),
                                  .timestamp_us = 1,
                                  .value = bytes_of_text(values[turn])});
        }
        struct row_reader *reader = open_reader(2);
        struct cell cell;
        cr_assert(seek(reader, ROW_AT_OR_AFTER, row, row));
        cr_assert(next(reader, CELL_NEXT, &cell));
        cr_assert(bytes_equal(cell.value, bytes_of_text("second")), "layer %d", newer);
        cr_assert(!next(reader, CELL_NEXT, &cell));
        row_reader_close(reader);
        row_reader_destroy(reader);
    }
}

/* A rule that keeps one version looks at two of ten thousand; so does a consumer of one. */
Test(row_reader, the_rest_of_a_column_is_skipped)
{
    for (int64_t timestamp_us = 1; timestamp_us <= 10080; timestamp_us++) {
        put(0, "row", 1, "hot", timestamp_us);
    }
    put(0, "row", 1, "next", 1);
    for (uint32_t layers = 1; layers <= 2; layers++) {
        for (int by_rule = 0; by_rule < 2; by_rule++) {
            fixture.families[0].gc = (struct gc_rule){.kind = by_rule ? GC_VERSIONS : GC_NONE,
                                                      .versions = 1};
            struct row_reader *reader = open_reader(layers);
            struct spy *spy = &fixture.spies[layers - 1];
            struct cell cell;
            cr_assert(seek(reader, ROW_AT_OR_AFTER, "row", "row"));
            cr_assert(next(reader, CELL_NEXT, &cell));
            cr_assert_eq(cell.timestamp_us, 10080);
            cr_assert(next(reader, by_rule ? CELL_NEXT : CELL_NEXT_COLUMN, &cell));
            cr_assert(bytes_equal(cell.qualifier, bytes_of_text("next")));
            cr_assert_leq(spy->entries, 4);
            cr_assert_eq(spy->skips, 1);
            row_reader_close(reader);
            row_reader_destroy(reader);
        }
        put(1, "row", 5, "other", 1); /* the second time both layers have the row */
    }
}

Test(row_reader, families_that_are_gone_are_passed_by_a_search)
{
    put(0, "row", 1, "a", 1);
    for (int i = 0; i < 1000; i++) {
        char qualifier[16];
        (void)snprintf(qualifier, sizeof qualifier, "%d", i);
        put(0, "row", 3, qualifier, 1);
        put(1, "row", 4, qualifier, 1);
        put(0, "row", 6, qualifier, 1);
    }
    put(1, "row", 5, "z", 1);
    struct row_reader *reader = open_reader(2);
    struct cell cell;
    cr_assert(seek(reader, ROW_AT_OR_AFTER, "row", "row"));
    cr_assert(next(reader, CELL_NEXT, &cell) && cell.family == 1);
    cr_assert(next(reader, CELL_NEXT, &cell) && cell.family == 5);
    cr_assert(!next(reader, CELL_NEXT, &cell));
    cr_assert_lt(fixture.spies[0].entries + fixture.spies[1].entries, 20);
    row_reader_close(reader);
    row_reader_destroy(reader);
}

/* Layers that do not have the next row are not asked again for each row of the others. */
Test(row_reader, a_scan_asks_each_layer_only_when_it_has_moved)
{
    char row[16];
    for (int i = 0; i < 500; i++) {
        (void)snprintf(row, sizeof row, "%03d", i);
        put(i % 100 == 0 ? 1 : 0, row, 1, "q", 1);
    }
    for (int backward = 0; backward < 2; backward++) {
        struct row_reader *reader = open_reader(2);
        struct bytes got = BYTES_EMPTY;
        bool found = true;
        int count = 0;
        enum row_seek how = backward ? ROW_LAST : ROW_AT_OR_AFTER;
        for (;; count++, how = backward ? ROW_BEFORE : ROW_AFTER) {
            cr_assert_eq(row_reader_seek(reader, how, got, &got, &found), STATUS_OK);
            if (!found) {
                break;
            }
        }
        cr_assert_eq(count, 500);
        cr_assert_leq(fixture.spies[0].row_seeks, 7);
        cr_assert_leq(fixture.spies[1].row_seeks, 502);
        row_reader_close(reader);
        row_reader_destroy(reader);
    }
}

Test(row_reader, a_layer_that_is_flushed_whole_is_not_asked)
{
    put(0, "row", 1, "a", 1);
    put(1, "row", 1, "b", 1);
    struct row_reader_options options = {.layers = {{.flushed = {.everything = true}}}};
    struct row_reader *reader = open_with(2, &options);
    cr_assert(fixture.spies[0].closed);
    struct cell cell;
    cr_assert(seek(reader, ROW_AT_OR_AFTER, "", "row"));
    cr_assert(next(reader, CELL_NEXT, &cell));
    cr_assert(bytes_equal(cell.qualifier, bytes_of_text("a")));
    cr_assert(!next(reader, CELL_NEXT, &cell));
    row_reader_close(reader);
    row_reader_destroy(reader);
}

Test(row_reader, a_row_that_is_done_stays_done_until_rewound)
{
    put(0, "row", 1, "a", 1);
    put(0, "row", 1, "b", 1);
    struct row_reader *reader = open_reader(1);
    struct cell_source source = row_reader_source(reader);
    struct cell cell;
    cr_assert(seek(reader, ROW_AT_OR_AFTER, "", "row"));
    cr_assert(next(reader, CELL_NEXT, &cell));
    cr_assert(!next(reader, CELL_ROW_DONE, &cell));
    cr_assert(!next(reader, CELL_NEXT, &cell));
    cr_assert_eq(source.rewind(source.context, 1, bytes_of_text("b")), STATUS_OK);
    cr_assert(next(reader, CELL_NEXT, &cell));
    cr_assert(bytes_equal(cell.qualifier, bytes_of_text("b")));
    row_reader_close(reader);
    row_reader_destroy(reader);
}

/* --- trouble ------------------------------------------------------------------------------------ */

static void fill_for_trouble(void)
{
    add(0, "row", "sum", 1);
    add(1, "row", "sum", 2);
    add(0, "row", "sum2", 1);
    add(1, "row", "sum2", 2);
    put(0, "row", 1, "a", 1);
    put(1, "row", 1, "a", 2);
    apply(1, "row",
          (struct change){.kind = CHANGE_DELETE_CELLS,
                          .family = 1,
                          .qualifier = bytes_of_text("a"),
                          .end_us = 2});
    put(0, "row2", 3, "gone", 1);
    put(1, "row2", 5, "b", 1);
}

/* All rows to the end, or to the first trouble. */
static enum status read_all(struct row_reader *reader, int *ret_cells)
{
    struct cell_source source = row_reader_source(reader);
    struct bytes row = BYTES_EMPTY;
    bool found = false;
    int cells = 0;
    enum status status = row_reader_seek(reader, ROW_AT_OR_AFTER, row, &row, &found);
    while (status == STATUS_OK && found) {
        status = source.rewind(source.context, 0, BYTES_EMPTY);
        while (status == STATUS_OK) {
            struct cell cell;
            bool found_cell = false;
            status = source.next(source.context, CELL_NEXT, &cell, &found_cell);
            if (status != STATUS_OK || !found_cell) {
                break;
            }
            cells++;
        }
        if (status == STATUS_OK) {
            status = row_reader_seek(reader, ROW_AFTER, row, &row, &found);
        }
    }
    *ret_cells = cells;
    return status;
}

Test(row_reader, without_memory_it_says_so_and_can_go_on)
{
    fill_for_trouble();
    bool complete = false;
    for (uint64_t after = 0; !complete; after++) {
        int cells = 0;
        cr_assert_lt(after, 100);
        struct row_reader *reader = open_reader(2); /* cursors are opened before memory ends */
        memory_fail_arm(after, 1);
        enum status status = read_all(reader, &cells);
        memory_fail_disarm();
        complete = status == STATUS_OK;
        cr_assert(complete || status == STATUS_NO_MEMORY);
        cr_assert_eq(read_all(reader, &cells), STATUS_OK);
        cr_assert_eq(cells, 4);
        row_reader_close(reader);
        row_reader_destroy(reader);
    }
}

Test(row_reader, opened_again_it_knows_nothing_of_the_read_before)
{
    fill_for_trouble();
    struct row_reader *reader = open_reader(2);
    struct cell cell;
    int cells = 0;
    cr_assert_eq(read_all(reader, &cells), STATUS_OK);
    cr_assert(seek(reader, ROW_LAST, "", "row2"));
    cr_assert(next(reader, CELL_NEXT, &cell));
    row_reader_close(reader);
    cr_assert(fixture.spies[0].closed && fixture.spies[1].closed);

    struct row_reader_options options = {.table = &fixture.table};
    row_reader_open(reader, &options);
    cr_assert(seek(reader, ROW_AT_OR_AFTER, "", NULL));
    cr_assert(!next(reader, CELL_NEXT, &cell), "a cell of a layer that is closed");
    row_reader_close(reader);
    row_reader_destroy(reader);
}

Test(row_reader, without_memory_there_is_none)
{
    memory_fail_arm(0, 1);
    struct row_reader *reader = row_reader_create();
    memory_fail_disarm();
    cr_assert_null(reader);
    row_reader_destroy(reader);
}

Test(row_reader, trouble_in_a_layer_is_handed_on)
{
    fill_for_trouble();
    for (int layer = 0; layer < 2; layer++) {
        bool complete = false;
        for (uint64_t after = 1; !complete; after++) {
            cr_assert_lt(after, 100);
            fixture.spies[layer].fail_after = after;
            struct row_reader *reader = open_reader(2);
            int cells = 0;
            enum status status = read_all(reader, &cells);
            complete = status == STATUS_OK;
            cr_assert(complete || status == STATUS_CORRUPT);
            fixture.spies[layer].fail_after = 0;
            cr_assert_eq(read_all(reader, &cells), STATUS_OK);
            cr_assert_eq(cells, 4);
            row_reader_close(reader);
            row_reader_destroy(reader);
        }
    }
}

static enum status lose_patience(void *context)
{
    int *looks_left = context;
    return (*looks_left)-- > 0 ? STATUS_OK : STATUS_CANCELLED;
}

Test(row_reader, a_row_that_nobody_waits_for_any_more_is_left)
{
    const int cells = 10000;
    int looks_left = 2;
    const struct row_patience patience = {lose_patience, &looks_left};
    for (int i = 0; i < cells; i++) {
        put(0, "row", 1, "q", i);
    }
    struct row_reader *reader = open_reader(1);
    row_reader_set_patience(reader, &patience);
    cr_assert(seek(reader, ROW_AT_OR_AFTER, "", "row"));
    struct cell_source source = row_reader_source(reader);
    struct cell cell;
    enum status status = STATUS_OK;
    bool found = true;
    int count = 0;
    while (status == STATUS_OK && found) {
        status = source.next(source.context, CELL_NEXT, &cell, &found);
        count++;
    }
    cr_assert_eq(status, STATUS_CANCELLED);
    cr_assert_lt(count, cells / 10);
    row_reader_close(reader);
    row_reader_destroy(reader);
}
