/*
 * Names of long-running operations.
 *
 * Whatever starts one here has ended when it answers, so a name is all that is left of it; it says
 * what was done to which resource, and when:
 *
 *     operations/projects/P/instances/I/tables/T/operations/update-table-00062a41f0c3d2e1
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

/* What started it; the resource that it answers with is of one kind. */
enum operation_verb {
    OPERATION_UPDATE_TABLE,
    OPERATION_CREATE_INSTANCE,
    OPERATION_UPDATE_INSTANCE,
    OPERATION_CREATE_CLUSTER,
    OPERATION_UPDATE_CLUSTER,
    OPERATION_UPDATE_APP_PROFILE,
};

struct operation_name {
    enum operation_verb verb;
    struct bytes resource; /* its whole name */
    struct resource_name parts;
    int64_t time_us; /* wall clock, when it was done */
};

/* Errors: STATUS_INVALID_ARGUMENT (no name that was given by a gateway). */
enum status operation_name_parse(struct bytes text,
                                 struct operation_name *ret_name,
                                 struct error *ret_error);

/* NUL-terminated, in the arena; NULL without memory. */
char *operation_name_format(enum operation_verb verb,
                            struct bytes resource,
                            int64_t time_us,
                            struct arena *arena);

#endif /* GATEWAY_OPERATIONS_OPERATION_NAME_H */
