/*
 * How many distinct values a sketch has seen: linear counting while that is the more
 * exact, else the harmonic mean of the registers less the bias that was measured for it.
 *
 * Doubles throughout, in a fixed order of operations: every server gives the same number, and
 * Zetasketch gives it too.
 *
 * Thread rule: pure functions; any thread.
 */
#ifndef COMMON_AGGREGATE_HLL_ESTIMATE_H
#define COMMON_AGGREGATE_HLL_ESTIMATE_H

#include <stdint.h>

#include "common/aggregate/hll_state.h"

/* Of a checked state. */
int64_t hll_estimate(const struct hll_state *state);

/* The constant that the harmonic mean is scaled by. */
double hll_alpha(uint32_t precision);

/* Linear counting is trusted up to here. */
int64_t hll_linear_counting_limit(uint32_t precision);

/* What a raw estimate is too high by; 0 where nothing was measured. */
double hll_bias(uint32_t precision, double raw_estimate);

#endif /* COMMON_AGGREGATE_HLL_ESTIMATE_H */
