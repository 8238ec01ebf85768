#include "client/routing/lane.h"

#include "client/routing/parcel.h"
#include "client/routing/silence.h"
#include "common/base/assert.h"
#include "common/base/memory.h"
#include "common/io/clock.h"

#define CONNECT_TIMEOUT_MS 3000

/* One connection, as long as it or an event of it lives. */
struct link {
    struct server_lane *lane; /* good while !is_over, on the loop */
    struct edubba_client *client;
    enum lane kind;
    struct transport_connection *connection;
    bool is_over; /* closed; later events are stale */
    atomic_uint references;
    atomic_bool is_lost;        /* an event could not be kept: nothing after it counts */
    struct link_event *closing; /* kept for the last event, so that it cannot fail */
    struct task close_task;
};

static void link_unref(struct link *link)
{
    if (atomic_fetch_sub(&link->references, 1) == 1) {
        memory_free(link->closing);
        memory_free(link);
    }
}

/* --- what nng's threads tell ------------------------------------------------------------------ */

static void run_event(void *context, struct task *task);

static void post_event(struct link *link, struct link_event *event)
{
    event->task.run = run_event;
    event->link = link;
    atomic_fetch_add(&link->references, 1);
    loop_post_run(&link->client->loop, &event->task);
}

/* The one event that has its memory already; at most once. */
static void post_closing(struct link *link, enum status status, const char *text)
{
    if (atomic_exchange(&link->is_lost, true)) {
        return;
    }
    struct link_event *event = link->closing;
    link->closing = NULL;
    size_t size_bytes = strlen(text);
    event->kind = LINK_CLOSED;
    event->status = status;
    event->size_bytes = size_bytes < ERROR_TEXT_SIZE_MAX ? size_bytes : ERROR_TEXT_SIZE_MAX;
    memcpy(event->data, text, event->size_bytes);
    post_event(link, event);
}

static void on_ready(void *context, const struct hello_ack *ack)
{
    struct link *link = context;
    struct link_event *event = memory_allocate_zeroed(1, sizeof *event);
    /* Of masters, which are met on this lane alone, the clock judges no write. */
    if (ack->now_us > 0 && link->kind != LANE_CONTROL) {
        atomic_store(&link->client->server_clock_offset_us,
                     ack->now_us - clock_monotonic_ns() / 1000);
    }
    if (event == NULL) {
        post_closing(link, STATUS_NO_MEMORY, "out of memory");
        return;
    }
    event->kind = LINK_READY;
    post_event(link, event);
}

static void on_response(void *context, uint64_t request, struct bytes message, bool stream)
{
    struct link *link = context;
    if (atomic_load(&link->is_lost)) {
        return;
    }
    struct link_event *event = memory_allocate(sizeof *event + message.size_bytes);
    if (event == NULL) {
        post_closing(link, STATUS_NO_MEMORY, "out of memory");
        return;
    }
    *event = (struct link_event){.kind = LINK_RESPONSE,
                                 .request = request,
                                 .stream = stream,
                                 .size_bytes = message.size_bytes};
    if (message.size_bytes > 0) {
        memcpy(event->data, message.data, message.size_bytes);
    }
    post_event(link, event);
}

static void on_closed(void *context, const struct error *error)
{
    post_closing(context, error->status, error->text);
}

/* --- connecting and closing ------------------------------------------------------------------- */

static void on_connect_timer(void *context, struct timer *timer)
{
    (void)context;
    lane_mark((struct server_lane *)(void *)((char *)timer -
                                             offsetof(struct server_lane, connect_timer)));
}

static void pause_after_failure(struct server_lane *lane)
{
    struct edubba_client *client = lane->client;
    lane->connect_at_ns = client->loop.now_ns + retry_pause_ns(&client->prng, lane->failures);
    lane->failures++;
}

static enum status start_link(struct server_lane *lane, struct link *link, struct error *ret_error)
{
    struct transport_connection_options options = {
        .address = location_cache_address(&lane->client->locations, lane->address),
        .agent = lane->client->agent,
        .process = lane->client->process,
        .lane = lane->kind,
        .connect_timeout_ms = CONNECT_TIMEOUT_MS,
        .context = link,
        .on_ready = on_ready,
        .on_response = on_response,
        .on_closed = on_closed,
    };
    return transport_connect(&options, &link->connection, ret_error);
}

