/*
 * All numbers little-endian.
 *
 *   segment header, one block         anchor slot, one block
 *      0  8  magic "EDUBLOGS"            0  8  magic "EDUBLOGA"
 *      8  4  format version              8  4  format version
 *     12  4  features                   12  4  features
 *     16  8  store number               16  8  store number
 *     24  8  generation                 24  8  counter
 *     32  8  first position             32  8  start segment
 *     40  8  salt                       40  8  start position
 *     48  4  segment bytes              48  8  epoch
 *     52     zero                       56  8  epoch position
 *                                       64  8  synced position
 *                                       72  4  flags: 1 = cut
 *                                       76     zero
 *   4088  8  checksum of 0..4087      4088  8  checksum of 0..4087
 *
 *   batch header                      record, in a batch's payload; v = varint
 *      0  4  magic "EdBt"                type, 1 byte
 *      4  4  payload bytes               v tablet, v configuration
 *      8  8  position                    v behind: format 2, types below 16
 *     16  8  proven-synced position      v sequence
 *     24  8  epoch                       stamp clock, 8 bytes; v cluster, v index
 *     32  4  record count                v payload size, payload
 *     36  4  flags: 1 = clean end,
 *               2 = records of format 2
 *     40  8  checksum of the payload  The payload of a batch ends with 0 to 7 zero bytes, so that
 *     48  8  checksum of 0..47        the next batch begins at a multiple of 8.
 *
 * Magic, version and checksum of blocks stay where they are in every version to come, so that an
 * old program can tell a newer format from damage.
 */
#include "tabletserver/storage/log/log_format.h"

#include "common/base/assert.h"
#include "common/base/checksum.h"
#include "common/base/mix.h"

#define SEGMENT_MAGIC "EDUBLOGS"
#define ANCHOR_MAGIC  "EDUBLOGA"
#define ANCHOR_CUT    UINT32_C(1)
#define MAGIC_BYTES   8
#define BATCH_MAGIC   UINT32_C(0x74426445) /* "EdBt" */
#define CHECKSUM_AT   (LOG_BLOCK_BYTES - 8)

/* A block begins with magic, version, features and store, and ends with its checksum. */
static void block_begin(uint8_t *block, const char *magic, uint64_t store_number)
{
    memset(block, 0, LOG_BLOCK_BYTES);
    memcpy(block, magic, MAGIC_BYTES);
    store_le32(block + 8, LOG_FORMAT_VERSION);
    store_le32(block + 12, LOG_FEATURES_KNOWN);
    store_le64(block + 16, store_number);
}

static void block_end(uint8_t *block)
{
    store_le64(block + CHECKSUM_AT, checksum64(block, CHECKSUM_AT, 0));
}

static enum status block_check(const uint8_t *block,
                               const char *magic,
                               uint64_t store_number,
                               struct error *ret_error)
{
    if (memcmp(block, magic, MAGIC_BYTES) != 0) {
        return error_set(ret_error, STATUS_CORRUPT, "the magic number is wrong");
    }
    if (load_le64(block + CHECKSUM_AT) != checksum64(block, CHECKSUM_AT, 0)) {
        return error_set(ret_error, STATUS_CORRUPT, "the checksum is wrong");
    }
    uint32_t version = load_le32(block + 8);
    uint32_t unknown = load_le32(block + 12) & ~LOG_FEATURES_KNOWN;
    if (version < 1 || version > LOG_FORMAT_VERSION || unknown != 0) {
        return error_set(ret_error, STATUS_VERSION,
                         "written in log format %u with features %#x; this program knows formats "
                         "1 to %d",
                         version, unknown, LOG_FORMAT_VERSION);
    }
    if (store_number != 0 && load_le64(block + 16) != store_number) {
        return error_set(ret_error, STATUS_CORRUPT, "it belongs to store %llx, not to %llx",
                         (unsigned long long)load_le64(block + 16),
                         (unsigned long long)store_number);
    }
    return STATUS_OK;
}

void log_segment_header_encode(const struct log_segment_header *header,
                               uint8_t ret_block[LOG_BLOCK_BYTES])
{
    block_begin(ret_block, SEGMENT_MAGIC, header->store_number);
    store_le64(ret_block + 24, header->generation);
    store_le64(ret_block + 32, header->first_position);
    store_le64(ret_block + 40, header->salt);
    store_le32(ret_block + 48, header->segment_bytes);
    block_end(ret_block);
}

