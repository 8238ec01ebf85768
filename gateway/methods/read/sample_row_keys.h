/* SampleRowKeys: keys that cut a table, or a range of it, into about equal parts. */
#ifndef GATEWAY_METHODS_READ_SAMPLE_ROW_KEYS_H
#define GATEWAY_METHODS_READ_SAMPLE_ROW_KEYS_H

#include "gateway/rpc/rpc.h"

void sample_row_keys(void *gateway, struct rpc_call *call, const ProtobufCMessage *request);

#endif /* GATEWAY_METHODS_READ_SAMPLE_ROW_KEYS_H */
