/*
 * google.longrunning.Operations: GetOperation, WaitOperation, ListOperations, CancelOperation,
 * DeleteOperation.
 *
 * Nothing is kept of an operation but its name (operation_name.h).  So a poll answers done, with
 * the resource as it is now; EDUBBA_NOT_FOUND when that is gone.  Waiting is a poll, as there is
 * nothing to wait for; the list is empty, as there is nothing under way; cancelling and deleting
 * succeed and do nothing.
 *
 * The context of all methods is a struct gateway.
 */
#ifndef GATEWAY_OPERATIONS_OPERATIONS_H
#define GATEWAY_OPERATIONS_OPERATIONS_H

#include <stddef.h>

#include "gateway/rpc/rpc.h"

const struct rpc_method *operation_methods(size_t *ret_count);

#endif /* GATEWAY_OPERATIONS_OPERATIONS_H */
