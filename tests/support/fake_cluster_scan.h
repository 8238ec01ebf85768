/*
 * How a fake cluster (fake_cluster.h) answers scans: message by message, as far as credit goes.  All
 * under the cluster's lock.
 */
#ifndef TESTS_SUPPORT_FAKE_CLUSTER_SCAN_H
#define TESTS_SUPPORT_FAKE_CLUSTER_SCAN_H

#include "common/base/memory.h"
#include "tests/support/fake_cluster_answers.h"

/* Ranges are ascending and disjoint; there may be tens of thousands of them, and this is asked for each row of each message. */
static inline bool fake_scan_asks_for(const struct fake_scan *scan, struct bytes key)
{
    size_t low = 0; /* all before it end at the key or before */
    size_t high = scan->rows.count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        struct bytes end = scan->rows.ranges[middle].end;
        if (end.size_bytes > 0 && bytes_compare(end, key) <= 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < scan->rows.count && row_range_contains(&scan->rows.ranges[low], key);
}

static inline const struct fake_row *fake_scan_row(struct fake_scan *scan)
{
    struct fake_cluster *cluster = scan->cluster;
    size_t seen = 0;
    for (int i = 0; i < cluster->row_count; i++) {
        int at = scan->request.reversed ? cluster->row_count - 1 - i : i;
        if (fake_scan_asks_for(scan, bytes_of_text(cluster->rows[at].key)) &&
            seen++ == scan->next) {
            return &cluster->rows[at];
        }
    }
    return NULL;
}

static inline void fake_scan_free(struct fake_scan *scan)
{
    arena_deinit(&scan->arena);
    memory_free(scan);
}

/* One message; true when the scan is over. */
static inline bool fake_scan_send(struct fake_scan *scan)
{
    struct fake_cluster *cluster = scan->cluster;
    struct buffer rows = BUFFER_INIT;
    struct row_block_writer writer;
    struct scan_response response = {.tablet = scan->tablet};
    uint64_t limit = scan->request.rows_limit;

    row_block_writer_init(&writer, &rows);
    for (int i = 0; i < cluster->scan_rows_per_message && !response.done; i++) {
        const struct fake_row *row = fake_scan_row(scan);
        if (row != NULL && (limit == 0 || scan->returned < limit)) {
            response.last_scanned = bytes_of_text(row->key);
            response.rows_seen++;
            scan->next++;
            if (!cluster->scan_hides_rows) {
                fake_write_row(&writer, row);
                response.rows_returned++;
                scan->returned++;
            }
        } else {
            response.done = true;
        }
        if (row != NULL && cluster->scan_rows_until_drop > 0 &&
            scan->returned % (uint64_t)cluster->scan_rows_until_drop ==
                (uint64_t)cluster->scan_rows_until_drop - 1) {
            /* These rows never arrive. */
            buffer_deinit(&rows);
            transport_reply_set_context(scan->reply, NULL);
            fake_close_connection(scan->reply);
            return true;
        }
    }
    response.rows = buffer_bytes(&rows);
    struct buffer message = fake_message(STATUS_OK);
    scan_response_encode(&response, &message);
    cluster->scan_bytes += (int64_t)message.size_bytes;
    buffer_deinit(&rows);
    if (response.done) {
        transport_reply_set_context(scan->reply, NULL);
    }
    transport_reply_send(scan->reply, &message, response.done);
    return response.done;
}

static inline void fake_scan_run(struct fake_scan *scan)
{
    scan->is_parked = false;
    for (;;) {
        if (transport_reply_cancelled(scan->reply)) {
            transport_reply_set_context(scan->reply, NULL);
            transport_reply_fail(scan->reply, STATUS_CANCELLED, "cancelled");
            fake_scan_free(scan);
            return;
        }
        bool is_over = fake_scan_row(scan) == NULL;
        bool is_held = scan->cluster->scan_never_ends && is_over;
        if (scan->cluster->scan_end_is_lost && is_over) {
            transport_reply_set_context(scan->reply, NULL);
            fake_close_connection(scan->reply);
            fake_scan_free(scan);
            return;
        }
        if (is_held || transport_reply_credit(scan->reply) <= 0) {
            scan->is_parked = true;
            return;
        }
        if (fake_scan_send(scan)) {
            fake_scan_free(scan);
            return;
        }
    }
}

static inline void fake_scan_refuse(struct fake_scan *scan, const struct fake_tablet *tablet)
{
    struct scan_response response = {.done = true,
                                     .has_location = scan->cluster->tells_location,
                                     .location = fake_location(scan->cluster, tablet)};
    struct buffer message = fake_message(STATUS_NOT_OWNER);
    scan_response_encode(&response, &message);
    transport_reply_send(scan->reply, &message, true);
    fake_scan_free(scan);
}

static inline void fake_scan_refuse_row(struct fake_scan *scan)
{
    struct scan_response response = {.done = true, .last_scanned = scan->request.rows[0].start};
    struct buffer message = fake_message(STATUS_FAILED_PRECONDITION);
    scan_response_encode(&response, &message);
    transport_reply_send(scan->reply, &message, true);
    fake_scan_free(scan);
}

static inline struct fake_tablet *fake_scan_tablet(struct fake_scan *scan)
{
    struct fake_cluster *cluster = scan->cluster;
    if (!scan->request.reversed) {
        return fake_tablet_of(cluster, scan->request.rows[0].start);
    }
    struct bytes end = scan->request.rows[scan->request.row_range_count - 1].end;
    for (int i = 0; end.size_bytes > 0 && i < cluster->tablet_count; i++) {
        struct bytes tablet_end = bytes_of_text(cluster->tablets[i].end);
        if (tablet_end.size_bytes == 0 || bytes_compare(end, tablet_end) <= 0) {
            return &cluster->tablets[i];
        }
    }
    return &cluster->tablets[cluster->tablet_count - 1];
}

static inline void fake_start_scan(struct fake_server *server,
                                   const struct transport_request *transport,
                                   struct transport_reply *reply)
{
    struct fake_cluster *cluster = server->cluster;
    struct fake_scan *scan = memory_allocate_zeroed(1, sizeof *scan);
    cluster->scans++;
    scan->cluster = cluster;
    scan->reply = reply;
    arena_init(&scan->arena, 16384, SIZE_MAX);
    ASSERT(scan_request_decode(transport->body, &scan->arena, &scan->request, NULL) == STATUS_OK);
    struct fake_tablet *tablet = fake_scan_tablet(scan);
    if (tablet->server != server->index || cluster->table_is_gone) {
        fake_scan_refuse(scan, tablet);
        return;
    }
    if (cluster->scan_finds_large_row) {
        fake_scan_refuse_row(scan);
        return;
    }
    struct row_range range = fake_range(tablet);
    struct row_set all = {(struct row_range *)(uintptr_t)scan->request.rows,
                          scan->request.row_range_count};
    scan->tablet.start = arena_copy(&scan->arena, range.start);
    scan->tablet.end = arena_copy(&scan->arena, range.end);
    ASSERT(row_set_clip(&scan->arena, &all, &scan->tablet, &scan->rows) == STATUS_OK);
    ASSERT(transport_reply_begin_stream(reply, scan->request.credit_bytes));
    transport_reply_set_context(reply, scan);
    scan->is_parked = true;
    if (!cluster->scan_is_silent) {
        fake_scan_run(scan);
    }
}

static inline void fake_on_progress(void *context, struct transport_reply *reply)
{
    struct fake_server *server = context;
    struct fake_scan *scan = transport_reply_context(reply);
    if (scan == NULL) {
        return; /* operations: whoever sends their last answer holds the lock and waits for this */
    }
    pthread_mutex_lock(&server->cluster->lock);
    if (scan->is_parked) {
        fake_scan_run(scan);
    }
    pthread_mutex_unlock(&server->cluster->lock);
}

#endif /* TESTS_SUPPORT_FAKE_CLUSTER_SCAN_H */
