#include "tests/sim/client/sim_client.h"

#include "common/base/assert.h"
#include "common/base/memory.h"

#define ARENA_BLOCK_BYTES 4096

static void set_timer(struct sim_client *client, uint64_t kind, uint64_t number, int64_t delay_ns)
{
    sim_effects_timer(client->effects, number * SIM_CLIENT_TIMER_KINDS + kind, delay_ns);
}

bool sim_operation_is_write(const struct sim_operation *operation)
{
    return operation->task->kind != SIM_OPERATION_READ &&
           operation->task->kind != SIM_OPERATION_SCAN;
}

/* --- life ------------------------------------------------------------------------------------- */

struct sim_client *sim_client_create(struct sim *sim, uint32_t node)
{
    struct sim_client *client = memory_allocate_zeroed(1, sizeof *client);
    ASSERT(client != NULL);
    client->sim = sim;
    client->node = node;
    client->id = prng_next(&sim->prng) | 1;
    client->prng = prng_of_seed(prng_next(&sim->prng));
    client->request_next = 1;
    client->operation_next = 1;
    client->tasks_left = sim->settings.operations_per_client;
    arena_init(&client->arena, ARENA_BLOCK_BYTES, SIZE_MAX);
    location_cache_init(&client->cache);
    sequence_window_init(&client->window);
    retry_budget_init(&client->budget, sim->now_ns);
    return client;
}

static void end_scan(struct sim_operation *operation)
{
    if (operation->task->kind == SIM_OPERATION_SCAN) {
        scan_plan_deinit(&operation->plan);
        arena_deinit(&operation->arena);
        memory_free(operation->rows);
        buffer_deinit(&operation->next_row);
    }
}

void sim_client_destroy(struct sim_client *client)
{
    for (uint32_t i = 0; i < SIM_WINDOW_MAX; i++) {
        if (client->operations[i].state != SIM_OPERATION_FREE) {
            end_scan(&client->operations[i]);
        }
    }
    arena_deinit(&client->arena);
    location_cache_deinit(&client->cache);
    sequence_window_deinit(&client->window);
    memory_free(client);
}

bool sim_client_is_idle(const struct sim_client *client)
{
    for (uint32_t i = 0; i < SIM_WINDOW_MAX; i++) {
        if (client->operations[i].state != SIM_OPERATION_FREE) {
            return false;
        }
    }
    return true;
}

bool sim_client_is_done(const struct sim_client *client)
{
    return client->tasks_left == 0 && sim_client_is_idle(client);
}

/* --- routing ---------------------------------------------------------------------------------- */

/* The server's number for a routed operation; LOCATION_NOT_SERVED: it was dealt with. */
static bool find_address(struct sim_client *client, struct sim_operation *operation)
{
    struct bytes row = sim_operation_row(operation);
    const struct location_entry *entry = location_cache_find(&client->cache, operation->task->table,
                                                             row);
    if (entry == NULL) {
        sim_request_locate(client, operation);
        return false;
    }
    if (entry->address == LOCATION_NOT_SERVED) {
        location_cache_invalidate(&client->cache, operation->task->table, row, LOCATION_NOT_SERVED);
        sim_client_fail(client, operation, STATUS_CLOSED, false);
        return false;
    }
    if (sim_buggify(client->sim, SIM_SITE_LOCATION_FORGOTTEN)) {
        location_cache_invalidate(&client->cache, operation->task->table, row, entry->address);
        sim_request_locate(client, operation);
        return false;
    }
    operation->address = entry->address;
    return true;
}

static void send_alike(struct sim_client *client, struct sim_operation *first)
{
    struct sim_operation *alike[SIM_WINDOW_MAX];
    size_t count = 0;
    for (uint32_t i = 0; i < SIM_WINDOW_MAX; i++) {
        struct sim_operation *operation = &client->operations[i];
        if (operation->state == SIM_OPERATION_READY &&
            operation->task->kind != SIM_OPERATION_SCAN && operation->address == first->address &&
            sim_operation_is_write(operation) == sim_operation_is_write(first)) {
            alike[count++] = operation;
        }
    }
    sim_request_send(client, alike, count);
}

/* Send everything that is ready. */
static void route(struct sim_client *client)
{
    for (uint32_t i = 0; i < SIM_WINDOW_MAX; i++) {
        struct sim_operation *operation = &client->operations[i];
        if (operation->state == SIM_OPERATION_READY && find_address(client, operation) &&
            operation->task->kind == SIM_OPERATION_SCAN) {
            sim_request_scan(client, operation);
        }
    }
    for (uint32_t i = 0; i < SIM_WINDOW_MAX; i++) {
        if (client->operations[i].state == SIM_OPERATION_READY) {
            send_alike(client, &client->operations[i]);
        }
    }
    location_cache_check(&client->cache);
}

