/* Instances, clusters and app profiles, kept by a master in this process. */
#include <criterion/criterion.h>

#include "client/include/edubba_documents.h"
#include "gateway/instance_admin/app_profiles.h"
#include "gateway/instance_admin/clusters.h"
#include "gateway/instance_admin/instances.h"

/* The gateway's struct table and the model's, which the master's headers bring along, have one name;
 * this file looks into neither. */
#define table model_table
#include "tests/support/master_in_process.h"
#undef table

typedef Google__Bigtable__Admin__V2__Instance Instance;
typedef Google__Bigtable__Admin__V2__Cluster Cluster;
typedef Google__Bigtable__Admin__V2__AppProfile AppProfile;
typedef Google__Bigtable__Admin__V2__AppProfile__SingleClusterRouting SingleClusterRouting;
typedef Google__Bigtable__Admin__V2__AppProfile__MultiClusterRoutingUseAny AnyClusterRouting;

static const struct record_page FIRST = {NULL, 0};

#define STATE(name)   GOOGLE__BIGTABLE__ADMIN__V2__INSTANCE__STATE__##name
#define ROUTING(name) GOOGLE__BIGTABLE__ADMIN__V2__APP_PROFILE__ROUTING_POLICY_##name

static struct gateway gateway;
static struct arena arena;
static struct admin_call call;

static void start(void)
{
    start_master();
    arena_init(&arena, 65536, SIZE_MAX);
    gateway = (struct gateway){
        .client = client,
        .home = {bytes_of_text("edubba"), bytes_of_text("edubba")},
    };
    call = (struct admin_call){.gateway = &gateway, .arena = &arena};
}

static void stop(void)
{
    arena_deinit(&arena);
    stop_master();
}

TestSuite(instances, .init = start, .fini = stop, .timeout = 300);

/* --- helpers ---------------------------------------------------------------------------------- */

static struct resource_name name_of(const char *text, enum resource_kind kind)
{
    struct resource_name name;
    struct error error = {.status = STATUS_OK};
    cr_assert_eq(resource_name_parse(bytes_of_text(text), kind, &name, &error), STATUS_OK, "%s",
                 error.text);
    return name;
}

static struct resource_name instance_name(const char *text)
{
    return name_of(text, RESOURCE_INSTANCE);
}

static Cluster *new_cluster(const char *full_name)
{
    struct resource_name name = name_of(full_name, RESOURCE_CLUSTER);
    Cluster wanted = GOOGLE__BIGTABLE__ADMIN__V2__CLUSTER__INIT;
    Cluster *cluster = arena_allocate(&arena, sizeof *cluster);
    cr_assert_eq(clusters_make(&call, &name, &wanted, cluster), EDUBBA_OK, "%s", call.error.text);
    return cluster;
}

static enum edubba_code create(const char *text, const char *const *clusters, size_t count)
{
    struct resource_name name = instance_name(text);
    Instance instance = GOOGLE__BIGTABLE__ADMIN__V2__INSTANCE__INIT;
    Cluster *made[4];
    const struct instance_parts parts = {&instance, made, count};
    for (size_t i = 0; i < count; i++) {
        made[i] = new_cluster(clusters[i]);
    }
    return instances_create(&call, &name, &parts);
}

static size_t count_children(enum resource_kind kind, const char *parent)
{
    struct resource_name name = instance_name(parent);
    struct record_list list = {NULL, 0, NULL};
    cr_assert_eq(instances_list_children(&call, kind, &name, FIRST, &list), EDUBBA_OK, "%s",
                 call.error.text);
    return list.count;
}

static const char *const ONE[] = {"projects/p/instances/one/clusters/c1"};
static const char *const TWO[] = {"projects/p/instances/one/clusters/c1",
                                  "projects/p/instances/one/clusters/c2"};

/* --- making ----------------------------------------------------------------------------------- */

