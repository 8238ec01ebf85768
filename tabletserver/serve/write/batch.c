#include "tabletserver/serve/write/batch.h"

#include <stdatomic.h>

#include "common/base/assert.h"
#include "common/base/memory.h"
#include "common/io/clock.h"
#include "tabletserver/serve/loop/store_loop.h"
#include "tabletserver/serve/read/point_read.h"
#include "tabletserver/serve/record_metrics.h"
#include "tabletserver/serve/server.h"
#include "tabletserver/serve/write/evaluate.h"

#define BATCH_ARENA_BLOCK_BYTES  8192
#define TOO_MANY_REQUESTS        "the server holds too many requests; retry"
#define RESULTS_PER_MESSAGE_MAX  128
#define RESULT_BYTES_PER_MESSAGE (1024 * 1024) /* one result more is taken below it */

/* About what a message and each of its results take besides rows. */
#define MESSAGE_HEAD_BYTES 32
#define RESULT_HEAD_BYTES  16

static void batch_destroy(struct batch *batch)
{
    uint32_t part_count = batch->server->loop_count + 2;
    for (uint32_t i = 0; batch->parts != NULL && i < part_count; i++) {
        buffer_deinit(&batch->parts[i].rows);
    }
    request_budget_release(&batch->server->budget, batch->charged_bytes);
    request_budget_forget_reads(&batch->server->budget, batch->noted_bytes);
    pthread_mutex_destroy(&batch->lock);
    arena_deinit(&batch->arena);
    memory_free(batch);
}

/* --- answering -------------------------------------------------------------------------------- */

void batch_complete(struct work *work)
{
    struct part *part = work->part;
    work->next = part->completed;
    part->completed = work;
    part->completed_count += 1;
}

void batch_fail(struct work *work, enum status status, const char *text)
{
    struct batch *batch = work->part->batch;
    pthread_mutex_lock(&batch->lock);
    work->answer.text = arena_copy(&batch->arena, bytes_of_text(text));
    pthread_mutex_unlock(&batch->lock);
    work->answer.status = (uint32_t)status;
    batch_complete(work);
}

void batch_redirect(struct work *work)
{
    struct batch *batch = work->part->batch;
    const struct operation *operation = work->operation;

    pthread_mutex_lock(&batch->lock);
    work->answer.has_location = server_redirects(batch->server, operation->table, operation->row,
                                                 &batch->arena, &work->answer.location);
    pthread_mutex_unlock(&batch->lock);
    batch_fail(work, STATUS_NOT_OWNER, "this server does not serve the row's tablet");
}

/* Take up to a message's worth off the part's list; *ret_rows_bytes is what their rows take. */
static uint32_t take_results(struct part *part,
                             int64_t now_ns,
                             struct operation_result *results,
                             size_t *ret_rows_bytes)
{
    uint32_t count = 0;
    size_t size_bytes = 0;
    while (part->completed != NULL && count < RESULTS_PER_MESSAGE_MAX &&
           size_bytes < RESULT_BYTES_PER_MESSAGE) {
        struct work *work = part->completed;
        part->completed = work->next;
        results[count] = work->answer;
        results[count].index = (uint32_t)(work - part->batch->works);
        size_bytes += work->answer.rows.size_bytes;
        record_operation(part->batch, work, now_ns);
        count += 1;
    }
    part->completed_count -= count;
    *ret_rows_bytes = size_bytes;
    return count;
}

/* The answers are in the message now, so what they were made of may go. */
static void free_evaluations(struct batch *batch,
                             const struct operation_result *results,
                             uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        struct work *work = &batch->works[results[i].index];
        if (work->evaluation != NULL) {
            evaluation_destroy(work->evaluation);
            work->evaluation = NULL;
        }
    }
}

/* Send one message; true if it answered the batch's last operation. */
static bool send_results(struct batch *batch,
                         const struct operation_result *results,
                         uint32_t count,
                         size_t rows_bytes)
{
    struct buffer message = BUFFER_INIT;
    struct operations_response response = {results, count};

    /* Its size is nearly known: written without growing, and without copying what was written. */
    (void)buffer_reserve(&message,
                         MESSAGE_HEAD_BYTES + count * (size_t)RESULT_HEAD_BYTES + rows_bytes);

    response_head_encode(&(struct response_head){.status = STATUS_OK}, &message);
    operations_response_encode(&response, &message);
    free_evaluations(batch, results, count);

    pthread_mutex_lock(&batch->lock);
    ASSERT(batch->remaining >= count);
    batch->remaining -= count;
    bool last = batch->remaining == 0;
    /* A message that failed for want of memory closes the connection: the client asks again, and
     * nothing is lost or done twice. */
    transport_reply_send(batch->reply, &message, last);
    pthread_mutex_unlock(&batch->lock);
    return last;
}

