#include "tabletserver/storage/base/chunk.h"

#include <string.h>

#include "common/base/assert.h"
#include "common/base/checksum.h"
#include "common/base/endian.h"

enum {
    TAG_SAME_FAMILY = 0x01,
    TAG_SAME_COLUMN = 0x02, /* implies the family */
    TAG_SAME_TIME = 0x04,
    TAG_SAME_SIZE = 0x08,
    TAG_AGGREGATE = 0x10,
    TAG_LARGE = 0x20,
    TAG_KNOWN = 0x3f, /* 0x40 is kept for stamps of single cells */
};

enum {
    FLAG_MILLIS = 0x01,    /* all timestamps are whole milliseconds and written so */
    FLAG_HAS_LARGE = 0x02, /* some value is a reference */
    FLAG_KNOWN = 0x03,     /* 0x80 is kept for stamps of single cells */
};

#define OFFSET_CHECKSUM 2
#define OFFSET_CLOCK    6
#define OFFSET_STAMP    14
#define NIBBLE_LONG     15
#define MILLIS          1000

static uint32_t checksum_of(const uint8_t *data, size_t size_bytes, uint64_t seed)
{
    uint64_t head = (uint64_t)data[0] << 8 | data[1];
    return checksum32(data + OFFSET_CLOCK, size_bytes - OFFSET_CLOCK, seed ^ head << 48);
}

/* --- reading ---------------------------------------------------------------------------------- */

void chunk_reader_init(struct chunk_reader *reader)
{
    *reader = (struct chunk_reader){0};
}

void chunk_reader_deinit(struct chunk_reader *reader)
{
    buffer_deinit(&reader->qualifier);
}

static bool take_varint(const uint8_t **next, const uint8_t *end, uint64_t *ret_value)
{
    if (*next < end && **next < 0x80) { /* nearly all of them */
        *ret_value = **next;
        (*next)++;
        return true;
    }
    size_t used = varint_load(*next, end, ret_value);
    *next += used;
    return used > 0;
}

static bool take_u32(const uint8_t **next, const uint8_t *end, uint32_t *ret_value)
{
    uint64_t value = 0;
    if (!take_varint(next, end, &value) || value > UINT32_MAX) {
        return false;
    }
    *ret_value = (uint32_t)value;
    return true;
}

static bool take_bytes(const uint8_t **next,
                       const uint8_t *end,
                       uint64_t size_bytes,
                       struct bytes *ret_bytes)
{
    if (size_bytes > (uint64_t)(end - *next)) {
        return false;
    }
    *ret_bytes = bytes_of(*next, (size_t)size_bytes);
    *next += size_bytes;
    return true;
}

static const uint8_t *take_stamp(struct bytes data, struct stamp *ret_stamp)
{
    if (data.size_bytes < OFFSET_STAMP + 2) {
        return NULL;
    }
    const uint8_t *next = data.data + OFFSET_STAMP;
    const uint8_t *end = data.data + data.size_bytes;
    struct stamp stamp = {load_le64(data.data + OFFSET_CLOCK), 0, 0};
    if (!take_u32(&next, end, &stamp.cluster) || !take_u32(&next, end, &stamp.index)) {
        return NULL;
    }
    *ret_stamp = stamp;
    return next;
}

bool chunk_peek(struct bytes data, struct stamp *ret_stamp, bool *ret_has_large)
{
    if (take_stamp(data, ret_stamp) == NULL) {
        return false;
    }
    *ret_has_large = (data.data[1] & FLAG_HAS_LARGE) != 0;
    return true;
}

