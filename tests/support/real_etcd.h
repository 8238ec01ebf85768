/*
 * An etcd of a test's own: one member, on loopback, its data in a folder under $TMPDIR, ended by its
 * pid.  And the leadership in it, taken and lost at will.
 */
#ifndef TESTS_SUPPORT_REAL_ETCD_H
#define TESTS_SUPPORT_REAL_ETCD_H

#include <criterion/criterion.h>

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/io/clock.h"
#include "common/io/entropy.h"
#include "master/coordinator/etcd_election.h"
#include "tests/support/test_folder.h"

/* Nobody renews it: longer than any test takes on a machine that does much else. */
#define ETCD_TEST_LEASE_NS INT64_C(600000000000)

static char etcd_folder[256];
static char etcd_endpoint[64];
static pid_t etcd_pid;
static struct etcd_settings etcd_settings;

static inline bool etcd_is_installed(void)
{
    return system("command -v etcd >/dev/null 2>&1") == 0;
}

/* Below those that the kernel gives out; free a moment ago. */
static inline unsigned etcd_free_port(void)
{
    for (;;) {
        unsigned port = 10000 + (unsigned)(entropy_u64() % 22000);
        struct sockaddr_in own = {.sin_family = AF_INET,
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
                                  .sin_port = htons((uint16_t)port)};
        int socket_fd = socket(AF_INET, SOCK_STREAM, 0);
        bool is_free = bind(socket_fd, (const struct sockaddr *)&own, sizeof own) == 0;
        close(socket_fd);
        if (is_free) {
            return port;
        }
    }
}

static inline void etcd_become(unsigned port, unsigned peer_port)
{
    char client[64];
    char peer[64];
    char cluster[80];
    char data[300];
    char log[300];
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    snprintf(client, sizeof client, "http://127.0.0.1:%u", port);
    snprintf(peer, sizeof peer, "http://127.0.0.1:%u", peer_port);
    snprintf(cluster, sizeof cluster, "default=%s", peer);
    snprintf(data, sizeof data, "%s/data", etcd_folder);
    snprintf(log, sizeof log, "%s/log", etcd_folder);
    int log_fd = open(log, O_CREAT | O_WRONLY | O_APPEND, 0600);
    (void)dup2(log_fd, 1);
    (void)dup2(log_fd, 2);
    execlp("etcd", "etcd", "--data-dir", data, "--listen-client-urls", client,
           "--advertise-client-urls", client, "--listen-peer-urls", peer,
           "--initial-advertise-peer-urls", peer, "--initial-cluster", cluster,
           "--heartbeat-interval", "50", "--election-timeout", "500", (char *)NULL);
    _exit(127);
}

static inline bool etcd_answers(void)
{
    struct etcd_client *client = NULL;
    struct buffer question = BUFFER_INIT;
    struct buffer answer = BUFFER_INIT;
    bool in_doubt = false;
    const struct etcd_patience patience = {.attempt_ms = 500, .total_ms = 500};
    const struct etcd_span span = {.key = bytes_of_text("/none")};
    cr_assert_eq(etcd_client_open(&etcd_settings, &client, NULL), STATUS_OK);
    etcd_range_encode(&span, 1, 0, &question);
    enum status status = etcd_client_ask(client, "/v3/kv/range", &question, &patience, &answer,
                                         &in_doubt, NULL);
    buffer_deinit(&question);
    buffer_deinit(&answer);
    etcd_client_close(client);
    return status == STATUS_OK;
}

