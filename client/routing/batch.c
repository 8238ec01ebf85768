#include "client/routing/batch.h"

#include "common/base/assert.h"
#include "common/base/memory.h"

#define RESPONSE_ARENA_BLOCK_BYTES 65536
#define NS_PER_MS                  INT64_C(1000000)

struct batch_entry {
    struct parcel *parcel; /* NULL = has left */
    uint32_t first;        /* number of its first operation in the message */
    uint32_t count;
};

struct batch {
    struct call call;
    struct server_lane *lane;
    uint64_t process; /* whose identities are in it */
    uint64_t first_unfinished;
    uint32_t operation_count;
    uint32_t entry_count;
    uint32_t remaining; /* entries whose parcel has not left */
    uint32_t current;   /* the entry that was answered last */
    struct batch_entry entries[];
};

/* The batch is over: its place in the lane is free. */
static void batch_end(struct batch *batch)
{
    struct server_lane *lane = batch->lane;
    lane->batches_in_flight--;
    lane_mark(lane);
    memory_free(batch);
}

void batch_leave(struct parcel *parcel)
{
    struct batch *batch = parcel->batch;
    if (batch == NULL) {
        return;
    }
    parcel->batch = NULL;
    batch->entries[parcel->place].parcel = NULL;
    batch->remaining--;
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
    for (uint32_t i = 0; i < batch->entry_count; i++) {
        struct parcel *parcel = batch->entries[i].parcel;
        if (parcel != NULL) {
            batch_leave(parcel);
            parcel->kind->on_end(parcel, &result);
        }
    }
}

static bool is_in(const struct batch_entry *entry, uint32_t index)
{
    return index - entry->first < entry->count; /* what is below wraps */
}

/* Whose is the index-th operation?  Mostly his who had the last, or the next. */
static struct batch_entry *find_entry(struct batch *batch, uint32_t index)
{
    uint32_t low = batch->current;
    if (!is_in(&batch->entries[low], index) && low + 1 < batch->entry_count) {
        low++;
    }
    if (!is_in(&batch->entries[low], index)) {
        uint32_t high = batch->entry_count;
        low = 0;
        while (low + 1 < high) {
            uint32_t middle = low + (high - low) / 2;
            if (batch->entries[middle].first <= index) {
                low = middle;
            } else {
                high = middle;
            }
        }
    }
    batch->current = low;
    return &batch->entries[low];
}

