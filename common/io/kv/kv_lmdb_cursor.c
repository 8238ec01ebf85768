#include "common/io/kv/kv_lmdb_parts.h"

#include "common/base/assert.h"
#include "common/base/memory.h"

static enum status cursor_create(MDB_txn *txn, MDB_dbi dbi, struct lmdb_cursor **ret_cursor)
{
    struct lmdb_cursor *cursor = memory_allocate_zeroed(1, sizeof *cursor);
    if (cursor == NULL) {
        return STATUS_NO_MEMORY;
    }
    int code = mdb_cursor_open(txn, dbi, &cursor->lmdb);
    if (code != 0) {
        memory_free(cursor);
        return kv_lmdb_status(code);
    }
    cursor->cursor.operations = &kv_lmdb_operations;
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

enum status kv_lmdb_cursor_open_read(struct kv_read *base, struct kv_cursor **ret_cursor)
{
    struct lmdb_read *read = (struct lmdb_read *)base;
    struct lmdb_cursor *cursor = NULL;
    enum status status = STATUS_OK;
    if (read->spare_count > 0) {
        /* Of this very transaction, which was renewed; refused only where it has met damage. */
        cursor = read->spares[read->spare_count - 1];
        status = kv_lmdb_status(mdb_cursor_renew(read->txn, cursor->lmdb));
        read->spare_count -= status == STATUS_OK ? 1 : 0;
    } else {
        status = cursor_create(read->txn, read->kv->dbi, &cursor);
    }
    if (status == STATUS_OK) {
        hand_out(cursor, read, &read->cursors_open, ret_cursor);
    }
    return status;
}

enum status kv_lmdb_cursor_open_write(struct kv_write *base, struct kv_cursor **ret_cursor)
{
    struct lmdb_write *write = (struct lmdb_write *)base;
    struct lmdb_cursor *cursor = NULL;
    enum status status = cursor_create(write->txn, write->kv->dbi, &cursor);
    if (status == STATUS_OK) {
        hand_out(cursor, NULL, &write->cursors_open, ret_cursor);
    }
    return status;
}

void kv_lmdb_cursor_close(struct kv_cursor *base)
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

enum status kv_lmdb_cursor_move(struct kv_cursor *base,
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
    MDB_val lmdb_key = kv_lmdb_val(key);
    MDB_val value = {0, NULL};
    int code = mdb_cursor_get(cursor->lmdb, &lmdb_key, &value, operation_of(cursor, move));
    if (code != 0 && code != MDB_NOTFOUND) {
        return kv_lmdb_status(code);
    }
    cursor->past_end = code == MDB_NOTFOUND;
    *ret_found = code == 0;
    if (code == 0) {
        *ret_key = kv_lmdb_bytes(lmdb_key);
        *ret_value = kv_lmdb_bytes(value);
    }
    return STATUS_OK;
}
