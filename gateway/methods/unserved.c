#include "gateway/methods/unserved.h"

static void refuse(struct rpc_call *call, const char *what, const char *method)
{
    rpc_fail(call, EDUBBA_UNIMPLEMENTED, "%s not served here: %s is not implemented", what, method);
}

void execute_query(void *gateway, struct rpc_call *call, const ProtobufCMessage *request)
{
    (void)gateway;
    (void)request;
    refuse(call, "SQL is", "ExecuteQuery");
}

void prepare_query(void *gateway, struct rpc_call *call, const ProtobufCMessage *request)
{
    (void)gateway;
    (void)request;
    refuse(call, "SQL is", "PrepareQuery");
}

void generate_initial_change_stream_partitions(void *gateway,
                                               struct rpc_call *call,
                                               const ProtobufCMessage *request)
{
    (void)gateway;
    (void)request;
    refuse(call, "Change streams are", "GenerateInitialChangeStreamPartitions");
}

void read_change_stream(void *gateway, struct rpc_call *call, const ProtobufCMessage *request)
{
    (void)gateway;
    (void)request;
    refuse(call, "Change streams are", "ReadChangeStream");
}
