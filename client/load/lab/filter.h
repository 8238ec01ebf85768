/*
 * The filter of a query, as edubba.h has it.
 *
 * Thread rule: any thread.
 */
#ifndef CLIENT_LOAD_LAB_FILTER_H
#define CLIENT_LOAD_LAB_FILTER_H

#include "client/load/lab/core/experiments/query.h"

/* NULL = none is needed, or no memory: then *ret_good is false.  edubba_filter_free() it. */
struct edubba_filter *lab_filter_make(const struct lab_query *query, bool *ret_good);

#endif /* CLIENT_LOAD_LAB_FILTER_H */
