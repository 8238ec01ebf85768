/*
 * Very many tablets in one store: what is done for one of them must not look at all of them.  The store counts how many
 * it has looked at where it goes through several.
 */
#include "tests/support/store_fixture.h"

#include "tabletserver/storage/store/store_append.h"
#include "tabletserver/storage/store/store_internal.h"

#define MANY 400
#define FEW  80 /* looks at a tablet for each memtable or split that is brought to the base */

static struct fixture fixture;
static struct store_tablet *tablets[MANY];

static void name(uint32_t at, char *ret_row)
{
    (void)snprintf(ret_row, 8, "%05u", at);
}

static void make_all(void)
{
    for (uint32_t i = 0; i < MANY; i++) {
        char start[8] = "";
        char end[8] = "";
        name(i, start);
        name(i + 1, end);
        const struct store_tablet_descriptor descriptor = {
            .tablet = i + 1,
            .table = 1,
            .configuration = 1,
            .range = {bytes_of_text(start), bytes_of_text(end)}};
        cr_assert_eq(store_tablet_create(fixture.store, &descriptor), STATUS_OK);
    }
    FIXTURE_PUMP_UNTIL(&fixture, fixture.created_count == MANY);
    for (uint32_t i = 0; i < MANY; i++) {
        tablets[i] = store_tablet_find(fixture.store, i + 1);
        cr_assert_not_null(tablets[i]);
    }
}

static void begin(void)
{
    fixture_init(&fixture);
    fixture.settings.memory_limit_bytes = 512 << 20;
    fixture_open(&fixture);
    make_all();
}

static void finish(void)
{
    fixture_deinit(&fixture);
}

TestSuite(store_many, .init = begin, .fini = finish, .timeout = 120);

static uint64_t looked_at(void)
{
    return atomic_load(&fixture.store->looked_at);
}

static void append_to(struct store_tablet *tablet, uint32_t at)
{
    char row[8];
    uint64_t sequence = 0;
    struct change change = fixture_put(1, "q", 5, "v");
    name(at, row);
    cr_assert_eq(fixture_append(tablet, row, &change, 1, NULL, &sequence), STATUS_OK);
}

static void write_to_all(void)
{
    for (uint32_t i = 0; i < MANY; i++) {
        append_to(tablets[i], i);
    }
    store_commit(fixture.store);
    FIXTURE_PUMP_UNTIL(&fixture, store_tablet_committed(tablets[MANY - 1]) > 0);
}

static uint64_t list_transactions(void)
{
    return atomic_load(&fixture.store->list_transactions);
}

Test(store_many, what_is_made_together_is_made_in_few_transactions)
{
    cr_assert_leq(list_transactions(), MANY / 4);
    store_check(fixture.store);
    fixture_close(&fixture);
    fixture_open(&fixture);
    cr_assert_eq(store_tablet_count(fixture.store), MANY);
    for (uint32_t i = 0; i < MANY; i++) {
        tablets[i] = store_tablet_find(fixture.store, i + 1);
    }
    write_to_all();
}

Test(store_many, what_is_dropped_together_goes_in_few_transactions)
{
    write_to_all();
    fixture_flush(&fixture);
    uint64_t before = list_transactions();
    for (uint32_t i = 0; i < MANY; i++) {
        store_tablet_drop(fixture.store, tablets[i]);
    }
    FIXTURE_PUMP_UNTIL(&fixture, fixture.dropped_count == MANY);
    store_check(fixture.store);
    for (uint64_t last = 0; last != list_transactions();) { /* until all is erased */
        last = list_transactions();
        usleep(500 * 1000);
        store_poll(fixture.store);
    }
    cr_assert_leq(list_transactions() - before, MANY / 4);
    fixture_close(&fixture);
    fixture_open(&fixture);
    cr_assert_eq(store_tablet_count(fixture.store), 0);
    cr_assert_null(fixture.store->erasures, "nothing is left to be erased");
}

