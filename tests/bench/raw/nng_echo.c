/*
 * nng and nothing else: a replier in a process of its own, and REQ contexts that each keep one
 * request in flight.  With one in flight its p50 is what a round trip costs at the least.
 *
 *   raw_nng_echo [--in-flight 1] [--request-bytes 64] [--reply-bytes 64] [--seconds 5]
 */
#include <errno.h>
#include <nng/nng.h>
#include <nng/protocol/reqrep0/rep.h>
#include <nng/protocol/reqrep0/req.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/bench/raw/raw.h"

#define REPLIERS   64
#define NS_OF_WARM INT64_C(100000000)
#define NS_A_SEC   INT64_C(1000000000)

static void must(int code)
{
    if (code != 0) {
        raw_fail("nng", nng_strerror(code));
    }
}

/* --- the replier ---------------------------------------------------------------------------------- */

struct replier {
    nng_ctx context;
    nng_aio *aio;
    size_t reply_bytes;
    bool replying;
};

static void on_replier(void *argument)
{
    struct replier *replier = argument;
    if (nng_aio_result(replier->aio) != 0) {
        return; /* the other side has gone, and this process ends with it */
    }
    replier->replying = !replier->replying;
    if (!replier->replying) {
        nng_ctx_recv(replier->context, replier->aio);
        return;
    }
    nng_msg *message = nng_aio_get_msg(replier->aio);
    must(nng_msg_realloc(message, replier->reply_bytes));
    nng_aio_set_msg(replier->aio, message);
    nng_ctx_send(replier->context, replier->aio);
}

static _Noreturn void reply(int ready, size_t reply_bytes)
{
    static struct replier repliers[REPLIERS];
    nng_socket socket;
    nng_listener listener;
    int port = 0;
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    must(nng_rep0_open(&socket));
    must(nng_listener_create(&listener, socket, "tcp://127.0.0.1:0"));
    must(nng_listener_start(listener, 0));
    must(nng_listener_get_int(listener, NNG_OPT_TCP_BOUND_PORT, &port));
    for (int i = 0; i < REPLIERS; i++) {
        repliers[i].reply_bytes = reply_bytes;
        must(nng_ctx_open(&repliers[i].context, socket));
        must(nng_aio_alloc(&repliers[i].aio, on_replier, &repliers[i]));
        nng_ctx_recv(repliers[i].context, repliers[i].aio);
    }
    if (write(ready, &port, sizeof port) != sizeof port) {
        raw_fail("pipe", strerror(errno));
    }
    for (;;) {
        (void)pause();
    }
}

/* --- requesters ----------------------------------------------------------------------------------- */

struct requests {
    pthread_mutex_t mutex;
    pthread_cond_t ended;
    uint64_t running;
    atomic_llong begin_ns; /* of measuring */
    int64_t end_ns;
    size_t request_bytes;
};

struct requester {
    nng_ctx context;
    nng_aio *aio;
    struct requests *all;
    bool waiting; /* for the reply, not for the sending */
    int64_t sent_ns;
    struct raw_samples samples;
};

static void request(struct requester *requester)
{
    nng_msg *message = NULL;
    must(nng_msg_alloc(&message, requester->all->request_bytes));
    memset(nng_msg_body(message), 'x', nng_msg_len(message));
    requester->waiting = false;
    requester->sent_ns = raw_now_ns();
    nng_aio_set_msg(requester->aio, message);
    nng_ctx_send(requester->context, requester->aio);
}

static void on_requester(void *argument)
{
    struct requester *requester = argument;
    struct requests *all = requester->all;
    must(nng_aio_result(requester->aio));
    if (!requester->waiting) {
        requester->waiting = true;
        nng_ctx_recv(requester->context, requester->aio);
        return;
    }
    nng_msg_free(nng_aio_get_msg(requester->aio));
    int64_t now_ns = raw_now_ns();
    if (requester->sent_ns >= atomic_load(&all->begin_ns)) {
        raw_samples_add(&requester->samples, now_ns - requester->sent_ns);
    }
    if (now_ns < all->end_ns) {
        request(requester);
        return;
    }
    (void)pthread_mutex_lock(&all->mutex);
    all->running--;
    (void)pthread_cond_signal(&all->ended);
    (void)pthread_mutex_unlock(&all->mutex);
}

