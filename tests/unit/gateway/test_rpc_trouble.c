/* The bounds of memory, failing memory, opening, draining and closing. */
#include "rpc_fixture.h"

#include <pthread.h>

#include "common/base/memory.h"

#define KIB ((size_t)1 << 10)

static struct service service;
static struct rpc_client client;
static uint8_t bulk[900 * 1024];

/* --- memory ---------------------------------------------------------------------------------- */

static void open_with_memory(uint64_t request_memory_max)
{
    struct rpc_settings settings = service_settings(&service);
    settings.request_memory_max = request_memory_max;
    service_open(&service, &settings);
    rpc_client_open(&client, rpc_server_address(service.server), NULL);
}

Test(rpc_trouble, what_is_held_at_a_time_is_bounded)
{
    char text[256];
    struct rpc_client_call holding;
    open_with_memory(1024 * KIB);
    begin_call(&client, "/test.Test/Hold", bytes_of(bulk, 300 * KIB), &holding);
    while (atomic_load(&service.begun) == 0) {
        (void)rpc_client_step(&client, 10);
    }
    WAIT_FOR(rpc_server_request_bytes(service.server) < 330 * KIB); /* the message itself is gone */
    cr_assert_gt(rpc_server_request_bytes(service.server), 300 * KIB);

    grpc_status_code code = ask_value(&client, "/test.Test/Echo", bytes_of(bulk, 300 * KIB), text,
                                      sizeof text);
    cr_assert_eq(code, GRPC_STATUS_UNAVAILABLE, "%d %s", (int)code, text);
    cr_assert(strstr(text, "request_memory_max") != NULL, "%s", text);
    cr_assert_eq(ask_value(&client, "/test.Test/Echo", bytes_of(bulk, KIB), text, sizeof text),
                 GRPC_STATUS_OK, "a small one has room");
    cr_assert_lt(rpc_server_request_bytes(service.server), 350 * KIB);

    rpc_client_cancel(&holding);
    (void)rpc_client_end(&holding);
    rpc_client_free(&holding);
    while (rpc_server_request_bytes(service.server) > 0) {
        (void)rpc_client_step(&client, 1);
    }
    cr_assert_eq(
        ask_value(&client, "/test.Test/Echo", bytes_of(bulk, 300 * KIB), text, sizeof text),
        GRPC_STATUS_OK);
    service_end(&service, &client);
}

Test(rpc_trouble, a_call_alone_is_let_in_however_large)
{
    char text[256];
    open_with_memory(64 * KIB);
    for (int i = 0; i < 3; i++) {
        grpc_status_code code = ask_value(&client, "/test.Test/Echo", bytes_of(bulk, 900 * KIB),
                                          text, sizeof text);
        cr_assert_eq(code, GRPC_STATUS_OK, "%s", text);
        while (rpc_server_request_bytes(service.server) > 0) {
            (void)rpc_client_step(&client, 1);
        }
    }
    service_end(&service, &client);
}

Test(rpc_trouble, a_message_of_many_small_things_finds_room_or_is_refused)
{
    char text[256];
    enum {
        FIELDS = 100000
    }; /* the same field again and again: each is kept until the end */
    static uint8_t bytes[FIELDS * 3];
    for (size_t i = 0; i < FIELDS; i++) {
        memcpy(bytes + 3 * i, "\x0a\x01x", 3);
    }
    struct rpc_client_request request = {.path = "/test.Test/Echo",
                                         .message = bytes_of(bytes, sizeof bytes)};
    open_with_memory(UINT64_C(256) << 20);
    cr_assert_eq(ask(&client, &request, text, sizeof text), GRPC_STATUS_OK, "%s", text);
    service_end(&service, &client);

    open_with_memory(2 << 20);
    cr_assert_eq(ask(&client, &request, text, sizeof text), GRPC_STATUS_RESOURCE_EXHAUSTED);
    cr_assert_eq(ask_value(&client, "/test.Test/Echo", bytes_of_text("z"), text, sizeof text),
                 GRPC_STATUS_OK);
    service_end(&service, &client);
}

