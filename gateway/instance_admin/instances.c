#include "gateway/instance_admin/instances.h"

#include <string.h>

#include "common/base/assert.h"
#include "common/io/clock.h"
#include "common/model/schema.h"

typedef Google__Bigtable__Admin__V2__Instance Instance;
typedef Google__Bigtable__Admin__V2__Cluster Cluster;
typedef Google__Bigtable__Admin__V2__AppProfile AppProfile;
typedef Google__Bigtable__Admin__V2__AppProfile__SingleClusterRouting SingleClusterRouting;
typedef Google__Bigtable__Admin__V2__AppProfile__MultiClusterRoutingUseAny AnyClusterRouting;
typedef Google__Bigtable__Admin__V2__AppProfile__StandardIsolation StandardIsolation;

#define DEFAULT_PROFILE "default"
#define FIRST_CLUSTER   "-c1" /* behind the instance's ID */
#define ID_BYTES_MAX    80    /* that names may have */

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

/* The name of a cluster or profile that was read: what its document says. */
static const char *name_of(enum resource_kind kind, const struct record *record)
{
    return kind == RESOURCE_CLUSTER ? ((const Cluster *)record->message)->name
                                    : ((const AppProfile *)record->message)->name;
}

enum edubba_code instances_check(struct admin_call *call, const struct resource_name *name)
{
    struct error error = {.status = STATUS_OK};
    const char *table = admin_call_format(
        call, "%.*s/%.*s/t", (int)name->project.size_bytes, (const char *)name->project.data,
        (int)name->instance.size_bytes, (const char *)name->instance.data);
    if (table == NULL) {
        return admin_call_no_memory(call);
    }
    if (instances_is_home(call, name)) {
        return EDUBBA_OK; /* its name is in no table's */
    }
    if (bytes_equal(name->instance, bytes_of_text("-"))) {
        return admin_call_fail(call, EDUBBA_INVALID_ARGUMENT, "'-' is no instance");
    }
    if (table_name_check(bytes_of_text(table), &error) != STATUS_OK) {
        return admin_call_fail(call, EDUBBA_INVALID_ARGUMENT,
                               "Invalid project or instance '%.*s': 1 to 80 characters, "
                               "[-_.:A-Za-z0-9]",
                               (int)strlen(table) - 2, table);
    }
    return EDUBBA_OK;
}

/* --- making ----------------------------------------------------------------------------------- */

/* The profile of calls that name none, with what it is made of. */
struct default_profile {
    AppProfile profile;
    SingleClusterRouting single;
    AnyClusterRouting any;
    StandardIsolation isolation;
};

/* The app profile "default" routes to the one cluster, or to any of several. */
static enum edubba_code make_default_profile(struct admin_call *call,
                                             const struct resource_name *instance,
                                             const struct instance_parts *parts,
                                             struct default_profile *made,
                                             struct resource_name *ret_name)
{
    struct resource_name name = *instance;
    AppProfile *profile = &made->profile;

    google__bigtable__admin__v2__app_profile__init(profile);
    google__bigtable__admin__v2__app_profile__single_cluster_routing__init(&made->single);
    google__bigtable__admin__v2__app_profile__multi_cluster_routing_use_any__init(&made->any);
    google__bigtable__admin__v2__app_profile__standard_isolation__init(&made->isolation);
    name.kind = RESOURCE_APP_PROFILE;
    name.id = bytes_of_text(DEFAULT_PROFILE);
    profile->name = record_full_name(call, &name);
    if (profile->name == NULL) {
        return admin_call_no_memory(call);
    }
    if (parts->cluster_count == 1) {
        made->single.cluster_id = strrchr(parts->clusters[0]->name, '/') + 1;
        made->single.allow_transactional_writes = true;
        profile->routing_policy_case =
            GOOGLE__BIGTABLE__ADMIN__V2__APP_PROFILE__ROUTING_POLICY_SINGLE_CLUSTER_ROUTING;
        profile->single_cluster_routing = &made->single;
    } else {
        profile->routing_policy_case =
            GOOGLE__BIGTABLE__ADMIN__V2__APP_PROFILE__ROUTING_POLICY_MULTI_CLUSTER_ROUTING_USE_ANY;
        profile->multi_cluster_routing_use_any = &made->any;
    }
    made->isolation.priority = GOOGLE__BIGTABLE__ADMIN__V2__APP_PROFILE__PRIORITY__PRIORITY_HIGH;
    profile
        ->isolation_case = GOOGLE__BIGTABLE__ADMIN__V2__APP_PROFILE__ISOLATION_STANDARD_ISOLATION;
    profile->standard_isolation = &made->isolation;
    *ret_name = name;
    return EDUBBA_OK;
}

