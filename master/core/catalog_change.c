#include "common/base/assert.h"
#include "master/core/catalog_parts.h"
#include "master/core/schema_change.h"
#include "master/core/state/catalog_state.h"
#include "master/core/state/transaction.h"

/*
 * The requests that change the catalog.  Each is checked completely, then staged; what goes wrong
 * before sealing is the answer, and nothing has changed.
 */

/* --- create ----------------------------------------------------------------------------------- */

static enum status check_room(const struct catalog *catalog,
                              const struct table *wanted,
                              size_t tablet_count,
                              struct error *ret_error)
{
    char text[BYTES_PRINTABLE_SIZE_MAX];

    if (state_table_by_name(catalog, wanted->id) != NULL) {
        return error_set(ret_error, STATUS_ALREADY_EXISTS, "table '%s' already exists",
                         bytes_printable(wanted->id, text));
    }
    if (catalog->table_count >= catalog->settings.tables_max) {
        return error_set(ret_error, STATUS_RESOURCE_EXHAUSTED,
                         "there are %zu tables already, the limit of this cluster (tables_max)",
                         catalog->table_count);
    }
    if (catalog->tablets.count + tablet_count > catalog->settings.tablets_max) {
        return error_set(ret_error, STATUS_RESOURCE_EXHAUSTED,
                         "%zu more tablets would be over the limit of this cluster (tablets_max)",
                         tablet_count);
    }
    return STATUS_OK;
}

/* One tablet between each two splits, bound to its stores. */
static void stage_tablets(const struct catalog *catalog,
                          struct transaction *transaction,
                          const struct table *table,
                          const struct split_keys *splits,
                          struct store *const *stores)
{
    for (size_t i = 0; i <= splits->count; i++) {
        struct tablet_record record = {
            .number = transaction_next_tablet(transaction),
            .table = table->number,
            .state = TABLET_CREATING,
            .flags = i == 0 ? 0 : TABLET_FLAG_START_BY_HAND,
            .soft_limit_bytes = catalog->settings.soft_limit_start_bytes,
            .range.start = i == 0 ? BYTES_EMPTY : splits->keys[i - 1],
            .range.end = i == splits->count ? BYTES_EMPTY : splits->keys[i],
        };
        plan_put_copies(&record, stores + i * table->replicas, table->replicas);
        transaction_add_tablet(transaction, &record);
    }
}

/* What the client did not say. */
static void set_defaults(const struct catalog_settings *settings, struct table *table)
{
    if (table->replicas == 0) {
        table->replicas = settings->replicas;
    }
    if (table->min_in_sync == 0) {
        table->min_in_sync = settings->min_in_sync < table->replicas ? settings->min_in_sync
                                                                     : table->replicas;
    }
}

static enum status stage_create(struct catalog *catalog,
                                struct transaction *transaction,
                                struct open_request *request,
                                struct error *ret_error)
{
    struct arena *arena = &catalog->scratch;
    struct create_table_request create;
    struct split_keys splits;
    struct table table;
    struct store **stores = NULL;
    enum status status = create_table_request_decode(request->body, arena, &create, ret_error);

    if (status == STATUS_OK) {
        status = schema_splits(arena, create.splits, create.split_count, &splits, ret_error);
    }
    if (status == STATUS_OK) {
        request->table = transaction_next_table(transaction);
        set_defaults(&catalog->settings, &create.table);
        status = schema_create(arena, &create.table, request->table, &table, ret_error);
    }
    if (status == STATUS_OK) {
        status = check_room(catalog, &table, splits.count + 1, ret_error);
    }
    if (status != STATUS_OK) {
        return status;
    }
    const struct plan_wanted wanted = {request->table, 0, splits.count + 1, table.replicas};
    stores = arena_allocate_array(arena, wanted.tablets * wanted.copies, sizeof(struct store *));
    if (stores == NULL) {
        return error_set(ret_error, STATUS_NO_MEMORY, "no memory to create a table");
    }
    status = plan_place(catalog, &wanted, stores, ret_error);
    if (status != STATUS_OK) {
        return status;
    }
    transaction_add_table(transaction, &table, wanted.tablets);
    stage_tablets(catalog, transaction, &table, &splits, stores);
    emit_note(catalog, &(struct catalog_note){.event = "table_creating", .table = request->table},
              "%.*s: %zu tablets", (int)table.id.size_bytes, (const char *)table.id.data,
              wanted.tablets);
    return STATUS_OK;
}

