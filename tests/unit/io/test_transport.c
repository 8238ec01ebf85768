#include "tests/support/test_folder.h"
#include "tests/support/transport_fixture.h"

Test(transport, greets_and_echoes)
{
    static struct service service;
    static struct caller caller = {.check = true};
    service_open(&service);
    caller_open(&caller, service.address);
    cr_assert_eq(caller_send_number(&caller), STATUS_OK, "requests may be sent before it is ready");
    WAIT_FOR(caller.responses == 1);
    cr_assert_eq(caller.ready, 1);
    cr_assert_eq(caller.server_process, 77);
    cr_assert_eq(caller.server_now_us, 1234567);
    cr_assert_eq(caller.wrong, 0);
    transport_connection_close(caller.connection);
    transport_listener_close(service.listener, 0);
    cr_assert_eq(caller.closed, 0, "closing by oneself is no event");
}

Test(transport, carries_many_requests_at_a_time)
{
    static struct service service;
    static struct caller caller = {.check = true};
    atomic_store(&service.hold, true);
    service_open(&service);
    caller_open(&caller, service.address);
    for (int i = 0; i < 1000; i++) {
        cr_assert_eq(caller_send_number(&caller), STATUS_OK);
    }
    WAIT_FOR(service.requests == 1000);
    cr_assert_eq(caller.responses, 0);
    /* Answered in another order than they came. */
    for (size_t i = 1000; i > 0; i--) {
        uint64_t number = i;
        struct buffer message = response_of(bytes_of(&number, sizeof number));
        transport_reply_send(service.held[i - 1], &message, true);
    }
    WAIT_FOR(caller.responses == 1000);
    cr_assert_eq(caller.wrong, 0);
    transport_connection_close(caller.connection);
    transport_listener_close(service.listener, 0);
}

static atomic_bool reading_is_held;

/* While it is held nothing more is read from the connection. */
static void hold_reading(void *context,
                         const struct transport_request *request,
                         struct transport_reply *reply)
{
    service_on_request(context, request, reply);
    while (atomic_load(&reading_is_held)) {
        clock_sleep_us(200);
    }
}

/* Both are under way before anything of them is read, or the large one could be through before the small
 * one is sent. */
Test(transport, carries_large_messages_and_small_ones_pass_them)
{
    static struct service service;
    static struct caller caller;
    size_t size_bytes = 64 * 1024 * 1024;
    uint8_t *big = memory_allocate(size_bytes);
    for (size_t i = 0; i < size_bytes; i++) {
        big[i] = (uint8_t)(i * 31 >> 7);
    }
    struct transport_listener_options options = service_options(&service);
    options.on_request = hold_reading;
    service_open_with(&service, &options);
    caller_open(&caller, service.address);
    atomic_store(&service.hold, true);
    atomic_store(&reading_is_held, true);
    cr_assert_eq(caller_send(&caller, bytes_of_text("at which reading stops")), STATUS_OK);
    WAIT_FOR(service.requests == 1);
    atomic_store(&service.hold, false);
    cr_assert_eq(caller_send(&caller, bytes_of(big, size_bytes)), STATUS_OK);
    cr_assert_eq(caller_send(&caller, bytes_of_text("small")), STATUS_OK);
    atomic_store(&reading_is_held, false);
    WAIT_FOR(caller.responses == 2);
    cr_assert_lt(caller.first_response_bytes, 100, "the small one comes back first");
    cr_assert_gt(caller.response_bytes, size_bytes);
    transport_reply_fail(service.held[0], STATUS_OK, "");
    WAIT_FOR(caller.responses == 3);
    cr_assert_eq(caller.wrong, 0);
    memory_free(big);
    transport_connection_close(caller.connection);
    transport_listener_close(service.listener, 0);
}

/* What came, compared with what must come: message i is its number, sizes[i % 4] times. */
static const size_t stream_sizes[4] = {1, 200 * 1000, 3 * 1000 * 1000, 70};
static atomic_uint stream_messages;
static atomic_uint stream_wrong;
static atomic_bool stream_ended;

static void check_stream(void *context, uint64_t request, struct bytes message, bool stream)
{
    (void)context;
    uint32_t index = atomic_load(&stream_messages);
    bool good = request == 1 && message.size_bytes == stream_sizes[index % 4];
    for (size_t i = 0; i < message.size_bytes && good; i++) {
        good = message.data[i] == (uint8_t)index;
    }
    atomic_fetch_add(&stream_wrong, good ? 0 : 1);
    atomic_store(&stream_ended, !stream);
    atomic_fetch_add(&stream_messages, 1); /* last: the test waits for it */
}

