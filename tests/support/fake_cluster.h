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
#include "common/base/prng.h"
#include "common/io/clock.h"
#include "common/io/transport.h"

#define FAKE_SERVERS        4 /* 0 is the master */
#define FAKE_TABLETS_MAX    64
#define FAKE_ROWS_MAX       4096
#define FAKE_KEY_MAX        64
#define FAKE_TABLE          7
#define FAKE_SEEN_MAX       65536
#define FAKE_HELD_MAX       64
#define FAKE_CLOCK_SHIFT_US INT64_C(3600000000) /* the cluster's clock goes an hour ahead */

struct fake_cluster;

struct fake_server {
    struct fake_cluster *cluster;
    int index;
    struct transport_listener *listener;
    char address[64];
};

struct fake_tablet {
    uint64_t configuration;
    char start[FAKE_KEY_MAX];
    char end[FAKE_KEY_MAX];
    int server; /* 0 = not served */
};

struct fake_row {
    char key[FAKE_KEY_MAX];
    int64_t sum; /* what was added */
};

struct fake_seen {
    uint64_t sequence;
    int64_t first_attempt_us;
};

struct fake_held {
    struct fake_server *server;
    struct transport_reply *reply;
    struct transport_request request;
};

struct fake_scan {
    struct fake_cluster *cluster;
    struct transport_reply *reply;
    struct arena arena;
    struct scan_request request;
    struct row_set rows;
    struct row_range tablet;
    size_t next; /* of the rows in reading order */
    uint64_t returned;
    bool is_parked;
};

struct fake_cluster {
    pthread_mutex_t lock;
    struct fake_server servers[FAKE_SERVERS];
    struct fake_tablet tablets[FAKE_TABLETS_MAX];
    int tablet_count;
    uint64_t configuration;
    struct fake_row rows[FAKE_ROWS_MAX]; /* ascending */
    int row_count;
    struct fake_seen seen[FAKE_SEEN_MAX];
    int seen_count;
    uint64_t client;
    uint64_t mark; /* highest first_unfinished told */
    struct prng prng;

    /* The script. */
    bool table_is_gone;
    bool tells_location; /* in wrong-server answers */
    bool answers_twice;
    bool holds; /* operations are not answered until fake_release() */
    int unavailable_left;
    int drops_before_left; /* messages: the connection is closed, nothing done */
    int drops_after_left;  /* messages: done, and the connection is closed */
    uint32_t chaos_one_in; /* any of the above by chance; 0 = never */
    int scan_rows_per_message;
    int scan_rows_until_drop; /* 0 = never; armed again after each */
    bool scan_is_silent;

    /* What happened. */
    int locates[FAKE_SERVERS];
    int messages;
    int operations;
    int applied;
    int duplicates;
    int violations;
    int scans;
    int64_t scan_bytes;
    char violation[256];
    struct bytes status_body; /* what METHOD_STATUS answers */
    struct fake_held held[FAKE_HELD_MAX];
    int held_count;
};

static inline void fake_violation(struct fake_cluster *cluster, const char *text, uint64_t sequence)
{
    cluster->violations++;
    (void)snprintf(cluster->violation, sizeof cluster->violation, "%s (sequence %lu)", text,
                   (unsigned long)sequence);
}

/* --- rows and tablets ------------------------------------------------------------------------- */

