/*
 * Reading numbers and byte strings out of bytes that nobody vouches for.
 *
 * Failure sticks: after the first read that does not fit, every read gives zero or nothing, so a
 * decoder reads a whole structure and asks byte_reader_ok() once, before it believes any of it.
 * What is read borrows from the bytes being read.
 *
 * Thread rule: a value; belongs to whoever holds it.
 */
#ifndef COMMON_BASE_BYTE_READER_H
#define COMMON_BASE_BYTE_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/buffer.h"
#include "common/base/bytes.h"
#include "common/base/endian.h"

struct byte_reader {
    const uint8_t *at;
    const uint8_t *end;
    bool failed;
};

static inline struct byte_reader byte_reader_of(struct bytes bytes)
{
    /* A pointer to compare and subtract even where there is nothing to read. */
    static const uint8_t nothing = 0;
    const uint8_t *data = bytes.size_bytes == 0 ? &nothing : bytes.data;
    return (struct byte_reader){data, data + bytes.size_bytes, false};
}

static inline bool byte_reader_ok(const struct byte_reader *reader)
{
    return !reader->failed;
}

static inline size_t byte_reader_left(const struct byte_reader *reader)
{
    return reader->failed ? 0 : (size_t)(reader->end - reader->at);
}

static inline uint8_t byte_reader_u8(struct byte_reader *reader)
{
    if (byte_reader_left(reader) < 1) {
        reader->failed = true;
        return 0;
    }
    return *reader->at++;
}

static inline uint64_t byte_reader_le64(struct byte_reader *reader)
{
    if (byte_reader_left(reader) < 8) {
        reader->failed = true;
        return 0;
    }
    reader->at += 8;
    return load_le64(reader->at - 8);
}

static inline uint64_t byte_reader_varint(struct byte_reader *reader)
{
    uint64_t value = 0;
    size_t size = reader->failed ? 0 : varint_load(reader->at, reader->end, &value);
    reader->failed = size == 0;
    reader->at += size;
    return value;
}

/* A varint that must not exceed max. */
static inline uint64_t byte_reader_varint_max(struct byte_reader *reader, uint64_t max)
{
    uint64_t value = byte_reader_varint(reader);
    if (value > max) {
        reader->failed = true;
        return 0;
    }
    return value;
}

static inline int64_t byte_reader_zigzag(struct byte_reader *reader)
{
    return zigzag_decode(byte_reader_varint(reader));
}

/* A varint length and as many bytes, at most size_bytes_max. */
static inline struct bytes byte_reader_bytes_max(struct byte_reader *reader, size_t size_bytes_max)
{
    uint64_t size = byte_reader_varint(reader);
    if (size > size_bytes_max || size > byte_reader_left(reader)) {
        reader->failed = true;
        return BYTES_EMPTY;
    }
    reader->at += size;
    return size == 0 ? BYTES_EMPTY : bytes_of(reader->at - size, (size_t)size);
}

static inline struct bytes byte_reader_bytes(struct byte_reader *reader)
{
    return byte_reader_bytes_max(reader, SIZE_MAX);
}

/* The other direction, into a buffer (which carries its own sticky failure). */
static inline void byte_append_varint(struct buffer *out, uint64_t value)
{
    uint8_t *to = buffer_reserve(out, VARINT_SIZE_MAX);
    if (to != NULL) {
        buffer_advance(out, varint_store(to, value));
    }
}

static inline void byte_append_zigzag(struct buffer *out, int64_t value)
{
    byte_append_varint(out, zigzag_encode(value));
}

/* As byte_reader_bytes() reads it. */
static inline void byte_append_bytes(struct buffer *out, struct bytes bytes)
{
    byte_append_varint(out, bytes.size_bytes);
    buffer_append_bytes(out, bytes);
}

#endif /* COMMON_BASE_BYTE_READER_H */
