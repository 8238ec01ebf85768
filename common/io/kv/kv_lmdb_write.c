#include "common/io/kv/kv_lmdb_parts.h"

#include <errno.h>
#include <string.h>
#include <sys/statvfs.h>

#include "common/base/assert.h"
#include "common/base/memory.h"

#define COMMIT_SLACK_BYTES (UINT64_C(256) * 1024) /* free-list pages, beside the counted ones */

enum status kv_lmdb_write_begin(struct kv *base, struct kv_write **ret_write)
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
        return kv_lmdb_status(code);
    }
    write->write.operations = &kv_lmdb_operations;
    write->kv = kv;
    write->greatest_bytes = SIZE_MAX;
    *ret_write = &write->write;
    return STATUS_OK;
}

void kv_lmdb_write_abort(struct kv_write *base)
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

enum status kv_lmdb_write_commit(struct kv_write *base)
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
    return kv_lmdb_status(code);
}

enum status kv_lmdb_write_get(struct kv_write *base,
                              struct bytes key,
                              struct bytes *ret_value,
                              bool *ret_found)
{
    struct lmdb_write *write = (struct lmdb_write *)base;
    return kv_lmdb_get(write->txn, write->kv->dbi, key, ret_value, ret_found);
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
        remember_greatest(write, kv_lmdb_bytes(last));
    }
    if (bytes_compare(key, bytes_of(write->greatest, write->greatest_bytes)) <= 0) {
        return false;
    }
    remember_greatest(write, key);
    return true;
}

enum status kv_lmdb_write_put(struct kv_write *base, struct bytes key, struct bytes value)
{
    struct lmdb_write *write = (struct lmdb_write *)base;
    MDB_val lmdb_key = kv_lmdb_val(key);
    MDB_val room = {value.size_bytes, NULL};
    unsigned append = is_greatest(write, key) ? MDB_APPEND : 0;
    int code = mdb_cursor_put(write->cursor, &lmdb_key, &room, MDB_RESERVE | append);
    if (code != 0) {
        return kv_lmdb_status(code);
    }
    if (value.size_bytes > 0) {
        memcpy(room.mv_data, value.data, value.size_bytes);
    }
    kv_dirty_note(&write->dirty, room.mv_data, key.size_bytes + value.size_bytes);
    return STATUS_OK;
}

enum status kv_lmdb_write_delete(struct kv_write *base, struct bytes key, bool *ret_found)
{
    struct lmdb_write *write = (struct lmdb_write *)base;
    MDB_val lmdb_key = kv_lmdb_val(key);
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
        return kv_lmdb_status(code);
    }
    *ret_found = true;
    return STATUS_OK;
}

uint64_t kv_lmdb_write_dirty_bytes(const struct kv_write *base)
{
    const struct lmdb_write *write = (const struct lmdb_write *)base;
    return kv_dirty_bytes(&write->dirty);
}
