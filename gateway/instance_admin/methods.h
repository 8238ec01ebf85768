/* The methods of the instance admin API, a file for each kind of thing; all are admin calls. */
#ifndef GATEWAY_INSTANCE_ADMIN_METHODS_H
#define GATEWAY_INSTANCE_ADMIN_METHODS_H

#include <string.h>

#include "admin.pb-c.h"
#include "gateway/table_admin/admin_call.h"

/* The call's request as a part of its operation's metadata, which is packed and not changed. */
static inline void *instance_admin_request(const struct admin_call *call)
{
    void *request;
    memcpy(&request, &call->request, sizeof request);
    return request;
}

typedef void instance_admin_method(void *context,
                                   struct rpc_call *call,
                                   const ProtobufCMessage *request);

/* instance_methods.c */
instance_admin_method instance_admin_create_instance;
instance_admin_method instance_admin_get_instance;
instance_admin_method instance_admin_list_instances;
instance_admin_method instance_admin_update_instance;
instance_admin_method instance_admin_partial_update_instance;
/* delete_instance.c */
instance_admin_method instance_admin_delete_instance;
/* cluster_methods.c */
instance_admin_method instance_admin_create_cluster;
instance_admin_method instance_admin_get_cluster;
instance_admin_method instance_admin_list_clusters;
instance_admin_method instance_admin_update_cluster;
instance_admin_method instance_admin_partial_update_cluster;
instance_admin_method instance_admin_delete_cluster;
/* app_profile_methods.c */
instance_admin_method instance_admin_create_app_profile;
instance_admin_method instance_admin_get_app_profile;
instance_admin_method instance_admin_list_app_profiles;
instance_admin_method instance_admin_update_app_profile;
instance_admin_method instance_admin_delete_app_profile;
/* hot_tablets.c */
instance_admin_method instance_admin_list_hot_tablets;

#endif /* GATEWAY_INSTANCE_ADMIN_METHODS_H */
