/*
 * ReadRows: a scan, cut into chunks, sent at the pace of its reader.
 *
 * Three things happen to a stream, on different threads: rows become ready, a message was sent, and
 * the caller goes away.  Each wakes it; whoever wakes it first steps it until nobody has woken it
 * meanwhile, so a step is never run by two.  A step
 *
 *     fills a message with chunks, as long as rows are there and it has room
 *     sends it when it is full, or when no row is there yet, if no other is on its way
 *     ends the call behind the last row, with the last message where there is one
 *
 * How far a scan has come that filters much (last_scanned_row_key) is said in messages of its own,
 * to clients that know them, when there are no rows to be sent.  It goes one way, with the rows:
 * clients end a stream that names a key twice.
 *
 * WHO OWNS IT.  `wakes` counts who has come since the step that runs began; above 0 somebody owns
 * the stream, and others only count themselves.  It begins at 1: the method owns it while the table
 * is opened.  It stays above 0 for ever once the call has been ended, so who comes late touches
 * nothing but the count; on_cancelled may come as late as that, and the call's arena, where the
 * stream lies, outlives it.  on_ready does not come after edubba_scan_close(), and the call is
 * ended while no message is on its way, so on_sent does not either.
 *
 * ONE ROW BY ITS KEY needs no scan: it is read as an operation, which travels together with others,
 * and goes its way whether its caller is there or not.
 * Should it not fit one message, a scan reads it anew, at the reader's pace.
 *
 * CLIENTS THAT NEED WHOLE ROWS (features.h) are sent messages that end with a row, however large.
 */
#include "gateway/methods/read_rows.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "common/base/buffer.h"
#include "common/base/limits.h"
#include "common/io/clock.h"
#include "gateway/convert/convert.h"
#include "gateway/core/features.h"
#include "gateway/methods/row_message.h"
#include "gateway/methods/table_call.h"

#define SCAN_BYTES          (1024 * 1024)                    /* read ahead of the stream */
#define CELL_BYTES          (2 * sizeof(struct edubba_cell)) /* as it came, and as it is given */
#define KEY_BYTES           64 /* of a key or range that a scan keeps, beside its bytes */
#define SCRATCH_BLOCK_BYTES 8192
#define NS_PER_SECOND       INT64_C(1000000000)
#define STATS_VIEW          GOOGLE__BIGTABLE__V2__REQUEST_STATS__STATS_VIEW_FULL_READ_STATS_VIEW
#define NO_MEMORY           "No memory for the rows; try again"

typedef Google__Bigtable__V2__ReadRowsRequest Request;
typedef Google__Bigtable__V2__ReadRowsResponse Response;

struct stream {
    struct table_call on; /* first */
    const Request *request;
    struct edubba_scan *scan; /* NULL = not open */
    int64_t start_ns;
    atomic_uint wakes;
    atomic_bool is_sending;
    atomic_bool is_cancelled;

    /* The owner's. */
    bool is_watched;
    bool has_row; /* the cursor is inside a row */
    bool is_at_end;
    bool tells_progress;
    struct edubba_bytes scanned; /* up to here, and not told yet; empty = nothing to tell */
    struct buffer passed;        /* the last key that was told, as a row's or as scanned */
    uint64_t reserved_bytes;     /* for a large row */
    bool has_reserved_set;       /* for the keys and ranges that the scan keeps */
    struct edubba_error error;   /* how it ended */
    struct chunk_cursor cursor;
    struct row_message message;
    int64_t rows_returned;
    int64_t cells_returned;
};

static bool wants_statistics(const Request *request)
{
    return request->request_stats_view ==
           GOOGLE__BIGTABLE__V2__READ_ROWS_REQUEST__REQUEST_STATS_VIEW__REQUEST_STATS_FULL;
}

/* --- the end ---------------------------------------------------------------------------------- */

static void stop(struct stream *stream, enum edubba_code code, const char *text)
{
    stream->error.code = code;
    (void)snprintf(stream->error.text, sizeof stream->error.text, "%s", text);
    stream->is_at_end = true;
}

/* All that is not in the call's arena. */
static void release(struct stream *stream)
{
    edubba_scan_close(stream->scan);
    stream->scan = NULL;
    row_message_deinit(&stream->message);
    buffer_deinit(&stream->passed);
}

