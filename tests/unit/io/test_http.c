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
