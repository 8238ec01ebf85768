#include "gateway/instance_admin/app_profiles.h"

#include <string.h>

#include "gateway/instance_admin/instances.h"

typedef Google__Bigtable__Admin__V2__AppProfile AppProfile;
typedef Google__Bigtable__Admin__V2__AppProfile__SingleClusterRouting SingleClusterRouting;
typedef Google__Bigtable__Admin__V2__AppProfile__MultiClusterRoutingUseAny AnyClusterRouting;

#define CLUSTER_ID_BYTES_MAX 80

#define ROUTING(kind) GOOGLE__BIGTABLE__ADMIN__V2__APP_PROFILE__ROUTING_POLICY_##kind

/* NULL = it routes to any cluster. */
static const SingleClusterRouting *single_of(const AppProfile *profile)
{
    return profile->routing_policy_case == ROUTING(SINGLE_CLUSTER_ROUTING)
               ? profile->single_cluster_routing
               : NULL;
}

/* NULL = it routes to one. */
static const AnyClusterRouting *any_of(const AppProfile *profile)
{
    return profile->routing_policy_case == ROUTING(MULTI_CLUSTER_ROUTING_USE_ANY)
               ? profile->multi_cluster_routing_use_any
               : NULL;
}

/* The cluster that it allows transactional writes on; NULL = it allows none. */
static const char *transactions_on(const AppProfile *profile)
{
    const SingleClusterRouting *single = single_of(profile);
    return single != NULL && single->allow_transactional_writes ? single->cluster_id : NULL;
}

bool app_profiles_show(struct admin_call *call, AppProfile *profile, uint64_t version)
{
    profile->etag = admin_call_format(call, "%llu", (unsigned long long)version);
    return profile->etag != NULL;
}

/* --- rules ------------------------------------------------------------------------------------ */

static enum edubba_code check_cluster(struct admin_call *call,
                                      const struct resource_name *profile,
                                      const char *cluster_id)
{
    struct resource_name name = instances_of(profile);
    struct record record = {NULL, 0};
    name.kind = RESOURCE_CLUSTER;
    name.id = bytes_of_text(cluster_id);
    /* Not by the rule for new IDs: "<instance>-c1" may be longer than that. */
    if (cluster_id[0] == '\0' || strlen(cluster_id) > CLUSTER_ID_BYTES_MAX ||
        strchr(cluster_id, '/') != NULL) {
        return admin_call_fail(call, EDUBBA_INVALID_ARGUMENT,
                               "Error in field 'routing_policy' : '%.80s' is no cluster's id",
                               cluster_id);
    }
    return record_get(call, &name, &record);
}

enum edubba_code app_profiles_check(struct admin_call *call,
                                    const struct resource_name *name,
                                    const AppProfile *profile)
{
    const SingleClusterRouting *single = single_of(profile);
    const AnyClusterRouting *any = any_of(profile);
    enum edubba_code code = EDUBBA_OK;

    if (single != NULL) {
        return check_cluster(call, name, single->cluster_id);
    }
    if (any == NULL) {
        return admin_call_fail(call, EDUBBA_INVALID_ARGUMENT,
                               "Error in field 'routing_policy' : it is required");
    }
    for (size_t i = 0; i < any->n_cluster_ids && code == EDUBBA_OK; i++) {
        code = check_cluster(call, name, any->cluster_ids[i]);
    }
    return code;
}

/* --- warnings --------------------------------------------------------------------------------- */

static enum edubba_code warn(struct admin_call *call, const char *what)
{
    return admin_call_fail(call, EDUBBA_FAILED_PRECONDITION,
                           "%s; set ignore_warnings to do it all the same", what);
}

static enum edubba_code warn_of_change(struct admin_call *call,
                                       const AppProfile *before,
                                       const AppProfile *after)
{
    const SingleClusterRouting *old = single_of(before);
    const SingleClusterRouting *new = single_of(after);
    if ((old == NULL) != (new == NULL)) {
        return warn(call, "Routing would change between one cluster and any");
    }
    if (old != NULL && new != NULL && strcmp(old->cluster_id, new->cluster_id) != 0 &&
        (old->allow_transactional_writes || new->allow_transactional_writes)) {
        return warn(call, "Transactional writes would go to another cluster than before");
    }
    return EDUBBA_OK;
}

/* Does another profile allow them on another cluster than this? */
static enum edubba_code warn_of_others(struct admin_call *call,
                                       const struct resource_name *name,
                                       const char *cluster_id)
{
    struct resource_name instance = instances_of(name);
    struct record_list list = {NULL, 0, NULL};
    enum edubba_code code = record_list(call, RESOURCE_APP_PROFILE, &instance, &list);

    for (size_t i = 0; i < list.count && code == EDUBBA_OK; i++) {
        const AppProfile *other = (const AppProfile *)list.records[i].message;
        const char *theirs = transactions_on(other);
        bool is_same = bytes_equal(record_id(other->name), name->id);
        if (!is_same && theirs != NULL && strcmp(theirs, cluster_id) != 0) {
            code = warn(call, "Another app profile allows transactional writes on another cluster");
        }
    }
    return code;
}

enum edubba_code app_profiles_warn(struct admin_call *call,
                                   const struct resource_name *name,
                                   const AppProfile *before,
                                   const AppProfile *after)
{
    const char *cluster_id = transactions_on(after);
    const char *old_id = before != NULL ? transactions_on(before) : NULL;
    bool is_new = cluster_id != NULL && (old_id == NULL || strcmp(old_id, cluster_id) != 0);
    enum edubba_code code = EDUBBA_OK;
    if (before != NULL) {
        code = warn_of_change(call, before, after);
    }
    if (code == EDUBBA_OK && is_new) { /* else whoever allowed them there was warned */
        code = warn_of_others(call, name, cluster_id);
    }
    return code;
}

/* --- clusters in use -------------------------------------------------------------------------- */

static bool routes_to(const AppProfile *profile, struct bytes cluster_id)
{
    const SingleClusterRouting *single = single_of(profile);
    const AnyClusterRouting *any = any_of(profile);
    bool does = single != NULL && bytes_equal(bytes_of_text(single->cluster_id), cluster_id);
    for (size_t i = 0; any != NULL && i < any->n_cluster_ids && !does; i++) {
        does = bytes_equal(bytes_of_text(any->cluster_ids[i]), cluster_id);
    }
    return does;
}

enum edubba_code app_profiles_routing_to(struct admin_call *call,
                                         const struct resource_name *cluster,
                                         const char **ret_profile)
{
    struct resource_name instance = instances_of(cluster);
    struct record_list list = {NULL, 0, NULL};
    const char *found = NULL;
    enum edubba_code code = record_list(call, RESOURCE_APP_PROFILE, &instance, &list);

    for (size_t i = 0; i < list.count && found == NULL; i++) {
        const AppProfile *profile = (const AppProfile *)list.records[i].message;
        found = routes_to(profile, cluster->id) ? profile->name : NULL;
    }
    if (code == EDUBBA_OK) {
        *ret_profile = found;
    }
    return code;
}
