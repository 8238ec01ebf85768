#include "tabletserver/serve/read/scan.h"

#include "common/base/assert.h"
#include "common/base/memory.h"
#include "common/io/clock.h"
#include "tabletserver/serve/read/scan_slice.h"
#include "tabletserver/serve/record_metrics.h"

#define SCAN_STALLED_BYTES     (4 * 1024 * 1024) /* more than one scan's credit, and no reader */
#define SCAN_ARENA_BLOCK_BYTES 4096

enum scan_state {
    SCAN_RUNNING, /* or queued */
    SCAN_PARKED,
    SCAN_RUNNING_CREDITED, /* credit came meanwhile: do not park */
};

/* --- the end ------------------------------------------------------------------------------------ */

static void scan_destroy(struct scan *scan)
{
    ASSERT(scan->program == NULL);
    if (scan->served.tablet != NULL) {
        served_release(&scan->served);
    }
    schema_release(scan->schema);
    request_budget_release_reads(&scan->server->budget, scan->charged_bytes);
    buffer_deinit(&scan->resume);
    buffer_deinit(&scan->looking);
    arena_deinit(&scan->arena);
    memory_free(scan);
}

static void finish(struct scan *scan, struct buffer *message, enum status status)
{
    record_scan(status, scan->received_ns, scan->trace, scan->rows_returned, scan->cells_seen);
    transport_reply_send(scan->reply, message, true);
    scan_destroy(scan);
}

/* row: the one that it is about; empty = none. */
static void fail_at(struct scan *scan, enum status status, const char *text, struct bytes row)
{
    struct buffer message = BUFFER_INIT;
    response_head_encode(
        &(struct response_head){.status = (uint32_t)status, .text = bytes_of_text(text)}, &message);
    if (row.size_bytes > 0) {
        scan_response_encode(&(struct scan_response){.last_scanned = row, .done = true}, &message);
    }
    finish(scan, &message, status);
}

static void fail(struct scan *scan, enum status status, const char *text)
{
    fail_at(scan, status, text, BYTES_EMPTY);
}

/* A wrong-server answer carries a body: where the first row is. */
static void redirect(struct scan *scan, struct bytes row)
{
    struct buffer message = BUFFER_INIT;
    struct scan_response response = {.done = true};

    response.has_location = server_redirects(scan->server, scan->request.table, row, &scan->arena,
                                             &response.location);
    response_head_encode(
        &(struct response_head){.status = STATUS_NOT_OWNER,
                                .text = bytes_of_text("this server does not hold the tablet")},
        &message);
    scan_response_encode(&response, &message);
    finish(scan, &message, STATUS_NOT_OWNER);
}

/* --- one message -------------------------------------------------------------------------------- */

/* True: that was the end of the scan. */
static bool send_slice(struct scan *scan, struct scan_slice *slice)
{
    struct buffer message = BUFFER_INIT;
    struct row_range tablet = store_tablet_describe(scan->served.tablet)->range;
    struct scan_response response = {
        .rows = buffer_bytes(&slice->rows),
        .last_scanned = scan->has_resume ? buffer_bytes(&scan->resume) : BYTES_EMPTY,
        .done = slice->done,
        .tablet = tablet,
        .rows_seen = scan->statistics.rows_seen,
        .cells_seen = scan->statistics.cells_seen,
        .rows_returned = scan->statistics.rows_returned,
        .cells_returned = scan->statistics.cells_returned,
    };
    response_head_encode(&(struct response_head){.status = STATUS_OK}, &message);
    scan_response_encode(&response, &message);
    if (message.failed) {
        buffer_deinit(&message);
        fail(scan, STATUS_UNAVAILABLE, "out of memory; retry");
        return true;
    }
    record_scan_bytes(slice->rows.size_bytes);
    scan->rows_returned += scan->statistics.rows_returned;
    scan->cells_seen += scan->statistics.cells_seen;
    scan->statistics = (struct row_read_statistics){0};
    if (slice->done) {
        finish(scan, &message, STATUS_OK);
        return true;
    }
    transport_reply_send(scan->reply, &message, false);
    return false;
}

/* --- scheduling --------------------------------------------------------------------------------- */

