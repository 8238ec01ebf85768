#include "client/routing/request.h"

#include "common/base/memory.h"
#include "common/io/transport/transport_address.h"

#define NS_PER_MS         INT64_C(1000000)
#define PAUSE_MAX_NS      (INT64_C(250) * NS_PER_MS)   /* a new master may be there at any moment */
#define MASTER_SILENT_NS  (INT64_C(10000) * NS_PER_MS) /* others are asked first for so long */
#define REDIRECTIONS_MAX  4 /* followed at once; those who name each other know nothing new */
#define ARENA_BLOCK_BYTES 512

static void attempt(struct request *request);

static void finish(struct request *request,
                   enum status status,
                   struct bytes text,
                   struct bytes body)
{
    request_cancel(request);
    request->on_done(request, status, text, body);
}

static void expire(struct request *request)
{
    struct error error = {0};
    (void)error_set(&error, STATUS_DEADLINE_EXCEEDED, "the deadline of %u ms has passed",
                    request->deadline_ms);
    client_append_waited_for(request->client, request->asked, request->trouble.text, &error);
    lane_cancel_unanswered(&request->call);
    finish(request, error.status, bytes_of_text(error.text), BYTES_EMPTY);
}

static void arm(struct request *request, int64_t due_ns)
{
    due_ns = due_ns < request->deadline_ns ? due_ns : request->deadline_ns;
    loop_set_timer(&request->client->loop, &request->timer, due_ns);
}

/* Has no address taken a connection for as long as the caller waits for that (unreachable_ms)? */
static bool is_hopeless(const struct request *request)
{
    int64_t waited_ns = request->client->loop.now_ns - request->started_ns;
    return request->unreachable_ms > 0 && !request->was_reached &&
           waited_ns >= request->unreachable_ms * NS_PER_MS;
}

static void next_master(struct edubba_client *client)
{
    client->master_current = (client->master_current + 1) % client->master_count;
}

/* Has everyone been asked, and nobody is a master? */
static bool is_refused(const struct request *request)
{
    uint32_t everyone = (UINT32_C(1) << request->client->master_count) - 1;
    bool round_is_over = request->attempts % request->client->master_count == 0;
    return request->refused_by == everyone ||
           (request->refused_by != 0 && request->servers_will_do && round_is_over);
}

/* The attempt failed in a way that may be over soon. */
static void pause_or_fail(struct request *request, enum status status, struct bytes text)
{
    struct edubba_client *client = request->client;
    (void)error_set(&request->trouble, status, "%.*s", (int)text.size_bytes,
                    (const char *)text.data);
    if (request->address == REQUEST_TO_MASTER) {
        next_master(client);
        request->attempts++;
    }
    if (status == STATUS_VERSION || status == STATUS_FAILED_PRECONDITION ||
        (request->may_be_received && !request->repeatable)) {
        enum status final = request->may_be_received && !request->repeatable ? STATUS_UNAVAILABLE
                                                                             : status;
        struct error error = {0};
        (void)error_set(&error, final, "%s%s", request->trouble.text,
                        request->may_be_received ? " (it may or may not have been done)" : "");
        finish(request, final, bytes_of_text(error.text), BYTES_EMPTY);
        return;
    }
    if (is_refused(request)) {
        struct error error = request->trouble;
        finish(request, STATUS_UNIMPLEMENTED, bytes_of_text(error.text), BYTES_EMPTY);
        return;
    }
    if (is_hopeless(request)) {
        struct error error = request->trouble;
        finish(request, STATUS_UNAVAILABLE, bytes_of_text(error.text), BYTES_EMPTY);
        return;
    }
    client_tell_trouble(client, request->started_ns, request->trouble.text);
    /* The other masters are asked at once, the round again after a pause. */
    bool round_is_over = request->address != REQUEST_TO_MASTER ||
                         request->attempts % client->master_count == 0;
    int64_t pause_ns = round_is_over ? retry_pause_ns(&client->prng, request->retry.pauses++) : 0;
    if (request->address == REQUEST_TO_MASTER && pause_ns > PAUSE_MAX_NS) {
        pause_ns = PAUSE_MAX_NS;
    }
    request->redirections = round_is_over ? 0 : request->redirections;
    arm(request, client->loop.now_ns + pause_ns);
}

