/*
 * What of an entry of MutateRows is wrong whatever is in its table: an empty row key, a timestamp that
 * cannot be, a name or a value that is too long.  Bigtable refuses the whole call then, and writes
 * nothing, where a server would refuse only that entry.
 *
 * The rules and their texts are the servers' own (common/model/mutation.h).  Kinds of input depend on
 * the family: core/family_check.h.
 *
 * Pure.  Thread rule: any thread.
 */
#ifndef GATEWAY_METHODS_WRITE_ENTRY_CHECK_H
#define GATEWAY_METHODS_WRITE_ENTRY_CHECK_H

#include <stdbool.h>

#include "client/include/edubba.h"
#include "common/base/error.h"

/* is_micros: timestamps of the table are as fine as that.  Errors: STATUS_INVALID_ARGUMENT. */
enum status entry_check(const struct edubba_entry *entry, bool is_micros, struct error *ret_error);

#endif /* GATEWAY_METHODS_WRITE_ENTRY_CHECK_H */
