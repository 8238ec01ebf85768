#include <stdio.h>
#include <string.h>

#include "common/base/assert.h"
#include "common/base/memory.h"
#include "tests/sim/client/sim_client.h"

/* The client's messages: put together, and taken apart. */

struct bytes sim_operation_row(struct sim_operation *operation)
{
    if (operation->task->kind != SIM_OPERATION_SCAN) {
        return bytes_of(operation->task->row, operation->task->row_bytes);
    }
    scan_plan_next_row(&operation->plan, &operation->next_row);
    ASSERT(!operation->next_row.failed);
    return buffer_bytes(&operation->next_row);
}

/* Lives as long as the world. */
static struct bytes address_of(const struct sim_client *client, uint32_t address)
{
    return bytes_of_text(location_cache_address(&client->cache, address));
}

static void send(struct sim_client *client,
                 uint32_t to,
                 enum method method,
                 uint64_t request,
                 struct buffer *message)
{
    sim_effects_send(client->effects, to, FRAME_REQUEST, method, request, message);
    sim_effects_timer(client->effects, request * SIM_CLIENT_TIMER_KINDS + SIM_CLIENT_TIMER_SILENCE,
                      client->sim->settings.attempt_timeout_ns);
}

/* --- operations ------------------------------------------------------------------------------- */

/* The value that a task writes: its number, as text. */
static struct bytes value_of(struct sim_client *client, const struct sim_task *task)
{
    char text[24];
    (void)snprintf(text, sizeof text, "%llu", (unsigned long long)task->id);
    return arena_copy(&client->arena, bytes_of_text(text));
}

static struct mutation *add_mutations(struct sim_client *client, struct operation *out)
{
    struct mutation *mutations = arena_allocate_array(&client->arena, 2, sizeof *mutations);
    ASSERT(mutations != NULL);
    memset(mutations, 0, 2 * sizeof *mutations);
    out->mutations = mutations;
    out->mutation_count = 1;
    return mutations;
}

static struct mutation set_cell(const char *qualifier, struct bytes value, int64_t timestamp_us)
{
    return (struct mutation){.kind = MUTATION_SET_CELL,
                             .family = bytes_of_text("p"),
                             .qualifier = bytes_of_text(qualifier),
                             .timestamp_us = timestamp_us,
                             .value = value};
}

static struct mutation add_to_cell(const char *qualifier, int64_t amount)
{
    return (struct mutation){.kind = MUTATION_ADD_TO_CELL,
                             .family = bytes_of_text("s"),
                             .qualifier = bytes_of_text(qualifier),
                             .input = INPUT_INT64,
                             .integer = amount};
}

static void describe_increment(struct sim_client *client,
                               const struct sim_task *task,
                               struct operation *out)
{
    struct rmw_rule *rule = arena_allocate(&client->arena, sizeof *rule);
    ASSERT(rule != NULL);
    *rule = (struct rmw_rule){.kind = RMW_INCREMENT,
                              .family = bytes_of_text("p"),
                              .qualifier = bytes_of_text("n"),
                              .increment = task->amount};
    out->kind = OPERATION_READ_MODIFY_WRITE;
    out->rules = rule;
    out->rule_count = 1;
}

static void describe_claim(struct sim_client *client,
                           const struct sim_task *task,
                           struct operation *out)
{
    struct mutation *mutations = add_mutations(client, out);
    mutations[0] = set_cell("o", value_of(client, task), 0);
    out->kind = OPERATION_CHECK_AND_MUTATE;
    out->otherwise = mutations;
    out->otherwise_count = 1;
    out->mutation_count = 0;
}

static void describe_delete(struct sim_client *client,
                            const struct sim_task *task,
                            struct operation *out)
{
    if (task->by_range) {
        out->kind = OPERATION_DROP_RANGE;
        out->range.start = out->row;
        ASSERT(row_key_after(&client->arena, out->row, &out->range.end) == STATUS_OK);
    } else {
        add_mutations(client, out)[0] = (struct mutation){.kind = MUTATION_DELETE_FROM_ROW};
    }
}

static struct operation describe(struct sim_client *client, const struct sim_operation *operation)
{
    const struct sim_task *task = operation->task;
    struct operation out = {.kind = OPERATION_MUTATE,
                            .table = task->table,
                            .row = bytes_of(task->row, task->row_bytes),
                            .identity = {operation->sequence, operation->first_attempt_us}};
    struct mutation *mutations = NULL;

