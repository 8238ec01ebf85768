#include "gateway/instance_admin/instances.h"

#include <string.h>

#include "common/io/clock.h"

typedef Google__Bigtable__Admin__V2__Instance Instance;
typedef Google__Bigtable__Admin__V2__Cluster Cluster;
typedef Google__Bigtable__Admin__V2__AppProfile AppProfile;
typedef Google__Bigtable__Admin__V2__AppProfile__SingleClusterRouting SingleClusterRouting;
typedef Google__Bigtable__Admin__V2__AppProfile__MultiClusterRoutingUseAny AnyClusterRouting;
typedef Google__Bigtable__Admin__V2__AppProfile__StandardIsolation StandardIsolation;

#define DEFAULT_PROFILE "default"

/* --- small things ----------------------------------------------------------------------------- */

struct resource_name instances_of(const struct resource_name *name)
{
    return (struct resource_name){
        .kind = RESOURCE_INSTANCE, .project = name->project, .instance = name->instance};
}

bool instances_is_home(const struct admin_call *call, const struct resource_name *name)
{
    const struct resource_home *home = &call->gateway->home;
    return bytes_equal(name->project, home->project) && bytes_equal(name->instance, home->instance);
}

Google__Protobuf__Timestamp *instances_now(struct admin_call *call)
{
    int64_t now_us = clock_wall_us();
    Google__Protobuf__Timestamp *now = arena_allocate(call->arena, sizeof *now);
    if (now != NULL) {
        google__protobuf__timestamp__init(now);
        now->seconds = now_us / 1000000;
        now->nanos = (int32_t)(now_us % 1000000) * 1000;
    }
    return now;
}

static bool is_ready(const struct record *record)
{
    const Instance *instance = (const Instance *)record->message;
    return instance != NULL &&
           instance->state == GOOGLE__BIGTABLE__ADMIN__V2__INSTANCE__STATE__READY;
}

static bool is_among(const char *name, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(names[i], name) == 0) {
            return true;
        }
    }
    return false;
}

/* The name of a cluster or profile that was read: what its document says. */
static const char *name_of(enum resource_kind kind, const struct record *record)
{
    return kind == RESOURCE_CLUSTER ? ((const Cluster *)record->message)->name
                                    : ((const AppProfile *)record->message)->name;
}

/* --- what is left of another one of the name -------------------------------------------------- */

static enum edubba_code clear_kind(struct admin_call *call,
                                   enum resource_kind kind,
                                   const struct resource_name *instance,
                                   const char *const *kept,
                                   size_t kept_count)
{
    struct record_list list = {NULL, 0, NULL};
    enum edubba_code code = record_list(call, kind, instance, NULL, 0, &list);

    for (size_t i = 0; i < list.count && code == EDUBBA_OK; i++) {
        struct resource_name name;
        const char *text = name_of(kind, &list.records[i]);
        if (is_among(text, kept, kept_count)) {
            continue;
        }
        code = record_name(call, text, kind, &name);
        if (code == EDUBBA_OK) {
            code = record_replace(call, &name, NULL);
        }
    }
    return code;
}

enum edubba_code instances_clear(struct admin_call *call,
                                 const struct resource_name *instance,
                                 const char *const *kept,
                                 size_t kept_count)
{
    enum edubba_code code = clear_kind(call, RESOURCE_APP_PROFILE, instance, kept, kept_count);
    return code == EDUBBA_OK ? clear_kind(call, RESOURCE_CLUSTER, instance, kept, kept_count)
                             : code;
}

/* --- making ----------------------------------------------------------------------------------- */

/* The profile of calls that name none: to the one cluster, or to any of several. */
static enum edubba_code put_default_profile(struct admin_call *call,
                                            const struct resource_name *instance,
                                            const struct instance_parts *parts)
{
    struct resource_name name = *instance;
    AppProfile profile = GOOGLE__BIGTABLE__ADMIN__V2__APP_PROFILE__INIT;
    SingleClusterRouting single =
        GOOGLE__BIGTABLE__ADMIN__V2__APP_PROFILE__SINGLE_CLUSTER_ROUTING__INIT;
    AnyClusterRouting any =
        GOOGLE__BIGTABLE__ADMIN__V2__APP_PROFILE__MULTI_CLUSTER_ROUTING_USE_ANY__INIT;
    StandardIsolation isolation =
        GOOGLE__BIGTABLE__ADMIN__V2__APP_PROFILE__STANDARD_ISOLATION__INIT;

    name.kind = RESOURCE_APP_PROFILE;
    name.id = bytes_of_text(DEFAULT_PROFILE);
    profile.name = record_full_name(call, &name);
    if (profile.name == NULL) {
        return admin_call_no_memory(call);
    }
    if (parts->cluster_count == 1) {
        single.cluster_id = strrchr(parts->clusters[0]->name, '/') + 1;
        single.allow_transactional_writes = true;
        profile.routing_policy_case =
            GOOGLE__BIGTABLE__ADMIN__V2__APP_PROFILE__ROUTING_POLICY_SINGLE_CLUSTER_ROUTING;
        profile.single_cluster_routing = &single;
    } else {
        profile.routing_policy_case =
            GOOGLE__BIGTABLE__ADMIN__V2__APP_PROFILE__ROUTING_POLICY_MULTI_CLUSTER_ROUTING_USE_ANY;
        profile.multi_cluster_routing_use_any = &any;
    }
    isolation.priority = GOOGLE__BIGTABLE__ADMIN__V2__APP_PROFILE__PRIORITY__PRIORITY_HIGH;
    profile.isolation_case = GOOGLE__BIGTABLE__ADMIN__V2__APP_PROFILE__ISOLATION_STANDARD_ISOLATION;
    profile.standard_isolation = &isolation;
    return record_replace(call, &name, &profile.base);
}

