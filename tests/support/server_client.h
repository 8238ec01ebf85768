/*
 * A client of a tablet server that sends what it is told, once, and keeps all that comes back: for
 * tests that look at single messages.
 */
#ifndef TESTS_SUPPORT_SERVER_CLIENT_H
#define TESTS_SUPPORT_SERVER_CLIENT_H

#include <criterion/criterion.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "common/base/endian.h"
#include "common/base/memory.h"
#include "common/io/clock.h"
#include "common/io/transport/transport.h"
#include "tests/support/server_script.h"

#define FIXTURE_ANSWERS_MAX 4096

struct answer {
    struct buffer messages; /* each with its length before it */
    uint32_t message_count;
    bool ended;
};

struct client {
    struct transport_connection *connection;
    uint64_t number;
    pthread_mutex_t lock;
    struct answer answers[FIXTURE_ANSWERS_MAX]; /* by request */
    uint64_t request;                           /* the last one sent */
    bool closed;
    struct arena arena;
};

static void client_on_response(void *context, uint64_t request, struct bytes message, bool stream)
{
    struct client *client = context;
    uint8_t length[8];
    store_le64(length, message.size_bytes);
    pthread_mutex_lock(&client->lock);
    struct answer *answer = &client->answers[request % FIXTURE_ANSWERS_MAX];
    buffer_append(&answer->messages, length, sizeof length);
    buffer_append_bytes(&answer->messages, message);
    answer->message_count += 1;
    answer->ended = !stream;
    pthread_mutex_unlock(&client->lock);
}

static void client_on_closed(void *context, const struct error *error)
{
    struct client *client = context;
    (void)error;
    pthread_mutex_lock(&client->lock);
    client->closed = true;
    pthread_mutex_unlock(&client->lock);
}

/* number: for exactly once; 0 = none. */
__attribute__((unused)) static struct client *client_start(const char *address, uint64_t number)
{
    struct error error = {.status = STATUS_OK};
    struct client *client = memory_allocate_zeroed(1, sizeof *client);
    cr_assert_not_null(client);
    const struct transport_connection_options options = {
        .address = address,
        .agent = "test",
        .lane = LANE_SMALL,
        .context = client,
        .on_response = client_on_response,
        .on_closed = client_on_closed,
    };
    pthread_mutex_init(&client->lock, NULL);
    arena_init(&client->arena, 65536, SIZE_MAX);
    client->number = number;
    cr_assert_eq(transport_connect(&options, &client->connection, &error), STATUS_OK, "%s",
                 error.text);
    return client;
}

__attribute__((unused)) static void client_stop(struct client *client)
{
    transport_connection_close(client->connection);
    for (size_t i = 0; i < FIXTURE_ANSWERS_MAX; i++) {
        buffer_deinit(&client->answers[i].messages);
    }
    arena_deinit(&client->arena);
    memory_free(client);
}

static struct answer *client_answer(struct client *client, uint64_t request)
{
    return &client->answers[request % FIXTURE_ANSWERS_MAX];
}

static bool client_has_ended(struct client *client, uint64_t request)
{
    pthread_mutex_lock(&client->lock);
    bool ended = client_answer(client, request)->ended || client->closed;
    pthread_mutex_unlock(&client->lock);
    return ended;
}

__attribute__((unused)) static uint32_t client_message_count(struct client *client,
                                                             uint64_t request)
{
    pthread_mutex_lock(&client->lock);
    uint32_t count = client_answer(client, request)->message_count;
    pthread_mutex_unlock(&client->lock);
    return count;
}

/* The number of a request that is about to be sent. */
static uint64_t client_prepare(struct client *client)
{
    uint64_t request = ++client->request;
    pthread_mutex_lock(&client->lock);
    struct answer *answer = client_answer(client, request);
    buffer_deinit(&answer->messages);
    *answer = (struct answer){.messages = BUFFER_INIT};
    pthread_mutex_unlock(&client->lock);
    return request;
}