/* The instance, its profile, its clusters: none is there yet. */
static enum edubba_code put_new(struct admin_call *call,
                                const struct resource_name *name,
                                const struct instance_parts *parts)
{
    struct record_change changes[2 + INSTANCE_CLUSTERS_MAX];
    struct default_profile profile;
    size_t count = 0;
    enum edubba_code code = EDUBBA_OK;

    ASSERT(parts->cluster_count >= 1 && parts->cluster_count <= INSTANCE_CLUSTERS_MAX);
    /* first: its time tells it from any other of the name */
    changes[count++] = (struct record_change){*name, &parts->instance->base, 0};
    changes[count] = (struct record_change){.message = &profile.profile.base};
    code = make_default_profile(call, name, parts, &profile, &changes[count++].name);
    for (size_t i = 0; i < parts->cluster_count && code == EDUBBA_OK; i++) {
        changes[count] = (struct record_change){.message = &parts->clusters[i]->base};
        code = record_name(call, parts->clusters[i]->name, RESOURCE_CLUSTER,
                           &changes[count++].name);
    }
    return code == EDUBBA_OK ? record_put_all(call, changes, count, NULL) : code;
}

enum edubba_code instances_create(struct admin_call *call,
                                  const struct resource_name *name,
                                  const struct instance_parts *parts)
{
    Instance *instance = parts->instance;
    struct record before = {NULL, 0};
    enum edubba_code code = instances_check(call, name);

    if (code == EDUBBA_OK) {
        code = record_find(call, name, &before);
    }
    if (code != EDUBBA_OK) {
        return code;
    }
    instance->name = record_full_name(call, name);
    instance->create_time = instances_now(call);
    if (instance->name == NULL || instance->create_time == NULL) {
        return admin_call_no_memory(call);
    }
    instance->state = GOOGLE__BIGTABLE__ADMIN__V2__INSTANCE__STATE__READY;
    code = before.message != NULL ? EDUBBA_ABORTED : put_new(call, name, parts);
    return code == EDUBBA_ABORTED ? admin_call_fail(call, EDUBBA_ALREADY_EXISTS,
                                                    "Instance already exists: %s", instance->name)
                                  : code;
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
    Instance instance;
    Cluster cluster;
    Cluster *clusters[] = {&cluster};
    const struct instance_parts parts = {&instance, clusters, 1};
    struct resource_name cluster_name = *name;
    size_t id_bytes = name->instance.size_bytes < ID_BYTES_MAX - strlen(FIRST_CLUSTER)
                          ? name->instance.size_bytes
                          : ID_BYTES_MAX - strlen(FIRST_CLUSTER);
    char *id = admin_call_format(call, "%.*s" FIRST_CLUSTER, (int)id_bytes,
                                 (const char *)name->instance.data);
    google__bigtable__admin__v2__instance__init(&instance);
    google__bigtable__admin__v2__cluster__init(&cluster);
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
    struct record record = {NULL, 0};
    enum edubba_code code = instances_check(call, &instance);

    if (code == EDUBBA_OK) {
        code = record_find(call, &instance, &record);
    }
    if (code == EDUBBA_OK && record.message == NULL) {
        code = make_default(call, &instance);
    }
    return code == EDUBBA_ALREADY_EXISTS ? EDUBBA_OK : code;
}

/* --- finding ---------------------------------------------------------------------------------- */

enum edubba_code instances_has_tables(struct admin_call *call,
                                      const struct resource_name *name,
                                      bool *ret_has_any)
{
    char **tables = NULL;
    struct bytes id;
    bool has_any = false;
    enum edubba_code code = edubba_list_tables(call->gateway->client, &tables, &call->error);
    if (code != EDUBBA_OK) {
        return code;
    }
    for (size_t i = 0; tables[i] != NULL && !has_any; i++) {
        has_any = resource_table_id(bytes_of_text(tables[i]), name, &call->gateway->home, &id);
    }
    edubba_free(tables);
    *ret_has_any = has_any;
    return EDUBBA_OK;
}

/* Who made its first table may have died before it made the instance. */
static enum edubba_code find_by_tables(struct admin_call *call,
                                       const struct resource_name *instance,
                                       struct record *ret_record)
{
    bool has_any = false;
    enum edubba_code code = instances_has_tables(call, instance, &has_any);
    if (code == EDUBBA_OK && has_any) {
        code = instances_ensure(call, instance);
    }
    return code == EDUBBA_OK ? record_get(call, instance, ret_record) : code;
}

