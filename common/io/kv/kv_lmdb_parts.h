/*
 * kv.h over LMDB, in parts: these files alone, with kv_lmdb_check.c, include lmdb.h.
 *
 *   kv_lmdb.c         opening, closing, how large it is
 *   kv_lmdb_apart.c   its table of readers where no disk is
 *   kv_lmdb_read.c    read transactions, kept with their slots
 *   kv_lmdb_write.c   the write transaction
 *   kv_lmdb_cursor.c  cursors of either
 */
#ifndef COMMON_IO_KV_KV_LMDB_PARTS_H
#define COMMON_IO_KV_KV_LMDB_PARTS_H

#include <lmdb.h>
#include <pthread.h>

#include "common/io/file.h"
#include "common/io/kv/kv_dirty.h"
#include "common/io/kv/kv_implementation.h"

#define READ_POOL_MAX     64
#define SPARE_CURSORS_MAX 2 /* a point read of a large value has two */

struct lmdb_kv {
    struct kv kv;
    MDB_env *env;
    MDB_dbi dbi;
    uint64_t map_size_bytes;
    char folder[FILE_PATH_SIZE_MAX];
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

extern const struct kv_operations kv_lmdb_operations;

/* What a code of LMDB's, or of the system's, is called here. */
enum status kv_lmdb_status(int code);

static inline MDB_val kv_lmdb_val(struct bytes bytes)
{
    union {
        const void *in;
        void *out; /* LMDB's struct has no const, but it only reads keys */
    } pointer = {.in = bytes.data};
    return (MDB_val){bytes.size_bytes, pointer.out};
}

static inline struct bytes kv_lmdb_bytes(MDB_val val)
{
    return bytes_of(val.mv_data, val.mv_size);
}

/* --- read transactions ------------------------------------------------------------------------ */

/* Of either kind of transaction: what the key has.  The value lives as long as that does. */
enum status kv_lmdb_get(
    MDB_txn *txn, MDB_dbi dbi, struct bytes key, struct bytes *ret_value, bool *ret_found);

void kv_lmdb_read_destroy(struct lmdb_read *read);
enum status kv_lmdb_read_begin(struct kv *base, struct kv_read **ret_read);
void kv_lmdb_read_end(struct kv_read *base);
uint64_t kv_lmdb_read_version(const struct kv_read *base);
enum status kv_lmdb_read_get(struct kv_read *base,
                             struct bytes key,
                             struct bytes *ret_value,
                             bool *ret_found);

/* --- write transactions ----------------------------------------------------------------------- */

enum status kv_lmdb_write_begin(struct kv *base, struct kv_write **ret_write);
void kv_lmdb_write_abort(struct kv_write *base);
enum status kv_lmdb_write_commit(struct kv_write *base);
enum status kv_lmdb_write_get(struct kv_write *base,
                              struct bytes key,
                              struct bytes *ret_value,
                              bool *ret_found);
enum status kv_lmdb_write_put(struct kv_write *base, struct bytes key, struct bytes value);
enum status kv_lmdb_write_delete(struct kv_write *base, struct bytes key, bool *ret_found);
uint64_t kv_lmdb_write_dirty_bytes(const struct kv_write *base);

/* --- cursors ---------------------------------------------------------------------------------- */

enum status kv_lmdb_cursor_open_read(struct kv_read *base, struct kv_cursor **ret_cursor);
enum status kv_lmdb_cursor_open_write(struct kv_write *base, struct kv_cursor **ret_cursor);
void kv_lmdb_cursor_close(struct kv_cursor *base);
enum status kv_lmdb_cursor_move(struct kv_cursor *base,
                                enum kv_move move,
                                struct bytes key,
                                struct bytes *ret_key,
                                struct bytes *ret_value,
                                bool *ret_found);

#endif /* COMMON_IO_KV_KV_LMDB_PARTS_H */
