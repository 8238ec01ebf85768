/* A key-value store on LMDB whose pages were harmed from outside. */
#include "tests/support/kv_fixture.h"

#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "common/base/endian.h"

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
