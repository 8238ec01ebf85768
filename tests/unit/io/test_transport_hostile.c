/* What the wire may do to a listener: every line of it closes that connection, and no other. */
#include <netinet/tcp.h>
#include <poll.h>

#include "common/base/endian.h"
#include "common/base/prng.h"
#include "tests/support/transport_fixture.h"

static struct service service;
static struct caller bystander = {.check = true};

static void open_both(void)
{
    service_open(&service);
    caller_open(&bystander, service.address);
    WAIT_FOR(bystander.ready == 1);
}

TestSuite(hostile, .init = open_both);

/* The bystander is served as before. */
static void close_both(void)
{
    unsigned before = bystander.responses;
    cr_assert_eq(caller_send_number(&bystander), STATUS_OK);
    WAIT_FOR(bystander.responses == before + 1);
    cr_assert_eq(bystander.wrong, 0);
    transport_connection_close(bystander.connection);
    transport_listener_close(service.listener, 0);
    cr_assert_eq(bystander.closed, 0);
}

Test(hostile, garbage_instead_of_a_greeting)
{
    static const char *const greetings[] = {
        "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
        "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03 and so on, as TLS begins",
        "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff",
    };
    for (size_t i = 0; i < sizeof greetings / sizeof greetings[0]; i++) {
        int raw = raw_connect(own_host(), transport_listener_port(service.listener));
        raw_send(raw, greetings[i], strlen(greetings[i]));
        raw_expect_closed(raw);
        close(raw);
    }
    close_both();
}

Test(hostile, a_request_instead_of_a_greeting)
{
    int raw = raw_connect(own_host(), transport_listener_port(service.listener));
    raw_request(raw, 1, bytes_of_text("x"), 0);
    raw_expect_closed(raw);
    close(raw);
    cr_assert_eq(service.requests, 0);
    close_both();
}

Test(hostile, a_greeting_that_is_too_large)
{
    static uint8_t zeros[5000];
    int raw = raw_connect(own_host(), transport_listener_port(service.listener));
    raw_send_frame(raw, (struct frame_header){.type = FRAME_HELLO}, bytes_of(zeros, sizeof zeros));
    raw_expect_closed(raw);
    close(raw);
    close_both();
}

Test(hostile, an_unknown_version_is_told_so)
{
    struct frame_header header;
    uint8_t payload[4096];
    int raw = raw_connect(own_host(), transport_listener_port(service.listener));
    raw_hello(raw, WIRE_VERSION + 1, WIRE_VERSION + 9);
    size_t size_bytes = raw_receive_frame(raw, &header, payload, sizeof payload);
    struct hello_ack ack;
    cr_assert_eq(hello_ack_decode(bytes_of(payload, size_bytes), &ack, NULL), STATUS_OK);
    cr_assert_eq(ack.status, STATUS_VERSION);
    cr_assert_gt(ack.text.size_bytes, 10);
    raw_expect_closed(raw);
    close(raw);
    close_both();
}

/* From here on what is sent waits, to arrive together with what follows. */
static void raw_cork(int raw, int corked)
{
    cr_assert_eq(setsockopt(raw, IPPROTO_TCP, TCP_CORK, &corked, sizeof corked), 0);
}

/* A better greeting in the same packet, and what is asked on it: it was refused, and that is all. */
Test(hostile, nothing_is_taken_behind_a_greeting_that_was_refused)
{
    struct frame_header header;
    uint8_t payload[4096];
    int raw = raw_connect(own_host(), transport_listener_port(service.listener));
    raw_cork(raw, 1);
    raw_hello(raw, WIRE_VERSION + 1, WIRE_VERSION + 9);
    raw_hello(raw, WIRE_VERSION_OLDEST, WIRE_VERSION);
    raw_request(raw, 1, bytes_of_text("x"), 0);
    raw_cork(raw, 0);
    size_t size_bytes = raw_receive_frame(raw, &header, payload, sizeof payload);
    struct hello_ack ack;
    cr_assert_eq(hello_ack_decode(bytes_of(payload, size_bytes), &ack, NULL), STATUS_OK);
    cr_assert_eq(ack.status, STATUS_VERSION);
    raw_expect_closed(raw);
    close(raw);
    close_both();
    cr_assert_eq(service.requests, 1, "only the bystander's");
}