static uint64_t client_send(struct client *client, enum method method, struct buffer *message)
{
    uint64_t request = client_prepare(client);
    cr_assert_eq(transport_connection_send(client->connection, request, method, message),
                 STATUS_OK);
    return request;
}

/* The next message of an answer; false at its end. */
static bool next_message(struct bytes *messages, struct bytes *ret_message)
{
    if (messages->size_bytes == 0) {
        return false;
    }
    size_t size = load_le64(messages->data);
    *ret_message = bytes_of(messages->data + 8, size);
    *messages = bytes_of(messages->data + 8 + size, messages->size_bytes - 8 - size);
    return true;
}

static struct response_head message_head(struct bytes message, struct bytes *ret_body)
{
    struct response_head head = {.status = UINT32_MAX};
    cr_assert_eq(response_head_decode(message, &head, ret_body, NULL), STATUS_OK);
    return head;
}

/* --- operations --------------------------------------------------------------------------------- */

static uint64_t client_send_operations(struct client *client,
                                       const struct operation *operations,
                                       size_t count,
                                       uint32_t deadline_ms)
{
    struct buffer message = BUFFER_INIT;
    struct operations_request request = {
        .client = client->number, .operations = operations, .operation_count = count};
    request_head_encode(&(struct request_head){.deadline_ms = deadline_ms}, &message);
    operations_request_encode(&request, &message);
    return client_send(client, METHOD_OPERATIONS, &message);
}

/* Wait; results by index, each of which came exactly once.  NULL: the connection closed first. */
static struct operation_result *client_results(struct client *client,
                                               uint64_t request,
                                               size_t count)
{
    struct operation_result *results = arena_allocate_array(&client->arena, count, sizeof *results);
    bool *seen = arena_allocate_array(&client->arena, count, sizeof *seen);
    cr_assert_not_null(results);
    cr_assert_not_null(seen);
    memset(seen, 0, count * sizeof *seen);
    WAIT_FOR(client_has_ended(client, request));
    if (!client_answer(client, request)->ended) {
        return NULL;
    }
    struct bytes messages = buffer_bytes(&client_answer(client, request)->messages);
    struct bytes message = BYTES_EMPTY;
    struct bytes body = BYTES_EMPTY;
    size_t seen_count = 0;
    while (next_message(&messages, &message)) {
        struct operations_response response;
        struct response_head head = message_head(message, &body);
        cr_assert_eq(head.status, STATUS_OK, "%.*s", (int)head.text.size_bytes,
                     (const char *)head.text.data);
        cr_assert_eq(operations_response_decode(body, &client->arena, &response, NULL), STATUS_OK);
        for (size_t i = 0; i < response.result_count; i++) {
            uint32_t index = response.results[i].index;
            cr_assert_lt(index, count);
            cr_assert_not(seen[index], "operation %u was answered twice", index);
            seen[index] = true;
            results[index] = response.results[i];
            seen_count++;
        }
    }
    cr_assert_eq(seen_count, count);
    return results;
}

__attribute__((unused)) static struct operation_result client_run(struct client *client,
                                                                  const struct operation *operation)
{
    uint64_t request = client_send_operations(client, operation, 1, 0);
    struct operation_result *results = client_results(client, request, 1);
    cr_assert_not_null(results);
    return results[0];
}

/* SetCell f:column@timestamp = value. */
__attribute__((unused)) static struct operation client_put(struct client *client,
                                                           const char *row,
                                                           const char *column,
                                                           const char *value,
                                                           uint64_t sequence)
{
    struct mutation *mutation = arena_allocate(&client->arena, sizeof *mutation);
    cr_assert_not_null(mutation);
    *mutation = (struct mutation){.kind = MUTATION_SET_CELL,
                                  .family = bytes_of_text("f"),
                                  .qualifier = bytes_of_text(column),
                                  .timestamp_us = 1000,
                                  .value = arena_copy(&client->arena, bytes_of_text(value))};
    return (struct operation){.kind = OPERATION_MUTATE,
                              .table = FIXTURE_TABLE,
                              .row = arena_copy(&client->arena, bytes_of_text(row)),
                              .identity = {sequence, clock_wall_us()},
                              .mutations = mutation,
                              .mutation_count = 1};
}

