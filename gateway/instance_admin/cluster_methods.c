/* CreateCluster, GetCluster, ListClusters, UpdateCluster, PartialUpdateCluster, DeleteCluster. */
#include <string.h>

#include "gateway/instance_admin/app_profiles.h"
#include "gateway/instance_admin/clusters.h"
#include "gateway/instance_admin/field_mask.h"
#include "gateway/instance_admin/instances.h"
#include "gateway/instance_admin/methods.h"
#include "gateway/instance_admin/readers.h"
#include "gateway/operations/operation.h"

typedef Google__Bigtable__Admin__V2__Cluster Cluster;
typedef Google__Bigtable__Admin__V2__CreateClusterRequest CreateClusterRequest;
typedef Google__Bigtable__Admin__V2__CreateClusterMetadata CreateClusterMetadata;
typedef Google__Bigtable__Admin__V2__GetClusterRequest GetClusterRequest;
typedef Google__Bigtable__Admin__V2__ListClustersRequest ListClustersRequest;
typedef Google__Bigtable__Admin__V2__ListClustersResponse ListClustersResponse;
typedef Google__Bigtable__Admin__V2__UpdateClusterMetadata UpdateClusterMetadata;
typedef Google__Bigtable__Admin__V2__PartialUpdateClusterRequest PartialUpdateClusterRequest;
typedef Google__Bigtable__Admin__V2__PartialUpdateClusterMetadata PartialUpdateClusterMetadata;
typedef Google__Bigtable__Admin__V2__DeleteClusterRequest DeleteClusterRequest;

/* --- create ----------------------------------------------------------------------------------- */

/* Over the instance as it is now.  Errors: EDUBBA_ABORTED (it has changed meanwhile). */
static enum edubba_code try_create(struct admin_call *call,
                                   const struct resource_name *name,
                                   const Cluster *cluster)
{
    const struct record_change change = {*name, &cluster->base, 0};
    struct record instance = {NULL, 0};
    struct record present = {NULL, 0};
    struct record_list list = {NULL, 0, NULL};
    enum edubba_code code = instances_get(call, name, &instance);
    if (code == EDUBBA_OK) {
        code = record_find(call, name, &present);
    }
    if (code == EDUBBA_OK && present.message != NULL) {
        return admin_call_fail(call, EDUBBA_ALREADY_EXISTS, "Cluster already exists: %s",
                               cluster->name);
    }
    if (code == EDUBBA_OK) {
        code = instances_all_children(call, RESOURCE_CLUSTER, name, &list);
    }
    if (code == EDUBBA_OK && list.count >= INSTANCE_CLUSTERS_MAX) {
        return admin_call_fail(call, EDUBBA_FAILED_PRECONDITION,
                               "The instance has %d clusters already: no more are possible",
                               INSTANCE_CLUSTERS_MAX);
    }
    return code == EDUBBA_OK ? instances_put_children(call, &instance, &change, 1, NULL) : code;
}

static enum edubba_code create_cluster(struct admin_call *call, const ProtobufCMessage **ret_answer)
{
    CreateClusterRequest *request = instance_admin_request(call);
    CreateClusterMetadata metadata = GOOGLE__BIGTABLE__ADMIN__V2__CREATE_CLUSTER_METADATA__INIT;
    Cluster cluster;
    struct resource_name name;
    struct record instance = {NULL, 0};
    enum edubba_code code = record_name(call, request->parent, RESOURCE_INSTANCE, &name);

    google__bigtable__admin__v2__cluster__init(&cluster);
    metadata.original_request = request;
    metadata.request_time = instances_now(call);
    if (code == EDUBBA_OK) {
        code = instances_get(call, &name, &instance);
    }
    if (code == EDUBBA_OK) {
        name.kind = RESOURCE_CLUSTER;
        name.id = bytes_of_text(request->cluster_id);
        code = clusters_make(call, &name, request->cluster, &cluster);
    }
    bool again = code == EDUBBA_OK;
    for (int i = 0; i < RECORD_ATTEMPTS && again; i++) {
        code = try_create(call, &name, &cluster);
        again = code == EDUBBA_ABORTED;
    }
    if (code != EDUBBA_OK) {
        return code;
    }
    metadata.finish_time = instances_now(call);
    return operation_done(call, cluster.name, &metadata.base, &cluster.base, ret_answer);
}

