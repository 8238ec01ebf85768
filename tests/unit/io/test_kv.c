#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/endian.h"
#include "common/base/memory.h"
#include "common/base/prng.h"
#include "common/io/kv/kv.h"
#include "tests/support/test_folder.h"

/* Every test of contents runs on both implementations. */
struct place {
    char folder[256];
    struct kv *kv;
};

static struct place open_place(bool in_memory)
{
    struct place place = {.kv = NULL};
    struct kv_options options = {.map_size_bytes = UINT64_C(1) << 26};
    struct error error = {0};
    if (in_memory) {
        cr_assert_eq(kv_create_in_memory(&place.kv), STATUS_OK);
    } else {
        test_folder_make(place.folder, sizeof place.folder, "kv");
        cr_assert_eq(kv_open(place.folder, &options, &place.kv, &error), STATUS_OK);
    }
    return place;
}

static void close_place(struct place *place)
{
    char path[300];
    kv_close(place->kv);
    if (place->folder[0] == '\0') {
        return;
    }
    snprintf(path, sizeof path, "%s/data.mdb", place->folder);
    unlink(path);
    snprintf(path, sizeof path, "%s/lock.mdb", place->folder);
    unlink(path);
    rmdir(place->folder);
}

static struct kv_write *begin(struct kv *kv)
{
    struct kv_write *write = NULL;
    cr_assert_eq(kv_write_begin(kv, &write), STATUS_OK);
    return write;
}

static void put(struct kv_write *write, const char *key, const char *value)
{
    cr_assert_eq(kv_write_put(write, bytes_of_text(key), bytes_of_text(value)), STATUS_OK);
}

static bool is_there(struct kv *kv, const char *key, const char *value)
{
    struct kv_read *read = NULL;
    struct bytes got;
    bool found = false;
    cr_assert_eq(kv_read_begin(kv, &read), STATUS_OK);
    cr_assert_eq(kv_read_get(read, bytes_of_text(key), &got, &found), STATUS_OK);
    bool same = found && bytes_equal(got, bytes_of_text(value));
    kv_read_end(read);
    return same;
}

static void check_snapshots(bool in_memory)
{
    struct place place = open_place(in_memory);
    struct kv_write *write = begin(place.kv);
    put(write, "a", "1");
    put(write, "b", "2");
    cr_assert_eq(kv_write_commit(write), STATUS_OK);

    struct kv_read *before = NULL;
    cr_assert_eq(kv_read_begin(place.kv, &before), STATUS_OK);
    write = begin(place.kv);
    put(write, "a", "changed");
    bool found = false;
    cr_assert_eq(kv_write_delete(write, bytes_of_text("b"), &found), STATUS_OK);
    cr_assert(found);
    cr_assert_eq(kv_write_delete(write, bytes_of_text("none"), &found), STATUS_OK);
    cr_assert_not(found);
    struct bytes value;
    cr_assert_eq(kv_write_get(write, bytes_of_text("a"), &value, &found), STATUS_OK);
    cr_assert(bytes_equal(value, bytes_of_text("changed")), "a writer sees its own puts");
    cr_assert(is_there(place.kv, "a", "1"), "nobody else does");
    cr_assert_eq(kv_write_commit(write), STATUS_OK);

    cr_assert(is_there(place.kv, "a", "changed"));
    cr_assert_not(is_there(place.kv, "b", "2"));
    cr_assert_eq(kv_read_get(before, bytes_of_text("b"), &value, &found), STATUS_OK);
    cr_assert(found && bytes_equal(value, bytes_of_text("2")), "a snapshot does not change");
    kv_read_end(before);

    write = begin(place.kv);
    put(write, "a", "aborted");
    kv_write_abort(write);
    cr_assert(is_there(place.kv, "a", "changed"));
    close_place(&place);
}

static uint64_t version_now(struct kv *kv)
{
    struct kv_read *read = NULL;
    cr_assert_eq(kv_read_begin(kv, &read), STATUS_OK);
    uint64_t version = kv_read_version(read);
    kv_read_end(read);
    return version;
}

