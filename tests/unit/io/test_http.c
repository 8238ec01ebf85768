#include "tests/support/transport_fixture.h"

#include "common/io/http.h"
#include "common/io/http_host.h"
#include "common/io/metrics.h"
#include "tests/support/skip.h"

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
    raw_receive_all(raw, answer, sizeof answer);
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

Test(http, who_looks_what_there_is_is_told_unless_a_page_leads_on)
{
    struct http_server *server = open_server();
    uint16_t port = http_server_port(server);
    cr_assert_eq(http_server_handle(server, "/hello", hello, &port), STATUS_OK);
    cr_assert(strncmp(ask(port, "GET", "/"), "HTTP/1.1 404", 12) == 0, "%s", answer);
    cr_assert_not_null(strstr(answer, "\r\n\r\nNot Found; served are /hello, /metrics\n"), "%s",
                       answer);
    cr_assert_not_null(strstr(ask(port, "GET", "/hell?o"), "/hello, /metrics\n"), "%s", answer);
    cr_assert_eq(http_server_handle(server, "/", hello, &port), STATUS_OK);
    cr_assert_not_null(strstr(ask(port, "GET", "/hell"), "\r\n\r\nNot Found\n"), "%s", answer);
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
    raw_receive_all(raw, answer, sizeof answer);
    return answer;
}

#define HOST                "Host: localhost\r\n"
#define HEAD_OF(path, more) "GET " path " HTTP/1.1\r\n" HOST more "\r\n"

