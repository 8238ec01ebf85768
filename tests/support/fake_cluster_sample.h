/*
 * How a fake cluster (fake_cluster.h) answers who samples row keys: every tenth row of a tablet, a row
 * being ten bytes.  All under the cluster's lock.
 */
#ifndef TESTS_SUPPORT_FAKE_CLUSTER_SAMPLE_H
#define TESTS_SUPPORT_FAKE_CLUSTER_SAMPLE_H

#include "tests/support/fake_cluster_state.h"

#define FAKE_ROW_BYTES   10
#define FAKE_SAMPLE_ROWS 10

static inline void fake_sample_tablet(const struct fake_cluster *cluster,
                                      const struct row_range *range,
                                      struct sample samples[FAKE_ROWS_MAX / FAKE_SAMPLE_ROWS],
                                      struct sample_response *response)
{
    uint64_t rows = 0;
    *response = (struct sample_response){.tablet = *range, .samples = samples};
    for (int i = 0; i < cluster->row_count; i++) {
        struct bytes key = bytes_of_text(cluster->rows[i].key);
        if (row_range_contains(range, key) && rows++ % FAKE_SAMPLE_ROWS == FAKE_SAMPLE_ROWS - 1) {
            samples[response->sample_count++] = (struct sample){key, rows * FAKE_ROW_BYTES};
        }
    }
    response->total_bytes = rows * FAKE_ROW_BYTES;
}

static inline void fake_answer_sample(struct fake_server *server,
                                      const struct transport_request *transport,
                                      struct transport_reply *reply)
{
    struct fake_cluster *cluster = server->cluster;
    struct sample samples[FAKE_ROWS_MAX / FAKE_SAMPLE_ROWS];
    struct sample_request request;
    struct sample_response response;
    ASSERT(sample_request_decode(transport->body, NULL, &request, NULL) == STATUS_OK);
    const struct fake_tablet *tablet = fake_tablet_of(cluster, request.row);
    if (cluster->is_deposed[server->index]) {
        transport_reply_fail(reply, STATUS_UNAVAILABLE, "this server does not lead the tablet now");
        return;
    }
    if (tablet->server != server->index) {
        transport_reply_fail(reply, STATUS_NOT_OWNER, "this server does not hold the row");
        return;
    }
    struct row_range range = fake_range(tablet);
    fake_sample_tablet(cluster, &range, samples, &response);
    struct buffer message = BUFFER_INIT;
    response_head_encode(&(struct response_head){.status = STATUS_OK}, &message);
    sample_response_encode(&response, &message);
    transport_reply_send(reply, &message, true);
    while (cluster->sampling_joins && cluster->tablet_count > 1) {
        fake_join_locked(cluster, cluster->tablets[1].start);
    }
}

#endif /* TESTS_SUPPORT_FAKE_CLUSTER_SAMPLE_H */
