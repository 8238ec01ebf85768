#include "common/io/kv/kv_lmdb_check.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/io/file.h"

#define FREE_DATABASE 0 /* LMDB's list of free pages, readable as mdb_stat does */

static const char *kind_of(mode_t mode)
{
    if (S_ISDIR(mode)) {
        return "a folder";
    }
    if (S_ISFIFO(mode)) {
        return "a pipe";
    }
    return S_ISSOCK(mode) ? "a socket" : "a device";
}

/* Of what is not there, or cannot be looked at, opening it says more. */
static enum status check_kind(const char *folder, const char *name, struct error *ret_error)
{
    char path[FILE_PATH_SIZE_MAX];
    struct stat there;
    enum status status = file_path_join(path, folder, name, ret_error);
    if (status != STATUS_OK || stat(path, &there) != 0 || S_ISREG(there.st_mode)) {
        return status;
    }
    return error_set(ret_error, STATUS_FAILED_PRECONDITION,
                     "open %s: it is %s, and should be a file; see what was put in its place", path,
                     kind_of(there.st_mode));
}

enum status kv_lmdb_check_kinds(const char *folder, struct error *ret_error)
{
    enum status status = check_kind(folder, "data.mdb", ret_error);
    return status == STATUS_OK ? check_kind(folder, "lock.mdb", ret_error) : status;
}

/* One line of LMDB's table of readers: process, thread, transaction in hexadecimal, decimal.  The
 * heading, and readers at rest (`-'), have no number there. */
static int note_reader(const char *line, void *context)
{
    size_t *oldest = context;
    size_t transaction = 0;
    if (sscanf(line, "%*d %*x %zu", &transaction) == 1 && transaction < *oldest) {
        *oldest = transaction;
    }
    return 0;
}

uint64_t kv_lmdb_count_free_pages(MDB_txn *txn, uint64_t *ret_reusable)
{
    MDB_cursor *cursor = NULL;
    uint64_t pages = 0;
    uint64_t reusable = 0;
    size_t oldest = mdb_txn_id(txn);
    (void)mdb_reader_list(mdb_txn_env(txn), note_reader, &oldest);
    *ret_reusable = 0;
    if (mdb_cursor_open(txn, FREE_DATABASE, &cursor) != 0) {
        return 0;
    }
    MDB_val key = {0, NULL};
    MDB_val value = {0, NULL};
    while (mdb_cursor_get(cursor, &key, &value, MDB_NEXT) == 0) {
        size_t count = 0;
        memcpy(&count, value.mv_data, sizeof count);
        pages += count;
        size_t freed_by = 0; /* the transaction: whoever began before it ended may see them */
        memcpy(&freed_by, key.mv_data, sizeof freed_by);
        reusable += freed_by < oldest ? count : 0;
    }
    mdb_cursor_close(cursor);
    *ret_reusable = reusable;
    return pages;
}

/* How many pages from number `first` on are on the free list. */
static uint64_t count_free_from(MDB_txn *txn, uint64_t first)
{
    MDB_cursor *cursor = NULL;
    uint64_t pages = 0;
    if (mdb_cursor_open(txn, FREE_DATABASE, &cursor) != 0) {
        return 0;
    }
    MDB_val key = {0, NULL};
    MDB_val value = {0, NULL};
    while (mdb_cursor_get(cursor, &key, &value, MDB_NEXT) == 0) {
        const uint8_t *words = value.mv_data;
        size_t count = 0; /* word 0; the numbers follow, and perhaps room for more */
        memcpy(&count, words, sizeof count);
        for (size_t i = 1; i <= count && (i + 1) * sizeof count <= value.mv_size; i++) {
            size_t page = 0;
            memcpy(&page, words + i * sizeof page, sizeof page);
            pages += page >= first ? 1 : 0;
        }
    }
    mdb_cursor_close(cursor);
    return pages;
}

int kv_lmdb_check_length(MDB_env *env)
{
    MDB_envinfo info;
    MDB_stat status;
    struct stat file;
    MDB_txn *txn = NULL;
    mdb_filehandle_t descriptor = -1;
    int code = mdb_env_info(env, &info);
    if (code == 0) {
        code = mdb_env_stat(env, &status);
    }
    if (code == 0) {
        code = mdb_env_get_fd(env, &descriptor);
    }
    if (code != 0 || fstat(descriptor, &file) != 0) {
        return code != 0 ? code : errno;
    }
    uint64_t wanted = info.me_last_pgno + 1;
    uint64_t there = (uint64_t)file.st_size / status.ms_psize;
    if (there >= wanted) {
        return 0;
    }
    if (ftruncate(descriptor, (off_t)(wanted * status.ms_psize)) != 0) {
        return errno;
    }
    code = mdb_txn_begin(env, NULL, MDB_RDONLY, &txn);
    if (code == 0) {
        code = count_free_from(txn, there) < wanted - there ? MDB_CORRUPTED : 0;
        mdb_txn_abort(txn);
    }
    if (code != 0 && ftruncate(descriptor, file.st_size) != 0) {
        return errno; /* as it was, so that the next one sees it too */
    }
    return code;
}
