/* CreateInstance, GetInstance, ListInstances, UpdateInstance, PartialUpdateInstance. */
#include <string.h>

#include "gateway/instance_admin/clusters.h"
#include "gateway/instance_admin/field_mask.h"
#include "gateway/instance_admin/instances.h"
#include "gateway/instance_admin/methods.h"
#include "gateway/instance_admin/readers.h"
#include "gateway/operations/operation.h"

typedef Google__Bigtable__Admin__V2__Instance Instance;
typedef Google__Bigtable__Admin__V2__Cluster Cluster;
typedef Google__Bigtable__Admin__V2__CreateInstanceRequest CreateInstanceRequest;
typedef Google__Bigtable__Admin__V2__CreateInstanceMetadata CreateInstanceMetadata;
typedef Google__Bigtable__Admin__V2__GetInstanceRequest GetInstanceRequest;
typedef Google__Bigtable__Admin__V2__ListInstancesRequest ListInstancesRequest;
typedef Google__Bigtable__Admin__V2__ListInstancesResponse ListInstancesResponse;
typedef Google__Bigtable__Admin__V2__PartialUpdateInstanceRequest PartialUpdateInstanceRequest;
typedef Google__Bigtable__Admin__V2__UpdateInstanceMetadata UpdateInstanceMetadata;

/* --- labels ----------------------------------------------------------------------------------- */

#define LABELS_MAX      64
#define LABEL_BYTES_MAX 128 /* of a key, of a value */

static enum edubba_code check_labels(struct admin_call *call, const Instance *instance)
{
    if (instance->n_labels > LABELS_MAX) {
        return admin_call_fail(call, EDUBBA_INVALID_ARGUMENT,
                               "Error in field 'labels' : there are at most %d", LABELS_MAX);
    }
    for (size_t i = 0; i < instance->n_labels; i++) {
        size_t key_bytes = strlen(instance->labels[i]->key);
        size_t value_bytes = strlen(instance->labels[i]->value);
        if (key_bytes < 1 || key_bytes > LABEL_BYTES_MAX || value_bytes > LABEL_BYTES_MAX) {
            return admin_call_fail(call, EDUBBA_INVALID_ARGUMENT,
                                   "Error in field 'labels' : a key has 1 to %d bytes, a value up "
                                   "to as many",
                                   LABEL_BYTES_MAX);
        }
    }
    return EDUBBA_OK;
}

/* --- create ----------------------------------------------------------------------------------- */

/* Of the entries of a map that have one key the last one counts. */
static bool is_said_again(const CreateInstanceRequest *request, size_t index)
{
    for (size_t i = index + 1; i < request->n_clusters; i++) {
        if (strcmp(request->clusters[i]->key, request->clusters[index]->key) == 0) {
            return true;
        }
    }
    return false;
}

/* The clusters of a request: copies with names, checked. */
static enum edubba_code read_clusters(struct admin_call *call,
                                      const struct resource_name *instance,
                                      const CreateInstanceRequest *request,
                                      struct instance_parts *parts)
{
    size_t count = request->n_clusters;
    size_t taken = 0;
    Cluster *clusters = arena_allocate_array(call->arena, count + 1, sizeof *clusters);
    Cluster **list = arena_allocate_array(call->arena, count + 1, sizeof *list);
    enum edubba_code code = EDUBBA_OK;

    if (clusters == NULL || list == NULL) {
        return admin_call_no_memory(call);
    }
    if (count == 0) {
        return admin_call_fail(call, EDUBBA_INVALID_ARGUMENT,
                               "Error in field 'clusters' : an instance has at least one");
    }
    if (count > INSTANCE_CLUSTERS_MAX) {
        return admin_call_fail(call, EDUBBA_INVALID_ARGUMENT,
                               "Error in field 'clusters' : an instance has at most %d",
                               INSTANCE_CLUSTERS_MAX);
    }
    for (size_t i = 0; i < count && code == EDUBBA_OK; i++) {
        struct resource_name name = *instance;
        if (is_said_again(request, i)) {
            continue;
        }
        name.kind = RESOURCE_CLUSTER;
        name.id = bytes_of_text(request->clusters[i]->key);
        code = clusters_make(call, &name, request->clusters[i]->value, &clusters[taken]);
        list[taken] = &clusters[taken];
        taken++;
    }
    parts->clusters = list;
    parts->cluster_count = taken;
    return code;
}

static enum edubba_code read_create(struct admin_call *call,
                                    const CreateInstanceRequest *request,
                                    struct resource_name *ret_name,
                                    struct instance_parts *parts)
{
    struct error error = {.status = STATUS_OK};
    enum edubba_code code = record_name(call, request->parent, RESOURCE_PROJECT, ret_name);

