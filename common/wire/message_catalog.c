/* Tables and tablets: what clients ask of the master. */
#include "common/wire/message_parts.h"
#include "common/wire/writer.h"

void locate_request_encode(const struct locate_request *message, struct buffer *out)
{
    wire_write_array(out, 5);
    wire_write_u64(out, message->table);
    wire_write_bytes(out, message->name);
    wire_write_bytes(out, message->row);
    wire_write_u64(out, message->count_max);
    wire_write_bool(out, message->detailed);
}

enum status locate_request_decode(struct bytes in,
                                  struct arena *arena,
                                  struct locate_request *ret_message,
                                  struct error *ret_error)
{
    struct wire_reader reader = wire_reader_open(in, arena, "locate_request", ret_error);
    struct wire_array fields = wire_read_message(&reader);
    struct locate_request message = {0};
    message.table = wire_read_u64(&reader, &fields, "table");
    message.name = wire_read_bytes(&reader, &fields, "name");
    message.row = wire_read_bytes(&reader, &fields, "row");
    message.count_max = wire_read_u32(&reader, &fields, "count_max");
    message.detailed = wire_read_bool(&reader, &fields, "detailed");
    enum status status = wire_reader_finish(&reader, &fields);
    if (status == STATUS_OK) {
        *ret_message = message;
    }
    return status;
}

void locate_response_encode(const struct locate_response *message, struct buffer *out)
{
    wire_write_array(out, message->replicas_count > 0 ? 3 : 2);
    wire_write_table(out, &message->table);
    wire_write_array(out, message->location_count);
    for (size_t i = 0; i < message->location_count; i++) {
        wire_write_location(out, &message->locations[i]);
    }
    if (message->replicas_count > 0) {
        wire_write_array(out, message->replicas_count);
        for (size_t i = 0; i < message->replicas_count; i++) {
            wire_write_located_replicas(out, &message->replicas[i]);
        }
    }
}

static void read_replicas(struct wire_reader *reader,
                          struct wire_array *fields,
                          struct locate_response *message)
{
    static const struct wire_list_shape shape = {
        .element_bytes = sizeof(struct located_replicas),
        .wire_bytes_min = 2,
        .count_max = SIZE_MAX,
    };
    struct wire_array list = {0};
    struct located_replicas *replicas = wire_read_list(reader, fields, "replicas", shape, &list);
    message->replicas = replicas;
    message->replicas_count = list.left;
    for (size_t i = 0; i < message->replicas_count && reader->status == STATUS_OK; i++) {
        wire_read_located_replicas(reader, &list, &replicas[i]);
    }
    wire_array_end(reader, &list);
    if (message->replicas_count > 0 && message->replicas_count != message->location_count) {
        wire_reader_refuse(reader, "replicas", "are not as many as locations");
    }
}

enum status locate_response_decode(struct bytes in,
                                   struct arena *arena,
                                   struct locate_response *ret_message,
                                   struct error *ret_error)
{
    static const struct wire_list_shape shape = {
        .element_bytes = sizeof(struct location),
        .wire_bytes_min = 2,
        .count_max = SIZE_MAX,
    };
    struct wire_reader reader = wire_reader_open(in, arena, "locate_response", ret_error);
    struct wire_array fields = wire_read_message(&reader);
    struct wire_array list = {0};
    struct locate_response message = {0};
    wire_read_table(&reader, &fields, "table", &message.table);
    struct location *locations = wire_read_list(&reader, &fields, "locations", shape, &list);
    message.locations = locations;
    message.location_count = list.left;
    for (size_t i = 0; i < message.location_count && reader.status == STATUS_OK; i++) {
        wire_read_location(&reader, &list, &locations[i]);
    }
    wire_array_end(&reader, &list);
    read_replicas(&reader, &fields, &message);
    enum status status = wire_reader_finish(&reader, &fields);
    if (status == STATUS_OK) {
        *ret_message = message;
    }
    return status;
}

void create_table_request_encode(const struct create_table_request *message, struct buffer *out)
{
    wire_write_array(out, 2);
    wire_write_table(out, &message->table);
    wire_write_array(out, message->split_count);
    for (size_t i = 0; i < message->split_count; i++) {
        wire_write_bytes(out, message->splits[i]);
    }
}

