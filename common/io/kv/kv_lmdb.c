/*
 * kv.h over LMDB: the only file, with kv_lmdb_check.c, that includes lmdb.h.
 *
 * Flags, and why:
 *   MDB_NOTLS       Readers are tied to transactions, not to threads, so a pool may share them.
 *   MDB_NORDAHEAD   Point reads of a file larger than memory would each drag in 128 KiB that
 *                   nobody asked for and push out pages that are hot.
 *   no MDB_WRITEMAP A stray write could then change the file, and commits lose their atomicity.
 *   no MDB_NOSYNC   Not crash-safe: the meta page may land before the data.
 *
 * Beginning a read takes LMDB's reader mutex and searches its table for a slot, so ended read
 * transactions are reset and pooled with their slots.
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/statvfs.h>

#include <lmdb.h>

#include "common/base/assert.h"
#include "common/base/memory.h"
#include "common/io/file.h"
#include "common/io/kv/kv_dirty.h"
#include "common/io/kv/kv_implementation.h"
#include "common/io/kv/kv_lmdb_check.h"

#define READERS_DEFAULT   1024
#define READ_POOL_MAX     64
#define SPARE_CURSORS_MAX 2 /* a point read of a large value has two */
#define PAGE_BYTES        4096
#define FILE_MODE         0640
#define MAP_SIZE_MIN      (UINT64_C(1) << 20)
#define MAP_SIZE_TSAN     (UINT64_C(64) << 30)

#define COMMIT_SLACK_BYTES (UINT64_C(256) * 1024) /* free-list pages, beside the counted ones */

struct lmdb_kv {
    struct kv kv;
    MDB_env *env;
    MDB_dbi dbi;
    uint64_t map_size_bytes;
    pthread_mutex_t pool_lock;
    struct lmdb_read *pool[READ_POOL_MAX]; /* reset, ready for renewal */
    uint32_t pool_count;
};

struct lmdb_cursor;

struct lmdb_read {
    struct kv_read read;
    struct lmdb_kv *kv;
    MDB_txn *txn;
    uint32_t cursors_open;
    struct lmdb_cursor *spares[SPARE_CURSORS_MAX]; /* closed, ready for renewal */
    uint32_t spare_count;
};

struct lmdb_write {
    struct kv_write write;
    struct lmdb_kv *kv;
    MDB_txn *txn;
    MDB_cursor *cursor; /* for all puts and deletes: sorted ones then stay on their leaf */
    uint32_t cursors_open;
    size_t greatest_bytes;              /* of the key below; SIZE_MAX = not looked for yet */
    uint8_t greatest[KV_KEY_BYTES_MAX]; /* no key of the file is above it */
    struct kv_dirty dirty;              /* pages that it has changed */
};

struct lmdb_cursor {
    struct kv_cursor cursor;
    MDB_cursor *lmdb;
    struct lmdb_read *read; /* NULL: it is a write's */
    uint32_t *cursors_open; /* of the transaction */
    bool past_end;
};

static const struct kv_operations LMDB_OPERATIONS;

static enum status status_of_lmdb(int code)
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

static MDB_val val_of(struct bytes bytes)
{
    union {
        const void *in;
        void *out; /* LMDB's struct has no const, but it only reads keys */
    } pointer = {.in = bytes.data};
    return (MDB_val){bytes.size_bytes, pointer.out};
}

static struct bytes bytes_of_val(MDB_val val)
{
    return bytes_of(val.mv_data, val.mv_size);
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
    const char *folder = NULL;
    (void)mdb_env_get_path(env, &folder);
    (void)fprintf(stderr,
                  "%s/data.mdb is damaged: LMDB cannot go on (%s); restore it, or take its store "
                  "away\n",
                  folder != NULL ? folder : "?", text);
}

