/* Garbage collection: what is expired goes away for good, what is not stays. */
#include "tests/support/store_fixture.h"

#define NOW INT64_C(1700000000000000)

static struct fixture fixture;

static const struct gc_rule both[] = {
    {.kind = GC_AGE, .age_us = 1000000},
    {.kind = GC_VERSIONS, .versions = 1},
};

static struct family families[] = {
    {.number = 1, .name = {(const uint8_t *)"aged", 4}, .gc = {.kind = GC_AGE, .age_us = 1000000}},
    {.number = 2, .name = {(const uint8_t *)"two", 3}, .gc = {.kind = GC_VERSIONS, .versions = 2}},
    {.number = 3,
     .name = {(const uint8_t *)"sum", 3},
     .aggregate = AGGREGATE_INTSUM,
     .gc = {.kind = GC_AGE, .age_us = 1000000}},
    {.number = 4,
     .name = {(const uint8_t *)"both", 4},
     .gc = {.kind = GC_INTERSECTION, .children = both, .child_count = 2}},
    {.number = 5, .name = {(const uint8_t *)"keep", 4}},
};

static struct table table = {
    .number = 1,
    .version = 2,
    .id = {(const uint8_t *)"t", 1},
    .family_number_next = 6,
    .families = families,
    .family_count = 5,
};

/* The same families, no rules: what is really there. */
static struct family bare_families[5];
static struct table bare;

static void setup(void)
{
    fixture_init(&fixture);
    fixture.settings.gc_interval_us = 1000;
    fixture
        .pump_clock_us = FIXTURE_PUMP_US; /* or an interval could be longer than the test waits */
    fixture_open(&fixture);
    bare = table;
    bare.families = bare_families;
    memcpy(bare_families, families, sizeof families);
    for (int i = 0; i < 5; i++) {
        bare_families[i].gc = (struct gc_rule){.kind = GC_NONE};
    }
}

static void teardown(void)
{
    fixture_deinit(&fixture);
}

TestSuite(store_gc, .init = setup, .fini = teardown);

static char *dump_bare(struct store_tablet *tablet)
{
    struct buffer out = BUFFER_INIT;
    size_t size = 0;
    fixture_dump_at(tablet, &bare, STORE_READ_COMMITTED, NOW, &out);
    buffer_append_u8(&out, 0);
    return (char *)buffer_detach(&out, &size);
}

static bool is_left(struct store_tablet *tablet, const char *text)
{
    char *there = dump_bare(tablet);
    bool equal = strcmp(there, text) == 0;
    free(there);
    return equal;
}

static void put(struct store_tablet *tablet, const char *row, uint32_t family, int64_t timestamp_us)
{
    struct change change = fixture_put(family, "c", timestamp_us, "v");
    fixture_write(&fixture, tablet, row, &change, 1);
}

Test(store_gc, age_versions_and_intersection)
{
    struct store_tablet *tablet = fixture_create(&fixture, 1, "", "");
    uint8_t operand[8];
    struct change add = fixture_add(3, "n", 1, operand);
    put(tablet, "a", 1, 1000);
    put(tablet, "a", 1, INT64_MAX - 1);
    for (int64_t i = 1; i <= 4; i++) {
        put(tablet, "b", 2, i);
        put(tablet, "b", 4, i);
        put(tablet, "b", 5, i);
    }
    fixture_write(&fixture, tablet, "c", &add, 1);
    fixture_flush(&fixture);
    cr_assert_eq(store_set_table(fixture.store, &table), STATUS_OK);
    const char *expected = "a/1:c@9223372036854775806=v\n"
                           "b/2:c@4=v\nb/2:c@3=v\n"
                           "b/4:c@4=v\n"
                           "b/5:c@4=v\nb/5:c@3=v\nb/5:c@2=v\nb/5:c@1=v\n";
    struct buffer visible = BUFFER_INIT;
    fixture_dump_at(tablet, &table, STORE_READ_COMMITTED, NOW, &visible);
    cr_assert(bytes_equal(buffer_bytes(&visible), bytes_of_text(expected)));
    buffer_deinit(&visible);
    FIXTURE_PUMP_UNTIL(&fixture, is_left(tablet, expected));
    /* And it stays so. */
    fixture_flush(&fixture);
    fixture_close(&fixture);
    fixture_open(&fixture);
    cr_assert(is_left(store_tablet_find(fixture.store, 1), expected));
    store_check(fixture.store);
}

