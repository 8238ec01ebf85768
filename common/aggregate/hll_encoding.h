/*
 * One hash as a sketch keeps it.
 *
 * In normal form: an index of p bits, and rho = 1 + the leading zeros of the rest.
 *
 * In sparse form: one number of at most 31 bits.  The sparse index has sp bits; its low sp - p
 * bits are the first bits of what normal form counts zeros in.
 *
 *   those bits not all zero:  e = sparse index                     (they decide rho)
 *   all zero:                 e = F | normal index << 6 | rho'     (rho' counted after sp bits)
 *   F = 2^max(sp, p + 6), above every index: all flagged entries sort after all unflagged ones
 *
 * Invariant: encoding at a high precision and downgrading gives what encoding the hash at the low
 * precision gives, so sketches of different precision meet without loss beyond the lower one's.
 *
 * Thread rule: pure functions; any thread.
 */
#ifndef COMMON_AGGREGATE_HLL_ENCODING_H
#define COMMON_AGGREGATE_HLL_ENCODING_H

#include <stdbool.h>
#include <stdint.h>

#include "common/aggregate/hll.h"

struct hll_register {
    uint32_t index;
    uint32_t rho; /* 1 .. 65 - p; 0 = nothing seen */
};

/* The register that a hash falls to, and what it says there. */
struct hll_register hll_register_of_hash(uint32_t precision, uint64_t hash);

/* What the same hash would say at a lower (or the same) precision; nothing stays nothing. */
struct hll_register hll_register_downgrade(struct hll_register from,
                                           uint32_t from_precision,
                                           uint32_t to_precision);

/* The bit that marks the second kind of encoding. */
uint32_t hll_encoding_flag(struct hll_precision precision);

/* Requires: precision.sparse >= precision.normal. */
uint32_t hll_encoding_of_hash(struct hll_precision precision, uint64_t hash);

/* True for what hll_encoding_of_hash() can give at that precision. */
bool hll_encoding_is_valid(struct hll_precision precision, uint32_t encoding);

/* The sparse index of an encoding: what two entries of one list must differ in. */
uint32_t hll_encoding_sparse_index(struct hll_precision precision, uint32_t encoding);

/* The normal register of an encoding. */
struct hll_register hll_encoding_register(struct hll_precision precision, uint32_t encoding);

/* Requires: to.normal <= from.normal and to.sparse <= from.sparse. */
uint32_t hll_encoding_downgrade(uint32_t encoding,
                                struct hll_precision from,
                                struct hll_precision to);

#endif /* COMMON_AGGREGATE_HLL_ENCODING_H */