enum edubba_code instances_get(struct admin_call *call,
                               const struct resource_name *name,
                               struct record *ret_record)
{
    struct resource_name instance = instances_of(name);
    enum edubba_code code = EDUBBA_OK;
    if (instances_is_home(call, name)) {
        code = instances_ensure(call, name);
    }
    if (code == EDUBBA_OK) {
        code = record_get(call, &instance, ret_record);
    }
    return code == EDUBBA_NOT_FOUND ? find_by_tables(call, &instance, ret_record) : code;
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
                                struct record_page page,
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
    return code == EDUBBA_OK ? record_list_page(call, RESOURCE_INSTANCE, &all, page, ret_list)
                             : code;
}

enum edubba_code instances_list_children(struct admin_call *call,
                                         enum resource_kind kind,
                                         const struct resource_name *parent,
                                         struct record_page page,
                                         struct record_list *ret_list)
{
    bool is_any = bytes_equal(parent->instance, bytes_of_text("-"));
    struct record instance = {NULL, 0};
    enum edubba_code code = is_any ? EDUBBA_OK : instances_get(call, parent, &instance);
    return code == EDUBBA_OK ? record_list_page(call, kind, parent, page, ret_list) : code;
}

enum edubba_code instances_all_children(struct admin_call *call,
                                        enum resource_kind kind,
                                        const struct resource_name *name,
                                        struct record_list *ret_list)
{
    struct resource_name instance = instances_of(name);
    return record_list(call, kind, &instance, ret_list);
}

/* --- changing what is in one ------------------------------------------------------------------ */

enum edubba_code instances_put_children(struct admin_call *call,
                                        const struct record *instance,
                                        const struct record_change *changes,
                                        size_t count,
                                        uint64_t *ret_version)
{
    struct record_change all[RECORD_CHANGES_MAX];
    ASSERT(count >= 1 && count < RECORD_CHANGES_MAX);
    memcpy(all, changes, count * sizeof *all);
    all[count] = (struct record_change){instances_of(&changes[0].name), instance->message,
                                        instance->version};
    return record_put_all(call, all, count + 1, ret_version);
}

#define DELETIONS_MAX (RECORD_CHANGES_MAX - 1) /* beside the instance */

/* Its profiles and clusters as deletions: as many as go in one step with it. */
static enum edubba_code list_deletions(struct admin_call *call,
                                       const struct resource_name *instance,
                                       struct record_change deletions[DELETIONS_MAX],
                                       size_t *ret_count,
                                       bool *ret_is_all)
{
    static const enum resource_kind kinds[] = {RESOURCE_APP_PROFILE, RESOURCE_CLUSTER};
    static const struct record_page page = {NULL, DELETIONS_MAX};
    enum edubba_code code = EDUBBA_OK;
    size_t count = 0;
    bool is_all = true;

    for (size_t i = 0; i < sizeof kinds / sizeof *kinds && code == EDUBBA_OK; i++) {
        struct record_list list = {NULL, 0, NULL};
        code = record_list_page(call, kinds[i], instance, page, &list);
        is_all = is_all && list.next == NULL && list.count <= DELETIONS_MAX - count;
        for (size_t j = 0; j < list.count && count < DELETIONS_MAX && code == EDUBBA_OK; j++) {
            const struct record *record = &list.records[j];
            deletions[count] = (struct record_change){.expected = record->version};
            code = record_name(call, name_of(kinds[i], record), kinds[i], &deletions[count++].name);
        }
    }
    *ret_count = count;
    *ret_is_all = is_all;
    return code;
}

/* One step of it.  Errors: EDUBBA_ABORTED (something has changed: look again). */
static enum edubba_code delete_some(struct admin_call *call,
                                    const struct resource_name *name,
                                    bool *ret_is_all)
{
    struct record_change changes[RECORD_CHANGES_MAX];
    struct record instance = {NULL, 0};
    size_t count = 0;
    enum edubba_code code = record_get(call, name, &instance);

    if (code == EDUBBA_OK) {
        code = list_deletions(call, name, changes + 1, &count, ret_is_all);
    }
    if (code == EDUBBA_OK && !*ret_is_all) {
        return instances_put_children(call, &instance, changes + 1, count, NULL);
    }
    changes[0] = (struct record_change){*name, NULL, instance.version};
    return code == EDUBBA_OK ? record_put_all(call, changes, count + 1, NULL) : code;
}

enum edubba_code instances_delete(struct admin_call *call, const struct resource_name *name)
{
    int aborted = 0;
    bool is_all = false;
    enum edubba_code code = EDUBBA_OK;
    while (!is_all && code == EDUBBA_OK) {
        code = delete_some(call, name, &is_all);
        if (code == EDUBBA_ABORTED && ++aborted < RECORD_ATTEMPTS) {
            is_all = false;
            code = EDUBBA_OK;
        }
    }
    return code;
}
