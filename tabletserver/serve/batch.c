#include "tabletserver/serve/batch.h"

#include <stdatomic.h>

#include "common/base/assert.h"
#include "common/base/memory.h"
#include "common/io/clock.h"
#include "tabletserver/serve/evaluate.h"
#include "tabletserver/serve/point_read.h"
#include "tabletserver/serve/record_metrics.h"
#include "tabletserver/serve/server.h"
#include "tabletserver/serve/store_loop.h"

#define BATCH_ARENA_BLOCK_BYTES 8192
#define RESULTS_PER_MESSAGE_MAX 128

static void batch_destroy(struct batch *batch)
{
    uint32_t part_count = batch->server->loop_count + 2;
    for (uint32_t i = 0; batch->parts != NULL && i < part_count; i++) {
        buffer_deinit(&batch->parts[i].rows);
    }
    evaluation_destroy_all(batch->evaluations);
    request_bytes_release(batch->server, batch->charged_bytes);
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
    work->answer.has_location = location_map_find(batch->server->locations, operation->table,
                                                  operation->row, &batch->arena,
                                                  &work->answer.location);
    pthread_mutex_unlock(&batch->lock);
    batch_fail(work, STATUS_NOT_OWNER, "this server does not hold the row's tablet");
}

/* Take up to a message's worth off the part's list. */
static uint32_t take_results(struct part *part, struct operation_result *results)
{
    uint32_t count = 0;
    while (part->completed != NULL && count < RESULTS_PER_MESSAGE_MAX) {
        struct work *work = part->completed;
        part->completed = work->next;
        results[count] = work->answer;
        results[count].index = (uint32_t)(work - part->batch->works);
        record_operation(part->batch, work);
        count += 1;
    }
    part->completed_count -= count;
    return count;
}

/* Send one message; true if it answered the batch's last operation. */
static bool send_results(struct batch *batch,
                         const struct operation_result *results,
                         uint32_t count)
{
    struct buffer message = BUFFER_INIT;
    struct operations_response response = {results, count};

    response_head_encode(&(struct response_head){.status = STATUS_OK}, &message);
    operations_response_encode(&response, &message);

    pthread_mutex_lock(&batch->lock);
    ASSERT(batch->remaining >= count);
    batch->remaining -= count;
    bool last = batch->remaining == 0;
    if (message.failed) {
        /* The client times out and asks again: nothing is lost, and nothing is done twice. */
        buffer_deinit(&message);
    }
    transport_reply_send(batch->reply, &message, last);
    pthread_mutex_unlock(&batch->lock);
    return last;
}

void batch_send(struct part *part)
{
    struct batch *batch = part->batch;
    struct operation_result results[RESULTS_PER_MESSAGE_MAX];
    bool last = false;

    while (!last && part->completed != NULL) {
        uint32_t count = take_results(part, results);
        last = send_results(batch, results, count);
    }
    if (last) {
        batch_destroy(batch);
    }
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
    arena_init(&batch->arena, BATCH_ARENA_BLOCK_BYTES, SIZE_MAX);
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
}

/* The part that an operation belongs to: reads, its store's loop, or NULL = served elsewhere. */
static struct part *choose_part(struct batch *batch, const struct operation *operation)
{
    struct server *server = batch->server;
    struct served served;

    if (operation->kind == OPERATION_READ) {
        return &batch->parts[server->loop_count];
    }
    if (!served_map_find(server->served, operation->table, operation->row, &served)) {
        return NULL;
    }
    store_tablet_unref(served.tablet);
    for (uint32_t i = 0; i < server->loop_count; i++) {
        if (server->loops[i] == served.loop) {
            return &batch->parts[i];
        }
    }
    return NULL;
}

static enum status cut_into_parts(struct batch *batch)
{
    struct server *server = batch->server;
    uint32_t part_count = server->loop_count + 2;
    size_t count = batch->request.operation_count;

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
        struct part *part = choose_part(batch, work->operation);
        append_work(part != NULL ? part : &batch->parts[part_count - 1], work);
    }
    return STATUS_OK;
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

    if (!request_bytes_charge(server, request->body.size_bytes)) {
        transport_reply_fail(reply, STATUS_UNAVAILABLE,
                             "the server holds too many requests; retry");
        return;
    }
    struct batch *batch = batch_create(server, request, reply);
    if (batch == NULL) {
        request_bytes_release(server, request->body.size_bytes);
        transport_reply_fail(reply, STATUS_UNAVAILABLE, "the server is out of memory; retry");
        return;
    }
    batch->charged_bytes = request->body.size_bytes;
    enum status status = operations_request_decode(request->body, &batch->arena, &batch->request,
                                                   &error);
    if (status == STATUS_OK && batch->request.operation_count == 0) {
        status = error_set(&error, STATUS_INVALID_ARGUMENT, "no operation in the request");
    }
    if (status == STATUS_OK) {
        status = cut_into_parts(batch);
        if (status != STATUS_OK) {
            (void)error_set(&error, STATUS_UNAVAILABLE, "the server is out of memory; retry");
        }
    }
    if (status != STATUS_OK) {
        transport_reply_fail(reply, error.status, error.text);
        batch_destroy(batch);
        return;
    }
    hand_out(batch);
}
