/* Documents of the catalog.  What is too long is the master's to refuse, in words. */
#include "common/wire/message_parts.h"
#include "common/wire/writer.h"

/* --- lists of documents ----------------------------------------------------------------------- */

static void write_documents(struct buffer *out, const struct document *documents, size_t count)
{
    wire_write_array(out, count);
    for (size_t i = 0; i < count; i++) {
        wire_write_array(out, 3);
        wire_write_bytes(out, documents[i].name);
        wire_write_bytes(out, documents[i].content);
        wire_write_u64(out, documents[i].version);
    }
}

/* NULL where there are none. */
static const struct document *read_documents(struct wire_reader *reader,
                                             struct wire_array *fields,
                                             size_t *ret_count)
{
    static const struct wire_list_shape shape = {
        .element_bytes = sizeof(struct document),
        .wire_bytes_min = 2,
        .count_max = SIZE_MAX,
    };
    struct wire_array list = {0};
    struct document *documents = wire_read_list(reader, fields, "documents", shape, &list);
    size_t count = list.left;
    for (size_t i = 0; i < count && reader->status == STATUS_OK; i++) {
        struct wire_array parts = wire_read_array(reader, &list, "document");
        documents[i].name = wire_read_bytes(reader, &parts, "document.name");
        documents[i].content = wire_read_bytes(reader, &parts, "document.content");
        documents[i].version = wire_read_u64(reader, &parts, "document.version");
        wire_array_end(reader, &parts);
    }
    wire_array_end(reader, &list);
    *ret_count = count;
    return documents;
}

/* --- put -------------------------------------------------------------------------------------- */

void put_documents_request_encode(const struct put_documents_request *message, struct buffer *out)
{
    wire_write_array(out, 1);
    write_documents(out, message->documents, message->document_count);
}

enum status put_documents_request_decode(struct bytes in,
                                         struct arena *arena,
                                         struct put_documents_request *ret_message,
                                         struct error *ret_error)
{
    struct wire_reader reader = wire_reader_open(in, arena, "put_documents_request", ret_error);
    struct wire_array fields = wire_read_message(&reader);
    struct put_documents_request message = {0};
    message.documents = read_documents(&reader, &fields, &message.document_count);
    enum status status = wire_reader_finish(&reader, &fields);
    if (status == STATUS_OK) {
        *ret_message = message;
    }
    return status;
}

void put_documents_response_encode(const struct put_documents_response *message, struct buffer *out)
{
    wire_write_array(out, 3);
    wire_write_bool(out, message->applied);
    wire_write_u64(out, message->version);
    wire_write_u64(out, message->index);
}

enum status put_documents_response_decode(struct bytes in,
                                          struct arena *arena,
                                          struct put_documents_response *ret_message,
                                          struct error *ret_error)
{
    struct wire_reader reader = wire_reader_open(in, arena, "put_documents_response", ret_error);
    struct wire_array fields = wire_read_message(&reader);
    struct put_documents_response message = {0};
    message.applied = wire_read_bool(&reader, &fields, "applied");
    message.version = wire_read_u64(&reader, &fields, "version");
    message.index = wire_read_u64(&reader, &fields, "index");
    enum status status = wire_reader_finish(&reader, &fields);
    if (status == STATUS_OK) {
        *ret_message = message;
    }
    return status;
}

/* --- list ------------------------------------------------------------------------------------- */

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
    write_documents(out, message->documents, message->document_count);
    wire_write_bool(out, message->more);
}

enum status list_documents_response_decode(struct bytes in,
                                           struct arena *arena,
                                           struct list_documents_response *ret_message,
                                           struct error *ret_error)
{
    struct wire_reader reader = wire_reader_open(in, arena, "list_documents_response", ret_error);
    struct wire_array fields = wire_read_message(&reader);
    struct list_documents_response message = {0};
    message.documents = read_documents(&reader, &fields, &message.document_count);
    message.more = wire_read_bool(&reader, &fields, "more");
    enum status status = wire_reader_finish(&reader, &fields);
    if (status == STATUS_OK) {
        *ret_message = message;
    }
    return status;
}
