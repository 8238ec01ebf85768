#include <criterion/criterion.h>

#include "common/base/memory.h"
#include "common/wire/writer.h"
#include "message_random.h"

/* --- every message, by one shape: decode and encode again --------------------------------------- */

struct codec {
    const char *name;
    void (*encode_any)(struct random_source *source, struct buffer *out);
    /* Decodes in, and encodes what came of it. */
    enum status (*recode)(struct bytes in, struct arena *arena, struct buffer *out);
};

#define CODEC_RECODE(name)                                                                     \
    static enum status recode_##name(struct bytes in, struct arena *arena, struct buffer *out) \
    {                                                                                          \
        struct name message;                                                                   \
        struct error error;                                                                    \
        enum status status = name##_decode(in, arena, &message, &error);                       \
        if (status == STATUS_OK) {                                                             \
            name##_encode(&message, out);                                                      \
        }                                                                                      \
        return status;                                                                         \
    }
#define CODEC_RECODE_FLAT(name)                                                                \
    static enum status recode_##name(struct bytes in, struct arena *arena, struct buffer *out) \
    {                                                                                          \
        struct name message;                                                                   \
        struct error error;                                                                    \
        (void)arena;                                                                           \
        enum status status = name##_decode(in, &message, &error);                              \
        if (status == STATUS_OK) {                                                             \
            name##_encode(&message, out);                                                      \
        }                                                                                      \
        return status;                                                                         \
    }
MESSAGE_LIST(CODEC_RECODE)
CODEC_RECODE(operations_request)
CODEC_RECODE(operations_response)
CODEC_RECODE(scan_request)
CODEC_RECODE(table)
CODEC_RECODE_FLAT(hello)
CODEC_RECODE_FLAT(hello_ack)
CODEC_RECODE_FLAT(scan_response)

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

static struct load_figures any_figures(struct random_source *s)
{
    return (struct load_figures){any_u64(s), any_u64(s), any_u64(s), any_u64(s), any_u64(s),
                                 any_u64(s), any_u64(s), any_u64(s), any_u64(s), any_u64(s),
                                 any_u64(s), any_u64(s), any_u64(s), any_u64(s)};
}

/* One that can be: points ascend, rows are keys. */
static struct load_detail any_load_detail(struct random_source *s)
{
    struct load_detail detail = {.observations = any_u64(s),
                                 .appended_permille = (uint32_t)any_below(s, 1001),
                                 .window_ns = any_below(s, 10000000000)};
    struct load_point *points = any_list(s, sizeof *points, &detail.point_count);
    struct load_key *keys = any_list(s, sizeof *keys, &detail.key_count);
    for (size_t i = 0; i < detail.point_count; i++) {
        uint8_t *row = arena_allocate(s->arena, LIMIT_ROW_KEY_BYTES);
        memset(row, (int)(i + any_below(s, 2)), LIMIT_ROW_KEY_BYTES);
        points[i] = (struct load_point){bytes_of(row, i * any_below(s, 1000) + i), any_u64(s),
                                        any_u64(s), any_u64(s)};
        if (i > 0 && bytes_compare(points[i - 1].row, points[i].row) >= 0) {
            detail.point_count = i;
        }
    }
    for (size_t i = 0; i < detail.key_count; i++) {
        keys[i] = (struct load_key){bytes_of("x123456789", 1 + any_below(s, 10)), any_u64(s),
                                    any_u64(s)};
    }
    detail.points = points;
    detail.keys = keys;
    return detail;
}

static struct load_report any_load_report(struct random_source *s)
{
    struct load_report report = {
        .number = any_u64(s), .elapsed_ns = any_u64(s), .capacity_ns = any_u64(s)};
    struct tablet_load *tablets = any_list(s, sizeof *tablets, &report.tablet_count);
    for (size_t i = 0; i < report.tablet_count; i++) {
        tablets[i] = (struct tablet_load){any_u64(s), any_figures(s), any_load_detail(s)};
    }
    report.tablets = tablets;
    return report;
}

static void any_list_hot_tablets_request(struct random_source *s, struct buffer *out)
{
    struct list_hot_tablets_request message = {any_i64(s), any_i64(s), any_u64(s), any_u32(s)};
    list_hot_tablets_request_encode(&message, out);
}

