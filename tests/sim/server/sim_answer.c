#include <string.h>

#include "common/base/assert.h"
#include "common/base/memory.h"
#include "tests/sim/checker/sim_checker.h"
#include "tests/sim/checker/sim_replica_truth.h"
#include "tests/sim/server/sim_confirm.h"
#include "tests/sim/server/sim_server.h"
#include "tests/sim/world/sim_rot.h"

/* --- batches ---------------------------------------------------------------------------------- */

static void destroy(struct sim_batch *batch)
{
    arena_deinit(&batch->arena);
    memory_free(batch);
}

void sim_answer_destroy_all(struct sim_server *server)
{
    while (server->batches != NULL) {
        struct sim_batch *next = server->batches->next;
        destroy(server->batches);
        server->batches = next;
    }
}

void sim_answer_error(struct sim_server *server,
                      const struct sim_message *message,
                      enum status status,
                      const char *text)
{
    struct buffer out = BUFFER_INIT;
    response_head_encode(
        &(struct response_head){.status = (uint32_t)status, .text = bytes_of_text(text)}, &out);
    sim_effects_send(server->effects, message->from, FRAME_RESPONSE, (enum method)0,
                     message->request, &out);
}

static struct sim_batch *decode(struct sim_server *server, const struct sim_message *message)
{
    struct sim_batch *batch = memory_allocate_zeroed(1, sizeof *batch);
    struct request_head head;
    struct bytes body;
    struct error error = {.status = STATUS_OK};

    ASSERT(batch != NULL);
    arena_init(&batch->arena, 1024, SIZE_MAX);
    batch->from = message->from;
    batch->request_number = message->request;
    struct bytes payload = arena_copy(&batch->arena, message->payload);
    if (request_head_decode(payload, &head, &body, &error) != STATUS_OK ||
        operations_request_decode(body, &batch->arena, &batch->request, &error) != STATUS_OK) {
        sim_fail(server->sim, "an OPERATIONS request does not decode: %s", error.text);
        destroy(batch);
        return NULL;
    }
    batch->deadline_ns = head.deadline_ms == 0 ? INT64_MAX
                                               : server->sim->now_ns + head.deadline_ms * SIM_MS;
    batch->remaining = (uint32_t)batch->request.operation_count;
    batch->works = arena_allocate_array(&batch->arena, batch->request.operation_count,
                                        sizeof *batch->works);
    for (uint32_t i = 0; i < batch->remaining; i++) {
        batch->works[i] = (struct sim_work){
            .batch = batch, .operation = &batch->request.operations[i], .answer = {.index = i}};
    }
    return batch;
}

void sim_answer_start(struct sim_server *server, const struct sim_message *message)
{
    if (sim_buggify(server->sim, SIM_SITE_REQUEST_REFUSED)) {
        sim_answer_error(server, message, STATUS_UNAVAILABLE, "no memory for requests");
        return;
    }
    struct sim_batch *batch = decode(server, message);
    if (batch == NULL) {
        return;
    }
    batch->next = server->batches;
    server->batches = batch;
    sim_write_take(server, batch);
}

void sim_answer_complete(struct sim_work *work)
{
    work->next = work->batch->completed;
    work->batch->completed = work;
}

void sim_answer_fail(struct sim_work *work, enum status status, const char *text)
{
    work->answer.status = (uint32_t)status;
    work->answer.text = arena_copy(&work->batch->arena, bytes_of_text(text));
    sim_answer_complete(work);
}

/* A read of what is in the base, by who may serve. */
static bool meets_rot(struct sim_tablet *tablet, struct sim_work *work)
{
    enum operation_kind kind = work->operation->kind;
    if (!tablet->rotten || kind == OPERATION_MUTATE || kind == OPERATION_DROP_RANGE) {
        return false;
    }
    sim_rot_meet(tablet);
    sim_answer_fail(work, STATUS_DATA_LOSS, "damaged");
    return true;
}