/* --- delete and alter ------------------------------------------------------------------------- */

struct table_entry *change_find_table(const struct catalog *catalog,
                                      struct bytes name,
                                      struct error *ret_error)
{
    char text[BYTES_PRINTABLE_SIZE_MAX];
    struct table_entry *entry = state_table_by_name(catalog, name);

    if (entry == NULL) {
        (void)error_set(ret_error, STATUS_NOT_FOUND, "table '%s' was not found",
                        bytes_printable(name, text));
    }
    return entry;
}

/* Encode now what will be answered when every server knows of the change. */
static void prepare_answer(struct open_request *request, const struct table_response *response)
{
    request->answer = effects_begin_message();
    table_response_encode(response, &request->answer);
}

static enum status stage_delete(struct catalog *catalog,
                                struct transaction *transaction,
                                struct open_request *request,
                                struct error *ret_error)
{
    struct table_name_request name;
    enum status status = table_name_request_decode(request->body, &catalog->scratch, &name,
                                                   ret_error);

    if (status != STATUS_OK) {
        return status;
    }
    const struct table_entry *entry = change_find_table(catalog, name.name, ret_error);
    if (entry == NULL) {
        return STATUS_NOT_FOUND;
    }
    const struct table *table = &entry->image->record.table;
    if (table->deletion_protection) {
        return error_set(ret_error, STATUS_FAILED_PRECONDITION,
                         "table '%.*s' has deletion protection: turn it off first",
                         (int)table->id.size_bytes, (const char *)table->id.data);
    }
    struct table_response response = read_table_response(entry);
    prepare_answer(request, &response);
    transaction_remove_table(transaction, entry);
    emit_note(catalog, &(struct catalog_note){.event = "table_deleting", .table = table->number},
              "%.*s", (int)table->id.size_bytes, (const char *)table->id.data);
    return STATUS_OK;
}

/* This master has only just begun, and servers are still to come; or one is being stopped, and its next process may come
 * soon. */
static bool hears_more(const struct catalog *catalog)
{
    for (size_t i = 0; i < catalog->server_count; i++) {
        const struct server *server = catalog->servers[i];
        if (server->alive ? server->leaving : state_may_live(catalog, server)) {
            return true;
        }
    }
    return false;
}

/* More copies are wished only where there are servers for them; what is wished of tablets follows
 * (catalog_goal.c). */
static enum status check_copies(struct catalog *catalog,
                                const struct table *before,
                                const struct table *after,
                                struct error *ret_error)
{
    const struct plan_wanted wanted = {after->number, 0, 1, after->replicas};
    struct store *stores[LIMIT_REPLICAS];
    struct error why = {0};

    if (after->replicas <= before->replicas ||
        plan_place(catalog, &wanted, stores, &why) == STATUS_OK) {
        return STATUS_OK;
    }
    /* else no fault of the moment, which waiting would mend */
    enum status status = hears_more(catalog) ? STATUS_UNAVAILABLE : STATUS_FAILED_PRECONDITION;
    return error_set(ret_error, status, "%s", why.text);
}

static enum status stage_alter(struct catalog *catalog,
                               struct transaction *transaction,
                               struct open_request *request,
                               struct error *ret_error)
{
    struct arena *arena = &catalog->scratch;
    struct alter_table_request alter;
    struct table after;
    enum status status = alter_table_request_decode(request->body, arena, &alter, ret_error);

