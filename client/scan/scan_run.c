/* The loop's side of a scan: where to ask, asking, and what comes. */
#include "client/scan/scan.h"

#include "common/base/assert.h"
#include "common/base/memory.h"

#define NS_PER_MS        INT64_C(1000000)
#define CLIP_ARENA_BYTES 4096

/* Of ranges that are asked for at once: a message has an end, and a server keeps them while it reads. */
#define RANGES_BYTES_MAX (4 * 1024 * 1024)
#define RANGE_BYTES      8 /* of each, beside its bounds */

static void go_on(struct plain_scan *scan);

static struct loop *loop_of(struct plain_scan *scan)
{
    return &scan->client->loop;
}

static struct plain_scan *scan_of_call(struct call *call)
{
    return LIST_ELEMENT(call, struct plain_scan, call);
}

/* --- telling the caller's side ---------------------------------------------------------------- */

/* With the lock held; releases it. */
static void tell_and_unlock(struct plain_scan *scan)
{
    void (*on_ready)(void *) = scan->on_ready;
    void *context = scan->on_ready_context;
    scan->on_ready = NULL;
    scan->is_telling = on_ready != NULL;
    pthread_cond_broadcast(&scan->changed);
    pthread_mutex_unlock(&scan->lock);
    if (on_ready != NULL) {
        on_ready(context);
        pthread_mutex_lock(&scan->lock);
        scan->is_telling = false;
        pthread_cond_broadcast(&scan->changed);
        pthread_mutex_unlock(&scan->lock);
    }
}

static void end(struct plain_scan *scan, enum status status, struct bytes text)
{
    scan_run_stop(scan);
    pthread_mutex_lock(&scan->lock);
    scan->has_ended = true;
    if (status != STATUS_OK) {
        (void)error_set(&scan->end, status, "%.*s", (int)text.size_bytes, (const char *)text.data);
    }
    tell_and_unlock(scan);
}

void scan_run_stop(struct plain_scan *scan)
{
    loop_clear_timer(loop_of(scan), &scan->timer);
    list_remove(&scan->waiter.link);
    lane_cancel(&scan->call);
    scan->is_paused = false;
}

/* --- trouble and patience --------------------------------------------------------------------- */

static void arm(struct plain_scan *scan, int64_t pause_ns)
{
    int64_t deadline_ns = scan->progress_ns + scan->deadline_ms * NS_PER_MS;
    int64_t due_ns = loop_of(scan)->now_ns + pause_ns;
    scan->is_paused = pause_ns >= 0;
    loop_set_timer(loop_of(scan), &scan->timer,
                   scan->is_paused && due_ns < deadline_ns ? due_ns : deadline_ns);
}

/* The last row that was asked for may be here before its server says that there are no more, and a slow
 * caller makes that long.  Then nothing is left to be asked for: however that word is lost, all is well.
 * True: so it was, and it has ended. */
static bool end_if_all_is_here(struct plain_scan *scan)
{
    if (!scan_plan_is_done(&scan->plan)) {
        return false;
    }
    end(scan, STATUS_OK, BYTES_EMPTY);
    return true;
}

static void on_failure(struct plain_scan *scan, enum status status, struct bytes text, bool located)
{
    int64_t pause_ns = 0;
    if (end_if_all_is_here(scan)) {
        return;
    }
    (void)error_set(&scan->trouble, status, "%.*s", (int)text.size_bytes, (const char *)text.data);
    switch (retry_on_failure(&scan->retry, status, located, &scan->client->prng, &pause_ns)) {
    case RETRY_FINAL:
        end(scan, status, text);
        return;
    case RETRY_NOW:
        go_on(scan);
        return;
    case RETRY_LATER:
        if (status == STATUS_NOT_OWNER) {
            route_doubt(scan->client, scan->table, buffer_bytes(&scan->row));
        } else if (retry_looks_again(&scan->retry)) {
            route_refresh(scan->client, scan->table, buffer_bytes(&scan->row));
        }
        client_tell_trouble(scan->client, scan->progress_ns, scan->trouble.text);
        arm(scan, pause_ns);
        return;
    }
    UNREACHABLE();
}

static void expire(struct plain_scan *scan)
{
    bool is_located = list_is_empty(&scan->waiter.link);
    struct error error = {0};
    if (end_if_all_is_here(scan)) {
        return;
    }
    (void)error_set(&error, STATUS_DEADLINE_EXCEEDED, "no row within %u ms", scan->deadline_ms);
    client_append_waited_for(scan->client,
                             is_located ? scan->address : route_asked(scan->client, scan->table),
                             scan->trouble.text, &error);
    end(scan, error.status, bytes_of_text(error.text));
}

