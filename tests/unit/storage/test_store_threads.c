/*
 * One loop, the store's own threads, and readers who never stop: each write puts the same number
 * into every row, and adds one to a counter in each.  Whoever reads must find one number
 * everywhere, whatever is being frozen, flushed or split at that moment.
 */
#include <pthread.h>

#include "tests/support/forked.h"

#include "common/base/prng.h"
#include "tests/support/store_fixture.h"

#define ROWS    8
#define READERS 3
#define WRITES  400

static struct fixture fixture;
static atomic_bool stop;
static atomic_uint_fast64_t reads;
static pthread_mutex_t tablets_mutex = PTHREAD_MUTEX_INITIALIZER;
static struct store_tablet *tablets[2]; /* those that serve, with references */
static unsigned tablet_count;

static const char *row_name(unsigned row)
{
    static const char *names[ROWS] = {"a", "b", "c", "d", "e", "f", "g", "h"};
    return names[row];
}

static struct store_tablet *pick(struct prng *prng)
{
    (void)pthread_mutex_lock(&tablets_mutex);
    struct store_tablet *tablet = tablets[prng_below(prng, tablet_count)];
    store_tablet_ref(tablet);
    (void)pthread_mutex_unlock(&tablets_mutex);
    return tablet;
}

/* The number of one row: the put and the counter must agree. */
static uint64_t number_of_row(struct row_reader *reader)
{
    struct cell_source source = row_reader_source(reader);
    struct cell cell;
    bool found = false;
    cr_assert_eq(source.rewind(source.context, 0, BYTES_EMPTY), STATUS_OK);
    cr_assert_eq(source.next(source.context, CELL_NEXT, &cell, &found), STATUS_OK);
    cr_assert(found);
    cr_assert_eq(cell.family, 1);
    uint64_t number = load_be64(cell.value.data);
    cr_assert_eq(source.next(source.context, CELL_NEXT, &cell, &found), STATUS_OK);
    cr_assert(found);
    cr_assert_eq(cell.family, 3);
    cr_assert_eq(load_be64(cell.value.data), number);
    cr_assert_eq(source.next(source.context, CELL_NEXT, &cell, &found), STATUS_OK);
    cr_assert_not(found);
    return number;
}

static void read_all(struct store_read *read, struct store_tablet *tablet, uint64_t *last)
{
    const struct row_range *range = &store_tablet_describe(tablet)->range;
    struct row_reader *reader = store_read_reader(read);
    uint64_t number = 0;
    unsigned count = 0;
    unsigned expected = 0;
    struct bytes row = BYTES_EMPTY;
    bool found = false;
    for (unsigned i = 0; i < ROWS; i++) {
        expected += row_range_contains(range, bytes_of_text(row_name(i))) ? 1 : 0;
    }
    cr_assert_eq(row_reader_seek(reader, ROW_AT_OR_AFTER, BYTES_EMPTY, &row, &found), STATUS_OK);
    while (found) {
        uint64_t of_row = number_of_row(reader);
        cr_assert(count == 0 || of_row == number, "row %.*s has %d, those before it %d",
                  (int)row.size_bytes, (const char *)row.data, (int)of_row, (int)number);
        number = of_row;
        count++;
        cr_assert_eq(row_reader_seek(reader, ROW_AFTER, row, &row, &found), STATUS_OK);
    }
    cr_assert(count == 0 || count == expected);
    cr_assert_geq(number, *last, "time went back");
    *last = number;
}

static void *read_on(void *context)
{
    struct prng prng = prng_of_seed((uint64_t)(uintptr_t)context);
    uint64_t last[4] = {0}; /* by tablet */
    while (!atomic_load(&stop)) {
        struct store_tablet *tablet = pick(&prng);
        struct store_read *read = NULL;
        enum status status = store_read_begin(tablet, &fixture_table, STORE_READ_COMMITTED, 0,
                                              &read);
        if (status == STATUS_OK) {
            read_all(read, tablet, &last[store_tablet_describe(tablet)->tablet]);
            store_read_end(read);
            atomic_fetch_add(&reads, 1);
        } else {
            cr_assert_eq(status, STATUS_NOT_OWNER); /* it has just been split */
        }
        store_tablet_unref(tablet);
    }
    return NULL;
}

