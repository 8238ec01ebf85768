/* Calls with one answer: what comes back, which status, what they may ask of the server. */
#include "rpc_fixture.h"

#include <pthread.h>

#define ROUNDED_MS 200 /* libgrpc sends timeouts with three digits, rounded up */

static struct service service;
static struct rpc_client client;

/* --- answers --------------------------------------------------------------------------------- */

Test(rpc, an_answer_is_what_was_asked)
{
    static const size_t sizes[] = {0, 1, 23, 24, 1000, 1024, 1025, 100000, 1000000};
    static uint8_t bytes[1000000];
    service_begin(&service, &client);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct rpc_client_call call;
        memset(bytes, (int)('a' + i), sizes[i]);
        begin_call(&client, "/test.Test/Echo", bytes_of(bytes, sizes[i]), &call);
        cr_assert(rpc_client_next(&call));
        Value *value = decoded(&call);
        cr_assert(
            bytes_equal(bytes_of(value->value.data, value->value.len), bytes_of(bytes, sizes[i])));
        google__protobuf__bytes_value__free_unpacked(value, NULL);
        cr_assert_not(rpc_client_next(&call), "one answer only");
        cr_assert_eq(rpc_client_end(&call), GRPC_STATUS_OK, "%s", call.text);
        rpc_client_free(&call);
    }
    WAIT_FOR(atomic_load(&service.ended) == sizeof sizes / sizeof *sizes);
    cr_assert_eq(atomic_load(&service.codes[EDUBBA_OK]), sizeof sizes / sizeof *sizes);
    service_end(&service, &client);
}

Test(rpc, many_calls_at_once_are_all_answered)
{
    enum {
        CALLS = 2000
    };
    static struct rpc_client_call calls[CALLS];
    service_begin(&service, &client);
    for (int i = 0; i < CALLS; i++) { /* more than one connection may have: the rest waits */
        begin_call(&client, "/test.Test/Echo", bytes_of(&i, sizeof i), &calls[i]);
    }
    for (int i = 0; i < CALLS; i++) {
        int number = -1;
        cr_assert(rpc_client_next(&calls[i]));
        Value *value = decoded(&calls[i]);
        memcpy(&number, value->value.data, sizeof number);
        cr_assert_eq(number, i);
        google__protobuf__bytes_value__free_unpacked(value, NULL);
        cr_assert_eq(rpc_client_end(&calls[i]), GRPC_STATUS_OK);
        rpc_client_free(&calls[i]);
    }
    cr_assert_eq(atomic_load(&service.begun), CALLS);
    service_end(&service, &client);
}

static void *ask_often(void *address)
{
    struct rpc_client mine;
    char text[64];
    rpc_client_open(&mine, address, NULL);
    for (int i = 0; i < 100; i++) {
        grpc_status_code code = ask_value(&mine, "/test.Test/Echo", bytes_of_text("here"), text,
                                          sizeof text);
        cr_assert_eq(code, GRPC_STATUS_OK, "%s", text);
        cr_assert_str_eq(text, "here");
    }
    rpc_client_close(&mine);
    return NULL;
}

Test(rpc, many_connections_at_once)
{
    pthread_t threads[8];
    service_begin(&service, &client);
    char *address = (char *)(uintptr_t)rpc_server_address(service.server);
    for (int i = 0; i < 8; i++) {
        cr_assert_eq(pthread_create(&threads[i], NULL, ask_often, address), 0);
    }
    for (int i = 0; i < 8; i++) {
        cr_assert_eq(pthread_join(threads[i], NULL), 0);
    }
    cr_assert_eq(atomic_load(&service.begun), 800);
    service_end(&service, &client);
}

/* --- what is asked wrongly ------------------------------------------------------------------- */

Test(rpc, what_is_not_served_is_named)
{
    char text[256];
    service_begin(&service, &client);
    grpc_status_code code = ask_value(&client, "/google.bigtable.v2.Bigtable/ExecuteQuery",
                                      bytes_of_text("x"), text, sizeof text);
    cr_assert_eq(code, GRPC_STATUS_UNIMPLEMENTED);
    cr_assert(strstr(text, "/google.bigtable.v2.Bigtable/ExecuteQuery") != NULL, "%s", text);
    cr_assert_eq(atomic_load(&service.ended), 0, "it is no method's");
    service_end(&service, &client);
}

