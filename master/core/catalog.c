/* The step machine: requests in turn, transactions one at a time, and what time does (catalog.h). */
#include "master/core/catalog.h"

#include <string.h>

#include "common/base/assert.h"
#include "common/base/memory.h"
#include "common/wire/writer.h"
#include "master/core/catalog_parts.h"
#include "master/core/state/catalog_state.h"
#include "master/core/state/transaction.h"

/* --- requests --------------------------------------------------------------------------------- */

static void refuse_request(struct catalog *catalog,
                           uint64_t request,
                           enum status status,
                           const char *text)
{
    struct error error = {0};
    (void)error_set(&error, status, "%s", text);
    emit_error(catalog, request, &error);
}

/* Proposals have room of their own: a tablet whose member died cannot wait until people have fewer
 * wishes.  They are bounded by their servers, which repeat what was refused. */
static bool has_room(const struct catalog *catalog, enum method method)
{
    return method == METHOD_PROPOSE
               ? catalog->proposal_count < CATALOG_PROPOSALS_WAITING_MAX
               : catalog->request_count - catalog->proposal_count < catalog->settings.requests_max;
}

/* A copy that outlives the step, at the end of its queue. */
static enum status enqueue(struct catalog *catalog, const struct catalog_event *event)
{
    if (!has_room(catalog, event->method)) {
        refuse_request(catalog, event->number, STATUS_UNAVAILABLE,
                       "too many requests wait for the master: try again later");
        return STATUS_OK;
    }
    if (event->deadline_ns != 0 && event->now_ns >= event->deadline_ns) {
        refuse_request(catalog, event->number, STATUS_DEADLINE_EXCEEDED,
                       "the request came too late: nothing was changed");
        return STATUS_OK;
    }
    struct open_request *request = memory_allocate(sizeof *request + event->body.size_bytes);
    if (request == NULL) {
        return STATUS_NO_MEMORY;
    }
    *request = (struct open_request){
        .number = event->number,
        .method = event->method,
        .deadline_ns = event->deadline_ns != 0
                           ? event->deadline_ns
                           : event->now_ns + catalog->settings.request_timeout_ns,
        .waiting_for = WAITING_TURN,
        .body = {(const uint8_t *)(request + 1), event->body.size_bytes},
    };
    if (event->body.size_bytes > 0) {
        memcpy(request + 1, event->body.data, event->body.size_bytes);
    }
    bool proposal = event->method == METHOD_PROPOSE;
    list_append(proposal ? &catalog->proposals : &catalog->queue, &request->link, request);
    catalog->request_count++;
    catalog->proposal_count += proposal;
    return STATUS_OK;
}

/* What is lost is read at once; what is chosen of it waits for its turn. */
static enum status on_recover(struct catalog *catalog, const struct catalog_event *event)
{
    struct recover_request recover;
    struct error error = {0};
    enum status status = recover_request_decode(event->body, &catalog->scratch, &recover, &error);

    if (status == STATUS_OK && recover.accept_loss) {
        return enqueue(catalog, event);
    }
    if (status == STATUS_OK) {
        status = recover_read(catalog, event->number, &recover, &error);
    }
    if (status == STATUS_NO_MEMORY || status == STATUS_OK) {
        return status;
    }
    error.status = status == STATUS_MALFORMED ? STATUS_INVALID_ARGUMENT : status;
    emit_error(catalog, event->number, &error);
    return STATUS_OK;
}

static void refuse_malformed(struct catalog *catalog, uint64_t request, struct error *error)
{
    error->status = STATUS_INVALID_ARGUMENT;
    emit_error(catalog, request, error);
}

/* A request that is decoded here and answered at once. */
static enum status on_read(struct catalog *catalog, const struct catalog_event *event)
{
    struct error error = {0};
    enum status status = STATUS_OK;