enum status lane_connect(struct server_lane *lane, struct error *ret_error)
{
    if (lane->connected != NULL) {
        return STATUS_OK;
    }
    if (lane->client->loop.now_ns < lane->connect_at_ns) {
        return error_set(ret_error, STATUS_UNAVAILABLE, "%s does not answer",
                         location_cache_address(&lane->client->locations, lane->address));
    }
    struct link *link = memory_allocate_zeroed(1, sizeof *link);
    struct link_event *closing = memory_allocate_zeroed(1, sizeof *closing + ERROR_TEXT_SIZE_MAX);
    if (link == NULL || closing == NULL) {
        memory_free(link);
        memory_free(closing);
        return client_status_no_memory(ret_error);
    }
    link->lane = lane;
    link->client = lane->client;
    link->kind = lane->kind;
    link->closing = closing;
    atomic_store(&link->references, 1);
    enum status status = start_link(lane, link, ret_error);
    if (status != STATUS_OK) {
        pause_after_failure(lane);
        link_unref(link);
        return status;
    }
    lane->connected = link;
    lane->ready = false;
    return STATUS_OK;
}

static void run_close(void *context, struct task *task)
{
    (void)context;
    struct link *link = LIST_ELEMENT(task, struct link, close_task);
    transport_connection_close(link->connection);
    link_unref(link);
}

/* Closing waits for the connection's callbacks, and this may be one of them. */
static void link_close(struct link *link)
{
    link->is_over = true;
    link->close_task.run = run_close;
    if (loop_is_own_thread(&link->client->loop)) {
        run_close(NULL, &link->close_task);
    } else {
        loop_post_to_thread(&link->client->loop, &link->close_task);
    }
}

static void turn_away(struct list_link *queue, struct bytes text)
{
    for (struct list_link *at; (at = list_take_first(queue)) != NULL;) {
        struct parcel *parcel = LIST_ELEMENT(at, struct parcel, link);
        parcel->kind->on_closed(parcel, text);
    }
}

static void watch(struct server_lane *lane)
{
    if (lane->silence != NULL) {
        silence_watch(lane->silence);
    }
}

/* Fail the calls that were on their way, then what is queued: it looks for another way. */
static void lane_close(struct server_lane *lane, enum status status, struct bytes text)
{
    struct link *link = lane->connected;
    struct list_link calls;
    struct list_link queue;
    bool was_ready = lane->ready;

    lane->connected = NULL;
    lane->ready = false;
    lane->asked_ns = 0;
    link_close(link);
    pause_after_failure(lane);

    list_move_all(&lane->calls, &calls);
    list_move_all(&lane->queue, &queue);
    for (struct list_link *at; (at = list_take_first(&calls)) != NULL;) {
        struct call *call = LIST_ELEMENT(at, struct call, link);
        call->lane = NULL;
        call->may_be_received = was_ready;
        call->on_closed(call, status, text);
    }
    turn_away(&queue, text);
    lane_mark(lane);
}

void lane_give_up(struct server_lane *lane, struct bytes text)
{
    if (lane->connected != NULL) {
        lane_close(lane, STATUS_CLOSED, text);
    }
}

void lane_turn_away(struct server_lane *lane, struct bytes text)
{
    struct list_link queue;
    list_move_all(&lane->queue, &queue);
    turn_away(&queue, text);
}

/* --- what was told, while the loop is held ---------------------------------------------------- */

static struct call *find_call(const struct server_lane *lane, uint64_t request)
{
    for (struct list_link *at = lane->calls.next; at != &lane->calls; at = at->next) {
        struct call *call = LIST_ELEMENT(at, struct call, link);
        if (call->request == request) {
            return call;
        }
    }
    return NULL;
}

/* True if the event was kept. */
static bool on_message(struct server_lane *lane, struct link_event *event)
{
    struct call *call = find_call(lane, event->request);
    if (call == NULL) {
        return false; /* cancelled */
    }
    if (!event->stream) {
        list_remove(&call->link);
        call->lane = NULL;
    }
    return call->on_message(call, event);
}

