/* Servers: their description, and the heartbeat that tells them what to hold. */
#include "common/wire/message_parts.h"
#include "common/wire/writer.h"

static void write_store(struct buffer *out, const struct store_information *store)
{
    wire_write_array(out, 8);
    wire_write_u64(out, store->number);
    wire_write_bytes(out, store->folder);
    wire_write_u64(out, store->condition);
    wire_write_u64(out, store->used_bytes);
    wire_write_u64(out, store->free_bytes);
    wire_write_u64(out, store->tablet_count);
    wire_write_u64(out, store->catalog);
    wire_write_u64(out, store->catalog_version);
}

void wire_write_server(struct buffer *out, const struct server_information *server)
{
    wire_write_array(out, 13);
    wire_write_u64(out, server->number);
    wire_write_bytes(out, server->address);
    wire_write_bytes(out, server->http_address);
    wire_write_bytes(out, server->zone);
    wire_write_u64(out, server->incarnation);
    wire_write_bool(out, server->alive);
    wire_write_i64(out, server->last_heard_us);
    wire_write_u64(out, server->tablet_count);
    wire_write_array(out, server->store_count);
    for (size_t i = 0; i < server->store_count; i++) {
        write_store(out, &server->stores[i]);
    }
    wire_write_bool(out, server->draining);
    wire_write_u64(out, server->leading_count);
    wire_write_u64(out, server->unopened_count);
    wire_write_u64(out, server->stuck_count);
}

static void read_store(struct wire_reader *reader,
                       struct wire_array *fields,
                       struct store_information *store)
{
    struct wire_array parts = wire_read_array(reader, fields, "store");
    store->number = wire_read_u64(reader, &parts, "store.number");
    store->folder = wire_read_bytes(reader, &parts, "store.folder");
    store->condition = wire_read_u32(reader, &parts, "store.condition");
    store->used_bytes = wire_read_u64(reader, &parts, "store.used_bytes");
    store->free_bytes = wire_read_u64(reader, &parts, "store.free_bytes");
    store->tablet_count = wire_read_u32(reader, &parts, "store.tablet_count");
    store->catalog = wire_read_u64(reader, &parts, "store.catalog");
    store->catalog_version = wire_read_u64(reader, &parts, "store.catalog_version");
    wire_array_end(reader, &parts);
}

void wire_read_server(struct wire_reader *reader,
                      struct wire_array *fields,
                      struct server_information *ret_server)
{
    static const struct wire_list_shape shape = {
        .element_bytes = sizeof(struct store_information),
        .wire_bytes_min = 2,
        .count_max = SIZE_MAX,
    };
    struct wire_array parts = wire_read_array(reader, fields, "server");
    struct wire_array list = {0};
    ret_server->number = wire_read_u64(reader, &parts, "server.number");
    ret_server->address = wire_read_bytes(reader, &parts, "server.address");
    ret_server->http_address = wire_read_bytes(reader, &parts, "server.http_address");
    ret_server->zone = wire_read_bytes(reader, &parts, "server.zone");
    ret_server->incarnation = wire_read_u64(reader, &parts, "server.incarnation");
    ret_server->alive = wire_read_bool(reader, &parts, "server.alive");
    ret_server->last_heard_us = wire_read_i64(reader, &parts, "server.last_heard_us");
    ret_server->tablet_count = wire_read_u32(reader, &parts, "server.tablet_count");
    struct store_information *stores = wire_read_list(reader, &parts, "server.stores", shape,
                                                      &list);
    ret_server->stores = stores;
    ret_server->store_count = list.left;
    for (size_t i = 0; i < ret_server->store_count && reader->status == STATUS_OK; i++) {
        read_store(reader, &list, &stores[i]);
    }
    wire_array_end(reader, &list);
    ret_server->draining = wire_read_bool(reader, &parts, "server.draining");
    ret_server->leading_count = wire_read_u32(reader, &parts, "server.leading_count");
    ret_server->unopened_count = wire_read_u32(reader, &parts, "server.unopened_count");
    ret_server->stuck_count = wire_read_u32(reader, &parts, "server.stuck_count");
    wire_array_end(reader, &parts);
}