Test(instances, are_made_once_with_their_clusters_and_a_default_profile)
{
    struct resource_name name = instance_name("projects/p/instances/one");
    struct resource_name profile = name_of("projects/p/instances/one/appProfiles/default",
                                           RESOURCE_APP_PROFILE);
    struct record record = {NULL, 0};
    cr_assert_eq(instances_get(&call, &name, &record), EDUBBA_NOT_FOUND);
    cr_assert_str_eq(call.error.text, "Not found: projects/p/instances/one");
    cr_assert_eq(create("projects/p/instances/one", ONE, 1), EDUBBA_OK, "%s", call.error.text);
    cr_assert_eq(create("projects/p/instances/one", ONE, 1), EDUBBA_ALREADY_EXISTS);
    cr_assert_eq(instances_get(&call, &name, &record), EDUBBA_OK);
    const Instance *instance = (const Instance *)record.message;
    cr_assert_str_eq(instance->name, "projects/p/instances/one");
    cr_assert_eq((int)instance->state, (int)STATE(READY));
    cr_assert_not_null(instance->create_time);
    cr_assert_eq(count_children(RESOURCE_CLUSTER, "projects/p/instances/one"), 1);
    cr_assert_eq(instances_get_child(&call, &profile, &record), EDUBBA_OK);
    const AppProfile *made = (const AppProfile *)record.message;
    cr_assert_eq((int)made->routing_policy_case, (int)ROUTING(SINGLE_CLUSTER_ROUTING));
    cr_assert_str_eq(made->single_cluster_routing->cluster_id, "c1");
}

Test(instances, come_into_being_on_first_use)
{
    struct resource_name table = name_of("projects/p/instances/two/tables/t", RESOURCE_TABLE);
    struct resource_name nowhere = name_of("projects/p/instances/-/tables/t", RESOURCE_TABLE);
    struct resource_name cluster = name_of("projects/p/instances/two/clusters/two-c1",
                                           RESOURCE_CLUSTER);
    struct record first = {NULL, 0};
    struct record second = {NULL, 0};
    cr_assert_eq(instances_ensure(&call, &table), EDUBBA_OK, "%s", call.error.text);
    cr_assert_eq(instances_get(&call, &table, &first), EDUBBA_OK);
    cr_assert_eq(instances_ensure(&call, &table), EDUBBA_OK);
    cr_assert_eq(instances_get(&call, &table, &second), EDUBBA_OK);
    cr_assert_eq(first.version, second.version, "it was there");
    cr_assert_eq(instances_get_child(&call, &cluster, &first), EDUBBA_OK);
    cr_assert_geq(((const Cluster *)first.message)->serve_nodes, 1);
    cr_assert_eq(instances_ensure(&call, &nowhere), EDUBBA_INVALID_ARGUMENT);
}

static struct record instance_record(const char *text)
{
    struct resource_name name = instance_name(text);
    struct record record = {NULL, 0};
    cr_assert_eq(instances_get(&call, &name, &record), EDUBBA_OK, "%s", call.error.text);
    return record;
}

/* A name is 80 bytes at most, so "<instance>-c1" may not be one. */
Test(instances, of_the_longest_names_come_into_being_too)
{
    for (int size = 76; size <= 80; size++) {
        char text[128];
        snprintf(
            text, sizeof text, "projects/p/instances/%.*s", size,
            "iiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiii");
        struct resource_name name = instance_name(text);
        struct record_list list = {NULL, 0, NULL};
        cr_assert_eq(instances_ensure(&call, &name), EDUBBA_OK, "%d: %s", size, call.error.text);
        cr_assert_eq(instances_list_children(&call, RESOURCE_CLUSTER, &name, FIRST, &list),
                     EDUBBA_OK);
        cr_assert_eq(list.count, 1);
        struct bytes id = record_id(((const Cluster *)list.records[0].message)->name);
        cr_assert_eq(id.size_bytes, size + 3 < 80 ? (size_t)size + 3 : 80);
    }
}

/* They would hold no table. */
Test(instances, with_names_that_no_table_can_have_are_not_made)
{
    static const char *const names[] = {"projects/a b/instances/x", "projects/a/instances/x y",
                                        "projects/a/instances/-", "projects/\xc3\xa4/instances/x"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct resource_name name = instance_name(names[i]);
        struct record record = {NULL, 0};
        cr_assert_eq(instances_check(&call, &name), EDUBBA_INVALID_ARGUMENT, "%s", names[i]);
        cr_assert_eq(instances_ensure(&call, &name), EDUBBA_INVALID_ARGUMENT, "%s", names[i]);
        cr_assert_eq(record_find(&call, &name, &record), EDUBBA_OK);
        cr_assert_null(record.message, "%s", names[i]);
    }
    struct resource_name good = instance_name("projects/example.com:p/instances/X_1");
    cr_assert_eq(instances_check(&call, &good), EDUBBA_OK);
}

