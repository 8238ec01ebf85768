/* Connections, listeners and replies that come and go at random moments: for the sanitizers. */
#include "common/base/prng.h"
#include "tests/support/transport_fixture.h"

#define RUN_NS   INT64_C(1200000000)
#define CALLERS  3
#define ANSWERER 2

/* Replies wait here until a thread answers them, sooner or later, or in parts. */
static pthread_mutex_t pool_lock = PTHREAD_MUTEX_INITIALIZER;
static struct transport_reply *pool[65536];
static size_t pool_count;
static atomic_bool stopping;
static atomic_uint answered;
static atomic_uint responses;
static atomic_uint closings;
static char shared_address[64];

static void pool_request(void *context,
                         const struct transport_request *request,
                         struct transport_reply *reply)
{
    (void)context;
    (void)request;
    pthread_mutex_lock(&pool_lock);
    cr_assert_lt(pool_count, sizeof pool / sizeof pool[0]);
    pool[pool_count++] = reply;
    pthread_mutex_unlock(&pool_lock);
}

static void pool_progress(void *context, struct transport_reply *reply)
{
    (void)context;
    (void)transport_reply_cancelled(reply);
    (void)transport_reply_credit(reply);
    clock_sleep_us(50); /* so that finishing has something to wait for */
    (void)transport_reply_queued_bytes(reply);
}

static struct transport_reply *pool_take(struct prng *prng)
{
    struct transport_reply *reply = NULL;
    pthread_mutex_lock(&pool_lock);
    if (pool_count > 0) {
        size_t index = prng_below(prng, pool_count);
        reply = pool[index];
        pool[index] = pool[--pool_count];
    }
    pthread_mutex_unlock(&pool_lock);
    return reply;
}

static void answer(struct prng *prng, struct transport_reply *reply)
{
    static uint8_t body[300000];
    for (uint64_t parts = prng_below(prng, 3); parts > 0; parts--) {
        struct buffer message = response_of(bytes_of(body, prng_below(prng, sizeof body)));
        transport_reply_send(reply, &message, false);
    }
    transport_reply_fail(reply, STATUS_OK, "that is all");
    atomic_fetch_add(&answered, 1);
}

static void *run_answerer(void *context)
{
    struct prng prng = prng_of_seed(*(uint64_t *)context);
    while (!atomic_load(&stopping)) {
        struct transport_reply *reply = pool_take(&prng);
        if (reply == NULL) {
            clock_sleep_us(100);
        } else {
            answer(&prng, reply);
        }
    }
    return NULL;
}

static void count_response(void *context, uint64_t request, struct bytes message, bool stream)
{
    (void)context;
    (void)request;
    (void)message;
    (void)stream;
    atomic_fetch_add(&responses, 1);
}

static void count_closing(void *context, const struct error *error)
{
    (void)context;
    cr_assert_neq((int)error->status, STATUS_OK);
    atomic_fetch_add(&closings, 1);
}

/* One connection's life. */
static void call_some(struct prng *prng)
{
    static uint8_t body[200000];
    struct caller caller = {0};
    char address[64];
    pthread_mutex_lock(&pool_lock);
    memcpy(address, shared_address, sizeof address);
    pthread_mutex_unlock(&pool_lock);
    struct transport_connection_options options = caller_options(&caller, address);
    options.on_ready = NULL;
    options.on_response = count_response;
    options.on_closed = count_closing;
    cr_assert_eq(transport_connect(&options, &caller.connection, NULL), STATUS_OK);
    for (uint64_t i = prng_below(prng, 60); i > 0; i--) {
        (void)caller_send(&caller, bytes_of(body, prng_below(prng, sizeof body)));
        if (prng_chance(prng, 4)) {
            transport_connection_credit(caller.connection, 1 + prng_below(prng, 50), 1000);
        }
        if (prng_chance(prng, 4)) {
            transport_connection_cancel(caller.connection, 1 + prng_below(prng, 50));
        }
        if (prng_chance(prng, 5)) {
            clock_sleep_us((int64_t)prng_below(prng, 2000));
        }
    }
    transport_connection_close(caller.connection);
}

