/*
 * Fixed-width integers and varints in byte strings.
 *
 * Big-endian where bytes must sort as numbers (keys) or where Bigtable says so (aggregate states);
 * little-endian in log records, chunks and frames.  No alignment is assumed anywhere.
 */
#ifndef COMMON_BASE_ENDIAN_H
#define COMMON_BASE_ENDIAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline uint16_t load_le16(const uint8_t *p)
{
    return (uint16_t)(p[0] | (p[1] << 8));
}

static inline uint32_t load_le32(const uint8_t *p)
{
    return (uint32_t)p[0] | ((uint32_t)p[1] << 8) | ((uint32_t)p[2] << 16) | ((uint32_t)p[3] << 24);
}

static inline uint64_t load_le64(const uint8_t *p)
{
    return (uint64_t)load_le32(p) | ((uint64_t)load_le32(p + 4) << 32);
}

static inline uint32_t load_be32(const uint8_t *p)
{
    return (uint32_t)p[3] | ((uint32_t)p[2] << 8) | ((uint32_t)p[1] << 16) | ((uint32_t)p[0] << 24);
}

static inline uint64_t load_be64(const uint8_t *p)
{
    return (uint64_t)load_be32(p + 4) | ((uint64_t)load_be32(p) << 32);
}

static inline void store_le16(uint8_t *p, uint16_t v)
{
    p[0] = (uint8_t)v;
    p[1] = (uint8_t)(v >> 8);
}

static inline void store_le32(uint8_t *p, uint32_t v)
{
    for (int i = 0; i < 4; i++) {
        p[i] = (uint8_t)(v >> (8 * i));
    }
}

static inline void store_le64(uint8_t *p, uint64_t v)
{
    for (int i = 0; i < 8; i++) {
        p[i] = (uint8_t)(v >> (8 * i));
    }
}

static inline void store_be32(uint8_t *p, uint32_t v)
{
    for (int i = 0; i < 4; i++) {
        p[i] = (uint8_t)(v >> (24 - 8 * i));
    }
}

static inline void store_be64(uint8_t *p, uint64_t v)
{
    for (int i = 0; i < 8; i++) {
        p[i] = (uint8_t)(v >> (56 - 8 * i));
    }
}

#define VARINT_SIZE_MAX 10

/* Unsigned LEB128; returns bytes written (1..10). */
static inline size_t varint_store(uint8_t *p, uint64_t v)
{
    size_t n = 0;
    while (v >= 0x80) {
        p[n++] = (uint8_t)(v | 0x80);
        v >>= 7;
    }
    p[n++] = (uint8_t)v;
    return n;
}

static inline size_t varint_size(uint64_t v)
{
    size_t n = 1;
    while (v >= 0x80) {
        v >>= 7;
        n++;
    }
    return n;
}

/* Reads from [p, end); returns bytes read, or 0 if truncated or longer than 64 bits. */
static inline size_t varint_load(const uint8_t *p, const uint8_t *end, uint64_t *ret_value)
{
    uint64_t value = 0;
    for (size_t n = 0; n < VARINT_SIZE_MAX && p + n < end; n++) {
        uint64_t part = p[n] & 0x7f;
        if (n == 9 && part > 1) {
            return 0;
        }
        value |= part << (7 * n);
        if ((p[n] & 0x80) == 0) {
            *ret_value = value;
            return n + 1;
        }
    }
    return 0;
}

/* Signed numbers with small magnitude as small varints. */
static inline uint64_t zigzag_encode(int64_t v)
{
    return ((uint64_t)v << 1) ^ (uint64_t)(v < 0 ? -1 : 0);
}

static inline int64_t zigzag_decode(uint64_t v)
{
    return (int64_t)((v >> 1) ^ (0 - (v & 1)));
}

#endif /* COMMON_BASE_ENDIAN_H */
