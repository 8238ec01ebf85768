/* Memory that has run full: writers go on bit by bit as rows reach the base, not a memtable at a time. */
#include "common/base/prng.h"
#include "tabletserver/storage/store/store_append.h"
#include "tabletserver/storage/store/store_internal.h"
#include "tests/support/store_fixture.h"

#define VALUE_BYTES  4000
#define SEEN_LEAST   20
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

static bool has_room(void)
{
    store_poll(fixture.store);
    return store_has_room(fixture.store);
}

/* Write until there is no room, and wait for it.  Was it there before another memtable had been written? */
static bool room_comes_in_between(struct store_tablet *tablet, struct prng *prng)
{
    while (has_room() || has_room()) { /* twice: one that is written already may be let go yet */
        append_at_random(tablet, prng);
    }
    uint64_t flushes = flushes_so_far();
    FIXTURE_PUMP_UNTIL(&fixture, store_has_room(fixture.store));
    return flushes_so_far() == flushes;
}

/* Not each time: on a busy machine a memtable may be written while nobody looks. */
Test(store_memory, room_comes_as_rows_reach_the_base)
{
    struct store_tablet *tablet = fixture_create(&fixture, 1, "", "");
    struct prng prng = prng_of_seed(1);
    time_t end = time(NULL) + FIXTURE_TIMEOUT_S;
    int seen = 0;
    while (seen < SEEN_LEAST) {
        cr_assert_lt(time(NULL), end, "seen %d times", seen);
        seen += room_comes_in_between(tablet, &prng) ? 1 : 0;
    }
}

/* What was set aside for the memtable that was on its way is there for everybody when all is in the base. */
Test(store_memory, nothing_is_set_aside_when_nothing_is_flushed)
{
    struct store_tablet *tablet = fixture_create(&fixture, 1, "", "");
    struct prng prng = prng_of_seed(2);
    while (has_room()) {
        append_at_random(tablet, &prng);
    }
    fixture_flush(&fixture);
    FIXTURE_PUMP_UNTIL(&fixture, store_has_room(fixture.store));
    cr_assert(!store_flush_lags(fixture.store));
}