static void on_closed(struct call *call, enum status status, struct bytes text)
{
    struct request *request = LIST_ELEMENT(call, struct request, call);
    request->may_be_received = call->may_be_received;
    bool nobody_there = status == STATUS_UNAVAILABLE || status == STATUS_INVALID_ARGUMENT;
    request->was_reached |= call->may_be_received || !nobody_there;
    pause_or_fail(request, status, text);
}

static bool is_asked(const struct edubba_client *client, uint32_t master)
{
    for (struct list_link *at = client->requests.next; at != &client->requests; at = at->next) {
        const struct request *request = LIST_ELEMENT(at, struct request, link);
        if (request->address == REQUEST_TO_MASTER && request->call.lane != NULL &&
            request->master_asked == master) {
            return true;
        }
    }
    return false;
}

/* A place for one more: one of its own, or that of another that was learned, in turn; where masters come and
 * go that has mostly gone.  Not of the one that has just named it.  EDUBBA_MASTERS_MAX: there is none. */
static uint32_t take_place(struct edubba_client *client, uint32_t named_by)
{
    if (client->master_count < EDUBBA_MASTERS_MAX) {
        return client->master_count++;
    }
    uint32_t learned = client->master_count - client->given_count;
    for (uint32_t i = 0; i < learned; i++) {
        client->master_replaced = (client->master_replaced + 1) % learned;
        uint32_t at = client->given_count + client->master_replaced;
        if (at != named_by && !is_asked(client, at)) {
            return at;
        }
    }
    return EDUBBA_MASTERS_MAX;
}

static void put_master(struct edubba_client *client, uint32_t at, uint32_t number)
{
    client->masters[at] = number;
    client->is_master[at] = false;
    client->master_silent_until_ns[at] = 0;
    for (struct list_link *each = client->requests.next; each != &client->requests;
         each = each->next) {
        LIST_ELEMENT(each, struct request, link)->refused_by &= ~(UINT32_C(1) << at);
    }
}

/* The index of the master at that address, added if need be; EDUBBA_MASTERS_MAX if that cannot be. */
static uint32_t find_master(struct edubba_client *client, struct bytes address, uint32_t named_by)
{
    uint32_t number = 0;
    uint32_t at = 0;
    if (location_cache_intern(&client->locations, address, &number) != STATUS_OK) {
        return EDUBBA_MASTERS_MAX;
    }
    while (at < client->master_count && client->masters[at] != number) {
        at++;
    }
    if (at == client->master_count) {
        at = take_place(client, named_by);
        if (at < EDUBBA_MASTERS_MAX) {
            put_master(client, at, number);
        }
    }
    return at;
}

static bool is_dialable(struct bytes address)
{
    char *copy = memory_copy_text(address);
    bool dialable = copy != NULL && transport_address_check_dial(copy, NULL) == STATUS_OK;
    memory_free(copy);
    return dialable;
}

static bool is_silent(const struct edubba_client *client, uint32_t master)
{
    return client->loop.now_ns < client->master_silent_until_ns[master];
}

/* It stands by: ask the one that it names.  False: it names none that would be worth it. */
static bool follow(struct request *request, struct bytes body)
{
    struct edubba_client *client = request->client;
    struct standby_response standby = {0};
    struct arena arena;
    bool follows = false;

    arena_init(&arena, ARENA_BLOCK_BYTES, SIZE_MAX);
    if (request->address == REQUEST_TO_MASTER && !request->at_server && body.size_bytes > 0 &&
        request->redirections < REDIRECTIONS_MAX &&
        standby_response_decode(body, &arena, &standby, NULL) == STATUS_OK &&
        is_dialable(standby.active)) {
        uint32_t active = find_master(client, standby.active, request->master_asked);
        follows = active < EDUBBA_MASTERS_MAX && active != request->master_asked &&
                  !(request->servers_may_answer && is_silent(client, active));
        client->master_current = follows ? active : client->master_current;
    }
    arena_deinit(&arena);
    if (follows) {
        request->redirections++;
        arm(request, client->loop.now_ns);
    }
    return follows;
}

