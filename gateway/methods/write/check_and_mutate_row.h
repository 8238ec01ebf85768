/* CheckAndMutateRow: a filter on one row, then one of two lists of mutations, in one operation. */
#ifndef GATEWAY_METHODS_WRITE_CHECK_AND_MUTATE_ROW_H
#define GATEWAY_METHODS_WRITE_CHECK_AND_MUTATE_ROW_H

#include "gateway/rpc/rpc.h"

void check_and_mutate_row(void *gateway, struct rpc_call *call, const ProtobufCMessage *request);

#endif /* GATEWAY_METHODS_WRITE_CHECK_AND_MUTATE_ROW_H */
