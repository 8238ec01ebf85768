#include "common/aggregate/hll_bias.h"

struct hll_bias_table hll_bias_table_of(uint32_t precision)
{
    return precision < HLL_BIAS_PRECISION_HIGH ? hll_bias_low_table_of(precision)
                                               : hll_bias_high_table_of(precision);
}
