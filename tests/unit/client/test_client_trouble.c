/* on_trouble: who asks is told what a call meets while it is tried again. */
#include "tests/support/client_session.h"

#define DEADLINE_MS 4000 /* on a busy machine as well what is to come before it comes */

struct told {
    atomic_int count;
    uint32_t waited_ms;
    char text[256];
};

static void on_trouble(void *context, uint32_t waited_ms, const char *text)
{
    struct told *told = context;
    told->waited_ms = waited_ms;
    (void)snprintf(told->text, sizeof told->text, "%s", text);
    atomic_fetch_add(&told->count, 1);
}

static struct session open_told(struct told *told)
{
    struct fake_cluster *fake = fake_cluster_start();
    struct edubba_options options = default_options(fake);
    options.on_trouble = on_trouble;
    options.trouble_context = told;
    return open_with(fake, &options);
}

Test(client, what_is_met_is_told_while_it_is_tried_again)
{
    struct told told = {0};
    struct session session = open_told(&told);
    struct edubba_mutation one = edubba_add_int64("sum", EDUBBA_TEXT("n"), 0, 1);
    struct edubba_entry entry = {row_key(1), &one, 1, NULL};
    struct edubba_error error;
    cr_assert_eq(add(&session, 1, &error), EDUBBA_OK);
    cr_assert_eq(told.count, 0, "nothing was met");
    SET(session, unavailable_left, 5);
    cr_assert_eq(add(&session, 1, &error), EDUBBA_OK, "%s", error.text);
    cr_assert_eq(told.count, 5);
    cr_assert_str_eq(told.text, "memory is full");
    SET(session, unavailable_left, 2);
    cr_assert_eq(edubba_mutate_rows(session.table, &entry, 1, &error), EDUBBA_OK, "%s", error.text);
    cr_assert_eq(told.count, 7, "many rows tell it once for all of a server");
    close_session(&session);
}

Test(client, a_master_that_is_away_is_told_with_how_long_it_has_been_waited_for)
{
    struct told told = {0};
    struct session session = open_told(&told);
    struct edubba_error error;
    char **names = NULL;
    transport_listener_close(session.fake->servers[0].listener, 0);
    session.fake->servers[0].listener = NULL;
    edubba_thread_deadline(DEADLINE_MS);
    cr_assert_eq(edubba_list_tables(session.client, &names, &error), EDUBBA_DEADLINE_EXCEEDED);
    cr_assert_geq(told.count, 3);
    cr_assert(told.waited_ms >= DEADLINE_MS / 4 && told.waited_ms <= DEADLINE_MS, "%u",
              told.waited_ms);
    cr_assert_not_null(strstr(told.text, session.fake->servers[0].address), "%s", told.text);
    cr_assert_not_null(strstr(error.text, told.text), "%s ends with %s", error.text, told.text);
    close_session(&session);
}
