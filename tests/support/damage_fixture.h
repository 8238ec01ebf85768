/*
 * A store in which one tablet is damaged, for tests of what that holds up (store_damage.h does the harm).
 */
#ifndef TESTS_SUPPORT_DAMAGE_FIXTURE_H
#define TESTS_SUPPORT_DAMAGE_FIXTURE_H

#include "tests/support/store_damage.h"

#define WIDE_CELLS 100 /* of a chunk each: a delete of them all is stored, and swept later */
#define CELL_BYTES 700

static struct fixture fixture;

static struct family families[] = {
    {.number = 1, .name = {(const uint8_t *)"aged", 4}, .gc = {.kind = GC_AGE, .age_us = 1000000}},
};

__attribute__((unused)) static struct table table = {
    .number = 1,
    .version = 2,
    .id = {(const uint8_t *)"t", 1},
    .family_number_next = 2,
    .families = families,
    .family_count = 1,
};

__attribute__((unused)) static void setup(void)
{
    fixture_init(&fixture);
    fixture.settings.gc_interval_us = 1000;
    fixture.pump_clock_us = FIXTURE_PUMP_US;
    fixture_open(&fixture);
}

__attribute__((unused)) static void teardown(void)
{
    fixture_deinit(&fixture);
}

__attribute__((unused)) static void put(struct store_tablet *tablet, const char *row)
{
    struct change change = fixture_put(1, "c", 5, "v");
    fixture_write(&fixture, tablet, row, &change, 1);
}

__attribute__((unused)) static void put_cells(struct store_tablet *tablet,
                                              const char *row,
                                              int count)
{
    static char value[CELL_BYTES + 1];
    static char names[WIDE_CELLS][16];
    struct change changes[WIDE_CELLS];
    memset(value, 'v', CELL_BYTES);
    for (int i = 0; i < count; i++) {
        (void)snprintf(names[i], sizeof names[i], "%03d", i);
        changes[i] = fixture_put(1, names[i], 5, value);
    }
    fixture_write(&fixture, tablet, row, changes, (size_t)count);
}

__attribute__((unused)) static void delete_row(struct store_tablet *tablet, const char *row)
{
    struct change change = {.kind = CHANGE_DELETE_ROW};
    fixture_write(&fixture, tablet, row, &change, 1);
}

__attribute__((unused)) static int records_of(struct store_tablet *tablet, enum base_space space)
{
    return count_records(fixture.store, space, tablet->pieces->pieces[0].extent);
}

__attribute__((unused)) static bool damage_is_said(void)
{
    struct store_statistics numbers;
    store_statistics(fixture.store, &numbers);
    return strstr(numbers.trouble, "corrupt") != NULL;
}

/* Rows of a chunk's size each, in one record. */
__attribute__((unused)) static void fill(struct store_tablet *tablet, char first, int rows)
{
    for (int i = 0; i < rows; i++) {
        char row[16];
        (void)snprintf(row, sizeof row, "%c%03d", first, i);
        put_cells(tablet, row, WIDE_CELLS);
    }
}

/* Its flush has met the damage: that it is said may be another's doing, an estimate's or a sweep's. */
__attribute__((unused)) static void await_held_up(struct store_tablet *tablet)
{
    FIXTURE_PUMP_UNTIL(&fixture, atomic_load(&tablet->flush_stuck));
    FIXTURE_PUMP_UNTIL(&fixture, damage_is_said());
    cr_assert_gt(fixture_flushes_pending(&fixture), 0);
}

/* Something is written to a row whose chunk is damaged, and its flush has met that. */
__attribute__((unused)) static void hold_up(struct store_tablet *tablet)
{
    put(tablet, "a");
    fixture_flush(&fixture);
    damage_chunk(fixture.store);
    put(tablet, "a");
    store_flush_all(fixture.store);
    await_held_up(tablet);
}

__attribute__((unused)) static bool is_all_flushed(void)
{
    return fixture_flushes_pending(&fixture) == 0;
}

__attribute__((unused)) static void reopen(uint64_t memory_limit_bytes,
                                           uint64_t memtable_limit_bytes)
{
    fixture_close(&fixture);
    fixture.settings.memory_limit_bytes = memory_limit_bytes;
    fixture.settings.memtable_limit_bytes = memtable_limit_bytes;
    fixture_open(&fixture);
}

__attribute__((unused)) static struct store_statistics numbers_now(void)
{
    struct store_statistics numbers;
    store_statistics(fixture.store, &numbers);
    return numbers;
}

#endif /* TESTS_SUPPORT_DAMAGE_FIXTURE_H */
