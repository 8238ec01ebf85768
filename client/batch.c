#include "client/batch.h"

#include "client/submission.h"
#include "common/base/assert.h"
#include "common/base/memory.h"

#define RESPONSE_ARENA_BLOCK_BYTES 16384
#define NS_PER_MS                  INT64_C(1000000)

struct batch {
    struct call call;
    struct server_lane *lane;
    uint32_t count;
    uint32_t remaining;
    struct submission *submissions[]; /* NULL = answered or abandoned */
};

/* The batch is over: its place in the lane is free. */
static void batch_end(struct batch *batch)
{
    struct server_lane *lane = batch->lane;
    lane->batches_in_flight--;
    lane_mark(lane);
    memory_free(batch);
}

static struct submission *take(struct batch *batch, uint32_t index)
{
    struct submission *submission = index < batch->count ? batch->submissions[index] : NULL;
    if (submission != NULL) {
        batch->submissions[index] = NULL;
        batch->remaining--;
        submission->batch = NULL;
    }
    return submission;
}

void batch_abandon(struct batch *batch, uint32_t index)
{
    (void)take(batch, index);
    /* Not on its way: it is being answered, and ends by that. */
    if (batch->remaining == 0 && batch->call.lane != NULL) {
        lane_cancel(&batch->call);
        batch_end(batch);
    }
}

/* --- answers ---------------------------------------------------------------------------------- */

/* All that is left gets the same answer. */
static void answer_rest(struct batch *batch, uint32_t status, struct bytes text)
{
    struct operation_result result = {.status = status, .text = text};
    for (uint32_t i = 0; i < batch->count; i++) {
        struct submission *submission = take(batch, i);
        if (submission != NULL) {
            submission_on_result(submission, &result);
        }
    }
}

static enum status answer_each(struct batch *batch,
                               struct bytes body,
                               struct arena *arena,
                               struct error *ret_error)
{
    struct operations_response response;
    enum status status = operations_response_decode(body, arena, &response, ret_error);
    if (status != STATUS_OK) {
        return status;
    }
    for (size_t i = 0; i < response.result_count; i++) {
        struct submission *submission = take(batch, response.results[i].index);
        if (submission != NULL) {
            submission_on_result(submission, &response.results[i]);
        }
    }
    return STATUS_OK;
}

static bool on_message(struct call *call, struct link_event *event)
{
    struct batch *batch = (struct batch *)(void *)call;
    struct response_head head = {0};
    struct bytes body = BYTES_EMPTY;
    struct error error = {0};
    struct arena arena;

    arena_init(&arena, RESPONSE_ARENA_BLOCK_BYTES, SIZE_MAX);
    /* While answers are handed out the batch counts as not on its way: see batch_abandon(). */
    struct server_lane *lane = call->lane;
    call->lane = NULL;
    enum status status = response_head_decode(bytes_of(event->data, event->size_bytes), &head,
                                              &body, &error);
    if (status == STATUS_OK && head.status == STATUS_OK) {
        status = answer_each(batch, body, &arena, &error);
    } else if (status == STATUS_OK) {
        answer_rest(batch, head.status, head.text);
    }
    if (status != STATUS_OK) {
        answer_rest(batch, STATUS_UNAVAILABLE, bytes_of_text(error.text));
    }
    arena_deinit(&arena);
    call->lane = lane;
    if (!event->stream) {
        answer_rest(batch, STATUS_UNAVAILABLE,
                    bytes_of_text("the server's answer left the operation out"));
        batch_end(batch);
    } else if (batch->remaining == 0) {
        lane_cancel(call);
        batch_end(batch);
    }
    return false;
}

static void on_closed(struct call *call, enum status status, struct bytes text)
{
    (void)status;
    struct batch *batch = (struct batch *)(void *)call;
    for (uint32_t i = 0; i < batch->count; i++) {
        struct submission *submission = take(batch, i);
        if (submission != NULL) {
            submission_on_closed(submission, text);
        }
    }
    batch_end(batch);
}

/* --- sending ---------------------------------------------------------------------------------- */

/*
 * The most that one message carries: its share of all that is in flight.  Without this, whatever was
 * answered together is sent together again, and soon all travels in one message: the server waits
 * while the client works, and the other way round.
 */
static uint32_t share_of_message(struct edubba_client *client)
{
    pthread_mutex_lock(&client->lock);
    uint32_t share = client->in_flight / client->messages_per_lane + 1;
    pthread_mutex_unlock(&client->lock);
    share = share > LANE_SHARE_MIN ? share : LANE_SHARE_MIN;
    return share < LANE_BATCH_SUBMISSIONS ? share : LANE_BATCH_SUBMISSIONS;
}

