#include "tabletserver/serve/requests.h"

#include "common/base/memory.h"
#include "common/wire/reader.h"
#include "tabletserver/serve/read/scan.h"
#include "tabletserver/serve/server.h"
#include "tabletserver/serve/status_report.h"
#include "tabletserver/serve/write/batch.h"

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

/* What is not known here may well exist: somebody else is to be asked, so never NOT_FOUND. */
static enum status refuse_unknown(const struct server *server,
                                  struct bytes name,
                                  uint64_t number,
                                  struct error *ret_error)
{
    char master[SYNC_ADDRESS_BYTES];
    char text[BYTES_PRINTABLE_SIZE_MAX];
    sync_master_address(server->sync, master);
    if (number != 0) {
        return error_set(ret_error, STATUS_UNAVAILABLE,
                         "this tablet server does not know table number %llu; ask the master at %s",
                         (unsigned long long)number, master);
    }
    return error_set(ret_error, STATUS_UNAVAILABLE,
                     "this tablet server does not know table '%s'; ask the master at %s",
                     bytes_printable(name, text), master);
}

/* After a start without a master no more is known than what is served here. */
static enum status locate_own(struct small_request *request,
                              uint64_t table,
                              struct bytes row,
                              struct location *ret_location)
{
    struct server *server = request->server;
    struct served served;

    if (!served_map_find(server->served, table, row, &served)) {
        return STATUS_UNAVAILABLE;
    }
    if (!served_holds(&served)) {
        served_release(&served);
        return STATUS_UNAVAILABLE;
    }
    const struct store_tablet_descriptor *descriptor = store_tablet_describe(served.tablet);
    struct location location = {
        .tablet = descriptor->tablet,
        .table = table,
        /* That of a replica is the loop's, and changes. */
        .configuration = served.serving != NULL ? serving_look(served.serving).version
                                                : descriptor->configuration,
        .range = {arena_copy(&request->arena, descriptor->range.start),
                  arena_copy(&request->arena, descriptor->range.end)},
        .server = server->number,
        .address = bytes_of_text(server->address),
        .state = TABLET_SERVING,
    };
    served_release(&served);
    if (location.range.start.data == NULL || location.range.end.data == NULL) {
        return STATUS_NO_MEMORY;
    }
    *ret_location = location;
    return STATUS_OK;
}

static enum status find_locations(struct small_request *request,
                                  const struct locate_request *locate,
                                  struct locate_response *response,
                                  struct error *ret_error)
{
    struct server *server = request->server;
    uint32_t count_max = locate->count_max > 0 ? locate->count_max : LOCATE_COUNT_DEFAULT;
    struct location *locations = NULL;
    char row[BYTES_PRINTABLE_SIZE_MAX];

    enum status status = location_map_list(server->locations, response->table.number, locate->row,
                                           count_max < LOCATE_COUNT_MAX ? count_max
                                                                        : LOCATE_COUNT_MAX,
                                           &request->arena, &locations, &response->location_count);
    response->locations = locations;
    if (status == STATUS_OK &&
        (response->location_count == 0 || !row_range_contains(&locations[0].range, locate->row))) {
        response->location_count = 1;
        status = locate_own(request, response->table.number, locate->row, locations);
    }
    if (status == STATUS_UNAVAILABLE) {
        char master[SYNC_ADDRESS_BYTES];
        sync_master_address(server->sync, master);
        return error_set(ret_error, status,
                         "this tablet server does not know who serves row '%s'; ask the master "
                         "at %s",
                         bytes_printable(locate->row, row), master);
    }
    return status;
}

static enum status answer_locate(struct small_request *request,
                                 struct buffer *message,
                                 struct error *ret_error)
{
    struct schema_cache *schemas = request->server->schemas;
    struct locate_request locate;
    struct locate_response response = {0};

    enum status status = locate_request_decode(request->body, &request->arena, &locate, ret_error);
    if (status != STATUS_OK) {
        return status;
    }
    struct schema *schema = locate.table != 0 ? schema_cache_find(schemas, locate.table)
                                              : schema_cache_find_by_name(schemas, locate.name);
    if (schema == NULL) {
        return refuse_unknown(request->server, locate.name, locate.table, ret_error);
    }
    response.table = *schema_table(schema);
    status = find_locations(request, &locate, &response, ret_error);
    if (status == STATUS_OK) {
        locate_response_encode(&response, message);
    }
    schema_release(schema);
    return status;
}

static enum status answer_get_table(struct small_request *request,
                                    struct buffer *message,
                                    struct error *ret_error)
{
    struct server *server = request->server;
    struct table_name_request wanted;

    enum status status = table_name_request_decode(request->body, &request->arena, &wanted,
                                                   ret_error);
    if (status != STATUS_OK) {
        return status;
    }
    struct schema *schema = schema_cache_find_by_name(server->schemas, wanted.name);
    if (schema == NULL) {
        return refuse_unknown(server, wanted.name, 0, ret_error);
    }
    struct table_response response = {
        .table = *schema_table(schema),
        .tablet_count = location_map_count(server->locations, schema_table(schema)->number),
    };
    table_response_encode(&response, message);
    schema_release(schema);
    return STATUS_OK;
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
    served_release(&served);
    return status;
}