Test(rpc_trouble, what_a_method_reserves_counts_until_its_end)
{
    char text[256];
    open_with_memory(1024 * KIB);
    cr_assert_eq(
        ask_value(&client, "/test.Test/Reserve", bytes_of_text("900000"), text, sizeof text),
        GRPC_STATUS_OK);
    cr_assert_str_eq(text, "yes");
    cr_assert_eq(
        ask_value(&client, "/test.Test/Reserve", bytes_of_text("1100000"), text, sizeof text),
        GRPC_STATUS_OK);
    cr_assert_str_eq(text, "no");
    cr_assert_eq(
        ask_value(&client, "/test.Test/Borrow", bytes_of_text("900000"), text, sizeof text),
        GRPC_STATUS_OK);
    cr_assert_str_eq(text, "yes", "what is given back can be reserved again");
    service_end(&service, &client);
}

Test(rpc_trouble, headers_count_as_long_as_their_call)
{
    static char value[20 * 1024 + 1];
    struct bytes message = encoded(bytes_of_text("x"));
    struct rpc_client_call holding;
    memset(value, 'h', sizeof value - 1);
    open_with_memory(1024 * KIB);
    rpc_client_begin(&client,
                     &(struct rpc_client_request){.path = "/test.Test/Hold",
                                                  .message = message,
                                                  .header = "x-test",
                                                  .header_value = value},
                     &holding);
    while (atomic_load(&service.begun) == 0) {
        (void)rpc_client_step(&client, 10);
    }
    cr_assert_gt(rpc_server_request_bytes(service.server), 20 * KIB);
    rpc_client_cancel(&holding);
    (void)rpc_client_end(&holding);
    rpc_client_free(&holding);
    free((void *)(uintptr_t)message.data);
    service_end(&service, &client);
}

Test(rpc_trouble, an_answer_counts_until_its_reader_has_taken_it)
{
    char text[256];
    struct rpc_client_call stopped;
    open_with_memory(1024 * KIB);
    begin_call(&client, "/test.Test/Answer", bytes_of_text("950000"), &stopped);
    while (atomic_load(&service.begun) == 0) {
        (void)rpc_client_step(&client, 10);
    }
    WAIT_FOR(rpc_server_request_bytes(service.server) > 950000);
    cr_assert_eq(
        ask_value(&client, "/test.Test/Answer", bytes_of_text("950000"), text, sizeof text),
        GRPC_STATUS_UNAVAILABLE, "%s", text);
    cr_assert_eq(ask_value(&client, "/test.Test/Answer", bytes_of_text("8000"), text, sizeof text),
                 GRPC_STATUS_OK, "a small one counts with its call");

    cr_assert(rpc_client_next(&stopped));
    cr_assert_eq(rpc_client_end(&stopped), GRPC_STATUS_OK);
    rpc_client_free(&stopped);
    while (rpc_server_request_bytes(service.server) > 0) {
        (void)rpc_client_step(&client, 1);
    }
    cr_assert_eq(
        ask_value(&client, "/test.Test/Answer", bytes_of_text("2000000"), text, sizeof text),
        GRPC_STATUS_OK, "one alone goes through");
    service_end(&service, &client);
}

/* It is done: that there is no room for it nobody can make up for. */
Test(rpc_trouble, the_answer_to_a_change_has_room_beside_requests)
{
    char text[256];
    struct rpc_client_call holding;
    open_with_memory(1024 * KIB);
    begin_call(&client, "/test.Test/Hold", bytes_of(bulk, sizeof bulk), &holding);
    while (atomic_load(&service.begun) == 0) {
        (void)rpc_client_step(&client, 10);
    }
    WAIT_FOR(rpc_server_request_bytes(service.server) <
             1000 * KIB); /* the message itself is gone */
    cr_assert_eq(
        ask_value(&client, "/test.Test/Answer", bytes_of_text("900000 0"), text, sizeof text),
        GRPC_STATUS_UNAVAILABLE);
    cr_assert_eq(
        ask_value(&client, "/test.Test/Answer", bytes_of_text("900000 1"), text, sizeof text),
        GRPC_STATUS_OK, "%s", text);
    rpc_client_cancel(&holding);
    (void)rpc_client_end(&holding);
    rpc_client_free(&holding);
    service_end(&service, &client);
}

