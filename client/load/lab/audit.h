/*
 * The audit: are the sums that are stored those that were given?
 *
 * Every cell of the table is read and added up; each sum must be what was acknowledged, or as much more
 * as stayed unknown.
 *
 * Thread rule: the main thread, when nothing is in flight.
 */
#ifndef CLIENT_LOAD_LAB_AUDIT_H
#define CLIENT_LOAD_LAB_AUDIT_H

#include "client/load/lab/core/report/result.h"

/* given, doubted: LAB_SUMS_MAX each.  Sets sums_* of the result.  Errors: those of scans. */
enum edubba_code lab_audit(struct edubba_table *table,
                           const int64_t *given,
                           const int64_t *doubted,
                           struct lab_variant_result *result,
                           struct edubba_error *error);

#endif /* CLIENT_LOAD_LAB_AUDIT_H */