enum status create_table_request_decode(struct bytes in,
                                        struct arena *arena,
                                        struct create_table_request *ret_message,
                                        struct error *ret_error)
{
    static const struct wire_list_shape shape = {
        .element_bytes = sizeof(struct bytes),
        .wire_bytes_min = 1,
        .count_max = SIZE_MAX, /* the master says what is too many */
    };
    struct wire_reader reader = wire_reader_open(in, arena, "create_table_request", ret_error);
    struct wire_array fields = wire_read_message(&reader);
    struct wire_array list = {0};
    struct create_table_request message = {0};
    wire_read_table(&reader, &fields, "table", &message.table);
    struct bytes *splits = wire_read_list(&reader, &fields, "splits", shape, &list);
    message.splits = splits;
    message.split_count = list.left;
    for (size_t i = 0; i < message.split_count && reader.status == STATUS_OK; i++) {
        splits[i] = wire_read_bytes(&reader, &list, "splits");
    }
    wire_array_end(&reader, &list);
    enum status status = wire_reader_finish(&reader, &fields);
    if (status == STATUS_OK) {
        *ret_message = message;
    }
    return status;
}

void table_name_request_encode(const struct table_name_request *message, struct buffer *out)
{
    wire_write_array(out, 1);
    wire_write_bytes(out, message->name);
}

enum status table_name_request_decode(struct bytes in,
                                      struct arena *arena,
                                      struct table_name_request *ret_message,
                                      struct error *ret_error)
{
    struct wire_reader reader = wire_reader_open(in, arena, "table_name_request", ret_error);
    struct wire_array fields = wire_read_message(&reader);
    struct table_name_request message = {0};
    message.name = wire_read_bytes(&reader, &fields, "name");
    enum status status = wire_reader_finish(&reader, &fields);
    if (status == STATUS_OK) {
        *ret_message = message;
    }
    return status;
}

void standby_response_encode(const struct standby_response *message, struct buffer *out)
{
    wire_write_array(out, 1);
    wire_write_bytes(out, message->active);
}

enum status standby_response_decode(struct bytes in,
                                    struct arena *arena,
                                    struct standby_response *ret_message,
                                    struct error *ret_error)
{
    struct wire_reader reader = wire_reader_open(in, arena, "standby_response", ret_error);
    struct wire_array fields = wire_read_message(&reader);
    struct standby_response message = {0};
    message.active = wire_read_bytes(&reader, &fields, "active");
    enum status status = wire_reader_finish(&reader, &fields);
    if (status == STATUS_OK) {
        *ret_message = message;
    }
    return status;
}

void master_response_encode(const struct master_response *message, struct buffer *out)
{
    wire_write_array(out, 4);
    wire_write_u64(out, message->cluster);
    wire_write_u64(out, message->state);
    wire_write_u64(out, message->reign);
    wire_write_bytes(out, message->active);
}

enum status master_response_decode(struct bytes in,
                                   struct arena *arena,
                                   struct master_response *ret_message,
                                   struct error *ret_error)
{
    struct wire_reader reader = wire_reader_open(in, arena, "master_response", ret_error);
    struct wire_array fields = wire_read_message(&reader);
    struct master_response message = {0};
    message.cluster = wire_read_u64(&reader, &fields, "cluster");
    message.state = wire_read_u32(&reader, &fields, "state");
    message.reign = wire_read_u64(&reader, &fields, "reign");
    message.active = wire_read_bytes(&reader, &fields, "active");
    enum status status = wire_reader_finish(&reader, &fields);
    if (status == STATUS_OK) {
        *ret_message = message;
    }
    return status;
}

void alter_table_request_encode(const struct alter_table_request *message, struct buffer *out)
{
    wire_write_array(out, 2);
    wire_write_bytes(out, message->name);
    wire_write_array(out, message->alteration_count);
    for (size_t i = 0; i < message->alteration_count; i++) {
        const struct alteration *alteration = &message->alterations[i];
        wire_write_array(out, 5);
        wire_write_u64(out, alteration->kind);
        wire_write_family(out, &alteration->family);
        wire_write_bool(out, alteration->flag);
        wire_write_u64(out, alteration->replicas);
        wire_write_u64(out, alteration->min_in_sync);
    }
}

enum status alter_table_request_decode(struct bytes in,
                                       struct arena *arena,
                                       struct alter_table_request *ret_message,
                                       struct error *ret_error)
{
    static const struct wire_list_shape shape = {
        .element_bytes = sizeof(struct alteration),
        .wire_bytes_min = 2,
        .count_max = SIZE_MAX,
    };
    struct wire_reader reader = wire_reader_open(in, arena, "alter_table_request", ret_error);
    struct wire_array fields = wire_read_message(&reader);
    struct wire_array list = {0};
    struct alter_table_request message = {0};
    message.name = wire_read_bytes(&reader, &fields, "name");
    struct alteration *alterations = wire_read_list(&reader, &fields, "alterations", shape, &list);
    message.alterations = alterations;
    message.alteration_count = list.left;
    for (size_t i = 0; i < message.alteration_count && reader.status == STATUS_OK; i++) {
        struct wire_array parts = wire_read_array(&reader, &list, "alteration");
        alterations[i].kind = (enum alter_kind)wire_read_choice(&reader, &parts, "alteration.kind",
                                                                ALTER_CREATE_FAMILY, ALTER_PINNED);
        wire_read_family(&reader, &parts, &alterations[i].family);
        alterations[i].flag = wire_read_bool(&reader, &parts, "alteration.flag");
        alterations[i].replicas = wire_read_u32(&reader, &parts, "alteration.replicas");
        alterations[i].min_in_sync = wire_read_u32(&reader, &parts, "alteration.min_in_sync");
        wire_array_end(&reader, &parts);
    }
    wire_array_end(&reader, &list);
    enum status status = wire_reader_finish(&reader, &fields);
    if (status == STATUS_OK) {
        *ret_message = message;
    }
    return status;
}

