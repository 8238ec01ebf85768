#include "common/base/checksum.h"

/* Inline for what is short: keys, requests, cells. */
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "common/base/checksum_long.h"

uint64_t checksum64(const void *data, size_t size_bytes, uint64_t seed)
{
    return size_bytes <= CHECKSUM_SHORT_BYTES_MAX ? XXH3_64bits_withSeed(data, size_bytes, seed)
                                                  : checksum64_long(data, size_bytes, seed);
}
