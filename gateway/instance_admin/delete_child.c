#include "common/base/arena.h"
#include "gateway/instance_admin/instances.h"

typedef enum edubba_code (*may_delete_child)(struct admin_call *call,
                                             const struct resource_name *name);

/* Errors: EDUBBA_ABORTED (the instance, or what is named, has changed meanwhile). */
static enum edubba_code try_delete(struct admin_call *call,
                                   const struct resource_name *name,
                                   may_delete_child may_delete)
{
    struct record_change change = {.name = *name};
    struct record instance = {NULL, 0};
    struct record record = {NULL, 0};
    enum edubba_code code = instances_get(call, name, &instance);
    if (code == EDUBBA_OK) {
        code = record_get(call, name, &record);
        change.expected = record.version;
    }
    if (code == EDUBBA_OK && may_delete != NULL) {
        code = may_delete(call, name);
    }
    return code == EDUBBA_OK ? instances_put_children(call, &instance, &change, 1, NULL) : code;
}

enum edubba_code instances_delete_child(struct admin_call *call,
                                        const char *name,
                                        enum resource_kind kind,
                                        may_delete_child may_delete,
                                        const ProtobufCMessage **ret_answer)
{
    struct resource_name resource;
    Google__Protobuf__Empty *empty = arena_allocate(call->arena, sizeof *empty);
    enum edubba_code code = record_name(call, name, kind, &resource);

    if (empty == NULL) {
        return admin_call_no_memory(call);
    }
    google__protobuf__empty__init(empty);
    bool again = code == EDUBBA_OK;
    for (int i = 0; i < RECORD_ATTEMPTS && again; i++) {
        code = try_delete(call, &resource, may_delete);
        again = code == EDUBBA_ABORTED;
    }
    if (code == EDUBBA_OK) {
        *ret_answer = &empty->base;
    }
    return code;
}
