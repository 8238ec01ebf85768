/* Which app profiles there are: what a master in this process says, and for how long. */
#include <criterion/criterion.h>

#include "admin.pb-c.h"
#include "client/include/edubba_documents.h"
#include "common/io/clock.h"
#include "gateway/methods/call/profiles.h"

/* The gateway's struct table and the model's, which the master's headers bring along, have one name;
 * this file looks into neither. */
#define table model_table
#include "tests/support/master_in_process.h"
#undef table

#define NAME "bigtable/appProfiles/p/i/fast"

static struct profiles *profiles;

static void start(void)
{
    start_master();
    profiles = profiles_create();
}

static void stop(void)
{
    profiles_destroy(profiles);
    stop_master();
}

TestSuite(profiles, .init = start, .fini = stop, .timeout = 300);

static void put(const char *content, uint64_t expected)
{
    struct edubba_error error = {0};
    cr_assert_eq(edubba_put_document(client, EDUBBA_TEXT(NAME), EDUBBA_TEXT(content), expected,
                                     NULL, &error),
                 EDUBBA_OK, "%s", error.text);
}

static void remove_it(void)
{
    struct edubba_document *document = NULL;
    cr_assert_eq(edubba_get_document(client, EDUBBA_TEXT(NAME), &document, NULL), EDUBBA_OK);
    put("", document->version);
    edubba_free(document);
}

/* Behind what was believed when it is said now, and before anything that is believed later. */
static int64_t in_ns(int64_t ns)
{
    return clock_monotonic_ns() + ns;
}

Test(profiles, one_that_is_there_is_believed_for_a_while)
{
    put("profile", 0);
    cr_assert_eq(profiles_look(profiles, NAME, in_ns(0)), PROFILE_MUST_BE_ASKED);
    cr_assert_eq(profiles_ask(profiles, client, NAME), PROFILE_IS_THERE);
    remove_it();
    cr_assert_eq(profiles_look(profiles, NAME, in_ns(PROFILES_THERE_NS / 2)), PROFILE_IS_THERE);
    int64_t later_ns = in_ns(PROFILES_THERE_NS + 1);
    cr_assert_eq(profiles_look(profiles, NAME, later_ns), PROFILE_MUST_BE_ASKED);
    cr_assert_eq(profiles_look(profiles, NAME, later_ns), PROFILE_IS_THERE, "one asks");
    later_ns += PROFILES_RENEWAL_NS;
    cr_assert_eq(profiles_look(profiles, NAME, later_ns), PROFILE_MUST_BE_ASKED, "it has not");
    cr_assert_eq(profiles_ask(profiles, client, NAME), PROFILE_IS_MISSING);
    cr_assert_eq(profiles_look(profiles, NAME, in_ns(0)), PROFILE_IS_MISSING);
}

Test(profiles, one_that_is_missing_is_asked_for_again_soon)
{
    cr_assert_eq(profiles_ask(profiles, client, NAME), PROFILE_IS_MISSING);
    cr_assert_eq(profiles_look(profiles, NAME, in_ns(0)), PROFILE_IS_MISSING);
    int64_t later_ns = in_ns(PROFILES_MISSING_NS + 1);
    cr_assert_eq(profiles_look(profiles, NAME, later_ns), PROFILE_MUST_BE_ASKED);
    cr_assert_eq(profiles_look(profiles, NAME, later_ns), PROFILE_MUST_BE_ASKED);
    put("profile", 0);
    cr_assert_eq(profiles_ask(profiles, client, NAME), PROFILE_IS_THERE);
}

Test(profiles, who_makes_one_has_it_looked_for_at_once)
{
    cr_assert_eq(profiles_ask(profiles, client, NAME), PROFILE_IS_MISSING);
    put("profile", 0);
    profiles_forget(profiles);
    cr_assert_eq(profiles_look(profiles, NAME, in_ns(0)), PROFILE_MUST_BE_ASKED);
    cr_assert_eq(profiles_ask(profiles, client, NAME), PROFILE_IS_THERE);
}

Test(profiles, no_number_of_names_takes_more_memory_and_the_latest_are_known)
{
    char name[64];
    for (int i = 0; i < 2000; i++) {
        snprintf(name, sizeof name, "bigtable/appProfiles/p/i/a%d", i);
        cr_assert_eq(profiles_ask(profiles, client, name), PROFILE_IS_MISSING);
        cr_assert_eq(profiles_look(profiles, name, in_ns(0)), PROFILE_IS_MISSING);
    }
}

