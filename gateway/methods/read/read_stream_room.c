#include <stdio.h>

#include "gateway/convert/convert.h"
#include "gateway/methods/read/read_stream.h"

#define CELL_BYTES      (2 * sizeof(struct edubba_cell)) /* as it came, and as it is given */
#define KEY_BYTES       64          /* of a key or range that a scan keeps, beside its bytes */
#define UNCOUNTED_BYTES (8 * 1024)  /* of a message: as much counts for each call */
#define WINDOW_BYTES    (32 * 1024) /* of a message that does not wait, even for who has stopped */

/* What a row that is held takes.  One that is sent whole is there three times, as itself, as chunks and
 * as a message. */
static uint64_t held_bytes(const struct read_stream *stream, const struct edubba_row *row)
{
    uint64_t size = row->cell_count * CELL_BYTES;
    const void *last = NULL; /* cells of one column have one qualifier, which is there once */
    for (size_t i = 0; i < row->cell_count; i++) {
        const struct edubba_cell *cell = &row->cells[i];
        size += cell->value.size + (cell->qualifier.data != last ? cell->qualifier.size : 0);
        last = cell->qualifier.data;
    }
    return size * (stream->message.keeps_rows_whole ? 3 : 1);
}

/* As one that servers refuse to read, for clients that know how to pass over it. */
static void refuse_row(struct read_stream *stream, const struct edubba_row *row)
{
    char text[BYTES_PRINTABLE_SIZE_MAX];
    struct bytes key = bytes_of(row->key.data, row->key.size);
    read_stream_stop(stream, EDUBBA_FAILED_PRECONDITION, "");
    (void)snprintf(stream->error.text, sizeof stream->error.text,
                   "LargeRowReadError: row '%s' is larger than the gateway's request_memory_max; "
                   "read it with a filter",
                   bytes_printable(key, text));
    key = arena_copy(rpc_call_arena(stream->on.call), key);
    stream->on.row = key.data != NULL ? key : BYTES_EMPTY; /* then as far as the text has it */
}

/* The row before was larger.  Most of it is out by now; what a message holds of it yet counts when that is sent. */
static void give_back(struct read_stream *stream, uint64_t size)
{
    uint64_t kept = size > READ_STREAM_SCAN_BYTES ? size : 0;
    rpc_call_give_back(stream->on.call, stream->reserved_bytes - kept);
    stream->reserved_bytes = kept;
}

bool read_stream_reserve_row(struct read_stream *stream, const struct edubba_row *row)
{
    uint64_t size = held_bytes(stream, row);
    if (size < stream->reserved_bytes) {
        give_back(stream, size);
    }
    if (size <= stream->reserved_bytes || size <= READ_STREAM_SCAN_BYTES) {
        return true;
    }
    if (size - stream->reserved_bytes > rpc_call_reserve_max(stream->on.call)) {
        refuse_row(stream, row);
        return false;
    }
    if (!rpc_call_reserve(stream->on.call, size - stream->reserved_bytes)) {
        read_stream_stop(stream, EDUBBA_UNAVAILABLE,
                         "Too many large rows are being read; try again");
        return false;
    }
    stream->reserved_bytes = size;
    return true;
}

/* The message, and what is read ahead of it meanwhile: all that may be, if it has to wait. */
static uint64_t message_bytes(const struct read_stream *stream)
{
    uint64_t size = stream->message.size_bytes;
    bool waits = !stream->is_at_end && size > WINDOW_BYTES;
    return size + (waits && size < READ_STREAM_SCAN_BYTES ? READ_STREAM_SCAN_BYTES : size);
}

bool read_stream_count_message(struct read_stream *stream)
{
    struct rpc_call *call = stream->on.call;
    uint64_t size = message_bytes(stream);
    uint64_t most = rpc_call_reserve_max(call);
    size = size < most ? size : most; /* one alone has to go through */
    if (size <= UNCOUNTED_BYTES || size <= stream->reserved_bytes) {
        return true;
    }
    if (!rpc_call_reserve(call, size)) {
        row_message_reset(&stream->message);
        read_stream_stop(stream, EDUBBA_UNAVAILABLE,
                         "Rows that wait for readers take too much memory; try again");
        return false;
    }
    stream->waiting_bytes = size;
    return true;
}

void read_stream_uncount_message(struct read_stream *stream)
{
    rpc_call_give_back(stream->on.call, stream->waiting_bytes);
    stream->waiting_bytes = 0;
}

uint64_t read_stream_set_bytes(const Google__Bigtable__V2__RowSet *rows)
{
    uint64_t size = 0;
    for (size_t i = 0; rows != NULL && i < rows->n_row_keys; i++) {
        size += KEY_BYTES + 2 * rows->row_keys[i].len;
    }
    for (size_t i = 0; rows != NULL && i < rows->n_row_ranges; i++) {
        struct edubba_bounds bounds = api_convert_range(rows->row_ranges[i]);
        size += KEY_BYTES + 2 * (bounds.start.size + bounds.end.size);
    }
    return size > READ_STREAM_SCAN_BYTES ? size : 0;
}

bool read_stream_reserve_set(struct read_stream *stream)
{
    if (stream->set_bytes > 0 && !rpc_call_reserve(stream->on.call, stream->set_bytes)) {
        return false;
    }
    stream->set_bytes = 0;
    return true;
}
