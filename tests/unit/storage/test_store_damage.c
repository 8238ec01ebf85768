/* Damage in the base of one tablet: what it may hold up. */
#include "tests/support/store_damage.h"

#define WIDE_CELLS 100 /* of a chunk each: a delete of them all is stored, and swept later */
#define CELL_BYTES 700
#define LONG_BYTES 500 /* a key that is a link and the rest of it */

static struct fixture fixture;

static struct family families[] = {
    {.number = 1, .name = {(const uint8_t *)"aged", 4}, .gc = {.kind = GC_AGE, .age_us = 1000000}},
};

static struct table table = {
    .number = 1,
    .version = 2,
    .id = {(const uint8_t *)"t", 1},
    .family_number_next = 2,
    .families = families,
    .family_count = 1,
};

static void setup(void)
{
    fixture_init(&fixture);
    fixture.settings.gc_interval_us = 1000;
    fixture.pump_clock_us = FIXTURE_PUMP_US;
    fixture_open(&fixture);
}

static void teardown(void)
{
    fixture_deinit(&fixture);
}

TestSuite(store_damage, .init = setup, .fini = teardown);

static void put(struct store_tablet *tablet, const char *row)
{
    struct change change = fixture_put(1, "c", 5, "v");
    fixture_write(&fixture, tablet, row, &change, 1);
}

static void put_cells(struct store_tablet *tablet, const char *row, int count)
{
    static char value[CELL_BYTES + 1];
    static char names[WIDE_CELLS][8];
    struct change changes[WIDE_CELLS];
    memset(value, 'v', CELL_BYTES);
    for (int i = 0; i < count; i++) {
        (void)snprintf(names[i], sizeof names[i], "%03d", i);
        changes[i] = fixture_put(1, names[i], 5, value);
    }
    fixture_write(&fixture, tablet, row, changes, (size_t)count);
}

static int records_of(struct store_tablet *tablet, enum base_space space)
{
    return count_records(fixture.store, space, tablet->pieces->pieces[0].extent);
}

static bool damage_is_said(void)
{
    struct store_statistics numbers;
    store_statistics(fixture.store, &numbers);
    return strstr(numbers.trouble, "corrupt") != NULL;
}

/* --- one tablet's damage is no other's -------------------------------------------------------------- */

Test(store_damage, other_tablets_are_collected)
{
    struct store_tablet *bad = fixture_create(&fixture, 1, "", "m");
    struct store_tablet *good = fixture_create(&fixture, 2, "m", "");
    put(bad, "a");
    fixture_flush(&fixture);
    damage_chunk(fixture.store);
    cr_assert_eq(store_set_table(fixture.store, &table), STATUS_OK);
    FIXTURE_PUMP_UNTIL(&fixture, damage_is_said());
    put(good, "z");
    fixture_flush(&fixture);
    FIXTURE_PUMP_UNTIL(&fixture, records_of(good, BASE_SPACE_DATA) == 0);
    cr_assert_eq(records_of(bad, BASE_SPACE_DATA), 1);
    cr_assert_eq(store_condition_now(fixture.store), STORE_HEALTHY);
}

Test(store_damage, other_tablets_are_swept)
{
    struct store_tablet *bad = fixture_create(&fixture, 1, "", "m");
    struct store_tablet *good = fixture_create(&fixture, 2, "m", "");
    put_cells(bad, "a", WIDE_CELLS);
    put_cells(good, "z", WIDE_CELLS);
    fixture_flush(&fixture);
    damage_record(fixture.store, WIDE_CELLS / 2);
    struct change change = {.kind = CHANGE_DELETE_FAMILY, .family = 1};
    fixture_write(&fixture, bad, "a", &change, 1);
    fixture_write(&fixture, good, "z", &change, 1);
    fixture_flush(&fixture);
    FIXTURE_PUMP_UNTIL(&fixture, records_of(good, BASE_SPACE_DATA) == 0 &&
                                     records_of(good, BASE_SPACE_DELETE) == 0);
    cr_assert_eq(records_of(bad, BASE_SPACE_DELETE), 1);
}

Test(store_damage, other_tablets_that_are_dropped_are_erased)
{
    static char row[LONG_BYTES + 1];
    struct store_tablet *bad = fixture_create(&fixture, 1, "", "m");
    struct store_tablet *good = fixture_create(&fixture, 2, "m", "");
    uint64_t extent = good->pieces->pieces[0].extent;
    memset(row, 'a', LONG_BYTES);
    put(bad, row);
    put(good, "z");
    fixture_flush(&fixture);
    damage_chunk(fixture.store); /* the link */
    store_tablet_drop(fixture.store, bad);
    store_tablet_drop(fixture.store, good);
    FIXTURE_PUMP_UNTIL(&fixture, count_records(fixture.store, BASE_SPACE_DATA, extent) == 0);
    cr_assert_eq(fixture.dropped_count, 2);
}
