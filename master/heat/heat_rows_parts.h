/*
 * What heat_rows*.c share of rows: their keys, what they cost, how a value is shared out.
 */
#ifndef MASTER_HEAT_HEAT_ROWS_PARTS_H
#define MASTER_HEAT_HEAT_ROWS_PARTS_H

#include "master/heat/heat_rows.h"

#define HEAT_OPERATION_COST 1000 /* of one, beside its ns of CPU time */

static inline uint64_t heat_cost(const struct heat_values *values)
{
    return (values->of[HEAT_READS] + values->of[HEAT_WRITES]) * HEAT_OPERATION_COST +
           values->of[HEAT_READ_CPU_NS] + values->of[HEAT_WRITE_CPU_NS];
}

static inline struct bytes heat_row_key(const struct heat_row *row)
{
    return bytes_of(row->key, row->key_bytes);
}

/* Rounded, and never above the value. */
static inline uint64_t heat_part(uint64_t value, double share)
{
    uint64_t part = (uint64_t)((double)value * share + 0.5);
    return part > value ? value : part;
}

/* How far key is in a range; where an end is open, by the keys that anybody has named. */
double heat_rows_fraction(const struct heat_rows *rows,
                          const struct row_range *range,
                          struct bytes key);

#endif /* MASTER_HEAT_HEAT_ROWS_PARTS_H */
