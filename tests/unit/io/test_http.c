#include "tests/support/transport_fixture.h"

#include "common/io/http.h"
#include "common/io/http_host.h"
#include "common/io/metrics.h"

static char answer[1 << 16];

/* The whole answer to one request, as text. */
static const char *ask_as(uint16_t port, const char *method, const char *path, const char *host)
{
    char request[256];
    int raw = raw_connect(INADDR_LOOPBACK, port);
    int length = snprintf(request, sizeof request,
                          "%s %s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n", method, path,
                          host);
    raw_send(raw, request, (size_t)length);
    size_t size_bytes = 0;
    ssize_t got = 0;
    while ((got = recv(raw, answer + size_bytes, sizeof answer - 1 - size_bytes, 0)) > 0) {
        size_bytes += (size_t)got;
    }
    answer[size_bytes] = '\0';
    close(raw);
    return answer;
}

static const char *ask(uint16_t port, const char *method, const char *path)
{
    return ask_as(port, method, path, "localhost");
}

static struct http_server *open_server(void)
{
    struct http_server *server = NULL;
    struct error error;
    cr_assert_eq(http_server_open("127.0.0.1:0", false, &server, &error), STATUS_OK, "%s",
                 error.text);
    cr_assert_gt(http_server_port(server), 0);
    return server;
}

static void hello(void *context, const char *path, struct http_response *response)
{
    if (context == NULL) {
        response->status = 503;
    }
    response->content_type = "application/json";
    buffer_append_format(&response->body, "{\"path\":\"%s\"}", path);
}

Test(http, serves_metrics_and_handlers)
{
    struct http_server *server = open_server();
    uint16_t port = http_server_port(server);
    metric_add(metric_counter("edubba_test_total", "", "Test."), 41);
    cr_assert_eq(http_server_handle(server, "/hello", hello, &port), STATUS_OK);
    cr_assert_eq(http_server_handle(server, "/sick", hello, NULL), STATUS_OK);
    cr_assert_eq(http_server_handle(server, "/hello", hello, NULL), STATUS_ALREADY_EXISTS);

    cr_assert(strncmp(ask(port, "GET", "/metrics"), "HTTP/1.1 200", 12) == 0, "%s", answer);
    cr_assert(strstr(answer, "text/plain; version=0.0.4") != NULL, "%s", answer);
    cr_assert(strstr(answer, "\nedubba_test_total 41\n") != NULL, "%s", answer);
    cr_assert(strstr(ask(port, "GET", "/hello"), "{\"path\":\"/hello\"}") != NULL, "%s", answer);
    cr_assert(strstr(answer, "application/json") != NULL, "%s", answer);
    cr_assert(strncmp(ask(port, "GET", "/sick"), "HTTP/1.1 503", 12) == 0, "%s", answer);
    cr_assert(strncmp(ask(port, "HEAD", "/hello"), "HTTP/1.1 200", 12) == 0, "%s", answer);
    cr_assert(strstr(answer, "{") == NULL, "no body for HEAD");
    cr_assert(strncmp(ask(port, "GET", "/nothing"), "HTTP/1.1 404", 12) == 0, "%s", answer);
    cr_assert(strncmp(ask(port, "POST", "/hello"), "HTTP/1.1 405", 12) == 0, "%s", answer);
    http_server_close(server);
}

Test(http, bind_errors_name_the_address)
{
    struct http_server *server = open_server();
    struct http_server *second = NULL;
    struct error error;
    char address[64];
    (void)snprintf(address, sizeof address, "127.0.0.1:%u", (unsigned)http_server_port(server));
    cr_assert_eq(http_server_open(address, false, &second, &error), STATUS_FAILED_PRECONDITION);
    cr_assert(strstr(error.text, address) != NULL, "%s", error.text);
    cr_assert(strstr(error.text, "in use") != NULL, "%s", error.text);
    http_server_close(server);
    cr_assert_eq(http_server_open(address, false, &server, &error), STATUS_OK, "%s", error.text);
    cr_assert_eq(http_server_open(address, false, &second, &error), STATUS_FAILED_PRECONDITION,
                 "taken by ourselves");
    http_server_close(server);
    cr_assert_eq(http_server_open("0.0.0.0:0", false, &server, &error), STATUS_FAILED_PRECONDITION);
    cr_assert_neq(http_server_open("nonsense", false, &server, &error), STATUS_OK);
    http_server_close(NULL);
}

