/*
 * Names of long-running operations.
 *
 * Whatever starts one here has ended when it answers, so a name is all that is left of it; it says
 * what it was about, and when it was (microseconds since 1970):
 *
 *     operations/projects/P/instances/I/tables/T/operations/1766102400000000
 *
 * Any gateway, also one that was started later, answers a poll from that.
 *
 * Names that were parsed borrow from their text.  Pure.  Thread rule: any thread.
 */
#ifndef GATEWAY_OPERATIONS_OPERATION_NAME_H
#define GATEWAY_OPERATIONS_OPERATION_NAME_H

#include <stdint.h>

#include "common/base/arena.h"
#include "common/base/bytes.h"
#include "common/base/error.h"
#include "gateway/core/resource_name.h"

struct operation_name {
    struct bytes resource;      /* its whole name: of an instance, a table, ... */
    struct resource_name parts; /* the same, taken apart */
    int64_t time_us;
};

/* Errors: STATUS_INVALID_ARGUMENT (no name that a gateway gives). */
enum status operation_name_parse(struct bytes text,
                                 struct operation_name *ret_name,
                                 struct error *ret_error);

/* NUL-terminated, in the arena; NULL without memory. */
char *operation_name_format(struct bytes resource, int64_t time_us, struct arena *arena);

#endif /* GATEWAY_OPERATIONS_OPERATION_NAME_H */
