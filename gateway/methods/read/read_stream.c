#include "gateway/methods/read/read_stream.h"
#include "gateway/convert/convert.h"

typedef Google__Bigtable__V2__ReadRowsResponse Response;

/* --- sending ---------------------------------------------------------------------------------- */

static void on_sent(void *context)
{
    struct read_stream *stream = context;
    read_stream_uncount_message(stream);
    atomic_store(&stream->is_sending, false);
    read_stream_wake(stream);
}

/* What was filled goes out; nothing else is on its way.  True: on_sent wakes, or has done so. */
static bool send_message(struct read_stream *stream)
{
    Response response;
    if (!read_stream_count_message(stream)) {
        return false;
    }
    row_message_respond(&stream->message, &response);
    response.last_scanned_row_key = api_data(stream->scanned);
    stream->on.may_run_again = false;
    atomic_store(&stream->is_sending, true);
    bool is_sent = rpc_send(stream->on.call, &response.base, on_sent, stream) == STATUS_OK;
    if (!is_sent) {
        read_stream_uncount_message(stream);
        atomic_store(&stream->is_sending, false);
        read_stream_stop(stream, EDUBBA_UNAVAILABLE, READ_STREAM_NO_MEMORY);
    }
    row_message_reset(&stream->message);
    stream->scanned = EDUBBA_NOTHING;
    return is_sent;
}

/* --- stepping --------------------------------------------------------------------------------- */

void read_stream_fill(struct read_stream *stream)
{
    bool is_whole = false;
    if (row_message_fill(&stream->message, &stream->cursor, &is_whole) != STATUS_OK) {
        row_message_reset(&stream->message);
        read_stream_stop(stream, EDUBBA_UNAVAILABLE, READ_STREAM_NO_MEMORY);
    }
    stream->has_row = !is_whole;
}

/* Nothing may lie before it any more, nor be it. */
static void pass(struct read_stream *stream, struct edubba_bytes key)
{
    buffer_reset(&stream->passed);
    buffer_append(&stream->passed, key.data, key.size);
    if (stream->passed.failed) {
        read_stream_stop(stream, EDUBBA_UNAVAILABLE, READ_STREAM_NO_MEMORY);
    }
}

static bool is_beyond(const struct read_stream *stream, struct edubba_bytes key)
{
    int order = bytes_compare(bytes_of(key.data, key.size), buffer_bytes(&stream->passed));
    return stream->passed.size_bytes == 0 ||
           (stream->request->reversed != 0 ? order < 0 : order > 0);
}

void read_stream_begin_row(struct read_stream *stream, const struct edubba_row *row)
{
    if (row->cell_count == 0 || !read_stream_reserve_row(stream, row)) {
        return;
    }
    stream->has_row = true;
    stream->rows_returned++;
    stream->cells_returned += (int64_t)row->cell_count;
    chunk_cursor_begin(&stream->cursor, row);
    if (stream->scan != NULL) { /* else it is the only one */
        pass(stream, row->key);
    }
}

/* Rows into the message until it is full, or there is none yet, or no more. */
static void gather(struct read_stream *stream)
{
    bool ready = true;
    while (ready && !stream->is_at_end && !row_message_is_full(&stream->message)) {
        const struct edubba_row *row = NULL;
        if (stream->has_row) {
            read_stream_fill(stream);
            continue;
        }
        enum edubba_code code = edubba_scan_poll(stream->scan, &row, &ready, read_stream_wake,
                                                 stream, &stream->error);
        if (code != EDUBBA_OK) {
            stream->error.code = code;
            stream->is_at_end = true;
        } else if (ready && row == NULL) {
            stream->is_at_end = true;
        } else if (ready) {
            read_stream_begin_row(stream, row);
        }
    }
}

/* Is there something to be sent? */
static bool has_news(struct read_stream *stream)
{
    if (stream->message.chunk_count > 0) {
        return true;
    }
    struct edubba_bytes scanned;
    if (!stream->tells_progress || stream->is_at_end ||
        !edubba_scan_progress(stream->scan, &scanned) || !is_beyond(stream, scanned)) {
        return false;
    }
    pass(stream, scanned);
    stream->scanned = edubba_bytes_of(stream->passed.data, stream->passed.size_bytes);
    return !stream->is_at_end;
}

/* True: the call has ended, or runs again; the stream is not ours any more. */
static bool step(struct read_stream *stream)
{
    bool is_cancelled = atomic_load(&stream->is_cancelled);
    if (is_cancelled) { /* its servers stop reading, whatever is still on its way to the caller */
        edubba_scan_close(stream->scan);
        stream->scan = NULL;
    }
    if (atomic_load(&stream->is_sending)) {
        return false; /* on_sent wakes */
    }
    if (is_cancelled) {
        row_message_reset(&stream->message);
        read_stream_stop(stream, EDUBBA_CANCELLED, "The caller is gone");
    }
    gather(stream);
    if (stream->is_at_end && stream->error.code == EDUBBA_OK && read_stream_count_message(stream)) {
        read_stream_finish(stream);
        return true;
    }
    if (has_news(stream) && send_message(stream)) {
        return false; /* on_sent wakes: what came before an error is good, and goes out first */
    }
    if (stream->is_at_end) {
        read_stream_finish_failed(stream);
        return true;
    }
    return false; /* on_ready wakes */
}

void read_stream_drive(struct read_stream *stream)
{
    unsigned seen = 0;
    do {
        seen = atomic_load(&stream->wakes);
        if (step(stream)) {
            return;
        }
    } while (atomic_fetch_sub(&stream->wakes, seen) > seen);
}

void read_stream_wake(void *context)
{
    struct read_stream *stream = context;
    if (atomic_fetch_add(&stream->wakes, 1) == 0) {
        read_stream_drive(stream);
    }
}

void read_stream_cancel(void *context)
{
    struct read_stream *stream = context;
    atomic_store(&stream->is_cancelled, true);
    read_stream_wake(stream);
}