static inline int fake_row_position(const struct fake_cluster *cluster, struct bytes key)
{
    int low = 0;
    int high = cluster->row_count;
    while (low < high) {
        int middle = (low + high) / 2;
        if (bytes_compare(bytes_of_text(cluster->rows[middle].key), key) < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static inline struct fake_row *fake_row_find(struct fake_cluster *cluster, struct bytes key)
{
    int at = fake_row_position(cluster, key);
    bool found = at < cluster->row_count && bytes_equal(bytes_of_text(cluster->rows[at].key), key);
    return found ? &cluster->rows[at] : NULL;
}

static inline struct fake_row *fake_row_make(struct fake_cluster *cluster, struct bytes key)
{
    struct fake_row *row = fake_row_find(cluster, key);
    if (row != NULL) {
        return row;
    }
    ASSERT(cluster->row_count < FAKE_ROWS_MAX && key.size_bytes < FAKE_KEY_MAX);
    row = &cluster->rows[fake_row_position(cluster, key)];
    memmove(row + 1, row, (size_t)(&cluster->rows[cluster->row_count] - row) * sizeof *row);
    memset(row, 0, sizeof *row);
    memcpy(row->key, key.data, key.size_bytes);
    cluster->row_count++;
    return row;
}

static inline void fake_fill(struct fake_cluster *cluster, int count)
{
    for (int i = 0; i < count; i++) {
        char key[FAKE_KEY_MAX];
        (void)snprintf(key, sizeof key, "row%05d", i);
        fake_row_make(cluster, bytes_of_text(key))->sum = i;
    }
}

static inline struct row_range fake_range(const struct fake_tablet *tablet)
{
    return (struct row_range){bytes_of_text(tablet->start), bytes_of_text(tablet->end)};
}

static inline struct fake_tablet *fake_tablet_of(struct fake_cluster *cluster, struct bytes row)
{
    for (int i = 0; i < cluster->tablet_count; i++) {
        struct row_range range = fake_range(&cluster->tablets[i]);
        if (row_range_contains(&range, row)) {
            return &cluster->tablets[i];
        }
    }
    UNREACHABLE();
}

static inline struct location fake_location(struct fake_cluster *cluster,
                                            const struct fake_tablet *tablet)
{
    return (struct location){
        .tablet = (uint64_t)(tablet - cluster->tablets) + 1,
        .table = FAKE_TABLE,
        .configuration = tablet->configuration,
        .range = fake_range(tablet),
        .server = (uint64_t)tablet->server,
        .address = bytes_of_text(tablet->server == 0 ? ""
                                                     : cluster->servers[tablet->server].address),
        .state = tablet->server == 0 ? TABLET_UNAVAILABLE : TABLET_SERVING,
    };
}

static inline void fake_move_locked(struct fake_cluster *cluster, const char *row, int server)
{
    struct fake_tablet *tablet = fake_tablet_of(cluster, bytes_of_text(row));
    tablet->server = server;
    tablet->configuration = ++cluster->configuration;
}

static inline void fake_split_locked(struct fake_cluster *cluster, const char *row, int server)
{
    struct fake_tablet *left = fake_tablet_of(cluster, bytes_of_text(row));
    if (strcmp(left->start, row) == 0) {
        return;
    }
    int at = (int)(left - cluster->tablets);
    ASSERT(cluster->tablet_count < FAKE_TABLETS_MAX);
    memmove(left + 1, left, (size_t)(cluster->tablet_count - at) * sizeof *left);
    cluster->tablet_count++;
    (void)snprintf(left->end, sizeof left->end, "%s", row);
    (void)snprintf(left[1].start, sizeof left[1].start, "%s", row);
    left[1].server = server;
    left->configuration = left[1].configuration = ++cluster->configuration;
}

static inline void fake_move(struct fake_cluster *cluster, const char *row, int server)
{
    pthread_mutex_lock(&cluster->lock);
    fake_move_locked(cluster, row, server);
    pthread_mutex_unlock(&cluster->lock);
}

static inline void fake_split(struct fake_cluster *cluster, const char *row, int server)
{
    pthread_mutex_lock(&cluster->lock);
    fake_split_locked(cluster, row, server);
    pthread_mutex_unlock(&cluster->lock);
}

/* --- answers ---------------------------------------------------------------------------------- */

static inline void fake_close_connection(struct transport_reply *reply)
{
    struct buffer none = {.failed = true}; /* an answer that cannot be given closes it */
    transport_reply_send(reply, &none, true);
}

static inline struct buffer fake_message(enum status status)
{
    struct buffer message = BUFFER_INIT;
    response_head_encode(&(struct response_head){.status = status}, &message);
    return message;
}

static inline void fake_write_row(struct row_block_writer *writer, const struct fake_row *row)
{
    uint8_t sum[8];
    for (int i = 0; i < 8; i++) {
        sum[i] = (uint8_t)((uint64_t)row->sum >> (56 - 8 * i));
    }
    struct cell cell = {.family = 1, .qualifier = bytes_of_text("n"), .value = bytes_of(sum, 8)};
    row_block_begin_row(writer, bytes_of_text(row->key));
    row_block_add_cell(writer, bytes_of_text("sum"), &cell);
    (void)row_block_end_row(writer);
}

static inline void fake_apply(struct fake_cluster *cluster, const struct operation *operation)
{
    if (operation->kind == OPERATION_DROP_RANGE) {
        struct row_range part = fake_range(fake_tablet_of(cluster, operation->row));
        bool some = row_range_intersect(&part, &operation->range, &part);
        for (int i = cluster->row_count - 1; some && i >= 0; i--) {
            if (row_range_contains(&part, bytes_of_text(cluster->rows[i].key))) {
                memmove(&cluster->rows[i], &cluster->rows[i + 1],
                        (size_t)(cluster->row_count - i - 1) * sizeof cluster->rows[0]);
                cluster->row_count--;
            }
        }
        return;
    }
    struct fake_row *row = fake_row_make(cluster, operation->row);
    for (size_t i = 0; i < operation->mutation_count; i++) {
        row->sum += operation->mutations[i].integer;
    }
    for (size_t i = 0; i < operation->rule_count; i++) {
        row->sum += operation->rules[i].increment;
    }
}

/* Once for each identity. */
static inline void fake_apply_once(struct fake_cluster *cluster, const struct operation *operation)
{
    const struct operation_identity *identity = &operation->identity;
    for (int i = 0; i < cluster->seen_count; i++) {
        if (cluster->seen[i].sequence == identity->sequence) {
            cluster->duplicates++;
            if (cluster->seen[i].first_attempt_us != identity->first_attempt_us) {
                fake_violation(cluster, "the first attempt's time changed", identity->sequence);
            }
            return;
        }
    }
    int64_t age_us = clock_wall_us() + FAKE_CLOCK_SHIFT_US - identity->first_attempt_us;
    if (age_us < -2000000 || age_us > 60000000) {
        fake_violation(cluster, "the first attempt is not told in the server's time",
                       identity->sequence);
    }
    ASSERT(cluster->seen_count < FAKE_SEEN_MAX);
    cluster->seen[cluster->seen_count++] = (struct fake_seen){identity->sequence,
                                                              identity->first_attempt_us};
    cluster->applied++;
    fake_apply(cluster, operation);
}

static inline void fake_answer_one(struct fake_server *server,
                                   const struct operation *operation,
                                   struct buffer *rows,
                                   struct operation_result *result)
{
    struct fake_cluster *cluster = server->cluster;
    const struct fake_tablet *tablet = fake_tablet_of(cluster, operation->row);
    bool by_chance = cluster->chaos_one_in > 0 &&
                     prng_chance(&cluster->prng, cluster->chaos_one_in);

    cluster->operations++;
    if (tablet->server != server->index || cluster->table_is_gone) {
        result->status = STATUS_NOT_OWNER;
        result->has_location = cluster->tells_location; /* of a table that is gone: out of date */
        result->location = fake_location(cluster, tablet);
        return;
    }
    if (cluster->unavailable_left > 0 || by_chance) {
        cluster->unavailable_left -= cluster->unavailable_left > 0 ? 1 : 0;
        result->status = STATUS_UNAVAILABLE;
        result->text = bytes_of_text("memory is full");
        return;
    }
    if (operation->kind != OPERATION_READ) {
        fake_apply_once(cluster, operation);
    }
    if (operation->kind == OPERATION_READ || operation->kind == OPERATION_READ_MODIFY_WRITE) {
        struct fake_row *row = fake_row_find(cluster, operation->row);
        struct row_block_writer writer;
        row_block_writer_init(&writer, rows);
        if (row != NULL) {
            fake_write_row(&writer, row);
        }
        result->rows = buffer_bytes(rows);
    }
    result->matched = operation->kind == OPERATION_CHECK_AND_MUTATE;
}

static inline void fake_check_request(struct fake_cluster *cluster,
                                      const struct operations_request *request)
{
    if (cluster->client != 0 && cluster->client != request->client) {
        fake_violation(cluster, "the client's number changed", 0);
    }
    cluster->client = request->client;
    cluster->mark = request->first_unfinished > cluster->mark ? request->first_unfinished
                                                              : cluster->mark;
    for (size_t i = 0; i < request->operation_count; i++) {
        uint64_t sequence = request->operations[i].identity.sequence;
        if (request->operations[i].kind != OPERATION_READ && sequence < request->first_unfinished) {
            fake_violation(cluster, "an operation below the message's own mark", sequence);
        }
    }
}

static inline bool fake_takes(struct fake_cluster *cluster, int *left)
{
    bool by_chance = cluster->chaos_one_in > 0 &&
                     prng_chance(&cluster->prng, 2 * cluster->chaos_one_in);
    bool takes = *left > 0 || by_chance;
    *left -= *left > 0 ? 1 : 0;
    return takes;
}

static inline void fake_answer_operations(struct fake_server *server,
                                          const struct transport_request *transport,
                                          struct transport_reply *reply)
{
    struct fake_cluster *cluster = server->cluster;
    struct operations_request request;
    struct arena arena;

    arena_init(&arena, 65536, SIZE_MAX);
    ASSERT(operations_request_decode(transport->body, &arena, &request, NULL) == STATUS_OK);
    fake_check_request(cluster, &request);
    if (fake_takes(cluster, &cluster->drops_before_left)) {
        arena_deinit(&arena);
        fake_close_connection(reply);
        return;
    }
    struct operation_result *results = arena_allocate_array(&arena, request.operation_count,
                                                            sizeof *results);
    struct buffer *rows = arena_allocate_array(&arena, request.operation_count, sizeof *rows);
    memset(results, 0, request.operation_count * sizeof *results);
    memset(rows, 0, request.operation_count * sizeof *rows);
    for (size_t i = 0; i < request.operation_count; i++) {
        results[i].index = (uint32_t)i;
        fake_answer_one(server, &request.operations[i], &rows[i], &results[i]);
    }
    struct operations_response response = {results, request.operation_count};
    struct buffer message = fake_message(STATUS_OK);
    struct buffer again = fake_message(STATUS_OK);
    operations_response_encode(&response, &message);
    operations_response_encode(&response, &again);
    for (size_t i = 0; i < request.operation_count; i++) {
        buffer_deinit(&rows[i]);
    }
    arena_deinit(&arena);
    if (fake_takes(cluster, &cluster->drops_after_left)) {
        buffer_deinit(&message);
        buffer_deinit(&again);
        fake_close_connection(reply);
        return;
    }
    if (cluster->answers_twice) {
        transport_reply_send(reply, &again, false);
    }
    transport_reply_send(reply, &message, true);
    buffer_deinit(&again);
}

static inline void fake_answer_locate(struct fake_server *server,
                                      const struct transport_request *transport,
                                      struct transport_reply *reply)
{
    struct fake_cluster *cluster = server->cluster;
    struct locate_request request;
    struct locate_response response = {0};
    struct location locations[FAKE_TABLETS_MAX];
    struct arena arena;
    size_t most = FAKE_TABLETS_MAX;

    cluster->locates[server->index]++;
    arena_init(&arena, 4096, SIZE_MAX);
    ASSERT(locate_request_decode(transport->body, &arena, &request, NULL) == STATUS_OK);
    bool known = request.table == FAKE_TABLE ||
                 (request.table == 0 && bytes_equal(request.name, bytes_of_text("T")));
    most = request.count_max > 0 && request.count_max < most ? request.count_max : most;
    if (!known || cluster->table_is_gone) {
        arena_deinit(&arena);
        transport_reply_fail(reply, STATUS_NOT_FOUND, "table not found");
        return;
    }
    int first = (int)(fake_tablet_of(cluster, request.row) - cluster->tablets);
    for (int i = first; i < cluster->tablet_count && response.location_count < most; i++) {
        locations[response.location_count++] = fake_location(cluster, &cluster->tablets[i]);
    }
    response.table = (struct table){.number = FAKE_TABLE, .id = bytes_of_text("T")};
    response.locations = locations;
    struct buffer message = fake_message(STATUS_OK);
    locate_response_encode(&response, &message);
    transport_reply_send(reply, &message, true);
    arena_deinit(&arena);
}

/* --- scans ------------------------------------------------------------------------------------ */

static inline const struct fake_row *fake_scan_row(struct fake_scan *scan)
{
    struct fake_cluster *cluster = scan->cluster;
    size_t seen = 0;
    for (int i = 0; i < cluster->row_count; i++) {
        int at = scan->request.reversed ? cluster->row_count - 1 - i : i;
        struct bytes key = bytes_of_text(cluster->rows[at].key);
        for (size_t r = 0; r < scan->rows.count; r++) {
            if (row_range_contains(&scan->rows.ranges[r], key) && seen++ == scan->next) {
                return &cluster->rows[at];
            }
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
            fake_write_row(&writer, row);
            response.last_scanned = bytes_of_text(row->key);
            response.rows_seen++;
            response.rows_returned++;
            scan->returned++;
            scan->next++;
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
        if (transport_reply_credit(scan->reply) <= 0) {
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
    struct row_range range = fake_range(tablet);
    struct row_set all = {(struct row_range *)(uintptr_t)scan->request.rows,
                          scan->request.row_range_count};
    scan->tablet.start = arena_copy(&scan->arena, range.start);
    scan->tablet.end = arena_copy(&scan->arena, range.end);
    ASSERT(row_set_clip(&scan->arena, &all, &scan->tablet, &scan->rows) == STATUS_OK);
    transport_reply_add_initial_credit(reply, scan->request.credit_bytes);
    transport_reply_set_context(reply, scan);
    scan->is_parked = true;
    if (!cluster->scan_is_silent) {
        fake_scan_run(scan);
    }
}

static inline void fake_on_progress(void *context, struct transport_reply *reply)
{
    struct fake_server *server = context;
    pthread_mutex_lock(&server->cluster->lock);
    struct fake_scan *scan = transport_reply_context(reply);
    if (scan != NULL && scan->is_parked) {
        fake_scan_run(scan);
    }
    pthread_mutex_unlock(&server->cluster->lock);
}

/* --- requests --------------------------------------------------------------------------------- */

static inline void fake_dispatch(struct fake_server *server,
                                 const struct transport_request *request,
                                 struct transport_reply *reply)
{
    struct fake_cluster *cluster = server->cluster;
    struct buffer message = BUFFER_INIT;
    if (server->index > 0 && request->method >= METHOD_CREATE_TABLE) {
        transport_reply_fail(reply, STATUS_UNIMPLEMENTED, "ask a master");
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
    case METHOD_LOCATE:
        fake_answer_locate(server, request, reply);
        return;
    case METHOD_LIST_SERVERS: {
        struct server_information servers[FAKE_SERVERS] = {0};
        struct servers_response response = {.servers = servers, .server_count = FAKE_SERVERS - 1};
        for (int i = 1; i < FAKE_SERVERS; i++) {
            servers[i - 1].number = (uint64_t)i;
            servers[i - 1].address = bytes_of_text(cluster->servers[i].address);
            servers[i - 1].alive = true;
        }
        message = fake_message(STATUS_OK);
        servers_response_encode(&response, &message);
        transport_reply_send(reply, &message, true);
        return;
    }
    case METHOD_STATUS:
        message = fake_message(STATUS_OK);
        buffer_append_bytes(&message, cluster->status_body);
        transport_reply_send(reply, &message, true);
        return;
    default:
        transport_reply_fail(reply, STATUS_UNIMPLEMENTED, "not in this test");
        return;
    }
}

static inline void fake_on_request(void *context,
                                   const struct transport_request *request,
                                   struct transport_reply *reply)
{
    struct fake_server *server = context;
    pthread_mutex_lock(&server->cluster->lock);
    fake_dispatch(server, request, reply);
    pthread_mutex_unlock(&server->cluster->lock);
}

/* Answer what was held; what comes from now on is answered at once. */
static inline void fake_release(struct fake_cluster *cluster)
{
    pthread_mutex_lock(&cluster->lock);
    cluster->holds = false;
    for (int i = 0; i < cluster->held_count; i++) {
        struct fake_held *held = &cluster->held[i];
        fake_answer_operations(held->server, &held->request, held->reply);
    }
    cluster->held_count = 0;
    pthread_mutex_unlock(&cluster->lock);
}

static inline int64_t fake_now_us(void *context)
{
    (void)context;
    return clock_wall_us() + FAKE_CLOCK_SHIFT_US;
}

static inline void fake_listen(struct fake_cluster *cluster, int index)
{
    struct fake_server *server = &cluster->servers[index];
    struct error error = {0};
    *server = (struct fake_server){.cluster = cluster, .index = index};
    struct transport_listener_options options = {
        .address = "tcp://127.0.0.1:0",
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
    (void)snprintf(server->address, sizeof server->address, "tcp://127.0.0.1:%u",
                   (unsigned)transport_listener_port(server->listener));
}

/* One tablet, on server 1. */
static inline struct fake_cluster *fake_cluster_start(void)
{
    struct fake_cluster *cluster = memory_allocate_zeroed(1, sizeof *cluster);
    pthread_mutex_init(&cluster->lock, NULL);
    cluster->prng = prng_of_seed(4711);
    cluster->configuration = 1;
    cluster->tablet_count = 1;
    cluster->tablets[0] = (struct fake_tablet){.configuration = 1, .server = 1};
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
    for (int i = 0; i < FAKE_SERVERS; i++) {
        if (cluster->servers[i].listener != NULL) {
            transport_listener_close(cluster->servers[i].listener, 0);
        }
    }
    pthread_mutex_destroy(&cluster->lock);
    memory_free(cluster);
}

#endif /* TESTS_SUPPORT_FAKE_CLUSTER_H */
