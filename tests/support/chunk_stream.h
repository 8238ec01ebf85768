/*
 * A reader of ReadRows streams that goes by the API's rules alone, and says which one was broken.
 *
 * It knows nothing of how our messages are made.  The rules:
 *
 *     a row's first chunk has its key, a family and a qualifier; no other has a key
 *     a new family brings its qualifier; what is absent is as before
 *     timestamp and labels stand on a cell's first chunk only
 *     a cell that is cut says its whole size on every piece but the last, and keeps to it
 *     commit ends a row, and no cell is open then; reset takes back what is not committed, and has
 *     nothing else
 *     keys ascend (descend, if the stream is reversed), and every row is committed at the end
 *     last_scanned_row_key stands between rows, beyond the last of them and the one before
 *     statistics come in the last message; no message is above 4 MiB
 *     with needs_whole_rows: every message ends between rows, and may be larger then
 *
 * What it read is kept as rows.
 */
#ifndef TESTS_SUPPORT_CHUNK_STREAM_H
#define TESTS_SUPPORT_CHUNK_STREAM_H

#include <criterion/criterion.h>

#include <string.h>

#include "common/base/arena.h"
#include "common/base/buffer.h"
#include "common/base/bytes.h"
#include "common/base/memory.h"
#include "data.pb-c.h"

#define STREAM_MESSAGE_BYTES_MAX (4u << 20)

typedef Google__Bigtable__V2__ReadRowsResponse__CellChunk StreamChunk;
typedef Google__Bigtable__V2__ReadRowsResponse StreamMessage;

struct stream_cell {
    struct bytes family;
    struct bytes qualifier;
    int64_t timestamp_us;
    struct bytes label; /* the first one */
    struct bytes value;
};

struct stream_row {
    struct bytes key;
    size_t first_cell; /* in cells */
    size_t cell_count;
};

struct chunk_stream {
    bool is_reversed;
    bool needs_whole_rows;
    const char *trouble; /* the rule that was broken; NULL = none so far */
    struct arena arena;
    struct stream_cell *cells;
    size_t cell_count;
    size_t cell_capacity;
    struct stream_row *rows; /* committed; the one that is open lies behind them */
    size_t row_count;
    size_t row_capacity;
    bool is_in_row;
    bool is_in_cell;
    size_t value_size; /* of the cell that is open */
    struct buffer value;
    struct bytes last_scanned;
    bool has_statistics;
};

static inline void chunk_stream_init(struct chunk_stream *stream, bool is_reversed)
{
    *stream = (struct chunk_stream){.is_reversed = is_reversed, .value = BUFFER_INIT};
    arena_init(&stream->arena, 64 * 1024, SIZE_MAX);
}

static inline void chunk_stream_deinit(struct chunk_stream *stream)
{
    arena_deinit(&stream->arena);
    buffer_deinit(&stream->value);
    memory_free(stream->cells);
    memory_free(stream->rows);
}

static inline bool stream_breaks(struct chunk_stream *stream, const char *rule)
{
    stream->trouble = stream->trouble != NULL ? stream->trouble : rule;
    return false;
}

static inline struct bytes stream_copy(struct chunk_stream *stream, const void *data, size_t size)
{
    return arena_copy(&stream->arena, bytes_of(data, size));
}

static inline bool stream_is_ordered(const struct chunk_stream *stream,
                                     struct bytes before,
                                     struct bytes after)
{
    int order = bytes_compare(before, after);
    return stream->is_reversed ? order > 0 : order < 0;
}

static inline struct stream_row *stream_last_row(const struct chunk_stream *stream)
{
    return stream->row_count > 0 ? &stream->rows[stream->row_count - 1] : NULL;
}

/* --- rows ------------------------------------------------------------------------------------- */

