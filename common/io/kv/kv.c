#include "common/io/kv/kv.h"

#include "common/base/assert.h"
#include "common/io/kv/kv_implementation.h"

static void assert_key(struct bytes key)
{
    ASSERT(key.size_bytes >= 1);
    ASSERT(key.size_bytes <= KV_KEY_BYTES_MAX);
}

void kv_close(struct kv *kv)
{
    if (kv != NULL) {
        kv->operations->close(kv);
    }
}

void kv_statistics(struct kv *kv, struct kv_statistics *ret_statistics)
{
    kv->operations->statistics(kv, ret_statistics);
}

enum status kv_read_begin(struct kv *kv, struct kv_read **ret_read)
{
    return kv->operations->read_begin(kv, ret_read);
}

void kv_read_end(struct kv_read *read)
{
    read->operations->read_end(read);
}

enum status kv_read_get(struct kv_read *read,
                        struct bytes key,
                        struct bytes *ret_value,
                        bool *ret_found)
{
    assert_key(key);
    return read->operations->read_get(read, key, ret_value, ret_found);
}

uint64_t kv_read_version(const struct kv_read *read)
{
    return read->operations->read_version(read);
}

enum status kv_write_begin(struct kv *kv, struct kv_write **ret_write)
{
    return kv->operations->write_begin(kv, ret_write);
}

void kv_write_abort(struct kv_write *write)
{
    write->operations->write_abort(write);
}

enum status kv_write_commit(struct kv_write *write)
{
    return write->operations->write_commit(write);
}

enum status kv_write_get(struct kv_write *write,
                         struct bytes key,
                         struct bytes *ret_value,
                         bool *ret_found)
{
    assert_key(key);
    return write->operations->write_get(write, key, ret_value, ret_found);
}

enum status kv_write_put(struct kv_write *write, struct bytes key, struct bytes value)
{
    assert_key(key);
    return write->operations->write_put(write, key, value);
}

enum status kv_write_delete(struct kv_write *write, struct bytes key, bool *ret_found)
{
    assert_key(key);
    return write->operations->write_delete(write, key, ret_found);
}

uint64_t kv_write_dirty_bytes(const struct kv_write *write)
{
    return write->operations->write_dirty_bytes(write);
}

enum status kv_cursor_open_read(struct kv_read *read, struct kv_cursor **ret_cursor)
{
    return read->operations->cursor_open_read(read, ret_cursor);
}

enum status kv_cursor_open_write(struct kv_write *write, struct kv_cursor **ret_cursor)
{
    return write->operations->cursor_open_write(write, ret_cursor);
}

void kv_cursor_close(struct kv_cursor *cursor)
{
    cursor->operations->cursor_close(cursor);
}

enum status kv_cursor_move(struct kv_cursor *cursor,
                           enum kv_move move,
                           struct bytes key,
                           struct bytes *ret_key,
                           struct bytes *ret_value,
                           bool *ret_found)
{
    return cursor->operations->cursor_move(cursor, move, key, ret_key, ret_value, ret_found);
}