Test(http, a_connection_serves_one_request_after_the_other)
{
    struct http_server *server = open_server();
    uint16_t port = http_server_port(server);
    cr_assert_eq(http_server_handle(server, "/hello", hello, &port), STATUS_OK);

    /* Three at once, the last in two pieces and with a body, which nobody reads. */
    static const char three[] = HEAD_OF("/hello", "")
        HEAD_OF("/nothing", "") "GET /hello?x=1 HTTP/1.1\r\n";
    static const char rest[] = "Host: localhost\r\nContent-Length: 4\r\n\r\nbody" HEAD_OF(
        "/hello", "Connection: close\r\n");
    static const char *const answers[] = {"HTTP/1.1 200 OK\r\n", "HTTP/1.1 404 Not Found\r\n",
                                          "HTTP/1.1 200 OK\r\n", "HTTP/1.1 200 OK\r\n"};
    int raw = raw_connect(INADDR_LOOPBACK, port);
    raw_send(raw, three, sizeof three - 1);
    clock_sleep_us(20000);
    raw_send(raw, rest, sizeof rest - 1);
    const char *at = read_all(raw);
    for (size_t i = 0; i < sizeof answers / sizeof *answers; i++) {
        at = strstr(at, "HTTP/1.1");
        cr_assert_not_null(at, "%zu: %s", i, answer);
        cr_assert_eq(strncmp(at, answers[i], strlen(answers[i])), 0, "%zu: %s", i, at);
        at++;
    }
    cr_assert_null(strstr(at, "HTTP/1.1"), "%s", at);
    cr_assert_not_null(strstr(at, "Connection: close\r\n"), "%s", at);

    /* Who has shut his half is answered; of version 1.0 one request. */
    static const char old[] = "GET /hello HTTP/1.0\r\n\r\n";
    raw = raw_connect(INADDR_LOOPBACK, port);
    raw_send(raw, old, sizeof old - 1);
    shutdown(raw, SHUT_WR);
    cr_assert_not_null(strstr(read_all(raw), "{\"path\":\"/hello\"}"), "%s", answer);
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
    static const char rest[] = "lhost\r\nConnection: close\r\n\r\n";
    for (size_t i = 0; i < HELD; i++) {
        held[i] = raw_connect(INADDR_LOOPBACK, port);
        raw_send(held[i], begun, sizeof begun - 1);
    }
    for (size_t i = 0; i < HELD; i++) { /* a byte now and then is no request */
        (void)send(held[i], "a", 1, MSG_NOSIGNAL);
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
        "PUT /api/x?y HTTP/1.1\r\nHost: localhost\r\nx-Name:  value\r\n\r\n";
    int raw = raw_connect(INADDR_LOOPBACK, port);
    raw_send(raw, asked, sizeof asked - 1);
    WAIT_FOR(atomic_load(&kept_call) != NULL);
    cr_assert_str_eq(http_call_method(kept_call), "PUT");
    cr_assert_str_eq(http_call_uri(kept_call), "/api/x?y");
    cr_assert_str_eq(http_call_header(kept_call, "X-NAME"), "value");
    cr_assert_null(http_call_header(kept_call, "Y-Name"));
    cr_assert(http_call_is_awaited(kept_call));
    close(raw);
    WAIT_FOR(!http_call_is_awaited(kept_call));

    struct http_response response = {.status = 304, .content_type = "text/plain"};
    buffer_append(&response.body, "gone", 4);
    http_call_answer(kept_call, &response);
    http_server_close(server);
}

/* --- who waits, and who is awaited ---------------------------------------------------------------- */

static void *answer_later(void *context)
{
    struct http_call *call = context;
    struct http_response response = {.status = 200, .content_type = "text/plain"};
    clock_sleep_us(50000);
    buffer_append_format(&response.body, "%s %s", http_call_method(call), http_call_uri(call));
    http_call_answer(call, &response);
    return NULL;
}

static void hand_to_thread(void *context, struct http_call *call)
{
    pthread_t thread;
    (void)context;
    pthread_create(&thread, NULL, answer_later, call);
    pthread_detach(thread);
}

Test(http, calls_are_answered_by_other_threads)
{
    struct http_server *server = open_server();
    uint16_t port = http_server_port(server);
    cr_assert_eq(http_server_handle_tree(server, "/api", hand_to_thread, NULL), STATUS_OK);
    cr_assert_eq(http_server_handle_call(server, "/one", hand_to_thread, NULL), STATUS_OK);
    cr_assert_not_null(strstr(ask(port, "GET", "/api/a%20b?c=%2F"), "\r\n\r\nGET /api/a%20b?c=%2F"),
                       "as it was sent: %s", answer);
    cr_assert_not_null(strstr(ask(port, "DELETE", "/api"), "\r\n\r\nDELETE /api"), "%s", answer);
    cr_assert(strncmp(ask(port, "GET", "/apis"), "HTTP/1.1 404", 12) == 0, "%s", answer);
    cr_assert(strncmp(ask(port, "PUT", "/one"), "HTTP/1.1 405", 12) == 0, "%s", answer);
    cr_assert(strncmp(ask(port, "HEAD", "/one"), "HTTP/1.1 200", 12) == 0, "%s", answer);
    cr_assert_null(strstr(answer, "HEAD /one"), "%s", answer);

    /* Its body is passed over, and its connection serves the next. */
    static const char both[] =
        "POST /api HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
        "4\r\nbody\r\n0\r\n\r\n" HEAD_OF("/one", "Connection: close\r\n");
    int raw = raw_connect(INADDR_LOOPBACK, port);
    raw_send(raw, both, sizeof both - 1);
    cr_assert_not_null(strstr(read_all(raw), "\r\n\r\nPOST /api"), "%s", answer);
    cr_assert_not_null(strstr(answer, "\r\n\r\nGET /one"), "%s", answer);
    http_server_close(server);
}

static void *answer_kept(void *context)
{
    struct http_response response = {.status = 200, .content_type = "text/plain"};
    clock_sleep_us(100000);
    while (http_call_is_awaited(kept_call)) { /* the server has begun to close some time */
        clock_sleep_us(1000);
    }
    atomic_store((atomic_bool *)context, true);
    http_call_answer(kept_call, &response);
    return NULL;
}

Test(http, closing_waits_for_calls_and_hands_on_no_more)
{
    struct http_server *server = open_server();
    atomic_bool answered = false;
    pthread_t thread;
    cr_assert_eq(http_server_handle_tree(server, "/api", keep_call, NULL), STATUS_OK);
    static const char asked[] = HEAD_OF("/api", "");
    int raw = raw_connect(INADDR_LOOPBACK, http_server_port(server));
    raw_send(raw, asked, sizeof asked - 1);
    WAIT_FOR(atomic_load(&kept_call) != NULL);
    pthread_create(&thread, NULL, answer_kept, &answered);
    http_server_close(server);
    cr_assert(answered);
    pthread_join(thread, NULL);
    close(raw);
}

#define BIG_BYTES (8U << 20)

static atomic_uint big_asked;

static void big(void *context, const char *path, struct http_response *response)
{
    (void)context;
    (void)path;
    (void)buffer_reserve(&response->body, BIG_BYTES);
    memset(response->body.data, 'x', BIG_BYTES);
    buffer_advance(&response->body, BIG_BYTES);
    atomic_fetch_add(&big_asked, 1);
}

/* Few bytes of an answer fit into what the kernel keeps for this one. */
static int ask_and_take_nothing(uint16_t port, const char *request)
{
    int small = 4096;
    int raw = raw_connect(INADDR_LOOPBACK, port);
    (void)setsockopt(raw, SOL_SOCKET, SO_RCVBUF, &small, sizeof small);
    raw_send(raw, request, strlen(request));
    return raw;
}

Test(http, closing_does_not_wait_for_who_takes_no_answer)
{
    static int held[4];
    struct http_server *server = open_server();
    uint16_t port = http_server_port(server);
    cr_assert_eq(http_server_handle(server, "/big", big, NULL), STATUS_OK);
    for (size_t i = 0; i < sizeof held / sizeof *held; i++) {
        held[i] = ask_and_take_nothing(port, HEAD_OF("/big", ""));
        WAIT_FOR(atomic_load(&big_asked) == i + 1);
    }
    int64_t began_ns = clock_monotonic_ns();
    http_server_close(server);
    cr_assert_lt(clock_monotonic_ns() - began_ns, INT64_C(30000000000),
                 "it has a minute's patience");
    for (size_t i = 0; i < sizeof held / sizeof *held; i++) {
        close(held[i]);
    }
}

/* So many bytes come until the other end hangs up. */
static size_t take_all(int raw)
{
    size_t taken = 0;
    ssize_t got = 0;
    while ((got = recv(raw, answer, sizeof answer, 0)) > 0) {
        taken += (size_t)got;
    }
    close(raw);
    return taken;
}

/* Whoever may ask at all could otherwise have 256 answers made, of any size, and take none. */
Test(http, answers_that_nobody_takes_are_so_many_and_no_more)
{
    enum {
        KEPT = HTTP_ANSWER_BYTES_MAX / BIG_BYTES,
        HELD = 2 * KEPT - 1
    };
    static int held[HELD];
    static const char request[] = HEAD_OF("/big", "Connection: close\r\n");
    struct http_server *server = open_server();
    uint16_t port = http_server_port(server);
    cr_assert_eq(http_server_handle(server, "/big", big, NULL), STATUS_OK);
    for (size_t i = 0; i < HELD; i++) {
        held[i] = raw_connect(INADDR_LOOPBACK, port);
        raw_send(held[i], request, sizeof request - 1);
        WAIT_FOR(atomic_load(&big_asked) == i + 1);
    }
    int last = raw_connect(INADDR_LOOPBACK, port);
    raw_send(last, request, sizeof request - 1);
    WAIT_FOR(atomic_load(&big_asked) == HELD + 1);

    /* Those who have had longest to take theirs gave way. */
    for (size_t i = 0; i < KEPT; i++) {
        cr_assert_lt(take_all(held[i]), BIG_BYTES / 4, "%zu: and the kernel has little of it", i);
    }
    cr_assert_gt(take_all(last), BIG_BYTES);
    for (size_t i = KEPT; i < HELD; i++) {
        close(held[i]);
    }
    http_server_close(server);
}

Test(http, who_waits_for_an_answer_does_not_give_way)
{
    enum {
        HELD = HTTP_CONNECTIONS_MAX + 8
    };
    static int held[HELD];
    struct http_server *server = open_server();
    uint16_t port = http_server_port(server);
    cr_assert_eq(http_server_handle_tree(server, "/api", keep_call, NULL), STATUS_OK);
    static const char asked[] = HEAD_OF("/api", "Connection: close\r\n");
    int raw = raw_connect(INADDR_LOOPBACK, port);
    raw_send(raw, asked, sizeof asked - 1);
    WAIT_FOR(atomic_load(&kept_call) != NULL);
    for (size_t i = 0; i < HELD; i++) {
        held[i] = raw_connect(INADDR_LOOPBACK, port);
    }
    WAIT_FOR(is_down(held[0]));
    struct http_response response = {.status = 200, .content_type = "text/plain"};
    buffer_append(&response.body, "late", 4);
    http_call_answer(kept_call, &response);
    cr_assert_not_null(strstr(read_all(raw), "\r\n\r\nlate"), "%s", answer);

    /* As many hang up at once as there may be, and closing waits for nobody's patience to end. */
    int64_t began_ns = clock_monotonic_ns();
    for (size_t i = 0; i < HELD; i++) {
        close(held[i]);
    }
    http_server_close(server);
    cr_assert_lt(clock_monotonic_ns() - began_ns, INT64_C(30000000000));
}

/* --- what is sent --------------------------------------------------------------------------------- */

#define LAST HOST "Connection: close\r\n"

Test(http, what_is_no_request_is_refused)
{
    static const struct {
        const char *sent;
        const char *status;
    } cases[] = {
        {"GET /hello HTTP/1.1\r\n\r\n", "400"}, /* of which machine? */
        {"GET /hello HTTP/2.0\r\n" LAST "\r\n", "505"},
        {"GET http://localhost/hello HTTP/1.1\r\n" LAST "\r\n", "404"},
        {"GET /hello HTTP/1.1\r\n" LAST "Content-Length: -1\r\n\r\n", "400"},
        {"BREW /hello HTTP/1.1\r\n" LAST "\r\n", "405"},
        {"POST /hello HTTP/1.1\r\n" LAST "Transfer-Encoding: chunked\r\n\r\nno number\r\n", "400"},
    };
    static char long_head[1 << 16];
    const char *const hung_up_on[] = {"GET /hel lo HTTP/1.1\r\n" LAST "\r\n", "GET\r\n\r\n",
                                      "\x16\x03\x01\x02\r\n\r\n", long_head};
    struct http_server *server = open_server();
    uint16_t port = http_server_port(server);
    cr_assert_eq(http_server_handle(server, "/hello", hello, &port), STATUS_OK);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int raw = raw_connect(INADDR_LOOPBACK, port);
        raw_send(raw, cases[i].sent, strlen(cases[i].sent));
        cr_assert_eq(strncmp(read_all(raw), "HTTP/1.1 ", 9), 0, "%zu: %s", i, answer);
        cr_assert_eq(strncmp(answer + 9, cases[i].status, 3), 0, "%zu: %s", i, answer);
    }

    memset(long_head, 'a', sizeof long_head - 1);
    memcpy(long_head, "GET /hello HTTP/1.1\r\nName: ", 27);
    for (size_t i = 0; i < sizeof hung_up_on / sizeof *hung_up_on; i++) {
        int raw = raw_connect(INADDR_LOOPBACK, port);
        raw_send(raw, hung_up_on[i], strlen(hung_up_on[i]));
        cr_assert_null(strstr(read_all(raw), " 200 "), "%zu: %s", i, answer);
    }
    http_server_close(server);
}

