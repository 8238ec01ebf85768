#include <criterion/criterion.h>
#include <string.h>

#include "master/shell/master_metrics.h"
#include "tests/support/told_metrics.h"

/* By this name metrics tell them apart, and the log says which one was slow. */
Test(master_metrics, every_method_that_a_master_answers_has_a_name_of_its_own)
{
    cr_assert_str_eq(master_method_name(METHOD_LOCATE), "locate");
    cr_assert_str_eq(master_method_name(METHOD_STATUS), "status");
    for (int method = METHOD_CREATE_TABLE; method <= METHOD_LIST_HEAT; method++) {
        const char *name = master_method_name((enum method)method);
        cr_assert_str_neq(name, "other", "%d", method);
        for (int before = METHOD_CREATE_TABLE; before < method; before++) {
            cr_assert_str_neq(name, master_method_name((enum method)before), "%d", method);
        }
    }
    cr_assert_str_eq(master_method_name(METHOD_OPERATIONS), "other");
    cr_assert_str_eq(master_method_name(METHOD_BEACON), "other");
}

Test(master_metrics, who_is_not_active_any_more_claims_nothing_of_the_catalog)
{
    const struct catalog_counts counts = {
        .version = 7,
        .tables = 2,
        .tablets_by_state = {[TABLET_CREATING] = 1,
                             [TABLET_SERVING] = 5,
                             [TABLET_UNAVAILABLE] = 3,
                             [TABLET_SPLITTING] = 4,
                             [TABLET_NOT_LED] = 6},
        .servers = 3,
        .servers_alive = 2,
        .stores_unopened = 8,
        .tablets_without_copy = 9,
        .requests_waiting = 6,
        .disputed = true,
    };
    static const char *const claims[][2] = {
        {"edubba_master_active 1", "edubba_master_active 0"},
        {"edubba_master_catalog_version 7", "edubba_master_catalog_version 0"},
        {"edubba_master_tables 2", "edubba_master_tables 0"},
        {"edubba_master_tablets{state=\"creating\"} 1",
         "edubba_master_tablets{state=\"creating\"} 0"},
        {"edubba_master_tablets{state=\"serving\"} 5",
         "edubba_master_tablets{state=\"serving\"} 0"},
        {"edubba_master_tablets{state=\"unavailable\"} 3",
         "edubba_master_tablets{state=\"unavailable\"} 0"},
        {"edubba_master_tablets{state=\"splitting\"} 4",
         "edubba_master_tablets{state=\"splitting\"} 0"},
        {"edubba_master_tablets{state=\"not_led\"} 6",
         "edubba_master_tablets{state=\"not_led\"} 0"},
        {"edubba_master_servers 3", "edubba_master_servers 0"},
        {"edubba_master_servers_alive 2", "edubba_master_servers_alive 0"},
        {"edubba_master_stores_unopened 8", "edubba_master_stores_unopened 0"},
        {"edubba_master_tablets_without_copy 9", "edubba_master_tablets_without_copy 0"},
        {"edubba_master_requests_waiting 6", "edubba_master_requests_waiting 0"},
        {"edubba_master_catalog_disputed 1", "edubba_master_catalog_disputed 0"},
        /* The mailbox is its own, whoever leads. */
        {"edubba_master_mailbox_depth 11", "edubba_master_mailbox_depth 12"},
    };

    master_metrics_init();
    master_metrics_state(&counts, 11);
    for (size_t i = 0; i < sizeof claims / sizeof *claims; i++) {
        cr_assert(told_metrics_have(claims[i][0]), "%s", claims[i][0]);
    }
    master_metrics_state(NULL, 12);
    for (size_t i = 0; i < sizeof claims / sizeof *claims; i++) {
        cr_assert(told_metrics_have(claims[i][1]), "%s", claims[i][1]);
    }
}
