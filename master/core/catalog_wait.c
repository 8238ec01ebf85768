#include "common/base/assert.h"
#include "common/base/memory.h"
#include "master/core/catalog_parts.h"
#include "master/core/state/catalog_state.h"

/*
 * Requests whose change is durable, but who are promised more: that the tablets serve, that every
 * living server knows.  They are answered when that holds, or when their time is over, saying what
 * is missing; never as UNAVAILABLE, which would say that nothing was done: clients ask for that again.
 */

void request_destroy(struct catalog *catalog, struct open_request *request)
{
    ASSERT(catalog->request_count > 0);
    list_remove(&request->link);
    if (request->method == METHOD_PROPOSE) {
        ASSERT(catalog->proposal_count > 0);
        catalog->proposal_count--;
    }
    buffer_deinit(&request->answer);
    memory_free(request);
    catalog->request_count--;
}

static void answer_error(struct catalog *catalog,
                         struct open_request *request,
                         const struct error *error)
{
    uint64_t number = request->number;
    request_destroy(catalog, request);
    emit_error(catalog, number, error);
}

static void answer(struct catalog *catalog, struct open_request *request, struct buffer *message)
{
    uint64_t number = request->number;
    request_destroy(catalog, request);
    emit_reply(catalog, number, message);
}

void wait_answer_prepared(struct catalog *catalog, struct open_request *request)
{
    struct buffer message = request->answer;
    buffer_init(&request->answer);
    answer(catalog, request, &message);
}

static bool is_over(const struct catalog *catalog, const struct open_request *request)
{
    return catalog->now_ns >= request->deadline_ns;
}

/* --- a table's tablets ------------------------------------------------------------------------ */

static void name_missing_tablet(const struct catalog *catalog,
                                const struct table_entry *entry,
                                struct error *ret_error)
{
    const struct table *table = &entry->image->record.table;
    size_t missing = entry->by_state[TABLET_CREATING] + entry->by_state[TABLET_UNAVAILABLE];

    for (size_t i = 0; i < entry->tablet_count; i++) {
        const struct tablet_record *record = &entry->tablets[i]->record;
        if (record->state == TABLET_SERVING || record->state == TABLET_SPLITTING) {
            continue;
        }
        const struct server *server = state_server(catalog, tablet_record_leader(record).server);
        (void)error_set(ret_error, STATUS_DEADLINE_EXCEEDED,
                        "table '%.*s' exists, but %zu of its %zu tablets do not serve yet: tablet "
                        "%llu on server %llu (%s) %s",
                        (int)table->id.size_bytes, (const char *)table->id.data, missing,
                        entry->tablet_count, (unsigned long long)record->number,
                        (unsigned long long)server->number, server->alive ? "alive" : "not alive",
                        record->state == TABLET_UNAVAILABLE ? "is unavailable"
                                                            : "is being created");
        return;
    }
}

static void check_table(struct catalog *catalog, struct open_request *request)
{
    const struct table_entry *entry = number_map_get(&catalog->tables, request->table);
    struct error error = {0};

    if (entry == NULL) {
        (void)error_set(&error, STATUS_ABORTED, "the table was deleted while it was created");
        answer_error(catalog, request, &error);
        return;
    }
    if (entry->by_state[TABLET_SERVING] + entry->by_state[TABLET_SPLITTING] ==
        entry->tablet_count) {
        struct table_response response = read_table_response(entry);
        struct buffer message = effects_begin_message();
        table_response_encode(&response, &message);
        answer(catalog, request, &message);
    } else if (is_over(catalog, request)) {
        name_missing_tablet(catalog, entry, &error);
        answer_error(catalog, request, &error);
    }
}

/* --- two children ----------------------------------------------------------------------------- */

static uint32_t child_state(const struct catalog *catalog, uint64_t number)
{
    const struct tablet *tablet = number_map_get(&catalog->tablets, number);
    return tablet == NULL ? TABLET_SERVING : tablet->record.state; /* gone: split further */
}

static void check_children(struct catalog *catalog, struct open_request *request)
{
    uint32_t left = child_state(catalog, request->left);
    uint32_t right = child_state(catalog, request->right);
    struct error error = {0};

    if (number_map_get(&catalog->tables, request->table) == NULL) {
        (void)error_set(&error, STATUS_ABORTED, "the table was deleted while its tablet was split");
        answer_error(catalog, request, &error);
        return;
    }
    if (number_map_get(&catalog->tablets, request->parent) != NULL) {
        if (is_over(catalog, request)) {
            (void)error_set(&error, STATUS_DEADLINE_EXCEEDED,
                            "the split into tablets %llu and %llu is ordered, but the tablet's "
                            "primary has not carried it out yet",
                            (unsigned long long)request->left, (unsigned long long)request->right);
            answer_error(catalog, request, &error);
        }
        return;
    }
    if (left == TABLET_SERVING && right == TABLET_SERVING) {
        struct split_response response = {request->left, request->right};
        struct buffer message = effects_begin_message();
        split_response_encode(&response, &message);
        answer(catalog, request, &message);
    } else if (is_over(catalog, request)) {
        bool lost = left == TABLET_UNAVAILABLE || right == TABLET_UNAVAILABLE;
        (void)error_set(&error, STATUS_DEADLINE_EXCEEDED,
                        "the split into tablets %llu and %llu is made, but %s",
                        (unsigned long long)request->left, (unsigned long long)request->right,
                        lost ? "they are unavailable" : "their server has not carried it out yet");
        answer_error(catalog, request, &error);
    }
}

