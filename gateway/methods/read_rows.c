/*
 * ReadRows: a scan, cut into chunks, sent at the pace of its reader.
 *
 * Two things happen to a stream, on different threads: rows become ready, and a message was sent.
 * Either wakes it; whoever wakes it first steps it until nobody has woken it meanwhile, so a step is
 * never run by two.  A step
 *
 *     fills a message with chunks, as long as rows are there and it has room
 *     sends it when it is full, or when no row is there yet, if no other is on its way
 *     ends the call behind the last row
 *
 * Everything lies in the call's arena, but the scan.
 */
#include "gateway/methods/read_rows.h"

#include <stdatomic.h>
#include <string.h>

#include "common/base/memory.h"
#include "gateway/convert/convert.h"
#include "gateway/core/chunk_cursor.h"
#include "gateway/core/features.h"

#define MESSAGE_BYTES (1024 * 1024) /* clients take 4 MiB; less means more of them for large cells */
#define CHUNKS_MAX    4096          /* in a message */
#define SCAN_BYTES    (1024 * 1024) /* read ahead of the stream */

typedef Google__Bigtable__V2__ReadRowsRequest Request;
typedef Google__Bigtable__V2__ReadRowsResponse Response;
typedef Google__Bigtable__V2__ReadRowsResponse__CellChunk CellChunk;

struct stream {
    struct gateway *gateway;
    struct rpc_call *call;
    const Request *request;
    struct features features;
    struct table *table;
    struct edubba_filter *filter;
    struct edubba_scan *scan;
    atomic_uint wakes; /* since the step that runs began; 0 = none runs */
    atomic_bool is_sending;
    atomic_bool is_cancelled;

    bool has_row; /* the cursor is inside a row */
    bool is_at_end;
    struct chunk_cursor cursor;
    struct edubba_error error;

    /* The message being filled.  Its bytes are copies: a row goes when the next is asked for. */
    size_t chunk_count;
    size_t message_bytes;
    struct arena bytes;
    CellChunk *chunks;
    CellChunk **chunk_list;
    Google__Protobuf__StringValue *families;
    Google__Protobuf__BytesValue *qualifiers;
    char **labels;
};

/* --- messages --------------------------------------------------------------------------------------- */

/* False without memory. */
static bool copy(struct stream *stream, struct edubba_bytes bytes, ProtobufCBinaryData *ret_data)
{
    struct bytes made = arena_copy(&stream->bytes, bytes_of(bytes.data, bytes.size));
    union {
        const uint8_t *in;
        uint8_t *out; /* packing only reads it */
    } pointer = {.in = made.data};
    *ret_data = (ProtobufCBinaryData){made.size_bytes, pointer.out};
    return made.size_bytes == bytes.size;
}

static bool copy_text(struct stream *stream, struct edubba_bytes bytes, char **ret_text)
{
    *ret_text = arena_copy_text(&stream->bytes, bytes_of(bytes.data, bytes.size));
    return *ret_text != NULL;
}

/* False without memory. */
static bool add_chunk(struct stream *stream, const struct chunk *chunk)
{
    size_t i = stream->chunk_count;
    CellChunk *out = &stream->chunks[i];
    google__bigtable__v2__read_rows_response__cell_chunk__init(out);
    bool is_good = copy(stream, chunk->row_key, &out->row_key) &&
                   copy(stream, chunk->value, &out->value);
    if (chunk->has_family) {
        google__protobuf__string_value__init(&stream->families[i]);
        out->family_name = &stream->families[i];
        is_good = is_good && copy_text(stream, chunk->family, &stream->families[i].value);
    }
    if (chunk->has_qualifier) {
        google__protobuf__bytes_value__init(&stream->qualifiers[i]);
        out->qualifier = &stream->qualifiers[i];
        is_good = is_good && copy(stream, chunk->qualifier, &stream->qualifiers[i].value);
    }
    if (chunk->label.size > 0) {
        is_good = is_good && copy_text(stream, chunk->label, &stream->labels[i]);
        out->labels = &stream->labels[i];
        out->n_labels = 1;
    }
    out->timestamp_micros = chunk->timestamp_us;
    out->value_size = (int32_t)chunk->value_size;
    if (chunk->commit) {
        out->row_status_case =
            GOOGLE__BIGTABLE__V2__READ_ROWS_RESPONSE__CELL_CHUNK__ROW_STATUS_COMMIT_ROW;
        out->commit_row = 1;
    }
    stream->chunk_list[i] = out;
    stream->chunk_count++;
    stream->message_bytes += chunk_size_bytes(chunk);
    return is_good;
}

