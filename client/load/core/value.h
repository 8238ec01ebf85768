/*
 * Values that tell what they ought to be.
 *
 * A value follows from its row's key, its field and a version, and carries the version: so whoever
 * reads it can tell whether it is one that was written there, without knowing what was written.
 *
 *   16 bytes and more   tag (8)  |  version (8)  |  a slice of a pool of random bytes, at tag
 *   fewer               the first bytes of what follows from key and field alone
 *
 * tag mixes key, field, version and size.  The rest comes from a pool so that it costs a memcpy; it does
 * not compress.
 */
#ifndef CLIENT_LOAD_CORE_VALUE_H
#define CLIENT_LOAD_CORE_VALUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LOAD_VALUE_POOL_BYTES   65536
#define LOAD_VALUE_HEADER_BYTES 16

/* Of a row's key. */
uint64_t load_value_key_hash(const uint8_t *key, size_t size);

/* The bytes of values, the same in every process. */
void load_value_pool_fill(uint8_t pool[2 * LOAD_VALUE_POOL_BYTES]);

void load_value_make(const uint8_t *pool,
                     uint64_t key_hash,
                     uint64_t field,
                     uint64_t version,
                     uint8_t *out,
                     size_t size);

/* Was it made for this key and field, in any version? */
bool load_value_is_right(
    const uint8_t *pool, uint64_t key_hash, uint64_t field, const uint8_t *value, size_t size);

#endif /* CLIENT_LOAD_CORE_VALUE_H */
