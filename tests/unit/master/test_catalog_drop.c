/* A table of very many tablets is dropped, in records of a size that every coordinator takes. */
#include "tests/support/catalog_fixture.h"

#include "master/core/catalog_parts.h"

#define TABLETS          120000
#define RECORD_BYTES_MAX (1 << 20) /* etcd's, and the least of all */

TestSuite(catalog_drop, .init = start, .fini = stop, .timeout = 300);

static uint64_t first_number;

/* What the coordinator has, into a new catalog; the test adds to it before the end: a coordinator in memory takes
 * long for so many records. */
static void begin_loading(void)
{
    struct error error = {0};
    catalog_destroy(driver.catalog);
    cr_assert_eq(catalog_create(&driver.settings, &driver.catalog), STATUS_OK);
    cr_assert_eq(coordinator_load(driver.coordinator, driver_take, driver.catalog, &error),
                 STATUS_OK, "%s", error.text);
}

static void end_loading(void)
{
    struct error error = {0};
    cr_assert_eq(catalog_load_end(driver.catalog, driver.now_ns, &error), STATUS_OK, "%s",
                 error.text);
}

static void load(char kind, uint64_t number, struct buffer *value)
{
    struct record_key key = record_key_of(kind, number);
    struct error error = {0};
    cr_assert_eq(catalog_load(driver.catalog, record_key_bytes(&key), buffer_bytes(value), &error),
                 STATUS_OK, "%s", error.text);
    buffer_deinit(value);
}

/* Every other number, as of a table that grew beside others. */
static uint64_t number_of(uint64_t index)
{
    return first_number + 2 * index;
}

static void load_tablet(uint64_t index, uint64_t version)
{
    struct buffer value = BUFFER_INIT;
    char start[16] = "";
    char end[16] = "";
    struct tablet_record record = {
        .number = number_of(index),
        .changed_version = version,
        .table = 7,
        .state = TABLET_SERVING,
        .soft_limit_bytes = 1 << 24,
        .configuration = {.version = 1, .members = {{1, 10}}, .member_count = 1},
        .goal = {.stores = {10}, .store_count = 1},
    };
    (void)snprintf(start, sizeof start, "%06u", (unsigned)index);
    (void)snprintf(end, sizeof end, "%06u", (unsigned)index + 1);
    record.range.start = index == 0 ? BYTES_EMPTY : bytes_of_text(start);
    record.range.end = index + 1 == TABLETS ? BYTES_EMPTY : bytes_of_text(end);
    tablet_record_encode(&record, &value);
    load(RECORD_KIND_TABLET, record.number, &value);
}

static void load_counters(struct counters_record counters)
{
    struct buffer value = BUFFER_INIT;
    counters.table_next = 8;
    counters.tablet_next = number_of(TABLETS);
    counters_record_encode(&counters, &value);
    load(RECORD_KIND_COUNTERS, 0, &value);
}

/* As if its tablets had been made by splits. */
static void load_large(void)
{
    struct buffer value = BUFFER_INIT;
    struct family family = {.number = 1, .name = bytes_of_text("f")};
    struct counters_record counters = driver.catalog->counters;
    const struct table_record table = {counters.version,
                                       {.number = 7,
                                        .version = 1,
                                        .id = bytes_of_text("large"),
                                        .families = &family,
                                        .family_count = 1,
                                        .family_number_next = 2,
                                        .replicas = 1,
                                        .min_in_sync = 1}};
    first_number = UINT64_C(1) << 33; /* of a catalog that has succeeded another */
    begin_loading();
    for (uint64_t i = 0; i < TABLETS; i++) {
        load_tablet(i, counters.version);
    }
    table_record_encode(&table, &value);
    load(RECORD_KIND_TABLE, 7, &value);
    load_counters(counters);
    end_loading();
}

static enum proposed_outcome fate_of(uint64_t tablet)
{
    struct tablet_heirs heirs;
    return state_fate(driver.catalog, tablet, &heirs);
}