Test(instances, made_anew_have_nothing_of_the_one_before)
{
    struct resource_name name = instance_name("projects/p/instances/one");
    struct record record = {NULL, 0};
    struct resource_name second = name_of(TWO[1], RESOURCE_CLUSTER);
    cr_assert_eq(create("projects/p/instances/one", TWO, 2), EDUBBA_OK);
    cr_assert_eq(instances_delete(&call, &name), EDUBBA_OK);
    cr_assert_eq(instances_delete(&call, &name), EDUBBA_NOT_FOUND);
    cr_assert_eq(instances_get_child(&call, &second, &record), EDUBBA_NOT_FOUND);
    cr_assert_eq(count_children(RESOURCE_CLUSTER, "projects/p/instances/-"), 0);
    cr_assert_eq(count_children(RESOURCE_APP_PROFILE, "projects/p/instances/-"), 0);
    cr_assert_eq(create("projects/p/instances/one", ONE, 1), EDUBBA_OK);
    cr_assert_eq(count_children(RESOURCE_CLUSTER, "projects/p/instances/one"), 1);
}

/* --- many at once ----------------------------------------------------------------------------- */

#define USERS 8

static bool deletes_too;

/* What a gateway's thread does: a call of its own. */
static void *use_first(void *context)
{
    struct arena own;
    struct admin_call mine = {.gateway = &gateway, .arena = &own};
    const int *seed = context;
    arena_init(&own, 65536, SIZE_MAX);
    for (int i = 0; i < 20; i++) {
        char text[64];
        snprintf(text, sizeof text, "projects/p/instances/i%d", i);
        struct resource_name name = instance_name(text);
        enum edubba_code code = EDUBBA_OK;
        if (deletes_too && (i + *seed) % 3 == 0) {
            code = instances_delete(&mine, &name);
            code = code == EDUBBA_NOT_FOUND ? EDUBBA_OK : code;
        } else {
            code = instances_ensure(&mine, &name);
        }
        cr_assert_eq(code, EDUBBA_OK, "%s", mine.error.text);
        arena_reset(&own);
    }
    arena_deinit(&own);
    return NULL;
}

static void run_users(void)
{
    pthread_t users[USERS];
    int seeds[USERS];
    for (int i = 0; i < USERS; i++) {
        seeds[i] = i;
        cr_assert_eq(pthread_create(&users[i], NULL, use_first, &seeds[i]), 0);
    }
    for (int i = 0; i < USERS; i++) {
        pthread_join(users[i], NULL);
    }
}

/* Parallel first uses of one instance used to take it from each other until they gave up. */
Test(instances, are_used_first_by_many_at_once)
{
    run_users();
    cr_assert_eq(count_children(RESOURCE_CLUSTER, "projects/p/instances/-"), 20);
    cr_assert_eq(count_children(RESOURCE_APP_PROFILE, "projects/p/instances/-"), 20);
}

/* Whatever comes of it, an instance has its cluster and its profile, and nothing is left of none. */
Test(instances, are_whole_or_gone_whoever_makes_and_deletes_them)
{
    struct resource_name project = name_of("projects/p", RESOURCE_PROJECT);
    struct record_list list = {NULL, 0, NULL};
    deletes_too = true;
    run_users();
    cr_assert_eq(instances_list(&call, &project, FIRST, &list), EDUBBA_OK);
    for (size_t i = 0; i < list.count; i++) {
        const Instance *instance = (const Instance *)list.records[i].message;
        cr_assert_eq((int)instance->state, (int)STATE(READY));
        cr_assert_eq(count_children(RESOURCE_CLUSTER, instance->name), 1);
        cr_assert_eq(count_children(RESOURCE_APP_PROFILE, instance->name), 1);
    }
    cr_assert_eq(count_children(RESOURCE_CLUSTER, "projects/p/instances/-"), list.count);
    cr_assert_eq(count_children(RESOURCE_APP_PROFILE, "projects/p/instances/-"), list.count);
}

static enum edubba_code put_cluster_over(const struct record *instance, const char *full_name)
{
    const Cluster *cluster = new_cluster(full_name);
    const struct record_change change = {name_of(full_name, RESOURCE_CLUSTER), &cluster->base, 0};
    return instances_put_children(&call, instance, &change, 1, NULL);
}

