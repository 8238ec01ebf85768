/*
 * What results of read-modify-writes hold while they wait for the disk: no more than the budget for
 * requests under way, and not for longer than until they are answered.
 *
 * This process's fdatasync waits until the test lets it pass, so that what waits is known.
 */
#include "common/io/transport/transport_budget.h"
#include "tests/support/held_syncs.h"
#include "tests/support/server_steps.h"

#define KIB         ((size_t)1024)
#define CELL_BYTES  (512 * KIB)
#define SLACK_BYTES (4 * KIB)  /* of a row around its one large cell; of a message's body */
#define BATCH_BYTES (48 * KIB) /* of 40 operations, decoded */

/* Append one byte to f:large of row "r". */
static struct operation append_one(struct client *client, uint64_t sequence)
{
    struct operation operation = client_increment(client, "r", "large", sequence);
    struct rmw_rule *rule = (struct rmw_rule *)(uintptr_t)operation.rules;
    rule->kind = RMW_APPEND;
    rule->append = bytes_of_text("+");
    return operation;
}

static struct client *start_with_a_large_cell(uint64_t request_bytes_max)
{
    fixture_prepare(&fixture);
    fixture.settings.request_bytes_max = request_bytes_max;
    fixture_open(&fixture);
    script_assign(&fixture.script, 10, "", "", false);
    SCRIPT_WAIT_FOR(&fixture.script, 10);
    struct client *client = client_start(fixture.server->address, 0);
    char *value = arena_allocate(&client->arena, CELL_BYTES + 1);
    cr_assert_not_null(value);
    memset(value, 'v', CELL_BYTES);
    value[CELL_BYTES] = '\0';
    CLIENT_EXPECT_OK(client, client_put(client, "r", "large", value, 0));
    WAIT_FOR(request_budget_bytes(&fixture.server->budget) == 0);
    return client;
}

static uint64_t send_appends(struct client *client, size_t count)
{
    struct operation operations[64];
    cr_assert_leq(count, 64);
    for (size_t i = 0; i < count; i++) {
        operations[i] = append_one(client, 0);
    }
    return client_send_operations(client, operations, count, 0);
}

/* How many operations have been answered so far; the answer may be under way still. */
static size_t answered(struct client *client, uint64_t request)
{
    struct bytes body = BYTES_EMPTY;
    struct bytes message = BYTES_EMPTY;
    struct arena arena;
    size_t count = 0;
    arena_init(&arena, 4096, SIZE_MAX);
    pthread_mutex_lock(&client->lock);
    struct bytes messages = buffer_bytes(&client_answer(client, request)->messages);
    while (next_message(&messages, &message)) {
        struct operations_response response;
        cr_assert_eq(message_head(message, &body).status, STATUS_OK);
        cr_assert_eq(operations_response_decode(body, &arena, &response, NULL), STATUS_OK);
        count += response.result_count;
    }
    pthread_mutex_unlock(&client->lock);
    arena_deinit(&arena);
    return count;
}

/* Of so many operations, how many were done; the others were refused, and may come again. */
static size_t done_of(struct client *client, uint64_t request, size_t count)
{
    size_t done = 0;
    struct operation_result *results = client_results(client, request, count);
    cr_assert_not_null(results);
    for (size_t i = 0; i < count; i++) {
        done += results[i].status == STATUS_OK;
        cr_assert(results[i].status == STATUS_OK || results[i].status == STATUS_UNAVAILABLE,
                  "%u %.*s", results[i].status, (int)results[i].text.size_bytes,
                  (const char *)results[i].text.data);
    }
    return done;
}

static size_t size_of_cell(struct client *client)
{
    struct operation get = client_get(client, "r");
    struct operation_result result = client_run(client, &get);
    struct row row;
    bool found = false;
    cr_assert_eq(result.status, STATUS_OK);
    cr_assert_eq(row_block_next(&result.rows, &client->arena, &row, &found, NULL), STATUS_OK);
    cr_assert(found);
    cr_assert_eq(row.cell_count, 1);
    return row.cells[0].value.size_bytes;
}

