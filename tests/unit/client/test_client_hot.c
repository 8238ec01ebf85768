/* edubba_list_hot_tablets(): pages gathered, sorted, and in one piece of memory. */
#include "client/include/edubba_hotspots.h"
#include "tests/support/client_session.h"

#define MINUTE INT64_C(60000000)

static struct hot_tablet hot(uint64_t number, uint64_t tablet, int64_t minute, uint64_t cpu_ns)
{
    return (struct hot_tablet){
        .number = number,
        .table_name = bytes_of_text("METRIC"),
        .tablet = tablet,
        .server = 9,
        .range = {bytes_of_text("a"), bytes_of((const uint8_t *)"b\0c", 3)},
        .start_us = minute * MINUTE,
        .end_us = (minute + 1) * MINUTE,
        .capacity_ns = 1000,
        .figures = {1, 2, 3, cpu_ns, 5, 6, 7, 50},
    };
}

static const struct edubba_hot_window EVERYTHING = {.start_us = 0};

static void script(struct session *session, const struct hot_tablet *tablets, size_t count)
{
    SET(*session, hot_tablets, tablets);
    SET(*session, hot_tablet_count, count);
}

Test(client, hot_tablets_come_in_pages_and_are_sorted)
{
    struct session session = open_session();
    const struct hot_tablet tablets[] = {hot(3, 1, 10, 100), hot(4, 2, 10, 400),
                                         hot(9, 1, 11, 300)};
    struct edubba_hot_tablet *list = NULL;
    struct edubba_error error;
    size_t count = 77;
    script(&session, tablets, 3);
    cr_assert_eq(edubba_list_hot_tablets(session.client, &EVERYTHING, &list, &count, &error),
                 EDUBBA_OK, "%s", error.text);
    cr_assert_eq(count, 3);
    const struct edubba_hot_tablet *first = &list[0];
    cr_assert(first->tablet == 2 && list[1].tablet == 1 && list[2].tablet == 1);
    cr_assert_eq(list[1].start_us, 11 * MINUTE);
    cr_assert_str_eq(first->table, "METRIC");
    cr_assert_eq(first->server, 9);
    cr_assert(first->start.size == 1 && memcmp(first->start.data, "a", 1) == 0);
    cr_assert(first->end.size == 3 && memcmp(first->end.data, "b\0c", 3) == 0);
    cr_assert(first->start_us == 10 * MINUTE && first->end_us == 11 * MINUTE);
    cr_assert_float_eq(first->cpu_percent, 45, 1e-9);
    cr_assert_float_eq(first->read_cpu_percent, 40, 1e-9);
    cr_assert_float_eq(first->write_cpu_percent, 5, 1e-9);
    cr_assert(first->reads == 1 && first->read_rows == 2 && first->read_bytes == 3);
    cr_assert(first->writes == 5 && first->write_cells == 6 && first->write_bytes == 7);
    edubba_free(list);

    const struct edubba_hot_window window = {.interval_us = INT64_MAX};
    cr_assert_eq(edubba_list_hot_tablets(session.client, &window, &list, &count, &error),
                 EDUBBA_OK);
    cr_assert_eq(count, 2, "the hottest minute of each");
    edubba_free(list);
    close_session(&session);
}

Test(client, nothing_is_hot)
{
    struct session session = open_session();
    struct edubba_hot_tablet *list = NULL;
    struct edubba_error error;
    size_t count = 77;
    cr_assert_eq(edubba_list_hot_tablets(session.client, &EVERYTHING, &list, &count, &error),
                 EDUBBA_OK);
    cr_assert_eq(count, 0);
    cr_assert_not_null(list);
    edubba_free(list);
    close_session(&session);
}

Test(client, what_makes_no_list_of_hot_tablets_is_refused)
{
    struct session session = open_session();
    const struct hot_tablet tablet = hot(1, 1, 10, 100);
    const struct edubba_hot_window window = {.interval_us = -1};
    struct edubba_hot_tablet *list = NULL;
    struct edubba_error error;
    size_t count = 77;
    cr_assert_eq(edubba_list_hot_tablets(session.client, &window, &list, &count, &error),
                 EDUBBA_INVALID_ARGUMENT);
    script(&session, &tablet, 1);
    SET(session, hot_pages_end_nowhere, true);
    cr_assert_neq(edubba_list_hot_tablets(session.client, &EVERYTHING, &list, &count, &error),
                  EDUBBA_OK);
    cr_assert_not_null(strstr(error.text, "nowhere"), "%s", error.text);
    cr_assert_eq(count, 77);
    cr_assert_null(list);
    close_session(&session);
}

Test(client, hot_tablets_without_memory)
{
    struct session session = open_session();
    const struct hot_tablet tablets[] = {hot(1, 1, 10, 100), hot(2, 2, 10, 400)};
    size_t failed = 0;
    script(&session, tablets, 2);
    for (uint64_t after = 0; after < 60; after++) {
        struct edubba_hot_tablet *list = NULL;
        struct edubba_error error;
        size_t count = 0;
        memory_fail_arm(after, 0);
        enum edubba_code code = edubba_list_hot_tablets(session.client, &EVERYTHING, &list, &count,
                                                        &error);
        memory_fail_disarm();
        failed += code != EDUBBA_OK;
        cr_assert_eq(code == EDUBBA_OK ? count : 2, 2);
        edubba_free(list);
    }
    cr_assert_gt(failed, 0);
    close_session(&session);
}
