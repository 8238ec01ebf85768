#include "tests/bench/raw/grpc_calls.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <grpc/byte_buffer.h>
#include <grpc/byte_buffer_reader.h>
#include <grpc/grpc_security.h>
#include <grpc/support/time.h>

#define OPERATIONS_MAX 6
#define COMPLAINTS_MAX 3

/* All connections together. */
struct run {
    const struct grpc_calls *plan;
    atomic_uint_fast64_t numbers; /* of calls, given out so far */
    atomic_uint complaints;
};

struct connection {
    struct run *run;
    grpc_channel *channel;
    grpc_completion_queue *queue;
    void *method;
    pthread_t thread;
    uint64_t in_flight;
    uint64_t running;
    struct grpc_figures figures;
};

/* One that is made again and again. */
struct caller {
    struct connection *connection;
    grpc_call *call;
    grpc_metadata_array headers;
    grpc_metadata_array trailers;
    grpc_byte_buffer *message;
    grpc_status_code code;
    grpc_slice text;
    int64_t begin_ns;
    size_t request_bytes;
    struct grpc_answer answer;
    bool has_ended; /* of a stream: its status is asked for */
};

double grpc_cpu_seconds(int process)
{
    clockid_t clock;
    struct timespec used;
    if (clock_getcpuclockid(process, &clock) != 0 || clock_gettime(clock, &used) != 0) {
        return 0;
    }
    return (double)used.tv_sec + (double)used.tv_nsec / 1e9;
}

/* --- a call ---------------------------------------------------------------------------------- */

static void start(struct caller *caller, const grpc_op *operations, size_t count)
{
    grpc_call_error error = grpc_call_start_batch(caller->call, operations, count, caller, NULL);
    if (error != GRPC_CALL_OK) {
        raw_fail("grpc", grpc_call_error_to_string(error));
    }
}

static void receive_message(struct caller *caller, grpc_op *operation)
{
    caller->message = NULL;
    operation->op = GRPC_OP_RECV_MESSAGE;
    operation->data.recv_message.recv_message = &caller->message;
}

static void receive_status(struct caller *caller, grpc_op *operation)
{
    operation->op = GRPC_OP_RECV_STATUS_ON_CLIENT;
    operation->data.recv_status_on_client.trailing_metadata = &caller->trailers;
    operation->data.recv_status_on_client.status = &caller->code;
    operation->data.recv_status_on_client.status_details = &caller->text;
}

/* False: the time is over, or enough were made. */
static bool call(struct caller *caller)
{
    struct connection *connection = caller->connection;
    const struct grpc_calls *plan = connection->run->plan;
    uint64_t number = atomic_fetch_add(&connection->run->numbers, 1);
    int64_t now_ns = raw_now_ns();
    if (now_ns >= plan->end_ns || (plan->calls_max > 0 && number >= plan->calls_max)) {
        return false;
    }
    caller->begin_ns = now_ns;
    caller->has_ended = false;
    caller->answer = (struct grpc_answer){.number = number};
    caller->text = grpc_empty_slice();
    grpc_metadata_array_init(&caller->headers);
    grpc_metadata_array_init(&caller->trailers);
    caller->call = grpc_channel_create_registered_call(connection->channel, NULL, 0,
                                                       connection->queue, connection->method,
                                                       gpr_inf_future(GPR_CLOCK_REALTIME), NULL);
    grpc_slice request = plan->request(plan->context, number);
    caller->request_bytes = GRPC_SLICE_LENGTH(request);
    grpc_byte_buffer *buffer = grpc_raw_byte_buffer_create(&request, 1);
    grpc_op operations[OPERATIONS_MAX];
    memset(operations, 0, sizeof operations);
    operations[0].op = GRPC_OP_SEND_INITIAL_METADATA;
    operations[1].op = GRPC_OP_SEND_MESSAGE;
    operations[1].data.send_message.send_message = buffer;
    operations[2].op = GRPC_OP_SEND_CLOSE_FROM_CLIENT;
    operations[3].op = GRPC_OP_RECV_INITIAL_METADATA;
    operations[3].data.recv_initial_metadata.recv_initial_metadata = &caller->headers;
    receive_message(caller, &operations[4]);
    receive_status(caller, &operations[5]);
    start(caller, operations, plan->is_stream ? 5 : 6);
    grpc_byte_buffer_destroy(buffer);
    grpc_slice_unref(request);
    return true;
}