static atomic_uint slow_running;

static void slow(void *context, const char *path, struct http_response *response)
{
    (void)context;
    (void)path;
    atomic_store(&slow_running, 1);
    clock_sleep_us(100000);
    atomic_store(&slow_running, 2);
    buffer_append(&response->body, "ok", 2);
}

static void *ask_slow(void *context)
{
    (void)ask(*(uint16_t *)context, "GET", "/slow");
    return NULL;
}

Test(http, closing_waits_for_handlers)
{
    struct http_server *server = open_server();
    uint16_t port = http_server_port(server);
    pthread_t thread;
    cr_assert_eq(http_server_handle(server, "/slow", slow, NULL), STATUS_OK);
    pthread_create(&thread, NULL, ask_slow, &port);
    WAIT_FOR(slow_running == 1);
    http_server_close(server);
    cr_assert_eq(slow_running, 2);
    pthread_join(thread, NULL);
}

Test(http, a_server_for_this_machine_is_not_for_pages_from_elsewhere)
{
    struct http_server *server = open_server();
    struct error error;
    uint16_t port = http_server_port(server);
    cr_assert_eq(http_server_handle(server, "/hello", hello, &port), STATUS_OK);
    static const char *const paths[] = {"/metrics", "/hello"};
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        ask_as(port, "GET", paths[i], "evil.example");
        cr_assert(strncmp(answer, "HTTP/1.1 403", 12) == 0, "%s", answer);
        cr_assert(strstr(answer, "PERMISSION_DENIED") != NULL, "%s", answer);
        ask_as(port, "GET", paths[i], "127.0.0.1:7480");
        cr_assert(strncmp(answer, "HTTP/1.1 200", 12) == 0, "%s", answer);
    }
    http_server_close(server);

    cr_assert_eq(http_server_open("127.0.0.1:0", true, &server, &error), STATUS_OK);
    ask_as(http_server_port(server), "GET", "/metrics", "edubba.example");
    cr_assert(strncmp(answer, "HTTP/1.1 200", 12) == 0, "%s", answer);
    http_server_close(server);
}

/* Everything that comes until the other end hangs up. */
static const char *read_all(int raw)
{
    size_t size_bytes = 0;
    ssize_t got = 0;
    while ((got = recv(raw, answer + size_bytes, sizeof answer - 1 - size_bytes, 0)) > 0) {
        size_bytes += (size_t)got;
    }
    answer[size_bytes] = '\0';
    close(raw);
    return answer;
}

#define HEAD_OF(path, more) "GET " path " HTTP/1.1\r\nHost: localhost\r\n" more "\r\n"

Test(http, a_connection_serves_one_request_after_the_other)
{
    struct http_server *server = open_server();
    uint16_t port = http_server_port(server);
    cr_assert_eq(http_server_handle(server, "/hello", hello, &port), STATUS_OK);

    /* Three at once, the last in two pieces and with a body, which ends it. */
    static const char three[] = HEAD_OF("/hello", "")
        HEAD_OF("/nothing", "") "GET /hello?x=1 HTTP/1.1\r\n";
    static const char rest[] = "Host: localhost\r\nContent-Length: 4\r\n\r\nbody";
    int raw = raw_connect(INADDR_LOOPBACK, port);
    raw_send(raw, three, sizeof three - 1);
    clock_sleep_us(20000);
    raw_send(raw, rest, sizeof rest - 1);
    const char *first = strstr(read_all(raw), "HTTP/1.1 200 OK\r\nConnection: keep-alive\r\n");
    cr_assert_eq(first, answer, "%s", answer);
    const char *second = strstr(first, "HTTP/1.1 404 Not Found\r\nConnection: keep-alive\r\n");
    cr_assert_not_null(second, "%s", answer);
    cr_assert_not_null(strstr(second, "HTTP/1.1 200 OK\r\nConnection: close\r\n"), "%s", answer);

    /* Who has shut his half is answered; of version 1.0 one request. */
    static const char old[] = "GET /hello HTTP/1.0\r\n\r\n";
    raw = raw_connect(INADDR_LOOPBACK, port);
    raw_send(raw, old, sizeof old - 1);
    shutdown(raw, SHUT_WR);
    cr_assert_not_null(strstr(read_all(raw), "{\"path\":\"/hello\"}"), "%s", answer);

    static const char junk[] = "\x16\x03\x01\x02";
    raw = raw_connect(INADDR_LOOPBACK, port);
    raw_send(raw, junk, sizeof junk - 1);
    cr_assert_not_null(strstr(read_all(raw), "HTTP/1.1 400 Bad Request"), "%s", answer);
    http_server_close(server);
}

