#include "tabletserver/replica/replica_message.h"

#include "common/base/limits.h"
#include "common/wire/message_parts.h"
#include "common/wire/writer.h"

#define ENTRY_FIELDS 9

/* What a type has besides tablet, type and version, in this order. */
enum part {
    PART_SEQUENCE = 1,
    PART_COMMITTED = 2,
    PART_PREVIOUS_VERSION = 4,
    PART_OPENER = 8,
    PART_APPENDED = 16,
    PART_GAP = 32,
    PART_AS_LEARNER = 64,
    PART_CONFIGURATION = 128,
    PART_ENTRY = 256,
    PART_LESSON = 512,
    PART_NUMBER = 1024,
    PART_CONTENT = 2048, /* and whether it is the last */
    PART_RANGE = 4096,
    PART_DIGEST = 8192,
    PART_PUPIL = 16384, /* the opener, too */
    PART_ASKS = 32768,  /* these three are last: a server of before does not say, nor know them */
    PART_WILL = 65536,
    PART_LOG_END = 131072, /* appended, and one more: 0 is one that does not say */
};

static const unsigned PARTS[] = {
    [REPLICA_OPEN] = PART_SEQUENCE | PART_COMMITTED | PART_PREVIOUS_VERSION | PART_AS_LEARNER |
                     PART_CONFIGURATION | PART_LOG_END,
    [REPLICA_OPENED] = PART_SEQUENCE | PART_COMMITTED | PART_PREVIOUS_VERSION | PART_OPENER |
                       PART_AS_LEARNER | PART_WILL,
    [REPLICA_PREPARE] = PART_COMMITTED | PART_PREVIOUS_VERSION | PART_OPENER | PART_ENTRY,
    [REPLICA_PREPARED] = PART_SEQUENCE | PART_OPENER | PART_APPENDED | PART_GAP | PART_WILL,
    [REPLICA_COMMITTED] = PART_SEQUENCE | PART_OPENER | PART_ASKS,
    [REPLICA_BEHIND] = 0,
    [REPLICA_YIELD] = PART_SEQUENCE,
    [REPLICA_DAMAGED] = PART_OPENER,
    [REPLICA_LESSON] = PART_SEQUENCE | PART_LESSON | PART_PUPIL,
    [REPLICA_TEACH] = PART_SEQUENCE | PART_COMMITTED | PART_OPENER | PART_LESSON | PART_NUMBER,
    [REPLICA_SLICE] = PART_SEQUENCE | PART_LESSON | PART_NUMBER | PART_CONTENT | PART_PUPIL,
    [REPLICA_LEARNED] = PART_SEQUENCE | PART_OPENER | PART_LESSON,
    [REPLICA_DIGEST] = PART_SEQUENCE | PART_NUMBER | PART_RANGE,
    [REPLICA_DIGESTED] = PART_OPENER | PART_NUMBER | PART_DIGEST,
    [REPLICA_DIFFERS] = PART_NUMBER,
    [REPLICA_REFUSED] = PART_SEQUENCE | PART_COMMITTED | PART_PREVIOUS_VERSION | PART_OPENER |
                        PART_GAP,
};

#define TYPE_LAST REPLICA_REFUSED

static uint32_t count_parts(unsigned parts)
{
    uint32_t count = 0;
    for (; parts != 0; parts &= parts - 1) {
        count++;
    }
    return count;
}

/* --- entries -------------------------------------------------------------------------------------- */

static void write_entry(struct buffer *out, const struct replica_entry *entry)
{
    wire_write_array(out, ENTRY_FIELDS);
    wire_write_u64(out, entry->sequence);
    wire_write_u64(out, entry->version);
    wire_write_u64(out, entry->stamp.clock);
    wire_write_u64(out, entry->stamp.cluster);
    wire_write_u64(out, entry->stamp.index);
    wire_write_u64(out, entry->type);
    wire_write_u64(out, entry->barrier);
    wire_write_bool(out, entry->lifts);
    wire_write_bytes(out, entry->payload);
}

static void read_entry(struct wire_reader *reader,
                       struct wire_array *fields,
                       struct replica_entry *entry)
{
    struct wire_array parts = wire_read_array(reader, fields, "entry");
    entry->sequence = wire_read_u64(reader, &parts, "entry.sequence");
    entry->version = wire_read_u64(reader, &parts, "entry.version");
    entry->stamp.clock = wire_read_u64(reader, &parts, "entry.clock");
    entry->stamp.cluster = wire_read_u32(reader, &parts, "entry.cluster");
    entry->stamp.index = wire_read_u32(reader, &parts, "entry.index");
    entry->type = (uint8_t)wire_read_choice(reader, &parts, "entry.type", 0, UINT8_MAX);
    entry->barrier = (enum replica_barrier)wire_read_choice(
        reader, &parts, "entry.barrier", REPLICA_BARRIER_NONE, REPLICA_BARRIER_ABSORB);
    entry->lifts = wire_read_bool(reader, &parts, "entry.lifts");
    entry->payload = wire_read_bytes(reader, &parts, "entry.payload");
    wire_array_end(reader, &parts);
}

