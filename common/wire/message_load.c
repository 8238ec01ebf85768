/* What tablets have had to do: reports of servers, and the hot tablets that a master makes of them. */
#include "common/wire/message_parts.h"
#include "common/wire/writer.h"

#define FIGURE_COUNT 14

void wire_write_figures(struct buffer *out, const struct load_figures *figures)
{
    wire_write_array(out, FIGURE_COUNT);
    wire_write_u64(out, figures->reads);
    wire_write_u64(out, figures->read_rows);
    wire_write_u64(out, figures->read_bytes);
    wire_write_u64(out, figures->read_cpu_ns);
    wire_write_u64(out, figures->writes);
    wire_write_u64(out, figures->write_cells);
    wire_write_u64(out, figures->write_bytes);
    wire_write_u64(out, figures->write_cpu_ns);
    wire_write_u64(out, figures->read_wait_ns);
    wire_write_u64(out, figures->read_latency_ns);
    wire_write_u64(out, figures->read_latency_max_ns);
    wire_write_u64(out, figures->write_wait_ns);
    wire_write_u64(out, figures->write_latency_ns);
    wire_write_u64(out, figures->write_latency_max_ns);
}

struct load_figures wire_read_figures(struct wire_reader *reader, struct wire_array *fields)
{
    struct load_figures figures = {0};
    struct wire_array parts = wire_read_array(reader, fields, "figures");
    figures.reads = wire_read_u64(reader, &parts, "figures.reads");
    figures.read_rows = wire_read_u64(reader, &parts, "figures.read_rows");
    figures.read_bytes = wire_read_u64(reader, &parts, "figures.read_bytes");
    figures.read_cpu_ns = wire_read_u64(reader, &parts, "figures.read_cpu_ns");
    figures.writes = wire_read_u64(reader, &parts, "figures.writes");
    figures.write_cells = wire_read_u64(reader, &parts, "figures.write_cells");
    figures.write_bytes = wire_read_u64(reader, &parts, "figures.write_bytes");
    figures.write_cpu_ns = wire_read_u64(reader, &parts, "figures.write_cpu_ns");
    figures.read_wait_ns = wire_read_u64(reader, &parts, "figures.read_wait_ns");
    figures.read_latency_ns = wire_read_u64(reader, &parts, "figures.read_latency_ns");
    figures.read_latency_max_ns = wire_read_u64(reader, &parts, "figures.read_latency_max_ns");
    figures.write_wait_ns = wire_read_u64(reader, &parts, "figures.write_wait_ns");
    figures.write_latency_ns = wire_read_u64(reader, &parts, "figures.write_latency_ns");
    figures.write_latency_max_ns = wire_read_u64(reader, &parts, "figures.write_latency_max_ns");
    wire_array_end(reader, &parts);
    return figures;
}

/* --- reports ---------------------------------------------------------------------------------- */

void wire_write_load_report(struct buffer *out, const struct load_report *report)
{
    wire_write_array(out, 4);
    wire_write_u64(out, report->number);
    wire_write_u64(out, report->elapsed_ns);
    wire_write_u64(out, report->capacity_ns);
    wire_write_array(out, report->tablet_count);
    for (size_t i = 0; i < report->tablet_count; i++) {
        const struct tablet_load *load = &report->tablets[i];
        bool detailed = !wire_is_no_load_detail(&load->detail);
        wire_write_array(out, detailed ? 3 : 2);
        wire_write_u64(out, load->tablet);
        wire_write_figures(out, &load->figures);
        if (detailed) {
            wire_write_load_detail(out, &load->detail);
        }
    }
}

void wire_read_load_report(struct wire_reader *reader,
                           struct wire_array *fields,
                           struct load_report *ret_report)
{
    static const struct wire_list_shape shape = {
        .element_bytes = sizeof(struct tablet_load),
        .wire_bytes_min = 2,
        .count_max = SIZE_MAX,
    };
    struct wire_array parts = wire_read_array(reader, fields, "load");
    struct wire_array list = {0};
    ret_report->number = wire_read_u64(reader, &parts, "load.number");
    ret_report->elapsed_ns = wire_read_u64(reader, &parts, "load.elapsed_ns");
    ret_report->capacity_ns = wire_read_u64(reader, &parts, "load.capacity_ns");
    struct tablet_load *tablets = wire_read_list(reader, &parts, "load.tablets", shape, &list);
    ret_report->tablets = tablets;
    ret_report->tablet_count = list.left;
    for (size_t i = 0; i < ret_report->tablet_count && reader->status == STATUS_OK; i++) {
        struct wire_array one = wire_read_array(reader, &list, "load.tablet");
        tablets[i].tablet = wire_read_u64(reader, &one, "load.tablet.number");
        tablets[i].figures = wire_read_figures(reader, &one);
        wire_read_load_detail(reader, &one, &tablets[i].detail);
        wire_array_end(reader, &one);
    }
    wire_array_end(reader, &list);
    wire_array_end(reader, &parts);
}

