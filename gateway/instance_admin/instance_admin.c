#include "gateway/instance_admin/instance_admin.h"

#include "gateway/instance_admin/methods.h"

#define SERVICE "/google.bigtable.admin.v2.BigtableInstanceAdmin/"

/* What a request of the method is: its message's name, as protoc-c writes it. */
#define REQUEST(name) &google__bigtable__admin__v2__##name##__descriptor

static const struct rpc_method METHODS[] = {
    {SERVICE "CreateInstance", REQUEST(create_instance_request), instance_admin_create_instance},
    {SERVICE "GetInstance", REQUEST(get_instance_request), instance_admin_get_instance},
    {SERVICE "ListInstances", REQUEST(list_instances_request), instance_admin_list_instances},
    {SERVICE "UpdateInstance", REQUEST(instance), instance_admin_update_instance},
    {SERVICE "PartialUpdateInstance", REQUEST(partial_update_instance_request),
     instance_admin_partial_update_instance},
    {SERVICE "DeleteInstance", REQUEST(delete_instance_request), instance_admin_delete_instance},
    {SERVICE "CreateCluster", REQUEST(create_cluster_request), instance_admin_create_cluster},
    {SERVICE "GetCluster", REQUEST(get_cluster_request), instance_admin_get_cluster},
    {SERVICE "ListClusters", REQUEST(list_clusters_request), instance_admin_list_clusters},
    {SERVICE "UpdateCluster", REQUEST(cluster), instance_admin_update_cluster},
    {SERVICE "PartialUpdateCluster", REQUEST(partial_update_cluster_request),
     instance_admin_partial_update_cluster},
    {SERVICE "DeleteCluster", REQUEST(delete_cluster_request), instance_admin_delete_cluster},
    {SERVICE "CreateAppProfile", REQUEST(create_app_profile_request),
     instance_admin_create_app_profile},
    {SERVICE "GetAppProfile", REQUEST(get_app_profile_request), instance_admin_get_app_profile},
    {SERVICE "ListAppProfiles", REQUEST(list_app_profiles_request),
     instance_admin_list_app_profiles},
    {SERVICE "UpdateAppProfile", REQUEST(update_app_profile_request),
     instance_admin_update_app_profile},
    {SERVICE "DeleteAppProfile", REQUEST(delete_app_profile_request),
     instance_admin_delete_app_profile},
    {SERVICE "ListHotTablets", REQUEST(list_hot_tablets_request), instance_admin_list_hot_tablets},
};

const struct rpc_method *instance_admin_methods(size_t *ret_count)
{
    *ret_count = sizeof METHODS / sizeof *METHODS;
    return METHODS;
}