static void queue_again(struct scan *scan)
{
    worker_pool_submit(scan->server->workers, &scan->job, JOB_PATIENT);
}

/* Without credit the scan sleeps until scan_progress().  True if it does. */
static bool park(struct scan *scan)
{
    while (transport_reply_credit(scan->reply) <= 0 && !transport_reply_cancelled(scan->reply)) {
        int running = SCAN_RUNNING;
        if (atomic_compare_exchange_strong(&scan->state, &running, SCAN_PARKED)) {
            return true; /* from here on the scan is another thread's */
        }
        atomic_store(&scan->state, SCAN_RUNNING); /* something came while we looked: look again */
    }
    return false;
}

void scan_progress(struct scan *scan)
{
    int parked = SCAN_PARKED;
    if (atomic_compare_exchange_strong(&scan->state, &parked, SCAN_RUNNING)) {
        queue_again(scan);
    } else {
        int running = SCAN_RUNNING;
        (void)atomic_compare_exchange_strong(&scan->state, &running, SCAN_RUNNING_CREDITED);
    }
}

/* Each slice is confirmed anew (read_confirm.h): a scan may last.  False: it waits, or has failed. */
static bool is_confirmed(struct scan *scan)
{
    struct server *server = scan->server;
    if (scan->wait.asked == 0) {
        scan->wait = (struct read_wait){.job = &scan->job,
                                        .priority = JOB_PATIENT,
                                        .deadline_ns = scan->deadline_ns,
                                        .asked = beacons_ask(peers_beacons(server->peers))};
    }
    scan->wait.served = scan->served;
    served_ref(&scan->wait.served);
    switch (read_confirm_wait(server->confirm, &scan->wait)) {
    case READ_CONFIRM_WAITS:
        break; /* from here on the scan is another thread's */
    case READ_CONFIRM_CONFIRMED:
        scan->wait.asked = 0;
        return true;
    case READ_CONFIRM_NOT_SERVED:
        redirect(scan, scan->has_resume ? buffer_bytes(&scan->resume) : scan->first);
        break;
    case READ_CONFIRM_LATE:
        fail(scan, STATUS_DEADLINE_EXCEEDED, "the deadline passed before the lease was confirmed");
        break;
    case READ_CONFIRM_STOPPED:
        fail(scan, STATUS_UNAVAILABLE, "the server is stopping");
        break;
    }
    return false;
}

static void run(struct job *job)
{
    struct scan *scan = (struct scan *)job;
    struct scan_slice slice = {.rows = BUFFER_INIT};
    struct error error = {.status = STATUS_OK};

    if (transport_reply_cancelled(scan->reply)) {
        fail(scan, STATUS_CANCELLED, "the client is gone");
        return;
    }
    if (clock_monotonic_ns() > scan->deadline_ns) {
        fail(scan, STATUS_DEADLINE_EXCEEDED, "the scan's deadline has passed");
        return;
    }
    if (transport_reply_must_wait(scan->reply, SCAN_SLICE_BYTES) ||
        transport_reply_is_stalled(scan->reply, SCAN_STALLED_BYTES)) {
        fail(scan, STATUS_UNAVAILABLE, TOO_MUCH_QUEUED); /* a slice would be read for nothing */
        return;
    }
    if (park(scan) || (scan->server->confirm != NULL && !is_confirmed(scan))) {
        return;
    }
    enum status status = scan_slice_read(scan, &slice, &error);
    if (status == STATUS_NOT_OWNER) {
        /* Split or dropped since the last slice. */
        redirect(scan, scan->has_resume ? buffer_bytes(&scan->resume) : scan->first);
    } else if (status != STATUS_OK && slice.writer.row_count == 0) {
        fail_at(scan, error.status == STATUS_NO_MEMORY ? STATUS_UNAVAILABLE : error.status,
                error.text, slice.failed_row);
    } else if (transport_reply_must_wait(scan->reply, slice.rows.size_bytes)) {
        /* The client goes on behind the last row that it got. */
        fail(scan, STATUS_UNAVAILABLE, TOO_MUCH_QUEUED);
    } else if (!send_slice(scan, &slice)) {
        /* Where there was trouble, what was read before it goes out first; the next slice meets the
         * trouble again and has nothing to send but that. */
        queue_again(scan);
    }
    buffer_deinit(&slice.rows);
}

