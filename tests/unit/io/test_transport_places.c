/* Connections that are held and not used keep nobody out who has something to ask. */
#include "tests/support/told_metrics.h"
#include "tests/support/transport_fixture.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "common/io/transport/transport_listener.h"

#define STRANGERS 360 /* more than a listener lets in beside its connections_max */
#define PLACES    4

#define GIVEN_UP_NS (INT64_C(1000000) * LISTENER_HANDSHAKE_TIMEOUT_MS - INT64_C(1000000000))

static struct service service;
static int strangers[STRANGERS];

static void open_service(void)
{
    struct transport_listener_options options = service_options(&service);
    options.connections_max = PLACES;
    service_open_with(&service, &options);
}

static void close_service(void)
{
    for (size_t i = 0; i < STRANGERS; i++) {
        if (strangers[i] > 0) {
            (void)close(strangers[i]);
        }
    }
    transport_listener_close(service.listener, 0);
}

TestSuite(places, .init = open_service, .fini = close_service, .timeout = 600);

static void fill_with_strangers(void)
{
    for (size_t i = 0; i < STRANGERS; i++) {
        if (strangers[i] > 0) {
            (void)close(strangers[i]);
        }
        strangers[i] = raw_connect(own_host(), transport_listener_port(service.listener));
    }
}

/* How long it takes until as many are served as there are places. */
static int64_t serve_all_ns(struct caller callers[PLACES])
{
    int64_t begun_ns = clock_monotonic_ns();
    for (size_t i = 0; i < PLACES; i++) {
        memset(&callers[i], 0, sizeof callers[i]);
        callers[i].check = true;
        caller_open(&callers[i], service.address);
        WAIT_FOR(callers[i].ready == 1 || callers[i].closed == 1);
        cr_assert_eq(callers[i].closed, 0, "%s", callers[i].error.text);
        cr_assert_eq(caller_send_number(&callers[i]), STATUS_OK);
        WAIT_FOR(callers[i].responses == 1);
    }
    int64_t took_ns = clock_monotonic_ns() - begun_ns;
    for (size_t i = 0; i < PLACES; i++) {
        transport_connection_close(callers[i].connection);
    }
    return took_ns;
}

/* Well before those who say nothing are given up by themselves.  Where the machine was busy for so long it is tried
 * again. */
Test(places, those_who_never_shake_hands_keep_nobody_out)
{
    static struct caller callers[PLACES];
    int64_t took_ns = INT64_MAX;
    for (int attempt = 0; attempt < 10 && took_ns >= GIVEN_UP_NS; attempt++) {
        fill_with_strangers();
        took_ns = serve_all_ns(callers);
    }
    cr_assert_lt(took_ns, GIVEN_UP_NS);
}

/* From now on so many more descriptors may be opened here. */
static void leave_descriptors(rlim_t count)
{
    struct rlimit limit;
    cr_assert_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
    int next = fcntl(0, F_DUPFD, 3);
    cr_assert_geq(next, 0);
    limit.rlim_cur = (rlim_t)next + count;
    close(next);
    cr_assert_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

static void connect_made(int raw)
{
    struct sockaddr_in to = {.sin_family = AF_INET,
                             .sin_port = htons(transport_listener_port(service.listener)),
                             .sin_addr.s_addr = htonl(own_host())};
    cr_assert_eq(connect(raw, (struct sockaddr *)&to, sizeof to), 0);
}

#define FEW 12

/* Who comes last is accepted when those before him have been; these wait for nothing. */
Test(places, where_descriptors_end_those_who_never_shake_hands_keep_nobody_out)
{
    struct frame_header header;
    uint8_t payload[4096];
    for (size_t i = 0; i <= FEW; i++) {
        strangers[i] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        cr_assert_geq(strangers[i], 0);
    }
    leave_descriptors(3);
    int64_t begun_ns = clock_monotonic_ns();
    for (size_t i = 0; i <= FEW; i++) {
        connect_made(strangers[i]);
    }
    raw_hello(strangers[FEW], WIRE_VERSION_OLDEST, WIRE_VERSION);
    (void)raw_receive_frame(strangers[FEW], &header, payload, sizeof payload);
    cr_assert_eq(header.type, FRAME_HELLO_ACK);
    cr_assert_lt(clock_monotonic_ns() - begun_ns, GIVEN_UP_NS);
}

static bool try_caller(struct caller *caller)
{
    memset(caller, 0, sizeof *caller);
    caller->check = true;
    caller_open(caller, service.address);
    WAIT_FOR(caller->ready == 1 || caller->closed == 1);
    if (caller->closed == 1) {
        cr_assert_not_null(strstr(caller->error.text, "connections_max"), "%s", caller->error.text);
        transport_connection_close(caller->connection);
    }
    return caller->ready == 1;
}

static void expect_made_room(int raw)
{
    struct frame_header header;
    uint8_t payload[4096];
    (void)raw_receive_frame(raw, &header, payload, sizeof payload);
    cr_assert_eq(header.type, FRAME_GOAWAY);
    raw_expect_closed(raw);
}

/* Who asks now and then, or waits for an answer, keeps his place. */
Test(places, those_who_do_nothing_make_room_for_those_who_come)
{
    static struct caller busy;
    static struct caller waiting;
    static struct caller newcomer;
    cr_assert(try_caller(&waiting));
    atomic_store(&service.hold, true);
    cr_assert_eq(caller_send_number(&waiting), STATUS_OK);
    WAIT_FOR(service.requests == 1);
    atomic_store(&service.hold, false);
    cr_assert(try_caller(&busy));
    strangers[0] = raw_open(&service);
    strangers[1] = raw_open(&service);
    static struct caller early;
    cr_assert_not(try_caller(&early), "nobody has been idle for long");
    int64_t end_ns = clock_monotonic_ns() + INT64_C(6500000000);
    for (unsigned sent = 1; clock_monotonic_ns() < end_ns; sent++) {
        cr_assert_eq(caller_send_number(&busy), STATUS_OK);
        WAIT_FOR(busy.responses == sent);
        clock_sleep_us(100000);
    }
    cr_assert(try_caller(&newcomer), "the one that was idle longest makes room");
    cr_assert(told_metrics_have("edubba_connections_displaced_total 1"));
    cr_assert(told_metrics_have("edubba_connections_refused_total 1"));
    cr_assert(told_metrics_have("edubba_connections 4"));
    cr_assert_eq(caller_send_number(&newcomer), STATUS_OK);
    WAIT_FOR(newcomer.responses == 1);
    expect_made_room(strangers[0]);
    cr_assert_eq(busy.closed, 0);
    cr_assert_eq(waiting.closed, 0);
    struct buffer message = response_of(bytes_of((const uint8_t *)"\1\0\0\0\0\0\0\0", 8));
    transport_reply_send(service.held[0], &message, true);
    WAIT_FOR(waiting.responses == 1);
    transport_connection_close(newcomer.connection);
    WAIT_FOR(told_metrics_have("edubba_connections 3"));
    transport_connection_close(busy.connection);
    transport_connection_close(waiting.connection);
}
