/*
 * A log that is damaged, of a store whose copies all have others: it is cut there, and the store opens all the
 * same, whatever it was killed in the middle of (store_relearn.h).
 */
#include <fcntl.h>
#include <sys/stat.h>

#include "tests/support/taught_slices.h"

#include "tabletserver/storage/copies/store_relearn.h"
#include "tabletserver/storage/log/log_repair.h"
#include "tabletserver/storage/store/store_append.h"
#include "tabletserver/storage/store/store_internal.h"

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
    fixture.settings.log_segment_bytes = 64 * 1024;
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

static void write_rows_to(struct store_tablet *of, const char *prefix)
{
    static char value[VALUE_BYTES + 1];
    uint64_t sequence = 0;
    memset(value, 'v', VALUE_BYTES);
    for (int i = 0; i < ROWS; i++) {
        const struct change put = fixture_put(1, "q", 1, value);
        char row[16];
        (void)snprintf(row, sizeof row, "%s%05d", prefix, i);
        cr_assert_eq(fixture_append(of, row, &put, 1, NULL, &sequence), STATUS_OK);
        store_commit(fixture.store);
        FIXTURE_PUMP_UNTIL(&fixture,
                           fixture.synced == sequence || store_tablet_committed(of) >= sequence);
    }
    if (store_tablet_committed(of) < sequence) {
        cr_assert_eq(store_tablet_commit(of, sequence), STATUS_OK);
    }
}

static void write_rows(void)
{
    write_rows_to(tablet, "b");
}

struct log_files {
    struct arena arena;
    char **names;
    size_t count;
};

static struct log_files list_log(void)
{
    char path[FILE_PATH_SIZE_MAX];
    struct log_files files = {.names = NULL};
    arena_init(&files.arena, 1024, SIZE_MAX);
    (void)snprintf(path, sizeof path, "%s/log", fixture.folder);
    cr_assert_eq(file_list_folder(path, &files.arena, &files.names, &files.count, NULL), STATUS_OK);
    return files;
}

static int open_log_file(const char *name)
{
    char path[FILE_PATH_SIZE_MAX];
    (void)snprintf(path, sizeof path, "%s/log/%s", fixture.folder, name);
    return open(path, O_RDWR);
}

/* A bit of the first segment, in the middle of what was synced. */
static void damage_log(void)
{
    struct log_files files = list_log();
    uint8_t byte = 0;
    bool done = false;
    for (size_t i = 0; i < files.count && !done; i++) {
        int file = open_log_file(files.names[i]);
        off_t at = ROWS * VALUE_BYTES / 4;
        if (file >= 0 && pread(file, &byte, 1, at) == 1 && byte != 0) {
            byte ^= 1;
            cr_assert_eq(pwrite(file, &byte, 1, at), 1);
            done = true;
        }
        (void)close(file);
    }
    cr_assert(done, "no segment has anything there");
    arena_deinit(&files.arena);
}

static size_t count_segments(const char *prefix)
{
    struct log_files files = list_log();
    size_t found = 0;
    for (size_t i = 0; i < files.count; i++) {
        found += strncmp(files.names[i], prefix, strlen(prefix)) == 0 ? 1 : 0;
    }
    arena_deinit(&files.arena);
    return found;
}

/* All but so many. */
static void remove_segments(size_t kept)
{
    struct log_files files = list_log();
    for (size_t i = 0; i < files.count; i++) {
        char path[FILE_PATH_SIZE_MAX];
        (void)snprintf(path, sizeof path, "%s/log/%s", fixture.folder, files.names[i]);
        if (strncmp(files.names[i], "segment-", 8) == 0 && kept-- == 0) {
            cr_assert_eq(unlink(path), 0);
            kept = 0;
        }
    }
    arena_deinit(&files.arena);
}

