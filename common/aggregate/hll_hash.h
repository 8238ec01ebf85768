/*
 * Fingerprint2011, the 64-bit hash under every sketch (Guava's fingerprint2011 is the same
 * function, FarmHash's Fingerprint64 is not).  Sketches only merge if everyone hashes alike,
 * so this can never change.
 *
 * Thread rule: pure functions; any thread.
 */
#ifndef COMMON_AGGREGATE_HLL_HASH_H
#define COMMON_AGGREGATE_HLL_HASH_H

#include <stdint.h>

#include "common/base/bytes.h"

uint64_t hll_hash_bytes(struct bytes input);

/* The hash of the value's 8 little-endian bytes. */
uint64_t hll_hash_int64(int64_t input);

#endif /* COMMON_AGGREGATE_HLL_HASH_H */
