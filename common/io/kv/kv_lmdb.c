/*
 * Flags, and why:
 *   MDB_NOTLS       Readers are tied to transactions, not to threads, so a pool may share them.
 *   MDB_NORDAHEAD   Point reads of a file larger than memory would each drag in 128 KiB that
 *                   nobody asked for and push out pages that are hot.
 *   no MDB_WRITEMAP A stray write could then change the file, and commits lose their atomicity.
 *   no MDB_NOSYNC   Not crash-safe: the meta page may land before the data.
 */
#include "common/io/kv/kv_lmdb_parts.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/statvfs.h>

#include "common/base/assert.h"
#include "common/base/memory.h"
#include "common/io/file.h"
#include "common/io/kv/kv_lmdb_apart.h"
#include "common/io/kv/kv_lmdb_check.h"
#include "common/io/kv/kv_lmdb_readers.h"
#include "common/io/kv/kv_lmdb_walk.h"

#define READERS_DEFAULT 1024
#define PAGE_BYTES      4096
#define FILE_MODE       0640
#define MAP_SIZE_MIN    (UINT64_C(1) << 20)
#define MAP_SIZE_TSAN   (UINT64_C(64) << 30)

enum status kv_lmdb_status(int code)
{
    switch (code) {
    case MDB_SUCCESS:
        return STATUS_OK;
    case MDB_MAP_FULL:
    case MDB_TXN_FULL:
    case ENOSPC:
    case EDQUOT:
        return STATUS_NO_SPACE;
    case MDB_READERS_FULL:
        return STATUS_LIMIT;
    case MDB_VERSION_MISMATCH:
        return STATUS_VERSION;
    case MDB_INVALID:
    case MDB_CORRUPTED:
    case MDB_PAGE_NOTFOUND:
    case MDB_BAD_TXN: /* it has met damage before: nobody goes on after another error */
        return STATUS_CORRUPT;
    case ENOMEM:
        return STATUS_NO_MEMORY;
    default:
        return STATUS_IO;
    }
}

/* --- opening ---------------------------------------------------------------------------------- */

static enum status choose_map_size(const char *folder, uint64_t asked, uint64_t *ret_size_bytes)
{
    uint64_t size = asked;
    if (size == 0) {
        struct statvfs file_system;
        if (statvfs(folder, &file_system) != 0) {
            return STATUS_IO;
        }
        size = (uint64_t)file_system.f_blocks * file_system.f_frsize;
    }
#ifdef EDUBBA_TSAN
    size = size < MAP_SIZE_TSAN ? size : MAP_SIZE_TSAN;
#endif
    size = size > MAP_SIZE_MIN ? size : MAP_SIZE_MIN;
    *ret_size_bytes = size - size % PAGE_BYTES;
    return STATUS_OK;
}

static int open_database(struct lmdb_kv *kv)
{
    MDB_txn *txn = NULL;
    int code = mdb_txn_begin(kv->env, NULL, MDB_RDONLY, &txn);
    if (code != 0) {
        return code;
    }
    code = mdb_dbi_open(txn, NULL, 0, &kv->dbi);
    if (code != 0) {
        mdb_txn_abort(txn);
        return code;
    }
    return mdb_txn_commit(txn);
}

/* LMDB ends the process where a page makes no sense at all; say which file it is, at least. */
static void on_nonsense(MDB_env *env, const char *text)
{
    const struct lmdb_kv *kv = mdb_env_get_userctx(env);
    (void)fprintf(stderr,
                  "%s/data.mdb is damaged: LMDB cannot go on (%s); restore it, or take its store "
                  "away\n",
                  kv->folder, text);
}

static int open_files(struct lmdb_kv *kv, const struct kv_lmdb_apart *apart)
{
    const unsigned flags = MDB_NOTLS | MDB_NORDAHEAD;
    return apart == NULL ? mdb_env_open(kv->env, kv->folder, flags, FILE_MODE)
                         : mdb_env_open(kv->env, apart->data, flags | MDB_NOSUBDIR, FILE_MODE);
}

static int open_environment(struct lmdb_kv *kv,
                            const struct kv_lmdb_apart *apart,
                            uint32_t readers_max)
{
    int code = mdb_env_create(&kv->env);
    if (code != 0) {
        return code;
    }
    code = mdb_env_set_userctx(kv->env, kv);
    if (code == 0) {
        code = mdb_env_set_assert(kv->env, on_nonsense);
    }
    if (code == 0) {
        code = mdb_env_set_mapsize(kv->env, kv->map_size_bytes);
    }
    if (code == 0) {
        code = mdb_env_set_maxreaders(kv->env, readers_max);
    }
    if (code == 0) {
        code = open_files(kv, apart);
    }
    if (code == 0) {
        code = kv_lmdb_check_length(kv->env);
    }
    if (code == 0) {
        int dead = 0; /* slots of processes that were killed would pin pages for ever */
        code = mdb_reader_check(kv->env, &dead);
    }
    if (code == 0) {
        code = open_database(kv);
    }
    if (code != 0) {
        mdb_env_close(kv->env);
    }
    return code;
}

