/* Field masks over messages of the API. */
#include <criterion/criterion.h>

#include "admin.pb-c.h"
#include "gateway/instance_admin/field_mask.h"

typedef Google__Bigtable__Admin__V2__Cluster Cluster;
typedef Google__Bigtable__Admin__V2__AppProfile AppProfile;
typedef Google__Bigtable__Admin__V2__AppProfile__SingleClusterRouting SingleClusterRouting;
typedef Google__Bigtable__Admin__V2__AppProfile__MultiClusterRoutingUseAny AnyClusterRouting;

#define SINGLE GOOGLE__BIGTABLE__ADMIN__V2__APP_PROFILE__ROUTING_POLICY_SINGLE_CLUSTER_ROUTING
#define ANY    GOOGLE__BIGTABLE__ADMIN__V2__APP_PROFILE__ROUTING_POLICY_MULTI_CLUSTER_ROUTING_USE_ANY

static struct arena arena;

static void start(void)
{
    arena_init(&arena, 1024, SIZE_MAX);
}

static void stop(void)
{
    arena_deinit(&arena);
}

TestSuite(field_mask, .init = start, .fini = stop);

static enum status apply(const char *path, const ProtobufCMessage *from, ProtobufCMessage *to)
{
    return field_mask_apply(bytes_of_text(path), from, to, &arena, NULL);
}

Test(field_mask, only_what_is_named_is_written)
{
    char old_place[] = "old";
    char new_place[] = "new";
    Cluster from = GOOGLE__BIGTABLE__ADMIN__V2__CLUSTER__INIT;
    Cluster to = GOOGLE__BIGTABLE__ADMIN__V2__CLUSTER__INIT;
    from.serve_nodes = 7;
    from.location = new_place;
    to.serve_nodes = 3;
    to.location = old_place;
    cr_assert_eq(apply("serve_nodes", &from.base, &to.base), STATUS_OK);
    cr_assert_eq(to.serve_nodes, 7);
    cr_assert_str_eq(to.location, "old");
    cr_assert_eq(apply("location", &from.base, &to.base), STATUS_OK);
    cr_assert_str_eq(to.location, "new");
}

Test(field_mask, one_of_a_oneof_takes_the_others_place)
{
    char id[] = "c2";
    SingleClusterRouting single =
        GOOGLE__BIGTABLE__ADMIN__V2__APP_PROFILE__SINGLE_CLUSTER_ROUTING__INIT;
    AnyClusterRouting any =
        GOOGLE__BIGTABLE__ADMIN__V2__APP_PROFILE__MULTI_CLUSTER_ROUTING_USE_ANY__INIT;
    AppProfile from = GOOGLE__BIGTABLE__ADMIN__V2__APP_PROFILE__INIT;
    AppProfile to = GOOGLE__BIGTABLE__ADMIN__V2__APP_PROFILE__INIT;
    single.cluster_id = id;
    from.routing_policy_case = SINGLE;
    from.single_cluster_routing = &single;
    to.routing_policy_case = ANY;
    to.multi_cluster_routing_use_any = &any;
    cr_assert_eq(apply("single_cluster_routing", &from.base, &to.base), STATUS_OK);
    cr_assert_eq(to.routing_policy_case, SINGLE);
    cr_assert_str_eq(to.single_cluster_routing->cluster_id, "c2");
    /* one that neither has changes nothing; one that only `to` has goes */
    cr_assert_eq(apply("multi_cluster_routing_use_any", &from.base, &to.base), STATUS_OK);
    cr_assert_eq(to.routing_policy_case, SINGLE);
    from.routing_policy_case = GOOGLE__BIGTABLE__ADMIN__V2__APP_PROFILE__ROUTING_POLICY__NOT_SET;
    cr_assert_eq(apply("single_cluster_routing", &from.base, &to.base), STATUS_OK);
    cr_assert_eq(to.routing_policy_case,
                 GOOGLE__BIGTABLE__ADMIN__V2__APP_PROFILE__ROUTING_POLICY__NOT_SET);
}