enum status chunk_open(struct chunk_reader *reader, struct bytes data, uint64_t seed)
{
    struct stamp stamp;
    const uint8_t *cells = take_stamp(data, &stamp);
    if (cells == NULL ||
        load_le32(data.data + OFFSET_CHECKSUM) != checksum_of(data.data, data.size_bytes, seed)) {
        return STATUS_CORRUPT;
    }
    uint8_t flags = data.data[1];
    if (data.data[0] != CHUNK_FORMAT || (flags & ~FLAG_KNOWN) != 0) {
        return STATUS_VERSION;
    }
    reader->next = cells;
    reader->end = data.data + data.size_bytes;
    reader->stamp = stamp;
    reader->millis = (flags & FLAG_MILLIS) != 0;
    reader->has_large = (flags & FLAG_HAS_LARGE) != 0;
    reader->first = true;
    reader->cell = (struct chunk_cell){0};
    return STATUS_OK;
}

static bool take_length(struct chunk_reader *reader, uint8_t nibble, uint64_t *ret_length)
{
    *ret_length = nibble;
    if (nibble < NIBBLE_LONG) {
        return true;
    }
    uint64_t more = 0;
    if (!take_varint(&reader->next, reader->end, &more) || more > UINT32_MAX) {
        return false;
    }
    *ret_length = NIBBLE_LONG + more;
    return true;
}

static enum status take_qualifier(struct chunk_reader *reader, struct bytes *ret_qualifier)
{
    uint64_t shared = 0;
    uint64_t size = 0;
    struct bytes suffix;
    if (reader->next >= reader->end) {
        return STATUS_CORRUPT;
    }
    uint8_t nibbles = *reader->next++;
    struct bytes before = reader->cell.qualifier;
    if (!take_length(reader, nibbles >> 4, &shared) || !take_length(reader, nibbles & 15, &size) ||
        !take_bytes(&reader->next, reader->end, size, &suffix) || shared > before.size_bytes) {
        return STATUS_CORRUPT;
    }
    if (shared == 0) {
        *ret_qualifier = suffix;
        return STATUS_OK;
    }
    struct buffer *qualifier = &reader->qualifier;
    if (qualifier->data == NULL || before.data != qualifier->data) {
        buffer_reset(qualifier);
        buffer_append(qualifier, before.data, (size_t)shared);
    } else {
        qualifier->size_bytes = (size_t)shared; /* it is the one before: keep what is shared */
    }
    buffer_append_bytes(qualifier, suffix);
    *ret_qualifier = buffer_bytes(qualifier);
    return qualifier->failed ? STATUS_NO_MEMORY : STATUS_OK;
}

static enum status take_column(struct chunk_reader *reader, uint8_t tag, struct chunk_cell *cell)
{
    if (reader->first && (tag & (TAG_SAME_FAMILY | TAG_SAME_COLUMN | TAG_SAME_SIZE)) != 0) {
        return STATUS_CORRUPT;
    }
    if ((tag & TAG_SAME_COLUMN) != 0) {
        return STATUS_OK;
    }
    if ((tag & TAG_SAME_FAMILY) == 0 &&
        (!take_u32(&reader->next, reader->end, &cell->family) || cell->family == 0)) {
        return STATUS_CORRUPT;
    }
    return take_qualifier(reader, &cell->qualifier);
}

static bool take_time(struct chunk_reader *reader, uint8_t tag, int64_t *timestamp_us)
{
    if ((tag & TAG_SAME_TIME) != 0) {
        return true;
    }
    uint64_t written = 0;
    if (!take_varint(&reader->next, reader->end, &written)) {
        return false;
    }
    uint64_t scale = reader->millis ? MILLIS : 1;
    if ((tag & TAG_SAME_COLUMN) != 0) {
        *timestamp_us = (int64_t)((uint64_t)*timestamp_us - written * scale);
    } else {
        *timestamp_us = (int64_t)((uint64_t)*timestamp_us +
                                  (uint64_t)zigzag_decode(written) * scale);
    }
    return true;
}

static bool take_aggregate(struct chunk_reader *reader, uint8_t tag, enum aggregate_kind *ret_kind)
{
    *ret_kind = AGGREGATE_NONE;
    if ((tag & TAG_AGGREGATE) == 0) {
        return true;
    }
    if (reader->next >= reader->end) {
        return false;
    }
    uint8_t kind = *reader->next++;
    if (kind < AGGREGATE_INTSUM || kind > AGGREGATE_BYTESHLL) {
        return false;
    }
    *ret_kind = (enum aggregate_kind)kind;
    return true;
}