    switch (task->kind) {
    case SIM_OPERATION_ADD:
        mutations = add_mutations(client, &out);
        mutations[0] = add_to_cell("m", task->amount);
        mutations[1] = add_to_cell("n", task->amount);
        out.mutation_count = 2;
        break;
    case SIM_OPERATION_INCREMENT:
        describe_increment(client, task, &out);
        break;
    case SIM_OPERATION_CLAIM:
        describe_claim(client, task, &out);
        break;
    case SIM_OPERATION_REGISTER:
        mutations = add_mutations(client, &out);
        mutations[0] = set_cell("a", value_of(client, task), TIMESTAMP_SERVER);
        mutations[1] = set_cell("b", value_of(client, task), TIMESTAMP_SERVER);
        out.mutation_count = 2;
        break;
    case SIM_OPERATION_PUT:
        mutations = add_mutations(client, &out);
        mutations[0] = set_cell("v", value_of(client, task), 0);
        break;
    case SIM_OPERATION_DELETE:
        describe_delete(client, task, &out);
        break;
    case SIM_OPERATION_VERSION:
        mutations = add_mutations(client, &out);
        mutations[0] = set_cell("v", value_of(client, task), task->timestamp_us);
        mutations[0].family = bytes_of_text(SIM_RULES_FAMILY);
        break;
    case SIM_OPERATION_FORGET:
        describe_delete(client, task, &out);
        break;
    case SIM_OPERATION_READ:
        out.kind = OPERATION_READ;
        break;
    case SIM_OPERATION_SCAN:
    case SIM_OPERATION_KINDS:
        UNREACHABLE();
    }
    return out;
}

static uint32_t deadline_ms(const struct sim_client *client, const struct sim_operation *operation)
{
    int64_t left_ns = operation->deadline_ns - client->sim->now_ns;
    if (operation->deadline_ns == INT64_MAX) {
        return 0;
    }
    return left_ns < SIM_MS ? 1 : (uint32_t)(left_ns / SIM_MS);
}

void sim_request_send(struct sim_client *client,
                      struct sim_operation *const *operations,
                      size_t count)
{
    struct operation described[SIM_WINDOW_MAX];
    struct operations_request request = {
        .client = sim_operation_is_write(operations[0]) ? client->id : 0,
        .first_unfinished = sequence_window_lowest_unfinished(&client->window),
        .operations = described,
        .operation_count = count,
    };
    struct buffer out = BUFFER_INIT;
    uint64_t number = client->request_next++;
    uint32_t deadline = 0;

    for (size_t i = 0; i < count; i++) {
        uint32_t one = deadline_ms(client, operations[i]);
        deadline = one > deadline ? one : deadline;
        described[i] = describe(client, operations[i]);
        operations[i]->state = SIM_OPERATION_SENT;
        operations[i]->request = number;
        operations[i]->index = (uint32_t)i;
    }
    request_head_encode(&(struct request_head){.deadline_ms = deadline, .trace = number}, &out);
    operations_request_encode(&request, &out);
    send(client, sim_node_of_address(address_of(client, operations[0]->address)), METHOD_OPERATIONS,
         number, &out);
}

void sim_request_scan(struct sim_client *client, struct sim_operation *operation)
{
    struct row_set left = scan_plan_left(&operation->plan);
    struct scan_request request = {
        .table = operation->task->table,
        .rows = left.ranges,
        .row_range_count = left.count,
        .reversed = operation->task->reversed,
        .credit_bytes = 1 << 20,
    };
    struct buffer out = BUFFER_INIT;
    operation->state = SIM_OPERATION_SENT;
    operation->request = client->request_next++;
    request_head_encode(&(struct request_head){.deadline_ms = deadline_ms(client, operation)},
                        &out);
    scan_request_encode(&request, &out);
    send(client, sim_node_of_address(address_of(client, operation->address)), METHOD_SCAN,
         operation->request, &out);
}

/* A master; now and then a server, as a client does that reaches none. */
static uint32_t choose_locator(struct sim_client *client)
{
    if (!prng_chance(&client->prng, 4)) {
        return client->master;
    }
    return 1 + (uint32_t)prng_below(&client->prng, client->sim->settings.server_count);
}

