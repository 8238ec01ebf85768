/* Records of one row and of many, in any order: each is applied whole, whatever was foreseen for
 * those before it (memtable_foresee), and nothing is left over. */
#include "common/base/prng.h"
#include "tabletserver/storage/store/store_internal.h"
#include "tests/support/store_fixture.h"

enum {
    ROWS = 20000, /* more than a memtable has before its searches are foreseen */
    ENTRIES_MAX = 100,
    RECORDS = 400,
    KEY_SIZE = 16,
};

static struct fixture fixture;
static char keys[ENTRIES_MAX][KEY_SIZE];
static struct record_entry entries[ENTRIES_MAX];

static void put_entry(size_t i, uint64_t row, const struct change *change)
{
    (void)snprintf(keys[i], KEY_SIZE, "row%08u", (unsigned)row);
    entries[i] = (struct record_entry){
        .row = bytes_of_text(keys[i]), .changes = change, .change_count = change == NULL ? 0 : 1};
}

static void append(struct store_tablet *tablet, size_t count)
{
    struct record_write write = {entries, count};
    uint64_t sequence = 0;
    cr_assert_eq(store_append_write(tablet, &write, store_next_clock(fixture.store), &sequence),
                 STATUS_OK);
    store_commit(fixture.store);
    FIXTURE_PUMP_UNTIL(&fixture, store_tablet_committed(tablet) >= sequence);
}

Test(store_records, of_one_row_and_of_many_in_any_order)
{
    static const size_t SIZES[] = {1, 2, 23, 24, 25, 26, ENTRIES_MAX, 1};
    struct change put = fixture_put(1, "c", 5, "v");
    struct prng prng = prng_of_seed(7);
    fixture_init(&fixture);
    fixture_open(&fixture);
    struct store_tablet *tablet = fixture_create(&fixture, 1, "", "");
    for (uint64_t row = 0; row < ROWS; row += ENTRIES_MAX) {
        for (size_t i = 0; i < ENTRIES_MAX; i++) {
            put_entry(i, 2 * (row + i), &put);
        }
        append(tablet, ENTRIES_MAX);
    }
    for (int record = 0; record < RECORDS; record++) {
        size_t count = SIZES[prng_below(&prng, sizeof SIZES / sizeof *SIZES)];
        for (size_t i = 0; i < count; i++) {
            bool is_empty = count > 1 && prng_below(&prng, 10) == 0; /* changes nothing */
            put_entry(i, prng_below(&prng, 2 * ROWS), is_empty ? NULL : &put);
        }
        append(tablet, count);
    }
    cr_assert_geq(memtable_row_count(tablet->layers[0]->memtable), ROWS);
    fixture_deinit(&fixture);
}

/* It is told apart from memory and log, which soon have room again, and which other settings bound. */
Test(store_records, more_exactly_once_records_than_there_may_be_are_a_limit_of_their_own)
{
    struct change put = fixture_put(1, "c", 5, "v");
    uint64_t sequence = 0;
    fixture_init(&fixture);
    fixture.settings.dedupe.records_max = 4;
    fixture_open(&fixture);
    struct store_tablet *tablet = fixture_create(&fixture, 1, "", "");
    for (size_t i = 0; i < 4; i++) {
        put_entry(i, i, &put);
        entries[i].request = (struct request_id){.client = 7, .sequence = i + 1};
    }
    append(tablet, 3);
    struct record_write two = {&entries[2], 2};
    cr_assert_eq(store_append_write(tablet, &two, store_next_clock(fixture.store), &sequence),
                 STATUS_LIMIT);
    entries[0].request = (struct request_id){0};
    append(tablet, 1); /* without an identity there is room */
    fixture_deinit(&fixture);
}
