#include "common/base/assert.h"
#include "master/core/catalog_parts.h"
#include "master/core/state/catalog_state.h"

#define LOCATE_COUNT_DEFAULT 100
#define LOCATE_COUNT_MAX     10000

/* Clients are told where a tablet can be reached now; servers also where it is meant to be. */
static bool is_reachable(const struct tablet *tablet)
{
    return tablet->record.state == TABLET_SERVING || tablet->record.state == TABLET_SPLITTING;
}

/* The address that the server is committed to; empty for one that never was. */
static struct bytes address_of(const struct catalog *catalog, uint64_t number)
{
    const struct server *server = state_server(catalog, number);
    return server->image == NULL ? BYTES_EMPTY : server->image->record.address;
}

/* In scratch; none without memory: they are a help, no promise. */
static void read_others(struct catalog *catalog,
                        const struct replica_configuration *configuration,
                        struct location *location)
{
    struct bytes *others = arena_allocate_array(&catalog->scratch, configuration->member_count,
                                                sizeof *others);
    for (uint32_t i = 0; others != NULL && i < configuration->member_count; i++) {
        struct bytes address = address_of(catalog, configuration->members[i].server);
        if (i != configuration->leader && address.size_bytes > 0) {
            others[location->other_count++] = address;
        }
    }
    location->others = others;
}

struct location read_location(struct catalog *catalog, const struct tablet *tablet, bool for_server)
{
    const struct tablet_record *record = &tablet->record;
    struct location location = {
        .tablet = record->number,
        .table = record->table,
        .configuration = record->configuration.version,
        .range = record->range,
        .state = record->state,
    };
    if (for_server || is_reachable(tablet)) {
        location.server = tablet_record_leader(record).server;
        location.address = address_of(catalog, location.server);
        if (record->configuration.member_count > 1) {
            read_others(catalog, &record->configuration, &location);
        }
    }
    return location;
}

/* --- replicas, for people --------------------------------------------------------------------- */

static struct located_replica located_replica(const struct catalog *catalog,
                                              const struct tablet_record *record,
                                              uint64_t store,
                                              uint64_t server)
{
    struct located_replica replica = {
        .server = server, .store = store, .address = address_of(catalog, server)};
    if (tablet_goal_names(&record->goal, store)) {
        replica.flags |= LOCATED_WANTED;
    }
    if (state_wanted_leader(record) == store) {
        replica.flags |= LOCATED_SHOULD_LEAD;
    }
    return replica;
}

/* Members, then stores of the goal that are none.  False without memory. */
static bool read_replicas(struct catalog *catalog,
                          const struct tablet *tablet,
                          struct located_replicas *ret_located)
{
    const struct tablet_record *record = &tablet->record;
    const struct replica_configuration *configuration = &record->configuration;
    const struct tablet_goal *goal = &record->goal;
    size_t most = configuration->member_count + goal->store_count;
    struct located_replica *replicas = arena_allocate_array(&catalog->scratch, most,
                                                            sizeof *replicas);
    size_t count = 0;

    for (uint32_t i = 0; replicas != NULL && i < configuration->member_count; i++) {
        const struct replica_member *member = &configuration->members[i];
        struct located_replica *replica = &replicas[count++];
        *replica = located_replica(catalog, record, member->store, member->server);
        bool alive = state_server(catalog, member->server)->alive;
        replica->flags |= LOCATED_MEMBER;
        replica->flags |= i == configuration->leader ? LOCATED_PRIMARY : 0;
        replica->flags |= alive && state_is_there(&tablet->copies[i]) ? LOCATED_IN_SYNC : 0;
    }
    for (uint32_t i = 0; replicas != NULL && i < goal->store_count; i++) {
        uint64_t store = goal->stores[i];
        if (replica_configuration_find(configuration, store) == configuration->member_count) {
            replicas[count++] = located_replica(catalog, record, store,
                                                state_owner(catalog, store)->number);
        }
    }
    *ret_located = (struct located_replicas){
        .replicas = replicas,
        .replica_count = count,
        .wish = goal->wish,
        .other = goal->wish != GOAL_MERGE       ? 0
                 : goal->left == record->number ? goal->right
                                                : goal->left,
        .row = goal->wish == GOAL_SPLIT ? goal->row : BYTES_EMPTY,
        .size_bytes = tablet->size_bytes,
    };
    return replicas != NULL;
}

/* --- what is asked ---------------------------------------------------------------------------- */

struct table_response read_table_response(const struct table_entry *entry)
{
    return (struct table_response){entry->image->record.table, (uint32_t)entry->tablet_count};
}

static void emit_no_memory(struct catalog *catalog, uint64_t request)
{
    struct error error = {0};
    (void)error_set(&error, STATUS_RESOURCE_EXHAUSTED, "the master has no memory to answer");
    emit_error(catalog, request, &error);
}

static void emit_table_not_found(struct catalog *catalog, uint64_t request, struct bytes name)
{
    struct error error = {0};
    char text[BYTES_PRINTABLE_SIZE_MAX];
    (void)error_set(&error, STATUS_NOT_FOUND, "table '%s' was not found",
                    bytes_printable(name, text));
    emit_error(catalog, request, &error);
}