bool sim_answer_refuses(struct sim_server *server, struct sim_tablet *tablet, struct sim_work *work)
{
    bool is_read = work->operation->kind == OPERATION_READ;
    if (!tablet->replicated || (is_read && server->sim->planted == SIM_PLANTED_SECONDARY_SERVES)) {
        return false;
    }
    bool leads = host_look(sim_stored(tablet)).role == REPLICA_PRIMARY;
    enum status status = !is_read                             ? sim_host_may_answer(server, tablet)
                         : sim_host_may_serve(server, tablet) ? STATUS_OK
                                                              : STATUS_UNAVAILABLE;
    if (status == STATUS_OK) {
        return meets_rot(tablet, work);
    }
    if (!leads || status == STATUS_NOT_OWNER) {
        sim_answer_redirect(server, work);
    } else {
        sim_answer_fail(work, STATUS_UNAVAILABLE, "not now");
    }
    return true;
}

void sim_answer_redirect(struct sim_server *server, struct sim_work *work)
{
    const struct location *location = sim_server_locate(server, work->operation->table,
                                                        work->operation->row);
    if (location != NULL) {
        work->answer.has_location = true;
        work->answer.location = *location; /* encoded before the step ends */
    }
    sim_answer_fail(work, STATUS_NOT_OWNER, "not served here");
}

static void note_answered(struct sim_server *server, const struct sim_work *work)
{
    const struct sim_tablet *tablet = work->loop == NULL
                                          ? NULL
                                          : sim_store_find(&work->loop->store, work->tablet);
    if (!server->replicates) {
        sim_checker_on_served(server->sim->checker, server->node, work->tablet);
    } else if (tablet != NULL) {
        sim_truth_on_answered(server->sim->truth, server, tablet, work->sequence);
    }
}

static void send_completed(struct sim_server *server, struct sim_batch *batch)
{
    struct arena *arena = &server->arena;
    struct operation_result *results = arena_allocate_array(arena, batch->request.operation_count,
                                                            sizeof *results);
    struct operations_response response = {results, 0};
    struct buffer out = BUFFER_INIT;

    for (struct sim_work *work = batch->completed; work != NULL; work = work->next) {
        results[response.result_count++] = work->answer;
        if (work->answer.status == STATUS_OK && work->operation->kind != OPERATION_READ) {
            note_answered(server, work);
        }
    }
    batch->remaining -= (uint32_t)response.result_count;
    batch->completed = NULL;
    response_head_encode(&(struct response_head){0}, &out);
    operations_response_encode(&response, &out);
    sim_effects_send(server->effects, batch->from, FRAME_RESPONSE, (enum method)0,
                     batch->request_number, &out);
}

void sim_answer_send(struct sim_server *server)
{
    struct sim_batch **link = &server->batches;
    while (*link != NULL) {
        struct sim_batch *batch = *link;
        if (batch->completed != NULL) {
            send_completed(server, batch);
        }
        if (batch->remaining == 0) {
            *link = batch->next;
            destroy(batch);
        } else {
            link = &batch->next;
        }
    }
}

/* Any server answers where is, from what it last heard. */
void sim_answer_locate(struct sim_server *server, const struct sim_message *message)
{
    struct request_head head;
    struct bytes body;
    struct locate_request request;
    struct locate_response response = {0};
    struct error error = {.status = STATUS_OK};
    struct buffer out = BUFFER_INIT;

    if (request_head_decode(message->payload, &head, &body, &error) != STATUS_OK ||
        locate_request_decode(body, &server->arena, &request, &error) != STATUS_OK) {
        sim_fail(server->sim, "a LOCATE request does not decode: %s", error.text);
        return;
    }
    const struct table *schema = sim_server_schema(server, request.table);
    if (schema == NULL) {
        sim_answer_error(server, message, STATUS_NOT_FOUND, "no such table here");
        return;
    }
    response.table = *schema;
    response.locations = sim_server_locate(server, request.table, request.row);
    response.location_count = response.locations != NULL ? 1 : 0;
    response_head_encode(&(struct response_head){0}, &out);
    locate_response_encode(&response, &out);
    sim_effects_send(server->effects, message->from, FRAME_RESPONSE, (enum method)0,
                     message->request, &out);
}