Test(field_mask, paths_reach_into_messages_and_make_what_is_missing)
{
    Google__Bigtable__Admin__V2__AutoscalingLimits limits =
        GOOGLE__BIGTABLE__ADMIN__V2__AUTOSCALING_LIMITS__INIT;
    Google__Bigtable__Admin__V2__Cluster__ClusterAutoscalingConfig autoscaling =
        GOOGLE__BIGTABLE__ADMIN__V2__CLUSTER__CLUSTER_AUTOSCALING_CONFIG__INIT;
    Google__Bigtable__Admin__V2__Cluster__ClusterConfig config =
        GOOGLE__BIGTABLE__ADMIN__V2__CLUSTER__CLUSTER_CONFIG__INIT;
    Cluster from = GOOGLE__BIGTABLE__ADMIN__V2__CLUSTER__INIT;
    Cluster to = GOOGLE__BIGTABLE__ADMIN__V2__CLUSTER__INIT;
    const char *path = "cluster_config.cluster_autoscaling_config.autoscaling_limits"
                       ".max_serve_nodes";
    limits.min_serve_nodes = 2;
    limits.max_serve_nodes = 9;
    autoscaling.autoscaling_limits = &limits;
    config.cluster_autoscaling_config = &autoscaling;
    from.config_case = GOOGLE__BIGTABLE__ADMIN__V2__CLUSTER__CONFIG_CLUSTER_CONFIG;
    from.cluster_config = &config;
    cr_assert_eq(apply(path, &from.base, &to.base), STATUS_OK);
    cr_assert_eq(to.config_case, GOOGLE__BIGTABLE__ADMIN__V2__CLUSTER__CONFIG_CLUSTER_CONFIG);
    const Google__Bigtable__Admin__V2__AutoscalingLimits
        *made = to.cluster_config->cluster_autoscaling_config->autoscaling_limits;
    cr_assert_eq(made->max_serve_nodes, 9);
    cr_assert_eq(made->min_serve_nodes, 0, "it was not named");
    from.config_case = GOOGLE__BIGTABLE__ADMIN__V2__CLUSTER__CONFIG__NOT_SET;
    cr_assert_eq(apply(path, &from.base, &to.base), STATUS_OK);
    cr_assert_eq(made->max_serve_nodes, 0, "there is none any more: its default");
}

Test(field_mask, repeated_fields_are_replaced_whole)
{
    char one[] = "1";
    char two[] = "2";
    char *some[] = {one, two};
    char *other[] = {two};
    AnyClusterRouting from =
        GOOGLE__BIGTABLE__ADMIN__V2__APP_PROFILE__MULTI_CLUSTER_ROUTING_USE_ANY__INIT;
    AnyClusterRouting to =
        GOOGLE__BIGTABLE__ADMIN__V2__APP_PROFILE__MULTI_CLUSTER_ROUTING_USE_ANY__INIT;
    from.cluster_ids = other;
    from.n_cluster_ids = 1;
    to.cluster_ids = some;
    to.n_cluster_ids = 2;
    cr_assert_eq(apply("cluster_ids", &from.base, &to.base), STATUS_OK);
    cr_assert_eq(to.n_cluster_ids, 1);
    cr_assert_str_eq(to.cluster_ids[0], "2");
}

Test(field_mask, what_is_no_field_is_refused)
{
    static const char *const bad[] = {"",
                                      ".",
                                      "nodes",
                                      "serve_nodes.x",
                                      "name.",
                                      ".name",
                                      "cluster_config..x",
                                      "cluster_config.x",
                                      "serveNodes"};
    Cluster from = GOOGLE__BIGTABLE__ADMIN__V2__CLUSTER__INIT;
    Cluster to = GOOGLE__BIGTABLE__ADMIN__V2__CLUSTER__INIT;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        cr_assert_eq(apply(bad[i], &from.base, &to.base), STATUS_INVALID_ARGUMENT, "'%s'", bad[i]);
    }
}