/* Another test may take the ports first: then others are tried. */
__attribute__((unused)) static void etcd_start(void)
{
    test_folder_make(etcd_folder, sizeof etcd_folder, "etcd");
    for (int attempt = 0; attempt < 5; attempt++) {
        unsigned port = etcd_free_port();
        unsigned peer_port = etcd_free_port();
        snprintf(etcd_endpoint, sizeof etcd_endpoint, "http://127.0.0.1:%u", port);
        etcd_settings = (struct etcd_settings){
            .endpoints = etcd_endpoint,
            .prefix = "/edubba",
            .ca = "",
            .certificate = "",
            .key = "",
            .lease_us = ETCD_TEST_LEASE_NS / 1000,
        };
        etcd_pid = fork();
        if (etcd_pid == 0) {
            etcd_become(port, peer_port);
        }
        for (int i = 0; i < 400 && waitpid(etcd_pid, NULL, WNOHANG) == 0; i++) {
            if (etcd_answers()) {
                return;
            }
            clock_sleep_us(50000);
        }
        (void)kill(etcd_pid, SIGKILL);
        (void)waitpid(etcd_pid, NULL, 0);
    }
    cr_assert(false, "etcd did not start: see %s/log", etcd_folder);
}

__attribute__((unused)) static void etcd_stop(void)
{
    char command[300];
    if (etcd_pid <= 0) {
        return;
    }
    (void)kill(etcd_pid, SIGKILL);
    (void)waitpid(etcd_pid, NULL, 0);
    etcd_pid = 0;
    snprintf(command, sizeof command, "rm -rf %s", etcd_folder);
    cr_assert_eq(system(command), 0);
}

__attribute__((unused)) static void etcd_kill(void)
{
    (void)kill(etcd_pid, SIGKILL);
    (void)waitpid(etcd_pid, NULL, 0);
}

/* Again at the same address. */
__attribute__((unused)) static void etcd_start_again(void)
{
    unsigned port = 0;
    cr_assert_eq(sscanf(etcd_endpoint, "http://127.0.0.1:%u", &port), 1);
    etcd_pid = fork();
    if (etcd_pid == 0) {
        etcd_become(port, etcd_free_port());
    }
    for (int i = 0; i < 400 && !etcd_answers(); i++) {
        clock_sleep_us(50000);
    }
    cr_assert(etcd_answers(), "etcd did not start again: see %s/log", etcd_folder);
}

/* Without its data: revisions are counted anew. */
__attribute__((unused)) static void etcd_restart_empty(void)
{
    char command[300];
    etcd_kill();
    snprintf(command, sizeof command, "rm -rf %s/data", etcd_folder);
    cr_assert_eq(system(command), 0);
    etcd_start_again();
}

/* --- leadership --------------------------------------------------------------------------------- */

struct etcd_reign {
    struct etcd_client *client;
    struct etcd_keys keys;
    struct etcd_candidate candidate;
    struct election_answer granted;
    uint64_t number;
};

static inline struct election_answer etcd_must_answer(struct etcd_reign *reign,
                                                      enum election_question_type type)
{
    struct error error = {0};
    const struct election_question question = {type, reign->granted.lease, 0};
    struct election_answer answer = etcd_election_ask(&reign->candidate, &question, &error);
    cr_assert(answer.answered, "%s", error.text);
    return answer;
}

/* Lead the cluster.  Whoever asked ends it with etcd_reign_end(). */
__attribute__((unused)) static void etcd_reign_begin(struct etcd_reign *reign, uint64_t cluster)
{
    *reign = (struct etcd_reign){0};
    cr_assert_eq(etcd_keys_make(etcd_settings.prefix, cluster, &reign->keys, NULL), STATUS_OK);
    cr_assert_eq(etcd_client_open(&etcd_settings, &reign->client, NULL), STATUS_OK);
    reign->candidate = (struct etcd_candidate){
        .client = reign->client,
        .keys = &reign->keys,
        .address = "tcp://127.0.0.1:1",
        .lease_ns = ETCD_TEST_LEASE_NS,
    };
    reign->granted = etcd_must_answer(reign, ELECTION_GRANT);
    struct election_answer answer = etcd_must_answer(reign, ELECTION_CAMPAIGN);
    cr_assert_eq(answer.leader_lease, reign->granted.lease);
    reign->number = answer.leader;
}

__attribute__((unused)) static void etcd_reign_end(struct etcd_reign *reign)
{
    (void)etcd_must_answer(reign, ELECTION_REVOKE);
    etcd_client_close(reign->client);
}

#endif /* TESTS_SUPPORT_REAL_ETCD_H */