enum status kv_open(const char *folder,
                    const struct kv_options *options,
                    struct kv **ret_kv,
                    struct error *ret_error)
{
    const struct kv_options defaults = {0};
    options = options != NULL ? options : &defaults;

    struct lmdb_kv *kv = memory_allocate_zeroed(1, sizeof *kv);
    if (kv == NULL) {
        return error_set(ret_error, STATUS_NO_MEMORY, "open %s/data.mdb: out of memory", folder);
    }
    if (choose_map_size(folder, options->map_size_bytes, &kv->map_size_bytes) != STATUS_OK) {
        memory_free(kv);
        return error_set(ret_error, STATUS_IO, "open %s/data.mdb: the folder cannot be read: %s",
                         folder, strerror(errno));
    }
    (void)snprintf(kv->folder, sizeof kv->folder, "%s", folder);
    uint32_t readers_max = options->readers_max > 0 ? options->readers_max : READERS_DEFAULT;
    enum status status = kv_lmdb_check_kinds(folder, ret_error);
    if (status == STATUS_OK && options->looks_first) {
        status = kv_lmdb_walk(folder, ret_error);
    }
    struct kv_lmdb_apart apart;
    bool is_apart = status == STATUS_OK && options->readers_apart &&
                    kv_lmdb_apart_make(folder, readers_max, FILE_MODE, &apart);
    if (status == STATUS_OK && !is_apart) {
        status = kv_lmdb_place_readers(folder, readers_max, FILE_MODE, ret_error);
    }
    if (status != STATUS_OK) {
        memory_free(kv);
        return status;
    }
    int code = open_environment(kv, is_apart ? &apart : NULL, readers_max);
    if (is_apart) {
        kv_lmdb_apart_remove(&apart);
    }
    if (code != 0) {
        memory_free(kv);
        return error_set(ret_error, kv_lmdb_status(code), "open %s/data.mdb: %s", folder,
                         code == MDB_CORRUPTED ? "the file is damaged or was cut short"
                                               : mdb_strerror(code));
    }
    /* LMDB syncs what is in the file, not its name. */
    status = file_sync_folder(folder, ret_error);
    if (status != STATUS_OK) {
        mdb_env_close(kv->env);
        memory_free(kv);
        return status;
    }
    kv->kv.operations = &kv_lmdb_operations;
    ASSERT(pthread_mutex_init(&kv->pool_lock, NULL) == 0);
    *ret_kv = &kv->kv;
    return STATUS_OK;
}

static void lmdb_close(struct kv *base)
{
    struct lmdb_kv *kv = (struct lmdb_kv *)base;
    for (uint32_t i = 0; i < kv->pool_count; i++) {
        kv_lmdb_read_destroy(kv->pool[i]);
    }
    mdb_env_close(kv->env);
    ASSERT(pthread_mutex_destroy(&kv->pool_lock) == 0);
    memory_free(kv);
}

static void lmdb_statistics(struct kv *base, struct kv_statistics *ret_statistics)
{
    struct lmdb_kv *kv = (struct lmdb_kv *)base;
    MDB_envinfo info = {0};
    struct kv_read *read = NULL;
    uint64_t free_pages = 0;
    uint64_t reusable_pages = 0;

    ASSERT(mdb_env_info(kv->env, &info) == 0);
    if (kv_lmdb_read_begin(base, &read) == STATUS_OK) {
        free_pages = kv_lmdb_count_free_pages(((struct lmdb_read *)read)->txn, &reusable_pages);
        kv_lmdb_read_end(read);
    }
    uint64_t pages = (uint64_t)info.me_last_pgno + 1;
    ret_statistics->file_bytes = pages * PAGE_BYTES;
    ret_statistics->used_bytes = (pages - (free_pages < pages ? free_pages : pages)) * PAGE_BYTES;
    ret_statistics->reusable_bytes = reusable_pages * PAGE_BYTES;
    ret_statistics->map_size_bytes = kv->map_size_bytes;
}

const struct kv_operations kv_lmdb_operations = {
    .close = lmdb_close,
    .statistics = lmdb_statistics,
    .read_begin = kv_lmdb_read_begin,
    .read_end = kv_lmdb_read_end,
    .read_get = kv_lmdb_read_get,
    .read_version = kv_lmdb_read_version,
    .write_begin = kv_lmdb_write_begin,
    .write_abort = kv_lmdb_write_abort,
    .write_commit = kv_lmdb_write_commit,
    .write_get = kv_lmdb_write_get,
    .write_put = kv_lmdb_write_put,
    .write_delete = kv_lmdb_write_delete,
    .write_dirty_bytes = kv_lmdb_write_dirty_bytes,
    .cursor_open_read = kv_lmdb_cursor_open_read,
    .cursor_open_write = kv_lmdb_cursor_open_write,
    .cursor_close = kv_lmdb_cursor_close,
    .cursor_move = kv_lmdb_cursor_move,
};
