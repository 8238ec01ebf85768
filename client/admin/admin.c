/* Tables made, changed and listed; tablets split; servers listed; reports. */
#include "client/admin/schema.h"
#include "client/loop/block.h"
#include "client/routing/master_call.h"
#include "client/routing/request.h"
#include "common/base/memory.h"
#include "common/io/transport/transport_address.h"
#include "common/wire/reader.h"
#include "common/wire/writer.h"

/* --- tables ----------------------------------------------------------------------------------- */

static enum status make_create_request(struct master_call *state,
                                       const struct edubba_schema *schema,
                                       const struct edubba_bytes *splits,
                                       size_t split_count)
{
    struct family *families = arena_allocate_array(&state->arena, schema->family_count,
                                                   sizeof *families);
    struct bytes *keys = arena_allocate_array(&state->arena, split_count, sizeof *keys);
    struct create_table_request request = {
        .table = {.id = bytes_of_text(schema->name != NULL ? schema->name : ""),
                  .granularity = schema->micros ? GRANULARITY_MICROS : GRANULARITY_MILLIS,
                  .deletion_protection = schema->deletion_protection,
                  .families = families,
                  .family_count = (uint32_t)schema->family_count,
                  .replicas = schema->replicas,
                  .min_in_sync = schema->min_in_sync,
                  .pinned = schema->pinned},
        .splits = keys,
        .split_count = split_count,
    };
    if (families == NULL || keys == NULL) {
        return client_status_no_memory(&state->error);
    }
    for (size_t i = 0; i < schema->family_count; i++) {
        enum status status = schema_family_from_public(&state->arena, &schema->families[i],
                                                       &families[i], &state->error);
        if (status != STATUS_OK) {
            return status;
        }
    }
    for (size_t i = 0; i < split_count; i++) {
        keys[i] = client_bytes(splits[i]);
    }
    create_table_request_encode(&request, &state->body);
    return STATUS_OK;
}

enum edubba_code edubba_create_table(struct edubba_client *client,
                                     const struct edubba_schema *schema,
                                     const struct edubba_bytes *splits,
                                     size_t split_count,
                                     struct edubba_error *error)
{
    struct master_call state;
    master_call_init(&state);
    enum status status = make_create_request(&state, schema, splits, split_count);
    if (status == STATUS_OK) {
        status = master_call_ask(client, &state, METHOD_CREATE_TABLE, false);
    }
    return master_call_conclude(&state, status, error);
}

enum edubba_code edubba_delete_table(struct edubba_client *client,
                                     const char *name,
                                     struct edubba_error *error)
{
    struct master_call state;
    master_call_init(&state);
    struct table_name_request request = {.name = bytes_of_text(name)};
    table_name_request_encode(&request, &state.body);
    return master_call_conclude(&state, master_call_ask(client, &state, METHOD_DELETE_TABLE, false),
                                error);
}

enum edubba_code edubba_get_table(struct edubba_client *client,
                                  const char *name,
                                  struct edubba_schema **schema,
                                  struct edubba_error *error)
{
    struct master_call state;
    struct table_response response;
    struct edubba_schema *made = NULL;
    master_call_init(&state);
    struct table_name_request request = {.name = bytes_of_text(name)};
    table_name_request_encode(&request, &state.body);
    enum status status = master_call_ask(client, &state, METHOD_GET_TABLE, true);
    if (status == STATUS_OK) {
        status = table_response_decode(buffer_bytes(&state.answer), &state.arena, &response,
                                       &state.error);
    }
    if (status == STATUS_OK) {
        made = schema_to_public(&response.table, response.tablet_count);
        status = made != NULL ? STATUS_OK : client_status_no_memory(&state.error);
    }
    if (status == STATUS_OK) {
        *schema = made;
    }
    return master_call_conclude(&state, status, error);
}

static char **write_names(struct block *block, const struct tables_response *response)
{
    char **names = block_take(block, (response->table_count + 1) * sizeof *names);
    for (size_t i = 0; i < response->table_count; i++) {
        char *name = block_text(block, response->tables[i].table.id);
        if (names != NULL) {
            names[i] = name;
        }
    }
    if (names != NULL) {
        names[response->table_count] = NULL;
    }
    return names;
}

