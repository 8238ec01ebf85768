#include "gateway/instance_admin/clusters.h"

typedef Google__Bigtable__Admin__V2__Cluster Cluster;
typedef Google__Bigtable__Admin__V2__Cluster__ClusterAutoscalingConfig AutoscalingConfig;
typedef Google__Bigtable__Admin__V2__AutoscalingLimits AutoscalingLimits;
typedef Google__Bigtable__Admin__V2__AutoscalingTargets AutoscalingTargets;

#define NODES_RATIO_MAX 10 /* of the most to the fewest */
#define CPU_PERCENT_MIN 10
#define CPU_PERCENT_MAX 80

/* NULL = the number of nodes is fixed. */
static const AutoscalingConfig *autoscaling_of(const Cluster *cluster)
{
    bool has = cluster->config_case ==
                   GOOGLE__BIGTABLE__ADMIN__V2__CLUSTER__CONFIG_CLUSTER_CONFIG &&
               cluster->cluster_config != NULL;
    return has ? cluster->cluster_config->cluster_autoscaling_config : NULL;
}

static enum edubba_code refuse(struct admin_call *call, const char *field, const char *rule)
{
    return admin_call_fail(call, EDUBBA_INVALID_ARGUMENT, "Error in field '%s' : %s", field, rule);
}

static enum edubba_code check_storage_target(struct admin_call *call,
                                             const Cluster *cluster,
                                             int32_t gib_per_node)
{
    bool is_hdd = cluster->default_storage_type == GOOGLE__BIGTABLE__ADMIN__V2__STORAGE_TYPE__HDD;
    int32_t least = is_hdd ? 8192 : 2560;
    int32_t most = is_hdd ? 16384 : 5120;
    if (gib_per_node != 0 && (gib_per_node < least || gib_per_node > most)) {
        return refuse(call, "storage_utilization_gib_per_node",
                      is_hdd ? "it is 8192 to 16384 for HDD" : "it is 2560 to 5120 for SSD");
    }
    return EDUBBA_OK;
}

static enum edubba_code check_autoscaling(struct admin_call *call,
                                          const Cluster *cluster,
                                          const AutoscalingConfig *config)
{
    const AutoscalingLimits *limits = config->autoscaling_limits;
    const AutoscalingTargets *targets = config->autoscaling_targets;
    if (limits == NULL || limits->min_serve_nodes < 1) {
        return refuse(call, "min_serve_nodes", "there is one node at least");
    }
    if (limits->max_serve_nodes < limits->min_serve_nodes ||
        limits->max_serve_nodes / NODES_RATIO_MAX > limits->min_serve_nodes ||
        (limits->max_serve_nodes / NODES_RATIO_MAX == limits->min_serve_nodes &&
         limits->max_serve_nodes % NODES_RATIO_MAX != 0)) {
        return refuse(call, "max_serve_nodes", "it is min_serve_nodes to ten times as many");
    }
    if (targets == NULL || targets->cpu_utilization_percent < CPU_PERCENT_MIN ||
        targets->cpu_utilization_percent > CPU_PERCENT_MAX) {
        return refuse(call, "cpu_utilization_percent", "it is 10 to 80");
    }
    return check_storage_target(call, cluster, targets->storage_utilization_gib_per_node);
}

enum edubba_code clusters_refuse_nodes(struct admin_call *call)
{
    return refuse(call, "serve_nodes", "there is one node at least");
}

enum edubba_code clusters_check(struct admin_call *call, const Cluster *cluster)
{
    const AutoscalingConfig *config = autoscaling_of(cluster);
    if (config != NULL) {
        return check_autoscaling(call, cluster, config);
    }
    return cluster->serve_nodes < 1 ? clusters_refuse_nodes(call) : EDUBBA_OK;
}

enum edubba_code clusters_make(struct admin_call *call,
                               const struct resource_name *name,
                               const Cluster *wanted,
                               Cluster *cluster)
{
    struct error error = {.status = STATUS_OK};
    enum edubba_code code = admin_call_check(
        call, resource_id_check(RESOURCE_CLUSTER, name->id, &error), &error);
    if (code != EDUBBA_OK) {
        return code;
    }
    if (wanted == NULL) {
        return refuse(call, "cluster", "it is required");
    }
    *cluster = *wanted;
    cluster->name = record_full_name(call, name);
    if (cluster->name == NULL) {
        return admin_call_no_memory(call);
    }
    cluster->state = GOOGLE__BIGTABLE__ADMIN__V2__CLUSTER__STATE__READY;
    if (cluster->default_storage_type ==
        GOOGLE__BIGTABLE__ADMIN__V2__STORAGE_TYPE__STORAGE_TYPE_UNSPECIFIED) {
        cluster->default_storage_type = GOOGLE__BIGTABLE__ADMIN__V2__STORAGE_TYPE__SSD;
    }
    const AutoscalingConfig *config = autoscaling_of(cluster);
    if (cluster->serve_nodes == 0) { /* as for a development instance */
        bool has_limits = config != NULL && config->autoscaling_limits != NULL;
        cluster->serve_nodes = has_limits ? config->autoscaling_limits->min_serve_nodes : 1;
    }
    return clusters_check(call, cluster);
}