    if (status != STATUS_OK) {
        return status;
    }
    const struct table_entry *entry = change_find_table(catalog, alter.name, ret_error);
    if (entry == NULL) {
        return STATUS_NOT_FOUND;
    }
    if (alter.alteration_count == 0) {
        return error_set(ret_error, STATUS_INVALID_ARGUMENT, "there is nothing to alter");
    }
    status = schema_alter(arena, &entry->image->record.table, alter.alterations,
                          alter.alteration_count, &after, ret_error);
    if (status == STATUS_OK) {
        status = check_copies(catalog, &entry->image->record.table, &after, ret_error);
    }
    if (status != STATUS_OK) {
        return status;
    }
    struct table_response response = {after, (uint32_t)entry->tablet_count};
    prepare_answer(request, &response);
    transaction_update_table(transaction, &after);
    emit_note(catalog, &(struct catalog_note){.event = "table_altering", .table = after.number},
              "%.*s to version %llu", (int)after.id.size_bytes, (const char *)after.id.data,
              (unsigned long long)after.version);
    return STATUS_OK;
}

/* --- split by hand ---------------------------------------------------------------------------- */

static enum status check_split(const struct catalog *catalog,
                               const struct tablet *tablet,
                               struct bytes row,
                               struct error *ret_error)
{
    char text[BYTES_PRINTABLE_SIZE_MAX];
    unsigned long long number = (unsigned long long)tablet->record.number;

    if (bytes_equal(tablet->record.range.start, row)) {
        return error_set(ret_error, STATUS_INVALID_ARGUMENT,
                         "row '%s' is the first of tablet %llu already", bytes_printable(row, text),
                         number);
    }
    if (catalog->tablets.count >= catalog->settings.tablets_max) {
        return error_set(ret_error, STATUS_RESOURCE_EXHAUSTED,
                         "there are %zu tablets already, the limit of this cluster (tablets_max)",
                         catalog->tablets.count);
    }
    if (!plan_may_split(catalog, tablet)) {
        const char *why = tablet->record.state == TABLET_SPLITTING     ? "is being split"
                          : tablet->record.state == TABLET_CREATING    ? "is being created"
                          : tablet->record.state == TABLET_UNAVAILABLE ? "is unavailable"
                          : tablet->record.goal.wish == GOAL_SPLIT     ? "is being split"
                          : tablet->record.goal.wish == GOAL_MERGE     ? "is being merged"
                                                                   : "is led by an older server";
        return error_set(ret_error, STATUS_UNAVAILABLE, "tablet %llu %s: try again later", number,
                         why);
    }
    return STATUS_OK;
}

static enum status stage_split(struct catalog *catalog,
                               struct transaction *transaction,
                               struct open_request *request,
                               struct error *ret_error)
{
    struct split_request split;
    uint64_t children[2];
    enum status status = split_request_decode(request->body, &catalog->scratch, &split, ret_error);

    if (status != STATUS_OK) {
        return status;
    }
    if (split.row.size_bytes == 0 || split.row.size_bytes > LIMIT_ROW_KEY_BYTES) {
        return error_set(ret_error, STATUS_INVALID_ARGUMENT,
                         "the split row has %zu bytes: a row key has 1 to %d", split.row.size_bytes,
                         LIMIT_ROW_KEY_BYTES);
    }
    const struct table_entry *entry = change_find_table(catalog, split.table, ret_error);
    if (entry == NULL) {
        return STATUS_NOT_FOUND;
    }
    struct tablet *tablet = entry->tablets[state_tablet_index(entry, split.row)];
    status = check_split(catalog, tablet, split.row, ret_error);
    if (status != STATUS_OK) {
        return status;
    }
    plan_stage_split(catalog, transaction, tablet, split.row, true, children);
    request->table = tablet->record.table;
    request->parent = tablet->record.number;
    request->left = children[0];
    request->right = children[1];
    emit_note(catalog,
              &(struct catalog_note){.event = "tablet_split",
                                     .table = tablet->record.table,
                                     .tablet = tablet->record.number,
                                     .server = tablet_record_leader(&tablet->record).server,
                                     .store = tablet_record_leader(&tablet->record).store},
              "into %llu and %llu by hand", (unsigned long long)children[0],
              (unsigned long long)children[1]);
    return STATUS_OK;
}

/* --- the turn of a request -------------------------------------------------------------------- */

