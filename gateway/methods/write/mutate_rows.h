/* MutateRows; how it works stands in mutate_rows.c. */
#ifndef GATEWAY_METHODS_WRITE_MUTATE_ROWS_H
#define GATEWAY_METHODS_WRITE_MUTATE_ROWS_H

#include "gateway/rpc/rpc.h"

void mutate_rows(void *gateway, struct rpc_call *call, const ProtobufCMessage *request);

#endif /* GATEWAY_METHODS_WRITE_MUTATE_ROWS_H */
