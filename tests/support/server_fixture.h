/*
 * A tablet server of its own in a temporary folder, a master made of a script, and clients.
 *
 * The script is level-triggered as the real master is: the test says what tables and tablets there
 * are, the server syncs until it knows, and what it reports as held is there to be waited for.
 */
#ifndef TESTS_SUPPORT_SERVER_FIXTURE_H
#define TESTS_SUPPORT_SERVER_FIXTURE_H

#include <criterion/criterion.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/endian.h"
#include "common/base/memory.h"
#include "common/io/clock.h"
#include "common/io/file.h"
#include "common/io/transport.h"
#include "tabletserver/serve/server.h"

#define FIXTURE_WAIT_MS     30000
#define FIXTURE_TABLETS_MAX 64
#define FIXTURE_ANSWERS_MAX 4096
#define FIXTURE_TABLE       1

#define WAIT_FOR(condition)                                                         \
    do {                                                                            \
        int64_t until_ = clock_monotonic_ns() + INT64_C(1000000) * FIXTURE_WAIT_MS; \
        while (!(condition)) {                                                      \
            cr_assert_lt(clock_monotonic_ns(), until_, "waited: %s", #condition);   \
            clock_sleep_us(500);                                                    \
        }                                                                           \
    } while (0)

/* --- the master --------------------------------------------------------------------------------- */

static struct family fixture_families[] = {
    {.number = 1, .name = {(const uint8_t *)"f", 1}, .gc = {.kind = GC_VERSIONS, .versions = 1}},
    {.number = 2, .name = {(const uint8_t *)"sum", 3}, .aggregate = AGGREGATE_INTSUM},
    {.number = 3, .name = {(const uint8_t *)"late", 4}}, /* from version 2 on */
};

struct script {
    struct transport_listener *listener;
    char address[64];
    pthread_mutex_t lock;
    uint64_t generation;
    uint64_t version;
    struct table table;
    bool table_dropped;
    struct assigned_tablet tablets[FIXTURE_TABLETS_MAX];
    bool elsewhere[FIXTURE_TABLETS_MAX]; /* on another server */
    size_t tablet_count;
    uint64_t held[FIXTURE_TABLETS_MAX]; /* as last reported */
    size_t held_count;
    bool silent; /* answer nothing */
    atomic_uint syncs;
};

static void script_answer(struct script *script,
                          const struct sync_request *request,
                          struct buffer *message)
{
    struct assigned_tablet tablets[FIXTURE_TABLETS_MAX];
    uint64_t dropped = FIXTURE_TABLE;
    bool other = request->known_generation != script->generation;
    bool changed = other || request->known_version != script->version;
    struct sync_response response = {
        .generation = script->generation,
        .version = script->version,
        .reset = other,
        .tablets = tablets,
        .tablet_count = changed ? script->tablet_count : 0,
        .tables = &script->table,
        .table_count = changed && !script->table_dropped ? 1 : 0,
        .dropped_tables = &dropped,
        .dropped_table_count = changed && script->table_dropped ? 1 : 0,
        .interval_ms = 5,
    };
    for (size_t i = 0; i < script->tablet_count; i++) {
        tablets[i] = script->tablets[i];
        bool elsewhere = script->elsewhere[i];
        tablets[i].location.server = elsewhere ? request->server.number + 1
                                               : request->server.number;
        tablets[i].location.address = elsewhere ? bytes_of_text("tcp://127.0.0.1:1")
                                                : request->server.address;
        tablets[i].location.state = elsewhere ? TABLET_SERVING : tablets[i].location.state;
        tablets[i].store = request->server.stores[0].number;
    }
    script->held_count = 0;
    for (size_t i = 0; i < request->held_count && i < FIXTURE_TABLETS_MAX; i++) {
        script->held[script->held_count++] = request->held[i].tablet;
    }
    response_head_encode(&(struct response_head){.status = STATUS_OK}, message);
    sync_response_encode(&response, message);
}

static void script_on_request(void *context,
                              const struct transport_request *request,
                              struct transport_reply *reply)
{
    struct script *script = context;
    struct buffer message = BUFFER_INIT;
    struct sync_request sync;
    struct arena arena;

    arena_init(&arena, 4096, SIZE_MAX);
    pthread_mutex_lock(&script->lock);
    if (request->method != METHOD_SYNC || script->silent ||
        sync_request_decode(request->body, &arena, &sync, NULL) != STATUS_OK) {
        transport_reply_fail(reply, STATUS_UNAVAILABLE, "not now");
    } else {
        script_answer(script, &sync, &message);
        transport_reply_send(reply, &message, true);
        atomic_fetch_add(&script->syncs, 1);
    }
    pthread_mutex_unlock(&script->lock);
    arena_deinit(&arena);
}

static void script_start(struct script *script)
{
    struct error error = {.status = STATUS_OK};
    const struct transport_listener_options options = {
        .address = "tcp://127.0.0.1:0",
        .agent = "script",
        .process = 1,
        .connections_max = 8,
        .requests_max = 8,
        .connection_bytes_max = 1 << 20,
        .context = script,
        .on_request = script_on_request,
    };
    pthread_mutex_init(&script->lock, NULL);
    script->generation = 77;
    script->version = 1;
    script->table = (struct table){.number = FIXTURE_TABLE,
                                   .version = 1,
                                   .id = bytes_of_text("t"),
                                   .granularity = GRANULARITY_MICROS,
                                   .family_number_next = 4,
                                   .families = fixture_families,
                                   .family_count = 2};
    cr_assert_eq(transport_listen(&options, &script->listener, &error), STATUS_OK, "%s",
                 error.text);
    (void)snprintf(script->address, sizeof script->address, "tcp://127.0.0.1:%u",
                   (unsigned)transport_listener_port(script->listener));
}

/* Replaces what was said of the tablet before. */
static void assign_locked(struct script *script,
                          const struct assigned_tablet *assigned,
                          bool elsewhere)
{
    size_t at = 0;
    while (at < script->tablet_count &&
           script->tablets[at].location.tablet != assigned->location.tablet) {
        at++;
    }
    script->tablets[at] = *assigned;
    script->elsewhere[at] = elsewhere;
    script->tablet_count = at < script->tablet_count ? script->tablet_count : at + 1;
}

static struct assigned_tablet tablet_of(uint64_t tablet,
                                        struct bytes start,
                                        struct bytes end,
                                        uint64_t parent)
{
    return (struct assigned_tablet){
        .location = {.tablet = tablet,
                     .table = FIXTURE_TABLE,
                     .configuration = 1,
                     .range = {start, end},
                     .state = parent == 0 ? TABLET_CREATING : TABLET_SPLITTING},
        .parent = parent,
    };
}

/* A tablet that is to be created. */
__attribute__((unused)) static void script_assign(
    struct script *script, uint64_t tablet, const char *start, const char *end, bool elsewhere)
{
    struct assigned_tablet assigned = tablet_of(tablet, bytes_of_text(start), bytes_of_text(end),
                                                0);
    pthread_mutex_lock(&script->lock);
    assign_locked(script, &assigned, elsewhere);
    script->version += 1;
    pthread_mutex_unlock(&script->lock);
}

static void remove_locked(struct script *script, uint64_t tablet)
{
    for (size_t i = 0; i < script->tablet_count; i++) {
        if (script->tablets[i].location.tablet == tablet) {
            script->tablets[i].removed = true;
        }
    }
}

__attribute__((unused)) static void script_remove(struct script *script, uint64_t tablet)
{
    pthread_mutex_lock(&script->lock);
    remove_locked(script, tablet);
    script->version += 1;
    pthread_mutex_unlock(&script->lock);
}

/* Both children, and the parent gone, at once. */
__attribute__((unused)) static void script_split(
    struct script *script, uint64_t parent, const char *key, uint64_t left, uint64_t right)
{
    pthread_mutex_lock(&script->lock);
    struct row_range range = {BYTES_EMPTY, BYTES_EMPTY};
    for (size_t i = 0; i < script->tablet_count; i++) {
        if (script->tablets[i].location.tablet == parent) {
            range = script->tablets[i].location.range;
        }
    }
    struct assigned_tablet first = tablet_of(left, range.start, bytes_of_text(key), parent);
    struct assigned_tablet second = tablet_of(right, bytes_of_text(key), range.end, parent);
    remove_locked(script, parent);
    assign_locked(script, &first, false);
    assign_locked(script, &second, false);
    script->version += 1;
    pthread_mutex_unlock(&script->lock);
}

/* The server says that it holds exactly these. */
__attribute__((unused)) static bool script_sees(struct script *script,
                                                const uint64_t *tablets,
                                                size_t count)
{
    size_t found = 0;
    pthread_mutex_lock(&script->lock);
    for (size_t i = 0; i < count; i++) {
        for (size_t j = 0; j < script->held_count; j++) {
            found += script->held[j] == tablets[i];
        }
    }
    bool sees = found == count && script->held_count == count;
    pthread_mutex_unlock(&script->lock);
    return sees;
}

#define SCRIPT_WAIT_FOR(script, ...)                                                \
    do {                                                                            \
        const uint64_t wanted_[] = {__VA_ARGS__};                                   \
        WAIT_FOR(script_sees((script), wanted_, sizeof wanted_ / sizeof *wanted_)); \
    } while (0)

/* --- a client ----------------------------------------------------------------------------------- */

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

/* --- all of it ---------------------------------------------------------------------------------- */

struct fixture {
    char folder[256];
    struct server_settings settings;
    struct server *server;
    struct script script;
};

static void fixture_open(struct fixture *fixture)
{
    struct error error = {.status = STATUS_OK};
    enum status status = server_open(&fixture->settings, &fixture->server, &error);
    cr_assert_eq(status, STATUS_OK, "%s", error.text);
}

static void fixture_close(struct fixture *fixture)
{
    server_close(fixture->server);
    fixture->server = NULL;
}

/* The folder, the settings and the master, but no server yet. */
static void fixture_prepare(struct fixture *fixture)
{
    memset(fixture, 0, sizeof *fixture);
    const char *base = getenv("TMPDIR") != NULL ? getenv("TMPDIR") : "/tmp";
    (void)snprintf(fixture->folder, sizeof fixture->folder, "%s/edubba-server-XXXXXX", base);
    cr_assert_not_null(mkdtemp(fixture->folder));
    logger_init(&(struct logger_settings){.level = LOG_LEVEL_ERROR});
    server_settings_default(&fixture->settings);
    fixture->settings.address = "tcp://127.0.0.1:0";
    fixture->settings.http_address = "";
    fixture->settings.masters = fixture->script.address;
    fixture->settings.folder = fixture->folder;
    fixture->settings.worker_threads = 3;
    fixture->settings.slow_operation_us = 0;
    fixture->settings.store.memory_limit_bytes = 64 << 20;
    fixture->settings.store.memtable_limit_bytes = 16 << 20;
    fixture->settings.store.log_limit_bytes = 64 << 20;
    fixture->settings.store.log_segment_bytes = 1 << 20;
    fixture->settings.store.map_size_bytes = UINT64_C(1) << 30;
    fixture->settings.store.ballast_bytes = 0;
    fixture->settings.store.scrub_bytes_per_second = 0;
    script_start(&fixture->script);
}

__attribute__((unused)) static void fixture_init(struct fixture *fixture)
{
    fixture_prepare(fixture);
    fixture_open(fixture);
}

static void fixture_deinit(struct fixture *fixture)
{
    char command[512];
    if (fixture->server != NULL) {
        fixture_close(fixture);
    }
    transport_listener_close(fixture->script.listener, 0);
    (void)snprintf(command, sizeof command, "rm -rf '%s'", fixture->folder);
    cr_assert_eq(system(command), 0);
}

#endif /* TESTS_SUPPORT_SERVER_FIXTURE_H */