    if (code != EDUBBA_OK) {
        return code;
    }
    ret_name->kind = RESOURCE_INSTANCE;
    ret_name->instance = bytes_of_text(request->instance_id);
    code = admin_call_check(call, resource_id_check(RESOURCE_INSTANCE, ret_name->instance, &error),
                            &error);
    if (code != EDUBBA_OK) {
        return code;
    }
    if (request->instance == NULL) {
        return admin_call_fail(call, EDUBBA_INVALID_ARGUMENT,
                               "Error in field 'instance' : it is required");
    }
    *parts->instance = *request->instance;
    if (parts->instance->display_name[0] == '\0') {
        parts->instance->display_name = request->instance_id;
    }
    if (parts->instance->type == GOOGLE__BIGTABLE__ADMIN__V2__INSTANCE__TYPE__TYPE_UNSPECIFIED) {
        parts->instance->type = GOOGLE__BIGTABLE__ADMIN__V2__INSTANCE__TYPE__PRODUCTION;
    }
    code = check_labels(call, parts->instance);
    return code == EDUBBA_OK ? read_clusters(call, ret_name, request, parts) : code;
}

static enum edubba_code create_instance(struct admin_call *call,
                                        const ProtobufCMessage **ret_answer)
{
    CreateInstanceRequest *request = instance_admin_request(call);
    CreateInstanceMetadata metadata = GOOGLE__BIGTABLE__ADMIN__V2__CREATE_INSTANCE_METADATA__INIT;
    Instance instance;
    struct instance_parts parts = {&instance, NULL, 0};
    struct resource_name name;
    google__bigtable__admin__v2__instance__init(&instance);
    metadata.original_request = request;
    metadata.request_time = instances_now(call);
    enum edubba_code code = read_create(call, request, &name, &parts);

    if (code == EDUBBA_OK && instances_is_home(call, &name)) {
        code = instances_ensure(call, &name); /* so that it is there */
    }
    if (code == EDUBBA_OK) {
        code = instances_create(call, &name, &parts);
    }
    if (code != EDUBBA_OK) {
        return code;
    }
    metadata.finish_time = instances_now(call);
    return operation_done(call, instance.name, &metadata.base, &instance.base, ret_answer);
}

void instance_admin_create_instance(void *context,
                                    struct rpc_call *call,
                                    const ProtobufCMessage *request)
{
    admin_call_start(context, call, request, create_instance);
}

/* --- get and list ----------------------------------------------------------------------------- */

static enum edubba_code get_instance(struct admin_call *call, const ProtobufCMessage **ret_answer)
{
    const GetInstanceRequest *request = (const GetInstanceRequest *)call->request;
    return instance_admin_read_instance(call, request->name, ret_answer);
}

void instance_admin_get_instance(void *context,
                                 struct rpc_call *call,
                                 const ProtobufCMessage *request)
{
    admin_call_read(context, call, request, get_instance);
}

static enum edubba_code list_instances(struct admin_call *call, const ProtobufCMessage **ret_answer)
{
    const ListInstancesRequest *request = (const ListInstancesRequest *)call->request;
    struct resource_name project;
    struct record_list list = {NULL, 0, NULL};
    ListInstancesResponse *response = arena_allocate(call->arena, sizeof *response);
    enum edubba_code code = record_name(call, request->parent, RESOURCE_PROJECT, &project);
    if (code == EDUBBA_OK) {
        const struct record_page page = {request->page_token, 0};
        code = instances_list(call, &project, page, &list);
    }
    if (code != EDUBBA_OK) {
        return code;
    }
    Instance **instances = arena_allocate_array(call->arena, list.count + 1, sizeof *instances);
    if (response == NULL || instances == NULL) {
        return admin_call_no_memory(call);
    }
    google__bigtable__admin__v2__list_instances_response__init(response);
    for (size_t i = 0; i < list.count; i++) {
        instances[i] = (Instance *)list.records[i].message;
    }
    response->instances = instances;
    response->n_instances = list.count;
    if (list.next != NULL) {
        response->next_page_token = list.next;
    }
    *ret_answer = &response->base;
    return EDUBBA_OK;
}

void instance_admin_list_instances(void *context,
                                   struct rpc_call *call,
                                   const ProtobufCMessage *request)
{
    admin_call_read(context, call, request, list_instances);
}

/* --- update ----------------------------------------------------------------------------------- */

/* What of an instance may be changed; the first ones are what UpdateInstance is about, which leaves
 * labels alone. */
static const char *const MUTABLE[] = {"display_name", "type", "labels"};
#define MUTABLE_COUNT (sizeof MUTABLE / sizeof *MUTABLE)
#define UPDATED_COUNT 2