static int open_environment(struct lmdb_kv *kv, const char *folder, uint32_t readers_max)
{
    int code = mdb_env_create(&kv->env);
    if (code != 0) {
        return code;
    }
    code = mdb_env_set_assert(kv->env, on_nonsense);
    if (code == 0) {
        code = mdb_env_set_mapsize(kv->env, kv->map_size_bytes);
    }
    if (code == 0) {
        code = mdb_env_set_maxreaders(kv->env, readers_max > 0 ? readers_max : READERS_DEFAULT);
    }
    if (code == 0) {
        code = mdb_env_open(kv->env, folder, MDB_NOTLS | MDB_NORDAHEAD, FILE_MODE);
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
    int code = open_environment(kv, folder, options->readers_max);
    if (code != 0) {
        memory_free(kv);
        return error_set(ret_error, status_of_lmdb(code), "open %s/data.mdb: %s", folder,
                         code == MDB_CORRUPTED ? "the file is damaged or was cut short"
                                               : mdb_strerror(code));
    }
    /* LMDB syncs what is in the file, not its name. */
    enum status status = file_sync_folder(folder, ret_error);
    if (status != STATUS_OK) {
        mdb_env_close(kv->env);
        memory_free(kv);
        return status;
    }
    kv->kv.operations = &LMDB_OPERATIONS;
    ASSERT(pthread_mutex_init(&kv->pool_lock, NULL) == 0);
    *ret_kv = &kv->kv;
    return STATUS_OK;
}

static void read_destroy(struct lmdb_read *read)
{
    for (uint32_t i = 0; i < read->spare_count; i++) {
        mdb_cursor_close(read->spares[i]->lmdb);
        memory_free(read->spares[i]);
    }
    if (read->txn != NULL) {
        mdb_txn_abort(read->txn);
    }
    memory_free(read);
}

static void lmdb_close(struct kv *base)
{
    struct lmdb_kv *kv = (struct lmdb_kv *)base;
    for (uint32_t i = 0; i < kv->pool_count; i++) {
        read_destroy(kv->pool[i]);
    }
    mdb_env_close(kv->env);
    ASSERT(pthread_mutex_destroy(&kv->pool_lock) == 0);
    memory_free(kv);
}

/* --- read transactions ------------------------------------------------------------------------ */

static struct lmdb_read *pool_take(struct lmdb_kv *kv)
{
    struct lmdb_read *read = NULL;
    ASSERT(pthread_mutex_lock(&kv->pool_lock) == 0);
    if (kv->pool_count > 0) {
        kv->pool_count--;
        read = kv->pool[kv->pool_count];
    }
    ASSERT(pthread_mutex_unlock(&kv->pool_lock) == 0);
    return read;
}

static bool pool_give(struct lmdb_kv *kv, struct lmdb_read *read)
{
    ASSERT(pthread_mutex_lock(&kv->pool_lock) == 0);
    bool taken = kv->pool_count < READ_POOL_MAX;
    if (taken) {
        kv->pool[kv->pool_count] = read;
        kv->pool_count++;
    }
    ASSERT(pthread_mutex_unlock(&kv->pool_lock) == 0);
    return taken;
}

static enum status lmdb_read_begin(struct kv *base, struct kv_read **ret_read)
{
    struct lmdb_kv *kv = (struct lmdb_kv *)base;
    struct lmdb_read *read = pool_take(kv);
    int code = 0;
    if (read != NULL) {
        code = mdb_txn_renew(read->txn);
    } else {
        read = memory_allocate_zeroed(1, sizeof *read);
        if (read == NULL) {
            return STATUS_NO_MEMORY;
        }
        read->read.operations = &LMDB_OPERATIONS;
        read->kv = kv;
        code = mdb_txn_begin(kv->env, NULL, MDB_RDONLY, &read->txn);
    }
    if (code != 0) {
        read_destroy(read);
        return status_of_lmdb(code);
    }
    *ret_read = &read->read;
    return STATUS_OK;
}

static void lmdb_read_end(struct kv_read *base)
{
    struct lmdb_read *read = (struct lmdb_read *)base;
    ASSERT(read->cursors_open == 0);
    mdb_txn_reset(read->txn);
    if (!pool_give(read->kv, read)) {
        read_destroy(read);
    }
}

static uint64_t lmdb_read_version(const struct kv_read *base)
{
    return (uint64_t)mdb_txn_id(((const struct lmdb_read *)base)->txn) + 1;
}

static enum status get(
    MDB_txn *txn, MDB_dbi dbi, struct bytes key, struct bytes *ret_value, bool *ret_found)
{
    MDB_val lmdb_key = val_of(key);
    MDB_val value = {0, NULL};
    int code = mdb_get(txn, dbi, &lmdb_key, &value);
    if (code != 0 && code != MDB_NOTFOUND) {
        return status_of_lmdb(code);
    }
    *ret_found = code == 0;
    if (code == 0) {
        *ret_value = bytes_of_val(value);
    }
    return STATUS_OK;
}

static enum status lmdb_read_get(struct kv_read *base,
                                 struct bytes key,
                                 struct bytes *ret_value,
                                 bool *ret_found)
{
    struct lmdb_read *read = (struct lmdb_read *)base;
    return get(read->txn, read->kv->dbi, key, ret_value, ret_found);
}

static void lmdb_statistics(struct kv *base, struct kv_statistics *ret_statistics)
{
    struct lmdb_kv *kv = (struct lmdb_kv *)base;
    MDB_envinfo info = {0};
    struct kv_read *read = NULL;
    uint64_t free_pages = 0;
    uint64_t reusable_pages = 0;

    ASSERT(mdb_env_info(kv->env, &info) == 0);
    if (lmdb_read_begin(base, &read) == STATUS_OK) {
        free_pages = kv_lmdb_count_free_pages(((struct lmdb_read *)read)->txn, &reusable_pages);
        lmdb_read_end(read);
    }
    uint64_t pages = (uint64_t)info.me_last_pgno + 1;
    ret_statistics->file_bytes = pages * PAGE_BYTES;
    ret_statistics->used_bytes = (pages - (free_pages < pages ? free_pages : pages)) * PAGE_BYTES;
    ret_statistics->reusable_bytes = reusable_pages * PAGE_BYTES;
    ret_statistics->map_size_bytes = kv->map_size_bytes;
}

/* --- write transactions ----------------------------------------------------------------------- */

static enum status lmdb_write_begin(struct kv *base, struct kv_write **ret_write)
{
    struct lmdb_kv *kv = (struct lmdb_kv *)base;
    struct lmdb_write *write = memory_allocate_zeroed(1, sizeof *write);
    if (write == NULL) {
        return STATUS_NO_MEMORY;
    }
    int code = mdb_txn_begin(kv->env, NULL, 0, &write->txn);
    if (code == 0) {
        code = mdb_cursor_open(write->txn, kv->dbi, &write->cursor);
        if (code != 0) {
            mdb_txn_abort(write->txn);
        }
    }
    if (code != 0) {
        memory_free(write);
        return status_of_lmdb(code);
    }
    write->write.operations = &LMDB_OPERATIONS;
    write->kv = kv;
    write->greatest_bytes = SIZE_MAX;
    *ret_write = &write->write;
    return STATUS_OK;
}

static void lmdb_write_abort(struct kv_write *base)
{
    struct lmdb_write *write = (struct lmdb_write *)base;
    ASSERT(write->cursors_open == 0);
    mdb_cursor_close(write->cursor);
    mdb_txn_abort(write->txn);
    memory_free(write);
}

/*
 * When the disk fills up in the middle of a write, the system writes what still fits and says so;
 * LMDB turns such a short write into EIO.  The transaction is aborted and none of its pages is
 * part of the tree, so on a disk without room for them it is the lack of room that counts.
 */
static bool disk_lacks(struct lmdb_kv *kv, uint64_t size_bytes)
{
    mdb_filehandle_t descriptor;
    struct statvfs numbers;
    return mdb_env_get_fd(kv->env, &descriptor) == MDB_SUCCESS &&
           fstatvfs(descriptor, &numbers) == 0 &&
           (uint64_t)numbers.f_bavail * numbers.f_frsize < size_bytes;
}

static enum status lmdb_write_commit(struct kv_write *base)
{
    struct lmdb_write *write = (struct lmdb_write *)base;
    ASSERT(write->cursors_open == 0);
    mdb_cursor_close(write->cursor);
    uint64_t dirty_bytes = kv_write_dirty_bytes(base) + COMMIT_SLACK_BYTES;
    int code = mdb_txn_commit(write->txn);
    if (code == EIO && disk_lacks(write->kv, dirty_bytes)) {
        code = ENOSPC;
    }
    memory_free(write);
    return status_of_lmdb(code);
}

static enum status lmdb_write_get(struct kv_write *base,
                                  struct bytes key,
                                  struct bytes *ret_value,
                                  bool *ret_found)
{
    struct lmdb_write *write = (struct lmdb_write *)base;
    return get(write->txn, write->kv->dbi, key, ret_value, ret_found);
}

static void remember_greatest(struct lmdb_write *write, struct bytes key)
{
    memcpy(write->greatest, key.data, key.size_bytes);
    write->greatest_bytes = key.size_bytes;
}

/* Does key lie above all that there are?  Then MDB_APPEND leaves the last leaf full when it begins a
 * new one; an ordinary put takes one pair along, a seventh of a leaf of pieces. */
static bool is_greatest(struct lmdb_write *write, struct bytes key)
{
    if (write->greatest_bytes == SIZE_MAX) {
        MDB_val last = {0, NULL};
        MDB_val value = {0, NULL};
        if (mdb_cursor_get(write->cursor, &last, &value, MDB_LAST) != 0) {
            return false;
        }
        remember_greatest(write, bytes_of_val(last));
    }
    if (bytes_compare(key, bytes_of(write->greatest, write->greatest_bytes)) <= 0) {
        return false;
    }
    remember_greatest(write, key);
    return true;
}

static enum status lmdb_write_put(struct kv_write *base, struct bytes key, struct bytes value)
{
    struct lmdb_write *write = (struct lmdb_write *)base;
    MDB_val lmdb_key = val_of(key);
    MDB_val room = {value.size_bytes, NULL};
    unsigned append = is_greatest(write, key) ? MDB_APPEND : 0;
    int code = mdb_cursor_put(write->cursor, &lmdb_key, &room, MDB_RESERVE | append);
    if (code != 0) {
        return status_of_lmdb(code);
    }
    if (value.size_bytes > 0) {
        memcpy(room.mv_data, value.data, value.size_bytes);
    }
    kv_dirty_note(&write->dirty, room.mv_data, key.size_bytes + value.size_bytes);
    return STATUS_OK;
}

static enum status lmdb_write_delete(struct kv_write *base, struct bytes key, bool *ret_found)
{
    struct lmdb_write *write = (struct lmdb_write *)base;
    MDB_val lmdb_key = val_of(key);
    MDB_val value = {0, NULL};
    int code = mdb_cursor_get(write->cursor, &lmdb_key, &value, MDB_SET_KEY);
    if (code == MDB_NOTFOUND) {
        *ret_found = false;
        return STATUS_OK;
    }
    if (code == 0) {
        /* By its key, which is in the leaf; the value may not be. */
        kv_dirty_note(&write->dirty, lmdb_key.mv_data, 0);
        code = mdb_cursor_del(write->cursor, 0);
    }
    if (code != 0) {
        return status_of_lmdb(code);
    }
    *ret_found = true;
    return STATUS_OK;
}

static uint64_t lmdb_write_dirty_bytes(const struct kv_write *base)
{
    const struct lmdb_write *write = (const struct lmdb_write *)base;
    return kv_dirty_bytes(&write->dirty);
}

/* --- cursors ---------------------------------------------------------------------------------- */

static enum status cursor_create(MDB_txn *txn, MDB_dbi dbi, struct lmdb_cursor **ret_cursor)
{
    struct lmdb_cursor *cursor = memory_allocate_zeroed(1, sizeof *cursor);
    if (cursor == NULL) {
        return STATUS_NO_MEMORY;
    }
    int code = mdb_cursor_open(txn, dbi, &cursor->lmdb);
    if (code != 0) {
        memory_free(cursor);
        return status_of_lmdb(code);
    }
    cursor->cursor.operations = &LMDB_OPERATIONS;
    *ret_cursor = cursor;
    return STATUS_OK;
}

static void hand_out(struct lmdb_cursor *cursor,
                     struct lmdb_read *read,
                     uint32_t *cursors_open,
                     struct kv_cursor **ret_cursor)
{
    cursor->read = read;
    cursor->cursors_open = cursors_open;
    cursor->past_end = true;
    (*cursors_open)++;
    *ret_cursor = &cursor->cursor;
}

static enum status lmdb_cursor_open_read(struct kv_read *base, struct kv_cursor **ret_cursor)
{
    struct lmdb_read *read = (struct lmdb_read *)base;
    struct lmdb_cursor *cursor = NULL;
    enum status status = STATUS_OK;
    if (read->spare_count > 0) {
        /* Of this very transaction, which was renewed; refused only where it has met damage. */
        cursor = read->spares[read->spare_count - 1];
        status = status_of_lmdb(mdb_cursor_renew(read->txn, cursor->lmdb));
        read->spare_count -= status == STATUS_OK ? 1 : 0;
    } else {
        status = cursor_create(read->txn, read->kv->dbi, &cursor);
    }
    if (status == STATUS_OK) {
        hand_out(cursor, read, &read->cursors_open, ret_cursor);
    }
    return status;
}

static enum status lmdb_cursor_open_write(struct kv_write *base, struct kv_cursor **ret_cursor)
{
    struct lmdb_write *write = (struct lmdb_write *)base;
    struct lmdb_cursor *cursor = NULL;
    enum status status = cursor_create(write->txn, write->kv->dbi, &cursor);
    if (status == STATUS_OK) {
        hand_out(cursor, NULL, &write->cursors_open, ret_cursor);
    }
    return status;
}

static void lmdb_cursor_close(struct kv_cursor *base)
{
    struct lmdb_cursor *cursor = (struct lmdb_cursor *)base;
    struct lmdb_read *read = cursor->read;
    (*cursor->cursors_open)--;
    if (read != NULL && read->spare_count < SPARE_CURSORS_MAX) {
        read->spares[read->spare_count++] = cursor;
        return;
    }
    mdb_cursor_close(cursor->lmdb);
    memory_free(cursor);
}

static MDB_cursor_op operation_of(const struct lmdb_cursor *cursor, enum kv_move move)
{
    switch (move) {
    case KV_SEEK:
        return MDB_SET_RANGE;
    case KV_NEXT:
        return MDB_NEXT;
    case KV_PREVIOUS:
        return cursor->past_end ? MDB_LAST : MDB_PREV;
    case KV_LAST:
        return MDB_LAST;
    }
    UNREACHABLE();
}

static enum status lmdb_cursor_move(struct kv_cursor *base,
                                    enum kv_move move,
                                    struct bytes key,
                                    struct bytes *ret_key,
                                    struct bytes *ret_value,
                                    bool *ret_found)
{
    struct lmdb_cursor *cursor = (struct lmdb_cursor *)base;
    if (move == KV_NEXT && cursor->past_end) {
        *ret_found = false;
        return STATUS_OK;
    }
    MDB_val lmdb_key = val_of(key);
    MDB_val value = {0, NULL};
    int code = mdb_cursor_get(cursor->lmdb, &lmdb_key, &value, operation_of(cursor, move));
    if (code != 0 && code != MDB_NOTFOUND) {
        return status_of_lmdb(code);
    }
    cursor->past_end = code == MDB_NOTFOUND;
    *ret_found = code == 0;
    if (code == 0) {
        *ret_key = bytes_of_val(lmdb_key);
        *ret_value = bytes_of_val(value);
    }
    return STATUS_OK;
}

static const struct kv_operations LMDB_OPERATIONS = {
    .close = lmdb_close,
    .statistics = lmdb_statistics,
    .read_begin = lmdb_read_begin,
    .read_end = lmdb_read_end,
    .read_get = lmdb_read_get,
    .read_version = lmdb_read_version,
    .write_begin = lmdb_write_begin,
    .write_abort = lmdb_write_abort,
    .write_commit = lmdb_write_commit,
    .write_get = lmdb_write_get,
    .write_put = lmdb_write_put,
    .write_delete = lmdb_write_delete,
    .write_dirty_bytes = lmdb_write_dirty_bytes,
    .cursor_open_read = lmdb_cursor_open_read,
    .cursor_open_write = lmdb_cursor_open_write,
    .cursor_close = lmdb_cursor_close,
    .cursor_move = lmdb_cursor_move,
};
