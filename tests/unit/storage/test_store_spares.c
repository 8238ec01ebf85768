/*
 * Reads use again what reads before them have used: whatever became of those, at whatever point they
 * ran out of memory or were given up, the next one reads what is there.
 */
#include "common/base/memory.h"
#include "common/base/prng.h"
#include "tests/support/store_fixture.h"

#define LONG_KEY_BYTES 900 /* of two slices and a rest */
#define COLUMNS        100 /* more chunks than a delete takes away at once */
#define ROUNDS         600
#define FAILURES       40 /* allocations of one read, about */

static struct fixture fixture;
static struct store_tablet *tablet;
static char long_key[LONG_KEY_BYTES + 1];
static char large_value[60000];

static void setup(void)
{
    fixture_init(&fixture);
    fixture_open(&fixture);
    tablet = fixture_create(&fixture, 1, "", "");
}

static void teardown(void)
{
    fixture_deinit(&fixture);
}

TestSuite(store_spares, .init = setup, .fini = teardown, .timeout = 300);

static void put(const char *row, uint32_t family, const char *qualifier, const char *value)
{
    struct change change = fixture_put(family, qualifier, 1000, value);
    fixture_write(&fixture, tablet, row, &change, 1);
}

/* Of everything that a cursor keeps memory for: long keys, large values, a stored tombstone, sums of
 * which part is in the base. */
static void fill(void)
{
    char qualifier[8];
    uint8_t one[8];
    struct change add = fixture_add(3, "n", 1, one);
    struct change delete = {.kind = CHANGE_DELETE_FAMILY, .family = 2};

    memset(long_key, 'k', LONG_KEY_BYTES);
    memset(large_value, 'v', sizeof large_value - 1);
    put("a", 1, "q", "small");
    put("large", 1, "q", large_value);
    put(long_key, 1, "q", "below a long key");
    large_value[900] = '\0';
    for (unsigned i = 0; i < COLUMNS; i++) {
        (void)snprintf(qualifier, sizeof qualifier, "%03u", i);
        put("wide", 2, qualifier, large_value);
    }
    fixture_write(&fixture, tablet, "sum", &add, 1);
    fixture_flush(&fixture);
    fixture_write(&fixture, tablet, "wide", &delete, 1);
    put("wide", 1, "q", "left");
    fixture_flush(&fixture);
    fixture_write(&fixture, tablet, "sum", &add, 1);
}

/* All cells of the row that reader stands on, or the first few. */
static enum status read_cells(struct row_reader *reader, uint64_t count_max)
{
    struct cell_source source = row_reader_source(reader);
    struct cell cell;
    bool found = true;
    enum status status = source.rewind(source.context, 0, BYTES_EMPTY);
    for (uint64_t i = 0; status == STATUS_OK && found && i < count_max; i++) {
        status = source.next(source.context, CELL_NEXT, &cell, &found);
    }
    return status;
}

#define ROWS 5 /* that are there; the others are not */
static const char *const rows[] = {"a", "large", long_key, "sum", "wide", "", "z"};

static enum status read_some(struct store_read *read, struct prng *prng)
{
    struct row_reader *reader = store_read_reader(read);
    enum status status = STATUS_OK;
    for (uint64_t i = prng_below(prng, 4); status == STATUS_OK && i > 0; i--) {
        struct bytes row = bytes_of_text(rows[prng_below(prng, sizeof rows / sizeof rows[0])]);
        bool found = false;
        status = row_reader_seek(reader, (enum row_seek)prng_below(prng, ROW_LAST + 1), row, &row,
                                 &found);
        if (status == STATUS_OK && found) {
            status = read_cells(reader, prng_below(prng, 4));
        }
    }
    return status;
}

/* One row by its key: it is there, and has one cell. */
static void expect_row(const char *row)
{
    struct store_read *read = NULL;
    struct bytes found_row;
    struct cell cell;
    bool found = false;
    cr_assert_eq(store_read_begin(tablet, &fixture_table, STORE_READ_COMMITTED, 0, &read),
                 STATUS_OK);
    struct row_reader *reader = store_read_reader(read);
    cr_assert_eq(row_reader_seek(reader, ROW_AT_OR_AFTER, bytes_of_text(row), &found_row, &found),
                 STATUS_OK);
    cr_assert(found && bytes_equal(found_row, bytes_of_text(row)), "%s", row);
    struct cell_source source = row_reader_source(reader);
    cr_assert_eq(source.next(source.context, CELL_NEXT, &cell, &found), STATUS_OK);
    cr_assert(found);
    cr_assert_eq(source.next(source.context, CELL_NEXT, &cell, &found), STATUS_OK);
    cr_assert_not(found);
    store_read_end(read);
}

Test(store_spares, what_ran_out_of_memory_or_was_given_up_is_used_again)
{
    struct prng prng = prng_of_seed(1);
    uint64_t failures = 0;
    fill();
    char *text = fixture_dump(tablet);
    cr_assert_not_null(strstr(text, "wide/1:q@1000=left\n"));
    cr_assert_null(strstr(text, "wide/2"));
    cr_assert_not_null(strstr(text, "sum/3:n@0=2\n"));
    for (unsigned i = 0; i < ROUNDS; i++) {
        struct store_read *read = NULL;
        memory_fail_arm(prng_below(&prng, FAILURES), (int)prng_below(&prng, 2));
        enum status status = store_read_begin(tablet, &fixture_table, STORE_READ_COMMITTED, 0,
                                              &read);
        if (status == STATUS_OK) {
            status = read_some(read, &prng);
            store_read_end(read);
        }
        memory_fail_disarm();
        cr_assert(status == STATUS_OK || status == STATUS_NO_MEMORY, "%s", status_text(status));
        failures += status != STATUS_OK;
        expect_row(rows[prng_below(&prng, ROWS)]);
        FIXTURE_EXPECT(tablet, text);
    }
    cr_assert_gt(failures, ROUNDS / 20);
    free(text);
}
