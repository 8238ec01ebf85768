/* Where in tablets the load is, and what is to be said of it. */
#include "common/wire/message_parts.h"
#include "common/wire/writer.h"

/* --- hot keys ----------------------------------------------------------------------------------- */

void list_hot_keys_request_encode(const struct list_hot_keys_request *message, struct buffer *out)
{
    wire_write_array(out, 2);
    wire_write_bytes(out, message->table);
    wire_write_u64(out, message->count_max);
}

enum status list_hot_keys_request_decode(struct bytes in,
                                         struct arena *arena,
                                         struct list_hot_keys_request *ret_message,
                                         struct error *ret_error)
{
    struct wire_reader reader = wire_reader_open(in, arena, "list_hot_keys_request", ret_error);
    struct wire_array fields = wire_read_message(&reader);
    struct list_hot_keys_request message = {0};
    message.table = wire_read_bytes(&reader, &fields, "table");
    message.count_max = wire_read_u32(&reader, &fields, "count_max");
    enum status status = wire_reader_finish(&reader, &fields);
    if (status == STATUS_OK) {
        *ret_message = message;
    }
    return status;
}

static void write_hot_keys(struct buffer *out, const struct hot_keys *hot)
{
    wire_write_array(out, 10);
    wire_write_u64(out, hot->table);
    wire_write_bytes(out, hot->table_name);
    wire_write_u64(out, hot->tablet);
    wire_write_u64(out, hot->server);
    wire_write_range(out, &hot->range);
    wire_write_u64(out, hot->age_us);
    wire_write_u64(out, hot->elapsed_ns);
    wire_write_u64(out, hot->capacity_ns);
    wire_write_figures(out, &hot->figures);
    wire_write_load_detail(out, &hot->detail);
}

static void read_hot_keys(struct wire_reader *reader, struct wire_array *list, struct hot_keys *hot)
{
    struct wire_array parts = wire_read_array(reader, list, "hot_keys");
    hot->table = wire_read_u64(reader, &parts, "hot_keys.table");
    hot->table_name = wire_read_bytes(reader, &parts, "hot_keys.table_name");
    hot->tablet = wire_read_u64(reader, &parts, "hot_keys.tablet");
    hot->server = wire_read_u64(reader, &parts, "hot_keys.server");
    hot->range = wire_read_range(reader, &parts, "hot_keys.range");
    hot->age_us = wire_read_u64(reader, &parts, "hot_keys.age_us");
    hot->elapsed_ns = wire_read_u64(reader, &parts, "hot_keys.elapsed_ns");
    hot->capacity_ns = wire_read_u64(reader, &parts, "hot_keys.capacity_ns");
    hot->figures = wire_read_figures(reader, &parts);
    wire_read_load_detail(reader, &parts, &hot->detail);
    wire_array_end(reader, &parts);
}

void list_hot_keys_response_encode(const struct list_hot_keys_response *message, struct buffer *out)
{
    wire_write_array(out, 2);
    wire_write_array(out, message->tablet_count);
    for (size_t i = 0; i < message->tablet_count; i++) {
        write_hot_keys(out, &message->tablets[i]);
    }
    wire_write_bool(out, message->more);
}

enum status list_hot_keys_response_decode(struct bytes in,
                                          struct arena *arena,
                                          struct list_hot_keys_response *ret_message,
                                          struct error *ret_error)
{
    static const struct wire_list_shape shape = {sizeof(struct hot_keys), 2, SIZE_MAX};
    struct wire_reader reader = wire_reader_open(in, arena, "list_hot_keys_response", ret_error);
    struct wire_array fields = wire_read_message(&reader);
    struct wire_array list = {0};
    struct list_hot_keys_response message = {0};
    struct hot_keys *tablets = wire_read_list(&reader, &fields, "tablets", shape, &list);
    message.tablets = tablets;
    message.tablet_count = list.left;
    for (size_t i = 0; i < message.tablet_count && reader.status == STATUS_OK; i++) {
        read_hot_keys(&reader, &list, &tablets[i]);
    }
    wire_array_end(&reader, &list);
    message.more = wire_read_bool(&reader, &fields, "more");
    enum status status = wire_reader_finish(&reader, &fields);
    if (status == STATUS_OK) {
        *ret_message = message;
    }
    return status;
}

/* --- advice ------------------------------------------------------------------------------------- */

