/*
 * The checksum of everything stored or sent: XXH3, seeded.
 *
 * The seed binds bytes to where they belong (a log segment's generation and position, a chunk's
 * extent), so that good bytes in the wrong place fail as surely as bad ones.  Not a MAC.
 */
#ifndef COMMON_BASE_CHECKSUM_H
#define COMMON_BASE_CHECKSUM_H

#include <stddef.h>
#include <stdint.h>

uint64_t checksum64(const void *data, size_t size_bytes, uint64_t seed);

/* The low half, where four bytes are enough. */
static inline uint32_t checksum32(const void *data, size_t size_bytes, uint64_t seed)
{
    return (uint32_t)checksum64(data, size_bytes, seed);
}

#endif /* COMMON_BASE_CHECKSUM_H */
