#include "common/base/checksum.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

uint64_t checksum64(const void *data, size_t size_bytes, uint64_t seed)
{
    return XXH3_64bits_withSeed(data, size_bytes, seed);
}
