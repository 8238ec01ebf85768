/*
 * v = varint.
 *
 *   FROZEN         v merged_tablet, v left_tablet
 *   ABSORB         v merged_tablet, v right_tablet, v right_sequence, v right_version
 *   CONFIGURATION  v version, members, 1 role, 1 flags, v kept_sequence
 *   CONVERSION     the same
 *
 *   members        v count, then each: v server, v store; then v index of the leader
 *   flags          1 = doubt noted, 2 = opened, 4 = bound, 8 = damaged, 16 = doubtful
 */
#include "tabletserver/storage/record/record_replica.h"

#include "common/base/assert.h"
#include "common/base/byte_reader.h"

#define FLAG_DOUBT_NOTED 1u
#define FLAG_OPENED      2u
#define FLAG_BOUND       4u
#define FLAG_DAMAGED     8u
#define FLAG_DOUBTFUL    16u
#define FLAGS_KNOWN      (FLAG_DOUBT_NOTED | FLAG_OPENED | FLAG_BOUND | FLAG_DAMAGED | FLAG_DOUBTFUL)

static enum status corrupt(struct error *ret_error, const char *what)
{
    return error_set(ret_error, STATUS_CORRUPT, "log record: %s does not decode", what);
}

static bool is_used_up(const struct byte_reader *reader)
{
    return byte_reader_ok(reader) && byte_reader_left(reader) == 0;
}

void record_encode_frozen(const struct record_frozen *frozen, struct buffer *out)
{
    byte_append_varint(out, frozen->merged_tablet);
    byte_append_varint(out, frozen->left_tablet);
}

void record_encode_absorb(const struct record_absorb *absorb, struct buffer *out)
{
    byte_append_varint(out, absorb->merged_tablet);
    byte_append_varint(out, absorb->right_tablet);
    byte_append_varint(out, absorb->right_sequence);
    byte_append_varint(out, absorb->right_version);
}

void record_append_members(struct buffer *out, const struct replica_configuration *configuration)
{
    byte_append_varint(out, configuration->member_count);
    for (uint32_t i = 0; i < configuration->member_count; i++) {
        byte_append_varint(out, configuration->members[i].server);
        byte_append_varint(out, configuration->members[i].store);
    }
    byte_append_varint(out, configuration->leader);
}

void record_read_members(struct byte_reader *reader,
                         uint64_t version,
                         struct replica_configuration *ret_configuration)
{
    struct replica_configuration configuration = {.version = version};
    configuration.member_count = (uint32_t)byte_reader_varint_max(reader, REPLICA_MEMBERS_MAX);
    for (uint32_t i = 0; i < configuration.member_count; i++) {
        configuration.members[i].server = byte_reader_varint(reader);
        configuration.members[i].store = byte_reader_varint(reader);
    }
    configuration.leader = (uint32_t)byte_reader_varint_max(reader, REPLICA_MEMBERS_MAX);
    if (!byte_reader_ok(reader) || !replica_configuration_is_sound(&configuration)) {
        reader->failed = true;
        return;
    }
    *ret_configuration = configuration;
}

void record_append_flags(struct buffer *out, struct record_replica_flags flags)
{
    unsigned bits = (flags.doubt_noted ? FLAG_DOUBT_NOTED : 0) | (flags.opened ? FLAG_OPENED : 0) |
                    (flags.bound ? FLAG_BOUND : 0) | (flags.damaged ? FLAG_DAMAGED : 0) |
                    (flags.doubtful ? FLAG_DOUBTFUL : 0);
    buffer_append_u8(out, (uint8_t)bits);
}

bool record_read_flags(struct byte_reader *reader, struct record_replica_flags *ret_flags)
{
    uint8_t bits = byte_reader_u8(reader);
    *ret_flags = (struct record_replica_flags){.opened = (bits & FLAG_OPENED) != 0,
                                               .doubt_noted = (bits & FLAG_DOUBT_NOTED) != 0,
                                               .bound = (bits & FLAG_BOUND) != 0,
                                               .damaged = (bits & FLAG_DAMAGED) != 0,
                                               .doubtful = (bits & FLAG_DOUBTFUL) != 0};
    return (bits & ~FLAGS_KNOWN) == 0;
}

void record_encode_configuration(const struct record_configuration *record, struct buffer *out)
{
    ASSERT(replica_configuration_is_sound(&record->configuration));
    byte_append_varint(out, record->configuration.version);
    record_append_members(out, &record->configuration);
    buffer_append_u8(out, record->role);
    record_append_flags(out, record->flags);
    byte_append_varint(out, record->kept_sequence);
}

enum status record_decode_frozen(struct bytes payload,
                                 struct record_frozen *ret_frozen,
                                 struct error *ret_error)
{
    struct byte_reader reader = byte_reader_of(payload);
    struct record_frozen frozen;
    frozen.merged_tablet = byte_reader_varint(&reader);
    frozen.left_tablet = byte_reader_varint(&reader);
    if (!is_used_up(&reader)) {
        return corrupt(ret_error, "a FROZEN");
    }
    *ret_frozen = frozen;
    return STATUS_OK;
}

enum status record_decode_absorb(struct bytes payload,
                                 struct record_absorb *ret_absorb,
                                 struct error *ret_error)
{
    struct byte_reader reader = byte_reader_of(payload);
    struct record_absorb absorb;
    absorb.merged_tablet = byte_reader_varint(&reader);
    absorb.right_tablet = byte_reader_varint(&reader);
    absorb.right_sequence = byte_reader_varint(&reader);
    absorb.right_version = byte_reader_varint(&reader);
    if (!is_used_up(&reader)) {
        return corrupt(ret_error, "an ABSORB");
    }
    *ret_absorb = absorb;
    return STATUS_OK;
}

enum status record_decode_configuration(struct bytes payload,
                                        struct record_configuration *ret_record,
                                        struct error *ret_error)
{
    struct byte_reader reader = byte_reader_of(payload);
    struct record_configuration record = {.role = 0};
    uint64_t version = byte_reader_varint(&reader);
    record_read_members(&reader, version, &record.configuration);
    record.role = byte_reader_u8(&reader);
    bool known = record_read_flags(&reader, &record.flags);
    if (byte_reader_ok(&reader) && !known) {
        return error_set(ret_error, STATUS_VERSION,
                         "log record: a CONFIGURATION has flags that a newer version wrote");
    }
    record.kept_sequence = byte_reader_varint(&reader);
    if (!is_used_up(&reader)) {
        return corrupt(ret_error, "a CONFIGURATION");
    }
    *ret_record = record;
    return STATUS_OK;
}

enum status record_decode_lift(struct bytes payload, struct error *ret_error)
{
    return payload.size_bytes == 0 ? STATUS_OK : corrupt(ret_error, "what lifts a barrier");
}
