/* HELLO and its answer, and the heads of requests and responses. */
#include "common/wire/message.h"
#include "common/wire/reader.h"
#include "common/wire/writer.h"

void hello_encode(const struct hello *hello, struct buffer *out)
{
    wire_write_array(out, 6);
    wire_write_u64(out, hello->version_oldest);
    wire_write_u64(out, hello->version_newest);
    wire_write_u64(out, hello->features);
    wire_write_u64(out, hello->lane);
    wire_write_bytes(out, hello->agent);
    wire_write_u64(out, hello->process);
}

enum status hello_decode(struct bytes in, struct hello *ret_hello, struct error *ret_error)
{
    struct wire_reader reader = wire_reader_open(in, NULL, "hello", ret_error);
    struct wire_array fields = wire_read_message(&reader);
    struct hello hello = {0};
    hello.version_oldest = wire_read_u32(&reader, &fields, "version_oldest");
    hello.version_newest = wire_read_u32(&reader, &fields, "version_newest");
    hello.features = wire_read_u64(&reader, &fields, "features");
    hello.lane = wire_read_u32(&reader, &fields, "lane");
    hello.agent = wire_read_bytes(&reader, &fields, "agent");
    hello.process = wire_read_u64(&reader, &fields, "process");
    enum status status = wire_reader_finish(&reader, &fields);
    if (status == STATUS_OK) {
        *ret_hello = hello;
    }
    return status;
}

void hello_ack_encode(const struct hello_ack *ack, struct buffer *out)
{
    wire_write_array(out, 7);
    wire_write_u64(out, ack->status);
    wire_write_bytes(out, ack->text);
    wire_write_u64(out, ack->version);
    wire_write_u64(out, ack->features);
    wire_write_bytes(out, ack->agent);
    wire_write_u64(out, ack->process);
    wire_write_i64(out, ack->now_us);
}

enum status hello_ack_decode(struct bytes in, struct hello_ack *ret_ack, struct error *ret_error)
{
    struct wire_reader reader = wire_reader_open(in, NULL, "hello_ack", ret_error);
    struct wire_array fields = wire_read_message(&reader);
    struct hello_ack ack = {0};
    ack.status = wire_read_u32(&reader, &fields, "status");
    ack.text = wire_read_bytes(&reader, &fields, "text");
    ack.version = wire_read_u32(&reader, &fields, "version");
    ack.features = wire_read_u64(&reader, &fields, "features");
    ack.agent = wire_read_bytes(&reader, &fields, "agent");
    ack.process = wire_read_u64(&reader, &fields, "process");
    ack.now_us = wire_read_i64(&reader, &fields, "now_us");
    enum status status = wire_reader_finish(&reader, &fields);
    if (status == STATUS_OK) {
        *ret_ack = ack;
    }
    return status;
}

void request_head_encode(const struct request_head *head, struct buffer *out)
{
    wire_write_array(out, 2);
    wire_write_u64(out, head->deadline_ms);
    wire_write_u64(out, head->trace);
}

void response_head_encode(const struct response_head *head, struct buffer *out)
{
    wire_write_array(out, 2);
    wire_write_u64(out, head->status);
    wire_write_bytes(out, head->text);
}

/* What a reader has not read yet. */
static struct bytes rest_of(const struct wire_reader *reader)
{
    return (struct bytes){reader->at, (size_t)(reader->end - reader->at)};
}

enum status request_head_decode(struct bytes in,
                                struct request_head *ret_head,
                                struct bytes *ret_body,
                                struct error *ret_error)
{
    struct wire_reader reader = wire_reader_open(in, NULL, "request_head", ret_error);
    struct wire_array fields = wire_read_message(&reader);
    struct request_head head = {0};
    head.deadline_ms = wire_read_u32(&reader, &fields, "deadline_ms");
    head.trace = wire_read_u64(&reader, &fields, "trace");
    wire_array_end(&reader, &fields);
    if (reader.status == STATUS_OK) {
        *ret_head = head;
        *ret_body = rest_of(&reader);
    }
    return reader.status;
}

enum status response_head_decode(struct bytes in,
                                 struct response_head *ret_head,
                                 struct bytes *ret_body,
                                 struct error *ret_error)
{
    struct wire_reader reader = wire_reader_open(in, NULL, "response_head", ret_error);
    struct wire_array fields = wire_read_message(&reader);
    struct response_head head = {0};
    head.status = wire_read_u32(&reader, &fields, "status");
    head.text = wire_read_bytes(&reader, &fields, "text");
    wire_array_end(&reader, &fields);
    if (reader.status == STATUS_OK) {
        *ret_head = head;
        *ret_body = rest_of(&reader);
    }
    return reader.status;
}
