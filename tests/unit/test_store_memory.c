/* Memory that has run full: writers go on bit by bit as rows reach the base, not a memtable at a time. */
#include "common/base/prng.h"
#include "tabletserver/storage/store_internal.h"
#include "tests/support/store_fixture.h"

#define VALUE_BYTES  4000
#define FLUSHES      12
#define WAITS_LEAST  3 /* a memtable; some nine, where nobody is in a hurry */
#define ROW_BYTES    8
#define LETTER_COUNT 26

static struct fixture fixture;

static void setup(void)
{
    fixture_init(&fixture);
    fixture.settings.memory_limit_bytes = 12 << 20;
    fixture.settings.memtable_limit_bytes = 2 << 20;
    fixture.settings.flush_transaction_bytes = 256 << 10;
    fixture_open(&fixture);
}

static void teardown(void)
{
    fixture_deinit(&fixture);
}

TestSuite(store_memory, .init = setup, .fini = teardown);

static uint64_t flushes_so_far(void)
{
    struct store_statistics numbers;
    store_statistics(fixture.store, &numbers);
    return numbers.flushes;
}

static void append_at_random(struct store_tablet *tablet, struct prng *prng)
{
    static char value[VALUE_BYTES + 1];
    char row[ROW_BYTES + 1] = "";
    uint64_t sequence = 0;
    memset(value, 'v', VALUE_BYTES);
    for (int i = 0; i < ROW_BYTES; i++) {
        row[i] = (char)('a' + prng_below(prng, LETTER_COUNT));
    }
    struct change put = fixture_put(1, "c", 5, value);
    cr_assert_eq(fixture_append(tablet, row, &put, 1, NULL, &sequence), STATUS_OK);
    store_commit(fixture.store);
}

/* Write whenever there is room; how often there was none any more while so many memtables were flushed. */
static uint64_t waits_in(struct store_tablet *tablet, struct prng *prng, uint64_t flushes)
{
    uint64_t end = flushes_so_far() + flushes;
    uint64_t waits = 0;
    bool had_room = false;
    while (flushes_so_far() < end) {
        bool has_room = store_has_room(fixture.store);
        waits += had_room && !has_room ? 1 : 0;
        had_room = has_room;
        if (has_room) {
            append_at_random(tablet, prng);
        }
        store_poll(fixture.store);
    }
    return waits;
}

Test(store_memory, room_comes_as_rows_reach_the_base)
{
    struct store_tablet *tablet = fixture_create(&fixture, 1, "", "");
    struct prng prng = prng_of_seed(1);
    while (store_has_room(fixture.store)) {
        append_at_random(tablet, &prng);
        store_poll(fixture.store);
    }
    uint64_t waits = waits_in(tablet, &prng, FLUSHES);
    cr_assert_geq(waits, WAITS_LEAST * FLUSHES, "%d waits", (int)waits);
}

/* What was set aside for the memtable that was on its way is there for everybody when all is in the base. */
Test(store_memory, nothing_is_set_aside_when_nothing_is_flushed)
{
    struct store_tablet *tablet = fixture_create(&fixture, 1, "", "");
    struct prng prng = prng_of_seed(2);
    while (store_has_room(fixture.store)) {
        append_at_random(tablet, &prng);
        store_poll(fixture.store);
    }
    fixture_flush(&fixture);
    FIXTURE_PUMP_UNTIL(&fixture, store_has_room(fixture.store));
    cr_assert(!store_flush_lags(fixture.store));
}