void instance_admin_create_cluster(void *context,
                                   struct rpc_call *call,
                                   const ProtobufCMessage *request)
{
    admin_call_start(context, call, request, create_cluster);
}

/* --- get and list ----------------------------------------------------------------------------- */

static enum edubba_code get_cluster(struct admin_call *call, const ProtobufCMessage **ret_answer)
{
    const GetClusterRequest *request = (const GetClusterRequest *)call->request;
    return instance_admin_read_cluster(call, request->name, ret_answer);
}

void instance_admin_get_cluster(void *context,
                                struct rpc_call *call,
                                const ProtobufCMessage *request)
{
    admin_call_read(context, call, request, get_cluster);
}

static enum edubba_code list_clusters(struct admin_call *call, const ProtobufCMessage **ret_answer)
{
    const ListClustersRequest *request = (const ListClustersRequest *)call->request;
    struct resource_name parent;
    struct record_list list = {NULL, 0, NULL};
    ListClustersResponse *response = arena_allocate(call->arena, sizeof *response);
    enum edubba_code code = record_name(call, request->parent, RESOURCE_INSTANCE, &parent);
    if (code == EDUBBA_OK) {
        const struct record_page page = {request->page_token, 0};
        code = instances_list_children(call, RESOURCE_CLUSTER, &parent, page, &list);
    }
    if (code != EDUBBA_OK) {
        return code;
    }
    Cluster **clusters = arena_allocate_array(call->arena, list.count + 1, sizeof *clusters);
    if (response == NULL || clusters == NULL) {
        return admin_call_no_memory(call);
    }
    google__bigtable__admin__v2__list_clusters_response__init(response);
    for (size_t i = 0; i < list.count; i++) {
        clusters[i] = (Cluster *)list.records[i].message;
    }
    response->clusters = clusters;
    response->n_clusters = list.count;
    if (list.next != NULL) {
        response->next_page_token = list.next;
    }
    *ret_answer = &response->base;
    return EDUBBA_OK;
}

void instance_admin_list_clusters(void *context,
                                  struct rpc_call *call,
                                  const ProtobufCMessage *request)
{
    admin_call_read(context, call, request, list_clusters);
}

/* --- update ----------------------------------------------------------------------------------- */

/* What of a cluster may be changed; the rest is how it was made. */
static bool is_mutable(struct bytes field)
{
    return bytes_equal(field, bytes_of_text("serve_nodes")) ||
           bytes_equal(field, bytes_of_text("cluster_config"));
}

static enum edubba_code apply_path(struct admin_call *call,
                                   const char *path,
                                   const Cluster *wanted,
                                   Cluster *cluster)
{
    struct error error = {.status = STATUS_OK};
    if (!is_mutable(field_mask_field(bytes_of_text(path)))) {
        return admin_call_fail(call, EDUBBA_INVALID_ARGUMENT,
                               "Error in field 'update_mask' : '%.100s' of a cluster cannot be "
                               "changed",
                               path);
    }
    return admin_call_check(
        call,
        field_mask_apply(bytes_of_text(path), &wanted->base, &cluster->base, call->arena, &error),
        &error);
}

/* Write these fields of the wanted one over the cluster's, in its document too. */
static enum edubba_code change_cluster(struct admin_call *call,
                                       const Cluster *wanted,
                                       const char *const *paths,
                                       size_t path_count,
                                       Cluster **ret_cluster)
{
    struct resource_name name;
    enum edubba_code code = record_name(call, wanted->name, RESOURCE_CLUSTER, &name);
    bool again = code == EDUBBA_OK;

    for (int attempt = 0; attempt < RECORD_ATTEMPTS && again; attempt++) {
        struct record record = {NULL, 0};
        code = instances_get_child(call, &name, &record);
        for (size_t i = 0; i < path_count && code == EDUBBA_OK; i++) {
            code = apply_path(call, paths[i], wanted, (Cluster *)record.message);
        }
        if (code == EDUBBA_OK) {
            code = clusters_check(call, (const Cluster *)record.message);
        }
        if (code == EDUBBA_OK) {
            code = record_put(call, &name, record.message, record.version, NULL);
            *ret_cluster = (Cluster *)record.message;
        }
        again = code == EDUBBA_ABORTED;
    }
    return code;
}