void read_locate(struct catalog *catalog, uint64_t request, const struct locate_request *locate)
{
    struct table_entry *entry = locate->table != 0 ? number_map_get(&catalog->tables, locate->table)
                                                   : state_table_by_name(catalog, locate->name);
    if (entry == NULL && locate->table != 0) {
        struct error error = {0};
        (void)error_set(&error, STATUS_NOT_FOUND, "table number %llu was not found",
                        (unsigned long long)locate->table);
        emit_error(catalog, request, &error);
        return;
    }
    if (entry == NULL) {
        emit_table_not_found(catalog, request, locate->name);
        return;
    }

    size_t first = state_tablet_index(entry, locate->row);
    size_t count = locate->count_max == 0 ? LOCATE_COUNT_DEFAULT : locate->count_max;
    count = count > LOCATE_COUNT_MAX ? LOCATE_COUNT_MAX : count;
    count = count > entry->tablet_count - first ? entry->tablet_count - first : count;
    struct location *locations = arena_allocate_array(&catalog->scratch, count, sizeof *locations);
    struct located_replicas *replicas = arena_allocate_array(&catalog->scratch, count + 1,
                                                             sizeof *replicas);
    bool made = locations != NULL && replicas != NULL;
    for (size_t i = 0; i < count && made; i++) {
        locations[i] = read_location(catalog, entry->tablets[first + i], false);
        if (locate
                ->detailed) { /* people ask so; who looks for a tablet tries where it is known to be */
            locations[i].state = look_state(catalog, entry->tablets[first + i], catalog->now_ns);
        }
        made = !locate->detailed || read_replicas(catalog, entry->tablets[first + i], &replicas[i]);
    }
    if (!made) {
        emit_no_memory(catalog, request);
        return;
    }
    struct buffer message = effects_begin_message();
    struct locate_response response = {
        .table = entry->image->record.table,
        .locations = locations,
        .location_count = count,
        .replicas = replicas,
        .replicas_count = locate->detailed ? count : 0,
    };
    locate_response_encode(&response, &message);
    emit_reply(catalog, request, &message);
}

void read_get_table(struct catalog *catalog,
                    uint64_t request,
                    const struct table_name_request *name)
{
    const struct table_entry *entry = state_table_by_name(catalog, name->name);
    if (entry == NULL) {
        emit_table_not_found(catalog, request, name->name);
        return;
    }
    struct buffer message = effects_begin_message();
    struct table_response response = read_table_response(entry);
    table_response_encode(&response, &message);
    emit_reply(catalog, request, &message);
}

void read_list_tables(struct catalog *catalog, uint64_t request)
{
    struct table_response *tables = arena_allocate_array(&catalog->scratch,
                                                         catalog->table_count + 1, sizeof *tables);
    if (tables == NULL) {
        emit_no_memory(catalog, request);
        return;
    }
    for (size_t i = 0; i < catalog->table_count; i++) {
        tables[i] = read_table_response(catalog->by_name[i]);
    }
    struct buffer message = effects_begin_message();
    struct tables_response response = {tables, catalog->table_count};
    tables_response_encode(&response, &message);
    emit_reply(catalog, request, &message);
}

/* As it last described itself; else as the catalog remembers it. */
static bool describe_server(struct catalog *catalog,
                            const struct server *server,
                            struct server_information *ret_information)
{
    bool draining = server->image != NULL && server->image->record.draining;
    const struct server_image *image = server->seen != NULL ? server->seen : server->image;
    const struct server_record *record = &image->record;
    struct store_information *stores = arena_allocate_array(
        &catalog->scratch, record->store_count + 1, sizeof *stores);

    if (stores == NULL) {
        return false;
    }
    for (size_t i = 0; i < record->store_count; i++) {
        const struct store *store = number_map_get(&catalog->stores, record->stores[i].number);
        stores[i] = (struct store_information){
            .number = store->number,
            .folder = record->stores[i].folder,
            .condition = store->condition,
            .used_bytes = store->used_bytes,
            .free_bytes = store->free_bytes,
            .tablet_count = store->tablet_count,
        };
    }
    *ret_information = (struct server_information){
        .number = server->number,
        .address = record->address,
        .http_address = record->http_address,
        .zone = record->zone,
        .incarnation = record->incarnation,
        .alive = server->alive,
        .last_heard_us = server->heard_us,
        .tablet_count = (uint32_t)server->tablet_count,
        .unopened_count = server->unopened_count,
        .stores = stores,
        .store_count = record->store_count,
        .draining = draining,
        .stuck_count = draining ? order_count_stuck(catalog, server) : 0,
        .leading_count = (uint32_t)server->leading_count,
    };
    return true;
}

void read_list_servers(struct catalog *catalog, uint64_t request)
{
    struct server_information *servers = arena_allocate_array(
        &catalog->scratch, catalog->server_count + 1, sizeof *servers);
    size_t count = 0;

    for (size_t i = 0; i < catalog->server_count && servers != NULL; i++) {
        const struct server *server = catalog->servers[i];
        if (server->seen == NULL && server->image == NULL) {
            continue; /* it was refused before it could say who it is */
        }
        if (!describe_server(catalog, server, &servers[count++])) {
            servers = NULL;
        }
    }
    if (servers == NULL) {
        emit_no_memory(catalog, request);
        return;
    }
    struct buffer message = effects_begin_message();
    struct servers_response response = {catalog->identity.cluster, catalog->identity.generation,
                                        servers, count};
    servers_response_encode(&response, &message);
    emit_reply(catalog, request, &message);
}
