#include "common/base/checksum_long.h"

#include <xxhash.h>

#if defined(__x86_64__) && __has_include(<xxh_x86dispatch.h>)
#    include <xxh_x86dispatch.h> /* from here on XXH3_… is the one that chooses */
#endif

uint64_t checksum64_long(const void *data, size_t size_bytes, uint64_t seed)
{
    return XXH3_64bits_withSeed(data, size_bytes, seed);
}