/* Everything but the instance itself. */
static enum edubba_code put_children(struct admin_call *call,
                                     const struct resource_name *instance,
                                     const struct instance_parts *parts)
{
    const char **kept = arena_allocate_array(call->arena, parts->cluster_count, sizeof *kept);
    enum edubba_code code = EDUBBA_OK;

    if (kept == NULL) {
        return admin_call_no_memory(call);
    }
    for (size_t i = 0; i < parts->cluster_count; i++) {
        kept[i] = parts->clusters[i]->name;
    }
    code = instances_clear(call, instance, kept, parts->cluster_count);
    for (size_t i = 0; i < parts->cluster_count && code == EDUBBA_OK; i++) {
        struct resource_name name;
        code = record_name(call, parts->clusters[i]->name, RESOURCE_CLUSTER, &name);
        if (code == EDUBBA_OK) {
            code = record_replace(call, &name, &parts->clusters[i]->base);
        }
    }
    return code == EDUBBA_OK ? put_default_profile(call, instance, parts) : code;
}

static enum edubba_code already_exists(struct admin_call *call, const char *full_name)
{
    return admin_call_fail(call, EDUBBA_ALREADY_EXISTS, "Instance already exists: %s", full_name);
}

enum edubba_code instances_create(struct admin_call *call,
                                  const struct resource_name *name,
                                  const struct instance_parts *parts)
{
    Instance *instance = parts->instance;
    struct record before = {NULL, 0};
    uint64_t version = 0;
    enum edubba_code code = record_find(call, name, &before);

    instance->name = record_full_name(call, name);
    instance->create_time = instances_now(call);
    if (code != EDUBBA_OK) {
        return code;
    }
    if (instance->name == NULL || instance->create_time == NULL) {
        return admin_call_no_memory(call);
    }
    if (is_ready(&before)) {
        return already_exists(call, instance->name);
    }
    instance->state = GOOGLE__BIGTABLE__ADMIN__V2__INSTANCE__STATE__CREATING;
    code = record_put(call, name, &instance->base, before.version, &version);
    if (code == EDUBBA_OK) {
        code = put_children(call, name, parts);
    }
    if (code == EDUBBA_OK) {
        instance->state = GOOGLE__BIGTABLE__ADMIN__V2__INSTANCE__STATE__READY;
        code = record_put(call, name, &instance->base, version, NULL);
    }
    if (code == EDUBBA_ABORTED) {
        return admin_call_fail(call, code, "Instance is being made by another call: %s",
                               instance->name);
    }
    return code;
}

/* --- on first use ----------------------------------------------------------------------------- */

/* Tablet servers that live; 1 where nobody can say. */
static int32_t count_servers(struct admin_call *call)
{
    struct edubba_server *servers = NULL;
    size_t count = 0;
    int32_t alive = 0;
    if (edubba_list_servers(call->gateway->client, &servers, &count, NULL) == EDUBBA_OK) {
        for (size_t i = 0; i < count; i++) {
            alive += servers[i].alive ? 1 : 0;
        }
        edubba_free(servers);
    }
    return alive > 0 ? alive : 1;
}

static enum edubba_code make_default(struct admin_call *call, const struct resource_name *name)
{
    Instance instance = GOOGLE__BIGTABLE__ADMIN__V2__INSTANCE__INIT;
    Cluster cluster = GOOGLE__BIGTABLE__ADMIN__V2__CLUSTER__INIT;
    Cluster *clusters[] = {&cluster};
    const struct instance_parts parts = {&instance, clusters, 1};
    struct resource_name cluster_name = *name;
    char *id = admin_call_format(call, "%.*s-c1", (int)name->instance.size_bytes,
                                 (const char *)name->instance.data);
    cluster.location = admin_call_format(call, "projects/%.*s/locations/local",
                                         (int)name->project.size_bytes,
                                         (const char *)name->project.data);
    instance.display_name = admin_call_format(call, "%.*s", (int)name->instance.size_bytes,
                                              (const char *)name->instance.data);
    if (id == NULL || cluster.location == NULL || instance.display_name == NULL) {
        return admin_call_no_memory(call);
    }
    cluster_name.kind = RESOURCE_CLUSTER;
    cluster_name.id = bytes_of_text(id);
    cluster.name = record_full_name(call, &cluster_name);
    if (cluster.name == NULL) {
        return admin_call_no_memory(call);
    }
    cluster.state = GOOGLE__BIGTABLE__ADMIN__V2__CLUSTER__STATE__READY;
    cluster.serve_nodes = count_servers(call);
    cluster.default_storage_type = GOOGLE__BIGTABLE__ADMIN__V2__STORAGE_TYPE__SSD;
    instance.type = GOOGLE__BIGTABLE__ADMIN__V2__INSTANCE__TYPE__PRODUCTION;
    return instances_create(call, name, &parts);
}

