/*
 * Two sketches into one.
 *
 * The result has the lower of both precisions, the sum of num_values (which stops at INT64_MAX,
 * so that order does not matter there either), and the value_type of the side that has one.
 * It is sparse if both are and the united list stays below its limit, else normal.
 *
 * Differences from Zetasketch: an untyped left side learns the type of the right one, and two
 * untyped sides get the type of the column; whether a sketch turns normal is decided by the
 * united list alone, never by what was buffered on the way.
 *
 * Thread rule: pure functions; any thread.
 */
#ifndef COMMON_AGGREGATE_HLL_MERGE_H
#define COMMON_AGGREGATE_HLL_MERGE_H

#include <stdbool.h>

#include "common/aggregate/hll.h"
#include "common/base/buffer.h"
#include "common/base/bytes.h"
#include "common/base/status.h"

/* Append a merged with b, both checked states, to out.  value_type is what the column holds.
 * Errors: STATUS_NO_MEMORY; STATUS_INVALID_ARGUMENT for states of different types, for sparse
 * ones of precisions that cannot be compared, and for what is no state. */
enum status hll_merge(struct bytes a,
                      struct bytes b,
                      enum hll_value_type value_type,
                      struct buffer *out);

/* Fold operand into a state in normal form that has our own layout, if its size stays; takes
 * time in proportion to operand.  False: nothing was changed. */
bool hll_merge_in_place(uint8_t *state,
                        size_t state_size_bytes,
                        struct bytes operand,
                        enum hll_value_type value_type);

#endif /* COMMON_AGGREGATE_HLL_MERGE_H */