Test(store_gc, dropped_family_is_erased_and_a_new_one_is_not)
{
    struct store_tablet *tablet = fixture_create(&fixture, 1, "", "");
    put(tablet, "a", 1, 1);
    put(tablet, "a", 2, 1);
    put(tablet, "a", 5, 1);
    fixture_flush(&fixture);
    struct table less = bare;
    struct family kept[] = {bare_families[0]};
    less.version = 9;
    less.families = kept;
    less.family_count = 1;
    less.family_number_next = 5; /* 5 is not known yet, 2 is known no more */
    cr_assert_eq(store_set_table(fixture.store, &less), STATUS_OK);
    FIXTURE_PUMP_UNTIL(&fixture, is_left(tablet, "a/1:c@1=v\na/5:c@1=v\n"));
}

/* Without rules there is one pass for each version of the schema: it must not be taken for done by
 * one that began before the family was dropped, whenever that was. */
Test(store_gc, family_dropped_during_a_pass_is_erased)
{
    struct store_tablet *tablet = fixture_create(&fixture, 1, "", "");
    struct table less = bare;
    struct family kept[] = {bare_families[0]};
    less.families = kept;
    less.family_count = 1;
    fixture.look_pause_us = 200; /* a pass takes several looks */
    for (uint32_t round = 1; round <= 40; round++) {
        bare.version = 10 * round;
        less.version = 10 * round + 1;
        cr_assert_eq(store_set_table(fixture.store, &bare), STATUS_OK);
        put(tablet, "a", 2, 1);
        fixture_flush(&fixture);
        bare.version++;
        less.version++;
        cr_assert_eq(store_set_table(fixture.store, &bare), STATUS_OK);
        (void)atomic_fetch_add(&fixture.now_us, 2000); /* the next pass is due */
        store_flush_all(fixture.store);                /* wakes who works */
        usleep(round * 50);
        cr_assert_eq(store_set_table(fixture.store, &less), STATUS_OK);
        FIXTURE_PUMP_UNTIL(&fixture, is_left(tablet, ""));
    }
}

/* And what lies in memory then never gets into the base. */
Test(store_gc, family_dropped_before_the_flush_is_not_written)
{
    struct store_tablet *tablet = fixture_create(&fixture, 1, "", "");
    struct table less = bare;
    struct family kept[] = {bare_families[0]};
    struct store_statistics numbers;
    less.version = 9;
    less.families = kept;
    less.family_count = 1;
    less.family_number_next = 5;
    put(tablet, "a", 1, 1);
    put(tablet, "a", 2, 1);
    put(tablet, "a", 5, 1);
    cr_assert_eq(store_set_table(fixture.store, &less), STATUS_OK);
    fixture_flush(&fixture);
    cr_assert(is_left(tablet, "a/1:c@1=v\na/5:c@1=v\n"));
    store_statistics(fixture.store, &numbers);
    cr_assert_eq(numbers.collected_cells, 0, "written, and erased again");
}

Test(store_gc, many_versions_in_one_column)
{
    struct store_tablet *tablet = fixture_create(&fixture, 1, "", "");
    struct change changes[500];
    for (int64_t i = 0; i < 500; i++) {
        changes[i] = fixture_put(2, "c", i, "v");
    }
    fixture_write(&fixture, tablet, "r", changes, 500);
    cr_assert_eq(store_set_table(fixture.store, &table), STATUS_OK);
    FIXTURE_PUMP_UNTIL(&fixture, is_left(tablet, "r/2:c@499=v\nr/2:c@498=v\n"));
    fixture_flush(&fixture);
    cr_assert(is_left(tablet, "r/2:c@499=v\nr/2:c@498=v\n"));
}