static void any_list_hot_tablets_response(struct random_source *s, struct buffer *out)
{
    struct list_hot_tablets_response message = {.next = any_u64(s)};
    struct hot_tablet *tablets = any_list(s, sizeof *tablets, &message.tablet_count);
    for (size_t i = 0; i < message.tablet_count; i++) {
        tablets[i] = (struct hot_tablet){
            .number = any_u64(s),
            .table = any_u64(s),
            .table_name = any_bytes(s),
            .tablet = any_u64(s),
            .server = any_u64(s),
            .range = any_range(s),
            .start_us = any_i64(s),
            .end_us = any_i64(s),
            .capacity_ns = any_u64(s),
            .figures = any_figures(s),
        };
    }
    message.tablets = tablets;
    list_hot_tablets_response_encode(&message, out);
}

static void any_list_hot_keys_request(struct random_source *s, struct buffer *out)
{
    struct list_hot_keys_request message = {any_bytes(s), any_u32(s)};
    list_hot_keys_request_encode(&message, out);
}

static void any_list_hot_keys_response(struct random_source *s, struct buffer *out)
{
    struct list_hot_keys_response message = {.more = any_bool(s)};
    struct hot_keys *tablets = any_list(s, sizeof *tablets, &message.tablet_count);
    for (size_t i = 0; i < message.tablet_count; i++) {
        tablets[i] = (struct hot_keys){any_u64(s),     any_bytes(s),      any_u64(s), any_u64(s),
                                       any_range(s),   any_u64(s),        any_u64(s), any_u64(s),
                                       any_figures(s), any_load_detail(s)};
    }
    message.tablets = tablets;
    list_hot_keys_response_encode(&message, out);
}

static void any_advise_request(struct random_source *s, struct buffer *out)
{
    advise_request_encode(&(struct advise_request){any_bytes(s)}, out);
}

static void any_advise_response(struct random_source *s, struct buffer *out)
{
    struct advise_response message = {.observations = any_u64(s),
                                      .operations_per_second = any_u64(s),
                                      .tablet_count = any_u64(s),
                                      .busy_count = any_u64(s),
                                      .age_us = any_u64(s)};
    struct advice_finding *findings = any_list(s, sizeof *findings, &message.finding_count);
    for (size_t i = 0; i < message.finding_count; i++) {
        findings[i] = (struct advice_finding){any_u32(s),   any_u32(s),   any_u64(s),
                                              any_range(s), any_bytes(s), any_bytes(s),
                                              any_bytes(s), any_bytes(s)};
    }
    message.findings = findings;
    advise_response_encode(&message, out);
}

static struct event any_event(struct random_source *s)
{
    return (struct event){
        .number = any_u64(s),
        .change = any_u64(s),
        .time_us = any_i64(s),
        .ended_us = any_i64(s),
        .kind = any_bytes(s),
        .reason = any_bytes(s),
        .outcome = any_bytes(s),
        .text = any_bytes(s),
        .why = any_bytes(s),
        .table = any_u64(s),
        .table_name = any_bytes(s),
        .tablet = any_u64(s),
        .right = any_u64(s),
        .from = any_u64(s),
        .to = any_u64(s),
        .range = any_range(s),
        .row = any_bytes(s),
        .row_count = any_u32(s),
        .key = any_bytes(s),
        .figures = {any_u32(s), any_u32(s), any_u64(s), any_u64(s), any_u32(s), any_u32(s),
                    any_u32(s), any_u32(s), any_u32(s), any_u32(s), any_u32(s)},
    };
}

static void any_list_heat_request(struct random_source *s, struct buffer *out)
{
    struct list_heat_request message = {any_i64(s), any_u64(s), any_i64(s)};
    list_heat_request_encode(&message, out);
}

static void any_list_heat_response(struct random_source *s, struct buffer *out)
{
    struct list_heat_response message = {.newest_us = any_i64(s), .more = any_bool(s)};
    struct heat_column_image *columns = any_list(s, sizeof *columns, &message.column_count);
    for (size_t i = 0; i < message.column_count; i++) {
        columns[i] = (struct heat_column_image){any_u64(s), any_u32(s), any_i64(s), any_i64(s),
                                                any_bytes(s)};
    }
    message.columns = columns;
    list_heat_response_encode(&message, out);
}

static void any_list_events_request(struct random_source *s, struct buffer *out)
{
    struct list_events_request message = {any_bytes(s), any_u64(s), any_u32(s)};
    list_events_request_encode(&message, out);
}

static void any_list_events_response(struct random_source *s, struct buffer *out)
{
    struct list_events_response message = {.more = any_bool(s)};
    struct event *events = any_list(s, sizeof *events, &message.event_count);
    for (size_t i = 0; i < message.event_count; i++) {
        events[i] = any_event(s);
    }
    message.events = events;
    list_events_response_encode(&message, out);
}

