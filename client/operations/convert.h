/*
 * From the public structs to the wire's.  Nothing is copied but the structs themselves, into the
 * arena; bytes stay where the caller has them.
 */
#ifndef CLIENT_OPERATIONS_CONVERT_H
#define CLIENT_OPERATIONS_CONVERT_H

#include "client/loop/client.h"
#include "common/model/mutation.h"

/* Errors: STATUS_NO_MEMORY, STATUS_INVALID_ARGUMENT (an enum out of range). */
enum status convert_mutations(struct arena *arena,
                              const struct edubba_mutation *mutations,
                              size_t count,
                              const struct mutation **ret_mutations,
                              struct error *ret_error);

enum status convert_rules(struct arena *arena,
                          const struct edubba_rmw_rule *rules,
                          size_t count,
                          const struct rmw_rule **ret_rules,
                          struct error *ret_error);

/* NULL for NULL.  Borrowed from the filter. */
const struct filter *convert_filter(const struct edubba_filter *filter);

/* What is cheap to see and sure to be refused.  Errors: STATUS_INVALID_ARGUMENT. */
enum status convert_check_row(struct edubba_bytes row, struct error *ret_error);
enum status convert_check_identity(const struct edubba_identity *identity, struct error *ret_error);
enum status convert_check_count(size_t count, struct error *ret_error);
/* An operation, encoded: one that fits into no message would be tried until its deadline. */
enum status convert_check_size(size_t size_bytes, struct error *ret_error);

#endif /* CLIENT_OPERATIONS_CONVERT_H */