void servers_response_encode(const struct servers_response *message, struct buffer *out)
{
    wire_write_array(out, 3);
    wire_write_u64(out, message->cluster);
    wire_write_u64(out, message->generation);
    wire_write_array(out, message->server_count);
    for (size_t i = 0; i < message->server_count; i++) {
        wire_write_server(out, &message->servers[i]);
    }
}

enum status servers_response_decode(struct bytes in,
                                    struct arena *arena,
                                    struct servers_response *ret_message,
                                    struct error *ret_error)
{
    static const struct wire_list_shape shape = {
        .element_bytes = sizeof(struct server_information),
        .wire_bytes_min = 2,
        .count_max = SIZE_MAX,
    };
    struct wire_reader reader = wire_reader_open(in, arena, "servers_response", ret_error);
    struct wire_array fields = wire_read_message(&reader);
    struct wire_array list = {0};
    struct servers_response message = {0};
    message.cluster = wire_read_u64(&reader, &fields, "cluster");
    message.generation = wire_read_u64(&reader, &fields, "generation");
    struct server_information *servers = wire_read_list(&reader, &fields, "servers", shape, &list);
    message.servers = servers;
    message.server_count = list.left;
    for (size_t i = 0; i < message.server_count && reader.status == STATUS_OK; i++) {
        wire_read_server(&reader, &list, &servers[i]);
    }
    wire_array_end(&reader, &list);
    enum status status = wire_reader_finish(&reader, &fields);
    if (status == STATUS_OK) {
        *ret_message = message;
    }
    return status;
}

static void write_held(struct buffer *out, const struct held_tablet *held)
{
    wire_write_array(out, 10);
    wire_write_u64(out, held->tablet);
    wire_write_u64(out, held->store);
    wire_write_u64(out, held->state);
    wire_write_u64(out, held->size_bytes);
    wire_write_bool(out, held->wants_split);
    wire_write_bytes(out, held->split_row);
    wire_write_u64(out, held->version);
    wire_write_u64(out, held->role);
    wire_write_u64(out, held->committed);
    wire_write_bool(out, held->damaged);
}

void sync_request_encode(const struct sync_request *message, struct buffer *out)
{
    wire_write_array(out, 8);
    wire_write_server(out, &message->server);
    wire_write_u64(out, message->known_version);
    wire_write_u64(out, message->known_generation);
    wire_write_bool(out, message->full);
    wire_write_array(out, message->held_count);
    for (size_t i = 0; i < message->held_count; i++) {
        write_held(out, &message->held[i]);
    }
    wire_write_load_report(out, &message->load);
    wire_write_bool(out, message->replicates);
    wire_write_bool(out, message->leaving);
}

static void read_held(struct wire_reader *reader,
                      struct wire_array *fields,
                      struct held_tablet *held)
{
    struct wire_array parts = wire_read_array(reader, fields, "held");
    held->tablet = wire_read_u64(reader, &parts, "held.tablet");
    held->store = wire_read_u64(reader, &parts, "held.store");
    held->state = (enum held_state)wire_read_choice(reader, &parts, "held.state", HELD_SERVING,
                                                    HELD_FAILED);
    held->size_bytes = wire_read_u64(reader, &parts, "held.size_bytes");
    held->wants_split = wire_read_bool(reader, &parts, "held.wants_split");
    held->split_row = wire_read_bytes(reader, &parts, "held.split_row");
    held->version = wire_read_u64(reader, &parts, "held.version");
    held->role = (enum held_role)wire_read_choice(reader, &parts, "held.role", HELD_AS_UNKNOWN,
                                                  HELD_AS_PRIMARY);
    held->committed = wire_read_u64(reader, &parts, "held.committed");
    held->damaged = wire_read_bool(reader, &parts, "held.damaged");
    wire_array_end(reader, &parts);
}