/* The header of a segment, which then cannot be told for one of this log: counted from the first that is there. */
static void behead_segment(size_t which)
{
    struct log_files files = list_log();
    static const uint8_t zeros[512];
    for (size_t i = 0; i < files.count; i++) {
        if (strncmp(files.names[i], "segment-", 8) == 0 && which-- == 0) {
            int file = open_log_file(files.names[i]);
            cr_assert_eq(pwrite(file, zeros, sizeof zeros, 0), (ssize_t)sizeof zeros);
            (void)close(file);
        }
    }
    arena_deinit(&files.arena);
}

/* A file of the log; "" = all of them. */
static void remove_from_log(const char *prefix)
{
    struct log_files files = list_log();
    for (size_t i = 0; i < files.count; i++) {
        char path[FILE_PATH_SIZE_MAX];
        (void)snprintf(path, sizeof path, "%s/log/%s", fixture.folder, files.names[i]);
        if (strncmp(files.names[i], prefix, strlen(prefix)) == 0) {
            cr_assert_eq(unlink(path), 0);
        }
    }
    arena_deinit(&files.arena);
}

static void rot_anchor(void)
{
    static const uint8_t zeros[8192];
    int file = open_log_file("anchor.log");
    cr_assert_eq(pwrite(file, zeros, sizeof zeros, 0), (ssize_t)sizeof zeros);
    (void)close(file);
}

