/*
 * A cluster for tests of the client: a master and tablet servers behind real listeners, whose rows
 * are a table in this process and whose behaviour is scripted.
 *
 * It keeps account of what a real cluster must rely on: that an identity never changes, that none
 * below the mark the client has told comes for the first time, that nothing is applied twice.
 */
#ifndef TESTS_SUPPORT_FAKE_CLUSTER_H
#define TESTS_SUPPORT_FAKE_CLUSTER_H

#include <pthread.h>
#include <stdio.h>

#include "common/base/assert.h"
#include "common/base/memory.h"
#include "common/io/clock.h"
#include "common/io/transport/transport.h"
#include "tests/support/fake_cluster_answers.h"
#include "tests/support/fake_cluster_sample.h"
#include "tests/support/fake_cluster_scan.h"
#include "tests/support/fake_cluster_state.h"
#include "tests/support/own_address.h"

/* --- requests --------------------------------------------------------------------------------- */

static inline struct buffer fake_list_servers(const struct fake_cluster *cluster)
{
    struct server_information servers[FAKE_SERVERS] = {0};
    struct servers_response response = {.servers = servers, .server_count = FAKE_SERVERS - 1};
    struct buffer message = fake_message(STATUS_OK);
    for (int i = 1; i < FAKE_SERVERS; i++) {
        servers[i - 1].number = (uint64_t)i;
        servers[i - 1].address = bytes_of_text(cluster->servers[i].address);
        servers[i - 1].alive = true;
    }
    servers_response_encode(&response, &message);
    return message;
}

static inline struct buffer fake_say_active(const struct fake_server *server)
{
    const struct master_response role = {
        .cluster = 1, .state = MASTER_ACTIVE, .active = bytes_of_text(server->address)};
    struct buffer message = fake_message(STATUS_OK);
    master_response_encode(&role, &message);
    return message;
}

/* It stands by. */
static inline struct buffer fake_name_active(const struct fake_cluster *cluster)
{
    const struct standby_response standby = {.active = bytes_of_text(cluster->master_names)};
    struct buffer message = fake_message(STATUS_UNAVAILABLE);
    standby_response_encode(&standby, &message);
    return message;
}

static inline void fake_dispatch(struct fake_server *server,
                                 const struct transport_request *request,
                                 struct transport_reply *reply)
{
    struct fake_cluster *cluster = server->cluster;
    struct buffer message = BUFFER_INIT;
    bool is_of_masters = request->method >= METHOD_CREATE_TABLE;
    if (server->index > 0 && server->index != cluster->active && is_of_masters) {
        transport_reply_fail(reply, STATUS_UNIMPLEMENTED, "ask a master");
        return;
    }
    if (server->index == 0 && cluster->master_names != NULL && is_of_masters) {
        message = fake_name_active(cluster);
        transport_reply_send(reply, &message, true);
        return;
    }
    switch ((int)request->method) {
    case METHOD_OPERATIONS:
        cluster->messages++;
        if (cluster->holds) {
            ASSERT(cluster->held_count < FAKE_HELD_MAX);
            cluster->held[cluster->held_count++] = (struct fake_held){server, reply, *request};
        } else {
            fake_answer_operations(server, request, reply);
        }
        return;
    case METHOD_SCAN:
        fake_start_scan(server, request, reply);
        return;
    case METHOD_SAMPLE:
        fake_answer_sample(server, request, reply);
        return;
    case METHOD_LOCATE:
        fake_answer_locate(server, request, reply);
        return;
    case METHOD_LIST_SERVERS:
        message = fake_list_servers(cluster);
        break;
    case METHOD_DRAIN_SERVER:
    case METHOD_MERGE_TABLETS:
        message = fake_take_order(cluster, request);
        break;
    case METHOD_LIST_HOT_TABLETS:
        message = fake_list_hot_tablets(cluster, request);
        break;
    case METHOD_LIST_HOT_KEYS:
        message = fake_list_hot_keys(cluster, request);
        break;
    case METHOD_ADVISE:
        message = fake_advise(cluster, request);
        break;
    case METHOD_LIST_EVENTS:
        message = fake_list_events(cluster, request);
        break;
    case METHOD_MASTER:
        message = fake_say_active(server);
        break;
    case METHOD_STATUS:
        message = fake_message(STATUS_OK);
        buffer_append_bytes(&message, cluster->status_body);
        break;
    default:
        transport_reply_fail(reply, STATUS_UNIMPLEMENTED, "not in this test");
        return;
    }
    transport_reply_send(reply, &message, true);
}

