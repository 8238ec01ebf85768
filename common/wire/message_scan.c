/* Scans, and samples of row keys. */
#include "common/wire/message_parts.h"
#include "common/wire/writer.h"

#define RANGE_WIRE_BYTES_MIN  3 /* array and two empty keys, at least one byte each */
#define SAMPLE_WIRE_BYTES_MIN 3

void scan_request_encode(const struct scan_request *request, struct buffer *out)
{
    wire_write_array(out, 6);
    wire_write_u64(out, request->table);
    wire_write_array(out, request->row_range_count);
    for (size_t i = 0; i < request->row_range_count; i++) {
        wire_write_range(out, &request->rows[i]);
    }
    wire_write_filter(out, request->filter);
    wire_write_u64(out, request->rows_limit);
    wire_write_bool(out, request->reversed);
    wire_write_u64(out, request->credit_bytes);
}

enum status scan_request_decode(struct bytes in,
                                struct arena *arena,
                                struct scan_request *ret_request,
                                struct error *ret_error)
{
    static const struct wire_list_shape shape = {
        .element_bytes = sizeof(struct row_range),
        .wire_bytes_min = RANGE_WIRE_BYTES_MIN,
        .count_max = SIZE_MAX,
    };
    struct wire_reader reader = wire_reader_open(in, arena, "scan_request", ret_error);
    struct wire_array fields = wire_read_message(&reader);
    struct wire_array list = {0};
    struct scan_request request = {0};
    request.table = wire_read_u64(&reader, &fields, "table");
    struct row_range *rows = wire_read_list(&reader, &fields, "rows", shape, &list);
    request.rows = rows;
    request.row_range_count = list.left;
    for (size_t i = 0; i < request.row_range_count && reader.status == STATUS_OK; i++) {
        rows[i] = wire_read_range(&reader, &list, "rows");
    }
    wire_array_end(&reader, &list);
    request.filter = wire_read_filter(&reader, &fields, &request.filter_bytes);
    request.rows_limit = wire_read_u64(&reader, &fields, "rows_limit");
    request.reversed = wire_read_bool(&reader, &fields, "reversed");
    request.credit_bytes = wire_read_u64(&reader, &fields, "credit_bytes");
    enum status status = wire_reader_finish(&reader, &fields);
    if (status == STATUS_OK) {
        *ret_request = request;
    }
    return status;
}

void scan_response_encode(const struct scan_response *response, struct buffer *out)
{
    wire_write_array(out, 9);
    wire_write_bytes(out, response->rows);
    wire_write_bytes(out, response->last_scanned);
    wire_write_bool(out, response->done);
    wire_write_range(out, &response->tablet);
    wire_write_u64(out, response->rows_seen);
    wire_write_u64(out, response->cells_seen);
    wire_write_u64(out, response->rows_returned);
    wire_write_u64(out, response->cells_returned);
    wire_write_location_if(out, response->has_location, &response->location);
}

enum status scan_response_decode(struct bytes in,
                                 struct scan_response *ret_response,
                                 struct error *ret_error)
{
    struct wire_reader reader = wire_reader_open(in, NULL, "scan_response", ret_error);
    struct wire_array fields = wire_read_message(&reader);
    struct scan_response response = {0};
    response.rows = wire_read_bytes(&reader, &fields, "rows");
    response.last_scanned = wire_read_bytes(&reader, &fields, "last_scanned");
    response.done = wire_read_bool(&reader, &fields, "done");
    response.tablet = wire_read_range(&reader, &fields, "tablet");
    response.rows_seen = wire_read_u64(&reader, &fields, "rows_seen");
    response.cells_seen = wire_read_u64(&reader, &fields, "cells_seen");
    response.rows_returned = wire_read_u64(&reader, &fields, "rows_returned");
    response.cells_returned = wire_read_u64(&reader, &fields, "cells_returned");
    response.has_location = wire_read_location_if(&reader, &fields, &response.location);
    enum status status = wire_reader_finish(&reader, &fields);
    if (status == STATUS_OK) {
        *ret_response = response;
    }
    return status;
}

void sample_request_encode(const struct sample_request *message, struct buffer *out)
{
    wire_write_array(out, 2);
    wire_write_u64(out, message->table);
    wire_write_bytes(out, message->row);
}

enum status sample_request_decode(struct bytes in,
                                  struct arena *arena,
                                  struct sample_request *ret_message,
                                  struct error *ret_error)
{
    struct wire_reader reader = wire_reader_open(in, arena, "sample_request", ret_error);
    struct wire_array fields = wire_read_message(&reader);
    struct sample_request message = {0};
    message.table = wire_read_u64(&reader, &fields, "table");
    message.row = wire_read_bytes(&reader, &fields, "row");
    enum status status = wire_reader_finish(&reader, &fields);
    if (status == STATUS_OK) {
        *ret_message = message;
    }
    return status;
}

void sample_response_encode(const struct sample_response *message, struct buffer *out)
{
    wire_write_array(out, 3);
    wire_write_range(out, &message->tablet);
    wire_write_u64(out, message->total_bytes);
    wire_write_array(out, message->sample_count);
    for (size_t i = 0; i < message->sample_count; i++) {
        wire_write_array(out, 2);
        wire_write_bytes(out, message->samples[i].row);
        wire_write_u64(out, message->samples[i].offset_bytes);
    }
}

enum status sample_response_decode(struct bytes in,
                                   struct arena *arena,
                                   struct sample_response *ret_message,
                                   struct error *ret_error)
{
    static const struct wire_list_shape shape = {
        .element_bytes = sizeof(struct sample),
        .wire_bytes_min = SAMPLE_WIRE_BYTES_MIN,
        .count_max = SIZE_MAX,
    };
    struct wire_reader reader = wire_reader_open(in, arena, "sample_response", ret_error);
    struct wire_array fields = wire_read_message(&reader);
    struct wire_array list = {0};
    struct sample_response message = {0};
    message.tablet = wire_read_range(&reader, &fields, "tablet");
    message.total_bytes = wire_read_u64(&reader, &fields, "total_bytes");
    struct sample *samples = wire_read_list(&reader, &fields, "samples", shape, &list);
    message.samples = samples;
    message.sample_count = list.left;
    for (size_t i = 0; i < message.sample_count && reader.status == STATUS_OK; i++) {
        struct wire_array parts = wire_read_array(&reader, &list, "sample");
        samples[i].row = wire_read_bytes(&reader, &parts, "sample.row");
        samples[i].offset_bytes = wire_read_u64(&reader, &parts, "sample.offset_bytes");
        wire_array_end(&reader, &parts);
    }
    wire_array_end(&reader, &list);
    enum status status = wire_reader_finish(&reader, &fields);
    if (status == STATUS_OK) {
        *ret_message = message;
    }
    return status;
}
