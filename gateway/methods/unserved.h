/* Calls of the data API that are not served, and say so: SQL and change streams. */
#ifndef GATEWAY_METHODS_UNSERVED_H
#define GATEWAY_METHODS_UNSERVED_H

#include "gateway/rpc/rpc.h"

void execute_query(void *gateway, struct rpc_call *call, const ProtobufCMessage *request);
void prepare_query(void *gateway, struct rpc_call *call, const ProtobufCMessage *request);
void generate_initial_change_stream_partitions(void *gateway,
                                               struct rpc_call *call,
                                               const ProtobufCMessage *request);
void read_change_stream(void *gateway, struct rpc_call *call, const ProtobufCMessage *request);

#endif /* GATEWAY_METHODS_UNSERVED_H */