const char *advice_kind_name(uint32_t kind)
{
    static const char *const names[] = {
        [ADVICE_BALANCED] = "balanced",         [ADVICE_TOO_FEW] = "too_few",
        [ADVICE_POPULAR_KEY] = "popular_key",   [ADVICE_MONOTONIC] = "monotonic",
        [ADVICE_NARROW_RANGE] = "narrow_range", [ADVICE_HIGH_PRESSURE] = "high_pressure",
        [ADVICE_LARGE_ROWS] = "large_rows",
    };
    return kind < sizeof names / sizeof *names && names[kind] != NULL ? names[kind] : "unknown";
}

void advise_request_encode(const struct advise_request *message, struct buffer *out)
{
    wire_write_array(out, 1);
    wire_write_bytes(out, message->table);
}

enum status advise_request_decode(struct bytes in,
                                  struct arena *arena,
                                  struct advise_request *ret_message,
                                  struct error *ret_error)
{
    struct wire_reader reader = wire_reader_open(in, arena, "advise_request", ret_error);
    struct wire_array fields = wire_read_message(&reader);
    struct advise_request message = {wire_read_bytes(&reader, &fields, "table")};
    enum status status = wire_reader_finish(&reader, &fields);
    if (status == STATUS_OK) {
        *ret_message = message;
    }
    return status;
}

static void write_finding(struct buffer *out, const struct advice_finding *finding)
{
    wire_write_array(out, 8);
    wire_write_u64(out, finding->kind);
    wire_write_u64(out, finding->share_permille);
    wire_write_u64(out, finding->tablet);
    wire_write_range(out, &finding->range);
    wire_write_bytes(out, finding->key);
    wire_write_bytes(out, finding->text);
    wire_write_bytes(out, finding->pattern);
    wire_write_bytes(out, finding->cure);
}

static void read_finding(struct wire_reader *reader,
                         struct wire_array *list,
                         struct advice_finding *finding)
{
    struct wire_array parts = wire_read_array(reader, list, "finding");
    finding->kind = wire_read_u32(reader, &parts, "finding.kind");
    finding->share_permille = wire_read_u32(reader, &parts, "finding.share_permille");
    finding->tablet = wire_read_u64(reader, &parts, "finding.tablet");
    finding->range = wire_read_range(reader, &parts, "finding.range");
    finding->key = wire_read_bytes(reader, &parts, "finding.key");
    finding->text = wire_read_bytes(reader, &parts, "finding.text");
    finding->pattern = wire_read_bytes(reader, &parts, "finding.pattern");
    finding->cure = wire_read_bytes(reader, &parts, "finding.cure");
    wire_array_end(reader, &parts);
}

void advise_response_encode(const struct advise_response *message, struct buffer *out)
{
    wire_write_array(out, 6);
    wire_write_array(out, message->finding_count);
    for (size_t i = 0; i < message->finding_count; i++) {
        write_finding(out, &message->findings[i]);
    }
    wire_write_u64(out, message->observations);
    wire_write_u64(out, message->operations_per_second);
    wire_write_u64(out, message->tablet_count);
    wire_write_u64(out, message->busy_count);
    wire_write_u64(out, message->age_us);
}

enum status advise_response_decode(struct bytes in,
                                   struct arena *arena,
                                   struct advise_response *ret_message,
                                   struct error *ret_error)
{
    static const struct wire_list_shape shape = {sizeof(struct advice_finding), 2, SIZE_MAX};
    struct wire_reader reader = wire_reader_open(in, arena, "advise_response", ret_error);
    struct wire_array fields = wire_read_message(&reader);
    struct wire_array list = {0};
    struct advise_response message = {0};
    struct advice_finding *findings = wire_read_list(&reader, &fields, "findings", shape, &list);
    message.findings = findings;
    message.finding_count = list.left;
    for (size_t i = 0; i < message.finding_count && reader.status == STATUS_OK; i++) {
        read_finding(&reader, &list, &findings[i]);
    }
    wire_array_end(&reader, &list);
    message.observations = wire_read_u64(&reader, &fields, "observations");
    message.operations_per_second = wire_read_u64(&reader, &fields, "operations_per_second");
    message.tablet_count = wire_read_u64(&reader, &fields, "tablet_count");
    message.busy_count = wire_read_u64(&reader, &fields, "busy_count");
    message.age_us = wire_read_u64(&reader, &fields, "age_us");
    enum status status = wire_reader_finish(&reader, &fields);
    if (status == STATUS_OK) {
        *ret_message = message;
    }
    return status;
}
