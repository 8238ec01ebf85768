/* What `ebt status` says of a server that needs a person: all that is to be done, and each thing once. */
#include <stdio.h>
#include <string.h>

#include <criterion/criterion.h>

#include "client/cli/overview.h"

static struct overview overview;

/* The alarm of one server whose worst store is in this condition. */
static const struct alarm *alarm_of(const char *condition)
{
    static struct edubba_server server = {
        .number = 7, .address = "tcp://a:1", .zone = "", .alive = true};
    server.condition = condition;
    overview = (struct overview){.cluster = 1};
    overview_note_servers(&overview, &server, 1);
    cr_assert_eq(overview.alarm_count, 1);
    return &overview.alarms[0];
}

Test(overview, a_store_that_has_failed_is_opened_at_the_next_start_alone)
{
    const struct alarm *alarm = alarm_of("failed");
    cr_assert_str_eq(alarm->code, "store_failed");
    cr_assert_str_eq(alarm->message,
                     "a store of the tablet server at tcp://a:1 has failed: nothing "
                     "that is in it is served");
    cr_assert_not_null(strstr(alarm->action, "and restart the server"), "%s", alarm->action);
    cr_assert_not_null(strstr(alarm->action, "ebt drain 7."), "%s", alarm->action);
    overview_deinit(&overview);
}

Test(overview, a_store_that_is_full_need_not_be)
{
    const struct alarm *alarm = alarm_of("full");
    cr_assert_str_eq(alarm->code, "store_full");
    cr_assert_not_null(strstr(alarm->action, "it need not be restarted"), "%s", alarm->action);
    overview_deinit(&overview);
}

/* One tablet, of which one copy is in sync. */
static void note_table(const char *name, uint32_t replicas)
{
    static const struct edubba_replica replica = {.is_member = true, .in_sync = true};
    const struct edubba_tablet_replicas tablet = {
        .state = "serving", .is_known = true, .replicas = &replica, .replica_count = 1};
    char forgotten[64]; /* as a schema is when its table was noted */
    (void)snprintf(forgotten, sizeof forgotten, "%s", name);
    const struct edubba_schema schema = {.name = forgotten, .replicas = replicas, .min_in_sync = 1};
    overview_note_table(&overview, &schema, &tablet, 1);
    memset(forgotten, 'x', sizeof forgotten - 1);
}

Test(overview, that_servers_are_lacking_is_one_alarm_however_many_tables_there_are)
{
    overview = (struct overview){.servers_usable = 2};
    note_table("METRIC", 3);
    cr_assert_str_eq(overview.alarms[0].message, "1 tablets of METRIC lack copies, and for 3 "
                                                 "copies there are 2 servers");
    cr_assert_str_eq(
        overview.alarms[0].action,
        "Start or add servers, or ask for fewer: ebt setreplication METRIC replicas=N.");
    note_table("QUOTE", 3);
    note_table("TRADE", 5);
    note_table("USERS", 3);
    note_table("SINGLE", 1);
    cr_assert_eq(overview.alarm_count, 2);
    cr_assert_str_eq(overview.alarms[0].code, "too_few_servers");
    cr_assert_str_eq(overview.alarms[0].message,
                     "3 tablets of METRIC and 2 other tables lack copies, "
                     "and for 3 copies there are 2 servers");
    cr_assert_str_eq(
        overview.alarms[0].action,
        "Start or add servers, or ask for fewer: ebt setreplication TABLE replicas=N.");
    cr_assert_str_eq(overview.alarms[1].message, "1 tablets of TRADE lack copies, and for 5 "
                                                 "copies there are 2 servers");
    overview_deinit(&overview);
}