static void any_sync_request(struct random_source *s, struct buffer *out)
{
    struct sync_request message = {.server = any_server(s),
                                   .known_version = any_u64(s),
                                   .known_generation = any_u64(s),
                                   .full = any_bool(s)};
    struct held_tablet *held = any_list(s, sizeof *held, &message.held_count);
    for (size_t i = 0; i < message.held_count; i++) {
        held[i] = (struct held_tablet){any_u64(s),
                                       any_u64(s),
                                       (enum held_state)(1 + any_below(s, 3)),
                                       any_u64(s),
                                       any_bool(s),
                                       any_bytes(s),
                                       any_u64(s),
                                       (enum held_role)any_below(s, 5),
                                       any_u64(s),
                                       any_bool(s)};
    }
    message.held = held;
    message.load = any_load_report(s);
    message.replicates = any_bool(s);
    sync_request_encode(&message, out);
}

static void any_sync_response(struct random_source *s, struct buffer *out)
{
    struct sync_response message = {.generation = any_u64(s),
                                    .version = any_u64(s),
                                    .reset = any_bool(s),
                                    .more = any_bool(s),
                                    .interval_ms = any_u32(s)};
    struct assigned_tablet *tablets = any_list(s, sizeof *tablets, &message.tablet_count);
    for (size_t i = 0; i < message.tablet_count; i++) {
        tablets[i] = (struct assigned_tablet){any_location(s), any_u64(s), any_u64(s), any_u64(s),
                                              any_bool(s)};
        if (any_bool(s)) {
            tablets[i].configuration = any_configuration(s);
        }
        tablets[i].goal = any_goal(s);
        tablets[i].absorbed = any_u64(s);
        tablets[i].recovered = any_bool(s);
        tablets[i].hurried = any_bool(s);
    }
    struct server_address *servers = any_list(s, sizeof *servers, &message.server_count);
    for (size_t i = 0; i < message.server_count; i++) {
        servers[i] = (struct server_address){any_u64(s), any_bytes(s)};
    }
    message.servers = servers;
    struct table *tables = any_list(s, sizeof *tables, &message.table_count);
    for (size_t i = 0; i < message.table_count; i++) {
        tables[i] = any_table(s);
    }
    uint64_t *dropped = any_list(s, sizeof *dropped, &message.dropped_table_count);
    for (size_t i = 0; i < message.dropped_table_count; i++) {
        dropped[i] = any_u64(s);
    }
    message.tablets = tablets;
    message.tables = tables;
    message.dropped_tables = dropped;
    sync_response_encode(&message, out);
}

static void any_propose_request(struct random_source *s, struct buffer *out)
{
    struct propose_request message = {.server = any_u64(s)};
    struct proposal *proposals = any_list(s, sizeof *proposals, &message.proposal_count);
    for (size_t i = 0; i < message.proposal_count; i++) {
        proposals[i] = (struct proposal){
            .kind = (enum proposal_kind)(1 + any_below(s, 3)),
            .tablet = any_u64(s),
            .base = any_u64(s),
            .proposer = any_u64(s),
            .next = any_configuration(s),
            .left = any_u64(s),
            .right = any_u64(s),
            .row = any_bytes(s),
            .right_base = any_u64(s),
            .merged = any_u64(s),
        };
    }
    message.proposals = proposals;
    propose_request_encode(&message, out);
}

static void any_propose_response(struct random_source *s, struct buffer *out)
{
    struct propose_response message = {0};
    struct proposed *answers = any_list(s, sizeof *answers, &message.answer_count);
    for (size_t i = 0; i < message.answer_count; i++) {
        answers[i] = (struct proposed){
            .outcome = (enum proposed_outcome)(1 + any_below(s, 5)),
            .tablet = any_u64(s),
            .configuration = any_configuration(s),
            .right_version = any_u64(s),
            .left = any_u64(s),
            .right = any_u64(s),
            .merged = any_u64(s),
        };
    }
    message.answers = answers;
    propose_response_encode(&message, out);
}

static void any_drain_server_request(struct random_source *s, struct buffer *out)
{
    struct drain_server_request message = {any_u64(s), any_bool(s)};
    drain_server_request_encode(&message, out);
}

static void any_drain_server_response(struct random_source *s, struct buffer *out)
{
    struct drain_server_response message = {any_bool(s), any_u32(s), any_u32(s)};
    drain_server_response_encode(&message, out);
}

