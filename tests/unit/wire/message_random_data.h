/* Messages at random, encoded: handshakes, operations, scans, tables. */
#ifndef TESTS_UNIT_WIRE_MESSAGE_RANDOM_DATA_H
#define TESTS_UNIT_WIRE_MESSAGE_RANDOM_DATA_H

#include "message_random.h"

static void any_hello(struct random_source *s, struct buffer *out)
{
    struct hello message = {any_u32(s), any_u32(s),   any_u64(s),
                            any_u32(s), any_bytes(s), any_u64(s)};
    hello_encode(&message, out);
}

static void any_hello_ack(struct random_source *s, struct buffer *out)
{
    struct hello_ack message = {any_u32(s),   any_bytes(s), any_u32(s), any_u64(s),
                                any_bytes(s), any_u64(s),   any_i64(s)};
    hello_ack_encode(&message, out);
}

static void any_operations_request(struct random_source *s, struct buffer *out)
{
    struct operations_request message = {.client = any_u64(s), .first_unfinished = any_u64(s)};
    struct operation *operations = any_list(s, sizeof *operations, &message.operation_count);
    for (size_t i = 0; i < message.operation_count; i++) {
        operations[i] = any_operation(s);
    }
    message.operations = operations;
    operations_request_encode(&message, out);
}

static void any_operations_response(struct random_source *s, struct buffer *out)
{
    struct operations_response message = {0};
    struct operation_result *results = any_list(s, sizeof *results, &message.result_count);
    for (size_t i = 0; i < message.result_count; i++) {
        results[i] = (struct operation_result){any_u32(s),     any_u32(s),   any_bytes(s),
                                               any_bool(s),    any_bytes(s), any_bool(s),
                                               any_location(s)};
    }
    message.results = results;
    operations_response_encode(&message, out);
}

static void any_scan_request(struct random_source *s, struct buffer *out)
{
    struct scan_request message = {.table = any_u64(s),
                                   .filter = any_filter(s),
                                   .rows_limit = any_u64(s),
                                   .reversed = any_bool(s),
                                   .credit_bytes = any_u64(s)};
    struct row_range *rows = any_list(s, sizeof *rows, &message.row_range_count);
    for (size_t i = 0; i < message.row_range_count; i++) {
        rows[i] = any_range(s);
    }
    message.rows = rows;
    scan_request_encode(&message, out);
}

static void any_scan_response(struct random_source *s, struct buffer *out)
{
    struct scan_response message = {any_bytes(s), any_bytes(s),   any_bool(s), any_range(s),
                                    any_u64(s),   any_u64(s),     any_u64(s),  any_u64(s),
                                    any_bool(s),  any_location(s)};
    message.location.other_count = 0; /* it is read without an arena: they are passed over */
    scan_response_encode(&message, out);
}

static void any_sample_request(struct random_source *s, struct buffer *out)
{
    struct sample_request message = {any_u64(s), any_bytes(s)};
    sample_request_encode(&message, out);
}

static void any_sample_response(struct random_source *s, struct buffer *out)
{
    struct sample_response message = {.tablet = any_range(s), .total_bytes = any_u64(s)};
    struct sample *samples = any_list(s, sizeof *samples, &message.sample_count);
    for (size_t i = 0; i < message.sample_count; i++) {
        samples[i] = (struct sample){any_bytes(s), any_u64(s)};
    }
    message.samples = samples;
    sample_response_encode(&message, out);
}

static void any_locate_request(struct random_source *s, struct buffer *out)
{
    struct locate_request message = {any_u64(s), any_bytes(s), any_bytes(s), any_u32(s),
                                     any_bool(s)};
    locate_request_encode(&message, out);
}

static struct located_replicas any_located_replicas(struct random_source *s)
{
    struct located_replicas located = {.wish = (enum goal_wish)any_below(s, 3),
                                       .other = any_u64(s),
                                       .row = any_bytes(s),
                                       .size_bytes = any_u64(s)};
    struct located_replica *replicas = any_list(s, sizeof *replicas, &located.replica_count);
    for (size_t i = 0; i < located.replica_count; i++) {
        replicas[i] = (struct located_replica){any_u64(s), any_u64(s), any_bytes(s), any_u32(s)};
    }
    located.replicas = replicas;
    return located;
}