static void read_table_response(struct wire_reader *reader,
                                struct wire_array *fields,
                                struct table_response *ret_message)
{
    wire_read_table(reader, fields, "table", &ret_message->table);
    ret_message->tablet_count = wire_read_u32(reader, fields, "tablet_count");
}

void table_response_encode(const struct table_response *message, struct buffer *out)
{
    wire_write_array(out, 2);
    wire_write_table(out, &message->table);
    wire_write_u64(out, message->tablet_count);
}

enum status table_response_decode(struct bytes in,
                                  struct arena *arena,
                                  struct table_response *ret_message,
                                  struct error *ret_error)
{
    struct wire_reader reader = wire_reader_open(in, arena, "table_response", ret_error);
    struct wire_array fields = wire_read_message(&reader);
    struct table_response message = {0};
    read_table_response(&reader, &fields, &message);
    enum status status = wire_reader_finish(&reader, &fields);
    if (status == STATUS_OK) {
        *ret_message = message;
    }
    return status;
}

void tables_response_encode(const struct tables_response *message, struct buffer *out)
{
    wire_write_array(out, 1);
    wire_write_array(out, message->table_count);
    for (size_t i = 0; i < message->table_count; i++) {
        table_response_encode(&message->tables[i], out);
    }
}

enum status tables_response_decode(struct bytes in,
                                   struct arena *arena,
                                   struct tables_response *ret_message,
                                   struct error *ret_error)
{
    static const struct wire_list_shape shape = {
        .element_bytes = sizeof(struct table_response),
        .wire_bytes_min = 2,
        .count_max = SIZE_MAX,
    };
    struct wire_reader reader = wire_reader_open(in, arena, "tables_response", ret_error);
    struct wire_array fields = wire_read_message(&reader);
    struct wire_array list = {0};
    struct table_response *tables = wire_read_list(&reader, &fields, "tables", shape, &list);
    size_t count = list.left;
    for (size_t i = 0; i < count && reader.status == STATUS_OK; i++) {
        struct wire_array parts = wire_read_array(&reader, &list, "table_response");
        read_table_response(&reader, &parts, &tables[i]);
        wire_array_end(&reader, &parts);
    }
    wire_array_end(&reader, &list);
    enum status status = wire_reader_finish(&reader, &fields);
    if (status == STATUS_OK) {
        *ret_message = (struct tables_response){tables, count};
    }
    return status;
}

void split_request_encode(const struct split_request *message, struct buffer *out)
{
    wire_write_array(out, 2);
    wire_write_bytes(out, message->table);
    wire_write_bytes(out, message->row);
}

enum status split_request_decode(struct bytes in,
                                 struct arena *arena,
                                 struct split_request *ret_message,
                                 struct error *ret_error)
{
    struct wire_reader reader = wire_reader_open(in, arena, "split_request", ret_error);
    struct wire_array fields = wire_read_message(&reader);
    struct split_request message = {0};
    message.table = wire_read_bytes(&reader, &fields, "table");
    message.row = wire_read_bytes(&reader, &fields, "row");
    enum status status = wire_reader_finish(&reader, &fields);
    if (status == STATUS_OK) {
        *ret_message = message;
    }
    return status;
}

void split_response_encode(const struct split_response *message, struct buffer *out)
{
    wire_write_array(out, 2);
    wire_write_u64(out, message->left_tablet);
    wire_write_u64(out, message->right_tablet);
}

enum status split_response_decode(struct bytes in,
                                  struct arena *arena,
                                  struct split_response *ret_message,
                                  struct error *ret_error)
{
    struct wire_reader reader = wire_reader_open(in, arena, "split_response", ret_error);
    struct wire_array fields = wire_read_message(&reader);
    struct split_response message = {0};
    message.left_tablet = wire_read_u64(&reader, &fields, "left_tablet");
    message.right_tablet = wire_read_u64(&reader, &fields, "right_tablet");
    enum status status = wire_reader_finish(&reader, &fields);
    if (status == STATUS_OK) {
        *ret_message = message;
    }
    return status;
}