static void end(struct client *client)
{
    WAIT_FOR(request_budget_bytes(&fixture.server->budget) == 0);
    client_stop(client);
    fixture_deinit(&fixture);
}

Test(server_memory, results_that_wait_are_bounded_and_what_is_refused_is_not_applied)
{
    enum {
        APPENDS = 40,
        WAITING_MOST = 8 /* so many results fit into the budget */
    };
    struct client *client = start_with_a_large_cell(WAITING_MOST * CELL_BYTES + BATCH_BYTES);
    size_t size = CELL_BYTES;

    atomic_store(&syncs_allowed, 0);
    uint64_t request = send_appends(client, APPENDS);
    WAIT_FOR(answered(client, request) >= APPENDS - WAITING_MOST);
    cr_assert_leq(request_budget_bytes(&fixture.server->budget),
                  fixture.settings.request_bytes_max);
    atomic_store(&syncs_allowed, INT_MAX);
    size_t done = done_of(client, request, APPENDS);
    /* Each holds its change as well until its record is appended, and no longer. */
    cr_assert_geq(done, WAITING_MOST - 1);
    cr_assert_leq(done, WAITING_MOST);
    size += done;

    for (size_t left = APPENDS - done; left > 0; left -= done) {
        done = done_of(client, send_appends(client, left), left);
        size += done;
    }
    cr_assert_eq(size, CELL_BYTES + APPENDS);
    cr_assert_eq(size_of_cell(client), size);
    end(client);
}

Test(server_memory, what_a_result_holds_goes_when_it_is_answered_and_not_with_its_message)
{
    enum {
        APPENDS = 6
    };
    struct client *client = start_with_a_large_cell(64 * CELL_BYTES);

    atomic_store(&syncs_allowed, 0);
    uint64_t request = send_appends(client, APPENDS);
    WAIT_FOR(request_budget_bytes(&fixture.server->budget) >= APPENDS * CELL_BYTES);
    while (answered(client, request) == 0) { /* another thread may take a sync for its own */
        atomic_store(&syncs_allowed, 1);
        clock_sleep_us(20000);
    }
    atomic_store(&syncs_allowed, 0);
    WAIT_FOR(request_budget_bytes(&fixture.server->budget) <=
             (APPENDS - answered(client, request)) * (CELL_BYTES + SLACK_BYTES) + SLACK_BYTES);
    atomic_store(&syncs_allowed, INT_MAX);
    cr_assert_eq(done_of(client, request, APPENDS), APPENDS);
    cr_assert_eq(size_of_cell(client), CELL_BYTES + APPENDS);
    end(client);
}

Test(server_memory, a_result_larger_than_the_budget_is_made_when_nothing_else_is_under_way)
{
    struct client *client = start_with_a_large_cell(CELL_BYTES);
    struct operation operation = append_one(client, 0);
    CLIENT_EXPECT_OK(client, operation);
    cr_assert_eq(size_of_cell(client), CELL_BYTES + 1);
    end(client);
}

/* The status of the answer as a whole: a request that is let in is answered OK, whatever becomes of
 * its operations. */
static enum status ask(struct client *client, const struct operation *operation)
{
    struct bytes message = BYTES_EMPTY;
    struct bytes body = BYTES_EMPTY;
    uint64_t request = client_send_operations(client, operation, 1, 0);
    WAIT_FOR(client_has_ended(client, request));
    struct bytes messages = buffer_bytes(&client_answer(client, request)->messages);
    cr_assert(next_message(&messages, &message));
    return (enum status)message_head(message, &body).status;
}