static void any_locate_response(struct random_source *s, struct buffer *out)
{
    struct locate_response message = {.table = any_table(s)};
    struct location *locations = any_list(s, sizeof *locations, &message.location_count);
    for (size_t i = 0; i < message.location_count; i++) {
        locations[i] = any_location(s);
    }
    message.locations = locations;
    if (any_bool(s) && message.location_count > 0) { /* of each, or none */
        struct located_replicas *replicas = arena_allocate_array(s->arena, message.location_count,
                                                                 sizeof *replicas);
        for (size_t i = 0; i < message.location_count; i++) {
            replicas[i] = any_located_replicas(s);
        }
        message.replicas = replicas;
        message.replicas_count = message.location_count;
    }
    locate_response_encode(&message, out);
}

static void any_create_table_request(struct random_source *s, struct buffer *out)
{
    struct create_table_request message = {.table = any_table(s)};
    struct bytes *splits = any_list(s, sizeof *splits, &message.split_count);
    for (size_t i = 0; i < message.split_count; i++) {
        splits[i] = any_bytes(s);
    }
    message.splits = splits;
    create_table_request_encode(&message, out);
}

static void any_table_name_request(struct random_source *s, struct buffer *out)
{
    struct table_name_request message = {any_bytes(s)};
    table_name_request_encode(&message, out);
}

static void any_standby_response(struct random_source *s, struct buffer *out)
{
    struct standby_response message = {any_bytes(s)};
    standby_response_encode(&message, out);
}

static void any_master_response(struct random_source *s, struct buffer *out)
{
    struct master_response message = {any_u64(s), any_u32(s), any_u64(s), any_bytes(s)};
    master_response_encode(&message, out);
}

static void any_alter_table_request(struct random_source *s, struct buffer *out)
{
    struct alter_table_request message = {.name = any_bytes(s)};
    struct alteration *alterations = any_list(s, sizeof *alterations, &message.alteration_count);
    for (size_t i = 0; i < message.alteration_count; i++) {
        alterations[i] = (struct alteration){(enum alter_kind)(1 + any_below(s, 5)), any_family(s),
                                             any_bool(s), any_u32(s), any_u32(s)};
    }
    message.alterations = alterations;
    alter_table_request_encode(&message, out);
}

static void any_table_response(struct random_source *s, struct buffer *out)
{
    struct table_response message = {any_table(s), any_u32(s)};
    table_response_encode(&message, out);
}

static void any_tables_response(struct random_source *s, struct buffer *out)
{
    struct tables_response message = {0};
    struct table_response *tables = any_list(s, sizeof *tables, &message.table_count);
    for (size_t i = 0; i < message.table_count; i++) {
        tables[i] = (struct table_response){any_table(s), any_u32(s)};
    }
    message.tables = tables;
    tables_response_encode(&message, out);
}

static void any_split_request(struct random_source *s, struct buffer *out)
{
    struct split_request message = {any_bytes(s), any_bytes(s)};
    split_request_encode(&message, out);
}

static void any_split_response(struct random_source *s, struct buffer *out)
{
    struct split_response message = {any_u64(s), any_u64(s)};
    split_response_encode(&message, out);
}

static void any_servers_response(struct random_source *s, struct buffer *out)
{
    struct servers_response message = {.cluster = any_u64(s), .generation = any_u64(s)};
    struct server_information *servers = any_list(s, sizeof *servers, &message.server_count);
    for (size_t i = 0; i < message.server_count; i++) {
        servers[i] = any_server(s);
    }
    message.servers = servers;
    servers_response_encode(&message, out);
}

#endif /* TESTS_UNIT_WIRE_MESSAGE_RANDOM_DATA_H */
