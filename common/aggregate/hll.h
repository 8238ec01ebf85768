/*
 * HyperLogLog++ as Zetasketch writes it: the numbers that every hll_*.c shares.
 *
 * A sketch of precision p keeps, for each of 2^p registers, the longest run of leading zeros seen
 * among the hashes that fall to it.  While it holds few values it is SPARSE: a sorted list of
 * encoded hashes cut to sp >= p bits of index.  When that list outgrows three quarters of the
 * registers it becomes NORMAL: the registers themselves.  It never goes back.
 *
 *   hll_hash      bytes -> 64-bit fingerprint
 *   hll_encoding  fingerprint -> register, or sparse encoding; and down to a lower precision
 *   hll_sparse    lists of encodings: check, unite, downgrade
 *   hll_state     the bytes of a cell <-> struct hll_state
 *   hll_merge     state + state -> state
 *   hll_estimate  state -> how many distinct values
 *
 * Zetasketch works for p from 4 to 24 and so does all of the above; what a cell may hold is
 * narrower, and said below.
 */
#ifndef COMMON_AGGREGATE_HLL_H
#define COMMON_AGGREGATE_HLL_H

#include <stdint.h>

/* What our own sketches are made with.  Production Bigtable's numbers are not published; these
 * are Zetasketch's defaults.  Change them here and nowhere else. */
#define HLL_PRECISION        15
#define HLL_SPARSE_PRECISION 20

/* What Zetasketch can read. */
#define HLL_PRECISION_MIN        4
#define HLL_PRECISION_MAX        24
#define HLL_SPARSE_PRECISION_MAX 25

/* What a cell may hold.  Older Zetasketch refuses p below 10.  Above 18 there is no bias table, and
 * a client could make a cell of 16 MiB from a few bytes; 2^18 registers are 256 KiB.
 * sp is p + 5 (as BigQuery has it) or 0.  So of any two sketches one is at least as precise as the
 * other, and merging cannot fail: what was committed can be folded in every order. */
#define HLL_CELL_PRECISION_MIN    10
#define HLL_CELL_PRECISION_MAX    18
#define HLL_CELL_SPARSE_MORE_BITS 5

/* value_type numbers: what was hashed.  An int64 is stored under its unsigned counterpart. */
enum hll_value_type {
    HLL_UNTYPED = 0,
    HLL_UINT32 = 7,
    HLL_UINT64 = 8, /* 8 little-endian bytes */
    HLL_BYTES = 11, /* the bytes themselves */
};

/* Bits of index.  sparse is 0 in sketches that have no sparse form, else >= normal. */
struct hll_precision {
    uint32_t normal;
    uint32_t sparse;
};

_Static_assert(HLL_CELL_PRECISION_MIN <= HLL_PRECISION, "our own sketches must be allowed");
_Static_assert(HLL_PRECISION <= HLL_CELL_PRECISION_MAX, "our own sketches must be allowed");
_Static_assert(HLL_SPARSE_PRECISION == HLL_PRECISION + HLL_CELL_SPARSE_MORE_BITS, "and these");
_Static_assert(HLL_CELL_PRECISION_MAX + HLL_CELL_SPARSE_MORE_BITS <= HLL_SPARSE_PRECISION_MAX,
               "Zetasketch must read it");

#endif /* COMMON_AGGREGATE_HLL_H */
