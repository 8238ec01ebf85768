/*
 * How a fake cluster (fake_cluster.h) answers operations, and who asks where a row is.  All under
 * the cluster's lock.
 */
#ifndef TESTS_SUPPORT_FAKE_CLUSTER_ANSWERS_H
#define TESTS_SUPPORT_FAKE_CLUSTER_ANSWERS_H

#include <stdlib.h>

#include "common/io/clock.h"
#include "tests/support/fake_cluster_state.h"

static inline void fake_close_connection(struct transport_reply *reply)
{
    struct buffer none = {.failed = true}; /* an answer that cannot be given closes it */
    transport_reply_send(reply, &none, true);
}

static inline struct buffer fake_message(enum status status)
{
    struct buffer message = BUFFER_INIT;
    response_head_encode(&(struct response_head){.status = status}, &message);
    return message;
}

/* Of a drain, five replicas are left; of a merge, nothing but that it was asked for. */
static inline struct buffer fake_take_order(struct fake_cluster *cluster,
                                            const struct transport_request *request)
{
    struct buffer message = fake_message(STATUS_OK);
    struct merge_request merge;
    if (request->method == METHOD_DRAIN_SERVER) {
        struct drain_server_response progress = {.member_count = 5, .goal_count = 3};
        struct drain_server_request drain;
        ASSERT(drain_server_request_decode(request->body, NULL, &drain, NULL) == STATUS_OK);
        ASSERT(drain.server == 17);
        progress.draining = drain.draining;
        drain_server_response_encode(&progress, &message);
        return message;
    }
    ASSERT(merge_request_decode(request->body, NULL, &merge, NULL) == STATUS_OK);
    ASSERT(bytes_equal(merge.row, bytes_of_text("m")));
    cluster->merges++;
    merge_response_encode(&(struct merge_response){99}, &message);
    return message;
}

static inline struct buffer fake_list_hot_tablets(const struct fake_cluster *cluster,
                                                  const struct transport_request *request)
{
    struct list_hot_tablets_request list;
    size_t at = 0;
    enum status status = list_hot_tablets_request_decode(request->body, NULL, &list, NULL);
    ASSERT(status == STATUS_OK);
    while (at < cluster->hot_tablet_count && cluster->hot_tablets[at].number <= list.after) {
        at++;
    }
    size_t left = cluster->hot_tablet_count - at;
    struct list_hot_tablets_response response = {
        .tablets = &cluster->hot_tablets[at],
        .tablet_count = left > 0,
        .next = left > 1 ? cluster->hot_tablets[at].number : 0,
    };
    if (cluster->hot_pages_end_nowhere) {
        response.next = 1;
    }
    struct buffer message = fake_message(STATUS_OK);
    list_hot_tablets_response_encode(&response, &message);
    return message;
}

static inline struct buffer fake_list_hot_keys(const struct fake_cluster *cluster,
                                               const struct transport_request *request)
{
    struct list_hot_keys_request list;
    enum status status = list_hot_keys_request_decode(request->body, NULL, &list, NULL);
    ASSERT(status == STATUS_OK && bytes_equal(list.table, bytes_of_text("METRIC")));
    ASSERT(list.count_max == 5);
    struct buffer message = fake_message(STATUS_OK);
    list_hot_keys_response_encode(cluster->hot_keys, &message);
    return message;
}

static inline struct buffer fake_advise(const struct fake_cluster *cluster,
                                        const struct transport_request *request)
{
    struct advise_request ask;
    enum status status = advise_request_decode(request->body, NULL, &ask, NULL);
    ASSERT(status == STATUS_OK && bytes_equal(ask.table, bytes_of_text("METRIC")));
    struct buffer message = fake_message(STATUS_OK);
    advise_response_encode(cluster->advice, &message);
    return message;
}