/* A tablet server stands among the masters' addresses.  Why no master answers is worth more words. */
static void on_refusal(struct request *request, struct bytes text)
{
    struct error known = request->trouble;
    request->may_be_received = false;
    request->refused_by |= request->at_server ? 0 : UINT32_C(1) << request->master_asked;
    pause_or_fail(request, STATUS_UNAVAILABLE,
                  known.text[0] != '\0' ? bytes_of_text(known.text) : text);
}

/* Who answers what only masters do is one.  Others are not asked first the next time. */
static void learn_who_answered(struct request *request)
{
    struct edubba_client *client = request->client;
    if (request->address != REQUEST_TO_MASTER || request->at_server) {
        return;
    }
    if (!request->servers_may_answer && request->method != METHOD_STATUS) {
        client->is_master[request->master_asked] = true;
    }
    request->answered_by_master = client->is_master[request->master_asked];
    client->master_silent_until_ns[request->master_asked] = 0;
    if (!request->answered_by_master && client->master_current == request->master_asked) {
        next_master(client);
    }
}

static bool on_message(struct call *call, struct link_event *event)
{
    struct request *request = LIST_ELEMENT(call, struct request, call);
    struct response_head head = {0};
    struct bytes body = BYTES_EMPTY;
    struct error error = {0};

    lane_cancel(call); /* one message is all there is */
    enum status status = response_head_decode(bytes_of(event->data, event->size_bytes), &head,
                                              &body, &error);
    if (status != STATUS_OK) {
        finish(request, status, bytes_of_text(error.text), BYTES_EMPTY);
        return false;
    }
    request->was_answered = true;
    status = client_status_of_number(head.status);
    if (status == STATUS_UNIMPLEMENTED && request->address == REQUEST_TO_MASTER) {
        on_refusal(request, head.text);
        return false;
    }
    request->was_reached = true;
    if (status == STATUS_UNAVAILABLE || (request->at_server && status == STATUS_NOT_FOUND)) {
        request->may_be_received = false; /* it said that it has not done it */
        (void)error_set(&request->trouble, STATUS_UNAVAILABLE, "%.*s", (int)head.text.size_bytes,
                        (const char *)head.text.data);
        if (!follow(request, body)) {
            pause_or_fail(request, STATUS_UNAVAILABLE, head.text);
        }
    } else {
        learn_who_answered(request);
        finish(request, status, head.text, body);
    }
    return false;
}

/* The current one; where others may answer too, the first from it on that was not silent. */
static uint32_t choose_master(const struct request *request)
{
    const struct edubba_client *client = request->client;
    for (uint32_t i = 0; request->servers_may_answer && i < client->master_count; i++) {
        uint32_t master = (client->master_current + i) % client->master_count;
        if (!is_silent(client, master)) {
            return master;
        }
    }
    return client->master_current;
}

/* Every other round without a master, or every other attempt where all are silent. */
static bool is_turn_of_server(const struct request *request)
{
    const struct edubba_client *client = request->client;
    uint32_t turn = is_silent(client, choose_master(request))
                        ? request->attempts + 1
                        : request->attempts / client->master_count;
    return request->servers_may_answer && turn % 2 == 1;
}

static bool choose_server(struct request *request, uint32_t *ret_address)
{
    struct edubba_client *client = request->client;
    uint32_t servers = client->locations.address_count - client->given_count;
    if (!is_turn_of_server(request)) {
        return false;
    }
    if (request->servers_asked < request->ask_first_count) {
        *ret_address = request->ask_first[request->servers_asked++];
        return true;
    }
    if (servers == 0) {
        return false;
    }
    /* The addresses that were given were interned first. */
    *ret_address = client->given_count + (uint32_t)prng_below(&client->prng, servers);
    return true;
}