static inline bool stream_begin_row(struct chunk_stream *stream, const StreamChunk *chunk)
{
    struct bytes key = stream_copy(stream, chunk->row_key.data, chunk->row_key.len);
    const struct stream_row *last = stream_last_row(stream);
    if (key.size_bytes == 0) {
        return stream_breaks(stream, "a row's first chunk has its key");
    }
    if (last != NULL && !stream_is_ordered(stream, last->key, key)) {
        return stream_breaks(stream, "keys go one way");
    }
    if (stream->last_scanned.size_bytes > 0 &&
        !stream_is_ordered(stream, stream->last_scanned, key)) {
        return stream_breaks(stream, "a row lies behind what was scanned");
    }
    if (chunk->family_name == NULL || chunk->qualifier == NULL) {
        return stream_breaks(stream, "a row's first chunk has family and qualifier");
    }
    if (stream->row_count == stream->row_capacity) {
        stream->row_capacity = 2 * stream->row_capacity + 16;
        stream->rows = memory_resize(stream->rows, stream->row_capacity * sizeof *stream->rows);
    }
    stream->rows[stream->row_count] = (struct stream_row){key, stream->cell_count, 0};
    stream->is_in_row = true;
    return true;
}

static inline bool stream_begin_cell(struct chunk_stream *stream, const StreamChunk *chunk)
{
    const struct stream_row *row = &stream->rows[stream->row_count];
    struct stream_cell cell = {.timestamp_us = chunk->timestamp_micros};
    if (chunk->family_name != NULL && chunk->qualifier == NULL) {
        return stream_breaks(stream, "a family brings its qualifier");
    }
    if (row->cell_count > 0) { /* as the cell before, in this row */
        cell.family = stream->cells[stream->cell_count - 1].family;
        cell.qualifier = stream->cells[stream->cell_count - 1].qualifier;
    }
    if (chunk->family_name != NULL) {
        const char *name = chunk->family_name->value;
        cell.family = stream_copy(stream, name, strlen(name));
    }
    if (chunk->qualifier != NULL) {
        cell.qualifier = stream_copy(stream, chunk->qualifier->value.data,
                                     chunk->qualifier->value.len);
    }
    if (chunk->n_labels > 0) {
        cell.label = stream_copy(stream, chunk->labels[0], strlen(chunk->labels[0]));
    }
    if (stream->cell_count == stream->cell_capacity) {
        stream->cell_capacity = 2 * stream->cell_capacity + 64;
        stream->cells = memory_resize(stream->cells, stream->cell_capacity * sizeof *stream->cells);
    }
    stream->cells[stream->cell_count] = cell;
    buffer_reset(&stream->value);
    return true;
}

/* The value's next piece; the cell is closed where this is the last. */
static inline bool stream_add_value(struct chunk_stream *stream, const StreamChunk *chunk)
{
    if (chunk->value_size < 0) {
        return stream_breaks(stream, "a size is not negative");
    }
    buffer_append(&stream->value, chunk->value.data, chunk->value.len);
    size_t so_far = stream->value.size_bytes;
    if (chunk->value_size > 0) {
        if (stream->is_in_cell && (size_t)chunk->value_size != stream->value_size) {
            return stream_breaks(stream, "each piece says the same size");
        }
        if (so_far >= (size_t)chunk->value_size) {
            return stream_breaks(stream, "a piece that is not the last leaves something to come");
        }
        stream->is_in_cell = true;
        stream->value_size = (size_t)chunk->value_size;
        return true;
    }
    if (stream->is_in_cell && so_far != stream->value_size) {
        return stream_breaks(stream, "the pieces make up the size that was said");
    }
    stream->is_in_cell = false;
    stream->cells[stream->cell_count].value = stream_copy(stream, stream->value.data, so_far);
    stream->cell_count++;
    stream->rows[stream->row_count].cell_count++;
    return true;
}

