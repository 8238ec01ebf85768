/* edubba_list_events(): pages gathered, in one piece of memory. */
#include "client/include/edubba_hotspots.h"
#include "tests/support/client_session.h"

static struct event event_of(uint64_t number, uint64_t change)
{
    return (struct event){
        .number = number,
        .change = change,
        .time_us = 5,
        .ended_us = 9,
        .kind = bytes_of_text("split"),
        .reason = bytes_of_text("far_over"),
        .outcome = bytes_of_text("given_up"),
        .text = bytes_of_text("91 % of its server's time"),
        .why = bytes_of_text("there was no time"),
        .table_name = bytes_of_text("METRIC"),
        .tablet = 7,
        .range = {bytes_of_text("a"), bytes_of((const uint8_t *)"b\0c", 3)},
        .row = bytes_of_text("aa"),
        .row_count = 3,
        .figures = {.share_permille = 915,
                    .limit_permille = 250,
                    .size_bytes = 20 << 20,
                    .limit_bytes = 16 << 20,
                    .operations = 90447,
                    .observations = 640},
    };
}

static void script(struct session *session, const struct event *events, size_t count)
{
    SET(*session, events, events);
    SET(*session, event_count, count);
}

Test(client, events_come_in_pages)
{
    struct session session = open_session();
    const struct event events[] = {event_of(2, 3), event_of(1, 4), event_of(3, 8)};
    struct edubba_event *list = NULL;
    struct edubba_error error;
    size_t count = 77;
    script(&session, events, 3);
    cr_assert_eq(edubba_list_events(session.client, NULL, 0, &list, &count, &error), EDUBBA_OK,
                 "%s", error.text);
    cr_assert_eq(count, 3);
    cr_assert(list[0].number == 2 && list[1].number == 1 && list[2].change == 8);
    cr_assert_str_eq(list[2].kind, "split");
    cr_assert_str_eq(list[2].reason, "far_over");
    cr_assert_str_eq(list[2].outcome, "given_up");
    cr_assert_str_eq(list[2].why, "there was no time");
    cr_assert_str_eq(list[2].table, "METRIC");
    cr_assert(list[2].end.size == 3 && memcmp(list[2].end.data, "b\0c", 3) == 0);
    cr_assert(list[2].row.size == 2 && list[2].row_count == 3 && list[2].key.size == 0);
    cr_assert_float_eq(list[2].share_percent, 91.5, 1e-9);
    cr_assert(list[2].operations == 90447 && list[2].observations == 640);
    cr_assert(list[2].size_bytes == 20 << 20 && list[2].limit_bytes == 16 << 20);
    edubba_free(list);
    cr_assert_eq(edubba_list_events(session.client, "METRIC", 4, &list, &count, &error), EDUBBA_OK);
    cr_assert(count == 1 && list[0].number == 3);
    edubba_free(list);
    close_session(&session);
}

/* One a page: more than a fixed number of them would hold. */
Test(client, events_of_however_many_pages_are_all_told)
{
    enum {
        EVENTS = 300
    };
    struct session session = open_session();
    struct event events[EVENTS];
    struct edubba_event *list = NULL;
    struct edubba_error error;
    size_t count = 77;
    for (uint64_t i = 0; i < EVENTS; i++) {
        events[i] = event_of(i + 1, i + 1);
    }
    script(&session, events, EVENTS);
    cr_assert_eq(edubba_list_events(session.client, NULL, 0, &list, &count, &error), EDUBBA_OK,
                 "%s", error.text);
    cr_assert_eq(count, EVENTS);
    cr_assert_eq(list[EVENTS - 1].number, EVENTS);
    edubba_free(list);
    close_session(&session);
}

Test(client, nothing_was_decided)
{
    struct session session = open_session();
    struct edubba_event *list = NULL;
    struct edubba_error error;
    size_t count = 77;
    cr_assert_eq(edubba_list_events(session.client, NULL, 0, &list, &count, &error), EDUBBA_OK);
    cr_assert_eq(count, 0);
    edubba_free(list);
    close_session(&session);
}

Test(client, pages_of_events_that_lead_nowhere_end_the_call)
{
    struct session session = open_session();
    struct edubba_event *list = NULL;
    struct edubba_error error;
    size_t count = 77;
    SET(session, event_pages_end_nowhere, true);
    cr_assert_neq(edubba_list_events(session.client, NULL, 0, &list, &count, &error), EDUBBA_OK);
    cr_assert_not_null(strstr(error.text, "leads nowhere"));
    cr_assert_eq(count, 77, "what fails leaves it");
    close_session(&session);
}