static enum status stage(struct catalog *catalog,
                         struct transaction *transaction,
                         struct open_request *request,
                         bool *ret_staged,
                         struct error *ret_error)
{
    if (request->method == METHOD_PUT_DOCUMENTS) {
        return document_stage(catalog, transaction, request, ret_staged, ret_error);
    }
    if (request->method == METHOD_DRAIN_SERVER) {
        return order_stage_drain(catalog, transaction, request, ret_staged, ret_error);
    }
    if (request->method == METHOD_MERGE_TABLETS) {
        return order_stage_merge(catalog, transaction, request, ret_staged, ret_error);
    }
    if (request->method == METHOD_RECOVER) {
        return recover_stage(catalog, transaction, request, ret_staged, ret_error);
    }
    *ret_staged = true;
    if (request->method == METHOD_CREATE_TABLE) {
        return stage_create(catalog, transaction, request, ret_error);
    }
    if (request->method == METHOD_DELETE_TABLE) {
        return stage_delete(catalog, transaction, request, ret_error);
    }
    if (request->method == METHOD_ALTER_TABLE) {
        return stage_alter(catalog, transaction, request, ret_error);
    }
    ASSERT(request->method == METHOD_SPLIT_TABLET);
    return stage_split(catalog, transaction, request, ret_error);
}

static void refuse(struct catalog *catalog, struct open_request *request, struct error *error)
{
    uint64_t number = request->number;
    if (error->status == STATUS_NO_MEMORY) { /* ours, not the client's */
        (void)error_set(error, STATUS_RESOURCE_EXHAUSTED, "the master has no memory for this");
    } else if (error->status == STATUS_MALFORMED) {
        error->status = STATUS_INVALID_ARGUMENT;
    }
    request_destroy(catalog, request);
    emit_error(catalog, number, error);
}

bool change_begin(struct catalog *catalog, struct open_request *request)
{
    struct error error = {.status = STATUS_NO_MEMORY};
    struct transaction *transaction = transaction_begin(catalog, request);
    enum status status = STATUS_NO_MEMORY;
    bool staged = false;

    list_remove(&request->link);
    if (transaction != NULL) {
        status = stage(catalog, transaction, request, &staged, &error);
    }
    if (status == STATUS_OK && !staged) {
        transaction_destroy(transaction);
        wait_answer_prepared(catalog, request);
        return false;
    }
    if (status == STATUS_OK) {
        status = transaction_seal(catalog, transaction);
        error.status = status;
    }
    if (status == STATUS_OK) {
        request->waiting_for = WAITING_COMMIT;
        return true;
    }
    if (transaction != NULL) {
        transaction_destroy(transaction);
    }
    refuse(catalog, request, &error);
    return false;
}

void change_committed(struct catalog *catalog, struct open_request *request)
{
    ASSERT(request->waiting_for == WAITING_COMMIT);
    request->version = catalog->counters.version;
    if (request->method == METHOD_CREATE_TABLE) {
        wait_start(catalog, request, WAITING_TABLE);
    } else if (request->method == METHOD_SPLIT_TABLET) {
        wait_start(catalog, request, WAITING_CHILDREN);
    } else if (request->method == METHOD_MERGE_TABLETS && request->right != 0) {
        wait_start(catalog, request, WAITING_MERGED);
    } else if (request->method == METHOD_PUT_DOCUMENTS || request->method == METHOD_DRAIN_SERVER ||
               request->method == METHOD_MERGE_TABLETS || request->method == METHOD_RECOVER) {
        wait_answer_prepared(catalog, request); /* no server has to know */
    } else {
        wait_start(catalog, request, WAITING_KNOWN);
    }
}

void change_failed(struct catalog *catalog, struct open_request *request, const struct error *why)
{
    struct error error = {0};
    enum status status = why->status == STATUS_NO_SPACE ? STATUS_RESOURCE_EXHAUSTED
                                                        : STATUS_UNAVAILABLE;

    ASSERT(request->waiting_for == WAITING_COMMIT);
    (void)error_set(&error, status, "nothing was changed: the catalog could not be written: %s",
                    why->text);
    refuse(catalog, request, &error);
}