Test(transport, keeps_the_order_of_a_stream_whatever_the_sizes)
{
    static struct service service;
    static struct caller caller;
    atomic_store(&service.hold, true);
    service_open(&service);
    struct transport_connection_options options = caller_options(&caller, service.address);
    options.on_response = check_stream;
    cr_assert_eq(transport_connect(&options, &caller.connection, NULL), STATUS_OK);
    cr_assert_eq(caller_send_number(&caller), STATUS_OK);
    WAIT_FOR(service.requests == 1);
    for (uint32_t i = 0; i < 40; i++) {
        struct buffer message = BUFFER_INIT;
        uint8_t *at = buffer_reserve(&message, stream_sizes[i % 4]);
        memset(at, (int)i, stream_sizes[i % 4]);
        buffer_advance(&message, stream_sizes[i % 4]);
        transport_reply_send(service.held[0], &message, i == 39);
    }
    WAIT_FOR(stream_messages == 40);
    cr_assert_eq(stream_wrong, 0);
    cr_assert(stream_ended);
    transport_connection_close(caller.connection);
    transport_listener_close(service.listener, 0);
}

Test(transport, works_over_ipc)
{
    static struct service service;
    static struct caller caller = {.check = true};
    char folder[96];
    char address[128];
    test_folder_make(folder, sizeof folder, "ipc");
    (void)snprintf(address, sizeof address, "ipc://%s/s", folder);
    struct transport_listener_options options = service_options(&service);
    options.address = address;
    service_open_with(&service, &options);
    caller_open(&caller, address);
    cr_assert_eq(caller_send_number(&caller), STATUS_OK);
    WAIT_FOR(caller.responses == 1);
    transport_connection_close(caller.connection);
    transport_listener_close(service.listener, 0);
    cr_assert_eq(rmdir(folder), 0, "the socket is gone with its listener");
}

Test(transport, counts_credit_and_tells_of_it)
{
    static struct service service;
    static struct caller caller;
    atomic_store(&service.hold, true);
    service_open(&service);
    caller_open(&caller, service.address);
    cr_assert_eq(caller_send_number(&caller), STATUS_OK);
    WAIT_FOR(service.requests == 1);
    struct transport_reply *reply = service.held[0];
    cr_assert(transport_reply_begin_stream(reply, 1000));
    cr_assert_eq(transport_reply_credit(reply), 1000);
    struct buffer message = response_of(bytes_of_text("part"));
    int64_t size_bytes = (int64_t)message.size_bytes;
    transport_reply_send(reply, &message, false);
    cr_assert_eq(transport_reply_credit(reply), 1000 - size_bytes);
    transport_connection_credit(caller.connection, 1, 500);
    WAIT_FOR(service.progress_calls == 1);
    cr_assert_eq(transport_reply_credit(reply), 1500 - size_bytes);
    cr_assert(!transport_reply_cancelled(reply));
    transport_reply_fail(reply, STATUS_CANCELLED, "enough");
    WAIT_FOR(caller.responses == 2);
    transport_connection_close(caller.connection);
    transport_listener_close(service.listener, 0);
}

Test(transport, tells_of_cancellation_once)
{
    static struct service service;
    static struct caller caller;
    atomic_store(&service.hold, true);
    service_open(&service);
    caller_open(&caller, service.address);
    cr_assert_eq(caller_send_number(&caller), STATUS_OK);
    WAIT_FOR(service.requests == 1);
    transport_connection_cancel(caller.connection, 1);
    transport_connection_cancel(caller.connection, 1);
    transport_connection_cancel(caller.connection, 4711);
    cr_assert_eq(caller_send_number(&caller), STATUS_OK);
    WAIT_FOR(service.requests == 2); /* it has heard all three */
    cr_assert_eq(service.cancelled, 1);
    transport_reply_fail(service.held[0], STATUS_CANCELLED, "cancelled");
    transport_reply_fail(service.held[1], STATUS_OK, "");
    WAIT_FOR(caller.responses == 2);
    cr_assert_eq(service.cancelled, 1);
    transport_connection_close(caller.connection);
    transport_listener_close(service.listener, 0);
}

Test(transport, a_peer_that_goes_away_cancels_its_requests)
{
    static struct service service;
    static struct caller caller;
    atomic_store(&service.hold, true);
    service_open(&service);
    caller_open(&caller, service.address);
    for (int i = 0; i < 10; i++) {
        cr_assert_eq(caller_send_number(&caller), STATUS_OK);
    }
    WAIT_FOR(service.requests == 10);
    transport_connection_close(caller.connection);
    WAIT_FOR(service.cancelled == 10);
    for (size_t i = 0; i < 10; i++) {
        transport_reply_fail(service.held[i], STATUS_OK, "nobody hears this");
    }
    transport_listener_close(service.listener, 0);
}

