/* ReadModifyWriteRow: rules on one row, as one operation; the cells they wrote are returned. */
#ifndef GATEWAY_METHODS_WRITE_READ_MODIFY_WRITE_ROW_H
#define GATEWAY_METHODS_WRITE_READ_MODIFY_WRITE_ROW_H

#include "gateway/rpc/rpc.h"

void read_modify_write_row(void *gateway, struct rpc_call *call, const ProtobufCMessage *request);

#endif /* GATEWAY_METHODS_WRITE_READ_MODIFY_WRITE_ROW_H */
