/*
 * nng's byte streams and nothing else: so many connections of one process to another, each with one
 * request in flight, answered in the callback that brings it.  No framing, no checksums, no
 * storage: nothing over nng serves more round trips a second on these cores.
 *
 *   raw_nng_streams [--connections 64] [--request-bytes 100] [--reply-bytes 1000] [--seconds 5]
 *                   [--folder F --log yes|no]
 *
 * With --log yes a request is answered when it is durable: one thread takes all that have come,
 * writes them to a preallocated file, syncs that, and answers them.  It is what every durable store
 * over nng does at the least, with nothing stored yet where it could be read.
 *
 * Both sides do what our transport does to be fast: they send with an operation that has no
 * callback, and nng's threads are patient (common/io/thread.h).
 */
#define _GNU_SOURCE /* SCHED_BATCH */
#include <errno.h>
#include <nng/nng.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/bench/raw/raw.h"

#define NS_A_SEC    INT64_C(1000000000)
#define LOG_BYTES   (UINT64_C(64) << 20) /* written round and round */
#define BLOCK_BYTES 4096

static void must(int code)
{
    if (code != 0) {
        raw_fail("nng", nng_strerror(code));
    }
}

static double cpu_us(const struct rusage *usage)
{
    return 1e6 * (double)(usage->ru_utime.tv_sec + usage->ru_stime.tv_sec) +
           (double)(usage->ru_utime.tv_usec + usage->ru_stime.tv_usec);
}

/* --- one end of a connection ---------------------------------------------------------------------- */

struct clients {
    pthread_mutex_t mutex;
    pthread_cond_t ended;
    uint64_t running;
    int64_t end_ns;
};

struct log {
    pthread_mutex_t mutex;
    pthread_cond_t gathered;
    struct end *first; /* whose requests wait for the next sync */
    int file;
    uint8_t *blocks; /* a request of each connection */
    uint64_t position;
};

struct end {
    struct end *next_in_log;
    nng_stream *stream;
    nng_aio *receive_aio;
    nng_aio *send_aio; /* no callback */
    uint8_t *in;
    size_t in_bytes; /* a whole message from the other side */
    size_t got_bytes;
    uint8_t *out;
    size_t out_bytes;
    struct clients *clients; /* NULL: the server's */
    struct log *log;         /* of a server's end; NULL = answered at once */
    uint64_t messages;       /* received */
};

static void receive(struct end *end)
{
    nng_iov part = {end->in + end->got_bytes, end->in_bytes - end->got_bytes};
    must(nng_aio_set_iov(end->receive_aio, 1, &part));
    nng_stream_recv(end->stream, end->receive_aio);
}

/* One message in flight is always taken whole by the socket. */
static void send_message(struct end *end)
{
    nng_iov part = {end->out, end->out_bytes};
    must(nng_aio_set_iov(end->send_aio, 1, &part));
    nng_stream_send(end->stream, end->send_aio);
    nng_aio_wait(end->send_aio);
    must(nng_aio_result(end->send_aio));
}

static void client_ended(struct clients *clients)
{
    (void)pthread_mutex_lock(&clients->mutex);
    clients->running--;
    (void)pthread_cond_signal(&clients->ended);
    (void)pthread_mutex_unlock(&clients->mutex);
}

/* --- the log -------------------------------------------------------------------------------------- */

static void log_add(struct end *end)
{
    struct log *log = end->log;
    (void)pthread_mutex_lock(&log->mutex);
    bool wake = log->first == NULL;
    end->next_in_log = log->first;
    log->first = end;
    (void)pthread_mutex_unlock(&log->mutex);
    if (wake) {
        (void)pthread_cond_signal(&log->gathered);
    }
}

static struct end *log_take(struct log *log)
{
    (void)pthread_mutex_lock(&log->mutex);
    while (log->first == NULL) {
        (void)pthread_cond_wait(&log->gathered, &log->mutex);
    }
    struct end *all = log->first;
    log->first = NULL;
    (void)pthread_mutex_unlock(&log->mutex);
    return all;
}

