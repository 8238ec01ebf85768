/*
 * Records of the gateway whose put's answer is lost: nobody can tell whether it took place, so what
 * is there is looked at.  And what IAM may be asked about.
 */
#include <criterion/criterion.h>

#include "gateway/iam/iam_resource.h"
#include "gateway/instance_admin/instances.h"

/* The gateway's struct table and the model's, which the master's headers bring along, have one name;
 * this file looks into neither. */
#define table model_table
#include "tests/support/master_in_process.h"
#undef table
#include "tests/support/lossy_relay.h"

typedef Google__Bigtable__Admin__V2__Instance Instance;
typedef Google__Bigtable__Admin__V2__Cluster Cluster;

static struct edubba_client *lossy;
static struct gateway gateway;
static struct arena arena;
static struct admin_call call;
static char name_text[] = "projects/p/instances/one/clusters/c1";
static Cluster cluster;
static struct resource_name name;

static struct resource_name parse(const char *text, enum resource_kind kind)
{
    struct resource_name parsed;
    cr_assert_eq(resource_name_parse(bytes_of_text(text), kind, &parsed, NULL), STATUS_OK);
    return parsed;
}

static void start(void)
{
    char relay[64];
    struct edubba_error error;
    struct edubba_options options = EDUBBA_OPTIONS_DEFAULT;
    start_master();
    relay_start(address, relay, sizeof relay);
    options.masters = relay;
    cr_assert_eq(edubba_client_open(&options, &lossy, &error), EDUBBA_OK, "%s", error.text);
    arena_init(&arena, 65536, SIZE_MAX);
    gateway = (struct gateway){
        .client = lossy,
        .home = {bytes_of_text("edubba"), bytes_of_text("edubba")},
    };
    call = (struct admin_call){.gateway = &gateway, .arena = &arena};
    google__bigtable__admin__v2__cluster__init(&cluster);
    cluster.name = name_text;
    cluster.serve_nodes = 3;
    name = parse(name_text, RESOURCE_CLUSTER);
}

static void stop(void)
{
    arena_deinit(&arena);
    edubba_client_close(lossy);
    stop_master();
}

TestSuite(gateway_records, .init = start, .fini = stop, .timeout = 300);

static struct record find(const struct resource_name *wanted)
{
    struct record record = {NULL, 0};
    cr_assert_eq(record_find(&call, wanted, &record), EDUBBA_OK, "%s", call.error.text);
    return record;
}

Test(gateway_records, that_were_put_are_found_to_be_though_the_answer_was_lost)
{
    uint64_t version = 0;
    (void)find(&name); /* it is connected */
    relay_lose(1);
    cr_assert_eq(record_put(&call, &name, &cluster.base, 0, &version), EDUBBA_OK, "%s",
                 call.error.text);
    cr_assert_eq(atomic_load(&relay_lost), 1);
    struct record record = find(&name);
    cr_assert_eq(record.version, version);
    cr_assert_eq(record_put(&call, &name, &cluster.base, 0, NULL), EDUBBA_ABORTED,
                 "where no answer was lost, the same again is somebody else's");
    relay_lose(1);
    cr_assert_eq(record_put(&call, &name, NULL, version, NULL), EDUBBA_OK, "%s", call.error.text);
    cr_assert_eq(atomic_load(&relay_lost), 2);
    cr_assert_null(find(&name).message);
}

Test(gateway_records, of_others_are_not_taken_for_ours_when_an_answer_is_lost)
{
    cr_assert_eq(record_put(&call, &name, &cluster.base, 0, NULL), EDUBBA_OK);
    cluster.serve_nodes = 4;
    relay_lose(1);
    cr_assert_eq(record_put(&call, &name, &cluster.base, 0, NULL), EDUBBA_ABORTED);
    cr_assert_eq(atomic_load(&relay_lost), 1);
    cr_assert_eq(((const Cluster *)find(&name).message)->serve_nodes, 3);
}

Test(gateway_records, an_instance_is_made_once_though_an_answer_is_lost)
{
    Instance instance = GOOGLE__BIGTABLE__ADMIN__V2__INSTANCE__INIT;
    Cluster *clusters[] = {&cluster};
    const struct instance_parts parts = {&instance, clusters, 1};
    struct resource_name owner = instances_of(&name);
    owner.kind = RESOURCE_INSTANCE;
    (void)find(&owner);
    relay_lose(2); /* the first one says that there is none */
    cr_assert_eq(instances_create(&call, &owner, &parts), EDUBBA_OK, "%s", call.error.text);
    cr_assert_eq(atomic_load(&relay_lost), 1);
    cr_assert_eq(instances_create(&call, &owner, &parts), EDUBBA_ALREADY_EXISTS);
    struct record record = find(&owner);
    char second[] = "projects/p/instances/one/clusters/c2";
    const struct record_change change = {parse(second, RESOURCE_CLUSTER), &cluster.base, 0};
    cluster.name = second;
    relay_lose(1);
    cr_assert_eq(instances_put_children(&call, &record, &change, 1, NULL), EDUBBA_OK, "%s",
                 call.error.text);
    relay_lose(4); /* of: the instance, its profiles, its clusters, and its end */
    cr_assert_eq(instances_delete(&call, &owner), EDUBBA_OK, "%s", call.error.text);
    cr_assert_eq(atomic_load(&relay_lost), 3);
    cr_assert_null(find(&owner).message);
}

/* --- what IAM may be asked about -------------------------------------------------------------- */

Test(gateway_records, iam_is_asked_about_what_is_there)
{
    static const struct {
        const char *resource;
        enum edubba_code code;
    } cases[] = {
        {"projects/p/instances/one", EDUBBA_OK},
        {"projects/p/instances/other", EDUBBA_NOT_FOUND},
        {"projects/edubba/instances/edubba", EDUBBA_OK},
        {"projects/p/instances/one/clusters/one-c1", EDUBBA_OK},
        {"projects/p/instances/one/clusters/c9", EDUBBA_NOT_FOUND},
        {"projects/p/instances/other/clusters/one-c1", EDUBBA_NOT_FOUND},
        {"projects/p/instances/one/appProfiles/default", EDUBBA_OK},
        {"projects/p/instances/one/appProfiles/none", EDUBBA_NOT_FOUND},
        {"projects/p/instances/one/tables/t", EDUBBA_NOT_FOUND},
        {"projects/p/instances/one/clusters/one-c1/backups/b", EDUBBA_UNIMPLEMENTED},
        {"projects/p/instances/one/logicalViews/v", EDUBBA_UNIMPLEMENTED},
        {"projects/p", EDUBBA_INVALID_ARGUMENT},
        {"", EDUBBA_INVALID_ARGUMENT},
    };
    struct resource_name instance = parse("projects/p/instances/one", RESOURCE_INSTANCE);
    cr_assert_eq(instances_ensure(&call, &instance), EDUBBA_OK, "%s", call.error.text);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cr_assert_eq(iam_check_resource(&call, cases[i].resource), cases[i].code, "%s: %s",
                     cases[i].resource, call.error.text);
    }
}
