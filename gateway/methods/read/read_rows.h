/* ReadRows; how it works stands in read_stream.h. */
#ifndef GATEWAY_METHODS_READ_READ_ROWS_H
#define GATEWAY_METHODS_READ_READ_ROWS_H

#include "gateway/rpc/rpc.h"

void read_rows(void *gateway, struct rpc_call *call, const ProtobufCMessage *request);

#endif /* GATEWAY_METHODS_READ_READ_ROWS_H */