void sim_request_locate(struct sim_client *client, struct sim_operation *operation)
{
    struct locate_request request = {
        .table = operation->task->table, .row = sim_operation_row(operation), .count_max = 3};
    struct buffer out = BUFFER_INIT;
    operation->state = SIM_OPERATION_LOCATING;
    operation->request = client->request_next++;
    request_head_encode(&(struct request_head){.deadline_ms = deadline_ms(client, operation)},
                        &out);
    locate_request_encode(&request, &out);
    operation->locator = choose_locator(client);
    send(client, operation->locator, METHOD_LOCATE, operation->request, &out);
}

/* --- answers ---------------------------------------------------------------------------------- */

static void learn(struct sim_client *client, const struct location *location, bool from_master)
{
    sim_trace(client->sim, "client %u: tablet %llu configuration %llu at server %llu state %u%s",
              client->node, (unsigned long long)location->tablet,
              (unsigned long long)location->configuration, (unsigned long long)location->server,
              location->state, from_master ? ", says the master" : "");
    ASSERT(location_cache_put(&client->cache, location, from_master) == STATUS_OK);
}

/* A server denied the row, and may have said who has it.  True: it is worth going there at once. */
static bool follow(struct sim_client *client,
                   struct sim_operation *operation,
                   const struct location *location)
{
    struct bytes row = sim_operation_row(operation);
    location_cache_invalidate(&client->cache, operation->task->table, row, operation->address);
    if (location != NULL) {
        learn(client, location, false);
    }
    const struct location_entry *entry = location_cache_find(&client->cache, operation->task->table,
                                                             row);
    return entry != NULL && entry->address != operation->address &&
           entry->address != LOCATION_NOT_SERVED;
}

static void take_locations(struct sim_client *client,
                           struct sim_operation *operation,
                           const struct response_head *head,
                           struct bytes body)
{
    struct locate_response response;
    struct error error = {.status = STATUS_OK};

    bool by_master = sim_is_master(client->sim, operation->locator);
    if (by_master && head->status == STATUS_UNAVAILABLE) {
        client->master = sim_other_master(client->sim, operation->locator);
    }
    if (head->status != STATUS_OK) {
        enum status status = by_master ? (enum status)head->status : STATUS_CLOSED;
        sim_client_fail(client, operation, status, false);
        return;
    }
    if (locate_response_decode(body, &client->arena, &response, &error) != STATUS_OK) {
        sim_fail(client->sim, "a LOCATE answer does not decode: %s", error.text);
        return;
    }
    for (size_t i = 0; i < response.location_count; i++) {
        learn(client, &response.locations[i], by_master);
    }
    if (location_cache_find(&client->cache, operation->task->table, sim_operation_row(operation)) ==
        NULL) {
        sim_client_fail(client, operation, STATUS_CLOSED, false); /* older than what is doubted */
        return;
    }
    operation->state = SIM_OPERATION_READY;
}

static void take_block(struct sim_client *client,
                       struct bytes block,
                       struct arena *arena,
                       struct sim_operation *operation)
{
    struct error error = {.status = STATUS_OK};
    bool found = true;
    while (found) {
        struct row row;
        if (row_block_next(&block, arena, &row, &found, &error) != STATUS_OK) {
            sim_fail(client->sim, "a row block does not decode: %s", error.text);
            return;
        }
        if (found && operation->row_count == operation->row_capacity) {
            operation->row_capacity = operation->row_capacity * 2 + 16;
            operation->rows = memory_resize(operation->rows,
                                            operation->row_capacity * sizeof(struct row));
            ASSERT(operation->rows != NULL);
        }
        if (found) {
            operation->rows[operation->row_count++] = row;
        }
    }
}

static void take_slice(struct sim_client *client,
                       struct sim_operation *operation,
                       const struct response_head *head,
                       struct bytes body)
{
    struct scan_response response;
    struct error error = {.status = STATUS_OK};
    struct bytes copy = arena_copy(&operation->arena, body);