/* --- one of two --------------------------------------------------------------------------------- */

static void check_merged(struct catalog *catalog, struct open_request *request)
{
    struct tablet_heirs heirs;
    struct error error = {0};
    const struct tablet *left = number_map_get(&catalog->tablets, request->left);

    if (left != NULL) {
        if (left->record.goal.wish != GOAL_MERGE || left->record.goal.right != request->right) {
            (void)error_set(&error, STATUS_ABORTED,
                            "the order to merge tablets %llu and %llu was taken back",
                            (unsigned long long)request->left, (unsigned long long)request->right);
            answer_error(catalog, request, &error);
        } else if (is_over(catalog, request)) {
            (void)error_set(
                &error, STATUS_DEADLINE_EXCEEDED,
                "the merge of tablets %llu and %llu is ordered, but not carried out yet",
                (unsigned long long)request->left, (unsigned long long)request->right);
            answer_error(catalog, request, &error);
        }
    } else if (state_fate(catalog, request->left, &heirs) == PROPOSED_MERGED) {
        struct merge_response response = {heirs.merged};
        struct buffer message = effects_begin_message();
        merge_response_encode(&response, &message);
        answer(catalog, request, &message);
    } else {
        (void)error_set(&error, STATUS_ABORTED, "the table was deleted while tablets were merged");
        answer_error(catalog, request, &error);
    }
}

/* --- a version known everywhere --------------------------------------------------------------- */

/* A living server that does not know version yet; NULL if all do.  Those that a master which has just begun is still to
 * hear of may live, and what they serve by is older. */
static const struct server *ignorant_server(const struct catalog *catalog, uint64_t version)
{
    for (size_t i = 0; i < catalog->server_count; i++) {
        const struct server *server = catalog->servers[i];
        if (state_may_live(catalog, server) && server->known_version < version) {
            return server;
        }
    }
    return NULL;
}

static void check_known(struct catalog *catalog, struct open_request *request)
{
    const struct server *ignorant = ignorant_server(catalog, request->version);
    struct error error = {0};

    if (ignorant == NULL) {
        wait_answer_prepared(catalog, request);
    } else if (is_over(catalog, request)) {
        (void)error_set(&error, STATUS_DEADLINE_EXCEEDED,
                        "the change is made, but server %llu does not know of it yet",
                        (unsigned long long)ignorant->number);
        answer_error(catalog, request, &error);
    }
}

/* --- all -------------------------------------------------------------------------------------- */

static void check_turn(struct catalog *catalog, struct open_request *request)
{
    struct error error = {0};
    if (is_over(catalog, request)) {
        (void)error_set(&error, STATUS_DEADLINE_EXCEEDED,
                        "the master is busy: nothing was changed, %zu requests wait",
                        catalog->request_count);
        answer_error(catalog, request, &error);
    }
}

void wait_start(struct catalog *catalog, struct open_request *request, enum waiting_for what)
{
    request->waiting_for = what;
    list_append(&catalog->waiters, &request->link, request);
}

void wait_check(struct catalog *catalog)
{
    LIST_FOREACH(struct open_request, queued, &catalog->queue) {
        check_turn(catalog, queued);
    }
    LIST_FOREACH(struct open_request, proposal, &catalog->proposals) {
        check_turn(catalog, proposal);
    }
    LIST_FOREACH(struct open_request, request, &catalog->waiters) {
        switch (request->waiting_for) {
        case WAITING_TABLE:
            check_table(catalog, request);
            break;
        case WAITING_CHILDREN:
            check_children(catalog, request);
            break;
        case WAITING_KNOWN:
            check_known(catalog, request);
            break;
        case WAITING_MERGED:
            check_merged(catalog, request);
            break;
        case WAITING_TURN:
        case WAITING_COMMIT:
            UNREACHABLE();
        }
    }
}

int64_t wait_deadline_ns(const struct catalog *catalog)
{
    int64_t deadline_ns = CATALOG_NEVER;

    LIST_FOREACH(const struct open_request, queued, &catalog->queue) {
        deadline_ns = queued->deadline_ns < deadline_ns ? queued->deadline_ns : deadline_ns;
    }
    LIST_FOREACH(const struct open_request, proposal, &catalog->proposals) {
        deadline_ns = proposal->deadline_ns < deadline_ns ? proposal->deadline_ns : deadline_ns;
    }
    LIST_FOREACH(const struct open_request, request, &catalog->waiters) {
        deadline_ns = request->deadline_ns < deadline_ns ? request->deadline_ns : deadline_ns;
    }
    return deadline_ns;
}