/* --- reads ------------------------------------------------------------------------------------ */

static const struct sim_rows *visible_rows(const struct sim_server *server,
                                           const struct sim_tablet *tablet)
{
    return server->sim->planted == SIM_PLANTED_READ_PREPARED ? &tablet->prepared_rows
                                                             : &tablet->committed_rows;
}

void sim_answer_read(struct sim_server *server, struct sim_work *work)
{
    const struct operation *operation = work->operation;
    struct sim_tablet *tablet = sim_served_find(server, operation->table, operation->row);
    const struct table *schema = sim_server_schema(server, operation->table);
    struct buffer rows = BUFFER_INIT;
    struct row_block_writer writer;

    if (tablet == NULL || schema == NULL) {
        sim_answer_redirect(server, work);
        return;
    }
    if (sim_answer_refuses(server, tablet, work)) {
        return;
    }
    work->asked = work->asked == 0 ? sim_confirm_ask(server) : work->asked;
    if (sim_confirm_is_awaited(server, tablet, work->asked)) {
        sim_confirm_await_read(server, work);
        return;
    }
    if (tablet->replicated && server->sim->planted != SIM_PLANTED_SECONDARY_SERVES) {
        sim_truth_on_answered(server->sim->truth, server, tablet, 0);
    }
    const struct sim_row *row = sim_rows_find(visible_rows(server, tablet), operation->row);
    if (row != NULL) {
        row_block_writer_init(&writer, &rows);
        (void)sim_row_write_block(row, schema, sim_wall_us(server->sim, server->node), &writer);
        work->answer.rows = arena_copy(&work->batch->arena, buffer_bytes(&rows));
    }
    buffer_deinit(&rows);
    sim_answer_complete(work);
}

/* The first key of what is asked for, or, reversed, one of the tablet with the last. */
static struct bytes scan_first_row(struct sim_server *server, const struct scan_request *request)
{
    const struct row_range
        *range = &request->rows[request->reversed ? request->row_range_count - 1 : 0];
    if (!request->reversed) {
        return range->start;
    }
    const struct sim_tablet *last = sim_served_find_before(server, request->table, range->end);
    return last != NULL ? last->range.start : BYTES_EMPTY;
}

static bool holds_last(const struct sim_tablet *tablet, const struct scan_request *request)
{
    const struct bytes end = request->rows[request->row_range_count - 1].end;
    const struct bytes tablet_end = tablet->range.end;
    bool reaches = tablet_end.size_bytes == 0 ||
                   (end.size_bytes > 0 && bytes_compare(tablet_end, end) >= 0);
    return reaches && (end.size_bytes == 0 || bytes_compare(tablet->range.start, end) < 0);
}

struct scan_slice {
    const struct sim_rows *rows;
    const struct table *schema;
    int64_t now_us;
    struct row_block_writer writer;
    uint32_t rows_left;
    struct bytes last;
    bool done;
};

/* Rows of one range, until the slice is full. */
static void scan_range(struct scan_slice *slice, const struct row_range *range, bool reversed)
{
    uint32_t first = sim_rows_seek(slice->rows, range->start);
    uint32_t end = range->end.size_bytes == 0 ? slice->rows->count
                                              : sim_rows_seek(slice->rows, range->end);
    for (uint32_t i = first; i < end; i++) {
        const struct sim_row *row = &slice->rows->rows[reversed ? end - 1 - (i - first) : i];
        if (slice->rows_left == 0) {
            slice->done = false;
            return;
        }
        slice->rows_left--;
        (void)sim_row_write_block(row, slice->schema, slice->now_us, &slice->writer);
        slice->last = sim_row_key(row);
    }
}

