#include "tabletserver/replica/lease_message.h"

#include "common/wire/reader.h"
#include "common/wire/writer.h"

void lease_beacon_encode(uint64_t server, const struct lease_beacon *beacon, struct buffer *out)
{
    wire_write_array(out, 6);
    wire_write_u64(out, server);
    wire_write_u64(out, beacon->number);
    wire_write_u64(out, beacon->incarnation);
    wire_write_u64(out, beacon->exceptions_seen);
    wire_write_u64(out, beacon->seen_of);
    wire_write_i64(out, beacon->lease_ns);
}

enum status lease_beacon_decode(struct bytes in,
                                uint64_t *ret_server,
                                struct lease_beacon *ret_beacon,
                                struct error *ret_error)
{
    struct wire_reader reader = wire_reader_open(in, NULL, "beacon", ret_error);
    struct wire_array fields = wire_read_message(&reader);
    uint64_t server = wire_read_u64(&reader, &fields, "server");
    struct lease_beacon beacon = {
        .number = wire_read_u64(&reader, &fields, "number"),
        .incarnation = wire_read_u64(&reader, &fields, "incarnation"),
        .exceptions_seen = wire_read_u64(&reader, &fields, "exceptions_seen"),
        .seen_of = wire_read_u64(&reader, &fields, "seen_of"),
        .lease_ns = wire_read_i64(&reader, &fields, "lease_ns"),
    };
    enum status status = wire_reader_finish(&reader, &fields);
    if (status == STATUS_OK) {
        *ret_server = server;
        *ret_beacon = beacon;
    }
    return status;
}

void lease_acknowledgement_encode(const struct lease_acknowledgement *acknowledgement,
                                  struct buffer *out)
{
    wire_write_array(out, 7);
    wire_write_u64(out, acknowledgement->number);
    wire_write_u64(out, acknowledgement->beacon_incarnation);
    wire_write_u64(out, acknowledgement->incarnation);
    wire_write_bool(out, acknowledgement->gives_lease);
    wire_write_u64(out, acknowledgement->exceptions_number);
    wire_write_array(out, acknowledgement->exception_count);
    for (uint32_t i = 0; i < acknowledgement->exception_count; i++) {
        wire_write_array(out, 2);
        wire_write_u64(out, acknowledgement->exceptions[i].tablet);
        wire_write_u64(out, acknowledgement->exceptions[i].version);
    }
    wire_write_i64(out, acknowledgement->grace_ns);
}

static void read_exceptions(struct wire_reader *reader,
                            struct wire_array *fields,
                            struct lease_acknowledgement *acknowledgement)
{
    static const struct wire_list_shape shape = {
        .element_bytes = sizeof(struct lease_exception),
        .wire_bytes_min = 3,
        .count_max = LEASE_EXCEPTIONS_MAX,
    };
    struct wire_array list = {0};
    struct lease_exception *exceptions = wire_read_list(reader, fields, "exceptions", shape, &list);
    acknowledgement->exceptions = exceptions;
    acknowledgement->exception_count = list.left;
    for (uint32_t i = 0; i < acknowledgement->exception_count && reader->status == STATUS_OK; i++) {
        struct wire_array one = wire_read_array(reader, &list, "exception");
        exceptions[i].tablet = wire_read_u64(reader, &one, "exception.tablet");
        exceptions[i].version = wire_read_u64(reader, &one, "exception.version");
        wire_array_end(reader, &one);
    }
    wire_array_end(reader, &list);
}

enum status lease_acknowledgement_decode(struct bytes in,
                                         struct arena *arena,
                                         struct lease_acknowledgement *ret_acknowledgement,
                                         struct error *ret_error)
{
    struct wire_reader reader = wire_reader_open(in, arena, "beacon_ack", ret_error);
    struct wire_array fields = wire_read_message(&reader);
    struct lease_acknowledgement acknowledgement = {
        .number = wire_read_u64(&reader, &fields, "number"),
        .beacon_incarnation = wire_read_u64(&reader, &fields, "beacon_incarnation"),
        .incarnation = wire_read_u64(&reader, &fields, "incarnation"),
        .gives_lease = wire_read_bool(&reader, &fields, "gives_lease"),
        .exceptions_number = wire_read_u64(&reader, &fields, "exceptions_number"),
    };
    read_exceptions(&reader, &fields, &acknowledgement);
    acknowledgement.grace_ns = wire_read_i64(&reader, &fields, "grace_ns");
    enum status status = wire_reader_finish(&reader, &fields);
    if (status == STATUS_OK) {
        *ret_acknowledgement = acknowledgement;
    }
    return status;
}