enum status sync_request_decode(struct bytes in,
                                struct arena *arena,
                                struct sync_request *ret_message,
                                struct error *ret_error)
{
    static const struct wire_list_shape shape = {
        .element_bytes = sizeof(struct held_tablet),
        .wire_bytes_min = 4,
        .count_max = SIZE_MAX,
    };
    struct wire_reader reader = wire_reader_open(in, arena, "sync_request", ret_error);
    struct wire_array fields = wire_read_message(&reader);
    struct wire_array list = {0};
    struct sync_request message = {0};
    wire_read_server(&reader, &fields, &message.server);
    message.known_version = wire_read_u64(&reader, &fields, "known_version");
    message.known_generation = wire_read_u64(&reader, &fields, "known_generation");
    message.full = wire_read_bool(&reader, &fields, "full");
    struct held_tablet *held = wire_read_list(&reader, &fields, "held", shape, &list);
    message.held = held;
    message.held_count = list.left;
    for (size_t i = 0; i < message.held_count && reader.status == STATUS_OK; i++) {
        read_held(&reader, &list, &held[i]);
    }
    wire_array_end(&reader, &list);
    wire_read_load_report(&reader, &fields, &message.load);
    message.replicates = wire_read_bool(&reader, &fields, "replicates");
    message.leaving = wire_read_bool(&reader, &fields, "leaving");
    enum status status = wire_reader_finish(&reader, &fields);
    if (status == STATUS_OK) {
        *ret_message = message;
    }
    return status;
}

static void write_assigned(struct buffer *out, const struct assigned_tablet *tablet)
{
    wire_write_array(out, 10);
    wire_write_location(out, &tablet->location);
    wire_write_u64(out, tablet->store);
    wire_write_u64(out, tablet->parent);
    wire_write_u64(out, tablet->soft_limit_bytes);
    wire_write_bool(out, tablet->removed);
    wire_write_configuration(out, &tablet->configuration);
    wire_write_goal(out, &tablet->goal);
    wire_write_u64(out, tablet->absorbed);
    wire_write_bool(out, tablet->recovered);
    wire_write_bool(out, tablet->hurried);
}

void sync_response_encode(const struct sync_response *message, struct buffer *out)
{
    wire_write_array(out, 11);
    wire_write_u64(out, message->generation);
    wire_write_u64(out, message->version);
    wire_write_bool(out, message->reset);
    wire_write_bool(out, message->more);
    wire_write_array(out, message->tablet_count);
    for (size_t i = 0; i < message->tablet_count; i++) {
        write_assigned(out, &message->tablets[i]);
    }
    wire_write_array(out, message->table_count);
    for (size_t i = 0; i < message->table_count; i++) {
        wire_write_table(out, &message->tables[i]);
    }
    wire_write_array(out, message->dropped_table_count);
    for (size_t i = 0; i < message->dropped_table_count; i++) {
        wire_write_u64(out, message->dropped_tables[i]);
    }
    wire_write_u64(out, message->interval_ms);
    wire_write_array(out, message->server_count);
    for (size_t i = 0; i < message->server_count; i++) {
        wire_write_array(out, 2);
        wire_write_u64(out, message->servers[i].server);
        wire_write_bytes(out, message->servers[i].address);
    }
    wire_write_u64(out, message->newest_version);
    wire_write_u64(out, message->predecessor);
}