/* A commit makes another version; aborting and reading do not, and a snapshot stays at its own. */
static void check_versions(bool in_memory)
{
    struct place place = open_place(in_memory);
    uint64_t first = version_now(place.kv);
    cr_assert_neq(first, 0);
    cr_assert_eq(version_now(place.kv), first);

    struct kv_read *before = NULL;
    cr_assert_eq(kv_read_begin(place.kv, &before), STATUS_OK);
    struct kv_write *write = begin(place.kv);
    put(write, "a", "1");
    cr_assert_eq(version_now(place.kv), first, "not committed yet");
    cr_assert_eq(kv_write_commit(write), STATUS_OK);
    uint64_t second = version_now(place.kv);
    cr_assert_neq(second, first);
    cr_assert_eq(kv_read_version(before), first);
    kv_read_end(before);

    write = begin(place.kv);
    put(write, "a", "2");
    kv_write_abort(write);
    cr_assert_eq(version_now(place.kv), second);
    close_place(&place);
}

Test(kv, versions_in_memory)
{
    check_versions(true);
}

Test(kv, versions_on_lmdb)
{
    check_versions(false);
}

Test(kv, snapshots_and_aborts_in_memory)
{
    check_snapshots(true);
}

Test(kv, snapshots_and_aborts_on_lmdb)
{
    check_snapshots(false);
}

static char moved(struct kv_cursor *cursor, enum kv_move move, const char *key)
{
    struct bytes got_key;
    struct bytes got_value;
    bool found = false;
    cr_assert_eq(kv_cursor_move(cursor, move, bytes_of_text(key), &got_key, &got_value, &found),
                 STATUS_OK);
    return found ? (char)got_key.data[0] : '-';
}

static void check_cursor(bool in_memory)
{
    struct place place = open_place(in_memory);
    struct kv_cursor *cursor = NULL;
    struct kv_write *write = begin(place.kv);
    cr_assert_eq(kv_cursor_open_write(write, &cursor), STATUS_OK);
    cr_assert_eq(moved(cursor, KV_SEEK, "a"), '-', "nothing in an empty file");
    cr_assert_eq(moved(cursor, KV_PREVIOUS, ""), '-');
    kv_cursor_close(cursor);
    put(write, "b", "");
    put(write, "d", "");
    put(write, "f", "");
    cr_assert_eq(kv_write_commit(write), STATUS_OK);

    struct kv_read *read = NULL;
    cr_assert_eq(kv_read_begin(place.kv, &read), STATUS_OK);
    cr_assert_eq(kv_cursor_open_read(read, &cursor), STATUS_OK);
    cr_assert_eq(moved(cursor, KV_SEEK, "a"), 'b');
    cr_assert_eq(moved(cursor, KV_SEEK, "d"), 'd');
    cr_assert_eq(moved(cursor, KV_SEEK, "c"), 'd');
    cr_assert_eq(moved(cursor, KV_PREVIOUS, ""), 'b');
    cr_assert_eq(moved(cursor, KV_PREVIOUS, ""), '-', "before the first it stands past the end");
    cr_assert_eq(moved(cursor, KV_PREVIOUS, ""), 'f');
    cr_assert_eq(moved(cursor, KV_NEXT, ""), '-');
    cr_assert_eq(moved(cursor, KV_NEXT, ""), '-');
    cr_assert_eq(moved(cursor, KV_SEEK, "g"), '-');
    cr_assert_eq(moved(cursor, KV_PREVIOUS, ""), 'f');
    cr_assert_eq(moved(cursor, KV_LAST, ""), 'f');
    kv_cursor_close(cursor);
    kv_read_end(read);

    /* Cursors of the next snapshots, which may have been used before, see what these see. */
    for (char key = 'g'; key < 'j'; key++) {
        struct kv_cursor *cursors[4];
        write = begin(place.kv);
        put(write, (char[]){key, '\0'}, "");
        cr_assert_eq(kv_write_commit(write), STATUS_OK);
        cr_assert_eq(kv_read_begin(place.kv, &read), STATUS_OK);
        for (int i = 0; i < 4; i++) {
            cr_assert_eq(kv_cursor_open_read(read, &cursors[i]), STATUS_OK);
            cr_assert_eq(moved(cursors[i], KV_NEXT, ""), '-', "it stands past the end");
            cr_assert_eq(moved(cursors[i], KV_SEEK, "g"), 'g');
        }
        for (int i = 0; i < 4; i++) {
            cr_assert_eq(moved(cursors[i], KV_LAST, ""), key);
            kv_cursor_close(cursors[i]);
        }
        kv_read_end(read);
    }
    close_place(&place);
}

