/*
 * A relay before a server that can lose an answer (what the client sends still arrives, and then the
 * connection is gone), and can forget connections: nothing passes any more, and nobody is told.
 *
 * Thread rule: relay_lose() and relay_forget() by the thread that asks, between its calls.
 */
#ifndef TESTS_SUPPORT_LOSSY_RELAY_H
#define TESTS_SUPPORT_LOSSY_RELAY_H

#include <criterion/criterion.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

static struct sockaddr_in relay_server; /* where it leads to */
static int relay_listener;
static atomic_int relay_countdown; /* answers until one is lost; 0 = none is */
static atomic_int relay_lost;      /* so far */
static atomic_int relay_made;      /* connections */
static atomic_int relay_forgotten; /* up to this number of them */

/* One chunk from one side to the other; false = the connection ends. */
static bool relay_pass(int number, int from, int to, bool is_answer)
{
    static _Thread_local char bytes[65536];
    ssize_t size = recv(from, bytes, sizeof bytes, 0);
    if (size <= 0) {
        return false;
    }
    if (is_answer && atomic_load(&relay_countdown) > 0 &&
        atomic_fetch_sub(&relay_countdown, 1) == 1) {
        atomic_fetch_add(&relay_lost, 1);
        return false;
    }
    if (number <= atomic_load(&relay_forgotten)) {
        return true;
    }
    return send(to, bytes, (size_t)size, MSG_NOSIGNAL) == size;
}

static void *relay_run(void *context)
{
    int client_side = (int)(intptr_t)context;
    int number = atomic_fetch_add(&relay_made, 1) + 1;
    int server_side = socket(AF_INET, SOCK_STREAM, 0);
    bool goes_on = connect(server_side, (const struct sockaddr *)&relay_server,
                           sizeof relay_server) == 0;
    while (goes_on) {
        struct pollfd sides[] = {{client_side, POLLIN, 0}, {server_side, POLLIN, 0}};
        goes_on = poll(sides, 2, -1) > 0;
        if (goes_on && sides[0].revents != 0) {
            goes_on = relay_pass(number, client_side, server_side, false);
        }
        if (goes_on && sides[1].revents != 0) {
            goes_on = relay_pass(number, server_side, client_side, true);
        }
    }
    close(client_side);
    close(server_side);
    return NULL;
}

static void *relay_accept(void *context)
{
    (void)context;
    for (;;) {
        pthread_t thread;
        int client_side = accept(relay_listener, NULL, NULL);
        if (client_side < 0) {
            return NULL;
        }
        cr_assert_eq(pthread_create(&thread, NULL, relay_run, (void *)(intptr_t)client_side), 0);
        pthread_detach(thread);
    }
}

/* Before the server at "tcp://127.0.0.1:PORT", or at another address of this machine; where the relay listens goes to ret_address.  It lives
 * as long as the process. */
static void relay_start(const char *server, char *ret_address, size_t size)
{
    pthread_t thread;
    unsigned port = 0;
    char host[INET_ADDRSTRLEN];
    struct sockaddr_in own = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t own_size = sizeof own;
    cr_assert_eq(sscanf(server, "tcp://%15[0-9.]:%u", host, &port), 2, "%s", server);
    relay_server = own;
    cr_assert_eq(inet_pton(AF_INET, host, &relay_server.sin_addr), 1, "%s", server);
    relay_server.sin_port = htons((uint16_t)port);
    relay_listener = socket(AF_INET, SOCK_STREAM, 0);
    cr_assert_eq(bind(relay_listener, (const struct sockaddr *)&own, sizeof own), 0);
    cr_assert_eq(listen(relay_listener, 16), 0);
    cr_assert_eq(getsockname(relay_listener, (struct sockaddr *)&own, &own_size), 0);
    (void)snprintf(ret_address, size, "tcp://127.0.0.1:%u", (unsigned)ntohs(own.sin_port));
    cr_assert_eq(pthread_create(&thread, NULL, relay_accept, NULL), 0);
    pthread_detach(thread);
}

/* From now on the so manieth answer (1 = the next one) is lost. */
__attribute__((unused)) static void relay_lose(int answer)
{
    atomic_store(&relay_countdown, answer);
}

/* Over the connections that there are now nothing comes any more. */
__attribute__((unused)) static void relay_forget(void)
{
    atomic_store(&relay_forgotten, atomic_load(&relay_made));
}

#endif /* TESTS_SUPPORT_LOSSY_RELAY_H */