/* --- hot tablets ------------------------------------------------------------------------------ */

void list_hot_tablets_request_encode(const struct list_hot_tablets_request *message,
                                     struct buffer *out)
{
    wire_write_array(out, 4);
    wire_write_i64(out, message->start_us);
    wire_write_i64(out, message->end_us);
    wire_write_u64(out, message->after);
    wire_write_u64(out, message->count_max);
}

enum status list_hot_tablets_request_decode(struct bytes in,
                                            struct arena *arena,
                                            struct list_hot_tablets_request *ret_message,
                                            struct error *ret_error)
{
    struct wire_reader reader = wire_reader_open(in, arena, "list_hot_tablets_request", ret_error);
    struct wire_array fields = wire_read_message(&reader);
    struct list_hot_tablets_request message = {0};
    message.start_us = wire_read_i64(&reader, &fields, "start_us");
    message.end_us = wire_read_i64(&reader, &fields, "end_us");
    message.after = wire_read_u64(&reader, &fields, "after");
    message.count_max = wire_read_u32(&reader, &fields, "count_max");
    enum status status = wire_reader_finish(&reader, &fields);
    if (status == STATUS_OK) {
        *ret_message = message;
    }
    return status;
}

static void write_hot_tablet(struct buffer *out, const struct hot_tablet *hot)
{
    wire_write_array(out, 10);
    wire_write_u64(out, hot->number);
    wire_write_u64(out, hot->table);
    wire_write_bytes(out, hot->table_name);
    wire_write_u64(out, hot->tablet);
    wire_write_u64(out, hot->server);
    wire_write_range(out, &hot->range);
    wire_write_i64(out, hot->start_us);
    wire_write_i64(out, hot->end_us);
    wire_write_u64(out, hot->capacity_ns);
    wire_write_figures(out, &hot->figures);
}

static void read_hot_tablet(struct wire_reader *reader,
                            struct wire_array *fields,
                            struct hot_tablet *hot)
{
    struct wire_array parts = wire_read_array(reader, fields, "hot");
    hot->number = wire_read_u64(reader, &parts, "hot.number");
    hot->table = wire_read_u64(reader, &parts, "hot.table");
    hot->table_name = wire_read_bytes(reader, &parts, "hot.table_name");
    hot->tablet = wire_read_u64(reader, &parts, "hot.tablet");
    hot->server = wire_read_u64(reader, &parts, "hot.server");
    hot->range = wire_read_range(reader, &parts, "hot.range");
    hot->start_us = wire_read_i64(reader, &parts, "hot.start_us");
    hot->end_us = wire_read_i64(reader, &parts, "hot.end_us");
    hot->capacity_ns = wire_read_u64(reader, &parts, "hot.capacity_ns");
    hot->figures = wire_read_figures(reader, &parts);
    wire_array_end(reader, &parts);
}

void list_hot_tablets_response_encode(const struct list_hot_tablets_response *message,
                                      struct buffer *out)
{
    wire_write_array(out, 2);
    wire_write_array(out, message->tablet_count);
    for (size_t i = 0; i < message->tablet_count; i++) {
        write_hot_tablet(out, &message->tablets[i]);
    }
    wire_write_u64(out, message->next);
}

enum status list_hot_tablets_response_decode(struct bytes in,
                                             struct arena *arena,
                                             struct list_hot_tablets_response *ret_message,
                                             struct error *ret_error)
{
    static const struct wire_list_shape shape = {
        .element_bytes = sizeof(struct hot_tablet),
        .wire_bytes_min = 2,
        .count_max = SIZE_MAX,
    };
    struct wire_reader reader = wire_reader_open(in, arena, "list_hot_tablets_response", ret_error);
    struct wire_array fields = wire_read_message(&reader);
    struct wire_array list = {0};
    struct list_hot_tablets_response message = {0};
    struct hot_tablet *tablets = wire_read_list(&reader, &fields, "tablets", shape, &list);
    message.tablets = tablets;
    message.tablet_count = list.left;
    for (size_t i = 0; i < message.tablet_count && reader.status == STATUS_OK; i++) {
        read_hot_tablet(&reader, &list, &tablets[i]);
    }
    wire_array_end(&reader, &list);
    message.next = wire_read_u64(&reader, &fields, "next");
    enum status status = wire_reader_finish(&reader, &fields);
    if (status == STATUS_OK) {
        *ret_message = message;
    }
    return status;
}