Test(server_memory, reads_have_half_of_the_budget_and_leave_the_rest_to_writes)
{
    struct client *client = start_with_a_large_cell(8 * CELL_BYTES);
    struct operation get = client_get(client, "r");
    struct operation put = client_put(client, "s", "a", "v", 0);
    struct server *server = fixture.server;

    cr_assert_not(request_budget_is_short(&server->budget));
    cr_assert(request_budget_charge_reads(&server->budget, 4 * CELL_BYTES - KIB, 0));
    cr_assert(request_budget_is_short(&server->budget));
    cr_assert_eq(ask(client, &get), STATUS_UNAVAILABLE);
    cr_assert_not(request_budget_charge_reads(&server->budget, 2 * KIB, 0));
    cr_assert_eq(ask(client, &put), STATUS_OK);
    request_budget_release_reads(&server->budget, 4 * CELL_BYTES - KIB);
    cr_assert_eq(ask(client, &get), STATUS_OK);
    WAIT_FOR(atomic_load(&server->budget.read_bytes) == 0);
    end(client);
}

Test(server_memory, a_large_request_waits_for_half_of_the_budget_and_not_for_all_of_it)
{
    struct client *client = start_with_a_large_cell(8 * CELL_BYTES);
    struct server *server = fixture.server;

    cr_assert(request_budget_charge(&server->budget, 4 * CELL_BYTES, 0));
    cr_assert(request_budget_charge(&server->budget, 5 * CELL_BYTES, 0));
    cr_assert_not(request_budget_charge(&server->budget, 5 * CELL_BYTES, 0));
    cr_assert_not(request_budget_charge(&server->budget, KIB, 0));
    request_budget_release(&server->budget, 9 * CELL_BYTES);
    end(client);
}

/* Its own body is nobody else's: it would be refused for ever. */
Test(server_memory, a_large_scan_does_not_wait_for_itself)
{
    struct client *client = start_with_a_large_cell(8 * CELL_BYTES);
    struct request_budget *budget = &fixture.server->budget;
    const uint64_t body = 5 * CELL_BYTES / 2;

    cr_assert(request_budget_charge_reads(budget, body, 0));
    cr_assert_not(request_budget_charge_reads(budget, 3 * CELL_BYTES, 0), "another one");
    cr_assert(request_budget_charge_reads(budget, 3 * CELL_BYTES, body));
    request_budget_release_reads(budget, body + 3 * CELL_BYTES);
    cr_assert_eq(request_budget_bytes(budget), 0);
    end(client);
}

Test(server_memory, a_request_is_counted_with_what_it_is_decoded_into)
{
    enum {
        APPENDS = 40
    };
    struct client *client = start_with_a_large_cell(64 * CELL_BYTES);
    struct operation put = client_put(client, "s", "a", "v", 0);
    struct operation puts[APPENDS];
    for (size_t i = 0; i < APPENDS; i++) {
        puts[i] = put;
    }
    atomic_store(&syncs_allowed, 0);
    uint64_t request = client_send_operations(client, puts, APPENDS, 0);
    WAIT_FOR(request_budget_bytes(&fixture.server->budget) >
             APPENDS * (sizeof(struct operation) + sizeof(struct work)));
    cr_assert_eq(atomic_load(&fixture.server->budget.read_bytes), 0);
    atomic_store(&syncs_allowed, INT_MAX);
    cr_assert_eq(done_of(client, request, APPENDS), APPENDS);
    end(client);
}

/* --- refusing ----------------------------------------------------------------------------------- */

#define READS_A_REQUEST ((size_t)256)
#define ANSWERED        40  /* requests, with a large cell each */
#define REFUSED         200 /* requests */
#define REFUSAL_BYTES   512 /* one answer that says no */

/* A client that takes no answer until it is let: the sender waits, with all that comes behind. */
struct idler {
    struct transport_connection *connection;
    pthread_mutex_t barred;
    atomic_uint answers; /* that were the last of their request */
};

static void idler_on_response(void *context, uint64_t request, struct bytes message, bool stream)
{
    struct idler *idler = context;
    (void)request;
    (void)message;
    pthread_mutex_lock(&idler->barred);
    pthread_mutex_unlock(&idler->barred);
    atomic_fetch_add(&idler->answers, stream ? 0 : 1);
}

