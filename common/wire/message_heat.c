#include "common/wire/message.h"
#include "common/wire/message_parts.h"
#include "common/wire/reader.h"
#include "common/wire/writer.h"

void list_heat_request_encode(const struct list_heat_request *message, struct buffer *out)
{
    wire_write_array(out, 3);
    wire_write_i64(out, message->after_us);
    wire_write_u64(out, message->table);
    wire_write_i64(out, message->start_us);
}

enum status list_heat_request_decode(struct bytes in,
                                     struct arena *arena,
                                     struct list_heat_request *ret_message,
                                     struct error *ret_error)
{
    struct wire_reader reader = wire_reader_open(in, arena, "list_heat_request", ret_error);
    struct wire_array fields = wire_read_message(&reader);
    struct list_heat_request message = {0};
    message.after_us = wire_read_i64(&reader, &fields, "after_us");
    message.table = wire_read_u64(&reader, &fields, "table");
    message.start_us = wire_read_i64(&reader, &fields, "start_us");
    enum status status = wire_reader_finish(&reader, &fields);
    if (status == STATUS_OK) {
        *ret_message = message;
    }
    return status;
}

static void write_column(struct buffer *out, const struct heat_column_image *column)
{
    wire_write_array(out, 5);
    wire_write_u64(out, column->table);
    wire_write_u64(out, column->layer);
    wire_write_i64(out, column->start_us);
    wire_write_i64(out, column->end_us);
    wire_write_bytes(out, column->packed);
}

static void read_column(struct wire_reader *reader,
                        struct wire_array *fields,
                        struct heat_column_image *column)
{
    struct wire_array parts = wire_read_array(reader, fields, "column");
    column->table = wire_read_u64(reader, &parts, "column.table");
    column->layer = wire_read_u32(reader, &parts, "column.layer");
    column->start_us = wire_read_i64(reader, &parts, "column.start_us");
    column->end_us = wire_read_i64(reader, &parts, "column.end_us");
    column->packed = wire_read_bytes(reader, &parts, "column.packed");
    wire_array_end(reader, &parts);
}

void list_heat_response_encode(const struct list_heat_response *message, struct buffer *out)
{
    wire_write_array(out, 3);
    wire_write_i64(out, message->newest_us);
    wire_write_array(out, message->column_count);
    for (size_t i = 0; i < message->column_count; i++) {
        write_column(out, &message->columns[i]);
    }
    wire_write_bool(out, message->more);
}

enum status list_heat_response_decode(struct bytes in,
                                      struct arena *arena,
                                      struct list_heat_response *ret_message,
                                      struct error *ret_error)
{
    static const struct wire_list_shape shape = {
        .element_bytes = sizeof(struct heat_column_image),
        .wire_bytes_min = 2,
        .count_max = SIZE_MAX,
    };
    struct wire_reader reader = wire_reader_open(in, arena, "list_heat_response", ret_error);
    struct wire_array fields = wire_read_message(&reader);
    struct wire_array list = {0};
    struct list_heat_response message = {0};
    message.newest_us = wire_read_i64(&reader, &fields, "newest_us");
    struct heat_column_image *columns = wire_read_list(&reader, &fields, "columns", shape, &list);
    message.columns = columns;
    message.column_count = list.left;
    for (size_t i = 0; i < message.column_count && reader.status == STATUS_OK; i++) {
        read_column(&reader, &list, &columns[i]);
    }
    wire_array_end(&reader, &list);
    message.more = wire_read_bool(&reader, &fields, "more");
    enum status status = wire_reader_finish(&reader, &fields);
    if (status == STATUS_OK) {
        *ret_message = message;
    }
    return status;
}