/* Nobody knows how long. */
Test(rpc_trouble, readers_that_stop_keep_no_call_from_being_taken)
{
    enum {
        STOPPED = 42 /* of 100 000 bytes each: more than there is room for */
    };
    char text[256];
    struct rpc_client_call stopped[STOPPED];
    open_with_memory(4096 * KIB);
    for (unsigned i = 0; i < STOPPED; i++) {
        begin_call(&client, "/test.Test/Answer", bytes_of_text("100000"), &stopped[i]);
        while (atomic_load(&service.begun) == i &&
               atomic_load(&service.codes[EDUBBA_UNAVAILABLE]) == 0) {
            (void)rpc_client_step(&client, 10);
        }
    }
    WAIT_FOR(atomic_load(&service.codes[EDUBBA_UNAVAILABLE]) > 0);
    cr_assert_eq(ask_value(&client, "/test.Test/Echo", bytes_of(bulk, 30 * KIB), text, sizeof text),
                 GRPC_STATUS_OK, "%s", text);
    for (unsigned i = 0; i < STOPPED; i++) {
        (void)rpc_client_end(&stopped[i]);
        rpc_client_free(&stopped[i]);
    }
    service_end(&service, &client);
}

/* However soon memory ends, each call has a status, and nothing is left behind. */
Test(rpc_trouble, failing_memory_is_a_status)
{
    char text[256];
    bool was_answered = false;
    service_begin(&service, &client);
    cr_assert_eq(ask_value(&client, "/test.Test/Echo", bytes_of(bulk, 5000), text, sizeof text),
                 GRPC_STATUS_OK);
    for (uint64_t after = 0; after < 40 && !was_answered; after++) {
        memory_fail_arm(after, 1);
        grpc_status_code code = ask_value(&client, "/test.Test/Echo", bytes_of(bulk, 5000), text,
                                          sizeof text);
        memory_fail_disarm();
        was_answered = code == GRPC_STATUS_OK;
        cr_assert(was_answered || code == GRPC_STATUS_UNAVAILABLE ||
                      code == GRPC_STATUS_RESOURCE_EXHAUSTED,
                  "%d %s", (int)code, text);
        cr_assert(was_answered || text[0] != '\0');
    }
    cr_assert(was_answered);
    service_end(&service, &client);
}

/* Nearly always: an answer may be here before its call has gone. */
Test(rpc_trouble, a_small_call_takes_the_memory_of_the_one_before)
{
    char text[256];
    unsigned answered = 0;
    service_begin(&service, &client);
    cr_assert_eq(ask_value(&client, "/test.Test/Echo", bytes_of(bulk, 1000), text, sizeof text),
                 GRPC_STATUS_OK);
    for (int i = 0; i < 20; i++) {
        memory_fail_arm(0, 1);
        grpc_status_code code = ask_value(&client, "/test.Test/Echo", bytes_of(bulk, 1000), text,
                                          sizeof text);
        memory_fail_disarm();
        answered += code == GRPC_STATUS_OK ? 1 : 0;
    }
    cr_assert_gt(answered, 0); /* without it, no call is answered */
    service_end(&service, &client);
}

/* A caller that is told UNAVAILABLE sends it again, and what was added once would be added twice. */
Test(rpc_trouble, what_is_done_is_not_to_be_tried_again_for_want_of_memory)
{
    char text[256];
    grpc_status_code code = GRPC_STATUS_UNAVAILABLE;
    bool was_unknown = false;
    service_begin(&service, &client);
    cr_assert_eq(ask_value(&client, "/test.Test/Echo", bytes_of(bulk, 5000), text, sizeof text),
                 GRPC_STATUS_OK); /* the memory of a call is kept for the next one */
    for (uint64_t after = 0; after < 40 && code != GRPC_STATUS_OK; after++) {
        memory_fail_arm(after, 1);
        code = ask_value(&client, "/test.Test/Change", bytes_of(bulk, 5000), text, sizeof text);
        memory_fail_disarm();
        was_unknown = was_unknown || code == GRPC_STATUS_UNKNOWN;
        cr_assert(!was_unknown || code == GRPC_STATUS_UNKNOWN || code == GRPC_STATUS_OK, "%d %s",
                  (int)code, text);
    }
    cr_assert_eq(code, GRPC_STATUS_OK);
    cr_assert(was_unknown, "the last that there was no memory for is the answer");
    service_end(&service, &client);
}

