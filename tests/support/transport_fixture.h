/*
 * A listener and connections for tests: an echo service, counters to wait for, raw sockets that
 * misbehave.
 */
#ifndef TESTS_SUPPORT_TRANSPORT_FIXTURE_H
#define TESTS_SUPPORT_TRANSPORT_FIXTURE_H

#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/memory.h"
#include "common/io/transport/transport.h"
#include "tests/support/own_address.h"
#include "tests/support/wait_for.h"

/* --- the listening side ------------------------------------------------------------------------ */

#define HELD_MAX 20000

struct service {
    struct transport_listener *listener;
    char address[64];
    atomic_bool hold; /* keep requests instead of answering */
    atomic_uint requests;
    atomic_uint progress_calls;
    atomic_uint cancelled;
    pthread_mutex_t lock;
    struct transport_reply *held[HELD_MAX];
    size_t held_count;
};

/* head OK, then the body. */
static inline struct buffer response_of(struct bytes body)
{
    struct buffer message = BUFFER_INIT;
    struct response_head head = {.status = STATUS_OK};
    response_head_encode(&head, &message);
    buffer_append_bytes(&message, body);
    return message;
}

static inline void service_on_request(void *context,
                                      const struct transport_request *request,
                                      struct transport_reply *reply)
{
    struct service *service = context;
    if (atomic_load(&service->hold)) {
        pthread_mutex_lock(&service->lock);
        service->held[service->held_count++] = reply;
        pthread_mutex_unlock(&service->lock);
        atomic_fetch_add(&service->requests, 1);
        return;
    }
    atomic_fetch_add(&service->requests, 1);
    struct buffer message = response_of(request->body);
    transport_reply_send(reply, &message, true);
}

static inline void service_on_progress(void *context, struct transport_reply *reply)
{
    struct service *service = context;
    atomic_fetch_add(&service->progress_calls, 1);
    if (transport_reply_cancelled(reply)) {
        atomic_fetch_add(&service->cancelled, 1);
    }
}

static inline int64_t service_now_us(void *context)
{
    (void)context;
    return 1234567;
}

static inline struct transport_listener_options service_options(struct service *service)
{
    return (struct transport_listener_options){
        .address = own_address(0, service->address, sizeof service->address),
        .agent = "test-service",
        .process = 77,
        .connections_max = 100,
        .requests_max = 4096,
        .connection_bytes_max = 16 * 1024 * 1024,
        .context = service,
        .on_request = service_on_request,
        .on_progress = service_on_progress,
        .now_us = service_now_us,
    };
}

static inline void service_open_with(struct service *service,
                                     const struct transport_listener_options *options)
{
    struct error error;
    pthread_mutex_init(&service->lock, NULL);
    cr_assert_eq(transport_listen(options, &service->listener, &error), STATUS_OK, "%s",
                 error.text);
    (void)own_address(transport_listener_port(service->listener), service->address,
                      sizeof service->address);
}

static inline void service_open(struct service *service)
{
    struct transport_listener_options options = service_options(service);
    service_open_with(service, &options);
}

/* --- the dialling side ------------------------------------------------------------------------- */

struct caller {
    struct transport_connection *connection;
    atomic_uint ready;
    atomic_uint responses;
    atomic_uint_fast64_t response_bytes;
    atomic_uint_fast64_t first_response_bytes;
    atomic_uint wrong;
    atomic_uint closed;
    struct error error; /* once closed */
    uint64_t server_process;
    int64_t server_now_us;
    bool check; /* the body is the request's number, eight bytes */
    uint64_t next_request;
};

static inline void caller_on_ready(void *context, const struct hello_ack *ack)
{
    struct caller *caller = context;
    caller->server_process = ack->process;
    caller->server_now_us = ack->now_us;
    atomic_fetch_add(&caller->ready, 1);
}

static inline void caller_on_response(void *context,
                                      uint64_t request,
                                      struct bytes message,
                                      bool stream)
{
    struct caller *caller = context;
    struct response_head head;
    struct bytes body;
    (void)stream;
    bool good = response_head_decode(message, &head, &body, NULL) == STATUS_OK;
    if (caller->check) {
        good = good && body.size_bytes == 8 && memcmp(body.data, &request, 8) == 0;
    }
    atomic_fetch_add(&caller->wrong, good ? 0 : 1);
    if (atomic_load(&caller->responses) == 0) {
        atomic_store(&caller->first_response_bytes, message.size_bytes);
    }
    atomic_fetch_add(&caller->response_bytes, message.size_bytes);
    atomic_fetch_add(&caller->responses, 1);
}

static inline void caller_on_closed(void *context, const struct error *error)
{
    struct caller *caller = context;
    caller->error = *error;
    atomic_fetch_add(&caller->closed, 1);
}

static inline struct transport_connection_options caller_options(struct caller *caller,
                                                                 const char *address)
{
    return (struct transport_connection_options){
        .address = address,
        .agent = "test-caller",
        .process = 5,
        .lane = LANE_READ,
        .connect_timeout_ms = 30000,
        .context = caller,
        .on_ready = caller_on_ready,
        .on_response = caller_on_response,
        .on_closed = caller_on_closed,
    };
}

static inline void caller_open(struct caller *caller, const char *address)
{
    struct error error;
    struct transport_connection_options options = caller_options(caller, address);
    cr_assert_eq(transport_connect(&options, &caller->connection, &error), STATUS_OK, "%s",
                 error.text);
}