static inline struct buffer fake_list_events(const struct fake_cluster *cluster,
                                             const struct transport_request *request)
{
    struct list_events_request list;
    size_t at = 0;
    enum status status = list_events_request_decode(request->body, NULL, &list, NULL);
    ASSERT(status == STATUS_OK);
    while (at < cluster->event_count && cluster->events[at].change <= list.after) {
        at++;
    }
    size_t left = cluster->event_count - at;
    const struct list_events_response response = {
        .events = &cluster->events[at],
        .event_count = left > 0,
        .more = left > 1 || cluster->event_pages_end_nowhere,
    };
    struct buffer message = fake_message(STATUS_OK);
    list_events_response_encode(&response, &message);
    return message;
}

static inline void fake_write_row(struct row_block_writer *writer, const struct fake_row *row)
{
    uint8_t sum[8];
    for (int i = 0; i < 8; i++) {
        sum[i] = (uint8_t)((uint64_t)row->sum >> (56 - 8 * i));
    }
    struct cell cell = {.family = 1, .qualifier = bytes_of_text("n"), .value = bytes_of(sum, 8)};
    row_block_begin_row(writer, bytes_of_text(row->key));
    row_block_add_cell(writer, bytes_of_text("sum"), &cell);
    (void)row_block_end_row(writer);
}

static inline void fake_apply(struct fake_cluster *cluster, const struct operation *operation)
{
    if (operation->kind == OPERATION_DROP_RANGE) {
        struct row_range part = fake_range(fake_tablet_of(cluster, operation->row));
        bool some = row_range_intersect(&part, &operation->range, &part);
        for (int i = cluster->row_count - 1; some && i >= 0; i--) {
            if (row_range_contains(&part, bytes_of_text(cluster->rows[i].key))) {
                memmove(&cluster->rows[i], &cluster->rows[i + 1],
                        (size_t)(cluster->row_count - i - 1) * sizeof cluster->rows[0]);
                cluster->row_count--;
            }
        }
        return;
    }
    struct fake_row *row = fake_row_make(cluster, operation->row);
    for (size_t i = 0; i < operation->mutation_count; i++) {
        row->sum += operation->mutations[i].integer;
    }
    for (size_t i = 0; i < operation->rule_count; i++) {
        row->sum += operation->rules[i].increment;
    }
}

/* Once for each identity. */
static inline void fake_apply_once(struct fake_cluster *cluster,
                                   uint64_t client,
                                   const struct operation *operation)
{
    const struct operation_identity *identity = &operation->identity;
    for (int i = 0; i < cluster->seen_count; i++) {
        if (cluster->seen[i].client == client && cluster->seen[i].sequence == identity->sequence) {
            cluster->duplicates++;
            if (cluster->seen[i].first_attempt_us != identity->first_attempt_us) {
                fake_violation(cluster, "the first attempt's time changed", identity->sequence);
            }
            return;
        }
    }
    int64_t age_us = clock_wall_us() + FAKE_CLOCK_SHIFT_US - identity->first_attempt_us;
    if (age_us < -2000000 || age_us > 60000000) {
        fake_violation(cluster, "the first attempt is not told in the server's time",
                       identity->sequence);
    }
    ASSERT(cluster->seen_count < FAKE_SEEN_MAX);
    cluster->seen[cluster->seen_count++] = (struct fake_seen){client, identity->sequence,
                                                              identity->first_attempt_us};
    cluster->applied++;
    fake_apply(cluster, operation);
}

static inline void fake_answer_one(struct fake_server *server,
                                   uint64_t client,
                                   const struct operation *operation,
                                   struct buffer *rows,
                                   struct operation_result *result)
{
    struct fake_cluster *cluster = server->cluster;
    const struct fake_tablet *tablet = fake_tablet_of(cluster, operation->row);
    bool by_chance = cluster->chaos_one_in > 0 &&
                     prng_chance(&cluster->prng, cluster->chaos_one_in);

