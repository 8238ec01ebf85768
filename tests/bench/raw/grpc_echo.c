/*
 * libgrpc and nothing else: a server in a process of its own that sends back what it gets, or so
 * many bytes, and a client that keeps so many calls in flight.  What the gateway is measured against: it cannot
 * answer faster than this.
 *
 *   raw_grpc_echo [--in-flight 64] [--connections 1] [--request-bytes 1100] [--reply-bytes 1100]
 *                 [--server-threads 2] [--seconds 5]
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <grpc/byte_buffer.h>
#include <grpc/grpc.h>
#include <grpc/grpc_security.h>
#include <grpc/support/time.h>

#include "tests/bench/raw/grpc_calls.h"

#define PATH       "/raw.Echo/Echo"
#define SLOTS      64 /* calls that a thread waits for, or answers, at a time */
#define NS_OF_WARM INT64_C(500000000)
#define NS_A_SEC   INT64_C(1000000000)

/* --- the server ------------------------------------------------------------------------------ */

struct sizes {
    size_t request;
    size_t reply;
};

struct echo {
    grpc_server *server;
    void *method;
    grpc_completion_queue *queue;
    grpc_call *call;
    gpr_timespec deadline;
    grpc_metadata_array metadata;
    grpc_byte_buffer *payload;
    grpc_byte_buffer *reply; /* of another size than what came; NULL = that is sent back */
    int is_cancelled;
    bool is_answered;
};

static void must(grpc_call_error error)
{
    if (error != GRPC_CALL_OK) {
        raw_fail("grpc", grpc_call_error_to_string(error));
    }
}

static void wait_for_call(struct echo *echo)
{
    echo->is_answered = false;
    echo->payload = NULL;
    grpc_metadata_array_init(&echo->metadata);
    must(grpc_server_request_registered_call(echo->server, echo->method, &echo->call,
                                             &echo->deadline, &echo->metadata, &echo->payload,
                                             echo->queue, echo->queue, echo));
}

static void answer(struct echo *echo)
{
    grpc_op operations[4];
    grpc_slice text = grpc_empty_slice();
    memset(operations, 0, sizeof operations);
    operations[0].op = GRPC_OP_SEND_INITIAL_METADATA;
    operations[1].op = GRPC_OP_SEND_MESSAGE;
    operations[1].data.send_message.send_message = echo->reply != NULL ? echo->reply
                                                                       : echo->payload;
    operations[2].op = GRPC_OP_SEND_STATUS_FROM_SERVER;
    operations[2].data.send_status_from_server.status = GRPC_STATUS_OK;
    operations[2].data.send_status_from_server.status_details = &text;
    operations[3].op = GRPC_OP_RECV_CLOSE_ON_SERVER;
    operations[3].data.recv_close_on_server.cancelled = &echo->is_cancelled;
    echo->is_answered = true;
    must(grpc_call_start_batch(echo->call, operations, 4, echo, NULL));
}

static void *serve(void *queue)
{
    for (;;) {
        grpc_event event = grpc_completion_queue_next(queue, gpr_inf_future(GPR_CLOCK_REALTIME),
                                                      NULL);
        if (event.type == GRPC_QUEUE_SHUTDOWN) {
            return NULL;
        }
        struct echo *echo = event.tag;
        if (!echo->is_answered) {
            answer(echo);
            continue;
        }
        grpc_byte_buffer_destroy(echo->payload);
        grpc_metadata_array_destroy(&echo->metadata);
        grpc_call_unref(echo->call);
        wait_for_call(echo);
    }
}

static grpc_byte_buffer *make_reply(size_t size_bytes)
{
    grpc_slice slice = grpc_slice_malloc(size_bytes);
    memset(GRPC_SLICE_START_PTR(slice), 'r', size_bytes);
    grpc_byte_buffer *reply = grpc_raw_byte_buffer_create(&slice, 1);
    grpc_slice_unref(slice);
    return reply;
}

static _Noreturn void be_server(int ready, uint64_t threads, const struct sizes *sizes)
{
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    grpc_init();
    grpc_completion_queue **queues = raw_allocate(threads * sizeof *queues);
    struct echo *echoes = raw_allocate(threads * SLOTS * sizeof *echoes);
    grpc_server *server = grpc_server_create(NULL, NULL);
    void *method = grpc_server_register_method(server, PATH, NULL,
                                               GRPC_SRM_PAYLOAD_READ_INITIAL_BYTE_BUFFER, 0);
    for (uint64_t i = 0; i < threads; i++) {
        queues[i] = grpc_completion_queue_create_for_next(NULL);
        grpc_server_register_completion_queue(server, queues[i], NULL);
    }
    grpc_server_credentials *credentials = grpc_insecure_server_credentials_create();
    int port = grpc_server_add_http2_port(server, "127.0.0.1:0", credentials);
    grpc_server_credentials_release(credentials);
    if (port == 0) {
        raw_fail("grpc", "no port to listen at");
    }
    grpc_server_start(server);
    for (uint64_t i = 0; i < threads * SLOTS; i++) {
        echoes[i].server = server;
        echoes[i].method = method;
        echoes[i].reply = sizes->reply != sizes->request ? make_reply(sizes->reply) : NULL;
        echoes[i].queue = queues[i % threads];
        wait_for_call(&echoes[i]);
    }
    for (uint64_t i = 0; i < threads; i++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, serve, queues[i]) != 0) {
            raw_fail("pthread_create", "no thread for a queue");
        }
    }
    if (write(ready, &port, sizeof port) != sizeof port) {
        raw_fail("pipe", strerror(errno));
    }
    for (;;) {
        (void)pause();
    }
}