/* Increment f:column by one. */
__attribute__((unused)) static struct operation client_increment(struct client *client,
                                                                 const char *row,
                                                                 const char *column,
                                                                 uint64_t sequence)
{
    struct rmw_rule *rule = arena_allocate(&client->arena, sizeof *rule);
    cr_assert_not_null(rule);
    *rule = (struct rmw_rule){.kind = RMW_INCREMENT,
                              .family = bytes_of_text("f"),
                              .qualifier = bytes_of_text(column),
                              .increment = 1};
    return (struct operation){.kind = OPERATION_READ_MODIFY_WRITE,
                              .table = FIXTURE_TABLE,
                              .row = arena_copy(&client->arena, bytes_of_text(row)),
                              .identity = {sequence, clock_wall_us()},
                              .rules = rule,
                              .rule_count = 1};
}

__attribute__((unused)) static struct operation client_get(struct client *client, const char *row)
{
    return (struct operation){.kind = OPERATION_READ,
                              .table = FIXTURE_TABLE,
                              .row = arena_copy(&client->arena, bytes_of_text(row))};
}

/* "row/family:qualifier=value;" of every cell of the block; values of eight bytes that begin with
 * zeros as numbers. */
__attribute__((unused)) static const char *rows_text(struct client *client, struct bytes block)
{
    struct buffer text = BUFFER_INIT;
    struct row row;
    bool found = false;
    cr_assert_eq(row_block_next(&block, &client->arena, &row, &found, NULL), STATUS_OK);
    while (found) {
        for (size_t i = 0; i < row.cell_count; i++) {
            const struct row_cell *cell = &row.cells[i];
            buffer_append_format(&text, "%.*s/%.*s:%.*s=", (int)row.key.size_bytes,
                                 (const char *)row.key.data, (int)cell->family.size_bytes,
                                 (const char *)cell->family.data, (int)cell->qualifier.size_bytes,
                                 (const char *)cell->qualifier.data);
            if (cell->value.size_bytes == 8 && cell->value.data[0] == 0) {
                buffer_append_format(&text, "%llu;",
                                     (unsigned long long)load_be64(cell->value.data));
            } else {
                buffer_append_bytes(&text, cell->value);
                buffer_append_u8(&text, ';');
            }
        }
        cr_assert_eq(row_block_next(&block, &client->arena, &row, &found, NULL), STATUS_OK);
    }
    char *copy = arena_copy_text(&client->arena, buffer_bytes(&text));
    buffer_deinit(&text);
    return copy;
}

#define CLIENT_EXPECT_OK(client, asked)                                              \
    do {                                                                             \
        struct operation operation_ = (asked);                                       \
        struct operation_result result_ = client_run((client), &operation_);         \
        cr_assert_eq(result_.status, STATUS_OK, "%u %.*s", result_.status,           \
                     (int)result_.text.size_bytes, (const char *)result_.text.data); \
    } while (0)

#define CLIENT_EXPECT_ROW(client, key, cells)                                                      \
    do {                                                                                           \
        struct operation get_ = client_get((client), (key));                                       \
        struct operation_result read_ = client_run((client), &get_);                               \
        cr_assert_eq(read_.status, STATUS_OK, "%u %.*s", read_.status, (int)read_.text.size_bytes, \
                     (const char *)read_.text.data);                                               \
        cr_assert_str_eq(rows_text((client), read_.rows), (cells));                                \
    } while (0)

#endif /* TESTS_SUPPORT_SERVER_CLIENT_H */
