/* MutateRow: one row's mutations, as one operation. */
#ifndef GATEWAY_METHODS_WRITE_MUTATE_ROW_H
#define GATEWAY_METHODS_WRITE_MUTATE_ROW_H

#include "gateway/rpc/rpc.h"

void mutate_row(void *gateway, struct rpc_call *call, const ProtobufCMessage *request);

#endif /* GATEWAY_METHODS_WRITE_MUTATE_ROW_H */