Test(http, without_memory_it_hangs_up_and_goes_on)
{
    struct http_server *server = NULL;
    struct error error;
    enum status status = STATUS_NO_MEMORY;
    for (uint64_t after = 0; status != STATUS_OK; after++) {
        memory_fail_arm(after, 0);
        status = http_server_open("127.0.0.1:0", false, &server, &error);
        memory_fail_disarm();
        cr_assert(status == STATUS_OK || status == STATUS_NO_MEMORY);
    }
    uint16_t port = http_server_port(server);
    cr_assert_eq(http_server_handle(server, "/hello", hello, &port), STATUS_OK);
    bool served = false;
    for (uint64_t after = 0; !served; after++) {
        memory_fail_arm(after, 1);
        (void)ask(port, "GET", "/hello");
        memory_fail_disarm();
        served = strncmp(answer, "HTTP/1.1 200", 12) == 0;
        cr_assert(served || answer[0] == '\0' || strncmp(answer, "HTTP/1.1 500", 12) == 0, "%s",
                  answer);
    }
    http_server_close(server);
}

/* --- addresses ------------------------------------------------------------------------------------ */

Test(http, addresses_of_every_kind)
{
    static const char *const addresses[] = {"localhost:0", "0.0.0.0:0", "*:0", ":0"};
    struct http_server *server = NULL;
    struct error error;
    for (size_t i = 0; i < sizeof addresses / sizeof *addresses; i++) {
        cr_assert_eq(http_server_open(addresses[i], true, &server, &error), STATUS_OK, "%s",
                     error.text);
        http_server_close(server);
    }
    cr_assert_eq(http_server_open("nowhere.invalid:0", true, &server, &error),
                 STATUS_INVALID_ARGUMENT);
    cr_assert_not_null(strstr(error.text, "nowhere.invalid:0: "), "%s", error.text);
    cr_assert_eq(http_server_open("192.0.2.1:0", true, &server, &error), STATUS_INVALID_ARGUMENT);
    cr_assert_not_null(strstr(error.text, "no IP address that this machine can use"), "%s",
                       error.text);
}

Test(http, an_address_of_version_6)
{
    struct http_server *server = NULL;
    struct error error;
    int raw = socket(AF_INET6, SOCK_STREAM, 0);
    struct sockaddr_in6 any = {.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT};
    if (raw < 0 || bind(raw, (struct sockaddr *)&any, sizeof any) != 0) {
        test_skip("this machine has no IPv6");
    }
    cr_assert_eq(http_server_open("[::1]:0", false, &server, &error), STATUS_OK, "%s", error.text);
    struct sockaddr_in6 where = {.sin6_family = AF_INET6,
                                 .sin6_addr = IN6ADDR_LOOPBACK_INIT,
                                 .sin6_port = htons(http_server_port(server))};
    static const char asked[] = "GET /metrics HTTP/1.1\r\nHost: [::1]\r\nConnection: close\r\n\r\n";
    cr_assert_eq(connect(raw, (struct sockaddr *)&where, sizeof where), 0);
    raw_send(raw, asked, sizeof asked - 1);
    cr_assert(strncmp(read_all(raw), "HTTP/1.1 200", 12) == 0, "%s", answer);
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