void batch_send(struct part *part)
{
    struct batch *batch = part->batch;
    struct operation_result results[RESULTS_PER_MESSAGE_MAX];
    int64_t now_ns = clock_monotonic_ns();
    bool more = part->completed != NULL;

    /* Once the part's last result is out, another part's thread may answer the rest and free the
     * batch: `more` is known before. */
    while (more) {
        size_t rows_bytes = 0;
        uint32_t count = take_results(part, now_ns, results, &rows_bytes);
        more = part->completed != NULL;
        if (send_results(batch, results, count, rows_bytes)) {
            batch_destroy(batch);
        }
    }
}

void batch_refuse(struct part *part, enum status status, const char *text)
{
    struct batch *batch = part->batch;
    ASSERT(batch->remaining == part->work_count);
    ASSERT(part->completed == NULL);
    int64_t now_ns = clock_monotonic_ns();
    for (struct work *work = part->first; work != NULL; work = work->next) {
        work->answer.status = (uint32_t)status;
        record_operation(batch, work, now_ns);
    }
    transport_reply_fail(batch->reply, status, text);
    batch_destroy(batch);
}

/* --- starting --------------------------------------------------------------------------------- */

static struct batch *batch_create(struct server *server,
                                  const struct transport_request *request,
                                  struct transport_reply *reply)
{
    struct batch *batch = memory_allocate_zeroed(1, sizeof *batch);
    if (batch == NULL) {
        return NULL;
    }
    batch->server = server;
    batch->reply = reply;
    batch->head = request->head;
    batch->lane = request->lane;
    batch->received_ns = request->received_ns;
    batch->deadline_ns = request->head.deadline_ms == 0
                             ? INT64_MAX
                             : request->received_ns + (int64_t)request->head.deadline_ms * 1000000;
    pthread_mutex_init(&batch->lock, NULL);
    arena_init(&batch->arena, BATCH_ARENA_BLOCK_BYTES, REQUEST_ARENA_BYTES_MAX);
    return batch;
}

static void append_work(struct part *part, struct work *work)
{
    work->part = part;
    work->next = NULL;
    if (part->last == NULL) {
        part->first = work;
    } else {
        part->last->next = work;
    }
    part->last = work;
    part->work_count += 1;
}

static bool lies_in(const struct served *served, const struct operation *operation)
{
    return served->tablet != NULL && served->table == operation->table &&
           row_range_contains(&store_tablet_describe(served->tablet)->range, operation->row);
}

/* The part that an operation belongs to: reads, its store's loop, or the last = served elsewhere.
 * last: where the operation before it belongs; most often this one too. */
static struct part *choose_part(struct batch *batch,
                                const struct operation *operation,
                                struct served *last)
{
    struct server *server = batch->server;
    uint32_t part = 0;

    if (operation->kind == OPERATION_READ) {
        return &batch->parts[server->loop_count];
    }
    if (!lies_in(last, operation)) {
        if (last->tablet != NULL) {
            served_release(last);
            last->tablet = NULL;
        }
        if (!served_map_find(server->served, operation->table, operation->row, last)) {
            return &batch->parts[server->loop_count + 1];
        }
    }
    while (server->loops[part] != last->loop) {
        part += 1;
        ASSERT(part < server->loop_count);
    }
    return &batch->parts[part];
}

static enum status cut_into_parts(struct batch *batch)
{
    struct server *server = batch->server;
    uint32_t part_count = server->loop_count + 2;
    size_t count = batch->request.operation_count;
    struct served last = {0};