static int start_server(uint64_t threads, const struct sizes *sizes, pid_t *ret_process)
{
    int ready[2];
    int port = 0;
    if (pipe(ready) != 0) {
        raw_fail("pipe", strerror(errno));
    }
    pid_t process = fork(); /* before libgrpc has made any thread */
    if (process < 0) {
        raw_fail("fork", strerror(errno));
    }
    if (process == 0) {
        be_server(ready[1], threads, sizes);
    }
    (void)close(ready[1]);
    if (read(ready[0], &port, sizeof port) != sizeof port) {
        raw_fail("server", "did not start");
    }
    (void)close(ready[0]);
    *ret_process = process;
    return port;
}

/* --- the client ------------------------------------------------------------------------------ */

static grpc_slice request(void *context, uint64_t number)
{
    size_t size = ((const struct sizes *)context)->request;
    grpc_slice slice = grpc_slice_malloc(size);
    memset(GRPC_SLICE_START_PTR(slice), (int)(number & 0xff), size);
    return slice;
}

/* The server's CPU is read when the warm-up is over, by a thread that waits for that. */
struct watch {
    int64_t begin_ns;
    pid_t process;
    double before;
};

static void *watch_begin(void *context)
{
    struct watch *watch = context;
    while (raw_now_ns() < watch->begin_ns) {
        (void)usleep(1000);
    }
    watch->before = grpc_cpu_seconds(watch->process);
    return NULL;
}

int main(int argc, char **argv)
{
    static const char *const names[] = {"in-flight",   "connections",    "request-bytes",
                                        "reply-bytes", "server-threads", "seconds",
                                        NULL};
    raw_check_options(argc, argv, names);
    char address[64];
    pid_t server = 0;
    pthread_t thread;
    struct sizes sizes = {.request = raw_option_number(argc, argv, "request-bytes", 1100)};
    sizes.reply = raw_option_number(argc, argv, "reply-bytes", sizes.request);
    uint64_t server_threads = raw_option_number(argc, argv, "server-threads", 2);
    int64_t seconds = (int64_t)raw_option_number(argc, argv, "seconds", 5);
    struct grpc_calls plan = {.address = address,
                              .path = PATH,
                              .in_flight = raw_option_number(argc, argv, "in-flight", 64),
                              .connections = raw_option_number(argc, argv, "connections", 1),
                              .request = request,
                              .context = &sizes};
    if (plan.connections == 0 || plan.connections > plan.in_flight || server_threads == 0) {
        raw_fail("options", "at least one of each, and no more connections than calls in flight");
    }
    (void)snprintf(address, sizeof address, "127.0.0.1:%d",
                   start_server(server_threads, &sizes, &server));
    plan.begin_ns = raw_now_ns() + NS_OF_WARM;
    plan.end_ns = plan.begin_ns + seconds * NS_A_SEC;
    struct watch watch = {.begin_ns = plan.begin_ns, .process = server};
    if (pthread_create(&thread, NULL, watch_begin, &watch) != 0) {
        raw_fail("pthread_create", "no thread");
    }
    struct grpc_figures figures;
    grpc_calls_run(&plan, &figures);
    double server_cpu = grpc_cpu_seconds(server);
    (void)pthread_join(thread, NULL);
    server_cpu -= watch.before;
    double calls = figures.calls > 0 ? (double)figures.calls : 1;
    printf(
        "{\"program\":\"grpc_echo\",\"in_flight\":%llu,\"connections\":%llu,"
        "\"request_bytes\":%zu,\"reply_bytes\":%zu,\"per_second\":%.0f,\"failed\":%llu,\"p50_us\":%.1f,"
        "\"p99_us\":%.1f,\"client_cpu_us\":%.2f,\"server_cpu_us\":%.2f}\n",
        (unsigned long long)plan.in_flight, (unsigned long long)plan.connections, sizes.request,
        sizes.reply, (double)figures.calls / (double)seconds, (unsigned long long)figures.failed,
        raw_samples_percentile_us(&figures.samples, 50),
        raw_samples_percentile_us(&figures.samples, 99), figures.cpu_seconds * 1e6 / calls,
        server_cpu * 1e6 / calls);
    raw_samples_deinit(&figures.samples);
    (void)kill(server, SIGKILL);
    (void)waitpid(server, NULL, 0);
    return 0;
}