static enum status choose_lane(struct request *request, struct server_lane **ret_lane)
{
    struct edubba_client *client = request->client;
    uint32_t address = request->address;
    if (address == REQUEST_TO_MASTER) {
        request->at_server = choose_server(request, &address);
        if (!request->at_server) {
            request->master_asked = choose_master(request);
            address = client->masters[request->master_asked];
        }
    }
    request->asked = address;
    *ret_lane = lane_get(client, address, LANE_CONTROL);
    return *ret_lane != NULL ? STATUS_OK : STATUS_NO_MEMORY;
}

/* After that another one is asked: soon, where tablet servers know it too. */
static int64_t patience_ns(const struct request *request)
{
    return request->servers_may_answer ? retry_silence_ns(request->silences) : RETRY_SILENCE_CAP_NS;
}

static void attempt(struct request *request)
{
    struct edubba_client *client = request->client;
    struct buffer message = BUFFER_INIT;
    struct error error = {0};
    struct server_lane *lane = NULL;
    int64_t left_ns = request->deadline_ns - client->loop.now_ns;

    if (left_ns <= 0) {
        expire(request);
        return;
    }
    struct request_head head = {.deadline_ms = (uint32_t)(left_ns / NS_PER_MS + 1),
                                .trace = prng_next(&client->prng)};
    enum status status = choose_lane(request, &lane);
    if (status == STATUS_OK) {
        request_head_encode(&head, &message);
        buffer_append_bytes(&message, buffer_bytes(&request->body));
        status = lane_call(lane, &request->call, request->method, &message, &error);
    }
    if (status == STATUS_NO_MEMORY || status == STATUS_RESOURCE_EXHAUSTED ||
        status == STATUS_INVALID_ARGUMENT || status == STATUS_UNIMPLEMENTED) {
        finish(request, status, bytes_of_text(error.text), BYTES_EMPTY);
        return;
    }
    if (status != STATUS_OK) {
        /* Why it was closed says more than that it still is. */
        struct error known = request->trouble;
        pause_or_fail(request, status,
                      bytes_of_text(known.text[0] != '\0' ? known.text : error.text));
        return;
    }
    arm(request, request->repeatable ? client->loop.now_ns + patience_ns(request) : INT64_MAX);
}

static void note_silence(const struct request *request)
{
    struct edubba_client *client = request->client;
    if (request->address == REQUEST_TO_MASTER && !request->at_server) {
        client->master_silent_until_ns[request->master_asked] = client->loop.now_ns +
                                                                MASTER_SILENT_NS;
    }
}

/* Who was asked has not answered in its time. */
static void give_up_attempt(struct request *request)
{
    struct error error = {0};
    (void)error_set(&error, STATUS_UNAVAILABLE, "%s has not answered for %lld ms",
                    location_cache_address(&request->client->locations, request->asked),
                    (long long)(patience_ns(request) / NS_PER_MS));
    lane_cancel_unanswered(&request->call);
    request->was_reached = true;
    request->silences++;
    note_silence(request);
    pause_or_fail(request, error.status, bytes_of_text(error.text));
}

static void on_timer(void *context, struct timer *timer)
{
    struct edubba_client *client = context;
    struct request *request = LIST_ELEMENT(timer, struct request, timer);
    bool silent = request->call.lane != NULL && request->address == REQUEST_TO_MASTER;
    if (client->loop.now_ns >= request->deadline_ns) {
        if (silent && !request->at_server) {
            next_master(client); /* who has not answered is not asked first the next time */
            note_silence(request);
        }
        expire(request);
    } else if (request->call.lane != NULL) {
        give_up_attempt(request);
    } else {
        attempt(request);
    }
}