/* Who was overtaken writes nothing: neither into the instance that was made anew, nor into none. */
Test(instances, that_have_changed_take_no_cluster_of_who_looked_before)
{
    struct resource_name name = instance_name("projects/p/instances/one");
    cr_assert_eq(create("projects/p/instances/one", ONE, 1), EDUBBA_OK);
    struct record before = instance_record("projects/p/instances/one");
    cr_assert_eq(put_cluster_over(&before, TWO[1]), EDUBBA_OK, "%s", call.error.text);
    struct record after = instance_record("projects/p/instances/one");
    cr_assert_neq(after.version, before.version, "what is in it has changed");
    cr_assert_eq(put_cluster_over(&before, "projects/p/instances/one/clusters/c3"), EDUBBA_ABORTED);
    cr_assert_eq(instances_delete(&call, &name), EDUBBA_OK);
    cr_assert_eq(put_cluster_over(&after, "projects/p/instances/one/clusters/c3"), EDUBBA_ABORTED);
    cr_assert_eq(count_children(RESOURCE_CLUSTER, "projects/p/instances/-"), 0);
    cr_assert_eq(create("projects/p/instances/one", ONE, 1), EDUBBA_OK);
    cr_assert_eq(put_cluster_over(&after, "projects/p/instances/one/clusters/c3"), EDUBBA_ABORTED);
    cr_assert_eq(count_children(RESOURCE_CLUSTER, "projects/p/instances/one"), 1);
}

Test(instances, home_is_always_there)
{
    struct resource_name home = instance_name("projects/edubba/instances/edubba");
    struct resource_name project = name_of("projects/edubba", RESOURCE_PROJECT);
    struct resource_name other = name_of("projects/other", RESOURCE_PROJECT);
    struct record_list list = {NULL, 0, NULL};
    struct record record = {NULL, 0};
    cr_assert_eq(instances_list(&call, &project, FIRST, &list), EDUBBA_OK, "%s", call.error.text);
    cr_assert_eq(list.count, 1);
    cr_assert_eq(instances_get(&call, &home, &record), EDUBBA_OK);
    cr_assert_eq(instances_list(&call, &other, FIRST, &list), EDUBBA_OK);
    cr_assert_eq(list.count, 0);
}

/* --- lists ------------------------------------------------------------------------------------ */

Test(instances, of_a_project_are_listed_without_those_of_a_longer_name)
{
    const char *const other[] = {"projects/pp/instances/one/clusters/c"};
    struct resource_name project = name_of("projects/p", RESOURCE_PROJECT);
    struct record_list list = {NULL, 0, NULL};
    cr_assert_eq(create("projects/p/instances/one", ONE, 1), EDUBBA_OK);
    cr_assert_eq(create("projects/pp/instances/one", other, 1), EDUBBA_OK);
    cr_assert_eq(instances_list(&call, &project, FIRST, &list), EDUBBA_OK);
    cr_assert_eq(list.count, 1);
    cr_assert_str_eq(((const Instance *)list.records[0].message)->name, "projects/p/instances/one");
}

static enum edubba_code put_profile(const char *full_name,
                                    const char *cluster,
                                    bool transactions,
                                    bool warns)
{
    struct resource_name name = name_of(full_name, RESOURCE_APP_PROFILE);
    SingleClusterRouting single =
        GOOGLE__BIGTABLE__ADMIN__V2__APP_PROFILE__SINGLE_CLUSTER_ROUTING__INIT;
    AppProfile profile = GOOGLE__BIGTABLE__ADMIN__V2__APP_PROFILE__INIT;
    profile.name = record_full_name(&call, &name);
    profile.routing_policy_case = ROUTING(SINGLE_CLUSTER_ROUTING);
    profile.single_cluster_routing = &single;
    single.cluster_id = arena_copy_text(&arena, bytes_of_text(cluster));
    single.allow_transactional_writes = transactions;
    enum edubba_code code = app_profiles_check(&call, &name, &profile);
    if (code == EDUBBA_OK && warns) {
        code = app_profiles_warn(&call, &name, NULL, &profile);
    }
    return code == EDUBBA_OK ? record_put(&call, &name, &profile.base, 0, NULL) : code;
}