static inline bool stream_reset_row(struct chunk_stream *stream, const StreamChunk *chunk)
{
    if (!stream->is_in_row) {
        return stream_breaks(stream, "only a row that is open is reset");
    }
    if (chunk->row_key.len > 0 || chunk->family_name != NULL || chunk->qualifier != NULL ||
        chunk->timestamp_micros != 0 || chunk->n_labels > 0 || chunk->value.len > 0 ||
        chunk->value_size != 0) {
        return stream_breaks(stream, "a reset has nothing else");
    }
    stream->cell_count = stream->rows[stream->row_count].first_cell;
    stream->is_in_row = false;
    stream->is_in_cell = false;
    return true;
}

/* Takes the next chunk.  False: it breaks a rule. */
static inline bool chunk_stream_take(struct chunk_stream *stream, const StreamChunk *chunk)
{
    bool is_commit =
        chunk->row_status_case ==
            GOOGLE__BIGTABLE__V2__READ_ROWS_RESPONSE__CELL_CHUNK__ROW_STATUS_COMMIT_ROW &&
        chunk->commit_row != 0;
    if (chunk->row_status_case ==
            GOOGLE__BIGTABLE__V2__READ_ROWS_RESPONSE__CELL_CHUNK__ROW_STATUS_RESET_ROW &&
        chunk->reset_row != 0) {
        return stream_reset_row(stream, chunk);
    }
    if (is_commit && chunk->value_size > 0) {
        return stream_breaks(stream, "no row is committed inside a cell");
    }
    if (stream->is_in_row && chunk->row_key.len > 0) {
        return stream_breaks(stream, "only a row's first chunk has a key");
    }
    if (!stream->is_in_row && !stream_begin_row(stream, chunk)) {
        return false;
    }
    if (!stream->is_in_cell) {
        if (!stream_begin_cell(stream, chunk)) {
            return false;
        }
    } else if (chunk->family_name != NULL || chunk->qualifier != NULL ||
               chunk->timestamp_micros != 0 || chunk->n_labels > 0) {
        return stream_breaks(stream, "only a cell's first chunk says which it is");
    }
    if (!stream_add_value(stream, chunk)) {
        return false;
    }
    if (is_commit) {
        stream->is_in_row = false;
        stream->row_count++;
    }
    return true;
}

/* Takes the next message, of so many bytes.  False: it breaks a rule. */
static inline bool chunk_stream_take_message(struct chunk_stream *stream,
                                             const StreamMessage *message,
                                             size_t size_bytes)
{
    const ProtobufCBinaryData scanned = message->last_scanned_row_key;
    if (size_bytes > STREAM_MESSAGE_BYTES_MAX && !stream->needs_whole_rows) {
        return stream_breaks(stream, "a message is at most 4 MiB");
    }
    if (stream->has_statistics) {
        return stream_breaks(stream, "statistics come in the last message");
    }
    for (size_t i = 0; i < message->n_chunks; i++) {
        if (!chunk_stream_take(stream, message->chunks[i])) {
            return false;
        }
    }
    if (stream->needs_whole_rows && stream->is_in_row) {
        return stream_breaks(stream, "a message ends between rows");
    }
    if (scanned.len > 0) {
        const struct stream_row *last = stream_last_row(stream);
        struct bytes key = stream_copy(stream, scanned.data, scanned.len);
        if (stream->is_in_row) {
            return stream_breaks(stream, "what was scanned is said between rows");
        }
        if (last != NULL && !stream_is_ordered(stream, last->key, key)) {
            return stream_breaks(stream, "what was scanned lies beyond the last row");
        }
        if (stream->last_scanned.size_bytes > 0 &&
            !stream_is_ordered(stream, stream->last_scanned, key)) {
            return stream_breaks(stream, "what was scanned goes one way");
        }
        stream->last_scanned = key;
    }
    stream->has_statistics = message->request_stats != NULL;
    return true;
}

/* The stream ended well.  False: it must not have. */
static inline bool chunk_stream_end(struct chunk_stream *stream)
{
    return !stream->is_in_row || stream_breaks(stream, "every row is committed at the end");
}

#endif /* TESTS_SUPPORT_CHUNK_STREAM_H */