static void on_timer(void *context, struct timer *timer)
{
    struct edubba_client *client = context;
    struct plain_scan *scan = LIST_ELEMENT(timer, struct plain_scan, timer);
    int64_t now_ns = client->loop.now_ns;
    int64_t pause_ns = 0;

    pthread_mutex_lock(&scan->lock);
    bool caller_is_slow = scan->buffered_bytes > 0;
    pthread_mutex_unlock(&scan->lock);
    if (caller_is_slow) {
        scan->progress_ns = now_ns; /* it is not the servers that it waits for */
    }
    if (now_ns >= scan->progress_ns + scan->deadline_ms * NS_PER_MS) {
        expire(scan);
    } else if (!scan->is_paused) {
        arm(scan, -1);
    } else if (retry_may_start(&scan->retry, 1, &client->budget, &client->prng, now_ns,
                               &pause_ns)) {
        go_on(scan);
    } else {
        arm(scan, pause_ns);
    }
}

/* The server at scan->address does not have it, or is away. */
static void doubt_location(struct plain_scan *scan)
{
    location_cache_invalidate(&scan->client->locations, scan->table, buffer_bytes(&scan->row),
                              scan->address);
}

static void on_closed(struct call *call, enum status status, struct bytes text)
{
    struct plain_scan *scan = scan_of_call(call);
    (void)status;
    doubt_location(scan);
    on_failure(scan, STATUS_CLOSED, text, false);
}

/* --- messages --------------------------------------------------------------------------------- */

/* With the lock held. */
static void note_progress(struct plain_scan *scan, const struct scan_response *response)
{
    if (scan->tells_progress && response->last_scanned.size_bytes > 0) {
        buffer_reset(&scan->progress);
        buffer_append_bytes(&scan->progress, response->last_scanned);
    }
}

static void keep_chunk(struct plain_scan *scan,
                       struct link_event *event,
                       const struct scan_response *response)
{
    pthread_mutex_lock(&scan->lock);
    scan->statistics.rows_seen += response->rows_seen;
    scan->statistics.cells_seen += response->cells_seen;
    scan->statistics.rows_returned += response->rows_returned;
    scan->statistics.cells_returned += response->cells_returned;
    scan->buffered_bytes += event->size_bytes;
    event->rows = response->rows;
    event->task.next = NULL;
    *scan->last_chunk = event;
    scan->last_chunk = (struct link_event **)(void *)&event->task.next;
    note_progress(scan, response);
    tell_and_unlock(scan);
}

/* A message without rows: the caller has nothing to take, so its bytes are granted again at once. */
static void count_empty(struct plain_scan *scan,
                        const struct link_event *event,
                        const struct scan_response *response)
{
    pthread_mutex_lock(&scan->lock);
    scan->statistics.rows_seen += response->rows_seen;
    scan->statistics.cells_seen += response->cells_seen;
    if (scan->tells_progress) {
        note_progress(scan, response);
        tell_and_unlock(scan);
    } else {
        pthread_mutex_unlock(&scan->lock);
    }
    lane_credit(&scan->call, event->size_bytes);
}

/* What this message proves to be done. */
static enum status advance(struct plain_scan *scan, const struct scan_response *response)
{
    enum status status = STATUS_OK;
    if (response->last_scanned.size_bytes > 0) {
        status = scan_plan_advance(&scan->plan, response->last_scanned);
    }
    if (status == STATUS_OK && response->done) {
        /* No more than was asked of it, no more than it holds. */
        struct row_range both;
        if (row_range_intersect(&scan->asked, &response->tablet, &both)) {
            status = scan_plan_finish_range(&scan->plan, &both);
        }
    }
    return status;
}

static bool limit_is_reached(const struct plain_scan *scan)
{
    return scan->rows_limit > 0 && scan->rows_received >= scan->rows_limit;
}