    if (event->method == METHOD_LOCATE) {
        struct locate_request locate;
        status = locate_request_decode(event->body, &catalog->scratch, &locate, &error);
        if (status == STATUS_OK) {
            read_locate(catalog, event->number, &locate);
        }
    } else if (event->method == METHOD_GET_TABLE) {
        struct table_name_request name;
        status = table_name_request_decode(event->body, &catalog->scratch, &name, &error);
        if (status == STATUS_OK) {
            read_get_table(catalog, event->number, &name);
        }
    } else if (event->method == METHOD_LIST_DOCUMENTS) {
        struct list_documents_request list;
        status = list_documents_request_decode(event->body, &catalog->scratch, &list, &error);
        if (status == STATUS_OK) {
            read_list_documents(catalog, event->number, &list);
        }
    } else if (event->method == METHOD_LIST_EVENTS) {
        struct list_events_request list;
        status = list_events_request_decode(event->body, &catalog->scratch, &list, &error);
        if (status == STATUS_OK) {
            read_list_events(catalog, event->number, &list);
        }
    } else if (event->method == METHOD_LIST_HOT_TABLETS) {
        struct list_hot_tablets_request list;
        status = list_hot_tablets_request_decode(event->body, &catalog->scratch, &list, &error);
        if (status == STATUS_OK) {
            read_list_hot_tablets(catalog, event->number, &list);
        }
    } else if (event->method == METHOD_LIST_HOT_KEYS) {
        struct list_hot_keys_request list;
        status = list_hot_keys_request_decode(event->body, &catalog->scratch, &list, &error);
        if (status == STATUS_OK) {
            read_list_hot_keys(catalog, event->number, &list);
        }
    } else if (event->method == METHOD_ADVISE) {
        struct advise_request ask;
        status = advise_request_decode(event->body, &catalog->scratch, &ask, &error);
        if (status == STATUS_OK) {
            read_advise(catalog, event->number, &ask);
        }
    } else {
        struct sync_request sync;
        ASSERT(event->method == METHOD_SYNC);
        status = sync_request_decode(event->body, &catalog->scratch, &sync, &error);
        if (status == STATUS_OK) {
            return sync_receive(catalog, event, &sync);
        }
    }
    if (status == STATUS_NO_MEMORY) {
        return status;
    }
    if (status != STATUS_OK) {
        refuse_malformed(catalog, event->number, &error);
    }
    return STATUS_OK;
}

/* People may look, and servers may come whose catalog it is. */
static bool goes_on_in_dispute(enum method method)
{
    return method == METHOD_SYNC || method == METHOD_LIST_SERVERS;
}

static enum status on_request(struct catalog *catalog, const struct catalog_event *event)
{
    const char *dispute = identity_dispute(catalog);

    if (dispute != NULL && !goes_on_in_dispute(event->method)) {
        refuse_request(catalog, event->number, STATUS_UNAVAILABLE, dispute);
        return STATUS_OK;
    }
    switch ((int)event->method) {
    case METHOD_LOCATE:
    case METHOD_GET_TABLE:
    case METHOD_LIST_DOCUMENTS:
    case METHOD_LIST_HOT_TABLETS:
    case METHOD_LIST_HOT_KEYS:
    case METHOD_ADVISE:
    case METHOD_LIST_EVENTS:
    case METHOD_SYNC:
        return on_read(catalog, event);
    case METHOD_LIST_TABLES:
        read_list_tables(catalog, event->number);
        return STATUS_OK;
    case METHOD_LIST_SERVERS:
        read_list_servers(catalog, event->number);
        return STATUS_OK;
    case METHOD_CREATE_TABLE:
    case METHOD_DELETE_TABLE:
    case METHOD_ALTER_TABLE:
    case METHOD_SPLIT_TABLET:
    case METHOD_PUT_DOCUMENTS:
    case METHOD_DRAIN_SERVER:
    case METHOD_MERGE_TABLETS:
    case METHOD_PROPOSE:
        return enqueue(catalog, event);
    case METHOD_RECOVER:
        return on_recover(catalog, event);
    default:
        refuse_request(catalog, event->number, STATUS_UNIMPLEMENTED,
                       "the master does not answer this method");
        return STATUS_OK;
    }
}

/* --- transactions ----------------------------------------------------------------------------- */

static void on_persisted(struct catalog *catalog, const struct catalog_event *event)
{
    struct list proposals;

    ASSERT(catalog->pending != NULL);
    ASSERT(catalog->pending->number == event->number);
    struct open_request *request = catalog->pending->request;
    list_move(&catalog->pending->proposals, &proposals);
    transaction_apply(catalog);
    if (request != NULL) {
        change_committed(catalog, request);
    }
    propose_committed(catalog, &proposals);
}

static void on_persist_failed(struct catalog *catalog, const struct catalog_event *event)
{
    struct list proposals;

    ASSERT(catalog->pending != NULL);
    ASSERT(catalog->pending->number == event->number);
    struct open_request *request = catalog->pending->request;
    list_move(&catalog->pending->proposals, &proposals);
    if (request == NULL && list_is_empty(&proposals)) {
        plan_failed(catalog, catalog->pending);
    }
    transaction_abandon(catalog);
    emit_note(catalog, &(struct catalog_note){.event = "catalog_write_failed", .warning = true},
              "%.100s", event->error->text);
    if (request != NULL) {
        change_failed(catalog, request, event->error);
    }
    propose_failed(catalog, &proposals, event->error);
}