enum status chunk_next(struct chunk_reader *reader, struct chunk_cell *ret_cell, bool *ret_found)
{
    if (reader->next == reader->end) {
        *ret_found = false;
        return STATUS_OK;
    }
    uint8_t tag = *reader->next++;
    struct chunk_cell *cell = &reader->cell;
    if ((tag & ~TAG_KNOWN) != 0) {
        return STATUS_CORRUPT;
    }
    enum status status = take_column(reader, tag, cell);
    if (status != STATUS_OK) {
        return status;
    }
    uint64_t size = cell->value.size_bytes;
    if (!take_time(reader, tag, &cell->timestamp_us) ||
        !take_aggregate(reader, tag, &cell->aggregate) ||
        ((tag & TAG_SAME_SIZE) == 0 && !take_varint(&reader->next, reader->end, &size)) ||
        !take_bytes(&reader->next, reader->end, size, &cell->value)) {
        return STATUS_CORRUPT;
    }
    cell->large = (tag & TAG_LARGE) != 0;
    reader->first = false;
    *ret_cell = *cell;
    *ret_found = true;
    return STATUS_OK;
}

/* --- writing ---------------------------------------------------------------------------------- */

static size_t shared_prefix(struct bytes a, struct bytes b)
{
    size_t common = a.size_bytes < b.size_bytes ? a.size_bytes : b.size_bytes;
    size_t shared = 0;
    while (shared < common && a.data[shared] == b.data[shared]) {
        shared++;
    }
    return shared;
}

static bool is_whole_millis(int64_t timestamp_us)
{
    return timestamp_us % MILLIS == 0;
}

/* What differs between a cell and the one before, ready to be written or counted. */
struct cell_plan {
    uint8_t tag;
    size_t shared;
    size_t suffix;
    uint64_t time; /* as written */
};

static struct cell_plan plan_cell(const struct chunk_cell *before,
                                  const struct chunk_cell *cell,
                                  bool millis)
{
    struct cell_plan plan = {0};
    const struct chunk_cell nothing = {0};
    bool first = before == NULL;
    before = first ? &nothing : before;
    bool same_column = !first && cell->family == before->family &&
                       bytes_equal(cell->qualifier, before->qualifier);
    if (same_column) {
        plan.tag |= TAG_SAME_COLUMN;
    } else {
        plan.tag |= !first && cell->family == before->family ? TAG_SAME_FAMILY : 0;
        plan.shared = shared_prefix(before->qualifier, cell->qualifier);
        plan.suffix = cell->qualifier.size_bytes - plan.shared;
    }
    if (cell->timestamp_us == before->timestamp_us) {
        plan.tag |= TAG_SAME_TIME;
    } else {
        int64_t now = millis ? cell->timestamp_us / MILLIS : cell->timestamp_us;
        int64_t then = millis ? before->timestamp_us / MILLIS : before->timestamp_us;
        plan.time = same_column ? (uint64_t)then - (uint64_t)now
                                : zigzag_encode((int64_t)((uint64_t)now - (uint64_t)then));
    }
    plan.tag |= !first && cell->value.size_bytes == before->value.size_bytes ? TAG_SAME_SIZE : 0;
    plan.tag |= cell->aggregate != AGGREGATE_NONE ? TAG_AGGREGATE : 0;
    plan.tag |= cell->large ? TAG_LARGE : 0;
    return plan;
}

static size_t length_size(size_t length)
{
    return length < NIBBLE_LONG ? 0 : varint_size(length - NIBBLE_LONG);
}

