#include "tabletserver/storage/base/base_meta.h"

#include <string.h>

#include "common/base/assert.h"
#include "common/base/endian.h"
#include "tabletserver/storage/base/base_internal.h"

#define CHECKSUM_BYTES 4

struct meta_key {
    uint8_t data[1 + BASE_META_KEY_BYTES_MAX];
    size_t size_bytes;
};

static struct bytes make_key(struct bytes key, struct meta_key *out)
{
    ASSERT(key.size_bytes <= BASE_META_KEY_BYTES_MAX);
    out->data[0] = BASE_SPACE_META;
    if (key.size_bytes > 0) {
        memcpy(out->data + 1, key.data, key.size_bytes);
    }
    out->size_bytes = 1 + key.size_bytes;
    return bytes_of(out->data, out->size_bytes);
}

enum status base_meta_store(struct kv_write *write,
                            struct bytes key,
                            struct bytes value,
                            struct buffer *scratch)
{
    struct meta_key room;
    struct bytes stored_key = make_key(key, &room);
    uint8_t checksum[CHECKSUM_BYTES];
    store_le32(checksum, checksum32(value.data, value.size_bytes, base_seed(stored_key)));
    buffer_reset(scratch);
    buffer_append(scratch, checksum, sizeof checksum);
    buffer_append_bytes(scratch, value);
    return scratch->failed ? STATUS_NO_MEMORY
                           : kv_write_put(write, stored_key, buffer_bytes(scratch));
}

enum status base_meta_remove(struct kv_write *write, struct bytes key)
{
    struct meta_key room;
    bool found = false;
    return kv_write_delete(write, make_key(key, &room), &found);
}

static enum status check(struct base_snapshot *snapshot,
                         struct bytes stored_key,
                         struct bytes stored,
                         struct bytes *ret_value)
{
    char text[BYTES_PRINTABLE_SIZE_MAX];
    struct bytes value = bytes_of(stored.data + CHECKSUM_BYTES, stored.size_bytes - CHECKSUM_BYTES);
    if (stored.size_bytes < CHECKSUM_BYTES ||
        load_le32(stored.data) != checksum32(value.data, value.size_bytes, base_seed(stored_key))) {
        return error_set(&snapshot->trouble, STATUS_CORRUPT, "meta record %s: checksum mismatch",
                         bytes_printable(stored_key, text));
    }
    *ret_value = value;
    return STATUS_OK;
}

enum status base_meta_get(struct base_snapshot *snapshot,
                          struct bytes key,
                          struct bytes *ret_value,
                          bool *ret_found)
{
    struct meta_key room;
    struct bytes stored_key = make_key(key, &room);
    struct bytes stored;
    bool found = false;
    enum status status = kv_read_get(snapshot->read, stored_key, &stored, &found);
    if (status == STATUS_OK && found) {
        status = check(snapshot, stored_key, stored, ret_value);
    }
    if (status == STATUS_OK) {
        *ret_found = found;
    }
    return status;
}

enum status base_meta_seek(struct base_snapshot *snapshot,
                           struct bytes prefix,
                           struct bytes key,
                           struct bytes *ret_key,
                           struct bytes *ret_value,
                           bool *ret_found)
{
    struct meta_key room;
    struct bytes stored_key;
    struct bytes stored;
    struct kv_cursor *cursor = NULL;
    bool found = false;
    enum status status = kv_cursor_open_read(snapshot->read, &cursor);
    if (status != STATUS_OK) {
        return status;
    }
    key = bytes_compare(key, prefix) < 0 ? prefix : key;
    status = kv_cursor_move(cursor, KV_SEEK, make_key(key, &room), &stored_key, &stored, &found);
    kv_cursor_close(cursor);
    if (status != STATUS_OK) {
        return status;
    }
    found = found && bytes_starts_with(stored_key, make_key(prefix, &room));
    if (found) {
        status = check(snapshot, stored_key, stored, ret_value);
        *ret_key = bytes_drop_front(stored_key, 1);
    }
    if (status == STATUS_OK) {
        *ret_found = found;
    }
    return status;
}
