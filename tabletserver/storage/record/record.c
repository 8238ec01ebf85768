/*
 * The payloads of log records.  v = varint, z = zigzag varint, s = varint length and bytes.
 *
 *   WRITE        v entry_count, then each entry:
 *                    s row, request, s result, v change_count, then each change
 *   DROP_RANGE   s start, s end (empty = to the last row), request
 *   SPLIT        s key, v left_tablet, v right_tablet
 *   GC_HORIZON   v family, v rule_version, z horizon_us
 *
 *   request      v client; and unless that is 0:
 *                    v sequence, v first_unfinished, z first_attempt_us
 *   change       1 kind, then
 *       PUT             v family, s qualifier, z timestamp_us, s value
 *       FOLD            v family, 1 aggregate, s qualifier, z timestamp_us, s value
 *       DELETE_CELLS    v family, s qualifier, z start_us, z end_us
 *       DELETE_FAMILY   v family
 *       DELETE_ROW      (nothing)
 *
 * A payload is used up to its last byte.  What the decoder would refuse the encoder must not
 * write, or a synced write could not be read again: the same limits are asserted there.
 */
#include "tabletserver/storage/record/record.h"

#include "common/base/assert.h"
#include "common/base/byte_reader.h"
#include "common/base/limits.h"

/* A request makes at most one change of each mutation; a record may gather requests, but never
 * more entries than one request may have mutations. */
#define RECORD_ENTRIES_MAX LIMIT_MUTATIONS_PER_REQUEST
#define RECORD_CHANGES_MAX LIMIT_MUTATIONS_PER_REQUEST

/* The least that an entry and a change take: what a count is held against before memory is. */
#define RECORD_ENTRY_SIZE_MIN  5 /* row of one byte, client, result, change count */
#define RECORD_CHANGE_SIZE_MIN 1

static void append_request(struct buffer *out, const struct request_id *request)
{
    byte_append_varint(out, request->client);
    if (request->client != 0) {
        byte_append_varint(out, request->sequence);
        byte_append_varint(out, request->first_unfinished);
        byte_append_zigzag(out, request->first_attempt_us);
    }
}

static struct request_id read_request(struct byte_reader *reader)
{
    struct request_id request = {0};
    request.client = byte_reader_varint(reader);
    if (request.client != 0) {
        request.sequence = byte_reader_varint(reader);
        request.first_unfinished = byte_reader_varint(reader);
        request.first_attempt_us = byte_reader_zigzag(reader);
    }
    return request;
}

static void append_change(struct buffer *out, const struct change *change)
{
    ASSERT(change->qualifier.size_bytes <= LIMIT_QUALIFIER_BYTES);
    buffer_append_u8(out, (uint8_t)change->kind);
    if (change->kind != CHANGE_DELETE_ROW) {
        byte_append_varint(out, change->family);
    }
    switch (change->kind) {
    case CHANGE_FOLD:
        ASSERT(change->aggregate != AGGREGATE_NONE);
        buffer_append_u8(out, (uint8_t)change->aggregate);
        byte_append_bytes(out, change->qualifier);
        byte_append_zigzag(out, change->timestamp_us);
        byte_append_bytes(out, change->value);
        return;
    case CHANGE_PUT:
        byte_append_bytes(out, change->qualifier);
        byte_append_zigzag(out, change->timestamp_us);
        byte_append_bytes(out, change->value);
        return;
    case CHANGE_DELETE_CELLS:
        byte_append_bytes(out, change->qualifier);
        byte_append_zigzag(out, change->start_us);
        byte_append_zigzag(out, change->end_us);
        return;
    case CHANGE_DELETE_FAMILY:
    case CHANGE_DELETE_ROW:
        return;
    }
    UNREACHABLE();
}

static enum aggregate_kind read_aggregate(struct byte_reader *reader)
{
    uint8_t number = byte_reader_u8(reader);
    if (number == AGGREGATE_NONE || number > AGGREGATE_BYTESHLL) {
        reader->failed = true;
        return AGGREGATE_NONE;
    }
    return (enum aggregate_kind)number;
}