/* The call ends with the error, or the method runs again. */
static void finish_failed(struct stream *stream)
{
    struct edubba_error error = stream->error;
    struct edubba_bytes row;
    uint8_t key[LIMIT_ROW_KEY_BYTES]; /* the scan's goes with it */
    if (server_text_is_large_row(error.code, error.text) && stream->scan != NULL &&
        edubba_scan_failed_row(stream->scan, &row) && row.size <= sizeof key) {
        memcpy(key, row.data, row.size);
        stream->on.row = bytes_of(key, row.size);
    }
    release(stream);
    table_call_fail(&stream->on, error.code, error.text);
}

struct statistics {
    Google__Bigtable__V2__RequestStats stats;
    Google__Bigtable__V2__FullReadStatsView view;
    Google__Bigtable__V2__ReadIterationStats counts;
    Google__Bigtable__V2__RequestLatencyStats latency;
    Google__Protobuf__Duration duration;
};

/* What was returned is what was sent: servers read ahead of a limit. */
static void tell_statistics(const struct stream *stream, struct statistics *out, Response *response)
{
    struct edubba_scan_statistics seen = {0};
    int64_t taken_ns = clock_monotonic_ns() - stream->start_ns;
    edubba_scan_statistics(stream->scan, &seen);
    google__protobuf__duration__init(&out->duration);
    out->duration.seconds = taken_ns / NS_PER_SECOND;
    out->duration.nanos = (int32_t)(taken_ns % NS_PER_SECOND);
    google__bigtable__v2__request_latency_stats__init(&out->latency);
    out->latency.frontend_server_latency = &out->duration;
    google__bigtable__v2__read_iteration_stats__init(&out->counts);
    out->counts.rows_seen_count = (int64_t)seen.rows_seen;
    out->counts.cells_seen_count = (int64_t)seen.cells_seen;
    out->counts.rows_returned_count = stream->rows_returned;
    out->counts.cells_returned_count = stream->cells_returned;
    google__bigtable__v2__full_read_stats_view__init(&out->view);
    out->view.read_iteration_stats = &out->counts;
    out->view.request_latency_stats = &out->latency;
    google__bigtable__v2__request_stats__init(&out->stats);
    out->stats.stats_view_case = STATS_VIEW;
    out->stats.full_read_stats_view = &out->view;
    response->request_stats = &out->stats;
}

/* The last message, if there is one, and success. */
static void finish(struct stream *stream)
{
    struct rpc_call *call = stream->on.call;
    struct statistics statistics;
    Response response;
    row_message_respond(&stream->message, &response);
    bool has_statistics = wants_statistics(stream->request);
    if (has_statistics) {
        tell_statistics(stream, &statistics, &response);
    }
    /* Nothing of the stream may be touched behind the end of the call, so the scan, which calls in
     * from other threads, goes before; the message after it is encoded. */
    edubba_scan_close(stream->scan);
    stream->scan = NULL;
    table_call_end(&stream->on);
    buffer_deinit(&stream->passed);
    struct row_message message = stream->message;
    if (response.n_chunks > 0 || has_statistics) {
        rpc_answer(call, &response.base);
    } else {
        rpc_finish_ok(call);
    }
    row_message_deinit(&message);
}

/* --- sending ---------------------------------------------------------------------------------- */

static void wake(void *context);

static void on_sent(void *context)
{
    struct stream *stream = context;
    atomic_store(&stream->is_sending, false);
    wake(stream);
}

/* What was filled goes out; nothing else is on its way.  True: on_sent wakes, or has done so. */
static bool send_message(struct stream *stream)
{
    Response response;
    row_message_respond(&stream->message, &response);
    response.last_scanned_row_key = api_data(stream->scanned);
    stream->on.may_run_again = false;
    atomic_store(&stream->is_sending, true);
    bool is_sent = rpc_send(stream->on.call, &response.base, on_sent, stream) == STATUS_OK;
    if (!is_sent) {
        atomic_store(&stream->is_sending, false);
        stop(stream, EDUBBA_UNAVAILABLE, NO_MEMORY);
    }
    row_message_reset(&stream->message);
    stream->scanned = EDUBBA_NOTHING;
    return is_sent;
}

/* --- stepping --------------------------------------------------------------------------------- */

/* What is left of the row that the cursor is in, as far as the message has room. */
static void fill(struct stream *stream)
{
    bool is_whole = false;
    if (row_message_fill(&stream->message, &stream->cursor, &is_whole) != STATUS_OK) {
        row_message_reset(&stream->message);
        stop(stream, EDUBBA_UNAVAILABLE, NO_MEMORY);
    }
    stream->has_row = !is_whole;
}

/* Nothing may lie before it any more, nor be it. */
static void pass(struct stream *stream, struct edubba_bytes key)
{
    buffer_reset(&stream->passed);
    buffer_append(&stream->passed, key.data, key.size);
    if (stream->passed.failed) {
        stop(stream, EDUBBA_UNAVAILABLE, NO_MEMORY);
    }
}

