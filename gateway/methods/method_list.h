/*
 * All methods that the gateway serves, in one list.
 *
 * The list is the same for the whole process: places in it may be kept as numbers.
 *
 * Thread rule: first called before other threads are started.
 */
#ifndef GATEWAY_METHODS_METHOD_LIST_H
#define GATEWAY_METHODS_METHOD_LIST_H

#include <stddef.h>

#include "gateway/rpc/rpc.h"

#define METHOD_LIST_MAX 128

/* Each path stands in it once. */
const struct rpc_method *method_list(size_t *ret_count);

/* "BigtableTableAdmin/CreateTable": its path, without the packages before the service. */
const char *method_list_name(const struct rpc_method *method);

#endif /* GATEWAY_METHODS_METHOD_LIST_H */
