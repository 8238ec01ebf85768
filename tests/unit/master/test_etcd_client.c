/* A client of etcd, and members that behave badly: made here, of a socket. */
#include <criterion/criterion.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "master/coordinator/etcd_election.h"

static int listener;
static char endpoint[64];

static void start(void)
{
    struct sockaddr_in own = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof own;
    listener = socket(AF_INET, SOCK_STREAM, 0);
    cr_assert_eq(bind(listener, (const struct sockaddr *)&own, sizeof own), 0);
    cr_assert_eq(listen(listener, 4), 0);
    cr_assert_eq(getsockname(listener, (struct sockaddr *)&own, &size), 0);
    snprintf(endpoint, sizeof endpoint, "http://127.0.0.1:%u", ntohs(own.sin_port));
}

TestSuite(etcd_client, .init = start, .timeout = 600);

static void take_question(int connection)
{
    char text[4096] = "";
    size_t size = 0;
    while (strstr(text, "{}") == NULL) {
        ssize_t more = recv(connection, text + size, sizeof text - 1 - size, 0);
        cr_assert_gt(more, 0);
        size += (size_t)more;
        text[size] = 0;
    }
}

static void answer(int connection)
{
    static const char text[] = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
                               "Content-Length: 2\r\n\r\n{}";
    cr_assert_eq(send(connection, text, sizeof text - 1, MSG_NOSIGNAL), (ssize_t)sizeof text - 1);
}

/* Answers one question, takes the next, and is gone. */
static void *die_with_a_question(void *context)
{
    int connection = accept(listener, NULL, NULL);
    (void)context;
    take_question(connection);
    answer(connection);
    take_question(connection);
    close(listener);
    close(connection);
    return NULL;
}

/* Answers each question that nobody leads, after 800 ms; until it is asked no more. */
static void *be_slow(void *context)
{
    static const char text[] = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
                               "Connection: close\r\nContent-Length: 28\r\n\r\n"
                               "{\"header\":{\"revision\":\"7\"}}\n";
    (void)context;
    for (int connection = accept(listener, NULL, NULL); connection >= 0;
         connection = accept(listener, NULL, NULL)) {
        char question[4096];
        (void)recv(connection, question, sizeof question, 0);
        usleep(800000);
        (void)send(connection, text, sizeof text - 1, MSG_NOSIGNAL);
        close(connection);
    }
    return NULL;
}

static enum status ask(struct etcd_client *client, uint32_t total_ms, bool *ret_in_doubt)
{
    struct buffer question = BUFFER_INIT;
    struct buffer got = BUFFER_INIT;
    struct error error = {0};
    const struct etcd_patience patience = {.attempt_ms = 500, .total_ms = total_ms};
    buffer_append(&question, "{}", 2);
    enum status status = etcd_client_ask(client, "/v3/kv/txn", &question, &patience, &got,
                                         ret_in_doubt, &error);
    buffer_deinit(&question);
    buffer_deinit(&got);
    return status;
}

static struct etcd_client *open_client(void)
{
    static struct etcd_settings settings;
    struct etcd_client *client = NULL;
    settings = (struct etcd_settings){
        .endpoints = endpoint, .prefix = "/e", .ca = "", .certificate = "", .key = ""};
    cr_assert_eq(etcd_client_open(&settings, &client, NULL), STATUS_OK);
    return client;
}

/* The transfer library notices that a connection which it had kept is dead, and asks again by itself: what it says
 * then, that nobody could be reached, is true of the second copy only. */
Test(etcd_client, what_was_sent_on_a_connection_that_died_is_in_doubt)
{
    pthread_t member;
    bool in_doubt = true;
    struct etcd_client *client = open_client();
    cr_assert_eq(pthread_create(&member, NULL, die_with_a_question, NULL), 0);
    cr_assert_eq(ask(client, 5000, &in_doubt), STATUS_OK);
    cr_assert_not(in_doubt);
    cr_assert_eq(ask(client, 300, &in_doubt), STATUS_UNAVAILABLE);
    cr_assert(in_doubt);
    pthread_join(member, NULL);
    /* Now nobody is there: what cannot be sent is not. */
    cr_assert_eq(ask(client, 300, &in_doubt), STATUS_UNAVAILABLE);
    cr_assert_not(in_doubt);
    etcd_client_close(client);
}

static bool is_answered(struct etcd_candidate *candidate, int64_t lease_s)
{
    const struct election_question look = {.type = ELECTION_LOOK};
    struct error error = {0};
    candidate->lease_ns = lease_s * INT64_C(1000000000);
    return etcd_election_ask(candidate, &look, &error).answered;
}

/* `etcd.lease` is what rides out an etcd that is slow. */
Test(etcd_client, an_election_with_a_longer_lease_waits_longer_for_each_answer)
{
    pthread_t member;
    struct etcd_keys keys;
    struct etcd_candidate candidate = {.client = open_client(), .keys = &keys, .address = "a"};
    cr_assert_eq(etcd_keys_make("/e", 1, &keys, NULL), STATUS_OK);
    cr_assert_eq(pthread_create(&member, NULL, be_slow, NULL), 0);
    cr_assert(is_answered(&candidate, 60));
    cr_assert(is_answered(&candidate, 10));
    cr_assert_not(is_answered(&candidate, 2));
    shutdown(listener, SHUT_RDWR);
    pthread_join(member, NULL);
    etcd_client_close(candidate.client);
}
