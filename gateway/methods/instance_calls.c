#include "gateway/methods/instance_calls.h"

#include "data.pb-c.h"
#include "gateway/core/resource_name.h"

/* An instance need not have been made: it comes into being with its first table.  False: the call
 * has been failed. */
static bool check_instance(struct rpc_call *call, const char *text)
{
    struct resource_name name;
    struct error error = {.status = STATUS_OK};
    if (resource_name_parse(bytes_of_text(text), RESOURCE_INSTANCE, &name, &error) == STATUS_OK) {
        return true;
    }
    rpc_fail(call, EDUBBA_INVALID_ARGUMENT, "%s", error.text);
    return false;
}

void ping_and_warm(void *gateway, struct rpc_call *call, const ProtobufCMessage *message)
{
    static const Google__Bigtable__V2__PingAndWarmResponse response =
        GOOGLE__BIGTABLE__V2__PING_AND_WARM_RESPONSE__INIT;
    (void)gateway;
    if (check_instance(call, ((const Google__Bigtable__V2__PingAndWarmRequest *)message)->name)) {
        rpc_answer(call, &response.base);
    }
}

void get_client_configuration(void *gateway, struct rpc_call *call, const ProtobufCMessage *message)
{
    const Google__Bigtable__V2__GetClientConfigurationRequest
        *request = (const Google__Bigtable__V2__GetClientConfigurationRequest *)message;
    Google__Bigtable__V2__SessionClientConfiguration sessions =
        GOOGLE__BIGTABLE__V2__SESSION_CLIENT_CONFIGURATION__INIT; /* a share of 0 of all calls */
    Google__Bigtable__V2__ClientConfiguration response;
    (void)gateway;
    google__bigtable__v2__client_configuration__init(&response);
    response.session_configuration = &sessions;
    response.polling_case = GOOGLE__BIGTABLE__V2__CLIENT_CONFIGURATION__POLLING_STOP_POLLING;
    response.stop_polling = 1;
    if (check_instance(call, request->instance_name)) {
        rpc_answer(call, &response.base);
    }
}