static inline void fake_on_request(void *context,
                                   const struct transport_request *request,
                                   struct transport_reply *reply)
{
    struct fake_server *server = context;
    pthread_mutex_lock(&server->cluster->lock);
    if (server->cluster->is_frozen[server->index]) {
        ASSERT(server->cluster->frozen_count < FAKE_HELD_MAX);
        server->cluster->frozen[server->cluster->frozen_count++] = reply;
    } else {
        fake_dispatch(server, request, reply);
    }
    pthread_mutex_unlock(&server->cluster->lock);
}

/* Answer what was held; what comes from now on is answered at once. */
static inline void fake_release_locked(struct fake_cluster *cluster)
{
    cluster->holds = false;
    for (int i = 0; i < cluster->held_count; i++) {
        struct fake_held *held = &cluster->held[i];
        fake_answer_operations(held->server, &held->request, held->reply);
    }
    cluster->held_count = 0;
}

static inline void fake_release(struct fake_cluster *cluster)
{
    pthread_mutex_lock(&cluster->lock);
    fake_release_locked(cluster);
    pthread_mutex_unlock(&cluster->lock);
}

static inline int64_t fake_now_us(void *context)
{
    const struct fake_server *server = context;
    int64_t ahead_us = 0;
    if (server->index == 0) {
        pthread_mutex_lock(&server->cluster->lock);
        ahead_us = server->cluster->master_ahead_us;
        pthread_mutex_unlock(&server->cluster->lock);
    }
    return clock_wall_us() + FAKE_CLOCK_SHIFT_US + ahead_us;
}

static inline void fake_listen(struct fake_cluster *cluster, int index)
{
    struct fake_server *server = &cluster->servers[index];
    struct error error = {0};
    *server = (struct fake_server){.cluster = cluster, .index = index};
    struct transport_listener_options options = {
        .address = own_address(0, server->address, sizeof server->address),
        .agent = "fake",
        .process = (uint64_t)index + 1,
        .connections_max = 64,
        .requests_max = 256,
        .connection_bytes_max = 64 << 20,
        .context = server,
        .on_request = fake_on_request,
        .on_progress = fake_on_progress,
        .now_us = fake_now_us,
    };
    enum status status = transport_listen(&options, &server->listener, &error);
    ASSERT(status == STATUS_OK);
    (void)own_address(transport_listener_port(server->listener), server->address,
                      sizeof server->address);
}

/* One tablet, on server 1. */
static inline struct fake_cluster *fake_cluster_start(void)
{
    struct fake_cluster *cluster = memory_allocate_zeroed(1, sizeof *cluster);
    pthread_mutex_init(&cluster->lock, NULL);
    cluster->prng = prng_of_seed(4711);
    cluster->configuration = 1;
    cluster->tablet_count = 1;
    cluster->tablet_number = 1;
    cluster->tablets[0] = (struct fake_tablet){.number = 1, .configuration = 1, .server = 1};
    cluster->tells_location = true;
    cluster->scan_rows_per_message = 10;
    for (int i = 0; i < FAKE_SERVERS; i++) {
        fake_listen(cluster, i);
    }
    return cluster;
}

static inline void fake_cluster_stop(struct fake_cluster *cluster)
{
    fake_release(cluster);
    for (int i = 0; i < cluster->frozen_count; i++) {
        transport_reply_fail(cluster->frozen[i], STATUS_UNAVAILABLE, "too late");
    }
    for (int i = 0; i < FAKE_SERVERS; i++) {
        if (cluster->servers[i].listener != NULL) {
            transport_listener_close(cluster->servers[i].listener, 0);
        }
    }
    pthread_mutex_destroy(&cluster->lock);
    memory_free(cluster);
}

#endif /* TESTS_SUPPORT_FAKE_CLUSTER_H */