/* Is it hung up on? */
static bool is_down(int raw)
{
    char byte = 0;
    ssize_t got = recv(raw, &byte, 1, MSG_DONTWAIT);
    return got == 0 || (got < 0 && errno != EAGAIN);
}

Test(http, connections_that_are_held_and_not_used_keep_nobody_out)
{
    enum {
        HELD = 2 * HTTP_CONNECTIONS_MAX
    };
    static int held[HELD];
    struct http_server *server = open_server();
    uint16_t port = http_server_port(server);
    cr_assert_eq(http_server_handle(server, "/hello", hello, &port), STATUS_OK);

    static const char begun[] = "GET /hello HTTP/1.1\r\nHost: loc";
    static const char rest[] = "alhost\r\nConnection: close\r\n\r\n";
    for (size_t i = 0; i < HELD; i++) {
        held[i] = raw_connect(INADDR_LOOPBACK, port);
        raw_send(held[i], begun, sizeof begun - 1);
    }
    cr_assert(strncmp(ask(port, "GET", "/hello"), "HTTP/1.1 200", 12) == 0, "%s", answer);

    /* Those that came first gave way, one for each that came. */
    for (size_t i = 0; i < HELD - HTTP_CONNECTIONS_MAX; i++) {
        WAIT_FOR(is_down(held[i]));
        close(held[i]);
    }
    raw_send(held[HELD - 1], rest, sizeof rest - 1);
    cr_assert(strncmp(read_all(held[HELD - 1]), "HTTP/1.1 200", 12) == 0, "%s", answer);
    for (size_t i = HELD - HTTP_CONNECTIONS_MAX; i < HELD - 1; i++) {
        close(held[i]);
    }
    http_server_close(server);
}

static struct http_call *_Atomic kept_call;

static void keep_call(void *context, struct http_call *call)
{
    (void)context;
    atomic_store(&kept_call, call);
}

Test(http, a_call_whose_asker_has_hung_up_is_answered_all_the_same)
{
    struct http_server *server = open_server();
    uint16_t port = http_server_port(server);
    cr_assert_eq(http_server_handle_tree(server, "/api", keep_call, NULL), STATUS_OK);
    static const char asked[] =
        "PUT /api/x?y HTTP/1.1\r\nHost: localhost\r\nx-Name:  value \r\n\r\n";
    int raw = raw_connect(INADDR_LOOPBACK, port);
    raw_send(raw, asked, sizeof asked - 1);
    WAIT_FOR(atomic_load(&kept_call) != NULL);
    cr_assert_str_eq(http_call_method(kept_call), "PUT");
    cr_assert_str_eq(http_call_uri(kept_call), "/api/x?y");
    cr_assert_str_eq(http_call_header(kept_call, "X-NAME"), "value");
    cr_assert_null(http_call_header(kept_call, "Y-Name"));
    close(raw);

    struct http_response response = {.status = 304, .content_type = "text/plain"};
    buffer_append(&response.body, "gone", 4);
    http_call_answer(kept_call, &response);
    http_server_close(server);
}

Test(http, names_of_this_machine)
{
    static const char *const ours[] = {NULL, "localhost", "localhost:1", "127.1.2.3:4", "[::1]"};
    static const char *const others[] = {"",      "localhost.x", "127.0.0.1.x",
                                         "127.x", "[::1].x",     "::1"};
    for (size_t i = 0; i < sizeof ours / sizeof *ours; i++) {
        cr_assert(http_host_is_local(ours[i]), "%zu", i);
    }
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        cr_assert_not(http_host_is_local(others[i]), "%s", others[i]);
    }
}