enum status log_segment_header_decode(const uint8_t block[LOG_BLOCK_BYTES],
                                      uint64_t store_number,
                                      struct log_segment_header *ret_header,
                                      struct error *ret_error)
{
    enum status status = block_check(block, SEGMENT_MAGIC, store_number, ret_error);
    if (status != STATUS_OK) {
        return status;
    }
    struct log_segment_header header = {
        .store_number = store_number,
        .generation = load_le64(block + 24),
        .first_position = load_le64(block + 32),
        .salt = load_le64(block + 40),
        .segment_bytes = load_le32(block + 48),
    };
    if (header.generation == 0 || header.first_position < LOG_POSITION_FIRST ||
        header.first_position > UINT64_MAX / 2 ||
        header.first_position % LOG_ALIGNMENT_BYTES != 0 ||
        header.segment_bytes < LOG_SEGMENT_BYTES_MIN ||
        header.segment_bytes % LOG_BLOCK_BYTES != 0) {
        return error_set(ret_error, STATUS_CORRUPT, "the header makes no sense");
    }
    *ret_header = header;
    return STATUS_OK;
}

void log_anchor_encode(const struct log_anchor *anchor, uint8_t ret_slot[LOG_BLOCK_BYTES])
{
    block_begin(ret_slot, ANCHOR_MAGIC, anchor->store_number);
    store_le64(ret_slot + 24, anchor->counter);
    store_le64(ret_slot + 32, anchor->start_segment);
    store_le64(ret_slot + 40, anchor->start_position);
    store_le64(ret_slot + 48, anchor->epoch);
    store_le64(ret_slot + 56, anchor->epoch_position);
    store_le64(ret_slot + 64, anchor->synced_position);
    store_le32(ret_slot + 72, anchor->cut ? ANCHOR_CUT : 0);
    block_end(ret_slot);
}

static enum status slot_decode(const uint8_t *slot,
                               uint64_t store_number,
                               struct log_anchor *ret_anchor,
                               struct error *ret_error)
{
    enum status status = block_check(slot, ANCHOR_MAGIC, store_number, ret_error);
    if (status != STATUS_OK) {
        return status;
    }
    uint32_t flags = load_le32(slot + 72);
    struct log_anchor anchor = {
        .store_number = load_le64(slot + 16),
        .counter = load_le64(slot + 24),
        .start_segment = load_le64(slot + 32),
        .start_position = load_le64(slot + 40),
        .epoch = load_le64(slot + 48),
        .epoch_position = load_le64(slot + 56),
        .synced_position = load_le64(slot + 64),
        .cut = flags == ANCHOR_CUT,
    };
    if ((flags & ~ANCHOR_CUT) != 0 || anchor.start_segment == 0 || anchor.epoch == UINT64_MAX ||
        anchor.counter == UINT64_MAX || anchor.start_position < LOG_POSITION_FIRST ||
        anchor.start_position % LOG_ALIGNMENT_BYTES != 0 ||
        anchor.start_position > anchor.synced_position ||
        anchor.epoch_position > anchor.synced_position) {
        return error_set(ret_error, STATUS_CORRUPT, "the anchor makes no sense");
    }
    *ret_anchor = anchor;
    return STATUS_OK;
}

enum status log_anchor_decode(const uint8_t slots[2 * LOG_BLOCK_BYTES],
                              uint64_t store_number,
                              struct log_anchor *ret_anchor,
                              struct error *ret_error)
{
    struct log_anchor a = {0};
    struct log_anchor b = {0};
    struct error error = {0};
    enum status a_status = slot_decode(slots, store_number, &a, &error);
    if (a_status == STATUS_VERSION) {
        return error_set(ret_error, a_status, "%s", error.text);
    }
    enum status b_status = slot_decode(slots + LOG_BLOCK_BYTES, store_number, &b, &error);
    if (b_status == STATUS_VERSION || (a_status != STATUS_OK && b_status != STATUS_OK)) {
        return error_set(ret_error, b_status, "%s", error.text);
    }
    bool take_a = b_status != STATUS_OK || (a_status == STATUS_OK && a.counter > b.counter);
    *ret_anchor = take_a ? a : b;
    return STATUS_OK;
}

uint64_t log_batch_seed(uint64_t salt, uint64_t generation, uint64_t position)
{
    return mix64(mix64(mix64(salt) + generation) + position);
}

uint64_t log_payload_checksum(const void *payload, size_t size_bytes, uint64_t seed)
{
    return checksum64(payload, size_bytes, seed);
}

