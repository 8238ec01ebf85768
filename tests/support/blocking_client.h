/*
 * One request at a time over a real connection, waited for: enough to speak to a daemon in tests.
 */
#ifndef TESTS_SUPPORT_BLOCKING_CLIENT_H
#define TESTS_SUPPORT_BLOCKING_CLIENT_H

#include <pthread.h>
#include <stdbool.h>
#include <string.h>
#include <time.h>

#include "common/base/arena.h"
#include "common/io/transport/transport.h"

struct blocking_client {
    struct transport_connection *connection;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    uint64_t request; /* the last one sent */
    bool answered;
    bool closed;
    struct buffer answer;
};

static void blocking_on_response(void *context, uint64_t request, struct bytes message, bool stream)
{
    struct blocking_client *client = context;
    (void)stream;
    pthread_mutex_lock(&client->mutex);
    if (request == client->request) {
        buffer_reset(&client->answer);
        buffer_append_bytes(&client->answer, message);
        client->answered = true;
        pthread_cond_signal(&client->changed);
    }
    pthread_mutex_unlock(&client->mutex);
}

static void blocking_on_closed(void *context, const struct error *error)
{
    struct blocking_client *client = context;
    (void)error;
    pthread_mutex_lock(&client->mutex);
    client->closed = true;
    pthread_cond_signal(&client->changed);
    pthread_mutex_unlock(&client->mutex);
}

static void blocking_on_ready(void *context, const struct hello_ack *ack)
{
    (void)context;
    (void)ack;
}

static inline enum status blocking_open(struct blocking_client *client, const char *address)
{
    const struct transport_connection_options options = {
        .address = address,
        .agent = "edubba-test/0",
        .process = 1,
        .lane = LANE_CONTROL,
        .connect_timeout_ms = 30000,
        .context = client,
        .on_ready = blocking_on_ready,
        .on_response = blocking_on_response,
        .on_closed = blocking_on_closed,
    };
    *client = (struct blocking_client){0};
    pthread_mutex_init(&client->mutex, NULL);
    pthread_cond_init(&client->changed, NULL);
    return transport_connect(&options, &client->connection, NULL);
}

static inline void blocking_close(struct blocking_client *client)
{
    if (client->connection != NULL) {
        transport_connection_close(client->connection);
    }
    buffer_deinit(&client->answer);
    client->connection = NULL;
}

/*
 * Send and wait.  *ret_body is good until the next call.  Takes body's memory.
 * Errors: what the answer says, its text in ret_error; STATUS_CLOSED: nobody knows.
 */
static inline enum status blocking_call(struct blocking_client *client,
                                        enum method method,
                                        struct buffer *body,
                                        uint32_t timeout_ms,
                                        struct bytes *ret_body,
                                        struct error *ret_error)
{
    struct buffer message = BUFFER_INIT;
    struct request_head request_head = {.deadline_ms = timeout_ms, .trace = 1};
    struct response_head head;
    struct timespec until;

    request_head_encode(&request_head, &message);
    buffer_append_bytes(&message, buffer_bytes(body));
    buffer_deinit(body);
    pthread_mutex_lock(&client->mutex);
    client->answered = false;
    uint64_t number = ++client->request;
    pthread_mutex_unlock(&client->mutex);
    if (transport_connection_send(client->connection, number, method, &message) != STATUS_OK) {
        buffer_deinit(&message);
        return error_set(ret_error, STATUS_CLOSED, "cannot send");
    }
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += timeout_ms / 1000 + 1;
    pthread_mutex_lock(&client->mutex);
    int waited = 0;
    while (!client->answered && !client->closed && waited == 0) {
        waited = pthread_cond_timedwait(&client->changed, &client->mutex, &until);
    }
    bool answered = client->answered;
    pthread_mutex_unlock(&client->mutex);
    if (!answered) {
        return error_set(ret_error, STATUS_CLOSED, "the connection was closed");
    }
    enum status status = response_head_decode(buffer_bytes(&client->answer), &head, ret_body,
                                              ret_error);
    if (status == STATUS_OK && head.status != STATUS_OK) {
        status = error_set(ret_error, (enum status)head.status, "%.*s", (int)head.text.size_bytes,
                           (const char *)head.text.data);
    }
    return status;
}

#endif /* TESTS_SUPPORT_BLOCKING_CLIENT_H */
