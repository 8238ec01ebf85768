#include "client/load/core/value.h"

#include <string.h>

#include "client/load/core/random.h"

uint64_t load_value_key_hash(const uint8_t *key, size_t size)
{
    uint64_t hash = size;
    for (; size >= 8; key += 8, size -= 8) {
        uint64_t word = 0;
        memcpy(&word, key, 8);
        hash = load_mix(hash ^ word);
    }
    uint64_t word = 0;
    memcpy(&word, key, size);
    return load_mix(hash ^ word);
}

void load_value_pool_fill(uint8_t pool[2 * LOAD_VALUE_POOL_BYTES])
{
    uint64_t state = 0;
    for (size_t i = 0; i < LOAD_VALUE_POOL_BYTES; i += 8) {
        uint64_t word = load_random_next(&state);
        memcpy(pool + i, &word, 8);
    }
    /* Twice, so that a slice never wraps. */
    memcpy(pool + LOAD_VALUE_POOL_BYTES, pool, LOAD_VALUE_POOL_BYTES);
}

static uint64_t tag_of(uint64_t key_hash, uint64_t field, uint64_t version, size_t size)
{
    return load_mix(load_mix(key_hash + field) ^ version ^ (uint64_t)size << 40);
}

static size_t slice_of(size_t left)
{
    return left < LOAD_VALUE_POOL_BYTES ? left : LOAD_VALUE_POOL_BYTES;
}

void load_value_make(const uint8_t *pool,
                     uint64_t key_hash,
                     uint64_t field,
                     uint64_t version,
                     uint8_t *out,
                     size_t size)
{
    bool has_header = size >= LOAD_VALUE_HEADER_BYTES;
    uint64_t tag = tag_of(key_hash, field, has_header ? version : 0, size);
    if (!has_header) {
        memcpy(out, pool + tag % LOAD_VALUE_POOL_BYTES, size);
        memcpy(out, &tag, size < sizeof tag ? size : sizeof tag);
        return;
    }
    memcpy(out, &tag, 8);
    memcpy(out + 8, &version, 8);
    for (size_t at = LOAD_VALUE_HEADER_BYTES; at < size;) {
        size_t slice = slice_of(size - at);
        memcpy(out + at, pool + tag % LOAD_VALUE_POOL_BYTES, slice);
        at += slice;
    }
}

bool load_value_is_right(
    const uint8_t *pool, uint64_t key_hash, uint64_t field, const uint8_t *value, size_t size)
{
    if (size < LOAD_VALUE_HEADER_BYTES) {
        uint8_t wanted[LOAD_VALUE_HEADER_BYTES];
        load_value_make(pool, key_hash, field, 0, wanted, size);
        return memcmp(value, wanted, size) == 0;
    }
    uint64_t tag = 0;
    uint64_t version = 0;
    memcpy(&tag, value, 8);
    memcpy(&version, value + 8, 8);
    if (tag != tag_of(key_hash, field, version, size)) {
        return false;
    }
    for (size_t at = LOAD_VALUE_HEADER_BYTES; at < size;) {
        size_t slice = slice_of(size - at);
        if (memcmp(value + at, pool + tag % LOAD_VALUE_POOL_BYTES, slice) != 0) {
            return false;
        }
        at += slice;
    }
    return true;
}