Test(rpc_trouble, opening_without_memory_fails_whole)
{
    bool is_open = false;
    struct rpc_settings settings = service_settings(&service);
    for (uint64_t after = 0; after < 100 && !is_open; after++) {
        struct error error = {.status = STATUS_OK};
        memory_fail_arm(after, 1);
        enum status status = rpc_server_open(&settings, &service.server, &error);
        memory_fail_disarm();
        is_open = status == STATUS_OK;
        cr_assert(is_open || status == STATUS_NO_MEMORY, "%s", error.text);
    }
    cr_assert(is_open);
    rpc_server_close(service.server);
}

/* --- opening --------------------------------------------------------------------------------- */

Test(rpc_trouble, an_address_that_cannot_be_had_is_named)
{
    static const char *const bad[] = {"127.0.0.1",      ":", "", "203.0.113.1:0", "127.0.0.1:port",
                                      "127.0.0.1:99999"};
    struct rpc_server *server = NULL;
    struct error error = {.status = STATUS_OK};
    service_begin(&service, &client);
    struct rpc_settings settings = service_settings(&service);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        settings.address = bad[i];
        cr_assert_eq(rpc_server_open(&settings, &server, &error), STATUS_IO, "%s", bad[i]);
        cr_assert(strstr(error.text, bad[i]) != NULL, "%s", error.text);
    }
    settings.address = rpc_server_address(service.server); /* taken */
    struct silence silence = silence_begin();
    cr_assert_eq(rpc_server_open(&settings, &server, &error), STATUS_IO);
    cr_assert_eq(silence_end(&silence), 0, "the error says it, and nobody else");
    cr_assert_null(server);
    service_end(&service, &client);
}

/* --- draining -------------------------------------------------------------------------------- */

struct drain {
    pthread_t thread;
    uint32_t patience_ms;
    atomic_bool is_over;
};

static void *drain_service(void *context)
{
    struct drain *drain = context;
    rpc_server_drain(service.server, drain->patience_ms);
    atomic_store(&drain->is_over, true);
    return NULL;
}

static void begin_drain(struct drain *drain, uint32_t patience_ms)
{
    *drain = (struct drain){.patience_ms = patience_ms};
    cr_assert_eq(pthread_create(&drain->thread, NULL, drain_service, drain), 0);
}

static void hold(struct rpc_client_call *call)
{
    begin_call(&client, "/test.Test/Hold", bytes_of_text("x"), call);
    while (atomic_load(&service.begun) == 0) {
        (void)rpc_client_step(&client, 10);
    }
}

/* A call with no time of its own that libgrpc takes in in the very moment may wait for the drain's end. */
static grpc_status_code ask_late(struct rpc_client *late, char *ret_text, size_t size)
{
    struct bytes message = encoded(bytes_of_text("x"));
    const struct rpc_client_request request = {
        .path = "/test.Test/Echo", .message = message, .deadline_ms = 2000};
    grpc_status_code code = ask(late, &request, ret_text, size);
    free((void *)(uintptr_t)message.data);
    return code;
}