/* Were all written, the base would have other pieces of it than memory: a crash in the middle of its first flush, which
 * names them, would lose what was flushed before. */
Test(store_many, what_is_asked_for_twice_is_made_once)
{
    struct store_tablet_descriptor descriptor = {.table = 1, .configuration = 1};
    for (uint32_t i = 0; i < 100; i++) {
        descriptor.tablet = MANY + 2 + i; /* meanwhile the others wait, and are taken up together */
        cr_assert_eq(store_tablet_create(fixture.store, &descriptor), STATUS_OK);
    }
    for (int i = 0; i < 3; i++) {
        descriptor.tablet = MANY + 1;
        cr_assert_eq(store_tablet_create(fixture.store, &descriptor), STATUS_OK);
    }
    FIXTURE_PUMP_UNTIL(&fixture, fixture.created_count == MANY + 103);
    uint64_t extent = store_tablet_find(fixture.store, MANY + 1)->pieces->pieces[0].extent;
    fixture_close(&fixture);
    fixture_open(&fixture);
    cr_assert_eq(store_tablet_find(fixture.store, MANY + 1)->pieces->pieces[0].extent, extent);
}

Test(store_many, a_memtable_that_is_flushed_is_forgotten_where_it_is_and_the_log_asks_few)
{
    write_to_all();
    uint64_t before = looked_at();
    fixture_flush(&fixture);
    store_poll(fixture.store);
    store_check(fixture.store);
    cr_assert_lt(looked_at() - before, 2 * FEW * MANY, "%llu",
                 (unsigned long long)(looked_at() - before));
    for (uint32_t i = 0; i < MANY; i++) {
        cr_assert_eq(tablets[i]->layer_count, 1);
    }
}

/* Bytes of the log; each is in a segment of its own with `ballast` rows between. */
static uint64_t log_bytes(void)
{
    struct store_statistics numbers;
    store_statistics(fixture.store, &numbers);
    return numbers.log_bytes;
}

static void write_a_segment(struct store_tablet *tablet, const char *row)
{
    static char value[600 << 10];
    memset(value, 'v', sizeof value - 1);
    struct change change = fixture_put(1, "q", 5, value);
    for (int i = 0; i < 2; i++) {
        fixture_write(&fixture, tablet, row, &change, 1);
    }
}

Test(store_many, the_log_goes_as_soon_as_who_held_it_is_flushed)
{
    append_to(tablets[0], 0);
    append_to(tablets[1], 1);
    for (uint32_t i = 0; i < 4; i++) {
        write_a_segment(tablets[2], "00002");
        store_tablet_flush(tablets[2]);
        FIXTURE_PUMP_UNTIL(&fixture, fixture_flushes_pending(&fixture) == 0);
    }
    uint64_t held = log_bytes();
    cr_assert_gt(held, 4 << 20, "two need its beginning");
    store_tablet_flush(tablets[1]);
    FIXTURE_PUMP_UNTIL(&fixture, fixture_flushes_pending(&fixture) == 0);
    store_check(fixture.store);
    cr_assert_eq(log_bytes(), held, "one still does");
    store_tablet_flush(tablets[0]);
    FIXTURE_PUMP_UNTIL(&fixture, log_bytes() < 3 << 20);
    store_check(fixture.store);
}

Test(store_many, one_that_is_dropped_holds_the_log_no_more)
{
    append_to(tablets[0], 0);
    write_a_segment(tablets[2], "00002");
    write_a_segment(tablets[2], "00002");
    write_a_segment(tablets[2], "00002");
    store_tablet_flush(tablets[2]);
    FIXTURE_PUMP_UNTIL(&fixture, fixture_flushes_pending(&fixture) == 0);
    cr_assert_gt(log_bytes(), 3 << 20);
    store_tablet_drop(fixture.store, tablets[0]);
    FIXTURE_PUMP_UNTIL(&fixture, fixture.dropped_count == 1);
    FIXTURE_PUMP_UNTIL(&fixture, log_bytes() < 3 << 20);
    store_check(fixture.store);
}