static void log_sync(struct log *log, const struct end *all)
{
    size_t size = 0;
    for (const struct end *end = all; end != NULL; end = end->next_in_log) {
        memcpy(log->blocks + size, end->in, end->in_bytes);
        size += end->in_bytes;
    }
    size = (size + BLOCK_BYTES - 1) / BLOCK_BYTES * BLOCK_BYTES;
    if (log->position + size > LOG_BYTES) {
        log->position = 0;
    }
    if (pwrite(log->file, log->blocks, size, (off_t)log->position) != (ssize_t)size ||
        fdatasync(log->file) != 0) {
        raw_fail("log", strerror(errno));
    }
    log->position += size;
}

static void *write_log(void *context)
{
    struct log *log = context;
    for (;;) {
        struct end *all = log_take(log);
        log_sync(log, all);
        while (all != NULL) {
            struct end *end = all;
            all = end->next_in_log; /* once answered, it may be in the log again */
            send_message(end);
        }
    }
    return NULL;
}

static void log_start(struct log *log, const char *folder, size_t bytes_at_once)
{
    char path[4096];
    pthread_t thread;
    (void)snprintf(path, sizeof path, "%s/raw_nng_log", folder);
    *log = (struct log){.mutex = PTHREAD_MUTEX_INITIALIZER,
                        .gathered = PTHREAD_COND_INITIALIZER,
                        .file = raw_written_file(path, LOG_BYTES),
                        .blocks = raw_allocate(bytes_at_once + BLOCK_BYTES)};
    (void)unlink(path);
    if (pthread_create(&thread, NULL, write_log, log) != 0) {
        raw_fail("thread", strerror(errno));
    }
}

/* --- messages ------------------------------------------------------------------------------------- */

static void on_received(void *argument)
{
    struct end *end = argument;
    if (end->clients == NULL && nng_aio_result(end->receive_aio) != 0) {
        return; /* the other side has gone, and this process ends with it */
    }
    must(nng_aio_result(end->receive_aio));
    end->got_bytes += nng_aio_count(end->receive_aio);
    if (end->got_bytes == end->in_bytes) {
        end->got_bytes = 0;
        end->messages++;
        if (end->clients != NULL && raw_now_ns() >= end->clients->end_ns) {
            client_ended(end->clients);
            return;
        }
        if (end->log != NULL) {
            receive(end); /* nothing comes before the answer */
            log_add(end);
            return;
        }
        send_message(end);
    }
    receive(end);
}

static struct end *end_make(nng_stream *stream, size_t in_bytes, size_t out_bytes)
{
    struct end *end = raw_allocate(sizeof *end);
    end->stream = stream;
    end->in = raw_allocate(in_bytes);
    end->in_bytes = in_bytes;
    end->out = raw_allocate(out_bytes);
    end->out_bytes = out_bytes;
    must(nng_stream_set_bool(stream, NNG_OPT_TCP_NODELAY, true));
    must(nng_aio_alloc(&end->receive_aio, on_received, end));
    must(nng_aio_alloc(&end->send_aio, NULL, NULL));
    return end;
}

/* --- the server ----------------------------------------------------------------------------------- */

static _Noreturn void serve(int ready, struct log *log, size_t request_bytes, size_t reply_bytes)
{
    nng_stream_listener *listener;
    nng_aio *accept_aio;
    int port = 0;
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    must(nng_stream_listener_alloc(&listener, "tcp://127.0.0.1:0"));
    must(nng_stream_listener_listen(listener));
    must(nng_stream_listener_get_int(listener, NNG_OPT_TCP_BOUND_PORT, &port));
    must(nng_aio_alloc(&accept_aio, NULL, NULL));
    if (write(ready, &port, sizeof port) != sizeof port) {
        raw_fail("pipe", strerror(errno));
    }
    for (;;) {
        nng_stream_listener_accept(listener, accept_aio);
        nng_aio_wait(accept_aio);
        must(nng_aio_result(accept_aio));
        struct end *end = end_make(nng_aio_get_output(accept_aio, 0), request_bytes, reply_bytes);
        end->log = log;
        receive(end);
    }
}

/* --- the clients ---------------------------------------------------------------------------------- */

static nng_stream *dial(int port)
{
    char address[64];
    nng_stream_dialer *dialer;
    nng_aio *aio;
    (void)snprintf(address, sizeof address, "tcp://127.0.0.1:%d", port);
    must(nng_stream_dialer_alloc(&dialer, address));
    must(nng_aio_alloc(&aio, NULL, NULL));
    nng_stream_dialer_dial(dialer, aio);
    nng_aio_wait(aio);
    must(nng_aio_result(aio));
    nng_stream *stream = nng_aio_get_output(aio, 0);
    nng_aio_free(aio);
    nng_stream_dialer_free(dialer);
    return stream;
}