    bool has_body = head->status == STATUS_OK || head->status == STATUS_NOT_OWNER;
    if (has_body && scan_response_decode(copy, &response, &error) != STATUS_OK) {
        sim_fail(client->sim, "a SCAN answer does not decode: %s", error.text);
        return;
    }
    if (head->status != STATUS_OK) {
        bool located = follow(client, operation,
                              has_body && response.has_location ? &response.location : NULL);
        sim_client_fail(client, operation, (enum status)head->status, located);
        return;
    }
    take_block(client, response.rows, &operation->arena, operation);
    enum status status = STATUS_OK;
    if (response.last_scanned.size_bytes > 0) {
        status = scan_plan_advance(&operation->plan, response.last_scanned);
    }
    if (status == STATUS_OK && response.done) {
        status = scan_plan_finish_range(&operation->plan, &response.tablet);
    }
    ASSERT(status == STATUS_OK);
    client->sim->statistics.scan_slices++;
    if (!scan_plan_is_done(&operation->plan)) {
        operation->retry.pauses = 0;
        operation->state = SIM_OPERATION_READY;
        return;
    }
    sim_client_finish(client, operation,
                      &(struct sim_outcome){.acknowledged = true,
                                            .rows = operation->rows,
                                            .row_count = operation->row_count});
}

static void take_result(struct sim_client *client,
                        struct sim_operation *operation,
                        const struct operation_result *result)
{
    struct bytes block = result->rows;
    struct row row = {0};
    struct error error = {.status = STATUS_OK};
    bool found = false;

    if (result->status != STATUS_OK) {
        bool moved = result->status == STATUS_NOT_OWNER;
        bool located = moved &&
                       follow(client, operation, result->has_location ? &result->location : NULL);
        sim_client_fail(client, operation, (enum status)result->status, located);
        return;
    }
    if (row_block_next(&block, &client->arena, &row, &found, &error) != STATUS_OK) {
        sim_fail(client->sim, "a row does not decode: %s", error.text);
    }
    sim_client_finish(client, operation,
                      &(struct sim_outcome){.acknowledged = true,
                                            .matched = result->matched,
                                            .rows = &row,
                                            .row_count = found ? 1 : 0});
}

/* The message was refused as a whole. */
static void fail_all(struct sim_client *client, uint64_t request, enum status status)
{
    for (uint32_t i = 0; i < SIM_WINDOW_MAX; i++) {
        struct sim_operation *operation = &client->operations[i];
        if (operation->state == SIM_OPERATION_SENT && operation->request == request) {
            sim_client_fail(client, operation, status, false);
        }
    }
}

static void take_results(struct sim_client *client,
                         uint64_t request,
                         const struct response_head *head,
                         struct bytes body)
{
    struct operations_response response;
    struct error error = {.status = STATUS_OK};

    if (head->status != STATUS_OK) {
        fail_all(client, request, (enum status)head->status);
        return;
    }
    if (operations_response_decode(body, &client->arena, &response, &error) != STATUS_OK) {
        sim_fail(client->sim, "an OPERATIONS answer: %s", error.text);
        return;
    }
    for (size_t i = 0; i < response.result_count; i++) {
        for (uint32_t j = 0; j < SIM_WINDOW_MAX; j++) {
            struct sim_operation *operation = &client->operations[j];
            if (operation->state == SIM_OPERATION_SENT && operation->request == request &&
                operation->index == response.results[i].index) {
                take_result(client, operation, &response.results[i]);
                break;
            }
        }
    }
}

void sim_response_take(struct sim_client *client, const struct sim_message *message)
{
    struct response_head head;
    struct bytes body;
    struct error error = {.status = STATUS_OK};
    struct sim_operation *operation = NULL;

    if (response_head_decode(message->payload, &head, &body, &error) != STATUS_OK) {
        sim_fail(client->sim, "an answer's head does not decode: %s", error.text);
        return;
    }
    for (uint32_t i = 0; i < SIM_WINDOW_MAX; i++) {
        struct sim_operation *one = &client->operations[i];
        bool waits = one->state == SIM_OPERATION_SENT || one->state == SIM_OPERATION_LOCATING;
        operation = waits && one->request == message->request ? one : operation;
    }
    if (operation == NULL) {
        return; /* given up meanwhile, or a second copy */
    }
    if (operation->state == SIM_OPERATION_LOCATING) {
        take_locations(client, operation, &head, body);
    } else if (operation->task->kind == SIM_OPERATION_SCAN) {
        take_slice(client, operation, &head, body);
    } else {
        take_results(client, message->request, &head, body);
    }
}