static inline enum status caller_send(struct caller *caller, struct bytes body)
{
    struct buffer message = BUFFER_INIT;
    struct request_head head = {.deadline_ms = 1000, .trace = 9};
    request_head_encode(&head, &message);
    buffer_append_bytes(&message, body);
    enum status status = transport_connection_send(caller->connection, ++caller->next_request,
                                                   METHOD_OPERATIONS, &message);
    buffer_deinit(&message);
    return status;
}

/* The number of the request as its body. */
static inline enum status caller_send_number(struct caller *caller)
{
    uint64_t number = caller->next_request + 1;
    return caller_send(caller, bytes_of(&number, sizeof number));
}

/* --- raw sockets ------------------------------------------------------------------------------- */

/* host: as own_host(), or INADDR_LOOPBACK. */
static inline int raw_connect(uint32_t host, uint16_t port)
{
    int raw = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(port)};
    to.sin_addr.s_addr = htonl(host);
    cr_assert_geq(raw, 0);
    cr_assert_eq(connect(raw, (struct sockaddr *)&to, sizeof to), 0);
    return raw;
}

/* False when the other side takes no more. */
static inline bool raw_send(int raw, const void *data, size_t size_bytes)
{
    const uint8_t *at = data;
    while (size_bytes > 0) {
        ssize_t sent = send(raw, at, size_bytes, MSG_NOSIGNAL);
        if (sent <= 0) {
            return false;
        }
        at += sent;
        size_bytes -= (size_t)sent;
    }
    return true;
}

static inline bool raw_send_frame(int raw, struct frame_header header, struct bytes payload)
{
    uint8_t head[FRAME_HEADER_BYTES];
    header.payload_bytes = (uint32_t)payload.size_bytes;
    frame_header_encode(&header, payload, head);
    return raw_send(raw, head, sizeof head) && raw_send(raw, payload.data, payload.size_bytes);
}

static inline void raw_receive(int raw, void *data, size_t size_bytes)
{
    cr_assert_eq(recv(raw, data, size_bytes, MSG_WAITALL), (ssize_t)size_bytes);
}

/* As text, everything that comes until the other end hangs up, or as much as there is room for. */
static inline void raw_receive_all(int raw, char *text, size_t size)
{
    size_t size_bytes = 0;
    ssize_t got = 0;
    while ((got = recv(raw, text + size_bytes, size - 1 - size_bytes, 0)) > 0) {
        size_bytes += (size_t)got;
    }
    text[size_bytes] = '\0';
    close(raw);
}

/* One frame of at most size_max payload bytes. */
static inline size_t raw_receive_frame(int raw,
                                       struct frame_header *ret_header,
                                       uint8_t *payload,
                                       size_t size_max)
{
    uint8_t head[FRAME_HEADER_BYTES];
    raw_receive(raw, head, sizeof head);
    cr_assert_eq(frame_header_decode(head, ret_header, NULL), STATUS_OK);
    cr_assert_leq(ret_header->payload_bytes, size_max);
    raw_receive(raw, payload, ret_header->payload_bytes);
    cr_assert_eq(frame_check(head, bytes_of(payload, ret_header->payload_bytes), NULL), STATUS_OK);
    return ret_header->payload_bytes;
}

/* Has the other side closed the connection (and said nothing before that)? */
static inline void raw_expect_closed(int raw)
{
    struct timeval patience = {.tv_sec = WAIT_MS / 1000};
    char byte = 0;
    setsockopt(raw, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    ssize_t got = recv(raw, &byte, 1, 0);
    cr_assert(got == 0 || (got < 0 && (errno == ECONNRESET || errno == EPIPE)), "still open: %zd",
              got);
}

static inline void raw_hello(int raw, uint32_t oldest, uint32_t newest)
{
    struct buffer message = BUFFER_INIT;
    struct hello hello = {.version_oldest = oldest,
                          .version_newest = newest,
                          .lane = LANE_READ,
                          .agent = bytes_of_text("raw")};
    hello_encode(&hello, &message);
    raw_send_frame(raw, (struct frame_header){.type = FRAME_HELLO}, buffer_bytes(&message));
    buffer_deinit(&message);
}

/* Connected, and greeted. */
static inline int raw_open(const struct service *service)
{
    struct frame_header header;
    uint8_t payload[4096];
    int raw = raw_connect(own_host(), transport_listener_port(service->listener));
    raw_hello(raw, WIRE_VERSION_OLDEST, WIRE_VERSION);
    size_t size_bytes = raw_receive_frame(raw, &header, payload, sizeof payload);
    struct hello_ack ack;
    cr_assert_eq(header.type, FRAME_HELLO_ACK);
    cr_assert_eq(hello_ack_decode(bytes_of(payload, size_bytes), &ack, NULL), STATUS_OK);
    cr_assert_eq(ack.status, STATUS_OK);
    return raw;
}

static inline bool raw_request(int raw, uint64_t request, struct bytes body, uint8_t flags)
{
    struct buffer message = BUFFER_INIT;
    struct request_head head = {0};
    request_head_encode(&head, &message);
    buffer_append_bytes(&message, body);
    bool sent = raw_send_frame(
        raw,
        (struct frame_header){
            .type = FRAME_REQUEST, .method = METHOD_OPERATIONS, .request = request, .flags = flags},
        buffer_bytes(&message));
    buffer_deinit(&message);
    return sent;
}

#endif /* TESTS_SUPPORT_TRANSPORT_FIXTURE_H */