static void send_slice(struct sim_server *server,
                       const struct sim_message *message,
                       const struct scan_slice *slice,
                       const struct sim_tablet *tablet,
                       const struct buffer *rows)
{
    struct buffer out = BUFFER_INIT;
    struct scan_response response = {
        .rows = buffer_bytes(rows),
        .last_scanned = slice->last,
        .done = slice->done,
        .tablet = tablet->range,
    };
    if (server->sim->planted == SIM_PLANTED_SCAN_SKIPS_RESUME && !slice->done) {
        uint32_t next = sim_rows_seek(slice->rows, slice->last) + 1;
        response.last_scanned = next < slice->rows->count ? sim_row_key(&slice->rows->rows[next])
                                                          : slice->last;
    }
    response_head_encode(&(struct response_head){0}, &out);
    scan_response_encode(&response, &out);
    sim_effects_send(server->effects, message->from, FRAME_RESPONSE, (enum method)0,
                     message->request, &out);
}

static void redirect_scan(struct sim_server *server,
                          const struct sim_message *message,
                          const struct scan_request *request,
                          struct bytes row)
{
    struct buffer out = BUFFER_INIT;
    const struct location *location = request->reversed
                                          ? NULL
                                          : sim_server_locate(server, request->table, row);
    struct scan_response response = {.done = true, .has_location = location != NULL};
    if (location != NULL) {
        response.location = *location;
    }
    response_head_encode(&(struct response_head){.status = STATUS_NOT_OWNER}, &out);
    scan_response_encode(&response, &out);
    sim_effects_send(server->effects, message->from, FRAME_RESPONSE, (enum method)0,
                     message->request, &out);
}

void sim_answer_scan(struct sim_server *server, const struct sim_message *message)
{
    sim_answer_scan_asked(server, message, sim_confirm_ask(server));
}

void sim_answer_scan_asked(struct sim_server *server,
                           const struct sim_message *message,
                           uint64_t asked)
{
    struct request_head head;
    struct bytes body;
    struct scan_request request;
    struct error error = {.status = STATUS_OK};
    struct buffer rows = BUFFER_INIT;

    if (request_head_decode(message->payload, &head, &body, &error) != STATUS_OK ||
        scan_request_decode(body, &server->arena, &request, &error) != STATUS_OK ||
        request.row_range_count == 0) {
        sim_fail(server->sim, "a SCAN request does not decode: %s", error.text);
        return;
    }
    struct bytes row = scan_first_row(server, &request);
    struct sim_tablet *tablet = sim_served_find(server, request.table, row);
    const struct table *schema = sim_server_schema(server, request.table);
    if (tablet == NULL || schema == NULL || (request.reversed && !holds_last(tablet, &request))) {
        redirect_scan(server, message, &request, row);
        return;
    }
    if (tablet->replicated && !sim_host_may_serve(server, tablet) &&
        server->sim->planted != SIM_PLANTED_SECONDARY_SERVES) {
        sim_answer_error(server, message, STATUS_UNAVAILABLE, "not now");
        return;
    }
    if (sim_confirm_is_awaited(server, tablet, asked)) {
        sim_confirm_await_scan(server, message, asked);
        return;
    }
    if (tablet->rotten) {
        sim_rot_meet(tablet);
        sim_answer_error(server, message, STATUS_DATA_LOSS, "damaged");
        return;
    }
    struct scan_slice slice = {.rows = visible_rows(server, tablet),
                               .schema = schema,
                               .now_us = sim_wall_us(server->sim, server->node),
                               .rows_left = sim_buggify(server->sim, SIM_SITE_SCAN_BY_ROW)
                                                ? 1
                                                : server->sim->settings.scan_slice_rows,
                               .done = true};
    row_block_writer_init(&slice.writer, &rows);
    for (size_t i = 0; i < request.row_range_count && slice.done; i++) {
        struct row_range clipped;
        const struct row_range
            *range = &request.rows[request.reversed ? request.row_range_count - 1 - i : i];
        if (row_range_intersect(range, &tablet->range, &clipped)) {
            scan_range(&slice, &clipped, request.reversed);
        }
    }
    send_slice(server, message, &slice, tablet, &rows);
    buffer_deinit(&rows);
}