Test(kv, cursor_moves_in_memory)
{
    check_cursor(true);
}

Test(kv, cursor_moves_on_lmdb)
{
    check_cursor(false);
}

/* Both implementations, side by side, must never differ. */
Test(kv, the_two_agree)
{
    struct place places[2] = {open_place(true), open_place(false)};
    struct prng prng = prng_of_seed(11);
    for (int round = 0; round < 60; round++) {
        struct kv_write *writes[2] = {begin(places[0].kv), begin(places[1].kv)};
        for (int i = 0; i < 100; i++) {
            uint8_t key[KV_KEY_BYTES_MAX] = {0};
            uint8_t value[KV_KEY_BYTES_MAX] = {(uint8_t)i};
            size_t size = prng_chance(&prng, 10) ? sizeof key : 1 + prng_below(&prng, 2);
            key[0] = (uint8_t)prng_below(&prng, 256);
            key[size - 1] = (uint8_t)prng_below(&prng, 4);
            bool remove = prng_chance(&prng, 3);
            bool found[2] = {false, false};
            for (int p = 0; p < 2; p++) {
                struct bytes k = bytes_of(key, size);
                cr_assert_eq(remove ? kv_write_delete(writes[p], k, &found[p])
                                    : kv_write_put(writes[p], k, bytes_of(value, size)),
                             STATUS_OK);
            }
            cr_assert_eq(found[0], found[1]);
        }
        bool keep = !prng_chance(&prng, 4);
        struct kv_read *reads[2];
        struct kv_cursor *cursors[2];
        for (int p = 0; p < 2; p++) {
            if (keep) {
                cr_assert_eq(kv_write_commit(writes[p]), STATUS_OK);
            } else {
                kv_write_abort(writes[p]);
            }
            cr_assert_eq(kv_read_begin(places[p].kv, &reads[p]), STATUS_OK);
            cr_assert_eq(kv_cursor_open_read(reads[p], &cursors[p]), STATUS_OK);
        }
        for (int i = 0; i < 400; i++) {
            uint8_t seek[2] = {(uint8_t)prng_below(&prng, 256), (uint8_t)prng_below(&prng, 4)};
            enum kv_move move = i == 0 ? KV_SEEK : (enum kv_move)prng_below(&prng, 4);
            struct bytes keys[2] = {BYTES_EMPTY, BYTES_EMPTY};
            struct bytes values[2] = {BYTES_EMPTY, BYTES_EMPTY};
            bool found[2] = {false, false};
            for (int p = 0; p < 2; p++) {
                cr_assert_eq(kv_cursor_move(cursors[p], move, bytes_of(seek, 2), &keys[p],
                                            &values[p], &found[p]),
                             STATUS_OK);
            }
            cr_assert_eq(found[0], found[1]);
            cr_assert(bytes_equal(keys[0], keys[1]));
            cr_assert(bytes_equal(values[0], values[1]));
        }
        for (int p = 0; p < 2; p++) {
            kv_cursor_close(cursors[p]);
            kv_read_end(reads[p]);
        }
    }
    close_place(&places[0]);
    close_place(&places[1]);
}

