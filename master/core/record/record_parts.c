#include "master/core/record/record_parts.h"

#include "common/base/checksum.h"
#include "common/base/endian.h"

#define CHECKSUM_BYTES 4

/* --- writing ---------------------------------------------------------------------------------- */

void record_put_number(struct buffer *out, uint64_t value)
{
    uint8_t *at = buffer_reserve(out, VARINT_SIZE_MAX);
    if (at != NULL) {
        buffer_advance(out, varint_store(at, value));
    }
}

void record_put_bytes(struct buffer *out, struct bytes bytes)
{
    record_put_number(out, bytes.size_bytes);
    buffer_append_bytes(out, bytes);
}

static uint64_t seed_of(char kind, uint64_t number)
{
    struct record_key key = record_key_of(kind, number);
    return checksum64(key.data, key.size_bytes, 0);
}

void record_put_checksum(struct buffer *out, size_t start, char kind, uint64_t number)
{
    uint8_t checksum[CHECKSUM_BYTES];
    if (out->failed) {
        return;
    }
    store_le32(checksum,
               checksum32(out->data + start, out->size_bytes - start, seed_of(kind, number)));
    buffer_append(out, checksum, sizeof checksum);
}

/* --- reading ---------------------------------------------------------------------------------- */

uint64_t record_take_number(struct record_reader *reader)
{
    uint64_t value = 0;
    size_t size = reader->bad ? 0 : varint_load(reader->at, reader->end, &value);
    if (size == 0) {
        reader->bad = true;
        return 0;
    }
    reader->at += size;
    return value;
}

uint32_t record_take_number32(struct record_reader *reader)
{
    uint64_t value = record_take_number(reader);
    reader->bad = reader->bad || value > UINT32_MAX;
    return reader->bad ? 0 : (uint32_t)value;
}

struct bytes record_take_bytes(struct record_reader *reader)
{
    uint64_t size = record_take_number(reader);
    if (reader->bad || size > (size_t)(reader->end - reader->at)) {
        reader->bad = true;
        return BYTES_EMPTY;
    }
    struct bytes bytes = {reader->at, (size_t)size};
    reader->at += size;
    return bytes;
}

enum status record_corrupt(char kind, uint64_t number, const char *what, struct error *ret_error)
{
    return error_set(ret_error, STATUS_CORRUPT, "catalog record %c %llu: %s", kind,
                     (unsigned long long)number, what);
}

enum status record_open_layout(char kind,
                               uint64_t number,
                               struct bytes value,
                               uint8_t layout_max,
                               struct record_reader *ret_reader,
                               struct error *ret_error)
{
    if (value.size_bytes < 1 + CHECKSUM_BYTES) {
        return record_corrupt(kind, number, "too short", ret_error);
    }
    size_t body_bytes = value.size_bytes - CHECKSUM_BYTES;
    if (load_le32(value.data + body_bytes) !=
        checksum32(value.data, body_bytes, seed_of(kind, number))) {
        return record_corrupt(kind, number, "its checksum does not match", ret_error);
    }
    if (value.data[0] > layout_max) {
        return error_set(ret_error, STATUS_VERSION,
                         "catalog record %c %llu has layout %u; this version reads up to %u", kind,
                         (unsigned long long)number, (unsigned)value.data[0], (unsigned)layout_max);
    }
    *ret_reader = (struct record_reader){value.data + 1, value.data + body_bytes, false};
    return STATUS_OK;
}