/* --- the start ---------------------------------------------------------------------------------- */

/* The tablet that holds the first key in reading order, and the rows that lie in it. */
static enum status find_tablet(struct scan *scan)
{
    const struct scan_request *request = &scan->request;
    struct served served;
    bool found = false;

    if (request->reversed) {
        scan->first = request->rows[request->row_range_count - 1].end;
        found = served_map_find_before(scan->server->served, request->table, scan->first, &served);
    } else {
        scan->first = request->rows[0].start;
        found = served_map_find(scan->server->served, request->table, scan->first, &served);
    }
    if (!found) {
        return STATUS_NOT_OWNER;
    }
    scan->served = served;
    struct row_set all = {(struct row_range *)(uintptr_t)request->rows, request->row_range_count};
    return row_set_clip(&scan->arena, &all, &store_tablet_describe(served.tablet)->range,
                        &scan->rows);
}

static enum status prepare(struct scan *scan, struct error *ret_error)
{
    if (scan->request.row_range_count == 0) {
        return error_set(ret_error, STATUS_INVALID_ARGUMENT, "a scan needs at least one row range");
    }
    scan->schema = schema_cache_find(scan->server->schemas, scan->request.table);
    enum status status = scan->schema == NULL ? STATUS_NOT_OWNER : find_tablet(scan);
    if (status != STATUS_OK) {
        return error_set(ret_error, status, "%s", status_text(status));
    }
    return STATUS_OK;
}

/* Many row ranges are many times their body, and stay as long as the scan does. */
static enum status charge_decoded(struct scan *scan, struct error *ret_error)
{
    uint64_t bytes = scan->arena.used_bytes;
    if (!request_budget_charge_reads(&scan->server->budget, bytes, scan->charged_bytes)) {
        return error_set(ret_error, STATUS_UNAVAILABLE,
                         "the server holds too many requests; retry");
    }
    scan->charged_bytes += bytes;
    return STATUS_OK;
}

void scan_start(struct server *server,
                const struct transport_request *request,
                struct transport_reply *reply)
{
    struct error error = {.status = STATUS_OK};

    uint64_t charged_bytes = request->body.size_bytes + REQUEST_BYTES_OWN;
    if (!request_budget_charge_reads(&server->budget, charged_bytes, 0)) {
        transport_reply_refuse(reply, STATUS_UNAVAILABLE,
                               "the server holds too many requests; retry");
        return;
    }
    struct scan *scan = memory_allocate_zeroed(1, sizeof *scan);
    if (scan == NULL) {
        request_budget_release_reads(&server->budget, charged_bytes);
        transport_reply_fail(reply, STATUS_UNAVAILABLE, "the server is out of memory; retry");
        return;
    }
    scan->job.run = run;
    scan->server = server;
    scan->charged_bytes = charged_bytes;
    scan->reply = reply;
    scan->trace = request->head.trace;
    scan->received_ns = request->received_ns;
    scan->deadline_ns = request->head.deadline_ms == 0
                            ? INT64_MAX
                            : request->received_ns + (int64_t)request->head.deadline_ms * 1000000;
    arena_init(&scan->arena, SCAN_ARENA_BLOCK_BYTES, REQUEST_ARENA_BYTES_MAX);
    enum status status = scan_request_decode(request->body, &scan->arena, &scan->request, &error);
    if (status == STATUS_OK && !transport_reply_begin_stream(reply, scan->request.credit_bytes)) {
        status = error_set(
            &error, STATUS_UNAVAILABLE,
            "%d scans over one connection, which is the limit; retry when others have "
            "ended",
            TRANSPORT_STREAMS_MAX);
    }
    if (status == STATUS_OK) {
        status = prepare(scan, &error);
    }
    if (status == STATUS_OK) {
        status = charge_decoded(scan, &error);
    }
    if (status == STATUS_NOT_OWNER) {
        redirect(scan, scan->first);
    } else if (status != STATUS_OK) {
        fail(scan, status == STATUS_NO_MEMORY ? STATUS_UNAVAILABLE : status, error.text);
    } else {
        transport_reply_set_context(reply, scan);
        queue_again(scan);
    }
}