Test(kv, a_full_map_is_no_space_and_nothing_is_lost)
{
    struct place place = {.kv = NULL};
    struct kv_options options = {.map_size_bytes = UINT64_C(1) << 20};
    struct error error = {0};
    static uint8_t value[60000];
    test_folder_make(place.folder, sizeof place.folder, "kv");
    cr_assert_eq(kv_open(place.folder, &options, &place.kv, &error), STATUS_OK);
    struct kv_write *write = begin(place.kv);
    put(write, "kept", "here");
    cr_assert_eq(kv_write_commit(write), STATUS_OK);

    write = begin(place.kv);
    enum status status = STATUS_OK;
    for (uint8_t i = 1; i < 100 && status == STATUS_OK; i++) {
        status = kv_write_put(write, bytes_of(&i, 1), bytes_of(value, sizeof value));
    }
    cr_assert_eq(status, STATUS_NO_SPACE);
    kv_write_abort(write);
    cr_assert(is_there(place.kv, "kept", "here"));
    write = begin(place.kv);
    put(write, "more", "fits");
    cr_assert_eq(kv_write_commit(write), STATUS_OK);
    cr_assert(is_there(place.kv, "more", "fits"));
    close_place(&place);
}

Test(kv, reopened_files_hold_what_was_committed)
{
    struct place place = open_place(false);
    struct kv_options options = {.map_size_bytes = UINT64_C(1) << 26};
    struct error error = {0};
    struct kv_write *write = begin(place.kv);
    put(write, "a", "1");
    cr_assert_eq(kv_write_commit(write), STATUS_OK);
    kv_close(place.kv);
    cr_assert_eq(kv_open(place.folder, &options, &place.kv, &error), STATUS_OK);
    cr_assert(is_there(place.kv, "a", "1"));
    struct kv_statistics statistics;
    kv_statistics(place.kv, &statistics);
    cr_assert_eq(statistics.map_size_bytes, UINT64_C(1) << 26);
    cr_assert_geq(statistics.file_bytes, statistics.used_bytes);
    close_place(&place);
}

static uint64_t reusable_bytes(struct kv *kv)
{
    struct kv_statistics statistics;
    kv_statistics(kv, &statistics);
    cr_assert_leq(statistics.reusable_bytes, statistics.file_bytes - statistics.used_bytes);
    return statistics.reusable_bytes;
}

static void commit_a_little(struct kv *kv)
{
    struct kv_write *write = begin(kv);
    put(write, "little", "1");
    cr_assert_eq(kv_write_commit(write), STATUS_OK);
}

/* Freed pages may be taken by the second transaction after, and by none while a reader is older. */
Test(kv, pages_are_reusable_when_no_reader_sees_them)
{
    static uint8_t value[1 << 20];
    struct place place = open_place(false);
    struct kv_write *write = begin(place.kv);
    cr_assert_eq(kv_write_put(write, bytes_of_text("big"), bytes_of(value, sizeof value)),
                 STATUS_OK);
    cr_assert_eq(kv_write_commit(write), STATUS_OK);
    struct kv_read *read = NULL;
    cr_assert_eq(kv_read_begin(place.kv, &read), STATUS_OK);
    bool found = false;
    write = begin(place.kv);
    cr_assert_eq(kv_write_delete(write, bytes_of_text("big"), &found), STATUS_OK);
    cr_assert_eq(kv_write_commit(write), STATUS_OK);
    for (int i = 0; i < 3; i++) {
        commit_a_little(place.kv);
        cr_assert_lt(reusable_bytes(place.kv), sizeof value);
    }
    kv_read_end(read);
    cr_assert_geq(reusable_bytes(place.kv), sizeof value);

    write = begin(place.kv);
    cr_assert_eq(kv_write_put(write, bytes_of_text("big"), bytes_of(value, sizeof value)),
                 STATUS_OK);
    cr_assert_eq(kv_write_commit(write), STATUS_OK);
    cr_assert_lt(reusable_bytes(place.kv), sizeof value, "they were taken");
    write = begin(place.kv);
    cr_assert_eq(kv_write_delete(write, bytes_of_text("big"), &found), STATUS_OK);
    cr_assert_eq(kv_write_commit(write), STATUS_OK);
    cr_assert_lt(reusable_bytes(place.kv), sizeof value, "not by the very next transaction");
    commit_a_little(place.kv);
    cr_assert_geq(reusable_bytes(place.kv), sizeof value);
    close_place(&place);
}

