/* What a copy shows is the same, whatever it still has of what it does not show. */
#include "tests/support/sketch_order.h"
#include "tests/support/store_fixture.h"

#include "tabletserver/storage/copies/store_digest.h"
#include "tabletserver/storage/store/store_append.h"

static struct fixture fixture;
static struct store_tablet *tablet;
static struct family families[5];
static struct table table;

static void setup(void)
{
    fixture_init(&fixture);
    fixture.pump_clock_us = FIXTURE_PUMP_US;
    fixture_open(&fixture);
    tablet = fixture_create(&fixture, 1, "", "");
    table = fixture_table;
    table.families = families;
    memcpy(families, fixture_families, sizeof fixture_families);
}

static void teardown(void)
{
    fixture_deinit(&fixture);
}

TestSuite(store_digest, .init = setup, .fini = teardown);

static void put(const char *row, int64_t timestamp_us)
{
    struct change change = fixture_put(1, "c", timestamp_us, "v");
    fixture_write(&fixture, tablet, row, &change, 1);
}

/* Of all that follows on a row, up to so much. */
static struct store_digest digest(const char *after, uint64_t bytes_max)
{
    struct store_digesting *digesting = NULL;
    struct store_digest found;
    uint64_t version = store_digest_schema_version(tablet);
    int64_t now_us = store_digest_time_us(tablet, atomic_load(&fixture.now_us));
    cr_assert_eq(store_digest_begin(tablet, version, now_us, &digesting), STATUS_OK);
    cr_assert_eq(store_digest_run(digesting, bytes_of_text(after), bytes_max, &found), STATUS_OK);
    store_digest_end(digesting);
    return found;
}

static void expect_same(const struct store_digest *a, const struct store_digest *b)
{
    cr_assert_eq(a->halves[0], b->halves[0]);
    cr_assert_eq(a->halves[1], b->halves[1]);
    cr_assert_eq(a->is_end, b->is_end);
    cr_assert(bytes_equal(buffer_bytes(&a->last), buffer_bytes(&b->last)), "'%.*s' and '%.*s'",
              (int)a->last.size_bytes, (const char *)a->last.data, (int)b->last.size_bytes,
              (const char *)b->last.data);
}

/* Its delete is in memory in one copy, and carried out in the other. */
Test(store_digest, a_last_row_that_was_deleted)
{
    const struct change delete_row = {.kind = CHANGE_DELETE_ROW};
    put("a", 5);
    put("b", 5);
    fixture_flush(&fixture);
    fixture_write(&fixture, tablet, "b", &delete_row, 1);
    struct store_digest before = digest("", UINT64_MAX);
    struct store_digest behind = digest("a", UINT64_MAX);
    cr_assert(before.is_end && behind.is_end);
    cr_assert_eq(behind.rows, 0);
    fixture_flush(&fixture);
    struct store_digest after = digest("", UINT64_MAX);
    struct store_digest behind_after = digest("a", UINT64_MAX);
    expect_same(&before, &after);
    expect_same(&behind, &behind_after);
    buffer_deinit(&before.last);
    buffer_deinit(&behind.last);
    buffer_deinit(&after.last);
    buffer_deinit(&behind_after.last);
}

static bool has_row(const char *row)
{
    struct buffer out = BUFFER_INIT;
    fixture_dump_at(tablet, &fixture_table, STORE_READ_COMMITTED, 0, &out);
    buffer_append_u8(&out, 0);
    bool has = strstr((const char *)out.data, row) != NULL;
    buffer_deinit(&out);
    return has;
}

/* What has expired is erased in one copy and not yet in the other. */
Test(store_digest, a_last_row_that_has_expired)
{
    put("a", INT64_MAX - 1);
    put("b", 5);
    fixture_flush(&fixture);
    families[0].gc = (struct gc_rule){.kind = GC_AGE, .age_us = 1000};
    table.version = 2;
    cr_assert_eq(store_set_table(fixture.store, &table), STATUS_OK);
    struct store_digest before = digest("", UINT64_MAX);
    fixture_close(&fixture);
    fixture.settings.gc_interval_us = 1000;
    fixture_open(&fixture);
    tablet = store_tablet_find(fixture.store, 1);
    cr_assert_eq(store_set_table(fixture.store, &table), STATUS_OK);
    FIXTURE_PUMP_UNTIL(&fixture, !has_row("b/"));
    struct store_digest after = digest("", UINT64_MAX);
    expect_same(&before, &after);
    cr_assert_eq(after.rows, 1);
    buffer_deinit(&before.last);
    buffer_deinit(&after.last);
}

