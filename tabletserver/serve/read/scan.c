#include "tabletserver/serve/read/scan.h"

#include <stdatomic.h>

#include "common/base/assert.h"
#include "common/base/memory.h"
#include "common/io/clock.h"
#include "tabletserver/serve/read/row_read.h"
#include "tabletserver/serve/record_metrics.h"
#include "tabletserver/serve/server.h"
#include "tabletserver/storage/store/key_ring.h"

#define SCAN_SLICE_BYTES       (256 * 1024)
#define SCAN_SLICE_NS          (INT64_C(4) * 1000 * 1000)
#define SCAN_STALLED_BYTES     (4 * 1024 * 1024) /* more than one scan's credit, and no reader */
#define SCAN_LOOK_AT_CLOCK     64                /* rows between two looks */
#define SCAN_ARENA_BLOCK_BYTES 4096

enum scan_state {
    SCAN_RUNNING, /* or queued */
    SCAN_PARKED,
    SCAN_RUNNING_CREDITED, /* credit came meanwhile: do not park */
};

struct scan {
    struct job job;
    struct server *server;
    struct transport_reply *reply;
    struct scan_request request;
    uint64_t trace;
    int64_t received_ns;
    int64_t deadline_ns;
    uint64_t charged_bytes;
    atomic_int state;
    struct schema *schema;
    struct served served;           /* its tablet; none until it was found */
    struct filter_program *program; /* while a slice is read */
    struct bytes first;             /* key in reading order; borrowed from the request */
    struct row_set rows;            /* the request's, clipped to the tablet */
    size_t range_index;             /* the range to go on in, counted in reading order */
    struct buffer resume;           /* the last row that is done with; has_resume */
    struct buffer looking;          /* the row that is being read */
    bool has_resume;
    bool counted; /* among what its tablet has had to do */
    struct read_wait
        wait; /* where reads are confirmed; .asked 0 = the next slice has not asked yet */
    uint64_t rows_returned;
    uint64_t cells_seen;
    struct row_read_statistics statistics; /* since the last message */
    struct arena arena;
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

/* --- one slice ---------------------------------------------------------------------------------- */

struct slice {
    struct row_reader *reader;
    struct row_block_writer writer;
    struct buffer message;
    struct buffer rows;
    int64_t end_ns;
    uint32_t until_clock;
    struct bytes failed_row; /* could not be read */
    bool done;               /* the scan is */
    struct key_ring *ring;   /* wants to know of one row in `every`; NULL: of none */
    uint32_t every;
    uint32_t until_told; /* so many rows are not told before the next one */
    bool told;           /* where this slice begins and ends, too: */
    struct buffer begin; /* the row before it, or its first */
};

static const struct row_range *current_range(const struct scan *scan)
{
    size_t count = scan->rows.count;
    return &scan->rows
                .ranges[scan->request.reversed ? count - 1 - scan->range_index : scan->range_index];
}

/* Stand on the next row of the current range; *ret_found false at its end. */
static enum status next_row(struct scan *scan,
                            struct row_reader *reader,
                            struct bytes *ret_row,
                            bool *ret_found)
{
    const struct row_range *range = current_range(scan);
    bool reversed = scan->request.reversed;
    struct bytes resume = buffer_bytes(&scan->resume);
    struct bytes from = reversed ? range->end : range->start;
    enum row_seek seek = ROW_AT_OR_AFTER;

    if (scan->has_resume && row_range_contains(range, resume)) {
        from = resume;
        seek = reversed ? ROW_BEFORE : ROW_AFTER;
    } else if (reversed) {
        seek = range->end.size_bytes > 0 ? ROW_BEFORE : ROW_LAST;
    }
    enum status status = row_reader_seek(reader, seek, from, ret_row, ret_found);
    if (status == STATUS_OK && *ret_found) {
        *ret_found = row_range_contains(range, *ret_row);
    }
    return status;
}

static bool slice_is_over(struct scan *scan, struct slice *slice)
{
    if (slice->rows.size_bytes >= SCAN_SLICE_BYTES) {
        return true;
    }
    if (slice->until_clock-- == 0) {
        slice->until_clock = SCAN_LOOK_AT_CLOCK;
        return clock_monotonic_ns() > slice->end_ns || transport_reply_cancelled(scan->reply);
    }
    return false;
}

static bool limit_is_reached(const struct scan *scan)
{
    return scan->request.rows_limit > 0 &&
           scan->rows_returned + scan->statistics.rows_returned >= scan->request.rows_limit;
}

/* --- what is told of a slice: some rows, and of some slices where they begin and end -------------- */

static void begin_telling(const struct scan *scan, struct slice *slice, uint64_t entropy)
{
    slice->ring = load_counters_ring(store_tablet_load(scan->served.tablet));
    if (slice->ring == NULL) {
        return;
    }
    slice->every = key_ring_every(slice->ring, KEY_READ);
    slice->until_told = key_ring_first(slice->every, entropy);
    slice->told = key_ring_wants(key_ring_every(slice->ring, KEY_SCANNED), entropy + 1);
    if (slice->told && scan->has_resume) {
        buffer_append_bytes(&slice->begin, buffer_bytes(&scan->resume));
    }
}

/* The row that is done with now. */
static void tell_row(const struct scan *scan, struct slice *slice)
{
    if (slice->told && slice->begin.size_bytes == 0) {
        buffer_append_bytes(&slice->begin, buffer_bytes(&scan->resume));
    }
    if (slice->until_told > 0) {
        slice->until_told -= 1;
        return;
    }
    slice->until_told = slice->every - 1;
    key_ring_put(slice->ring, store_tablet_load(scan->served.tablet), KEY_READ,
                 buffer_bytes(&scan->resume), BYTES_EMPTY);
}

static void end_telling(const struct scan *scan, struct slice *slice)
{
    struct bytes begin = buffer_bytes(&slice->begin);
    struct bytes end = buffer_bytes(&scan->resume);
    bool reversed = scan->request.reversed;
    if (slice->told && begin.size_bytes > 0) {
        key_ring_put(slice->ring, store_tablet_load(scan->served.tablet), KEY_SCANNED,
                     reversed ? end : begin, reversed ? begin : end);
    }
    buffer_deinit(&slice->begin);
}

/* Read one row into the slice; the row is then done with. */
static enum status read_row(struct scan *scan,
                            struct slice *slice,
                            struct bytes row,
                            struct error *ret_error)
{
    enum status status = STATUS_OK;

