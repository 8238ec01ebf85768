/*
 * ReadRows: what is asked for, and what begins with it (read_stream.h says how it goes on).
 *
 * ONE ROW BY ITS KEY needs no scan: it is read as an operation, which travels together with others,
 * and goes its way whether its caller is there or not.
 * Should it not fit one message, a scan reads it anew, at the reader's pace.
 *
 * CLIENTS THAT NEED WHOLE ROWS (features.h) are sent messages that end with a row, however large.
 */
#include "gateway/methods/read/read_rows.h"

#include <stdalign.h>
#include <stddef.h>

#include "common/io/clock.h"
#include "gateway/convert/convert.h"
#include "gateway/core/features.h"
#include "gateway/methods/read/read_stream.h"

#define SCRATCH_BLOCK_BYTES 8192
#define MESSAGE_LENT_BYTES  2048 /* chunks of a small row, without their values */

typedef Google__Bigtable__V2__ReadRowsRequest Request;

/* Once, though the call may run twice (table_call.h). */
static void watch(struct read_stream *stream)
{
    if (!stream->is_watched) {
        stream->is_watched = true;
        rpc_call_on_cancelled(stream->on.call, read_stream_cancel, stream);
    }
}

/* Open the scan; if it cannot be opened, stream->error says why. */
static void open_scan(struct read_stream *stream)
{
    const Request *request = stream->request;
    watch(stream);
    struct bytes header = rpc_call_header(stream->on.call, FEATURES_HEADER);
    struct error error = {.status = STATUS_OK};
    struct edubba_filter *filter = NULL;
    stream->tells_progress = features_parse(header).has_last_scanned_rows;
    struct edubba_scan_options options = {
        .rows_limit = (uint64_t)request->rows_limit,
        .reversed = request->reversed != 0,
        .deadline_ms = table_call_patience_ms(&stream->on),
        .buffer_bytes = READ_STREAM_SCAN_BYTES,
        .tells_progress = stream->tells_progress,
    };
    struct arena scratch;
    arena_init(&scratch, SCRATCH_BLOCK_BYTES, SIZE_MAX); /* bounded by the request's size */
    enum status status = read_stream_reserve_set(stream) ? STATUS_OK : STATUS_NO_MEMORY;
    if (status == STATUS_OK) {
        status = api_convert_row_set(request->rows, &scratch, &options);
    }
    if (status == STATUS_OK) {
        status = api_convert_filter(request->filter, &filter, &error);
    }
    if (status == STATUS_OK) {
        options.filter = filter;
        stream->error.code = edubba_scan_open(stream->on.table->handle, &options, &stream->scan,
                                              &stream->error);
        stream->is_at_end = stream->error.code != EDUBBA_OK;
    } else if (status == STATUS_NO_MEMORY) {
        read_stream_stop(stream, EDUBBA_UNAVAILABLE, READ_STREAM_NO_MEMORY);
    } else {
        read_stream_stop(stream, EDUBBA_INVALID_ARGUMENT, error.text);
    }
    edubba_filter_free(filter);
    arena_deinit(&scratch);
}

/* Empty, and on its own. */
static void init_message(struct read_stream *stream)
{
    struct bytes user_agent = rpc_call_header(stream->on.call, USER_AGENT_HEADER);
    row_message_init(&stream->message, features_wants_whole_rows(user_agent));
}

/* The row and what is lent are there until this returns, and by then the message was sent. */
static void on_row(void *context, const struct edubba_result *result)
{
    struct read_stream *stream = context;
    alignas(max_align_t) uint8_t lent[MESSAGE_LENT_BYTES];
    arena_lend(&stream->message.arena, lent, sizeof lent);
    stream->message.borrows = true;
    stream->is_at_end = true;
    if (result->code != EDUBBA_OK) {
        read_stream_stop(stream, result->code, result->text);
    } else if (result->row != NULL) {
        read_stream_begin_row(stream, result->row);
    }
    if (stream->has_row) {
        read_stream_fill(stream);
    }
    if (stream->has_row && stream->error.code == EDUBBA_OK) { /* it takes more than one message */
        row_message_deinit(&stream->message);
        init_message(stream);
        stream->has_row = false;
        stream->is_at_end = false;
        open_scan(stream);
    }
    read_stream_drive(stream);
}

