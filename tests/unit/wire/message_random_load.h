/* Messages at random, encoded: what is told of load, and what was decided about it. */
#ifndef TESTS_UNIT_WIRE_MESSAGE_RANDOM_LOAD_H
#define TESTS_UNIT_WIRE_MESSAGE_RANDOM_LOAD_H

#include "message_random.h"

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
                    any_u32(s), any_u32(s), any_u32(s), any_u32(s), any_u32(s), any_u64(s),
                    any_u64(s)},
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

#endif /* TESTS_UNIT_WIRE_MESSAGE_RANDOM_LOAD_H */
