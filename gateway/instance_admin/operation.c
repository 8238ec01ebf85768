#include "gateway/instance_admin/operation.h"

#include "common/io/clock.h"
#include "longrunning.pb-c.h"

/* NULL without memory. */
static Google__Protobuf__Any *wrap(struct admin_call *call, const ProtobufCMessage *message)
{
    size_t size = protobuf_c_message_get_packed_size(message);
    Google__Protobuf__Any *any = arena_allocate(call->arena, sizeof *any);
    uint8_t *value = arena_allocate(call->arena, size + 1);
    char *type = admin_call_format(call, "type.googleapis.com/%s", message->descriptor->name);
    if (any == NULL || value == NULL || type == NULL) {
        return NULL;
    }
    google__protobuf__any__init(any);
    any->type_url = type;
    any->value = (ProtobufCBinaryData){protobuf_c_message_pack(message, value), value};
    return any;
}

enum edubba_code operation_done(struct admin_call *call,
                                const char *resource,
                                const ProtobufCMessage *metadata,
                                const ProtobufCMessage *response,
                                const ProtobufCMessage **ret_answer)
{
    Google__Longrunning__Operation *operation = arena_allocate(call->arena, sizeof *operation);
    if (operation == NULL) {
        return admin_call_no_memory(call);
    }
    google__longrunning__operation__init(operation);
    operation->name = admin_call_format(call, "operations/%s/operations/%lld", resource,
                                        (long long)clock_wall_us());
    operation->metadata = wrap(call, metadata);
    operation->done = true;
    operation->result_case = GOOGLE__LONGRUNNING__OPERATION__RESULT_RESPONSE;
    operation->response = wrap(call, response);
    if (operation->name == NULL || operation->metadata == NULL || operation->response == NULL) {
        return admin_call_no_memory(call);
    }
    *ret_answer = &operation->base;
    return EDUBBA_OK;
}
