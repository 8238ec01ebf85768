/*
 * Beginning a read takes LMDB's reader mutex and searches its table for a slot, so ended read
 * transactions are reset and pooled with their slots.
 */
#include "common/io/kv/kv_lmdb_parts.h"

#include "common/base/assert.h"
#include "common/base/memory.h"

void kv_lmdb_read_destroy(struct lmdb_read *read)
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

enum status kv_lmdb_read_begin(struct kv *base, struct kv_read **ret_read)
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
        read->read.operations = &kv_lmdb_operations;
        read->kv = kv;
        code = mdb_txn_begin(kv->env, NULL, MDB_RDONLY, &read->txn);
    }
    if (code != 0) {
        kv_lmdb_read_destroy(read);
        return kv_lmdb_status(code);
    }
    *ret_read = &read->read;
    return STATUS_OK;
}

void kv_lmdb_read_end(struct kv_read *base)
{
    struct lmdb_read *read = (struct lmdb_read *)base;
    ASSERT(read->cursors_open == 0);
    mdb_txn_reset(read->txn);
    if (!pool_give(read->kv, read)) {
        kv_lmdb_read_destroy(read);
    }
}

uint64_t kv_lmdb_read_version(const struct kv_read *base)
{
    return (uint64_t)mdb_txn_id(((const struct lmdb_read *)base)->txn) + 1;
}

enum status kv_lmdb_read_get(struct kv_read *base,
                             struct bytes key,
                             struct bytes *ret_value,
                             bool *ret_found)
{
    struct lmdb_read *read = (struct lmdb_read *)base;
    return kv_lmdb_get(read->txn, read->kv->dbi, key, ret_value, ret_found);
}

enum status kv_lmdb_get(
    MDB_txn *txn, MDB_dbi dbi, struct bytes key, struct bytes *ret_value, bool *ret_found)
{
    MDB_val lmdb_key = kv_lmdb_val(key);
    MDB_val value = {0, NULL};
    int code = mdb_get(txn, dbi, &lmdb_key, &value);
    if (code != 0 && code != MDB_NOTFOUND) {
        return kv_lmdb_status(code);
    }
    *ret_found = code == 0;
    if (code == 0) {
        *ret_value = kv_lmdb_bytes(value);
    }
    return STATUS_OK;
}