static void lose_log(void)
{
    remove_from_log("");
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

static void be_alone(uint64_t version)
{
    struct store_configuration alone = led;
    alone.members.version = version;
    alone.members.member_count = 1;
    alone.flags.doubt_noted = true; /* what is written waits for the test's word */
    configure(tablet, alone);
}

/* Each time it is tried. */
static void expect_refused_for_tablet_one(void)
{
    struct error error = {0};
    for (int i = 0; i < 2; i++) {
        cr_assert_eq(fixture_try_open(&fixture, FIXTURE_STORE, &error), STATUS_CORRUPT);
        cr_assert_not_null(strstr(error.text, "tablet 1 may have no other copy"), "%s", error.text);
        cr_assert_not(has_note());
    }
    fixture.store = NULL;
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
    be_alone(3);
    write_rows();
    fixture_close(&fixture);
    damage_log();
    expect_refused_for_tablet_one();
}

/* The same where whole segments cannot be read: none is put aside, without which the log would pass for whole. */
Test(store_relearn, nor_are_its_segments_put_aside)
{
    be_alone(3);
    write_rows();
    fixture_close(&fixture);
    size_t segments = count_segments("segment-");
    cr_assert_gt(segments, 2);
    behead_segment(1);
    expect_refused_for_tablet_one();
    cr_assert_eq(count_segments("segment-"), segments);
    cr_assert_eq(count_segments("lost-"), 0);
}

/* It was alone for a while, and is not any more. */
Test(store_relearn, what_got_company_since_is_cut)
{
    be_alone(3);
    struct store_configuration again = led;
    again.members.version = 4;
    configure(tablet, again);
    cr_assert_eq(store_tablet_lead(tablet), STATUS_OK);
    write_rows();
    reopen();
    cr_assert(store_tablet_configuration(tablet)->flags.damaged);
}

/* Only another has it, as far as this one knows: it is being taught. */
Test(store_relearn, what_another_has_alone_is_cut)
{
    struct store_tablet *other = fixture_create(&fixture, 2, "n", "z");
    configure(other, outside);
    write_rows();
    reopen();
    cr_assert(store_tablet_configuration(store_tablet_find(fixture.store, 2))->flags.damaged);
}

/* Nothing but the base knows that there was more. */
Test(store_relearn, a_log_that_lost_its_end_is_cut_there)
{
    write_rows();
    fixture_flush(&fixture);
    fixture_close(&fixture);
    remove_segments(1);
    fixture_open(&fixture);
    tablet = store_tablet_find(fixture.store, 1);
    cr_assert(store_tablet_configuration(tablet)->flags.damaged);
    FIXTURE_PUMP_UNTIL(&fixture, !has_note());
}

/* edubba-repair-log was run: who has others is not whole, and who has none is what there is. */
Test(store_relearn, of_the_only_copy_a_person_has_cut_the_log)
{
    struct store_tablet *other = fixture_create(&fixture, 2, "n", "z");
    configure(other, led);
    be_alone(3);
    fixture_close(&fixture);
    cr_assert_eq(store_relearn_note(fixture.folder, NULL), STATUS_OK);
    fixture_open(&fixture);
    cr_assert_not(store_tablet_configuration(store_tablet_find(fixture.store, 1))->flags.damaged);
    cr_assert(store_tablet_configuration(store_tablet_find(fixture.store, 2))->flags.damaged);
    FIXTURE_PUMP_UNTIL(&fixture, !has_note());
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

/* It was removed, and then the folder could not be synced. */
Test(store_relearn, a_note_that_is_gone_already_is_no_reason_to_go_on)
{
    char path[FILE_PATH_SIZE_MAX];
    write_rows();
    reopen();
    (void)snprintf(path, sizeof path, "%s/RELEARN", fixture.folder);
    cr_assert_eq(unlink(path), 0);
    FIXTURE_PUMP_UNTIL(&fixture, !fixture.store->relearns);
}

/* The base has rows of entries that the log has lost: it opens, and again. */
Test(store_relearn, also_where_a_flush_was_in_the_middle)
{
    write_rows();
    store_flush_all(fixture.store);
    FIXTURE_PUMP_UNTIL(&fixture, !tablet->applied_whole);
    reopen();
    cr_assert_not(tablet->applied_whole, "it was closed too late: this shows nothing");
    cr_assert(store_tablet_is_torn(tablet));
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
    cr_assert_not(store_tablet_is_torn(tablet));
    fixture_flush(&fixture);
    fixture_close(&fixture);
    fixture_open(&fixture);
    tablet = store_tablet_find(fixture.store, 1);
    cr_assert_eq(store_tablet_committed(tablet), 2 * ROWS);
    cr_assert_not(store_tablet_configuration(tablet)->flags.damaged);
    FIXTURE_EXPECT(tablet, "");
}

static void write_again(struct store_tablet *of, const char *prefix, const char *value)
{
    for (int i = 0; i < ROWS; i++) {
        const struct change put = fixture_put(1, "q", 1, value);
        char row[16];
        (void)snprintf(row, sizeof row, "%s%05d", prefix, i);
        fixture_write(&fixture, of, row, &put, 1);
    }
}

static void expect_rows(struct store_tablet *of, const char *prefix, const char *value)
{
    struct buffer expected = BUFFER_INIT;
    for (int i = 0; i < ROWS; i++) {
        char line[64];
        int size = snprintf(line, sizeof line, "%s%05d/1:q@1=%s\n", prefix, i, value);
        buffer_append(&expected, line, (size_t)size);
    }
    buffer_append_u8(&expected, 0);
    FIXTURE_EXPECT(of, (const char *)expected.data);
    buffer_deinit(&expected);
}

static void cut_by_hand(void)
{
    char path[FILE_PATH_SIZE_MAX];
    struct log_repair result;
    const struct log_repair_options what = {
        .folder = path, .store_number = FIXTURE_STORE, .begins_anew = true};
    (void)snprintf(path, sizeof path, "%s/log", fixture.folder);
    cr_assert_eq(store_relearn_note(fixture.folder, NULL), STATUS_OK);
    cr_assert_eq(log_repair(&what, &result, NULL), STATUS_OK);
    cr_assert(result.cut);
}

/* Over before anybody looked, as on a busy machine: what is in the log then is in the base, too. */
static bool is_caught_in_the_middle(struct store_tablet *only, const char *prefix)
{
    write_rows_to(only, prefix);
    store_flush_all(fixture.store);
    FIXTURE_PUMP_UNTIL(&fixture, !only->applied_whole || fixture_flushes_pending(&fixture) == 0);
    bool is_caught = !only->applied_whole;
    fixture_close(&fixture);
    return is_caught;
}

/* A flush is in the middle, and what it takes is lost from the log: what is written after that is not taken for what
 * the base has already. */
static void goes_on_behind_the_cut(uint64_t number,
                                   const char *prefix,
                                   void (*make)(void),
                                   void (*lose)(void))
{
    struct store_tablet *only = NULL;
    make();
    while (!is_caught_in_the_middle(store_tablet_find(fixture.store, number), prefix)) {
        fixture_open(&fixture);
        finish();
        begin(); /* a store whose log has nothing else in it */
        make();
    }
    lose();
    cut_by_hand();
    for (int life = 0; life < 3; life++) {
        static const char *const values[] = {"first", "second", "third"};
        fixture_open(&fixture);
        only = store_tablet_find(fixture.store, number);
        cr_assert_geq(store_tablet_committed(only), ROWS);
        if (life > 0) {
            expect_rows(only, prefix, values[life - 1]);
        }
        write_again(only, prefix, values[life]);
        expect_rows(only, prefix, values[life]);
        fixture_close(&fixture);
    }
    fixture_open(&fixture);
    FIXTURE_PUMP_UNTIL(&fixture, !has_note());
}

static void make_an_only_copy(void)
{
    struct store_configuration alone = led;
    alone.members.version = 3;
    alone.members.member_count = 1;
    configure(tablet, alone);
    cr_assert_eq(store_tablet_lead(tablet), STATUS_OK);
}

static void make_one_without_copies(void)
{
    cr_assert_not_null(fixture_create(&fixture, 2, "n", "z"));
}

Test(store_relearn, an_only_copy_goes_on_behind_the_cut)
{
    goes_on_behind_the_cut(1, "b", make_an_only_copy, damage_log);
}

Test(store_relearn, a_tablet_without_copies_goes_on_behind_the_cut)
{
    goes_on_behind_the_cut(2, "o", make_one_without_copies, damage_log);
}

/* Nothing tells what of its segments is to be replayed. */
Test(store_relearn, a_log_whose_anchor_cannot_be_read_is_given_up)
{
    write_rows();
    fixture_close(&fixture);
    size_t segments = count_segments("segment-");
    rot_anchor();
    fixture_open(&fixture);
    cr_assert_eq(count_segments("lost-"), segments);
    tablet = store_tablet_find(fixture.store, 1);
    cr_assert(store_tablet_configuration(tablet)->flags.damaged);
    FIXTURE_PUMP_UNTIL(&fixture, !has_note());
}

Test(store_relearn, but_not_that_of_an_only_copy)
{
    be_alone(3);
    fixture_flush(&fixture); /* the base knows */
    write_rows();
    fixture_close(&fixture);
    size_t segments = count_segments("segment-");
    rot_anchor();
    expect_refused_for_tablet_one();
    cr_assert_eq(count_segments("segment-"), segments);
}

static void wait_until_base_knows(void)
{
    FIXTURE_PUMP_UNTIL(&fixture, atomic_load(&tablet->written_number) == tablet->durable_number);
}

/* Whether there are others the base hears at once: nothing else tells, where the log is lost. */
Test(store_relearn, the_base_hears_at_once_that_a_copy_is_alone)
{
    be_alone(3);
    wait_until_base_knows();
    write_rows();
    fixture_close(&fixture);
    rot_anchor();
    expect_refused_for_tablet_one();
}

Test(store_relearn, the_base_hears_at_once_that_a_copy_has_others)
{
    tablet = fixture_create(&fixture, 2, "n", "z");
    struct store_configuration alone = led;
    alone.members.version = 1;
    alone.members.member_count = 1;
    configure(tablet, alone);
    configure(tablet, led);
    wait_until_base_knows();
    fixture_close(&fixture);
    rot_anchor();
    fixture_open(&fixture);
    tablet = store_tablet_find(fixture.store, 2);
    cr_assert(store_tablet_configuration(tablet)->flags.damaged);
}

/* Somebody may have tidied up, on all machines at once. */
Test(store_relearn, but_not_one_whose_anchor_was_removed)
{
    struct error error = {0};
    write_rows();
    fixture_close(&fixture);
    size_t segments = count_segments("segment-");
    remove_from_log("anchor");
    cr_assert_eq(fixture_try_open(&fixture, FIXTURE_STORE, &error), STATUS_CORRUPT);
    cr_assert_not_null(strstr(error.text, "edubba-repair-log"), "%s", error.text);
    cr_assert_not(has_note());
    cr_assert_eq(count_segments("segment-"), segments);
    fixture.store = NULL;
}

/* It may be on a disk that is not there now: then a new one would hide it. */
Test(store_relearn, a_log_of_which_nothing_is_there_is_not_begun_anew_without_a_word)
{
    struct error error = {0};
    write_rows();
    fixture_close(&fixture);
    lose_log();
    for (int i = 0; i < 2; i++) {
        cr_assert_eq(fixture_try_open(&fixture, FIXTURE_STORE, &error), STATUS_CORRUPT);
        cr_assert_not_null(strstr(error.text, "mounted"), "%s", error.text);
        cr_assert_not(has_note());
    }
    cut_by_hand();
    fixture_open(&fixture);
    tablet = store_tablet_find(fixture.store, 1);
    cr_assert(store_tablet_configuration(tablet)->flags.damaged);
    FIXTURE_PUMP_UNTIL(&fixture, !has_note());
}

static void make_a_flushed_only_copy(void)
{
    make_an_only_copy();
    fixture_flush(&fixture);
}

Test(store_relearn, an_only_copy_goes_on_without_its_log)
{
    goes_on_behind_the_cut(1, "b", make_a_flushed_only_copy, lose_log);
}

/* A disk is mounted after all, when its log was given up: it is of before what was written since. */
Test(store_relearn, a_log_that_comes_back_after_it_was_given_up_is_refused)
{
    struct error error = {0};
    char log[FILE_PATH_SIZE_MAX];
    char away[FILE_PATH_SIZE_MAX];
    fixture_deinit(&fixture);
    fixture_init(&fixture);
    fixture_open(&fixture);
    (void)snprintf(log, sizeof log, "%s/log", fixture.folder);
    (void)snprintf(away, sizeof away, "%s/away", fixture.folder);
    tablet = fixture_create(&fixture, 1, "a", "n");
    write_rows();
    fixture_close(&fixture);
    cr_assert_eq(rename(log, away), 0);
    cr_assert_eq(mkdir(log, 0700), 0);
    cut_by_hand();
    fixture_open(&fixture);
    fixture_close(&fixture);
    lose_log();
    cr_assert_eq(rename(away, log), 0);
    cr_assert_eq(fixture_try_open(&fixture, FIXTURE_STORE, &error), STATUS_CORRUPT);
    cr_assert_not_null(strstr(error.text, "and the log was synced up to"), "%s", error.text);
    fixture.store = NULL;
}

/* Nothing was flushed yet: the base knows nothing of what the log had, and would open without it. */
Test(store_relearn, the_log_of_a_store_that_has_flushed_nothing_is_missed)
{
    struct error error = {0};
    fixture_deinit(&fixture);
    fixture_init(&fixture);
    fixture_open(&fixture);
    tablet = fixture_create(&fixture, 1, "a", "n");
    const struct change put = fixture_put(1, "q", 1, "v");
    fixture_write(&fixture, tablet, "b", &put, 1);
    fixture_close(&fixture);
    lose_log();
    cr_assert_eq(fixture_try_open(&fixture, FIXTURE_STORE, &error), STATUS_CORRUPT);
    cr_assert_not_null(strstr(error.text, "yet there has been a log"), "%s", error.text);
    fixture.store = NULL;
}