/* Not a SIGBUS at some later read. */
Test(kv, a_file_cut_short_is_refused_by_name)
{
    struct place place = open_place(false);
    struct kv_options options = {.map_size_bytes = UINT64_C(1) << 26};
    struct error error = {0};
    struct stat before;
    struct stat after;
    char path[300];
    static uint8_t value[1000];
    struct kv_write *write = begin(place.kv);
    for (uint8_t i = 1; i < 100; i++) {
        cr_assert_eq(kv_write_put(write, bytes_of(&i, 1), bytes_of(value, sizeof value)),
                     STATUS_OK);
    }
    cr_assert_eq(kv_write_commit(write), STATUS_OK);
    kv_close(place.kv);
    snprintf(path, sizeof path, "%s/data.mdb", place.folder);
    cr_assert_eq(stat(path, &before), 0);
    for (off_t size = before.st_size - 4096; size > 8192; size -= 4096) {
        cr_assert_eq(truncate(path, size), 0);
        cr_assert_eq(kv_open(place.folder, &options, &place.kv, &error), STATUS_CORRUPT);
        cr_assert_not_null(strstr(error.text, path));
        cr_assert_eq(stat(path, &after), 0);
        cr_assert_eq(after.st_size, size);
    }
    place.kv = NULL;
    close_place(&place);
}

Test(kv, a_missing_folder_is_named)
{
    struct kv *kv = NULL;
    struct error error = {0};
    cr_assert_eq(kv_open("/nowhere/at/all", NULL, &kv, &error), STATUS_IO);
    cr_assert_not_null(strstr(error.text, "/nowhere/at/all/data.mdb"));
    cr_assert_null(kv);
}

Test(kv, dirty_bytes_grow_with_what_is_touched)
{
    struct place place = open_place(false);
    struct kv_write *write = begin(place.kv);
    static uint8_t value[1000];
    for (uint32_t i = 0; i < 2000; i++) {
        uint8_t key[4] = {(uint8_t)(i >> 8), (uint8_t)i, 1, 1};
        cr_assert_eq(kv_write_put(write, bytes_of(key, 4), bytes_of(value, sizeof value)),
                     STATUS_OK);
    }
    uint64_t in_order = kv_write_dirty_bytes(write);
    cr_assert_geq(in_order, 2000 * 1000);
    cr_assert_lt(in_order, 2 * 2000 * 1400);
    cr_assert_eq(kv_write_commit(write), STATUS_OK);

    write = begin(place.kv);
    for (uint32_t i = 0; i < 2000; i += 20) { /* one change in every fifth leaf or so */
        uint8_t key[4] = {(uint8_t)(i >> 8), (uint8_t)i, 1, 1};
        cr_assert_eq(kv_write_put(write, bytes_of(key, 4), bytes_of(value, sizeof value)),
                     STATUS_OK);
    }
    uint64_t scattered = kv_write_dirty_bytes(write);
    cr_assert_geq(scattered, 100 * 4096 * 6 / 10, "%lu", (unsigned long)scattered);
    cr_assert_leq(scattered, 100 * 4096);
    kv_write_abort(write);
    close_place(&place);
}