/* --- digests -------------------------------------------------------------------------------------- */

static void write_range(struct buffer *out, const struct replica_digest_range *range)
{
    wire_write_array(out, 4);
    wire_write_u64(out, range->schema_version);
    wire_write_i64(out, range->now_us);
    wire_write_u64(out, range->bytes_max);
    wire_write_bytes(out, range->after);
}

static void read_range(struct wire_reader *reader,
                       struct wire_array *fields,
                       struct replica_digest_range *range)
{
    struct wire_array parts = wire_read_array(reader, fields, "range");
    range->schema_version = wire_read_u64(reader, &parts, "range.schema_version");
    range->now_us = wire_read_i64(reader, &parts, "range.now_us");
    range->bytes_max = wire_read_u64(reader, &parts, "range.bytes_max");
    range->after = wire_read_bytes(reader, &parts, "range.after");
    wire_array_end(reader, &parts);
    if (range->after.size_bytes > LIMIT_ROW_KEY_BYTES) {
        wire_reader_refuse(reader, "range.after", "it is no row key: too long");
    }
}

static void write_digest(struct buffer *out, const struct replica_digest *digest)
{
    wire_write_array(out, 5);
    wire_write_bool(out, digest->missed);
    wire_write_u64(out, digest->halves[0]);
    wire_write_u64(out, digest->halves[1]);
    wire_write_bool(out, digest->is_end);
    wire_write_bytes(out, digest->last);
}

static void read_digest(struct wire_reader *reader,
                        struct wire_array *fields,
                        struct replica_digest *digest)
{
    struct wire_array parts = wire_read_array(reader, fields, "digest");
    digest->missed = wire_read_bool(reader, &parts, "digest.missed");
    digest->halves[0] = wire_read_u64(reader, &parts, "digest.high");
    digest->halves[1] = wire_read_u64(reader, &parts, "digest.low");
    digest->is_end = wire_read_bool(reader, &parts, "digest.is_end");
    digest->last = wire_read_bytes(reader, &parts, "digest.last");
    wire_array_end(reader, &parts);
    if (digest->last.size_bytes > LIMIT_ROW_KEY_BYTES) {
        wire_reader_refuse(reader, "digest.last", "it is no row key: too long");
    }
}

/* --- writing -------------------------------------------------------------------------------------- */

void replica_batch_begin(const struct replica_batch_head *head, struct buffer *out)
{
    wire_write_array(out, 4);
    wire_write_u64(out, head->from.server);
    wire_write_u64(out, head->incarnation);
    wire_write_u64(out, head->from.store);
    wire_write_u64(out, head->to_store);
}

void replica_batch_add(uint64_t tablet, const struct replica_message *message, struct buffer *out)
{
    unsigned parts = PARTS[message->type];
    wire_write_array(out, 3 + count_parts(parts));
    wire_write_u64(out, tablet);
    wire_write_u64(out, message->type);
    wire_write_u64(out, message->version);
    if (parts & PART_SEQUENCE) {
        wire_write_u64(out, message->sequence);
    }
    if (parts & PART_COMMITTED) {
        wire_write_u64(out, message->committed);
    }
    if (parts & PART_PREVIOUS_VERSION) {
        wire_write_u64(out, message->previous_version);
    }
    if (parts & PART_OPENER) {
        wire_write_u64(out, message->opener);
    }
    if (parts & PART_APPENDED) {
        wire_write_u64(out, message->appended);
    }
    if (parts & PART_GAP) {
        wire_write_bool(out, message->gap);
    }
    if (parts & PART_AS_LEARNER) {
        wire_write_bool(out, message->as_learner);
    }
    if (parts & PART_CONFIGURATION) {
        wire_write_configuration(out, &message->configuration);
    }
    if (parts & PART_ENTRY) {
        write_entry(out, &message->entry);
    }
    if (parts & PART_LESSON) {
        wire_write_u64(out, message->lesson);
    }
    if (parts & PART_NUMBER) {
        wire_write_u64(out, message->number);
    }
    if (parts & PART_CONTENT) {
        wire_write_array(out, 2);
        wire_write_bool(out, message->last);
        wire_write_bytes(out, message->content);
    }
    if (parts & PART_RANGE) {
        write_range(out, &message->range);
    }
    if (parts & PART_DIGEST) {
        write_digest(out, &message->digest);
    }
    if (parts & PART_PUPIL) {
        wire_write_u64(out, message->opener);
    }
    if (parts & PART_ASKS) {
        wire_write_bool(out, message->asks);
    }
    if (parts & PART_WILL) {
        wire_write_u64(out, message->will);
    }
    if (parts & PART_LOG_END) {
        wire_write_u64(out, message->appended + 1);
    }
}

uint64_t replica_item_bytes_max(const struct replica_message *message)
{
    return REPLICA_ITEM_BYTES_OWN + message->entry.payload.size_bytes +
           message->content.size_bytes + message->range.after.size_bytes +
           message->digest.last.size_bytes;
}

/* --- reading -------------------------------------------------------------------------------------- */

