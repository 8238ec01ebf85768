/* Messages at random, encoded: between tablet servers and masters, and what people ask of these. */
#ifndef TESTS_UNIT_WIRE_MESSAGE_RANDOM_SERVERS_H
#define TESTS_UNIT_WIRE_MESSAGE_RANDOM_SERVERS_H

#include "message_random_load.h"

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
    message.leaving = any_bool(s);
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

#endif /* TESTS_UNIT_WIRE_MESSAGE_RANDOM_SERVERS_H */