Test(instances, profiles_are_listed_by_pages)
{
    struct resource_name parent = instance_name("projects/p/instances/one");
    struct record_list list = {NULL, 0, NULL};
    char text[80];
    size_t count = 0;
    cr_assert_eq(create("projects/p/instances/one", ONE, 1), EDUBBA_OK);
    for (int i = 0; i < 6; i++) {
        snprintf(text, sizeof text, "projects/p/instances/one/appProfiles/p%d", i);
        cr_assert_eq(put_profile(text, "c1", false, true), EDUBBA_OK, "%s", call.error.text);
    }
    do {
        const struct record_page page = {list.next, 3};
        cr_assert_eq(instances_list_children(&call, RESOURCE_APP_PROFILE, &parent, page, &list),
                     EDUBBA_OK);
        cr_assert_leq(list.count, 3);
        count += list.count;
    } while (list.next != NULL);
    cr_assert_eq(count, 7, "and the default one");
    const struct record_page bogus = {"bogus", 3};
    cr_assert_eq(instances_list_children(&call, RESOURCE_APP_PROFILE, &parent, bogus, &list),
                 EDUBBA_INVALID_ARGUMENT);
}

/* Nobody asked for pages, but clients take 4 MiB.  They go with their instance all the same. */
Test(instances, lists_of_large_records_come_by_pages_and_go_with_their_instance)
{
    static char description[30 * 1024];
    struct resource_name parent = instance_name("projects/p/instances/one");
    struct record_list list = {NULL, 0, NULL};
    size_t count = 0;
    size_t pages = 0;
    memset(description, 'x', sizeof description - 1);
    cr_assert_eq(create("projects/p/instances/one", ONE, 1), EDUBBA_OK);
    for (int i = 0; i < 150; i++) {
        char text[80];
        AppProfile profile = GOOGLE__BIGTABLE__ADMIN__V2__APP_PROFILE__INIT;
        snprintf(text, sizeof text, "projects/p/instances/one/appProfiles/p%d", i);
        struct resource_name name = name_of(text, RESOURCE_APP_PROFILE);
        profile.name = text;
        profile.description = description;
        cr_assert_eq(record_put(&call, &name, &profile.base, 0, NULL), EDUBBA_OK);
    }
    do {
        const struct record_page page = {list.next, 0};
        size_t size = 0;
        cr_assert_eq(instances_list_children(&call, RESOURCE_APP_PROFILE, &parent, page, &list),
                     EDUBBA_OK);
        for (size_t i = 0; i < list.count; i++) {
            size += protobuf_c_message_get_packed_size(list.records[i].message);
        }
        cr_assert_leq(size, RECORD_PAGE_BYTES + RECORD_BYTES_MAX);
        count += list.count;
        pages++;
    } while (list.next != NULL);
    cr_assert_eq(count, 151);
    cr_assert_eq(pages, 3);
    cr_assert_eq(instances_delete(&call, &parent), EDUBBA_OK, "%s", call.error.text);
    cr_assert_eq(count_children(RESOURCE_APP_PROFILE, "projects/p/instances/-"), 0);
    cr_assert_eq(count_children(RESOURCE_CLUSTER, "projects/p/instances/-"), 0);
}

Test(instances, no_record_is_larger_than_lists_can_bear)
{
    static char large[RECORD_BYTES_MAX];
    struct resource_name name = instance_name("projects/p/instances/one");
    Instance instance = GOOGLE__BIGTABLE__ADMIN__V2__INSTANCE__INIT;
    memset(large, 'x', sizeof large - 1);
    instance.display_name = large;
    cr_assert_eq(record_put(&call, &name, &instance.base, 0, NULL), EDUBBA_INVALID_ARGUMENT);
}

/* --- rules ------------------------------------------------------------------------------------ */

Test(instances, profiles_route_to_clusters_that_are_there)
{
    struct resource_name cluster = name_of(TWO[1], RESOURCE_CLUSTER);
    const char *profile = NULL;
    cr_assert_eq(create("projects/p/instances/one", TWO, 2), EDUBBA_OK);
    cr_assert_eq(put_profile("projects/p/instances/one/appProfiles/a", "c9", false, true),
                 EDUBBA_NOT_FOUND);
    cr_assert_eq(put_profile("projects/p/instances/one/appProfiles/a", "", false, true),
                 EDUBBA_INVALID_ARGUMENT);
    cr_assert_eq(app_profiles_routing_to(&call, &cluster, &profile), EDUBBA_OK);
    cr_assert_null(profile);
    cr_assert_eq(put_profile("projects/p/instances/one/appProfiles/a", "c2", false, true),
                 EDUBBA_OK);
    cr_assert_eq(app_profiles_routing_to(&call, &cluster, &profile), EDUBBA_OK);
    cr_assert_str_eq(profile, "projects/p/instances/one/appProfiles/a");
}