static void *run_caller(void *context)
{
    struct prng prng = prng_of_seed(*(uint64_t *)context);
    while (!atomic_load(&stopping)) {
        call_some(&prng);
    }
    return NULL;
}

static struct transport_listener *open_listener(void)
{
    struct transport_listener *listener = NULL;
    struct error error;
    struct transport_listener_options options = {.address = "tcp://127.0.0.1:0",
                                                 .agent = "stress",
                                                 .connections_max = 4,
                                                 .requests_max = 20,
                                                 .connection_bytes_max = 1000000,
                                                 .on_request = pool_request,
                                                 .on_progress = pool_progress};
    cr_assert_eq(transport_listen(&options, &listener, &error), STATUS_OK, "%s", error.text);
    pthread_mutex_lock(&pool_lock);
    (void)snprintf(shared_address, sizeof shared_address, "tcp://127.0.0.1:%u",
                   (unsigned)transport_listener_port(listener));
    pthread_mutex_unlock(&pool_lock);
    return listener;
}

Test(transport_stress, everything_comes_and_goes)
{
    pthread_t threads[CALLERS + ANSWERER];
    uint64_t seeds[CALLERS + ANSWERER];
    struct prng prng = prng_of_seed(2024);
    struct transport_listener *listener = open_listener();
    for (size_t i = 0; i < CALLERS + ANSWERER; i++) {
        seeds[i] = i;
        pthread_create(&threads[i], NULL, i < CALLERS ? run_caller : run_answerer, &seeds[i]);
    }
    int64_t until_ns = clock_monotonic_ns() + RUN_NS;
    /* However slow the machine: until something of each kind has happened. */
    while (clock_monotonic_ns() < until_ns || answered == 0 || responses == 0 || closings == 0) {
        clock_sleep_us((int64_t)prng_below(&prng, 200000));
        transport_listener_close(listener, (uint32_t)prng_below(&prng, 30));
        listener = open_listener();
    }
    atomic_store(&stopping, true);
    for (size_t i = 0; i < CALLERS + ANSWERER; i++) {
        pthread_join(threads[i], NULL);
    }
    transport_listener_close(listener, 0);
    /* Replies may be finished after everything else is gone. */
    struct transport_reply *reply = NULL;
    while ((reply = pool_take(&prng)) != NULL) {
        answer(&prng, reply);
    }
}

/* Fail the n-th allocation of ours for every n: each time things work, or break with a reason. */
Test(transport_stress, failing_memory_breaks_connections_but_nothing_else)
{
    for (uint64_t after = 0; after < 60; after++) {
        static struct service service;
        struct caller caller = {.check = true};
        struct transport_listener_options options = service_options(&service);
        atomic_store(&service.requests, 0);
        memory_fail_arm(after, 0);
        enum status status = transport_listen(&options, &service.listener, NULL);
        if (status != STATUS_OK) {
            memory_fail_disarm();
            cr_assert_eq((int)status, STATUS_NO_MEMORY);
            continue;
        }
        char address[64];
        (void)snprintf(address, sizeof address, "tcp://127.0.0.1:%u",
                       (unsigned)transport_listener_port(service.listener));
        struct transport_connection_options caller_settings = caller_options(&caller, address);
        status = transport_connect(&caller_settings, &caller.connection, NULL);
        if (status == STATUS_OK) {
            unsigned sent = 0;
            for (int i = 0; i < 3; i++) {
                sent += caller_send_number(&caller) == STATUS_OK;
            }
            WAIT_FOR(caller.responses == sent || caller.closed == 1);
            transport_connection_close(caller.connection);
        }
        memory_fail_disarm();
        transport_listener_close(service.listener, 0);
    }
}
