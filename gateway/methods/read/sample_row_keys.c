/*
 * SampleRowKeys: asked of each tablet in turn, on a waiter's thread; then told one by one.
 *
 * The last sample's offset is the size of what was sampled, at least 1: programs take 0 for a table
 * that was never written, and what was written last is not counted yet.
 */
#include "gateway/methods/read/sample_row_keys.h"

#include "gateway/convert/convert.h"
#include "gateway/core/sample_range.h"
#include "gateway/methods/call/table_call.h"

typedef Google__Bigtable__V2__SampleRowKeysRequest Request;
typedef Google__Bigtable__V2__SampleRowKeysResponse Response;

struct sampling {
    struct table_call on; /* first */
    struct edubba_bytes start;
    struct edubba_bytes end;
    struct edubba_sample *samples; /* edubba_free() them */
    size_t count;
    size_t told;
};

static void finish(struct sampling *sampling)
{
    edubba_free(sampling->samples);
    rpc_finish_ok(sampling->on.call);
}

static void fail(struct sampling *sampling, enum edubba_code code, const char *text)
{
    edubba_free(sampling->samples);
    rpc_fail(sampling->on.call, code, "%s", text);
}

/* Send the next sample.  Called again each time that one was sent. */
static void tell(void *context)
{
    struct sampling *sampling = context;
    Response response = GOOGLE__BIGTABLE__V2__SAMPLE_ROW_KEYS_RESPONSE__INIT;
    if (rpc_call_is_cancelled(sampling->on.call)) {
        fail(sampling, EDUBBA_CANCELLED, "The caller is gone");
        return;
    }
    if (sampling->told == sampling->count) {
        finish(sampling);
        return;
    }
    const struct edubba_sample *sample = &sampling->samples[sampling->told++];
    response.row_key = api_data(sample->row);
    response.offset_bytes = (int64_t)sample->offset_bytes;
    if (rpc_send(sampling->on.call, &response.base, tell, sampling) != STATUS_OK) {
        fail(sampling, EDUBBA_UNAVAILABLE, "No memory for the samples; try again");
    }
}

/* What the samples take until their reader has taken the last; one alone has to go through. */
static bool reserve(const struct sampling *sampling)
{
    uint64_t most = rpc_call_reserve_max(sampling->on.call);
    uint64_t size = sampling->count * sizeof *sampling->samples;
    for (size_t i = 0; i < sampling->count; i++) {
        size += sampling->samples[i].row.size;
    }
    return rpc_call_reserve(sampling->on.call, size < most ? size : most);
}

static void sample(struct waiting *waiting)
{
    struct sampling *sampling = (struct sampling *)waiting; /* on.waiting is its first */
    struct edubba_error error = {0};
    if (rpc_call_is_cancelled(sampling->on.call)) {
        table_call_fail(&sampling->on, EDUBBA_CANCELLED, "The caller is gone");
        return;
    }
    edubba_thread_deadline(table_call_patience_ms(&sampling->on));
    enum edubba_code code = edubba_sample_row_keys(sampling->on.table->handle, &sampling->samples,
                                                   &sampling->count, &error);
    edubba_thread_deadline(0);
    if (code != EDUBBA_OK) {
        table_call_fail(&sampling->on, code, error.text);
        return;
    }
    table_call_end(&sampling->on);
    if (!reserve(sampling)) {
        fail(sampling, EDUBBA_UNAVAILABLE,
             "Samples that wait for readers take too much memory; try again");
        return;
    }
    sampling->count = sample_range_cut(sampling->samples, sampling->count, sampling->start,
                                       sampling->end);
    struct edubba_sample *last = &sampling->samples[sampling->count - 1];
    last->offset_bytes = last->offset_bytes > 0 ? last->offset_bytes : 1;
    tell(sampling);
}

/* Sampling waits for tablet servers: on a thread that may. */
static void run(struct table_call *on)
{
    on->waiting.run = sample;
    if (!waiters_add(on->gateway->waiters, &on->waiting)) {
        table_call_fail(on, EDUBBA_UNAVAILABLE, "Too many calls wait for servers; try again");
    }
}

/* False: the call has been failed. */
static bool take_range(struct sampling *sampling, const Google__Bigtable__V2__RowRange *range)
{
    if (range == NULL) {
        return true;
    }
    struct edubba_bounds bounds = api_convert_range(range);
    sampling->start = bounds.start;
    sampling->end = bounds.end;
    if (bounds.end.size > 0 && bytes_compare(bytes_of(bounds.start.data, bounds.start.size),
                                             bytes_of(bounds.end.data, bounds.end.size)) > 0) {
        rpc_fail(sampling->on.call, EDUBBA_INVALID_ARGUMENT,
                 "Error in field 'row_range' : start_key must be less than end_key");
        return false;
    }
    return true;
}

void sample_row_keys(void *gateway, struct rpc_call *call, const ProtobufCMessage *message)
{
    const Request *request = (const Request *)message;
    const struct table_place place = {request->table_name, request->authorized_view_name,
                                      request->materialized_view_name, request->app_profile_id};
    struct sampling *sampling = table_call_allocate(gateway, call, sizeof *sampling);
    if (sampling != NULL && take_range(sampling, request->row_range)) {
        rpc_call_watch(call);
        table_call_start(&sampling->on, &place, run);
    }
}