/* By a clock that is ahead cells were said to have expired, which by this one are there for a while. */
Test(store_digest, as_of_what_was_said_to_have_expired)
{
    families[0].gc = (struct gc_rule){.kind = GC_AGE, .age_us = 1000};
    table.version = 2;
    cr_assert_eq(store_set_table(fixture.store, &table), STATUS_OK);
    int64_t now_us = atomic_load(&fixture.now_us);
    uint64_t sequence = 0;
    cr_assert_eq(store_digest_time_us(tablet, now_us), now_us);
    cr_assert_eq(
        store_append_gc_horizon(tablet, &(struct record_gc_horizon){1, 2, now_us}, 0, &sequence),
        STATUS_OK);
    cr_assert_eq(store_digest_time_us(tablet, now_us), now_us + 1000);
}

static void fold(const struct buffer *sketch)
{
    struct change change = {.kind = CHANGE_FOLD,
                            .family = 5,
                            .aggregate = AGGREGATE_INTHLL,
                            .qualifier = bytes_of_text("c"),
                            .value = buffer_bytes(sketch)};
    fixture_write(&fixture, tablet, "a", &change, 1);
}

/* Of the first cell. */
static size_t value_bytes(void)
{
    struct store_read *read = NULL;
    struct bytes row = BYTES_EMPTY;
    struct cell cell;
    bool found = false;
    cr_assert_eq(store_read_begin(tablet, &table, STORE_READ_COMMITTED, 0, &read), STATUS_OK);
    cr_assert_eq(
        row_reader_seek(store_read_reader(read), ROW_AT_OR_AFTER, BYTES_EMPTY, &row, &found),
        STATUS_OK);
    cr_assert(found);
    struct cell_source source = row_reader_source(store_read_reader(read));
    cr_assert_eq(source.rewind(source.context, 0, BYTES_EMPTY), STATUS_OK);
    cr_assert_eq(source.next(source.context, CELL_NEXT, &cell, &found), STATUS_OK);
    cr_assert(found);
    size_t size_bytes = cell.value.size_bytes;
    store_read_end(read);
    return size_bytes;
}

/* The same three writes, the memtable flushed behind the first of them or the second. */
static struct store_digest digest_of_sketches(const struct sketch_order *order,
                                              size_t flush_behind,
                                              size_t *ret_value_bytes)
{
    families[4] = (struct family){
        .number = 5, .name = bytes_of_text("set"), .aggregate = AGGREGATE_INTHLL};
    table.family_count = 5;
    table.family_number_next = 6;
    table.version = 2;
    cr_assert_eq(store_set_table(fixture.store, &table), STATUS_OK);
    for (size_t i = 0; i < 3; i++) {
        fold(&order->sketches[i]);
        if (i == flush_behind) {
            fixture_flush(&fixture);
        }
    }
    *ret_value_bytes = value_bytes();
    return digest("", UINT64_MAX);
}

/* One copy flushed between two sketches that the other folded in memory: what is sparse there is normal here. */
Test(store_digest, a_sketch_that_was_folded_in_another_order)
{
    struct sketch_order order = sketch_order_make(SKETCH_ORDER_RHO_MAX);
    size_t sparse_bytes = 0;
    size_t normal_bytes = 0;
    struct store_digest one = digest_of_sketches(&order, 0, &sparse_bytes);
    teardown();
    setup();
    struct store_digest other = digest_of_sketches(&order, 1, &normal_bytes);
    cr_assert_lt(sparse_bytes, 1 << (HLL_PRECISION - 1));
    cr_assert_gt(normal_bytes, 1 << HLL_PRECISION);
    expect_same(&one, &other);
    cr_assert_eq(one.size_bytes, other.size_bytes);
    buffer_deinit(&one.last);
    buffer_deinit(&other.last);
    sketch_order_free(&order);
}

/* By one register. */
Test(store_digest, a_sketch_of_another_set)
{
    struct sketch_order order = sketch_order_make(SKETCH_ORDER_RHO_MAX);
    struct sketch_order other_set = sketch_order_make(SKETCH_ORDER_RHO_MAX - 1);
    size_t one_bytes = 0;
    size_t other_bytes = 0;
    struct store_digest one = digest_of_sketches(&order, 0, &one_bytes);
    teardown();
    setup();
    struct store_digest other = digest_of_sketches(&other_set, 0, &other_bytes);
    cr_assert_neq(one.halves[0], other.halves[0]);
    cr_assert_neq(one.halves[1], other.halves[1]);
    buffer_deinit(&one.last);
    buffer_deinit(&other.last);
    sketch_order_free(&order);
    sketch_order_free(&other_set);
}
