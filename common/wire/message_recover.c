/* Tablets whose members are all lost: what there is, and what is chosen. */
#include "common/wire/message_parts.h"
#include "common/wire/writer.h"

void recover_request_encode(const struct recover_request *message, struct buffer *out)
{
    wire_write_array(out, 5);
    wire_write_bytes(out, message->table);
    wire_write_u64(out, message->tablet);
    wire_write_bool(out, message->accept_loss);
    wire_write_u64(out, message->store);
    wire_write_bytes(out, message->who);
}

enum status recover_request_decode(struct bytes in,
                                   struct arena *arena,
                                   struct recover_request *ret_message,
                                   struct error *ret_error)
{
    struct wire_reader reader = wire_reader_open(in, arena, "recover_request", ret_error);
    struct wire_array fields = wire_read_message(&reader);
    struct recover_request message = {0};
    message.table = wire_read_bytes(&reader, &fields, "table");
    message.tablet = wire_read_u64(&reader, &fields, "tablet");
    message.accept_loss = wire_read_bool(&reader, &fields, "accept_loss");
    message.store = wire_read_u64(&reader, &fields, "store");
    message.who = wire_read_bytes(&reader, &fields, "who");
    if (message.who.size_bytes > RECOVER_WHO_BYTES_MAX) {
        wire_reader_refuse(&reader, "who", "it is too long");
    }
    enum status status = wire_reader_finish(&reader, &fields);
    if (status == STATUS_OK) {
        *ret_message = message;
    }
    return status;
}

/* --- the answer --------------------------------------------------------------------------------- */

static void write_copy(struct buffer *out, const struct found_copy *copy)
{
    wire_write_array(out, 7);
    wire_write_u64(out, copy->server);
    wire_write_u64(out, copy->store);
    wire_write_bytes(out, copy->address);
    wire_write_u64(out, copy->version);
    wire_write_u64(out, copy->committed);
    wire_write_i64(out, copy->heard_us);
    wire_write_u64(out, copy->flags);
}

static void write_tablet(struct buffer *out, const struct lost_tablet *tablet)
{
    wire_write_array(out, 10);
    wire_write_u64(out, tablet->tablet);
    wire_write_bytes(out, tablet->table);
    wire_write_bytes(out, tablet->start);
    wire_write_bytes(out, tablet->end);
    wire_write_u64(out, tablet->state);
    wire_write_u64(out, tablet->version);
    wire_write_bytes(out, tablet->why);
    wire_write_array(out, tablet->copy_count);
    for (size_t i = 0; i < tablet->copy_count; i++) {
        write_copy(out, &tablet->copies[i]);
    }
    wire_write_i64(out, tablet->recovered_us);
    wire_write_bytes(out, tablet->recovered_by);
}

void recover_response_encode(const struct recover_response *message, struct buffer *out)
{
    wire_write_array(out, 3);
    wire_write_array(out, message->tablet_count);
    for (size_t i = 0; i < message->tablet_count; i++) {
        write_tablet(out, &message->tablets[i]);
    }
    wire_write_bool(out, message->more);
    wire_write_u64(out, message->chosen_store);
}

static void read_copies(struct wire_reader *reader,
                        struct wire_array *fields,
                        struct lost_tablet *tablet)
{
    static const struct wire_list_shape shape = {sizeof(struct found_copy), 2, SIZE_MAX};
    struct wire_array list = {0};
    struct found_copy *copies = wire_read_list(reader, fields, "tablet.copies", shape, &list);
    tablet->copies = copies;
    tablet->copy_count = list.left;
    for (size_t i = 0; i < tablet->copy_count && reader->status == STATUS_OK; i++) {
        struct wire_array parts = wire_read_array(reader, &list, "copy");
        copies[i].server = wire_read_u64(reader, &parts, "copy.server");
        copies[i].store = wire_read_u64(reader, &parts, "copy.store");
        copies[i].address = wire_read_bytes(reader, &parts, "copy.address");
        copies[i].version = wire_read_u64(reader, &parts, "copy.version");
        copies[i].committed = wire_read_u64(reader, &parts, "copy.committed");
        copies[i].heard_us = wire_read_i64(reader, &parts, "copy.heard_us");
        copies[i].flags = wire_read_u32(reader, &parts, "copy.flags");
        wire_array_end(reader, &parts);
    }
    wire_array_end(reader, &list);
}

static void read_tablet(struct wire_reader *reader,
                        struct wire_array *tablets,
                        struct lost_tablet *tablet)
{
    struct wire_array parts = wire_read_array(reader, tablets, "tablet");
    tablet->tablet = wire_read_u64(reader, &parts, "tablet.tablet");
    tablet->table = wire_read_bytes(reader, &parts, "tablet.table");
    tablet->start = wire_read_bytes(reader, &parts, "tablet.start");
    tablet->end = wire_read_bytes(reader, &parts, "tablet.end");
    tablet->state = wire_read_u32(reader, &parts, "tablet.state");
    tablet->version = wire_read_u64(reader, &parts, "tablet.version");
    tablet->why = wire_read_bytes(reader, &parts, "tablet.why");
    read_copies(reader, &parts, tablet);
    tablet->recovered_us = wire_read_i64(reader, &parts, "tablet.recovered_us");
    tablet->recovered_by = wire_read_bytes(reader, &parts, "tablet.recovered_by");
    wire_array_end(reader, &parts);
}

enum status recover_response_decode(struct bytes in,
                                    struct arena *arena,
                                    struct recover_response *ret_message,
                                    struct error *ret_error)
{
    static const struct wire_list_shape shape = {sizeof(struct lost_tablet), 2, SIZE_MAX};
    struct wire_reader reader = wire_reader_open(in, arena, "recover_response", ret_error);
    struct wire_array fields = wire_read_message(&reader);
    struct wire_array list = {0};
    struct recover_response message = {0};
    struct lost_tablet *tablets = wire_read_list(&reader, &fields, "tablets", shape, &list);
    message.tablets = tablets;
    message.tablet_count = list.left;
    for (size_t i = 0; i < message.tablet_count && reader.status == STATUS_OK; i++) {
        read_tablet(&reader, &list, &tablets[i]);
    }
    wire_array_end(&reader, &list);
    message.more = wire_read_bool(&reader, &fields, "more");
    message.chosen_store = wire_read_u64(&reader, &fields, "chosen_store");
    enum status status = wire_reader_finish(&reader, &fields);
    if (status == STATUS_OK) {
        *ret_message = message;
    }
    return status;
}