static void read_assigned_list(struct wire_reader *reader,
                               struct wire_array *fields,
                               struct sync_response *message)
{
    static const struct wire_list_shape shape = {
        .element_bytes = sizeof(struct assigned_tablet),
        .wire_bytes_min = 2,
        .count_max = SIZE_MAX,
    };
    struct wire_array list = {0};
    struct assigned_tablet *tablets = wire_read_list(reader, fields, "tablets", shape, &list);
    message->tablets = tablets;
    message->tablet_count = list.left;
    for (size_t i = 0; i < message->tablet_count && reader->status == STATUS_OK; i++) {
        struct wire_array parts = wire_read_array(reader, &list, "tablet");
        wire_read_location(reader, &parts, &tablets[i].location);
        tablets[i].store = wire_read_u64(reader, &parts, "tablet.store");
        tablets[i].parent = wire_read_u64(reader, &parts, "tablet.parent");
        tablets[i].soft_limit_bytes = wire_read_u64(reader, &parts, "tablet.soft_limit_bytes");
        tablets[i].removed = wire_read_bool(reader, &parts, "tablet.removed");
        wire_read_configuration(reader, &parts, "tablet.configuration", &tablets[i].configuration);
        wire_read_goal(reader, &parts, &tablets[i].goal);
        tablets[i].absorbed = wire_read_u64(reader, &parts, "tablet.absorbed");
        tablets[i].recovered = wire_read_bool(reader, &parts, "tablet.recovered");
        tablets[i].hurried = wire_read_bool(reader, &parts, "tablet.hurried");
        wire_array_end(reader, &parts);
    }
    wire_array_end(reader, &list);
}

static void read_table_lists(struct wire_reader *reader,
                             struct wire_array *fields,
                             struct sync_response *message)
{
    static const struct wire_list_shape table_shape = {sizeof(struct table), 2, SIZE_MAX};
    static const struct wire_list_shape number_shape = {sizeof(uint64_t), 1, SIZE_MAX};
    struct wire_array list = {0};
    struct table *tables = wire_read_list(reader, fields, "tables", table_shape, &list);
    message->tables = tables;
    message->table_count = list.left;
    for (size_t i = 0; i < message->table_count && reader->status == STATUS_OK; i++) {
        wire_read_table(reader, &list, "tables", &tables[i]);
    }
    wire_array_end(reader, &list);

    uint64_t *dropped = wire_read_list(reader, fields, "dropped_tables", number_shape, &list);
    message->dropped_tables = dropped;
    message->dropped_table_count = list.left;
    for (size_t i = 0; i < message->dropped_table_count && reader->status == STATUS_OK; i++) {
        dropped[i] = wire_read_u64(reader, &list, "dropped_tables");
    }
    wire_array_end(reader, &list);
}

static void read_addresses(struct wire_reader *reader,
                           struct wire_array *fields,
                           struct sync_response *message)
{
    static const struct wire_list_shape shape = {sizeof(struct server_address), 2, SIZE_MAX};
    struct wire_array list = {0};
    struct server_address *servers = wire_read_list(reader, fields, "servers", shape, &list);
    message->servers = servers;
    message->server_count = list.left;
    for (size_t i = 0; i < message->server_count && reader->status == STATUS_OK; i++) {
        struct wire_array parts = wire_read_array(reader, &list, "servers");
        servers[i].server = wire_read_u64(reader, &parts, "servers");
        servers[i].address = wire_read_bytes(reader, &parts, "servers");
        wire_array_end(reader, &parts);
    }
    wire_array_end(reader, &list);
}

enum status sync_response_decode(struct bytes in,
                                 struct arena *arena,
                                 struct sync_response *ret_message,
                                 struct error *ret_error)
{
    struct wire_reader reader = wire_reader_open(in, arena, "sync_response", ret_error);
    struct wire_array fields = wire_read_message(&reader);
    struct sync_response message = {0};
    message.generation = wire_read_u64(&reader, &fields, "generation");
    message.version = wire_read_u64(&reader, &fields, "version");
    message.reset = wire_read_bool(&reader, &fields, "reset");
    message.more = wire_read_bool(&reader, &fields, "more");
    read_assigned_list(&reader, &fields, &message);
    read_table_lists(&reader, &fields, &message);
    message.interval_ms = wire_read_u32(&reader, &fields, "interval_ms");
    read_addresses(&reader, &fields, &message);
    message.newest_version = wire_read_u64(&reader, &fields, "newest_version");
    message.predecessor = wire_read_u64(&reader, &fields, "predecessor");
    enum status status = wire_reader_finish(&reader, &fields);
    if (status == STATUS_OK) {
        *ret_message = message;
    }
    return status;
}
