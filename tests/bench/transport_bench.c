/*
 * Round trips through the transport on this machine's loopback, client and service in one process:
 * one request in flight, 64, 1024, and echoes of 1 MiB.  The service answers on nng's thread.
 */
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <string.h>

#include "common/io/clock.h"
#include "common/io/transport/transport.h"

struct bench {
    struct transport_connection *connection;
    sem_t window;
    sem_t finished;
    size_t body_bytes;
    uint64_t next_request;
    uint64_t left; /* responses to come; callbacks of one connection come one at a time */
};

static void on_request(void *context,
                       const struct transport_request *request,
                       struct transport_reply *reply)
{
    struct buffer message = BUFFER_INIT;
    struct response_head head = {.status = STATUS_OK};
    (void)context;
    response_head_encode(&head, &message);
    buffer_append_bytes(&message, request->body);
    transport_reply_send(reply, &message, true);
}

static void on_response(void *context, uint64_t request, struct bytes message, bool stream)
{
    struct bench *bench = context;
    (void)request;
    (void)message;
    (void)stream;
    sem_post(&bench->window);
    if (--bench->left == 0) {
        sem_post(&bench->finished);
    }
}

static void send_one(struct bench *bench, const uint8_t *body)
{
    struct buffer message = BUFFER_INIT;
    struct request_head head = {.trace = 1};
    request_head_encode(&head, &message);
    buffer_append(&message, body, bench->body_bytes);
    if (transport_connection_send(bench->connection, ++bench->next_request, METHOD_OPERATIONS,
                                  &message) != STATUS_OK) {
        buffer_deinit(&message);
    }
}

static void measure(
    const char *address, const char *name, uint64_t count, unsigned in_flight, size_t body_bytes)
{
    static uint8_t body[1 << 20];
    struct bench bench = {.body_bytes = body_bytes, .left = count};
    struct transport_connection_options options = {.address = address,
                                                   .agent = "bench",
                                                   .lane = LANE_READ,
                                                   .context = &bench,
                                                   .on_response = on_response};
    sem_init(&bench.window, 0, in_flight);
    sem_init(&bench.finished, 0, 0);
    if (transport_connect(&options, &bench.connection, NULL) != STATUS_OK) {
        return;
    }
    int64_t start_ns = clock_monotonic_ns();
    for (uint64_t i = 0; i < count; i++) {
        sem_wait(&bench.window);
        send_one(&bench, body);
    }
    sem_wait(&bench.finished);
    double seconds = (double)(clock_monotonic_ns() - start_ns) / 1e9;
    printf("%-24s %10.0f round trips/s  %8.1f us each in flight  %8.1f MB/s each way\n", name,
           (double)count / seconds, seconds / (double)count * in_flight * 1e6,
           (double)(count * body_bytes) / seconds / 1e6);
    transport_connection_close(bench.connection);
    sem_destroy(&bench.window);
    sem_destroy(&bench.finished);
}

int main(void)
{
    struct transport_listener *listener = NULL;
    struct error error;
    struct transport_listener_options options = {.address = "tcp://127.0.0.1:0",
                                                 .agent = "bench",
                                                 .connections_max = 10,
                                                 .requests_max = 4096,
                                                 .connection_bytes_max = 64 << 20,
                                                 .on_request = on_request};
    if (transport_listen(&options, &listener, &error) != STATUS_OK) {
        fprintf(stderr, "%s\n", error.text);
        return 1;
    }
    char address[64];
    (void)snprintf(address, sizeof address, "tcp://127.0.0.1:%u",
                   (unsigned)transport_listener_port(listener));
    measure(address, "1 in flight, 100 B", 20000, 1, 100);
    measure(address, "64 in flight, 100 B", 300000, 64, 100);
    measure(address, "1024 in flight, 100 B", 500000, 1024, 100);
    measure(address, "64 in flight, 4 KiB", 100000, 64, 4096);
    measure(address, "8 in flight, 1 MiB", 500, 8, 1 << 20);
    transport_listener_close(listener, 100);
    return 0;
}