static void read_one(struct read_stream *stream)
{
    const Request *request = stream->request;
    struct error error = {.status = STATUS_OK};
    struct edubba_error refusal = {0};
    struct edubba_operation operation = {
        .kind = EDUBBA_OPERATION_READ,
        .row = api_bytes(request->rows->row_keys[0]),
        .deadline_ms = table_call_patience_ms(&stream->on),
    };
    struct edubba_filter *filter = NULL;
    enum edubba_code code = EDUBBA_OK;
    stream->on.row = bytes_of(operation.row.data, operation.row.size);
    enum status status = api_convert_filter(request->filter, &filter, &error);
    if (status == STATUS_OK) {
        operation.filter = filter;
        code = edubba_submit(stream->on.table->handle, &operation, on_row, stream, &refusal);
    }
    edubba_filter_free(filter);
    if (status == STATUS_OK && code == EDUBBA_OK) {
        return; /* on_row owns the stream now, or did */
    }
    if (status == STATUS_OK) {
        read_stream_stop(stream, code, refusal.text);
    } else if (status == STATUS_NO_MEMORY) {
        read_stream_stop(stream, EDUBBA_UNAVAILABLE, READ_STREAM_NO_MEMORY);
    } else {
        read_stream_stop(stream, EDUBBA_INVALID_ARGUMENT, error.text);
    }
    read_stream_drive(stream);
}

/* Can it be read by an operation instead of a scan?  (Those come without statistics.) */
static bool is_one_row(const Request *request)
{
    return request->rows != NULL && request->rows->n_row_keys == 1 &&
           request->rows->n_row_ranges == 0 && !read_stream_wants_statistics(request);
}

/* Also the second time: nothing is left of the first. */
static void run(struct table_call *on)
{
    struct read_stream *stream = (struct read_stream *)on;
    init_message(stream);
    buffer_init(&stream->passed);
    stream->error = (struct edubba_error){0};
    stream->scanned = EDUBBA_NOTHING;
    stream->has_row = false;
    stream->is_at_end = false;
    if (is_one_row(stream->request)) {
        read_one(stream);
    } else {
        open_scan(stream);
        read_stream_drive(stream);
    }
}

/* False: the call has been failed. */
static bool check_request(struct rpc_call *call, const Request *request, uint64_t set_bytes)
{
    if (request->rows_limit < 0) {
        rpc_fail(call, EDUBBA_INVALID_ARGUMENT,
                 "Error in field 'rows_limit' : must not be negative");
        return false;
    }
    if (request->reversed != 0 &&
        !features_parse(rpc_call_header(call, FEATURES_HEADER)).has_reverse_scans) {
        rpc_fail(call, EDUBBA_UNIMPLEMENTED,
                 "Reverse scans are served to clients only that say in their header '%s' that they "
                 "know them",
                 FEATURES_HEADER);
        return false;
    }
    if (set_bytes > rpc_call_reserve_max(call)) { /* there will never be room */
        rpc_fail(call, EDUBBA_RESOURCE_EXHAUSTED,
                 "So many keys and ranges take more memory than the gateway has for a request");
        return false;
    }
    return true;
}

void read_rows(void *gateway, struct rpc_call *call, const ProtobufCMessage *message)
{
    const Request *request = (const Request *)message;
    const struct table_place place = {request->table_name, request->authorized_view_name,
                                      request->materialized_view_name, request->app_profile_id};
    uint64_t set_bytes = read_stream_set_bytes(request->rows);
    struct read_stream *stream = NULL;
    if (check_request(call, request, set_bytes)) {
        stream = table_call_allocate(gateway, call, sizeof *stream);
    }
    if (stream == NULL) {
        return;
    }
    stream->request = request;
    stream->set_bytes = set_bytes;
    stream->start_ns = clock_monotonic_ns();
    atomic_init(&stream->wakes, 1);
    atomic_init(&stream->is_sending, false);
    atomic_init(&stream->is_cancelled, false);
    table_call_start(&stream->on, &place, run);
}
