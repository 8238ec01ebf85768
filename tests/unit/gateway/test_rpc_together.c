/* Calls that end together: their answers travel together, whoever gives them. */
#include "rpc_fixture.h"

#include <linux/tcp.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sys/socket.h>

#define CALLS  32
#define ROUNDS 4 /* a packet of another kind may get in between */

/* Calls that came, until there are CALLS of them. */
static struct service service;
static struct rpc_call *gathered[CALLS];
static atomic_uint gathered_count;

static void run_gather(void *context, struct rpc_call *call, const ProtobufCMessage *request)
{
    (void)context;
    (void)request;
    unsigned place = atomic_load(&gathered_count);
    gathered[place] = call;
    atomic_store(&gathered_count, place + 1); /* there is one thread that takes calls */
}

static void answer_all(void)
{
    for (int i = 0; i < CALLS; i++) {
        answer(gathered[i], bytes_of(&i, sizeof i));
    }
}

static void answer_when_all_are_there(void *context)
{
    (void)context;
    if (atomic_load(&gathered_count) == CALLS) {
        answer_all();
        atomic_store(&gathered_count, 0);
    }
}

static void begin(struct rpc_client *client, void (*on_idle)(void *context))
{
    static struct rpc_method method = {"/test.Test/Gather", NULL, run_gather};
    struct rpc_settings settings = service_settings(&service);
    method.request = value_kind;
    settings.methods = &method;
    settings.method_count = 1;
    settings.thread_count = 1;
    settings.on_idle = on_idle;
    service_open(&service, &settings);
    rpc_client_open(client, rpc_server_address(service.server), NULL);
}

static void begin_calls(struct rpc_client *client, struct rpc_client_call *calls)
{
    for (int i = 0; i < CALLS; i++) {
        begin_call(client, "/test.Test/Gather", BYTES_EMPTY, &calls[i]);
    }
}

static void end_calls(struct rpc_client_call *calls)
{
    for (int i = 0; i < CALLS; i++) {
        cr_assert(rpc_client_next(&calls[i]));
        cr_assert_eq(rpc_client_end(&calls[i]), GRPC_STATUS_OK, "%s", calls[i].text);
        rpc_client_free(&calls[i]);
    }
}

static uint16_t port_of(int socket, int (*name_of)(int, struct sockaddr *, socklen_t *))
{
    struct sockaddr_in address = {0};
    socklen_t size = sizeof address;
    bool is_known = name_of(socket, (struct sockaddr *)&address, &size) == 0;
    return is_known ? ntohs(address.sin_port) : 0;
}

/* Packets with data that the server has sent over its one connection. */
static uint32_t packets_sent(void)
{
    uint16_t port = (uint16_t)atoi(strrchr(rpc_server_address(service.server), ':') + 1);
    for (int socket = 0; socket < 1024; socket++) {
        struct tcp_info info;
        socklen_t size = sizeof info;
        if (port_of(socket, getsockname) == port && port_of(socket, getpeername) != 0) {
            cr_assert_eq(getsockopt(socket, IPPROTO_TCP, TCP_INFO, &info, &size), 0);
            return info.tcpi_data_segs_out;
        }
    }
    cr_assert(false, "the server has no connection");
    return 0;
}

Test(rpc_together, answers_that_are_ready_together_are_few_packets)
{
    static struct rpc_client_call calls[CALLS];
    struct rpc_client client;
    uint32_t least = UINT32_MAX;
    begin(&client, answer_when_all_are_there);
    for (int round = 0; round < ROUNDS; round++) {
        uint32_t before = round > 0 ? packets_sent() : 0;
        begin_calls(&client, calls);
        end_calls(calls);
        uint32_t packets = packets_sent() - before;
        least = packets < least ? packets : least;
    }
    cr_assert_leq(least, CALLS / 8, "%u packets for %d answers", least, CALLS);
    service_end(&service, &client);
}

static void *answer_elsewhere(void *context)
{
    WAIT_FOR(atomic_load(&gathered_count) == CALLS);
    usleep(20000); /* the server's thread waits by now */
    answer_all();
    return context;
}

Test(rpc_together, answers_of_another_thread_wake_the_one_that_sends_them)
{
    static struct rpc_client_call calls[CALLS];
    struct rpc_client client;
    pthread_t thread;
    begin(&client, NULL);
    cr_assert_eq(pthread_create(&thread, NULL, answer_elsewhere, NULL), 0);
    begin_calls(&client, calls);
    end_calls(calls);
    cr_assert_eq(pthread_join(thread, NULL), 0);
    service_end(&service, &client);
}

/* Nothing is left waiting for its thread when the server goes. */
Test(rpc_together, answers_that_nobody_waits_for_any_more)
{
    static struct rpc_client_call calls[CALLS];
    struct rpc_client client;
    pthread_t thread;
    begin(&client, NULL);
    cr_assert_eq(pthread_create(&thread, NULL, answer_elsewhere, NULL), 0);
    begin_calls(&client, calls);
    WAIT_FOR(atomic_load(&gathered_count) == CALLS);
    rpc_server_drain(service.server, 0);
    cr_assert_eq(pthread_join(thread, NULL), 0);
    rpc_server_close(service.server);
    for (int i = 0; i < CALLS; i++) {
        (void)rpc_client_next(&calls[i]); /* its answer may have been faster */
        (void)rpc_client_end(&calls[i]);
        rpc_client_free(&calls[i]);
    }
    rpc_client_close(&client);
}