static bool is_beyond(const struct stream *stream, struct edubba_bytes key)
{
    int order = bytes_compare(bytes_of(key.data, key.size), buffer_bytes(&stream->passed));
    return stream->passed.size_bytes == 0 ||
           (stream->request->reversed != 0 ? order < 0 : order > 0);
}

/* What a row that is held takes.  One that is sent whole is there three times, as itself, as chunks and
 * as a message. */
static uint64_t held_bytes(const struct stream *stream, const struct edubba_row *row)
{
    uint64_t size = row->cell_count * CELL_BYTES;
    for (size_t i = 0; i < row->cell_count; i++) {
        size += row->cells[i].value.size;
    }
    return size * (stream->message.keeps_rows_whole ? 3 : 1);
}

/* As one that servers refuse to read, for clients that know how to pass over it. */
static void refuse_row(struct stream *stream, const struct edubba_row *row)
{
    char text[BYTES_PRINTABLE_SIZE_MAX];
    struct bytes key = bytes_of(row->key.data, row->key.size);
    stop(stream, EDUBBA_FAILED_PRECONDITION, "");
    (void)snprintf(stream->error.text, sizeof stream->error.text,
                   "LargeRowReadError: row '%s' is larger than the gateway's request_memory_max; "
                   "read it with a filter",
                   bytes_printable(key, text));
    key = arena_copy(rpc_call_arena(stream->on.call), key);
    stream->on.row = key.data != NULL ? key : BYTES_EMPTY; /* then as far as the text has it */
}

/* A large row is held whole: so many of them at a time as requests might take the memory of. */
static bool reserve(struct stream *stream, const struct edubba_row *row)
{
    uint64_t size = held_bytes(stream, row);
    if (size <= stream->reserved_bytes || size <= SCAN_BYTES) {
        return true;
    }
    if (size - stream->reserved_bytes > rpc_call_reserve_max(stream->on.call)) {
        refuse_row(stream, row);
        return false;
    }
    if (!rpc_call_reserve(stream->on.call, size - stream->reserved_bytes)) {
        stop(stream, EDUBBA_UNAVAILABLE, "Too many large rows are being read; try again");
        return false;
    }
    stream->reserved_bytes = size;
    return true;
}

static void begin_row(struct stream *stream, const struct edubba_row *row)
{
    if (row->cell_count == 0 || !reserve(stream, row)) {
        return;
    }
    stream->has_row = true;
    stream->rows_returned++;
    stream->cells_returned += (int64_t)row->cell_count;
    chunk_cursor_begin(&stream->cursor, row);
    pass(stream, row->key);
}

/* Rows into the message until it is full, or there is none yet, or no more. */
static void gather(struct stream *stream)
{
    bool ready = true;
    while (ready && !stream->is_at_end && !row_message_is_full(&stream->message)) {
        const struct edubba_row *row = NULL;
        if (stream->has_row) {
            fill(stream);
            continue;
        }
        enum edubba_code code = edubba_scan_poll(stream->scan, &row, &ready, wake, stream,
                                                 &stream->error);
        if (code != EDUBBA_OK) {
            stream->error.code = code;
            stream->is_at_end = true;
        } else if (ready && row == NULL) {
            stream->is_at_end = true;
        } else if (ready) {
            begin_row(stream, row);
        }
    }
}

/* Is there something to be sent? */
static bool has_news(struct stream *stream)
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
static bool step(struct stream *stream)
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
        stop(stream, EDUBBA_CANCELLED, "The caller is gone");
    }
    gather(stream);
    if (stream->is_at_end && stream->error.code == EDUBBA_OK) {
        finish(stream);
        return true;
    }
    if (has_news(stream) && send_message(stream)) {
        return false; /* on_sent wakes: what came before an error is good, and goes out first */
    }
    if (stream->is_at_end) {
        finish_failed(stream);
        return true;
    }
    return false; /* on_ready wakes */
}

static void drive(struct stream *stream)
{
    unsigned seen = 0;
    do {
        seen = atomic_load(&stream->wakes);
        if (step(stream)) {
            return;
        }
    } while (atomic_fetch_sub(&stream->wakes, seen) > seen);
}

static void wake(void *context)
{
    struct stream *stream = context;
    if (atomic_fetch_add(&stream->wakes, 1) == 0) {
        drive(stream);
    }
}

static void on_cancelled(void *context)
{
    struct stream *stream = context;
    atomic_store(&stream->is_cancelled, true);
    wake(stream);
}

