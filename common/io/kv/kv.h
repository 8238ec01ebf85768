/*
 * An ordered key-value file: LMDB behind the few calls that we use, and the same in memory for tests.
 * Nothing else in the project includes lmdb.h.
 *
 * Keys are 1 to KV_KEY_BYTES_MAX bytes, ordered bytewise.  One writer at a time, any number of
 * readers, each on the snapshot of the last commit before it began.  A commit is synced (data,
 * then meta page) before it returns.
 *
 * Bytes handed out by a read, cursor or get live until that transaction ends; in a write
 * transaction until its next put, delete or commit.
 *
 * Whatever looks into the file may also say STATUS_CORRUPT: what was found there makes no sense.
 *
 * Thread rules: a read transaction and its cursors belong to one thread at a time, any thread
 * (MDB_NOTLS).  A write transaction belongs to the thread that began it.
 */
#ifndef COMMON_IO_KV_KV_H
#define COMMON_IO_KV_KV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/bytes.h"
#include "common/base/error.h"

#define KV_KEY_BYTES_MAX 511

struct kv;
struct kv_read;
struct kv_write;
struct kv_cursor;

struct kv_options {
    uint64_t map_size_bytes; /* address space reserved; 0 = as large as the file system */
    uint32_t readers_max;    /* 0 = 1024 */
    /* Look first whether all of it makes sense, which reads every page but those of large values: damage is then an error,
     * STATUS_CORRUPT, and not the end of the process some time later. */
    bool looks_first;
    /* Readers are to wait for no disk but for what they read (kv_lmdb_apart.h): LMDB's own tools may not look at the file
     * meanwhile.  Where there is no memory to share it is as without. */
    bool readers_apart;
};

struct kv_statistics {
    uint64_t used_bytes; /* pages in use, freed ones apart */
    uint64_t file_bytes;
    uint64_t reusable_bytes; /* freed pages of the file that no reader sees any more */
    uint64_t map_size_bytes;
};

/* Open or create the file `data.mdb` in folder.  Errors: STATUS_IO, STATUS_NO_SPACE, STATUS_CORRUPT,
 * STATUS_VERSION (another LMDB's), STATUS_NO_MEMORY, STATUS_FAILED_PRECONDITION (what is there is no
 * file); the text names the path. */
enum status kv_open(const char *folder,
                    const struct kv_options *options,
                    struct kv **ret_kv,
                    struct error *ret_error);

/* The same in memory; kv_close() forgets it. */
enum status kv_create_in_memory(struct kv **ret_kv);

/* No transaction may be open.  NULL is fine. */
void kv_close(struct kv *kv);

void kv_statistics(struct kv *kv, struct kv_statistics *ret_statistics);

/* Errors: STATUS_LIMIT (too many readers), STATUS_NO_MEMORY, STATUS_IO. */
enum status kv_read_begin(struct kv *kv, struct kv_read **ret_read);
void kv_read_end(struct kv_read *read);
enum status kv_read_get(struct kv_read *read,
                        struct bytes key,
                        struct bytes *ret_value,
                        bool *ret_found);
/* Of the file as this transaction sees it: the same number, the same content.  Never 0. */
uint64_t kv_read_version(const struct kv_read *read);

/* Errors as kv_read_begin().  Waits for the writer before it. */
enum status kv_write_begin(struct kv *kv, struct kv_write **ret_write);
void kv_write_abort(struct kv_write *write);
/* Synced.  On error nothing of the transaction is there; write is gone either way.
 * Errors: STATUS_NO_SPACE (file system or map full), STATUS_IO. */
enum status kv_write_commit(struct kv_write *write);
enum status kv_write_get(struct kv_write *write,
                         struct bytes key,
                         struct bytes *ret_value,
                         bool *ret_found);
/* Neither key nor value may be memory that a read of this transaction handed out.
 * Errors: STATUS_NO_SPACE, STATUS_NO_MEMORY, STATUS_IO.  After an error only abort is allowed. */
enum status kv_write_put(struct kv_write *write, struct bytes key, struct bytes value);
enum status kv_write_delete(struct kv_write *write, struct bytes key, bool *ret_found);
/* How much this transaction will have to write, about: pages dirtied so far. */
uint64_t kv_write_dirty_bytes(const struct kv_write *write);

/* Cursors, on a read or on a write transaction, closed before it ends.  A cursor of a write transaction sees its puts;
 * re-seek after a put or delete. */
enum status kv_cursor_open_read(struct kv_read *read, struct kv_cursor **ret_cursor);
enum status kv_cursor_open_write(struct kv_write *write, struct kv_cursor **ret_cursor);
void kv_cursor_close(struct kv_cursor *cursor);

enum kv_move {
    KV_SEEK, /* first key >= key */
    KV_NEXT,
    KV_PREVIOUS, /* after a KV_SEEK that found nothing: the last key */
    KV_LAST,
};
/* key is looked at by KV_SEEK only.  *ret_found false = none there; the cursor then stands past
 * the end. */
enum status kv_cursor_move(struct kv_cursor *cursor,
                           enum kv_move move,
                           struct bytes key,
                           struct bytes *ret_key,
                           struct bytes *ret_value,
                           bool *ret_found);

#endif /* COMMON_IO_KV_KV_H */
