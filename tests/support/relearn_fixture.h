/*
 * A store with a copy of a tablet of which its base knows that there is another one, and what may befall the
 * store's log: bits that turn, files that are lost, a person who has it cut.
 */
#ifndef TESTS_SUPPORT_RELEARN_FIXTURE_H
#define TESTS_SUPPORT_RELEARN_FIXTURE_H

#include <fcntl.h>

#include "tests/support/store_fixture.h"

#include "tabletserver/storage/copies/store_relearn.h"
#include "tabletserver/storage/log/log_repair.h"
#include "tabletserver/storage/store/store_append.h"
#include "tabletserver/storage/store/store_internal.h"

#define ROWS        200
#define VALUE_BYTES 1000

static struct fixture fixture;
static struct store_tablet *tablet;

static const struct store_configuration led = {
    .members = {.version = 2, .member_count = 2, .members = {{1, FIXTURE_STORE}, {2, 8}}},
    .role = 3};

static inline void configure(struct store_tablet *of, struct store_configuration configuration)
{
    uint64_t before = fixture.configured_count;
    cr_assert_eq(store_tablet_configure(of, &configuration, UINT64_MAX), STATUS_OK);
    store_commit(fixture.store);
    FIXTURE_PUMP_UNTIL(&fixture, fixture.configured_count > before);
}

/* Its base knows that there is another copy. */
static inline void begin(void)
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

static inline void finish(void)
{
    fixture_deinit(&fixture);
}

static inline void write_rows_to(struct store_tablet *of, const char *prefix)
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

static inline void write_rows(void)
{
    write_rows_to(tablet, "b");
}

struct log_files {
    struct arena arena;
    char **names;
    size_t count;
};

static inline struct log_files list_log(void)
{
    char path[FILE_PATH_SIZE_MAX];
    struct log_files files = {.names = NULL};
    arena_init(&files.arena, 1024, SIZE_MAX);
    (void)snprintf(path, sizeof path, "%s/log", fixture.folder);
    cr_assert_eq(file_list_folder(path, &files.arena, &files.names, &files.count, NULL), STATUS_OK);
    return files;
}

static inline int open_log_file(const char *name)
{
    char path[FILE_PATH_SIZE_MAX];
    (void)snprintf(path, sizeof path, "%s/log/%s", fixture.folder, name);
    return open(path, O_RDWR);
}

/* A bit of the first segment, in the middle of what was synced. */
static inline void damage_log(void)
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

static inline size_t count_segments(const char *prefix)
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
static inline void remove_segments(size_t kept)
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
static inline void behead_segment(size_t which)
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
static inline void remove_from_log(const char *prefix)
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

static inline void rot_anchor(void)
{
    static const uint8_t zeros[8192];
    int file = open_log_file("anchor.log");
    cr_assert_eq(pwrite(file, zeros, sizeof zeros, 0), (ssize_t)sizeof zeros);
    (void)close(file);
}

static inline void lose_log(void)
{
    remove_from_log("");
}

static inline void reopen(void)
{
    fixture_close(&fixture);
    damage_log();
    fixture_open(&fixture);
    tablet = store_tablet_find(fixture.store, 1);
    cr_assert_not_null(tablet);
}

static inline bool has_note(void)
{
    char path[FILE_PATH_SIZE_MAX];
    (void)snprintf(path, sizeof path, "%s/RELEARN", fixture.folder);
    return access(path, F_OK) == 0;
}

static inline void be_alone(uint64_t version)
{
    struct store_configuration alone = led;
    alone.members.version = version;
    alone.members.member_count = 1;
    alone.flags.doubt_noted = true; /* what is written waits for the test's word */
    configure(tablet, alone);
}

/* Each time it is tried. */
static inline void expect_refused_for_tablet_one(void)
{
    struct error error = {0};
    for (int i = 0; i < 2; i++) {
        cr_assert_eq(fixture_try_open(&fixture, FIXTURE_STORE, &error), STATUS_CORRUPT);
        cr_assert_not_null(strstr(error.text, "tablet 1 may have no other copy"), "%s", error.text);
        cr_assert_not(has_note());
    }
    fixture.store = NULL;
}

static inline void cut_by_hand(void)
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

#endif /* TESTS_SUPPORT_RELEARN_FIXTURE_H */
