#include "gateway/methods/read/row_message.h"

#include "common/base/assert.h"
#include "common/base/memory.h"
#include "gateway/convert/convert.h"

#define ARENA_BLOCK_BYTES  (64 * 1024)
#define CHUNK_CAPACITY_MIN 16

typedef Google__Bigtable__V2__ReadRowsResponse__CellChunk CellChunk;

/* A chunk and what it points to. */
struct piece {
    CellChunk chunk;
    Google__Protobuf__StringValue family;
    Google__Protobuf__BytesValue qualifier;
    char *label;
};

void row_message_init(struct row_message *message, bool keeps_rows_whole)
{
    *message = (struct row_message){.keeps_rows_whole = keeps_rows_whole};
    arena_init(&message->arena, ARENA_BLOCK_BYTES, SIZE_MAX); /* bounded by what full means */
}

void row_message_deinit(struct row_message *message)
{
    memory_free(message->chunks);
    arena_deinit(&message->arena);
    *message = (struct row_message){.chunks = NULL};
}

void row_message_reset(struct row_message *message)
{
    message->chunk_count = 0;
    message->size_bytes = 0;
    message->is_closed = false;
    arena_reset(&message->arena);
}

bool row_message_is_full(const struct row_message *message)
{
    return message->is_closed || message->chunk_count >= ROW_MESSAGE_CHUNKS_MAX ||
           message->size_bytes >= ROW_MESSAGE_FULL_BYTES;
}

/* --- adding ----------------------------------------------------------------------------------- */

/* Or, in one that borrows, where they are. */
static bool copy(struct row_message *message,
                 struct edubba_bytes bytes,
                 ProtobufCBinaryData *ret_data)
{
    struct edubba_bytes copied = bytes;
    if (!message->borrows && bytes.size > 0) {
        uint8_t *data = arena_allocate(&message->arena, bytes.size);
        if (data == NULL) {
            return false;
        }
        memcpy(data, bytes.data, bytes.size);
        copied.data = data;
    }
    *ret_data = api_data(copied);
    return true;
}

static bool copy_text(struct arena *arena, struct edubba_bytes bytes, char **ret_text)
{
    *ret_text = arena_copy_text(arena, bytes_of(bytes.data, bytes.size));
    return *ret_text != NULL;
}

static bool copy_names(struct row_message *message, const struct chunk *chunk, struct piece *piece)
{
    bool is_good = true;
    if (chunk->has_family) {
        google__protobuf__string_value__init(&piece->family);
        piece->chunk.family_name = &piece->family;
        is_good = copy_text(&message->arena, chunk->family, &piece->family.value);
    }
    if (chunk->has_qualifier) {
        google__protobuf__bytes_value__init(&piece->qualifier);
        piece->chunk.qualifier = &piece->qualifier;
        is_good = is_good && copy(message, chunk->qualifier, &piece->qualifier.value);
    }
    if (chunk->label.size > 0) {
        piece->chunk.labels = &piece->label;
        piece->chunk.n_labels = 1;
        is_good = is_good && copy_text(&message->arena, chunk->label, &piece->label);
    }
    return is_good;
}

static bool make_room(struct row_message *message)
{
    if (message->chunk_count < message->chunk_capacity) {
        return true;
    }
    size_t capacity = message->chunk_capacity == 0 ? CHUNK_CAPACITY_MIN
                                                   : 4 * message->chunk_capacity;
    CellChunk **chunks = memory_resize(message->chunks, capacity * sizeof *chunks);
    if (chunks == NULL) {
        return false;
    }
    message->chunks = chunks;
    message->chunk_capacity = capacity;
    return true;
}

static bool add(struct row_message *message, const struct chunk *chunk)
{
    struct piece *piece = arena_allocate(&message->arena, sizeof *piece);
    if (piece == NULL || !make_room(message)) {
        return false;
    }
    CellChunk *out = &piece->chunk;
    google__bigtable__v2__read_rows_response__cell_chunk__init(out);
    out->timestamp_micros = chunk->timestamp_us;
    out->value_size = (int32_t)chunk->value_size; /* LIMIT_VALUE_BYTES is far below */
    if (chunk->commit) {
        out->row_status_case =
            GOOGLE__BIGTABLE__V2__READ_ROWS_RESPONSE__CELL_CHUNK__ROW_STATUS_COMMIT_ROW;
        out->commit_row = 1;
    }
    message->chunks[message->chunk_count++] = out;
    message->size_bytes += chunk_size_bytes(chunk);
    return copy_names(message, chunk, piece) && copy(message, chunk->row_key, &out->row_key) &&
           copy(message, chunk->value, &out->value);
}

/* All of the row, or nothing where it has to begin the next message. */
static enum status fill_whole(struct row_message *message,
                              struct chunk_cursor *cursor,
                              bool *ret_is_whole)
{
    size_t size = message->size_bytes + chunk_cursor_row_bytes(cursor);
    struct chunk chunk;
    message->is_closed = message->chunk_count > 0 && size > ROW_MESSAGE_FULL_BYTES;
    while (!message->is_closed && chunk_cursor_next(cursor, SIZE_MAX, &chunk)) {
        if (!add(message, &chunk)) {
            return STATUS_NO_MEMORY;
        }
    }
    *ret_is_whole = !message->is_closed;
    return STATUS_OK;
}

enum status row_message_fill(struct row_message *message,
                             struct chunk_cursor *cursor,
                             bool *ret_is_whole)
{
    if (message->keeps_rows_whole) {
        ASSERT(chunk_cursor_is_at_begin(cursor));
        return fill_whole(message, cursor, ret_is_whole);
    }
    while (!row_message_is_full(message)) {
        struct chunk chunk;
        size_t left = ROW_MESSAGE_FULL_BYTES - message->size_bytes;
        size_t room = left > ROW_MESSAGE_PIECE_BYTES ? left : ROW_MESSAGE_PIECE_BYTES;
        if (!chunk_cursor_next(cursor, room, &chunk)) {
            break;
        }
        if (!add(message, &chunk)) {
            return STATUS_NO_MEMORY;
        }
    }
    *ret_is_whole = chunk_cursor_is_at_end(cursor);
    return STATUS_OK;
}

void row_message_respond(const struct row_message *message,
                         Google__Bigtable__V2__ReadRowsResponse *ret_response)
{
    google__bigtable__v2__read_rows_response__init(ret_response);
    ret_response->chunks = message->chunks;
    ret_response->n_chunks = message->chunk_count;
}