    batch->parts = arena_allocate_array(&batch->arena, part_count, sizeof *batch->parts);
    batch->works = arena_allocate_array(&batch->arena, count, sizeof *batch->works);
    if (batch->parts == NULL || batch->works == NULL) {
        batch->parts = NULL;
        return STATUS_NO_MEMORY;
    }
    memset(batch->parts, 0, part_count * sizeof *batch->parts);
    memset(batch->works, 0, count * sizeof *batch->works);
    for (uint32_t i = 0; i < part_count; i++) {
        batch->parts[i].batch = batch;
        batch->parts[i].loop = i < server->loop_count ? server->loops[i] : NULL;
    }
    batch->remaining = (uint32_t)count;
    for (size_t i = 0; i < count; i++) {
        struct work *work = &batch->works[i];
        work->operation = &batch->request.operations[i];
        append_work(choose_part(batch, work->operation, &last), work);
    }
    if (last.tablet != NULL) {
        served_release(&last);
    }
    return STATUS_OK;
}

/* What it was decoded into may be many times its body: a read of 40 bytes is more than 400 then. */
static bool charge_decoded(struct batch *batch)
{
    struct server *server = batch->server;
    const struct part *reads = &batch->parts[server->loop_count];
    uint64_t bytes = batch->arena.used_bytes;

    if (!request_budget_charge(&server->budget, bytes, batch->charged_bytes)) {
        return false;
    }
    batch->charged_bytes += bytes;
    if (reads->work_count == batch->request.operation_count) {
        if (!request_budget_note_reads(&server->budget, batch->charged_bytes, 0)) {
            return false;
        }
        batch->noted_bytes = batch->charged_bytes;
    }
    return true;
}

static void fail_part(struct part *part, enum status status, const char *text)
{
    for (struct work *work = part->first; work != NULL;) {
        struct work *next = work->next;
        batch_fail(work, status, text);
        work = next;
    }
    batch_send(part);
}

static void hand_out(struct batch *batch)
{
    struct server *server = batch->server;
    uint32_t loop_count = server->loop_count;
    struct part *parts = batch->parts;
    bool wanted[SERVER_STORES_MAX + 2];

    /* Once the last wanted part is handed out the batch may be gone: look before. */
    for (uint32_t i = 0; i < loop_count + 2; i++) {
        wanted[i] = parts[i].first != NULL;
    }
    for (uint32_t i = 0; i < loop_count; i++) {
        if (wanted[i] && !store_loop_submit(server->loops[i], &parts[i])) {
            fail_part(&parts[i], STATUS_UNAVAILABLE,
                      "too many requests wait for this store; retry");
        }
    }
    if (wanted[loop_count]) {
        point_read_submit(&parts[loop_count]);
    }
    if (wanted[loop_count + 1]) {
        struct part *elsewhere = &parts[loop_count + 1];
        for (struct work *work = elsewhere->first; work != NULL;) {
            struct work *next = work->next;
            batch_redirect(work);
            work = next;
        }
        batch_send(elsewhere);
    }
}

void batch_start(struct server *server,
                 const struct transport_request *request,
                 struct transport_reply *reply)
{
    struct error error = {.status = STATUS_OK};

    uint64_t charged_bytes = request->body.size_bytes + REQUEST_BYTES_OWN;
    if (!request_budget_charge(&server->budget, charged_bytes, 0)) {
        transport_reply_refuse(reply, STATUS_UNAVAILABLE, TOO_MANY_REQUESTS);
        return;
    }
    struct batch *batch = batch_create(server, request, reply);
    if (batch == NULL) {
        request_budget_release(&server->budget, charged_bytes);
        transport_reply_fail(reply, STATUS_UNAVAILABLE, "the server is out of memory; retry");
        return;
    }
    batch->charged_bytes = charged_bytes;
    enum status status = operations_request_decode(request->body, &batch->arena, &batch->request,
                                                   &error);
    if (status == STATUS_OK && batch->request.operation_count == 0) {
        status = error_set(&error, STATUS_INVALID_ARGUMENT, "no operation in the request");
    }
    if (status == STATUS_OK) {
        status = cut_into_parts(batch);
    }
    if (status == STATUS_NO_MEMORY) {
        status = error_set(&error, STATUS_UNAVAILABLE, "the server is out of memory; retry");
    }
    if (status != STATUS_OK) {
        transport_reply_fail(reply, error.status, error.text);
        batch_destroy(batch);
        return;
    }
    if (!charge_decoded(batch)) {
        transport_reply_refuse(reply, STATUS_UNAVAILABLE, TOO_MANY_REQUESTS);
        batch_destroy(batch);
        return;
    }
    if (request_budget_is_short(&server->budget)) {
        transport_reply_hold_peer(reply);
    }
    hand_out(batch);
}