Test(instances, transactions_on_two_clusters_are_warned_of)
{
    cr_assert_eq(create("projects/p/instances/one", TWO, 2), EDUBBA_OK);
    cr_assert_eq(put_profile("projects/p/instances/one/appProfiles/a", "c1", true, true), EDUBBA_OK,
                 "%s", call.error.text);
    cr_assert_eq(put_profile("projects/p/instances/one/appProfiles/b", "c2", true, true),
                 EDUBBA_FAILED_PRECONDITION);
    cr_assert_eq(put_profile("projects/p/instances/one/appProfiles/b", "c2", false, true),
                 EDUBBA_OK);
    cr_assert_eq(put_profile("projects/p/instances/one/appProfiles/c", "c2", true, false),
                 EDUBBA_OK, "it is a warning");
}

/* It was warned of when they were allowed: who changes a description must not be told again. */
Test(instances, transactions_that_were_allowed_are_not_warned_of_again)
{
    struct resource_name name = name_of("projects/p/instances/one/appProfiles/a",
                                        RESOURCE_APP_PROFILE);
    char cluster[] = "c1";
    char description[] = "described";
    SingleClusterRouting single =
        GOOGLE__BIGTABLE__ADMIN__V2__APP_PROFILE__SINGLE_CLUSTER_ROUTING__INIT;
    AppProfile before = GOOGLE__BIGTABLE__ADMIN__V2__APP_PROFILE__INIT;
    single.cluster_id = cluster;
    single.allow_transactional_writes = true;
    before.routing_policy_case = ROUTING(SINGLE_CLUSTER_ROUTING);
    before.single_cluster_routing = &single;
    AppProfile after = before;
    after.description = description;
    cr_assert_eq(create("projects/p/instances/one", TWO, 2), EDUBBA_OK);
    cr_assert_eq(put_profile("projects/p/instances/one/appProfiles/b", "c2", true, false),
                 EDUBBA_OK);
    cr_assert_eq(app_profiles_warn(&call, &name, NULL, &after), EDUBBA_FAILED_PRECONDITION);
    cr_assert_eq(app_profiles_warn(&call, &name, &before, &after), EDUBBA_OK, "%s",
                 call.error.text);
    SingleClusterRouting without = single;
    without.allow_transactional_writes = false;
    before.single_cluster_routing = &without;
    cr_assert_eq(app_profiles_warn(&call, &name, &before, &after), EDUBBA_FAILED_PRECONDITION);
}

Test(instances, a_change_of_routing_is_warned_of)
{
    struct resource_name name = name_of("projects/p/instances/one/appProfiles/a",
                                        RESOURCE_APP_PROFILE);
    char first[] = "c1";
    char second[] = "c2";
    SingleClusterRouting single =
        GOOGLE__BIGTABLE__ADMIN__V2__APP_PROFILE__SINGLE_CLUSTER_ROUTING__INIT;
    SingleClusterRouting other = single;
    AnyClusterRouting any =
        GOOGLE__BIGTABLE__ADMIN__V2__APP_PROFILE__MULTI_CLUSTER_ROUTING_USE_ANY__INIT;
    AppProfile before = GOOGLE__BIGTABLE__ADMIN__V2__APP_PROFILE__INIT;
    AppProfile after = GOOGLE__BIGTABLE__ADMIN__V2__APP_PROFILE__INIT;
    single.cluster_id = first;
    other.cluster_id = second;
    before.routing_policy_case = ROUTING(SINGLE_CLUSTER_ROUTING);
    before.single_cluster_routing = &single;
    after.routing_policy_case = ROUTING(SINGLE_CLUSTER_ROUTING);
    after.single_cluster_routing = &other;
    cr_assert_eq(create("projects/p/instances/one", TWO, 2), EDUBBA_OK);
    cr_assert_eq(app_profiles_warn(&call, &name, &before, &after), EDUBBA_OK,
                 "no transactions: no harm");
    single.allow_transactional_writes = true;
    cr_assert_eq(app_profiles_warn(&call, &name, &before, &after), EDUBBA_FAILED_PRECONDITION);
    after.routing_policy_case = ROUTING(MULTI_CLUSTER_ROUTING_USE_ANY);
    after.multi_cluster_routing_use_any = &any;
    cr_assert_eq(app_profiles_warn(&call, &name, &before, &after), EDUBBA_FAILED_PRECONDITION);
}