static void wake(void *context);

static void on_sent(void *context)
{
    struct stream *stream = context;
    atomic_store(&stream->is_sending, false);
    wake(stream);
}

/* What was filled goes out; nothing else is on its way. */
static bool send(struct stream *stream)
{
    Response response;
    google__bigtable__v2__read_rows_response__init(&response);
    response.chunks = stream->chunk_list;
    response.n_chunks = stream->chunk_count;
    atomic_store(&stream->is_sending, true);
    enum status status = rpc_send(stream->call, &response.base, on_sent, stream);
    stream->chunk_count = 0;
    stream->message_bytes = 0;
    arena_reset(&stream->bytes);
    return status == STATUS_OK;
}

/* --- the end ----------------------------------------------------------------------------------------- */

static void release(struct stream *stream)
{
    edubba_scan_close(stream->scan);
    edubba_filter_free(stream->filter);
    if (stream->table != NULL) {
        table_release(stream->table);
    }
    arena_deinit(&stream->bytes);
}

static void finish(struct stream *stream)
{
    struct rpc_call *call = stream->call;
    struct edubba_error error = stream->error;
    struct table *table = stream->table;
    stream->table = NULL;
    release(stream);
    if (error.code == EDUBBA_OK) {
        rpc_finish_ok(call);
    } else {
        gateway_fail(call, table, error.code, error.text);
    }
    table_release(table);
}

static void fail(struct stream *stream, enum edubba_code code, const char *text)
{
    stream->error.code = code;
    (void)snprintf(stream->error.text, sizeof stream->error.text, "%s", text);
    stream->is_at_end = true;
}

/* --- stepping ---------------------------------------------------------------------------------------- */

/* Chunks of the row that the cursor is in, as far as the message has room. */
static void fill(struct stream *stream)
{
    while (stream->has_row && stream->chunk_count < CHUNKS_MAX &&
           stream->message_bytes < MESSAGE_BYTES) {
        struct chunk chunk;
        if (!chunk_cursor_next(&stream->cursor, MESSAGE_BYTES - stream->message_bytes, &chunk)) {
            stream->has_row = false;
        } else if (!add_chunk(stream, &chunk)) {
            fail(stream, EDUBBA_UNAVAILABLE, "No memory for the rows; try again");
            return;
        }
    }
}

static bool is_full(const struct stream *stream)
{
    return stream->chunk_count == CHUNKS_MAX || stream->message_bytes >= MESSAGE_BYTES;
}

/* Rows into the message until it is full, or there is none yet (false), or no more. */
static bool gather(struct stream *stream)
{
    while (!stream->is_at_end && !is_full(stream)) {
        const struct edubba_row *row = NULL;
        bool ready = false;
        fill(stream);
        if (stream->has_row || stream->is_at_end) {
            return true;
        }
        enum edubba_code code = edubba_scan_poll(stream->scan, &row, &ready, wake, stream,
                                                 &stream->error);
        if (code != EDUBBA_OK) {
            stream->error.code = code;
            stream->is_at_end = true;
        } else if (!ready) {
            return false;
        } else if (row == NULL) {
            stream->is_at_end = true;
        } else {
            stream->has_row = true;
            chunk_cursor_begin(&stream->cursor, row);
        }
    }
    return true;
}

/* True: the call has ended, and the stream is gone. */
static bool step(struct stream *stream)
{
    if (atomic_load(&stream->is_sending)) {
        return false; /* on_sent wakes */
    }
    if (atomic_load(&stream->is_cancelled)) {
        fail(stream, EDUBBA_CANCELLED, "The caller is gone");
        finish(stream);
        return true;
    }
    (void)gather(stream);
    if (stream->chunk_count > 0) {
        if (!send(stream)) {
            fail(stream, EDUBBA_UNAVAILABLE, "No memory for the rows; try again");
        }
        return false;
    }
    if (stream->is_at_end) {
        finish(stream);
        return true;
    }
    return false;
}

static void wake(void *context)
{
    struct stream *stream = context;
    if (atomic_fetch_add(&stream->wakes, 1) > 0) {
        return; /* whoever steps it sees this */
    }
    unsigned seen = 1;
    do {
        seen = atomic_load(&stream->wakes);
        if (step(stream)) {
            return;
        }
    } while (atomic_fetch_sub(&stream->wakes, seen) > seen);
}

static void on_cancelled(void *context)
{
    struct stream *stream = context;
    atomic_store(&stream->is_cancelled, true);
    wake(stream);
}
