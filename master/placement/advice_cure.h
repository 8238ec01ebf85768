/*
 * What cures a fault of row keys, said with the keys as they are: "BATTERY#USER#TIME".
 *
 * Patterns are named as in schemas for time series: field promotion, salting.
 *
 * Thread rule: any; functions of their arguments.  Pure.
 */
#ifndef MASTER_PLACEMENT_ADVICE_CURE_H
#define MASTER_PLACEMENT_ADVICE_CURE_H

#include "common/base/buffer.h"
#include "master/placement/key_shape.h"

/* Rows that only grow at the end. */
struct cure_growing {
    struct key_shape shape;
    bool others;    /* the table has rows that begin with another front */
    size_t writers; /* tablets that grow at their ends at the same time */
    bool peers;     /* rows with another front take as much, or nearly */
};

/* Each appends a sentence or two and returns the pattern's name. */
const char *cure_growing(const struct cure_growing *growing, struct buffer *out);
const char *cure_crowded(const struct key_shape *shape, bool others, struct buffer *out);
const char *cure_popular(struct bytes row, bool written, struct buffer *out);

/* "the time ('20150301...')", "a number ('000123')"; nothing where that is not known. */
void cure_describe(const struct key_shape *shape, struct buffer *out);

#endif /* MASTER_PLACEMENT_ADVICE_CURE_H */