/* True if the event was kept. */
static bool on_rows(struct plain_scan *scan, struct link_event *event, struct bytes body)
{
    struct scan_response response;
    struct error error = {0};
    bool kept = false;

    enum status status = scan_response_decode(body, &response, &error);
    if (status == STATUS_OK && advance(scan, &response) != STATUS_OK) {
        status = client_status_no_memory(&error);
    }
    if (status != STATUS_OK) {
        end(scan, status, bytes_of_text(error.text));
        return false;
    }
    scan->progress_ns = loop_of(scan)->now_ns;
    retry_on_success(&scan->retry, &scan->client->budget);
    scan->retry = (struct retry){0};
    scan->rows_received += response.rows_returned;
    bool is_over = !event->stream;
    if (response.rows.size_bytes > 0) {
        keep_chunk(scan, event, &response);
        kept = true;
    } else {
        count_empty(scan, event, &response);
    }
    if (limit_is_reached(scan) || (is_over && scan_plan_is_done(&scan->plan))) {
        end(scan, STATUS_OK, BYTES_EMPTY);
    } else if (is_over) {
        go_on(scan);
    }
    return kept;
}

/* The refusal may say which row could not be read: keep that.  Without memory only its text is told. */
static void keep_failed_row(struct plain_scan *scan, struct bytes body)
{
    struct scan_response response = {0};
    if (body.size_bytes > 0 && scan_response_decode(body, &response, NULL) == STATUS_OK) {
        buffer_append_bytes(&scan->failed_row, response.last_scanned);
    }
    if (scan->failed_row.failed) {
        buffer_reset(&scan->failed_row);
    }
}

static void on_refused(struct plain_scan *scan,
                       enum status status,
                       struct bytes text,
                       struct bytes body)
{
    struct scan_response response = {0};
    bool located = false;
    lane_cancel(&scan->call);
    if (status == STATUS_NOT_OWNER) {
        bool told = body.size_bytes > 0 &&
                    scan_response_decode(body, &response, NULL) == STATUS_OK &&
                    response.has_location;
        located = route_learn(scan->client, scan->table, buffer_bytes(&scan->row), scan->address,
                              told ? &response.location : NULL);
    } else if (status == STATUS_FAILED_PRECONDITION) { /* no attempt follows */
        keep_failed_row(scan, body);
    }
    on_failure(scan, status, text, located);
}

static bool on_message(struct call *call, struct link_event *event)
{
    struct plain_scan *scan = scan_of_call(call);
    struct response_head head = {0};
    struct bytes body = BYTES_EMPTY;
    struct error error = {0};

    enum status status = response_head_decode(bytes_of(event->data, event->size_bytes), &head,
                                              &body, &error);
    if (status != STATUS_OK) {
        end(scan, status, bytes_of_text(error.text));
        return false;
    }
    if (head.status != STATUS_OK) {
        on_refused(scan, client_status_of_number(head.status), head.text, body);
        return false;
    }
    return on_rows(scan, event, body);
}

/* --- asking ----------------------------------------------------------------------------------- */

static bool copy_bytes(struct buffer *to, struct bytes from, struct bytes *ret_copy)
{
    buffer_reset(to);
    buffer_append_bytes(to, from);
    *ret_copy = buffer_bytes(to);
    return !to->failed;
}

/* So many of the ranges, in reading order, as are asked for at once; what is asked ends with them.
 * False without memory. */
static bool shorten(struct plain_scan *scan, struct row_set *part)
{
    size_t count = 0;
    size_t size_bytes = 0;
    while (count < part->count && size_bytes < RANGES_BYTES_MAX) {
        size_t at = scan->reversed ? part->count - 1 - count : count;
        const struct row_range *range = &part->ranges[at];
        size_bytes += RANGE_BYTES + range->start.size_bytes + range->end.size_bytes;
        count++;
    }
    size_t left = part->count - count;
    part->count = count;
    if (left == 0) {
        return true;
    }
    if (scan->reversed) {
        part->ranges += left;
        return copy_bytes(&scan->asked_start, part->ranges[0].start, &scan->asked.start);
    }
    return copy_bytes(&scan->asked_end, part->ranges[count - 1].end, &scan->asked.end);
}

/* What is left of the set inside the tablet, as far as its range is known here. */
static enum status encode_request(struct plain_scan *scan,
                                  const struct row_range *tablet,
                                  struct buffer *message)
{
    struct row_set left = scan_plan_left(&scan->plan);
    struct row_set part;
    struct arena arena;

