#include "gateway/operations/operation.h"

#include "common/io/clock.h"
#include "gateway/operations/operation_name.h"

#define TYPE_PREFIX   "type.googleapis.com/"
#define US_PER_SECOND INT64_C(1000000)
#define NANOS_PER_US  1000

typedef Google__Longrunning__Operation Operation;
typedef Google__Protobuf__Any Any;

void operation_set_timestamp(int64_t time_us, Google__Protobuf__Timestamp *ret_timestamp)
{
    google__protobuf__timestamp__init(ret_timestamp);
    ret_timestamp->seconds = time_us / US_PER_SECOND;
    ret_timestamp->nanos = (int32_t)(time_us % US_PER_SECOND * NANOS_PER_US);
}

/* NULL without memory. */
static Any *pack(struct admin_call *call, const ProtobufCMessage *message)
{
    size_t size = protobuf_c_message_get_packed_size(message);
    Any *any = arena_allocate(call->arena, sizeof *any);
    uint8_t *value = arena_allocate(call->arena, size);
    char *url = admin_call_format(call, TYPE_PREFIX "%s", message->descriptor->name);
    if (any == NULL || value == NULL || url == NULL) {
        return NULL;
    }
    google__protobuf__any__init(any);
    any->type_url = url;
    any->value = (ProtobufCBinaryData){protobuf_c_message_pack(message, value), value};
    return any;
}

/* name lies in the call's arena; NULL: there was no memory for it. */
static enum edubba_code answer(struct admin_call *call,
                               char *name,
                               const ProtobufCMessage *metadata,
                               const ProtobufCMessage *response,
                               const ProtobufCMessage **ret_answer)
{
    Operation *operation = arena_allocate(call->arena, sizeof *operation);
    Any *packed = pack(call, response);
    Any *packed_metadata = metadata != NULL ? pack(call, metadata) : NULL;
    if (operation == NULL || name == NULL || packed == NULL ||
        (metadata != NULL && packed_metadata == NULL)) {
        return admin_call_no_memory(call);
    }
    google__longrunning__operation__init(operation);
    operation->name = name;
    operation->metadata = packed_metadata;
    operation->done = true;
    operation->result_case = GOOGLE__LONGRUNNING__OPERATION__RESULT_RESPONSE;
    operation->response = packed;
    *ret_answer = &operation->base;
    return EDUBBA_OK;
}

enum edubba_code operation_done(struct admin_call *call,
                                const char *resource,
                                const ProtobufCMessage *metadata,
                                const ProtobufCMessage *response,
                                const ProtobufCMessage **ret_answer)
{
    char *name = operation_name_format(bytes_of_text(resource), clock_wall_us(), call->arena);
    return answer(call, name, metadata, response, ret_answer);
}

enum edubba_code operation_again(struct admin_call *call,
                                 const char *name,
                                 const ProtobufCMessage *response,
                                 const ProtobufCMessage **ret_answer)
{
    char *copy = arena_copy_text(call->arena, bytes_of_text(name));
    return answer(call, copy, NULL, response, ret_answer);
}
