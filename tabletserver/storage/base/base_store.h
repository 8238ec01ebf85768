/*
 * What the parts of the base share about the file: its spaces, the binding of every record to its
 * key, and one way to read under a read or a write transaction.
 */
#ifndef TABLETSERVER_STORAGE_BASE_BASE_STORE_H
#define TABLETSERVER_STORAGE_BASE_BASE_STORE_H

#include <stdint.h>

#include "common/base/checksum.h"
#include "common/io/kv/kv.h"

/* First byte of every key; numbers are stored: never reuse one.  DATA to SAMPLE are followed by the
 * extent, 8 bytes big-endian.  PIECE is the last, so that new pieces lie at the end of the file. */
enum base_space {
    BASE_SPACE_SYSTEM = 0x00, /* format, counters */
    BASE_SPACE_META = 0x01,   /* the store's own records */
    BASE_SPACE_DATA = 0x02,   /* chunks */
    BASE_SPACE_DELETE = 0x03, /* tombstones */
    BASE_SPACE_LAYER = 0x04,  /* what long keys go on with */
    BASE_SPACE_SAMPLE = 0x05, /* marks on some chunks, for estimates */
    BASE_SPACE_PIECE = 0x06,  /* pieces of large values */
};

#define BASE_EXTENT_PREFIX_BYTES 9 /* space, extent */

/* First byte of records; chunks have CHUNK_FORMAT. */
#define BASE_FORMAT_LINK      0x21
#define BASE_FORMAT_TOMBSTONE 0x31

/* Where a record's checksum is seeded from: the key that it is stored under. */
static inline uint64_t base_seed(struct bytes stored_key)
{
    return checksum64(stored_key.data, stored_key.size_bytes, 0);
}

struct base_links;

/* One of the first two is set. */
struct base_store {
    struct kv_read *read;
    struct kv_write *write;
    struct base_links *links; /* readers' only */
};

static inline enum status base_store_get(const struct base_store *store,
                                         struct bytes key,
                                         struct bytes *ret_value,
                                         bool *ret_found)
{
    return store->read != NULL ? kv_read_get(store->read, key, ret_value, ret_found)
                               : kv_write_get(store->write, key, ret_value, ret_found);
}

static inline enum status base_store_cursor_open(const struct base_store *store,
                                                 struct kv_cursor **ret_cursor)
{
    return store->read != NULL ? kv_cursor_open_read(store->read, ret_cursor)
                               : kv_cursor_open_write(store->write, ret_cursor);
}

#endif /* TABLETSERVER_STORAGE_BASE_BASE_STORE_H */