/* A profile in the form of its document; route_to NULL: to any cluster. */
static void put_profile(const char *route_to, bool allows, uint64_t expected)
{
    static char none[] = "";
    char cluster[32];
    uint8_t packed[256];
    Google__Bigtable__Admin__V2__AppProfile profile;
    Google__Bigtable__Admin__V2__AppProfile__SingleClusterRouting single;
    Google__Bigtable__Admin__V2__AppProfile__MultiClusterRoutingUseAny any;
    google__bigtable__admin__v2__app_profile__init(&profile);
    google__bigtable__admin__v2__app_profile__single_cluster_routing__init(&single);
    google__bigtable__admin__v2__app_profile__multi_cluster_routing_use_any__init(&any);
    profile.description = none;
    if (route_to != NULL) {
        snprintf(cluster, sizeof cluster, "%s", route_to);
        single.cluster_id = cluster;
        single.allow_transactional_writes = allows;
        profile.routing_policy_case =
            GOOGLE__BIGTABLE__ADMIN__V2__APP_PROFILE__ROUTING_POLICY_SINGLE_CLUSTER_ROUTING;
        profile.single_cluster_routing = &single;
    } else {
        profile.routing_policy_case =
            GOOGLE__BIGTABLE__ADMIN__V2__APP_PROFILE__ROUTING_POLICY_MULTI_CLUSTER_ROUTING_USE_ANY;
        profile.multi_cluster_routing_use_any = &any;
    }
    size_t size = google__bigtable__admin__v2__app_profile__pack(&profile, packed);
    cr_assert_eq(edubba_put_document(client, EDUBBA_TEXT(NAME), edubba_bytes_of(packed, size),
                                     expected, NULL, NULL),
                 EDUBBA_OK);
}

static uint64_t version(void)
{
    struct edubba_document *document = NULL;
    cr_assert_eq(edubba_get_document(client, EDUBBA_TEXT(NAME), &document, NULL), EDUBBA_OK);
    uint64_t found = document->version;
    edubba_free(document);
    return found;
}

Test(profiles, transactions_are_allowed_by_routing_to_one_cluster_that_says_so)
{
    put_profile("c1", true, 0);
    cr_assert_eq(profiles_ask(profiles, client, NAME), PROFILE_IS_THERE);
    put_profile("c1", false, version());
    cr_assert_eq(profiles_look(profiles, NAME, in_ns(0)), PROFILE_IS_THERE, "as it was");
    cr_assert_eq(profiles_ask(profiles, client, NAME), PROFILE_FORBIDS_TRANSACTIONS);
    cr_assert_eq(profiles_look(profiles, NAME, in_ns(0)), PROFILE_FORBIDS_TRANSACTIONS);
    put_profile(NULL, false, version());
    profiles_forget(profiles);
    cr_assert_eq(profiles_ask(profiles, client, NAME), PROFILE_FORBIDS_TRANSACTIONS);

    int64_t later_ns = in_ns(PROFILES_THERE_NS + 1);
    cr_assert_eq(profiles_look(profiles, NAME, later_ns), PROFILE_MUST_BE_ASKED);
    cr_assert_eq(profiles_look(profiles, NAME, later_ns), PROFILE_FORBIDS_TRANSACTIONS, "one asks");
    own_master_close();
    edubba_thread_deadline(200);
    cr_assert_eq(profiles_ask(profiles, client, NAME), PROFILE_FORBIDS_TRANSACTIONS, "as it was");
    edubba_thread_deadline(0);
    edubba_client_close(client);
    open_master(); /* which stop() ends */
}

/* --- without a master ------------------------------------------------------------------------- */

Test(profiles, data_is_served_while_no_master_answers)
{
    const char *other = "bigtable/appProfiles/p/i/other";
    const char *missing = "bigtable/appProfiles/p/i/missing";
    put("profile", 0);
    cr_assert_eq(profiles_ask(profiles, client, NAME), PROFILE_IS_THERE);
    cr_assert_eq(profiles_ask(profiles, client, missing), PROFILE_IS_MISSING);
    own_master_close();
    edubba_thread_deadline(200);
    cr_assert_eq(profiles_ask(profiles, client, NAME), PROFILE_IS_THERE);
    cr_assert_eq(profiles_ask(profiles, client, other), PROFILE_IS_THERE);
    cr_assert_eq(profiles_ask(profiles, client, missing), PROFILE_IS_MISSING);
    edubba_thread_deadline(0);
    cr_assert_eq(profiles_look(profiles, other, in_ns(0)), PROFILE_IS_THERE);
    int64_t later_ns = in_ns(PROFILES_MISSING_NS + 1);
    cr_assert_eq(profiles_look(profiles, other, later_ns), PROFILE_MUST_BE_ASKED);
    edubba_client_close(client);
    open_master(); /* which stop() ends */
}