static void assert_all_dropped(void)
{
    for (uint64_t i = 0; i < TABLETS; i++) {
        cr_assert_eq(fate_of(number_of(i)), PROPOSED_DROPPED, "tablet %lu", (unsigned long)i);
        cr_assert_eq(fate_of(number_of(i) + 1), PROPOSED_UNKNOWN);
    }
}

/* Which tablets it had was one record: of more than 174 000 ranges etcd refused it, and the table stayed. */
Test(catalog_drop, what_is_known_of_very_many_tablets_is_in_records_of_a_size_that_is_taken)
{
    size_t more = 0;
    load_large();
    driver.hold_commits = true;
    (void)driver_by_name(&driver, METHOD_DELETE_TABLE, "large");
    struct catalog_put *dropped = arena_allocate_array(&driver.arena, 3, sizeof *dropped);
    size_t dropped_count = 0;
    for (size_t i = 0; i < driver.put_count; i++) {
        struct catalog_put put = driver.puts[i];
        char kind = (char)put.key.data[0];
        cr_assert_leq(put.key.size_bytes + put.value.size_bytes, RECORD_BYTES_MAX);
        more += kind == RECORD_KIND_DROPPED_MORE ? 1 : 0;
        if (kind == RECORD_KIND_DROPPED || kind == RECORD_KIND_DROPPED_MORE) {
            cr_assert_lt(dropped_count, 3);
            dropped[dropped_count++] = (struct catalog_put){
                arena_copy(&driver.arena, put.key), arena_copy(&driver.arena, put.value), false};
        }
    }
    cr_assert_eq(more, 2, "%zu", more);
    const struct counters_record counters = driver.catalog->counters;
    uint64_t transaction = driver.transaction;
    driver.transaction = 0;
    driver_step(&driver,
                (struct catalog_event){.type = CATALOG_EVENT_PERSISTED, .number = transaction});
    assert_all_dropped();
    begin_loading();
    for (size_t i = 0; i < dropped_count; i++) {
        cr_assert_eq(catalog_load(driver.catalog, dropped[i].key, dropped[i].value, NULL),
                     STATUS_OK);
    }
    load_counters((struct counters_record){.version = counters.version + 1, .tablet_first = 1});
    end_loading();
    assert_all_dropped();
    driver.hold_commits = false;
    fakes_settle(&driver, servers, 3); /* they are told of it, as often as there are records */
    cr_assert_eq(servers[0].known_version, driver.catalog->counters.version);
}

/* The largest numbers there are: a record's bound is one of bytes. */
Test(catalog_drop, as_many_ranges_as_a_record_may_have_fit_whatever_their_numbers)
{
    struct number_range *ranges = memory_allocate(RECORD_DROPPED_RANGES_MAX * sizeof *ranges);
    struct buffer value = BUFFER_INIT;
    struct dropped_record back;
    for (uint64_t i = 0; i < RECORD_DROPPED_RANGES_MAX; i++) {
        ranges[i] = (struct number_range){UINT64_MAX - RECORD_DROPPED_RANGES_MAX + i, UINT64_MAX};
    }
    const struct dropped_record record = {UINT64_MAX, UINT64_MAX, ranges,
                                          RECORD_DROPPED_RANGES_MAX};
    dropped_more_record_encode(&record, &value);
    cr_assert_lt(value.size_bytes + RECORD_KEY_BYTES_MAX, RECORD_BYTES_MAX);
    cr_assert_eq(dropped_more_record_decode(ranges[0].first, buffer_bytes(&value), &driver.arena,
                                            &back, NULL),
                 STATUS_OK);
    cr_assert_eq(back.number, UINT64_MAX);
    cr_assert_eq(back.tablet_range_count, RECORD_DROPPED_RANGES_MAX);
    cr_assert_eq(back.tablets[7].first, ranges[7].first);
    cr_assert_eq(dropped_more_record_decode(ranges[1].first, buffer_bytes(&value), &driver.arena,
                                            &back, NULL),
                 STATUS_CORRUPT, "under the wrong key");
    buffer_deinit(&value);
    memory_free(ranges);
}
