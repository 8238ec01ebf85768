#include <stdio.h>
#include <string.h>

#include "common/base/limits.h"
#include "common/io/clock.h"
#include "gateway/methods/read/read_stream.h"

#define NS_PER_SECOND INT64_C(1000000000)
#define STATS_VIEW    GOOGLE__BIGTABLE__V2__REQUEST_STATS__STATS_VIEW_FULL_READ_STATS_VIEW

typedef Google__Bigtable__V2__ReadRowsResponse Response;

bool read_stream_wants_statistics(const Google__Bigtable__V2__ReadRowsRequest *request)
{
    return request->request_stats_view ==
           GOOGLE__BIGTABLE__V2__READ_ROWS_REQUEST__REQUEST_STATS_VIEW__REQUEST_STATS_FULL;
}

void read_stream_stop(struct read_stream *stream, enum edubba_code code, const char *text)
{
    stream->error.code = code;
    (void)snprintf(stream->error.text, sizeof stream->error.text, "%s", text);
    stream->is_at_end = true;
}

/* All that is not in the call's arena. */
static void release(struct read_stream *stream)
{
    edubba_scan_close(stream->scan);
    stream->scan = NULL;
    row_message_deinit(&stream->message);
    buffer_deinit(&stream->passed);
}

void read_stream_finish_failed(struct read_stream *stream)
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
static void tell_statistics(const struct read_stream *stream,
                            struct statistics *out,
                            Response *response)
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

void read_stream_finish(struct read_stream *stream)
{
    struct rpc_call *call = stream->on.call;
    struct statistics statistics;
    Response response;
    row_message_respond(&stream->message, &response);
    bool has_statistics = read_stream_wants_statistics(stream->request);
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