static void read_parts(struct wire_reader *reader,
                       struct wire_array *fields,
                       struct replica_message *message)
{
    unsigned parts = PARTS[message->type];
    if (parts & PART_SEQUENCE) {
        message->sequence = wire_read_u64(reader, fields, "sequence");
    }
    if (parts & PART_COMMITTED) {
        message->committed = wire_read_u64(reader, fields, "committed");
    }
    if (parts & PART_PREVIOUS_VERSION) {
        message->previous_version = wire_read_u64(reader, fields, "previous_version");
    }
    if (parts & PART_OPENER) {
        message->opener = wire_read_u64(reader, fields, "opener");
    }
    if (parts & PART_APPENDED) {
        message->appended = wire_read_u64(reader, fields, "appended");
    }
    if (parts & PART_GAP) {
        message->gap = wire_read_bool(reader, fields, "gap");
    }
    if (parts & PART_AS_LEARNER) {
        message->as_learner = wire_read_bool(reader, fields, "as_learner");
    }
    if (parts & PART_CONFIGURATION) {
        wire_read_configuration(reader, fields, "configuration", &message->configuration);
        if (message->configuration.version == 0) {
            wire_reader_refuse(reader, "configuration", "there is none");
        }
    }
    if (parts & PART_ENTRY) {
        read_entry(reader, fields, &message->entry);
    }
    if (parts & PART_LESSON) {
        message->lesson = wire_read_u64(reader, fields, "lesson");
    }
    if (parts & PART_NUMBER) {
        message->number = wire_read_u64(reader, fields, "number");
    }
    if (parts & PART_CONTENT) {
        struct wire_array slice = wire_read_array(reader, fields, "slice");
        message->last = wire_read_bool(reader, &slice, "slice.last");
        message->content = wire_read_bytes(reader, &slice, "slice.content");
        wire_array_end(reader, &slice);
    }
    if (parts & PART_RANGE) {
        read_range(reader, fields, &message->range);
    }
    if (parts & PART_DIGEST) {
        read_digest(reader, fields, &message->digest);
    }
    if (parts & PART_PUPIL) {
        message->opener = wire_read_u64(reader, fields, "opener");
    }
    if (parts & PART_ASKS) {
        message->asks = wire_read_bool(reader, fields, "asks");
    }
    if (parts & PART_WILL) {
        message->will = (enum replica_will)wire_read_choice(reader, fields, "will",
                                                            REPLICA_WILL_UNKNOWN, REPLICA_WILL_NOT);
    }
    if (parts & PART_LOG_END) {
        message->appended = wire_read_u64(reader, fields, "appended") - 1;
    }
}

static void read_item(struct wire_reader *reader,
                      struct wire_array *items,
                      struct replica_item *item)
{
    struct wire_array fields = wire_read_array(reader, items, "item");
    item->tablet = wire_read_u64(reader, &fields, "tablet");
    uint32_t type = wire_read_choice(reader, &fields, "type", REPLICA_OPEN, TYPE_LAST);
    item->message.version = wire_read_u64(reader, &fields, "version");
    if (reader->status == STATUS_OK) {
        item->message.type = (enum replica_message_type)type;
        read_parts(reader, &fields, &item->message);
    }
    wire_array_end(reader, &fields);
}

/* How many elements follow to the end of the message; the reader is a copy, and read to its end. */
static size_t count_items(struct wire_reader reader)
{
    struct wire_array items = {.left = UINT32_MAX};
    size_t count = 0;
    for (; reader.status == STATUS_OK && reader.at < reader.end; count++) {
        wire_skip(&reader, &items);
    }
    return count;
}

static enum status read_items(struct wire_reader *reader,
                              struct arena *arena,
                              struct replica_batch *batch)
{
    struct wire_array items = {.left = UINT32_MAX};
    size_t count = count_items(*reader);
    batch->items = arena_allocate_array(arena, count, sizeof *batch->items);
    if (batch->items == NULL && reader->status == STATUS_OK) {
        return error_set(reader->error, STATUS_NO_MEMORY, "no memory for a batch of %zu", count);
    }
    while (reader->status == STATUS_OK && batch->item_count < count) {
        struct replica_item *item = &batch->items[batch->item_count++];
        *item = (struct replica_item){.message = {.incarnation = batch->head.incarnation}};
        read_item(reader, &items, item);
    }
    return wire_reader_close(reader);
}

enum status replica_batch_decode(struct bytes in,
                                 struct arena *arena,
                                 struct replica_batch *ret_batch,
                                 struct error *ret_error)
{
    struct wire_reader reader = wire_reader_open(in, arena, "replicate", ret_error);
    struct wire_array fields = wire_read_message(&reader);
    struct replica_batch batch = {0};
    batch.head.from.server = wire_read_u64(&reader, &fields, "server");
    batch.head.incarnation = wire_read_u64(&reader, &fields, "incarnation");
    batch.head.from.store = wire_read_u64(&reader, &fields, "from_store");
    batch.head.to_store = wire_read_u64(&reader, &fields, "to_store");
    wire_array_end(&reader, &fields);
    enum status status = read_items(&reader, arena, &batch);
    if (status == STATUS_OK) {
        *ret_batch = batch;
    }
    return status;
}
