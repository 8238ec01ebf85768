#include "common/wire/message.h"
#include "common/wire/message_parts.h"
#include "common/wire/reader.h"
#include "common/wire/writer.h"

static void write_figures(struct buffer *out, const struct event_figures *figures)
{
    wire_write_array(out, 13);
    wire_write_u64(out, figures->share_permille);
    wire_write_u64(out, figures->limit_permille);
    wire_write_u64(out, figures->operations);
    wire_write_u64(out, figures->observations);
    wire_write_u64(out, figures->key_permille);
    wire_write_u64(out, figures->crossing_permille);
    wire_write_u64(out, figures->appended_permille);
    wire_write_u64(out, figures->off_permille);
    wire_write_u64(out, figures->from_permille);
    wire_write_u64(out, figures->to_permille);
    wire_write_u64(out, figures->mean_permille);
    wire_write_u64(out, figures->size_bytes);
    wire_write_u64(out, figures->limit_bytes);
}

static void read_figures(struct wire_reader *reader,
                         struct wire_array *fields,
                         struct event_figures *ret_figures)
{
    struct wire_array parts = wire_read_array(reader, fields, "event.figures");
    ret_figures->share_permille = wire_read_u32(reader, &parts, "event.share_permille");
    ret_figures->limit_permille = wire_read_u32(reader, &parts, "event.limit_permille");
    ret_figures->operations = wire_read_u64(reader, &parts, "event.operations");
    ret_figures->observations = wire_read_u64(reader, &parts, "event.observations");
    ret_figures->key_permille = wire_read_u32(reader, &parts, "event.key_permille");
    ret_figures->crossing_permille = wire_read_u32(reader, &parts, "event.crossing_permille");
    ret_figures->appended_permille = wire_read_u32(reader, &parts, "event.appended_permille");
    ret_figures->off_permille = wire_read_u32(reader, &parts, "event.off_permille");
    ret_figures->from_permille = wire_read_u32(reader, &parts, "event.from_permille");
    ret_figures->to_permille = wire_read_u32(reader, &parts, "event.to_permille");
    ret_figures->mean_permille = wire_read_u32(reader, &parts, "event.mean_permille");
    ret_figures->size_bytes = wire_read_u64(reader, &parts, "event.size_bytes");
    ret_figures->limit_bytes = wire_read_u64(reader, &parts, "event.limit_bytes");
    wire_array_end(reader, &parts);
}

static void write_event(struct buffer *out, const struct event *event)
{
    wire_write_array(out, 20);
    wire_write_u64(out, event->number);
    wire_write_u64(out, event->change);
    wire_write_i64(out, event->time_us);
    wire_write_i64(out, event->ended_us);
    wire_write_bytes(out, event->kind);
    wire_write_bytes(out, event->reason);
    wire_write_bytes(out, event->outcome);
    wire_write_bytes(out, event->text);
    wire_write_bytes(out, event->why);
    wire_write_u64(out, event->table);
    wire_write_bytes(out, event->table_name);
    wire_write_u64(out, event->tablet);
    wire_write_u64(out, event->right);
    wire_write_u64(out, event->from);
    wire_write_u64(out, event->to);
    wire_write_range(out, &event->range);
    wire_write_bytes(out, event->row);
    wire_write_u64(out, event->row_count);
    wire_write_bytes(out, event->key);
    write_figures(out, &event->figures);
}

static void read_event(struct wire_reader *reader, struct wire_array *fields, struct event *event)
{
    struct wire_array parts = wire_read_array(reader, fields, "event");
    event->number = wire_read_u64(reader, &parts, "event.number");
    event->change = wire_read_u64(reader, &parts, "event.change");
    event->time_us = wire_read_i64(reader, &parts, "event.time_us");
    event->ended_us = wire_read_i64(reader, &parts, "event.ended_us");
    event->kind = wire_read_bytes(reader, &parts, "event.kind");
    event->reason = wire_read_bytes(reader, &parts, "event.reason");
    event->outcome = wire_read_bytes(reader, &parts, "event.outcome");
    event->text = wire_read_bytes(reader, &parts, "event.text");
    event->why = wire_read_bytes(reader, &parts, "event.why");
    event->table = wire_read_u64(reader, &parts, "event.table");
    event->table_name = wire_read_bytes(reader, &parts, "event.table_name");
    event->tablet = wire_read_u64(reader, &parts, "event.tablet");
    event->right = wire_read_u64(reader, &parts, "event.right");
    event->from = wire_read_u64(reader, &parts, "event.from");
    event->to = wire_read_u64(reader, &parts, "event.to");
    event->range = wire_read_range(reader, &parts, "event.range");
    event->row = wire_read_bytes(reader, &parts, "event.row");
    event->row_count = wire_read_u32(reader, &parts, "event.row_count");
    event->key = wire_read_bytes(reader, &parts, "event.key");
    read_figures(reader, &parts, &event->figures);
    wire_array_end(reader, &parts);
}

void list_events_request_encode(const struct list_events_request *message, struct buffer *out)
{
    wire_write_array(out, 3);
    wire_write_bytes(out, message->table);
    wire_write_u64(out, message->after);
    wire_write_u64(out, message->count_max);
}

enum status list_events_request_decode(struct bytes in,
                                       struct arena *arena,
                                       struct list_events_request *ret_message,
                                       struct error *ret_error)
{
    struct wire_reader reader = wire_reader_open(in, arena, "list_events_request", ret_error);
    struct wire_array fields = wire_read_message(&reader);
    struct list_events_request message = {0};
    message.table = wire_read_bytes(&reader, &fields, "table");
    message.after = wire_read_u64(&reader, &fields, "after");
    message.count_max = wire_read_u32(&reader, &fields, "count_max");
    enum status status = wire_reader_finish(&reader, &fields);
    if (status == STATUS_OK) {
        *ret_message = message;
    }
    return status;
}

void list_events_response_encode(const struct list_events_response *message, struct buffer *out)
{
    wire_write_array(out, 2);
    wire_write_array(out, message->event_count);
    for (size_t i = 0; i < message->event_count; i++) {
        write_event(out, &message->events[i]);
    }
    wire_write_bool(out, message->more);
}

enum status list_events_response_decode(struct bytes in,
                                        struct arena *arena,
                                        struct list_events_response *ret_message,
                                        struct error *ret_error)
{
    static const struct wire_list_shape shape = {
        .element_bytes = sizeof(struct event),
        .wire_bytes_min = 2,
        .count_max = SIZE_MAX,
    };
    struct wire_reader reader = wire_reader_open(in, arena, "list_events_response", ret_error);
    struct wire_array fields = wire_read_message(&reader);
    struct wire_array list = {0};
    struct list_events_response message = {0};
    struct event *events = wire_read_list(&reader, &fields, "events", shape, &list);
    message.events = events;
    message.event_count = list.left;
    for (size_t i = 0; i < message.event_count && reader.status == STATUS_OK; i++) {
        read_event(&reader, &list, &events[i]);
    }
    wire_array_end(&reader, &list);
    message.more = wire_read_bool(&reader, &fields, "more");
    enum status status = wire_reader_finish(&reader, &fields);
    if (status == STATUS_OK) {
        *ret_message = message;
    }
    return status;
}