static void run_event(void *context, struct task *task)
{
    (void)context;
    struct link_event *event = (struct link_event *)(void *)task;
    struct link *link = event->link;
    struct server_lane *lane = link->lane;
    bool kept = false;

    if (!link->is_over) {
        lane->heard_ns = lane->client->loop.now_ns;
        lane->asked_ns = 0;
        if (lane->silence != NULL) {
            silence_heard(lane->silence);
        }
        switch (event->kind) {
        case LINK_READY:
            lane->ready = true;
            lane->failures = 0;
            lane_mark(lane);
            break;
        case LINK_RESPONSE:
            kept = on_message(lane, event);
            break;
        case LINK_CLOSED:
            lane_close(lane, event->status, bytes_of(event->data, event->size_bytes));
            break;
        }
    }
    if (!kept) {
        memory_free(event);
    }
    link_unref(link);
}

/* --- calls ------------------------------------------------------------------------------------ */

enum status lane_call(struct server_lane *lane,
                      struct call *call,
                      enum method method,
                      struct buffer *message,
                      struct error *ret_error)
{
    ASSERT(call->lane == NULL);
    enum status status = lane_connect(lane, ret_error);
    if (status != STATUS_OK) {
        buffer_deinit(message);
        return status;
    }
    call->request = ++lane->request_last;
    status = transport_connection_send(lane->connected->connection, call->request, method, message);
    if (status != STATUS_OK) {
        (void)error_set(ret_error, status, "cannot send to %s: %s",
                        location_cache_address(&lane->client->locations, lane->address),
                        status_text(status));
        buffer_deinit(message);
        if (status == STATUS_CLOSED) {
            /* Its other calls would be answered late or never. */
            struct error going = {0};
            (void)error_set(&going, STATUS_CLOSED, "%s is going away",
                            location_cache_address(&lane->client->locations, lane->address));
            lane_close(lane, going.status, bytes_of_text(going.text));
        }
        return status;
    }
    call->lane = lane;
    list_init(&call->link);
    list_append(&lane->calls, &call->link);
    lane->asked_ns = lane->asked_ns != 0 ? lane->asked_ns : lane->client->loop.now_ns;
    watch(lane);
    return STATUS_OK;
}

void lane_cancel(struct call *call)
{
    struct server_lane *lane = call->lane;
    if (lane == NULL) {
        return;
    }
    list_remove(&call->link);
    call->lane = NULL;
    transport_connection_cancel(lane->connected->connection, call->request);
}

void lane_cancel_unanswered(struct call *call)
{
    struct server_lane *lane = call->lane;
    lane_cancel(call);
    if (lane != NULL && lane->ready && list_is_empty(&lane->calls) && lane->asked_ns != 0 &&
        lane->client->loop.now_ns - lane->asked_ns >= LANE_SILENT_NS) {
        lane_give_up(lane, bytes_of_text("nothing has come over the connection for long"));
    }
}

void lane_credit(struct call *call, uint64_t bytes)
{
    if (call->lane != NULL && bytes > 0) {
        transport_connection_credit(call->lane->connected->connection, call->request, bytes);
    }
}

void lane_mark(struct server_lane *lane)
{
    if (list_is_empty(&lane->dirty)) {
        list_append(&lane->client->dirty_lanes, &lane->dirty);
    }
}

void lane_enqueue(struct server_lane *lane, struct parcel *parcel)
{
    list_append(&lane->queue, &parcel->link);
    watch(lane);
    lane_mark(lane);
}

/* --- all of them ------------------------------------------------------------------------------ */

static uint32_t lanes_of_address(const struct edubba_client *client)
{
    return LANE_KINDS * client->connections;
}

static bool make_room(struct edubba_client *client, uint32_t count)
{
    if (count <= client->lane_capacity) {
        return true;
    }
    uint32_t capacity = 2 * count;
    struct server_lane **lanes = memory_resize(client->lanes, capacity * sizeof *lanes);
    if (lanes == NULL) {
        return false;
    }
    for (uint32_t i = client->lane_capacity; i < capacity; i++) {
        lanes[i] = NULL;
    }
    client->lanes = lanes;
    client->lane_capacity = capacity;
    return true;
}