static struct change read_change(struct byte_reader *reader)
{
    struct change change = {.family = 0};
    uint8_t kind = byte_reader_u8(reader);
    if (kind < CHANGE_PUT || kind > CHANGE_DELETE_ROW) {
        reader->failed = true;
        return change;
    }
    change.kind = (enum change_kind)kind;
    if (kind != CHANGE_DELETE_ROW) {
        change.family = (uint32_t)byte_reader_varint_max(reader, UINT32_MAX);
    }
    if (kind == CHANGE_FOLD) {
        change.aggregate = read_aggregate(reader);
    }
    if (kind == CHANGE_PUT || kind == CHANGE_FOLD || kind == CHANGE_DELETE_CELLS) {
        change.qualifier = byte_reader_bytes_max(reader, LIMIT_QUALIFIER_BYTES);
    }
    if (kind == CHANGE_PUT || kind == CHANGE_FOLD) {
        change.timestamp_us = byte_reader_zigzag(reader);
        change.value = byte_reader_bytes(reader);
    } else if (kind == CHANGE_DELETE_CELLS) {
        change.start_us = byte_reader_zigzag(reader);
        change.end_us = byte_reader_zigzag(reader);
    }
    return change;
}

/* A count of things of at least size_min_bytes each, believable against what is left. */
static size_t read_count(struct byte_reader *reader, size_t count_max, size_t size_min_bytes)
{
    uint64_t count = byte_reader_varint_max(reader, count_max);
    if (count > byte_reader_left(reader) / size_min_bytes) {
        reader->failed = true;
        return 0;
    }
    return (size_t)count;
}

static enum status corrupt(struct error *ret_error, const char *what)
{
    return error_set(ret_error, STATUS_CORRUPT, "log record: %s does not decode", what);
}

static enum status out_of_memory(struct error *ret_error)
{
    return error_set(ret_error, STATUS_NO_MEMORY, "log record: no memory to decode it");
}

static enum status read_entry(struct byte_reader *reader,
                              struct arena *arena,
                              struct record_entry *ret_entry)
{
    struct record_entry entry = {0};
    entry.row = byte_reader_bytes_max(reader, LIMIT_ROW_KEY_BYTES);
    entry.request = read_request(reader);
    entry.result = byte_reader_bytes(reader);
    entry.change_count = read_count(reader, RECORD_CHANGES_MAX, RECORD_CHANGE_SIZE_MIN);
    if (!byte_reader_ok(reader) || entry.row.size_bytes == 0) {
        return STATUS_CORRUPT;
    }
    if (entry.change_count > 0) {
        struct change *changes = arena_allocate_array(arena, entry.change_count,
                                                      sizeof(struct change));
        if (changes == NULL) {
            return STATUS_NO_MEMORY;
        }
        for (size_t i = 0; i < entry.change_count && byte_reader_ok(reader); i++) {
            changes[i] = read_change(reader);
        }
        entry.changes = changes;
    }
    if (!byte_reader_ok(reader)) {
        return STATUS_CORRUPT;
    }
    *ret_entry = entry;
    return STATUS_OK;
}

void record_encode_write(const struct record_write *write, struct buffer *out)
{
    ASSERT(write->entry_count >= 1);
    ASSERT(write->entry_count <= RECORD_ENTRIES_MAX);
    byte_append_varint(out, write->entry_count);
    for (size_t i = 0; i < write->entry_count; i++) {
        const struct record_entry *entry = &write->entries[i];
        ASSERT(entry->row.size_bytes >= 1);
        ASSERT(entry->row.size_bytes <= LIMIT_ROW_KEY_BYTES);
        ASSERT(entry->change_count <= RECORD_CHANGES_MAX);
        byte_append_bytes(out, entry->row);
        append_request(out, &entry->request);
        byte_append_bytes(out, entry->result);
        byte_append_varint(out, entry->change_count);
        for (size_t j = 0; j < entry->change_count; j++) {
            append_change(out, &entry->changes[j]);
        }
    }
}

void record_encode_drop_range(const struct record_drop_range *drop, struct buffer *out)
{
    ASSERT(drop->range.start.size_bytes <= LIMIT_ROW_KEY_BYTES + 1);
    ASSERT(drop->range.end.size_bytes <= LIMIT_ROW_KEY_BYTES + 1);
    byte_append_bytes(out, drop->range.start);
    byte_append_bytes(out, drop->range.end);
    append_request(out, &drop->request);
}