static void any_merge_request(struct random_source *s, struct buffer *out)
{
    struct merge_request message = {any_bytes(s), any_bytes(s), any_bool(s)};
    merge_request_encode(&message, out);
}

static void any_merge_response(struct random_source *s, struct buffer *out)
{
    struct merge_response message = {any_u64(s)};
    merge_response_encode(&message, out);
}

static void any_recover_request(struct random_source *s, struct buffer *out)
{
    struct recover_request message = {.table = any_bytes(s),
                                      .tablet = any_u64(s),
                                      .accept_loss = any_bool(s),
                                      .store = any_u64(s)};
    message.who = bytes_of_text(any_bool(s) ? "somebody" : "");
    recover_request_encode(&message, out);
}

static struct lost_tablet any_lost_tablet(struct random_source *s)
{
    struct lost_tablet tablet = {any_u64(s), any_bytes(s), any_bytes(s), any_bytes(s),
                                 any_u32(s), any_u64(s),   any_bytes(s)};
    struct found_copy *copies = any_list(s, sizeof *copies, &tablet.copy_count);
    for (size_t i = 0; i < tablet.copy_count; i++) {
        copies[i] = (struct found_copy){any_u64(s), any_u64(s),          any_bytes(s), any_u64(s),
                                        any_u64(s), (int64_t)any_u64(s), any_u32(s)};
    }
    tablet.copies = copies;
    tablet.recovered_us = (int64_t)any_u64(s);
    tablet.recovered_by = any_bytes(s);
    return tablet;
}

static void any_recover_response(struct random_source *s, struct buffer *out)
{
    struct recover_response message = {.more = any_bool(s), .chosen_store = any_u64(s)};
    struct lost_tablet *tablets = any_list(s, sizeof *tablets, &message.tablet_count);
    for (size_t i = 0; i < message.tablet_count; i++) {
        tablets[i] = any_lost_tablet(s);
    }
    message.tablets = tablets;
    recover_response_encode(&message, out);
}

static const struct document *any_documents(struct random_source *s, size_t *ret_count)
{
    struct document *documents = any_list(s, sizeof *documents, ret_count);
    for (size_t i = 0; i < *ret_count; i++) {
        documents[i] = (struct document){any_bytes(s), any_bytes(s), any_u64(s)};
    }
    return documents;
}

static void any_put_documents_request(struct random_source *s, struct buffer *out)
{
    struct put_documents_request message = {0};
    message.documents = any_documents(s, &message.document_count);
    put_documents_request_encode(&message, out);
}

static void any_put_documents_response(struct random_source *s, struct buffer *out)
{
    struct put_documents_response message = {any_bool(s), any_u64(s), any_u64(s)};
    put_documents_response_encode(&message, out);
}

static void any_list_documents_request(struct random_source *s, struct buffer *out)
{
    struct list_documents_request message = {any_bytes(s), any_bytes(s), any_u32(s)};
    list_documents_request_encode(&message, out);
}

static void any_list_documents_response(struct random_source *s, struct buffer *out)
{
    struct list_documents_response message = {.more = any_bool(s)};
    message.documents = any_documents(s, &message.document_count);
    list_documents_response_encode(&message, out);
}

static void any_table_message(struct random_source *s, struct buffer *out)
{
    struct table table = any_table(s);
    table_encode(&table, out);
}

static const struct codec codecs[] = {
#define CODEC_ENTRY(name) {#name, any_##name, recode_##name},
    MESSAGE_LIST(CODEC_ENTRY) CODEC_ENTRY(operations_request) CODEC_ENTRY(operations_response)
        CODEC_ENTRY(scan_request) CODEC_ENTRY(scan_response) CODEC_ENTRY(hello)
            CODEC_ENTRY(hello_ack){"table", any_table_message, recode_table},
};
#define CODEC_COUNT (sizeof codecs / sizeof codecs[0])

#define ARENA_LIMIT_BYTES (4 * 1024 * 1024)

struct bench {
    struct arena random_arena;
    struct arena arena;
    struct random_source source;
};

static void bench_init(struct bench *bench, uint64_t seed)
{
    arena_init(&bench->random_arena, 65536, SIZE_MAX);
    arena_init(&bench->arena, 65536, ARENA_LIMIT_BYTES);
    bench->source = (struct random_source){prng_of_seed(seed), &bench->random_arena};
}

static void bench_reset(struct bench *bench)
{
    arena_reset(&bench->random_arena);
    arena_reset(&bench->arena);
}

