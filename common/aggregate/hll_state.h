/*
 * The bytes of a sketch: Zetasketch's AggregatorStateProto, encoding version 2.
 *
 *   08 70                 type, always 112
 *   10 num_values         inputs added, repeated ones included
 *   18 02                 encoding version
 *   20 value_type         left out when 0
 *   82 07 size            the sketch:
 *      10 sparse_size        entries in the sparse list; left out when 0
 *      18 p
 *      20 sp                 left out when 0: no sparse form
 *      2a 2^p, registers     normal form, once a register was ever set
 *      32 size, sparse list  sparse form, also when empty
 *
 * What we write is exactly this, in this order.  What we read may order its fields as it likes,
 * leave type out, and carry fields that we do not know.
 *
 * Thread rule: pure functions; any thread.
 */
#ifndef COMMON_AGGREGATE_HLL_STATE_H
#define COMMON_AGGREGATE_HLL_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/aggregate/hll.h"
#include "common/aggregate/hll_sparse.h"
#include "common/base/bytes.h"
#include "common/base/error.h"

/* Borrows the bytes that it was parsed from.
 * Invariants: precisions are such as Zetasketch reads; registers are 2^p bytes or none, and then
 * sparse is empty; value_type is an enum hll_value_type; num_values is an int64 >= 0. */
struct hll_state {
    uint64_t num_values;
    uint32_t value_type;
    struct hll_precision precision;
    struct bytes registers;
    struct hll_sparse_list sparse;
};

/* All that comes before the registers or the list. */
#define HLL_STATE_HEAD_SIZE_MAX_BYTES 64

/* A sketch that has seen one value. */
#define HLL_STATE_SINGLE_SIZE_MAX_BYTES (HLL_STATE_HEAD_SIZE_MAX_BYTES + 8)

/* Sparse form?  Else normal; without registers that is a sketch of nothing which has no sp. */
bool hll_state_is_sparse(const struct hll_state *state);

/* Takes time that does not depend on the size: what a list or a register holds is not looked at.
 * Errors: STATUS_INVALID_ARGUMENT, text says what is wrong; ret_error may be NULL. */
enum status hll_state_parse(struct bytes data,
                            struct hll_state *ret_state,
                            struct error *ret_error);

/* The rest of the check: limits of a cell, the sparse list, the registers.
 * Errors: STATUS_INVALID_ARGUMENT, text says what is wrong; ret_error may be NULL. */
enum status hll_state_check(const struct hll_state *state, struct error *ret_error);

/* Write all that comes before the registers or the list, of which only the sizes are used.
 * Returns the bytes written; the registers or the list follow them. */
size_t hll_state_write_head(const struct hll_state *state,
                            uint8_t ret_head[HLL_STATE_HEAD_SIZE_MAX_BYTES]);

/* A whole state, in sparse form, that has seen one value with this hash.
 * Requires: a sparse precision. */
size_t hll_state_write_single(struct hll_precision precision,
                              enum hll_value_type value_type,
                              uint64_t hash,
                              uint8_t ret_state[HLL_STATE_SINGLE_SIZE_MAX_BYTES]);

#endif /* COMMON_AGGREGATE_HLL_STATE_H */