Test(rpc, what_is_no_message_is_refused)
{
    static const char *const bad[] = {"\x0a\x05"
                                      "ab",
                                      "\xff\xff\xff\xff\xff\xff", "\x0b", "\x07"};
    char text[256];
    service_begin(&service, &client);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct rpc_client_request request = {.path = "/test.Test/Echo",
                                             .message = bytes_of_text(bad[i])};
        cr_assert_eq(ask(&client, &request, text, sizeof text), GRPC_STATUS_INVALID_ARGUMENT);
        cr_assert(strstr(text, "BytesValue") != NULL, "%s", text);
    }
    struct rpc_client_request none = {.path = "/test.Test/Echo", .has_none = true};
    cr_assert_eq(ask(&client, &none, text, sizeof text), GRPC_STATUS_INVALID_ARGUMENT);
    cr_assert(strstr(text, "without a request") != NULL, "%s", text);
    cr_assert_eq(atomic_load(&service.begun), 0);
    service_end(&service, &client);
}

Test(rpc, a_message_over_the_limit_is_refused_and_the_connection_goes_on)
{
    static uint8_t large[(1 << 20) + 1];
    char text[256];
    service_begin(&service, &client);
    grpc_status_code code = ask_value(&client, "/test.Test/Echo", bytes_of(large, sizeof large),
                                      text, sizeof text);
    cr_assert_eq(code, GRPC_STATUS_RESOURCE_EXHAUSTED, "%d %s", (int)code, text);
    cr_assert_eq(ask_value(&client, "/test.Test/Echo", bytes_of_text("y"), text, sizeof text),
                 GRPC_STATUS_OK);
    cr_assert_eq(atomic_load(&service.begun), 1);
    service_end(&service, &client);
}

/* --- headers, deadlines, details ------------------------------------------------------------- */

Test(rpc, headers_are_seen)
{
    char text[256];
    struct rpc_client_request request = {.path = "/test.Test/Header",
                                         .header = "x-test",
                                         .header_value = "table_name=t&app_profile_id=default"};
    service_begin(&service, &client);
    cr_assert_eq(ask(&client, &request, text, sizeof text), GRPC_STATUS_OK);
    cr_assert_str_eq(text, request.header_value);
    request.header = "x-other";
    cr_assert_eq(ask(&client, &request, text, sizeof text), GRPC_STATUS_OK);
    cr_assert_str_eq(text, "");
    service_end(&service, &client);
}

Test(rpc, a_method_knows_how_long_its_caller_waits)
{
    char text[64];
    struct rpc_client_request request = {.path = "/test.Test/Patience", .deadline_ms = 20000};
    service_begin(&service, &client);
    cr_assert_eq(ask(&client, &request, text, sizeof text), GRPC_STATUS_OK);
    cr_assert(atol(text) > 1000 && atol(text) <= 20000 + ROUNDED_MS, "%s", text);
    request.deadline_ms = 0;
    cr_assert_eq(ask(&client, &request, text, sizeof text), GRPC_STATUS_OK);
    cr_assert_str_eq(text, "60000", "no deadline: as much as the method gives");
    request.deadline_ms = 4000 * 1000;
    cr_assert_eq(ask(&client, &request, text, sizeof text), GRPC_STATUS_OK);
    cr_assert_str_eq(text, "60000");
    service_end(&service, &client);
}

static void check_details(const char *size, size_t expected)
{
    struct rpc_client_call call;
    begin_call(&client, "/test.Test/Fail", bytes_of_text(size), &call);
    cr_assert_eq(rpc_client_end(&call), GRPC_STATUS_NOT_FOUND);
    cr_assert_str_eq(call.text, "Not found: Bücher\n100 %");
    struct bytes details = rpc_client_trailer(&call, "grpc-status-details-bin");
    cr_assert_eq(details.size_bytes, expected);
    for (size_t i = 0; i < details.size_bytes; i++) {
        cr_assert_eq(details.data[i], 0xd7);
    }
    rpc_client_free(&call);
}

Test(rpc, details_of_a_status_arrive)
{
    service_begin(&service, &client);
    check_details("0", 0);
    check_details("1", 1);
    check_details("200", 200);
    check_details("5632", 5632);
    check_details("5633", 0); /* a client would take offence at all of it */
    service_end(&service, &client);
}