static enum edubba_code update_cluster(struct admin_call *call, const ProtobufCMessage **ret_answer)
{
    static const char *const paths[] = {"serve_nodes"}; /* of autoscaling it says nothing */
    UpdateClusterMetadata metadata = GOOGLE__BIGTABLE__ADMIN__V2__UPDATE_CLUSTER_METADATA__INIT;
    Cluster *request = instance_admin_request(call);
    Cluster *cluster = NULL;
    metadata.original_request = request;
    metadata.request_time = instances_now(call);
    /* clusters_check() does not ask for it where there are limits of autoscaling. */
    enum edubba_code code = request->serve_nodes < 1 ? clusters_refuse_nodes(call) : EDUBBA_OK;
    if (code == EDUBBA_OK) {
        code = change_cluster(call, request, paths, 1, &cluster);
    }
    if (code != EDUBBA_OK) {
        return code;
    }
    metadata.finish_time = instances_now(call);
    return operation_done(call, cluster->name, &metadata.base, &cluster->base, ret_answer);
}

void instance_admin_update_cluster(void *context,
                                   struct rpc_call *call,
                                   const ProtobufCMessage *request)
{
    admin_call_start(context, call, request, update_cluster);
}

static enum edubba_code partial_update_cluster(struct admin_call *call,
                                               const ProtobufCMessage **ret_answer)
{
    PartialUpdateClusterRequest *request = instance_admin_request(call);
    PartialUpdateClusterMetadata metadata =
        GOOGLE__BIGTABLE__ADMIN__V2__PARTIAL_UPDATE_CLUSTER_METADATA__INIT;
    Cluster *cluster = NULL;
    metadata.original_request = request;
    metadata.request_time = instances_now(call);
    if (request->cluster == NULL) {
        return admin_call_fail(call, EDUBBA_INVALID_ARGUMENT,
                               "Error in field 'cluster' : it is required");
    }
    if (request->update_mask == NULL || request->update_mask->n_paths == 0) {
        return admin_call_fail(call, EDUBBA_INVALID_ARGUMENT,
                               "Error in field 'update_mask' : it names nothing");
    }
    enum edubba_code code = change_cluster(call, request->cluster,
                                           (const char *const *)request->update_mask->paths,
                                           request->update_mask->n_paths, &cluster);
    if (code != EDUBBA_OK) {
        return code;
    }
    metadata.finish_time = instances_now(call);
    return operation_done(call, cluster->name, &metadata.base, &cluster->base, ret_answer);
}

void instance_admin_partial_update_cluster(void *context,
                                           struct rpc_call *call,
                                           const ProtobufCMessage *request)
{
    admin_call_start(context, call, request, partial_update_cluster);
}

/* --- delete ----------------------------------------------------------------------------------- */

/* The last one stays, and so does one that an app profile routes to. */
static enum edubba_code check_unused(struct admin_call *call, const struct resource_name *name)
{
    struct record_list list = {NULL, 0, NULL};
    const char *profile = NULL;
    enum edubba_code code = instances_all_children(call, RESOURCE_CLUSTER, name, &list);
    if (code == EDUBBA_OK && list.count < 2) {
        return admin_call_fail(call, EDUBBA_FAILED_PRECONDITION,
                               "The last cluster of an instance cannot be deleted: delete the "
                               "instance");
    }
    if (code == EDUBBA_OK) {
        code = app_profiles_routing_to(call, name, &profile);
    }
    if (code == EDUBBA_OK && profile != NULL) {
        return admin_call_fail(call, EDUBBA_FAILED_PRECONDITION,
                               "App profile '%.200s' routes to this cluster: change it first",
                               profile);
    }
    return code;
}

static enum edubba_code delete_cluster(struct admin_call *call, const ProtobufCMessage **ret_answer)
{
    const DeleteClusterRequest *request = (const DeleteClusterRequest *)call->request;
    return instances_delete_child(call, request->name, RESOURCE_CLUSTER, check_unused, ret_answer);
}

void instance_admin_delete_cluster(void *context,
                                   struct rpc_call *call,
                                   const ProtobufCMessage *request)
{
    admin_call_start(context, call, request, delete_cluster);
}