void log_batch_header_encode(const struct log_batch_header *header,
                             uint64_t seed,
                             uint8_t ret_bytes[LOG_BATCH_HEADER_BYTES])
{
    ASSERT(header->payload_bytes <= LOG_BATCH_PAYLOAD_BYTES_MAX);
    ASSERT(header->payload_bytes % LOG_ALIGNMENT_BYTES == 0);
    ASSERT(header->position % LOG_ALIGNMENT_BYTES == 0);
    ASSERT(header->synced_position <= header->position);
    store_le32(ret_bytes, BATCH_MAGIC);
    store_le32(ret_bytes + 4, header->payload_bytes);
    store_le64(ret_bytes + 8, header->position);
    store_le64(ret_bytes + 16, header->synced_position);
    store_le64(ret_bytes + 24, header->epoch);
    store_le32(ret_bytes + 32, header->record_count);
    store_le32(ret_bytes + 36, header->flags | LOG_BATCH_FORMAT_2);
    store_le64(ret_bytes + 40, header->payload_checksum);
    store_le64(ret_bytes + 48, checksum64(ret_bytes, 48, seed));
}

bool log_batch_header_is_likely(const uint8_t bytes[LOG_BATCH_HEADER_BYTES], uint64_t position)
{
    return load_le32(bytes) == BATCH_MAGIC && load_le64(bytes + 8) == position;
}

const char *log_batch_header_decode(const uint8_t bytes[LOG_BATCH_HEADER_BYTES],
                                    uint64_t position,
                                    uint64_t seed,
                                    struct log_batch_header *ret_header)
{
    if (load_le32(bytes) != BATCH_MAGIC) {
        return "there is no batch";
    }
    if (load_le64(bytes + 48) != checksum64(bytes, 48, seed)) {
        return "the checksum of the batch header is wrong";
    }
    uint32_t flags = load_le32(bytes + 36);
    struct log_batch_header header = {
        .payload_bytes = load_le32(bytes + 4),
        .position = load_le64(bytes + 8),
        .synced_position = load_le64(bytes + 16),
        .epoch = load_le64(bytes + 24),
        .record_count = load_le32(bytes + 32),
        .flags = flags & ~(uint32_t)LOG_BATCH_FORMAT_2,
        .format = (flags & LOG_BATCH_FORMAT_2) != 0 ? 2 : 1,
        .payload_checksum = load_le64(bytes + 40),
    };
    if (header.position != position || header.synced_position > position ||
        header.payload_bytes > LOG_BATCH_PAYLOAD_BYTES_MAX ||
        header.payload_bytes % LOG_ALIGNMENT_BYTES != 0 ||
        (header.flags & ~(uint32_t)LOG_BATCH_CLEAN_END) != 0) {
        return "the batch header makes no sense";
    }
    *ret_header = header;
    return NULL;
}

size_t log_record_size_bytes_max(const struct log_record *record)
{
    return 1 + 8 + 7 * VARINT_SIZE_MAX + record->payload.size_bytes;
}

void log_record_encode(const struct log_record *record, struct buffer *out)
{
    uint8_t clock[8];
    store_le64(clock, record->stamp.clock);
    buffer_append_u8(out, record->type);
    byte_append_varint(out, record->tablet);
    byte_append_varint(out, record->configuration);
    if (record->type < LOG_RECORD_TYPE_OWN) {
        byte_append_varint(out, record->behind);
    }
    byte_append_varint(out, record->sequence);
    buffer_append(out, clock, sizeof clock);
    byte_append_varint(out, record->stamp.cluster);
    byte_append_varint(out, record->stamp.index);
    byte_append_bytes(out, record->payload);
}

bool log_record_decode(struct byte_reader *reader, uint32_t format, struct log_record *ret_record)
{
    struct log_record record = {.type = byte_reader_u8(reader)};
    record.tablet = byte_reader_varint(reader);
    record.configuration = byte_reader_varint(reader);
    if (format >= 2 && record.type < LOG_RECORD_TYPE_OWN) {
        record.behind = byte_reader_varint(reader);
    }
    record.sequence = byte_reader_varint(reader);
    record.stamp.clock = byte_reader_le64(reader);
    record.stamp.cluster = (uint32_t)byte_reader_varint_max(reader, UINT32_MAX);
    record.stamp.index = (uint32_t)byte_reader_varint_max(reader, UINT32_MAX);
    record.payload = byte_reader_bytes(reader);
    if (!byte_reader_ok(reader) || record.behind > record.sequence) {
        return false;
    }
    *ret_record = record;
    return true;
}