static void answer_one(struct batch *batch, const struct operation_result *result)
{
    if (result->index < batch->operation_count) {
        struct batch_entry *entry = find_entry(batch, result->index);
        if (entry->parcel != NULL) {
            entry->parcel->kind->on_result(entry->parcel, result->index - entry->first, result);
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
        answer_one(batch, &response.results[i]);
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
    /* While answers are handed out the batch counts as not on its way: see batch_leave(). */
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
    for (uint32_t i = 0; i < batch->entry_count; i++) {
        struct parcel *parcel = batch->entries[i].parcel;
        if (parcel != NULL) {
            batch_leave(parcel);
            parcel->kind->on_closed(parcel, text);
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
    return share < LANE_BATCH_OPERATIONS ? share : LANE_BATCH_OPERATIONS;
}

struct load {
    uint32_t parcels;
    uint32_t operations;
    size_t size_bytes;
    bool is_full; /* no message carries more of them */
};

/* How much of the queue goes into the next message. */
static struct load next_load(const struct server_lane *lane, uint32_t share)
{
    struct load load = {0};
    for (struct list_link *at = lane->queue.next; at != &lane->queue; at = at->next) {
        const struct parcel *parcel = LIST_ELEMENT(at, struct parcel, link);
        uint32_t operations = load.operations + parcel->count;
        if (parcel->process != 0) {
            load.is_full = true; /* behind the others, or alone */
            if (load.parcels == 0) {
                load = (struct load){1, parcel->count, parcel->size_bytes, true};
            }
            break;
        }
        load.is_full = operations > LANE_BATCH_OPERATIONS ||
                       load.size_bytes + parcel->size_bytes > LANE_BATCH_BYTES;
        if (load.parcels > 0 && (load.is_full || operations > share)) {
            break;
        }
        load.parcels++;
        load.operations += parcel->count;
        load.size_bytes += parcel->size_bytes;
    }
    return load;
}

/* Of the process that it is from: of another one nothing is known to be finished. */
static void set_process(struct batch *batch, uint64_t process)
{
    struct edubba_client *client = batch->lane->client;
    if (process != 0) {
        batch->process = process;
        batch->first_unfinished = 1;
        return;
    }
    batch->process = client->process;
    pthread_mutex_lock(&client->lock);
    batch->first_unfinished = sequence_window_lowest_unfinished(&client->identities);
    pthread_mutex_unlock(&client->lock);
}

static struct batch *gather(struct server_lane *lane, const struct load *load)
{
    struct batch *batch = memory_allocate(sizeof *batch +
                                          load->parcels * sizeof(struct batch_entry));
    if (batch == NULL) {
        return NULL;
    }
    *batch = (struct batch){
        .call = {.on_message = on_message, .on_closed = on_closed},
        .lane = lane,
        .entry_count = load->parcels,
        .remaining = load->parcels,
    };
    set_process(batch, LIST_ELEMENT(lane->queue.next, struct parcel, link)->process);
    for (uint32_t i = 0; i < load->parcels; i++) {
        struct list_link *first = lane->queue.next;
        struct parcel *parcel = LIST_ELEMENT(first, struct parcel, link);
        list_remove(first);
        batch->entries[i] = (struct batch_entry){parcel, batch->operation_count, parcel->count};
        batch->operation_count += parcel->count;
        parcel->batch = batch;
        parcel->place = i;
        if (!parcel->was_sent) {
            parcel->was_sent = true;
            retry_budget_on_first(&lane->client->budget, parcel->count);
        }
    }
    return batch;
}

/* The longest patience among them: a server drops the message when nobody waits any more. */
static uint32_t deadline_left_ms(const struct batch *batch)
{
    int64_t latest_ns = 0;
    for (uint32_t i = 0; i < batch->entry_count; i++) {
        int64_t deadline_ns = batch->entries[i].parcel->deadline_ns;
        latest_ns = deadline_ns > latest_ns ? deadline_ns : latest_ns;
    }
    int64_t left_ms = (latest_ns - batch->lane->client->loop.now_ns) / NS_PER_MS + 1;
    return left_ms < 1 ? 1 : (uint32_t)left_ms;
}

static void encode(const struct batch *batch, struct buffer *message)
{
    struct edubba_client *client = batch->lane->client;
    struct request_head head = {.deadline_ms = deadline_left_ms(batch),
                                .trace = prng_next(&client->prng)};
    request_head_encode(&head, message);
    operations_request_begin(batch->process, batch->first_unfinished, batch->operation_count,
                             message);
    for (uint32_t i = 0; i < batch->entry_count; i++) {
        struct parcel *parcel = batch->entries[i].parcel;
        parcel->kind->write(parcel, message);
    }
}

#define HEAD_BYTES_MAX 64

/* Waiting gathers more into a message; into a full one, nothing. */
static bool may_send(const struct server_lane *lane, const struct load *load)
{
    uint32_t most = lane->client->messages_per_lane * (load->is_full ? LANE_FULL_FACTOR : 1);
    return lane->batches_in_flight < most;
}

/* False when nothing more can be sent now. */
static bool send_next(struct server_lane *lane, uint32_t share)
{
    struct buffer message = BUFFER_INIT;
    struct error error = {0};
    struct load load = next_load(lane, share);
    if (!may_send(lane, &load)) {
        return false;
    }
    struct batch *batch = gather(lane, &load);
    if (batch == NULL) {
        return false; /* tried again when the next one is queued or answered */
    }
    (void)buffer_reserve(&message, load.size_bytes + HEAD_BYTES_MAX);
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
    while (more && lane->ready) {
        more = send_next(lane, share) && !list_is_empty(&lane->queue);
    }
}