static void split(struct store_tablet *tablet, uint32_t at)
{
    char key[8];
    uint64_t sequence = 0;
    (void)snprintf(key, sizeof key, "%05um", at);
    const struct record_split record = {.key = bytes_of_text(key),
                                        .left_tablet = MANY + 2 * at + 1,
                                        .right_tablet = MANY + 2 * at + 2};
    cr_assert_eq(store_append_split(tablet, &record, store_next_clock(fixture.store), &sequence),
                 STATUS_OK);
}

Test(store_many, a_split_looks_at_what_came_of_it)
{
    write_to_all();
    uint64_t before = looked_at();
    for (uint32_t i = 0; i < MANY; i++) {
        split(tablets[i], i);
    }
    store_commit(fixture.store);
    FIXTURE_PUMP_UNTIL(&fixture, fixture.split_count == MANY);
    store_check(fixture.store);
    FIXTURE_PUMP_UNTIL(&fixture, fixture_flushes_pending(&fixture) == 0);
    store_check(fixture.store);
    cr_assert_lt(looked_at() - before, 5 * FEW * MANY, "%llu",
                 (unsigned long long)(looked_at() - before));
    cr_assert_null(fixture.store->hidden);
    for (uint32_t i = 0; i < store_tablet_count(fixture.store); i++) {
        const struct store_tablet *tablet = store_tablet_at(fixture.store, i);
        cr_assert_eq(tablet->layer_count, 1);
        cr_assert_eq(tablet->lineage_count, 0);
    }
}

/* Also once the passes of garbage collection are over that are due after a start. */
Test(store_many, who_has_nothing_to_do_looks_at_nobody)
{
    write_to_all();
    fixture_flush(&fixture);
    fixture_close(&fixture);
    fixture.settings.gc_interval_us = INT64_C(3600) * 1000 * 1000;
    fixture_open(&fixture);
    uint64_t before = 0;
    for (int i = 0; i < 300 && looked_at() != before; i++) {
        before = looked_at();
        usleep(300 * 1000); /* three times as long as the work thread rests */
        store_poll(fixture.store);
    }
    cr_assert_eq(looked_at(), before, "it goes on");
    cr_assert_lt(looked_at(), FEW * MANY);
    for (uint32_t i = 0; i < store_tablet_count(fixture.store); i++) {
        struct store_tablet *tablet = store_tablet_at(fixture.store, i);
        cr_assert_not(tablet->sweep.due);
        cr_assert_not(tablet->estimate_due);
    }
}

/* Each has a little; all together more than three quarters of what there may be. */
Test(store_many, when_memory_is_short_all_are_looked_at_a_few_times)
{
    static char value[40 << 10];
    memset(value, 'v', sizeof value - 1);
    struct change change = fixture_put(1, "q", 5, value);
    fixture_close(&fixture);
    fixture.settings.memory_limit_bytes = 16 << 20;
    fixture.settings.flush_pace_percent = 1; /* what is frozen stays so for a while */
    fixture_open(&fixture);
    uint64_t before = looked_at();
    uint32_t written = 0;
    enum status status = STATUS_OK;
    for (; written < MANY && status == STATUS_OK; written++) {
        char row[8];
        uint64_t sequence = 0;
        name(written, row);
        struct store_tablet *tablet = store_tablet_find(fixture.store, written + 1);
        status = fixture_append(tablet, row, &change, 1, NULL, &sequence);
    }
    store_freeze_full_tablets(fixture.store);
    uint64_t frozen = atomic_load(&fixture.store->frozen_bytes);
    cr_assert_geq(frozen, (16 << 20) / 4);
    cr_assert_lt(frozen, (16 << 20) / 3);
    cr_assert_lt(looked_at() - before, FEW * MANY);
    store_commit(fixture.store);
    FIXTURE_PUMP_UNTIL(&fixture, fixture_flushes_pending(&fixture) == 0);
    store_check(fixture.store);
}