/* --- the beginning ---------------------------------------------------------------------------- */

/* Also the second time. */
static void watch(struct stream *stream)
{
    if (!stream->is_watched) {
        stream->is_watched = true;
        rpc_call_on_cancelled(stream->on.call, on_cancelled, stream);
    }
}

/* What a scan keeps of keys and ranges, copies and bounds made of them, where that is much; else 0:
 * few are not counted. */
static uint64_t set_bytes(const Google__Bigtable__V2__RowSet *rows)
{
    uint64_t size = 0;
    for (size_t i = 0; rows != NULL && i < rows->n_row_keys; i++) {
        size += KEY_BYTES + 2 * rows->row_keys[i].len;
    }
    for (size_t i = 0; rows != NULL && i < rows->n_row_ranges; i++) {
        struct edubba_bounds bounds = api_convert_range(rows->row_ranges[i]);
        size += KEY_BYTES + 2 * (bounds.start.size + bounds.end.size);
    }
    return size > SCAN_BYTES ? size : 0;
}

/* Once, also when the scan is opened anew. */
static bool reserve_set(struct stream *stream)
{
    uint64_t size = set_bytes(stream->request->rows);
    if (stream->has_reserved_set || size == 0) {
        return true;
    }
    stream->has_reserved_set = rpc_call_reserve(stream->on.call, size);
    return stream->has_reserved_set;
}

/* As stream->error says when it cannot be. */
static void open_scan(struct stream *stream)
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
        .buffer_bytes = SCAN_BYTES,
        .tells_progress = stream->tells_progress,
    };
    struct arena scratch;
    arena_init(&scratch, SCRATCH_BLOCK_BYTES, SIZE_MAX); /* bounded by the request's size */
    enum status status = reserve_set(stream) ? STATUS_OK : STATUS_NO_MEMORY;
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
        stop(stream, EDUBBA_UNAVAILABLE, NO_MEMORY);
    } else {
        stop(stream, EDUBBA_INVALID_ARGUMENT, error.text);
    }
    edubba_filter_free(filter);
    arena_deinit(&scratch);
}

static void on_row(void *context, const struct edubba_result *result)
{
    struct stream *stream = context;
    stream->is_at_end = true;
    if (result->code != EDUBBA_OK) {
        stop(stream, result->code, result->text);
    } else if (result->row != NULL) {
        begin_row(stream, result->row);
    }
    if (stream->has_row) {
        fill(stream);
    }
    if (stream->has_row && stream->error.code == EDUBBA_OK) { /* it takes more than one message */
        row_message_reset(&stream->message);
        stream->has_row = false;
        stream->is_at_end = false;
        open_scan(stream);
    }
    drive(stream);
}

static void read_one(struct stream *stream)
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
        stop(stream, code, refusal.text);
    } else if (status == STATUS_NO_MEMORY) {
        stop(stream, EDUBBA_UNAVAILABLE, NO_MEMORY);
    } else {
        stop(stream, EDUBBA_INVALID_ARGUMENT, error.text);
    }
    drive(stream);
}

/* Operations have no statistics. */
static bool is_one_row(const Request *request)
{
    return request->rows != NULL && request->rows->n_row_keys == 1 &&
           request->rows->n_row_ranges == 0 && !wants_statistics(request);
}

/* Also the second time: nothing is left of the first. */
static void run(struct table_call *on)
{
    struct stream *stream = (struct stream *)on;
    struct bytes user_agent = rpc_call_header(on->call, USER_AGENT_HEADER);
    row_message_init(&stream->message, features_wants_whole_rows(user_agent));
    buffer_init(&stream->passed);
    stream->error = (struct edubba_error){0};
    stream->scanned = EDUBBA_NOTHING;
    stream->has_row = false;
    stream->is_at_end = false;
    if (is_one_row(stream->request)) {
        read_one(stream);
    } else {
        open_scan(stream);
        drive(stream);
    }
}

/* False: the call has been failed. */
static bool check_request(struct rpc_call *call, const Request *request)
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
    if (set_bytes(request->rows) > rpc_call_reserve_max(call)) { /* there will never be room */
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
    struct stream *stream = NULL;
    if (check_request(call, request)) {
        stream = table_call_allocate(gateway, call, sizeof *stream);
    }
    if (stream == NULL) {
        return;
    }
    stream->request = request;
    stream->start_ns = clock_monotonic_ns();
    atomic_init(&stream->wakes, 1);
    atomic_init(&stream->is_sending, false);
    atomic_init(&stream->is_cancelled, false);
    table_call_start(&stream->on, &place, run);
}