Test(hostile, a_newer_dialler_that_still_speaks_ours_is_served)
{
    struct frame_header header;
    uint8_t payload[4096];
    int raw = raw_connect(own_host(), transport_listener_port(service.listener));
    raw_hello(raw, WIRE_VERSION, WIRE_VERSION + 9);
    size_t size_bytes = raw_receive_frame(raw, &header, payload, sizeof payload);
    struct hello_ack ack;
    cr_assert_eq(hello_ack_decode(bytes_of(payload, size_bytes), &ack, NULL), STATUS_OK);
    cr_assert_eq(ack.status, STATUS_OK);
    cr_assert_eq(ack.version, WIRE_VERSION);
    close(raw);
    close_both();
}

Test(hostile, an_oversized_frame)
{
    int raw = raw_open(&service);
    uint8_t head[FRAME_HEADER_BYTES] = {0};
    store_le32(head, FRAME_PAYLOAD_BYTES_MAX + 1);
    head[4] = FRAME_REQUEST;
    raw_send(raw, head, sizeof head);
    raw_expect_closed(raw);
    close(raw);
    close_both();
}

Test(hostile, a_flipped_bit)
{
    int raw = raw_open(&service);
    uint8_t bytes[FRAME_HEADER_BYTES + 8] = {0};
    struct frame_header header = {
        .payload_bytes = 8, .type = FRAME_REQUEST, .request = 1, .method = METHOD_SCAN};
    frame_header_encode(&header, bytes_of(bytes + FRAME_HEADER_BYTES, 8), bytes);
    bytes[FRAME_HEADER_BYTES + 3] ^= 1;
    raw_send(raw, bytes, sizeof bytes);
    raw_expect_closed(raw);
    close(raw);
    cr_assert_eq(service.requests, 0);
    close_both();
}

Test(hostile, a_request_whose_head_is_garbage)
{
    int raw = raw_open(&service);
    raw_send_frame(raw, (struct frame_header){.type = FRAME_REQUEST, .request = 1},
                   bytes_of_text("\xc1garbage"));
    raw_expect_closed(raw);
    close(raw);
    close_both();
}

Test(hostile, frames_that_only_listeners_send)
{
    static const enum frame_type types[] = {FRAME_HELLO, FRAME_HELLO_ACK, FRAME_RESPONSE,
                                            FRAME_GOAWAY};
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        int raw = raw_open(&service);
        raw_send_frame(raw, (struct frame_header){.type = types[i], .request = 1}, BYTES_EMPTY);
        raw_expect_closed(raw);
        close(raw);
    }
    close_both();
}

Test(hostile, the_same_request_twice)
{
    atomic_store(&service.hold, true);
    int raw = raw_open(&service);
    raw_request(raw, 7, bytes_of_text("a"), 0);
    raw_request(raw, 7, bytes_of_text("b"), 0);
    raw_expect_closed(raw);
    close(raw);
    cr_assert_eq(service.requests, 1);
    WAIT_FOR(service.cancelled == 1);
    transport_reply_fail(service.held[0], STATUS_OK, "");
    atomic_store(&service.hold, false);
    close_both();
}

Test(hostile, two_messages_in_parts_at_a_time)
{
    int raw = raw_open(&service);
    raw_request(raw, 1, bytes_of_text("part"), FRAME_FLAG_MORE);
    raw_request(raw, 2, bytes_of_text("small ones may come between"), 0);
    WAIT_FOR(service.requests == 1);
    raw_request(raw, 3, bytes_of_text("part"), FRAME_FLAG_MORE);
    /* The answer to 2 comes before the end. */
    struct frame_header header;
    uint8_t payload[256];
    (void)raw_receive_frame(raw, &header, payload, sizeof payload);
    cr_assert_eq(header.request, 2);
    raw_expect_closed(raw);
    close(raw);
    close_both();
}