static void run(struct requests *all, int port, uint64_t in_flight, struct raw_samples *samples)
{
    char address[64];
    nng_socket socket;
    (void)snprintf(address, sizeof address, "tcp://127.0.0.1:%d", port);
    must(nng_req0_open(&socket));
    must(nng_dial(socket, address, NULL, 0));
    struct requester *requesters = raw_allocate(in_flight * sizeof *requesters);
    for (uint64_t i = 0; i < in_flight; i++) {
        requesters[i].all = all;
        must(nng_ctx_open(&requesters[i].context, socket));
        must(nng_ctx_set_ms(requesters[i].context, NNG_OPT_REQ_RESENDTIME, NNG_DURATION_INFINITE));
        must(nng_aio_alloc(&requesters[i].aio, on_requester, &requesters[i]));
    }
    for (uint64_t i = 0; i < in_flight; i++) {
        request(&requesters[i]);
    }
    (void)pthread_mutex_lock(&all->mutex);
    while (all->running > 0) {
        (void)pthread_cond_wait(&all->ended, &all->mutex);
    }
    (void)pthread_mutex_unlock(&all->mutex);
    for (uint64_t i = 0; i < in_flight; i++) {
        nng_aio_free(requesters[i].aio);
        (void)nng_ctx_close(requesters[i].context);
        raw_samples_join(samples, &requesters[i].samples);
    }
    free(requesters);
    (void)nng_close(socket);
}

int main(int argc, char **argv)
{
    static const char *const names[] = {"in-flight", "request-bytes", "reply-bytes", "seconds",
                                        NULL};
    raw_check_options(argc, argv, names);
    uint64_t in_flight = raw_option_number(argc, argv, "in-flight", 1);
    size_t reply_bytes = raw_option_number(argc, argv, "reply-bytes", 64);
    int64_t seconds = (int64_t)raw_option_number(argc, argv, "seconds", 5);
    struct requests all = {.mutex = PTHREAD_MUTEX_INITIALIZER,
                           .ended = PTHREAD_COND_INITIALIZER,
                           .running = in_flight,
                           .request_bytes = raw_option_number(argc, argv, "request-bytes", 64)};
    if (in_flight == 0) {
        raw_fail("in-flight", "at least one");
    }
    int ready[2];
    if (pipe(ready) != 0) {
        raw_fail("pipe", strerror(errno));
    }
    pid_t child = fork(); /* before nng has made any thread */
    if (child < 0) {
        raw_fail("fork", strerror(errno));
    }
    if (child == 0) {
        reply(ready[1], reply_bytes);
    }
    int port = 0;
    (void)close(ready[1]);
    if (read(ready[0], &port, sizeof port) != sizeof port) {
        raw_fail("replier", "did not start");
    }
    int64_t begin_ns = raw_now_ns() + NS_OF_WARM;
    atomic_store(&all.begin_ns, begin_ns);
    all.end_ns = begin_ns + seconds * NS_A_SEC;
    struct raw_samples samples = {0};
    run(&all, port, in_flight, &samples);
    printf("{\"program\":\"nng_echo\",\"in_flight\":%llu,\"request_bytes\":%zu,\"reply_bytes\":%zu,"
           "\"per_second\":%.0f,\"p50_us\":%.1f,\"p99_us\":%.1f}\n",
           (unsigned long long)in_flight, all.request_bytes, reply_bytes,
           (double)samples.count / (double)seconds, raw_samples_percentile_us(&samples, 50),
           raw_samples_percentile_us(&samples, 99));
    raw_samples_deinit(&samples);
    (void)kill(child, SIGKILL);
    (void)waitpid(child, NULL, 0);
    return 0;
}