/* --- operations ------------------------------------------------------------------------------- */

static void begin_scan(struct sim_operation *operation)
{
    struct row_set set;
    arena_init(&operation->arena, ARENA_BLOCK_BYTES, SIZE_MAX);
    operation->range = (struct row_range){BYTES_EMPTY, BYTES_EMPTY};
    set = (struct row_set){&operation->range, 1};
    scan_plan_init(&operation->plan, &set, operation->task->reversed);
}

static void begin(struct sim_client *client, struct sim_operation *operation, struct sim_task *task)
{
    const struct sim_settings *settings = &client->sim->settings;
    *operation = (struct sim_operation){
        .state = SIM_OPERATION_READY, .task = task, .number = client->operation_next++};
    operation->deadline_ns = settings->operation_deadline_ns == 0 || task->final
                                 ? INT64_MAX
                                 : client->sim->now_ns + settings->operation_deadline_ns;
    operation->first_attempt_us = client->sim->now_ns / 1000 + client->server_time_offset_us;
    retry_budget_on_first(&client->budget, 1);
    if (task->kind == SIM_OPERATION_SCAN) {
        begin_scan(operation);
    } else if (task->kind != SIM_OPERATION_READ) {
        ASSERT(sequence_window_begin(&client->window, &operation->sequence) == STATUS_OK);
    }
    client->sim->statistics.operations++;
}

void sim_client_finish(struct sim_client *client,
                       struct sim_operation *operation,
                       const struct sim_outcome *outcome)
{
    if (outcome->acknowledged) {
        retry_on_success(&operation->retry, &client->budget);
    } else {
        client->sim->statistics.unknown++;
    }
    if (operation->sequence != 0) {
        sequence_window_finish(&client->window, operation->sequence);
    }
    sim_trace(client->sim, "client %u: task %llu kind %d row %.*s %s", client->node,
              (unsigned long long)operation->task->id, (int)operation->task->kind,
              (int)operation->task->row_bytes, (const char *)operation->task->row,
              outcome->acknowledged ? "done" : "given up");
    sim_checker_end(client->sim->checker, operation->task, outcome);
    end_scan(operation);
    operation->state = SIM_OPERATION_FREE;
    if (client->tasks_left > 0) {
        set_timer(client, SIM_CLIENT_TIMER_THINK, 0,
                  sim_about_ns(client->sim, client->sim->settings.think_ns));
    }
}

void sim_client_fail(struct sim_client *client,
                     struct sim_operation *operation,
                     enum status status,
                     bool located)
{
    static const struct sim_outcome given_up = {.acknowledged = false};
    int64_t pause_ns = 0;
    /* Two masters act at once then, and one of them has only read what was: there may be such a table.  What has to
     * come to its end asks again. */
    if (status == STATUS_NOT_FOUND && operation->task->final &&
        client->sim->settings.clocks_apart) {
        status = STATUS_UNAVAILABLE;
    }
    client->sim->statistics.retries++;
    switch (retry_on_failure(&operation->retry, status, located, &client->prng, &pause_ns)) {
    case RETRY_FINAL:
        sim_trace(client->sim, "client %u: task %llu ends with %s", client->node,
                  (unsigned long long)operation->task->id, status_name(status));
        if (status == STATUS_NOT_FOUND && !client->sim->settings.clocks_apart) {
            sim_checker_on_not_found(client->sim->checker, operation->task);
        }
        sim_client_finish(client, operation, &given_up);
        break;
    case RETRY_NOW:
        operation->state = SIM_OPERATION_READY;
        break;
    case RETRY_LATER:
        if (status == STATUS_NOT_OWNER || retry_looks_again(&operation->retry)) {
            location_cache_invalidate(&client->cache, operation->task->table,
                                      sim_operation_row(operation), operation->address);
        }
        operation->state = SIM_OPERATION_PAUSED;
        set_timer(client, SIM_CLIENT_TIMER_PAUSE, operation->number, pause_ns);
        break;
    }
}

static void on_pause_over(struct sim_client *client, uint64_t number)
{
    static const struct sim_outcome given_up = {.acknowledged = false};
    int64_t pause_ns = 0;
    for (uint32_t i = 0; i < SIM_WINDOW_MAX; i++) {
        struct sim_operation *operation = &client->operations[i];
        if (operation->state != SIM_OPERATION_PAUSED || operation->number != number) {
            continue;
        }
        if (client->sim->now_ns >= operation->deadline_ns) {
            sim_client_finish(client, operation, &given_up);
        } else if (retry_may_start(&operation->retry, 1, &client->budget, &client->prng,
                                   client->sim->now_ns, &pause_ns)) {
            operation->state = SIM_OPERATION_READY;
        } else {
            set_timer(client, SIM_CLIENT_TIMER_PAUSE, number, pause_ns);
        }
    }
}