    cluster->operations++;
    if (cluster->is_deposed[server->index]) {
        result->status = STATUS_UNAVAILABLE;
        result->text = bytes_of_text("this server does not lead the tablet now");
        return;
    }
    if (tablet->server != server->index || cluster->table_is_gone) {
        result->status = STATUS_NOT_OWNER;
        result->has_location = cluster->tells_location; /* of a table that is gone: out of date */
        result->location = fake_location(cluster, tablet);
        return;
    }
    if (cluster->unavailable_left > 0 || by_chance) {
        cluster->unavailable_left -= cluster->unavailable_left > 0 ? 1 : 0;
        result->status = STATUS_UNAVAILABLE;
        result->text = bytes_of_text("memory is full");
        return;
    }
    if (operation->kind != OPERATION_READ) {
        fake_apply_once(cluster, client, operation);
    }
    if (operation->kind == OPERATION_READ || operation->kind == OPERATION_READ_MODIFY_WRITE) {
        struct fake_row *row = fake_row_find(cluster, operation->row);
        struct row_block_writer writer;
        row_block_writer_init(&writer, rows);
        if (row != NULL) {
            fake_write_row(&writer, row);
        }
        result->rows = buffer_bytes(rows);
    }
    result->matched = operation->kind == OPERATION_CHECK_AND_MUTATE;
}

static inline void fake_check_request(struct fake_cluster *cluster,
                                      const struct operations_request *request)
{
    if (cluster->guest != 0 && cluster->guest == request->client) {
        if (request->first_unfinished != 1 || request->operation_count != 1) {
            fake_violation(cluster, "an identity of the caller's does not travel alone", 0);
        }
        return;
    }
    if (cluster->client != 0 && cluster->client != request->client) {
        fake_violation(cluster, "the client's number changed", 0);
    }
    cluster->client = request->client;
    cluster->mark = request->first_unfinished > cluster->mark ? request->first_unfinished
                                                              : cluster->mark;
    for (size_t i = 0; i < request->operation_count; i++) {
        uint64_t sequence = request->operations[i].identity.sequence;
        if (request->operations[i].kind != OPERATION_READ && sequence < request->first_unfinished) {
            fake_violation(cluster, "an operation below the message's own mark", sequence);
        }
    }
}

static inline bool fake_takes(struct fake_cluster *cluster, int *left)
{
    bool by_chance = cluster->chaos_one_in > 0 &&
                     prng_chance(&cluster->prng, 2 * cluster->chaos_one_in);
    bool takes = *left > 0 || by_chance;
    *left -= *left > 0 ? 1 : 0;
    return takes;
}

static inline void fake_answer_operations(struct fake_server *server,
                                          const struct transport_request *transport,
                                          struct transport_reply *reply)
{
    struct fake_cluster *cluster = server->cluster;
    struct operations_request request;
    struct arena arena;

    arena_init(&arena, 65536, SIZE_MAX);
    ASSERT(operations_request_decode(transport->body, &arena, &request, NULL) == STATUS_OK);
    fake_check_request(cluster, &request);
    if (fake_takes(cluster, &cluster->drops_before_left)) {
        arena_deinit(&arena);
        fake_close_connection(reply);
        return;
    }
    if (fake_takes(cluster, &cluster->refusals_left)) {
        arena_deinit(&arena);
        transport_reply_fail(reply,
                             cluster->refusal != STATUS_OK ? cluster->refusal : STATUS_UNAVAILABLE,
                             "not this message");
        return;
    }
    struct operation_result *results = arena_allocate_array(&arena, request.operation_count,
                                                            sizeof *results);
    struct buffer *rows = arena_allocate_array(&arena, request.operation_count, sizeof *rows);
    memset(results, 0, request.operation_count * sizeof *results);
    memset(rows, 0, request.operation_count * sizeof *rows);
    for (size_t i = 0; i < request.operation_count; i++) {
        size_t at = cluster->answers_backward ? request.operation_count - 1 - i : i;
        results[at].index = (uint32_t)i;
        fake_answer_one(server, request.client, &request.operations[i], &rows[i], &results[at]);
    }
    struct operations_response response = {results, request.operation_count};
    response.result_count -= fake_takes(cluster, &cluster->omissions_left) ? 1 : 0;
    struct buffer message = fake_message(STATUS_OK);
    struct buffer again = fake_message(STATUS_OK);
    operations_response_encode(&response, &message);
    operations_response_encode(&response, &again);
    for (size_t i = 0; i < request.operation_count; i++) {
        buffer_deinit(&rows[i]);
    }
    arena_deinit(&arena);
    if (fake_takes(cluster, &cluster->drops_after_left)) {
        buffer_deinit(&message);
        buffer_deinit(&again);
        fake_close_connection(reply);
        return;
    }
    if (cluster->answers_twice) {
        transport_reply_send(reply, &again, false);
    }
    transport_reply_send(reply, &message, true);
    buffer_deinit(&again);
}