static void bench_deinit(struct bench *bench)
{
    arena_deinit(&bench->random_arena);
    arena_deinit(&bench->arena);
}

Test(message, every_kind_survives_the_wire)
{
    struct bench bench;
    struct buffer first = BUFFER_INIT;
    struct buffer second = BUFFER_INIT;
    bench_init(&bench, 1);
    for (size_t c = 0; c < CODEC_COUNT; c++) {
        for (int round = 0; round < 300; round++) {
            buffer_reset(&first);
            buffer_reset(&second);
            codecs[c].encode_any(&bench.source, &first);
            enum status status = codecs[c].recode(buffer_bytes(&first), &bench.arena, &second);
            cr_assert_eq((int)status, STATUS_OK, "%s round %d: %s", codecs[c].name, round,
                         status_name(status));
            cr_assert(bytes_equal(buffer_bytes(&first), buffer_bytes(&second)), "%s round %d",
                      codecs[c].name, round);
            bench_reset(&bench);
        }
    }
    buffer_deinit(&first);
    buffer_deinit(&second);
    bench_deinit(&bench);
}

Test(message, a_cut_message_is_malformed_at_every_byte)
{
    struct bench bench;
    struct buffer whole = BUFFER_INIT;
    struct buffer out = BUFFER_INIT;
    bench_init(&bench, 2);
    for (size_t c = 0; c < CODEC_COUNT; c++) {
        for (int round = 0; round < 10; round++) {
            buffer_reset(&whole);
            codecs[c].encode_any(&bench.source, &whole);
            for (size_t cut = 0; cut < whole.size_bytes && cut < 3000; cut++) {
                /* Its own allocation, so that a sanitizer sees every step too far. */
                uint8_t *exact = memory_allocate(cut);
                memcpy(exact, whole.data, cut);
                enum status status = codecs[c].recode(bytes_of(exact, cut), &bench.arena, &out);
                cr_assert_eq((int)status, STATUS_MALFORMED, "%s cut at %zu", codecs[c].name, cut);
                memory_free(exact);
                arena_reset(&bench.arena);
            }
            bench_reset(&bench);
        }
    }
    buffer_deinit(&whole);
    buffer_deinit(&out);
    bench_deinit(&bench);
}

Test(message, damage_is_refused_or_read_but_never_more)
{
    struct bench bench;
    struct buffer whole = BUFFER_INIT;
    struct buffer out = BUFFER_INIT;
    bench_init(&bench, 3);
    for (size_t c = 0; c < CODEC_COUNT; c++) {
        for (int round = 0; round < 400; round++) {
            buffer_reset(&whole);
            codecs[c].encode_any(&bench.source, &whole);
            for (uint64_t i = 1 + any_below(&bench.source, 4); i > 0; i--) {
                whole.data[any_below(&bench.source, whole.size_bytes)] = (uint8_t)prng_next(
                    &bench.source.prng);
            }
            buffer_reset(&out);
            enum status status = codecs[c].recode(buffer_bytes(&whole), &bench.arena, &out);
            cr_assert(status == STATUS_OK || status == STATUS_MALFORMED ||
                          status == STATUS_NO_MEMORY,
                      "%s: %s", codecs[c].name, status_name(status));
            bench_reset(&bench);
        }
    }
    buffer_deinit(&whole);
    buffer_deinit(&out);
    bench_deinit(&bench);
}

Test(message, failing_memory_is_a_status)
{
    struct bench bench;
    struct buffer whole = BUFFER_INIT;
    struct buffer out = BUFFER_INIT;
    bench_init(&bench, 4);
    for (size_t c = 0; c < CODEC_COUNT; c++) {
        buffer_reset(&whole);
        codecs[c].encode_any(&bench.source, &whole);
        bool survived = false;
        for (uint64_t after = 0; !survived; after++) {
            struct arena arena;
            arena_init(&arena, 64, SIZE_MAX);
            buffer_deinit(&out);
            memory_fail_arm(after, 1);
            enum status status = codecs[c].recode(buffer_bytes(&whole), &arena, &out);
            memory_fail_disarm();
            survived = status == STATUS_OK && !out.failed;
            cr_assert(status == STATUS_OK || status == STATUS_NO_MEMORY, "%s", codecs[c].name);
            arena_deinit(&arena);
        }
        bench_reset(&bench);
    }
    buffer_deinit(&whole);
    buffer_deinit(&out);
    bench_deinit(&bench);
}