Test(kv, memory_that_runs_out_leaves_the_snapshot_whole)
{
    struct place place = open_place(true);
    struct kv_write *write = begin(place.kv);
    put(write, "a", "1");
    cr_assert_eq(kv_write_commit(write), STATUS_OK);
    bool failed = true;
    for (uint64_t after = 0; failed; after++) {
        memory_fail_arm(after, 1);
        write = NULL;
        enum status status = kv_write_begin(place.kv, &write);
        for (char key[] = "k0"; status == STATUS_OK && key[1] < '9'; key[1]++) {
            status = kv_write_put(write, bytes_of_text(key), bytes_of_text("v"));
        }
        memory_fail_disarm();
        failed = status != STATUS_OK;
        cr_assert(!failed || status == STATUS_NO_MEMORY);
        if (write != NULL) {
            kv_write_abort(write);
        }
        cr_assert(is_there(place.kv, "a", "1"));
    }
    close_place(&place);
}

/* --- damage ----------------------------------------------------------------------------------- */

static void zero_leaves(const char *folder)
{
    enum {
        PAGE = 4096,
        FLAGS_AT = 10,
        LEAF = 2
    };
    uint8_t page[PAGE];
    uint8_t nothing[PAGE] = {0};
    char path[300];
    int leaves = 0;
    snprintf(path, sizeof path, "%s/data.mdb", folder);
    FILE *file = fopen(path, "r+b");
    cr_assert_not_null(file);
    for (long at = 2L * PAGE; fseek(file, at, SEEK_SET) == 0; at += PAGE) {
        if (fread(page, PAGE, 1, file) != 1) {
            break;
        }
        if ((page[FLAGS_AT] & LEAF) != 0 && leaves++ > 0) {
            cr_assert_eq(fseek(file, at, SEEK_SET), 0);
            cr_assert_eq(fwrite(nothing, PAGE, 1, file), 1);
        }
    }
    cr_assert_eq(fclose(file), 0);
    cr_assert_gt(leaves, 5);
}

static void read_everything(const char *folder)
{
    struct kv_options options = {.map_size_bytes = UINT64_C(1) << 26};
    struct error error = {0};
    struct kv *kv = NULL;
    struct kv_read *read = NULL;
    struct kv_cursor *cursor = NULL;
    if (kv_open(folder, &options, &kv, &error) != STATUS_OK ||
        kv_read_begin(kv, &read) != STATUS_OK || kv_cursor_open_read(read, &cursor) != STATUS_OK) {
        return;
    }
    bool found = true;
    struct bytes key;
    struct bytes value;
    enum status status = kv_cursor_move(cursor, KV_SEEK, bytes_of_text("0"), &key, &value, &found);
    while (status == STATUS_OK && found) {
        status = kv_cursor_move(cursor, KV_NEXT, BYTES_EMPTY, &key, &value, &found);
    }
}

#define LMDB_PAGE_BYTES 4096

/* Have every branch page point to pages that are not there.  LMDB's page: a header of 16 bytes with
 * flags at 10 (1 = branch) and the end of the offsets at 12; a node has its page's high bits at 4. */
static void damage_branches(const char *folder)
{
    char path[300];
    uint8_t page[LMDB_PAGE_BYTES];
    snprintf(path, sizeof path, "%s/data.mdb", folder);
    FILE *file = fopen(path, "r+b");
    int damaged = 0;
    cr_assert_not_null(file);
    for (long at = 2L * LMDB_PAGE_BYTES; fseek(file, at, SEEK_SET) == 0; at += LMDB_PAGE_BYTES) {
        if (fread(page, sizeof page, 1, file) != 1) {
            break;
        }
        uint16_t lower = load_le16(page + 12);
        if (load_le16(page + 10) != 1 || lower > sizeof page) {
            continue;
        }
        for (uint16_t offset = 16; offset < lower; offset += 2) {
            page[load_le16(page + offset) + 4] = 0xff;
        }
        cr_assert_eq(fseek(file, at, SEEK_SET), 0);
        cr_assert_eq(fwrite(page, sizeof page, 1, file), 1);
        damaged++;
    }
    cr_assert_eq(fclose(file), 0);
    cr_assert_gt(damaged, 0, "the tree has no branch");
}