Test(transport, replies_outlive_their_listener)
{
    static struct service service;
    static struct caller caller;
    atomic_store(&service.hold, true);
    service_open(&service);
    caller_open(&caller, service.address);
    for (int i = 0; i < 3; i++) {
        cr_assert_eq(caller_send_number(&caller), STATUS_OK);
    }
    WAIT_FOR(service.requests == 3);
    transport_listener_close(service.listener, 10);
    unsigned calls = service.progress_calls;
    cr_assert_eq(service.cancelled, 3);
    WAIT_FOR(caller.closed == 1);
    cr_assert(caller.error.status == STATUS_UNAVAILABLE, "%s", caller.error.text);
    for (size_t i = 0; i < 3; i++) {
        cr_assert(transport_reply_cancelled(service.held[i]));
        struct buffer message = response_of(bytes_of_text("late"));
        transport_reply_send(service.held[i], &message, false);
        transport_reply_fail(service.held[i], STATUS_OK, "too late");
    }
    cr_assert_eq(service.progress_calls, calls, "no callback after closing");
    cr_assert_eq(caller_send_number(&caller), STATUS_CLOSED);
    transport_connection_close(caller.connection);
}

static void *answer_later(void *context)
{
    struct service *service = context;
    clock_sleep_us(50000);
    for (size_t i = 0; i < service->held_count; i++) {
        uint64_t number = i + 1;
        struct buffer message = response_of(bytes_of(&number, sizeof number));
        transport_reply_send(service->held[i], &message, true);
    }
    return NULL;
}

Test(transport, closing_gives_replies_their_grace)
{
    static struct service service;
    static struct caller caller = {.check = true};
    pthread_t thread;
    atomic_store(&service.hold, true);
    service_open(&service);
    caller_open(&caller, service.address);
    for (int i = 0; i < 100; i++) {
        cr_assert_eq(caller_send_number(&caller), STATUS_OK);
    }
    WAIT_FOR(service.requests == 100);
    pthread_create(&thread, NULL, answer_later, &service);
    transport_listener_close(service.listener, WAIT_MS);
    pthread_join(thread, NULL);
    WAIT_FOR(caller.closed == 1);
    cr_assert_eq(caller.responses, 100);
    cr_assert_eq(caller.wrong, 0);
    transport_connection_close(caller.connection);
}

