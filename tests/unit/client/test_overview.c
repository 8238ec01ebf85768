/* What `ebt status` says of a server that needs a person: what to do is all of it. */
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
