#include "tabletserver/storage/base/base_room.h"

#include "common/base/assert.h"
#include "tabletserver/storage/base/base_store.h"
#include "tabletserver/storage/base/chunk.h"

#define LEAF_BYTES 4096

void base_room_deinit(struct base_room *room)
{
    buffer_deinit(&room->last);
    buffer_deinit(&room->last_follower);
    buffer_deinit(&room->follower);
    buffer_deinit(&room->taken);
}

void base_room_forget(struct base_room *room)
{
    room->count = 0;
    buffer_reset(&room->last);
    buffer_reset(&room->last_follower);
    buffer_reset(&room->follower);
    room->tried = false;
}

static enum status set(struct buffer *buffer, struct bytes bytes)
{
    buffer_reset(buffer);
    buffer_append_bytes(buffer, bytes);
    return buffer->failed ? STATUS_NO_MEMORY : STATUS_OK;
}

enum status base_room_note_follower(struct base_room *room, struct bytes stored_key)
{
    ASSERT(room->count == 0); /* what really follows is out */
    return set(&room->follower, stored_key);
}

static bool is_near(struct bytes a, struct bytes b)
{
    uintptr_t x = (uintptr_t)a.data;
    uintptr_t y = (uintptr_t)b.data;
    return (x > y ? x - y : y - x) < LEAF_BYTES;
}

/* Copy the pairs that stand on the leaf of the chunk put last, behind it. */
static enum status copy_pairs(struct base_room *room, struct kv_cursor *cursor)
{
    struct bytes last = buffer_bytes(&room->last);
    struct bytes prefix = bytes_of(last.data, BASE_EXTENT_PREFIX_BYTES);
    struct bytes key;
    struct bytes value;
    bool found = false;
    enum status status = kv_cursor_move(cursor, KV_SEEK, last, &key, &value, &found);
    struct bytes leaf = value;
    buffer_reset(&room->taken);
    if (status != STATUS_OK || !found || !bytes_equal(key, last)) {
        return status;
    }
    while (room->count < BASE_ROOM_PAIRS_MAX && room->taken.size_bytes < LEAF_BYTES) {
        status = kv_cursor_move(cursor, KV_NEXT, BYTES_EMPTY, &key, &value, &found);
        if (status != STATUS_OK || !found || !bytes_starts_with(key, prefix) ||
            value.size_bytes == 0 || value.data[0] != CHUNK_FORMAT || !is_near(value, leaf)) {
            break;
        }
        buffer_append_bytes(&room->taken, key);
        buffer_append_bytes(&room->taken, value);
        room->sizes[2 * room->count] = key.size_bytes;
        room->sizes[2 * room->count + 1] = value.size_bytes;
        room->count++;
    }
    return room->taken.failed ? STATUS_NO_MEMORY : status;
}

static enum status take_out(struct base_room *room,
                            struct kv_write *write,
                            struct kv_cursor *cursor)
{
    enum status status = copy_pairs(room, cursor);
    const uint8_t *next = room->taken.data;
    for (size_t i = 0; status == STATUS_OK && i < room->count; i++) {
        bool found = false;
        status = kv_write_delete(write, bytes_of(next, room->sizes[2 * i]), &found);
        next += room->sizes[2 * i] + room->sizes[2 * i + 1];
    }
    return status;
}

enum status base_room_make(struct base_room *room,
                           struct kv_write *write,
                           struct kv_cursor *cursor,
                           struct bytes stored_key)
{
    enum status status = STATUS_OK;
    if (room->count > 0) {
        return STATUS_OK;
    }
    bool same_gap = room->follower.size_bytes > 0 && room->last.size_bytes > 0 &&
                    bytes_equal(buffer_bytes(&room->follower), buffer_bytes(&room->last_follower));
    if (same_gap && !room->tried) {
        status = take_out(room, write, cursor);
    }
    room->tried = same_gap;
    if (status == STATUS_OK) {
        status = set(&room->last_follower, buffer_bytes(&room->follower));
    }
    return status == STATUS_OK ? set(&room->last, stored_key) : status;
}

struct bytes base_room_taken_key(const struct base_room *room)
{
    return room->count > 0 ? bytes_of(room->taken.data, room->sizes[0]) : BYTES_EMPTY;
}

enum status base_room_restore(struct base_room *room, struct kv_write *write)
{
    const uint8_t *next = room->taken.data;
    enum status status = STATUS_OK;
    for (size_t i = 0; status == STATUS_OK && i < room->count; i++) {
        struct bytes key = bytes_of(next, room->sizes[2 * i]);
        struct bytes value = bytes_of(next + key.size_bytes, room->sizes[2 * i + 1]);
        status = kv_write_put(write, key, value);
        next = value.data + value.size_bytes;
    }
    if (room->count > 0) {
        base_room_forget(room);
    }
    return status;
}
