/* Documents of the catalog.  What is too long is the master's to refuse, in words. */
#include "common/wire/message_parts.h"
#include "common/wire/writer.h"

void put_document_request_encode(const struct put_document_request *message, struct buffer *out)
{
    wire_write_array(out, 3);
    wire_write_bytes(out, message->name);
    wire_write_bytes(out, message->content);
    wire_write_u64(out, message->version);
}

enum status put_document_request_decode(struct bytes in,
                                        struct arena *arena,
                                        struct put_document_request *ret_message,
                                        struct error *ret_error)
{
    struct wire_reader reader = wire_reader_open(in, arena, "put_document_request", ret_error);
    struct wire_array fields = wire_read_message(&reader);
    struct put_document_request message = {0};
    message.name = wire_read_bytes(&reader, &fields, "name");
    message.content = wire_read_bytes(&reader, &fields, "content");
    message.version = wire_read_u64(&reader, &fields, "version");
    enum status status = wire_reader_finish(&reader, &fields);
    if (status == STATUS_OK) {
        *ret_message = message;
    }
    return status;
}

void put_document_response_encode(const struct put_document_response *message, struct buffer *out)
{
    wire_write_array(out, 2);
    wire_write_bool(out, message->applied);
    wire_write_u64(out, message->version);
}

enum status put_document_response_decode(struct bytes in,
                                         struct arena *arena,
                                         struct put_document_response *ret_message,
                                         struct error *ret_error)
{
    struct wire_reader reader = wire_reader_open(in, arena, "put_document_response", ret_error);
    struct wire_array fields = wire_read_message(&reader);
    struct put_document_response message = {0};
    message.applied = wire_read_bool(&reader, &fields, "applied");
    message.version = wire_read_u64(&reader, &fields, "version");
    enum status status = wire_reader_finish(&reader, &fields);
    if (status == STATUS_OK) {
        *ret_message = message;
    }
    return status;
}

void list_documents_request_encode(const struct list_documents_request *message, struct buffer *out)
{
    wire_write_array(out, 3);
    wire_write_bytes(out, message->prefix);
    wire_write_bytes(out, message->start);
    wire_write_u64(out, message->count_max);
}

enum status list_documents_request_decode(struct bytes in,
                                          struct arena *arena,
                                          struct list_documents_request *ret_message,
                                          struct error *ret_error)
{
    struct wire_reader reader = wire_reader_open(in, arena, "list_documents_request", ret_error);
    struct wire_array fields = wire_read_message(&reader);
    struct list_documents_request message = {0};
    message.prefix = wire_read_bytes(&reader, &fields, "prefix");
    message.start = wire_read_bytes(&reader, &fields, "start");
    message.count_max = wire_read_u32(&reader, &fields, "count_max");
    enum status status = wire_reader_finish(&reader, &fields);
    if (status == STATUS_OK) {
        *ret_message = message;
    }
    return status;
}

void list_documents_response_encode(const struct list_documents_response *message,
                                    struct buffer *out)
{
    wire_write_array(out, 2);
    wire_write_array(out, message->document_count);
    for (size_t i = 0; i < message->document_count; i++) {
        wire_write_array(out, 3);
        wire_write_bytes(out, message->documents[i].name);
        wire_write_bytes(out, message->documents[i].content);
        wire_write_u64(out, message->documents[i].version);
    }
    wire_write_bool(out, message->more);
}

enum status list_documents_response_decode(struct bytes in,
                                           struct arena *arena,
                                           struct list_documents_response *ret_message,
                                           struct error *ret_error)
{
    static const struct wire_list_shape shape = {
        .element_bytes = sizeof(struct document),
        .wire_bytes_min = 2,
        .count_max = SIZE_MAX,
    };
    struct wire_reader reader = wire_reader_open(in, arena, "list_documents_response", ret_error);
    struct wire_array fields = wire_read_message(&reader);
    struct wire_array list = {0};
    struct list_documents_response message = {0};
    struct document *documents = wire_read_list(&reader, &fields, "documents", shape, &list);
    message.documents = documents;
    message.document_count = list.left;
    for (size_t i = 0; i < message.document_count && reader.status == STATUS_OK; i++) {
        struct wire_array parts = wire_read_array(&reader, &list, "document");
        documents[i].name = wire_read_bytes(&reader, &parts, "document.name");
        documents[i].content = wire_read_bytes(&reader, &parts, "document.content");
        documents[i].version = wire_read_u64(&reader, &parts, "document.version");
        wire_array_end(&reader, &parts);
    }
    wire_array_end(&reader, &list);
    message.more = wire_read_bool(&reader, &fields, "more");
    enum status status = wire_reader_finish(&reader, &fields);
    if (status == STATUS_OK) {
        *ret_message = message;
    }
    return status;
}