static void fill_with_branches(struct kv *kv)
{
    struct kv_write *write = begin(kv);
    for (int i = 0; i < 2000; i++) {
        char key[32];
        snprintf(key, sizeof key, "key %d", i);
        put(write, key, "a value that takes some room in its leaf, so that there are many");
    }
    cr_assert_eq(kv_write_commit(write), STATUS_OK);
}

/* LMDB refuses a transaction that met damage: its next cursor, a used one, is an error and no more. */
Test(kv, after_damage_a_cursor_is_refused)
{
    struct place place = open_place(false);
    struct kv_read *read = NULL;
    struct kv_cursor *cursor = NULL;
    struct bytes key;
    struct bytes value;
    bool found = false;
    fill_with_branches(place.kv);
    cr_assert_eq(kv_read_begin(place.kv, &read), STATUS_OK);
    damage_branches(place.folder);
    cr_assert_eq(kv_cursor_open_read(read, &cursor), STATUS_OK);
    cr_assert_eq(kv_cursor_move(cursor, KV_SEEK, bytes_of_text("key 5"), &key, &value, &found),
                 STATUS_CORRUPT);
    kv_cursor_close(cursor);
    cr_assert_eq(kv_cursor_open_read(read, &cursor), STATUS_CORRUPT);
    cr_assert_eq(kv_read_get(read, bytes_of_text("key 5"), &value, &found), STATUS_CORRUPT);
    kv_read_end(read);

    cr_assert_eq(kv_read_begin(place.kv, &read), STATUS_OK);
    cr_assert_eq(kv_cursor_open_read(read, &cursor), STATUS_OK, "a new transaction begins anew");
    kv_cursor_close(cursor);
    kv_read_end(read);
    close_place(&place);
}

/* A write looks for the greatest key first: that this meets damage is not the disk's failure. */
Test(kv, a_write_that_meets_damage_says_so)
{
    struct place place = open_place(false);
    fill_with_branches(place.kv);
    damage_branches(place.folder);
    struct kv_write *write = begin(place.kv);
    cr_assert_eq(kv_write_put(write, bytes_of_text("key 5"), bytes_of_text("new")), STATUS_CORRUPT);
    kv_write_abort(write);
    close_place(&place);
}

/* LMDB does not return from that; whoever reads the log must learn which file it was. */
Test(kv, the_end_of_the_process_by_damage_names_the_file)
{
    struct place place = open_place(false);
    struct kv_write *write = begin(place.kv);
    uint8_t value[200] = {0};
    char key[16];
    for (int i = 0; i < 2000; i++) {
        snprintf(key, sizeof key, "%08d", i);
        cr_assert_eq(kv_write_put(write, bytes_of_text(key), bytes_of(value, sizeof value)),
                     STATUS_OK);
    }
    cr_assert_eq(kv_write_commit(write), STATUS_OK);
    kv_close(place.kv);
    zero_leaves(place.folder);

    int pipe_ends[2];
    char said[1024] = "";
    cr_assert_eq(pipe(pipe_ends), 0);
    pid_t child = fork();
    if (child == 0) {
        (void)setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
        (void)dup2(pipe_ends[1], STDERR_FILENO);
        read_everything(place.folder);
        _exit(0);
    }
    (void)close(pipe_ends[1]);
    size_t size = 0;
    for (ssize_t part; size < sizeof said - 1 &&
                       (part = read(pipe_ends[0], said + size, sizeof said - 1 - size)) > 0;) {
        size += (size_t)part;
    }
    (void)close(pipe_ends[0]);
    int ended = 0;
    cr_assert_eq(waitpid(child, &ended, 0), child);
    cr_assert(WIFSIGNALED(ended) && WTERMSIG(ended) == SIGABRT);
    cr_assert_not_null(strstr(said, place.folder), "%s", said);
    cr_assert_not_null(strstr(said, "data.mdb is damaged"), "%s", said);
    struct error error = {0};
    struct kv_options options = {.map_size_bytes = UINT64_C(1) << 26};
    cr_assert_eq(kv_open(place.folder, &options, &place.kv, &error), STATUS_OK);
    close_place(&place);
}