/* No answer: the connection is given up, with all that was on it. */
static void on_silence(struct sim_client *client, uint64_t request)
{
    for (uint32_t i = 0; i < SIM_WINDOW_MAX; i++) {
        struct sim_operation *operation = &client->operations[i];
        if (operation->request != request || (operation->state != SIM_OPERATION_SENT &&
                                              operation->state != SIM_OPERATION_LOCATING)) {
            continue;
        }
        if (operation->state == SIM_OPERATION_SENT) {
            location_cache_invalidate(&client->cache, operation->task->table,
                                      sim_operation_row(operation), operation->address);
        } else if (operation->locator == client->master) {
            client->master = sim_other_master(client->sim, client->master);
        }
        sim_client_fail(client, operation, STATUS_CLOSED, false);
    }
}

/* Take up tasks until the window is full. */
static void take_tasks(struct sim_client *client)
{
    struct sim_task *task = NULL;
    for (uint32_t i = 0; i < client->sim->settings.window && client->tasks_left > 0; i++) {
        if (client->operations[i].state != SIM_OPERATION_FREE) {
            continue;
        }
        if (!sim_checker_next(client->sim->checker, &task)) {
            set_timer(client, SIM_CLIENT_TIMER_THINK, 0, 50 * SIM_MS);
            return;
        }
        client->tasks_left--;
        begin(client, &client->operations[i], task);
    }
}

/* --- events ----------------------------------------------------------------------------------- */

static void say_hello(struct sim_client *client)
{
    struct buffer out = BUFFER_INIT;
    client->hello_request = client->request_next++;
    hello_encode(&(struct hello){.version_oldest = WIRE_VERSION_OLDEST,
                                 .version_newest = WIRE_VERSION,
                                 .process = client->id},
                 &out);
    sim_effects_send(client->effects, client->master, FRAME_HELLO, (enum method)0,
                     client->hello_request, &out);
    set_timer(client, SIM_CLIENT_TIMER_HELLO, 0, client->sim->settings.attempt_timeout_ns);
}

static void on_hello_ack(struct sim_client *client, const struct sim_message *message)
{
    struct hello_ack ack;
    struct error error = {.status = STATUS_OK};
    if (hello_ack_decode(message->payload, &ack, &error) != STATUS_OK) {
        sim_fail(client->sim, "a HELLO_ACK does not decode: %s", error.text);
    } else if (!client->knows_time) {
        client->knows_time = true;
        client->server_time_offset_us = ack.now_us - client->sim->now_ns / 1000;
        take_tasks(client);
    }
}

static void begin_step(struct sim_client *client, struct sim_effects *effects)
{
    arena_reset(&client->arena);
    client->effects = effects;
}

static void end_step(struct sim_client *client)
{
    route(client);
    client->effects = NULL;
}

void sim_client_start(struct sim_client *client, struct sim_effects *effects)
{
    begin_step(client, effects);
    say_hello(client);
    end_step(client);
}

void sim_client_work(struct sim_client *client, uint32_t tasks, struct sim_effects *effects)
{
    bool rests = client->tasks_left == 0 && client->knows_time;
    begin_step(client, effects);
    client->tasks_left = tasks;
    if (rests) {
        take_tasks(client);
    }
    end_step(client);
}

void sim_client_do(struct sim_client *client, struct sim_task *task, struct sim_effects *effects)
{
    ASSERT(sim_client_is_idle(client));
    begin_step(client, effects);
    begin(client, &client->operations[0], task);
    end_step(client);
}

void sim_client_on_message(struct sim_client *client,
                           const struct sim_message *message,
                           struct sim_effects *effects)
{
    begin_step(client, effects);
    if (message->type == FRAME_HELLO_ACK) {
        on_hello_ack(client, message);
    } else {
        sim_response_take(client, message);
    }
    end_step(client);
}

void sim_client_on_timer(struct sim_client *client, uint64_t number, struct sim_effects *effects)
{
    begin_step(client, effects);
    switch (number % SIM_CLIENT_TIMER_KINDS) {
    case SIM_CLIENT_TIMER_THINK:
        take_tasks(client);
        break;
    case SIM_CLIENT_TIMER_PAUSE:
        on_pause_over(client, number / SIM_CLIENT_TIMER_KINDS);
        break;
    case SIM_CLIENT_TIMER_SILENCE:
        on_silence(client, number / SIM_CLIENT_TIMER_KINDS);
        break;
    case SIM_CLIENT_TIMER_HELLO:
        if (!client->knows_time) {
            client->master = sim_other_master(client->sim, client->master);
            say_hello(client);
        }
        break;
    default:
        UNREACHABLE();
    }
    end_step(client);
}
