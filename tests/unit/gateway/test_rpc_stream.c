/* Streams, readers that stop, and callers that go away. */
#include "rpc_fixture.h"

static struct service service;
static struct rpc_client client;

/* --- streams --------------------------------------------------------------------------------- */

static unsigned read_all(struct rpc_client_call *call, size_t size)
{
    unsigned count = 0;
    while (rpc_client_next(call)) {
        Value *value = decoded(call);
        cr_assert_eq(value->value.len, size);
        google__protobuf__bytes_value__free_unpacked(value, NULL);
        count++;
    }
    return count;
}

Test(rpc_stream, all_messages_arrive_then_the_status)
{
    static const char *const asked[] = {"0 10", "1 0", "1000 10", "100 100000"};
    static const unsigned counts[] = {0, 1, 1000, 100};
    static const size_t sizes[] = {10, 0, 10, 100000};
    service_begin(&service, &client);
    for (size_t i = 0; i < 4; i++) {
        struct rpc_client_call call;
        begin_call(&client, "/test.Test/Stream", bytes_of_text(asked[i]), &call);
        cr_assert_eq(read_all(&call, sizes[i]), counts[i]);
        cr_assert_eq(rpc_client_end(&call), GRPC_STATUS_OK);
        rpc_client_free(&call);
    }
    service_end(&service, &client);
}

/* No more goes out for a while. */
static unsigned wait_until_still(void)
{
    unsigned before = 0;
    do {
        before = atomic_load(&service.sent);
        clock_sleep_us(300000);
    } while (atomic_load(&service.sent) != before);
    return before;
}

Test(rpc_stream, a_reader_that_stops_holds_up_its_stream)
{
    struct rpc_client_call call;
    service_begin(&service, &client);
    begin_call(&client, "/test.Test/Stream", bytes_of_text("2000 65536"), &call);
    cr_assert(rpc_client_next(&call));
    unsigned sent = wait_until_still();
    cr_assert_lt(sent, 200, "%u of 64 KiB went out to nobody", sent);
    cr_assert_eq(read_all(&call, 65536), 1999, "and it goes on where it stood");
    cr_assert_eq(rpc_client_end(&call), GRPC_STATUS_OK);
    rpc_client_free(&call);
    service_end(&service, &client);
}

Test(rpc_stream, a_reader_that_stopped_may_go)
{
    struct rpc_client_call call;
    service_begin(&service, &client);
    begin_call(&client, "/test.Test/Stream", bytes_of_text("2000 65536"), &call);
    cr_assert(rpc_client_next(&call));
    (void)wait_until_still();
    rpc_client_cancel(&call);
    cr_assert_eq(rpc_client_end(&call), GRPC_STATUS_CANCELLED);
    rpc_client_free(&call);
    WAIT_FOR(atomic_load(&service.streams) == 1); /* its on_sent came */
    service_end(&service, &client);
}

Test(rpc_stream, many_streams_that_are_cancelled_at_once_all_end)
{
    struct rpc_client_call calls[20];
    service_begin(&service, &client);
    for (int i = 0; i < 20; i++) {
        begin_call(&client, "/test.Test/Stream", bytes_of_text("2000 65536"), &calls[i]);
        cr_assert(rpc_client_next(&calls[i]));
    }
    for (int i = 0; i < 20; i++) {
        rpc_client_cancel(&calls[i]);
        (void)rpc_client_end(&calls[i]);
        rpc_client_free(&calls[i]);
    }
    WAIT_FOR(atomic_load(&service.streams) == 20);
    service_end(&service, &client);
}

/* --- cancellation ---------------------------------------------------------------------------- */

Test(rpc_stream, a_cancellation_is_told_once)
{
    struct rpc_client_call call;
    service_begin(&service, &client);
    begin_call(&client, "/test.Test/Hold", bytes_of_text("x"), &call);
    while (atomic_load(&service.begun) == 0) {
        (void)rpc_client_step(&client, 10);
    }
    cr_assert_eq(atomic_load(&service.cancelled), 0);
    int64_t begin_ns = clock_monotonic_ns();
    rpc_client_cancel(&call);
    cr_assert_eq(rpc_client_end(&call), GRPC_STATUS_CANCELLED);
    rpc_client_free(&call);
    while (atomic_load(&service.cancelled) == 0) {
        (void)rpc_client_step(&client, 1);
        cr_assert_lt(clock_monotonic_ns() - begin_ns, INT64_C(1000000) * WAIT_MS);
    }
    WAIT_FOR(atomic_load(&service.ended) == 1);
    clock_sleep_us(50000);
    cr_assert_eq(atomic_load(&service.cancelled), 1);
    cr_assert_eq(atomic_load(&service.codes[EDUBBA_CANCELLED]), 1);
    service_end(&service, &client);
}

