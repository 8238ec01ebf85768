#include "tabletserver/serve/requests.h"

#include "common/base/memory.h"
#include "tabletserver/serve/batch.h"
#include "tabletserver/serve/scan.h"
#include "tabletserver/serve/server.h"
#include "tabletserver/serve/status_report.h"

#define SMALL_ARENA_BLOCK_BYTES 4096
#define LOCATE_COUNT_DEFAULT    100
#define LOCATE_COUNT_MAX        1000
#define SAMPLE_STEP_BYTES       (UINT64_C(16) << 20) /* between two sampled row keys */
#define SAMPLE_COUNT_MAX        256                  /* of one tablet */

/* A request that a worker answers with one message. */
struct small_request {
    struct job job;
    struct server *server;
    struct transport_reply *reply;
    enum method method;
    struct bytes body;
    struct arena arena;
};

/* The message's head is there; the body is appended to it. */
typedef enum status (*answerer)(struct small_request *request,
                                struct buffer *message,
                                struct error *ret_error);

static enum status answer_locate(struct small_request *request,
                                 struct buffer *message,
                                 struct error *ret_error)
{
    struct locate_request locate;
    struct locate_response response = {0};
    struct location *locations = NULL;

    enum status status = locate_request_decode(request->body, &request->arena, &locate, ret_error);
    if (status != STATUS_OK) {
        return status;
    }
    struct schema *schema = schema_cache_find(request->server->schemas, locate.table);
    if (schema == NULL) {
        return error_set(ret_error, STATUS_NOT_FOUND,
                         "this server knows no such table; ask a master");
    }
    uint32_t count_max = locate.count_max > 0 ? locate.count_max : LOCATE_COUNT_DEFAULT;
    response.table = *schema_table(schema);
    status = location_map_list(request->server->locations, locate.table, locate.row,
                               count_max < LOCATE_COUNT_MAX ? count_max : LOCATE_COUNT_MAX,
                               &request->arena, &locations, &response.location_count);
    response.locations = locations;
    if (status == STATUS_OK) {
        locate_response_encode(&response, message);
    } else {
        (void)error_set(ret_error, STATUS_UNAVAILABLE, "out of memory; retry");
    }
    schema_release(schema);
    return status;
}

static enum status answer_sample(struct small_request *request,
                                 struct buffer *message,
                                 struct error *ret_error)
{
    struct sample_request sample;
    struct served served;
    struct store_samples found;

    enum status status = sample_request_decode(request->body, &request->arena, &sample, ret_error);
    if (status != STATUS_OK) {
        return status;
    }
    if (!served_map_find(request->server->served, sample.table, sample.row, &served)) {
        return error_set(ret_error, STATUS_NOT_OWNER, "%s", status_text(STATUS_NOT_OWNER));
    }
    status = store_tablet_sample(served.tablet, SAMPLE_STEP_BYTES, SAMPLE_COUNT_MAX,
                                 &request->arena, &found);
    struct sample *samples = status != STATUS_OK
                                 ? NULL
                                 : arena_allocate_array(&request->arena, found.count + 1U,
                                                        sizeof *samples);
    if (samples != NULL) {
        for (uint32_t i = 0; i < found.count; i++) {
            samples[i] = (struct sample){found.samples[i].row, found.samples[i].offset_bytes};
        }
        struct sample_response response = {
            .tablet = store_tablet_describe(served.tablet)->range,
            .total_bytes = found.total_bytes,
            .samples = samples,
            .sample_count = found.count,
        };
        sample_response_encode(&response, message);
    } else {
        status = status == STATUS_OK ? STATUS_NO_MEMORY : status;
        status = error_set(ret_error, STATUS_UNAVAILABLE, "cannot sample: %s", status_text(status));
    }
    store_tablet_unref(served.tablet);
    return status;
}

static enum status answer_status(struct small_request *request,
                                 struct buffer *message,
                                 struct error *ret_error)
{
    (void)ret_error;
    status_report_write(request->server, message);
    return STATUS_OK;
}

static answerer answerer_of(enum method method)
{
    switch (method) {
    case METHOD_LOCATE:
        return answer_locate;
    case METHOD_SAMPLE:
        return answer_sample;
    case METHOD_STATUS:
        return answer_status;
    case METHOD_OPERATIONS:
    case METHOD_SCAN:
    case METHOD_CREATE_TABLE:
    case METHOD_DELETE_TABLE:
    case METHOD_ALTER_TABLE:
    case METHOD_GET_TABLE:
    case METHOD_LIST_TABLES:
    case METHOD_SPLIT_TABLET:
    case METHOD_LIST_SERVERS:
    case METHOD_SYNC:
        return NULL;
    }
    return NULL;
}

static void run_small(struct job *job)
{
    struct small_request *request = (struct small_request *)job;
    struct buffer message = BUFFER_INIT;
    struct error error = {.status = STATUS_OK};

    response_head_encode(&(struct response_head){.status = STATUS_OK}, &message);
    enum status status = answerer_of(request->method)(request, &message, &error);
    if (status == STATUS_NO_MEMORY || (status == STATUS_OK && message.failed)) {
        status = error_set(&error, STATUS_UNAVAILABLE, "the server is out of memory; retry");
    }
    if (status == STATUS_OK) {
        transport_reply_send(request->reply, &message, true);
    } else {
        buffer_deinit(&message);
        transport_reply_fail(request->reply, error.status, error.text);
    }
    arena_deinit(&request->arena);
    memory_free(request);
}

static void start_small(struct server *server,
                        const struct transport_request *transport,
                        struct transport_reply *reply)
{
    struct small_request *request = memory_allocate_zeroed(1, sizeof *request);
    if (request == NULL) {
        transport_reply_fail(reply, STATUS_UNAVAILABLE, "the server is out of memory; retry");
        return;
    }
    request->job.run = run_small;
    request->server = server;
    request->reply = reply;
    request->method = transport->method;
    request->body = transport->body;
    arena_init(&request->arena, SMALL_ARENA_BLOCK_BYTES, REQUEST_ARENA_BYTES_MAX);
    worker_pool_submit(server->workers, &request->job, JOB_URGENT);
}

void requests_on_request(void *context,
                         const struct transport_request *request,
                         struct transport_reply *reply)
{
    struct server *server = context;

    if (!atomic_load(&server->open)) {
        transport_reply_fail(reply, STATUS_UNAVAILABLE, "the server is starting or stopping");
    } else if (request->method == METHOD_OPERATIONS) {
        batch_start(server, request, reply);
    } else if (request->method == METHOD_SCAN) {
        scan_start(server, request, reply);
    } else if (answerer_of(request->method) != NULL) {
        start_small(server, request, reply);
    } else {
        transport_reply_fail(reply, STATUS_UNIMPLEMENTED,
                             "a tablet server does not answer this method; ask a master");
    }
}

void requests_on_progress(void *context, struct transport_reply *reply)
{
    (void)context;
    struct scan *scan = transport_reply_context(reply);
    if (scan != NULL) {
        scan_progress(scan);
    }
}
