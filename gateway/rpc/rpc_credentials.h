/*
 * What libgrpc is to show and to ask of those who connect.
 */
#ifndef GATEWAY_RPC_RPC_CREDENTIALS_H
#define GATEWAY_RPC_RPC_CREDENTIALS_H

#include <grpc/grpc_security.h>

#include "gateway/rpc/rpc.h"

/* Never NULL; grpc_server_credentials_release() it.  Whether certificate and key are good, listening
 * tells. */
grpc_server_credentials *rpc_credentials_create(const struct rpc_tls *tls);

#endif /* GATEWAY_RPC_RPC_CREDENTIALS_H */