Test(rpc_stream, a_deadline_that_passes_is_a_cancellation)
{
    char text[256];
    /* On a busy machine as well the call is there before it passes. */
    struct rpc_client_request request = {.path = "/test.Test/Hold", .deadline_ms = 3000};
    service_begin(&service, &client);
    cr_assert_eq(ask(&client, &request, text, sizeof text), GRPC_STATUS_DEADLINE_EXCEEDED);
    WAIT_FOR(atomic_load(&service.ended) == 1);
    cr_assert_eq(atomic_load(&service.cancelled), 1);
    service_end(&service, &client);
}

Test(rpc_stream, a_call_that_ended_well_is_not_cancelled)
{
    struct rpc_client_call call;
    service_begin(&service, &client);
    begin_call(&client, "/test.Test/Hold", bytes_of_text("x"), &call);
    while (atomic_load(&service.begun) == 0) {
        (void)rpc_client_step(&client, 10);
    }
    answer(atomic_exchange(&service.held, NULL), bytes_of_text("late"));
    cr_assert(rpc_client_next(&call));
    cr_assert_eq(rpc_client_end(&call), GRPC_STATUS_OK);
    rpc_client_cancel(&call); /* of what is over */
    rpc_client_free(&call);
    service_end(&service, &client);
    cr_assert_eq(atomic_load(&service.cancelled), 0);
}

Test(rpc_stream, callers_that_go_away_from_calls_that_nobody_watches_leave_nothing_behind)
{
    enum {
        COUNT = 200
    };
    struct rpc_client_call calls[COUNT];
    service_begin(&service, &client);
    for (int i = 0; i < COUNT; i++) {
        begin_call(&client, "/test.Test/Echo", bytes_of_text("x"), &calls[i]);
        if (i % 8 != 0) { /* also those that were sent already */
            (void)rpc_client_step(&client, 0);
        }
        rpc_client_cancel(&calls[i]);
    }
    for (int i = 0; i < COUNT; i++) {
        (void)rpc_client_end(&calls[i]);
        rpc_client_free(&calls[i]);
    }
    service_end(&service, &client);
}

static void answer_held(void *context)
{
    struct service *its = context;
    struct rpc_call *held = atomic_exchange(&its->held, NULL);
    if (held != NULL) {
        answer(held, bytes_of_text("gathered"));
    }
}

Test(rpc_stream, what_methods_gather_is_looked_at_before_a_thread_waits)
{
    char text[64];
    struct rpc_settings settings = service_settings(&service);
    settings.on_idle = answer_held;
    service_open(&service, &settings);
    rpc_client_open(&client, rpc_server_address(service.server), NULL);
    atomic_store(&service.keeps, true);
    for (int i = 0; i < 100; i++) {
        struct bytes message = encoded(bytes_of_text("x"));
        struct rpc_client_request request = {.path = "/test.Test/Hold", .message = message};
        cr_assert_eq(ask(&client, &request, text, sizeof text), GRPC_STATUS_OK);
        cr_assert_str_eq(text, "gathered");
        free((void *)(uintptr_t)message.data);
    }
    service_end(&service, &client);
}

Test(rpc_stream, who_asks_late_whether_it_is_cancelled_is_told_at_once)
{
    struct rpc_client_call call;
    service_begin(&service, &client);
    atomic_store(&service.keeps, true);
    begin_call(&client, "/test.Test/Hold", bytes_of_text("x"), &call);
    while (atomic_load(&service.begun) == 0) {
        (void)rpc_client_step(&client, 10);
    }
    struct rpc_call *held = atomic_load(&service.held);
    cr_assert_not(rpc_call_is_cancelled(held));
    rpc_client_cancel(&call);
    (void)rpc_client_end(&call);
    rpc_client_free(&call);
    while (atomic_load(&service.cancelled) == 0) {
        (void)rpc_client_step(&client, 1);
    }
    cr_assert(rpc_call_is_cancelled(held));
    rpc_call_on_cancelled(held, on_hold_cancelled, &service);
    cr_assert_eq(atomic_load(&service.cancelled), 2);

    /* What is sent to nobody comes back all the same. */
    struct stream *stream = arena_allocate(rpc_call_arena(held), sizeof *stream);
    *stream = (struct stream){&service, held, 1, bytes_of_text("to nobody")};
    Value value = value_of(stream->piece);
    cr_assert_eq(rpc_send(held, &value.base, stream_on, stream), STATUS_OK);
    WAIT_FOR(atomic_load(&service.streams) == 1);
    service_end(&service, &client);
}