/* How many rows are in it. */
static uint64_t take_rows(struct caller *caller)
{
    grpc_byte_buffer_reader reader;
    const struct grpc_calls *plan = caller->connection->run->plan;
    uint64_t before = caller->answer.rows;
    if (plan->take_rows != NULL && grpc_byte_buffer_reader_init(&reader, caller->message) != 0) {
        grpc_slice whole = grpc_byte_buffer_reader_readall(&reader);
        plan->take_rows(plan->context, GRPC_SLICE_START_PTR(whole), GRPC_SLICE_LENGTH(whole),
                        &caller->answer);
        grpc_slice_unref(whole);
        grpc_byte_buffer_reader_destroy(&reader);
    }
    return caller->answer.rows - before;
}

/* A message came, or NULL: none, or no more. */
static void take_message(struct caller *caller)
{
    struct connection *connection = caller->connection;
    const struct grpc_calls *plan = connection->run->plan;
    if (caller->message == NULL) {
        return;
    }
    uint64_t rows = take_rows(caller);
    int64_t since_ns = plan->is_stream ? raw_now_ns() : caller->begin_ns;
    if (since_ns >= plan->begin_ns) {
        connection->figures.messages++;
        connection->figures.bytes += grpc_byte_buffer_length(caller->message);
        connection->figures.rows += rows;
    }
    grpc_byte_buffer_destroy(caller->message);
    caller->message = NULL;
}

static void complain(struct caller *caller)
{
    caller->connection->figures.failed++;
    if (atomic_fetch_add(&caller->connection->run->complaints, 1) < COMPLAINTS_MAX) {
        (void)fprintf(stderr, "call failed with status %d: %.*s\n", (int)caller->code,
                      (int)GRPC_SLICE_LENGTH(caller->text),
                      (const char *)GRPC_SLICE_START_PTR(caller->text));
    }
}

static void end(struct caller *caller)
{
    struct grpc_figures *figures = &caller->connection->figures;
    if (caller->code != GRPC_STATUS_OK) {
        complain(caller);
    } else if (caller->begin_ns >= caller->connection->run->plan->begin_ns) {
        figures->calls++;
        figures->request_bytes += caller->request_bytes;
        raw_samples_add(&figures->samples, raw_now_ns() - caller->begin_ns);
    }
    grpc_slice_unref(caller->text);
    grpc_metadata_array_destroy(&caller->headers);
    grpc_metadata_array_destroy(&caller->trailers);
    grpc_call_unref(caller->call);
}

/* What was started has ended.  False: and so has the call. */
static bool go_on(struct caller *caller)
{
    const struct grpc_calls *plan = caller->connection->run->plan;
    bool had_message = caller->message != NULL;
    grpc_op operation;
    take_message(caller);
    if (!plan->is_stream || caller->has_ended) {
        return false;
    }
    memset(&operation, 0, sizeof operation);
    if (had_message && raw_now_ns() >= plan->end_ns) {
        (void)grpc_call_cancel(caller->call, NULL); /* a scan of all may take long */
        had_message = false;
    }
    if (had_message) {
        receive_message(caller, &operation);
    } else {
        caller->has_ended = true;
        receive_status(caller, &operation);
    }
    start(caller, &operation, 1);
    return true;
}

/* --- a connection ---------------------------------------------------------------------------- */