/* That are really there, as many as lines of a dump. */
static int cells_of(struct store_tablet *tablet)
{
    struct buffer out = BUFFER_INIT;
    int count = 0;
    fixture_dump_at(tablet, &bare, STORE_READ_COMMITTED, NOW, &out);
    for (size_t i = 0; i < out.size_bytes; i++) {
        count += out.data[i] == '\n';
    }
    buffer_deinit(&out);
    return count;
}

static uint64_t flushes(void)
{
    struct store_statistics numbers;
    store_statistics(fixture.store, &numbers);
    return numbers.flushes;
}

/* Deletes are small, what they doom is not: it must not wait until memory is full of deletes. */
Test(store_gc, what_is_doomed_is_flushed_by_itself)
{
    enum {
        ROWS = 40,
        VERSIONS = 4,
        VALUE_BYTES = 1024 * 1024
    };
    struct store_tablet *tablet = fixture_create(&fixture, 1, "", "");
    char *value = malloc(VALUE_BYTES + 1);
    memset(value, 'v', VALUE_BYTES);
    value[VALUE_BYTES] = '\0';
    for (int64_t version = 0; version < VERSIONS; version++) {
        for (int i = 0; i < ROWS; i++) {
            char row[16];
            struct change change = fixture_put(2, "c", version, value);
            (void)snprintf(row, sizeof row, "%d", i);
            fixture_write(&fixture, tablet, row, &change, 1);
        }
        fixture_flush(&fixture);
    }
    free(value);
    uint64_t before = flushes();
    cr_assert_eq(store_set_table(fixture.store, &table), STATUS_OK);
    FIXTURE_PUMP_UNTIL(&fixture, flushes() > before);

    /* And then collecting goes on, to the last row: nothing is counted for ever. */
    for (int64_t version = 10; version < 13; version++) {
        put(tablet, "last", 2, version);
    }
    FIXTURE_PUMP_UNTIL(&fixture, cells_of(tablet) == 2 * (ROWS + 1));
}

Test(store_gc, unknown_table_is_left_alone)
{
    struct store_tablet_descriptor descriptor = {.tablet = 4, .table = 77, .configuration = 1};
    cr_assert_eq(store_tablet_create(fixture.store, &descriptor), STATUS_OK);
    FIXTURE_PUMP_UNTIL(&fixture, fixture.created_count == 1);
    put(fixture.created, "a", 1, 1);
    fixture_flush(&fixture);
    for (int i = 0; i < 50; i++) {
        usleep(1000);
        store_poll(fixture.store);
    }
    cr_assert(is_left(fixture.created, "a/1:c@1=v\n"));
}

Test(store_gc, horizon_of_a_former_rule_is_void)
{
    struct store_tablet *tablet = fixture_create(&fixture, 1, "", "");
    put(tablet, "a", 1, NOW - 5000000);
    fixture_flush(&fixture);
    cr_assert_eq(store_set_table(fixture.store, &table), STATUS_OK);
    FIXTURE_PUMP_UNTIL(&fixture, is_left(tablet, ""));
    /* A minute now instead of a second: what is five seconds old may be written and stays. */
    struct family lax_families[5];
    struct table lax = table;
    memcpy(lax_families, families, sizeof families);
    lax_families[0].gc.age_us = 60000000;
    lax.families = lax_families;
    lax.version = table.version + 1;
    cr_assert_eq(store_set_table(fixture.store, &lax), STATUS_OK);
    put(tablet, "a", 1, NOW - 5000000);
    put(tablet, "b", 1, NOW - 90000000);
    (void)atomic_fetch_add(&fixture.now_us, 2000); /* the next pass is due */
    fixture_flush(&fixture);
    char expected[64];
    (void)snprintf(expected, sizeof expected, "a/1:c@%lld=v\n", (long long)(NOW - 5000000));
    FIXTURE_PUMP_UNTIL(&fixture, is_left(tablet, expected));
}