static enum edubba_code check_mutable(struct admin_call *call, const char *path)
{
    for (size_t i = 0; i < MUTABLE_COUNT; i++) {
        if (strcmp(path, MUTABLE[i]) == 0) {
            return EDUBBA_OK;
        }
    }
    return admin_call_fail(
        call, EDUBBA_INVALID_ARGUMENT,
        "Error in field 'update_mask' : '%.100s' of an instance cannot be changed", path);
}

/* Of an instance that has a type already, none means that it stays. */
static bool is_left_alone(const Instance *wanted, const char *path)
{
    return strcmp(path, "type") == 0 &&
           wanted->type == GOOGLE__BIGTABLE__ADMIN__V2__INSTANCE__TYPE__TYPE_UNSPECIFIED;
}

static enum edubba_code apply_paths(struct admin_call *call,
                                    const Instance *wanted,
                                    const char *const *paths,
                                    size_t path_count,
                                    Instance *instance)
{
    enum edubba_code code = EDUBBA_OK;
    for (size_t i = 0; i < path_count && code == EDUBBA_OK; i++) {
        struct error error = {.status = STATUS_OK};
        if (!is_left_alone(wanted, paths[i])) {
            code = admin_call_check(call,
                                    field_mask_apply(bytes_of_text(paths[i]), &wanted->base,
                                                     &instance->base, call->arena, &error),
                                    &error);
        }
    }
    return code == EDUBBA_OK ? check_labels(call, instance) : code;
}

/* Write these fields of the wanted one over the instance's, in its document too. */
static enum edubba_code change_instance(struct admin_call *call,
                                        const Instance *wanted,
                                        const char *const *paths,
                                        size_t path_count,
                                        Instance **ret_instance)
{
    struct resource_name name;
    enum edubba_code code = record_name(call, wanted->name, RESOURCE_INSTANCE, &name);

    for (size_t i = 0; i < path_count && code == EDUBBA_OK; i++) {
        code = check_mutable(call, paths[i]);
    }
    bool again = code == EDUBBA_OK;
    for (int attempt = 0; attempt < RECORD_ATTEMPTS && again; attempt++) {
        struct record record = {NULL, 0};
        code = instances_get(call, &name, &record);
        if (code == EDUBBA_OK) {
            code = apply_paths(call, wanted, paths, path_count, (Instance *)record.message);
        }
        if (code == EDUBBA_OK) {
            code = record_put(call, &name, record.message, record.version, NULL);
            *ret_instance = (Instance *)record.message;
        }
        again = code == EDUBBA_ABORTED;
    }
    return code;
}

static enum edubba_code update_instance(struct admin_call *call,
                                        const ProtobufCMessage **ret_answer)
{
    const Instance *wanted = (const Instance *)call->request;
    Instance *instance = NULL;
    enum edubba_code code = change_instance(call, wanted, MUTABLE, UPDATED_COUNT, &instance);
    if (code == EDUBBA_OK) {
        *ret_answer = &instance->base;
    }
    return code;
}

void instance_admin_update_instance(void *context,
                                    struct rpc_call *call,
                                    const ProtobufCMessage *request)
{
    admin_call_start(context, call, request, update_instance);
}

static enum edubba_code partial_update_instance(struct admin_call *call,
                                                const ProtobufCMessage **ret_answer)
{
    PartialUpdateInstanceRequest *request = instance_admin_request(call);
    UpdateInstanceMetadata metadata = GOOGLE__BIGTABLE__ADMIN__V2__UPDATE_INSTANCE_METADATA__INIT;
    Instance *instance = NULL;

    metadata.original_request = request;
    metadata.request_time = instances_now(call);
    if (request->instance == NULL) {
        return admin_call_fail(call, EDUBBA_INVALID_ARGUMENT,
                               "Error in field 'instance' : it is required");
    }
    if (request->update_mask == NULL || request->update_mask->n_paths == 0) {
        return admin_call_fail(call, EDUBBA_INVALID_ARGUMENT,
                               "Error in field 'update_mask' : it names nothing");
    }
    enum edubba_code code = change_instance(call, request->instance,
                                            (const char *const *)request->update_mask->paths,
                                            request->update_mask->n_paths, &instance);
    if (code != EDUBBA_OK) {
        return code;
    }
    metadata.finish_time = instances_now(call);
    return operation_done(call, instance->name, &metadata.base, &instance->base, ret_answer);
}

void instance_admin_partial_update_instance(void *context,
                                            struct rpc_call *call,
                                            const ProtobufCMessage *request)
{
    admin_call_start(context, call, request, partial_update_instance);
}
