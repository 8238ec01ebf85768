#include "gateway/instance_admin/readers.h"

#include "gateway/instance_admin/app_profiles.h"
#include "gateway/instance_admin/instances.h"

typedef Google__Bigtable__Admin__V2__AppProfile AppProfile;

enum edubba_code instance_admin_read_instance(struct admin_call *call,
                                              const char *resource,
                                              const ProtobufCMessage **ret_response)
{
    struct resource_name name;
    struct record record = {NULL, 0};
    enum edubba_code code = record_name(call, resource, RESOURCE_INSTANCE, &name);
    if (code == EDUBBA_OK) {
        code = instances_get(call, &name, &record);
    }
    if (code == EDUBBA_OK) {
        *ret_response = record.message;
    }
    return code;
}

static enum edubba_code read_child(struct admin_call *call,
                                   const char *resource,
                                   enum resource_kind kind,
                                   struct record *ret_record)
{
    struct resource_name name;
    enum edubba_code code = record_name(call, resource, kind, &name);
    return code == EDUBBA_OK ? instances_get_child(call, &name, ret_record) : code;
}

enum edubba_code instance_admin_read_cluster(struct admin_call *call,
                                             const char *resource,
                                             const ProtobufCMessage **ret_response)
{
    struct record record = {NULL, 0};
    enum edubba_code code = read_child(call, resource, RESOURCE_CLUSTER, &record);
    if (code == EDUBBA_OK) {
        *ret_response = record.message;
    }
    return code;
}

enum edubba_code instance_admin_read_app_profile(struct admin_call *call,
                                                 const char *resource,
                                                 const ProtobufCMessage **ret_response)
{
    struct record record = {NULL, 0};
    enum edubba_code code = read_child(call, resource, RESOURCE_APP_PROFILE, &record);
    if (code == EDUBBA_OK &&
        !app_profiles_show(call, (AppProfile *)record.message, record.version)) {
        code = admin_call_no_memory(call);
    }
    if (code == EDUBBA_OK) {
        *ret_response = record.message;
    }
    return code;
}
