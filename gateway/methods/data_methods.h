/* The methods of google.bigtable.v2.Bigtable, for the RPC server; their context is a struct
 * gateway. */
#ifndef GATEWAY_METHODS_DATA_METHODS_H
#define GATEWAY_METHODS_DATA_METHODS_H

#include "gateway/rpc/rpc.h"

/* In the order of the API; they live for ever. */
const struct rpc_method *data_methods(size_t *ret_count);

#endif /* GATEWAY_METHODS_DATA_METHODS_H */