static void end_destroy(struct end *end)
{
    nng_stream_close(end->stream);
    nng_aio_free(end->receive_aio);
    nng_aio_free(end->send_aio);
    nng_stream_free(end->stream);
    free(end->in);
    free(end->out);
    free(end);
}

/* Returns the round trips. */
static uint64_t run(
    int port, uint64_t connections, size_t request_bytes, size_t reply_bytes, int64_t seconds)
{
    struct clients clients = {.mutex = PTHREAD_MUTEX_INITIALIZER,
                              .ended = PTHREAD_COND_INITIALIZER,
                              .running = connections};
    struct end **ends = raw_allocate(connections * sizeof(struct end *));
    uint64_t messages = 0;
    for (uint64_t i = 0; i < connections; i++) {
        ends[i] = end_make(dial(port), reply_bytes, request_bytes);
        ends[i]->clients = &clients;
    }
    clients.end_ns = raw_now_ns() + seconds * NS_A_SEC;
    for (uint64_t i = 0; i < connections; i++) {
        send_message(ends[i]);
        receive(ends[i]);
    }
    (void)pthread_mutex_lock(&clients.mutex);
    while (clients.running > 0) {
        (void)pthread_cond_wait(&clients.ended, &clients.mutex);
    }
    (void)pthread_mutex_unlock(&clients.mutex);
    for (uint64_t i = 0; i < connections; i++) {
        nng_aio_wait(ends[i]->receive_aio);
        messages += ends[i]->messages;
        end_destroy(ends[i]);
    }
    free(ends);
    return messages;
}

int main(int argc, char **argv)
{
    static const char *const names[] = {"connections", "request-bytes", "reply-bytes", "seconds",
                                        "folder",      "log",           NULL};
    static const struct sched_param no_priority;
    raw_check_options(argc, argv, names);
    uint64_t connections = raw_option_number(argc, argv, "connections", 64);
    size_t request_bytes = raw_option_number(argc, argv, "request-bytes", 100);
    size_t reply_bytes = raw_option_number(argc, argv, "reply-bytes", 1000);
    int64_t seconds = (int64_t)raw_option_number(argc, argv, "seconds", 5);
    const char *folder = raw_option_text(argc, argv, "folder", ".");
    bool durable = strcmp(raw_option_text(argc, argv, "log", "no"), "yes") == 0;
    if (connections == 0 || request_bytes == 0 || reply_bytes == 0) {
        raw_fail("connections, request-bytes, reply-bytes", "at least one");
    }
    (void)sched_setscheduler(0, SCHED_BATCH, &no_priority); /* inherited by all that follow */
    int ready[2];
    if (pipe(ready) != 0) {
        raw_fail("pipe", strerror(errno));
    }
    pid_t child = fork(); /* before nng has made any thread */
    if (child < 0) {
        raw_fail("fork", strerror(errno));
    }
    if (child == 0) {
        struct log log;
        if (durable) {
            log_start(&log, folder, connections * request_bytes);
        }
        serve(ready[1], durable ? &log : NULL, request_bytes, reply_bytes);
    }
    int port = 0;
    (void)close(ready[1]);
    if (read(ready[0], &port, sizeof port) != sizeof port) {
        raw_fail("server", "did not start");
    }
    uint64_t messages = run(port, connections, request_bytes, reply_bytes, seconds);
    struct rusage client;
    struct rusage server;
    (void)kill(child, SIGKILL);
    if (getrusage(RUSAGE_SELF, &client) != 0 || wait4(child, NULL, 0, &server) != child) {
        raw_fail("rusage", strerror(errno));
    }
    printf(
        "{\"program\":\"nng_streams\",\"connections\":%llu,\"request_bytes\":%zu,"
        "\"reply_bytes\":%zu,\"durable\":%s,\"per_second\":%.0f,\"client_us\":%.2f,\"server_us\":%.2f}\n",
        (unsigned long long)connections, request_bytes, reply_bytes, durable ? "true" : "false",
        (double)messages / (double)seconds, cpu_us(&client) / (double)messages,
        cpu_us(&server) / (double)messages);
    return 0;
}