Test(instances, clusters_have_nodes_or_limits)
{
    Google__Bigtable__Admin__V2__AutoscalingLimits limits =
        GOOGLE__BIGTABLE__ADMIN__V2__AUTOSCALING_LIMITS__INIT;
    Google__Bigtable__Admin__V2__AutoscalingTargets targets =
        GOOGLE__BIGTABLE__ADMIN__V2__AUTOSCALING_TARGETS__INIT;
    Google__Bigtable__Admin__V2__Cluster__ClusterAutoscalingConfig autoscaling =
        GOOGLE__BIGTABLE__ADMIN__V2__CLUSTER__CLUSTER_AUTOSCALING_CONFIG__INIT;
    Google__Bigtable__Admin__V2__Cluster__ClusterConfig config =
        GOOGLE__BIGTABLE__ADMIN__V2__CLUSTER__CLUSTER_CONFIG__INIT;
    Cluster cluster = GOOGLE__BIGTABLE__ADMIN__V2__CLUSTER__INIT;
    cr_assert_eq(clusters_check(&call, &cluster), EDUBBA_INVALID_ARGUMENT);
    cluster.serve_nodes = 1;
    cr_assert_eq(clusters_check(&call, &cluster), EDUBBA_OK);
    config.cluster_autoscaling_config = &autoscaling;
    autoscaling.autoscaling_limits = &limits;
    autoscaling.autoscaling_targets = &targets;
    cluster.config_case = GOOGLE__BIGTABLE__ADMIN__V2__CLUSTER__CONFIG_CLUSTER_CONFIG;
    cluster.cluster_config = &config;
    static const struct {
        int32_t min;
        int32_t max;
        int32_t cpu;
        int32_t storage;
        bool good;
    } cases[] = {
        {1, 10, 60, 0, true},   {1, 11, 60, 0, false},
        {3, 2, 60, 0, false},   {0, 5, 60, 0, false},
        {2, 20, 9, 0, false},   {2, 20, 80, 5120, true},
        {2, 20, 81, 0, false},  {2, 20, 80, 100, false},
        {5, 5, 10, 2560, true}, {300000000, INT32_MAX, 10, 0, true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        limits.min_serve_nodes = cases[i].min;
        limits.max_serve_nodes = cases[i].max;
        targets.cpu_utilization_percent = cases[i].cpu;
        targets.storage_utilization_gib_per_node = cases[i].storage;
        cr_assert_eq(clusters_check(&call, &cluster) == EDUBBA_OK, cases[i].good, "%zu", i);
    }
}

/* --- documents -------------------------------------------------------------------------------- */

Test(instances, a_document_that_is_no_message_is_data_loss)
{
    struct resource_name name = instance_name("projects/p/instances/one");
    struct record record = {NULL, 0};
    cr_assert_eq(edubba_put_document(client, EDUBBA_TEXT("bigtable/instances/p/one"),
                                     EDUBBA_TEXT("\xff\xff\xff"), 0, NULL, NULL),
                 EDUBBA_OK);
    cr_assert_eq(instances_get(&call, &name, &record), EDUBBA_DATA_LOSS);
}

Test(instances, a_record_is_put_only_over_the_version_that_was_read)
{
    struct resource_name name = instance_name("projects/p/instances/one");
    struct record record = {NULL, 0};
    cr_assert_eq(create("projects/p/instances/one", ONE, 1), EDUBBA_OK);
    cr_assert_eq(record_get(&call, &name, &record), EDUBBA_OK);
    cr_assert_eq(record_put(&call, &name, record.message, record.version, NULL), EDUBBA_OK);
    cr_assert_eq(record_put(&call, &name, record.message, record.version, NULL), EDUBBA_ABORTED);
}
