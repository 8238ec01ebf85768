/* Which app profiles there are: what a master in this process says, and for how long. */
#include <criterion/criterion.h>

#include "client/include/edubba_documents.h"
#include "common/io/clock.h"
#include "gateway/methods/profiles.h"

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