/* An empty request asks for everything. */
static enum status read_brief(struct small_request *request,
                              bool *ret_brief,
                              struct error *ret_error)
{
    if (request->body.size_bytes == 0) {
        return STATUS_OK;
    }
    struct wire_reader reader = wire_reader_open(request->body, &request->arena, "status_request",
                                                 ret_error);
    struct wire_array fields = wire_read_message(&reader);
    *ret_brief = wire_read_bool(&reader, &fields, "brief");
    return wire_reader_finish(&reader, &fields);
}

static enum status answer_status(struct small_request *request,
                                 struct buffer *message,
                                 struct error *ret_error)
{
    bool brief = false;
    enum status status = read_brief(request, &brief, ret_error);
    if (status == STATUS_OK) {
        status_report_write(request->server, brief, message);
    }
    return status;
}

static const struct {
    enum method method;
    const char *name;
    answerer answer; /* NULL: only a master does */
} METHODS[] = {
    {METHOD_LOCATE, "LOCATE", answer_locate},
    {METHOD_GET_TABLE, "GET_TABLE", answer_get_table},
    {METHOD_SAMPLE, "SAMPLE", answer_sample},
    {METHOD_STATUS, "STATUS", answer_status},
    {METHOD_CREATE_TABLE, "CREATE_TABLE", NULL},
    {METHOD_DELETE_TABLE, "DELETE_TABLE", NULL},
    {METHOD_ALTER_TABLE, "ALTER_TABLE", NULL},
    {METHOD_LIST_TABLES, "LIST_TABLES", NULL},
    {METHOD_SPLIT_TABLET, "SPLIT_TABLET", NULL},
    {METHOD_LIST_SERVERS, "LIST_SERVERS", NULL},
    {METHOD_PUT_DOCUMENTS, "PUT_DOCUMENTS", NULL},
    {METHOD_LIST_DOCUMENTS, "LIST_DOCUMENTS", NULL},
    {METHOD_LIST_HOT_TABLETS, "LIST_HOT_TABLETS", NULL},
    {METHOD_LIST_HOT_KEYS, "LIST_HOT_KEYS", NULL},
    {METHOD_ADVISE, "ADVISE", NULL},
    {METHOD_LIST_EVENTS, "LIST_EVENTS", NULL},
    {METHOD_LIST_HEAT, "LIST_HEAT", NULL},
    {METHOD_DRAIN_SERVER, "DRAIN_SERVER", NULL},
    {METHOD_MERGE_TABLETS, "MERGE_TABLETS", NULL},
    {METHOD_MASTER, "MASTER", NULL},
    {METHOD_RECOVER, "RECOVER", NULL},
    {METHOD_SYNC, "SYNC", NULL},
    {METHOD_PROPOSE, "PROPOSE", NULL},
};

static answerer answerer_of(enum method method)
{
    for (size_t i = 0; i < sizeof METHODS / sizeof *METHODS; i++) {
        if (METHODS[i].method == method) {
            return METHODS[i].answer;
        }
    }
    return NULL;
}

static void refuse_method(const struct server *server,
                          enum method method,
                          struct transport_reply *reply)
{
    const char *name = "this method";
    char master[SYNC_ADDRESS_BYTES];
    struct error error = {.status = STATUS_OK};

    sync_master_address(server->sync, master);
    for (size_t i = 0; i < sizeof METHODS / sizeof *METHODS; i++) {
        name = METHODS[i].method == method ? METHODS[i].name : name;
    }
    (void)error_set(&error, STATUS_UNIMPLEMENTED,
                    "a tablet server does not answer %s; ask the master at %s", name, master);
    transport_reply_fail(reply, error.status, error.text);
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
    /* Sampling walks through a tablet; the rest is looked up. */
    worker_pool_submit(server->workers, &request->job,
                       transport->method == METHOD_SAMPLE ? JOB_URGENT : JOB_PROMPT);
}

/* Also while the server ends: what is under way must be committed. */
static void take_of_peer(struct server *server,
                         const struct transport_request *request,
                         struct transport_reply *reply)
{
    if (server->peers != NULL) {
        peers_on_request(server->peers, request, reply);
    } else {
        transport_reply_fail(reply, STATUS_UNIMPLEMENTED,
                             "this tablet server does not replicate (replicate = false)");
    }
}

void requests_on_request(void *context,
                         const struct transport_request *request,
                         struct transport_reply *reply)
{
    struct server *server = context;

    if (request->method == METHOD_BEACON || request->method == METHOD_REPLICATE) {
        take_of_peer(server, request, reply);
    } else if (!atomic_load(&server->open)) {
        transport_reply_fail(reply, STATUS_UNAVAILABLE, "the server is starting or stopping");
    } else if (sync_is_usurped(server->sync)) {
        transport_reply_fail(reply, STATUS_UNAVAILABLE,
                             "another process runs as this server; its log says which");
    } else if (request->method == METHOD_OPERATIONS) {
        batch_start(server, request, reply);
    } else if (request->method == METHOD_SCAN) {
        scan_start(server, request, reply);
    } else if (answerer_of(request->method) != NULL) {
        start_small(server, request, reply);
    } else {
        refuse_method(server, request->method, reply);
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