Test(transport, a_reader_that_is_slow_is_not_read_from_either)
{
    static struct service service;
    struct transport_listener_options options = service_options(&service);
    options.connection_bytes_max = 256 * 1024;
    service_open_with(&service, &options);
    int raw = raw_open(&service);
    static uint8_t body[16 * 1024];
    /* Far more than any socket buffers hold, echoed; nothing is read. */
    struct timeval patience = {.tv_usec = 500000};
    setsockopt(raw, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    uint64_t sent = 0;
    while (sent < 4000 && raw_request(raw, sent + 1, bytes_of(body, sizeof body), 0)) {
        sent++;
    }
    cr_assert_lt(sent, 4000, "the socket must fill up");
    /* Reading pauses: what is sent stays unread.  (That a send had to wait so long may also have
     * been the machine; then all of it is read by and by, and nothing is shown.) */
    unsigned before = 0;
    do {
        before = service.requests;
        clock_sleep_us(200000);
    } while (service.requests != before);
    cr_assert_lt(before, 4000);
    close(raw);
    transport_listener_close(service.listener, 0);
}

static void begin_stream(void *context,
                         const struct transport_request *request,
                         struct transport_reply *reply)
{
    cr_assert(transport_reply_begin_stream(reply, 100));
    service_on_request(context, request, reply);
}

/* They end by what is read from their connection, so reading must not pause for them. */
Test(transport, streams_that_wait_for_credit_do_not_keep_it_from_being_heard)
{
    enum {
        COUNT = 30
    };
    static struct service service;
    static struct caller caller;
    struct transport_listener_options options = service_options(&service);
    options.requests_max = 10;
    options.on_request = begin_stream;
    atomic_store(&service.hold, true);
    service_open_with(&service, &options);
    caller_open(&caller, service.address);
    for (int i = 0; i < COUNT; i++) {
        cr_assert_eq(caller_send_number(&caller), STATUS_OK);
    }
    WAIT_FOR(service.requests == COUNT);
    transport_connection_credit(caller.connection, 1, 500);
    WAIT_FOR(service.progress_calls == 1);
    cr_assert_eq(transport_reply_credit(service.held[0]), 600);
    transport_connection_cancel(caller.connection, COUNT);
    WAIT_FOR(transport_reply_cancelled(service.held[COUNT - 1]));
    for (int i = 0; i < COUNT; i++) {
        transport_reply_fail(service.held[i], STATUS_CANCELLED, "enough");
    }
    WAIT_FOR(caller.responses >= COUNT - 1);
    transport_connection_close(caller.connection);
    transport_listener_close(service.listener, 0);
}

Test(transport, pauses_at_the_limit_of_requests_and_goes_on)
{
    static struct service service;
    static struct caller caller = {.check = true};
    struct transport_listener_options options = service_options(&service);
    options.requests_max = 10;
    atomic_store(&service.hold, true);
    service_open_with(&service, &options);
    caller_open(&caller, service.address);
    for (int i = 0; i < 1000; i++) {
        cr_assert_eq(caller_send_number(&caller), STATUS_OK);
    }
    WAIT_FOR(service.requests == 10);
    clock_sleep_us(20000);
    cr_assert_eq(service.requests, 10);
    size_t answered = 0;
    while (answered < 1000) {
        pthread_mutex_lock(&service.lock);
        size_t held = service.held_count;
        pthread_mutex_unlock(&service.lock);
        cr_assert_leq(held - answered, 10);
        for (; answered < held; answered++) {
            uint64_t number = answered + 1;
            struct buffer message = response_of(bytes_of(&number, sizeof number));
            transport_reply_send(service.held[answered], &message, true);
        }
    }
    WAIT_FOR(caller.responses == 1000);
    cr_assert_eq(caller.wrong, 0);
    transport_connection_close(caller.connection);
    transport_listener_close(service.listener, 0);
}

Test(transport, refuses_connections_beyond_its_limit)
{
    static struct service service;
    static struct caller first;
    static struct caller second;
    struct transport_listener_options options = service_options(&service);
    options.connections_max = 1;
    service_open_with(&service, &options);
    caller_open(&first, service.address);
    WAIT_FOR(first.ready == 1);
    caller_open(&second, service.address);
    WAIT_FOR(second.closed == 1);
    cr_assert(second.error.status == STATUS_RESOURCE_EXHAUSTED, "%s", second.error.text);
    cr_assert(strstr(second.error.text, "connections_max = 1") != NULL, "%s", second.error.text);
    transport_connection_close(second.connection);
    transport_connection_close(first.connection);
    transport_listener_close(service.listener, 0);
}

Test(transport, a_port_in_use_is_named)
{
    static struct service service;
    struct error error;
    struct transport_listener *listener = NULL;
    struct transport_listener_options options = service_options(&service);
    service_open_with(&service, &options); /* the options' address has a port by then */
    cr_assert_eq(transport_listen(&options, &listener, &error), STATUS_FAILED_PRECONDITION);
    cr_assert(strstr(error.text, service.address) != NULL, "%s", error.text);
    cr_assert(strstr(error.text, "in use") != NULL, "%s", error.text);
    transport_listener_close(service.listener, 0);
}

Test(transport, nobody_listening_is_an_error_that_names_the_address)
{
    static struct caller caller;
    static struct service service;
    service_open(&service);
    transport_listener_close(service.listener, 0);
    caller_open(&caller, service.address);
    (void)caller_send_number(&caller); /* too early to know, or refused already */
    WAIT_FOR(caller.closed == 1);
    cr_assert(caller.error.status == STATUS_UNAVAILABLE, "%s", caller.error.text);
    cr_assert(strstr(caller.error.text, service.address) != NULL, "%s", caller.error.text);
    cr_assert_eq(caller_send_number(&caller), STATUS_CLOSED);
    transport_connection_close(caller.connection);
}

/* Nobody accepts, so nobody answers: the system connects all the same.  Run out of time and closed at once,
 * hundreds of times: none may be used by the one after it was freed by the other. */
Test(transport, a_handshake_that_runs_out_of_time_while_it_is_closed)
{
    enum {
        ROUNDS = 200,
        AT_ONCE = 16,
        TIMEOUT_MS = 10
    };
    static struct caller callers[AT_ONCE];
    struct sockaddr_in name = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t name_bytes = sizeof name;
    char address[64];
    int silent = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    cr_assert_eq(bind(silent, (struct sockaddr *)&name, sizeof name), 0);
    cr_assert_eq(listen(silent, 4096), 0);
    cr_assert_eq(getsockname(silent, (struct sockaddr *)&name, &name_bytes), 0);
    (void)snprintf(address, sizeof address, "tcp://127.0.0.1:%d", ntohs(name.sin_port));
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < AT_ONCE; i++) {
            memset(&callers[i], 0, sizeof callers[i]);
            struct error error;
            struct transport_connection_options options = caller_options(&callers[i], address);
            options.connect_timeout_ms = TIMEOUT_MS;
            cr_assert_eq(transport_connect(&options, &callers[i].connection, &error), STATUS_OK);
        }
        clock_sleep_us(TIMEOUT_MS * 1000 - 500 + round % 10 * 100);
        for (int i = 0; i < AT_ONCE; i++) {
            transport_connection_close(callers[i].connection);
        }
        for (int accepted; (accepted = accept(silent, NULL, NULL)) >= 0;) {
            (void)close(accepted);
        }
    }
    (void)close(silent);
}
