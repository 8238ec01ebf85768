/*
 * The measured bias of raw HyperLogLog++ estimates, for precisions 4 to 18.
 *
 * Source: S. Heule, M. Nunkesser, A. Hall, "HyperLogLog in Practice: Algorithmic Engineering of a
 * State of The Art Cardinality Estimation Algorithm", EDBT 2013, appendix.  Raw estimates ascend,
 * but for two pairs each in the tables of precision 5 and 6, which stand as they were published.
 *
 * Thread rule: constants.
 */
#ifndef COMMON_AGGREGATE_HLL_BIAS_H
#define COMMON_AGGREGATE_HLL_BIAS_H

#include <stddef.h>
#include <stdint.h>

#define HLL_BIAS_PRECISION_MIN 4
#define HLL_BIAS_PRECISION_MAX 18

/* The tables lie in two files: those below this precision, and the others. */
#define HLL_BIAS_PRECISION_HIGH 12

struct hll_bias_point {
    double raw_estimate; /* mean over many sketches of one true cardinality */
    double bias;         /* that mean less the true cardinality */
};

struct hll_bias_table {
    const struct hll_bias_point *points;
    size_t count;
};

/* Requires: HLL_BIAS_PRECISION_MIN <= precision <= HLL_BIAS_PRECISION_MAX. */
struct hll_bias_table hll_bias_table_of(uint32_t precision);

/* Its two halves.  Require: a precision of theirs. */
struct hll_bias_table hll_bias_low_table_of(uint32_t precision);
struct hll_bias_table hll_bias_high_table_of(uint32_t precision);

#endif /* COMMON_AGGREGATE_HLL_BIAS_H */