/* Until a transaction is pending, or there is nothing more to do. */
static bool take_turn(struct catalog *catalog, enum turn turn)
{
    switch (turn) {
    case TURN_PROPOSALS:
        while (catalog->pending == NULL && !list_is_empty(&catalog->proposals)) {
            propose_begin(catalog);
        }
        break;
    case TURN_PLAN:
        (void)plan_begin(catalog);
        break;
    case TURN_REQUEST:
        while (catalog->pending == NULL && !list_is_empty(&catalog->queue)) {
            (void)change_begin(catalog, list_first(&catalog->queue));
        }
        break;
    }
    return catalog->pending != NULL;
}

/* Begin the next transaction, if any: in turn, so that nobody's many keep the others out. */
static void drive(struct catalog *catalog)
{
    unsigned last = catalog->turn;
    for (unsigned i = 1; i <= TURN_COUNT && catalog->pending == NULL; i++) {
        enum turn turn = (enum turn)((last + i) % TURN_COUNT);
        if (take_turn(catalog, turn)) {
            catalog->turn = turn;
        }
    }
}

/* --- servers and time ------------------------------------------------------------------------- */

static int64_t silence_ends_ns(const struct catalog *catalog, const struct server *server)
{
    return server->heard_ns + catalog->settings.server_timeout_ns;
}

static void look_at_servers(struct catalog *catalog)
{
    for (size_t i = 0; i < catalog->server_count; i++) {
        struct server *server = catalog->servers[i];
        if (server->sync.parked &&
            (catalog->now_ns >= server->sync.deadline_ns || delta_is_due(catalog, server))) {
            delta_unpark(catalog, server);
        }
        if (server->alive && catalog->now_ns >= silence_ends_ns(catalog, server)) {
            server->alive = false;
            emit_note(catalog,
                      &(struct catalog_note){
                          .event = "server_lost", .warning = true, .server = server->number},
                      "%s", "not heard of within server.timeout");
        }
    }
}

int64_t catalog_deadline_ns(const struct catalog *catalog)
{
    int64_t deadline_ns = wait_deadline_ns(catalog);
    int64_t plan_ns = plan_deadline_ns(catalog);

    deadline_ns = plan_ns < deadline_ns ? plan_ns : deadline_ns;
    for (size_t i = 0; i < catalog->server_count; i++) {
        const struct server *server = catalog->servers[i];
        if (server->sync.parked && server->sync.deadline_ns < deadline_ns) {
            deadline_ns = server->sync.deadline_ns;
        }
        if (state_may_live(catalog, server) && silence_ends_ns(catalog, server) < deadline_ns) {
            deadline_ns = silence_ends_ns(catalog, server);
        }
    }
    return deadline_ns;
}

/* --- the step --------------------------------------------------------------------------------- */

enum status catalog_step(struct catalog *catalog,
                         const struct catalog_event *event,
                         struct catalog_effects *ret_effects)
{
    enum status status = STATUS_OK;

    ASSERT(event->now_ns >= catalog->now_ns);
    catalog->now_ns = event->now_ns;
    catalog->now_us = event->now_us;
    catalog->effect_count = 0;
    catalog->well = false;
    arena_reset(&catalog->scratch);
    *ret_effects = (struct catalog_effects){NULL, 0};
    if (event->type == CATALOG_EVENT_REQUEST) {
        status = effects_reserve(catalog);
        if (status != STATUS_OK) {
            return status;
        }
    }
    switch (event->type) {
    case CATALOG_EVENT_REQUEST:
        status = on_request(catalog, event);
        break;
    case CATALOG_EVENT_TICK:
        break;
    case CATALOG_EVENT_PERSISTED:
        on_persisted(catalog, event);
        break;
    case CATALOG_EVENT_PERSIST_FAILED:
        on_persist_failed(catalog, event);
        break;
    }
    if (status == STATUS_OK) {
        look_at_servers(catalog);
        wait_check(catalog); /* also: whoever waited too long for a turn gets none */
        drive(catalog);
        wait_check(catalog);
    }
    *ret_effects = (struct catalog_effects){catalog->effects, catalog->effect_count};
    return status;
}