void record_encode_split(const struct record_split *split, struct buffer *out)
{
    ASSERT(split->key.size_bytes >= 1);
    ASSERT(split->key.size_bytes <= LIMIT_ROW_KEY_BYTES + 1);
    byte_append_bytes(out, split->key);
    byte_append_varint(out, split->left_tablet);
    byte_append_varint(out, split->right_tablet);
}

void record_encode_gc_horizon(const struct record_gc_horizon *horizon, struct buffer *out)
{
    byte_append_varint(out, horizon->family);
    byte_append_varint(out, horizon->rule_version);
    byte_append_zigzag(out, horizon->horizon_us);
}

enum status record_decode_write(struct bytes payload,
                                struct arena *arena,
                                struct record_write *ret_write,
                                struct error *ret_error)
{
    struct byte_reader reader = byte_reader_of(payload);
    size_t count = read_count(&reader, RECORD_ENTRIES_MAX, RECORD_ENTRY_SIZE_MIN);
    if (!byte_reader_ok(&reader) || count == 0) {
        return corrupt(ret_error, "the entry count of a WRITE");
    }
    struct record_entry *entries = arena_allocate_array(arena, count, sizeof *entries);
    if (entries == NULL) {
        return out_of_memory(ret_error);
    }
    for (size_t i = 0; i < count; i++) {
        enum status status = read_entry(&reader, arena, &entries[i]);
        if (status == STATUS_NO_MEMORY) {
            return out_of_memory(ret_error);
        }
        if (status != STATUS_OK) {
            return corrupt(ret_error, "an entry of a WRITE");
        }
    }
    if (byte_reader_left(&reader) != 0) {
        return corrupt(ret_error, "the end of a WRITE");
    }
    *ret_write = (struct record_write){entries, count};
    return STATUS_OK;
}

/* Keys one byte above a row key's limit occur as exclusive ends: the successor of the longest. */
static struct bytes read_bound(struct byte_reader *reader)
{
    return byte_reader_bytes_max(reader, LIMIT_ROW_KEY_BYTES + 1);
}

enum status record_decode_drop_range(struct bytes payload,
                                     struct record_drop_range *ret_drop,
                                     struct error *ret_error)
{
    struct byte_reader reader = byte_reader_of(payload);
    struct record_drop_range drop = {0};
    drop.range.start = read_bound(&reader);
    drop.range.end = read_bound(&reader);
    drop.request = read_request(&reader);
    if (!byte_reader_ok(&reader) || byte_reader_left(&reader) != 0) {
        return corrupt(ret_error, "a DROP_RANGE");
    }
    *ret_drop = drop;
    return STATUS_OK;
}

enum status record_decode_split(struct bytes payload,
                                struct record_split *ret_split,
                                struct error *ret_error)
{
    struct byte_reader reader = byte_reader_of(payload);
    struct record_split split = {0};
    split.key = read_bound(&reader);
    split.left_tablet = byte_reader_varint(&reader);
    split.right_tablet = byte_reader_varint(&reader);
    if (!byte_reader_ok(&reader) || byte_reader_left(&reader) != 0 || split.key.size_bytes == 0) {
        return corrupt(ret_error, "a SPLIT");
    }
    *ret_split = split;
    return STATUS_OK;
}

enum status record_decode_gc_horizon(struct bytes payload,
                                     struct record_gc_horizon *ret_horizon,
                                     struct error *ret_error)
{
    struct byte_reader reader = byte_reader_of(payload);
    struct record_gc_horizon horizon = {0};
    horizon.family = (uint32_t)byte_reader_varint_max(&reader, UINT32_MAX);
    horizon.rule_version = byte_reader_varint(&reader);
    horizon.horizon_us = byte_reader_zigzag(&reader);
    if (!byte_reader_ok(&reader) || byte_reader_left(&reader) != 0) {
        return corrupt(ret_error, "a GC_HORIZON");
    }
    *ret_horizon = horizon;
    return STATUS_OK;
}