/* Insertion sort: the master sends them nearly in order. */
static void sort_names(char **names)
{
    for (size_t i = 1; names[0] != NULL && names[i] != NULL; i++) {
        char *name = names[i];
        size_t at = i;
        for (; at > 0 && strcmp(names[at - 1], name) > 0; at--) {
            names[at] = names[at - 1];
        }
        names[at] = name;
    }
}

enum edubba_code edubba_list_tables(struct edubba_client *client,
                                    char ***ret_names,
                                    struct edubba_error *error)
{
    struct master_call state;
    struct tables_response response;
    struct block block = BLOCK_MEASURING;
    master_call_init(&state);
    enum status status = master_call_ask(client, &state, METHOD_LIST_TABLES, true);
    if (status == STATUS_OK) {
        status = tables_response_decode(buffer_bytes(&state.answer), &state.arena, &response,
                                        &state.error);
    }
    if (status == STATUS_OK) {
        (void)write_names(&block, &response);
        if (!block_allocate(&block)) {
            status = client_status_no_memory(&state.error);
        } else {
            *ret_names = write_names(&block, &response);
            sort_names(*ret_names);
        }
    }
    return master_call_conclude(&state, status, error);
}

static enum status make_alter_request(struct master_call *state,
                                      const char *name,
                                      const struct edubba_alteration *alterations,
                                      size_t count)
{
    struct alteration *converted = arena_allocate_array(&state->arena, count, sizeof *converted);
    struct alter_table_request request = {
        .name = bytes_of_text(name), .alterations = converted, .alteration_count = count};
    if (converted == NULL) {
        return client_status_no_memory(&state->error);
    }
    for (size_t i = 0; i < count; i++) {
        if ((unsigned)alterations[i].kind < EDUBBA_CREATE_FAMILY ||
            (unsigned)alterations[i].kind > EDUBBA_SET_PINNED) {
            return error_set(&state->error, STATUS_INVALID_ARGUMENT,
                             "alteration #%zu has unknown kind %d", i, (int)alterations[i].kind);
        }
        converted[i] = (struct alteration){.kind = (enum alter_kind)alterations[i].kind,
                                           .flag = alterations[i].flag,
                                           .replicas = alterations[i].replicas,
                                           .min_in_sync = alterations[i].min_in_sync};
        enum status status = schema_family_from_public(&state->arena, &alterations[i].family,
                                                       &converted[i].family, &state->error);
        if (status != STATUS_OK) {
            return status;
        }
    }
    alter_table_request_encode(&request, &state->body);
    return STATUS_OK;
}

enum edubba_code edubba_alter_table(struct edubba_client *client,
                                    const char *name,
                                    const struct edubba_alteration *alterations,
                                    size_t count,
                                    struct edubba_error *error)
{
    struct master_call state;
    master_call_init(&state);
    enum status status = make_alter_request(&state, name, alterations, count);
    if (status == STATUS_OK) {
        status = master_call_ask(client, &state, METHOD_ALTER_TABLE, false);
    }
    return master_call_conclude(&state, status, error);
}

enum edubba_code edubba_split_tablet(struct edubba_client *client,
                                     const char *table,
                                     struct edubba_bytes row,
                                     struct edubba_error *error)
{
    struct master_call state;
    master_call_init(&state);
    struct split_request request = {bytes_of_text(table), client_bytes(row)};
    split_request_encode(&request, &state.body);
    return master_call_conclude(&state, master_call_ask(client, &state, METHOD_SPLIT_TABLET, false),
                                error);
}

/* --- servers ---------------------------------------------------------------------------------- */

/* As tabletserver's stores report them; the worst of a server's is the server's. */
static const char *condition_of(const struct server_information *server, struct edubba_server *to)
{
    static const char *const names[] = {"healthy", "full", "failed"};
    uint32_t worst = server->unopened_count > 0 ? 2 : 0;
    for (size_t i = 0; i < server->store_count; i++) {
        const struct store_information *store = &server->stores[i];
        worst = store->condition > worst ? store->condition : worst;
        to->used_bytes += store->used_bytes;
        to->free_bytes += store->free_bytes;
    }
    return names[worst < 3 ? worst : 2];
}