/* As a master tells it: the other one is to leave, and a third one is taught. */
static inline void fake_describe(const struct location *location,
                                 struct arena *arena,
                                 struct located_replicas *ret_located)
{
    struct located_replica *replicas = arena_allocate_array(arena, 3, sizeof *replicas);
    size_t count = 0;
    replicas[count++] = (struct located_replica){
        location->server, 11, location->address,
        LOCATED_MEMBER | LOCATED_PRIMARY | LOCATED_IN_SYNC | LOCATED_WANTED | LOCATED_SHOULD_LEAD};
    if (location->other_count > 0) {
        replicas[count++] = (struct located_replica){2, 22, location->others[0], LOCATED_MEMBER};
        replicas[count++] = (struct located_replica){3, 33, bytes_of_text("tcp://third:1"),
                                                     LOCATED_WANTED};
    }
    *ret_located = (struct located_replicas){.replicas = replicas,
                                             .replica_count = count,
                                             .wish = GOAL_SPLIT,
                                             .row = bytes_of_text("m"),
                                             .size_bytes = 4096};
}

/* T, or one of many whose names are a number; 0 = there is none. */
static inline uint64_t fake_table_of(const struct locate_request *request)
{
    char name[32];
    (void)snprintf(name, sizeof name, "%.*s", (int)request->name.size_bytes,
                   request->name.size_bytes > 0 ? (const char *)request->name.data : "");
    if (request->table == FAKE_TABLE || (request->table == 0 && strcmp(name, "T") == 0)) {
        return FAKE_TABLE;
    }
    return request->table == 0 ? strtoull(name, NULL, 10) : 0;
}

static inline void fake_answer_locate(struct fake_server *server,
                                      const struct transport_request *transport,
                                      struct transport_reply *reply)
{
    struct fake_cluster *cluster = server->cluster;
    struct locate_request request;
    struct locate_response response = {0};
    struct location locations[FAKE_TABLETS_MAX];
    struct located_replicas replicas[FAKE_TABLETS_MAX];
    struct arena arena;
    size_t most = FAKE_TABLETS_MAX;

    cluster->locates[server->index]++;
    arena_init(&arena, 4096, SIZE_MAX);
    ASSERT(locate_request_decode(transport->body, &arena, &request, NULL) == STATUS_OK);
    if (cluster->is_behind[server->index]) {
        arena_deinit(&arena);
        transport_reply_fail(reply, STATUS_UNAVAILABLE, "it is not known here");
        return;
    }
    uint64_t number = fake_table_of(&request);
    bool known = number != 0;
    most = cluster->located_at_once > 0 ? (size_t)cluster->located_at_once : most;
    most = request.count_max > 0 && request.count_max < most ? request.count_max : most;
    if (!known || cluster->table_is_gone) {
        arena_deinit(&arena);
        transport_reply_fail(reply, STATUS_NOT_FOUND, "table not found");
        return;
    }
    int first = (int)(fake_tablet_of(cluster, request.row) - cluster->tablets);
    for (int i = first; i < cluster->tablet_count && response.location_count < most; i++) {
        struct location *location = &locations[response.location_count];
        *location = fake_location(cluster, &cluster->tablets[i]);
        fake_others(cluster, &cluster->tablets[i], &arena, location);
        fake_describe(location, &arena, &replicas[response.location_count++]);
    }
    if (request.detailed && server->index == 0) {
        response.replicas = replicas;
        response.replicas_count = response.location_count;
    }
    response.table = (struct table){.number = number, .id = request.name};
    response.locations = locations;
    struct buffer message = fake_message(STATUS_OK);
    locate_response_encode(&response, &message);
    transport_reply_send(reply, &message, true);
    arena_deinit(&arena);
}

#endif /* TESTS_SUPPORT_FAKE_CLUSTER_ANSWERS_H */