static void write_all(uint64_t number)
{
    uint8_t value[8];
    uint8_t one[8];
    store_be64(value, number);
    for (unsigned t = 0; t < tablet_count; t++) {
        struct change changes[2] = {
            {.kind = CHANGE_PUT, .family = 1, .value = bytes_of(value, 8)},
            fixture_add(3, "n", 1, one),
        };
        struct record_entry entries[ROWS];
        size_t count = 0;
        for (unsigned i = 0; i < ROWS; i++) {
            struct bytes row = bytes_of_text(row_name(i));
            if (row_range_contains(&store_tablet_describe(tablets[t])->range, row)) {
                entries[count++] = (struct record_entry){
                    .row = row, .changes = changes, .change_count = 2};
            }
        }
        struct record_write write = {entries, count};
        uint64_t sequence = 0;
        enum status status = STATUS_RESOURCE_EXHAUSTED;
        while (status == STATUS_RESOURCE_EXHAUSTED) {
            status = store_append_write(tablets[t], &write, store_next_clock(fixture.store),
                                        &sequence);
            store_commit(fixture.store);
            store_poll(fixture.store);
        }
        cr_assert_eq(status, STATUS_OK);
    }
}

static void split(void)
{
    struct record_split record = {bytes_of_text("d"), 2, 3};
    uint64_t sequence = 0;
    FIXTURE_PUMP_UNTIL(&fixture,
                       store_append_split(tablets[0], &record, store_next_clock(fixture.store),
                                          &sequence) == STATUS_OK);
    store_commit(fixture.store);
    FIXTURE_PUMP_UNTIL(&fixture, fixture.split_count == 1);
    (void)pthread_mutex_lock(&tablets_mutex);
    store_tablet_unref(tablets[0]);
    tablets[0] = fixture.left;
    tablets[1] = fixture.right;
    tablet_count = 2;
    store_tablet_ref(tablets[0]);
    store_tablet_ref(tablets[1]);
    (void)pthread_mutex_unlock(&tablets_mutex);
}

Test(store_threads, readers_see_one_moment)
{
    pthread_t threads[READERS];
    fixture_init(&fixture);
    fixture.settings.memtable_limit_bytes = 8192;
    fixture.settings.flush_transaction_bytes = 4 * 8192;
    fixture_open(&fixture);
    tablets[0] = fixture_create(&fixture, 1, "", "");
    tablet_count = 1;
    store_tablet_ref(tablets[0]);
    for (uintptr_t i = 0; i < READERS; i++) {
        cr_assert_eq(pthread_create(&threads[i], NULL, read_on, (void *)(i + 1)), 0);
    }
    for (uint64_t i = 1; i <= WRITES; i++) {
        write_all(i);
        if (i == WRITES / 2) {
            split();
        }
        if (i % 16 == 0) {
            usleep(500);
        }
    }
    FIXTURE_PUMP_UNTIL(&fixture,
                       store_tablet_committed(tablets[0]) == store_tablet_prepared(tablets[0]));
    FIXTURE_PUMP_UNTIL(&fixture, atomic_load(&reads) > 10);
    fixture_flush(&fixture); /* the writer may have been far ahead of the flusher */
    atomic_store(&stop, true);
    for (int i = 0; i < READERS; i++) {
        cr_assert_eq(pthread_join(threads[i], NULL), 0);
    }
    struct store_statistics numbers;
    store_statistics(fixture.store, &numbers);
    cr_assert_gt(numbers.flushes, 3);
    store_check(fixture.store);
    store_tablet_unref(tablets[0]);
    store_tablet_unref(tablets[1]);
    fixture_deinit(&fixture);
}