/* How many of the queue go into the next message, and their bytes. */
static uint32_t count_next(const struct server_lane *lane, uint32_t share, size_t *ret_bytes)
{
    uint32_t count = 0;
    size_t size_bytes = 0;
    for (struct list_link *at = lane->queue.next; at != &lane->queue; at = at->next) {
        size_t more_bytes = LIST_ELEMENT(at, struct submission, link)->encoded.size_bytes;
        if (count == share || (count > 0 && size_bytes + more_bytes > LANE_BATCH_BYTES)) {
            break;
        }
        count++;
        size_bytes += more_bytes;
    }
    *ret_bytes = size_bytes;
    return count;
}

static struct batch *gather(struct server_lane *lane, uint32_t count)
{
    struct batch *batch = memory_allocate_zeroed(1, sizeof *batch +
                                                        count * sizeof(struct submission *));
    if (batch == NULL) {
        return NULL;
    }
    batch->call.on_message = on_message;
    batch->call.on_closed = on_closed;
    batch->lane = lane;
    batch->count = count;
    batch->remaining = count;
    for (uint32_t i = 0; i < count; i++) {
        struct list_link *first = lane->queue.next;
        struct submission *submission = LIST_ELEMENT(first, struct submission, link);
        list_remove(first);
        batch->submissions[i] = submission;
        submission->batch = batch;
        submission->index = i;
        submission->state = SUBMISSION_SENT;
        if (!submission->was_sent) {
            submission->was_sent = true;
            retry_budget_on_first(&lane->client->budget);
        }
    }
    return batch;
}

/* The longest patience among them: a server drops the message when nobody waits any more. */
static uint32_t deadline_left_ms(const struct batch *batch)
{
    int64_t latest_ns = 0;
    for (uint32_t i = 0; i < batch->count; i++) {
        int64_t deadline_ns = batch->submissions[i]->deadline_ns;
        latest_ns = deadline_ns > latest_ns ? deadline_ns : latest_ns;
    }
    int64_t left_ms = (latest_ns - batch->lane->client->loop.now_ns) / NS_PER_MS + 1;
    return left_ms < 1 ? 1 : (uint32_t)left_ms;
}

static void encode(const struct batch *batch, struct buffer *message)
{
    struct edubba_client *client = batch->lane->client;
    pthread_mutex_lock(&client->lock);
    uint64_t first_unfinished = sequence_window_lowest_unfinished(&client->identities);
    pthread_mutex_unlock(&client->lock);

    struct request_head head = {.deadline_ms = deadline_left_ms(batch),
                                .trace = prng_next(&client->prng)};
    request_head_encode(&head, message);
    operations_request_begin(client->process, first_unfinished, batch->count, message);
    for (uint32_t i = 0; i < batch->count; i++) {
        buffer_append_bytes(message, batch->submissions[i]->encoded);
    }
}

#define HEAD_BYTES_MAX 64

/* False when nothing more can be sent now. */
static bool send_next(struct server_lane *lane, uint32_t share)
{
    struct buffer message = BUFFER_INIT;
    struct error error = {0};
    size_t size_bytes = 0;
    uint32_t count = count_next(lane, share, &size_bytes);
    struct batch *batch = gather(lane, count);
    if (batch == NULL) {
        return false; /* tried again when the next one is queued or answered */
    }
    (void)buffer_reserve(&message, size_bytes + HEAD_BYTES_MAX);
    encode(batch, &message);
    lane->batches_in_flight++;
    enum status status = lane_call(lane, &batch->call, METHOD_OPERATIONS, &message, &error);
    if (status != STATUS_OK) {
        on_closed(&batch->call, status, bytes_of_text(error.text));
        return false;
    }
    return true;
}

void lane_pump(struct server_lane *lane)
{
    struct error error = {0};
    struct edubba_client *client = lane->client;
    bool more = !list_is_empty(&lane->queue);

    if (more && lane->connected == NULL) {
        if (client->loop.now_ns < lane->connect_at_ns) {
            loop_set_timer(&client->loop, &lane->connect_timer, lane->connect_at_ns);
            return;
        }
        if (lane_connect(lane, &error) != STATUS_OK) {
            loop_set_timer(&client->loop, &lane->connect_timer, lane->connect_at_ns);
            return;
        }
    }
    uint32_t share = more ? share_of_message(client) : 0;
    while (more && lane->ready && lane->batches_in_flight < client->messages_per_lane) {
        more = send_next(lane, share) && !list_is_empty(&lane->queue);
    }
}