void request_start(struct request *request)
{
    request->call.on_message = on_message;
    request->call.on_closed = on_closed;
    request->timer.run = on_timer;
    request->asked = LOCATION_NOT_SERVED;
    request->started_ns = request->client->loop.now_ns;
    request->deadline_ns = request->started_ns + request->deadline_ms * NS_PER_MS;
    list_init(&request->link);
    list_append(&request->client->requests, &request->link);
    attempt(request);
}

void request_cancel(struct request *request)
{
    list_remove(&request->link);
    loop_clear_timer(&request->client->loop, &request->timer);
    lane_cancel(&request->call);
    buffer_deinit(&request->body);
}

/* --- from another thread ---------------------------------------------------------------------- */

struct blocking_request {
    struct request request;
    const struct request_options *options;
    pthread_mutex_t lock;
    pthread_cond_t done;
    bool is_done;
    enum status status;
    struct error *error;
    struct buffer *answer;
};

static void on_blocking_done(struct request *request,
                             enum status status,
                             struct bytes text,
                             struct bytes body)
{
    struct blocking_request *blocking = LIST_ELEMENT(request, struct blocking_request, request);
    pthread_mutex_lock(&blocking->lock);
    if (status == STATUS_OK) {
        buffer_append_bytes(blocking->answer, body);
        if (blocking->answer->failed) {
            status = client_status_no_memory(blocking->error);
        }
    } else {
        (void)error_set(blocking->error, status, "%.*s", (int)text.size_bytes,
                        (const char *)text.data);
    }
    blocking->status = status;
    blocking->is_done = true;
    pthread_cond_signal(&blocking->done);
    pthread_mutex_unlock(&blocking->lock);
}

static void run_blocking(void *context, struct task *task)
{
    struct edubba_client *client = context;
    struct blocking_request *blocking = LIST_ELEMENT(task, struct blocking_request, request.task);
    const char *address = blocking->options->address_text;
    if (address != NULL && location_cache_intern(&client->locations, bytes_of_text(address),
                                                 &blocking->request.address) != STATUS_OK) {
        on_blocking_done(&blocking->request, STATUS_NO_MEMORY, bytes_of_text("out of memory"),
                         BYTES_EMPTY);
        return;
    }
    request_start(&blocking->request);
}

enum status request_call(struct edubba_client *client,
                         const struct request_options *options,
                         struct buffer *body,
                         struct buffer *ret_answer,
                         struct error *ret_error)
{
    struct error error = {0};
    struct blocking_request blocking = {
        .request =
            {
                .task.run = run_blocking,
                .client = client,
                .method = options->method,
                .body = *body,
                .address = options->address,
                .repeatable = options->repeatable,
                .servers_may_answer = options->servers_may_answer,
                .servers_will_do = options->servers_will_do,
                .deadline_ms = options->deadline_ms > 0 ? options->deadline_ms
                                                        : client_blocking_deadline_ms(client),
                .unreachable_ms = options->unreachable_ms,
                .on_done = on_blocking_done,
            },
        .options = options,
        .error = &error,
        .answer = ret_answer,
    };
    if (body->failed) {
        buffer_deinit(body);
        return client_status_no_memory(ret_error);
    }
    *body = BUFFER_INIT;
    *ret_answer = BUFFER_INIT;
    pthread_mutex_init(&blocking.lock, NULL);
    pthread_cond_init(&blocking.done, NULL);
    loop_post(&client->loop, &blocking.request.task);
    pthread_mutex_lock(&blocking.lock);
    while (!blocking.is_done) {
        pthread_cond_wait(&blocking.done, &blocking.lock);
    }
    pthread_mutex_unlock(&blocking.lock);
    pthread_cond_destroy(&blocking.done);
    pthread_mutex_destroy(&blocking.lock);
    if (blocking.status != STATUS_OK) {
        buffer_deinit(ret_answer);
        if (ret_error != NULL) {
            *ret_error = error;
        }
    }
    return blocking.status;
}
