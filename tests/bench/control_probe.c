/*
 * Control requests while something else goes on: asks each address every 20 ms, on the control
 * lane, where the first row of the first table is, and says how long the answers took.
 *
 *   control_probe FILE SECONDS ADDRESS...
 *
 * One line of JSON goes to FILE.  An answer that has not come after 10 s counts as 10 s.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "common/io/transport/transport.h"
#include "tests/bench/raw/raw.h"

#define PAUSE_NS       (20 * INT64_C(1000000))
#define PATIENCE_NS    (10 * INT64_C(1000000000))
#define NS_A_SECOND    INT64_C(1000000000)
#define ADDRESSES_MAX  8
#define FIRST_TABLE    1
#define CONNECT_MS_MAX 10000

struct probe {
    struct transport_connection *connection;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    uint64_t asked;
    uint64_t answered;
    bool closed;
};

static void on_response(void *context, uint64_t request, struct bytes message, bool stream)
{
    struct probe *probe = context;
    (void)message;
    (void)stream;
    (void)pthread_mutex_lock(&probe->mutex);
    probe->answered = request;
    (void)pthread_cond_signal(&probe->changed);
    (void)pthread_mutex_unlock(&probe->mutex);
}

static void on_closed(void *context, const struct error *error)
{
    struct probe *probe = context;
    fprintf(stderr, "closed: %s\n", error->text);
    (void)pthread_mutex_lock(&probe->mutex);
    probe->closed = true;
    (void)pthread_cond_signal(&probe->changed);
    (void)pthread_mutex_unlock(&probe->mutex);
}

static void probe_open(struct probe *probe, const char *address)
{
    pthread_condattr_t monotonic;
    struct error error = {.status = STATUS_OK};
    struct transport_connection_options options = {.address = address,
                                                   .agent = "control_probe",
                                                   .lane = LANE_CONTROL,
                                                   .connect_timeout_ms = CONNECT_MS_MAX,
                                                   .context = probe,
                                                   .on_response = on_response,
                                                   .on_closed = on_closed};
    (void)pthread_mutex_init(&probe->mutex, NULL);
    (void)pthread_condattr_init(&monotonic);
    (void)pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&probe->changed, &monotonic);
    if (transport_connect(&options, &probe->connection, &error) != STATUS_OK) {
        raw_fail(address, error.text);
    }
}

static void send_locate(struct probe *probe)
{
    struct buffer message = BUFFER_INIT;
    struct request_head head = {.trace = 1};
    struct locate_request locate = {.table = FIRST_TABLE, .count_max = 1};
    request_head_encode(&head, &message);
    locate_request_encode(&locate, &message);
    if (transport_connection_send(probe->connection, ++probe->asked, METHOD_LOCATE, &message) !=
        STATUS_OK) {
        raw_fail("control_probe", "the connection is closed");
    }
    buffer_deinit(&message);
}

/* Gives the nanoseconds until the answer, PATIENCE_NS at most. */
static int64_t ask(struct probe *probe)
{
    int64_t begin_ns = raw_now_ns();
    int64_t until_ns = begin_ns + PATIENCE_NS;
    struct timespec until = {.tv_sec = until_ns / NS_A_SECOND, .tv_nsec = until_ns % NS_A_SECOND};
    send_locate(probe);
    (void)pthread_mutex_lock(&probe->mutex);
    while (probe->answered != probe->asked && !probe->closed && raw_now_ns() < until_ns) {
        (void)pthread_cond_timedwait(&probe->changed, &probe->mutex, &until);
    }
    if (probe->closed) {
        raw_fail("control_probe", "the connection was closed");
    }
    (void)pthread_mutex_unlock(&probe->mutex);
    int64_t took_ns = raw_now_ns() - begin_ns;
    return took_ns < PATIENCE_NS ? took_ns : PATIENCE_NS;
}

int main(int argc, char **argv)
{
    static struct probe probes[ADDRESSES_MAX];
    struct raw_samples samples = {0};
    if (argc < 4 || argc - 3 > ADDRESSES_MAX) {
        raw_fail("control_probe", "FILE SECONDS ADDRESS...");
    }
    FILE *file = fopen(argv[1], "w");
    if (file == NULL) {
        raw_fail(argv[1], "cannot be written");
    }
    int count = argc - 3;
    for (int i = 0; i < count; i++) {
        probe_open(&probes[i], argv[i + 3]);
    }
    int64_t end_ns = raw_now_ns() + (int64_t)(strtod(argv[2], NULL) * (double)NS_A_SECOND);
    while (raw_now_ns() < end_ns) {
        for (int i = 0; i < count; i++) {
            raw_samples_add(&samples, ask(&probes[i]));
        }
        (void)nanosleep(&(struct timespec){.tv_nsec = PAUSE_NS}, NULL);
    }
    fprintf(file,
            "{\"program\":\"control_probe\",\"requests\":%zu,\"p50_us\":%.1f,\"p99_us\":%.1f,"
            "\"worst_us\":%.1f}\n",
            samples.count, raw_samples_percentile_us(&samples, 50),
            raw_samples_percentile_us(&samples, 99), raw_samples_percentile_us(&samples, 100));
    (void)fclose(file);
    for (int i = 0; i < count; i++) {
        transport_connection_close(probes[i].connection);
    }
    raw_samples_deinit(&samples);
    return 0;
}