    buffer_reset(&scan->looking);
    buffer_append_bytes(&scan->looking, row);
    if (scan->looking.failed) {
        return error_set(ret_error, STATUS_NO_MEMORY, "out of memory");
    }
    if (filter_skips_row(scan->program, row)) {
        scan->statistics.rows_seen += 1;
    } else {
        status = row_read_filtered(slice->reader, buffer_bytes(&scan->looking),
                                   schema_table(scan->schema), scan->program, &slice->writer,
                                   &scan->statistics, ret_error);
    }
    if (status == STATUS_OK) {
        struct buffer done = scan->looking;
        scan->looking = scan->resume;
        scan->resume = done;
        scan->has_resume = true;
        if (slice->ring != NULL) {
            tell_row(scan, slice);
        }
    } else {
        slice->failed_row = buffer_bytes(&scan->looking);
    }
    return status;
}

static enum status read_slice(struct scan *scan, struct slice *slice, struct error *ret_error)
{
    while (!slice_is_over(scan, slice)) {
        struct bytes row = BYTES_EMPTY;
        bool found = false;
        if (scan->range_index == scan->rows.count || limit_is_reached(scan)) {
            slice->done = true;
            return STATUS_OK;
        }
        enum status status = next_row(scan, slice->reader, &row, &found);
        if (status != STATUS_OK) {
            return error_set(ret_error, status, "cannot read on: %s", status_text(status));
        }
        if (!found) {
            scan->range_index += 1;
            continue;
        }
        status = read_row(scan, slice, row, ret_error);
        if (status != STATUS_OK) {
            return status;
        }
    }
    return STATUS_OK;
}

/* Programs may be large and take milliseconds to make: there are as many as workers, not as many as
 * scans, and a scan that waits holds none. */
static enum status compile(struct scan *scan, struct error *ret_error)
{
    return filter_compile(scan->request.filter, scan->request.filter_bytes,
                          schema_table(scan->schema), (uint64_t)scan->received_ns, &scan->program,
                          ret_error);
}

static void count_slice(struct scan *scan, const struct slice *slice, int64_t begun_ns)
{
    int64_t now_ns = clock_monotonic_ns();
    uint64_t first = scan->counted ? 0 : 1;
    const struct load_read_counts counts = {
        .reads = first,
        .rows = scan->statistics.rows_seen,
        .bytes = slice->rows.size_bytes,
        .busy_ns = (uint64_t)(now_ns - begun_ns),
        .wait_ns = first * (uint64_t)(begun_ns - scan->received_ns),
        .latency_ns = first * (uint64_t)(now_ns - scan->received_ns),
        .latency_max_ns = first * (uint64_t)(now_ns - scan->received_ns),
    };
    scan->counted = true;
    load_counters_add_read(store_tablet_load(scan->served.tablet), &counts);
}

static enum status run_slice(struct scan *scan, struct slice *slice, struct error *ret_error)
{
    struct store_read *read = NULL;
    enum status status = compile(scan, ret_error);
    if (status != STATUS_OK) {
        return status;
    }
    uint64_t opening = served_opening(&scan->served);
    status = store_read_begin(scan->served.tablet, schema_table(scan->schema), STORE_READ_COMMITTED,
                              server_clock_now_us(&scan->server->clock), &read);
    if (status == STATUS_OK && !served_held(&scan->served, opening)) {
        store_read_end(read);
        status = STATUS_NOT_OWNER;
    }
    if (status != STATUS_OK) {
        filter_destroy(scan->program);
        scan->program = NULL;
        return error_set(ret_error, status == STATUS_NOT_OWNER ? status : STATUS_UNAVAILABLE,
                         "cannot begin to read; retry");
    }
    int64_t begun_ns = clock_monotonic_ns();
    slice->reader = store_read_reader(read);
    slice->end_ns = begun_ns + SCAN_SLICE_NS;
    slice->until_clock = SCAN_LOOK_AT_CLOCK;
    row_block_writer_init(&slice->writer, &slice->rows);
    begin_telling(scan, slice, (uint64_t)begun_ns);
    status = store_read_explain(read, read_slice(scan, slice, ret_error), ret_error);
    end_telling(scan, slice);
    store_read_end(read);
    filter_destroy(scan->program);
    scan->program = NULL;
    count_slice(scan, slice, begun_ns);
    return status;
}

static bool send_slice(struct scan *scan, struct slice *slice)
{
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
    response_head_encode(&(struct response_head){.status = STATUS_OK}, &slice->message);
    scan_response_encode(&response, &slice->message);
    if (slice->message.failed) {
        buffer_deinit(&slice->message);
        fail(scan, STATUS_UNAVAILABLE, "out of memory; retry");
        return true;
    }
    record_scan_bytes(slice->rows.size_bytes);
    scan->rows_returned += scan->statistics.rows_returned;
    scan->cells_seen += scan->statistics.cells_seen;
    scan->statistics = (struct row_read_statistics){0};
    if (slice->done) {
        finish(scan, &slice->message, STATUS_OK);
        return true;
    }
    transport_reply_send(scan->reply, &slice->message, false);
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
    struct slice slice = {.message = BUFFER_INIT, .rows = BUFFER_INIT};
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
    enum status status = run_slice(scan, &slice, &error);
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