static void *run_connection(void *context)
{
    struct connection *connection = context;
    struct caller *callers = raw_allocate(connection->in_flight * sizeof *callers);
    for (uint64_t i = 0; i < connection->in_flight; i++) {
        callers[i].connection = connection;
        connection->running += call(&callers[i]) ? 1 : 0;
    }
    while (connection->running > 0) {
        grpc_event event = grpc_completion_queue_next(connection->queue,
                                                      gpr_inf_future(GPR_CLOCK_REALTIME), NULL);
        struct caller *caller = event.tag;
        if (go_on(caller)) {
            continue;
        }
        const struct grpc_calls *plan = connection->run->plan;
        if (caller->code == GRPC_STATUS_CANCELLED && plan->is_stream) {
            caller->code = GRPC_STATUS_OK; /* by us, at the end of the time */
        } else if (caller->code == GRPC_STATUS_OK && plan->rows_expected > 0 &&
                   caller->answer.rows != plan->rows_expected) {
            raw_fail("answer", "has not as many rows as it should");
        }
        end(caller);
        if (!call(caller)) {
            connection->running--;
        }
    }
    free(callers);
    return NULL;
}

static void open_connection(struct connection *connection)
{
    grpc_arg list[] = {
        {.type = GRPC_ARG_INTEGER,
         .key = (char *)GRPC_ARG_MAX_RECEIVE_MESSAGE_LENGTH,
         .value.integer = -1},
        {.type = GRPC_ARG_INTEGER,
         .key = (char *)GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL,
         .value.integer = 1},
        {.type = GRPC_ARG_INTEGER, .key = (char *)GRPC_ARG_ENABLE_HTTP_PROXY, .value.integer = 0},
        {.type = GRPC_ARG_INTEGER, .key = (char *)GRPC_ARG_ENABLE_RETRIES, .value.integer = 0},
    };
    grpc_channel_args arguments = {sizeof list / sizeof *list, list};
    const struct grpc_calls *plan = connection->run->plan;
    grpc_channel_credentials *credentials = grpc_insecure_credentials_create();
    connection->queue = grpc_completion_queue_create_for_next(NULL);
    connection->channel = grpc_channel_create(plan->address, credentials, &arguments);
    grpc_channel_credentials_release(credentials);
    connection->method = grpc_channel_register_call(connection->channel, plan->path, NULL, NULL);
}

static void close_connection(struct connection *connection)
{
    grpc_channel_destroy(connection->channel);
    grpc_completion_queue_shutdown(connection->queue);
    while (grpc_completion_queue_next(connection->queue, gpr_inf_future(GPR_CLOCK_REALTIME), NULL)
               .type != GRPC_QUEUE_SHUTDOWN) {
    }
    grpc_completion_queue_destroy(connection->queue);
}

static void add(struct grpc_figures *all, struct grpc_figures *one)
{
    all->calls += one->calls;
    all->failed += one->failed;
    all->messages += one->messages;
    all->bytes += one->bytes;
    all->request_bytes += one->request_bytes;
    all->rows += one->rows;
    raw_samples_join(&all->samples, &one->samples);
}

void grpc_calls_run(const struct grpc_calls *plan, struct grpc_figures *ret_figures)
{
    struct run run = {.plan = plan};
    struct connection *connections = raw_allocate(plan->connections * sizeof *connections);
    struct grpc_figures figures = {0};
    grpc_init();
    for (uint64_t i = 0; i < plan->connections; i++) {
        connections[i].run = &run;
        connections[i].in_flight = plan->in_flight / plan->connections +
                                   (i < plan->in_flight % plan->connections ? 1 : 0);
        open_connection(&connections[i]);
        if (pthread_create(&connections[i].thread, NULL, run_connection, &connections[i]) != 0) {
            raw_fail("pthread_create", "no thread for a connection");
        }
    }
    while (plan->calls_max == 0 && raw_now_ns() < plan->begin_ns) {
        (void)usleep(1000);
    }
    double before = grpc_cpu_seconds(getpid());
    for (uint64_t i = 0; i < plan->connections; i++) {
        (void)pthread_join(connections[i].thread, NULL);
        add(&figures, &connections[i].figures);
        close_connection(&connections[i]);
    }
    figures.cpu_seconds = grpc_cpu_seconds(getpid()) - before;
    free(connections);
    grpc_shutdown();
    if (figures.calls + figures.messages == 0 && figures.failed > 0) {
        raw_fail(plan->address, "no call was answered");
    }
    *ret_figures = figures;
}