static struct edubba_server *write_servers(struct block *block,
                                           const struct servers_response *response)
{
    struct edubba_server *servers = block_take(block, response->server_count * sizeof *servers);
    for (size_t i = 0; i < response->server_count; i++) {
        const struct server_information *from = &response->servers[i];
        struct edubba_server to = {
            .number = from->number,
            .address = block_text(block, from->address),
            .http_address = block_text(block, from->http_address),
            .zone = block_text(block, from->zone),
            .alive = from->alive,
            .last_heard_us = from->last_heard_us,
            .tablet_count = from->tablet_count,
            .draining = from->draining,
            .primary_count = from->leading_count,
            .unopened_store_count = from->unopened_count,
            .stuck_count = from->stuck_count,
        };
        to.condition = condition_of(from, &to);
        if (servers != NULL) {
            servers[i] = to;
        }
    }
    return servers;
}

enum edubba_code edubba_list_servers(struct edubba_client *client,
                                     struct edubba_server **servers,
                                     size_t *count,
                                     struct edubba_error *error)
{
    struct master_call state;
    struct servers_response response;
    struct block block = BLOCK_MEASURING;
    master_call_init(&state);
    enum status status = master_call_ask(client, &state, METHOD_LIST_SERVERS, true);
    if (status == STATUS_OK) {
        status = servers_response_decode(buffer_bytes(&state.answer), &state.arena, &response,
                                         &state.error);
    }
    if (status == STATUS_OK) {
        (void)write_servers(&block, &response);
        if (!block_allocate(&block)) {
            status = client_status_no_memory(&state.error);
        } else {
            *servers = write_servers(&block, &response);
            *count = response.server_count;
        }
    }
    return master_call_conclude(&state, status, error);
}

/* --- reports ---------------------------------------------------------------------------------- */

/* The answer's body: JSON, packed as one string. */
static enum status copy_json(struct bytes body, char **ret_json, struct error *ret_error)
{
    struct wire_reader reader = wire_reader_open(body, NULL, "status", ret_error);
    struct wire_array one = {1};
    struct bytes text = wire_read_bytes(&reader, &one, "json");
    enum status status = wire_reader_close(&reader);
    if (status != STATUS_OK) {
        return status;
    }
    char *copy = memory_copy_text(text);
    if (copy == NULL) {
        return client_status_no_memory(ret_error);
    }
    *ret_json = copy;
    return STATUS_OK;
}

static enum edubba_code ask_for_status(struct edubba_client *client,
                                       const char *address,
                                       bool brief,
                                       char **json,
                                       struct edubba_error *error)
{
    struct request_options options = {.method = METHOD_STATUS,
                                      .address = REQUEST_TO_MASTER,
                                      .address_text = address,
                                      .repeatable = true,
                                      .unreachable_ms = client->unreachable_ms};
    struct master_call state;
    if (client_check_may_block(client, error) != EDUBBA_OK) {
        return EDUBBA_FAILED_PRECONDITION;
    }
    master_call_init(&state);
    if (address != NULL && transport_address_check_dial(address, &state.error) != STATUS_OK) {
        return master_call_conclude(&state, state.error.status, error);
    }
    if (brief) {
        wire_write_array(&state.body, 1);
        wire_write_bool(&state.body, true);
    }
    enum status status = request_call(client, &options, &state.body, &state.answer, &state.error);
    if (status == STATUS_OK) {
        status = copy_json(buffer_bytes(&state.answer), json, &state.error);
    }
    return master_call_conclude(&state, status, error);
}

enum edubba_code edubba_status(struct edubba_client *client,
                               const char *address,
                               char **json,
                               struct edubba_error *error)
{
    return ask_for_status(client, address, false, json, error);
}

enum edubba_code edubba_status_brief(struct edubba_client *client,
                                     const char *address,
                                     char **json,
                                     struct edubba_error *error)
{
    return ask_for_status(client, address, true, json, error);
}