static struct server_lane *lane_at(struct edubba_client *client,
                                   uint32_t address,
                                   enum lane kind,
                                   uint32_t connection)
{
    uint32_t at = address * lanes_of_address(client) + (uint32_t)kind * client->connections +
                  connection;
    if (!make_room(client, at + 1)) {
        return NULL;
    }
    if (client->lanes[at] == NULL) {
        struct server_lane *lane = memory_allocate_zeroed(1, sizeof *lane);
        if (lane == NULL) {
            return NULL;
        }
        if (kind != LANE_CONTROL && (lane->silence = silence_create(lane)) == NULL) {
            memory_free(lane);
            return NULL;
        }
        lane->client = client;
        lane->address = address;
        lane->kind = kind;
        lane->connect_timer.run = on_connect_timer;
        list_init(&lane->dirty);
        list_init(&lane->calls);
        list_init(&lane->queue);
        client->lanes[at] = lane;
    }
    return client->lanes[at];
}

struct server_lane *lane_get(struct edubba_client *client, uint32_t address, enum lane kind)
{
    return lane_at(client, address, kind, 0);
}

static bool is_idle(const struct server_lane *lane)
{
    return lane->batches_in_flight == 0 && list_is_empty(&lane->queue);
}

struct server_lane *lane_choose(struct edubba_client *client, uint32_t address, enum lane kind)
{
    struct server_lane *next = NULL;
    for (uint32_t i = 0; i < client->connections; i++) {
        client->connection_next = (client->connection_next + 1) % client->connections;
        next = lane_at(client, address, kind, client->connection_next);
        if (next == NULL || is_idle(next)) {
            break;
        }
    }
    return next;
}

bool lane_is_in_use(const struct server_lane *lane, int64_t since_ns)
{
    return !list_is_empty(&lane->calls) || !list_is_empty(&lane->queue) ||
           lane->batches_in_flight > 0 || (lane->connected != NULL && lane->heard_ns >= since_ns);
}

/* Nothing waits for it; its connection may still be closing when it is gone. */
static void lane_discard(struct server_lane *lane)
{
    if (lane->connected != NULL) {
        link_close(lane->connected);
    }
    silence_destroy(lane->silence);
    loop_clear_timer(&lane->client->loop, &lane->connect_timer);
    list_remove(&lane->dirty);
    memory_free(lane);
}

bool lanes_renumber(struct edubba_client *client, const uint32_t *numbers, uint32_t kept_count)
{
    const uint32_t each = lanes_of_address(client);
    uint32_t capacity = kept_count * each;
    struct server_lane **lanes = memory_allocate_zeroed(capacity, sizeof *lanes);
    if (lanes == NULL) {
        return false;
    }
    for (uint32_t i = 0; i < client->lane_capacity; i++) {
        struct server_lane *lane = client->lanes[i];
        if (lane != NULL && numbers[lane->address] == LOCATION_NOT_SERVED) {
            lane_discard(lane);
        } else if (lane != NULL) {
            lane->address = numbers[lane->address];
            lanes[lane->address * each + i % each] = lane;
        }
    }
    memory_free(client->lanes);
    client->lanes = lanes;
    client->lane_capacity = capacity;
    return true;
}

void lanes_destroy(struct edubba_client *client)
{
    /* before any lane goes: one asks over another */
    for (uint32_t i = 0; i < client->lane_capacity; i++) {
        if (client->lanes[i] != NULL) {
            silence_destroy(client->lanes[i]->silence);
        }
    }
    for (uint32_t i = 0; i < client->lane_capacity; i++) {
        struct server_lane *lane = client->lanes[i];
        if (lane != NULL && lane->connected != NULL) {
            struct link *link = lane->connected;
            link->is_over = true;
            transport_connection_close(link->connection);
            link_unref(link);
        }
        if (lane != NULL) {
            loop_clear_timer(&client->loop, &lane->connect_timer); /* the heap outlives the lane */
        }
        memory_free(lane);
    }
    memory_free(client->lanes);
    client->lanes = NULL;
    client->lane_capacity = 0;
}