enum edubba_code instances_ensure(struct admin_call *call, const struct resource_name *name)
{
    struct resource_name instance = instances_of(name);
    enum edubba_code code = EDUBBA_ABORTED;

    if (bytes_equal(instance.instance, bytes_of_text("-"))) {
        return admin_call_fail(call, EDUBBA_INVALID_ARGUMENT, "'-' is no instance");
    }
    /* aborted: somebody else makes it, and it may be there by now */
    for (int i = 0; i < RECORD_ATTEMPTS && code == EDUBBA_ABORTED; i++) {
        struct record record = {NULL, 0};
        code = record_find(call, &instance, &record);
        if (code == EDUBBA_OK && !is_ready(&record)) {
            code = make_default(call, &instance);
        }
        code = code == EDUBBA_ALREADY_EXISTS ? EDUBBA_OK : code;
    }
    return code;
}

/* --- finding ---------------------------------------------------------------------------------- */

enum edubba_code instances_get(struct admin_call *call,
                               const struct resource_name *name,
                               struct record *ret_record)
{
    struct resource_name instance = instances_of(name);
    enum edubba_code code = EDUBBA_OK;
    if (instances_is_home(call, name)) {
        code = instances_ensure(call, name);
    }
    return code == EDUBBA_OK ? record_get(call, &instance, ret_record) : code;
}

enum edubba_code instances_get_child(struct admin_call *call,
                                     const struct resource_name *name,
                                     struct record *ret_record)
{
    struct record instance = {NULL, 0};
    enum edubba_code code = instances_get(call, name, &instance);
    return code == EDUBBA_OK ? record_get(call, name, ret_record) : code;
}

enum edubba_code instances_list(struct admin_call *call,
                                const struct resource_name *project,
                                struct record_list *ret_list)
{
    const struct resource_home *home = &call->gateway->home;
    enum edubba_code code = EDUBBA_OK;
    if (bytes_equal(project->project, home->project)) {
        const struct resource_name name = {
            .kind = RESOURCE_INSTANCE, .project = home->project, .instance = home->instance};
        code = instances_ensure(call, &name);
    }
    struct resource_name all = *project;
    all.instance = BYTES_EMPTY;
    return code == EDUBBA_OK ? record_list(call, RESOURCE_INSTANCE, &all, NULL, 0, ret_list) : code;
}

/* Drop those whose instance is not among them (records.h, invariant 1). */
static enum edubba_code drop_orphans(struct admin_call *call,
                                     enum resource_kind kind,
                                     const struct record_list *instances,
                                     struct record_list *list)
{
    const char **names = arena_allocate_array(call->arena, instances->count, sizeof *names);
    size_t kept = 0;

    if (names == NULL) {
        return admin_call_no_memory(call);
    }
    for (size_t i = 0; i < instances->count; i++) {
        names[i] = ((const Instance *)instances->records[i].message)->name;
    }
    for (size_t i = 0; i < list->count; i++) {
        struct resource_name name;
        enum edubba_code code = record_name(call, name_of(kind, &list->records[i]), kind, &name);
        if (code != EDUBBA_OK) {
            return code;
        }
        struct resource_name instance = instances_of(&name);
        const char *text = record_full_name(call, &instance);
        if (text == NULL) {
            return admin_call_no_memory(call);
        }
        if (is_among(text, names, instances->count)) {
            list->records[kept++] = list->records[i];
        }
    }
    list->count = kept;
    return EDUBBA_OK;
}

enum edubba_code instances_list_children(struct admin_call *call,
                                         enum resource_kind kind,
                                         const struct resource_name *parent,
                                         const char *from,
                                         uint32_t count_max,
                                         struct record_list *ret_list)
{
    bool is_any = bytes_equal(parent->instance, bytes_of_text("-"));
    struct record_list instances = {NULL, 0, NULL};
    struct record_list list = {NULL, 0, NULL};
    struct record instance = {NULL, 0};
    enum edubba_code code = is_any ? instances_list(call, parent, &instances)
                                   : instances_get(call, parent, &instance);

    if (code == EDUBBA_OK) {
        code = record_list(call, kind, parent, from, count_max, &list);
    }
    if (code == EDUBBA_OK && is_any) {
        code = drop_orphans(call, kind, &instances, &list);
    }
    if (code == EDUBBA_OK) {
        *ret_list = list;
    }
    return code;
}