static void idler_on_closed(void *context, const struct error *error)
{
    (void)context;
    (void)error;
}

static void idler_start(struct idler *idler)
{
    struct error error = {.status = STATUS_OK};
    const struct transport_connection_options options = {
        .address = fixture.server->address,
        .agent = "idler",
        .lane = LANE_READ,
        .context = idler,
        .on_response = idler_on_response,
        .on_closed = idler_on_closed,
    };
    pthread_mutex_init(&idler->barred, NULL);
    pthread_mutex_lock(&idler->barred);
    cr_assert_eq(transport_connect(&options, &idler->connection, &error), STATUS_OK, "%s",
                 error.text);
}

/* The same row, so many times. */
static void idler_ask(struct idler *idler, struct client *client, uint64_t request, size_t count)
{
    struct operation reads[READS_A_REQUEST];
    struct buffer message = BUFFER_INIT;
    for (size_t i = 0; i < count; i++) {
        reads[i] = client_get(client, "r");
    }
    request_head_encode(&(struct request_head){0}, &message);
    operations_request_encode(
        &(struct operations_request){.operations = reads, .operation_count = count}, &message);
    cr_assert_eq(transport_connection_send(idler->connection, request, METHOD_OPERATIONS, &message),
                 STATUS_OK);
}

/* Keeps a worker from its work until it is let. */
struct occupation {
    struct job job;
    pthread_mutex_t *barred;
    atomic_uint *begun;
};

static void occupy(struct job *job)
{
    struct occupation *occupation = (struct occupation *)job;
    pthread_mutex_t *barred = occupation->barred;
    atomic_fetch_add(occupation->begun, 1);
    pthread_mutex_lock(barred);
    pthread_mutex_unlock(barred);
}

/*
 * Requests that are under way when nobody takes any more answers are refused in few words.  One word
 * for each row was more than the request itself: what was no longer held as requests was held as
 * refusals.
 */
Test(server_memory, what_refuses_many_reads_is_small)
{
    enum {
        WORKERS = 3 /* of the fixture */
    };
    static struct idler idler;
    static struct occupation occupations[WORKERS];
    pthread_mutex_t work = PTHREAD_MUTEX_INITIALIZER;
    atomic_uint begun = 0;
    struct client *client = start_with_a_large_cell(64 << 20);
    idler_start(&idler);
    uint64_t request = 0;
    while (request < ANSWERED) {
        idler_ask(&idler, client, ++request, 1);
    }
    WAIT_FOR(transport_budget_queued_bytes() > 4 << 20); /* behind what the sockets take */
    WAIT_FOR(request_budget_bytes(&fixture.server->budget) == 0);
    pthread_mutex_lock(&work);
    for (int i = 0; i < WORKERS; i++) {
        occupations[i] = (struct occupation){.job.run = occupy, .barred = &work, .begun = &begun};
        worker_pool_submit(fixture.server->workers, &occupations[i].job, JOB_URGENT);
    }
    WAIT_FOR(begun == WORKERS);
    for (int i = 0; i < REFUSED; i++) {
        idler_ask(&idler, client, ++request, READS_A_REQUEST);
    }
    WAIT_FOR(request_budget_bytes(&fixture.server->budget) > 2 << 20);
    uint64_t before_bytes = transport_budget_queued_bytes();
    transport_budget_set(
        &(struct transport_budget){.unfinished_bytes_max = 64 << 20, .queued_bytes_max = 1 << 20});
    pthread_mutex_unlock(&work);
    WAIT_FOR(request_budget_bytes(&fixture.server->budget) == 0);
    cr_assert_leq(transport_budget_queued_bytes(), before_bytes + REFUSED * REFUSAL_BYTES);

    pthread_mutex_unlock(&idler.barred);
    WAIT_FOR(atomic_load(&idler.answers) == request);
    transport_connection_close(idler.connection);
    client_stop(client);
    fixture_deinit(&fixture);
}
