/*
 * Long-running operations that did not take long: each is done when it is returned.
 */
#ifndef GATEWAY_INSTANCE_ADMIN_OPERATION_H
#define GATEWAY_INSTANCE_ADMIN_OPERATION_H

#include <string.h>

#include "gateway/table_admin/admin_call.h"

/* The call's request as a part of its operation's metadata, which is packed and not changed. */
static inline void *operation_request(const struct admin_call *call)
{
    void *request;
    memcpy(&request, &call->request, sizeof request);
    return request;
}

/* A google.longrunning.Operation, done, of the resource that it is about ("projects/..."), in the
 * call's arena.  Errors: EDUBBA_UNAVAILABLE (no memory). */
enum edubba_code operation_done(struct admin_call *call,
                                const char *resource,
                                const ProtobufCMessage *metadata,
                                const ProtobufCMessage *response,
                                const ProtobufCMessage **ret_answer);

#endif /* GATEWAY_INSTANCE_ADMIN_OPERATION_H */
