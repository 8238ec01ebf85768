/*
 * Calls of the data API that are about an instance, and ask nobody: PingAndWarm, which warms a
 * channel up, and GetClientConfiguration, which tells clients to leave sessions alone.
 */
#ifndef GATEWAY_METHODS_INSTANCE_CALLS_H
#define GATEWAY_METHODS_INSTANCE_CALLS_H

#include "gateway/rpc/rpc.h"

void ping_and_warm(void *gateway, struct rpc_call *call, const ProtobufCMessage *request);
void get_client_configuration(void *gateway,
                              struct rpc_call *call,
                              const ProtobufCMessage *request);

#endif /* GATEWAY_METHODS_INSTANCE_CALLS_H */