Test(hostile, credit_that_would_overflow)
{
    atomic_store(&service.hold, true);
    int raw = raw_open(&service);
    raw_request(raw, 1, BYTES_EMPTY, 0);
    WAIT_FOR(service.requests == 1);
    uint8_t amount[8];
    store_le64(amount, INT64_MAX / 4);
    for (int i = 0; i < 10; i++) {
        raw_send_frame(raw, (struct frame_header){.type = FRAME_CREDIT, .request = 1},
                       bytes_of(amount, sizeof amount));
    }
    WAIT_FOR(service.progress_calls == 10);
    cr_assert_gt(transport_reply_credit(service.held[0]), 0);
    store_le64(amount, UINT64_MAX);
    raw_send_frame(raw, (struct frame_header){.type = FRAME_CREDIT, .request = 1},
                   bytes_of(amount, sizeof amount));
    raw_expect_closed(raw);
    WAIT_FOR(service.cancelled == 1);
    transport_reply_fail(service.held[0], STATUS_OK, "");
    close(raw);
    atomic_store(&service.hold, false);
    close_both();
}

Test(hostile, killed_in_the_middle_of_a_message)
{
    static uint8_t body[100000];
    for (size_t cut = 1; cut < 60; cut += 7) {
        int raw = raw_open(&service);
        raw_request(raw, 1, bytes_of(body, sizeof body), FRAME_FLAG_MORE);
        struct linger linger = {.l_onoff = 1};
        setsockopt(raw, SOL_SOCKET, SO_LINGER, &linger, sizeof linger);
        raw_send(raw, body, cut);
        close(raw); /* a reset */
    }
    cr_assert_eq(service.requests, 0);
    close_both();
}

Test(hostile, a_message_without_end_is_bounded)
{
    static uint8_t body[FRAME_PAYLOAD_BYTES_MAX - 64];
    int raw = raw_open(&service);
    uint64_t sent_bytes = 0;
    while (raw_request(raw, 1, bytes_of(body, sizeof body), FRAME_FLAG_MORE)) {
        sent_bytes += sizeof body;
        cr_assert_lt(sent_bytes, (uint64_t)LIMIT_MESSAGE_BYTES + 64 * 1024 * 1024);
    }
    raw_expect_closed(raw);
    close(raw);
    close_both();
}

Test(hostile, random_damage_to_good_bytes)
{
    struct prng prng = prng_of_seed(99);
    struct buffer good = BUFFER_INIT;
    for (uint64_t i = 1; i <= 20; i++) {
        struct buffer message = BUFFER_INIT;
        struct request_head head = {.trace = i};
        uint8_t bytes[FRAME_HEADER_BYTES];
        request_head_encode(&head, &message);
        struct frame_header header = {
            .payload_bytes = (uint32_t)message.size_bytes, .type = FRAME_REQUEST, .request = i};
        frame_header_encode(&header, buffer_bytes(&message), bytes);
        buffer_append(&good, bytes, sizeof bytes);
        buffer_append_bytes(&good, buffer_bytes(&message));
        buffer_deinit(&message);
    }
    for (int round = 0; round < 50; round++) {
        int raw = raw_open(&service);
        size_t at = prng_below(&prng, good.size_bytes);
        uint8_t kept = good.data[at];
        good.data[at] ^= (uint8_t)(1 + prng_below(&prng, 255));
        raw_send(raw, good.data, good.size_bytes);
        shutdown(raw, SHUT_WR);
        char sink[4096];
        struct pollfd wait = {.fd = raw, .events = POLLIN};
        do {
            cr_assert_eq(poll(&wait, 1, WAIT_MS), 1);
        } while (recv(raw, sink, sizeof sink, 0) > 0);
        good.data[at] = kept;
        close(raw);
    }
    buffer_deinit(&good);
    close_both();
}
