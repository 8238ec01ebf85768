/*
 * A tablet that has ended and is made again under its number, as when a copy comes back to a server that it was taken
 * from: what the log has of its former life is not taken for a part of the next one.
 */
#include "tests/support/store_fixture.h"

#include "tabletserver/storage/copies/store_replica.h"

static struct fixture fixture;
static struct store_tablet *tablet;

static struct store_configuration version(uint64_t number)
{
    return (struct store_configuration){
        .members = {.version = number, .member_count = 1, .members = {{1, FIXTURE_STORE}}},
        .role = 3};
}

static void configure(uint64_t number, uint64_t kept)
{
    const struct store_configuration configuration = version(number);
    uint64_t before = fixture.configured_count;
    cr_assert_eq(store_tablet_configure(tablet, &configuration, kept), STATUS_OK);
    store_commit(fixture.store);
    FIXTURE_PUMP_UNTIL(&fixture, fixture.configured_count > before);
}

static void make(void)
{
    tablet = fixture_create(&fixture, 1, "", "");
}

static void drop(void)
{
    uint64_t before = fixture.dropped_count;
    store_tablet_drop(fixture.store, tablet);
    FIXTURE_PUMP_UNTIL(&fixture, fixture.dropped_count > before);
    tablet = NULL;
}

static void add(const char *row, int64_t number)
{
    uint8_t operand[8];
    struct change change = fixture_add(3, "n", number, operand);
    fixture_write(&fixture, tablet, row, &change, 1);
}

static void reopen(void)
{
    fixture_close(&fixture);
    fixture_open(&fixture);
    tablet = store_tablet_find(fixture.store, 1);
    cr_assert_not_null(tablet);
}

static void expect(const char *row, bool there)
{
    char *text = fixture_dump(tablet);
    cr_assert_eq(strstr(text, row) != NULL, there, "%s: %s", row, text);
    free(text);
}

static void start(void)
{
    fixture_init(&fixture);
    fixture_open(&fixture);
    make();
    configure(1, 0);
    add("old", 1);
    add("older", 1);
    configure(2, 2);
    drop();
}

static void stop(void)
{
    fixture_close(&fixture);
    fixture_deinit(&fixture);
}

TestSuite(store_grave, .init = start, .fini = stop, .timeout = 600);

Test(store_grave, a_tablet_that_is_made_again_has_its_own_life)
{
    make();
    configure(5, 0);
    add("new", 1);
    for (int i = 0; i < 3; i++) {
        reopen();
        expect("old", false);
        expect("new", true);
        cr_assert_eq(store_tablet_committed(tablet), 1);
        cr_assert_eq(store_tablet_configuration(tablet)->members.version, 5);
    }
}

Test(store_grave, also_when_it_is_made_again_by_another_process)
{
    fixture_close(&fixture);
    fixture_open(&fixture);
    make(); /* nothing is on its way to the log */
    configure(5, 0);
    add("new", 1);
    reopen();
    expect("old", false);
    expect("new", true);
}

/* Nothing was appended since the start. */
Test(store_grave, also_when_it_is_dropped_and_made_again_by_another_process)
{
    make();
    configure(5, 0);
    add("new", 1);
    reopen();
    drop();
    make();
    configure(6, 0);
    add("newest", 1);
    reopen();
    expect("new/", false);
    expect("newest", true);
}

Test(store_grave, and_again)
{
    make();
    configure(5, 0);
    add("new", 1);
    drop();
    make();
    configure(6, 0);
    add("newest", 1);
    fixture_flush(&fixture);
    add("last", 1);
    reopen();
    expect("old", false);
    expect("new/", false);
    expect("newest", true);
    expect("last", true);
}

/* By a word of the master's that was under way while it was split (simulator, seed 13159758). */
Test(store_grave, also_one_that_was_split)
{
    const struct record_split record = {bytes_of_text("m"), 8, 9};
    uint64_t sequence = 0;
    tablet = fixture_create(&fixture, 7, "", "");
    add("old", 1);
    cr_assert_eq(store_append_split(tablet, &record, store_next_clock(fixture.store), &sequence),
                 STATUS_OK);
    store_commit(fixture.store);
    FIXTURE_PUMP_UNTIL(&fixture, fixture.split_count > 0);
    fixture_flush(&fixture); /* now it is its parts that the base knows */
    tablet = fixture_create(&fixture, 7, "", "");
    add("new", 1);
    for (int i = 0; i < 3; i++) {
        fixture_close(&fixture);
        fixture_open(&fixture);
        tablet = store_tablet_find(fixture.store, 9);
        expect("old", true);
        tablet = store_tablet_find(fixture.store, 7);
        expect("old", false);
        expect("new", true);
    }
}

/* --- one whose former life has not ended yet ------------------------------------------------------ */

#define ROWS      12
#define ROW_BYTES 3000

/* Into 8 and 9, of which the base hears late: a transaction for each row or two, and a rest after it. */
static void split_slowly(void)
{
    const struct record_split record = {bytes_of_text("m"), 8, 9};
    char row[ROW_BYTES + 1];
    uint64_t sequence = 0;
    fixture_close(&fixture);
    fixture.settings.flush_transaction_bytes = 4096;
    fixture.settings.flush_pace_percent = 1;
    fixture_open(&fixture);
    tablet = fixture_create(&fixture, 7, "", "");
    for (int i = 0; i < ROWS; i++) {
        (void)snprintf(row, sizeof row, "old%0*d", ROW_BYTES - 3, i);
        add(row, 1);
    }
    cr_assert_eq(store_append_split(tablet, &record, store_next_clock(fixture.store), &sequence),
                 STATUS_OK);
    store_commit(fixture.store);
    FIXTURE_PUMP_UNTIL(&fixture, fixture.split_count > 0);
    store_flush_all(fixture.store);
}

static void expect_new_alone(uint64_t number)
{
    for (int i = 0; i < 2; i++) {
        fixture_close(&fixture);
        fixture_open(&fixture);
        tablet = store_tablet_find(fixture.store, number);
        cr_assert_not_null(tablet);
        expect("old", false);
        expect("new", true);
    }
}

/* Its metadata is written, and then deleted, when what it was split off is in the base. */
Test(store_grave, a_child_that_was_dropped_before_its_parent_has_ended)
{
    split_slowly();
    uint64_t before = fixture.dropped_count;
    store_tablet_drop(fixture.store, store_tablet_find(fixture.store, 9));
    tablet = fixture_create(&fixture, 9, "m", "");
    add("new", 1);
    FIXTURE_PUMP_UNTIL(&fixture, fixture.dropped_count > before);
    expect_new_alone(9);
}

Test(store_grave, a_tablet_that_was_split_and_is_not_yet_in_the_base_as_its_parts)
{
    split_slowly();
    tablet = fixture_create(&fixture, 7, "", "");
    add("new", 1);
    fixture_flush(&fixture);
    expect_new_alone(7);
}
