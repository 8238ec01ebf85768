/*
 * A log that is damaged, of a store whose copies all have others: it is cut there, and the store opens all the
 * same, whatever it was killed in the middle of (store_relearn.h).
 */
#include <fcntl.h>

#include "tests/support/taught_slices.h"

#include "tabletserver/storage/store_internal.h"
#include "tabletserver/storage/store_relearn.h"

#define ROWS        200
#define VALUE_BYTES 1000

static struct fixture fixture;
static struct store_tablet *tablet;

static const struct store_configuration outside = {
    .members = {.version = 4, .member_count = 1, .members = {{2, 8}}}, .role = 1};

static const struct store_configuration led = {
    .members = {.version = 2, .member_count = 2, .members = {{1, FIXTURE_STORE}, {2, 8}}},
    .role = 3};

static void configure(struct store_tablet *of, struct store_configuration configuration)
{
    uint64_t before = fixture.configured_count;
    cr_assert_eq(store_tablet_configure(of, &configuration, UINT64_MAX), STATUS_OK);
    store_commit(fixture.store);
    FIXTURE_PUMP_UNTIL(&fixture, fixture.configured_count > before);
}

/* Its base knows that there is another copy. */
static void begin(void)
{
    fixture_init(&fixture);
    fixture.settings.flush_transaction_bytes = 4096;
    fixture.settings.relearns = true;
    fixture_open(&fixture);
    tablet = fixture_create(&fixture, 1, "a", "n");
    configure(tablet, led);
    cr_assert_eq(store_tablet_lead(tablet), STATUS_OK);
    fixture_flush(&fixture);
}

static void finish(void)
{
    fixture_deinit(&fixture);
}

TestSuite(store_relearn, .init = begin, .fini = finish);

static void write_rows(void)
{
    static char value[VALUE_BYTES + 1];
    uint64_t sequence = 0;
    memset(value, 'v', VALUE_BYTES);
    for (int i = 0; i < ROWS; i++) {
        const struct change put = fixture_put(1, "q", 1, value);
        char row[16];
        (void)snprintf(row, sizeof row, "b%05d", i);
        cr_assert_eq(fixture_append(tablet, row, &put, 1, NULL, &sequence), STATUS_OK);
        store_commit(fixture.store);
        FIXTURE_PUMP_UNTIL(&fixture, fixture.synced == sequence);
    }
    cr_assert_eq(store_tablet_commit(tablet, sequence), STATUS_OK);
}

/* A bit of the first segment, in the middle of what was synced. */
static void damage_log(void)
{
    char path[FILE_PATH_SIZE_MAX];
    struct arena arena;
    char **names = NULL;
    size_t count = 0;
    uint8_t byte = 0;
    arena_init(&arena, 1024, SIZE_MAX);
    (void)snprintf(path, sizeof path, "%s/log", fixture.folder);
    cr_assert_eq(file_list_folder(path, &arena, &names, &count, NULL), STATUS_OK);
    for (size_t i = 0; i < count; i++) {
        (void)snprintf(path, sizeof path, "%s/log/%s", fixture.folder, names[i]);
        int file = open(path, O_RDWR);
        off_t at = ROWS * VALUE_BYTES / 4;
        if (file >= 0 && pread(file, &byte, 1, at) == 1 && byte != 0) {
            byte ^= 1;
            cr_assert_eq(pwrite(file, &byte, 1, at), 1);
            count = 0;
        }
        (void)close(file);
    }
    cr_assert_eq(count, 0, "no segment has anything there");
    arena_deinit(&arena);
}

static void reopen(void)
{
    fixture_close(&fixture);
    damage_log();
    fixture_open(&fixture);
    tablet = store_tablet_find(fixture.store, 1);
    cr_assert_not_null(tablet);
}

static bool has_note(void)
{
    char path[FILE_PATH_SIZE_MAX];
    (void)snprintf(path, sizeof path, "%s/RELEARN", fixture.folder);
    return access(path, F_OK) == 0;
}

Test(store_relearn, copies_count_for_nothing_until_they_are_taught)
{
    write_rows();
    reopen();
    cr_assert(store_tablet_configuration(tablet)->flags.damaged);
    cr_assert_lt(store_tablet_appended(tablet), ROWS);
    FIXTURE_PUMP_UNTIL(&fixture, !has_note());
    fixture_close(&fixture);
    fixture_open(&fixture);
    cr_assert(store_tablet_configuration(store_tablet_find(fixture.store, 1))->flags.damaged);
}

/* The base says that there was another, when it was last written to. */
Test(store_relearn, what_the_log_makes_the_only_copy_is_not_cut)
{
    struct error error = {0};
    struct store_configuration alone = led;
    alone.members.version = 3;
    alone.members.member_count = 1;
    alone.flags.doubt_noted = true; /* what is written waits for the test's word */
    configure(tablet, alone);
    write_rows();
    fixture_close(&fixture);
    damage_log();
    for (int i = 0; i < 2; i++) {
        cr_assert_eq(fixture_try_open(&fixture, FIXTURE_STORE, &error), STATUS_CORRUPT);
        cr_assert_not_null(strstr(error.text, "the only copy of tablet 1"), "%s", error.text);
        cr_assert_not(has_note());
    }
    fixture.store = NULL;
}

/* What was replayed is durable, too: but what says that it is damaged is not yet. */
Test(store_relearn, the_note_stays_until_every_copy_says_so)
{
    write_rows();
    reopen();
    cr_assert_neq(tablet->configuring_position, STORE_POSITION_NONE, "nobody has looked since");
    store_relearn_end(fixture.store);
    cr_assert(has_note());
}

/* The base has rows of entries that the log has lost: it opens, and again. */
Test(store_relearn, also_where_a_flush_was_in_the_middle)
{
    write_rows();
    store_flush_all(fixture.store);
    FIXTURE_PUMP_UNTIL(&fixture, !tablet->applied_whole);
    reopen();
    cr_assert_not(tablet->applied_whole, "it was closed too late: this shows nothing");
    FIXTURE_PUMP_UNTIL(&fixture, !has_note());
    fixture_close(&fixture);
    fixture_open(&fixture);
    tablet = store_tablet_find(fixture.store, 1);
    cr_assert(store_tablet_configuration(tablet)->flags.damaged);
    struct store_tablet *other = fixture_create(&fixture, 2, "n", "z");
    const struct change put = fixture_put(1, "q", 1, "v");
    fixture_write(&fixture, other, "o", &put, 1);
    store_flush_soon(other);
    FIXTURE_PUMP_UNTIL(&fixture, other->flushed_sequence >= 1);
    store_tablet_follow(tablet);
    configure(tablet, outside);
    learn_records(&fixture, tablet, 2 * ROWS, true, true);
    learn_rows(&fixture, tablet, 2 * ROWS, "");
    learn_end(&fixture, tablet);
    cr_assert_eq(store_tablet_committed(tablet), 2 * ROWS);
    fixture_flush(&fixture);
    fixture_close(&fixture);
    fixture_open(&fixture);
    tablet = store_tablet_find(fixture.store, 1);
    cr_assert_eq(store_tablet_committed(tablet), 2 * ROWS);
    cr_assert_not(store_tablet_configuration(tablet)->flags.damaged);
    FIXTURE_EXPECT(tablet, "");
}