size_t chunk_cell_size(const struct chunk_cell *before, const struct chunk_cell *cell)
{
    bool millis = is_whole_millis(cell->timestamp_us) &&
                  (before == NULL || is_whole_millis(before->timestamp_us));
    struct cell_plan plan = plan_cell(before, cell, millis);
    size_t size = 1 + cell->value.size_bytes;
    size += (plan.tag & TAG_SAME_TIME) != 0 ? 0 : varint_size(plan.time);
    size += (plan.tag & TAG_AGGREGATE) != 0 ? 1 : 0;
    size += (plan.tag & TAG_SAME_SIZE) != 0 ? 0 : varint_size(cell->value.size_bytes);
    if ((plan.tag & TAG_SAME_COLUMN) == 0) {
        size += (plan.tag & TAG_SAME_FAMILY) != 0 ? 0 : varint_size(cell->family);
        size += 1 + length_size(plan.shared) + length_size(plan.suffix) + plan.suffix;
    }
    return size;
}

static void append_varint(struct buffer *out, uint64_t value)
{
    uint8_t data[VARINT_SIZE_MAX];
    buffer_append(out, data, varint_store(data, value));
}

static void append_long_length(struct buffer *out, size_t length)
{
    if (length >= NIBBLE_LONG) {
        append_varint(out, length - NIBBLE_LONG);
    }
}

static uint8_t nibble_of(size_t length)
{
    return length < NIBBLE_LONG ? (uint8_t)length : NIBBLE_LONG;
}

static void append_cell(struct buffer *out,
                        const struct chunk_cell *before,
                        const struct chunk_cell *cell,
                        bool millis)
{
    struct cell_plan plan = plan_cell(before, cell, millis);
    buffer_append_u8(out, plan.tag);
    if ((plan.tag & TAG_SAME_COLUMN) == 0) {
        if ((plan.tag & TAG_SAME_FAMILY) == 0) {
            append_varint(out, cell->family);
        }
        buffer_append_u8(out, (uint8_t)(nibble_of(plan.shared) << 4 | nibble_of(plan.suffix)));
        append_long_length(out, plan.shared);
        append_long_length(out, plan.suffix);
        if (plan.suffix > 0) {
            buffer_append(out, cell->qualifier.data + plan.shared, plan.suffix);
        }
    }
    if ((plan.tag & TAG_SAME_TIME) == 0) {
        append_varint(out, plan.time);
    }
    if ((plan.tag & TAG_AGGREGATE) != 0) {
        buffer_append_u8(out, (uint8_t)cell->aggregate);
    }
    if ((plan.tag & TAG_SAME_SIZE) == 0) {
        append_varint(out, cell->value.size_bytes);
    }
    buffer_append_bytes(out, cell->value);
}

static uint8_t flags_of(const struct chunk_cell *cells, size_t count)
{
    bool millis = true;
    bool large = false;
    for (size_t i = 0; i < count; i++) {
        millis = millis && is_whole_millis(cells[i].timestamp_us);
        large = large || cells[i].large;
    }
    return (uint8_t)((millis ? FLAG_MILLIS : 0) | (large ? FLAG_HAS_LARGE : 0));
}

void chunk_seal(struct buffer *out, size_t start, uint64_t seed)
{
    if (!out->failed) {
        uint8_t *data = out->data + start;
        store_le32(data + OFFSET_CHECKSUM, checksum_of(data, out->size_bytes - start, seed));
    }
}

void chunk_encode(const struct chunk_cell *cells,
                  size_t count,
                  struct stamp stamp,
                  uint64_t seed,
                  struct buffer *out)
{
    ASSERT(count >= 1);
    size_t start = out->size_bytes;
    uint8_t head[OFFSET_STAMP] = {CHUNK_FORMAT, flags_of(cells, count)};
    store_le64(head + OFFSET_CLOCK, stamp.clock);
    buffer_append(out, head, sizeof head);
    append_varint(out, stamp.cluster);
    append_varint(out, stamp.index);
    for (size_t i = 0; i < count; i++) {
        append_cell(out, i > 0 ? &cells[i - 1] : NULL, &cells[i], (head[1] & FLAG_MILLIS) != 0);
    }
    chunk_seal(out, start, seed);
}
