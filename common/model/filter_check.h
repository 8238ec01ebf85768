/*
 * Whether a filter may be compiled at all, and how large it is.  Inside common/model only.
 *
 * After filter_check() a tree is at most LIMIT_FILTER_DEPTH deep, so everything that walks it may
 * recurse.
 */
#ifndef COMMON_MODEL_FILTER_CHECK_H
#define COMMON_MODEL_FILTER_CHECK_H

#include "common/model/filter.h"

struct filter_facts {
    size_t filter_count;    /* filters in the tree */
    size_t condition_count; /* of them conditions */
    size_t pattern_weight;  /* shares the regex memory out; see filter_pattern_weight() */
};

/* Everything about a filter that needs no compiling.  Errors: STATUS_INVALID_ARGUMENT. */
enum status filter_check(const struct filter *filter,
                         size_t encoded_bytes,
                         struct filter_facts *ret_facts,
                         struct error *ret_error);

/* What LIMIT_FILTER_BYTES is about: the size of Bigtable's RowFilter that says the same, encoded. */
size_t filter_size_bytes(const struct filter *filter);

/* The name of a filter in Bigtable's RowFilter; never NULL. */
const char *filter_field_name(enum filter_kind kind);

/* What a pattern of this size counts for. */
size_t filter_pattern_weight(struct bytes pattern);

/*
 * Conditions wait for one another: one for those before it in a chain, those around it, and those
 * in its predicate.  The level of a condition is the length of the longest such wait; level
 * `before` are those it waits for from outside.  Returns the highest level once the filter is
 * passed.
 */
uint32_t filter_level_after(const struct filter *filter, uint32_t before);

/* Does any path through the filter end in a sink? */
bool filter_has_sink(const struct filter *filter);

/* The children in use: those of a condition may be absent. */
bool filter_has_child(const struct filter *filter, size_t index);
size_t filter_child_count(const struct filter *filter);

#endif /* COMMON_MODEL_FILTER_CHECK_H */