Test(rpc_trouble, a_drain_waits_for_a_call_that_ends)
{
    char text[256];
    struct drain drain;
    struct rpc_client late;
    struct rpc_client_call call;
    service_begin(&service, &client);
    hold(&call);
    begin_drain(&drain, 10 * WAIT_MS);
    grpc_status_code code = GRPC_STATUS_OK;
    int64_t until_ns = clock_monotonic_ns() + INT64_C(1000000) * WAIT_MS;
    /* until nobody listens any more */
    while (code == GRPC_STATUS_OK || code == GRPC_STATUS_DEADLINE_EXCEEDED) {
        cr_assert_lt(clock_monotonic_ns(), until_ns, "new ones are let in");
        rpc_client_open(&late, rpc_server_address(service.server), NULL);
        code = ask_late(&late, text, sizeof text);
        rpc_client_close(&late);
        (void)rpc_client_step(&client, 10);
    }
    /* One that comes in the very moment libgrpc ends by itself. */
    cr_assert(code == GRPC_STATUS_UNAVAILABLE || code == GRPC_STATUS_CANCELLED, "%d %s", (int)code,
              text);
    cr_assert_not(atomic_load(&drain.is_over));

    answer(atomic_exchange(&service.held, NULL), bytes_of_text("done"));
    cr_assert(rpc_client_next(&call));
    cr_assert_eq(rpc_client_end(&call), GRPC_STATUS_OK);
    rpc_client_free(&call);
    while (!atomic_load(&drain.is_over)) {
        (void)rpc_client_step(&client, 10);
    }
    cr_assert_eq(pthread_join(drain.thread, NULL), 0);
    cr_assert_eq(atomic_load(&service.cancelled), 0);
    rpc_client_close(&client);
    rpc_server_close(service.server);
}

Test(rpc_trouble, a_drain_cancels_what_takes_too_long)
{
    struct drain drain;
    struct rpc_client_call call;
    service_begin(&service, &client);
    hold(&call);
    begin_drain(&drain, 300);
    cr_assert_eq(rpc_client_end(&call), GRPC_STATUS_UNAVAILABLE, "%d %s", (int)call.code,
                 call.text);
    rpc_client_free(&call);
    cr_assert_eq(pthread_join(drain.thread, NULL), 0);
    cr_assert_eq(atomic_load(&service.cancelled), 1);
    cr_assert_eq(atomic_load(&service.ended), 1);
    rpc_client_close(&client);
    rpc_server_close(service.server);
}

Test(rpc_trouble, a_drain_waits_until_methods_have_let_go)
{
    struct drain drain;
    struct rpc_client_call call;
    service_begin(&service, &client);
    atomic_store(&service.keeps, true); /* cancelled, but not finished yet */
    hold(&call);
    begin_drain(&drain, 100);
    (void)rpc_client_end(&call);
    rpc_client_free(&call);
    WAIT_FOR(atomic_load(&service.cancelled) == 1);
    clock_sleep_us(100000);
    cr_assert_not(atomic_load(&drain.is_over));
    rpc_fail(atomic_load(&service.held), EDUBBA_CANCELLED, "At last");
    cr_assert_eq(pthread_join(drain.thread, NULL), 0);
    rpc_client_close(&client);
    rpc_server_close(service.server);
}

Test(rpc_trouble, connections_without_calls_do_not_hold_up_a_drain)
{
    enum {
        CLIENTS = 20
    };
    static struct rpc_client idle[CLIENTS];
    char text[64];
    service_begin(&service, &client);
    for (int i = 0; i < CLIENTS; i++) {
        rpc_client_open(&idle[i], rpc_server_address(service.server), NULL);
        cr_assert_eq(ask_value(&idle[i], "/test.Test/Echo", bytes_of_text("x"), text, sizeof text),
                     GRPC_STATUS_OK);
    }
    int64_t begin_ns = clock_monotonic_ns(); /* none of them moves now */
    rpc_server_drain(service.server, 60000);
    cr_assert_lt(clock_monotonic_ns() - begin_ns, INT64_C(20000000000));
    rpc_server_close(service.server);
    for (int i = 0; i < CLIENTS; i++) {
        rpc_client_close(&idle[i]);
    }
    rpc_client_close(&client);
}

Test(rpc_trouble, closing_without_a_drain_cancels)
{
    struct rpc_client_call call;
    service_begin(&service, &client);
    hold(&call);
    rpc_server_close(service.server);
    cr_assert_eq(atomic_load(&service.cancelled), 1);
    cr_assert_neq(rpc_client_end(&call), GRPC_STATUS_OK);
    rpc_client_free(&call);
    rpc_client_close(&client);
}

Test(rpc_trouble, a_server_that_nobody_called_closes_at_once)
{
    struct rpc_settings settings = service_settings(&service);
    for (int i = 0; i < 5; i++) {
        service_open(&service, &settings);
        rpc_server_drain(service.server, 60000);
        rpc_server_close(service.server);
    }
}