    if (!copy_bytes(&scan->asked_start, tablet->start, &scan->asked.start) ||
        !copy_bytes(&scan->asked_end, tablet->end, &scan->asked.end)) {
        return STATUS_NO_MEMORY;
    }
    pthread_mutex_lock(&scan->lock);
    uint64_t buffered_bytes = scan->buffered_bytes;
    scan->credit_bytes = 0; /* it is in what is granted now */
    pthread_mutex_unlock(&scan->lock);
    arena_init(&arena, CLIP_ARENA_BYTES, SIZE_MAX);
    enum status status = row_set_clip(&arena, &left, &scan->asked, &part);
    if (status == STATUS_OK && part.count == 0) {
        part = left; /* a range that holds nothing: ask_for_nothing() */
    }
    if (status == STATUS_OK && !shorten(scan, &part)) {
        status = STATUS_NO_MEMORY;
    }
    if (status == STATUS_OK) {
        struct scan_request request = {
            .table = scan->table,
            .rows = part.ranges,
            .row_range_count = part.count,
            .filter = scan->filter_tree,
            .rows_limit = scan->rows_limit > 0 ? scan->rows_limit - scan->rows_received : 0,
            .reversed = scan->reversed,
            .credit_bytes = scan->buffer_bytes > buffered_bytes
                                ? scan->buffer_bytes - buffered_bytes
                                : 0,
        };
        struct request_head head = {.trace = prng_next(&scan->client->prng)};
        request_head_encode(&head, message);
        scan_request_encode(&request, message);
        status = message->failed ? STATUS_NO_MEMORY : STATUS_OK;
    }
    arena_deinit(&arena);
    return status;
}

static void ask(struct plain_scan *scan, const struct location_entry *entry)
{
    struct buffer message = BUFFER_INIT;
    struct error error = {0};
    scan->address = entry->address;
    if (entry->address == LOCATION_NOT_SERVED) {
        doubt_location(scan);
        on_failure(scan, STATUS_CLOSED, bytes_of_text("no server holds the next tablet now"),
                   false);
        return;
    }
    struct server_lane *lane = lane_get(scan->client, entry->address, LANE_BULK);
    enum status status = lane == NULL ? STATUS_NO_MEMORY
                                      : encode_request(scan, &entry->range, &message);
    if (status != STATUS_OK) {
        buffer_deinit(&message);
        end(scan, status, bytes_of_text("out of memory"));
        return;
    }
    status = lane_call(lane, &scan->call, METHOD_SCAN, &message, &error);
    if (status != STATUS_OK) {
        doubt_location(scan);
        on_failure(scan, STATUS_CLOSED, bytes_of_text(error.text), false);
        return;
    }
    arm(scan, -1);
}

static void on_located(struct edubba_client *client,
                       struct route_waiter *waiter,
                       enum status status,
                       struct bytes text)
{
    struct plain_scan *scan = LIST_ELEMENT(waiter, struct plain_scan, waiter);
    (void)client;
    if (status == STATUS_OK) {
        go_on(scan);
    } else {
        scan->address = LOCATION_NOT_SERVED;
        on_failure(scan, status, text, false);
    }
}

/* Go on with the tablet that has the next row that is left. */
static void go_on(struct plain_scan *scan)
{
    scan_plan_next_row(&scan->plan, &scan->row);
    if (scan->row.failed) {
        end(scan, STATUS_NO_MEMORY, bytes_of_text("out of memory"));
        return;
    }
    const struct location_entry *entry = location_cache_find(&scan->client->locations, scan->table,
                                                             buffer_bytes(&scan->row));
    if (entry != NULL) {
        ask(scan, entry);
        return;
    }
    scan->waiter.row = buffer_bytes(&scan->row);
    arm(scan, -1);
    route_wait(scan->client, scan->table, &scan->waiter);
}

void scan_run_start(struct plain_scan *scan)
{
    scan->call.on_message = on_message;
    scan->call.on_closed = on_closed;
    scan->timer.run = on_timer;
    scan->waiter.on_located = on_located;
    scan->progress_ns = loop_of(scan)->now_ns;
    scan->address = LOCATION_NOT_SERVED;
    if (scan_plan_is_done(&scan->plan)) {
        end(scan, STATUS_OK, BYTES_EMPTY);
    } else {
        go_on(scan);
    }
}

void scan_run_credit(struct plain_scan *scan)
{
    pthread_mutex_lock(&scan->lock);
    uint64_t bytes = scan->credit_bytes;
    scan->credit_bytes = 0;
    scan->credit_is_posted = false;
    pthread_mutex_unlock(&scan->lock);
    scan->progress_ns = loop_of(scan)->now_ns;
    lane_credit(&scan->call, bytes);
}
